//! Security identifiers in process records.
//!
//! Source: `docs/formats.md` ("SID field"), after the public `SID` structure: revision, number of sub-authorities, a
//! big-endian authority of 6 bytes, then 4 bytes per sub-authority.

use super::outcome::Fault;
use crate::byte_reader::Cursor;
use crate::units::PointerSize;
use std::fmt;

/// Sub-authorities a SID can have (`SID_MAX_SUB_AUTHORITIES`).
const MAX_SUB_AUTHORITIES: u8 = 15;

/// A security identifier; `Display` gives the usual text, `S-1-5-18`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sid<'a> {
    authority: u64,
    sub_authorities: &'a [u8],
}

/// The two forms of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SidForm {
    /// 4 zero bytes, no SID.
    Absent,
    /// A `TOKEN_USER` of two pointers (a stale kernel pointer and garbage), then the SID.
    BehindTokenUser,
}

impl<'a> Sid<'a> {
    /// Reads a SID field of the given form.
    pub(crate) fn read(cursor: &mut Cursor<'a>, pointer: PointerSize, form: SidForm) -> Result<Option<Sid<'a>>, Fault> {
        if form == SidForm::Absent {
            return match cursor.u32("user SID")? {
                0 => Ok(None),
                _ => Err(Fault::Value { field: "user SID" }),
            };
        }
        cursor.skip(2 * pointer.bytes(), "token user")?;
        Sid::next(cursor).map(Some)
    }

    /// Reads a SID: revision 1, the number of sub-authorities, authority, sub-authorities.
    pub(crate) fn next(cursor: &mut Cursor<'a>) -> Result<Sid<'a>, Fault> {
        if cursor.u8("SID revision")? != 1 {
            return Err(Fault::Value { field: "SID revision" });
        }
        let count = cursor.u8("SID sub-authority count")?;
        if count > MAX_SUB_AUTHORITIES {
            return Err(Fault::Value { field: "SID sub-authority count" });
        }
        let authority = cursor.take(6, "SID authority")?.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let sub_authorities = cursor.take(4 * usize::from(count), "SID sub-authorities")?;
        Ok(Sid { authority, sub_authorities })
    }

    /// The authority, 48 bits.
    pub const fn authority(&self) -> u64 {
        self.authority
    }

    /// The sub-authorities as they are in the record, 4 bytes each.
    pub const fn sub_authority_bytes(&self) -> &'a [u8] {
        self.sub_authorities
    }

    /// The sub-authorities in order, the last one being the relative id.
    pub fn sub_authorities(&self) -> impl Iterator<Item = u32> + 'a {
        self.sub_authorities.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b))
    }
}

impl fmt::Display for Sid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S-1-{}", self.authority)?;
        self.sub_authorities().try_for_each(|sub| write!(f, "-{sub}"))
    }
}

impl fmt::Debug for Sid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bytes, P4, P8};
    use super::*;

    fn read(bytes: &Bytes, pointer: PointerSize, form: SidForm) -> Result<Option<Sid<'_>>, Fault> {
        Sid::read(&mut Cursor::new(&bytes.0, pointer), pointer, form)
    }

    #[test]
    fn authority_is_big_endian_and_sub_authorities_little() {
        let sid = |at: usize| {
            let bytes = Bytes::new(at + 8 + 8).u32(0, 0xdead).u8(at, 1).u8(at + 1, 2).u8(at + 7, 5);
            bytes.u32(at + 8, 32).u32(at + 12, 544)
        };
        for (pointer, at) in [(P8, 16), (P4, 8)] {
            let bytes = sid(at);
            let sid = read(&bytes, pointer, SidForm::BehindTokenUser).unwrap().unwrap();
            assert_eq!(sid.to_string(), "S-1-5-32-544");
        }
        let wide = sid(16).u8(18, 1);
        let text = read(&wide, P8, SidForm::BehindTokenUser).unwrap().unwrap().to_string();
        assert_eq!(text, format!("S-1-{}-32-544", (1u64 << 40) + 5));
    }

    #[test]
    fn what_is_no_sid_is_a_fault() {
        let bytes = Bytes::new(16 + 8 + 64).u8(16, 1).u8(17, 15);
        assert!(read(&bytes, P8, SidForm::BehindTokenUser).is_ok());
        let value = |field| Err(Fault::Value { field });
        assert_eq!(read(&bytes.clone().u8(16, 2), P8, SidForm::BehindTokenUser), value("SID revision"));
        assert_eq!(read(&bytes.clone().u8(17, 16), P8, SidForm::BehindTokenUser), value("SID sub-authority count"));
        let short = Fault::Short { field: "SID sub-authorities", at: 24 };
        assert_eq!(read(&bytes.clone().cut(5), P8, SidForm::BehindTokenUser), Err(short));
        assert_eq!(read(&Bytes::new(4), P8, SidForm::Absent), Ok(None));
        assert_eq!(read(&Bytes::new(4).u8(3, 1), P8, SidForm::Absent), value("user SID"));
    }
}
