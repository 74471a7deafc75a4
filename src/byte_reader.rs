//! The one bounds-checked reader of payload bytes: record layouts, and a cursor for what follows them.
//!
//! Every read names its field, so that an error says which field did not fit. Nothing here indexes: a read past the
//! end is an error, never a panic. Strings are borrowed from the trace and decoded only when shown.

use crate::units::{FileTime, PointerSize, Ticks};
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;
use uuid::Uuid;
use zerocopy::little_endian::{I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A field that does not fit into its payload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum FieldError {
    /// The payload ends before the field does.
    #[error("{} at offset {at} needs {need} bytes, {have} are left", spaced(.field))]
    Short {
        /// Name of the field as in `docs/formats.md`.
        field: &'static str,
        /// Offset of the field in the payload, bytes.
        at: usize,
        /// Bytes that the field takes.
        need: usize,
        /// Bytes left in the payload at that offset.
        have: usize,
    },
    /// A string without its terminating NUL.
    #[error("{} at offset {at} has no terminating NUL", spaced(.field))]
    Unterminated {
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in the payload, bytes.
        at: usize,
    },
}

/// A field's name as in prose: fields of layouts are named as in the code, with underscores.
pub(crate) fn spaced(field: &str) -> String {
    field.replace('_', " ")
}

/// A cursor over one payload.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    pointer: PointerSize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, whose pointers have the size `pointer`.
    pub fn new(bytes: &'a [u8], pointer: PointerSize) -> Self {
        Cursor { bytes, at: 0, pointer }
    }

    /// Offset of the next field, bytes from the start of the payload.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// All unread bytes; the cursor does not move.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// `count` raw bytes.
    pub fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], FieldError> {
        match self.rest().get(..count) {
            Some(slice) => {
                self.at += count;
                Ok(slice)
            }
            None => Err(FieldError::Short { field, at: self.at, need: count, have: self.remaining() }),
        }
    }

    /// The fixed part of a record, or another group of fields.
    pub(crate) fn read<L: Layout<'a>>(&mut self) -> Result<L::Value, FieldError> {
        let (value, rest) = first::<L>(self.rest(), self.pointer).ok_or_else(|| self.short::<L>())?;
        self.at = self.bytes.len() - rest.len();
        Ok(value)
    }

    /// The error that names the first field of a layout that the payload does not hold in full.
    #[cold]
    fn short<L: Layout<'a>>(&self) -> FieldError {
        let have = self.remaining();
        let offsets = self.pointer.pick(L::FIELDS, L::FIELDS_P4);
        let count = offsets.iter().take_while(|(_, at)| *at <= have).count();
        let (field, at) = offsets.get(count.saturating_sub(1)).copied().unwrap_or_default();
        let end = offsets.get(count).map_or(size::<L>(self.pointer), |(_, at)| *at);
        FieldError::Short { field, at: self.at + at, need: end - at, have: have - at }
    }

    /// Skips `count` bytes.
    pub fn skip(&mut self, count: usize, field: &'static str) -> Result<(), FieldError> {
        self.take(count, field).map(|_| ())
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FieldError> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(FieldError::Short { field, at: self.at, need: N, have: self.remaining() }),
        }
    }

    /// An unsigned byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, FieldError> {
        self.array::<1>(field).map(|b| b[0])
    }

    /// A little-endian 16-bit number.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, FieldError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// A little-endian 32-bit number.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, FieldError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// A little-endian 64-bit number.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, FieldError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A little-endian signed 64-bit number.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, FieldError> {
        self.array(field).map(i64::from_le_bytes)
    }

    /// A pointer or a pointer-sized count, widened to 64 bits.
    pub fn ptr(&mut self, field: &'static str) -> Result<u64, FieldError> {
        match self.pointer {
            PointerSize::P4 => self.u32(field).map(u64::from),
            PointerSize::P8 => self.u64(field),
        }
    }

    /// A GUID as stored in traces: the first three groups little-endian.
    pub fn guid(&mut self, field: &'static str) -> Result<uuid::Uuid, FieldError> {
        self.array(field).map(uuid::Uuid::from_bytes_le)
    }

    /// A UTF-16LE string that ends with a NUL, which is read but is not part of the result.
    pub fn wide(&mut self, field: &'static str) -> Result<Wide<'a>, FieldError> {
        let rest = self.rest();
        match rest.chunks_exact(2).position(|pair| pair == [0, 0]) {
            Some(units) => {
                self.at += units * 2 + 2;
                Ok(Wide(rest.get(..units * 2).unwrap_or_default()))
            }
            None => Err(FieldError::Unterminated { field, at: self.at }),
        }
    }

    /// An 8-bit string that ends with a NUL, which is read but is not part of the result.
    pub fn narrow(&mut self, field: &'static str) -> Result<Narrow<'a>, FieldError> {
        let rest = self.rest();
        match rest.iter().position(|&b| b == 0) {
            Some(length) => {
                self.at += length + 1;
                Ok(Narrow(rest.get(..length).unwrap_or_default()))
            }
            None => Err(FieldError::Unterminated { field, at: self.at }),
        }
    }
}

/// A UTF-16LE string in the trace, at any alignment, without its NUL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Wide<'a>(pub &'a [u8]);

impl Wide<'_> {
    /// True when the string has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text; invalid UTF-16 becomes replacement characters.
    pub fn text(&self) -> String {
        let (units, _) = self.0.as_chunks::<2>();
        // Nearly all names are ASCII, and for those this is many times faster.
        let plain = units.iter().all(|&[low, high]| high == 0 && low.is_ascii());
        let bytes = plain.then(|| units.iter().map(|&[low, _]| low).collect());
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| self.to_string())
    }
}

impl fmt::Display for Wide<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let units = self.0.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        char::decode_utf16(units).try_for_each(|c| f.write_char(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

impl fmt::Debug for Wide<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// An 8-bit string in the trace, without its NUL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Narrow<'a>(pub &'a [u8]);

impl<'a> Narrow<'a> {
    /// The text; invalid UTF-8 becomes replacement characters.
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// True when the string has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Narrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Narrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// A field of a record layout, stored as in the file and read as a `T`.
pub(crate) trait LayoutField<'a, T> {
    /// The value.
    fn value(&'a self) -> T;
}

/// A pointer or a pointer-sized count in a layout: [`U64`] or [`U32`], read as a `u64`.
pub(crate) trait Pointer:
    FromBytes
    + KnownLayout
    + Immutable
    + Unaligned
    + for<'a> LayoutField<'a, u64>
    + for<'a> LayoutField<'a, Option<u64>>
    + 'static
{
    /// Padding that a C compiler puts between 4 bytes and a pointer.
    type Padding: FromBytes + KnownLayout + Immutable + Unaligned;
}

impl Pointer for U32 {
    type Padding = [u8; 0];
}

impl Pointer for U64 {
    type Padding = [u8; 4];
}

/// The value of a pointer field.
pub(crate) fn number<P: Pointer>(pointer: &P) -> u64 {
    pointer.value()
}

macro_rules! fields {
    ($($raw:ty => $value:ty: $get:expr;)+) => {
        $(impl LayoutField<'_, $value> for $raw {
            #[inline(always)]
            fn value(&self) -> $value {
                let get: fn(&$raw) -> $value = $get;
                get(self)
            }
        })+
    };
}

fields! {
    u8 => u8: |raw| *raw;
    i8 => i8: |raw| *raw;
    u8 => bool: |raw| *raw != 0;
    U16 => u16: |raw| raw.get();
    U32 => u32: |raw| raw.get();
    I32 => i32: |raw| raw.get();
    U32 => u64: |raw| u64::from(raw.get());
    U64 => u64: |raw| raw.get();
    I64 => i64: |raw| raw.get();
    I64 => Ticks: |raw| Ticks(raw.get());
    U64 => FileTime: |raw| FileTime(raw.get());
    [u8; 16] => Uuid: |raw| Uuid::from_bytes_le(*raw);
}

/// A field that only some versions of a record have.
impl<'a, T, F: LayoutField<'a, T>> LayoutField<'a, Option<T>> for F {
    #[inline(always)]
    fn value(&'a self) -> Option<T> {
        Some(self.value())
    }
}

impl<const N: usize> LayoutField<'_, [u32; N]> for [U32; N] {
    fn value(&self) -> [u32; N] {
        self.map(U32::get)
    }
}

impl<P: Pointer, const N: usize> LayoutField<'_, [u64; N]> for [P; N] {
    fn value(&self) -> [u64; N] {
        self.each_ref().map(number)
    }
}

impl<const N: usize> LayoutField<'_, [i8; N]> for [i8; N] {
    fn value(&self) -> [i8; N] {
        *self
    }
}

/// The fixed part of a record, stored as in the file (with 8-byte pointers), and the value that it is read as.
/// [`layout!`] implements it.
pub(crate) trait Layout<'a>:
    FromBytes + KnownLayout + Immutable + Unaligned + LayoutField<'a, Self::Value> + 'a
{
    /// The value that is read.
    type Value;
    /// Names and offsets of the fields.
    const FIELDS: &'static [(&'static str, usize)];
    /// Names and offsets of the fields with 4-byte pointers.
    const FIELDS_P4: &'static [(&'static str, usize)];
    /// The same layout with 4-byte pointers.
    type P4: FromBytes + KnownLayout + Immutable + Unaligned + LayoutField<'a, Self::Value> + 'a;
}

/// Size of a layout, bytes.
pub(crate) const fn size<'a, L: Layout<'a>>(pointer: PointerSize) -> usize {
    pointer.pick(size_of::<L>(), size_of::<L::P4>())
}

/// Reads a layout at the start of `bytes`; gives its value and the bytes after it. `None` when `bytes` is too short.
#[inline(always)]
pub(crate) fn first<'a, L: Layout<'a>>(bytes: &'a [u8], pointer: PointerSize) -> Option<(L::Value, &'a [u8])> {
    match pointer {
        PointerSize::P8 => L::ref_from_prefix(bytes).ok().map(|(layout, rest)| (layout.value(), rest)),
        PointerSize::P4 => L::P4::ref_from_prefix(bytes).ok().map(|(layout, rest)| (layout.value(), rest)),
    }
}

/// Reads a layout that fills `bytes` exactly; `None` when the length differs.
#[inline(always)]
pub(crate) fn exactly<'a, L: Layout<'a>>(bytes: &'a [u8], pointer: PointerSize) -> Option<L::Value> {
    match pointer {
        PointerSize::P8 => L::ref_from_bytes(bytes).ok().map(LayoutField::value),
        PointerSize::P4 => L::P4::ref_from_bytes(bytes).ok().map(LayoutField::value),
    }
}

/// Reads an array of layouts; a remainder shorter than one layout is ignored.
pub(crate) fn each<'a, L: Layout<'a>>(
    bytes: &'a [u8],
    pointer: PointerSize,
) -> impl Iterator<Item = L::Value> + use<'a, L> {
    bytes.chunks_exact(size::<L>(pointer)).filter_map(move |entry| exactly::<L>(entry, pointer))
}

/// Declares the layout of a record, or of its fixed part, and the value that it is read as:
///
/// ```text
/// layout! {
///     /// Source of the layout.
///     AllocLayout<P> = 24 / 16 bytes => VirtualRange, fn read(MEMORY) {
///         base: P, size_bytes: P, process_id: U32, flags: U32, -reserved([u8; 4])
///     } with |layout| { commit_bytes: None }
/// }
/// ```
///
/// - The macro declares a `#[repr(C)]` structure of that name. Its size is checked at compile time, with 8-byte and, if
///   the layout has a `P`, 4-byte pointers.
/// - Each field is copied into the field of the same name of the value. A field after `-` is not copied; fields of the
///   value that the layout lacks are given after `with`.
/// - `fn read` adds a decoder of that name for payloads of exactly this layout; its argument is the range of event
///   versions that are known to have it (in `event` only). Without `fn read` the layout is read by [`first`],
///   [`exactly`], [`each`] or [`Cursor::read`].
/// - `=> Value as Variant` reads the layout as a variant of an enum.
macro_rules! layout {
    (
        $(#[$doc:meta])*
        $name:ident $(<$p:ident>)? = $size8:literal $(/ $size4:literal)? bytes
        => $value:ty $(as $variant:ident)? $(, fn $read:ident($known:expr))?
        { $($(-$skipped:ident($unused:ty))? $($field:ident: $raw:ty)?),* }
        $(with |$layout:tt| { $($given:ident: $expression:expr),* $(,)? })?
    ) => {
        $(#[$doc])*
        #[derive(zerocopy::FromBytes, zerocopy::KnownLayout, zerocopy::Immutable, zerocopy::Unaligned)]
        #[repr(C)]
        #[allow(dead_code)] // fields that are not copied are still part of the layout
        pub(super) struct $name $(<$p: $crate::byte_reader::Pointer = zerocopy::little_endian::U64>)? {
            $($($skipped: $unused,)? $($field: $raw,)?)*
        }

        const _: () = assert!(size_of::<$name>() == $size8);
        $(const _: () = assert!(size_of::<$name<zerocopy::little_endian::U32>>() == $size4);)?

        impl<'a $(, $p: $crate::byte_reader::Pointer)?> $crate::byte_reader::LayoutField<'a, $value> for $name $(<$p>)? {
            #[inline(always)]
            fn value(&'a self) -> $value {
                $(let $layout = self;)?
                type Target<'a> = $value;
                Target $(::$variant)? {
                    $($($field: $crate::byte_reader::LayoutField::value(&self.$field),)?)*
                    $($($given: $expression),*)?
                }
            }
        }

        impl<'a> $crate::byte_reader::Layout<'a> for $name {
            type Value = $value;
            type P4 = $name $(<$crate::byte_reader::layout!(@p4 $p)>)?;
            const FIELDS: &'static [(&'static str, usize)] = &[
                $($((stringify!($skipped), std::mem::offset_of!($name, $skipped)),)?
                  $((stringify!($field), std::mem::offset_of!($name, $field)),)?)*
            ];
            const FIELDS_P4: &'static [(&'static str, usize)] = &[
                $($((stringify!($skipped), std::mem::offset_of!(Self::P4, $skipped)),)?
                  $((stringify!($field), std::mem::offset_of!(Self::P4, $field)),)?)*
            ];
        }

        $(
            impl<'a> $value {
                /// Decodes a record.
                ///
                /// # Errors
                /// A fault when the payload is shorter than the layout.
                #[inline]
                pub fn $read(payload: &$crate::event::Payload<'a>) -> $crate::event::Read<Self> {
                    payload.read::<$name>($known)
                }
            }
        )?
    };
    (@p4 $p:ident) => { zerocopy::little_endian::U32 };
}
pub(crate) use layout;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pointers_by_the_records_size() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(Cursor::new(&bytes, PointerSize::P8).ptr("x"), Ok(0x2_0000_0001));
        assert_eq!(Cursor::new(&bytes, PointerSize::P4).ptr("x"), Ok(1));
    }

    #[test]
    fn a_short_field_names_itself_and_reads_nothing() {
        let mut cursor = Cursor::new(&[1, 2, 3], PointerSize::P8);
        assert_eq!(cursor.u16("first"), Ok(0x0201));
        let error = FieldError::Short { field: "second", at: 2, need: 4, have: 1 };
        assert_eq!(cursor.u32("second"), Err(error));
        assert_eq!(cursor.position(), 2);
    }

    #[test]
    fn strings_end_at_their_nul_or_are_errors() {
        let bytes = [b'h', 0, b'i', 0, 0, 0, b'a', 0, b'z'];
        let mut cursor = Cursor::new(&bytes, PointerSize::P8);
        assert_eq!(cursor.wide("w").unwrap().to_string(), "hi");
        assert_eq!(cursor.narrow("a").unwrap().text(), "a");
        assert_eq!(cursor.narrow("b"), Err(FieldError::Unterminated { field: "b", at: 8 }));
    }

    #[test]
    fn wide_strings_survive_broken_surrogates() {
        assert_eq!(Wide(&[0x00, 0xd8, b'x', 0]).to_string(), "\u{fffd}x");
    }
}
