//! Where the bytes of a trace come from: a file, a trace inside an archive, or standard input.
//!
//! A plain file is mapped into memory. An archive and standard input are unpacked first, into memory or, beyond
//! [`UnpackLimits::in_memory`], into a temporary file without a name, which the system removes however the program ends. So is a
//! plain file where [`UnpackLimits::copies`] says so.

mod archive;
mod cab;
pub(crate) mod map;
mod members;
mod unpacked_bytes;
mod zip;

use crate::error::Error;
use archive::Archive;
use map::Mapping;
pub(crate) use map::{lost_pages, output_cleanup};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
pub use unpacked_bytes::UnpackLimits;
use unpacked_bytes::{Bytes, Counting, PackedBytes, Store};
pub(crate) use unpacked_bytes::{MOST_EXPANSION, expands_too_much};

/// The bytes of a trace.
#[derive(Debug)]
pub struct Input {
    bytes: Bytes,
    /// Why unpacking ended before the end of the trace, if it did.
    pub cut: Option<String>,
    /// True when the bytes came out of an archive.
    unpacked: bool,
    /// Set when nobody waits any more for what is made of the bytes.
    stop: Arc<AtomicBool>,
}

/// What reading unwinds with when it is stopped.
pub(crate) struct Stopped;

/// The path that stands for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// True for a name that traces have, packed or not. What a file really is, only its content decides.
pub(crate) fn is_trace_name(path: &Path) -> bool {
    const ENDINGS: [&str; 6] = ["etl", "etlgz", "gz", "zip", "zst", "cab"];
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_one = |known: &str| ending.is_some_and(|ending| known.eq_ignore_ascii_case(ending));
    // One file is packed in it, so its name says what that is: `notes.txt.gz` and `all.tar.gz` are no traces.
    let holds_another = || {
        let packed = path.file_stem().map(Path::new).and_then(Path::extension);
        ["gz", "zst"].iter().any(|known| is_one(known)) && packed.is_some_and(|own| !own.eq_ignore_ascii_case("etl"))
    };
    ENDINGS.iter().any(|known| is_one(known)) && !holds_another()
}

/// # Errors
/// A usage error for `s3://bucket/folder` and the like, which would be taken for a folder with a colon in its name.
pub(crate) fn refuse_remote(path: &Path) -> Result<(), Error> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&c);
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    match scheme.is_some_and(|scheme| scheme.len() > 1 && scheme.chars().all(is_name)) {
        true => Err(Error::Usage(format!(
            "{} is no local path. Copy a trace to a disk and name the copy; write to a disk and copy the result. For many \
             traces, fleet/fleet.py does both (docs/fleet.md)",
            path.display()
        ))),
        false => Ok(()),
    }
}

impl Input {
    /// Opens a file, `ARCHIVE!MEMBER`, or standard input (`-`), and unpacks what is packed.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the system refuses, [`Error::NotUnpacked`] when an archive gives no trace or is larger
    /// than the limits.
    pub fn open(path: &Path, limits: &UnpackLimits) -> Result<Input, Error> {
        if !path.exists() {
            refuse_remote(path)?;
        }
        let not_unpacked = |reason| Error::NotUnpacked { path: path.into(), reason: limits.reason(reason) };
        let (file, member) = split_member(path);
        let packed = match file.as_os_str() == STANDARD_INPUT {
            true => Input::streamed(&mut io::stdin().lock(), limits).map_err(not_unpacked)?,
            // The size is checked after the copy; what is copied of a file that ends too early is let go.
            false if limits.copies && Mapping::check(&file).is_ok_and(|bytes| bytes > 0) => {
                Input::copied(&file, path, limits)?
            }
            false => {
                let map = Mapping::open(&file).map_err(|source| Error::Unreadable { path: path.into(), source })?;
                Input { bytes: Bytes::Mapped(map), cut: None, unpacked: false, stop: limits.stop.clone() }
            }
        };
        let Some(archive) = Archive::of(packed.bytes()).filter(|_| !packed.unpacked) else {
            return match member {
                Some(_) => Err(not_unpacked(format!("{} is no archive", file.display()))),
                None => Ok(packed),
            };
        };
        let mut store = Store::new(limits, Some(PackedBytes::new((packed.bytes().len() as u64).into())));
        let cut = archive.unpack(packed.bytes(), member.as_deref(), &mut store).map_err(not_unpacked)?;
        packed.check_whole().map_err(|source| Error::Unreadable { path: path.into(), source })?;
        let bytes = store.into_bytes().map_err(|error| not_unpacked(error.to_string()))?;
        let stop = limits.stop.clone();
        Input { bytes, cut: cut.or(packed.cut), unpacked: true, stop }.without_archive().map_err(not_unpacked)
    }

    /// A copy of a file, or what is packed in it as a stream. `path` is what messages call it.
    fn copied(file: &Path, path: &Path, limits: &UnpackLimits) -> Result<Input, Error> {
        let unreadable = |source| Error::Unreadable { path: path.into(), source };
        let before = Mapping::check(file).map_err(unreadable)?;
        let mut open = File::open(file).map_err(unreadable)?;
        let not_unpacked = |reason| Error::NotUnpacked { path: path.into(), reason: limits.reason(reason) };
        let input = Input::streamed(&mut open, limits).map_err(not_unpacked)?;
        let after = open.metadata().map_err(unreadable)?.len();
        let copied = if input.unpacked { after } else { input.bytes().len() as u64 };
        match after.min(copied) < before {
            true => Err(unreadable(io::Error::other(lost_pages::REASON))),
            false => Ok(input),
        }
    }

    /// All that standard input gives. What is packed as a stream is unpacked while it is read.
    fn streamed(reader: &mut dyn Read, limits: &UnpackLimits) -> Result<Input, String> {
        let mut first = Vec::new();
        reader.take(Archive::LONGEST_SIGNATURE).read_to_end(&mut first).map_err(|error| error.to_string())?;
        let (all, bytes) = Counting::new(first.as_slice().chain(reader));
        match Archive::of(&first) {
            Some(archive) if archive.is_stream() => {
                let mut store = Store::new(limits, Some(bytes));
                let cut = archive.unpack_stream(&mut BufReader::new(all), &mut store)?;
                Input::stored(store, cut, true, limits)?.without_archive()
            }
            _ => {
                let (mut all, mut store) = (all, Store::new(limits, None));
                let cut = store.fill(&mut all)?;
                Input::stored(store, cut, false, limits)
            }
        }
    }

    fn stored(store: Store<'_>, cut: Option<String>, unpacked: bool, limits: &UnpackLimits) -> Result<Input, String> {
        let bytes = store.into_bytes().map_err(|error| error.to_string())?;
        Ok(Input { bytes, cut, unpacked, stop: limits.stop.clone() })
    }

    /// Unwinds where reading was stopped: there is no result that somebody could take for a whole one.
    pub(crate) fn unless_stopped(&self) {
        if self.stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// What was unpacked, unless it is an archive again.
    fn without_archive(self) -> Result<Input, String> {
        match Archive::of(self.bytes()) {
            Some(inner) => Err(format!("it holds {}: unpack the outer one first", inner.what())),
            None => Ok(self),
        }
    }

    /// # Errors
    /// That its file has become shorter since it was opened, so that what was read may be wrong. Who asks says it.
    pub fn check_whole(&self) -> io::Result<()> {
        match &self.bytes {
            Bytes::Mapped(map) => map.check_whole(),
            Bytes::Held(_) => Ok(()),
        }
    }

    /// True when the bytes came out of an archive.
    pub(crate) const fn was_packed(&self) -> bool {
        self.unpacked
    }

    /// Where the next bytes are that are no hole of a sparse file.
    pub(crate) fn next_data(&self, offset: usize) -> usize {
        match &self.bytes {
            Bytes::Mapped(map) => map.next_data(offset),
            Bytes::Held(_) => offset,
        }
    }

    /// All bytes of the trace.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

/// The traces in an archive of several, each as `ARCHIVE!NAME`; none for any other file, also for one that cannot be read or would
/// unpack to far more than it is.
pub(crate) fn traces_in_archive(path: &Path) -> Vec<PathBuf> {
    let (listed, packed) = listed(path);
    let member = |name: String| {
        let mut whole = path.as_os_str().to_os_string();
        whole.push("!");
        whole.push(name);
        PathBuf::from(whole)
    };
    members::several(listed, packed).into_iter().map(member).collect()
}

/// True for an archive in whose list of files is no trace, and nothing that may hold one. In a folder it is not taken for one then.
pub(crate) fn holds_no_trace(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let has_list = ending.is_some_and(|ending| ["zip", "cab"].iter().any(|known| ending.eq_ignore_ascii_case(known)));
    let files = if has_list { listed(path).0 } else { Vec::new() };
    let may_be = |member: &members::Member| members::is_trace(&member.name) || members::is_passed_over(&member.name);
    !files.is_empty() && !files.iter().any(may_be)
}

/// Files in an archive, or named by a file in a folder, that may hold a trace and are not read beside those that are.
pub(crate) fn passed_over(path: &Path) -> Vec<String> {
    let named = |name: &str| members::is_passed_over(name);
    match path.file_name().and_then(|name| name.to_str()) {
        Some(name) if !is_trace_name(path) => named(name).then(|| name.to_owned()).into_iter().collect(),
        _ => listed(path).0.into_iter().map(|member| member.name).filter(|name| named(name)).collect(),
    }
}

/// The files in an archive, and its length; none of any other file.
fn listed(path: &Path) -> (Vec<members::Member>, u64) {
    let Ok(map) = Mapping::open(path) else { return Default::default() };
    let input = Input { bytes: Bytes::Mapped(map), cut: None, unpacked: false, stop: Arc::default() };
    let listed = Archive::of(input.bytes()).map(|archive| archive.members(input.bytes())).unwrap_or_default();
    (listed, input.bytes().len() as u64)
}

/// The archive and the name after `!`, where the whole is the name of no file.
pub(crate) fn split_member(path: &Path) -> (PathBuf, Option<String>) {
    let whole = || (path.to_path_buf(), None);
    let Some(text) = path.to_str().filter(|_| !path.exists()) else { return whole() };
    let parts = text.match_indices('!').map(|(at, _)| (Path::new(&text[..at]), &text[at + 1..]));
    let found = parts.filter(|(_, member)| !member.is_empty()).find(|(archive, _)| archive.is_file());
    found.map_or_else(whole, |(archive, member)| (archive.to_path_buf(), Some(member.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_follows_the_name_of_an_existing_file() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, odd) = (folder.path().join("a.zip"), folder.path().join("b!c.zip"));
        std::fs::write(&plain, "x").unwrap();
        std::fs::write(&odd, "x").unwrap();
        let split = |name: &str| split_member(&folder.path().join(name));
        assert_eq!(split("a.zip"), (plain.clone(), None));
        assert_eq!(split("a.zip!x/y.etl"), (plain, Some("x/y.etl".into())));
        assert_eq!(split("b!c.zip"), (odd.clone(), None));
        assert_eq!(split("b!c.zip!d"), (odd, Some("d".into())));
        assert_eq!(split("none!d").1, None);
        assert_eq!(split("a.zip!").1, None);
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_the_file_may_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.etl");
        let bytes: Vec<u8> = (0..3u32 << 20).map(|n| (n >> 3) as u8).collect();
        let limits = |in_memory| UnpackLimits { copies: true, in_memory, ..UnpackLimits::default() };
        for in_memory in [1 << 20, 1 << 30] {
            std::fs::write(&path, &bytes).unwrap();
            let input = Input::open(&path, &limits(in_memory)).unwrap();
            std::fs::write(&path, b"").unwrap();
            assert!(input.bytes() == bytes && input.check_whole().is_ok() && !input.was_packed());
        }
        assert_eq!(Input::open(&path, &limits(1)).unwrap().bytes(), b"");
        assert!(matches!(Input::open(folder.path(), &limits(1)), Err(Error::Unreadable { .. })));
        std::fs::write(&path, &bytes).unwrap();
        let small = UnpackLimits { most: 1 << 20, ..limits(1 << 30) };
        assert!(matches!(Input::open(&path, &small), Err(Error::NotUnpacked { .. })));
        let stopped = limits(1 << 30);
        stopped.stop.store(true, Ordering::Relaxed);
        assert!(Input::open(&path, &stopped).is_err());
    }
}
