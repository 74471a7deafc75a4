//! `pfnset check` of several runs: baselines, folders, traces that are named twice or cannot be read, and files that must stay.

use crate::check::{FILES, another_run, check, folder, json};
use crate::program::fixtures;
use serde_json::Value;
use std::fs;

/// The name of a trace was wrong once, and a good baseline was replaced by one without values.
#[test]
fn traces_that_cannot_be_read_leave_the_baseline_as_it_was() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    let good = check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json");
    assert_eq!(good.code, 0, "{good:?}");
    let path = folder.path().join("base.json");
    let saved = fs::read(&path).expect("a baseline");
    let wrong = check(&folder, "none.etl --budgets budgets.toml --save-baseline base.json");
    assert!(wrong.code == 3 && wrong.err.contains("base.json is not written, because no value is known"), "{wrong:?}");
    assert_eq!(fs::read(&path).expect("a baseline"), saved);
    // One of several: their median is not known.
    let line = "resident-small.etl refset-small.etl none.etl --budgets budgets.toml --save-baseline base.json";
    let wrong = check(&folder, line);
    let says = "base.json is not written, because no value is known in all traces: none.etl lacks them";
    assert!(wrong.code == 3 && wrong.err.contains(says), "{wrong:?}");
    assert_eq!(fs::read(&path).expect("a baseline"), saved);
}

/// A saved baseline says what was said of its trace, as a trace and JSON do.
#[test]
fn warnings_of_a_saved_baseline_are_told() {
    let budget = "[[budget]]\nname = \"heap\"\nanalysis = \"heap\"\nmax_growth = \"1 %\"\n";
    let folder = folder(budget);
    fs::copy(fixtures().join("alloc-x86.etl"), folder.path().join("alloc.etl")).expect("a trace");
    let saved = check(&folder, "alloc.etl --budgets budgets.toml --save-baseline base.json");
    assert_eq!(saved.code, 0, "{saved:?}");
    let says = "7 records do not fit their layout";
    for baseline in ["alloc.etl", "base.json"] {
        let ran =
            check(&folder, &format!("alloc.etl --budgets budgets.toml --baseline {baseline} --strict --format json"));
        let told = json(&ran)["warnings"].to_string();
        let of_baseline = format!("baseline {baseline}");
        assert!(ran.code == 0 && told.matches(says).count() > 0 && told.contains(&of_baseline), "{baseline}: {ran:?}");
    }
}

/// Copies of the two files of a recording, in the other order, are no second run.
#[test]
fn copies_in_another_order_are_one_run() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    let [a, b] = crate::recording::split(folder.path(), |n| n % 2 == 0);
    for (from, to) in [(&a, "copy-a.etl"), (&b, "copy-b.etl")] {
        fs::copy(from, folder.path().join(to)).expect("a copy");
    }
    let line = "a.etl --with b.etl copy-b.etl --with copy-a.etl --budgets budgets.toml --save-baseline base.json";
    let ran = check(&folder, line);
    assert!(ran.code == 0 && ran.err.contains("is a copy of a.etl + b.etl: it counts once"), "{ran:?}");
    let base = fs::read_to_string(folder.path().join("base.json")).expect("a baseline");
    assert!(!base.contains("\"runs\""), "{base}");
}

/// Only what one of the runs lacks has no baseline, and a note names both.
#[test]
fn a_value_that_one_run_lacks_is_told() {
    let faults = "[[budget]]\nname = \"reads\"\nanalysis = \"faults\"\nmax = \"9000\"\n";
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n{faults}"));
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json");
    let says = "base.json has no value of \"reads\": resident-small.etl lacks it; with this baseline they are invalid";
    assert!(ran.code == 3 && ran.err.contains(says), "{ran:?}");
    assert!(folder.path().join("base.json").is_file());
}

/// Traces of a folder are inputs like those that are named.
#[test]
fn no_output_replaces_a_trace_of_a_folder() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    fs::create_dir(folder.path().join("runs")).expect("a folder");
    let trace = folder.path().join("runs").join("a.etl");
    fs::copy(fixtures().join("resident-small.etl"), &trace).expect("a trace");
    let whole = fs::read(&trace).expect("a trace");
    for (flag, says) in [
        ("--junit", "--junit runs/a.etl is an input; name another file"),
        ("--save-baseline", "--save-baseline runs/a.etl is an input; name another file"),
        ("-o", "-o runs/a.etl is one of the traces itself; name another file"),
    ] {
        let ran = check(&folder, &format!("runs --budgets budgets.toml {flag} runs/a.etl"));
        assert!(ran.code == 2 && ran.err.contains(says), "{flag}: {ran:?}");
        assert!(fs::read(&trace).expect("a trace") == whole, "{flag}");
    }
}

/// By its path, by another path and by its folder: it is one trace.
#[test]
fn a_trace_that_is_named_twice_counts_once() {
    let folder = folder(&format!("{FILES}max_growth = \"0\"\n"));
    fs::create_dir(folder.path().join("runs")).expect("a folder");
    another_run(&folder, "runs/a.etl", b'a');
    for (traces, repeated) in [
        ("resident-small.etl resident-small.etl", vec!["resident-small.etl"]),
        ("resident-small.etl ./resident-small.etl", vec!["./resident-small.etl"]),
        ("runs runs/a.etl ./runs", vec!["runs/a.etl", "./runs/a.etl"]),
        ("runs/a.etl runs", vec!["runs/a.etl"]),
        ("runs resident-small.etl", vec![]),
    ] {
        let line = format!("{traces} --budgets budgets.toml --save-baseline base.json --format json");
        let ran = check(&folder, &line);
        let told: Vec<&str> = ran.err.lines().filter(|line| line.contains("named twice")).collect();
        let wanted: Vec<String> =
            repeated.iter().map(|path| format!("pfnset: {path} is named twice: it counts once")).collect();
        assert_eq!(told, wanted, "{traces}");
        let count = if repeated.is_empty() { 2 } else { 1 };
        assert_eq!(json(&ran)["traces"].as_array().map(Vec::len), Some(count), "{traces}");
        let base = fs::read_to_string(folder.path().join("base.json")).expect("a baseline");
        assert_eq!(base.contains("\"runs\""), count == 2, "one run has no spread");
        assert!(!check(&folder, &format!("{line} -q")).err.contains("named twice"));
    }
}

/// Growth that is no larger than what the runs differ by is called so beside its number, whatever the verdict is.
#[test]
fn growth_within_the_spread_is_called_so_in_its_row() {
    let folder = folder(&format!("{FILES}max_growth = \"100 %\"\n"));
    another_run(&folder, "again.etl", b'a');
    let runs = "resident-small.etl refset-small.etl again.etl";
    check(&folder, &format!("{runs} --budgets budgets.toml --save-baseline runs.json -q"));
    let of = |trace: &str| check(&folder, &format!("{trace} --budgets budgets.toml --baseline runs.json -q"));
    let within = of("resident-small.etl");
    assert!(within.out.contains(" (in the spread)\n") && within.out.contains("resident-small.etl: "), "{within:?}");
    assert!(!of("refset-small.etl").out.contains("in the spread"), "it did not grow");
    check(&folder, "refset-small.etl --budgets budgets.toml --save-baseline runs.json -q");
    assert!(!of("resident-small.etl").out.contains("in the spread"), "one run has no spread");
}

/// Shareable pages belong to no single process; tables have a name for that.
#[test]
fn what_grew_has_the_labels_of_tables() {
    let folder = folder(&format!("{FILES}max = \"1 page\"\n"));
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml");
    assert!(ran.out.contains("    shared (files, images, sections) / MapFile: "), "{}", ran.out);
    assert!(!ran.out.contains("Unknown (-1)"), "{}", ran.out);
}

/// Numbers at the ends of what can be counted are no numbers of pages, and no fault of the program.
#[test]
fn limits_and_baselines_beyond_all_memory_are_judged() {
    let folder = folder(&format!("{FILES}min = \"4000000000000 pages\"\n"));
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml");
    assert!(ran.code == 1 && ran.out.contains(" below min "), "{ran:?}");
    fs::write(folder.path().join("budgets.toml"), format!("{FILES}max_growth = \"0\"\nmax = \"1 page\"\n")).unwrap();
    check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json");
    let path = folder.path().join("base.json");
    let mut base: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for pages in [i64::MAX, i64::MIN] {
        for row in base["budgets"][0]["rows"].as_array_mut().expect("rows") {
            row["pages"] = pages.into();
            row["labels"] = vec!["a.exe (4)", "Image"].into();
        }
        fs::write(&path, base.to_string()).unwrap();
        let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline base.json");
        assert!(ran.code == 1 && ran.out.contains("the saved value of \"Files\" contradicts itself"), "{ran:?}");
    }
}

/// A trace without pages has budgets of its reference set, and the message says what it does not have, and why.
#[test]
fn a_first_file_of_a_trace_without_pages_says_why() {
    let folder = folder("");
    let why = "the trace holds no page sequence (Memory: PageInMemory), so nothing is known of what RAM held";
    fs::copy(fixtures().join("cpu-compressed.etl"), folder.path().join("cpu.etl")).expect("a trace");
    let none = check(&folder, "--init cpu.etl");
    assert_eq!((none.code, none.out.as_str()), (4, ""));
    assert!(
        none.err.starts_with(&format!("pfnset: No budgets: {why}; for its context switches write budgets")),
        "{}",
        none.err
    );
    // The fixture with records of another event where pages are.
    let mut bytes = fs::read(fixtures().join("refset-small.etl")).expect("a fixture");
    for at in (0..bytes.len() - 8).step_by(8) {
        if bytes[at + 3] == 0xc0 && bytes[at + 6..at + 8] == 0x0223u16.to_le_bytes() {
            bytes[at + 6..at + 8].copy_from_slice(&0x02ffu16.to_le_bytes());
        }
    }
    fs::write(folder.path().join("touched.etl"), bytes).expect("a trace");
    let touched = check(&folder, "--init touched.etl");
    let says = format!("No budgets of what RAM held: {why}, although the keyword Memory was on: ");
    assert!(touched.code == 0 && touched.err.starts_with(&format!("pfnset: {says}")), "{touched:?}");
    assert!(touched.out.contains(&format!("\n# {says}")), "{}", touched.out);
    assert!(touched.out.contains("analysis = \"refset\""), "{}", touched.out);
    assert_eq!(crate::program::beside_losses(&check(&folder, "--init touched.etl -q").err), "");
}

/// The headings of units were once marked in the title itself: the name of a budget could look like one.
#[test]
fn a_heading_from_outside_is_no_unit() {
    let folder = folder("[[budget]]\nname = \"Cache/(unit)\"\nmax = \"1 GiB\"\n");
    let ran = check(&folder, "resident-small.etl refset-small.etl --budgets budgets.toml -q");
    assert!(ran.out.contains("  Cache/(unit)\n"), "{}", ran.out);
}

/// Parts of a peak add up to more than the peak, and looked as if they were what was held then.
#[test]
fn parts_of_a_peak_are_said_to_be_of_other_times() {
    let budget = |measure: &str| {
        format!("[[budget]]\nname = \"{measure}\"\nanalysis = \"refset\"\nmeasure = \"{measure}\"\nmax = \"1 page\"\n")
    };
    let folder = folder(&[budget("peak"), budget("held_at_stop")].concat());
    let trace = crate::program::fixtures().join("refset-proved.etl");
    let ran = check(&folder, &format!("{} --budgets budgets.toml -q", trace.display()));
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = "its largest parts, by process and category";
    assert!(
        ran.code == 1 && told.contains(&format!("{parts} (each its own peak, at its own time: they do not add up):")),
        "{told}"
    );
    assert!(told.contains(&format!("{parts}: ")), "what is held at the end is held at one time: {told}");
}

/// Accesses are a sum over the scenario: growth against one of another length was judged without a word.
#[test]
fn accesses_of_scenarios_of_other_lengths_are_told() {
    let folder =
        folder("[[budget]]\nname = \"all\"\nanalysis = \"refset\"\nmeasure = \"accessed\"\nmax_growth = \"1 page\"\n");
    check(&folder, "refset-small.etl --budgets budgets.toml --save-baseline base.json -q");
    let line = "refset-small.etl --budgets budgets.toml --baseline base.json --format json -q";
    let same = check(&folder, line);
    assert!(same.code == 0 && !same.out.contains("sums grow with the time"), "{same:?}");
    let path = folder.path().join("base.json");
    let saved = std::fs::read_to_string(&path).unwrap();
    let key = "\"span_ns\": ";
    let longer = saved.replacen(key, &format!("{key}9"), 1);
    assert_ne!(saved, longer);
    std::fs::write(&path, longer).unwrap();
    let other = check(&folder, line);
    assert!(other.code == 0 && other.out.contains("sums grow with the time"), "{other:?}");
}

/// So does what is held after a longer scenario, as `diff --refset` tells; only sums over time were compared with a word.
#[test]
fn what_is_held_after_scenarios_of_other_lengths_is_told() {
    for measure in ["held_at_stop", "peak"] {
        let budget = format!(
            "[[budget]]\nname = \"all\"\nanalysis = \"refset\"\nmeasure = \"{measure}\"\nmax_growth = \"1 page\"\n"
        );
        let folder = folder(&budget);
        fs::copy(fixtures().join("refset-proved.etl"), folder.path().join("refset-proved.etl")).expect("a trace");
        check(&folder, "refset-proved.etl --budgets budgets.toml --save-baseline base.json -q");
        let says = "its scenario is ";
        for baseline in ["refset-proved.etl", "base.json"] {
            let same = check(&folder, &format!("refset-proved.etl --budgets budgets.toml --baseline {baseline} -q"));
            assert!(same.code == 0 && !same.out.contains(says), "{same:?}");
        }
        let path = folder.path().join("base.json");
        let saved = fs::read_to_string(&path).expect("a baseline");
        let key = "\"scenario_ns\": ";
        let longer = saved.replacen(key, &format!("{key}9"), 1);
        assert_ne!(saved, longer);
        fs::write(&path, longer).expect("a baseline");
        let line = "refset-proved.etl --budgets budgets.toml --baseline base.json --strict --format json -q";
        let other = check(&folder, line);
        let told = json(&other)["traces"][0]["budgets"][0]["warnings"].to_string();
        assert!(other.code == 0 && told.contains(says), "{other:?}");
        assert!(told.contains(" s: what is touched and released grows with the time"), "{told}");
    }
}

/// The spread of runs whose scenarios have other lengths is that of the lengths: what is held had grown by more than twice "in the spread".
#[test]
fn what_is_held_of_runs_of_other_lengths_has_no_spread() {
    let bytes = fs::read(fixtures().join("refset-proved.etl")).expect("a fixture");
    // A clock of another frequency makes a scenario of another length of the same records.
    let frequency = u64::from_le_bytes(bytes[0x168..0x170].try_into().expect("eight bytes"));
    let run_of = |frequency: u64| [&bytes[..0x168], &frequency.to_le_bytes(), &bytes[0x170..]].concat();
    for measure in ["held_at_stop", "peak"] {
        let budget =
            format!("[[budget]]\nname = \"all\"\nanalysis = \"refset\"\nmeasure = \"{measure}\"\nmax_growth = \"0\"\n");
        let folder = folder(&budget);
        fs::write(folder.path().join("now.etl"), &bytes).expect("a trace");
        for (other, verdict) in [(frequency - 1, "watch"), (frequency / 5 * 6, "fail")] {
            fs::write(folder.path().join("other.etl"), run_of(other)).expect("a trace");
            let saved = check(&folder, "now.etl other.etl --budgets budgets.toml --save-baseline two.json -q");
            let says =
                "by more than a tenth, and what is touched and released grows with the time; their spread is not used";
            assert_eq!((saved.code, saved.err.contains(says)), (0, verdict == "fail"), "{saved:?}");
            // One of the runs had a page less.
            let path = folder.path().join("two.json");
            let mut two: Value = serde_json::from_slice(&fs::read(&path).expect("a baseline")).expect("JSON");
            let of_all = &mut two["budgets"][0];
            let less = of_all["pages"].as_u64().expect("pages") - 1;
            (of_all["pages"], of_all["runs"][0]) = (less.into(), less.into());
            let row = &mut of_all["rows"][0]["pages"];
            *row = (row.as_u64().expect("pages") - 1).into();
            fs::write(&path, two.to_string()).expect("a baseline");
            let grown = check(&folder, "now.etl --budgets budgets.toml --baseline two.json --format json -q");
            let found = &json(&grown)["traces"][0]["budgets"][0];
            assert_eq!((&found["verdict"], found["baseline_most"].is_null()), (&verdict.into(), verdict == "fail"));
            let told = found["warnings"].to_string();
            let is_told = told.contains("its scenario is 0.") && told.contains("their spread is no noise");
            assert_eq!(is_told, verdict == "fail", "{told}");
        }
    }
}

/// A median of runs of different machines is said to be one.
#[test]
fn a_baseline_of_different_machines_is_told() {
    let folder = folder(&format!("{FILES}max_growth = \"10 %\"\n"));
    let mut other = fs::read(fixtures().join("resident-small.etl")).expect("a fixture");
    // Build of the log-file header: after those of the buffer and the record, and four bytes of its own.
    let at = 72 + 32 + 12;
    assert_eq!(other[at - 4..at - 2], 19045u16.to_le_bytes());
    other[at - 4..at - 2].copy_from_slice(&22631u16.to_le_bytes());
    fs::write(folder.path().join("other.etl"), other).expect("a trace");
    another_run(&folder, "again.etl", b'a');
    let saved = |runs: &str| {
        check(&folder, &format!("resident-small.etl {runs} --budgets budgets.toml --save-baseline b.json"))
    };
    let says = "b.json has the median of runs that differ: other.etl: it is of build 22631 of Windows, the first trace of build 19045";
    assert!(saved("again.etl other.etl").err.contains(says), "{:?}", saved("again.etl other.etl"));
    assert!(!saved("again.etl").err.contains("runs that differ"));
}
