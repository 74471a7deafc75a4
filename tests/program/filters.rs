//! Conditions that cannot be met and flags without effect are told, not taken in silence.

use crate::program::{Ran, beside_losses, out, run};
use crate::random_cases::one_in;
use etl_writer::payloads::process::Process;
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};

const RESIDENT: &str = "resident-small.etl";
const REFSET: &str = "refset-small.etl";

fn assert_refused(arguments: &[&str], says: &str) {
    let ran = run(arguments);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
    assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
}

#[test]
fn labels_that_cannot_be_are_errors() {
    for (condition, says) in [
        ("category=Imge", "--where: category is never \"Imge\"; did you mean \"Image\"?"),
        ("category=Image;!Win32Hep", "did you mean \"Win32Heap\"?"),
        ("cold=yes", "did you mean \"true\"?"),
        ("priority=9", "known are 0, 1, 2, 3, 4, 5, 6, 7"),
        ("category==Image", "write category=Image"),
        ("category=", "says nothing"),
        ("list=standbi", "did you mean \"Standby\"?"),
        ("categorie=Image", "unknown dimension \"categorie\"; did you mean \"category\"?"),
    ] {
        for command in ["resident", "pages"] {
            assert_refused(&[command, RESIDENT, "--where", condition], says);
        }
    }
    assert_refused(&["refset", REFSET, "--where", "impact=Transint"], "did you mean \"Transient\"?");
    assert_refused(&["processes", REFSET, "--where", "started=yes"], "did you mean \"true\"?");
    assert_refused(&["resident", RESIDENT, "--group-by", "proces"], "did you mean \"process\"?");
    assert_refused(&["resident", RESIDENT, "--preset", "by-proces"], "did you mean \"by-process\"?");
}

/// A window after the end of the trace is a mistake, not one in which nothing happened.
#[test]
fn windows_after_the_trace_are_refused() {
    for (command, end) in [
        ("stacks stacks-keys.etl", "0.003013"),
        ("events stacks-keys.etl --rows", "0.003013"),
        ("memory resident-small.etl", "3.0"),
        ("allocations alloc-x86.etl", "6.659663"),
        ("refset refset-small.etl", "0.0"),
        ("cpu cpu-compressed.etl", "0.400730"),
        ("faults faults-x86.etl", "1.20002"),
    ] {
        for window in [&["--from", "100"][..], &["--from", "100", "--to", "200"]] {
            let arguments: Vec<&str> = command.split(' ').chain(window.iter().copied()).collect();
            let says = format!("the window begins at 100.000000 s, but the trace ends at {end}");
            assert_refused(&arguments, &says);
        }
    }
}

#[test]
fn patterns_that_match_nothing_are_told_in_every_form() {
    let told = |ran: &Ran, text: &str| ran.err.contains(text) && ran.code == 0;
    for format in one_in(1, vec!["table", "json", "csv", "jsonl", "markdown"]) {
        let arguments = ["--where", "process=nobody*", "--format", format];
        for (command, trace) in [("resident", RESIDENT), ("refset", REFSET), ("processes", REFSET)] {
            let ran = run(&[&[command, trace][..], &arguments].concat());
            assert!(told(&ran, "process \"nobody*\" matches nothing"), "{command} {format}: {ran:?}");
            assert_eq!(beside_losses(&run(&[&[command, trace, "-q"][..], &arguments].concat()).err), "");
        }
    }
    for format in ["table", "csv", "jsonl", "xperf"] {
        let ran = run(&["pages", RESIDENT, "--where", "file=*.nothing", "--format", format]);
        assert!(told(&ran, "file \"*.nothing\" matches nothing"), "{ran:?}");
    }
    let ran = run(&["events", RESIDENT, "--name", "foo;!bar;Page*", "--provider", "*;nobody"]);
    for text in ["--name \"foo\"", "--name \"bar\"", "--provider \"nobody\""] {
        assert!(told(&ran, &format!("{text} matches nothing")), "{ran:?}");
    }
    assert!(!ran.err.contains("Page*"), "{ran:?}");
}

/// What a table shows of a long label, copied into a condition, matched nothing, and nothing said why.
#[test]
fn a_label_that_a_table_cut_is_told() {
    let advice = "stands for text that it cut: write * there";
    for (arguments, says) in [
        (&["resident", RESIDENT, "--where", "process=a…b;ab"][..], "process \"a…b\" matches nothing; a …"),
        (&["stacks", "stacks-keys.etl", "--leaf", "a…b"], "--leaf: no function matches \"a…b\"; a …"),
    ] {
        let ran = run(arguments);
        assert!(ran.code == 0 && ran.err.contains(says) && ran.err.matches(advice).count() == 1, "{ran:?}");
    }
}

/// Command lines can end in a space: the label that a table, or CSV, shows of one matched nothing.
#[test]
fn a_label_that_ends_in_a_space_can_be_written() {
    let session = Session::windows10();
    let t0 = session.t0;
    let process = |pid, command: &str| Process { command: command.to_owned(), ..Process::new(pid, "cmd.exe") };
    let records = [process(400, "\"cmd.exe\" "), process(404, "\"cmd.exe\" -run")]
        .map(|process| process.rec(P8, 4, 0x0303).at(t0 + 10_000));
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    for condition in ["command_line=\"cmd.exe\" ", "command_line=\"cmd.exe\""] {
        let ran = run(&["processes", path, "--group-by", "pid", "--where", condition, "--format", "csv"]);
        assert!(ran.code == 0 && !ran.err.contains("matches nothing"), "{condition}: {ran:?}");
        assert!(ran.out.contains("\n400,") && !ran.out.contains("\n404,"), "{condition}: {}", ran.out);
    }
}

/// Zeros of a name that nobody has are not those of a machine that did nothing: each command says so where people look.
#[test]
fn tables_say_that_nothing_was_chosen() {
    for (command, trace, condition) in [
        ("resident", RESIDENT, "process=nobody*"),
        ("processes", RESIDENT, "name=nobody*"),
        ("refset", REFSET, "process=nobody*"),
        ("cpu", "cpu-compressed.etl", "process=nobody*"),
        ("faults", "faults-x86.etl", "process=nobody*"),
        ("allocations", "alloc-x86.etl", "process=nobody*"),
        ("stacks", "stacks-keys.etl", "process=nobody*"),
        ("memory", RESIDENT, "process=nobody*"),
    ] {
        let ran = run(&[command, trace, "--where", condition]);
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
        let says = [" meets the conditions of --where", "meet the conditions of --where"];
        assert!(says.iter().any(|says| ran.out.contains(says)), "{command}: {}", ran.out);
        let some = run(&[command, trace]);
        assert!(!some.out.contains("the conditions of --where"), "{command}: {}", some.out);
    }
}

#[test]
fn what_matches_and_what_can_be_is_quiet() {
    for condition in ["category=IMAGE;n/a", "priority=0", "category=Im*", "list=Bad;Active", "process=*"] {
        let ran = run(&["resident", RESIDENT, "--where", condition, "--format", "csv"]);
        assert!(ran.code == 0 && !ran.err.contains("matches nothing"), "{condition}: {ran:?}");
    }
    let preset = run(&["resident", RESIDENT, "--preset", "private-working-set"]);
    assert!(!preset.err.contains("matches nothing"), "{preset:?}");
}

#[test]
fn flags_without_effect_are_errors() {
    for (arguments, says) in [
        (&["refset", REFSET, "--sort", "impact", "--group-by", "release_reason"][..], "--group-by impact"),
        (&["refset", REFSET, "--sort", "impact"], "--group-by impact"),
        (&["refset", REFSET, "--timeline", "10ms", "--top", "3"], "--timeline is shown as a whole"),
        (&["refset", REFSET, "--timeline", "10ms", "--sort", "name"], "--sort has no effect"),
        (&["refset", REFSET, "--each", "--sort", "peak"], "which --each does not show"),
        (&["resident", RESIDENT, "--each", "--all"], "--all is of one trace"),
        (
            &["processes", RESIDENT, "--group-by", "name", "--sort", "pages", "--format", "csv"],
            "is for table and markdown",
        ),
        (&["refset", REFSET, "--timeline", "10ms", "--unit", "mib"], "--unit has no effect"),
        (&["refset", REFSET, "--verify", "--top", "3"], "--top has no effect"),
        (&["refset", REFSET, "--verify", "--unit", "mib"], "--unit has no effect"),
        (&["refset", REFSET, "--verify", "--from", "0.01"], "--from and --to have no effect"),
        (&["refset", REFSET, "--verify", "--to", "0.05"], "--from and --to have no effect"),
        (&["resident", RESIDENT, "--group-by", "category", "--process", "780"], "--where pid=PID"),
        (&["resident", RESIDENT, "--pivot", "list", "--process", "780"], "--where pid=PID"),
        (&["resident", RESIDENT, "--process", "780"], "--where pid=PID"),
        (
            &["allocations", "alloc-x86.etl", "--timeline", "10ms", "--group-by", "process"],
            "--group-by is for --format json",
        ),
        (
            &["cpu", "cpu-compressed.etl", "--timeline", "100ms", "--where", "processor=2"],
            "--timeline is of threads on all processors: --where processor has no effect",
        ),
        (
            &[
                "cpu",
                "cpu-compressed.etl",
                "--timeline",
                "100ms",
                "--where",
                "processor=2",
                "--group-by",
                "processor,process",
            ],
            "--where processor has no effect",
        ),
        (&["diff", RESIDENT, RESIDENT, "--group-by", "category", "--apart"], "--apart is for rows by process"),
        (&["diff", RESIDENT, RESIDENT, "--of", "samples", "--match", "pid"], "--match is for rows by process"),
        (&["resident", RESIDENT, "--sort", "wpa", "--group-by", "process"], "by category or class"),
        (&["resident", RESIDENT, "--sort", "difference", "--classification", "wpa"], "--classification both"),
        (&["resident", RESIDENT, "--sort", "wpa", "--classification", "corrected"], "--classification both"),
        (&["resident", RESIDENT, "--explain", "0x10", "--sort", "name"], "--sort"),
    ] {
        assert_refused(arguments, says);
    }
    for (command, trace) in [("resident", RESIDENT), ("refset", REFSET), ("processes", REFSET)] {
        for format in ["csv", "json", "jsonl"] {
            assert_refused(&[command, trace, "--top", "3", "--format", format], "has all rows");
            assert_refused(&[command, trace, "--unit", "mib", "--format", format], "has pages and bytes");
        }
        assert_eq!(run(&[command, trace, "--top", "3", "--unit", "mib", "--format", "markdown"]).code, 0);
    }
    assert_eq!(run(&["resident", RESIDENT, "--sort", "wpa", "--classification", "wpa"]).code, 0);
}

#[test]
fn rows_for_programs_are_sorted_too() {
    let column = |sort: &str, name: &str| -> Vec<String> {
        let by = ["--group-by", "category,process", "--sort", sort, "--format", "csv"];
        let csv = run(&[&["resident", RESIDENT][..], &by].concat()).out;
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let at = reader.headers().unwrap().iter().position(|heading| heading == name).expect("the column");
        reader.records().map(|row| row.unwrap()[at].to_owned()).collect()
    };
    assert!(column("name", "category").is_sorted_by_key(|name| name.to_lowercase()));
    let wpa: Vec<u64> = column("wpa", "pages_wpa").iter().map(|pages| pages.parse().expect("a number")).collect();
    assert!(wpa.is_sorted_by(|a, b| a >= b) && wpa[0] > *wpa.last().unwrap(), "{wpa:?}");
}

#[test]
fn a_name_finds_every_version_of_an_event() {
    let records = [0x0223, 0x028a, 0x0276].map(|hook| Rec::perf(P8, hook, 2, vec![0; 24]).at(1_000_000_000));
    let trace = file_of(&Trace::new(Session::windows10()).push_all(records).finish());
    let path = trace.path().to_str().unwrap();
    for name in ["InMemory", "PageInMemory*", "Memory: PageInMemory"] {
        let csv = run(&["events", path, "--name", name, "--format", "csv"]).out;
        assert!(csv.lines().count() == 3 && csv.contains(",0x0223,") && csv.contains(",0x028a,"), "{name}: {csv}");
    }
}

#[test]
fn shells_complete_dimensions_and_presets() {
    let bash = out(&["completions", "bash"]);
    let names = |list: &str| bash.lines().any(|found| found.contains("compgen") && found.contains(list));
    assert!(names("\"list use category category_wpa class class_wpa rule process"), "{bash}");
    assert!(names("\"process process_name service command_line pid session category class file"));
    assert!(names("by-process by-list-priority private-working-set files drivers"));
}

/// Of each command the headings and the first line of the rows with chosen columns.
#[test]
fn columns_are_chosen_by_their_headings() {
    for (arguments, headings) in [
        (
            &["refset", "refset-small.etl", "--group-by", "process", "--columns", "size,pages"][..],
            "Process Size/KiB Pages",
        ),
        (&["refset", "refset-small.etl", "--group-by", "impact", "--columns", "charged_pages"], "Impact Charged pages"),
        (&["processes", "resident-small.etl", "--columns", "Start s,parent"], "Process Start s Parent"),
        (&["processes", "resident-small.etl", "--group-by", "name", "--columns", "processes"], "Name Processes"),
        (&["memory", "resident-small.etl", "--columns", "most,mean"], "Counter/MiB Most Mean"),
        (&["cpu", "cpu-compressed.etl", "--columns", "switches"], "Process Switches"),
        // Without all their labels rows could not be told apart.
        (&["faults", "faults-x86.etl", "--of", "soft", "--columns", "faults"], "Process Kind Faults"),
        (&["faults", "faults-x86.etl", "--group-by", "process,kind", "--columns", "read"], "Process Kind Read"),
        (&["cpu", "cpu-compressed.etl", "--preset", "waits", "--columns", "time"], "Process Wait reason Time"),
        (
            &[
                "cpu",
                "cpu-compressed.etl",
                "--preset",
                "delays",
                "--group-by",
                "process,thread",
                "--columns",
                "mean,kind",
            ],
            "Process Thread Kind Mean",
        ),
    ] {
        let text = out(&[arguments, &["-q"]].concat());
        let rule = text.lines().position(|line| line.starts_with('─')).unwrap_or_else(|| panic!("{text}"));
        let heading = text.lines().nth(rule - 1).unwrap();
        assert_eq!(heading.split_whitespace().collect::<Vec<_>>().join(" "), headings, "{text}");
        for (more, says) in
            [(&["--format", "csv"][..], "--columns is for table and markdown"), (&["--columns", "x"], "")]
        {
            let ran = run(&[arguments, more].concat());
            assert!(ran.code == 2 && ran.err.contains(says), "{arguments:?} {more:?}: {ran:?}");
        }
        let markdown = out(&[arguments, &["-q", "--format", "markdown"]].concat());
        let columns = markdown.lines().find(|line| line.starts_with("| ")).unwrap();
        assert_eq!(columns.trim_matches(['|', ' ']).replace(" | ", " "), headings, "{markdown}");
    }
    assert_refused(&["refset", "refset-small.etl", "--columns", "pagse"], "did you mean \"pages\"");
    assert_refused(&["refset", "refset-small.etl", "--verify", "--columns", "pages"], "--columns has no effect");
}

#[test]
fn an_image_name_is_every_instance_and_a_number_the_process_id() {
    let folder = tempfile::tempdir().unwrap();
    let budgets = folder.path().join("budgets.toml");
    let cpu = "cpu-compressed.etl";
    let rows = |arguments: &[&str], condition: &str| {
        let ran = run(&[arguments, &["--where", condition, "--format", "csv"]].concat());
        assert!(ran.code < 2 && !ran.err.contains("matches nothing"), "{arguments:?} {condition}: {}", ran.err);
        assert!(ran.out.lines().count() > 1, "{arguments:?} {condition}: {}", ran.out);
        ran.out
    };
    // The label of a process of each trace.
    let label = |arguments: &[&str]| {
        let text = run(&[arguments, &["--format", "jsonl"]].concat()).out;
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let names =
            text.lines().filter_map(|line| row(line)["process"].as_str().map(str::to_owned)).collect::<Vec<_>>();
        names.into_iter().find(|name| name.ends_with(')') && name.contains(".exe (")).expect("a process")
    };
    let tables: [(&[&str], bool); 6] = [
        (&["resident", RESIDENT, "--group-by", "process"][..], true),
        (&["refset", REFSET, "--group-by", "process"], true),
        (&["processes", RESIDENT], true),
        (&["cpu", cpu, "--group-by", "process"], true),
        (&["pages", RESIDENT], false),
        (&["diff", RESIDENT, REFSET, "--group-by", "process", "--match", "name"], false),
    ];
    for (arguments, columns) in one_in(1, tables.to_vec()) {
        let label = if columns { label(arguments) } else { label(&["resident", RESIDENT, "--group-by", "process"]) };
        let (image, id) = label.strip_suffix(')').unwrap().rsplit_once(" (").unwrap();
        let instances = format!("process={image} (*)");
        assert_eq!(rows(arguments, &format!("process={image}")), rows(arguments, &instances), "{arguments:?}");
        if arguments[0] != "diff" {
            assert_eq!(
                rows(arguments, &format!("process={id}")),
                rows(arguments, &format!("process={label}")),
                "{label}"
            );
        }
    }
    let text = "[[budget]]\nname = \"a\"\nwhere = { process = \"lsass.exe\" }\nmax = \"1 GiB\"\n";
    std::fs::write(&budgets, text).unwrap();
    let checked = run(&["check", RESIDENT, "--budgets", budgets.to_str().unwrap()]);
    assert!(checked.code == 0 && checked.out.contains("pass"), "{checked:?}");
}

/// Shareable pages are of several processes, not of an unknown one: only their whole label means them.
#[test]
fn unknown_processes_are_not_the_pages_of_several() {
    for (condition, is_shared, is_unknown) in [
        ("process=Unknown*", false, true),
        ("process=!Unknown*", true, false),
        ("process=Unknown", false, true),
        ("process=Unknown (-1)", true, false),
        ("process=shared*", true, false),
    ] {
        let ran = run(&["resident", RESIDENT, "--group-by", "process", "--where", condition, "--format", "csv"]);
        assert_eq!(ran.out.contains("Unknown (-1)"), is_shared, "{condition}: {}", ran.out);
        assert_eq!(ran.out.contains("Unknown (0x"), is_unknown, "{condition}: {}", ran.out);
    }
}

/// A known label that the trace has not: an empty table has a reason, in every form.
#[test]
fn a_condition_that_lets_nothing_pass_is_said() {
    for (command, condition, said) in [
        ("resident resident-small.etl", "non_tradeable=true", "non_tradeable \"true\" matches nothing"),
        ("pages refset-small.etl", "list=Bad", "list \"Bad\" matches nothing"),
        ("refset refset-small.etl", "class=Free", "class \"Free\" matches nothing"),
        ("resident resident-small.etl", "process=lsass*;!lsass*", "process=lsass*;!lsass* lets nothing pass"),
        ("memory resident-small.etl", "priority=0", "no counter meets the conditions of --where"),
    ] {
        let more = if command.starts_with("memory") { vec!["--where", "list=Free"] } else { Vec::new() };
        let arguments: Vec<&str> =
            command.split(' ').chain(["--where", condition, "--format", "csv"]).chain(more).collect();
        let ran = run(&arguments);
        assert!(ran.code == 0 && ran.err.replace("\n  ", " ").contains(said), "{command}: {ran:?}");
        let quiet = run(&[&arguments[..], &["-q"]].concat());
        assert!(!quiet.err.contains(said), "{command}: {quiet:?}");
    }
    let some = run(&["pages", "refset-small.etl", "--where", "list=Bad;Active", "--format", "csv"]);
    assert!(!some.err.contains("matches nothing"), "{some:?}");
}

#[test]
fn nobody_takes_nothing_for_no_time() {
    let ran = run(&["cpu", "cpu-compressed.etl", "--where", "process=nobody.exe"]);
    assert!(ran.out.contains("No thread meets the conditions of --where"), "{}", ran.out);
    assert!(ran.err.contains("process \"nobody.exe\" matches nothing"), "{}", ran.err);
}

#[test]
fn a_preset_shows_its_conditions_and_counts_what_processes_counts() {
    let ran = run(&["resident", RESIDENT, "--preset", "private-working-set"]);
    assert!(ran.out.contains("Where list=Active and use=ProcessPrivate and process=!n/a"), "{}", ran.out);
    assert!(run(&["resident", RESIDENT, "--preset", "files"]).out.contains("Where file=!n/a"));
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&run(&[arguments, &["-q", "--format", "json"]].concat()).out).unwrap()
    };
    let preset = json(&["resident", RESIDENT, "--preset", "private-working-set"]);
    let processes = json(&["processes", RESIDENT]);
    let sum = |name: &str| -> u64 {
        let rows = processes["processes"].as_array().unwrap();
        rows.iter().map(|row| row[name].as_u64().unwrap_or(0)).sum()
    };
    let active = sum("private_pages") - sum("standby_pages") - sum("modified_pages");
    let unknown = processes["snapshot"]["unattributed_private_pages"].as_u64().unwrap();
    assert_eq!(preset["snapshots"][0]["selected_pages"], active + unknown);
}

/// Flags that nothing asks for are refused, with what they are for.
#[test]
fn flags_for_other_rows_are_refused() {
    let none = "--symbols names functions: it is for rows or conditions by function";
    assert_refused(&["allocations", "alloc-x86.etl", "--symbols", "/nonexistent"], none);
    assert_refused(
        &["allocations", "alloc-x86.etl", "--symbols", "/nonexistent", "--group-by", "function"],
        "there is no such folder",
    );
    for order in ["size", "pages"] {
        let none = "needs page records, and the trace holds none";
        assert_refused(&["processes", "alloc-x86.etl", "--sort", order], none);
        out(&["processes", RESIDENT, "-q", "--sort", order]);
    }
    out(&["processes", "alloc-x86.etl", "-q", "--sort", "name"]);
}

/// What is copied from a screen or a document says what it was chosen by.
#[test]
fn conditions_stand_in_the_head_of_every_text() {
    for (command, condition) in [
        (&["resident", RESIDENT][..], "process=lsass*"),
        (&["resident", RESIDENT, "--group-by", "list"], "process=lsass*"),
        (&["resident", "--each", RESIDENT, "--group-by", "list"], "process=lsass*"),
        (&["refset", REFSET], "category=Image"),
        (&["refset", REFSET, "--group-by", "process"], "category=Image"),
        (&["cpu", "cpu-compressed.etl"], "processor=2"),
        (&["cpu", "cpu-compressed.etl", "--preset", "delays"], "processor=2"),
        (&["faults", "faults-x86.etl"], "kind=*"),
        (&["faults", "faults-x86.etl", "--of", "hard"], "kind=*"),
        (&["allocations", "alloc-x86.etl"], "process=*"),
        (&["allocations", "alloc-x86.etl", "--group-by", "process"], "process=*"),
        (&["processes", RESIDENT], "process=lsass*"),
        (&["diff", RESIDENT, RESIDENT], "process=lsass*"),
        (&["memory", RESIDENT], "list=Standby"),
        (&["memory", RESIDENT, "--timeline", "all"], "list=Standby"),
    ] {
        for format in ["table", "markdown"] {
            let ran = run(&[command, &["--where", condition, "-q", "--format", format]].concat());
            let line = format!("Where {condition}").replace('*', if format == "table" { "*" } else { "\\*" });
            let head: Vec<&str> = ran.out.lines().take(20).collect();
            assert!(ran.code == 0 && head.contains(&&*line), "{command:?} {format}: {ran:?}");
        }
    }
    let both = out(&["resident", RESIDENT, "--preset", "files", "--where", "file=*.dll"]);
    assert!(both.contains("\nWhere file=!n/a and file=*.dll\n"), "{both}");
    let cpu = out(&["cpu", "cpu-compressed.etl", "--where", "processor=2"]);
    assert!(
        cpu.contains("\nWithout the conditions: Processor time: ")
            && cpu.contains("\nWithout the conditions: Ready queue: "),
        "{cpu}"
    );
}

/// A saved result says what of the trace it counts.
#[test]
fn documents_hold_their_conditions() {
    for (command, dimension, patterns) in [
        ("resident resident-small.etl", "category", "Image"),
        ("refset refset-small.etl", "category", "Image"),
        ("cpu cpu-compressed.etl", "process", "burn.exe"),
        ("stacks stacks-keys.etl", "module", "hal.dll"),
        ("faults faults-x86.etl", "process", "*exe*"),
        ("allocations alloc-x86.etl", "process", "*exe*"),
        ("processes resident-small.etl", "process", "*exe*"),
        ("diff resident-small.etl resident-small.etl", "category", "Image"),
        ("diff stacks-keys.etl stacks-keys.etl --of samples", "module", "hal.dll"),
        ("diff alloc-x86.etl alloc-x86.etl --allocations", "process", "*exe*"),
    ] {
        let arguments: Vec<&str> = command.split(' ').chain(["-q", "--format", "json"]).collect();
        let of = |more: &[&str]| -> serde_json::Value {
            let text = out(&[&arguments[..], more].concat());
            let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            document["where"].clone()
        };
        assert_eq!(of(&[]), serde_json::json!([]), "{command}");
        let condition = serde_json::json!([{ "dimension": dimension, "patterns": patterns }]);
        assert_eq!(of(&["--where", &format!("{dimension}={patterns}")]), condition, "{command}");
    }
}

/// What has no stack and what lies in no module are chosen by the words that the tables show.
#[test]
fn labels_of_what_has_no_module_can_be_conditions() {
    let rows = |condition: &str| {
        let arguments = ["stacks", "stacks-keys.etl", "-q", "--group-by", "module", "--format", "csv"];
        let text = out(&[&arguments[..], &["--where", condition]].concat());
        text.lines().skip(1).map(|line| line.split(',').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rows("module=[no stack]"), ["[no stack]"]);
    assert!(rows("module=no module").contains(&"n/a".to_owned()));
}

/// It cuts working sets: beside conditions that choose none of them it changed nothing.
#[test]
fn top_is_refused_where_counters_alone_are_chosen() {
    let ran = run(&["memory", "resident-small.etl", "--where", "list=standby", "--top", "1"]);
    assert!(ran.code == 2 && ran.err.contains("--where chooses counters alone"), "{ran:?}");
}
