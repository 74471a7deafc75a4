//! Program databases (PDB): where the one of an image lies, and which functions its records have at addresses of the image.
//!
//! Nothing is asked over a network. The reader of the format is the crate `pdb2`; [`database`] bounds what it may do with a hostile file.
//! Sources of the rules: `docs/stacks.md` ("Symbol files").

mod bounded_bytes;
pub mod database;
pub mod folders;
pub mod functions;
mod name_cost;
pub mod source_lines;
pub mod undecorated;

use std::path::PathBuf;
use uuid::Uuid;

/// Which database an image was linked with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PdbId {
    /// File name, without folders.
    pub name: Box<str>,
    /// GUID.
    pub guid: Uuid,
    /// Age.
    pub age: u32,
}

impl PdbId {
    /// `1B7C…2`, as symbol servers call the folder: GUID and age.
    pub fn key(&self) -> String {
        format!("{:X}{:X}", self.guid.simple(), self.age)
    }
}

/// What became of the search for a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PdbSearch {
    /// It is this file.
    Found(PathBuf),
    /// No file fits; so many folders were looked through.
    NotFound {
        /// Folders.
        folders: usize,
    },
}
