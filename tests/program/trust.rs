//! Traces that are damaged inside, and traces of which a part is missing: what is sound is counted, what is not is said,
//! and nobody is told to record again what was recorded.

use crate::program::{Ran, fixtures, run};
use etl_writer::file_of;
use pfnset::etl::{EtlFile, Scratch};
use pfnset::trace::Survey;
use serde_json::Value;
use std::ops::Range;

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).unwrap()
}

/// Where the records of kernel events lie in the file, padding included; all records when no event is named.
pub(crate) fn places(bytes: &[u8], hooks: &[u16]) -> Vec<Range<usize>> {
    let file = file_of(bytes);
    let etl = EtlFile::open(file.path()).unwrap();
    let mut scratch = Scratch::new();
    let mut places = Vec::new();
    for index in 1..etl.buffers.len() {
        let area = etl.area(index, &mut scratch);
        for record in area
            .records()
            .filter(|record| hooks.is_empty() || record.hook().is_some_and(|hook| hooks.contains(&hook.0)))
        {
            let start = area.file_offset(record.position.offset as usize).0 as usize;
            places.push(start..start + record.bytes.len().next_multiple_of(8));
        }
    }
    places
}

const PAGES: [u16; 2] = [0x0223, 0x028a];
pub(crate) const ACCESSES: [u16; 2] = [0x0276, 0x0282];

fn survey(bytes: &[u8]) -> Survey {
    let file = file_of(bytes);
    Survey::new(&EtlFile::open(file.path()).unwrap())
}

pub(crate) fn with(command: &str, bytes: &[u8], more: &[&str]) -> Ran {
    let file = file_of(bytes);
    run(&[&[command, file.path().to_str().unwrap()], more].concat())
}

/// JSON without what differs by design: the path and the warnings.
fn json(command: &str, bytes: &[u8]) -> Value {
    let ran = with(command, bytes, &["--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut json: Value = serde_json::from_str(&ran.out).unwrap();
    json.as_object_mut().unwrap().retain(|key, _| !["warnings", "doubts", "trace"].contains(&key.as_str()));
    json
}

#[test]
fn filler_inside_of_a_buffer_costs_the_records_that_it_covers() {
    let whole = fixture("resident-small.etl");
    let (total, pages) = (survey(&whole).total, places(&whole, &PAGES));
    for fill in [0xff, 0x00, 0x41] {
        for (first, count) in [(1, 1), (pages.len() / 2, 1), (pages.len() / 2, 3), (pages.len() - 2, 1)] {
            let gone = &pages[first..first + count];
            let mut bytes = whole.clone();
            gone.iter().for_each(|place| bytes[place.clone()].fill(fill));
            let survey = survey(&bytes);
            assert_eq!(survey.total, total - count as u64, "{fill:#x} {first} {count}");
            let [damage] = &survey.damage.places[..] else { panic!("{:?}", survey.damage) };
            assert_eq!(damage.offset.0 as usize, gone[0].start);
            let passed_over: usize = gone.iter().map(|place| place.len()).sum();
            assert!(damage.what.contains(&format!("({passed_over} bytes passed over)")), "{damage:?}");
        }
    }
}

#[test]
fn filler_at_the_start_and_at_the_end_of_an_area_is_damage_too() {
    let whole = fixture("resident-small.etl");
    let total = survey(&whole).total;
    let all = places(&whole, &[]);
    let area = &all[all.iter().position(|place| place.start == 2 * 0x1_0000 + 0x48).unwrap()..];
    let last = area.windows(2).position(|pair| pair[0].end != pair[1].start).unwrap();
    for gone in [&area[0], &area[last - 1], &area[last]] {
        let mut bytes = whole.clone();
        bytes[gone.clone()].fill(0xff);
        assert_eq!((survey(&bytes).total, survey(&bytes).damage.total), (total - 1, 1), "{gone:?}");
        assert_eq!(with("resident", &bytes, &["--strict"]).code, 3);
    }
}

#[test]
fn a_buffer_whose_records_were_all_overwritten_by_filler_is_damaged() {
    let whole = fixture("resident-small.etl");
    let all = places(&whole, &[]);
    for (buffer, from) in [(2, 0), (3, 0), (3, 100)] {
        let start = buffer * 0x1_0000;
        let used = u32::from_le_bytes(whole[start + 0x30..start + 0x34].try_into().unwrap()) as usize;
        let records: Vec<_> =
            all.iter().filter(|place| (start..start + 0x1_0000).contains(&place.start)).skip(from).collect();
        let mut bytes = whole.clone();
        bytes[records[0].start..start + used].fill(0xff);
        let (survey, intact) = (survey(&bytes), survey(&whole));
        assert_eq!(intact.total - survey.total, records.len() as u64);
        let [damage] = &survey.damage.places[..] else { panic!("{:?}", survey.damage) };
        assert_eq!((damage.offset.0 as usize, survey.damage.total), (records[0].start, 1));
        let strict = with("info", &bytes, &["--strict"]);
        assert!(strict.code == 3 && strict.out.contains("THE FILE IS DAMAGED"), "{}", strict.out);
    }
}

#[test]
fn damage_that_begins_inside_of_a_record_makes_no_snapshot_of_its_own() {
    let whole = fixture("resident-small.etl");
    let pages = places(&whole, &PAGES);
    let of = |bytes: &[u8]| json("resident", bytes)["snapshots"][0]["pages"].as_u64().unwrap();
    for into in [8, 16, 24, 32] {
        let mut bytes = whole.clone();
        let start = pages[pages.len() / 2].start + into;
        bytes[start..start + 40].fill(0xff);
        let lost = of(&whole) - of(&bytes);
        assert!((1..=2).contains(&lost), "{into}: {lost}");
    }
}

#[test]
fn a_stamp_that_cannot_be_true_is_damage_and_the_record_counts_at_the_time_of_the_one_before() {
    for end_time in [None, Some(0u64)] {
        let mut whole = fixture("resident-small.etl");
        if let Some(end_time) = end_time {
            whole[0x78..0x80].copy_from_slice(&end_time.to_le_bytes()); // never stopped
        }
        let pages = places(&whole, &PAGES);
        let expected = json("resident", &whole);
        for stamp in [0i64, -1, i64::MAX, i64::MIN, 470_211_118_447 * 10_000_000] {
            let mut bytes = whole.clone();
            // The second and a later one: both are about pages of the same snapshot.
            for page in [&pages[1], &pages[pages.len() / 2]] {
                let at = page.start + if bytes[page.start + 2] == 17 { 8 } else { 16 };
                bytes[at..at + 8].copy_from_slice(&stamp.to_le_bytes());
            }
            assert_eq!(json("resident", &bytes), expected, "{stamp}");
            let survey = survey(&bytes);
            let damaged = survey.damage.places.iter().filter(|damage| damage.what.starts_with("time stamp")).count();
            assert_eq!(damaged as u64, survey.damage.total, "{:?}", survey.damage);
            assert!((1..=2).contains(&damaged));
            let strict = with("resident", &bytes, &["--strict"]);
            assert!(strict.code == 3 && strict.out.contains("THE FILE IS DAMAGED"), "{}", strict.out);
        }
    }
}

#[test]
fn an_access_with_a_stamp_that_cannot_be_true_is_still_an_access() {
    let whole = fixture("refset-small.etl");
    let accesses = places(&whole, &ACCESSES);
    let place = &accesses[accesses.len() / 2];
    let at = place.start + if whole[place.start + 2] == 17 { 8 } else { 16 };
    let counts = |bytes: &[u8]| {
        let json = json("refset", bytes);
        (json["accesses"].clone(), json["held_at_stop"].clone(), json["window"].clone())
    };
    for stamp in [0i64, i64::MAX] {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&stamp.to_le_bytes());
        assert_eq!(counts(&bytes), counts(&whole));
        assert_eq!(with("refset", &bytes, &["--strict"]).code, 3);
    }
}

#[test]
fn a_wrong_stamp_of_the_log_file_header_is_damage_and_all_records_count() {
    let whole = fixture("resident-small.etl");
    let mut bytes = whole.clone();
    bytes[0x58..0x60].copy_from_slice(&(i64::MAX / 2).to_le_bytes());
    let (survey, sound) = (survey(&bytes), survey(&whole));
    assert_eq!((survey.total, survey.damage.total), (sound.total, 1));
    assert!(survey.damage.places[0].what.contains("log-file header"), "{:?}", survey.damage);
}

/// What a recorded fixture lacks after a cut, by command.
#[test]
fn a_cut_trace_is_to_be_copied_again_and_not_to_be_recorded_again() {
    for (name, commands) in [
        ("resident-small.etl", &[&["resident"][..], &["pages"], &["resident", "--explain", "1"]][..]),
        ("refset-small.etl", &[&["refset"][..], &["refset", "--verify"], &["refset", "--timeline", "10ms"]]),
    ] {
        let whole = fixture(name);
        let cut = file_of(&whole[..70_000]);
        for command in commands {
            for more in [&[][..], &["--strict"], &["--format", "csv"]] {
                let ran = run(&[command, &[cut.path().to_str().unwrap()][..], more].concat());
                assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{command:?} {more:?}: {}", ran.err);
                assert!(ran.err.contains("THE FILE IS CUT: it holds 2 buffers of the"), "{}", ran.err);
                assert!(ran.err.contains("Copy it again") && !ran.err.contains("Record with"), "{}", ran.err);
            }
        }
    }
}

/// A buffer that was written later than others with greater numbers is gone with the end of the file: that was called a loss while
/// recording, with advice to record with other buffers.
#[test]
fn a_gap_that_the_cut_explains_is_no_loss_of_the_recording() {
    let sound = fixture("resident-small.etl");
    for (later, held, begins) in [(5, 5, "THE FILE LACKS 1 buffer of the 6"), (4, 4, "THE FILE IS CUT: it holds 4 ")] {
        let mut whole = sound.clone();
        for at in 0x18..0x20 {
            whole.swap(3 * 0x1_0000 + at, later * 0x1_0000 + at);
        }
        let complete = with("info", &whole, &["--format", "json", "-q"]);
        let complete: Value = serde_json::from_str(&complete.out).unwrap();
        assert_eq!(complete["loss"]["missing_buffers"], 0);
        let cut = &whole[..held * 0x1_0000];
        let info = {
            let ran = with("info", cut, &["--format", "json", "-q"]);
            serde_json::from_str::<Value>(&ran.out).unwrap()
        };
        let warnings: Vec<&str> = info["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(warnings[0].starts_with(begins) && warnings[0].ends_with("Copy it again"), "{warnings:#?}");
        assert!(
            !warnings.iter().any(|line| line.starts_with("DATA WAS LOST") || line.contains("Advice")),
            "{warnings:#?}"
        );
        assert_eq!(info["trust"], "cut", "the recorder lost nothing");
        assert_eq!((&info["loss"]["advice"], info["doubts"][0]["code"].as_str()), (&Value::Null, Some("file_cut")));
        assert_eq!(with("resident", cut, &["--strict"]).code, 3);
    }
}

/// The header names as many buffers as there are: the last one has no end. Only `info` called it cut, the others damaged.
#[test]
fn a_file_cut_inside_of_its_last_buffer_is_called_cut_everywhere() {
    let cut = file_of(&fixture("resident-small.etl")[..350_000]);
    let path = cut.path().to_str().unwrap();
    for command in ["info", "resident", "processes", "allocations", "cpu"] {
        let ran = run(&[command, path]);
        let first = ran.out.lines().find(|line| line.starts_with("! ")).unwrap_or_default();
        assert!(first.starts_with("! THE FILE IS CUT: it ends inside of its last buffer."), "{command}: {}", ran.out);
    }
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("dataset");
    let exported = run(&["export", path, "--out", dataset.to_str().unwrap(), "--format", "csv", "--tables", "traces"]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let part = std::fs::read_dir(dataset.join("traces")).unwrap().next().unwrap().unwrap().path().join("part-0.csv");
    let mut lines = std::fs::read_to_string(part).unwrap().lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
    let (heading, row) = (lines.next().unwrap(), lines.next().unwrap());
    let at = heading.split(',').position(|name| name == "is_cut").expect("a column");
    // Of what stands before it only the list of tables has a comma.
    assert_eq!(row.replace("warnings,traces", "").split(',').nth(at), Some("true"), "{row}");
}

#[test]
fn what_a_cut_trace_still_holds_is_shown_with_a_warning() {
    let whole = fixture("refset-small.etl");
    let cut = &whole[..200_000];
    let ran = with("refset", cut, &[]);
    assert!(ran.code == 0 && ran.out.starts_with("! THE FILE IS CUT"), "{} {}", ran.out, ran.err);
    let lines = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        lines.contains("the page sequence after the scenario is in the part of the trace that is missing"),
        "{lines}"
    );
    assert!(lines.contains("recorded, but not in the part of the trace that is left, therefore unknown: Filename"));
    assert_eq!(with("refset", cut, &["--strict"]).code, 3);
    // To compare with, it needs the sequence that is gone.
    let verify = with("refset", cut, &["--verify"]);
    assert_eq!(verify.code, 3);
    assert!(verify.err.contains("THE FILE IS CUT") && !verify.err.contains("Record with"), "{}", verify.err);
}

/// The fixture without its page records, as if the buffers that held them had been lost.
fn without_pages() -> Vec<u8> {
    let mut bytes = fixture("resident-small.etl");
    for page in places(&bytes.clone(), &PAGES) {
        bytes[page.start + 6..page.start + 8].copy_from_slice(&0x02ff_u16.to_le_bytes());
    }
    bytes
}

#[test]
fn events_that_a_loss_took_away_were_recorded() {
    // Nothing is missing: the sequence was never logged.
    let never = with("resident", &without_pages(), &[]);
    assert!(never.code == 4 && never.err.contains("Record with the keyword Memory"), "{}", never.err);
    assert!(never.err.contains("although the keyword Memory was on"), "{}", never.err);
    // The session lost events (EventsLost of the log-file header).
    let mut bytes = without_pages();
    bytes[0x48 + 0x20 + 0x30] = 7;
    let lost = with("resident", &bytes, &[]);
    assert!(lost.code == 3 && lost.err.contains("DATA WAS LOST while recording: 7 events"), "{}", lost.err);
    assert!(lost.err.contains("the keyword Memory was on") && !lost.err.contains("Record with"), "{}", lost.err);
}

#[test]
fn a_command_whose_keyword_was_off_says_so_and_names_the_cut_too() {
    let whole = fixture("resident-small.etl");
    let ran = with("refset", &whole, &[]);
    assert!(ran.code == 4 && ran.err.contains("Record with the keyword ReferenceSet"), "{}", ran.err);
    let ran = with("refset", &whole[..whole.len() - 0x4000], &[]);
    assert!(ran.code == 4 && ran.err.contains("(This file is not whole either: THE FILE IS"), "{}", ran.err);
}

#[test]
fn the_default_snapshot_is_whole_and_fragments_are_named() {
    let whole = fixture("resident-small.etl");
    let mut pages = places(&whole, &PAGES);
    let pfn_at = |page: &Range<usize>| page.start + if whole[page.start + 2] == 17 { 0x18 } else { 0x20 };
    pages.sort_by_key(|page| u64::from_le_bytes(whole[pfn_at(page)..][..8].try_into().unwrap()));
    let sizes = |bytes: &[u8], choice: &str| -> Vec<u64> {
        let json: Value =
            serde_json::from_str(&with("resident", bytes, &["--snapshot", choice, "--format", "json"]).out).unwrap();
        json["snapshots"].as_array().unwrap().iter().map(|snapshot| snapshot["pages"].as_u64().unwrap()).collect()
    };
    let all = sizes(&whole, "last")[0];
    // The PFN of the last page but nine falls back to 1: ten pages look like a snapshot of their own.
    let mut bytes = whole.clone();
    bytes[pfn_at(&pages[pages.len() - 10])..][..8].copy_from_slice(&1u64.to_le_bytes());
    assert_eq!(sizes(&bytes, "all"), [all - 10, 10]);
    assert_eq!((sizes(&bytes, "last"), sizes(&bytes, "1")), (vec![all - 10], vec![10]));
    for command in ["resident", "pages"] {
        let ran = with(command, &bytes, &["--format", "csv"]);
        let fragment = "1 fragment of a page sequence, most of which is missing: snapshot 1 at ";
        assert!(ran.code == 0 && ran.err.contains(fragment) && ran.err.contains("with 10 pages;"), "{}", ran.err);
    }
    // A budget is of the last sequence. Where damage has made a fragment of that, the one before it is no answer.
    let budgets = etl_writer::file_of(b"[[budget]]\nname = \"all\"\nmax = \"1 GiB\"\n");
    let line = ["--budgets", budgets.path().to_str().unwrap(), "-q"];
    assert_eq!(with("check", &bytes, &line).code, 0);
    let (from, to) = (pages[pages.len() - 5].start, pages[pages.len() - 3].end);
    bytes[from..to].fill(0);
    let ran = with("check", &bytes, &line);
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.code == 3 && told.contains("a page sequence after the last whole one lies"), "{ran:?}");
}

#[test]
fn a_record_whose_pfn_no_machine_has_is_left_out_and_no_snapshot() {
    let whole = fixture("resident-small.etl");
    let pages = places(&whole, &PAGES);
    let count = |bytes: &[u8]| json("resident", bytes)["snapshots"][0]["pages"].as_u64().unwrap();
    for pfn in [1u64 << 40, u64::MAX] {
        let mut bytes = whole.clone();
        let page = &pages[pages.len() / 3];
        let header = if bytes[page.start + 2] == 17 { 0x10 } else { 0x18 };
        bytes[page.start + header + 8..page.start + header + 16].copy_from_slice(&pfn.to_le_bytes());
        assert_eq!(count(&bytes), count(&whole) - 1);
        assert!(
            with("resident", &bytes, &[]).out.contains("1 page record is left out: it names a PFN that no machine has")
        );
    }
}

/// One page was missing, and nothing said so: a memory map has such gaps.
#[test]
fn a_page_record_with_another_event_id_is_told() {
    let mut bytes = fixture("resident-small.etl");
    let page = places(&bytes, &PAGES)[1500].start;
    bytes[page + 6] ^= 0x80;
    for command in ["info", "resident", "pages"] {
        let ran = with(command, &bytes, &[]);
        let told = format!("{}{}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("1 record of an unknown event lies in the page sequence"), "{command}: {ran:?}");
    }
}

/// What changed during the trace is no answer where nothing tells what there was before.
#[test]
fn categories_without_a_rundown_are_unknown() {
    for (trace, command, rundown, things, category) in [
        ("resident-small.etl", "resident", [0x0427, 0x0428], "views", "CopyOnWriteImage"),
        ("resident-small.etl", "resident", [0x0280, 0x0281], "VirtualAlloc regions", "UserStack"),
        ("refset-proved.etl", "refset", [0x0280, 0x0281], "VirtualAlloc regions", "VirtualAlloc"),
        ("resident-small.etl", "resident", [0x0503, 0x0504], "threads", "UserStack"),
    ] {
        let mut bytes = fixture(trace);
        // Records that nobody knows.
        places(&bytes, &rundown)
            .iter()
            .for_each(|record| bytes[record.start + 6..][..2].copy_from_slice(&[0x7f, 0x0f]));
        let warned = with(command, &bytes, &["--strict"]);
        assert!(warned.code == 3 && warned.out.contains(&format!("no rundown of {things}")), "{warned:?}");
        if things == "threads" {
            // A session with processes alone.
            places(&bytes, &[0x0501, 0x0502])
                .iter()
                .for_each(|record| bytes[record.start + 6..][..2].copy_from_slice(&[0x7f, 0x0f]));
            let says = "no record of threads: pages of their stacks count as VirtualAlloc";
            for command in ["resident", "info"] {
                let ran = with(command, &bytes, &[]);
                assert!(ran.out.contains(says), "{command}: {}", ran.out);
            }
        }
        for (category, code) in [(category, 3), ("NonPagedPool", 0)] {
            let budgets = format!(
                "[[budget]]\nname = \"a\"\nanalysis = \"{command}\"\nwhere = {{ category = \"{category}\" }}\nmax = \"1 GiB\"\n"
            );
            let budgets = etl_writer::file_of(budgets.as_bytes());
            let ran = with("check", &bytes, &["--budgets", budgets.path().to_str().unwrap(), "-q"]);
            let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
            let says = format!("its categories cannot be known: no rundown of {things} tells");
            assert!(ran.code == code && told.contains(&says) == (code == 3), "{category}: {ran:?}");
        }
    }
}

/// Nothing tells where the PFN database lies: its pages count as SystemPage, which each command says.
#[test]
fn without_kernel_mem_usage_the_pfn_database_is_unknown() {
    let mut bytes = fixture("resident-small.etl");
    let says = "no KernelMemUsage record: pages of the PFN database count as SystemPage";
    assert!(!with("resident", &bytes, &[]).out.contains(says));
    places(&bytes, &[0x027b]).iter().for_each(|record| bytes[record.start + 6..][..2].copy_from_slice(&[0x7f, 0x0f]));
    for (command, more) in [("resident", &[][..]), ("info", &[]), ("resident", &["--format", "json"])] {
        let ran = with(command, &bytes, more);
        assert!(ran.code == 0 && ran.out.contains(says), "{command}: {}", ran.out);
    }
    for (category, code) in [("PfnDatabase", 3), ("SystemPage", 3), ("Driver", 0), ("PfnDatabase,SystemPage", 0)] {
        let names = category.split(',').map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let budgets =
            format!("[[budget]]\nname = \"a\"\nwhere = {{ category = [{names}] }}\nmax = \"1 GiB\"\noptional = true\n");
        let budgets = etl_writer::file_of(budgets.as_bytes());
        let ran = with("check", &bytes, &["--budgets", budgets.path().to_str().unwrap(), "-q"]);
        assert_eq!(ran.code, code, "{category}: {ran:?}");
    }
}

/// A list with an exclusion that takes all of it guards nothing: no budget passes by it.
#[test]
fn conditions_that_can_match_nothing_are_no_match() {
    let bytes = fixture("resident-small.etl");
    for (condition, code) in [
        ("process = \"csrss.exe;!csrss*\"", 1),
        ("process = \"!*\"", 1),
        ("list = \"Standby;!Standby\"", 1),
        ("class = \"!Dynamic;!File;!Kernel;!Free\"", 1),
        ("list = \"Transition\"", 0),
        ("process = \"csrss.exe;!x*\"", 0),
    ] {
        let budgets = format!("[[budget]]\nname = \"a\"\nwhere = {{ {condition} }}\nmax = \"1 GiB\"\n");
        let budgets = etl_writer::file_of(budgets.as_bytes());
        let ran = with("check", &bytes, &["--budgets", budgets.path().to_str().unwrap(), "-q"]);
        assert_eq!(ran.code, code, "{condition}: {ran:?}");
    }
}

/// One record with a wrong PFN breaks a page sequence in two; neither part is a whole one.
#[test]
fn a_page_sequence_that_is_broken_in_two_is_no_snapshot() {
    let mut bytes = fixture("refset-proved.etl");
    let pages = places(&bytes, &PAGES);
    let pfn = pages[pages.len() / 4].start + 24;
    bytes[pfn..pfn + 3].fill(0xff);
    let says = "goes on where snapshot 0 ends, as if one page sequence had been broken in two";
    let ran = with("resident", &bytes, &["--strict"]);
    assert!(ran.code == 3 && ran.out.contains(says), "{ran:?}");
    let budgets = etl_writer::file_of(b"[[budget]]\nname = \"a\"\nmax = \"1 GiB\"\n");
    let ran = with("check", &bytes, &["--budgets", budgets.path().to_str().unwrap(), "-q"]);
    assert!(ran.code == 3 && ran.out.contains("broken in two"), "{ran:?}");
}

/// A sequence without its last pages passed the check of lists, each of which lacked no more than may move while it is written.
#[test]
fn lists_that_all_lack_a_little_are_told() {
    let mut bytes = fixture("resident-small.etl");
    let pages = places(&bytes, &[0x0223]);
    let last = &pages[pages.len() - 100..];
    last.iter().for_each(|at| bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes()));
    let file = file_of(&bytes);
    let ran = run(&["resident", file.path().to_str().expect("a path"), "--all"]);
    assert!(ran.out.contains("All lists: 1,382 pages counted, MemInfo says 1,424"), "{}", ran.out);
}
