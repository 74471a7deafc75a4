//! Values of fields. How dates and hexadecimal digits look is in `value_text`.

use std::sync::Arc;
use uuid::Uuid;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// None.
    Null,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Unsigned(u64),
    /// A number with its sign.
    Signed(i64),
    /// A number with a fraction, 4 bytes.
    Float(f32),
    /// The same, 8 bytes.
    Double(f64),
    /// An address, a key, a code: people read it in hexadecimal digits.
    Hex(u64),
    /// A text.
    Text(String),
    /// Bytes without a meaning that is known.
    Bytes(Vec<u8>),
    /// A GUID.
    Guid(Uuid),
    /// 100-nanosecond units since 1601-01-01 UTC.
    FileTime(u64),
    /// `SYSTEMTIME` as it is in the record: year, month, weekday, day, hour, minute, second, millisecond. True: in UTC.
    SystemTime([u8; 16], bool),
    /// Several of a kind.
    List(Vec<FieldValue>),
    /// Several by name.
    Object(Fields),
}

/// Values by name, in order.
pub type Fields = Vec<(Arc<str>, FieldValue)>;
