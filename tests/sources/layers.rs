//! What the rooms of an answer know of each other: forms write answers and know no analysis; analyses know no form. Said by
//! imports, which a calculation in the wrong place would need.

use crate::{Source, has_word, name, program_sources};

/// What a form may import, by its path; a path that ends with `/` is a folder. The forms of one thing each (the page, rows of pages,
/// budgets, profiles, JUnit) know what they show; all others write any answer.
const FORMS: [(&str, &[&str]); 7] = [
    (
        "forms/html/",
        &[
            "analysis::report",
            "analysis::resident",
            "analysis::stacks",
            "analysis::check",
            "trace::trust::readiness",
            "event::page_identity",
            "model::category",
        ],
    ),
    ("forms/pages/", &["analysis::pages", "analysis::resident::page_dimensions", "etl", "event", "model"]),
    ("forms/budgets.rs", &["analysis::check"]),
    ("forms/firefox.rs", &["analysis::stack_profile", "analysis::stacks"]),
    ("forms/event_rows.rs", &["escape", "event::fields", "forms", "load::event_row"]),
    ("forms/junit.rs", &["analysis::check", "answer::check"]),
    ("forms/", &["analysis::table", "answer", "escape", "forms", "units"]),
];

/// All paths that a source imports from the crate, each with as many names as are written.
fn paths(source: &Source) -> Vec<String> {
    let code = source.program();
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let mut path = Vec::new();
        let mut rest = &code[at + "crate::".len()..];
        loop {
            let next = name(rest);
            rest = &rest[next.len()..];
            path.push(next);
            match rest.strip_prefix("::") {
                Some(further) if !further.starts_with('{') => rest = further,
                _ => break,
            }
        }
        paths.push(path.join("::"));
    }
    paths
}

fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn forms_know_answers_and_no_analysis() {
    let all = program_sources();
    let forms: Vec<&Source> = all.iter().filter(|source| source.room() == "forms").collect();
    assert!(forms.len() > 15);
    let any = |source: &Source| !FORMS[..6].iter().any(|(place, _)| source.path.starts_with(place));
    assert!(forms.iter().filter(|source| any(source)).count() >= 10, "most forms write any answer");
    for source in forms {
        let may = || FORMS.iter().filter(|(place, _)| source.path.starts_with(place)).flat_map(|(_, names)| *names);
        for path in paths(source) {
            assert!(may().any(|module| is_below(&path, module)), "src/{} imports crate::{path}", source.path);
        }
    }
}

/// Widths and characters of a screen are those of forms: neither an analysis nor an answer asks for them.
#[test]
fn only_forms_know_how_wide_a_screen_is() {
    for source in program_sources().iter().filter(|source| ["analysis", "answer"].contains(&source.room())) {
        for word in ["Look", "Fitted", "width()", "chars().rev()"] {
            let found = match word.ends_with(')') {
                true => source.program().contains(word),
                false => has_word(source.program(), word),
            };
            assert!(!found, "src/{} has {word}", source.path);
        }
        let drawn = |c: char| ('\u{2500}'..='\u{259f}').contains(&c);
        assert!(!source.program().contains(drawn), "src/{} draws", source.path);
    }
}

#[test]
fn paths_are_read() {
    let code = "use crate::a::b::{c, d}; crate::e::f(); use crate::g::{self};".to_owned();
    let source = Source { path: "x/y.rs".into(), text: String::new(), code };
    assert_eq!(paths(&source), ["a::b", "e::f", "g"]);
    assert!(is_below("a::b", "a") && is_below("a", "a") && !is_below("ab", "a") && !is_below("a", "a::b"));
}
