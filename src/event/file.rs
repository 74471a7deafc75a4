//! File names and mapped views (FileIo group).
//!
//! Sources: `docs/formats.md` ("File names and mapped files"). Names were checked on recorded traces; mapped views are
//! after the Windows MOF (version 2) and TraceEvent (version 3) only.

use super::outcome::{Fault, Oddity, Parsed, Read};
use super::payload::{ANY, Payload};
use crate::bytes::Wide;

/// Which record a file name came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileNameKind {
    /// `0x0400`.
    Name,
    /// `0x0420`: the key begins to mean this file.
    Create,
    /// `0x0423`: the key ceases to mean this file; it can come back for another one.
    Delete,
    /// `0x0424`: the key means this file at the end of the session.
    Rundown,
}

/// A file key (as in page identities and hard faults) and its file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileName<'a> {
    /// File key, a kernel address.
    pub key: u64,
    /// Path from the device on, `\Device\HarddiskVolume3\…`.
    pub name: Wide<'a>,
}

/// What the kernel writes for a file that it cannot name: `\FI_UNKNOWN`, UTF-16LE.
const UNKNOWN_NAME: [u8; 22] = *b"\\\0F\0I\0_\0U\0N\0K\0N\0O\0W\0N\0";

impl<'a> FileName<'a> {
    /// True when the kernel could not name the file: treat as no name.
    pub fn is_unknown(&self) -> bool {
        self.name.0 == UNKNOWN_NAME
    }

    /// Decodes a key and a string; all versions are alike.
    ///
    /// # Errors
    /// A fault when the key is cut or the name has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<FileName<'a>> {
        let mut c = payload.cursor();
        let value = FileName { key: c.ptr("file key")?, name: c.wide("file name")? };
        Ok(Parsed::new(value, payload.ends(&c, 0..=3)))
    }
}

/// `0x0421`: two keys of one file, 16/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameFile {
    /// Key before.
    pub old_key: u64,
    /// Key afterwards.
    pub new_key: u64,
}

impl SameFile {
    /// Decodes the two keys.
    ///
    /// # Errors
    /// A fault when the payload is shorter than they are.
    pub fn read(payload: &Payload<'_>) -> Read<SameFile> {
        let oddity = payload.fixed(payload.pointer.pick(16, 8), ANY)?;
        let mut c = payload.cursor();
        Ok(Parsed::new(SameFile { old_key: c.ptr("old key")?, new_key: c.ptr("new key")? }, oddity))
    }
}

/// What a view is of (bits 54–55 of *misc*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ViewKind {
    /// A file mapped as data.
    DataFile,
    /// A file mapped as an executable image.
    Image,
    /// An image with another protection than its sections'.
    ImageOtherProtection,
    /// Memory without a file (shared memory).
    PagefileBacked,
}

/// `0x0425`–`0x0428`: a view of a section in a process. 36/24 bytes (version 2), 44/32 bytes (version 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapView {
    /// Address of the view.
    pub base: u64,
    /// File key; 0 or a section's address for pagefile-backed views.
    pub file_key: u64,
    /// Kind of view in bits 54–55, probably protection in bits 48–52, file offset below.
    pub misc: u64,
    /// Size of the view.
    pub size_bytes: u64,
    /// Version 3, at 32/20: the file offset by TraceEvent, the commit charge in bytes by the one published sample. Not
    /// to be used for a decision.
    pub unknown_behind_size: Option<u64>,
    /// The process; 0 when it is being created and has no id yet (then the header's thread is the one that creates it).
    pub process_id: u32,
}

impl MapView {
    /// What the view is of.
    pub const fn kind(&self) -> ViewKind {
        match self.misc >> 54 & 3 {
            0 => ViewKind::DataFile,
            1 => ViewKind::Image,
            2 => ViewKind::ImageOtherProtection,
            _ => ViewKind::PagefileBacked,
        }
    }

    /// Bits 48–52, which look like the kernel's protection code of the address range.
    pub const fn protection(&self) -> u8 {
        (self.misc >> 48 & 0x1f) as u8
    }

    /// Bits 0–47, probably the byte offset in the file. Not to be used for a decision.
    pub const fn file_offset(&self) -> u64 {
        self.misc & 0xffff_ffff_ffff
    }

    /// Decodes a record. The version says which layout; a version whose length is the other version's is a fault, for
    /// its process id would be read from the wrong place.
    ///
    /// # Errors
    /// A fault when the length is less than the version's layout has, or the other version's.
    pub fn read(payload: &Payload<'_>) -> Read<MapView> {
        let [v2, v3] = payload.pointer.pick([36, 44], [24, 32]);
        let is_v3 = payload.version >= 3;
        let expected = if is_v3 { v3 } else { v2 };
        if !is_v3 && payload.bytes.len() == v3 {
            return Err(Fault::Length { expected });
        }
        let oddity: Option<Oddity> = payload.fixed(expected, 2..=3)?;
        let mut c = payload.cursor();
        let value = MapView {
            base: c.ptr("view base")?,
            file_key: c.ptr("file key")?,
            misc: c.u64("misc")?,
            size_bytes: c.ptr("view size")?,
            unknown_behind_size: if is_v3 { Some(c.u64("unknown behind view size")?) } else { None },
            process_id: c.u32("process id")?,
        };
        Ok(Parsed::new(value, oddity))
    }
}
