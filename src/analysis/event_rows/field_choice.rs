//! Conditions on values of fields, and which fields are shown. Names are compared without case. In conditions a name with points leads
//! into structures: `Header.Size`; structures are shown whole.

use crate::error::Error;
use crate::event::fields::value::{FieldValue, Fields};
use crate::pattern::{Pattern, Patterns};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A note that something was seen; copies share it.
#[derive(Debug, Clone, Default)]
struct Seen(Arc<AtomicBool>);

impl Seen {
    fn note(&self) {
        // Most records only read it: a write would take the line of memory from the other threads.
        if !self.get() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A condition on the value of a field.
#[derive(Debug, Clone)]
pub struct FieldCondition {
    name: String,
    patterns: Patterns,
    /// Some event has a field of this name.
    seen: Seen,
}

impl FieldCondition {
    /// Reads `NAME=PATTERNS`.
    ///
    /// # Errors
    /// A usage error that shows the form.
    pub fn parse(text: &str) -> Result<FieldCondition, Error> {
        let parts = text.split_once('=').map(|(name, patterns)| (name.trim(), patterns));
        let Some((name, patterns)) = parts.filter(|(name, _)| !name.is_empty()) else {
            return Err(Error::Usage(format!("\"{text}\" is no condition; write NAME=PATTERNS, as in FileName=*.dll")));
        };
        let patterns = Patterns::new(patterns);
        if patterns.all().all(|pattern| pattern.text.is_empty()) {
            return Err(Error::Usage(format!(
                "\"{text}\" says nothing; write what {name} must match, as in {name}=*, or leave the condition out"
            )));
        }
        Ok(FieldCondition { name: name.to_owned(), patterns, seen: Seen::default() })
    }

    /// True for an event that has such a field with such a value; of a list, any element counts.
    pub(super) fn matches(&self, fields: &Fields<'_>) -> bool {
        let mut values = Vec::new();
        find(fields, &self.name, &mut |value| values.push(value.text().into_owned()));
        if values.is_empty() {
            return false;
        }
        self.seen.note();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        self.patterns.matches_any(&values)
    }

    pub(super) fn unmatched(&self) -> Vec<String> {
        let name = &self.name;
        if !self.seen.get() {
            return vec![format!("field {name}: no event that the other conditions let pass has a field of this name")];
        }
        let missed = self.patterns.all().filter(|pattern| !pattern.has_matched());
        let line =
            |pattern: &Pattern| format!("field {name}: \"{}\" matches nothing{}", pattern.text, pattern.cut_advice());
        missed.map(line).collect()
    }
}

/// Calls `visit` with the values that a name leads to. The whole name is tried before its parts: names may have points.
fn find<'f>(fields: &'f Fields<'_>, name: &str, visit: &mut dyn FnMut(&'f FieldValue<'_>)) {
    for (own, value) in fields {
        if own.eq_ignore_ascii_case(name) {
            each(value, visit);
            continue;
        }
        // Names of structures may have points too.
        let rest = name.get(own.len()..).and_then(|rest| rest.strip_prefix('.'));
        if let Some(rest) = rest.filter(|_| name.get(..own.len()).is_some_and(|first| own.eq_ignore_ascii_case(first)))
        {
            inside(value, rest, visit);
        }
    }
}

fn inside<'f>(value: &'f FieldValue<'_>, name: &str, visit: &mut dyn FnMut(&'f FieldValue<'_>)) {
    match value {
        FieldValue::Object(fields) => find(fields, name, visit),
        FieldValue::List(values) => values.iter().for_each(|value| inside(value, name, visit)),
        _ => {}
    }
}

fn each<'f>(value: &'f FieldValue<'_>, visit: &mut dyn FnMut(&'f FieldValue<'_>)) {
    match value {
        FieldValue::List(values) => values.iter().for_each(|value| each(value, visit)),
        FieldValue::Object(_) => {}
        single => visit(single),
    }
}

/// The fields that are shown.
#[derive(Debug, Clone)]
pub struct FieldChoice(Vec<(String, Seen)>);

impl FieldChoice {
    /// Reads `A,B`.
    ///
    /// # Errors
    /// A usage error for an empty name and one that occurs twice.
    pub fn parse(text: &str) -> Result<FieldChoice, Error> {
        let mut names: Vec<(String, Seen)> = Vec::new();
        for name in text.split(',').map(str::trim) {
            if name.is_empty() {
                return Err(Error::Usage(format!("\"{text}\" has an empty name; write names of fields, as in A,B")));
            }
            if names.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                return Err(Error::Usage(format!("field {name} is named twice")));
            }
            names.push((name.to_owned(), Seen::default()));
        }
        Ok(FieldChoice(names))
    }

    /// Leaves the fields of these names only, in the order of the names.
    pub(super) fn choose(&self, fields: &mut Fields<'_>) {
        let mut chosen = Fields::new();
        for (name, seen) in &self.0 {
            if let Some(at) = fields.iter().position(|(own, _)| own.eq_ignore_ascii_case(name)) {
                seen.note();
                chosen.push(fields.swap_remove(at));
            }
        }
        *fields = chosen;
    }

    pub(super) fn unmatched(&self) -> Vec<String> {
        let missed = self.0.iter().filter(|(_, seen)| !seen.get());
        let hint = |name: &str| if name.contains('.') { "; of a structure, all fields are shown" } else { "" };
        missed.map(|(name, _)| format!("no row has a field {name}{}", hint(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields<'static> {
        let inner = |size| FieldValue::Object(vec![("Size", FieldValue::Unsigned(size))]);
        vec![
            ("Name", FieldValue::Text("a.dll".into())),
            ("Key", FieldValue::Hex(0x1f)),
            ("Parts", FieldValue::List(vec![inner(1), inner(22)])),
            ("a.b", FieldValue::Flag(true)),
            ("c.d", inner(3)),
        ]
    }

    #[test]
    fn values_are_compared_as_rows_show_them() {
        for (text, passes) in [
            ("name=*.DLL", true),
            ("Name=*.exe", false),
            ("name=!*.exe", true),
            ("key=0x1f", true),
            ("Parts.size=22", true),
            ("Parts.size=2", false),
            ("a.b=true", true),
            ("C.d.Size=3", true),
            ("c.Size=3", false),
            ("other=*", false),
            ("other=!x", false),
        ] {
            assert_eq!(FieldCondition::parse(text).unwrap().matches(&fields()), passes, "{text}");
        }
        for wrong in ["name", "=x", "name=", "name=;"] {
            assert!(FieldCondition::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_matches_nothing_is_said() {
        let told = |text: &str| {
            let condition = FieldCondition::parse(text).unwrap();
            condition.matches(&fields());
            condition.unmatched().join("|")
        };
        assert_eq!(told("Key=0x1f"), "");
        assert_eq!(told("Key=7;8"), "field Key: \"7\" matches nothing|field Key: \"8\" matches nothing");
        assert!(told("Keys=7").contains("has a field of this name"));
        let choice = FieldChoice::parse("key, Nothing,name").unwrap();
        let mut some = fields();
        choice.choose(&mut some);
        assert_eq!(some.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["Key", "Name"]);
        assert_eq!(choice.unmatched(), ["no row has a field Nothing"]);
        let inside = FieldChoice::parse("Parts.Size").unwrap();
        assert_eq!(inside.unmatched(), ["no row has a field Parts.Size; of a structure, all fields are shown"]);
        assert!(FieldChoice::parse("a,A").is_err() && FieldChoice::parse("a,,b").is_err());
    }
}
