//! Security identifiers in process records.
//!
//! Source: `docs/formats.md` ("SID field"), after the public `SID` structure: revision, number of sub-authorities, a
//! big-endian authority of 6 bytes, then 4 bytes per sub-authority.

use super::outcome::Fault;
use crate::bytes::Cursor;
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
        if cursor.u8("SID revision")? != 1 {
            return Err(Fault::Value { field: "SID revision" });
        }
        let count = cursor.u8("SID sub-authority count")?;
        if count > MAX_SUB_AUTHORITIES {
            return Err(Fault::Value { field: "SID sub-authority count" });
        }
        let authority = cursor.take(6, "SID authority")?.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let sub_authorities = cursor.take(4 * usize::from(count), "SID sub-authorities")?;
        Ok(Some(Sid { authority, sub_authorities }))
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
