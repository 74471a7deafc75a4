//! No circles of imports: not between the folders of a room, not between files.

use crate::{Source, program_sources};
use std::collections::{BTreeMap, BTreeSet};

/// Who imports whom, by path.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// All paths of a use tree that follows `prefix::`.
fn expand(prefix: &[String], tree: &str) -> Vec<Vec<String>> {
    if let Some(group) = tree.strip_prefix('{') {
        let (mut paths, mut depth, mut start) = (Vec::new(), 1, 0);
        for (at, c) in group.char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if (c == ',' && depth == 1) || depth == 0 {
                let part = group[start..at].trim();
                if !part.is_empty() {
                    paths.extend(expand(prefix, part));
                }
                start = at + 1;
            }
            if depth == 0 {
                break;
            }
        }
        return paths;
    }
    let name: String = tree.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut path = prefix.to_vec();
    match name.as_str() {
        "" | "self" => return vec![path],
        "super" => drop(path.pop()),
        _ => path.push(name.clone()),
    }
    match tree[name.len()..].strip_prefix("::") {
        Some(rest) => expand(&path, rest),
        None => vec![path],
    }
}

/// The path of a file's module.
fn module(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs");
    path.strip_suffix("/mod").unwrap_or(path).split('/').map(str::to_owned).collect()
}

fn imports(sources: &[Source]) -> Imports {
    let modules: BTreeMap<Vec<String>, &str> = sources.iter().map(|s| (module(&s.path), s.path.as_str())).collect();
    let mut all = Imports::new();
    for source in sources {
        let own = module(&source.path);
        let entry = all.entry(source.path.clone()).or_default();
        for (word, base) in [("crate::", &own[..0]), ("super::", &own[..own.len() - 1]), ("self::", &own[..])] {
            for (at, _) in source.program().match_indices(word) {
                // The second `super` of `super::super` is read with the first.
                if source.program()[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                    continue;
                }
                for path in expand(base, &source.program()[at + word.len()..]) {
                    let file = (1..=path.len()).rev().find_map(|length| modules.get(&path[..length]));
                    entry.extend(file.filter(|file| **file != source.path).map(|file| (*file).to_owned()));
                }
            }
        }
    }
    all
}

/// Nodes from which a way leads back to themselves, with all nodes of the circle.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<String>> {
    let reached = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(node) = open.pop() {
            for next in imports.get(&node).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> = imports.keys().map(|node| (node, reached(node))).collect();
    let back = |a: &String, b: &String| all.get(a).is_some_and(|seen| seen.contains(b));
    let circle =
        |node: &&String| imports.keys().filter(|other| back(node, other) && back(other, node)).cloned().collect();
    all.keys().filter(|node| back(node, node)).map(circle).collect()
}

#[test]
fn circles_are_found() {
    let source = |path: &str, code: &str| Source { path: path.into(), text: String::new(), code: code.into() };
    let sources = [
        source("a/mod.rs", "use crate::b::{x, c::{Y, z}};"),
        source("a/d.rs", "use super::super::b; use super::e::W;"),
        source("a/e.rs", "self::x(); crate::a::d::W"),
        source("b/mod.rs", "mod c;"),
        source("b/c.rs", "use crate::a;"),
    ];
    let imports = imports(&sources);
    let of = |path: &str| imports[path].iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(of("a/mod.rs"), "b/c.rs b/mod.rs");
    assert_eq!((of("a/d.rs").as_str(), of("a/e.rs").as_str()), ("a/e.rs b/mod.rs", "a/d.rs"));
    let found: Vec<String> =
        circles(&imports).iter().map(|c| c.iter().cloned().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(found, ["a/d.rs a/e.rs", "a/mod.rs b/c.rs"]);
}

/// What lies in one folder, at any depth: its files, and its folders with all that they hold. None of it imports what
/// imports it; only the folder's `mod.rs` may, which opens the others.
#[test]
fn folders_import_in_one_direction() {
    let all = imports(&program_sources());
    let first = |path: &str, depth: usize| path.split('/').take(depth).collect::<Vec<_>>().join("/");
    let mut folders = Imports::new();
    for depth in 2..=5 {
        let part = |path: &str| {
            Some(first(path, depth)).filter(|part| path.split('/').count() >= depth && !part.ends_with("/mod.rs"))
        };
        for (from, to) in &all {
            let Some(own) = part(from) else { continue };
            let is_beside = |other: &String| *other != own && first(other, depth - 1) == first(&own, depth - 1);
            let beside: Vec<String> = to.iter().filter_map(|to| part(to)).filter(is_beside).collect();
            folders.entry(own).or_default().extend(beside);
        }
    }
    assert!(folders.len() > 200, "folders and files were found");
    assert_eq!(circles(&folders), BTreeSet::new(), "these import each other");
}

#[test]
fn files_import_in_one_direction() {
    assert_eq!(circles(&imports(&program_sources())), BTreeSet::new(), "these import each other");
}
