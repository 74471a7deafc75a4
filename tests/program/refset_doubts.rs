//! What a reference set does not know: where the scenario stops, and what a page sequence proves of which a part is missing.

use crate::check::folder;
use crate::program::{fixtures, run};
use crate::trust::{fixture, places, with};
use etl_writer::payloads::pages::{self, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::{perf, pool};
use etl_writer::{Ptr::P8, Rec, Session, Trace};
use serde_json::Value;

const MARK: u16 = 0x0f22;
const PAGES: [u16; 2] = [0x0223, 0x028a];

/// The code with `--strict`, and the warnings.
fn told(bytes: &[u8]) -> (i32, Vec<String>) {
    let ran = with("refset", bytes, &["--format", "json", "--strict"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let texts = json["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    (ran.code, texts.collect())
}

#[test]
fn a_stop_mark_that_is_missing_is_told() {
    let whole = fixture("refset-proved.etl");
    let says =
        |bytes: &[u8]| told(bytes).1.into_iter().find(|text| text.starts_with("no mark says when the scenario stops"));
    assert_eq!(says(&whole), None);
    let marks = places(&whole, &[MARK]);
    let texts = |bytes: &[u8]| {
        marks.iter().map(|mark| String::from_utf8_lossy(&bytes[mark.clone()]).into_owned()).collect::<Vec<_>>()
    };
    let stop = texts(&whole).iter().position(|text| text.to_lowercase().contains("stop")).expect("a stop mark");
    // Its text is another one, and its record is of another event.
    let mut renamed = whole.clone();
    renamed[marks[stop].clone()]
        .iter_mut()
        .filter(|byte| byte.is_ascii_alphabetic())
        .skip(1)
        .for_each(|byte| *byte = b'x');
    assert!(says(&renamed).expect("told").contains("the last mark after it"), "{:?}", says(&renamed));
    let mut gone = whole.clone();
    gone[marks[stop].start + 6] = 0xee;
    assert!(says(&gone).expect("told").contains("the end of the trace"), "{:?}", says(&gone));
}

#[test]
fn a_page_sequence_of_which_a_part_is_lost_gives_no_percentage() {
    let whole = fixture("refset-proved.etl");
    let size = u32::from_le_bytes(whole[..4].try_into().unwrap()) as usize;
    let of_pages: Vec<usize> = places(&whole, &PAGES).iter().map(|place| place.start / size).collect();
    let (first, last) = (of_pages[0], *of_pages.last().unwrap());
    assert!(last > first + 2, "{first} {last}");
    let mut bytes = whole.clone();
    bytes.drain((first + 1) * size..last * size);
    let (code, warnings) = told(&bytes);
    assert!(code == 3 && !warnings.iter().any(|text| text.contains("% of the pages that match")), "{warnings:?}");
    let says = "the page sequence after the scenario is not whole";
    assert!(warnings.iter().any(|text| text.starts_with(says)), "{warnings:?}");
    let screen = with("refset", &bytes, &[]).out;
    assert!(screen.contains("a part is missing") && !screen.contains("residue "), "{screen}");
    assert!(!told(&whole).1.iter().any(|text| text.starts_with(says)));
}

/// Ranges of which a part of the records is missing, and pool whose frees are.
#[test]
fn pool_and_ranges_that_do_not_match_are_told() {
    let access = |start: u64, count: u64| pages::range(P8, 4, pages::RANGE_ACCESS, 7, 0, start, count);
    let release = |start: u64, count: u64| pages::range(P8, 4, pages::RANGE_RELEASE, 7, 0, start, count);
    let block = |hook| pool::pool(P8, hook, 1, *b"Test", 0x2000, 0xffff_a000_0000_0000);
    let of = |records: Vec<Rec>| {
        let own = Identity::private(0x10, 8, 0x10000).rec(P8, 4, pages::ACCESS).by(16, 8);
        let all = [Process::new(8, "a.exe").rec(P8, 4, process::DC_START), own].into_iter().chain(records);
        let t0 = Session::windows10().t0;
        let all = (1u64..).zip(all).map(|(number, rec)| rec.at(t0 + 1000 * number));
        told(&Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(all).finish()).1
    };
    let says = "pool and ranges, which are in no working set, are not known in full: ";
    let find = |warnings: Vec<String>| warnings.iter().find_map(|text| text.strip_prefix(says).map(str::to_owned));
    let sound = vec![access(0x500, 12), release(0x500, 12), block(pool::ALLOC), block(pool::FREE), block(pool::ALLOC)];
    assert_eq!(find(of(sound)), None);
    // Pool from before the trace is freed in each.
    assert_eq!(find(of(vec![block(pool::FREE)])), None);
    let released = find(of(vec![release(0x500, 12), access(0x900, 3), release(0x900, 8)]));
    assert_eq!(released.as_deref(), Some("17 pages of ranges were released that nothing told before"));
    let again = find(of(vec![access(0x500, 12), access(0x500, 12), block(pool::ALLOC), block(pool::ALLOC)]));
    assert_eq!(again.as_deref(), Some("2 ranges and blocks of pool were accessed again without a release"));
}

/// A trace with two scenarios gives the first one, and says so.
#[test]
fn a_second_scenario_is_told() {
    let of = |marks: &[(u64, &str)]| {
        let access = |at: u64| Identity::private(0x10 + at, 8, 0x10000).rec(P8, 4, pages::ACCESS).by(16, 8);
        let named = Process::new(8, "a.exe").rec(P8, 4, process::DC_START).at(1);
        let t0 = Session::windows10().t0;
        let all = marks.iter().map(|&(at, text)| perf::mark(P8, text).at(t0 + 1000 * at));
        let accesses = [15, 25, 35].map(|at| access(at).at(t0 + 1000 * at));
        let mut all: Vec<Rec> = [named.at(t0 + 1)].into_iter().chain(all).chain(accesses).collect();
        all.sort_by_key(|rec| rec.time);
        Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(all).finish()
    };
    let says = |bytes: &[u8]| told(bytes).1.into_iter().find(|text| text.contains("the first scenario alone"));
    let (one, two) =
        ([(10, "RefSetTraceStart"), (20, "RefSetTraceStop")], [(30, "RefSetTraceStart"), (40, "RefSetTraceStop")]);
    assert_eq!(says(&of(&one)), None);
    let both = of(&[one, two].concat());
    assert!(
        says(&both).expect("told").contains("the start mark stands again at 0.003 s; another"),
        "{:?}",
        says(&both)
    );
    let later = with("refset", &both, &["--from", "2.5ms"]);
    assert!(
        later.code == 2
            && later.err.contains("with the mark \"RefSetTraceStop\", which is the default: name its end too"),
        "{later:?}"
    );
    assert_eq!(with("refset", &both, &["--from", "2.5ms", "--to", "4.5ms"]).code, 0);
}

/// Frees of pool without any allocation: what was accessed shrank without a word, and a budget of it passed.
#[test]
fn pool_and_ranges_that_are_only_released_are_told() {
    let free = |n: u64| pool::pool(P8, pool::FREE, 1, *b"Test", 0x2000, 0xffff_a000_0000_0000 + n * 0x10_0000);
    let range = |n: u64| pages::range(P8, 4, pages::RANGE_RELEASE, 7, 0, 0x500 + n, 1);
    let file = |records: Vec<Rec>| {
        let own = Identity::private(0x10, 8, 0x10000).rec(P8, 4, pages::ACCESS).by(16, 8);
        let all = [Process::new(8, "a.exe").rec(P8, 4, process::DC_START), own].into_iter().chain(records);
        let t0 = Session::windows10().t0;
        let all = (1u64..).zip(all).map(|(number, rec)| rec.at(t0 + 1000 * number));
        Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(all).finish()
    };
    let block = pool::pool(P8, pool::ALLOC, 1, *b"Test", 0x2000, 0xffff_b000_0000_0000);
    let says = |records: Vec<Rec>, text: &str| told(&file(records)).1.iter().any(|told| told.contains(text));
    let frees = |number: u64| (0..number).map(free).collect::<Vec<_>>();
    assert!(says(frees(100), "no allocation of pool is in the trace, beside 100 frees"));
    assert!(says(frees(99), "none of 99 frees of pool has an allocation") && !says(frees(99), "no allocation of pool"));
    assert!(says((0..100).map(range).collect(), "no access of a range of pages is in the trace, beside 100 releases"));
    let whole = || frees(100).into_iter().chain([block.clone()]).collect::<Vec<_>>();
    assert!(
        !says(whole(), "allocation of pool")
            && !says(whole(), "has an allocation")
            && !says(frees(10), "has an allocation")
    );
    let judged = |records: Vec<Rec>, more: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let budgets = folder.path().join("budgets.toml");
        let text = "[[budget]]\nname = \"a\"\nanalysis = \"refset\"\nmeasure = \"accessed\"\nmax = \"1 GiB\"\n";
        std::fs::write(&budgets, format!("{text}{more}\n")).expect("written");
        let ran =
            with("check", &file(records), &["--budgets", budgets.to_str().expect("a plain name"), "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        json["traces"][0]["budgets"][0]["verdict"].as_str().expect("a verdict").to_owned()
    };
    assert_eq!([judged(whole(), ""), judged(frees(99), ""), judged(frees(100), "")], ["pass", "pass", "invalid"]);
    assert_eq!(judged(frees(100), "where = { access_reason = \"PrivatePageAccess\" }"), "pass");
    assert_eq!(judged(frees(100), "where = { access_reason = \"Pool*\" }"), "invalid");
}

/// A second stop mark in the middle halved the scenario without a word, and a stop mark alone was no mark.
#[test]
fn marks_beyond_those_of_the_window_are_told() {
    let of = |marks: &[(u64, &str)]| {
        let access = |at: u64| Identity::private(0x10 + at, 8, 0x10000).rec(P8, 4, pages::ACCESS).by(16, 8);
        let t0 = Session::windows10().t0;
        let mut all: Vec<Rec> = marks.iter().map(|&(at, text)| perf::mark(P8, text).at(t0 + 1_000_000 * at)).collect();
        all.extend([15, 25, 35].map(|at| access(at).at(t0 + 1_000_000 * at)));
        all.push(Process::new(8, "a.exe").rec(P8, 4, process::DC_START).at(t0 + 1));
        all.sort_by_key(|rec| rec.time);
        let bytes = Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(all).finish();
        let is_of_marks = |text: &String| text.contains("mark") && !text.contains("stops: the window ends");
        told(&bytes).1.into_iter().filter(is_of_marks).collect::<Vec<_>>()
    };
    let (start, stop) = ("RefSetTraceStart", "RefSetTraceStop");
    let none: [String; 0] = [];
    assert_eq!(of(&[(10, start), (40, stop)]), none);
    assert_eq!(of(&[(5, stop), (10, start), (40, stop)]), none);
    // Those of later scenarios are told as these.
    let two = of(&[(10, start), (20, stop), (30, start), (40, stop)]);
    assert!(two.len() == 1 && two[0].contains("the first scenario alone"), "{two:?}");
    let again = of(&[(10, start), (20, stop), (40, stop)]);
    let says =
        "the window ends with the first stop mark, at 2.000 s: \"RefSetTraceStop\" stands again at 4.000 s; another";
    assert!(again.len() == 1 && again[0].starts_with(says), "{again:?}");
    let thrice = of(&[(10, start), (20, stop), (30, stop), (40, stop)]);
    assert!(thrice.len() == 1 && thrice[0].contains("stands again at 3.000 s, and 1 time after it"), "{thrice:?}");
    let alone = of(&[(40, stop)]);
    let says =
        "no mark says when the scenario starts, though \"RefSetTraceStop\" at 4.000 s says when it stops: the window";
    assert!(alone.len() == 1 && alone[0] == format!("{says} is the whole trace"), "{alone:?}");
    let other = of(&[(10, "hello"), (40, stop)]);
    assert!(other.len() == 2 && other[0] == format!("{says} begins with the first mark, \"hello\""), "{other:?}");
    let of_user = of(&[(10, "render"), (40, "sent")]);
    assert!(of_user.len() == 1 && of_user[0].ends_with("working sets were not emptied there"), "{of_user:?}");
    // The working sets are emptied there, whose pages were held until then.
    let inside = of(&[(10, start), (20, start), (30, start), (40, stop)]);
    let says =
        "a start mark stands inside of the window, at 2.000 s, and 1 time after it: the working sets were emptied";
    assert!(inside.len() == 1 && inside[0].starts_with(says), "{inside:?}");
    let nothing = "the trace has no marks of a scenario: the window is the whole trace".to_owned();
    assert_eq!(of(&[(10, "render")]), [nothing]);
}

/// Budgets of what no reference set holds passed always, without a word.
#[test]
fn conditions_on_pages_of_no_working_set_are_told() {
    let trace = fixtures().join("refset-proved.etl");
    let says =
        "are in no working set, so no number of held pages has them: 2,200 of the kernel, 80 of pool and 24 of ranges";
    let told = |condition: &str| {
        run(&["refset", trace.to_str().unwrap(), "--where", condition, "--format", "json"]).out.contains(says)
    };
    for chosen in
        ["category=NonPagedPool", "category=Win32Heap;LargePage", "class=Kernel", "access_reason=PoolAllocate"]
    {
        assert!(told(chosen), "{chosen}");
    }
    for other in ["category=Win32Heap", "category=!NonPagedPool", "class=*", "access_reason=P*PageAccess", "process=*"]
    {
        assert!(!told(other), "{other}");
    }
    let budget = |condition: &str| {
        format!("[[budget]]\nname = \"a\"\nanalysis = \"refset\"\nwhere = {{ {condition} }}\nmax = \"1 GiB\"\n")
    };
    let judged = |condition: &str| {
        let folder = folder(&budget(condition));
        let ran =
            run(&["check", trace.to_str().unwrap(), "--budgets", folder.path().join("budgets.toml").to_str().unwrap()]);
        ran.out.replace("\n  ", " ").contains(says)
    };
    assert_eq!(["category = \"NonPagedPool\"", "category = \"Image\""].map(judged), [true, false]);
}

/// Two marks of the user were those of the recorder: all that was held before the first was forgotten.
#[test]
fn working_sets_are_not_emptied_at_marks_of_the_user() {
    let of = |marks: &[(u64, &str)]| {
        let page = |at: u64, kind| Identity::private(0x10 + at, 8, 0x10000 + 0x1000 * at).rec(P8, 4, kind).by(16, 8);
        let t0 = Session::windows10().t0;
        let named = Process::new(8, "a.exe").rec(P8, 4, process::DC_START).at(t0 + 1);
        let active = [11, 12].map(|at| page(at, pages::IN_MEMORY_ACTIVE).at(t0 + 1000 * at));
        let accesses = [15, 25, 35].map(|at| page(at, pages::ACCESS).at(t0 + 1000 * at));
        let marks = marks.iter().map(|&(at, text)| perf::mark(P8, text).at(t0 + 1000 * at));
        let mut all: Vec<Rec> = [named].into_iter().chain(active).chain(accesses).chain(marks).collect();
        all.sort_by_key(|rec| rec.time);
        Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(all).finish()
    };
    let found = |marks: &[(u64, &str)]| {
        let ran = with("refset", &of(marks), &["--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let held = json["held_at_stop"].as_u64().expect("pages");
        (held, ran.out.contains("working sets were not emptied there"))
    };
    assert_eq!(found(&[(10, "RefSetTraceStart"), (30, "RefSetTraceStop")]), (4, false));
    assert_eq!(found(&[(10, "RefSetTraceStart"), (20, "load-begin"), (30, "RefSetTraceStop")]), (4, false));
    assert_eq!(found(&[(20, "load-begin"), (30, "load-end")]), (4, true));
    assert_eq!(found(&[(20, "click"), (30, "click")]), (4, true));
    // A mark that empties them, whatever its text is.
    assert_eq!(found(&[(10, "load-begin"), (30, "load-end")]), (4, false));
    // The recorder's tells it itself.
    assert_eq!(found(&[(20, "RefSetTraceStart"), (30, "RefSetTraceStop")]), (1, false));
}
