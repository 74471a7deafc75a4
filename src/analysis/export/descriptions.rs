//! What tables and columns mean, for the metadata of files: as `docs/export.md` says it, so that both always say the same.

use crate::analysis::export::schema::Table;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// The sections of the page by the table in their heading.
static SECTIONS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let page = include_str!("../../../docs/export.md");
    page.split("\n### ").filter_map(|section| section.strip_prefix('`')?.split_once("`\n")).collect()
});

/// The key of a table's description.
pub const TABLE_KEY: &str = "pfnset.description";

/// The key of a column's description.
pub fn column_key(column: &str) -> String {
    format!("pfnset.column.{column}")
}

/// The descriptions of a table and its columns, by key of the metadata.
pub fn described(table: Table) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = table
        .columns()
        .iter()
        .filter_map(|column| Some((column_key(column.name), of_column(table, column.name)?)))
        .collect();
    all.extend(section(table).and_then(first_sentence).map(|text| (TABLE_KEY.to_owned(), text)));
    all
}

/// What the page says of a table, after its heading.
fn section(table: Table) -> Option<&'static str> {
    SECTIONS.get(table.name()).copied()
}

/// The first sentence of the first line that is not empty, without its point.
fn first_sentence(section: &str) -> Option<String> {
    let line = section.lines().find(|line| !line.is_empty())?;
    let sentence = line.split_once(". ").map_or(line, |(sentence, _)| sentence);
    Some(plain(sentence.trim_end_matches(['.', ':'])))
}

/// The meaning of a column and its unit. Where the page says "As in `pages`", what it says there.
fn of_column(table: Table, column: &str) -> Option<String> {
    let start = format!("| `{column}` |");
    let line = section(table)?.lines().find(|line| line.starts_with(&start))?;
    let [_, _, unit, meaning, _] = line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>()[..] else {
        return None;
    };
    let other =
        meaning.strip_prefix("As in `").and_then(|rest| rest.split('`').next()).and_then(|name| name.parse().ok());
    if let Some(text) = other.filter(|other| *other != table).and_then(|other| of_column(other, column)) {
        return Some(text);
    }
    let meaning = plain(meaning);
    Some(if unit.is_empty() { meaning } else { format!("{meaning} ({unit})") })
}

/// A text without links and marks of code.
fn plain(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(label, target)| Some((label, target.split_once(')')?.1)));
        let Some((label, after)) = link else { break };
        plain.push_str(before);
        plain.push_str(label);
        rest = after;
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_every_column_is_described() {
        for table in Table::ALL {
            let all = described(table);
            for key in table.columns().iter().map(|column| column_key(column.name)).chain([TABLE_KEY.to_owned()]) {
                let text = all.get(&key).unwrap_or_else(|| panic!("{} {key}", table.name()));
                assert!(text.len() > 3 && !text.contains(['`', '[']), "{key}: {text}");
                assert!(!text.starts_with("As in"), "{} {key}: {text}", table.name());
            }
        }
        assert_eq!(described(Table::Ranges)["pfnset.column.is_last"], "True for the last whole snapshot of the trace");
        assert_eq!(
            described(Table::Files)["pfnset.column.keys"],
            "File keys that had the name at some time in the trace"
        );
        assert_eq!(described(Table::Cpu)["pfnset.column.cpu_s"], "On the processors, without interrupts (seconds)");
    }
}
