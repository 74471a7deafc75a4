//! What one command warns of, all say in the same words: no table of a doubtful trace looks as if it were sound.

use crate::program::{out, run};
use crate::random_cases::one_in;
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::Value;
use std::path::Path;

/// A trace whose page sequence has gaps, whose trims were not recorded, and whose account does not come out even.
const DOUBTFUL: &str = "refset-small.etl";
/// The beginnings of what `resident` and `refset` say of it.
const GAPS: &str = "1,224 PFNs between the first and the last are missing in 500 gaps";
const TRIMS: &str = "trims were not recorded";
const RESIDUE: &str = "the account differs from the final page sequence by 2.31 %";

fn json(arguments: &[&str]) -> Value {
    let ran = run(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{arguments:?}: {}", ran.err))
}

fn warnings(arguments: &[&str]) -> Vec<String> {
    let json = json(arguments);
    json["warnings"].as_array().expect("warnings").iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

/// The line of a command's warnings that begins with these words.
fn line(arguments: &[&str], words: &str) -> String {
    let all = warnings(arguments);
    all.iter().find(|line| line.starts_with(words)).unwrap_or_else(|| panic!("{arguments:?}: {all:?}")).clone()
}

fn budgets(folder: &Path, analysis: &str) -> String {
    let path = folder.join(format!("{analysis}.toml"));
    let text = format!("[[budget]]\nname = \"all\"\nanalysis = \"{analysis}\"\nmax = \"1 GiB\"\n");
    std::fs::write(&path, text).expect("budgets");
    path.to_str().expect("a plain name").to_owned()
}

#[test]
fn all_commands_say_the_same_of_a_doubtful_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (gaps, trims) = (line(&["resident", DOUBTFUL], GAPS), line(&["refset", DOUBTFUL], TRIMS));
    let residue = line(&["refset", DOUBTFUL], RESIDUE);

    let info = warnings(&["info", DOUBTFUL]);
    assert!(info.contains(&gaps) && info.contains(&trims), "{info:?}");
    let text = out(&["info", DOUBTFUL]);
    assert!(text.starts_with("Verdict: trust it with care; no loss was found, but there are 2 warnings"), "{text}");

    for (flags, words) in [(&[][..], vec![&gaps]), (&["--refset"], vec![&trims, &residue])] {
        let diff = warnings(&[&["diff", DOUBTFUL, DOUBTFUL], flags].concat());
        for (side, words) in ["LEFT", "RIGHT"].into_iter().flat_map(|side| words.iter().map(move |line| (side, line))) {
            assert!(diff.contains(&format!("{side}: {words}")), "{diff:?}");
        }
    }
    for (analysis, words) in [("resident", vec![&gaps]), ("refset", vec![&trims, &residue])] {
        let budgets = budgets(folder.path(), analysis);
        let check = warnings(&["check", DOUBTFUL, "--budgets", &budgets]);
        assert!(words.iter().all(|line| check.contains(line)), "{check:?}");
    }
    let report = folder.path().join("report.html");
    let ran = run(&["report", DOUBTFUL, "-o", report.to_str().unwrap()]);
    let page = std::fs::read_to_string(&report).unwrap();
    for line in [&gaps, &trims, &residue] {
        assert!(ran.err.contains(line.as_str()) && page.contains(line.as_str()), "{line}");
    }
}

#[test]
fn strict_fails_where_numbers_can_be_wrong_and_not_where_something_was_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().expect("a plain name").to_owned();
    let budgets = budgets(folder.path(), "resident");
    let (report, dataset) = (file("report.html"), file("dataset"));
    let sound = "resident-small.etl";
    let of = |trace: &'static str| -> Vec<Vec<String>> {
        let all: [&[&str]; 6] = [
            &["info", trace],
            &["resident", trace],
            &["diff", trace, trace],
            &["check", trace, "--budgets", &budgets],
            &["report", trace, "-o", &report],
            &["export", trace, "--out", &dataset],
        ];
        all.map(|arguments| arguments.iter().map(|text| (*text).to_owned()).collect()).to_vec()
    };
    for (trace, code) in [(DOUBTFUL, 3), (sound, 0)] {
        for arguments in one_in(1, of(trace)) {
            let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            assert_eq!(run(&arguments).code, 0, "{arguments:?}");
            arguments.push("--strict");
            assert_eq!(run(&arguments).code, code, "{arguments:?}");
        }
    }
    assert!(!warnings(&["memory", sound]).is_empty(), "what was not recorded is said");
    assert_eq!(run(&["memory", sound, "--strict"]).code, 0);
}

#[test]
fn a_dataset_holds_what_casts_doubt_on_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    let ran = run(&["export", DOUBTFUL, "resident-small.etl", "--out", dataset, "--format", "csv"]);
    assert_eq!(ran.code, 0);
    let named = |line: &str| ran.err.contains(&format!("warning: {DOUBTFUL}: {line}"));
    assert!([GAPS, TRIMS, RESIDUE].into_iter().all(named), "{}", ran.err);
    let read = |table: &str| -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for partition in std::fs::read_dir(folder.path().join(table)).unwrap() {
            let path = partition.unwrap().path().join("part-0.csv");
            let mut reader = csv::Reader::from_path(path).unwrap();
            rows.extend(reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>()));
        }
        rows
    };
    let told = read("warnings");
    let grave: Vec<[&str; 3]> =
        told.iter().filter(|row| row[4] == "true").map(|row| [&*row[0], &*row[1], &*row[3]]).collect();
    assert_eq!(
        grave,
        [
            ["reference_set", "no_trims", ""],
            ["resident_set", "sequence_gaps", "1224"],
            ["reference_set", "residue", ""],
            ["commit_allocations", "far_from_rundown", ""],
        ],
        "{told:?}"
    );
    let traces = read("traces");
    for (file, trusted) in [(DOUBTFUL, "false"), ("resident-small.etl", "true")] {
        let row = traces.iter().find(|row| row[0] == file).expect("a row");
        assert_eq!(row[row.len() - 2], trusted, "{row:?}");
    }
}

#[test]
fn info_does_not_trust_what_it_says_was_not_recorded() {
    let text = out(&["info", "resident-small.etl"]);
    assert!(
        text.contains("no loss, damage or cut was found; whether the numbers agree is checked by pfnset resident"),
        "{text}"
    );
    let session = Session { buffer_size: 0x10000, ..Session::windows10() };
    let event = Rec::event(P8, [1; 16], 1, 0, vec![0; 60_000]).at(1_000_000_001);
    let file = file_of(&Trace::new(session).push_all([event]).finish());
    let text = out(&["info", file.path().to_str().unwrap()]);
    assert!(
        text.starts_with("Verdict: trust it with care; no loss was found, but events are as large as can be"),
        "{text}"
    );
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("larger ones would not be recorded"), "{text}");
    // Only the text had it.
    let json = json(&["info", file.path().to_str().unwrap()]);
    assert_eq!(json["trust"], "with_care");
    let doubt = &json["doubts"][0];
    assert_eq!((&doubt["analysis"], &doubt["code"]), (&"trace".into(), &"events_at_size_limit".into()));
    assert_eq!((&doubt["makes_doubtful"], &doubt["text"]), (&false.into(), &json["warnings"][0]));
}

/// `info` said that the use of processors was missing, and `cpu` answered.
#[test]
fn info_says_of_processors_what_cpu_can_answer() {
    let of =
        |json: &Value| json["analyses"].as_array().unwrap().iter().find(|one| one["name"] == "cpu").unwrap().clone();
    let info = of(&json(&["info", "resident-small.etl"]));
    assert!(json(&["cpu", "resident-small.etl"])["samples"].is_object());
    assert_eq!(info["verdict"], "partial");
    let switches = info["missing"].as_array().unwrap().iter().find(|need| need["keyword"] == "CSwitch").unwrap();
    assert_eq!(switches["required"], false);
    assert!(switches["without"].as_str().unwrap().contains("samples estimate the times"), "{switches}");
    let text = out(&["info", "resident-small.etl"]);
    assert!(text.contains("in part: ") && !text.contains("not: CPU use"), "{text}");
    let none = of(&json(&["info", DOUBTFUL]));
    assert_eq!(none["verdict"], "missing");
}

/// What `faults` and `allocations` leave out is told of each dataset, also of one without a table of them.
#[test]
fn what_faults_and_allocations_leave_out_is_in_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    for (trace, analysis, command) in
        [("stacks-keys.etl", "faults", "faults"), ("alloc-x86.etl", "commit_allocations", "allocations")]
    {
        let dataset = folder.path().join(analysis);
        run(&["export", trace, "--out", dataset.to_str().unwrap(), "--format", "csv", "--tables", "warnings"]);
        let partition = std::fs::read_dir(dataset.join("warnings")).unwrap().next().unwrap().unwrap();
        let mut reader = csv::Reader::from_path(partition.path().join("part-0.csv")).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let row = rows.iter().find(|row| &row[0] == analysis && &row[1] == "records_left_out").expect("a row");
        assert!(warnings(&[command, trace]).contains(&row[2].to_owned()), "{row:?}");
    }
}

/// `cpu` said of a processor that nothing is known of it, and `info --strict` that its checks had passed.
#[test]
fn a_strict_info_says_what_the_commands_say() {
    const READINESS: [&str; 3] =
        ["not in the trace, therefore unknown", "recorded, but not in the part", "no heap ranges"];
    for (command, trace) in [("cpu", "cpu-compressed.etl"), ("allocations", "alloc-x86.etl"), ("refset", DOUBTFUL)] {
        let info = warnings(&["info", trace, "--strict"]);
        for line in warnings(&[command, trace]) {
            let is_of_readiness = READINESS.iter().any(|words| line.starts_with(words));
            assert!(is_of_readiness || info.contains(&line), "{command} {trace}: {line}: {info:?}");
        }
    }
    let text = run(&["info", "cpu-compressed.etl", "--strict"]).out;
    assert!(text.starts_with("Verdict: trust it with care; no loss was found, but there is 1 warning"), "{text}");
}
