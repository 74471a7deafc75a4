//! Staged parts become parts of the dataset: all tables of a trace or none.
//!
//! Tables are folders that hold a folder for each trace, so a trace's tables cannot come into their places with one rename. One
//! rename decides all the same: the staged folder gets the state that the trace has afterwards, and then another name,
//! `ready-ID`. With this its parts belong to the dataset. Then each part is moved into its place, by a rename that replaces the
//! old part. A process that is killed meanwhile leaves the ready folder. The next process that opens the dataset finishes it.
//! There is no list of what remains to be done: [`ready`](crate::dataset::ready_folder) finds it from what lies where. A lock of the
//! dataset lets only one process publish at a time.
//!
//! Readers do not know of this. For them the row in `traces` says that a trace is there, so it comes after all other tables
//! of a trace. Where new tables differ from the old ones, the row is removed first, so that a listed trace never has both old
//! and new tables.

use crate::analysis::export::schema::Table;
use crate::dataset::format::Format;
use crate::dataset::identity::TraceId;
use crate::dataset::paths::Places;
use crate::dataset::ready_folder::{READY, Ready, STATE};
use crate::dataset::staging::{Staged, WRITING, lock_of};
use crate::dataset::table_files;
use crate::dataset::trace_state::State;
use crate::error::Error;
use std::collections::BTreeMap;
use std::fs::{self, DirEntry, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Something in the program's own folder that does not fit the dataset: it is left where it is, and nothing of it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its path.
    pub path: PathBuf,
    /// What does not fit.
    pub reason: String,
}

/// A step of publishing. Each can be done twice.
#[derive(Debug)]
enum Step {
    /// A part comes into the partition of its table, over the one before.
    Put { from: PathBuf, table: Table, name: String },
    /// All parts of a partition go but those of the new state.
    RemoveOld(Table),
    /// All parts of a partition go.
    RemoveAll(Table),
    /// The new state comes into its place.
    PutState,
    /// The ready folder goes.
    RemoveReady,
}

impl Step {
    fn run(&self, places: &Places, ready: &Ready) -> Result<(), Error> {
        let Ready { folder, id, state, .. } = ready;
        match self {
            Step::Put { from, table, name } => {
                let to = places.make_partition(*table, id)?.join(name);
                fs::rename(from, &to).map_err(Error::not_written(&to))
            }
            Step::RemoveOld(table) => {
                let is_new = |(number, format)| number < state.parts_of(*table) && format == state.format;
                remove_parts(places, *table, id, is_new)
            }
            Step::RemoveAll(table) => {
                remove_parts(places, *table, id, |_| false)?;
                if !state.parts.contains_key(table) {
                    places.remove_empty(*table, id);
                }
                Ok(())
            }
            Step::PutState => {
                let to = places.state(id)?;
                fs::rename(folder.join(STATE), &to).map_err(Error::not_written(&to))
            }
            Step::RemoveReady => unless_done(fs::remove_dir_all(folder)).map_err(Error::not_written(folder)),
        }
    }
}

/// What has to be done with a ready folder, in this order.
fn steps(places: &Places, ready: &Ready) -> Vec<Step> {
    let mut steps = Vec::new();
    let before = State::of(places, &ready.id);
    let must_unlist = before.is_none_or(|before| !before.can_be_mixed_with(&ready.state));
    // Only as long as the new row waits.
    if must_unlist && !ready.staged(Table::Traces).is_empty() {
        steps.push(Step::RemoveAll(Table::Traces));
    }
    let has = |table: &Table| ready.state.parts.contains_key(table);
    steps.extend(Table::ALL.into_iter().filter(|table| !has(table)).map(Step::RemoveAll));
    // In the order of the list: `traces` is the last.
    for table in Table::ALL.into_iter().filter(has) {
        for name in ready.staged(table) {
            steps.push(Step::Put { from: ready.folder.join(table.name()).join(name), table, name: name.clone() });
        }
        steps.push(Step::RemoveOld(table));
    }
    steps.extend([Step::PutState, Step::RemoveReady]);
    steps
}

/// Makes staged parts parts of the dataset. Of the tables before, those that the state does not have go.
///
/// # Errors
/// [`Error::NotWritten`]. Unless only the moving failed, nothing has changed.
pub fn publish(places: &Places, staged: Staged, id: &TraceId, state: &State) -> Result<(), Error> {
    let Staged { folder, lock, .. } = staged;
    match make_ready(places, &folder, id, state) {
        Ok((ready, _one_at_a_time)) => apply(places, &ready)?,
        Err(error) => {
            let _ = fs::remove_dir_all(&folder); // the error says what is wrong
            state.parts.keys().for_each(|table| places.remove_empty(*table, id));
            return Err(error);
        }
    }
    std::mem::drop(lock);
    Ok(())
}

/// Adds the state, and gives the folder its other name. Returns the lock of the dataset too.
fn make_ready(places: &Places, folder: &Path, id: &TraceId, state: &State) -> Result<(Ready, File), Error> {
    let one_at_a_time = lock_dataset(places)?;
    // What another run left would come over these parts later.
    finish_ready(places)?;
    prepare(places, folder, id, state)?;
    let path = places.work()?.join(format!("{READY}{id}"));
    remove_whatever(&path).map_err(Error::not_written(&path))?; // it was refused, and this is the same trace
    fs::rename(folder, &path).map_err(Error::not_written(&path))?;
    let reason = match Ready::read(places, &path) {
        Ok(Some(ready)) => return Ok((ready, one_at_a_time)),
        Ok(None) => "somebody else removes it".to_owned(),
        Err(reason) => reason,
    };
    let _ = remove_whatever(&path); // the error says what is wrong
    Err(Error::not_written(&path)(io::Error::new(ErrorKind::InvalidInput, reason)))
}

/// All that needs room on the disk.
fn prepare(places: &Places, folder: &Path, id: &TraceId, state: &State) -> Result<(), Error> {
    for table in state.parts.keys() {
        places.make_partition(*table, id)?;
    }
    let path = folder.join(STATE);
    let written = fs::write(&path, state.to_json()).and_then(|()| File::options().write(true).open(&path)?.sync_all());
    written.map_err(Error::not_written(&path))
}

/// Moves the parts of a ready folder into their places.
fn apply(places: &Places, ready: &Ready) -> Result<(), Error> {
    steps(places, ready).iter().try_for_each(|step| step.run(places, ready))
}

/// What is not there has been removed before.
fn unless_done(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Removes what is at a path; of a link itself.
fn remove_whatever(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => unless_done(fs::remove_dir_all(path)),
        Ok(_) => unless_done(fs::remove_file(path)),
        Err(error) => unless_done(Err(error)),
    }
}

/// Removes the parts of a partition but those.
fn remove_parts(places: &Places, table: Table, id: &TraceId, but: impl Fn((u32, Format)) -> bool) -> Result<(), Error> {
    let Some(partition) = places.partition(table, id)? else { return Ok(()) };
    for entry in fs::read_dir(&partition).map_err(Error::not_written(&partition))?.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let part = entry.file_name().to_str().and_then(table_files::of_file_name);
        if part.is_some_and(|part| !is_folder && !but(part)) {
            unless_done(fs::remove_file(entry.path())).map_err(Error::not_written(&entry.path()))?;
        }
    }
    Ok(())
}

/// The traces that a dataset has a state of.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn states(places: &Places) -> Result<Vec<TraceId>, Error> {
    let folder = places.states()?;
    let entries = fs::read_dir(&folder).map_err(Error::not_written(&folder))?.flatten();
    Ok(entries.filter_map(|entry| TraceId::parse(entry.path().file_stem()?.to_str()?)).collect())
}

/// Traces of a dataset that could not be read, by digests of the names of their files.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn unreadable(places: &Places) -> Result<BTreeMap<String, Vec<TraceId>>, Error> {
    let mut found: BTreeMap<String, Vec<TraceId>> = BTreeMap::new();
    for id in states(places)? {
        if let Some(file) = State::read(&places.state(&id)?).ok().and_then(|state| state.unreadable_file) {
            found.entry(file).or_default().push(id);
        }
    }
    Ok(found)
}

/// The traces of a dataset that are there in another form.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn of_other_form(places: &Places, format: Format) -> Result<BTreeMap<TraceId, Format>, Error> {
    let mut found = BTreeMap::new();
    for id in states(places)? {
        let other = State::read(&places.state(&id)?).ok().map(|state| state.format).filter(|other| *other != format);
        found.extend(other.map(|other| (id, other)));
    }
    Ok(found)
}

/// Removes a trace, if its state is still so. Its row in `traces` goes first, so that nobody sees a part of it.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn remove(places: &Places, id: &TraceId, is_due: impl Fn(&State) -> bool) -> Result<(), Error> {
    let _one_at_a_time = lock_dataset(places)?;
    let path = places.state(id)?;
    if !State::read(&path).is_ok_and(|state| is_due(&state)) {
        return Ok(());
    }
    for table in Table::ALL.into_iter().rev() {
        remove_parts(places, table, id, |_| false)?;
        places.remove_empty(table, id);
    }
    unless_done(fs::remove_file(&path)).map_err(Error::not_written(&path))
}

/// Waits until no other process publishes, recovers or begins to stage.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn lock_dataset(places: &Places) -> Result<File, Error> {
    let path = places.lock()?;
    let open = || File::options().create(true).truncate(false).write(true).open(&path);
    open().and_then(|file| file.lock().map(|()| file)).map_err(Error::not_written(&path))
}

/// What lies below `work`.
fn entries(places: &Places) -> Result<Vec<DirEntry>, Error> {
    let work = places.work()?;
    let mut entries: Vec<DirEntry> = fs::read_dir(&work).map_err(Error::not_written(&work))?.flatten().collect();
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

fn begins(entry: &DirEntry, prefix: &str) -> bool {
    entry.file_name().to_string_lossy().starts_with(prefix)
}

/// Finishes what other runs made ready, and returns what does not fit the dataset. The caller has the lock of the dataset.
fn finish_ready(places: &Places) -> Result<Vec<Refused>, Error> {
    let mut refused = Vec::new();
    for entry in entries(places)?.into_iter().filter(|entry| begins(entry, READY)) {
        let path = entry.path();
        match Ready::read(places, &path) {
            Ok(Some(ready)) => apply(places, &ready)?,
            // It was being removed: all is done.
            Ok(None) => fs::remove_dir_all(&path).map_err(Error::not_written(&path))?,
            Err(reason) => refused.push(Refused { path, reason }),
        }
    }
    Ok(refused)
}

/// Finishes what other runs made ready, and removes what they left unfinished. Returns what does not fit the dataset.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn recover(places: &Places) -> Result<Vec<Refused>, Error> {
    let _one_at_a_time = lock_dataset(places)?;
    let refused = finish_ready(places)?;
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for entry in entries(places)?.into_iter().filter(|entry| begins(entry, WRITING) && is_folder(entry)) {
        let path = entry.path();
        if is_left(&lock_of(&path)) {
            unless_done(fs::remove_dir_all(&path)).map_err(Error::not_written(&path))?;
        }
    }
    remove_locks(places)?;
    Ok(refused)
}

/// True when no process holds a lock. That of a staged folder is made and taken under the lock of the places, so one that is not there
/// had an owner.
pub fn is_left(lock: &Path) -> bool {
    if !table_files::is_there(lock) {
        return true;
    }
    match File::open(lock) {
        Ok(file) => !matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        // One that may not be opened may be held.
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Removes lock files whose folder is gone.
fn remove_locks(places: &Places) -> Result<(), Error> {
    for lock in entries(places)?.into_iter().map(|entry| entry.path()) {
        let is_lock = lock.extension().is_some_and(|extension| extension == "lock");
        if is_lock && !lock.with_extension("").exists() && is_left(&lock) {
            let _ = fs::remove_file(&lock); // the next run tries again
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::export::{Sink, column_batches::ColumnBatches};
    use crate::dataset::Dataset;
    use crate::dataset::tags::Tags;
    use crate::random_cases::one_in;

    fn id() -> TraceId {
        TraceId::parse("t0123456789abcdef0123").unwrap()
    }

    fn state(version: &str, tables: &[Table]) -> State {
        State {
            version: version.into(),
            format: Format::Csv,
            code_page: String::new(),
            machine_names: false,
            schema_version: 1,
            snapshots: String::new(),
            parts: tables.iter().map(|table| (*table, 1)).collect(),
            asked: tables.iter().copied().collect(),
            error: None,
            unreadable_file: None,
            tags: Tags::default(),
            name: None,
            file: None,
            events: None,
            symbols: None,
            symbols_missing: Vec::new(),
            doubts: Vec::new(),
            files: Vec::new(),
            session: None,
            rows: 0,
            bytes: 0,
        }
    }

    /// A dataset with one trace whose tables are files of one line, published up to some step.
    fn published(folder: &Path, version: &str, tables: &[Table], stop_after: Option<usize>) -> Dataset {
        let dataset = Dataset::open(folder, Format::Csv, version).unwrap();
        let staging = dataset.stage().unwrap();
        tables.iter().for_each(|table| ColumnBatches::new(*table, &staging as &dyn Sink).finish().unwrap());
        let staged = staging.finish().unwrap();
        for table in staged.parts.keys() {
            fs::write(staged.folder.join(table.name()).join("part-0.csv"), version).unwrap();
        }
        // Tables of the same version stay.
        let before = State::of(&dataset.places, &id()).filter(|before| before.version == version);
        let mut state = state(version, tables);
        state.parts.extend(before.iter().flat_map(|before| &before.parts));
        let Some(stop_after) = stop_after else {
            publish(&dataset.places, staged, &id(), &state).unwrap();
            return dataset;
        };
        // What `publish` does before it is killed.
        let Staged { folder, lock, .. } = staged;
        if stop_after == 0 {
            prepare(&dataset.places, &folder, &id(), &state).unwrap();
        } else {
            let (ready, _one_at_a_time) = make_ready(&dataset.places, &folder, &id(), &state).unwrap();
            let steps = steps(&dataset.places, &ready);
            steps.iter().take(stop_after - 1).for_each(|step| step.run(&dataset.places, &ready).unwrap());
        }
        std::mem::drop(lock);
        dataset
    }

    fn versions(dataset: &Dataset) -> BTreeMap<&'static str, String> {
        let part = |table: Table| Some(dataset.places.partition(table, &id()).unwrap()?.join("part-0.csv"));
        let read = |table: Table| Some((table.name(), fs::read_to_string(part(table)?).ok()?));
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
        // After the first step the row of the old tables is gone; after the last everything is done.
        let always = vec![0, 2, 50];
        let mut unlisted = Vec::new();
        for stop_after in [always, one_in(2, (1..=50).collect())].concat() {
            let folder = tempfile::tempdir().unwrap();
            let dataset = published(folder.path(), "1", &before, None);
            assert_eq!(versions(&dataset).into_keys().collect::<Vec<_>>(), ["cpu", "files", "traces"]);
            published(folder.path(), "2", &after, Some(stop_after));
            check_what_readers_see(&dataset, &["1", "2"]);
            unlisted.extend((!versions(&dataset).contains_key("traces")).then_some(stop_after));
            let dataset = Dataset::open(folder.path(), Format::Csv, "3").unwrap();
            let (version, tables) = if stop_after == 0 { ("1", before) } else { ("2", after) };
            let expected = tables.map(|table| (table.name(), version.to_owned()));
            assert_eq!(versions(&dataset), BTreeMap::from(expected), "after {stop_after} steps");
            assert_eq!(State::of(&dataset.places, &id()).map(|state| state.version).as_deref(), Some(version));
            assert_eq!(entries(&dataset.places).unwrap().len(), 0);
        }
        assert!(unlisted.contains(&2) && !unlisted.contains(&50), "{unlisted:?}");
    }

    #[test]
    fn a_trace_with_the_same_rows_again_stays_listed() {
        let tables = [Table::Files, Table::Cpu, Table::Traces];
        for stop_after in [vec![0], one_in(2, (1..=50).collect())].concat() {
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
        let further = dataset.places.make_partition(Table::Files, &id()).unwrap().join("part-1.csv");
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
        ColumnBatches::new(Table::Traces, &staging as &dyn Sink).finish().unwrap();
        let staged = staging.finish().unwrap();
        Dataset::open(folder.path(), Format::Csv, "1").unwrap();
        publish(&dataset.places, staged, &id(), &state("1", &[Table::Traces])).unwrap();
        assert_eq!(versions(&dataset).into_keys().collect::<Vec<_>>(), ["traces"]);
    }
}
