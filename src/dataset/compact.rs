//! A copy of a dataset in few files. Engines open each file; of thousands of small traces this takes longer than the question.
//!
//! The copy is another folder, `DIR/TABLE/bundle=NAME/part-0.parquet`: a bundle has the traces of a month, or of a tag, and each
//! row says in the column `trace` whose it is. The copy is made beside its place and gets its name when all of it is there, by one rename;
//! in the dataset only what a killed export left is put in order, as each export does. So whoever reads one of the two folders has each
//! trace once, also when a run is killed.

use crate::analysis::export::arrow_schema::Layout;
use crate::analysis::export::schema::{SCHEMA_VERSION, Table};
use crate::dataset::bundle_rows::{Merged, Source};
use crate::dataset::format::Format;
use crate::dataset::identity::TraceId;
use crate::dataset::paths::{self, Places};
use crate::dataset::staging::lock_of;
use crate::dataset::table_files::{self, Part};
use crate::dataset::tags;
use crate::dataset::trace_state::State;
use crate::dataset::{COMPACTED, Dataset, Refused, publish, trace_rows};
use crate::error::Error;
use crate::input::refuse_remote;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the traces of a bundle have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The day on which the recording began, UTC: the first characters of `2026-11-23`.
    Date(usize),
    /// The value of a tag, by its column.
    Tag(String),
}

impl FromStr for By {
    type Err = String;

    fn from_str(name: &str) -> Result<By, String> {
        match name {
            "year" => Ok(By::Date(4)),
            "month" => Ok(By::Date(7)),
            "day" => Ok(By::Date(10)),
            name => match name.strip_prefix(tags::PREFIX).is_some_and(tags::is_key) {
                true => Ok(By::Tag(name.to_owned())),
                false => Err("expected year, month, day, or the column of a tag, as in tag_build".into()),
            },
        }
    }
}

/// What was made.
#[derive(Debug, Default, Clone)]
pub struct Compacted {
    /// Traces in it.
    pub traces: usize,
    /// Its files, and those of the dataset.
    pub files: (usize, usize),
    /// Bytes of its files.
    pub bytes: u64,
    /// What lies in the dataset and does not fit it.
    pub refused: Vec<Refused>,
}

/// A trace of the dataset.
struct Listed {
    id: TraceId,
    state: State,
    /// Values of its tags by column.
    tags: BTreeMap<String, String>,
    bundle: String,
}

/// How the names of unfinished copies begin.
const UNFINISHED: &str = ".pfnset-compact-";
/// How the names of their locks begin before they are held.
const BEGINNING: &str = ".pfnset-lock-";
/// Bytes of a value that are in the name of its bundle.
const LONGEST_VALUE: usize = 60;
/// Hive's name for a value that is not known.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// Copies the dataset `from` into the new folder `to`. Adds the bytes that were read to `done`.
///
/// # Errors
/// [`Error::Usage`]: `from` is no dataset of Parquet files of this version, or `to` is there already; [`Error::NotWritten`].
pub fn compact(from: &Path, to: &Path, by: &By, done: &AtomicU64) -> Result<Compacted, Error> {
    check(from, to)?;
    let dataset = Dataset::open(from, Format::Parquet, "")?;
    // Nobody moves parts meanwhile: whoever exports into the dataset waits.
    let _nobody_publishes = publish::lock_dataset(&dataset.places)?;
    let traces = listed(&dataset.places, by)?;
    if let By::Tag(column) = by
        && !traces.iter().any(|trace| trace.tags.contains_key(column))
    {
        let columns: BTreeSet<&str> = traces.iter().flat_map(|trace| trace.tags.keys()).map(String::as_str).collect();
        let known = match columns.is_empty() {
            true => "none has a tag".to_owned(),
            false => format!("tags are {}", columns.into_iter().collect::<Vec<_>>().join(", ")),
        };
        return Err(Error::Usage(format!("no trace of {} has {column}: {known}", from.display())));
    }
    let beside = Beside::new(to)?;
    let compacted = write(&dataset.places, &traces, &beside.folder, done)?;
    beside.keep(to)?;
    Ok(Compacted { refused: dataset.refused, ..compacted })
}

/// Looks whether a dataset can be copied to a place.
///
/// # Errors
/// [`Error::Usage`]: it cannot; [`Error::NotWritten`].
pub fn check(from: &Path, to: &Path) -> Result<(), Error> {
    refuse_remote(from)?;
    refuse_remote(to)?;
    if from.join(paths::OWN).join(COMPACTED).exists() {
        return Err(Error::Usage(format!(
            "{} is itself a copy in few files: name the dataset that it was made of",
            from.display()
        )));
    }
    if !from.join(paths::OWN).join("traces").is_dir() {
        return Err(Error::Usage(format!("{} is no dataset that pfnset export made", from.display())));
    }
    let is_empty = |path: &Path| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if fs::symlink_metadata(to).is_ok() && !is_empty(to) {
        return Err(Error::Usage(format!("{} is there already; name a new folder for the copy", to.display())));
    }
    let absolute = std::path::absolute(to).map_err(Error::not_written(to))?;
    // The nearest folder that is there, without links and `..`.
    let there = absolute.ancestors().skip(1).find_map(|above| Some((above, above.canonicalize().ok()?)));
    let rest = there.as_ref().and_then(|(above, _)| absolute.strip_prefix(above).ok()).unwrap_or(&absolute);
    if rest.components().any(|part| part == Component::ParentDir) {
        return Err(Error::Usage(format!("{}: name the folder of the copy without ..", to.display())));
    }
    let from = from.canonicalize().map_err(Error::not_written(from))?;
    match there.is_some_and(|(_, above)| above.starts_with(from)) {
        true => Err(Error::Usage(format!("{} lies in the dataset; name a folder beside it", to.display()))),
        false => Ok(()),
    }
}

/// The traces of a dataset by name, with their bundles.
fn listed(places: &Places, by: &By) -> Result<Vec<Listed>, Error> {
    let folder = places.folder.join(Table::Traces.name());
    let entries = fs::read_dir(&folder).map_err(Error::not_written(&folder))?;
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let names = entries.map(name).collect::<io::Result<Vec<String>>>().map_err(Error::not_written(&folder))?;
    let ids = names.iter().filter_map(|name| name.strip_prefix("trace=").and_then(TraceId::parse));
    let ids: BTreeSet<TraceId> = ids.collect();
    let of = |id: TraceId| {
        let not =
            |why: &str| Error::Usage(format!("trace {id} of {}: {why}; export it again", places.folder.display()));
        let state = State::of(places, &id).ok_or_else(|| not("files are missing"))?;
        if state.format != Format::Parquet {
            return Err(not(&format!("its files are {}, not parquet", state.format.name())));
        }
        if state.schema_version != SCHEMA_VERSION {
            return Err(not("its tables are of another version"));
        }
        let path = part_of(places, Table::Traces, &id, 0)?;
        let row = trace_rows::read(&path)?;
        let bundle = match by {
            By::Date(characters) => row.day.as_deref().and_then(|day| day.get(..*characters)),
            By::Tag(column) => row.tags.get(column).map(String::as_str),
        };
        let bundle = bundle.map_or_else(|| UNKNOWN.to_owned(), escaped);
        Ok(Listed { id, state, tags: row.tags, bundle })
    };
    ids.into_par_iter().map(of).collect()
}

fn part_of(places: &Places, table: Table, id: &TraceId, number: u32) -> Result<PathBuf, Error> {
    let missing = || Error::not_written(&places.folder)(io::ErrorKind::NotFound.into());
    Ok(places.partition(table, id)?.ok_or_else(missing)?.join(table_files::file_name(number, Format::Parquet)))
}

/// A value in the name of a folder, as Hive writes it: other characters than these as % and two hexadecimal digits.
fn escaped(value: &str) -> String {
    // 255 bytes is the longest name of a file: longer values share a bundle with those that begin the same.
    let ends = value.char_indices().map(|(at, c)| at + c.len_utf8());
    let value =
        ends.take_while(|end| *end <= LONGEST_VALUE).last().and_then(|end| value.get(..end)).unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_plain_point = |at: usize, byte: u8| byte == b'.' && at > 0 && at + 1 < value.len();
    let one = |(at, byte): (usize, u8)| match plain(byte) || is_plain_point(at, byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    value.bytes().enumerate().map(one).collect()
}

fn write(places: &Places, traces: &[Listed], folder: &Path, done: &AtomicU64) -> Result<Compacted, Error> {
    let tags: BTreeSet<&String> = traces.iter().flat_map(|trace| trace.tags.keys()).collect();
    let tags: Vec<String> = tags.into_iter().cloned().collect();
    // Folders of Windows and macOS do not tell capital letters apart, and the copy may get there later.
    let mut bundles: BTreeMap<String, Vec<&Listed>> = BTreeMap::new();
    traces.iter().for_each(|trace| bundles.entry(trace.bundle.to_ascii_lowercase()).or_default().push(trace));
    let files = traces.iter().flat_map(|trace| trace.state.parts.values()).map(|parts| *parts as usize).sum();
    let mut compacted = Compacted { traces: traces.len(), files: (0, files), ..Compacted::default() };
    for traces in bundles.into_values() {
        let name = traces.iter().map(|trace| trace.bundle.as_str()).min().unwrap_or(UNKNOWN);
        let of_table = |table: Table| {
            bundle_table(places, table, &traces, &tags, &folder.join(table.name()).join(format!("bundle={name}")), done)
        };
        let written: Vec<Option<u64>> = Table::ALL.into_par_iter().map(of_table).collect::<Result<_, Error>>()?;
        compacted.files.0 += written.iter().flatten().count();
        compacted.bytes += written.iter().flatten().sum::<u64>();
    }
    Ok(compacted)
}

/// Writes a table of a bundle and returns its size; `None` where no trace has it.
fn bundle_table(
    places: &Places,
    table: Table,
    traces: &[&Listed],
    tags: &[String],
    folder: &Path,
    done: &AtomicU64,
) -> Result<Option<u64>, Error> {
    let further = tags.iter().filter(|_| table == Table::Traces);
    let further = further.map(|name| tags::column(name.strip_prefix(tags::PREFIX).unwrap_or(name)));
    let trace = (table_files::TRACE_COLUMN.to_owned(), "The trace, as other tables name it".to_owned());
    let layout = Layout { table, further: further.chain([trace]).collect() };
    let mut open: Option<(Part, Merged)> = None;
    for trace in traces.iter().filter(|trace| trace.state.parts_of(table) > 0) {
        let (part, rows) = match &mut open {
            Some(open) => open,
            none => none.insert((Part::new(layout.clone(), folder, Format::Parquet)?, Merged::new(layout.clone()))),
        };
        let texts: Vec<Option<String>> = layout
            .further
            .iter()
            .map(|(name, _)| match name.as_str() {
                table_files::TRACE_COLUMN => Some(trace.id.to_string()),
                name => trace.tags.get(name).cloned(),
            })
            .collect();
        for number in 0..trace.state.parts_of(table) {
            let path = part_of(places, table, &trace.id, number)?;
            done.fetch_add(fs::metadata(&path).map_or(0, |data| data.len()), Ordering::Relaxed);
            rows.add(&Source { path: &path, texts: &texts }, part)?;
        }
    }
    let Some((mut part, rows)) = open else { return Ok(None) };
    rows.finish(&mut part)?;
    part.finish()?;
    let path = folder.join(table_files::file_name(0, Format::Parquet));
    let file = File::options().write(true).open(&path).map_err(Error::not_written(&path))?;
    // What gets its name must be there after a power failure too.
    file.sync_all().map_err(Error::not_written(&path))?;
    Ok(Some(file.metadata().map_err(Error::not_written(&path))?.len()))
}

/// An unfinished copy, which is removed with its owner.
struct Beside {
    folder: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl Beside {
    /// Makes the folder. Its lock is there first, and is held before it has its name: another run never finds one without an owner.
    fn new(to: &Path) -> Result<Beside, Error> {
        let to = std::path::absolute(to).map_err(Error::not_written(to))?;
        let parent = to.parent().unwrap_or(&to);
        fs::create_dir_all(parent).map_err(Error::not_written(parent))?;
        remove_left(parent);
        let mut builder = tempfile::Builder::new();
        // Runs of other users must see that it is held.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let new = builder.prefix(BEGINNING).tempfile_in(parent).map_err(Error::not_written(parent))?;
        new.as_file().lock().map_err(Error::not_written(new.path()))?;
        let random = new.path().file_name().unwrap_or_default().to_string_lossy().replace(BEGINNING, "");
        let folder = parent.join(format!("{UNFINISHED}{random}"));
        let lock = lock_of(&folder);
        let locked = new.persist_noclobber(&lock).map_err(|error| Error::not_written(&lock)(error.error))?;
        let beside = Beside { folder, lock, _locked: locked };
        let own = beside.folder.join(paths::OWN);
        let made = fs::create_dir(&beside.folder).and_then(|()| fs::create_dir(&own));
        let marked = made.and_then(|()| fs::write(own.join(COMPACTED), "{}\n"));
        marked.map_err(Error::not_written(&own))?;
        Ok(beside)
    }

    /// Gives the copy its name.
    fn keep(self, to: &Path) -> Result<(), Error> {
        let _ = fs::remove_dir(to); // an empty one may be there
        fs::rename(&self.folder, to).map_err(Error::not_written(to))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder); // it has its name, or the next run removes it
        let _ = fs::remove_file(&self.lock);
    }
}

/// Removes unfinished copies of runs that were killed: nobody holds their lock.
fn remove_left(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_copy = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let lock = lock_of(&path.with_extension(""));
        if !is_copy || !table_files::is_there(&lock) || !publish::is_left(&lock) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir_all(&path);
        }
        // Of a copy that has got its name, only the lock is left.
        if !path.with_extension("").exists() {
            let _ = fs::remove_file(&lock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_make_names_of_folders_that_lead_nowhere_else() {
        for (value, name) in [
            ("26100.1", "26100.1"),
            ("../x", "%2E.%2Fx"),
            ("..", "%2E%2E"),
            ("a=b c%", "a%3Db%20c%25"),
            ("Ä", "%C3%84"),
        ] {
            assert_eq!(escaped(value), name);
        }
        assert!(escaped(&"/".repeat(256)).len() < 200);
        // Windows drops a point at the end; half a character is no text.
        let long = |end: &str| format!("{}{end}", "a".repeat(59));
        assert_eq!(escaped(&long(".1")), long("%2E"));
        assert_eq!(escaped(&long("Ä")), long(""));
        assert_eq!("month".parse(), Ok(By::Date(7)));
        assert_eq!("tag_build".parse(), Ok(By::Tag("tag_build".into())));
        assert!("build".parse::<By>().is_err() && "tag_../x".parse::<By>().is_err());
    }
}
