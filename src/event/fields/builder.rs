//! Puts fields together.

use super::value::{FieldValue, Fields};
use crate::byte_reader::Narrow;
use crate::code_page::CodePage;
use crate::event::FixedText;
use crate::event::payload::PointerArray;

/// Fields of an event, in payload order.
pub struct Builder<'a> {
    /// Fields so far.
    pub list: Fields<'a>,
    /// Encoding of 8-bit texts.
    pub code_page: CodePage,
}

impl<'a> Builder<'a> {
    /// Without fields.
    pub fn new(code_page: CodePage) -> Builder<'a> {
        Builder { list: Fields::with_capacity(16), code_page }
    }

    /// Adds a value.
    pub fn add(&mut self, name: &'static str, value: FieldValue<'a>) -> &mut Builder<'a> {
        self.list.push((name, value));
        self
    }

    /// Adds a number.
    pub fn number(&mut self, name: &'static str, value: impl Into<u64>) -> &mut Builder<'a> {
        self.add(name, FieldValue::Unsigned(value.into()))
    }

    /// Adds a number with its sign.
    pub fn signed(&mut self, name: &'static str, value: impl Into<i64>) -> &mut Builder<'a> {
        self.add(name, FieldValue::Signed(value.into()))
    }

    /// Adds an address, a key, a code.
    pub fn hex(&mut self, name: &'static str, value: impl Into<u64>) -> &mut Builder<'a> {
        self.add(name, FieldValue::Hex(value.into()))
    }

    /// Adds yes or no.
    pub fn flag(&mut self, name: &'static str, value: bool) -> &mut Builder<'a> {
        self.add(name, FieldValue::Flag(value))
    }

    /// Adds a text.
    pub fn text(&mut self, name: &'static str, value: impl ToString) -> &mut Builder<'a> {
        self.add(name, FieldValue::Text(value.to_string().into()))
    }

    /// Adds an 8-bit text.
    pub fn narrow(&mut self, name: &'static str, value: Narrow<'_>) -> &mut Builder<'a> {
        let text = self.code_page.text(value);
        self.add(name, FieldValue::Text(text.into()))
    }

    /// Adds a text of a fixed size.
    pub fn fixed(&mut self, name: &'static str, value: &FixedText<'_>) -> &mut Builder<'a> {
        self.text(name, value.text)
    }

    /// Adds a list of addresses.
    pub fn addresses(&mut self, name: &'static str, value: &PointerArray<'_>) -> &mut Builder<'a> {
        self.add(name, FieldValue::List(value.iter().map(FieldValue::Hex).collect()))
    }
}
