//! Budgets beside what no record names: pages of processes without a record, drivers where no image of the kernel is known.

use crate::check::{check, folder, json};
use crate::program::fixtures;
use crate::trust::places;
use serde_json::Value;
use std::fs;

/// Budgets of pages with these conditions and limits.
fn budgets(all: &[(&str, &str)]) -> String {
    let of = |(at, (conditions, limit)): (usize, &(&str, &str))| {
        format!("[[budget]]\nname = \"{at}\"\nwhere = {{ {conditions} }}\n{limit}\n")
    };
    all.iter().enumerate().map(of).collect()
}

/// The verdicts with their reasons.
fn verdicts(trace: &str, all: &[(&str, &str)]) -> Vec<(String, String)> {
    let folder = folder(&budgets(all));
    fs::copy(fixtures().join(trace), folder.path().join(trace)).expect("a fixture");
    let found = json(&check(&folder, &format!("{trace} --budgets budgets.toml --format json -q")));
    let text = |budget: &Value, name: &str| budget[name].as_str().unwrap_or_default().to_owned();
    let budgets = found["traces"][0]["budgets"].as_array().expect("budgets");
    budgets.iter().map(|budget| (text(budget, "verdict"), text(budget, "reason"))).collect()
}

/// Budgets of ordinary files were invalid for that no image of the kernel is known.
#[test]
fn files_are_known_without_images_of_the_kernel() {
    let limit = "max = \"1 GiB\"";
    let of_files = ["detail = \"*ntdll.dll\"", "detail = \"*data*.dat\"", "category = \"Image\", detail = \"*.dll\""];
    for (verdict, reason) in verdicts("refset-proved.etl", &of_files.map(|conditions| (conditions, limit))) {
        assert_eq!((verdict.as_str(), reason.as_str()), ("pass", ""));
    }
    let of_drivers =
        ["detail = \"*.sys\"", "detail = \"*\\\\ntoskrnl.exe\"", "detail = \"n/a\"", "category = \"Driver\""];
    for (verdict, reason) in verdicts("refset-proved.etl", &of_drivers.map(|conditions| (conditions, limit))) {
        assert!(verdict == "invalid" && reason.contains("no image of the kernel is known"), "{verdict}: {reason}");
    }
}

/// The pages that a condition chooses counted once more, as what it could choose.
#[test]
fn what_conditions_choose_of_nobody_counts_once() {
    let all = [
        ("process = \"Unknown (0xe0801fffe080)\"", "max = \"5 pages\""),
        ("process = \"shared*\"", "max = \"1416 pages\""),
        ("process = \"n/a\"", "max = \"668 pages\""),
    ];
    for (verdict, reason) in verdicts("resident-small.etl", &all) {
        assert!(verdict == "watch" && reason.contains(" left below max "), "{verdict}: {reason}");
    }
}

/// The process that no record names.
pub const NOBODY: u64 = 0xffff_e080_1fff_e080;

/// The trace with as many pages of lsass.exe that are of wininit.exe instead.
fn moved(pages: usize) -> Vec<u8> {
    moved_to(pages, 0xffff_e080_1234_6b80)
}

/// The same with those of the process of another key.
pub fn moved_to(pages: usize, key: u64) -> Vec<u8> {
    let mut bytes = fs::read(fixtures().join("resident-small.etl")).expect("a fixture");
    let mask: u64 = (1 << 48) - 1;
    let [from, to] = [0xffff_e080_1234_7d80_u64, key].map(|key| key & mask);
    let flags = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let places = places(&bytes, &[0x0223]).into_iter().map(|place| place.start + 16);
    let is_private = |at: &usize| flags(&bytes, *at) & 15 == 0 && flags(&bytes, *at) >> 9 & mask == from;
    let chosen: Vec<usize> = places.filter(is_private).take(pages).collect();
    assert_eq!(chosen.len(), pages);
    for at in chosen {
        let other = flags(&bytes, at) & !(mask << 9) | to << 9;
        bytes[at..at + 8].copy_from_slice(&other.to_le_bytes());
    }
    bytes
}

/// Of runs of 160 to 190 pages, 170 with 5 unknown ones were not judged, though all of them together are in the spread, and 190 were near.
#[test]
fn growth_with_unnamed_pages_is_judged_by_the_spread_too() {
    let folder = folder("[[budget]]\nname = \"lsass\"\nwhere.process = \"lsass.exe\"\nmax_growth = \"2 %\"\n");
    fs::create_dir(folder.path().join("runs")).expect("a folder");
    for pages in [0, 10, 20, 30] {
        fs::write(folder.path().join(format!("runs/{pages}.etl")), moved(pages)).expect("a trace");
    }
    check(&folder, "runs --budgets budgets.toml --save-baseline saved.json -q");
    let budget = |pages| {
        fs::write(folder.path().join("now.etl"), moved(pages)).expect("a trace");
        let ran = check(&folder, "now.etl --budgets budgets.toml --baseline saved.json --format json -q");
        json(&ran)["traces"][0]["budgets"][0].clone()
    };
    for pages in [30, 20, 18, 10] {
        assert!(["pass", "watch"].map(Value::from).contains(&budget(pages)["verdict"]), "{}", budget(pages));
    }
    let (most, reason) = (budget(0), |budget: &Value| budget["reason"].as_str().unwrap_or_default().to_owned());
    assert_eq!(most["verdict"], "invalid", "{most}");
    let says = "the value is 778,240 bytes to 798,720 bytes, and the baseline with max_growth is 708,608 bytes, the most of its runs 778,240 bytes";
    assert!(reason(&most).ends_with(says), "{most}");
}

/// Budgets of a session passed, and those of its processes were invalid.
#[test]
fn sessions_of_unnamed_processes_are_not_known() {
    let pages = |limit| verdicts("resident-small.etl", &[("session = 0", limit)]);
    let found = pages("max = \"1 page\"");
    assert_eq!(found[0].0, "fail");
    let held = json(&check(
        &folder(&budgets(&[("session = 0", "max = \"1 page\"")])),
        "resident-small.etl --budgets budgets.toml --format json -q",
    ));
    let held = held["traces"][0]["budgets"][0]["value"].as_u64().expect("a value") / 4096;
    let (exact, enough) = (format!("max = \"{held} pages\""), format!("max = \"{} pages\"", held + 5));
    let found = pages(&exact);
    assert!(
        found[0].0 == "invalid" && found[0].1.contains("no record names the process of 20,480 bytes, so"),
        "{found:?}"
    );
    assert_eq!(pages(&enough)[0].0, "watch");
    assert_eq!(verdicts("resident-small.etl", &[("session = \"n/a\"", "max = \"1 GiB\"")])[0].0, "pass");
}

/// A process without a name has another id than the one that a budget is of, and the budget was invalid. Where the id of its key is not known, nobody
/// knows.
#[test]
fn unnamed_processes_of_another_id_are_not_meant() {
    let judged = |process: &str, limit: &str| {
        let of = "analysis = \"heap\"\nmeasure = \"peak\"";
        let folder = folder(&format!("[[budget]]\nname = \"a\"\n{of}\nwhere.process = {process}\n{limit}\n"));
        fs::copy(fixtures().join("alloc-x86.etl"), folder.path().join("alloc-x86.etl")).expect("a fixture");
        let found = json(&check(&folder, "alloc-x86.etl --budgets budgets.toml --format json -q"));
        found["traces"][0]["budgets"][0].clone()
    };
    // Another one without a name is 576.
    for process in ["444", "\"svchost.exe (444)\"", "\"svchost.exe\""] {
        let value = judged(process, "max = \"1 GiB\"")["value"].as_u64().expect("a value");
        let budget = judged(process, &format!("max = \"{value} B\""));
        let verdict = if process.contains("44") { "watch" } else { "invalid" };
        assert_eq!(budget["verdict"], verdict, "{budget}");
    }
    for conditions in ["process = 780", "pid = 780", "process = \"lsass.exe (780)\""] {
        let (verdict, reason) = verdicts("resident-small.etl", &[(conditions, "max = \"190 pages\"")]).remove(0);
        assert!(
            verdict == "invalid" && reason.contains("no record names the process of 20,480 bytes"),
            "{conditions}: {verdict}"
        );
    }
}

/// Half of the page records were gone, the lists differed from the kernel's counters by half, and budgets passed at half of their value.
#[test]
fn pages_far_from_the_counters_of_the_kernel_are_no_value() {
    let folder = folder(&budgets(&[
        ("category = \"MapFile\"", "max = \"1 GiB\""),
        ("process = \"lsass.exe\"", "max = \"1 GiB\""),
    ]));
    let mut bytes = fs::read(fixtures().join("resident-small.etl")).expect("a fixture");
    for place in places(&bytes, &[0x0223]).into_iter().take(1500) {
        bytes[place.start + 6..place.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
    }
    fs::write(folder.path().join("half.etl"), bytes).expect("a trace");
    let ran = check(&folder, "half.etl --budgets budgets.toml --format json -q");
    for budget in json(&ran)["traces"][0]["budgets"].as_array().expect("budgets") {
        let reason = budget["reason"].as_str().unwrap_or_default();
        assert!(budget["verdict"] == "invalid" && reason.contains("the page lists differ from MemInfo by"), "{budget}");
    }
}

/// Pages that a process had in the baseline too, where no record named it, were growth; and what conditions exclude in the trace
/// was no process that they exclude in the baseline, so that growth passed.
#[test]
fn what_no_record_names_of_a_baseline_can_be_growth_or_hide_it() {
    let budget = |name: &str, process: &str, limit: &str| {
        format!("[[budget]]\nname = \"{name}\"\nwhere.process = \"{process}\"\nmax_growth = \"{limit}\"\n")
    };
    let all = [
        budget("explained", "lsass.exe", "10 pages"),
        budget("hidden", "!lsass.exe", "0"),
        budget("enough", "!lsass.exe", "40 pages"),
    ];
    let folder = folder(&all.concat());
    fs::write(folder.path().join("before.etl"), moved_to(40, NOBODY)).expect("a trace");
    fs::write(folder.path().join("whole.etl"), moved_to(0, NOBODY)).expect("a trace");
    check(&folder, "before.etl --budgets budgets.toml --save-baseline saved.json -q");
    for baseline in ["before.etl", "saved.json"] {
        let found =
            json(&check(&folder, &format!("whole.etl --budgets budgets.toml --baseline {baseline} --format json -q")));
        let budgets = found["traces"][0]["budgets"].as_array().expect("budgets");
        let verdicts: Vec<&str> = budgets.iter().filter_map(|budget| budget["verdict"].as_str()).collect();
        assert_eq!(verdicts, ["invalid", "invalid", "pass"], "{baseline}: {budgets:#?}");
        let reason = |at: usize| budgets[at]["reason"].as_str().unwrap_or_default();
        assert!(reason(0).starts_with("of the baseline: no record names the process of "), "{}", reason(0));
        assert!(reason(1).contains("which the conditions can exclude, so it is "), "{}", reason(1));
    }
}

/// What conditions take only because they exclude another name, id or session: a lower limit passed by it, and an upper one failed.
#[test]
fn what_conditions_can_exclude_decides_no_limit() {
    // 5 pages are of a process that no record names.
    for conditions in [
        "process = \"!lsass.exe\"",
        "process_name = \"!lsass.exe\"",
        "pid = \"!780\"",
        "command_line = \"!*lsass*\"",
        "session = \"!1\"",
    ] {
        let pages = {
            let found = json(&check(&fixture_folder(&budgets(&[(conditions, "max = \"1 GiB\"")])), LINE));
            found["traces"][0]["budgets"][0]["value_pages"].as_u64().expect("pages")
        };
        let limits = [("min", 4), ("max", 4), ("min", 5), ("max", 6)];
        let all = limits.map(|(limit, less)| format!("{limit} = \"{} pages\"", pages - less));
        let all: Vec<(&str, &str)> = all.iter().map(|limit| (conditions, limit.as_str())).collect();
        let found = verdicts("resident-small.etl", &all);
        let judged: Vec<&str> = found.iter().map(|(verdict, _)| verdict.as_str()).collect();
        assert_eq!(judged, ["invalid", "invalid", "watch", "fail"], "{conditions}: {found:?}");
        let says = "no record names the process of 20,480 bytes, which the conditions can exclude, so the value is ";
        assert!(found[0].1.contains(says), "{found:?}");
        let shared = format!("min = \"{pages} pages\"");
        let found = verdicts("resident-small.etl", &[("process = \"!shared*\"", &shared)]);
        assert_ne!(found[0].0, "invalid", "no process without a name is shared: {found:?}");
    }
}

const LINE: &str = "resident-small.etl --budgets budgets.toml --format json -q";

fn fixture_folder(budgets: &str) -> tempfile::TempDir {
    let folder = folder(budgets);
    fs::copy(fixtures().join("resident-small.etl"), folder.path().join("resident-small.etl")).expect("a fixture");
    folder
}

/// Of files and kinds of faults it is a doubt: budgets of them said nothing, and growth from what the baseline did not name failed.
#[test]
fn what_no_record_tells_of_faults_is_a_doubt() {
    let budget = |conditions: &str, limit: &str| {
        format!("[[budget]]\nname = \"a\"\nanalysis = \"faults\"\nwhere = {{ {conditions} }}\n{limit}\n")
    };
    let trace = "faults-x86.etl";
    let judged = |conditions: &str, limit: &str| {
        let folder = folder(&budget(conditions, limit));
        fs::copy(fixtures().join(trace), folder.path().join(trace)).expect("a fixture");
        let found = json(&check(&folder, &format!("{trace} --budgets budgets.toml --format json -q")));
        found["traces"][0]["budgets"][0].clone()
    };
    let value = |conditions: &str| judged(conditions, "max = \"100000\"")["value"].as_u64().expect("faults");
    let warnings = |conditions: &str, limit: String| judged(conditions, &limit)["warnings"].to_string();
    let image = value("kind = \"image\"");
    let says = "no record names the kind of ";
    for limit in [format!("max = \"{image}\""), format!("min = \"{}\"", image + 1)] {
        let told = warnings("kind = \"image\"", limit);
        assert!(told.contains(says), "{told}");
    }
    assert!(!warnings("kind = \"image\"", "max = \"100000\"".to_owned()).contains(says));
    assert!(!warnings("kind = \"image;unknown\"", format!("max = \"{image}\"")).contains(says));
    for others in ["kind = \"!image\"", "module = \"!alpha.dll\""] {
        let told = warnings(others, format!("min = \"{}\"", value(others)));
        assert!(told.contains(says) && told.contains("which the conditions can exclude"), "{others}: {told}");
        assert!(!warnings(others, "max = \"100000\"".to_owned()).contains(says));
    }
    let dll = value("file = \"*.dll\"");
    assert!(warnings("file = \"*.dll\"", format!("min = \"{}\"", dll + 1)).contains("no record names the file of "));
    let others = value("file = \"!*.dll\"");
    let told = warnings("file = \"!*.dll\"", format!("min = \"{others}\""));
    assert!(told.contains("which the conditions can exclude"), "{told}");
}

/// `refset` asked for what no record names only beside a process without a name: a budget of a file, or of all but one, said nothing of
/// accessed files without one.
#[test]
fn files_without_a_name_are_a_doubt_of_what_was_held() {
    let name = "refset-proved.etl";
    let mut bytes = fs::read(fixtures().join(name)).expect("a fixture");
    let text: Vec<u8> = r"\System32\user32.dll".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let of_user32 = |place: &std::ops::Range<usize>| bytes[place.clone()].windows(text.len()).any(|part| part == text);
    let named: Vec<_> = places(&bytes, &[]).into_iter().filter(of_user32).collect();
    assert!(!named.is_empty());
    named.iter().for_each(|place| bytes[place.start + 6..place.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes()));
    let judged = |bytes: &[u8], conditions: &str, limit: &str| {
        let of = "analysis = \"refset\"\nmeasure = \"held_at_stop\"";
        let folder = folder(&format!("[[budget]]\nname = \"a\"\n{of}\nwhere = {{ {conditions} }}\n{limit}\n"));
        fs::write(folder.path().join(name), bytes).expect("a trace");
        let found = json(&check(&folder, &format!("{name} --budgets budgets.toml --format json -q")));
        found["traces"][0]["budgets"][0].clone()
    };
    let kernel32 = "file = \"*kernel32.dll\"";
    let pages = judged(&bytes, kernel32, "max = \"1 GiB\"")["value_pages"].as_u64().expect("pages");
    let limit = format!("max = \"{pages} pages\"");
    let told = |bytes: &[u8], conditions: &str, limit: &str| judged(bytes, conditions, limit)["warnings"].to_string();
    let says = "no record names the file of ";
    assert!(told(&bytes, kernel32, &limit).contains(says), "{}", told(&bytes, kernel32, &limit));
    assert!(!told(&bytes, kernel32, "max = \"1 GiB\"").contains(says));
    let whole = fs::read(fixtures().join(name)).expect("a fixture");
    assert!(!told(&whole, kernel32, &limit).contains(says));
    let others = "file = \"!*kernel32.dll\"";
    let pages = judged(&bytes, others, "max = \"1 GiB\"")["value_pages"].as_u64().expect("pages");
    assert!(told(&bytes, others, &format!("min = \"{pages} pages\"")).contains("which the conditions can exclude"));
}

/// Services of a trace that lists none are known by command lines alone: budgets by them passed with what was left.
#[test]
fn services_that_the_trace_does_not_list_are_unknown() {
    for (trace, analysis, max) in [
        ("cpu-compressed.etl", "cpu", "1 us"),
        ("refset-proved.etl", "refset", "1 MiB"),
        ("refset-proved.etl", "resident", "1 MiB"),
    ] {
        let limits = format!("analysis = \"{analysis}\"\noptional = true\nmax = \"{max}\"");
        let judged = |conditions: [&'static str; 3]| verdicts(trace, &conditions.map(|of| (of, limits.as_str())));
        for (verdict, reason) in
            judged([r#"service = "Dhcp""#, r#"service = "!Dhcp""#, r#"service = ["Dhcp", "no process"]"#])
        {
            let says = "the value cannot be known: the trace lists no services (SystemConfig: Services)";
            assert!(verdict == "invalid" && reason.contains(says), "{trace} {analysis}: {verdict} {reason}");
        }
        // What has no process has no service either, and what is not known can be asked for.
        for (verdict, reason) in judged([r#"service = "no process""#, r#"service = "Unknown""#, r#"service = "n/a""#]) {
            assert!(!reason.contains("lists no services"), "{trace} {analysis}: {verdict} {reason}");
        }
    }
}
