//! ZIP archives. The list of files stands at the end, so a cut archive has lost it. Then the headers before each file are
//! read instead.

use super::members::{Member, choose};
use super::unpacked_bytes::Store;
use crate::byte_reader::Cursor;
use crate::units::PointerSize;
use flate2::bufread::DeflateDecoder;
use std::io::Read as _;
use zip::ZipArchive;

/// Unpacks `member`, or the only trace. Returns why it ended early, if it did.
///
/// # Errors
/// Why no trace can be unpacked.
pub fn unpack(packed: &[u8], member: Option<&str>, store: &mut Store<'_>) -> Result<Option<String>, String> {
    let mut archive = match ZipArchive::new(std::io::Cursor::new(packed)) {
        Ok(archive) => archive,
        Err(error) => return cut(packed, member, store, &error.to_string()),
    };
    if archive.has_duplicate_names() {
        // The list keeps one of them, and nothing says which is meant.
        return Err("two files in it have the same name; unpack it and name the .etl file".into());
    }
    if overlaps(&mut archive) {
        return Err("files in it share the same bytes, which no program packs so".into());
    }
    let names: Vec<String> = archive.file_names().filter_map(|name| name.ok().map(|name| name.into_owned())).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = choose(&names, member)?;
    let mut file = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    let size = file.size();
    // The list of files says what all of them together unpack to.
    let mut content = (&mut file).take(size);
    let ended = store.fill(&mut content)?;
    let missing = content.limit();
    if ended.is_some() {
        return Ok(ended);
    }
    // The checksum is compared by a read at the end.
    Ok(match file.read(&mut [0]) {
        Ok(0) if missing > 0 => Some(format!("{name} is {missing} bytes shorter than its archive says")),
        Ok(0) => None,
        Ok(_) => Some(format!("{name} is longer than its archive says")),
        Err(error) => Some(format!("{name}: {error}")),
    })
}

type Archive<'a> = ZipArchive<std::io::Cursor<&'a [u8]>>;

/// The files in an archive; none where its list of files is cut off, or cannot be right.
pub fn members(packed: &[u8]) -> Vec<Member> {
    let Ok(mut archive) = ZipArchive::new(std::io::Cursor::new(packed)) else { return Vec::new() };
    if archive.has_duplicate_names() || overlaps(&mut archive) {
        return Vec::new();
    }
    let files = archive.len();
    let member = |number: usize| {
        let file = archive.by_index_raw(number).ok()?;
        Some(Member { name: file.name().ok()?.into_owned(), unpacked: file.size() })
    };
    (0..files).filter_map(member).collect()
}

/// True where a file begins before the one in front of it ends: then few bytes could unpack to much, again and again.
fn overlaps(archive: &mut Archive<'_>) -> bool {
    let files = archive.len();
    let range = |number: usize| {
        let file = archive.by_index_raw(number).ok()?;
        let begin = file.data_start()?;
        Some((file.header_start(), begin.saturating_add(file.compressed_size())))
    };
    let mut ranges: Vec<(u64, u64)> = (0..files).filter_map(range).collect();
    ranges.sort_unstable();
    ranges.windows(2).any(|two| matches!(two, [(_, end), (begin, _)] if begin < end))
}

/// Bytes at the start of the header of a file.
const LOCAL_HEADER: u32 = 0x0403_4b50;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Flag: the sizes follow the file, because they were not known before it.
const SIZES_FOLLOW: u16 = 8;

/// One file of an archive without its list.
struct LocalFile<'a> {
    name: String,
    method: u16,
    /// From its first byte to the end of the archive, or of the file, if its size is known.
    data: &'a [u8],
    /// What follows it; `None` where its size is not known.
    rest: Option<&'a [u8]>,
}

impl<'a> LocalFile<'a> {
    /// Reads the header at the start of `bytes` (APPNOTE.TXT of PKWARE, 4.3.7).
    fn read(bytes: &'a [u8]) -> Option<LocalFile<'a>> {
        let mut c = Cursor::new(bytes, PointerSize::P8);
        if c.u32("signature").ok()? != LOCAL_HEADER {
            return None;
        }
        let _version = c.u16("version").ok()?;
        let flags = c.u16("flags").ok()?;
        let method = c.u16("method").ok()?;
        c.skip(8, "time and checksum").ok()?;
        let packed = c.u32("packed size").ok()?;
        c.skip(4, "size").ok()?;
        let (name, extra) = (c.u16("length of the name").ok()?, c.u16("length of the extra field").ok()?);
        let name = String::from_utf8_lossy(c.take(name.into(), "name").ok()?).into_owned();
        c.skip(extra.into(), "extra field").ok()?;
        let data = bytes.get(bytes.len() - c.remaining()..)?;
        // A size of all ones stands in the extra field (ZIP64).
        let sized = flags & SIZES_FOLLOW == 0 && packed != u32::MAX;
        let parts = sized.then(|| data.split_at_checked(packed as usize)).flatten();
        let (data, rest) = parts.map_or((data, None), |(data, rest)| (data, Some(rest)));
        Some(LocalFile { name, method, data, rest })
    }
}

/// Unpacks from an archive that lacks its end.
fn cut(packed: &[u8], member: Option<&str>, store: &mut Store<'_>, why: &str) -> Result<Option<String>, String> {
    let mut files = Vec::new();
    let mut at = Some(packed);
    while let Some(file) = at.and_then(LocalFile::read) {
        at = file.rest;
        files.push(file);
    }
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let name =
        choose(&names, member).map_err(|reason| format!("its list of files is missing ({why}), and {reason}"))?;
    let file = files.iter().find(|file| file.name == name).ok_or("it is empty")?;
    let ended = match file.method {
        STORED => store.fill(&mut &*file.data)?,
        DEFLATED => store.fill(&mut DeflateDecoder::new(file.data))?,
        other => return Err(format!("its list of files is missing ({why}), and {name} is packed by method {other}")),
    };
    Ok(Some(ended.unwrap_or_else(|| why.to_owned())))
}
