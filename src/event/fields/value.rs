//! Values of fields. How dates and hexadecimal digits look is in `value_text`.

use std::borrow::Cow;
use uuid::Uuid;

/// A value. Texts and bytes are those of the record where they can be.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue<'a> {
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
    Text(Cow<'a, str>),
    /// Bytes without a meaning that is known.
    Bytes(&'a [u8]),
    /// A GUID.
    Guid(Uuid),
    /// 100-nanosecond units since 1601-01-01 UTC.
    FileTime(u64),
    /// `SYSTEMTIME` as it is in the record: year, month, weekday, day, hour, minute, second, millisecond. True: in UTC.
    SystemTime([u8; 16], bool),
    /// Several of a kind.
    List(Vec<FieldValue<'a>>),
    /// Several by name.
    Object(Fields<'a>),
}

/// Values by name, in order.
pub type Fields<'a> = Vec<(&'a str, FieldValue<'a>)>;
