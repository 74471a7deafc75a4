//! Each crate that `Cargo.toml` names has a line in `docs/dependencies.md` that says why, and no other has one.

use std::collections::BTreeSet;

#[test]
fn each_dependency_says_what_it_is_for() {
    let manifest = include_str!("../../Cargo.toml");
    let mut is_list = false;
    let mut named = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_list = line.trim_matches(['[', ']']).ends_with("dependencies");
        } else if let Some((name, _)) = line.split_once('=').filter(|_| is_list && !line.starts_with('#')) {
            named.insert(name.trim());
        }
    }
    let rows = include_str!("../../docs/dependencies.md").lines().filter_map(|line| line.strip_prefix("| `"));
    let told: BTreeSet<&str> = rows
        .flat_map(|row| row.split(" | ").next().unwrap_or_default().split(", "))
        .map(|name| name.split(" (").next().unwrap_or_default().trim_matches('`'))
        .collect();
    assert!(named.len() > 30, "{named:?}");
    assert_eq!(named, told);
}
