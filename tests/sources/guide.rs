//! Guides name files that are there: the table of the crate's documentation, CONTRIBUTING.md and docs/contributing-commands.md.

use crate::sources;
use std::path::Path;

/// The last line of the crate's table begins after it.
const TABLE: &str = "# Where a new thing goes";

/// Paths below `src` that stand in backticks.
fn paths(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|word| word.starts_with("src/")).collect()
}

/// True when such a file or folder is there; a word in capitals stands for any name.
fn is_there(path: &str, files: &[String]) -> bool {
    let Some(at) = path.find(|c: char| c.is_ascii_uppercase()) else {
        return Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists();
    };
    let (before, rest) = path["src/".len()..].split_at(at - "src/".len());
    let after = rest.trim_start_matches(|c: char| c.is_ascii_uppercase());
    files.iter().any(|file| {
        let name = file.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
    })
}

#[test]
fn guides_name_files_that_are_there() {
    let files: Vec<String> = sources("src").into_iter().map(|source| source.path).collect();
    let library = include_str!("../../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//! "));
    let table: Vec<&str> = library.skip_while(|line| *line != TABLE).filter(|line| line.starts_with('|')).collect();
    let commands = include_str!("../../docs/contributing-commands.md");
    let table = table.join("\n");
    for text in [&table, commands, include_str!("../../CONTRIBUTING.md")] {
        let named = paths(text);
        assert!(named.len() > 10, "{named:?}");
        for path in named {
            assert!(is_there(path, &files), "{path} is not there");
        }
    }
    for path in paths(&table) {
        assert!(
            paths(commands).contains(&path),
            "{path} stands in the table of lib.rs, and not in contributing-commands.md"
        );
    }
    for missing in ["src/event/layouts/FAMILY_x.rs", "src/forms/html/x.rs", "src/COMMAND/x.rs"] {
        assert!(!is_there(missing, &files), "{missing}");
    }
}
