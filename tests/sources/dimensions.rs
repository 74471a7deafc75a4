//! A dimension is told in one place: its name stands in `src/dimensions` and nowhere else where dimensions are listed or compared.

use crate::{Source, program_sources};

/// Where names of dimensions are compared with what users and files say. Tables, JSON and exports have keys of their own.
const COMPARED: [&str; 4] = ["analysis/check/", "analysis/diff/", "trace/", "imported/pfnset_csv.rs"];

/// The key of a budget's name, the number of pages, and the noun of a number of events: no dimensions there.
const ALSO_KEYS: [&str; 3] = ["name", "pages", "event"];

/// Names of all facets, by the sources of `dimensions`.
fn names(sources: &[Source]) -> Vec<String> {
    let mut names = Vec::new();
    for source in sources.iter().filter(|source| source.room() == "dimensions") {
        let of_facts = source.program().split("Facet { name: \"").skip(1);
        let alone = source.program().lines().filter_map(|line| line.trim().split_once(": \""));
        let alone = alone.filter(|(constant, _)| constant.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        let found = of_facts.chain(alone.map(|(_, rest)| rest));
        names.extend(found.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
    }
    names
}

#[test]
fn a_dimension_is_told_in_one_place() {
    let all = program_sources();
    let names = names(&all);
    assert!(names.len() > 25 && names.iter().any(|name| name == "process_name"), "{names:?}");
    for name in &names {
        assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name} is two facets");
    }
    for source in all.iter().filter(|source| source.room() != "dimensions") {
        for block in source.program().split("\ndimensions! {").skip(1) {
            let block = block.split("\n}").next().unwrap_or_default();
            assert!(!block.contains('"'), "src/{} names dimensions itself: {block}", source.path);
        }
        let is_compared = COMPARED.iter().any(|place| source.path.starts_with(place));
        for name in names.iter().filter(|name| is_compared && !ALSO_KEYS.contains(&name.as_str())) {
            assert!(!source.program().contains(&format!("\"{name}\"")), "src/{} has \"{name}\"", source.path);
        }
    }
}
