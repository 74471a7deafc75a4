//! JSON: one object for an answer, or one for each record. Hidden characters are written as `\u`, so that a terminal shows
//! them and a reader gets them back.

use crate::analysis::table::{Field, Forms, Value};
use crate::answer::{Answer, Fact, Facts, Records, Rows};
use crate::escape::is_hidden;
use crate::forms::cells::{plain, written};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use std::io::{self, Write};

/// Writes the object of an answer, indented. What is made while it is written is never in memory as a whole.
///
/// # Errors
/// What the writer says.
pub fn object(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&Whole(answer), Visible(PrettyFormatter::new()), out)?;
    writeln!(out)
}

/// The same on one line.
///
/// # Errors
/// What the writer says.
pub fn line(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&Whole(answer), Visible(CompactFormatter), out)?;
    writeln!(out)
}

/// Writes any value on one line.
///
/// # Errors
/// What the writer says.
pub fn compact(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    write(value, Visible(CompactFormatter), out)
}

/// Writes one object for each record on a line of its own.
///
/// # Errors
/// What the writer says.
pub fn lines(out: &mut dyn Write, rows: &[Rows<'_>]) -> io::Result<()> {
    const FORMS: &[Forms] = &[Forms::All, Forms::Json, Forms::Alone];
    let write = |fields: &[Field], record: &[Value]| {
        compact(&Record { fields, record, forms: FORMS }, out)?;
        writeln!(out)
    };
    let mut write = write;
    rows.iter().try_for_each(|rows| rows.records.each(|record| write(&rows.records.fields, record)))
}

fn write(value: &impl Serialize, formatter: impl Formatter, out: &mut dyn Write) -> io::Result<()> {
    Ok(value.serialize(&mut serde_json::Serializer::with_formatter(out, formatter))?)
}

/// The whole object.
struct Whole<'r, 'a>(&'r Answer<'a>);

impl Serialize for Whole<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let answer = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", answer.schema.0)?;
        map.serialize_entry("version", &answer.schema.1)?;
        members(&mut map, &answer.facts, answer)?;
        members(&mut map, &Facts::default().files(&answer.files), answer)?;
        map.end()
    }
}

fn members<M: SerializeMap>(map: &mut M, facts: &Facts<'_>, answer: &Answer<'_>) -> Result<(), M::Error> {
    facts.0.iter().try_for_each(|(name, fact)| map.serialize_entry(name.as_ref(), &Of { fact, answer }))
}

/// A value of the object, which may be in another part of the answer.
struct Of<'r, 'f, 'a> {
    fact: &'r Fact<'f>,
    answer: &'r Answer<'a>,
}

impl Serialize for Of<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let answer = self.answer;
        match self.fact {
            Fact::Trace => answer.files.first().map(|path| path.display().to_string()).serialize(serializer),
            Fact::Warnings => answer.warnings.texts().serialize(serializer),
            Fact::Is(value) => value.serialize(serializer),
            Fact::Value(value) => Cell(value).serialize(serializer),
            Fact::Rows(number) => match answer.tables.get(*number) {
                Some(rows) => records(&rows.records, serializer),
                None => Err(S::Error::custom("a table that the answer does not have")),
            },
            Fact::Records(all) => records(all, serializer),
            Fact::Object(facts) => {
                let mut map = serializer.serialize_map(Some(facts.0.len()))?;
                members(&mut map, facts, answer)?;
                map.end()
            }
            Fact::Lazy(make) => Of { fact: &make(), answer }.serialize(serializer),
            Fact::List(values) => {
                let mut list = serializer.serialize_seq(None)?;
                for fact in values() {
                    list.serialize_element(&Of { fact: &fact, answer })?;
                }
                list.end()
            }
        }
    }
}

fn records<S: Serializer>(records: &Records<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    let fields = &records.fields;
    records.each(|record| list.serialize_element(&Record { fields, record, forms: &[Forms::All, Forms::Json] }))?;
    list.end()
}

/// A record as an object.
struct Record<'a> {
    fields: &'a [Field],
    record: &'a [Value],
    forms: &'a [Forms],
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (field, value) in written(self.fields, self.record, self.forms) {
            if *value != Value::Absent {
                map.serialize_entry(field.name, &Cell(value))?;
            }
        }
        map.end()
    }
}

/// A value as JSON.
struct Cell<'a>(&'a Value);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Nothing | Value::Absent | Value::Unknown | Value::Course(_) => serializer.serialize_none(),
            Value::Numbers(numbers) => numbers.serialize(serializer),
            Value::Object(values) => {
                serializer.collect_map(values.iter().map(|(name, value)| (name.as_ref(), Cell(value))))
            }
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::List(texts) => texts.serialize(serializer),
            Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
                serializer.serialize_u64(*number)
            }
            Value::Count(number) | Value::Difference(number) | Value::Size(number) => serializer.serialize_i64(*number),
            Value::SizeDifference(number) | Value::DurationDifference(number) => serializer.serialize_i64(*number),
            Value::Share(number) | Value::Points(number) | Value::Change(number) | Value::Decimal(number) => {
                serializer.serialize_f64(*number)
            }
            Value::Seconds(time) | Value::ExactSeconds(time) => serializer.serialize_f64(time.seconds()),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Hex(_) | Value::More(..) => serializer.serialize_str(&plain(self.0)),
        }
    }
}

/// A formatter that writes hidden characters of strings as `\u`.
struct Visible<F>(F);

/// Passes calls on to the formatter inside.
macro_rules! same {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $type)*) -> io::Result<()> {
            self.0.$name(out $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for Visible<F> {
    same! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    /// Of a string without what JSON itself escapes.
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, hidden)) = rest.char_indices().find(|&(_, c)| is_hidden(c)) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            hidden.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
            rest = from.get(hidden.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_are_written_as_numbers_and_read_back() {
        let value = json!({ "a\u{9b}": "x\u{7f}\u{202e}y\u{e0041}\"\n", "b": [1, 2.5, null, true, "é"] });
        for pretty_form in [true, false] {
            let mut out = Vec::new();
            if pretty_form {
                write(&value, Visible(PrettyFormatter::new()), &mut out).unwrap()
            } else {
                compact(&value, &mut out).unwrap()
            }
            let text = String::from_utf8(out).unwrap();
            assert!(
                text.contains(r#"x\u007f\u202ey\udb40\udc41\"\n"#) && text.contains(r"a\u009b") && text.contains('é')
            );
            assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
            assert_eq!(text.contains('\n'), pretty_form);
        }
    }

    #[test]
    fn an_object_names_all_files_and_takes_rows_from_the_tables() {
        let nested = Value::Object(vec![("a".into(), Value::Hex(16)), ("b".into(), Value::Nothing)]);
        let fields = [Field::new("n"), Field::only("csv", Forms::Csv), Field::new("t"), Field::new("o")];
        let record = move || vec![Value::Count(1), Value::Count(2), Value::Absent, nested.clone()];
        let rows = Rows::new(Records::streamed(fields, move || [record()]), || unreachable!("no table is written"));
        let facts =
            Facts::of_trace().has("rows", Fact::Rows(0)).has("list", Fact::list(|| (0..2).map(|n| Fact::Is(json!(n)))));
        let facts = facts.has("records", Fact::records(["x"], || (0..2).map(|n| vec![Value::Count(n)])));
        let answer = Answer { facts, tables: vec![rows], ..Answer::new("s") }.of_files(["a", "b"]);
        let mut out = Vec::new();
        line(&answer, &mut out).unwrap();
        let expected = r#"{"schema":"s","version":1,"trace":"a","warnings":[],"rows":[{"n":1,"o":{"a":"0x10","b":null}}],"list":[0,1],"records":[{"x":0},{"x":1}],"traces":["a","b"]}"#;
        assert_eq!(String::from_utf8(out).unwrap().trim_end(), expected);
    }
}
