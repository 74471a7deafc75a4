//! An answer in every form: no character comes through that would steer a terminal, turn a line around or hide in it.
#![allow(dead_code)]

use pfnset::answer::Answer;
use pfnset::forms::csv::Cells;
use pfnset::forms::{self, Form, Look};
use pfnset::unstable_api::is_hidden;

/// A name of a file as an attacker gives it.
pub const NAME: &str = "a\u{1b}]0;x\n\u{202e}.etl";

/// Writes an answer in every form.
pub fn written(answer: Answer<'_>) {
    let answer = answer.of_files([NAME, "b.etl"]);
    let look = Look { width: 100, color: false, rows: None };
    for form in [
        Form::Text(look),
        Form::Json,
        Form::Csv(Cells::Plain),
        Form::Csv(Cells::Safe),
        Form::JsonLines,
        Form::Markdown,
        Form::Collapsed,
        Form::Firefox,
    ] {
        let mut out = Vec::new();
        forms::write(&answer, form, &mut out).expect("room in memory");
        harmless(out);
    }
}

/// The text, which has no hidden character but the ends of lines.
pub fn harmless(out: Vec<u8>) -> String {
    let text = String::from_utf8(out).expect("UTF-8");
    if let Some(hidden) = text.chars().find(|&c| c != '\n' && is_hidden(c)) {
        panic!("{hidden:?} in {text}");
    }
    text
}
