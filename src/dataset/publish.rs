//! Staged parts become parts of the dataset: all tables of a trace or none.
//!
//! Several files cannot be renamed at once, so this goes by a journal. The staged folder gets a plan of what has to be done
//! and then another name, `ready-…`: with this one rename the parts belong to the dataset. Then they are moved into their
//! places, each by a rename that replaces the part before. Who is killed meanwhile leaves the ready folder, and whoever
//! opens the dataset next goes on where he stopped: each step can be done twice. One lock of the dataset lets only one
//! process publish at a time.

use crate::analysis::export::schema::Table;
use crate::dataset::staging::{Staged, WRITING, lock_of};
use crate::dataset::state::State;
use crate::dataset::{Dataset, not_written};
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How the names of folders begin whose parts belong to the dataset.
const READY: &str = "ready-";
const PLAN: &str = "plan.json";

/// What has to be done.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    id: String,
    /// Files by table; other files of these tables' partitions go.
    put: BTreeMap<String, Vec<String>>,
    /// Tables whose partition goes.
    drop: Vec<String>,
    /// Of the trace, when all of it is done.
    state: State,
}

/// Makes staged parts parts of the dataset. `drop` are tables that the trace has no more.
///
/// # Errors
/// [`Error::NotWritten`]. Unless only the moving failed, nothing has changed.
pub fn publish(dataset: &Dataset, staged: Staged, id: &str, drop: &[Table], state: State) -> Result<(), Error> {
    let Staged { folder, lock, files, .. } = staged;
    let put = files.iter().map(|(table, files)| (table.name().to_owned(), files.clone())).collect();
    let drop = drop.iter().map(|table| table.name().to_owned()).collect();
    let plan = Plan { id: id.to_owned(), put, drop, state };
    let ready = ready_of(&folder);
    let made_ready = || {
        prepare(dataset, &plan, &folder)?;
        let one_at_a_time = lock_dataset(dataset)?;
        // What another run left would come over these parts later.
        finish_ready(dataset)?;
        fs::rename(&folder, &ready).map_err(not_written(&ready))?;
        Ok(one_at_a_time)
    };
    match made_ready() {
        Ok(_one_at_a_time) => apply(dataset, &ready, &plan)?,
        Err(error) => {
            let _ = fs::remove_dir_all(&folder); // the error says what is wrong
            remove_empty(dataset, &plan);
            return Err(error);
        }
    }
    std::mem::drop(lock);
    Ok(())
}

fn ready_of(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!("{READY}{}", name.trim_start_matches(WRITING)))
}

/// All that needs room on the disk.
fn prepare(dataset: &Dataset, plan: &Plan, folder: &Path) -> Result<(), Error> {
    for table in tables(plan.put.keys()) {
        let partition = dataset.partition(table, &plan.id);
        fs::create_dir_all(&partition).map_err(not_written(&partition))?;
    }
    let write = |name: &str, bytes: Vec<u8>| {
        let path = folder.join(name);
        let written = fs::write(&path, bytes).and_then(|()| File::options().write(true).open(&path)?.sync_all());
        written.map_err(not_written(&path))
    };
    write(&state_name(plan), serde_json::to_vec(&plan.state).unwrap_or_default())?;
    write(PLAN, serde_json::to_vec(plan).unwrap_or_default())
}

/// The state's file as it is staged.
fn state_name(plan: &Plan) -> String {
    format!("{}.json", plan.id)
}

/// Tables by names; those that this version does not know are left alone.
fn tables<'n>(names: impl Iterator<Item = &'n String>) -> impl Iterator<Item = Table> {
    names.filter_map(|name| name.parse().ok())
}

/// Partitions that were made for nothing.
fn remove_empty(dataset: &Dataset, plan: &Plan) {
    for table in tables(plan.put.keys()) {
        // A folder that is not empty stays.
        let partition = dataset.partition(table, &plan.id);
        let _ = fs::remove_dir(&partition);
        let _ = partition.parent().map(fs::remove_dir);
    }
}

/// Moves the parts of a ready folder into their places.
fn apply(dataset: &Dataset, ready: &Path, plan: &Plan) -> Result<(), Error> {
    let of = |table: Table| plan.put.get(table.name()).map_or(&[][..], Vec::as_slice);
    // In the order of the list: who sees the row in `traces` sees the other tables too.
    for table in Table::ALL.into_iter().filter(|table| plan.put.contains_key(table.name())) {
        let partition = dataset.partition(table, &plan.id);
        fs::create_dir_all(&partition).map_err(not_written(&partition))?;
        for file in of(table) {
            let place = partition.join(file);
            unless_done(fs::rename(ready.join(table.name()).join(file), &place)).map_err(not_written(&place))?;
        }
        remove_parts(&partition, of(table))?;
    }
    for table in tables(plan.drop.iter()) {
        let partition = dataset.partition(table, &plan.id);
        remove_parts(&partition, &[])?;
        let _ = fs::remove_dir(&partition); // something that is no part lies there
    }
    let state = State::path(&dataset.states(), &plan.id);
    unless_done(fs::rename(ready.join(state_name(plan)), &state)).map_err(not_written(&state))?;
    fs::remove_dir_all(ready).map_err(not_written(ready))
}

/// What is not there has been moved or removed before.
fn unless_done(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Removes the parts of a partition but those.
fn remove_parts(partition: &Path, but: &[String]) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(partition) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("part-") && !but.iter().any(|file| *file == name) {
            unless_done(fs::remove_file(entry.path())).map_err(not_written(&entry.path()))?;
        }
    }
    Ok(())
}

/// Waits until no other process publishes, recovers or begins to stage.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn lock_dataset(dataset: &Dataset) -> Result<File, Error> {
    let path = dataset.folder.join(".pfnset").join("lock");
    let open = || File::options().create(true).truncate(false).write(true).open(&path);
    open().and_then(|file| file.lock().map(|()| file)).map_err(not_written(&path))
}

/// Folders below `work` whose names begin so.
fn folders(dataset: &Dataset, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dataset.work()).into_iter().flatten().flatten();
    let named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    entries.filter(named).map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Finishes what other runs made ready. The caller has the lock of the dataset.
fn finish_ready(dataset: &Dataset) -> Result<(), Error> {
    for ready in folders(dataset, READY) {
        let path = ready.join(PLAN);
        match fs::read(&path).and_then(|bytes| serde_json::from_slice(&bytes).map_err(io::Error::other)) {
            Ok(plan) => apply(dataset, &ready, &plan)?,
            // It was being removed: all is done.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::remove_dir_all(&ready).map_err(not_written(&ready))?;
            }
            Err(error) => return Err(not_written(&path)(error)),
        }
    }
    Ok(())
}

/// Finishes what other runs made ready, and removes what they left unfinished.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn recover(dataset: &Dataset) -> Result<(), Error> {
    let _one_at_a_time = lock_dataset(dataset)?;
    finish_ready(dataset)?;
    for folder in folders(dataset, WRITING).into_iter().filter(|folder| is_left(&lock_of(folder))) {
        unless_done(fs::remove_dir_all(&folder)).map_err(not_written(&folder))?;
    }
    remove_locks(dataset);
    Ok(())
}

/// True when nobody holds the lock of a staged folder. It is made and taken under the lock of the dataset, so one that is not
/// there had an owner.
fn is_left(lock: &Path) -> bool {
    match File::open(lock) {
        Ok(file) => !matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => true,
    }
}

/// Removes lock files whose folder is gone.
fn remove_locks(dataset: &Dataset) {
    let entries = fs::read_dir(dataset.work()).into_iter().flatten().flatten().map(|entry| entry.path());
    for lock in entries.filter(|path| path.extension().is_some_and(|extension| extension == "lock")) {
        if !lock.with_extension("").exists() && is_left(&lock) {
            let _ = fs::remove_file(&lock); // the next run tries again
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::export::{Sink, rows::Rows};
    use crate::dataset::Format;

    /// A dataset with one trace whose tables are files of one line, published up to some rename.
    fn published(folder: &Path, version: &str, tables: &[Table], steps: Option<usize>) -> Dataset {
        let dataset = Dataset::open(folder, Format::Csv, version).unwrap();
        let staging = dataset.stage().unwrap();
        tables.iter().for_each(|table| Rows::new(*table, &staging as &dyn Sink).finish().unwrap());
        let staged = staging.finish().unwrap();
        for (table, names) in &staged.files {
            for name in names {
                fs::write(staged.folder.join(table.name()).join(name), version).unwrap();
            }
        }
        let drop: Vec<Table> = Table::ALL.into_iter().filter(|table| !tables.contains(table)).collect();
        let names = |table: &Table| (table.name().to_owned(), staged.files[table].clone());
        let state = State { version: version.into(), files: tables.iter().map(names).collect(), ..State::default() };
        let Some(steps) = steps else {
            publish(&dataset, staged, "t1", &drop, state).unwrap();
            return dataset;
        };
        // What `publish` does before it is killed.
        let Staged { folder, lock, files, .. } = staged;
        let put = files.iter().map(|(table, files)| (table.name().to_owned(), files.clone())).collect();
        let drop = drop.iter().map(|table| table.name().to_owned()).collect();
        let plan = Plan { id: "t1".into(), put, drop, state };
        prepare(&dataset, &plan, &folder).unwrap();
        let ready = ready_of(&folder);
        if steps > 0 {
            fs::rename(&folder, &ready).unwrap();
        }
        for table in files.keys().take(steps.saturating_sub(1)) {
            let place = dataset.partition(*table, "t1").join("part-0.csv");
            fs::rename(ready.join(table.name()).join("part-0.csv"), place).unwrap();
        }
        std::mem::drop(lock);
        dataset
    }

    fn versions(dataset: &Dataset) -> BTreeMap<&'static str, String> {
        let part = |table: Table| dataset.partition(table, "t1").join("part-0.csv");
        let read = |table: Table| Some((table.name(), fs::read_to_string(part(table)).ok()?));
        Table::ALL.into_iter().filter_map(read).collect()
    }

    #[test]
    fn whoever_comes_next_finishes_what_was_made_ready_and_nothing_else() {
        let (before, after) = ([Table::Files, Table::Cpu, Table::Traces], [Table::Files, Table::Ranges, Table::Traces]);
        for steps in 0..=4 {
            let folder = tempfile::tempdir().unwrap();
            let dataset = published(folder.path(), "1", &before, None);
            assert_eq!(versions(&dataset).into_keys().collect::<Vec<_>>(), ["cpu", "files", "traces"]);
            published(folder.path(), "2", &after, Some(steps));
            let dataset = Dataset::open(folder.path(), Format::Csv, "3").unwrap();
            let (version, tables) = if steps == 0 { ("1", before) } else { ("2", after) };
            let expected = tables.map(|table| (table.name(), version.to_owned()));
            assert_eq!(versions(&dataset), BTreeMap::from(expected), "after {steps} steps");
            assert_eq!(dataset.state("t1").map(|state| state.version).as_deref(), Some(version));
            assert_eq!(fs::read_dir(dataset.work()).unwrap().count(), 0);
        }
    }

    #[test]
    fn who_is_alive_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        let staging = dataset.stage().unwrap();
        Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        Rows::new(Table::Files, &staging as &dyn Sink).finish().unwrap();
        let staged = staging.finish().unwrap();
        Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        publish(&dataset, staged, "t1", &[], State::default()).unwrap();
        assert_eq!(versions(&dataset).into_keys().collect::<Vec<_>>(), ["files"]);
    }
}
