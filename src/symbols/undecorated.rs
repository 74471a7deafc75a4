//! Names of public symbols as people write them: C++ without what the compiler encoded, C of 32-bit x86 without the marks of its calling
//! conventions.
//!
//! The crate `msvc-demangler` does the first. It follows a name by recursion and copies what the name refers back to, so a hostile name
//! of a few hundred bytes could overflow the stack or fill the memory. So names come to it on a thread with a large stack, are at most
//! [`super::functions::LONGEST`] bytes long, and [`super::name_cost`] says before how much they come to.

use super::functions::{Found, LONGEST, Names};
use super::name_cost::cost;
use msvc_demangler::{DemangleFlags, demangle};
use std::sync::Arc;

/// Enough for the deepest name of [`LONGEST`] bytes: without optimization 64 MiB were, and 32 were not.
const STACK_BYTES: usize = 128 << 20;

/// What undecorating a name costs at most, bytes; others are left as they are. A name of a large C++ program costs some ten thousand.
const MOST_OF_NAME: u64 = 32 << 20;

/// What undecorating all names of a database costs at most: this, and so much for each byte of them. Honest names cost some hundred for
/// each byte; a second is 500 million or more.
const MOST_OF_ALL: u64 = 256 << 20;
const MOST_OF_BYTE: u64 = 2000;

/// The names of what was found, in order of the places. Of functions with equal code that were folded: the first in byte order.
pub fn names<K: Send>(found: Vec<(K, Found)>, is_x86: bool) -> Vec<(K, Arc<str>)> {
    let mut left = MOST_OF_ALL + MOST_OF_BYTE * public_bytes(&found);
    // Places of one function follow each other.
    let mut last: Option<(Names, Arc<str>)> = None;
    let mut one = |found: Found| match found {
        Found::Procedure(name) => Some(name),
        Found::Publics(names) => {
            if let Some((_, name)) = last.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &names)) {
                return Some(Arc::clone(name));
            }
            let name: Arc<str> = names.iter().map(|name| public(name, is_x86, &mut left)).min()?.into();
            last = Some((names, Arc::clone(&name)));
            Some(name)
        }
    };
    let all =
        || -> Vec<(K, Arc<str>)> { found.into_iter().filter_map(|(key, found)| Some((key, one(found)?))).collect() };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, all);
        thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
    })
}

/// One name of a 64-bit image.
pub fn undecorated(name: &str) -> String {
    let found = names(vec![((), Found::Publics([name.into()].into()))], false);
    found.first().map(|(_, name)| name.as_ref().to_owned()).unwrap_or_default()
}

/// Bytes of the names of all public symbols.
fn public_bytes<K>(found: &[(K, Found)]) -> u64 {
    let mut last: Option<&Names> = None;
    let mut bytes = 0;
    for (_, found) in found {
        if let Found::Publics(names) = found
            && !last.is_some_and(|last| Arc::ptr_eq(last, names))
        {
            bytes += names.iter().map(|name| name.len() as u64).sum::<u64>();
            last = Some(names);
        }
    }
    bytes
}

fn public(name: &str, is_x86: bool, left: &mut u64) -> Box<str> {
    if !name.starts_with('?') {
        return if is_x86 { c_of_x86(name) } else { name }.into();
    }
    let cost = if name.len() > LONGEST { None } else { cost(name.as_bytes(), MOST_OF_NAME.min(*left)) };
    let Some(cost) = cost else { return name.into() };
    *left -= cost;
    let undecorated = demangle(name, DemangleFlags::NAME_ONLY).ok().filter(|text| !text.trim().is_empty());
    undecorated.map_or_else(|| name.into(), |text| text.trim().into())
}

/// `_name`, `_name@8` and `@name@8` are `name`.
fn c_of_x86(name: &str) -> &str {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let bare = name.get(..name.len() - digits).filter(|_| digits > 0).and_then(|rest| rest.strip_suffix('@'));
    let is_fast = bare.is_some_and(|bare| bare.starts_with('@'));
    let rest = bare.unwrap_or(name);
    let short = rest.strip_prefix(if is_fast { '@' } else { '_' }).unwrap_or(rest).trim_end_matches('@');
    if short.is_empty() { name } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, is_x86: bool) -> String {
        let found = names(vec![((), Found::Publics([name.into()].into()))], is_x86);
        found.first().map(|(_, name)| name.to_string()).unwrap_or_default()
    }

    #[test]
    fn names_are_undecorated_without_parameters() {
        for (name, plain) in [
            ("?run@Task@app@@QEAAXHH@Z", "app::Task::run"),
            ("??0Task@app@@QEAA@XZ", "app::Task::Task"),
            ("??$make@H@app@@YAXXZ", "app::make<int>"),
            ("?", "?"),
            ("??@0123456789abcdef0123456789abcdef@", "??@0123456789abcdef0123456789abcdef@"),
            ("_main", "_main"),
            ("_sum@8", "_sum@8"),
        ] {
            assert_eq!(named(name, false), plain);
        }
        for (name, plain) in
            [("_main", "main"), ("_sum@8", "sum"), ("@fast@12", "fast"), ("__SEH_prolog4", "_SEH_prolog4"), ("_", "_")]
        {
            assert_eq!(named(name, true), plain);
        }
    }

    #[test]
    fn of_folded_functions_the_first_name_counts() {
        let folded = ["?b@@YAXXZ", "?a@x@@YAXXZ", "_c"].map(Box::from).into();
        assert_eq!(names(vec![(7, Found::Publics(folded))], false), [(7, "_c".into())]);
    }

    /// Each of these would overflow the stack of a thread, or take gigabytes, without the limits.
    #[test]
    fn hostile_names_end() {
        let cut = |name: String| name.chars().take(LONGEST).collect::<String>();
        for deep in ["PEA", "P6A", "?$A@V", "$$BY0A@", "?A0x1@?$", "V?$a@", "Y0", "??", "?0?"] {
            named(&cut(format!("?f@@YAX{}", deep.repeat(3000))), true);
            named(&cut(format!("?f@{}", deep.repeat(3000))), true);
            named(&cut(format!("??{}", deep.repeat(3000))), true);
        }
        let mut name = String::from("?f@@YAXPEAH");
        for level in 0..9 {
            name += &format!("P6AX{}@Z", level.to_string().repeat(12));
        }
        assert_eq!(named(&format!("{name}@Z"), false), format!("{name}@Z"), "left as it is");
        // Templates in each other, functions as values, functions as scopes: each level has the one before twelve times.
        let level = |before: &str, again: String| format!("V?$a@{before}{again}@@");
        let templates = (0..9).fold("PEAH".to_owned(), |before, _| level(&before, "0".repeat(12)));
        let functions = |open: &str, close: &str| -> String {
            (0..9).map(|level| format!("{open}?g@@YAX{}@Z{close}", level.to_string().repeat(12))).collect()
        };
        let (values, scopes) = (functions("$1", ""), functions("Vc@?", "@"));
        for parameters in [templates, format!("PEAH{values}"), format!("PEAH{scopes}")] {
            let name = format!("?f@@YAX{parameters}@Z");
            assert_eq!(named(&name, false), name, "left as it is");
        }
        let structors = (0..300).fold("x".to_owned(), |inner, _| format!("??0{inner}@QEAA@XZ"));
        named(&cut(structors.replace("??0??0", "??0???0")), false);
        assert_eq!(named("?f@@YAXPEAHP6AX00@Z1@Z", false), "f");
    }
}
