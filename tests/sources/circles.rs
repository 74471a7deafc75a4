//! No circles of imports: not between the folders of a room, not between files, not between a file and the `mod.rs` above it.
//!
//! A path is read where it begins with `crate`, `super`, `self`, or a module that the file declares. What a `mod.rs` only passes on
//! (`pub use child::X`) is no use of the child; who imports it from there imports the child.

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

/// Modules that a file declares: `mod name;`.
fn children(code: &str) -> Vec<&str> {
    let declared = code.lines().filter_map(|line| line.strip_suffix(';')?.split_once("mod "));
    declared.filter(|(before, _)| before.is_empty() || before.starts_with("pub")).map(|(_, name)| name).collect()
}

/// The module of a place in a file: that of the file, or one in braces. A formatted module ends where a brace stands below its
/// first letter.
fn module_at(own: &[String], code: &str, at: usize) -> Vec<String> {
    let mut path = own.to_vec();
    for (begin, _) in code[..at].match_indices("mod ") {
        let line = code[..begin].rfind('\n').map_or(0, |newline| newline + 1);
        let indent = code[line..].len() - code[line..].trim_start_matches(' ').len();
        let Some((name, _)) = code[begin + "mod ".len()..].split_once(" {") else { continue };
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let end = code[begin..].find(&format!("\n{}}}", " ".repeat(indent))).map_or(code.len(), |end| begin + end);
        if is_name && at < end {
            path.push(name.to_owned());
        }
    }
    path
}

/// Places in a text that begin a path with this word, where the word is not a part of another path.
fn starts<'c>(code: &'c str, word: &'c str) -> impl Iterator<Item = usize> + 'c {
    let is_part = |c: char| c.is_alphanumeric() || ['_', ':', '$'].contains(&c);
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| code[at + word.len()..].starts_with("::") && !code[..*at].ends_with(is_part))
}

/// What a file passes on: the path of a name that others find in its module.
type PassedOn = BTreeMap<Vec<String>, Vec<String>>;

/// The text of a file, and what its parts mean.
struct File<'s> {
    path: &'s str,
    module: Vec<String>,
    code: &'s str,
}

impl<'s> File<'s> {
    fn new(source: &'s Source) -> File<'s> {
        File { path: &source.path, module: module(&source.path), code: source.program() }
    }

    /// All paths, each with the place where it begins.
    fn paths(&self) -> Vec<(usize, Vec<String>)> {
        let mut words = vec!["crate", "super", "self"];
        words.extend(children(self.code));
        let mut paths = Vec::new();
        for word in words {
            for at in starts(self.code, word) {
                let mut base = module_at(&self.module, self.code, at);
                match word {
                    "crate" => base.clear(),
                    "super" => drop(base.pop()),
                    "self" => {}
                    child => base.push(child.to_owned()),
                }
                let tree = &self.code[at + word.len() + "::".len()..];
                paths.extend(expand(&base, tree).into_iter().map(|path| (at, path)));
            }
        }
        paths
    }

    /// True where the path at this place is the first of a `pub use`.
    fn is_passed_on(&self, at: usize) -> bool {
        let before = self.code[..at].trim_end();
        before.strip_suffix("use").is_some_and(|before| {
            let line = before.rsplit('\n').next().unwrap_or_default().trim();
            line == "pub" || line.starts_with("pub(")
        })
    }
}

/// The file that a path leads to, through what other files pass on.
fn file_of<'s>(path: &[String], modules: &BTreeMap<Vec<String>, &'s str>, passed_on: &PassedOn) -> Option<&'s str> {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let length = (1..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
        match path.get(..=length).and_then(|name| passed_on.get(name)) {
            Some(from) => path = from.iter().chain(&path[length + 1..]).cloned().collect(),
            None => return modules.get(&path[..length]).copied(),
        }
    }
    None
}

fn imports(sources: &[Source]) -> Imports {
    let files: Vec<File<'_>> = sources.iter().map(File::new).collect();
    let modules: BTreeMap<Vec<String>, &str> = files.iter().map(|file| (file.module.clone(), file.path)).collect();
    let mut passed_on = PassedOn::new();
    for file in &files {
        for (_, path) in file.paths().into_iter().filter(|(at, _)| file.is_passed_on(*at)) {
            let name = file.module.iter().chain(path.last()).cloned().collect();
            passed_on.insert(name, path);
        }
    }
    let mut all = Imports::new();
    for file in &files {
        let used = file.paths().into_iter().filter(|(at, _)| !file.is_passed_on(*at));
        let others = used.filter_map(|(_, path)| file_of(&path, &modules, &passed_on));
        let others = others.filter(|other| *other != file.path).map(str::to_owned);
        all.entry(file.path.to_owned()).or_default().extend(others);
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
        source("a/mod.rs", "mod d;\npub mod e;\nuse crate::b::{x, c::{Y, z}};"),
        source("a/d.rs", "use super::super::b; use super::e::W;"),
        source("a/e.rs", "self::x(); crate::a::d::W"),
        source("b/mod.rs", "mod c;\nmod f;\nmod g;\npub(crate) use f::F;\n\nfn h() {\n    g::k()\n}"),
        source("b/c.rs", "use crate::a;"),
        source("b/f.rs", "mod inner {\n    use super::own;\n}\n"),
        source("b/g.rs", "use super::F;\nuse crate::b::F;"),
        source("h.rs", "use super::b::g;\n\nfn own() {\n    not_g::k(); x::g::k()\n}"),
    ];
    let imports = imports(&sources);
    let of = |path: &str| imports[path].iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(of("a/mod.rs"), "b/c.rs b/mod.rs");
    assert_eq!((of("a/d.rs").as_str(), of("a/e.rs").as_str()), ("a/e.rs b/mod.rs", "a/d.rs"));
    assert_eq!(of("b/mod.rs"), "b/g.rs", "F is passed on");
    assert_eq!((of("b/f.rs").as_str(), of("b/g.rs").as_str(), of("h.rs").as_str()), ("", "b/f.rs", "b/g.rs"));
    let found = |sources: &[Source]| -> Vec<String> {
        circles(&self::imports(sources)).iter().map(|c| c.iter().cloned().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(found(&sources), ["a/d.rs a/e.rs", "a/mod.rs b/c.rs"]);
    let of_child = [
        source("a/mod.rs", "mod b;\nuse b::x;\npub struct Shared;"),
        source("a/b.rs", "use super::Shared;\n\npub fn x() {}"),
    ];
    assert_eq!(found(&of_child), ["a/b.rs a/mod.rs"]);
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
