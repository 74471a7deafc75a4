//! `pfnset report`: the page's numbers are those of the other commands, names cannot harm it, and it loads nothing. What the
//! scripts do is tested in a browser by `.ci/report-browser`.

use crate::check::without_buffer;
use crate::program::{Ran, fixtures, out, run};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Session, Trace, file_of};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub(crate) const TRACE: &str = "resident-small.etl";

/// The page of these traces, written to a file.
pub(crate) fn page(traces: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.html");
    let arguments = [&["report", "-q"], traces, &["-o", file.to_str().expect("a plain name")]].concat();
    assert_eq!(out(&arguments), "");
    std::fs::read_to_string(&file).expect("a page")
}

/// The text between two marks.
pub(crate) fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

pub(crate) fn data(page: &str) -> Value {
    let json = between(page, "<script id=\"data\" type=\"application/json\">", "</script>");
    serde_json::from_str(json).expect("JSON")
}

/// Pages by category as another command tells them.
fn categories(rules: &str) -> BTreeMap<String, u64> {
    let arguments = ["resident", TRACE, "--group-by", "category", "--classification", rules, "--format", "json"];
    let json: Value = serde_json::from_str(&out(&arguments)).expect("JSON");
    let rows = json["snapshots"][0]["rows"].as_array().expect("rows");
    rows.iter().map(|row| (row["category"].as_str().unwrap().to_owned(), row["pages"].as_u64().unwrap())).collect()
}

fn sum_of_leaves(tile: &Value) -> u64 {
    match tile["c"].as_array() {
        Some(parts) => parts.iter().map(sum_of_leaves).sum(),
        None => tile["v"].as_u64().expect("pages"),
    }
}

/// What makes no number wrong is under one heading in all pages; steps in which available memory was recorded have a row.
#[test]
fn notes_and_steps_are_whole() {
    let doubtful = page(&["refset-small.etl", "alloc-x86.etl"]);
    let doubts = between(&doubtful, "What makes the numbers doubtful", "</div>");
    assert!(!doubts.contains("do not fit"), "{doubts}");
    let mut cut = std::fs::read(fixtures().join("alloc-x86.etl")).expect("a trace");
    cut.truncate(cut.len() - 0x100);
    let file = file_of(&cut);
    let page = run(&["report", "-q", file.path().to_str().expect("UTF-8")]).out;
    let doubts = between(&page, "What makes the numbers doubtful", "</div>");
    assert!(doubts.contains("THE FILE IS CUT") && !doubts.contains("do not fit their layout"), "{doubts}");
    let notes = between(&page, "Good to know", "</details>");
    assert!(notes.contains("do not fit their layout"), "{notes}");
}

/// docs/report.md said that only what was not recorded folds.
#[test]
fn the_docs_say_what_stands_open_and_what_folds() {
    let docs = std::fs::read_to_string(fixtures().join("../docs/report.md")).expect("docs");
    let head = docs.lines().find(|line| line.starts_with("| head |")).expect("a row");
    let (open, folded) = head.split_once("\"Good to know\" folds").expect("what folds");
    assert!(open.contains("\"What makes the numbers doubtful\""), "{open}");
    for (trace, note, word) in [
        ("resident-small.etl", "not in the trace, therefore unknown", "not recorded"),
        ("resident-small.etl", "differs from the end rundown", "differs a little"),
        ("alloc-x86.etl", "left out: ", "left out"),
        ("alloc-x86.etl", "estimated: ", "estimated"),
    ] {
        let notes = page(&[trace]);
        let notes = between(&notes, "Good to know", "</details>");
        assert!(notes.contains(note) && folded.contains(word), "{trace}: {notes}");
    }
}

/// The page begins with what holds the memory, what is out of the ordinary, and where to look next.
#[test]
fn it_begins_with_three_sentences() {
    let page = page(&[TRACE]);
    let headline = between(&page, "<section id=\"headline\">", "</section>");
    insta::assert_snapshot!("report_headline", headline);
    let doubtful = self::page(&["refset-small.etl"]);
    let headline = between(&doubtful, "<section id=\"headline\">", "</section>");
    assert!(headline.contains("Out of the ordinary: numbers may be wrong"), "{headline}");
    assert!(headline.contains("<code>pfnset info refset-small.etl</code>"), "{headline}");
}

/// What was not recorded by choice is no doubt.
#[test]
fn a_healthy_trace_has_no_box_of_doubts() {
    let page = page(&[TRACE]);
    let main = between(&page, "<main>", "</main>");
    assert!(!main.contains("class=\"doubt\"") && main.contains("class=\"sound\""), "{main}");
    // One check did not pass, of which `info --strict` tells too.
    assert!(main.contains("Trust it with care") && !main.contains("the checks of its numbers passed"), "{main}");
    assert!(
        between(main, "<details class=\"notes\">", "</details>").contains("differs from the end rundown"),
        "{main}"
    );
}

/// Two traces: what differs stands above what each of them is. Many: a table of all stands above everything.
#[test]
fn differences_come_first_and_many_traces_have_a_table() {
    let place = |page: &str, what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    let two = page(&[TRACE, "refset-small.etl"]);
    assert!(place(&two, "<section id=\"differences\">") < place(&two, "id=\"traces\""));
    assert!(!two.contains("<caption>All traces"));
    let three = page(&[TRACE, "refset-small.etl", "cpu-compressed.etl"]);
    let headline = between(&three, "<section id=\"headline\">", "</section>");
    let table = between(headline, "<caption>All traces", "</table>");
    for name in [TRACE, "refset-small.etl", "cpu-compressed.etl"] {
        assert!(table.contains(&format!(">{name}</a></th>")), "{table}");
    }
    assert_eq!(table.matches("<tr").count(), 4, "{table}");
}

/// Nineteen traces of a fleet: all stand in one table, whose names lead to what is said of each, and the page can still be mailed.
#[test]
fn nineteen_traces_have_an_overview_with_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let fixture = [TRACE, "cpu-compressed.etl", "faults-x86.etl", "alloc-x86.etl"];
    let paths: Vec<String> = (0..19)
        .zip(fixture.iter().cycle())
        .map(|(number, name)| {
            let path = folder.path().join(format!("run{number:02}.etl"));
            std::fs::copy(fixtures().join(name), &path).expect("room");
            path.to_str().expect("a plain name").to_owned()
        })
        .collect();
    let page = page(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
    let headline = between(&page, "<section id=\"headline\">", "</section>");
    let table = between(headline, "<caption>All traces", "</table>");
    assert_eq!(table.matches("<tr").count(), 20, "{table}");
    for number in 0..19 {
        let row = format!("<a href=\"#trace-{0}\">run{number:02}.etl</a>", number + 1);
        assert!(table.contains(&row), "{row}: {table}");
        let told = between(headline, &format!("id=\"trace-{}\">", number + 1), "</div>");
        assert!(told.contains(&format!("run{number:02}.etl</a></h2>")) && told.contains("<code>pfnset "), "{told}");
    }
    assert!(page.contains("<span class=\"names\">run00.etl and 18 more traces</span>"));
    let body = between(&page, "<body", "<script");
    let links: Vec<&str> = body.split("href=\"#").skip(1).map(|rest| rest.split_once('"').expect("an end").0).collect();
    assert!(links.len() > 2 * 19);
    for link in links {
        assert_eq!(body.matches(&format!(" id=\"{link}\"")).count(), 1, "{link} is one place");
    }
}

/// With budgets the page has the verdicts of `check`; growth counts from the first trace.
#[test]
fn budgets_have_their_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let budgets = folder.path().join("budgets.toml");
    let text = "[[budget]]\nname = \"Files\"\nwhere = { class = \"File\" }\nmax = \"1337 pages\"\n\
                [[budget]]\nname = \"Kernel grows\"\nwhere = { class = \"Kernel\" }\nmax_growth = \"1 page\"\n";
    std::fs::write(&budgets, text).expect("room");
    let file = folder.path().join("report.html");
    let [budgets, output] = [&budgets, &file].map(|path| path.to_str().expect("a plain name"));
    out(&["report", "-q", TRACE, "refset-small.etl", "--budgets", budgets, "-o", output]);
    let page = std::fs::read_to_string(&file).expect("a page");
    let headline = between(&page, "<section id=\"headline\">", "</section>");
    assert!(headline.contains("1 of 1 budgets are not met: Files (fail). Growth is not judged here"), "{headline}");
    assert!(headline.contains("1 of 2 budgets are not met: Kernel grows (fail)."), "{headline}");
    let verdicts = between(&page, "<section id=\"budgets\">", "</section>");
    assert!(verdicts.contains("Files: 4 KiB above max 5,348 KiB"), "{verdicts}");
    assert!(verdicts.contains("Growth is not judged here: max_growth of the other traces counts from this one."));
    // Growth alone, and nothing to count it from: nothing is met.
    let alone = run(&["report", "-q", TRACE, "--budgets", budgets, "-o", output]);
    assert!(alone.code == 2 && alone.err.contains("budget \"Kernel grows\" has max_growth"), "{alone:?}");
    let growth = text.split_once("[[budget]]\nname = \"Kernel").expect("two").1;
    std::fs::write(budgets, format!("[[budget]]\nname = \"Kernel{growth}")).expect("room");
    out(&["report", "-q", TRACE, "refset-small.etl", "--budgets", budgets, "-o", output]);
    let page = std::fs::read_to_string(&file).expect("a page");
    assert!(page.contains("No budget is judged. Growth is not judged here"), "nothing is met");
    let typo = "[[budget]]\nname = \"csrss\"\nwhere = { process = \"csrss*;nobody*\" }\nmax = \"1 GiB\"\n";
    std::fs::write(budgets, typo).expect("room");
    out(&["report", "-q", TRACE, "--budgets", budgets, "-o", output]);
    let page = std::fs::read_to_string(&file).expect("a page");
    let told = "<p>budget &quot;csrss&quot;: process &quot;nobody*&quot; matches nothing</p>";
    assert!(between(&page, "<section id=\"budgets\">", "</section>").contains(told), "a pattern may be wrong");
    let wrong = run(&["report", TRACE, "--budgets", "none.toml", "-o", output]);
    assert!(wrong.code == 2 && wrong.err.contains("cannot read the budgets none.toml"), "{wrong:?}");
}

/// A reader looked for the loss in the trace that had none: what is wrong with the first trace is said as `check --baseline` says it.
#[test]
fn doubts_about_the_first_trace_are_not_those_of_the_second() {
    let folder = tempfile::tempdir().expect("a folder");
    let [budgets, file] = ["budgets.toml", "report.html"].map(|name| folder.path().join(name));
    std::fs::write(&budgets, "[[budget]]\nname = \"all\"\nmax_growth = \"1 GiB\"\n").expect("room");
    let lossy = folder.path().join(without_buffer(&folder, TRACE, 2));
    let [budgets, output, lossy] = [&budgets, &file, &lossy].map(|path| path.to_str().expect("a plain name"));
    let whole = "refset-small.etl";
    let checked = run(&["check", "-q", whole, "--budgets", budgets, "--baseline", lossy, "--format", "json"]);
    let checked: Value = serde_json::from_str(&checked.out).expect("JSON");
    let reason = checked["traces"][0]["budgets"][0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("of the baseline: 1 buffer is missing"), "{reason}");
    let written = run(&["report", "-q", lossy, whole, "--budgets", budgets, "-o", output]);
    assert_eq!(written.code, 0, "{written:?}");
    let page = std::fs::read_to_string(&file).expect("a page");
    let verdicts = between(&page, "<section id=\"budgets\">", "</section>");
    let (of_first, of_second) = verdicts.rsplit_once(whole).expect("both traces");
    let also = "Growth counts from lossy-2.etl, whose numbers are doubtful: THE FILE LACKS 1 buffer";
    assert!(of_second.contains(&format!("all: {reason}")) && of_second.contains(also), "{of_second}");
    assert!(!of_first.contains("of the baseline: 1 buffer"), "{of_first}");
}

/// Marks were once drawn at times rounded to hundredths of a second: two on one line, and the peak after its maximum.
#[test]
fn marks_are_drawn_at_their_exact_times() {
    let page = page(&["refset-small.etl"]);
    let data = data(&page);
    let json: Value =
        serde_json::from_str(&out(&["refset", "refset-small.etl", "--format", "json", "-q"])).expect("JSON");
    let marks = data["traces"][0]["marks"].as_array().expect("marks");
    let time = |text: &str| marks.iter().find(|mark| mark[1] == text).map(|mark| mark[0].as_f64().expect("a time"));
    for (text, key) in [("RefSetTraceStart", "start_s"), ("RefSetTraceStop", "stop_s")] {
        let told = json["window"][key].as_f64().expect("a time");
        assert_eq!(time(text), Some(told), "{text}");
        assert!((told * 100.0).fract() > 1e-6, "{told} would be the same rounded");
    }
    // The chart library rounds unless it is told not to.
    let script = page.split("markLine = {").nth(1).expect("marks are lines").split("};").next().expect("an end");
    assert!(script.contains("precision: -1"), "{script}");
}

#[test]
fn its_numbers_are_those_of_the_other_commands() {
    let data = data(&page(&[TRACE]));
    let found = &data["traces"][0]["resident"];
    for (at, rules) in ["corrected", "wpa"].into_iter().enumerate() {
        let names = data["categories"].as_array().expect("names");
        let pages = found["byCategory"].as_array().expect("pages");
        let by_page: BTreeMap<String, u64> = (names.iter().zip(pages))
            .map(|(name, pages)| (name[0].as_str().unwrap().to_owned(), pages[at].as_u64().unwrap()))
            .filter(|(_, pages)| *pages > 0)
            .collect();
        assert_eq!(by_page, categories(rules), "{rules}");
        let classes = found["classes"].as_array().expect("classes");
        assert_eq!(classes.iter().map(|class| class[at].as_u64().unwrap()).sum::<u64>(), 3000);
    }
    assert_eq!((sum_of_leaves(&found["tiles"]), found["pages"].as_u64()), (3000, Some(3000)));
    assert!(!found["tiles"].to_string().contains("no detail"), "a tile without parts is its own name");
    // The tiles by WPA's category add up to WPA's numbers.
    let mut by_wpa = BTreeMap::new();
    fn add(tile: &Value, names: &Value, into: &mut BTreeMap<String, u64>) {
        if let Some(category) = tile["w"].as_u64() {
            let name = names[category as usize][0].as_str().expect("a name").to_owned();
            *into.entry(name).or_default() += tile["v"].as_u64().expect("pages");
        }
        tile["c"].as_array().into_iter().flatten().for_each(|part| add(part, names, into));
    }
    add(&found["tiles"], &data["categories"], &mut by_wpa);
    assert_eq!(by_wpa, categories("wpa"));
    let standby: u64 = found["standby"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|p| p.as_array().unwrap())
        .map(|n| n.as_u64().unwrap())
        .sum();
    let listed = out(&["resident", TRACE, "--group-by", "list", "--where", "list=Standby", "--format", "csv"]);
    assert!(listed.contains(&format!("Standby,{standby},")), "{listed}");
}

#[test]
fn over_time_it_shows_the_scenario() {
    let refset = &data(&page(&["refset-small.etl"]))["traces"][0]["reference"];
    let json: Value =
        serde_json::from_str(&out(&["refset", "refset-small.etl", "-q", "--format", "json"])).expect("JSON");
    assert_eq!(refset["peak"][1], json["peak_held"]["pages"]);
    let held = refset["held"].as_array().expect("categories");
    let at_end: u64 = held.iter().map(|of| of["pages"].as_array().unwrap().last().unwrap().as_u64().unwrap()).sum();
    assert_eq!(Some(at_end), json["held_at_stop"].as_u64());
    let cpu = page(&["cpu-compressed.etl"]);
    let found = &data(&cpu)["traces"][0]["cpu"];
    assert!(found["shares"].as_array().expect("shares").iter().all(|of| of["name"] != "Idle (0)"));
    assert_eq!(cpu.matches("Not shown: the trace holds no page sequence").count(), 1, "said once, with what to record");
    assert!(cpu.contains("wpr -start ResidentSet") && !cpu.contains("id=\"flows\""), "what was not recorded");
}

/// Hard faults and the disk have a part where the trace has them, with the numbers of `faults`.
#[test]
fn hard_faults_and_the_disk_are_shown_where_they_were_recorded() {
    let whole = page(&["faults-x86.etl"]);
    let found = &data(&whole)["traces"][0]["faults"];
    let json: Value =
        serde_json::from_str(&out(&["faults", "faults-x86.etl", "-q", "--format", "json"])).expect("JSON");
    let sum = |key: &str| found[key].as_array().expect("steps").iter().map(|n| n.as_u64().unwrap_or(0)).sum::<u64>();
    assert_eq!(Some(sum("faults")), json["hard"]["events"].as_u64());
    assert_eq!(Some(sum("disk")), json["disk"]["bytes"].as_u64());
    let waited = json["hard"]["waited_ns"].as_u64().expect("a number");
    let steps = found["times"].as_array().expect("times").len();
    assert!(steps >= 300 && sum("waited").abs_diff(waited) <= steps as u64, "each step is rounded");
    assert!(found["available"].as_array().expect("steps").iter().any(Value::is_u64), "the trace has counters");
    let first = &json["hard"]["rows"][0];
    assert_eq!(found["processes"][0], serde_json::json!([first["process"], first["waited_ns"], first["events"]]));
    let files: Value =
        serde_json::from_str(&out(&["faults", "faults-x86.etl", "-q", "--group-by", "file", "--format", "json"]))
            .expect("JSON");
    assert_eq!(found["files"][0][1], files["hard"]["rows"][0]["waited_ns"]);
    let section = between(&whole, "<section id=\"faults\">", "</section>");
    assert!(section.contains("<p>289 hard faults read 2.40 MiB, 1.90 MiB of it again;"), "{section}");
    assert!(
        section.contains("<summary>Numbers: disk requests by file</summary>") && whole.contains("href=\"#faults\"")
    );
    let without = page(&[TRACE]);
    assert!(!without.contains("id=\"faults\"") && !without.contains("href=\"#faults\""));
    let both = page(&[TRACE, "faults-x86.etl"]);
    let section = between(&both, "<section id=\"faults\">", "</section>");
    assert!(section.contains("Not shown: the trace holds no faults and no disk requests"), "{section}");
}

/// Allocations of each kind have a part where the trace has their records, with the numbers of `allocations`.
#[test]
fn allocations_are_shown_where_they_were_recorded() {
    let whole = page(&["alloc-x86.etl"]);
    let found = &data(&whole)["traces"][0]["allocations"];
    for of in ["commit", "pool", "heap"] {
        let json: Value =
            serde_json::from_str(&out(&["allocations", "alloc-x86.etl", "--of", of, "-q", "--format", "json"]))
                .expect("JSON");
        let number = |value: &Value| value.as_f64().expect("a number");
        let pages: Vec<f64> = found[of]["pages"].as_array().expect("steps").iter().map(number).collect();
        let times = found[of]["times"].as_array().expect("times");
        assert_eq!(times.len(), pages.len());
        assert!(pages.len() > 300 && number(&times[pages.len() - 1]) == number(&json["window"]["stop_s"]));
        let bytes = |pages: f64| (pages * 4096.0) as u64;
        assert_eq!(
            Some(bytes(pages.iter().copied().fold(0.0, f64::max))),
            json["total"]["peak_bytes"].as_u64(),
            "{of}"
        );
        assert_eq!(Some(bytes(pages[pages.len() - 1])), json["total"]["at_end_bytes"].as_u64(), "{of}");
        let owner = &found[of]["owners"][0];
        let row = &json["rows"][0];
        // Beside a pool tag stands what it is for.
        let name = row[if of == "pool" { "tag" } else { "process" }].as_str().expect("a name");
        let beside = if of == "pool" { " (mapped files)" } else { "" };
        assert_eq!(owner[0], format!("{name}{beside}"));
        assert_eq!(Some(bytes(number(&owner[1]))), row["kept_bytes"].as_u64());
        assert_eq!(Some(bytes(number(&owner[2]))), row["impacting_bytes"].as_u64());
    }
    assert!(whole.contains("<code>pfnset allocations alloc-x86.etl</code>"), "where to look next");
    let section = between(&whole, "<section id=\"allocations\">", "</section>");
    assert!(
        section.contains("<h3>Commit</h3><p>At start 10.52 MiB + allocated 101.81 MiB - freed 92.78 MiB"),
        "{section}"
    );
    assert!(between(&whole, "<main>", "</main>").contains("<li>left out: 14 impossible records"), "told in the head");
    assert!(section.contains("<summary>Numbers: allocated in the first half and still there, oldest first</summary>"));
    let without = page(&["cpu-compressed.etl"]);
    assert!(!without.contains("id=\"allocations\"") && !without.contains("href=\"#allocations\""));
}

/// The page allows its own scripts and style and nothing else; so nothing is loaded and no text of a trace can run.
/// Trees have the sums of `pfnset stacks`, with processes above their functions; small branches are folded.
#[test]
fn flame_graphs_are_shown_where_there_are_stacks() {
    let page = page(&["stacks-keys.etl"]);
    assert!(page.contains("<section id=\"stacks\">") && page.contains("<a href=\"#stacks\">"));
    let found = &data(&page)["traces"][0]["stacks"];
    let kinds: Vec<(&str, &str)> = (found.as_array().expect("kinds").iter())
        .map(|kind| (kind["of"].as_str().expect("a name"), kind["unit"].as_str().expect("a unit")))
        .collect();
    assert_eq!(kinds, [("samples", "time"), ("cswitch", "time"), ("page-access", "pages")]);
    for (kind, (of, _)) in found.as_array().expect("kinds").iter().zip(kinds) {
        let told = out(&["stacks", "stacks-keys.etl", "-q", "--of", of, "--format", "json"]);
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let rows: Vec<Vec<u64>> = serde_json::from_value(kind["rows"].clone()).expect("numbers");
        let mut sums = vec![0];
        let mut way: Vec<(u64, u64)> = Vec::new();
        for row in &rows {
            let &[depth, name, weight, events, folded] = &row[..] else { panic!("{row:?}") };
            assert!(folded > 0 || kind["names"][name as usize].is_string());
            way.truncate(depth as usize);
            assert_eq!(way.len(), depth as usize, "a level below another one: {row:?}");
            match way.last_mut() {
                Some((left, _)) => *left = left.checked_sub(events).expect("parts are not larger than the whole"),
                None => sums.push(events),
            }
            way.push((events, weight));
        }
        assert_eq!(sums.iter().sum::<u64>(), told["totals"]["with_stack"].as_u64().expect("a number"), "{of}");
        let weights: u64 = rows.iter().filter(|row| row[0] == 0).map(|row| row[2]).sum();
        assert!(weights.abs_diff(told["totals"]["weight_with_stack"].as_u64().expect("a number")) <= 9, "{of}");
    }
    assert!(!self::page(&[TRACE]).contains("<section id=\"stacks\">"));
}

#[test]
fn the_policy_names_what_is_there_and_nothing_else() {
    let page = page(&[TRACE]);
    let policy = between(&page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"").replace("&#39;", "'");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let scripts: Vec<&str> =
        page.split("<script>").skip(1).map(|rest| rest.split_once("</script>").expect("an end").0).collect();
    assert_eq!(scripts.len(), 2);
    let style = between(&page, "<style>", "</style>");
    for text in scripts.iter().copied().chain([style]) {
        let hash = STANDARD.encode(Sha256::digest(text));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{:.80}", text);
    }
    let outside = page.replace(scripts[0], "");
    for load in [" src=", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "eval("] {
        assert!(!outside.contains(load), "{load}");
    }
    assert!(page.len() < 6 << 20);
}

/// Processes with names that would break out of any place of the page where they stand.
#[test]
fn names_of_a_trace_do_no_harm() {
    let names = [
        "<script>alert(1)</script>",
        "\"'><img src=x onerror=alert(2)>",
        "]]></script><!--",
        "a\u{202e}exe.gpj",
        "b\u{7}\u{1b}[2Jc",
        "{a|b} {b} ${x} `y`",
        "\u{2028}\u{2029}&lt;",
    ];
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let mut trace = Trace::new(session);
    let mut number = 0u32;
    for name in names {
        number += 4;
        let (pid, key) = (number, 0x1000 * u64::from(number));
        let process = Process { key, name_bytes: name.as_bytes().into(), ..Process::new(pid, "") };
        trace.add(&process.rec(P8, 4, process::DC_START).at(t0 + u64::from(number)));
    }
    for page in 0..70u64 {
        let pid = 4 + 4 * (page % 7);
        trace.add(&Identity::private(page, pid, 0x1000 * (1 + page)).rec(P8, 4, IN_MEMORY).at(t0 + 1000 + page));
    }
    let file = file_of(&trace.finish());
    let whole = page(&[file.path().to_str().expect("a plain name")]);
    // For the test in a browser, `.ci/report-browser`.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/report-hostile.html"), &whole).expect("room for a page");
    let library = between(&whole, "<script>", "</script>");
    let page = whole.replace(library, "");
    assert_eq!(page.matches("<script").count(), 3, "data, library, page");
    for harm in ["<script>alert", "<img", "onerror=alert(2)>", "\u{202e}", "\u{7}", "\u{1b}", "\u{2028}"] {
        assert!(!page.contains(harm), "{harm:?}");
    }
    for shown in ["&lt;script&gt;alert(1)", "a\\u{202e}exe.gpj", "b\\x07\\x1b[2Jc"] {
        assert!(page.contains(shown), "{shown}");
    }
    let text = data(&page)["traces"][0]["resident"]["tiles"].to_string();
    assert!(text.contains("<script>alert(1)</script>") && text.contains("\\\\u{202e}exe.gpj"), "{text}");
}

#[test]
fn exit_codes_and_streams_are_those_of_the_other_commands() {
    let path = fixtures().join(TRACE);
    let path = path.to_str().expect("a plain name");
    let refused = |ran: Ran, code: i32, says: &str| {
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{}", ran.err);
        assert!(ran.err.contains(says), "{}", ran.err);
    };
    refused(run(&["report", path, "-o", path]), 2, "itself; name another file");
    refused(run(&["report", TRACE, path, "-o", path]), 2, "itself; name another file");
    refused(run(&["report", "Cargo.lock"]), 3, "cannot read");
    let text =
        file_of(b"no trace, but a text that is longer than the header of a buffer: it goes on and on, on and on");
    refused(run(&["report", text.path().to_str().expect("a plain name")]), 3, "is no .etl file");
    let whole = std::fs::read(path).expect("the fixture");
    let cut = file_of(&whole[..whole.len() - 0x5000]);
    let cut = cut.path().to_str().expect("a plain name");
    let ran = run(&["report", cut]);
    assert!(ran.code == 0 && ran.out.starts_with("<!DOCTYPE html>"));
    assert!(ran.err.starts_with("pfnset: warning: THE FILE IS CUT"), "{}", ran.err);
    let doubt = ran.out.find("THE FILE IS CUT").expect("a warning on the page");
    assert!(doubt < ran.out.find("class=\"chart").expect("a picture"), "before any picture");
    let strict = run(&["report", cut, "--strict", "-q"]);
    let lines: Vec<&str> = strict.err.lines().collect();
    assert!(
        strict.code == 3 && lines.len() == 5 && lines[4].contains("no record names 27 of the 74 files"),
        "{}",
        strict.err
    );
    assert!(lines[2].contains("MemInfo says") && lines[3].contains("MemInfo says"), "{}", strict.err);
    assert!(lines[0].starts_with("pfnset: warning: THE FILE IS CUT") && lines[1].contains("DAMAGED"), "{}", strict.err);
    assert_eq!(run(&["report", TRACE, "-j", "1"]).out, run(&["report", TRACE, "-j", "5"]).out);
}
