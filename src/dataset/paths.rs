//! Where things lie in a dataset. Each path is made of the folder that the user named and of names that this program makes,
//! and each folder on the way is a folder: no link leads out of the dataset.
//!
//! Whoever can change the dataset while `export` runs can still exchange a folder for a link between the check and the use.

use crate::analysis::export::schema::Table;
use crate::dataset::identity::TraceId;
use crate::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The program's own folder, which engines skip.
pub const OWN: &str = ".pfnset";

/// The places of a dataset.
#[derive(Debug)]
pub struct Places {
    /// The folder of the dataset.
    pub folder: PathBuf,
}

impl Places {
    /// Where parts lie before they are moved into their place.
    ///
    /// # Errors
    /// As [`Places::made`].
    pub fn work(&self) -> Result<PathBuf, Error> {
        self.made(&[OWN, "work"])
    }

    /// The file that holds the state of a trace.
    ///
    /// # Errors
    /// As [`Places::made`].
    pub fn state(&self, id: &TraceId) -> Result<PathBuf, Error> {
        Ok(self.states()?.join(format!("{id}.json")))
    }

    /// The folder of these files.
    ///
    /// # Errors
    /// As [`Places::made`].
    pub fn states(&self) -> Result<PathBuf, Error> {
        self.made(&[OWN, "traces"])
    }

    /// The file that a process locks while it changes the dataset.
    ///
    /// # Errors
    /// As [`Places::made`]; it is no file.
    pub fn lock(&self) -> Result<PathBuf, Error> {
        let path = self.made(&[OWN])?.join("lock");
        match fs::symlink_metadata(&path) {
            Ok(data) if !data.is_file() => Err(refused(&path, "it is a link or no file")),
            _ => Ok(path),
        }
    }

    /// Where the parts of a trace's table lie; `None` as long as there is no such folder.
    ///
    /// # Errors
    /// As [`Places::made`].
    pub fn partition(&self, table: Table, id: &TraceId) -> Result<Option<PathBuf>, Error> {
        self.inside(&[table.name(), &hive(id)], false)
    }

    /// The same; the folder is made.
    ///
    /// # Errors
    /// As [`Places::made`].
    pub fn make_partition(&self, table: Table, id: &TraceId) -> Result<PathBuf, Error> {
        self.made(&[table.name(), &hive(id)])
    }

    /// Removes a partition, and the folder of its table, where nothing is in it.
    pub fn remove_empty(&self, table: Table, id: &TraceId) {
        if let Ok(Some(partition)) = self.partition(table, id) {
            let _ = fs::remove_dir(&partition); // something that is no part lies there
            let _ = partition.parent().map(fs::remove_dir);
        }
    }

    /// A folder of the dataset, made where it is missing.
    ///
    /// # Errors
    /// [`Error::NotWritten`]: a part of the path is a link or no folder, or the system refuses it.
    fn made(&self, parts: &[&str]) -> Result<PathBuf, Error> {
        let found = self.inside(parts, true)?;
        found.ok_or_else(|| refused(&self.folder, "somebody else removes it"))
    }

    /// A folder of the dataset from the names of its path; `None` where it is missing.
    fn inside(&self, parts: &[&str], make: bool) -> Result<Option<PathBuf>, Error> {
        let mut path = self.folder.clone();
        for part in parts {
            path.push(part);
            let is_missing = |error: &io::Error| error.kind() == ErrorKind::NotFound;
            if make && fs::symlink_metadata(&path).is_err_and(|error| is_missing(&error)) {
                fs::create_dir(&path).or_else(unless_there).map_err(Error::not_written(&path))?;
            }
            match fs::symlink_metadata(&path) {
                Ok(data) if data.is_dir() => {}
                Ok(_) => return Err(refused(&path, "it is a link or no folder")),
                Err(error) if is_missing(&error) => return Ok(None),
                Err(error) => return Err(Error::not_written(&path)(error)),
            }
        }
        let resolved = |path: &Path| path.canonicalize().map_err(Error::not_written(path));
        match resolved(&path)?.starts_with(resolved(&self.folder)?) {
            true => Ok(Some(path)),
            false => Err(refused(&path, "it lies outside of the dataset")),
        }
    }
}

fn hive(id: &TraceId) -> String {
    format!("trace={id}")
}

/// The error of a path that must not be used.
fn refused(path: &Path, why: &str) -> Error {
    let why = format!("{why}; in a dataset, no link is followed");
    Error::not_written(path)(io::Error::new(ErrorKind::InvalidInput, why))
}

fn unless_there(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}
