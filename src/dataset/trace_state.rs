//! What a dataset has of a trace: from which version of the program, in which form, which tables in how many parts.
//! `--resume` uses it, and what is moved into the dataset follows from it.
//!
//! The file may come from anywhere. It holds no paths: tables are those of this version or it is not read, and the names of
//! parts are made from numbers.

use crate::analysis::export::schema::Table;
use crate::dataset::format::Format;
use crate::dataset::identity::TraceId;
use crate::dataset::paths::Places;
use crate::dataset::session::Session;
use crate::dataset::table_files;
use crate::dataset::tags::Tags;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Longest file of a state that is read; most of it is the text of an error.
const MOST_BYTES: u64 = 1 << 20;

/// Doubts that are kept: a trace has a few.
pub const MOST_DOUBTS: usize = 50;

/// The state of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct State {
    /// Version of the program that wrote the tables.
    pub version: String,
    /// Their form.
    pub format: Format,
    /// The encoding of 8-bit names.
    pub code_page: String,
    /// True when the machine's name itself was written.
    pub machine_names: bool,
    /// Version of the tables' columns.
    pub schema_version: u32,
    /// Which snapshots' pages and ranges.
    pub snapshots: String,
    /// Number of parts by table.
    pub parts: BTreeMap<Table, u32>,
    /// Tables that were asked for; those that the trace does not have are not in `parts`.
    pub asked: BTreeSet<Table>,
    /// Why there is nothing but the row in `traces`.
    pub error: Option<String>,
    /// A digest of `traces.trace_file` of a trace that could not be read.
    pub unreadable_file: Option<String>,
    /// What the user said of the trace.
    pub tags: Tags,
    /// The name that the user gave it; `None` where it has its path.
    pub name: Option<String>,
    /// A digest of `traces.trace_file`; `None` in a state of a version before.
    pub file: Option<String>,
    /// Names of the records in `events`; `None` where it was not asked for.
    pub events: Option<String>,
    /// A digest of the folders in which symbol files were looked for; `None` where `stacks` was not asked for.
    pub symbols: Option<String>,
    /// What was missing of symbols when `stacks` was written, at most [`MOST_DOUBTS`].
    pub symbols_missing: Vec<String>,
    /// What makes numbers of its tables wrong, at most [`MOST_DOUBTS`].
    pub doubts: Vec<String>,
    /// Names that its files have as traces of their own; none in a state of a version before.
    pub files: Vec<TraceId>,
    /// Its session, where it is one file.
    pub session: Option<Session>,
    /// Rows of the tables that the last export wrote.
    pub rows: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

/// The state in its file: names instead of values.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    version: String,
    format: String,
    code_page: String,
    machine_names: bool,
    schema_version: u32,
    snapshots: String,
    parts: BTreeMap<String, u32>,
    asked: Vec<String>,
    error: Option<String>,
    #[serde(default)]
    unreadable_file: Option<String>,
    #[serde(default)]
    tags: Tags,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    events: Option<String>,
    #[serde(default)]
    symbols: Option<String>,
    #[serde(default)]
    symbols_missing: Vec<String>,
    #[serde(default)]
    doubts: Vec<String>,
    #[serde(default)]
    files: Vec<TraceId>,
    #[serde(default)]
    session: Option<Session>,
    rows: u64,
    bytes: u64,
}

impl From<State> for Stored {
    fn from(state: State) -> Stored {
        let State { parts, asked, format, .. } = state;
        Stored {
            version: state.version,
            format: format.name().to_owned(),
            code_page: state.code_page,
            machine_names: state.machine_names,
            schema_version: state.schema_version,
            snapshots: state.snapshots,
            parts: parts.into_iter().map(|(table, parts)| (table.name().to_owned(), parts)).collect(),
            asked: asked.into_iter().map(|table| table.name().to_owned()).collect(),
            error: state.error,
            unreadable_file: state.unreadable_file,
            tags: state.tags,
            name: state.name,
            file: state.file,
            events: state.events,
            symbols: state.symbols,
            symbols_missing: state.symbols_missing,
            doubts: state.doubts,
            files: state.files,
            session: state.session,
            rows: state.rows,
            bytes: state.bytes,
        }
    }
}

impl TryFrom<Stored> for State {
    type Error = String;

    fn try_from(stored: Stored) -> Result<State, String> {
        let Stored { parts, asked, format, .. } = stored;
        let table = |name: &str| name.parse::<Table>();
        let parts = parts.iter().map(|(name, parts)| Ok((table(name)?, *parts)));
        Ok(State {
            version: stored.version,
            format: Format::of_name(&format).ok_or_else(|| format!("unknown form \"{format}\""))?,
            code_page: stored.code_page,
            machine_names: stored.machine_names,
            schema_version: stored.schema_version,
            snapshots: stored.snapshots,
            parts: parts.collect::<Result<_, String>>()?,
            asked: asked.iter().map(|name| table(name)).collect::<Result<_, String>>()?,
            error: stored.error,
            unreadable_file: stored.unreadable_file,
            tags: stored.tags,
            name: stored.name,
            file: stored.file,
            events: stored.events,
            symbols: stored.symbols,
            symbols_missing: stored.symbols_missing,
            doubts: stored.doubts,
            files: stored.files,
            session: stored.session,
            rows: stored.rows,
            bytes: stored.bytes,
        })
    }
}

impl State {
    /// What a dataset has of a trace, as long as all of its files are there.
    pub fn of(places: &Places, id: &TraceId) -> Option<State> {
        let state = State::read(&places.state(id).ok()?).ok()?;
        state.all_files(places, id, table_files::is_there).then_some(state)
    }

    /// True where none of its files was cut.
    pub fn has_whole_files(&self, places: &Places, id: &TraceId) -> bool {
        self.all_files(places, id, |path| table_files::is_whole(path, self.format))
    }

    fn all_files(&self, places: &Places, id: &TraceId, is_fine: impl Fn(&Path) -> bool) -> bool {
        let has = |table: Table, number: u32| {
            let partition = places.partition(table, id).ok().flatten();
            partition.is_some_and(|folder| is_fine(&folder.join(table_files::file_name(number, self.format))))
        };
        self.parts.iter().all(|(table, parts)| (0..*parts).all(|number| has(*table, number)))
    }

    /// Reads the state in a file of its own.
    ///
    /// # Errors
    /// Those of the system; a link, or a file that holds no state of this version.
    pub fn read(path: &Path) -> io::Result<State> {
        let data = fs::symlink_metadata(path)?;
        if !data.is_file() || data.len() > MOST_BYTES {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is a link or no small file"));
        }
        serde_json::from_slice(&fs::read(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// Its bytes in a file.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default() // texts and numbers have no errors
    }

    /// Adds what makes numbers wrong, each once.
    pub fn add_doubts(&mut self, texts: Vec<String>) {
        for text in texts {
            if self.doubts.len() < MOST_DOUBTS && !self.doubts.contains(&text) {
                self.doubts.push(text);
            }
        }
    }

    /// How many parts a table has.
    pub fn parts_of(&self, table: Table) -> u32 {
        self.parts.get(&table).copied().unwrap_or(0)
    }

    /// True when all of its tables have the rows and the form that they would have now.
    pub fn is_like(&self, other: &State) -> bool {
        let texts = |state: &State| [&state.version, &state.code_page, &state.snapshots].map(String::clone);
        let like = |state: &State| (texts(state), state.format, state.schema_version);
        like(self) == like(other)
    }

    /// What of this state's tables is other than in `now`.
    pub fn other_than(&self, now: &State) -> String {
        let written = |what: String| format!("they were written {what}");
        match () {
            () if (&self.version, self.schema_version) != (&now.version, now.schema_version) => {
                written(format!("by pfnset {}", self.version))
            }
            () if self.format != now.format => written(format!("in the form {}", self.format.name())),
            () if self.snapshots != now.snapshots => written(format!("with the snapshots \"{}\"", self.snapshots)),
            () => written(format!("by the code page {}", self.code_page)),
        }
    }

    /// True when this state's tables and those of `other` may be mixed while they are replaced: the same rows,
    /// each table in one file.
    pub fn can_be_mixed_with(&self, other: &State) -> bool {
        let is_whole = |state: &State| state.error.is_none() && state.parts.values().all(|parts| *parts == 1);
        self.is_like(other) && is_whole(self) && is_whole(other)
    }

    /// True when all of these tables were asked for, with these tags, and the machine's name in this form.
    pub fn covers(&self, tables: &[Table], machine_names: bool, tags: &Tags) -> bool {
        self.machine_names == machine_names
            && self.tags == *tags
            && tables.iter().all(|table| self.asked.contains(table))
    }
}
