//! The result of decoding one payload: an event, an event with an oddity, or a fault.
//!
//! The policy for payloads that do not fit their layout: a string without its end, a payload that is too short, or a count
//! that contradicts the length makes a record malformed, and nothing of it is used. A payload that is longer than its
//! layout, or of an unknown version, is counted, and used as far as its layout is known. Both kinds of finding are `Copy`
//! and `Ord`, so that a caller can count them in a map without allocating per record. `Display` gives the line of the report.

use crate::byte_reader::{FieldError, spaced};
use crate::etl::record_id::RecordId;
use crate::units::PointerSize;
use std::fmt;

/// A record that is not exactly what its version announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Finding<W> {
    /// Kind of event: hook id, or class GUID and type.
    pub id: RecordId,
    /// Event version.
    pub version: u8,
    /// Pointer size of the record.
    pub pointer: PointerSize,
    /// Length of the payload, bytes.
    pub length: usize,
    /// What is odd about it, or wrong with it.
    pub what: W,
}

/// A record that was used as far as its layout is known.
pub type Surplus = Finding<Oddity>;

/// A record that was not used.
pub type Malformed = Finding<Fault>;

/// What is odd about a payload that was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Oddity {
    /// A known version with more bytes than its layout has.
    Longer {
        /// Bytes that the layout accounts for.
        parsed: usize,
    },
    /// A version without a known layout, read by the nearest known one.
    UnknownVersion {
        /// Bytes that the layout accounts for.
        parsed: usize,
    },
    /// A heap rundown whose header length is not its version's, but the only one that fits the count.
    HeapHeader {
        /// Header length by the equation, bytes.
        header: usize,
        /// Number of ranges.
        count: u32,
    },
}

/// What is wrong with a payload that was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// The payload has another length than its layout allows.
    Length {
        /// Length by the layout, bytes.
        expected: usize,
    },
    /// The payload ends inside a field.
    Short {
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in the payload, bytes.
        at: usize,
    },
    /// A string has no NUL.
    Unterminated {
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in the payload, bytes.
        at: usize,
    },
    /// No known form of the payload ends where it ends.
    Trailing {
        /// Bytes that the last form tried accounts for.
        parsed: usize,
    },
    /// A field holds a value that the layout excludes.
    Value {
        /// Name of the field.
        field: &'static str,
    },
    /// The payload's length contradicts the number of entries that it announces.
    Count {
        /// Number of entries announced.
        count: u32,
    },
}

impl From<FieldError> for Fault {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::Short { field, at, .. } => Fault::Short { field, at },
            FieldError::Unterminated { field, at } => Fault::Unterminated { field, at },
        }
    }
}

/// What a decoder of one record family gives.
pub(crate) type Read<T> = Result<Parsed<T>, Fault>;

/// A decoded value, and what is odd about its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// What is odd; `None` for a payload that is exactly as its layout says.
    pub oddity: Option<Oddity>,
}

impl<T> Parsed<T> {
    /// A value from a payload with or without an oddity.
    pub fn new(value: T, oddity: Option<Oddity>) -> Self {
        Parsed { value, oddity }
    }

    /// Converts the value.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Parsed<U> {
        Parsed { value: make(self.value), oddity: self.oddity }
    }
}

impl fmt::Display for Surplus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}: ", self.id, self.version)?;
        match self.what {
            Oddity::Longer { parsed } => write!(f, "length {}, parsed {parsed}", self.length),
            Oddity::UnknownVersion { parsed } => write!(f, "unknown version, length {}, parsed {parsed}", self.length),
            Oddity::HeapHeader { header, count } => {
                write!(f, "length {}, count {count}: header of {header} bytes is not this version's", self.length)
            }
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}: length {}, ", self.id, self.version, self.length)?;
        match self.what {
            Fault::Length { expected } => write!(f, "expected {expected}"),
            Fault::Short { field, at } => write!(f, "ends inside {} at {at}", spaced(field)),
            Fault::Unterminated { field, at } => write!(f, "{field} at {at} has no terminating NUL"),
            Fault::Trailing { parsed } => write!(f, "parsed {parsed}"),
            Fault::Value { field } => write!(f, "impossible {field}"),
            Fault::Count { count } => write!(f, "count {count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::payload::WIN32_HEAP_RANGES;
    use super::super::testing::{P8, record, with_id};
    use super::super::{Decoded, decode};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn equal_findings_are_one_key_and_read_like_the_report() {
        let mut counts = BTreeMap::new();
        for payload in [[0; 25].as_slice(), &[0; 25], &[0; 8]] {
            let Decoded::Malformed(malformed) = decode(&record(0x0275, 2, P8, payload)) else { panic!() };
            *counts.entry(malformed).or_insert(0) += 1;
        }
        let lines: Vec<_> = counts.iter().map(|(key, count)| format!("{count} × {key}")).collect();
        assert_eq!(lines, ["1 × 0x0275 v2: length 8, expected 24", "2 × 0x0275 v2: length 25, expected 24"]);
    }

    #[test]
    fn findings_name_field_and_class() {
        let malformed = |id, version, payload: &[u8]| match decode(&with_id(id, version, P8, payload)) {
            Decoded::Malformed(malformed) => malformed.to_string(),
            other => panic!("{other:?}"),
        };
        let kernel = |hook| RecordId::Kernel(crate::etl::record_id::HookId(hook));
        assert_eq!(malformed(kernel(0x0424), 2, &[1, 2]), "0x0424 v2: length 2, ends inside file key at 0");
        assert_eq!(
            malformed(kernel(0x0424), 2, &[1; 12]),
            "0x0424 v2: length 12, file name at 8 has no terminating NUL"
        );
        let heap = RecordId::Classic { class: WIN32_HEAP_RANGES, opcode: 0x64 };
        let mut rundown = [0; 20];
        rundown[16] = 3;
        assert_eq!(malformed(heap, 2, &rundown), format!("{WIN32_HEAP_RANGES} type 100 v2: length 20, count 3"));
    }

    #[test]
    fn surplus_says_what_was_parsed() {
        let Decoded::Event { surplus: Some(surplus), .. } = decode(&record(0x0262, 2, P8, &[0; 40])) else { panic!() };
        assert_eq!(surplus.to_string(), "0x0262 v2: length 40, parsed 24");
        let Decoded::Event { surplus: Some(surplus), .. } = decode(&record(0x0262, 9, P8, &[0; 24])) else { panic!() };
        assert_eq!(surplus.to_string(), "0x0262 v9: unknown version, length 24, parsed 24");
    }
}
