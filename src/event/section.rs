//! Pagefile-backed sections, sessions, and images that cannot be paged from their file.
//!
//! Sources: `docs/formats.md` ("Memory"), after the Windows MOF. Not checked on a recorded trace.

use super::outcome::{Parsed, Read};
use super::payload::{MEMORY, Payload};

/// Which record a pagefile section's range came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionPhase {
    /// `0x0248`: it exists (rundown).
    Rundown,
    /// `0x0249`: it was made.
    Create,
    /// `0x024f`: it was deleted.
    Delete,
}

/// `0x0248`, `0x0249`, `0x024f`: a pagefile-backed section, 20/12 bytes.
///
/// The range is expected to be that of the section's prototype PTEs (8 bytes per page), to be joined with page
/// identities of use PageFileMapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagefileSection {
    /// Start of the range.
    pub start: u64,
    /// End of the range, exclusive.
    pub end: u64,
    /// Process that made it.
    pub process_id: u32,
}

impl PagefileSection {
    /// Decodes the 20 or 12 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<PagefileSection> {
        let oddity = payload.fixed(payload.pointer.pick(20, 12), MEMORY)?;
        let mut c = payload.cursor();
        let value = PagefileSection {
            start: c.ptr("range base")?,
            end: c.ptr("range end")?,
            process_id: c.u32("creating process id")?,
        };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0287` (made), `0x0288` (deleted): a section object of a pagefile section, 16/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionObject {
    /// Address of the object.
    pub object: u64,
    /// Start of the section's range, as in [`PagefileSection::start`].
    pub start: u64,
}

impl SectionObject {
    /// Decodes the 16 or 8 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<SectionObject> {
        let oddity = payload.fixed(payload.pointer.pick(16, 8), MEMORY)?;
        let mut c = payload.cursor();
        Ok(Parsed::new(SectionObject { object: c.ptr("section object")?, start: c.ptr("range base")? }, oddity))
    }
}

/// `0x024b` (made), `0x024e` (deleted), `0x024d`, `0x024c` (rundowns): a session, 12/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Key of the session, as in page identities of use SessionPrivate.
    pub key: u64,
    /// Session id.
    pub session_id: u32,
}

impl Session {
    /// Decodes the 12 or 8 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<Session> {
        let oddity = payload.fixed(payload.pointer.pick(12, 8), MEMORY)?;
        let mut c = payload.cursor();
        Ok(Parsed::new(Session { key: c.ptr("session key")?, session_id: c.u32("session id")? }, oddity))
    }
}

/// `0x0269`: an image is backed by the pagefile instead of its file, 16/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLoadBacked {
    /// File key.
    pub file_key: u64,
    /// Device characteristics.
    pub device_characteristics: u32,
    /// File characteristics.
    pub file_characteristics: u16,
    /// Load flags: 1 active data reference, 2 ejectable device, 4 writable handles.
    pub load_flags: u16,
}

impl ImageLoadBacked {
    /// Decodes the 16 or 12 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<ImageLoadBacked> {
        let oddity = payload.fixed(payload.pointer.pick(16, 12), MEMORY)?;
        let mut c = payload.cursor();
        let value = ImageLoadBacked {
            file_key: c.ptr("file key")?,
            device_characteristics: c.u32("device characteristics")?,
            file_characteristics: c.u16("file characteristics")?,
            load_flags: c.u16("load flags")?,
        };
        Ok(Parsed::new(value, oddity))
    }
}
