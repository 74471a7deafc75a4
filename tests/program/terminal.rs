//! What a terminal shows: the program runs in one that `script` (util-linux) makes, of 80 columns and 24 lines.

use crate::program::{fixtures, program, skipped_on_windows};
use crate::strict::some_traces;
use std::io::Write;
use std::process::Command;

/// What a terminal of `columns` and 24 lines shows for a command line of the shell, in which `pfnset` is the program; `None`
/// where no such terminal can be made.
pub fn on_a_terminal(test: &str, columns: u16, line: &str) -> Option<String> {
    if skipped_on_windows(test, "terminals are made by `script` of Linux") {
        return None;
    }
    let shell = format!("stty rows 24 cols {columns}; pfnset() {{ {} \"$@\"; }}; {line}", program().display());
    let made = Command::new("script")
        .args(["-q", "-e", "-c", &shell, "/dev/null"])
        .env_remove("COLUMNS")
        .env("SHELL", "/bin/sh")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .current_dir(fixtures())
        .stdin(std::process::Stdio::null())
        .output();
    match made {
        Ok(output) if cfg!(target_os = "linux") => {
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            Some(text.replace("\r\n", "\n"))
        }
        _ => {
            // Not eprintln, which tests capture.
            writeln!(std::io::stderr(), "SKIPPED: {test}: no `script` of util-linux").expect("standard error");
            None
        }
    }
}

/// The rows that changed most, and how the others are seen.
#[test]
fn a_comparison_fits_the_terminal() {
    let line = "pfnset diff resident-small.etl refset-small.etl";
    let Some(shown) = on_a_terminal("a_comparison_fits_the_terminal", 80, line) else { return };
    assert!(shown.lines().count() <= ROWS, "{shown}");
    insta::assert_snapshot!("terminal_diff", shown);
    for (width, line) in [
        (100, "pfnset diff resident-small.etl refset-proved.etl"),
        // Its notes, of which each takes a line there, leave room for few rows.
        (180, "pfnset diff alloc-x86.etl stacks-keys.etl --allocations"),
        (100, "pfnset diff stacks-keys.etl refset-small.etl --of page-access"),
    ] {
        let shown = on_a_terminal("a_comparison_fits_the_terminal", width, line).expect("a terminal");
        assert!(shown.contains("Different: ") && shown.lines().count() <= ROWS, "{shown}");
    }
}

/// Where the rows are more than the terminal's lines, the sides and the verdict are told at the end again.
#[test]
fn a_long_comparison_ends_with_its_verdict() {
    let line = "pfnset diff resident-small.etl refset-small.etl --top 50";
    let Some(shown) = on_a_terminal("a_long_comparison_ends_with_its_verdict", 120, line) else { return };
    let lines: Vec<&str> = shown.lines().collect();
    let end = &lines[lines.len() - 4..];
    assert!(end[0].starts_with("LEFT   resident-small.etl: "), "{shown}");
    assert!(end[1].starts_with("RIGHT  refset-small.etl: ") && end[2].starts_with("Different: "), "{shown}");
    assert!(end[3].starts_with("! RIGHT: "), "{shown}");
}

/// A pipe into a pager has the width of the terminal; a file has its own, so that it does not depend on the window.
#[test]
fn pipes_have_the_width_of_the_terminal() {
    let test = "pipes_have_the_width_of_the_terminal";
    let width = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let Some(piped) = on_a_terminal(test, 72, "pfnset resident resident-small.etl --all | cat") else { return };
    assert!((60..=72).contains(&width(&piped)), "{piped}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.txt");
    on_a_terminal(test, 72, &format!("pfnset resident resident-small.etl --all > {}", file.display()));
    let written = std::fs::read_to_string(file).expect("the file");
    assert!((73..=120).contains(&width(&written)), "{written}");
    let told = on_a_terminal(test, 72, "COLUMNS=50; export COLUMNS; pfnset resident resident-small.etl | cat")
        .expect("as above");
    assert!(width(&told) <= 50, "{told}");
}

/// What makes numbers wrong has scrolled away: rows of pages, and tables of several traces.
#[test]
fn doubts_are_said_again_below_long_tables() {
    let test = "doubts_are_said_again_below_long_tables";
    let Some(pages) = on_a_terminal(test, 80, "pfnset pages refset-small.etl") else { return };
    let last = pages.lines().last().expect("a line");
    assert!(last.starts_with("! 1,224 PFNs between the first and the last are missing"), "{last}");
    let few = on_a_terminal(test, 80, "pfnset pages refset-small.etl --where file=nothing").expect("as above");
    assert_eq!(few.matches("1,224 PFNs").count(), 1, "{few}");
    let each = "pfnset resident --each refset-small.etl resident-small.etl";
    let shown = on_a_terminal(test, 80, each).expect("as above");
    let last = shown.lines().last().expect("a line");
    assert!(last.starts_with("! refset-small.etl: 1,224 PFNs between the first"), "{shown}");
    let short = on_a_terminal(test, 80, &format!("{each} --group-by class --top 1")).expect("as above");
    assert!(short.lines().count() < 24 && short.matches("1,224 PFNs").count() == 1, "{short}");
}

/// The heading of the first snapshot stood below the table of the last one.
#[test]
fn the_last_of_several_snapshots_is_the_one_named_below() {
    let test = "the_last_of_several_snapshots_is_the_one_named_below";
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("two.etl");
    std::fs::write(&trace, crate::one_of_each::trace(2)).expect("room for a trace");
    for more in ["", "--group-by process,category --top 30"] {
        let line = format!("pfnset resident -q {} --snapshot all {more}", trace.display());
        let Some(shown) = on_a_terminal(test, 80, &line) else { return };
        let headings = |number| format!("napshot {number} of 2");
        let [of_first, of_last] = [0, 1].map(|number| shown.matches(&headings(number)).count());
        assert!(shown.lines().count() > 24 && (of_first, of_last) == (1, 2), "{shown}");
    }
}

/// README says that the first two lines tell what a trace is good for: of eighty lines they were out of sight.
#[test]
fn the_verdict_of_a_trace_stands_at_the_end_too() {
    let test = "the_verdict_of_a_trace_stands_at_the_end_too";
    let Some(shown) = on_a_terminal(test, 80, "pfnset info refset-small.etl") else { return };
    let (begin, rest) = shown.split_once("\n\n").expect("a headline above the rest");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (verdict, last) = rest.trim_end().rsplit_once('\n').expect("lines");
    assert!(begin.starts_with("Verdict: trust it with care") && words(verdict).ends_with(&words(begin)), "{shown}");
    assert!(last.starts_with("! 1,224 PFNs"), "{shown}");
}

#[test]
fn the_program_alone_fits_the_terminal() {
    let Some(shown) = on_a_terminal("the_program_alone_fits_the_terminal", 80, "pfnset") else { return };
    assert!(shown.lines().count() < 24, "{shown}");
    insta::assert_snapshot!("terminal_alone", shown);
}

/// Rows of a terminal of 24 above its prompt.
const ROWS: usize = 23;

/// What makes totals untrue, and what the output is of, stand in the rows that a user sees, whatever is above. The reference set of a
/// lossy trace ended in a table of processes, and the first screens of `stacks` and `faults` pushed their titles out of sight.
#[test]
fn title_and_doubts_of_every_trace_are_in_sight() {
    let test = "title_and_doubts_of_every_trace_are_in_sight";
    let commands = ["resident", "refset", "cpu", "memory", "stacks", "faults", "processes"];
    let mut seen = 0;
    for trace in some_traces() {
        let one = |command| format!("pfnset {command} '{}' --strict 2>/dev/null; echo \"=== $?\"", trace.display());
        let line = commands.map(one).join("; ");
        let Some(shown) = on_a_terminal(test, 80, &line) else { return };
        let mut rest = &shown[..];
        for command in commands {
            let (text, after) = rest.split_once("=== ").expect("a code");
            let (code, after) = after.split_once('\n').expect("a line");
            rest = after;
            let lines: Vec<&str> = text.lines().collect();
            // Without a line on standard output the command could not answer.
            let Some(first) = lines.first() else { continue };
            let begin =
                if first.starts_with("! ") { lines.iter().position(|line| line.is_empty()).unwrap() + 1 } else { 0 };
            let sight = &lines[lines.len().saturating_sub(ROWS)..];
            let title: String = lines[begin].chars().take(40).collect();
            assert!(sight.iter().any(|line| line.starts_with(&title)), "{} {command}\n{text}", trace.display());
            let tells = sight.iter().any(|line| line.starts_with("! "));
            assert!(code == "0" || tells, "{} {command}\n{text}", trace.display());
            let is_one_screen = !["refset", "processes"].contains(&command);
            // Below warnings the title and their number stand again.
            let again = lines.iter().filter(|line| line.starts_with(&title)).count().saturating_sub(1);
            let told = usize::from(begin > 0 && lines[lines.len() - 1].starts_with("! "));
            let length = lines.len() - begin - again - told;
            assert!(!is_one_screen || length <= ROWS, "{} {command}\n{text}", trace.display());
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

/// Work over a second shows a bar, and nothing of it comes into what is written; what is no terminal gets none.
#[test]
fn long_work_shows_a_bar_on_the_terminal_alone() {
    let test = "long_work_shows_a_bar_on_the_terminal_alone";
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let slow = "(head -c 100000 resident-small.etl; sleep 2; tail -c +100001 resident-small.etl) | pfnset resident -";
    let (out, err) = (place("out.txt"), place("err.txt"));
    let Some(shown) = on_a_terminal(test, 80, &format!("{slow} > {}", out.display())) else { return };
    assert!(shown.contains("unpacking "), "{shown:?}");
    // It is wiped away when the work ends.
    assert!(shown.trim_end_matches(['\n', ' ']).ends_with("\r\u{1b}[2K"), "{shown:?}");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("a file");
    let table = read(&out);
    assert!(table.contains("Physical memory at 3.001 s") && !table.contains(['\u{1b}', '\r']), "{table}");
    let shown = on_a_terminal(test, 80, &format!("{slow} > {} 2> {}", out.display(), err.display())).expect("as above");
    assert_eq!((shown.as_str(), read(&err).as_str(), read(&out)), ("", "", table));
    let quiet = on_a_terminal(test, 80, &format!("{slow} -q > {}", out.display())).expect("as above");
    let short = on_a_terminal(test, 80, &format!("pfnset resident - < resident-small.etl > {}", out.display()));
    assert_eq!((quiet.as_str(), short.as_deref()), ("", Some("")), "with -q, and for short work");
}

/// Rows for programs that somebody looks at: what was said before them had scrolled away.
#[test]
fn rows_for_programs_end_with_their_warnings_on_a_terminal() {
    let test = "rows_for_programs_end_with_their_warnings_on_a_terminal";
    for line in ["pfnset pages refset-small.etl --format csv", "pfnset pages refset-small.etl --format jsonl"] {
        let Some(shown) = on_a_terminal(test, 80, line) else { return };
        let (begin, end) = shown.split_at(shown.len() - 400);
        let says = "PFNs between the first and the last";
        let told = |text: &str| text.replace("\n ", "").matches(says).count();
        assert_eq!([told(begin), told(end)], [1, 1], "{line}: {end}");
        let piped = on_a_terminal(test, 80, &format!("{line} | cat")).expect("a terminal");
        assert_eq!(told(&piped), 1, "{line}");
    }
}
