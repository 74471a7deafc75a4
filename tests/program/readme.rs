//! README shows what the program prints: blocks between `<!-- output: NAME -->` and `<!-- /output: NAME -->` are compared
//! with real outputs.

use crate::program::{commands, finish, out, pfnset};
use std::path::Path;

/// The marked outputs: name and command line.
const OUTPUTS: [(&str, &[&str]); 2] =
    [("resident", &["resident", "fixtures/resident-small.etl"]), ("refset", &["refset", "fixtures/refset-small.etl"])];

/// A line that stands for any number of lines.
const LEFT_OUT: &str = "…";

fn blocks(readme: &str) -> Vec<(&str, &str)> {
    let opened = readme.split("<!-- output: ").skip(1).map(|rest| {
        let (name, rest) = rest.split_once(" -->").expect("the marker ends");
        let (block, _) = rest.split_once(&format!("<!-- /output: {name} -->")).expect("the block ends");
        (name, block.trim().strip_prefix("```text\n").and_then(|b| b.strip_suffix("```")).expect("a block of text"))
    });
    opened.collect()
}

/// The first line of `shown` that the program does not print at that place.
fn difference<'a>(shown: &'a str, real: &'a str) -> Option<&'a str> {
    let (mut real, mut left_out) = (real.lines(), false);
    for line in shown.lines() {
        let found = match (line == LEFT_OUT, left_out) {
            (true, _) => true,
            (false, true) => real.any(|printed| printed == line),
            (false, false) => real.next() == Some(line),
        };
        if !found {
            return Some(line);
        }
        left_out = line == LEFT_OUT;
    }
    if left_out { None } else { real.next() }
}

#[test]
fn differences_are_found() {
    let real = "a\nb\nc\nd\n";
    for same in ["a\nb\nc\nd\n", "…\nb\nc\n…\n", "a\n…\nd\n"] {
        assert_eq!(difference(same, real), None);
    }
    for (other, line) in [("a\nc\nd\n", "c"), ("a\nb\nc\n", "d"), ("…\nb\nd\n", "d"), ("…\nx\n…\n", "x"), ("", "a")]
    {
        assert_eq!(difference(other, real), Some(line), "{other}");
    }
}

#[test]
fn marked_outputs_are_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    let blocks = blocks(&readme);
    let names: Vec<&str> = blocks.iter().map(|block| block.0).collect();
    assert_eq!(names, OUTPUTS.map(|output| output.0), "the marked outputs of README.md");
    for ((name, shown), (_, arguments)) in blocks.into_iter().zip(OUTPUTS) {
        let ran = finish(pfnset(arguments).current_dir(root));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
        if let Some(line) = difference(shown, &ran.out) {
            panic!(
                "README.md shows an output of `pfnset {}` that the program does not print; the first line that differs:\n\
                 {line}\nTo refresh: put the lines below between the markers \"output: {name}\" (a line \"{LEFT_OUT}\" \
                 stands for lines that are left out).\n\n{}",
                arguments.join(" "),
                ran.out
            );
        }
    }
}

/// Examples are copied into any shell: single quotes mean nothing in cmd.exe, `!` is history in bash, and `&&` is unknown to
/// Windows PowerShell.
#[test]
fn examples_work_in_every_shell() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md");
    let helps = commands().iter().map(|command| out(&["help", command])).collect::<Vec<_>>().concat();
    let pages = [readme, helps, out(&["--help"])];
    let examples = pages.iter().flat_map(|page| page.lines()).map(str::trim_start);
    let examples: Vec<&str> =
        examples.filter(|line| line.trim_start_matches("$ ").starts_with("pfnset ") && line.contains(".etl")).collect();
    assert!(examples.len() > 30, "{examples:?}");
    for example in examples {
        let example = example.split("   ").next().unwrap_or_default(); // without what it is for
        let unquoted = example.split('"').step_by(2).collect::<String>();
        assert!(!example.contains(['\'', '!', '|', '&']), "{example}");
        assert!(!unquoted.contains(['*', ';']), "quotes: {example}");
    }
}
