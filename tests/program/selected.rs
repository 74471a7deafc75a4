//! What a number is of: of the rows that conditions choose or of the whole machine, of true records or of impossible ones.

use crate::program::{out, run};
use etl_writer::{MemorySpec, Session, file_of, generate_memory};
use std::io::Cursor;

/// The first row of a timeline has the first sample, also where its time in nanoseconds is rounded down.
#[test]
fn a_timeline_begins_with_the_first_sample() {
    let rows = |step: &str| out(&["memory", "faults-x86.etl", "-q", "--timeline", step, "--format", "csv"]);
    let (all, steps) = (rows("all"), rows("1"));
    assert_eq!(all.lines().nth(1), steps.lines().nth(1), "{all}{steps}");
}

/// Conditions on processes say nothing of the machine's counters, and the other way round.
#[test]
fn the_first_screen_of_memory_shows_what_conditions_choose() {
    let spec = MemorySpec { session: Session::windows10(), ..MemorySpec::default() };
    let (made, _) = generate_memory(&spec, Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&made.into_inner());
    let shown = |more: &[&str]| {
        let path = file.path().to_str().expect("UTF-8");
        run(&[&["memory", path, "-q", "--where"], more].concat()).out
    };
    let (of_processes, of_counters) = (shown(&["process=*", "--top", "2"]), shown(&["list=Standby"]));
    for (text, has_counters) in [(&of_processes, false), (&of_counters, true)] {
        assert_eq!(text.contains("Over time"), has_counters, "{text}");
        assert_eq!(text.contains("Largest working sets"), !has_counters, "{text}");
    }
}

/// Conditions choose rows; what else stands there says that it is of all.
#[test]
fn numbers_beside_conditions_say_what_they_are_of() {
    let cpu = out(&["cpu", "cpu-compressed.etl", "-q", "--where", "process=burn*", "--timeline", "50ms"]);
    assert!(cpu.contains("\nWithout the conditions: Threads, Idle, DPC, ISR, Unknown and Ready threads\n"), "{cpu}");
    for (more, said) in [
        (&["--where", "process=*"][..], "\nWithout the conditions: "),
        (&["--from", "0.1"], "\nOf the whole trace: "),
        (&["--from", "0.1", "--where", "process=*"], "\nOf the whole trace, without the conditions: "),
    ] {
        let text = out(&[&["allocations", "alloc-x86.etl", "-q"], more].concat());
        assert!(text.contains(said), "{more:?}: {text}");
    }
    let all = out(&["allocations", "alloc-x86.etl", "-q"]);
    assert!(!all.contains("ithout the conditions") && !all.contains("Of the whole trace"), "{all}");
}

/// The unit that a user chose is that of all sizes.
#[test]
fn the_unit_of_allocations_is_that_of_all_lines() {
    for (unit, others) in [("pages", ["MiB", "KiB"]), ("kib", ["MiB", "pages"])] {
        let text = out(&["allocations", "alloc-x86.etl", "-q", "--unit", unit]);
        let lines: Vec<&str> =
            text.lines().filter(|line| line.starts_with("At start ") || line.starts_with("Peak ")).collect();
        let is_other = |line: &&str| others.iter().any(|other| line.contains(other));
        assert!(lines.len() == 2 && !lines.iter().any(is_other), "{text}");
    }
}

/// What an analysis alone sees of lost records is a loss too.
#[test]
fn lost_records_are_said_when_all_else_is_quiet() {
    let ran = run(&["resident", "refset-proved.etl", "-q", "--format", "csv"]);
    assert!(ran.code == 0 && ran.err.contains("are missing in"), "{}", ran.err);
}

/// Idle threads are no part of a sum without them, in no column.
#[test]
fn switches_of_a_total_without_idle_are_those_of_threads() {
    let text = out(&["cpu", "cpu-compressed.etl", "-q", "--top", "1000", "--columns", "cpu,switches"]);
    let number =
        |line: &str| line.split_whitespace().next_back().and_then(|last| last.replace(',', "").parse::<u64>().ok());
    let is_row = |line: &&str| line.contains(" (") && (line.contains(" ms ") || line.contains("s "));
    let rows = text.lines().skip_while(|line| !line.starts_with("───")).filter(is_row);
    let sum: u64 = rows.filter(|line| !line.starts_with("Idle ")).filter_map(number).sum();
    let total = text.lines().find(|line| line.starts_with("Total without idle")).and_then(number);
    assert_eq!(total, Some(sum), "{text}");
}

/// Switches of a processor are those to its idle thread too, under a row that said to be without idle.
#[test]
fn switches_of_processors_are_told_to_be_all() {
    let whole = out(&["cpu", "cpu-compressed.etl", "-q", "--format", "json"]);
    let whole: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
    let all = whole["total"]["switches"].as_u64().expect("a number");
    let shown = |more: &[&str]| out(&[&["cpu", "cpu-compressed.etl", "-q", "--group-by"], more].concat());
    let told = "\nSwitches count those to idle threads too; times are without them\n";
    let total = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("Total")).expect("a sum").to_owned();
        (line.starts_with("Total without idle"), line.contains(&format!(" {},{:03} ", all / 1000, all % 1000)))
    };
    let flat = shown(&["processor"]);
    assert!(total(&flat) == (false, true) && flat.contains(told), "{flat}");
    for others in [&["processor,process"][..], &["process"], &["processor", "--where", "process=burn*"]] {
        let text = shown(others);
        assert!(total(&text) == (true, false) && !text.contains(told), "{text}");
    }
}

/// States were in the order of another time than the one that is shown.
#[test]
fn states_are_in_the_order_of_the_time_that_they_show() {
    let csv = out(&["cpu", "cpu-compressed.etl", "-q", "--preset", "states", "--format", "csv"]);
    let running = |line: &str| line.rsplit(',').nth(4).and_then(|cell| cell.parse::<u64>().ok());
    let times: Vec<u64> = csv.lines().skip(1).filter_map(running).collect();
    assert!(times.len() > 40 && times.is_sorted_by(|a, b| a >= b), "{csv}");
}

/// Flags that changed nothing in a trace or a view, without a word.
#[test]
fn flags_without_an_effect_are_refused() {
    for (line, says) in [
        ("processes cpu-compressed.etl --snapshot 7", "there is no snapshot 7: the trace holds no page records"),
        ("processes cpu-compressed.etl --snapshot last", "--snapshot is for pages of page records"),
        ("processes cpu-compressed.etl --unit gib", "--unit is for pages of page records"),
        ("allocations alloc-x86.etl --preset lifetimes --unit gib", "has times: --unit has no effect"),
        ("memory faults-x86.etl --each --top 1", "--each has counters of the system: --top cuts rows of"),
        ("stacks stacks-keys.etl --group-by process --fold hal.dll", "--fold changes stacks"),
        ("stacks stacks-keys.etl --group-by process,thread --max-depth 1 --format csv", "--max-depth changes stacks"),
    ] {
        let ran = run(&line.split(' ').collect::<Vec<_>>());
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(says), "{line}: {ran:?}");
    }
    for line in [
        "processes resident-small.etl --snapshot last --unit gib",
        "memory faults-x86.etl --each",
        "stacks stacks-keys.etl --group-by process --fold hal.dll --format json",
        "stacks stacks-keys.etl --group-by process,function --fold hal.dll",
        "stacks stacks-keys.etl --group-by process --max-depth 1 --leaf hal*",
    ] {
        let ran = run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
}

/// Markdown, `--each` and tables of chosen columns had no word of it.
#[test]
fn every_form_says_above_its_tables_that_nothing_meets_the_conditions() {
    let (pages, threads) = ("No page meets the conditions of --where", "No thread meets the conditions of --where");
    let any = "Nothing meets the conditions of --where";
    for (line, says) in [
        ("resident resident-small.etl", pages),
        ("resident resident-small.etl --all", pages),
        ("resident resident-small.etl --columns pages", pages),
        ("resident resident-small.etl --group-by class --wpa", pages),
        ("cpu cpu-compressed.etl", threads),
        ("cpu cpu-compressed.etl --columns cpu", threads),
        ("cpu cpu-compressed.etl --preset waits", threads),
        ("refset refset-small.etl --columns pages", any),
        ("memory refset-proved.etl --group-by process", any),
        ("faults faults-x86.etl --columns faults", any),
        ("allocations alloc-x86.etl --columns pieces", any),
        ("stacks stacks-keys.etl --columns self", any),
        ("processes resident-small.etl", any),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let can_be_each = ["resident", "refset", "memory"].contains(&words[0]) && !words.contains(&"--all");
        let each = if can_be_each { &[&[][..], &["--each"]][..] } else { &[&[][..]] };
        for (form, each) in ["table", "markdown"].iter().flat_map(|form| each.iter().map(move |each| (form, each))) {
            let more = ["-q", "--where", "process=nonesuch.exe", "--format", form];
            let ran = run(&[&words[..], &more, each].concat());
            assert!(ran.code == 0 && ran.out.matches(says).count() == 1, "{line} {form} {each:?}: {ran:?}");
        }
    }
}
