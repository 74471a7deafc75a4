//! Several files as one recording: sessions of the same boot that were recorded side by side.

use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::record_id::HookId;
use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
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
