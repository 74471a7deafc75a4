//! `pfnset check` as a script uses it: exit codes, verdicts, baselines, JUnit, and traces of which a part was lost.

use crate::program::{Ran, beside_losses, finish, fixtures, pfnset, run};
use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with the fixtures and these budgets.
pub fn folder(budgets: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["resident-small.etl", "refset-small.etl"] {
        std::fs::copy(fixtures().join(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("budgets.toml"), budgets).unwrap();
    folder
}

/// A trace with the numbers of a fixture that is no copy of it: another letter in the name of its session.
pub fn another_run(folder: &TempDir, name: &str, letter: u8) {
    let mut bytes = std::fs::read(fixtures().join("refset-small.etl")).unwrap();
    let session: Vec<u8> = "NT Kernel".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let at = bytes.windows(session.len()).position(|window| window == session).unwrap();
    bytes[at] = letter;
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

pub fn check(folder: &TempDir, arguments: &str) -> Ran {
    let arguments: Vec<&str> = std::iter::once("check").chain(arguments.split(' ')).collect();
    finish(pfnset(&arguments).current_dir(folder.path()))
}

/// The fixture without one of its buffers.
pub fn without_buffer(folder: &TempDir, name: &str, number: usize) -> String {
    let mut bytes = std::fs::read(fixtures().join(name)).unwrap();
    bytes.drain(number * 0x1_0000..(number + 1) * 0x1_0000);
    let lossy = format!("lossy-{number}.etl");
    std::fs::write(folder.path().join(&lossy), bytes).unwrap();
    lossy
}

pub fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

/// Symbol files that nobody looks into are not passed over.
#[test]
fn symbols_without_a_budget_of_code_are_refused() {
    let folder = folder("[[budget]]\nname = \"All\"\nmax = \"90 %\"\n");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --symbols .");
    let text = "--symbols names functions: no budget of budgets.toml is by stack, function or module";
    assert!(ran.code == 2 && ran.err.contains(text), "{ran:?}");
    let ran =
        finish(pfnset(&["report", "resident-small.etl", "--symbols", ".", "-o", "r.html"]).current_dir(folder.path()));
    assert!(ran.code == 0 && ran.err.contains("--symbols has no effect"), "{}", ran.err);
}

/// Names and verdicts of the first trace.
fn verdicts(json: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let budgets = json["traces"][0]["budgets"].as_array().unwrap();
    budgets.iter().map(|budget| (text(&budget["name"]), text(&budget["verdict"]))).collect()
}

pub const FILES: &str = "[[budget]]\nname = \"Files\"\nwhere = { class = \"File\" }\n";

#[test]
fn exit_codes_tell_a_script_what_to_do() {
    // The fixture has 1,338 pages of files.
    for (limit, code, verdict) in [
        ("max = \"2000 pages\"", 0, "pass"),
        ("max = \"1400 pages\"", 0, "watch"),
        ("max = \"1338 pages\"", 0, "watch"),
        ("max = \"1337 pages\"", 1, "fail"),
        ("min = \"1338 pages\"", 0, "watch"),
        ("min = \"1339 pages\"", 1, "fail"),
        ("max = \"44.6 %\"", 0, "watch"),
        ("max = \"44.5 %\"", 1, "fail"),
    ] {
        let folder = folder(&format!("{FILES}{limit}\n"));
        let ran = check(&folder, "resident-small.etl --budgets budgets.toml --format json");
        let json = json(&ran);
        assert_eq!((ran.code, &json["verdict"]), (code, &Value::from(verdict)), "{limit}: {}", ran.out);
        let budget = &json["traces"][0]["budgets"][0];
        assert_eq!((&budget["value_pages"], &budget["value_bytes"]), (&1338.into(), &(1338 * 4096).into()));
        assert_eq!(budget["reason"].is_null(), verdict == "pass");
    }
}

#[test]
fn wrong_budgets_and_options_are_told_with_their_place() {
    let folder = folder(&format!("{FILES}max = \"1 MiB\"\nmaxgrowth = \"1 %\"\n"));
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml");
    let says = "pfnset: budgets.toml, line 5, column 1: unknown key \"maxgrowth\"; did you mean \"max_growth\"?";
    assert!(ran.code == 2 && ran.out.is_empty() && ran.err.starts_with(says), "{}", ran.err);
    let folder = self::folder(&format!("{FILES}max_growth = \"1 %\"\n"));
    for (arguments, says) in [
        ("resident-small.etl --budgets none.toml", "cannot read the budgets none.toml"),
        ("resident-small.etl --budgets budgets.toml", "budget \"Files\" has max_growth: give --baseline FILE"),
        ("resident-small.etl", "--budgets <FILE>"),
        (
            "resident-small.etl --budgets budgets.toml --junit resident-small.etl",
            "--junit resident-small.etl is an input",
        ),
    ] {
        let ran = check(&folder, arguments);
        assert!(ran.code == 2 && ran.err.contains(says), "{arguments}: {} {}", ran.code, ran.err);
    }
}

#[test]
fn flags_without_effect_are_errors() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    for (line, says) in [
        ("--init resident-small.etl --unit mib", "--unit has no effect on --init"),
        ("--init resident-small.etl --force", "--force lets -o write over a file of budgets, and there is no -o"),
        ("resident-small.etl --budgets budgets.toml --format json --unit mib", "--format json has pages"),
        ("resident-small.etl --budgets budgets.toml --format csv --unit mib", "--format csv has pages"),
    ] {
        let ran = check(&folder, line);
        assert!(ran.code == 2 && ran.err.contains(says), "{line}: {ran:?}");
    }
}

/// A name that is wrong is no proof that memory is within its budget.
#[test]
fn a_condition_that_matches_nothing_is_no_match() {
    let (pass, watch, fail, no_match) = ("pass", "watch", "fail", "no match");
    for (rest, code, verdict, of_trace) in [
        ("where = { process = \"nobody.exe (*)\" }\nmax = \"1 GiB\"", 1, no_match, no_match),
        ("where = { process = \"nobody.exe (*)\" }\nmin = \"1 page\"", 1, no_match, no_match),
        ("where = { process = \"nobody.exe (*)\" }\nmax = \"1 GiB\"\noptional = true", 0, no_match, pass),
        ("where = { process = \"nobody.exe (*)\" }\nmin = \"1 page\"\noptional = true", 0, no_match, pass),
        ("where = { process = \"csrss.exe (*);nobody*\" }\nmax = \"1 GiB\"", 0, pass, pass),
        ("where = { process = \"csrss.exe (*)\" }\nmax = \"1 page\"\noptional = true", 1, fail, fail),
        // The program knows the name: 0 is the answer.
        ("where = { category = \"BadPage\" }\nmax = \"0\"", 0, pass, pass),
        ("where = { category = \"BadPage\", process = \"csrss.exe (*)\" }\nmin = \"0\"", 0, pass, pass),
        // Pages of files have no process: a word says so.
        ("where = { process = \"csrss.exe (*)\", category = \"MapFile\" }\nmax = \"1 GiB\"", 0, pass, pass),
        ("where = { category = \"BadPage\", process = \"nobody*\" }\nmax = \"0\"", 1, no_match, no_match),
        ("analysis = \"refset\"\nwhere = { process = \"nobody*\" }\nmax = \"1 GiB\"", 1, no_match, no_match),
        (
            "analysis = \"refset\"\nmeasure = \"peak\"\nwhere = { file = \"nothing\" }\nmax = \"0\"",
            1,
            no_match,
            no_match,
        ),
        ("analysis = \"refset\"\nwhere = { process = \"csrss.exe (*)\" }\nmax = \"130 pages\"", 0, watch, watch),
    ] {
        let folder = folder(&format!("[[budget]]\nname = \"x\"\n{rest}\n"));
        // The account of the other trace does not add up.
        let trace = if rest.contains("refset") { "refset-proved.etl" } else { "refset-small.etl" };
        let ran = check(&folder, &format!("{} --budgets budgets.toml --format json", fixtures().join(trace).display()));
        let json = json(&ran);
        let found = (ran.code, &verdicts(&json)[0].1[..], json["verdict"].as_str().unwrap());
        assert_eq!(found, (code, verdict, of_trace), "{rest}: {}", ran.out);
        assert_eq!(json["traces"][0]["verdict"], json["verdict"]);
        let budget = &json["traces"][0]["budgets"][0];
        if verdict == no_match {
            assert_eq!((&budget["value_pages"], &budget["limits"]), (&0.into(), &Value::Array(Vec::new())));
            assert!(budget["reason"].as_str().unwrap().contains("matches nothing"), "{budget}");
        }
        let is_told = ran.err.contains("budget \"x\": ") && ran.err.contains("matches nothing");
        assert_eq!(is_told, rest.contains("no") || rest.contains(", "), "{rest}: {}", ran.err);
    }
}

/// Each limit that is broken, and by how much; the one that decides is named beside its amount.
#[test]
fn all_broken_limits_are_told() {
    let folder = folder(&format!("{FILES}max = \"1300 pages\"\nmax_growth = \"10 pages\"\n"));
    check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json");
    let path = folder.path().join("base.json");
    let mut saved: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let budget = &mut saved["budgets"][0];
    let rows = budget["rows"].as_array_mut().unwrap();
    let row = rows.iter_mut().find(|row| row["pages"].as_i64() > Some(30)).unwrap();
    row["pages"] = (row["pages"].as_i64().unwrap() - 30).into();
    budget["pages"] = 1308.into();
    std::fs::write(&path, saved.to_string()).unwrap();
    let line = "resident-small.etl --budgets budgets.toml --baseline base.json --unit pages";
    let ran = check(&folder, line);
    let reason = "Files: 38 pages above max 1,300 pages; grew by 30 pages, 20 pages more than max_growth 10 pages";
    assert!(ran.code == 1 && ran.out.contains(reason), "{}", ran.out);
    assert!(ran.out.contains("  max 1,300 pages  "), "{}", ran.out);
    // Written by an editor or a shell of Windows.
    let saved = std::fs::read_to_string(&path).unwrap();
    let wide =
        |unit: fn(u16) -> [u8; 2]| "\u{feff}".encode_utf16().chain(saved.encode_utf16()).flat_map(unit).collect();
    for written in [format!("\u{feff}{saved}").into_bytes(), wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
        std::fs::write(&path, written).unwrap();
        assert_eq!((check(&folder, line).code, check(&folder, line).out), (1, ran.out.clone()));
    }
    // In a summary of several traces each reason stands below its own trace.
    let markdown = check(
        &folder,
        "resident-small.etl refset-small.etl --budgets budgets.toml --baseline base.json --format markdown",
    )
    .out;
    let place = |text: &str| markdown.find(text).unwrap_or_else(|| panic!("{text}: {markdown}"));
    assert!(place("**Files: 152 KiB above") < place("**refset-small.etl: watch**"), "{markdown}");
    let csv = check(&folder, &line.replace("--unit pages", "--format csv")).out;
    assert!(csv.contains(",value_bytes,limit,limit_bytes,") && csv.contains(",max,5324800,-155648,"), "{csv}");
}

/// What matched in the baseline or in the trace before says nothing about this one.
#[test]
fn each_trace_has_its_own_matches() {
    let folder = folder("[[budget]]\nname = \"child\"\nwhere = { process = \"child1.exe (*)\" }\nmax = \"1 GiB\"\n");
    for arguments in [
        "refset-small.etl resident-small.etl --budgets budgets.toml",
        "resident-small.etl --baseline refset-small.etl --budgets budgets.toml",
    ] {
        let ran = check(&folder, arguments);
        assert!(ran.code == 1 && ran.out.contains("resident-small.etl: no match"), "{arguments}: {}", ran.out);
        assert!(ran.out.contains("child: process \"child1.exe (*)\" matches nothing"), "{arguments}: {}", ran.out);
        assert_eq!(ran.out.contains("refset-small.etl: pass"), arguments.starts_with("refset"), "{}", ran.out);
    }
    assert_eq!(check(&folder, "refset-small.etl --budgets budgets.toml").code, 0);
}

const PARTS: &str = "\
[[budget]]\nname = \"Kernel stacks\"\nwhere = { category = \"KernelStack\" }\nmax = \"100 %\"\n\
[[budget]]\nname = \"csrss\"\nwhere = { process = \"csrss.exe (*)\" }\nmax = \"100 %\"\n\
[[budget]]\nname = \"Stacks\"\nwhere = { category = \"UserStack\" }\nmax = \"100 %\"\n";

const OF_ANY_TIME: &str = "perhaps of a processor that has no records, and then of any time";

#[test]
fn a_budget_is_invalid_when_its_part_was_lost_and_no_other() {
    let touched = "[[budget]]\nname = \"Touched\"\nanalysis = \"refset\"\nmeasure = \"accessed\"\nmax = \"1 GiB\"\n\
                   [[budget]]\nname = \"Held\"\nanalysis = \"refset\"\nmax = \"1 GiB\"\n";
    let folder = folder(&format!("{PARTS}{touched}"));
    let (pass, invalid) = ("pass", "invalid");
    for (name, buffer, code, wanted, reason) in [
        // Rundowns of the start: who is who. Categories that need no rundown stay known.
        ("refset-small.etl", 1, 3, [pass, invalid, invalid, invalid, invalid], "a rundown of ProcessThread"),
        // The page sequence, which the reference set does not need; what is left of it disproves nothing.
        ("refset-proved.etl", 8, 3, [invalid, invalid, invalid, pass, pass], "the page sequence"),
        // Nothing that any of them needs; the account of this one does not add up.
        ("refset-small.etl", 8, 3, [pass, pass, pass, pass, invalid], ""),
        // The only buffer of a processor: it may have been anything.
        ("resident-small.etl", 4, 3, [invalid; 5], OF_ANY_TIME),
    ] {
        let whole = fixtures().join(name).display().to_string();
        let whole = json(&check(&folder, &format!("{whole} --budgets budgets.toml --format json -q")));
        let lossy = without_buffer(&folder, name, buffer);
        let ran = check(&folder, &format!("{lossy} --budgets budgets.toml --format json -q"));
        let json = json(&ran);
        let found: Vec<String> = verdicts(&json).into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!((ran.code, found), (code, wanted.map(str::to_owned).to_vec()), "{name} {buffer}: {}", ran.out);
        for (number, verdict) in wanted.iter().enumerate() {
            let (budget, of_whole) =
                (&json["traces"][0]["budgets"][number], &whole["traces"][0]["budgets"][number]["value_pages"]);
            let value = &budget["value_pages"];
            assert!(if *verdict == pass { value == of_whole } else { value.is_null() }, "{budget}");
        }
        let stacks = &json["traces"][0]["budgets"][2];
        assert!(stacks["reason"].as_str().unwrap_or_default().contains(reason), "{stacks}");
        // The warning said when the buffer was missing, and the reason that nobody knows.
        let warned = json["traces"][0]["warnings"].to_string();
        assert!(
            warned.contains("missing between") && warned.contains(OF_ANY_TIME) == (reason == OF_ANY_TIME),
            "{warned}"
        );
        assert_eq!(check(&folder, &format!("{lossy} --budgets budgets.toml --strict")).code, 3);
    }
    // Damage inside of the page sequence.
    let mut damaged = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    damaged[3 * 0x1_0000 + 0x4000..3 * 0x1_0000 + 0x4100].fill(0xff);
    std::fs::write(folder.path().join("damaged.etl"), damaged).unwrap();
    let ran = check(&folder, "damaged.etl --budgets budgets.toml -q");
    assert!(ran.code == 3 && ran.out.contains("Kernel stacks; csrss; Stacks: the file is damaged at"), "{}", ran.out);
    // A record that says it is one of a process, and has the length of a page.
    let mut odd = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    let at = (0x1_0000..odd.len() - 8).step_by(8);
    let at = at.clone().find(|&at| odd[at + 3] == 0xc0 && odd[at + 6..at + 8] == [0x23, 0x02]).unwrap();
    odd[at + 6..at + 8].copy_from_slice(&0x0303u16.to_le_bytes());
    std::fs::write(folder.path().join("odd.etl"), odd).unwrap();
    let ran = check(&folder, "odd.etl --budgets budgets.toml -q");
    assert!(ran.code == 3 && ran.out.contains("a rundown of ProcessThread consists of"), "{}", ran.out);
    let ran =
        run(&["resident", folder.path().join("odd.etl").to_str().expect("UTF-8"), "-q", "--strict", "--format", "csv"]);
    assert!(ran.code == 3 && ran.err.contains("do not fit their layout and are left out"), "{}", ran.err);
    // Cut: nobody knows what came after.
    let whole = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    std::fs::write(folder.path().join("cut.etl"), &whole[..200_000]).unwrap();
    let ran = check(&folder, "cut.etl --budgets budgets.toml");
    assert!(ran.code == 3 && ran.out.contains("Kernel stacks; csrss; Stacks: the file is cut"), "{}", ran.out);
}

#[test]
fn what_was_not_recorded_and_what_cannot_be_read_is_invalid() {
    let folder =
        folder("[[budget]]\nname = \"Touched\"\nanalysis = \"refset\"\nmeasure = \"accessed\"\nmax = \"100 GiB\"\n");
    let ran = check(&folder, "refset-small.etl resident-small.etl none.etl --budgets budgets.toml --format json -q");
    let json = json(&ran);
    assert_eq!((ran.code, &json["verdict"]), (3, &"invalid".into()));
    let of = |trace: usize| &json["traces"][trace]["budgets"][0];
    assert_eq!(of(0)["value_pages"], 3621);
    assert!(of(1)["reason"].as_str().unwrap().contains("the trace holds no page accesses"), "{}", of(1));
    assert!(of(2)["reason"].as_str().unwrap().starts_with("cannot read none.etl"), "{}", of(2));
}

#[test]
fn a_failed_budget_names_what_grew_since_the_baseline() {
    let folder = folder(&format!("{FILES}max_growth = \"10 pages\"\n{PARTS}"));
    let saved = check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json");
    assert_eq!(saved.code, 0, "{}", saved.err);
    let path = folder.path().join("base.json");
    let mut base: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let same = check(&folder, "resident-small.etl --budgets budgets.toml --baseline base.json");
    assert_eq!(same.code, 0, "{}", same.out);
    // Before, there were 30 pages fewer of one category.
    let budget = &mut base["budgets"][0];
    budget["pages"] = 1308.into();
    let rows = budget["rows"].as_array_mut().unwrap();
    let row = rows.iter_mut().find(|row| row["labels"][1] == "MapFile").unwrap();
    row["pages"] = (row["pages"].as_i64().unwrap() - 30).into();
    std::fs::write(&path, base.to_string()).unwrap();
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline base.json");
    assert_eq!(ran.code, 1);
    assert_snapshot!("check_growth", ran.out);
    let markdown = check(&folder, "resident-small.etl --budgets budgets.toml --baseline base.json --format markdown");
    assert_snapshot!("check_markdown", markdown.out);
    // A budget that the baseline does not know.
    let budgets = "[[budget]]\nname = \"Files\"\nwhere = { class = \"Kernel\" }\nmax_growth = \"1 %\"\n";
    std::fs::write(folder.path().join("budgets.toml"), budgets).unwrap();
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline base.json");
    assert!(ran.code == 3 && ran.out.contains("save it again with pfnset check --save-baseline"), "{}", ran.out);
}

#[test]
fn traces_and_reports_are_baselines_too() {
    let folder = folder(&format!("{FILES}max_growth = \"0\"\n"));
    let report = finish(
        pfnset(&["resident", "resident-small.etl", "--format", "json", "--group-by", "class,process"])
            .current_dir(folder.path()),
    );
    std::fs::write(folder.path().join("report.json"), report.out).unwrap();
    for baseline in ["resident-small.etl", "report.json"] {
        let ran =
            check(&folder, &format!("resident-small.etl --budgets budgets.toml --baseline {baseline} --format json"));
        let budget = &json(&ran)["traces"][0]["budgets"][0];
        assert_eq!((ran.code, &budget["baseline_pages"], &budget["growth_bytes"]), (0, &1338.into(), &0.into()));
    }
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline budgets.toml");
    assert!(ran.code == 3 && ran.err.contains("expected a trace (.etl), JSON or CSV"), "{}", ran.err);
}

/// What the usual schema of JUnit demands: counts that agree, a name for each case, at most one outcome.
#[test]
fn junit_counts_failures_and_errors() {
    let folder = folder(&format!("{FILES}max = \"1 page\"\n{PARTS}"));
    let lossy = without_buffer(&folder, "resident-small.etl", 2);
    let ran = check(&folder, &format!("{lossy} resident-small.etl --budgets budgets.toml --junit out.xml -q"));
    assert_eq!(ran.code, 1, "a failure is worse than what is not known");
    let xml = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pfnset check\""), "{xml}");
    let of = |line: &str, name: &str| -> usize {
        let value = line.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{line}: {name}")).1;
        value.split('"').next().unwrap().parse().unwrap()
    };
    let mut all = [0; 3];
    let suites: Vec<&str> = xml.split("<testsuite ").skip(1).collect();
    assert_eq!(suites.len(), 2);
    for suite in suites {
        let counted = ["<testcase ", "<failure ", "<error "].map(|tag| suite.matches(tag).count());
        let head = format!(" {}", suite.lines().next().unwrap());
        assert_eq!(["tests", "failures", "errors"].map(|name| of(&head, name)), counted, "{suite}");
        for case in suite.split("<testcase ").skip(1) {
            assert!(case.starts_with("name=\"") && case.contains(" classname=\""), "{case}");
            assert!(case.matches("<failure ").count() + case.matches("<error ").count() <= 1, "{case}");
        }
        all.iter_mut().zip(counted).for_each(|(all, counted)| *all += counted);
    }
    let head = xml.lines().nth(1).unwrap();
    assert_eq!(["tests", "failures", "errors"].map(|name| of(head, name)), all);
    assert_eq!(all, [8, 1, 4], "{xml}");
}

/// A folder is its traces. Many of them begin with a table of all, and only what is not fine follows.
#[test]
fn folders_begin_with_traces_and_budgets() {
    let folder = folder(&format!(
        "{FILES}max = \"1300 pages\"\n[[budget]]\nname = \"Kernel\"\nwhere = {{ class = \"Kernel\" }}\nmax = \"1 GiB\"\n"
    ));
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for name in ["a", "b", "c", "d"] {
        another_run(&folder, &format!("runs/{name}.etl"), name.as_bytes()[0]);
    }
    std::fs::copy(fixtures().join("resident-small.etl"), folder.path().join("runs").join("e.etl")).unwrap();
    let ran = check(&folder, "runs --budgets budgets.toml");
    assert_eq!(ran.code, 1, "{ran:?}");
    let without_warnings: Vec<&str> = ran.out.lines().skip_while(|line| !line.starts_with("5 traces")).collect();
    assert_snapshot!("check_folder", without_warnings.join("\n"));
    let all = json(&check(&folder, "runs --budgets budgets.toml --format json -q"));
    assert_eq!(all["traces"].as_array().unwrap().len(), 5);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let none = check(&folder, "empty --budgets budgets.toml");
    assert!(none.code == 3 && none.err.contains("the folder holds no trace"), "{none:?}");
    let ran = check(&folder, "runs --budgets budgets.toml --force");
    assert!(ran.code == 2 && ran.err.contains("--force is for --init"), "{ran:?}");
}

/// No two runs are the same: growth counts from the median of a baseline, and what is within its spread is called so.
#[test]
fn a_baseline_of_several_runs_has_a_median_and_a_spread() {
    let folder = folder(&format!("{FILES}max_growth = \"0\"\n"));
    // The fixtures have other numbers of pages of files: 1,338 and fewer.
    another_run(&folder, "again.etl", b'a');
    let saved = check(
        &folder,
        "resident-small.etl refset-small.etl again.etl --budgets budgets.toml --save-baseline runs.json -q",
    );
    assert_eq!(saved.code, 0, "{saved:?}");
    let base = json(&check(&folder, "refset-small.etl --budgets budgets.toml --baseline runs.json --format json -q"));
    let budget = &base["traces"][0]["budgets"][0];
    let (least, most) = (budget["baseline_least"].as_u64().unwrap(), budget["baseline_most"].as_u64().unwrap());
    assert!(least < most && most == 1338 * 4096, "{budget}");
    assert_eq!((&budget["baseline_runs"], &budget["baseline_bytes"]), (&3.into(), &least.into()));
    assert_eq!(budget["value_bytes"], budget["baseline_bytes"]);
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline runs.json -q");
    assert_eq!(ran.code, 0, "{ran:?}");
    let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("; baseline: median ") && out.contains(": the value is within their spread"), "{}", ran.out);
    assert!(
        out.contains(" watch ") && out.contains(" more than max_growth 0 KiB, no more than a run of the baseline"),
        "{}",
        ran.out
    );
    // Larger than every run.
    check(&folder, "refset-small.etl again.etl --budgets budgets.toml --save-baseline less.json -q");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline less.json -q");
    assert!(ran.code == 1 && ran.out.contains("median"), "{ran:?}");
    // One trace alone has no spread.
    check(&folder, "refset-small.etl --budgets budgets.toml --save-baseline one.json -q");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline one.json -q");
    assert!(ran.code == 1 && !ran.out.contains("median"), "{ran:?}");
}

/// A trace without pages has budgets of its reference set, and says what is not there.
#[test]
fn a_first_file_says_what_it_has_no_budgets_of() {
    let folder = folder("");
    let of_pages = check(&folder, "--init resident-small.etl");
    assert_eq!((of_pages.code, of_pages.err.as_str()), (0, ""));
    assert!(of_pages.out.contains("\n# No budgets of what was touched (analysis = \"refset\"): "), "{}", of_pages.out);
    let both = check(&folder, &format!("--init {}", fixtures().join("refset-proved.etl").display()));
    assert!(!both.out.contains("# No budgets of what") && !both.err.contains("No budgets"), "{both:?}");
    // There are budgets of hard faults, and none of their waits.
    let of_faults = check(&folder, &format!("--init {}", crate::program::fixtures().join("faults-x86.etl").display()));
    let says = "# No budgets of the waits of hard faults (measure = \"fault_wait_ms\"): ";
    assert!(of_faults.out.contains(says) && of_faults.out.contains("name = \"Hard faults\""), "{of_faults:?}");
    // A name that is no pattern for itself.
    let mut bytes = std::fs::read(crate::program::fixtures().join("resident-small.etl")).expect("a trace");
    let name = b"csrss.exe";
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
    places.into_iter().for_each(|at| bytes[at + 2] = b';');
    std::fs::write(folder.path().join("renamed.etl"), bytes).expect("room for a trace");
    let of_renamed = check(&folder, "--init renamed.etl");
    assert!(of_renamed.out.contains("\n# No budget of \"cs;ss.exe\": in a pattern"), "{}", of_renamed.out);
    assert!(of_renamed.out.contains("name = \"lsass.exe, memory\"") && of_renamed.code == 0, "{of_renamed:?}");
    let of_switches =
        check(&folder, &format!("--init {}", crate::program::fixtures().join("cpu-compressed.etl").display()));
    assert_eq!(of_switches.code, 4);
    let told = of_switches.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("write budgets of processor time (analysis = \"cpu\") yourself"), "{of_switches:?}");
}

#[test]
fn a_first_file_of_budgets_is_met_by_its_trace() {
    let folder = folder("");
    for trace in ["resident-small.etl", "refset-small.etl"] {
        let ran = check(&folder, &format!("--init {trace} -o first.toml --force -q"));
        assert_eq!((ran.code, beside_losses(&ran.err).as_str()), (0, ""));
        let ran = check(&folder, &format!("{trace} --budgets first.toml --format json -q"));
        assert_eq!((ran.code, &json(&ran)["verdict"]), (0, &"pass".into()), "{}", ran.out);
    }
    // Somebody may have edited it.
    let edited = std::fs::read_to_string(folder.path().join("first.toml")).unwrap() + "# mine\n";
    std::fs::write(folder.path().join("first.toml"), &edited).unwrap();
    let ran = check(&folder, "--init resident-small.etl -o first.toml");
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "pfnset: -o first.toml is there already; name another file, or add --force\n")
    );
    assert_eq!(std::fs::read_to_string(folder.path().join("first.toml")).unwrap(), edited);
    assert_eq!(check(&folder, "--init resident-small.etl -o first.toml --force").code, 0);
    assert_ne!(std::fs::read_to_string(folder.path().join("first.toml")).unwrap(), edited);
    let ran = check(&folder, "--init resident-small.etl");
    assert_snapshot!("check_init", ran.out);
}
