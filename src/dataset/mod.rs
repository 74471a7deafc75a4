//! Datasets: the tables of many traces as files that SQL engines read as one, in `DIR/TABLE/trace=ID/part-N.EXTENSION`.
//!
//! [`part`] writes the files of one table, [`staging`] those of one trace beside the dataset, [`publish`] moves them into
//! it, whole or not at all. [`run`] does all of it for a trace. Everything else lies below `DIR/.pfnset`, which engines skip.

mod csv;
mod identity;
pub mod part;
mod publish;
pub mod run;
mod staging;
mod state;
mod text_column;

use crate::analysis::export::schema::Table;
use crate::error::Error;
use crate::named::named_enum;
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

/// A folder with a dataset.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    format: Format,
    version: String,
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
        let dataset = Dataset { folder: folder.to_path_buf(), format, version: version.to_owned() };
        for hidden in [dataset.work(), dataset.states()] {
            fs::create_dir_all(&hidden).map_err(not_written(&hidden))?;
        }
        publish::recover(&dataset)?;
        Ok(dataset)
    }

    /// Where parts lie before they are moved into their place.
    fn work(&self) -> PathBuf {
        self.folder.join(".pfnset").join("work")
    }

    /// Where the state of each trace lies.
    fn states(&self) -> PathBuf {
        self.folder.join(".pfnset").join("traces")
    }

    /// Where the parts of a trace's table lie.
    fn partition(&self, table: Table, id: &str) -> PathBuf {
        self.folder.join(table.name()).join(format!("trace={id}"))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins the parts of a trace.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    fn stage(&self) -> Result<Staging, Error> {
        let _not_while_others_clean_up = publish::lock_dataset(self)?;
        Staging::new(&self.work(), self.format)
    }

    /// What the dataset has of a trace, as long as all of its files are there.
    fn state(&self, id: &str) -> Option<State> {
        let state = State::read(&self.states(), id)?;
        let has = |table: &Table, file: &String| self.partition(*table, id).join(file).is_file();
        state.parts().iter().all(|(table, files)| files.iter().all(|file| has(table, file))).then_some(state)
    }
}
