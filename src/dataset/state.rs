//! What a dataset has of a trace: from which version of the program, in which form, which tables. `--resume` uses it.

use crate::analysis::export::schema::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The state of a trace. Names, not enums: another version of this program may have written it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Version of the program that wrote the tables.
    pub version: String,
    /// Their form.
    pub format: String,
    /// The encoding of 8-bit names.
    #[serde(default)]
    pub code_page: String,
    /// True when the machine's name itself was written.
    #[serde(default)]
    pub machine_names: bool,
    /// Files by table.
    pub files: BTreeMap<String, Vec<String>>,
    /// Tables that were asked for; those that the trace does not have are not in `files`.
    pub asked: Vec<String>,
    /// Why there is nothing but the row in `traces`.
    pub error: Option<String>,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl State {
    /// The file of a trace's state.
    pub fn path(folder: &Path, id: &str) -> PathBuf {
        folder.join(format!("{id}.json"))
    }

    /// Reads it; `None` for one that cannot be read.
    pub fn read(folder: &Path, id: &str) -> Option<State> {
        serde_json::from_slice(&fs::read(State::path(folder, id)).ok()?).ok()
    }

    /// Files by table, those that this version knows.
    pub fn parts(&self) -> Vec<(Table, Vec<String>)> {
        let known = |(table, files): (&String, &Vec<String>)| Some((table.parse().ok()?, files.clone()));
        self.files.iter().filter_map(known).collect()
    }

    /// True when all of its tables have the rows and the form that they would have now.
    pub fn is_like(&self, other: &State) -> bool {
        let like = |state: &State| (state.version.clone(), state.format.clone(), state.code_page.clone());
        like(self) == like(other)
    }

    /// True when this state's tables and those of `other` may be mixed while they are replaced: the same rows,
    /// each table in one file.
    pub fn can_be_mixed_with(&self, other: &State) -> bool {
        let is_whole = |state: &State| state.error.is_none() && state.files.values().all(|files| files.len() == 1);
        self.is_like(other) && is_whole(self) && is_whole(other)
    }

    /// True when all of these tables were asked for, and the machine's name in this form.
    pub fn covers(&self, tables: &[Table], machine_names: bool) -> bool {
        self.machine_names == machine_names
            && tables.iter().all(|table| self.asked.iter().any(|asked| asked == table.name()))
    }
}
