//! A ready folder: tables of a trace that belong to the dataset, but are not in their places yet.
//!
//! Its name has the trace's name, its file [`STATE`] says what the trace has afterwards, and its other entries are tables with
//! parts. Nothing in it is a path. A folder is used only if all of it fits: each part of the state waits in it or is in its place
//! already, and nothing else is in it.

use crate::analysis::export::schema::Table;
use crate::dataset::identity::TraceId;
use crate::dataset::paths::Places;
use crate::dataset::table_files;
use crate::dataset::trace_state::State;
use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Beginning of the names of such folders.
pub const READY: &str = "ready-";

/// The file with the state.
pub const STATE: &str = "state.json";

/// A ready folder that fits the dataset.
#[derive(Debug)]
pub struct Ready {
    /// Its path.
    pub folder: PathBuf,
    /// The trace.
    pub id: TraceId,
    /// What the trace has afterwards.
    pub state: State,
    staged: BTreeMap<Table, Vec<String>>,
}

impl Ready {
    /// Reads a ready folder; `None` for one that was being removed.
    ///
    /// # Errors
    /// What does not fit.
    pub fn read(places: &Places, folder: &Path) -> Result<Option<Ready>, String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let id = name.strip_prefix(READY).and_then(TraceId::parse).ok_or("its name names no trace")?;
        if !fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir()) {
            return Err("it is a link or no folder".into());
        }
        let state = match State::read(&folder.join(STATE)) {
            Ok(state) => state,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{STATE}: {error}")),
        };
        let mut ready = Ready { folder: folder.to_owned(), id, state, staged: BTreeMap::new() };
        for entry in entries(folder)?.into_iter().filter(|entry| entry.file_name() != STATE) {
            ready.add_table(&entry)?;
        }
        ready.check(places)?;
        Ok(Some(ready))
    }

    /// Names of a table's parts that wait.
    pub fn staged(&self, table: Table) -> &[String] {
        self.staged.get(&table).map_or(&[], Vec::as_slice)
    }

    fn add_table(&mut self, entry: &DirEntry) -> Result<(), String> {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_table = |table: &Table| table.name() == name && self.state.parts.contains_key(table);
        let table = Table::ALL.into_iter().find(is_table).ok_or(format!("{name} is no table of its state"))?;
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return Err(format!("{name} is a link or no folder"));
        }
        let mut parts = Vec::new();
        for file in entries(&entry.path())? {
            let part = file.file_name().to_string_lossy().into_owned();
            let is_of_state = |(number, format)| number < self.state.parts_of(table) && format == self.state.format;
            if !table_files::of_file_name(&part).is_some_and(is_of_state) {
                return Err(format!("{name}/{part} is no part of its state"));
            }
            if !file.file_type().is_ok_and(|kind| kind.is_file()) {
                return Err(format!("{name}/{part} is a link or no file"));
            }
            parts.push(part);
        }
        self.staged.insert(table, parts);
        Ok(())
    }

    /// Checks that all parts are there, and that they can come into their places.
    fn check(&self, places: &Places) -> Result<(), String> {
        let Ready { id, state, .. } = self;
        if state.parts_of(Table::Traces) == 0 {
            return Err("its state has no row in traces".into());
        }
        for table in Table::ALL {
            let partition = places.partition(table, id).map_err(|error| with_cause(&error))?;
            let staged = self.staged(table);
            for number in 0..state.parts_of(table) {
                let name = table_files::file_name(number, state.format);
                let to = partition.as_ref().map(|folder| folder.join(&name));
                let waits = staged.binary_search(&name).is_ok();
                if !waits && !to.as_deref().is_some_and(table_files::is_there) {
                    return Err(format!("{}/{name} of its state is missing", table.name()));
                }
                if let Some(to) = to.filter(|to| fs::symlink_metadata(to).is_ok_and(|data| data.is_dir())) {
                    return Err(format!("{} is a folder", to.display()));
                }
            }
        }
        let to = places.state(id).map_err(|error| with_cause(&error))?;
        if to.is_dir() { Err(format!("{} is a folder", to.display())) } else { Ok(()) }
    }
}

/// An error of a path in the dataset, with its cause.
fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<DirEntry>, String> {
    let read = || fs::read_dir(folder)?.collect::<Result<Vec<DirEntry>, _>>();
    let mut entries = read().map_err(|error| format!("{}: {error}", folder.display()))?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}
