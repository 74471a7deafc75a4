//! Several files as one recording: sessions of the same boot that were recorded side by side.

use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::record_id::HookId;
use crate::event::hooks::{MASKS_AFTER_CHANGE, MASKS_BEFORE_CHANGE, PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::input::UnpackLimits;
use crate::load::presence::holds;
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

/// The files of a recording in one order, however they are named: that of the kernel's session first, which holds its keywords; others
/// by the starts of their sessions. Where one cannot be read, the order is that of the names.
pub(crate) fn in_order(first: &Path, further: &[PathBuf], limits: &UnpackLimits) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::iter::once(first.to_owned()).chain(further.iter().cloned()).collect();
    let key = |path: &PathBuf| {
        let etl = EtlFile::open_within(path, limits).ok()?;
        Some((!holds(&etl, &[MASKS_AFTER_CHANGE, MASKS_BEFORE_CHANGE]), etl.header.start_time))
    };
    let keys = if further.is_empty() { None } else { files.iter().map(key).collect::<Option<Vec<_>>>() };
    if let Some(keys) = keys {
        let mut sorted: Vec<_> = keys.into_iter().zip(files).collect();
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
) -> Result<EtlFile, E> {
    let mut all = open(first)?;
    for other in further {
        let not_one = |reason| Error::NotOneRecording { other: other.clone(), first: first.into(), reason };
        add(&mut all, &other.display().to_string(), open(other)?).map_err(not_one)?;
    }
    Ok(all)
}
