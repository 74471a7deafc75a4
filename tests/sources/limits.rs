//! What a room does not do, and how long files and functions are. There are no exceptions.

use crate::{Source, program_sources, sources};

const MOST_LINES: usize = 500;
const MOST_LINES_OF_A_FUNCTION: usize = 60;

/// What analyses would read bytes with.
const BYTES: [&str; 12] = [
    "from_le_bytes",
    "from_be_bytes",
    "from_ne_bytes",
    ".payload",
    "Payload",
    "crate::byte_reader",
    "RawRecord",
    "EventArea<",
    ".area(",
    ".bytes[",
    "BUFFER_HEADER_BYTES",
    "zerocopy",
];

/// No source of a room has one of these words.
fn avoids(room: &str, words: &[&str]) {
    let sources: Vec<Source> = program_sources().into_iter().filter(|source| source.room() == room).collect();
    assert!(!sources.is_empty(), "src/{room}");
    for source in &sources {
        for word in words {
            assert!(!source.program().contains(word), "src/{} has {word}", source.path);
        }
    }
}

#[test]
fn analyses_touch_no_bytes() {
    avoids("analysis", &BYTES);
}

/// The library knows no command line: it names settings in words. Advice may name another command, with its flags.
#[test]
fn the_library_names_no_flags() {
    for source in program_sources().iter().filter(|source| !["cli", "main", "answer", "forms"].contains(&source.room()))
    {
        for line in source.program().lines().filter(|line| !line.contains("pfnset ")) {
            let is_flag = |at: usize| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
            let found = line.match_indices("--").any(|(at, _)| is_flag(at) && !line[..at].ends_with('-'));
            assert!(!found, "src/{}: {line}", source.path);
        }
    }
}

/// Ids of events have names beside their layouts, in `event`. (Symbol files have numbers of their own.)
#[test]
fn no_bare_hook_id_stands_above_the_events() {
    for source in
        program_sources().iter().filter(|s| !["etl", "event", "units", "byte_reader", "symbols"].contains(&s.room()))
    {
        for (at, _) in source.program().match_indices("HookId(") {
            let rest = &source.program()[at + "HookId(".len()..];
            assert!(!rest.starts_with(|c: char| c.is_ascii_digit()), "src/{}: HookId({:.6}", source.path, rest);
        }
        let words = source.program().split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| word.len() == 6 && word.starts_with("0x")) {
            let number = u16::from_str_radix(&word[2..], 16).unwrap_or(0);
            // Sizes and addresses are multiples of a page, group masks single bits.
            assert!(number.is_multiple_of(0x1000) || number.is_power_of_two(), "src/{}: {word}", source.path);
        }
    }
}

#[test]
fn files_open_with_their_job_and_stay_short() {
    for folder in ["src", "tests", "benches", "fuzz"] {
        for source in sources(folder) {
            let lines = source.text.lines().count();
            assert!(lines <= MOST_LINES, "{folder}/{} has {lines} lines", source.path);
            assert!(source.text.starts_with("//!"), "{folder}/{} does not say its job", source.path);
        }
    }
}

/// Functions of a formatted text with their lines: one ends where a brace stands below its first letter.
fn functions(code: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some((before, rest)) = line.split_once("fn ") else { continue };
        let words = ["const", "unsafe", "async"];
        let only = |part: &str| part.starts_with("pub") || part == "crate)" || words.contains(&part);
        let starts = before.split_whitespace().all(only) && (before.is_empty() || before.ends_with(' '));
        if !starts || line.trim_end().ends_with([';', '}']) {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let end = |line: &&str| line.starts_with(&format!("{}}}", " ".repeat(indent)));
        if let Some(length) = lines[number..].iter().position(end) {
            found.push((rest.split(['(', '<']).next().unwrap_or_default(), length + 1));
        }
    }
    found
}

#[test]
fn functions_are_measured() {
    let code = "impl X {\n    pub(crate) fn a(&self) -> u32 {\n        1\n    }\n\n    fn b(\n        c: u8,\n    ) {\n    }\n}\nfn d();\n";
    assert_eq!(functions(code), [("a", 3), ("b", 4)]);
}

/// Functions of analyses, reports and commands; decoding has tables that are longer.
#[test]
fn functions_stay_short() {
    let mut seen = 0;
    let to_the_right_of_the_model = |source: &Source| ["analysis", "answer", "forms", "cli"].contains(&source.room());
    for source in program_sources().into_iter().filter(to_the_right_of_the_model) {
        for (name, lines) in functions(source.program()) {
            seen += 1;
            assert!(lines <= MOST_LINES_OF_A_FUNCTION, "src/{}: {name} has {lines} lines", source.path);
        }
    }
    assert!(seen > 400, "functions were found: {seen}");
}
