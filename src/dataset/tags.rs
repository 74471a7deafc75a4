//! Tags: what the user says of the traces of a run, such as their build. Each is a column of the table `traces`.

use crate::analysis::export::arrow_schema::Layout;
use crate::analysis::export::column_batches::dictionary;
use crate::analysis::export::schema::Table;
use arrow_array::{ArrayRef, Int32Array, StringArray};
use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

/// How the names of such columns begin, so that no tag has the name of a column that the table has, or will have.
pub const PREFIX: &str = "tag_";
/// Longest key, in bytes.
const LONGEST_KEY: usize = 40;
/// Longest value, in bytes.
const LONGEST_VALUE: usize = 256;
/// Most tags of a run.
const MOST: usize = 32;

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    key: String,
    value: String,
}

impl FromStr for Tag {
    type Err = String;

    fn from_str(text: &str) -> Result<Tag, String> {
        let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, as in build=26100.1")?;
        if !is_key(key) {
            let rule = "lower-case letters, digits and _, a letter first";
            return Err(format!("a key has {rule}, at most {LONGEST_KEY}: it becomes the column {PREFIX}KEY"));
        }
        if value.is_empty() || value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
            return Err(format!("a value has 1 to {LONGEST_VALUE} bytes, and no control characters"));
        }
        Ok(Tag { key: key.to_owned(), value: value.to_owned() })
    }
}

/// True for a name that every engine takes as it is, with the prefix.
pub fn is_key(key: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    key.starts_with(|c: char| c.is_ascii_lowercase()) && key.len() <= LONGEST_KEY && key.bytes().all(is_part)
}

/// The tags of a run, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(BTreeMap<String, String>);

impl Tags {
    /// Tags of a command line.
    ///
    /// # Errors
    /// A key that is there twice, or too many.
    pub fn new(tags: &[Tag]) -> Result<Tags, String> {
        let mut all = BTreeMap::new();
        for Tag { key, value } in tags {
            if all.insert(key.clone(), value.clone()).is_some() {
                return Err(format!("tag {key} is there twice"));
            }
        }
        if all.len() > MOST {
            return Err(format!("{} tags; there can be {MOST}", all.len()));
        }
        Ok(Tags(all))
    }

    /// The columns of a table with these tags.
    pub fn layout(&self, table: Table) -> Layout {
        let keys = self.0.keys().filter(|_| table == Table::Traces);
        Layout { further: keys.map(|key| column(key)).collect(), ..Layout::of(table) }
    }

    /// The column of a tag by its place, with the same value in all rows.
    ///
    /// # Errors
    /// There is no such tag, which would be an error of this program.
    pub fn column(&self, place: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
        let value = self.0.values().nth(place).ok_or_else(|| ArrowError::SchemaError(format!("no tag {place}")))?;
        let texts = StringArray::from_iter_values([value]);
        dictionary(Int32Array::from_value(0, rows), Arc::new(texts))
    }
}

/// Name and description of a tag's column.
pub fn column(key: &str) -> (String, String) {
    (format!("{PREFIX}{key}"), format!("The {key} of the trace, as the user gave it with the export"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_keys_and_values_are_refused() {
        assert!("build=26100.1 = x".parse::<Tag>().is_ok_and(|tag| tag.value == "26100.1 = x"));
        let long = format!("{}=x", "a".repeat(LONGEST_KEY + 1));
        for bad in [
            "build", "=x", "Build=x", "1a=x", "_a=x", "a-b=x", "a b=x", "a\"=x", "../a=x", "ä=x", "a=", "a=x\ny", &long,
        ] {
            assert!(bad.parse::<Tag>().is_err(), "{bad}");
        }
        assert!(format!("a={}", "x".repeat(LONGEST_VALUE + 1)).parse::<Tag>().is_err());
        let tag = |text: &str| text.parse::<Tag>().unwrap();
        assert!(Tags::new(&[tag("a=1"), tag("a=1")]).is_err());
        let many: Vec<Tag> = (0..=MOST).map(|n| tag(&format!("a{n}=x"))).collect();
        assert!(Tags::new(&many).is_err() && Tags::new(&many[1..]).is_ok());
    }

    #[test]
    fn no_table_has_a_column_that_begins_as_tags_do() {
        let columns = || Table::ALL.into_iter().flat_map(Table::columns);
        assert!(columns().all(|column| !column.name.starts_with(PREFIX)));
    }
}
