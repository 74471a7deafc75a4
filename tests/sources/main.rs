//! The rooms of `src/`: who may import whom, where each dependency lives, what a room does not do, how long files and
//! functions are.
//!
//! One direction: `counter` (which needs no trace), `symbols` and `etl` ← `event` ← `load` ← `model` ← `dimensions` ← `trace` ← `anonymized` ←
//! `imported` ← `analysis` ← `answer` ← `forms` ← `dataset` ← `cli`. Reads the sources as text; comments and tests do not count.

mod circles;
mod dependencies;
mod dimensions;
mod guide;
mod layers;
mod limits;
mod manifests;
mod surface;

use std::path::{Path, PathBuf};

/// Rooms from left to right; each may import itself and those before it.
const ROOMS: [&str; 16] = [
    "counter",
    "input",
    "symbols",
    "etl",
    "event",
    "load",
    "model",
    "dimensions",
    "trace",
    "anonymized",
    "imported",
    "analysis",
    "answer",
    "forms",
    "dataset",
    "cli",
];

/// Files at the root that everyone may import.
const FOR_ALL: [&str; 10] = [
    "byte_reader",
    "chunked_list",
    "code_page",
    "error",
    "escape",
    "moment",
    "named_enum",
    "pattern",
    "random_cases",
    "units",
];

/// A source file: path below `src/` with `/`, its text, and the text without comments.
struct Source {
    path: String,
    text: String,
    code: String,
}

/// The sources below a folder of the package; none where a package was made without that folder.
fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    if root.is_dir() {
        collect(&root, &mut files);
    }
    files.sort();
    let source = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a readable source");
        let path = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let code = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
        Source { path, text, code }
    };
    files.iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

impl Source {
    /// The room, or the name of a file at the root.
    fn room(&self) -> &str {
        self.path.split('/').next().unwrap_or("").trim_end_matches(".rs")
    }

    /// The code without comments and without the module of its tests.
    fn program(&self) -> &str {
        self.code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
    }

    /// Files that are compiled for tests only: `#[cfg(test)]` before `mod name;`.
    fn test_modules(&self) -> Vec<String> {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let declared = self.code.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
            let declaration = rest.lines().next()?.trim_end();
            Some(declaration.strip_suffix(';')?.rsplit_once("mod ")?.1.to_owned())
        });
        declared.map(|name| format!("{folder}/{name}.rs")).collect()
    }

    /// What follows each `crate::`: one name, or all first names of a group in braces. The `$crate::` of a macro is that of
    /// the room where the macro is used.
    fn imports(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (at, _) in self.code.match_indices("crate::").filter(|(at, _)| !self.code[..*at].ends_with('$')) {
            let rest = &self.code[at + "crate::".len()..];
            match rest.strip_prefix('{') {
                Some(group) => names.extend(first_names(group)),
                None => names.push(name(rest)),
            }
        }
        names
    }
}

fn name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// First names of the parts of `a::b, c::{d, e}, f}`.
fn first_names(group: &str) -> Vec<String> {
    let (mut names, mut depth, mut at_start) = (Vec::new(), 1, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_start = true,
            _ if at_start && depth == 1 && !c.is_whitespace() => {
                names.push(name(&group[at..]));
                at_start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// True when `code` uses `word` as a whole word.
fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(part) && !code[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[test]
fn groups_of_imports_are_read() {
    assert_eq!(first_names("etl::index::Limits, bytes::{Cursor, x}, units}; report"), ["etl", "bytes", "units"]);
}

#[test]
fn imports_go_leftwards_only() {
    let rank = |room: &str| ROOMS.iter().position(|r| *r == room);
    let mut seen = 0;
    for source in sources("src") {
        let Some(own) = rank(source.room()) else {
            assert!(
                ["lib", "main", "unstable_api"].contains(&source.room()) || FOR_ALL.contains(&source.room()),
                "{}",
                source.path
            );
            // What everyone imports may import its like only.
            if FOR_ALL.contains(&source.room()) {
                assert!(source.imports().iter().all(|i| FOR_ALL.contains(&i.as_str())), "{}", source.path);
            }
            continue;
        };
        for import in source.imports() {
            let allowed = FOR_ALL.contains(&import.as_str()) || rank(&import).is_some_and(|other| other <= own);
            assert!(allowed, "src/{} imports crate::{import}, which lies to its right", source.path);
            seen += 1;
        }
    }
    assert!(seen > 100, "imports were found");
}

#[test]
fn each_dependency_has_its_home() {
    let homes: [(&str, &[&str]); 21] = [
        ("unsafe", &["input/map/"]),
        ("memmap2", &["input/map/"]),
        ("libc", &["input/map/"]),
        ("windows_sys", &["input/map/"]),
        ("wild", &["cli/commands/mod.rs"]),
        ("ruzstd", &["input/archive.rs"]),
        ("pdb2", &["symbols/"]),
        ("msvc_demangler", &["symbols/undecorated.rs"]),
        // The number of threads is a flag.
        (
            "rayon",
            &[
                "input/map/",
                "etl/file.rs",
                "etl/buffer_index.rs",
                "load/",
                "model/",
                "imported/",
                "analysis/",
                "dataset/compact.rs",
                "dataset/table_files.rs",
                "cli/threads.rs",
            ],
        ),
        ("clap", &["cli/", "main.rs"]),
        ("anyhow", &["cli/", "main.rs"]),
        ("encoding_rs", &["code_page.rs", "imported/wpa/text.rs"]),
        ("quick_junit", &["forms/junit.rs"]),
        ("maud", &["forms/html/"]),
        ("base64", &["forms/html/script.rs"]),
        ("indicatif", &["cli/progress.rs", "answer/numbers.rs"]),
        // Widths, styles and the calendar are a matter of forms and of numbers in sentences.
        ("unicode_width", &["forms/"]),
        ("textwrap", &["forms/"]),
        ("anstyle", &["forms/text.rs"]),
        ("anstream", &["cli/messages.rs", "cli/output.rs"]),
        ("terminal_size", &["cli/terminal.rs"]),
    ];
    let sources = sources("src");
    for (word, places) in homes {
        let users: Vec<&str> = sources.iter().filter(|s| has_word(&s.code, word)).map(|s| s.path.as_str()).collect();
        assert!(!users.is_empty(), "{word} is used");
        for user in users {
            assert!(places.iter().any(|place| user.starts_with(place)), "src/{user} uses {word}");
        }
    }
}

/// The sources of the program without files that are for tests.
fn program_sources() -> Vec<Source> {
    let mut sources = sources("src");
    let for_tests: Vec<String> = sources.iter().flat_map(Source::test_modules).collect();
    sources.retain(|source| !for_tests.contains(&source.path));
    sources
}

#[test]
fn the_library_neither_prints_nor_exits_nor_reads_the_clock() {
    let words =
        ["println!", "eprintln!", "print!", "eprint!", "dbg!", "process::exit", "SystemTime::now", "Instant::now"];
    for source in program_sources().iter().filter(|s| !["cli", "main"].contains(&s.room())) {
        for word in words {
            assert!(!source.program().contains(word), "src/{} uses {word}", source.path);
        }
    }
}
