//! Datasets: the tables of many traces as files that SQL engines read as one, in `DIR/TABLE/trace=ID/part-N.EXTENSION`.
//!
//! [`part`] writes the files of one table, [`staging`] those of one trace beside the dataset, [`publish`] moves them into
//! it, whole or not at all. [`run`] does all of it for a trace. Everything else lies below `DIR/.pfnset`, which engines skip.
//!
//! A dataset may come from anybody. [`places`] makes all paths in it, and nothing outside of the folder is read, written or
//! removed, whatever lies in it.

mod csv;
mod identity;
pub mod part;
mod places;
mod publish;
mod ready;
pub mod run;
mod staging;
mod state;
mod text_column;

use crate::analysis::export::schema::Table;
use crate::error::Error;
use crate::named::named_enum;
use identity::TraceId;
use places::Places;
use staging::Staging;
use state::State;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

named_enum! {
    /// Forms of the files.
    pub enum Format {
        /// Parquet, compressed by zstd.
        Parquet = "parquet",
        /// Arrow's own files (IPC), compressed by zstd.
        Arrow = "arrow",
        /// Comma-separated values with a heading line.
        Csv = "csv",
    }
}

impl Format {
    /// The form of this name.
    fn of_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// A folder with a dataset.
#[derive(Debug)]
pub struct Dataset {
    places: Places,
    format: Format,
    version: String,
    refused: Vec<Refused>,
}

/// Something in the program's own folder that does not fit the dataset: it is left where it is, and nothing of it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its path.
    pub path: PathBuf,
    /// What does not fit.
    pub reason: String,
}

/// The error of writing at a path.
fn not_written(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    |source| Error::NotWritten { path: path.to_path_buf(), source }
}

impl Dataset {
    /// Opens or begins a dataset. What a run before began to move into it is moved in, what it left unfinished is removed.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn open(folder: &Path, format: Format, version: &str) -> Result<Dataset, Error> {
        fs::create_dir_all(folder).map_err(not_written(folder))?;
        let places = Places { folder: folder.to_path_buf() };
        let mut dataset = Dataset { places, format, version: version.to_owned(), refused: Vec::new() };
        dataset.refused = publish::recover(&dataset)?;
        Ok(dataset)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.places.folder
    }

    /// What was found when the dataset was opened, and does not fit it.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Begins the parts of a trace.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    fn stage(&self) -> Result<Staging, Error> {
        let _not_while_others_clean_up = publish::lock_dataset(self)?;
        Staging::new(&self.places.work()?, self.format)
    }

    /// What the dataset has of a trace, as long as all of its files are there.
    fn state(&self, id: &TraceId) -> Option<State> {
        let state = State::read(&self.places.state(id).ok()?).ok()?;
        let has = |table: Table, number: u32| self.has_part(id, table, number, state.format);
        state.parts.iter().all(|(table, parts)| (0..*parts).all(|number| has(*table, number))).then_some(state)
    }

    /// True when a part of a trace is there.
    fn has_part(&self, id: &TraceId, table: Table, number: u32, format: Format) -> bool {
        let partition = self.places.partition(table, id).ok().flatten();
        partition.is_some_and(|folder| part::is_there(&folder.join(part::file_name(number, format))))
    }
}
