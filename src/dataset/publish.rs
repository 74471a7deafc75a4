//! Staged parts become parts of the dataset: all tables of a trace or none.
//!
//! Several files cannot be renamed at once, so a journal is used. The staged folder gets a plan of all steps, and then another
//! name, `ready-…`. With this one rename its parts belong to the dataset. Then each part is moved into its place, by a rename
//! that replaces the old part. A process that is killed meanwhile leaves the ready folder. The next process that opens the
//! dataset finishes the plan; this works because each step can be done twice. A lock of the dataset lets only one process
//! publish at a time.
//!
//! Readers do not know the journal. For them the row in `traces` says that a trace is there, so it comes after all other tables
//! of a trace. Where new tables differ from the old ones, the row is removed first, so that a listed trace never has both old
//! and new tables.

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

/// Beginning of the names of folders whose parts belong to the dataset.
const READY: &str = "ready-";
const PLAN: &str = "plan.json";

/// What has to be done.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    id: String,
    /// Files by table; other files of these tables' partitions go.
    put: BTreeMap<String, Vec<String>>,
    /// Tables whose partition is removed.
    drop: Vec<String>,
    /// The row in `traces` goes first, because the tables are others than before.
    #[serde(default)]
    unlist: bool,
    /// Of the trace, when all of it is done.
    state: State,
}

/// A step of publishing. Each can be done twice.
#[derive(Debug)]
enum Step {
    /// A part comes into its place, over the one before.
    Put { from: PathBuf, to: PathBuf },
    /// All parts of a partition go but those.
    RemoveBut(PathBuf, Vec<String>),
    /// All parts of a partition go, as long as this file waits to come into it.
    MakeRoomFor(PathBuf, PathBuf),
    /// A folder goes if nothing is in it.
    RemoveEmpty(PathBuf),
    /// A folder goes.
    RemoveAll(PathBuf),
}

impl Step {
    fn run(&self) -> Result<(), Error> {
        match self {
            Step::Put { from, to } => {
                let folder = to.parent().unwrap_or(to);
                fs::create_dir_all(folder).map_err(not_written(folder))?;
                unless_done(fs::rename(from, to)).map_err(not_written(to))
            }
            Step::RemoveBut(partition, files) => remove_parts(partition, files),
            Step::MakeRoomFor(waiting, partition) if waiting.exists() => remove_parts(partition, &[]),
            Step::MakeRoomFor(..) => Ok(()),
            Step::RemoveEmpty(folder) => {
                let _ = fs::remove_dir(folder); // something that is no part lies there
                Ok(())
            }
            Step::RemoveAll(folder) => unless_done(fs::remove_dir_all(folder)).map_err(not_written(folder)),
        }
    }
}

/// Makes staged parts parts of the dataset. `drop` are tables that the trace has no more.
///
/// # Errors
/// [`Error::NotWritten`]. Unless only the moving failed, nothing has changed.
pub fn publish(dataset: &Dataset, staged: Staged, id: &str, drop: &[Table], state: State) -> Result<(), Error> {
    let Staged { folder, lock, files, .. } = staged;
    let put = files.iter().map(|(table, files)| (table.name().to_owned(), files.clone())).collect();
    let drop = drop.iter().map(|table| table.name().to_owned()).collect();
    let mut plan = Plan { id: id.to_owned(), put, drop, unlist: true, state };
    let ready = ready_of(&folder);
    match make_ready(dataset, &mut plan, &folder, &ready) {
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

/// Writes the plan, and gives the folder its other name. Returns the lock of the dataset.
fn make_ready(dataset: &Dataset, plan: &mut Plan, folder: &Path, ready: &Path) -> Result<File, Error> {
    let one_at_a_time = lock_dataset(dataset)?;
    // What another run left would come over these parts later.
    finish_ready(dataset)?;
    plan.unlist = dataset.state(&plan.id).is_none_or(|before| !before.can_be_mixed_with(&plan.state));
    prepare(dataset, plan, folder)?;
    fs::rename(folder, ready).map_err(not_written(ready))?;
    Ok(one_at_a_time)
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
    steps(dataset, ready, plan).iter().try_for_each(Step::run)
}

/// What has to be done with a ready folder, in this order.
fn steps(dataset: &Dataset, ready: &Path, plan: &Plan) -> Vec<Step> {
    let partition = |table: Table| dataset.partition(table, &plan.id);
    let files = |table: Table| plan.put.get(table.name()).map_or(&[][..], Vec::as_slice);
    let staged = |table: Table, file: &str| ready.join(table.name()).join(file);
    let mut steps = Vec::new();
    if plan.unlist {
        let waiting = files(Table::Traces).iter().map(|file| staged(Table::Traces, file));
        steps.extend(waiting.map(|file| Step::MakeRoomFor(file, partition(Table::Traces))));
    }
    let drop = tables(plan.drop.iter()).map(&partition);
    steps.extend(drop.flat_map(|folder| [Step::RemoveBut(folder.clone(), Vec::new()), Step::RemoveEmpty(folder)]));
    // In the order of the list: `traces` is the last.
    for table in Table::ALL.into_iter().filter(|table| plan.put.contains_key(table.name())) {
        let put = |file: &String| Step::Put { from: staged(table, file), to: partition(table).join(file) };
        steps.extend(files(table).iter().map(put));
        steps.push(Step::RemoveBut(partition(table), files(table).to_vec()));
    }
    steps.push(Step::Put { from: ready.join(state_name(plan)), to: State::path(&dataset.states(), &plan.id) });
    steps.push(Step::RemoveAll(ready.to_path_buf()));
    steps
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

/// True when no process holds the lock of a staged folder. It is made and taken under the lock of the dataset, so one that is not
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
    use crate::analysis::export::{Sink, column_batches::ColumnBatches};
    use crate::dataset::Format;

    /// A dataset with one trace whose tables are files of one line, published up to some step.
    fn published(folder: &Path, version: &str, tables: &[Table], stop_after: Option<usize>) -> Dataset {
        let dataset = Dataset::open(folder, Format::Csv, version).unwrap();
        let staging = dataset.stage().unwrap();
        tables.iter().for_each(|table| ColumnBatches::new(*table, &staging as &dyn Sink).finish().unwrap());
        let staged = staging.finish().unwrap();
        for (table, names) in &staged.files {
            for name in names {
                fs::write(staged.folder.join(table.name()).join(name), version).unwrap();
            }
        }
        let drop: Vec<Table> = Table::ALL.into_iter().filter(|table| !tables.contains(table)).collect();
        let names = |table: &Table| (table.name().to_owned(), staged.files[table].clone());
        let state = State { version: version.into(), files: tables.iter().map(names).collect(), ..State::default() };
        let Some(stop_after) = stop_after else {
            publish(&dataset, staged, "t1", &drop, state).unwrap();
            return dataset;
        };
        // What `publish` does before it is killed.
        let Staged { folder, lock, files, .. } = staged;
        let put = files.iter().map(|(table, files)| (table.name().to_owned(), files.clone())).collect();
        let drop = drop.iter().map(|table| table.name().to_owned()).collect();
        let mut plan = Plan { id: "t1".into(), put, drop, unlist: false, state };
        let ready = ready_of(&folder);
        if stop_after == 0 {
            prepare(&dataset, &plan, &folder).unwrap();
        } else {
            std::mem::drop(make_ready(&dataset, &mut plan, &folder, &ready).unwrap());
            steps(&dataset, &ready, &plan).iter().take(stop_after - 1).for_each(|step| step.run().unwrap());
        }
        std::mem::drop(lock);
        dataset
    }

    fn versions(dataset: &Dataset) -> BTreeMap<&'static str, String> {
        let part = |table: Table| dataset.partition(table, "t1").join("part-0.csv");
        let read = |table: Table| Some((table.name(), fs::read_to_string(part(table)).ok()?));
        Table::ALL.into_iter().filter_map(read).collect()
    }

    /// Tables by version: of a trace that is listed all are of one version, at any moment.
    fn check_what_readers_see(dataset: &Dataset, versions_there: &[&str]) {
        let now = versions(dataset);
        if let Some(listed) = now.get("traces") {
            assert!(now.values().all(|version| version == listed), "{now:?}");
            assert!(versions_there.contains(&listed.as_str()), "{now:?}");
        }
    }

    #[test]
    fn whoever_comes_next_finishes_what_was_made_ready_and_nothing_else() {
        let (before, after) = ([Table::Files, Table::Cpu, Table::Traces], [Table::Files, Table::Ranges, Table::Traces]);
        let mut unlisted = 0;
        for stop_after in 0..=50 {
            let folder = tempfile::tempdir().unwrap();
            let dataset = published(folder.path(), "1", &before, None);
            assert_eq!(versions(&dataset).into_keys().collect::<Vec<_>>(), ["cpu", "files", "traces"]);
            published(folder.path(), "2", &after, Some(stop_after));
            check_what_readers_see(&dataset, &["1", "2"]);
            unlisted += u32::from(!versions(&dataset).contains_key("traces"));
            let dataset = Dataset::open(folder.path(), Format::Csv, "3").unwrap();
            let (version, tables) = if stop_after == 0 { ("1", before) } else { ("2", after) };
            let expected = tables.map(|table| (table.name(), version.to_owned()));
            assert_eq!(versions(&dataset), BTreeMap::from(expected), "after {stop_after} steps");
            assert_eq!(dataset.state("t1").map(|state| state.version).as_deref(), Some(version));
            assert_eq!(fs::read_dir(dataset.work()).unwrap().count(), 0);
        }
        assert!((3..45).contains(&unlisted), "{unlisted}");
    }

    #[test]
    fn a_trace_with_the_same_rows_again_stays_listed() {
        let tables = [Table::Files, Table::Cpu, Table::Traces];
        for stop_after in 0..=50 {
            let folder = tempfile::tempdir().unwrap();
            published(folder.path(), "1", &tables, None);
            let dataset = published(folder.path(), "1", &tables[1..], Some(stop_after));
            assert_eq!(versions(&dataset)["traces"], "1", "after {stop_after} steps");
        }
    }

    #[test]
    fn parts_that_are_no_more_go() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = published(folder.path(), "1", &[Table::Files, Table::Traces], None);
        let further = dataset.partition(Table::Files, "t1").join("part-1.csv");
        fs::write(&further, "1").unwrap();
        published(folder.path(), "1", &[Table::Files, Table::Traces], None);
        assert!(!further.exists());
    }

    #[test]
    fn who_is_alive_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        let staging = dataset.stage().unwrap();
        Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        ColumnBatches::new(Table::Files, &staging as &dyn Sink).finish().unwrap();
        let staged = staging.finish().unwrap();
        Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        publish(&dataset, staged, "t1", &[], State::default()).unwrap();
        assert_eq!(versions(&dataset).into_keys().collect::<Vec<_>>(), ["files"]);
    }
}
