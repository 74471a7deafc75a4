//! Several files as one recording: sessions of the same boot that were recorded side by side.

use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::record_id::HookId;
use crate::event::hooks::{MASKS_AFTER_CHANGE, MASKS_BEFORE_CHANGE, PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::input::{STANDARD_INPUT, UnpackLimits};
use crate::load::presence::holds;
use crate::units::FileTime;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Adds another file of the same recording.
///
/// Sessions side by side record different things of one machine. Two page sequences are of two moments: sessions that both
/// hold some are two recordings, and events that both have would count twice.
///
/// # Errors
/// Why the files do not fit together, in words that follow "OTHER does not belong to the recording of FIRST:".
pub fn add(all: &mut EtlFile, name: &str, other: EtlFile) -> Result<(), String> {
    const PAGES: [HookId; 2] = [PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2];
    all.fits(&other)?;
    if holds(&other, &PAGES) && holds(all, &PAGES) {
        return Err("both hold page sequences, so each is a recording of its own; pfnset diff compares them".into());
    }
    all.join(name, other)
}

/// True when both files can be read and are one recording.
pub(crate) fn is_one(first: &Path, other: &Path, limits: &UnpackLimits) -> bool {
    let open = |path| EtlFile::open_within(path, limits);
    let (Ok(mut all), Ok(other)) = (open(first), open(other)) else { return false };
    add(&mut all, "", other).is_ok()
}

/// The two words that tell files of one recording apart: the sessions of the kernel and of other providers.
const KERNEL: &str = "kernel";
const USER: &str = "user";

/// The name of the other session's file, where a name has the word kernel: `user.etl` for `kernel.etl`, `a_user.etl.gz` for
/// `a_kernel.etl.gz`.
pub(crate) fn user_name(kernel: &str) -> Option<String> {
    let lower = kernel.to_ascii_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_word = |at: usize| {
        let (before, after) = (lower.get(..at), lower.get(at + KERNEL.len()..));
        !is_letter(before.and_then(|text| text.chars().next_back()))
            && !is_letter(after.and_then(|text| text.chars().next()))
    };
    let at = lower.match_indices(KERNEL).map(|(at, _)| at).filter(|at| is_word(*at)).last()?;
    // Lower case letters of ASCII stand where the others did.
    Some(format!("{}{USER}{}", lower.get(..at)?, lower.get(at + KERNEL.len()..)?))
}

/// What names are compared by: the folder or archive as it is written, and the name there without capital letters.
pub(crate) fn place_and_name(path: &Path) -> (&[u8], String) {
    let bytes = path.as_os_str().as_encoded_bytes();
    let name_at = bytes.iter().rposition(|byte| matches!(byte, b'/' | b'\\' | b'!')).map_or(0, |at| at + 1);
    let (place, name) = bytes.split_at(name_at);
    (place, String::from_utf8_lossy(name).to_lowercase())
}

/// What decides the order of the files of a recording: that of the kernel's session is the first, which has the keywords; then those whose session
/// began earlier, and went on longer.
type Order = (bool, FileTime, Reverse<Option<FileTime>>);

fn order_of(etl: &EtlFile) -> Order {
    let is_other = !holds(etl, &[MASKS_AFTER_CHANGE, MASKS_BEFORE_CHANGE]);
    (is_other, etl.header.start_time, Reverse(etl.header.end_time))
}

/// The files of a recording in one order, however they are named, the first apart: times count from its start.
pub(crate) fn sorted<T>(first: T, further: Vec<T>, etl: impl Fn(&T) -> &EtlFile) -> (T, Vec<T>) {
    if further.is_empty() {
        return (first, further);
    }
    let mut first = (order_of(etl(&first)), first);
    let mut others: Vec<_> = further.into_iter().map(|file| (order_of(etl(&file)), file)).collect();
    for other in &mut others {
        if other.0 < first.0 {
            std::mem::swap(other, &mut first);
        }
    }
    others.sort_by_key(|(order, _)| *order);
    (first.1, others.into_iter().map(|(_, file)| file).collect())
}

/// The same of files that are not open. Where one cannot be read, the order is that of the names. Standard input is read once, later: it is taken for
/// the kernel's file where no other is that, else for the last.
pub(crate) fn in_order(first: &Path, further: &[PathBuf], limits: &UnpackLimits) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::iter::once(first.to_owned()).chain(further.iter().cloned()).collect();
    let key = |path: &PathBuf| {
        if path.as_os_str() == STANDARD_INPUT {
            return Some(None);
        }
        Some(Some(order_of(&EtlFile::open_within(path, limits).ok()?)))
    };
    let keys = if further.is_empty() { None } else { files.iter().map(key).collect::<Option<Vec<_>>>() };
    if let Some(keys) = keys {
        let has_kernels = keys.iter().flatten().any(|(is_other, ..)| !is_other);
        let streamed = if has_kernels { (true, FileTime(u64::MAX)) } else { (false, FileTime(0)) };
        let keys = keys.into_iter().map(|key| key.unwrap_or((streamed.0, streamed.1, Reverse(None))));
        let mut sorted: Vec<_> = keys.zip(files).collect();
        sorted.sort_by_key(|(key, _)| *key);
        files = sorted.into_iter().map(|(_, path)| path).collect();
    }
    files
}

/// Opens all files of a recording, each by `open`.
///
/// # Errors
/// Those of `open`; [`Error::NotOneRecording`] for a file that does not fit.
pub fn open_all<E: From<Error>>(
    first: &Path,
    further: &[PathBuf],
    mut open: impl FnMut(&Path) -> Result<EtlFile, E>,
) -> Result<Joined, E> {
    let all = (first.to_owned(), open(first)?);
    let others = further.iter().map(|path| Ok((path.clone(), open(path)?))).collect::<Result<_, E>>()?;
    Ok(join_all(all, others)?)
}

/// A recording, and its files in its order.
pub type Joined = (EtlFile, Vec<PathBuf>);

/// Joins the files of a recording in its order.
///
/// # Errors
/// [`Error::NotOneRecording`] for a file that does not fit.
pub fn join_all(first: (PathBuf, EtlFile), further: Vec<(PathBuf, EtlFile)>) -> Result<Joined, Error> {
    let ((first, mut all), others) = sorted(first, further, |(_, etl)| etl);
    let mut order = vec![first.clone()];
    for (other, etl) in others {
        let not_one = |reason| Error::NotOneRecording { other: other.clone(), first: first.clone(), reason };
        add(&mut all, &other.display().to_string(), etl).map_err(not_one)?;
        order.push(other);
    }
    Ok((all, order))
}
