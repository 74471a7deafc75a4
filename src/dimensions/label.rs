//! Labels: what a row is called. A label knows what it stands for, so nobody has to read its text.

use crate::dimensions::dimension_trait::Values;
use crate::model::process;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// What stands for a label that is not there, in any dimension.
pub(crate) const NO_LABEL: &str = "n/a";

/// What stands for the idle threads where rows are of many threads, in any dimension.
pub(crate) const IDLE: &str = "[idle]";

/// The process of the idle threads: no record has to name it.
pub(crate) const IDLE_PROCESS: &str = "Idle (0)";

/// What a label stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelKind {
    /// A name.
    Name,
    /// A process that has a name: so many bytes of the text are the name; its id follows there.
    Process {
        /// Bytes of the name.
        name_bytes: usize,
        /// Its id.
        id: u32,
    },
    /// One of the names that its dimension has, by its number in their list: a category, a page list.
    Listed(usize),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// There is none: of no process, of no file.
    Nothing,
    /// It is that of several: pages of files, images and sections in a dimension of processes.
    Shared,
    /// There is one, and nothing in the trace names it.
    Unknown,
    /// Both ends of a long name; the number is that of the whole one in the result.
    Cut(u32),
}

/// A label: its text for programs, with WPA's words and with paths as the trace has them, and where people read other words, those
/// too. Labels are equal and ordered by the text for programs.
#[derive(Debug, Clone)]
pub struct Label {
    text: Box<str>,
    shown: Option<Box<str>>,
    kind: LabelKind,
}

impl Label {
    const fn new(text: Box<str>, kind: LabelKind) -> Label {
        Label { text, shown: None, kind }
    }

    /// A name.
    pub fn name(text: impl Into<Box<str>>) -> Label {
        Label::new(text.into(), LabelKind::Name)
    }

    /// A process of a trace; its name is empty where no event has it.
    pub(crate) fn process(name: &str, id: u32) -> Label {
        let kind = if name.is_empty() { LabelKind::Unknown } else { LabelKind::Process { name_bytes: name.len(), id } };
        Label::new(process::label(name, id).into(), kind)
    }

    /// One of the names that its dimension has.
    pub fn listed(number: usize, name: &str) -> Label {
        Label::new(name.into(), LabelKind::Listed(number))
    }

    /// A number.
    pub fn number(number: impl Into<u64>) -> Label {
        let number = number.into();
        Label::new(number.to_string().into(), LabelKind::Number(number))
    }

    /// Yes or no.
    pub fn flag(flag: bool) -> Label {
        Label::new(flag.to_string().into(), LabelKind::Flag(flag))
    }

    /// There is none.
    pub fn nothing() -> Label {
        Label::new(NO_LABEL.into(), LabelKind::Nothing)
    }

    /// It is that of several.
    pub fn shared(text: impl Into<Box<str>>) -> Label {
        Label::new(text.into(), LabelKind::Shared)
    }

    /// Nothing in the trace names it.
    pub fn unknown(text: impl Into<Box<str>>) -> Label {
        Label::new(text.into(), LabelKind::Unknown)
    }

    /// Both ends of a long name, which has this number in the result.
    pub(crate) fn cut(text: String, number: u32) -> Label {
        Label::new(text.into(), LabelKind::Cut(number))
    }

    /// The label that a text stands for, where it is read from a file.
    pub fn of_text(text: &str, values: Values) -> Label {
        let number = || text.parse::<u64>().ok().map(Label::number);
        let read = match values {
            _ if text == NO_LABEL => Some(Label::nothing()),
            Values::Number | Values::UpTo(_) | Values::PowerOfTwo => number(),
            Values::YesNo => text.parse().ok().map(Label::flag),
            Values::OneOf(names) => names()
                .into_iter()
                .enumerate()
                .find(|(_, name)| *name == text)
                .map(|(number, name)| Label::listed(number, name)),
            Values::Text | Values::Process | Values::PoolTag | Values::OneOfOrNumber(_) => None,
        };
        read.unwrap_or_else(|| Label::name(text))
    }

    /// A name, or none.
    pub fn maybe(name: Option<&str>) -> Label {
        name.map_or_else(Label::nothing, Label::name)
    }

    /// The same label, for which people read this text.
    pub fn shown_as(mut self, text: &str) -> Label {
        self.shown = (*text != *self.text).then(|| text.into());
        self
    }

    /// The same label of a pool tag for conditions: nobody writes the blanks that fill a tag up to four characters.
    pub(crate) fn without_filling(self) -> Label {
        let without = self.text.trim_end_matches(' ').to_owned();
        self.shown_as(&without)
    }

    /// The text for programs.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text for people.
    pub fn shown(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.text)
    }

    /// The number of a name that is one of the dimension's; `None` for others.
    pub fn number_in_list(&self) -> Option<usize> {
        if let LabelKind::Listed(number) = self.kind { Some(number) } else { None }
    }

    /// The id of a process that has a name.
    pub fn process_id(&self) -> Option<u32> {
        if let LabelKind::Process { id, .. } = self.kind { Some(id) } else { None }
    }

    /// The name of a process without its id; `None` where nothing names it, and for labels of other things.
    pub fn process_name(&self) -> Option<&str> {
        let LabelKind::Process { name_bytes, .. } = self.kind else { return None };
        self.text.get(..name_bytes)
    }

    /// What it stands for.
    pub const fn kind(&self) -> LabelKind {
        self.kind
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Borrow<str> for Label {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl From<&Label> for String {
    fn from(label: &Label) -> String {
        label.text.to_string()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Label) -> bool {
        self.text == other.text
    }
}

impl Eq for Label {}

impl PartialEq<str> for Label {
    fn eq(&self, other: &str) -> bool {
        *self.text == *other
    }
}

impl PartialEq<String> for Label {
    fn eq(&self, other: &String) -> bool {
        *self.text == **other
    }
}

impl PartialEq<&str> for Label {
    fn eq(&self, other: &&str) -> bool {
        *self.text == **other
    }
}

impl PartialOrd for Label {
    fn partial_cmp(&self, other: &Label) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Label {
    fn cmp(&self, other: &Label) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for Label {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_label_is_its_text_and_knows_what_it_stands_for() {
        let none = Label::nothing().shown_as("no file");
        assert_eq!((none.as_str(), none.shown(), none.kind()), ("n/a", "no file", LabelKind::Nothing));
        assert_eq!((Label::number(7u32).kind(), Label::flag(true).as_str()), (LabelKind::Number(7), "true"));
        assert!(none == Label::nothing() && none == "n/a" && Label::name("b") > Label::unknown("a"));
        assert_eq!(Label::name("a").shown_as("a").shown(), "a");
        let named = Label::process("a (1).exe", 42);
        assert_eq!((named.as_str(), named.process_name()), ("a (1).exe (42)", Some("a (1).exe")));
        let nameless = Label::process("", 42);
        assert_eq!((nameless.as_str(), nameless.kind()), ("Unknown (42)", LabelKind::Unknown));
        assert_eq!((nameless.process_name(), Label::name("a (1)").process_name()), (None, None));
        let labels = HashSet::from([Label::name("x"), Label::shared("y")]);
        assert!(labels.contains("x") && labels.contains(&Label::name("y")));
    }
}
