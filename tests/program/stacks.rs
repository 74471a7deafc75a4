//! `pfnset stacks` against what is known of a made-up trace: numbers that another program computed.

use crate::program::{finish, out, pfnset, run};
use etl_writer::Ptr::P8;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::Switch;
use etl_writer::payloads::{memory, perf, pool};
use etl_writer::{Put, Rec, Session, Trace, file_of, guid};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn assert_refused(arguments: &[&str], says: &str) {
    let ran = run(arguments);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
    assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
}

const TRACE: &str = "stacks-keys.etl";

fn json_of(more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["stacks", TRACE, "-q", "--format", "json"], more].concat())).expect("JSON")
}

#[test]
fn every_record_is_joined_or_counted() {
    let all = json_of(&[]);
    let records = json!({
        "stacks": 122, "kernel_keys": 369, "user_keys": 141, "definitions": 521, "items": 50, "item_keys": 10,
        "deferred_parts": 10, "clr_stacks": 0, "cut_frames": 0, "unmatched": 12, "duplicates": 6, "unresolved_keys": 0,
        "completed_by_others": 163, "lost_user_parts": 57, "left_out": 0,
    });
    assert_eq!(all["records"], records);
    let kind =
        |event: &str| all["kinds"].as_array().expect("a list").iter().find(|kind| kind["event"] == event).cloned();
    let switches = json!({"event": "0x0524", "events": 142, "with_stack": 80, "kernel_only": 25, "incomplete": 19});
    assert_eq!(kind("0x0524"), Some(switches));
    assert_eq!(kind("0x1403"), None, "images in a rundown have no stacks");
}

/// `info` calls stacks good where they belong to events.
#[test]
fn info_looks_whether_stacks_belong_to_events() {
    let verdict = |file: &str| {
        let info: Value = serde_json::from_str(&run(&["info", file, "--format", "json"]).out).expect("JSON");
        let analyses = info["analyses"].as_array().expect("a list");
        let stacks = analyses.iter().find(|analysis| analysis["name"] == "stacks").expect("stacks").clone();
        (stacks["verdict"].as_str().expect("a verdict").to_owned(), stacks["note"].is_string())
    };
    for (file, belong) in [(TRACE, true), ("resident-small.etl", false)] {
        let stacks: Value = serde_json::from_str(&out(&["stacks", file, "-q", "--format", "json"])).expect("JSON");
        assert_eq!(stacks["kinds"].as_array().is_some_and(|kinds| !kinds.is_empty()), belong, "{file}");
        let expected = if belong { ("ready".to_owned(), false) } else { ("partial".to_owned(), true) };
        assert_eq!(verdict(file), expected, "{file}");
    }
}

#[test]
fn samples_by_function_process_and_weight() {
    let all = json_of(&["--of", "samples"]);
    let totals = json!({
        "events": 297, "with_stack": 268, "without_stack": 29, "kernel_only": 151, "incomplete": 7, "user_only": 98,
        "weight": 288_000_000, "weight_with_stack": 261_500_000, "weight_unknown": 0,
    });
    assert_eq!((&all["totals"], &all["weight"], &all["of"]), (&totals, &json!("time_ns"), &json!("samples")));
    let frames = json!({"method": 0, "symbol": 0, "module": 1018, "unknown": 20, "total": 1038});
    assert_eq!(all["frames"], frames);
    let first = json!({
        "module": "fltmgr.sys", "self": 42, "total": 94, "self_weight": 38_000_000, "total_weight": 93_500_000,
    });
    assert_eq!(all["modules"][0], first);
    let sum = |key: &str| {
        all["functions"].as_array().expect("a list").iter().map(|row| row[key].as_u64()).sum::<Option<u64>>()
    };
    assert_eq!((sum("self"), sum("self_weight")), (Some(297), Some(288_000_000)));
}

/// Functions are ordered by their own weight, and a share has one base.
#[test]
fn the_heaviest_function_is_first_and_shares_are_of_the_weight_of_all() {
    let all = json_of(&["--of", "cswitch"]);
    let functions = all["functions"].as_array().expect("a list").iter();
    let heaviest =
        functions.filter(|row| row["function"] != "[no stack]").max_by_key(|row| row["self_weight"].as_u64());
    let heaviest = heaviest.expect("a function")["function"].as_str().expect("a name").to_owned();
    let text = out(&["stacks", TRACE, "-q", "--of", "cswitch"]);
    let first = text.lines().skip_while(|line| !line.starts_with('─')).nth(1).expect("a row");
    assert!(first.starts_with(&format!("{heaviest} ")), "{heaviest}: {text}");
    let share = |line: &str| {
        line.split_whitespace()
            .zip(line.split_whitespace().skip(1))
            .find(|(_, next)| *next == "%")
            .map(|(share, _)| share.to_owned())
    };
    let hottest = text.lines().skip_while(|line| !line.starts_with("Hottest path")).nth(1).expect("a path");
    let name = hottest.split_whitespace().next().expect("a name");
    let tree = out(&["stacks", TRACE, "-q", "--of", "cswitch", "--tree"]);
    let same = tree.lines().find(|line| line.starts_with(name)).expect("the same root");
    assert_eq!(share(hottest), share(same), "{hottest}\n{same}");
    let callers = out(&["stacks", TRACE, "-q", "--of", "cswitch", "--caller-of", &heaviest]);
    assert!(callers.contains("Begins here") && tree.contains("Ends here"), "{callers}");
}

/// The weight of a switch is the time since its thread stopped; of some that is not known.
#[test]
fn switches_weigh_the_time_that_their_thread_waited() {
    let totals = &json_of(&["--of", "cswitch"])["totals"];
    let expected = json!([95, 80, 2_528_500, 2_035_800, 11]);
    let found =
        ["events", "with_stack", "weight", "weight_with_stack", "weight_unknown"].map(|key| totals[key].clone());
    assert_eq!(json!(found), expected);
}

#[test]
fn collapsed_stacks_are_sorted_bytes() {
    let text = out(&["stacks", TRACE, "-q", "--of", "samples", "--format", "collapsed"]);
    assert!(text.starts_with("Idle (0);0xfffffa8000000011 2\n"), "{text}");
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "f586db0d709fef279e6ab10a2b510ec6bf22a0e6a829659c4e93ee87d6babe25");
    let weighed = out(&["stacks", TRACE, "-q", "--of", "samples", "--format", "collapsed", "--weight"]);
    let count = |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a count");
    assert_eq!(weighed.lines().map(count).sum::<u64>(), 288_000_000);
}

#[test]
fn conditions_select_stacks_with_such_a_frame_anywhere() {
    let all = json_of(&["--of", "samples", "--where", "module=ntdll.dll", "--group-by", "module"]);
    assert_eq!(all["totals"]["events"], 85);
    let rows = all["rows"].as_array().expect("a list");
    let of = |module: &str| rows.iter().find(|row| row["module"] == module).and_then(|row| row["events"].as_u64());
    assert_eq!(of("ntdll.dll"), Some(15));
    assert_eq!(rows.iter().filter_map(|row| row["events"].as_u64()).sum::<u64>(), 85);
}

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(out(&["stacks", TRACE, "-q"]));
}

/// A made-up trace: one commit of 64 KiB beside ones that cannot be, one heap block beside two that failed, two pool blocks of which
/// one is at address 0.
fn impossible_allocations() -> Vec<u8> {
    let session = Session { processors: 1, ..Session::windows10() };
    let owner = Process::new(8, "app.exe").rec(P8, 3, process::DC_START);
    let heap = guid("222962ab-6180-4b88-a825-346b75f2a24a");
    let block = |kind: u8, put: &mut Put| Rec::full(P8, heap, kind, 2, put.done()).by(12, 8);
    let records = [
        owner,
        memory::virtual_alloc(P8, 0x10_0000, 0x1_0000, 8, memory::COMMIT | memory::RESERVE),
        memory::virtual_alloc(P8, 0x10_0000, u64::MAX, 8, memory::COMMIT),
        memory::virtual_alloc(P8, 0x10_0000, 0, 8, memory::COMMIT),
        // Of physical pages: not commit, and not impossible.
        memory::virtual_alloc(P8, 0x90_0000, 0x1_0000, 8, memory::COMMIT | memory::RESERVE | 0x40_0000),
        block(33, Put::new(P8).ptr(0x5000).ptr(100).ptr(0x6000).u32(3)),
        block(33, Put::new(P8).ptr(0x5000).ptr(u64::MAX).ptr(0).u32(3)),
        block(34, Put::new(P8).ptr(0x5000).ptr(0).ptr(0x6000).ptr(1 << 60).ptr(100).u32(3)),
        pool::pool(P8, pool::ALLOC, 1, *b"Test", 32, 0xffff_a000_0000_0000).by(12, 8),
        pool::pool(P8, pool::ALLOC, 1, *b"Test", 1 << 60, 0).by(12, 8),
    ];
    let at = |(record, number): (Rec, u64)| record.at(session.t0 + number * 1000);
    Trace::new(session.clone()).push_all(records.into_iter().zip(1..).map(at)).finish()
}

#[test]
fn what_is_no_allocation_is_left_out_as_by_allocations() {
    let file = file_of(&impossible_allocations());
    let trace = file.path().to_str().expect("UTF-8");
    for (of, kind, bytes, told, number) in [
        ("virtual-alloc", "commit", 0x1_0000, "left out: 2 impossible records", 2),
        ("heap", "heap", 100, "left out: 2 failed allocations", 2),
        ("pool", "pool", 32, "left out: 1 impossible record", 1),
    ] {
        let json = |arguments: &[&str]| -> Value {
            serde_json::from_str(&out(&[arguments, &["-q", "--format", "json"]].concat())).expect("JSON")
        };
        let stacks = json(&["stacks", trace, "--of", of]);
        let totals = &stacks["totals"];
        assert_eq!([&totals["weight"], &totals["events"]], [&json!(bytes), &json!(1)], "{of}");
        assert_eq!(stacks["records"]["left_out"], json!(number), "{of}");
        let allocations = json(&["allocations", trace, "--of", kind]);
        assert_eq!(allocations["total"]["allocated_bytes"], json!(bytes), "{of}");
        for warnings in [&stacks["warnings"], &allocations["warnings"]] {
            assert!(warnings.as_array().expect("a list").contains(&json!(told)), "{of}: {warnings}");
        }
        for command in [["stacks", "--of", of], ["allocations", "--of", kind]] {
            assert!(run(&[&command[..1], &[trace], &command[1..]].concat()).out.contains(told), "{command:?}");
        }
        let collapsed = run(&["stacks", trace, "--of", of, "--format", "collapsed"]);
        assert!(collapsed.err.contains(told), "{collapsed:?}");
    }
}

#[test]
fn patterns_that_match_no_function_are_named() {
    for (flag, says) in [
        ("--leaf", "--leaf: no function matches \"none*\""),
        ("--caller-of", "--caller-of: no function matches \"none*\""),
        ("--callee-of", "--callee-of: no function matches \"none*\""),
        ("--fold", "--fold: no module matches \"none*\""),
    ] {
        for form in ["table", "json", "csv"] {
            let ran = run(&["stacks", TRACE, flag, "none*", "--format", form]);
            assert!(ran.code == 0 && ran.err.contains(says), "{ran:?}");
            let is_headline = ran.out.starts_with(&format!("No function matches {flag} (none*)"));
            assert_eq!(is_headline, form == "table" && flag != "--fold", "{}", ran.out);
        }
        let quiet = run(&["stacks", TRACE, "-q", flag, "none*", "--format", "json"]);
        assert_eq!(quiet.err, "");
        let one = run(&["stacks", TRACE, flag, "hal.dll*;none*", "--format", "json"]);
        assert!(one.err.contains(says) && !one.err.contains("hal.dll"), "{}", one.err);
    }
}

#[test]
fn kinds_are_spelled_out() {
    assert_refused(&["stacks", TRACE, "--of", "sample"], "did you mean \"samples\"?");
    assert_refused(&["stacks", TRACE, "--weight"], "--weight is for --format collapsed");
    let ran = run(&["stacks", TRACE, "--of", "0x0420"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
    assert!(
        ran.err.contains("no event of the kind 0x0420 is in the trace. Kinds with stacks in it: 0x0f2e (268 stacks), "),
        "{}",
        ran.err
    );
    let image = json_of(&["--of", "0x030a"]);
    assert_eq!(
        (&image["of"], &image["totals"]["events"], &image["totals"]["with_stack"]),
        (&json!("0x030a"), &json!(34), &json!(21))
    );
}

/// Shares of a tree are of all events; what is folded is added up.
#[test]
fn trees_and_their_folded_branches() {
    insta::assert_snapshot!(out(&["stacks", TRACE, "-q", "--tree", "--depth", "5", "--top", "2"]));
    let tree = |more: &[&str]| json_of(&[&["--of", "samples"], more].concat())["tree"].clone();
    let sum = |tree: &Value| {
        let rows = tree.as_array().expect("a list").iter().filter(|row| row["depth"] == 0);
        rows.map(|row| row["events"].as_u64().expect("a number")).sum::<u64>()
    };
    assert_eq!((sum(&tree(&["--tree"])), sum(&tree(&["--tree", "--top", "0"]))), (297, 297));
    let modules = json_of(&["--of", "samples"])["modules"].clone();
    let hal =
        modules.as_array().expect("a list").iter().find(|row| row["module"] == "hal.dll").expect("hal.dll").clone();
    // Folded to one frame for each run, so a stack is counted once where the module does not come again.
    for flag in ["--caller-of", "--callee-of"] {
        let found = tree(&[flag, "hal.dll", "--fold", "hal.dll"]);
        assert_eq!((&found[0]["function"], &found[0]["events"]), (&json!("hal.dll"), &hal["total"]), "{flag}");
    }
}

/// What chooses stacks stands above rows and trees too: they would seem to be of the whole trace.
#[test]
fn what_chose_stacks_is_named() {
    let says = |more: &[&str], line: &str| {
        let shown = out(&[&["stacks", TRACE, "-q"], more].concat());
        assert!(shown.lines().any(|shown| shown == line), "{more:?}: {shown}");
    };
    let leaf = "Where innermost function=hal*";
    for more in [&[][..], &["--group-by", "process"], &["--tree"], &["--group-by", "process", "--format", "markdown"]] {
        let escaped = if more.contains(&"markdown") { leaf.replace('*', "\\*") } else { leaf.to_owned() };
        says(&[&["--leaf", "hal*"], more].concat(), &escaped);
    }
    says(&["--leaf", "hal*", "--where", "process=*", "--tree"], "Where process=* and innermost function=hal*");
    says(&["--caller-of", "hal*"], "Callers of hal*");
    says(&["--callee-of", "hal*", "--leaf", "hal*"], "Where innermost function=hal*; called by hal*");
    let json = json_of(&["--callee-of", "hal*"]);
    assert_eq!((&json["callee_of"], &json["caller_of"]), (&json!("hal*"), &Value::Null));
    assert_eq!(json_of(&["--tree"])["callee_of"], Value::Null);
}

#[test]
fn windows_leaves_and_cut_stacks() {
    let all = json_of(&["--of", "samples"]);
    let part = |more: &[&str]| json_of(&[&["--of", "samples"], more].concat());
    let events = |json: &Value| json["totals"]["events"].as_u64().expect("a number");
    let (early, late) = (part(&["--to", "0.0015"]), part(&["--from", "0.0015"]));
    assert!(events(&early) > 0 && events(&late) > 0);
    assert_eq!(events(&early) + events(&late), events(&all));
    assert_eq!(early["window"], json!({"start_s": null, "stop_s": 0.0015, "start_mark": null, "stop_mark": null}));
    let own = |json: &Value, name: &str| {
        let rows = json["modules"].as_array().expect("a list").iter();
        rows.filter(|row| row["module"] == name).map(|row| row["self"].as_u64().expect("a number")).sum::<u64>()
    };
    assert_eq!(events(&part(&["--leaf", "hal.dll*"])), own(&all, "hal.dll"));
    let cut = part(&["--max-depth", "1"]);
    assert_eq!(events(&cut), events(&all));
    let functions = cut["functions"].as_array().expect("a list");
    assert!(functions.iter().all(|row| row["self"] == row["total"]), "one frame is both");
    let few = part(&["--top", "2"]);
    assert_eq!(["processes", "modules", "functions"].map(|list| few[list].as_array().map(Vec::len)), [Some(2); 3]);
    assert_refused(&["stacks", TRACE, "--depth", "3"], "--depth is for --tree");
    assert_refused(&["stacks", TRACE, "--tree", "--group-by", "process"], "--group-by has rows");
}

#[test]
fn an_event_is_chosen_by_its_name_where_that_is_one() {
    let by = |kind: &str| json_of(&["--of", kind]);
    let by_id = by("0x0f2e");
    assert!(by_id["totals"]["events"].as_u64() > Some(0));
    for name in ["SampledProfile", "perfinfo: sampledprofile"] {
        assert_eq!(by(name), by_id, "{name}");
    }
    let several = "\"Dpc\" is the name of several events: 0x0f42, 0x0f44, 0x0f45";
    assert_refused(&["stacks", "cpu-compressed.etl", "--of", "Dpc"], several);
    assert_refused(&["stacks", TRACE, "--of", "Nothing"], "unknown kind of event");
}

#[test]
fn the_first_screen_has_the_hottest_path() {
    let ran = finish(pfnset(&["stacks", TRACE, "-q", "--of", "samples"]).env("COLUMNS", "80"));
    let screen = ran.out;
    assert!(screen.lines().count() <= 23 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(screen.contains("Hottest path (--tree):"), "{screen}");
    let functions = screen.lines().skip_while(|line| !line.starts_with("Function")).skip(2);
    assert_eq!(functions.take_while(|line| !line.starts_with("+ ")).count(), 10, "{screen}");
}

/// Records of stacks that belong to no event are there, and said.
#[test]
fn stacks_of_no_event_are_told() {
    let ran = run(&["stacks", "resident-small.etl", "--of", "cswitch"]);
    assert_eq!(ran.code, 4);
    let told = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("no event that its 29 stacks belong to"), "{told}");
}

#[test]
fn a_trace_without_stacks_is_told_how_to_record_them() {
    for format in ["table", "csv", "json"] {
        let ran = run(&["stacks", "cpu-compressed.etl", "--format", format]);
        let all = [ran.out, ran.err].concat();
        assert!(all.contains("no record of the trace has a stack") && all.contains("-stackwalk"), "{format}: {all}");
        assert!(!all.contains("\\x0a") && !all.contains("\\n  wpr"), "a warning is one line: {all}");
    }
    let told = run(&["stacks", TRACE]);
    assert!(!told.out.contains("no record of the trace"), "{told:?}");
}

/// A thread that stops or goes on twice has not waited as long as its last stop is ago: the table and its comparison were sound.
#[test]
fn context_switches_that_are_missing_make_times_of_waiting_doubtful() {
    let trace_of = |numbers: &[u64]| {
        let session = Session { processors: 1, ..Session::windows10() };
        let t0 = session.t0;
        let ids = |n: u64| [[44, 0], [48, 44], [0, 48]][n as usize % 3];
        let switch = |n: u64| Switch { new: ids(n)[0], old: ids(n)[1], ..Switch::default() };
        let recs = numbers.iter().map(|&n| switch(n).rec(P8, 4).at(t0 + (n + 1) * 10_000).on(0));
        file_of(&Trace::new(session).push_all(recs).finish())
    };
    let all: Vec<u64> = (0..30).collect();
    let lacking: Vec<u64> = all.iter().copied().filter(|n| ![15, 22].contains(n)).collect();
    let (whole, lacking) = (trace_of(&all), trace_of(&lacking));
    let [whole, lacking] = [&whole, &lacking].map(|file| file.path().to_str().expect("a path"));
    let of =
        |trace: &str, more: &[&str]| run(&[&["stacks", trace, "--of", "cswitch", "--strict", "-q"], more].concat());
    let sound = of(whole, &[]);
    assert!(sound.code == 0 && !sound.err.contains("chain"), "{sound:?}");
    let broken = of(lacking, &[]);
    let text = "the chain of context switches is broken: 3 context switches are missing before threads that stop or go on twice";
    assert!(broken.code == 3 && broken.out.contains("the chain of context switches is broken: 3"), "{broken:?}");
    let json: Value = serde_json::from_str(&of(lacking, &["--format", "json"]).out).expect("JSON");
    assert!(json["warnings"].to_string().contains(text), "{}", json["warnings"]);
    assert_eq!(of(lacking, &["--to", "0.010"]).code, 0, "before the first one");
    let compared = run(&["diff", lacking, whole, "--of", "cswitch", "--group-by", "process", "--strict"]);
    assert!(
        compared.code == 3 && (compared.out + &compared.err).contains("the chain of context switches is"),
        "{broken:?}"
    );
}

/// No thread stops or goes on twice, and yet one ran that no switch had brought: `cpu` said so, and times of waiting did not.
#[test]
fn processors_that_switch_from_another_thread_make_times_of_waiting_doubtful() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let ids = |n: u64| [[44, 0], [48, 44], [0, 48]][n as usize % 3];
    let switch = |n: u64| match n {
        // 52 stops without having come, and 56 comes and never stops.
        10 => Switch { new: 48, old: 52, ..Switch::default() },
        19 => Switch { new: 56, old: 44, ..Switch::default() },
        _ => Switch { new: ids(n)[0], old: ids(n)[1], ..Switch::default() },
    };
    let recs = (0..30).filter(|n| *n != 20).map(|n| switch(n).rec(P8, 4).at(t0 + (n + 1) * 10_000).on(0));
    let file = file_of(&Trace::new(session).push_all(recs).finish());
    let path = file.path().to_str().expect("a path");
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let (profile, dataset) = (at("profile.json"), at("dataset"));
    for line in [
        &["stacks", path, "--of", "cswitch"][..],
        &["stacks", path, "--of", "cswitch", "--format", "firefox", "-o", &profile],
        &["diff", path, path, "--of", "cswitch", "--group-by", "process"],
        &["export", path, "--out", &dataset, "--format", "csv", "--stacks"],
        &["cpu", path],
    ] {
        let ran = run(&[line, &["--strict"]].concat());
        let told = [ran.out, ran.err].concat();
        assert!(ran.code == 3 && told.contains("the chain of context switches is broken"), "{line:?}: {told}");
    }
}

/// A thread that stops on one processor and goes on at the same time stamp on another: which was first is not recorded, and none is missing.
#[test]
fn a_thread_that_changes_the_processor_within_a_tick_lacks_no_context_switch() {
    let session = Session { processors: 2, ..Session::windows10() };
    let t0 = session.t0;
    let recs = (0..40u64).flat_map(|n| {
        let time = t0 + (n + 1) * 10_000;
        let (from, to) = ((n % 2) as u16, 1 - (n % 2) as u16);
        let stop = Switch { new: 0, old: 44, ..Switch::default() }.rec(P8, 4).at(time).on(from);
        [stop, Switch { new: 44, old: 0, ..Switch::default() }.rec(P8, 4).at(time).on(to)]
    });
    let file = file_of(&Trace::new(session).push_all(recs).finish());
    let path = file.path().to_str().expect("a path");
    let ran = run(&["stacks", path, "--of", "cswitch", "--strict", "-q", "--format", "json", "--group-by", "thread"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    assert!(ran.code == 0 && !json["warnings"].to_string().contains("chain"), "{}", json["warnings"]);
    let row = &json["rows"][0];
    assert_eq!((&row["events"], &row["weight"]), (&40.into(), &0.into()), "{row}");
}

/// Twenty samples whose stacks are logged as keys, which records at the end define; these keys and definitions are there.
fn with_keys(has_key: impl Fn(u64) -> bool, is_defined: impl Fn(u64) -> bool) -> tempfile::NamedTempFile {
    const KERNEL: u64 = 0xffff_f800_0000_1000;
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let at = |n: u64| t0 + 10_000 * n;
    let sampled = |n: u64| {
        let key = has_key(n).then(|| perf::stack_key(P8, 0x1825, at(n), 4, 8, 0x1000 + n).at(at(n) + 10));
        std::iter::once(perf::sample(P8, KERNEL, 8, 0).at(at(n))).chain(key)
    };
    let define = |n: u64| perf::stack_definition(P8, 0x1824, 0x1000 + n, &[KERNEL, KERNEL + 0x10 * n]).at(at(30) + n);
    let records = (1..=20).flat_map(sampled).chain((1..=20).filter(|n| is_defined(*n)).map(define));
    file_of(&Trace::new(session).push_all(records).finish())
}

/// Keys without definitions were in a count below the table alone, definitions without keys nowhere.
#[test]
fn keys_of_stacks_that_are_missing_are_told() {
    let told = |trace: &tempfile::NamedTempFile| {
        let ran = run(&["stacks", trace.path().to_str().expect("UTF-8"), "--strict", "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        let mut warnings = json["warnings"].as_array().expect("warnings").iter().filter_map(Value::as_str);
        let of_keys = warnings.find(|text| text.contains("these frames")).unwrap_or_default().to_owned();
        assert_eq!(ran.code == 3, !of_keys.is_empty(), "{ran:?}");
        of_keys
    };
    assert_eq!(told(&with_keys(|_| true, |_| true)), "");
    let undefined = told(&with_keys(|_| true, |n| n > 10));
    assert!(undefined.starts_with("10 of 20 keys of stacks are defined by no record: "), "{undefined}");
    let unused = told(&with_keys(|_| false, |_| true));
    assert!(
        unused.starts_with("20 stacks of the kernel are defined, and no event has one (no StackKeyKernel)"),
        "{unused}"
    );
}
