//! `pfnset check --baseline`: baselines that were changed by hand, and baselines of another machine.

use crate::check::{another_run, check, folder, json};
use crate::program::{finish, fixtures, pfnset};
use crate::recording::kept;
use etl_writer::Ptr::P8;
use etl_writer::payloads::system::Cpu;
use etl_writer::payloads::thread::Switch;
use etl_writer::{Session, Trace};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const IMAGES: &str = "[[budget]]\nname = \"Images\"\nwhere.category = \"Image\"\nmax_growth = \"1 %\"\n";
const ALL: &str = "[[budget]]\nname = \"All\"\nmax = \"1 GiB\"\n";

/// The verdicts of both budgets beside this baseline, the codes of its doubts, and what is printed.
fn beside(folder: &TempDir, baseline: &str) -> ([Value; 2], Vec<String>, String) {
    let ran = check(folder, &format!("resident-small.etl --budgets budgets.toml --baseline {baseline} --format json"));
    let found = json(&ran);
    let verdict = |at: usize| found["traces"][0]["budgets"][at]["verdict"].clone();
    let doubts = found["doubts"].as_array().expect("doubts").iter();
    let codes = doubts.map(|doubt| doubt["code"].as_str().unwrap_or_default().to_owned()).collect();
    ([verdict(0), verdict(1)], codes, ran.out)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).expect("a file")
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).expect("room for a file");
}

/// Rows that grow add up to the growth or more, but for a byte of each.
#[test]
fn saved_growth_is_compared_with_its_rows() {
    let growth =
        "[[budget]]\nname = \"g\"\nanalysis = \"commit\"\nmeasure = \"growth_per_minute\"\nmax_growth = \"1 %\"\n";
    let folder = folder(growth);
    let trace = fixtures().join("alloc-x86.etl");
    fs::copy(trace, folder.path().join("grows.etl")).expect("room for a trace");
    check(&folder, "grows.etl --budgets budgets.toml --save-baseline base.json -q");
    let saved: Value = serde_json::from_str(&read(&folder, "base.json")).expect("JSON");
    let judged = |pages: Option<u64>| {
        let mut changed = saved.clone();
        for row in changed["budgets"][0]["rows"].as_array_mut().expect("rows") {
            row["pages"] = pages.map_or_else(|| row["pages"].clone(), Value::from);
        }
        write(&folder, "changed.json", &changed.to_string());
        let ran = check(&folder, "grows.etl --budgets budgets.toml --baseline changed.json --format json");
        json(&ran)["traces"][0]["budgets"][0].clone()
    };
    assert_eq!(judged(None)["verdict"], "pass");
    let of_other_rows = judged(Some(1));
    assert_eq!(of_other_rows["verdict"], "invalid");
    assert!(of_other_rows.to_string().contains("the baseline contradicts itself: its rows have "), "{of_other_rows}");
}

/// The row of images of files has 500 pages more, the other rows, totals and columns stay: growth counted from them, without a word.
#[test]
fn a_saved_baseline_whose_rows_contradict_its_values_is_none() {
    let folder = folder(&[IMAGES, ALL].concat());
    check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json -q");
    let saved: Value = serde_json::from_str(&read(&folder, "base.json")).expect("JSON");
    assert_eq!(beside(&folder, "base.json").0, ["pass", "pass"]);
    for (key, says) in [
        ("rows", "its rows have 860 and its value is 360"),
        ("pages", "its rows have 360 and its value is 860"),
        ("total_pages", "its value is 360, and the value without conditions is 3"),
        ("runs", "the median of its runs is 400 and its value is 360"),
    ] {
        let mut changed = saved.clone();
        let budget = &mut changed["budgets"][0];
        match key {
            "rows" => budget["rows"][0]["pages"] = 860.into(),
            "pages" => budget["pages"] = 860.into(),
            "runs" => budget["runs"] = vec![400, 400, 360].into(),
            _ => budget["total_pages"] = 3.into(),
        }
        write(&folder, "changed.json", &changed.to_string());
        let (verdicts, codes, told) = beside(&folder, "changed.json");
        assert_eq!((verdicts, codes), (["invalid".into(), "pass".into()], vec!["total_differs".to_owned()]), "{key}");
        assert!(told.contains(&format!("the baseline contradicts itself: {says}")), "{told}");
        assert!(
            told.contains("baseline changed.json: the saved value of \\\"Images\\\" contradicts itself: "),
            "{told}"
        );
    }
}

/// Rows that no value has: they counted as what there was before, in what grew most and in growth.
#[test]
fn a_saved_baseline_with_other_rows_is_none() {
    let folder = folder(&[IMAGES, ALL].concat());
    another_run(&folder, "again.etl", b'a');
    check(&folder, "resident-small.etl again.etl --budgets budgets.toml --save-baseline base.json -q");
    let saved: Value = serde_json::from_str(&read(&folder, "base.json")).expect("JSON");
    assert_eq!(beside(&folder, "base.json").0, ["pass", "pass"]);
    let judged = |change: &dyn Fn(&mut Value)| {
        let mut changed = saved.clone();
        change(&mut changed["budgets"][0]);
        write(&folder, "changed.json", &changed.to_string());
        let (verdicts, codes, told) = beside(&folder, "changed.json");
        (verdicts[0].clone(), codes, told)
    };
    let label = |at: usize, text: &str| {
        let text = text.to_owned();
        move |budget: &mut Value| budget["rows"][0]["labels"][at] = text.as_str().into()
    };
    type Change<'c> = &'c dyn Fn(&mut Value);
    let cases: [(Change, &str); 10] = [
        (&label(1, "Imagx"), "row 1: \\\"Imagx\\\" is no category"),
        (&label(1, "Total"), "row 1: \\\"Total\\\" is no category"),
        (&label(0, "Total"), "row 1: \\\"Total\\\" is a total"),
        (&label(1, "Win32Heap"), "row 1: \\\"Win32Heap\\\" does not meet category=Image"),
        (
            &|budget| budget["rows"][0]["labels"] = vec!["Image"].into(),
            "row 1 has 1 label, and the rows are by process, category",
        ),
        (
            &|budget| {
                let row = budget["rows"][0].clone();
                let half = serde_json::json!({ "labels": row["labels"], "pages": 0 });
                budget["rows"].as_array_mut().expect("rows").push(half);
            },
            "is there twice",
        ),
        (
            &|budget| budget["dimensions"] = vec!["process", "class"].into(),
            "its rows are by process, class, and those of such a value by process, category",
        ),
        (&|budget| budget["runs"][1] = 100_000.into(), "the value of a run is 100000, and "),
        (&|budget| budget["run_totals"] = vec![9000].into(), "it has values of 2 runs, and of 1 without conditions"),
        (&|budget| budget["total_pages"] = 9000.into(), "the value without conditions is of no run with this value"),
    ];
    for (change, says) in cases {
        let (verdict, codes, told) = judged(change);
        assert_eq!((verdict, &*codes[0]), ("invalid".into(), "total_differs"), "{says}");
        assert!(told.contains("the baseline contradicts itself: ") && told.contains(says), "{says}: {told}");
    }
    // The value without conditions is that of one run: nothing tells those of the others in an older file.
    let (verdict, ..) = judged(&|budget| {
        budget["runs"][1] = 100_000.into();
        budget.as_object_mut().expect("a budget").remove("run_totals");
    });
    assert_eq!(verdict, "pass");
}

/// What `diff` says of a file that was changed, `check` says too.
fn is_told_by_both(folder: &TempDir, name: &str, code: &str) {
    let (verdicts, codes, told) = beside(folder, name);
    assert_eq!((verdicts, codes), (["invalid".into(), "pass".into()], vec![code.to_owned()]), "{name}");
    assert!(told.contains("the baseline contradicts itself: "), "{told}");
    let text = json(&check(
        folder,
        &format!("resident-small.etl --budgets budgets.toml --baseline {name} --format json"),
    ))["doubts"][0]["text"]
        .clone();
    let said =
        text.as_str().and_then(|text| text.strip_prefix(&format!("baseline {name}: "))).expect("a text").to_owned();
    let diff = ["diff", name, "resident-small.etl", "--format", "json"];
    let diff = json(&finish(pfnset(&diff).current_dir(folder.path())));
    assert_eq!(diff["warnings"][0], format!("LEFT: {said}"), "{name}: {}", diff["warnings"]);
}

#[test]
fn a_result_that_contradicts_itself_is_no_baseline() {
    let folder = folder(&[IMAGES, ALL].concat());
    for form in ["json", "csv"] {
        let path = format!("base.{form}");
        let line =
            ["resident", "resident-small.etl", "--group-by", "process,category", "--format", form, "-o", path.as_str()];
        assert_eq!(finish(pfnset(&line).current_dir(folder.path())).code, 0);
        if form == "json" {
            assert_eq!(beside(&folder, &path).0, ["pass", "pass"]);
        }
    }
    let saved: Value = serde_json::from_str(&read(&folder, "base.json")).expect("JSON");
    let at = |category: &str| {
        let rows = saved["snapshots"][0]["rows"].as_array().expect("rows");
        rows.iter().position(|row| row["category"] == category).expect("a row")
    };
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut document = saved.clone();
        change(&mut document["snapshots"][0]);
        write(&folder, "changed.json", &document.to_string());
    };
    changed(&|snapshot| {
        for (row, more) in [(at("Image"), 100), (at("MapFile"), -100)] {
            let row = &mut snapshot["rows"][row];
            let pages = row["pages"].as_i64().expect("a number") + more;
            (row["pages"], row["bytes"]) = (pages.into(), (pages * 4096).into());
        }
    });
    is_told_by_both(&folder, "changed.json", "sizes_differ");
    changed(&|snapshot| snapshot["rows"][at("Image")]["category"] = "Imagx".into());
    is_told_by_both(&folder, "changed.json", "categories_unknown");
    changed(&|snapshot| snapshot["pages"] = 4000.into());
    is_told_by_both(&folder, "changed.json", "total_differs");
}

#[test]
fn csv_that_contradicts_itself_is_no_baseline() {
    // CSV does not say which keywords were recorded, so it has values of what needs none.
    let folder = folder(&[IMAGES, ALL].concat());
    let line =
        ["resident", "resident-small.etl", "--group-by", "process,category", "--format", "csv", "-o", "base.csv"];
    assert_eq!(finish(pfnset(&line).current_dir(folder.path())).code, 0);
    assert_eq!(beside(&folder, "base.csv").0, ["pass", "pass"]);
    let text = read(&folder, "base.csv");
    let row = text.lines().find(|line| line.contains(",Image,")).expect("a row");
    let (begin, rest) = row.split_once(",Image,").expect("a row");
    let numbers = rest.splitn(3, ',').nth(2).expect("numbers");
    for (instead, code) in [
        (format!("{begin},Image,860,{},{numbers}", 860 * 4096), "sizes_differ"),
        (format!("{begin},Imagx,{rest}"), "categories_unknown"),
        (format!("{begin},Image,,,{}", ",".repeat(numbers.matches(',').count())), "amounts_missing"),
        (format!("{row}\n0,Total,,{rest}"), "categories_unknown"),
    ] {
        write(&folder, "changed.csv", &text.replace(row, &instead));
        is_told_by_both(&folder, "changed.csv", code);
    }
}

/// One second of a thread on a machine with so much RAM.
fn machine(folder: &TempDir, name: &str, (ram_mib, processors, build): (u32, u32, u32)) {
    let session = Session { processors, build, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |tick: u64, old, new| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(t0 + tick);
    let cpu = Cpu { memory_mb: ram_mib, processors, ..Cpu::default() }.rec(P8, 3).at(t0 + 500);
    let mut records = vec![cpu, switch(1000, 0, 44), switch(9000, 44, 0)];
    records.extend((1..processors).map(|processor| switch(500, 0, 0).on(processor as u16)));
    fs::write(folder.path().join(name), Trace::new(session).push_all(records).finish()).expect("a trace");
}

/// Growth against a machine with half the RAM was compared without a word.
#[test]
fn a_baseline_of_another_machine_is_told_and_judged() {
    let budget = "[[budget]]\nname = \"all\"\nanalysis = \"cpu\"\nmeasure = \"waiting_ms\"\nmax_growth = \"1 s\"\n";
    let folder = folder(budget);
    let first = (8192, 1, 19045);
    machine(&folder, "first.etl", first);
    check(&folder, "first.etl --budgets budgets.toml --save-baseline saved.json -q");
    let told = |baseline: &str, of: (u32, u32, u32)| {
        machine(&folder, "now.etl", of);
        let ran =
            check(&folder, &format!("now.etl --budgets budgets.toml --baseline {baseline} --strict --format json"));
        let found = json(&ran);
        assert_eq!((ran.code, &found["verdict"]), (0, &"pass".into()), "{}", ran.out);
        let warnings = found["traces"][0]["warnings"].as_array().expect("warnings").clone();
        let texts = warnings.iter().filter_map(Value::as_str);
        texts.filter(|text| text.contains("the baseline")).map(str::to_owned).collect::<Vec<_>>()
    };
    for baseline in ["first.etl", "saved.json"] {
        assert_eq!(told(baseline, first), [""; 0], "{baseline}");
        let ram = told(baseline, (16_384, 1, 19045));
        assert!(ram.len() == 1 && ram[0].contains("16.00 GiB of RAM, the baseline on one with 8.00 GiB"), "{ram:?}");
        assert!(ram[0].contains("growth of memory says little"), "{ram:?}");
        let build = told(baseline, (8192, 1, 22631));
        assert_eq!(
            build,
            ["it is of build 22631 of Windows, the baseline of build 19045: growth is that of both"],
            "{baseline}"
        );
        let both = told(baseline, (8192, 2, 22631));
        assert!(
            both.len() == 2 && both[0].contains("a machine with 2 processors, the baseline on one with 1"),
            "{both:?}"
        );
    }
    // A report has the first of several traces for its baseline.
    let report = ["report", "first.etl", "now.etl", "--budgets", "budgets.toml", "-o", "report.html", "-q"];
    assert_eq!(finish(pfnset(&report).current_dir(folder.path())).code, 0);
    assert!(read(&folder, "report.html").contains("it is of build 22631 of Windows, the baseline of build 19045"));
}

/// A baseline of other things was ignored without a word where no budget limits growth.
#[test]
fn a_baseline_that_fits_no_budget_is_said() {
    let folder = folder("[[budget]]\nname = \"ran\"\nanalysis = \"cpu\"\nmax = \"9 s\"\n");
    machine(&folder, "now.etl", (8192, 1, 19045));
    let ran = check(&folder, "now.etl --budgets budgets.toml --baseline resident-small.etl");
    let told = "the baseline is not used";
    assert!(ran.code == 0 && ran.out.contains(told), "{ran:?}");
    let ran = check(&folder, "now.etl --budgets budgets.toml --baseline now.etl");
    assert!(ran.code == 0 && !ran.out.contains(told), "{ran:?}");
}

/// The growth column showed pages that only changed their category, beside a note that the baseline is not used, and what grew most of them.
#[test]
fn growth_against_other_keywords_is_not_shown() {
    let limits = |name: &str, category: &str, limits: &str| {
        format!("[[budget]]\nname = \"{name}\"\nwhere.category = \"{category}\"\n{limits}\n")
    };
    let of_heaps = "was recorded with the keyword Win32HeapRanges, ";
    let folder = tempfile::tempdir().expect("a folder");
    kept(folder.path(), "whole.etl", Vec::new(), |_| true);
    kept(folder.path(), "bare.etl", Vec::new(), |hook| !(0x0264..=0x0268).contains(&hook));
    let run = |text: String, now: &str, baseline: &str, form: &str| {
        write(&folder, "budgets.toml", &text);
        let line = format!("{now} --budgets budgets.toml --baseline {baseline} --format {form} --junit verdicts.xml");
        check(&folder, &line)
    };
    for (now, baseline) in [("whole.etl", "bare.etl"), ("bare.etl", "whole.etl")] {
        // Beside one that can be compared.
        let two = [limits("va", "VirtualAlloc", "max = \"1 GiB\""), limits("img", "Image", "max = \"1 GiB\"")].concat();
        let ran = run(two, now, baseline, "json");
        let found = json(&ran);
        let [va, image] = [0, 1].map(|at| found["traces"][0]["budgets"][at].clone());
        assert_eq!((ran.code, &va["growth"], &va["baseline_value"]), (0, &Value::Null, &Value::Null), "{va}");
        let told = va["warnings"].as_array().expect("warnings").iter().filter_map(Value::as_str);
        let told: Vec<&str> = told.filter(|text| text.contains(of_heaps)).collect();
        assert!(told.len() == 1 && told[0].starts_with("its growth is not known: "), "{va}");
        assert_eq!((&image["growth"], &image["warnings"]), (&0.into(), &Value::Array(Vec::new())), "{image}");
        assert!(!ran.out.contains("baseline_unused"), "{}", ran.out);
        // Alone the baseline is of no use at all; the budget says why, once.
        let ran = run(limits("va", "VirtualAlloc", "max = \"1 GiB\""), now, baseline, "table");
        let unused = ran.out.contains("the baseline is not used, because it fits no budget\n");
        assert!(unused && ran.out.replace("\n ", "").matches(of_heaps).count() == 1, "{}", ran.out);
        // Another limit is broken: the one of growth is not silently left out.
        let both = limits("va", "VirtualAlloc", "max = \"4 KiB\"\nmax_growth = \"1 %\"");
        let ran = run(both, now, baseline, "csv");
        assert!(ran.code == 1 && ran.out.contains("max_growth is not judged: "), "{}", ran.out);
        let junit = read(&folder, "verdicts.xml");
        assert!(junit.contains("its largest parts") && !junit.contains("what grew most"), "{junit}");
        assert!(junit.contains("warning: max_growth is not judged: "), "{junit}");
    }
}

/// Rows of CSV had the warnings of the trace, and not those of what its growth counts from.
#[test]
fn rows_of_csv_have_the_warnings_of_the_baseline() {
    let folder = folder(ALL);
    let line = "resident-small.etl --budgets budgets.toml --baseline refset-small.etl --format csv -q";
    let ran = check(&folder, line);
    let row = ran.out.lines().nth(1).expect("a row");
    assert!(ran.code == 0 && row.contains("baseline refset-small.etl: 1,224 PFNs between"), "{}", ran.out);
}

/// The file of a run before stayed when a command ended early, and a pipeline showed its verdicts.
#[test]
fn verdicts_of_an_earlier_run_do_not_stay() {
    let folder = folder(ALL);
    fs::create_dir(folder.path().join("none")).expect("room for a folder");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --junit verdicts.xml");
    assert!(ran.code == 0 && read(&folder, "verdicts.xml").contains("testsuite"), "{ran:?}");
    let ran = check(&folder, "none --budgets budgets.toml --junit verdicts.xml");
    assert!(ran.code == 3 && !folder.path().join("verdicts.xml").exists(), "{ran:?}");
    // Nor do they stay beside budgets that are wrong.
    write(&folder, "typo.toml", &format!("{ALL}maxx = \"1\"\n"));
    write(&folder, "growth.toml", "[[budget]]\nname = \"all\"\nmax_growth = \"1 MiB\"\n");
    for budgets in ["typo.toml", "no-budgets.toml", "growth.toml", "budgets.toml --force"] {
        write(&folder, "verdicts.xml", "old");
        write(&folder, "answer.txt", "old");
        let line = format!("resident-small.etl --budgets {budgets} --junit verdicts.xml -o answer.txt");
        let ran = check(&folder, &line);
        assert!(ran.code == 2 && !folder.path().join("verdicts.xml").exists(), "{line}: {ran:?}");
        assert_eq!(read(&folder, "answer.txt"), "old", "what -o names stays until there is a new answer");
    }
    // What is an input, or a trace by its name, stays.
    fs::create_dir(folder.path().join("runs")).expect("room for a folder");
    fs::copy(folder.path().join("resident-small.etl"), folder.path().join("runs/a.zip")).expect("a trace");
    write(&folder, "base.json", "{}");
    let base = "resident-small.etl --budgets typo.toml --baseline base.json --junit";
    for (line, name) in [
        ("runs --budgets budgets.toml --junit runs/a.zip", "runs/a.zip"),
        ("none --budgets typo.toml --junit typo.toml", "typo.toml"),
        ("resident-small.etl --budgets typo.toml --junit resident-small.etl", "resident-small.etl"),
        ("runs/a.zip --budgets typo.toml --junit runs/a.zip", "runs/a.zip"),
        (&format!("{base} base.json"), "base.json"),
        (&format!("{base} answer.txt -o answer.txt"), "answer.txt"),
        ("none --budgets budgets.toml --junit budgets.toml", "budgets.toml"),
        ("none --budgets budgets.toml --junit resident-small.etl", "resident-small.etl"),
    ] {
        assert!(check(&folder, line).code >= 2 && folder.path().join(name).exists(), "{line}");
    }
}

/// Beside a budget that has a value in the baseline, the growth of another one was empty without a word.
#[test]
fn budgets_without_a_value_in_the_baseline_are_named() {
    let folder = folder(ALL);
    let line = "resident-small.etl --budgets budgets.toml --baseline resident-small.etl --save-baseline saved.json";
    let ran = check(&folder, line);
    assert!(ran.code == 0 && !ran.out.contains("the baseline has no value"), "{ran:?}");
    let new =
        ["a", "b", "c", "d"].map(|name| ALL.replace("All", &format!("new {name}")) + "where.category = \"Image\"\n");
    write(&folder, "budgets.toml", &[ALL, &new.concat()].concat());
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline saved.json --format json");
    let found = json(&ran);
    assert_eq!((ran.code, &found["traces"][0]["budgets"][1]["growth"]), (0, &Value::Null), "{}", ran.out);
    let told = "the baseline has no value for new a, new b, new c and 1 more: ";
    assert_eq!(ran.out.matches(told).count(), 1, "{}", ran.out);
}

/// With `--save-baseline` alone, budgets that limit growth passed without a word, night after night.
#[test]
fn growth_without_a_baseline_is_said_not_to_be_judged() {
    let folder = folder("[[budget]]\nname = \"all\"\nmax_growth = \"1 MiB\"\n");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline saved.json --junit j.xml");
    let told = "max_growth is not judged: there is no baseline";
    assert!(ran.code == 0 && ran.out.contains(told) && read(&folder, "j.xml").contains(told), "{ran:?}");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline saved.json");
    assert!(ran.code == 0 && !ran.out.contains(told), "{ran:?}");
}

/// `max` said what of unknown files could be of the value, and `max_growth` of the same value did not.
#[test]
fn what_nobody_names_can_be_growth_too() {
    let of_files = "where.file = \"*data*\"\n";
    let folder = folder(&format!("[[budget]]\nname = \"files\"\n{of_files}max_growth = \"4 KiB\"\n"));
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline resident-small.etl");
    assert!(ran.code == 0 && ran.out.replace("\n ", "").contains("and the baseline with max_growth is"), "{ran:?}");
}

/// Only sums of pages and faults were compared with their rows.
#[test]
fn saved_values_of_bytes_and_times_fit_their_rows() {
    let of = |analysis: &str, measure: &str| {
        format!(
            "[[budget]]\nname = \"{measure}\"\nanalysis = \"{analysis}\"\nmeasure = \"{measure}\"\nmax_growth = \"50 %\"\n"
        )
    };
    for (trace, analysis, measure) in [
        ("resident-small.etl", "commit", "outstanding"),
        ("resident-small.etl", "commit", "peak"),
        ("cpu-compressed.etl", "cpu", "cpu_ms"),
    ] {
        let folder = folder(&of(analysis, measure));
        fs::copy(fixtures().join(trace), folder.path().join("now.etl")).expect("a fixture");
        check(&folder, "now.etl --budgets budgets.toml --save-baseline saved.json -q");
        let judged = |folder: &TempDir| {
            json(&check(folder, "now.etl --budgets budgets.toml --baseline saved.json --format json -q"))["traces"][0]
                ["budgets"][0]
                .clone()
        };
        assert_ne!(judged(&folder)["verdict"], "invalid", "{measure}: {}", judged(&folder));
        let mut saved: Value = serde_json::from_str(&read(&folder, "saved.json")).expect("JSON");
        let pages = saved["budgets"][0]["pages"].as_u64().expect("a number");
        saved["budgets"][0]["pages"] = (pages * 2).into();
        write(&folder, "saved.json", &saved.to_string());
        let changed = judged(&folder);
        let reason = changed["reason"].as_str().unwrap_or_default();
        assert!(changed["verdict"] == "invalid" && reason.contains("contradicts itself"), "{measure}: {changed}");
    }
}

/// A baseline of one run was a median "of 1 runs".
#[test]
fn one_run_is_no_median() {
    let folder = folder(&[IMAGES, ALL].concat());
    check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json -q");
    let mut saved: Value = serde_json::from_str(&read(&folder, "base.json")).expect("JSON");
    let budget = &mut saved["budgets"][0];
    let row = budget["rows"][0]["pages"].as_u64().expect("pages");
    (budget["pages"], budget["runs"]) = (350.into(), vec![350].into());
    budget["rows"][0]["pages"] = (row - 10).into();
    write(&folder, "one.json", &saved.to_string());
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline one.json -q");
    assert!(ran.code == 1 && ran.out.contains("baseline: 1,400 KiB of 1 run"), "{ran:?}");
}

/// 1,784 KiB were within a limit of 1,783.9999 KiB, which was rounded to the nearest byte.
#[test]
fn limits_let_nothing_pass_by_a_part_of_a_byte() {
    let folder = folder("");
    let verdict = |limit: &str| {
        let budget = format!("[[budget]]\nname = \"Images\"\nwhere.category = \"Image\"\n{limit}\n");
        write(&folder, "budgets.toml", &budget);
        let ran = check(&folder, "refset-small.etl --budgets budgets.toml --baseline resident-small.etl --format json");
        let budget = json(&ran)["traces"][0]["budgets"][0].clone();
        (budget["verdict"].clone(), budget["growth_bytes"].as_i64())
    };
    let growth = verdict("max = \"1784 KiB\"").1.expect("growth");
    assert!(growth > 0 && growth % 4096 == 0, "{growth}");
    let below = growth / 1024 - 1;
    for (limit, wanted) in [
        ("max = \"1784 KiB\"".to_owned(), "watch"),
        ("max = \"1783.9999 KiB\"".to_owned(), "fail"),
        ("min = \"1784 KiB\"".to_owned(), "watch"),
        ("min = \"1784.0001 KiB\"".to_owned(), "fail"),
        (format!("max_growth = \"{} KiB\"", growth / 1024), "watch"),
        (format!("max_growth = \"{below}.9999 KiB\""), "fail"),
    ] {
        assert_eq!(verdict(&limit).0, wanted, "{limit}");
    }
}
