//! The memory map of a trace: this file, [`lost_pages`] and [`output_cleanup`] have the only `unsafe` code of the crate.

pub(crate) mod lost_pages;
pub(crate) mod output_cleanup;

use lost_pages::{MappedFile, Watch};
#[cfg(target_os = "linux")]
use memmap2::UncheckedAdvice;
use memmap2::{Mmap, MmapOptions};
#[cfg(target_os = "linux")]
use rayon::prelude::*;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The bytes of a file, mapped read-only; an empty file is an empty slice.
#[derive(Debug)]
pub struct Mapping(Option<Mapped>);

#[derive(Debug)]
struct Mapped {
    // Fields are dropped in this order.
    _watch: Watch,
    map: Mmap,
    file: Arc<MappedFile>,
}

impl Mapping {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// The system's error when the file cannot be opened or mapped; a text of our own for directories, pipes and devices,
    /// which cannot be mapped.
    pub fn open(path: &Path) -> io::Result<Mapping> {
        Mapping::check(path)?;
        Mapping::of(File::open(path)?, path)
    }

    /// The size of what can be mapped. Asked before opening, because opening a pipe blocks until something writes to it.
    ///
    /// # Errors
    /// As [`Mapping::open`].
    pub fn check(path: &Path) -> io::Result<u64> {
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::Error::other("it is a directory; name the .etl file in it"));
        }
        if !metadata.is_file() {
            return Err(io::Error::other(
                "not a regular file; write the trace to a file first, or give it on standard input and name it -",
            ));
        }
        Ok(metadata.len())
    }

    /// Maps an open file; messages call it `path`.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(file: File, path: &Path) -> io::Result<Mapping> {
        if file.metadata()?.len() == 0 {
            return Ok(Mapping(None)); // most systems refuse to map an empty file
        }
        // SAFETY: the map is read-only and private to this value, and the bytes are only ever read as plain integers
        // and slices of u8, for which any content is valid. What cannot be ruled out is another process that writes
        // to the file meanwhile: changed bytes would break the aliasing rule for `&[u8]` in theory (in practice we
        // read garbage, and every number from the file is checked where it is used). A file that shrinks while it is
        // mapped is the matter of `lost_pages`. Reading through a buffer instead costs a copy of the whole trace.
        #[allow(unsafe_code)]
        let map = unsafe { MmapOptions::new().map(&file)? };
        let file = MappedFile::new(file, path, map.len() as u64);
        Ok(Mapping(Some(Mapped { _watch: Watch::new(path, &map), map, file })))
    }

    /// Releases the pages of a large map on all threads. Unmapping would release them on one thread only, which takes more
    /// than a thirtieth of the whole run time.
    #[cfg(target_os = "linux")]
    fn release(&self) {
        const CHUNK: usize = 16 << 20; // a multiple of any page size
        let Some(Mapped { map, .. }) = &self.0 else { return };
        (0..map.len().div_ceil(CHUNK)).into_par_iter().for_each(|chunk| {
            let (at, length) = (chunk * CHUNK, CHUNK.min(map.len() - chunk * CHUNK));
            // SAFETY: the map is of a file and read-only. "Don't need" drops the system's entries for its pages, and a
            // later read would load the same bytes from the file again; none follows, because the map is being dropped.
            #[allow(unsafe_code)]
            let released = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, at, length) };
            drop(released); // pages that were not released here are released with the map
        });
    }

    /// # Errors
    /// That the file has lost a part since it was mapped. Who asks says it.
    pub fn check_whole(&self) -> io::Result<()> {
        match &self.0 {
            Some(mapped) if mapped.file.tell_shorter() => Err(io::Error::other(lost_pages::REASON)),
            _ => Ok(()),
        }
    }

    /// Where the next bytes are that the file really has, from an offset on: what lies before them is a hole of a sparse file, which
    /// reads as zeros. The end where nothing follows; the offset itself where the system does not say.
    pub fn next_data(&self, offset: usize) -> usize {
        self.0
            .as_ref()
            .map_or(offset, |mapped| mapped.file.next_data(offset as u64).min(mapped.map.len() as u64) as usize)
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |mapped| &mapped.map)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        self.release();
        self.0.iter().for_each(|mapped| mapped.file.note());
    }
}
