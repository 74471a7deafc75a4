//! CAB archives, as Windows makes them.
//!
//! Files of a folder are packed as one stream. To find the start of a file, the library that reads the stream uses block
//! numbers from the archive, which may be wrong. So it is given an archive in which the file begins at the start of its folder,
//! and the bytes before the file are skipped here.

use super::members::{Member, choose};
use super::unpacked_bytes::{MOST_EXPANSION, Store, expands_too_much};
use crate::byte_reader::Cursor;
use crate::units::PointerSize;
use cab::Cabinet;
use std::io::{self, Read, Seek, SeekFrom};

/// One `CFFILE`: "Microsoft Cabinet Format", [MS-CAB] 2.3.
struct Entry {
    /// Offset of the entry in the archive.
    at: u64,
    size: u32,
    /// Offset in the unpacked folder.
    start: u32,
    name: String,
}

impl Entry {
    /// Bytes of the folder up to its end.
    fn end(&self) -> u32 {
        self.start.saturating_add(self.size)
    }
}

/// Offsets in the header ([MS-CAB] 2.1).
const FIRST_ENTRY: usize = 16;
const ENTRIES: usize = 28;

/// Unpacks `member`, or the only trace. Returns why it ended early, if it did.
///
/// # Errors
/// Why no trace can be unpacked.
pub fn unpack(packed: &[u8], member: Option<&str>, store: &mut Store<'_>) -> Result<Option<String>, String> {
    let entries = entries(packed).ok_or("its list of files is cut")?;
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let name = choose(&names, member)?;
    let entry = entries.iter().find(|entry| entry.name == name).ok_or("it is empty")?;
    if expands_too_much(packed.len() as u64, entry.start.into()) {
        return Err(format!("{name} stands behind {} bytes, more than {MOST_EXPANSION} times its size", entry.start));
    }
    let mut replaced = [0; 8];
    replaced[..4].copy_from_slice(&entry.end().to_le_bytes());
    let archive = Patched { bytes: io::Cursor::new(packed), at: entry.at, replaced };
    let mut cabinet = Cabinet::new(archive).map_err(|error| error.to_string())?;
    let mut file = cabinet.read_file(name).map_err(|error| format!("{name}: {error}"))?;
    let passed = io::copy(&mut (&mut file).take(entry.start.into()), &mut io::sink());
    passed.map_err(|error| format!("{name}: {error}"))?;
    store.fill(&mut file)
}

/// The files in an archive, with what is unpacked before each in its folder; none where the list of files is cut.
pub fn members(packed: &[u8]) -> Vec<Member> {
    let member = |entry: Entry| Member { unpacked: entry.end().into(), name: entry.name };
    entries(packed).into_iter().flatten().map(member).collect()
}

/// The list of files; `None` when it is cut.
fn entries(packed: &[u8]) -> Option<Vec<Entry>> {
    let u32_at = |at: usize| packed.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let u16_at = |at: usize| packed.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
    let mut at = u32_at(FIRST_ENTRY)? as usize;
    let mut entries = Vec::new();
    for _ in 0..u16_at(ENTRIES)? {
        let mut c = Cursor::new(packed.get(at..)?, PointerSize::P8);
        let (size, start) = (c.u32("size").ok()?, c.u32("start").ok()?);
        c.skip(8, "folder, time and attributes").ok()?;
        let name = c.narrow("name").ok()?;
        let length = packed.len() - at - c.remaining();
        entries.push(Entry { at: at as u64, size, start, name: name.text().into_owned() });
        at += length;
    }
    Some(entries)
}

/// An archive with eight bytes replaced: size and start of one file.
struct Patched<'a> {
    bytes: io::Cursor<&'a [u8]>,
    at: u64,
    replaced: [u8; 8],
}

impl Read for Patched<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let from = self.bytes.position();
        let read = self.bytes.read(bytes)?;
        for (byte, at) in bytes.iter_mut().take(read).zip(from..) {
            let new = at.checked_sub(self.at).and_then(|place| self.replaced.get(usize::try_from(place).ok()?));
            *byte = new.copied().unwrap_or(*byte);
        }
        Ok(read)
    }
}

impl Seek for Patched<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}
