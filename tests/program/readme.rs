//! README shows what the program prints: blocks between `<!-- output: NAME -->` and `<!-- /output: NAME -->` are compared
//! with real outputs.

use crate::program::{commands, finish, out, pfnset};
use std::collections::{BTreeMap, BTreeSet};
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

/// The texts in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The forms that a command has, by its help.
fn forms(help: &str) -> BTreeSet<String> {
    let section = help.lines().map(str::trim).skip_while(|line| !line.starts_with("--format "));
    let section = section.skip(1).take_while(|line| !line.starts_with("--") && !line.starts_with("-o"));
    let mut forms = BTreeSet::new();
    for line in section {
        if let Some((name, _)) = line.strip_prefix("- ").and_then(|line| line.split_once(':')) {
            forms.insert(name.to_owned());
        }
        let list = line.strip_prefix("[possible values: ").and_then(|list| list.strip_suffix(']'));
        forms.extend(list.into_iter().flat_map(|list| list.split(", ")).map(str::to_owned));
    }
    forms
}

/// The list of flags that are common to most commands promised some to commands that have them not.
#[test]
fn flags_are_those_of_the_commands_that_are_named() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md");
    let named = |line: &str| Some(line.strip_prefix("| `pfnset ")?.split([' ', '`']).next()?.to_owned());
    let helps: BTreeMap<String, String> =
        readme.lines().filter_map(named).map(|command| (command.clone(), out(&["help", &command]))).collect();
    assert!(helps.len() > 15, "{helps:?}");
    let (_, table) = readme.split_once("| flags | commands |\n|---|---|\n").expect("the table of flags");
    let rows = table.lines().take_while(|line| line.starts_with("| `-"));
    let rows: Vec<String> = rows.map(|row| row.replace("\\|", "\u{0}")).collect();
    assert!(rows.len() > 3, "{rows:?}");
    for row in &rows {
        let (flags, commands) = row.trim_matches(['|', ' ']).split_once(" | ").expect("two cells");
        let (without, others) = commands.split_once("; other forms: ").unwrap_or((commands, ""));
        let without: BTreeSet<&str> = quoted(without).collect();
        for (command, help) in &helps {
            for flag in quoted(flags) {
                let flag = flag.split(' ').next().expect("a name");
                let is_it = |line: &str| {
                    line.trim_start().split([' ', ',']).any(|word| word == flag) && line.trim_start().starts_with('-')
                };
                assert_eq!(help.lines().any(is_it), !without.contains(command.as_str()), "{command} {flag}");
            }
            let of_all = quoted(flags).find_map(|flag| flag.strip_prefix("--format "));
            let Some(of_all) = of_all.filter(|_| !without.contains(command.as_str())) else { continue };
            let own = others.split(", ").find(|own| quoted(own).next() == Some(command.as_str()));
            let more = own.and_then(|own| quoted(own).nth(1)).unwrap_or_default();
            let common = if own.is_some_and(|own| !own.contains(" also ")) { "" } else { of_all };
            let lists = [common, more];
            let told = lists.iter().flat_map(|list| list.split('\u{0}')).filter(|form| !form.is_empty());
            assert_eq!(forms(help), told.map(str::to_owned).collect(), "{command} --format");
        }
    }
}
