//! How much is public: items that have a page of their own in the documentation of the library. A user must be able to look
//! through it, so it does not grow unseen.

use crate::{Source, name, sources};
use std::collections::BTreeMap;

/// Public items, at most.
const MOST_ITEMS: usize = 400;

/// The public modules: the path of each, and its source.
fn public_modules(sources: &[Source]) -> BTreeMap<Vec<String>, &Source> {
    let file = |path: &[String]| {
        let joined = path.join("/");
        sources.iter().find(|s| s.path == format!("{joined}.rs") || s.path == format!("{joined}/mod.rs"))
    };
    let mut modules = BTreeMap::new();
    let mut open: Vec<(Vec<String>, &Source)> = vec![(Vec::new(), file(&["lib".to_owned()]).expect("lib.rs"))];
    while let Some((path, source)) = open.pop() {
        let lines: Vec<&str> = source.program().lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(child) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) else { continue };
            if at > 0 && lines[at - 1] == "#[doc(hidden)]" {
                continue;
            }
            let path: Vec<String> = path.iter().cloned().chain([child.to_owned()]).collect();
            let source = file(&path).unwrap_or_else(|| panic!("a file of {path:?}"));
            open.push((path, source));
        }
        modules.insert(path, source);
    }
    modules
}

/// Names of the items that a public file declares.
fn declared(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in code.lines() {
        // Macros that declare an enum begin it one level deeper.
        let rest = line.strip_prefix("pub ").or_else(|| line.strip_prefix("    pub enum ").map(|_| &line[8..]));
        let mut words = rest.unwrap_or_default().split(' ').skip_while(|word| ["unsafe", "async"].contains(word));
        let (Some(mut kind), Some(mut second)) = (words.next(), words.next()) else { continue };
        if kind == "const" && second == "fn" {
            (kind, second) = ("fn", words.next().unwrap_or_default());
        }
        if ["struct", "enum", "trait", "fn", "const", "static", "type", "union"].contains(&kind) {
            names.push(name(second));
        }
    }
    names
}

/// Names that a public file passes on from modules that are not public.
fn passed_on(own: &[String], code: &str, modules: &BTreeMap<Vec<String>, &Source>) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("\npub use ") {
        let tree = code[at + "\npub use ".len()..].split(';').next().unwrap_or_default();
        let (path, last) = tree.rsplit_once("::").map_or(("", tree), |(path, last)| (path, last));
        let (path, last) = match tree.split_once("::{") {
            Some((path, group)) => (path, group.trim_end().trim_end_matches('}')),
            None => (path, last),
        };
        let full: Vec<String> = match path.strip_prefix("crate::") {
            Some(path) => path.split("::").map(str::to_owned).collect(),
            None => own.iter().cloned().chain(path.split("::").map(str::to_owned)).collect(),
        };
        if !modules.contains_key(&full) {
            names.extend(last.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()));
        }
    }
    names
}

/// All public items with the paths by which users name them.
fn items(sources: &[Source]) -> Vec<String> {
    let modules = public_modules(sources);
    let mut items = Vec::new();
    for (path, source) in &modules {
        let names = declared(source.program()).into_iter().chain(passed_on(path, source.program(), &modules));
        items.extend(names.map(|name| format!("{}::{name}", path.join("::"))));
    }
    items.sort();
    items
}

#[test]
fn items_are_found() {
    let source = |path: &str, code: &str| Source { path: path.into(), text: String::new(), code: code.into() };
    let sources = [
        source("lib.rs", "pub mod a;\nmod b;\n#[doc(hidden)]\npub mod c;\n\npub use b::B;\npub use a::A;\n"),
        source(
            "a/mod.rs",
            "mod d;\npub mod e;\n\npub use d::{D, d};\npub use e::E;\npub struct A;\npub(crate) struct X;\n",
        ),
        source("a/d.rs", "pub struct D;\npub fn d() {}\npub fn unseen() {}\n"),
        source("a/e.rs", "pub enum E {\n}\nnamed_enum! {\n    /// F.\n    pub enum F {\n}\n}\npub const fn g() {}\n"),
        source("b.rs", "pub struct B;\n"),
        source("c.rs", "pub struct C;\n"),
    ];
    assert_eq!(items(&sources), ["::B", "a::A", "a::D", "a::d", "a::e::E", "a::e::F", "a::e::g"]);
}

#[test]
fn the_surface_does_not_grow_unseen() {
    let items = items(&sources("src"));
    assert!(items.len() > 200, "items were found: {}", items.len());
    assert!(items.len() <= MOST_ITEMS, "{} public items, at most {MOST_ITEMS}:\n{}", items.len(), items.join("\n"));
}
