//! The parts of one trace while they are written: in a folder of their own on the same file system, which is removed when
//! anything fails. A lock on a file beside it says that its owner is alive.

use crate::analysis::export::schema::Table;
use crate::analysis::export::{Columns, Sink};
use crate::dataset::format::Format;
use crate::dataset::table_files::{Part, file_name};
use crate::dataset::tags::Tags;
use crate::error::Error;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// How the names of such folders begin.
pub const WRITING: &str = "writing-";

/// The parts of a trace.
pub struct Staging {
    folder: TempDir,
    lock: Lock,
    format: Format,
    tags: Tags,
    parts: Mutex<BTreeMap<Table, Part>>,
}

/// A lock file, which is removed with its owner.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // the next run removes it
    }
}

/// The lock file of a folder.
pub fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension("lock")
}

/// What was staged.
#[derive(Debug)]
pub struct Staged {
    /// The folder; the process that publishes it must remove it.
    pub folder: PathBuf,
    /// Its owner's lock.
    pub lock: Lock,
    /// Number of files by table.
    pub parts: BTreeMap<Table, u32>,
    /// Rows.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Staging {
    /// An empty folder below `work`.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn new(work: &Path, format: Format, tags: Tags) -> Result<Staging, Error> {
        let folder = tempfile::Builder::new().prefix(WRITING).tempdir_in(work).map_err(Error::not_written(work))?;
        let path = lock_of(folder.path());
        let file = File::create(&path).map_err(Error::not_written(&path))?;
        file.lock().map_err(Error::not_written(&path))?;
        Ok(Staging { lock: Lock { path, _file: file }, folder, format, tags, parts: Mutex::default() })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`Error::NotWritten`]; the folder is gone then.
    pub fn finish(self) -> Result<Staged, Error> {
        let Staging { folder, lock, format, parts, .. } = self;
        let mut files_by_table = BTreeMap::new();
        let (mut all_rows, mut bytes) = (0, 0);
        for (table, part) in parts.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let (files, rows) = part.finish()?;
            for number in 0..files {
                let path = folder.path().join(table.name()).join(file_name(number, format));
                // Windows writes only such files through to the disk that are open for writing.
                let file = File::options().write(true).open(&path).map_err(Error::not_written(&path))?;
                // What is moved into the dataset must be there after a power failure too.
                file.sync_all().map_err(Error::not_written(&path))?;
                bytes += file.metadata().map_err(Error::not_written(&path))?.len();
            }
            files_by_table.insert(table, files);
            all_rows += rows;
        }
        Ok(Staged { folder: folder.keep(), lock, parts: files_by_table, rows: all_rows, bytes })
    }
}

impl Sink for Staging {
    fn write(&self, table: Table, rows: usize, column: &Columns<'_>) -> Result<(), Error> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let part = match parts.remove(&table) {
            Some(part) => part,
            None => Part::new(self.tags.layout(table), &self.folder.path().join(table.name()), self.format)?,
        };
        let part = parts.entry(table).or_insert(part);
        let own = table.columns().len();
        part.write(rows, &|place| if place < own { column(place) } else { self.tags.column(place - own, rows) })
    }
}
