//! What the JSON object of an answer holds: names and values, tables as lists of objects, and lists that are made while they
//! are written.

use crate::analysis::table::{Dimension, Field, Table, Value};
use crate::answer::rows::Records;
use crate::code_page::CodePage;
use crate::model::window::Window;
use crate::trace::trust::readiness::Need;
use crate::trace::trust::warning::Warnings;
use crate::units::Nanos;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// A value of the object.
pub enum Fact<'a> {
    /// The first file of the answer.
    Trace,
    /// The warnings of the answer.
    Warnings,
    /// A value.
    Is(serde_json::Value),
    /// A value of a table.
    Value(Value),
    /// The records of the answer's rows with this number.
    Rows(usize),
    /// Records.
    Records(Records<'a>),
    /// An object.
    Object(Facts<'a>),
    /// A value that is costly to make: made where it is written.
    Lazy(Box<dyn Fn() -> Fact<'a> + 'a>),
    /// Values that are made one after the other.
    List(Box<dyn Fn() -> Box<dyn Iterator<Item = Fact<'a>> + 'a> + 'a>),
}

fn coded(warnings: &Warnings, is_grave: bool) -> Vec<serde_json::Value> {
    let some = warnings.iter().filter(|warning| warning.is_grave == is_grave);
    some.map(|warning| json!({"code": warning.code, "text": warning.text})).collect()
}

/// An object: values with their names, in order.
#[derive(Debug, Default)]
pub struct Facts<'a>(pub Vec<(Cow<'static, str>, Fact<'a>)>);

impl<'a> Facts<'a> {
    /// The first file and the warnings.
    pub fn of_trace() -> Facts<'a> {
        Facts::default().has("trace", Fact::Trace).has("warnings", Fact::Warnings)
    }

    /// Adds a value.
    pub fn is(self, name: impl Into<Cow<'static, str>>, value: impl Serialize) -> Facts<'a> {
        self.has(name, Fact::Is(as_json(value)))
    }

    /// Adds `where`: conditions, all of which must hold.
    pub(crate) fn filter(self, conditions: &[(impl AsRef<str>, String)]) -> Facts<'a> {
        self.is("where", filter_json(conditions))
    }

    /// Adds `doubts`: of the warnings those that make numbers wrong, with their codes.
    pub(crate) fn doubts(self, warnings: &Warnings) -> Facts<'a> {
        self.is("doubts", coded(warnings, true))
    }

    /// Adds `notes`: the other warnings with their codes. Budgets against this answer are judged by them.
    pub(crate) fn notes(self, warnings: &Warnings) -> Facts<'a> {
        self.is("notes", coded(warnings, false))
    }

    /// Adds `missing_keywords`: what was not recorded of what the answer is made of.
    pub(crate) fn missing(self, missing: &[Need]) -> Facts<'a> {
        self.is("missing_keywords", missing.iter().map(|need| need.keyword).collect::<Vec<_>>())
    }

    /// Adds `code_page`: that by which names of processes were read. Names of another answer are compared by it.
    pub(crate) fn code_page(self, page: Option<CodePage>) -> Facts<'a> {
        self.is("code_page", page.map(CodePage::name))
    }

    /// Adds `window`: its ends, its length and the marks that chose it.
    pub(crate) fn window(self, (start, stop): (Nanos, Nanos), ticks: u64, window: &Window) -> Facts<'a> {
        let window = json!({
            "start_s": start.seconds(),
            "stop_s": stop.seconds(),
            "ticks": ticks,
            "start_mark": window.from_mark,
            "stop_mark": window.to_mark,
        });
        self.is("window", window)
    }

    /// Adds `group_by`: the names of dimensions.
    pub(crate) fn group_by<D: Dimension>(self, dimensions: &[D]) -> Facts<'a> {
        self.is("group_by", D::names(dimensions))
    }

    /// Values of a table with their fields.
    pub(crate) fn of_values(values: impl IntoIterator<Item = (impl Into<Field>, Value)>) -> Facts<'a> {
        values.into_iter().fold(Facts::default(), |all, (field, value)| all.value(field, value))
    }

    /// Numbers with their names.
    pub(crate) fn of_numbers(numbers: &[(&'static str, u64)]) -> Facts<'a> {
        numbers.iter().fold(Facts::default(), |all, (name, number)| all.is(*name, number))
    }

    /// Adds a value of a table.
    pub fn value(self, field: impl Into<Field>, value: Value) -> Facts<'a> {
        self.has(field.into().name, Fact::Value(value))
    }

    /// Adds a value of any kind.
    pub fn has(mut self, name: impl Into<Cow<'static, str>>, fact: Fact<'a>) -> Facts<'a> {
        self.0.push((name.into(), fact));
        self
    }

    /// Adds the values of a JSON object.
    pub fn all(mut self, object: serde_json::Value) -> Facts<'a> {
        if let serde_json::Value::Object(object) = object {
            self.0.extend(object.into_iter().map(|(name, value)| (name.into(), Fact::Is(value))));
        }
        self
    }

    /// Adds `traces`, all files of a recording in several files.
    pub fn files(self, files: &[PathBuf]) -> Facts<'a> {
        if files.len() < 2 {
            return self;
        }
        self.is("traces", files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
    }
}

impl<'a> Fact<'a> {
    /// A value that is made where it is written.
    pub fn lazy(make: impl Fn() -> Fact<'a> + 'a) -> Fact<'a> {
        Fact::Lazy(Box::new(make))
    }

    /// The records of a table that is made where it is written.
    pub fn table(make: impl Fn() -> Table + 'a) -> Fact<'a> {
        Fact::lazy(move || Fact::Records(Records::of(make())))
    }

    /// A list of values.
    pub fn list<I: IntoIterator<Item = Fact<'a>> + 'a>(values: impl Fn() -> I + 'a) -> Fact<'a>
    where
        I::IntoIter: 'a,
    {
        Fact::List(Box::new(move || Box::new(values().into_iter())))
    }

    /// Records, one after the other.
    pub fn records<I: IntoIterator<Item = Vec<Value>> + 'a>(
        fields: impl IntoIterator<Item = impl Into<Field>>,
        source: impl Fn() -> I + 'a,
    ) -> Fact<'a>
    where
        I::IntoIter: 'a,
    {
        Fact::Records(Records::streamed(fields, source))
    }
}

/// Conditions as a list of dimensions and patterns.
pub(crate) fn filter_json(conditions: &[(impl AsRef<str>, String)]) -> serde_json::Value {
    let condition = |(name, patterns): &_| json!({"dimension": AsRef::<str>::as_ref(name), "patterns": patterns});
    conditions.iter().map(condition).collect()
}

/// A value as JSON. Serializing our own types cannot fail; if it did, the value would be the error's text.
fn as_json(value: impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_else(|error| serde_json::Value::String(error.to_string()))
}

impl fmt::Debug for Fact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Trace => f.write_str("Trace"),
            Fact::Warnings => f.write_str("Warnings"),
            Fact::Is(value) => value.fmt(f),
            Fact::Value(value) => value.fmt(f),
            Fact::Rows(number) => write!(f, "Rows({number})"),
            Fact::Records(records) => records.fmt(f),
            Fact::Object(facts) => facts.fmt(f),
            Fact::List(_) | Fact::Lazy(_) => f.write_str(".."),
        }
    }
}
