//! One trace into a dataset: from its path to its parts.

use crate::analysis::export::schema::Table;
use crate::analysis::export::{TraceFile, export, trace};
use crate::analysis::recording;
use crate::code_page::CodePage;
use crate::dataset::staging::Staging;
use crate::dataset::state::State;
use crate::dataset::{Dataset, publish};
use crate::error::Error;
use crate::etl::EtlFile;
use crate::input::UnpackLimits;
use sha2::{Digest, Sha256};
use std::cell::LazyCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Tables; `traces` is always among them.
    pub tables: Vec<Table>,
    /// Traces that are there already, from the same version and in the same form, are passed over.
    pub resume: bool,
    /// The machine's name is written as it is, not as a digest.
    pub machine_names: bool,
    /// The encoding of 8-bit names.
    pub code_page: CodePage,
}

/// What became of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its name in the dataset.
    pub id: String,
    /// Rows that it has there, in all tables.
    pub rows: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Tables.
    pub tables: usize,
    /// True when it was there already.
    pub passed_over: bool,
    /// Why it has nothing but a row in `traces`.
    pub error: Option<String>,
}

/// Hexadecimal digits of a digest in the name of a trace, after a letter: without it, engines could take the name for a
/// number.
const ID_DIGITS: usize = 20;

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id_of(digest: &str) -> String {
    format!("t{}", digest.get(..ID_DIGITS).unwrap_or(digest))
}

/// SHA-256 of a file, and its size.
fn digest(path: &Path) -> io::Result<(Sha256, u64)> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let (mut hasher, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok((hasher, bytes));
        }
        hasher.update(piece.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
}

/// A trace's name in the dataset, and what is known of its file. Of a trace in an archive of several, its name there counts
/// too; a file that cannot be read is known by its path.
fn identify(path: &Path, version: &str) -> (String, TraceFile) {
    let shown = path.display().to_string();
    let file = TraceFile { file: shown.clone(), digest: None, bytes: None, program_version: version.to_owned() };
    let (archive, member) = crate::input::split_member(path);
    match digest(&archive) {
        Ok((hasher, bytes)) => {
            let of_file = hex(hasher.clone().finalize());
            let id = match &member {
                None => id_of(&of_file),
                Some(member) => id_of(&hex(hasher.chain_update("!").chain_update(member).finalize())),
            };
            (id, TraceFile { digest: Some(of_file), bytes: Some(bytes), ..file })
        }
        Err(_) => (id_of(&hex(Sha256::digest(shown.as_bytes()))), file),
    }
}

/// The machine's name as a digest: the same machine has the same one, and who does not know the name learns nothing.
fn pseudonym(name: &str) -> String {
    let digest = hex(Sha256::digest(name.as_bytes()));
    format!("m{}", digest.get(..12).unwrap_or_default())
}

/// [`identify`] for a recording of several files: its name comes from those of all of them.
fn identify_all(path: &Path, further: &[PathBuf], version: &str) -> (String, TraceFile) {
    let (id, file) = identify(path, version);
    if further.is_empty() {
        return (id, file);
    }
    let ids = further.iter().map(|path| identify(path, version).0);
    let all = ids.fold(Sha256::new_with_prefix(&id), |hasher, id| hasher.chain_update("+").chain_update(id));
    (id_of(&hex(all.finalize())), file)
}

/// Opens a recording.
fn open(path: &Path, further: &[PathBuf], code_page: CodePage, limits: &UnpackLimits) -> Result<EtlFile, Error> {
    let open = |path: &Path| {
        let mut etl = EtlFile::open_within(path, limits)?;
        etl.code_page = code_page;
        Ok(etl)
    };
    let mut all = open(path)?;
    for other in further {
        let not_one = |reason| Error::NotOneRecording { other: other.clone(), first: path.into(), reason };
        recording::add(&mut all, &other.display().to_string(), open(other)?).map_err(not_one)?;
    }
    Ok(all)
}

/// An error with its causes.
fn text_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl Dataset {
    /// Exports a trace, with further files of its recording. One that cannot be read becomes a row in `traces` with its error.
    ///
    /// # Errors
    /// [`Error::NotWritten`]; the dataset has not changed then.
    pub fn export(
        &self,
        path: &Path,
        further: &[PathBuf],
        choice: &Choice,
        limits: &UnpackLimits,
    ) -> Result<Outcome, Error> {
        let identify = || identify_all(path, further, &self.version);
        let open = || open(path, further, choice.code_page, limits);
        if choice.resume {
            let (id, file) = identify();
            let before = self.before(&id).filter(|state| file.digest.is_some() && state.covers(&choice.tables));
            if let Some(state) = before {
                return Ok(outcome(&id, &state, true));
            }
            return self.export_as(open, choice, || (id, file));
        }
        std::thread::scope(|scope| {
            // The digest takes one thread as long as reading the file; the export has the others.
            let identified = scope.spawn(identify);
            self.export_as(open, choice, || identified.join().unwrap_or_else(|_| identify()))
        })
    }

    /// What the dataset has of a trace from this version, in this form.
    fn before(&self, id: &str) -> Option<State> {
        self.state(id).filter(|state| state.is_of(&self.version, self.format))
    }

    fn export_as(
        &self,
        open: impl FnOnce() -> Result<EtlFile, Error>,
        choice: &Choice,
        identified: impl FnOnce() -> (String, TraceFile),
    ) -> Result<Outcome, Error> {
        let staging = self.stage()?;
        let identity = LazyCell::new(identified);
        let exported = match open() {
            Ok(etl) => {
                let machine = |name: &str| if choice.machine_names { name.to_owned() } else { pseudonym(name) };
                export(&etl, || identity.1.clone(), &choice.tables, machine, &staging).map(drop)
            }
            Err(error) => Err(error),
        };
        let (id, file) = &*identity;
        match exported {
            Ok(()) => self.keep(staging, id, choice, self.before(id), None),
            Err(error @ Error::NotWritten { .. }) => Err(error),
            Err(error) => {
                drop(staging);
                let (staging, text) = (self.stage()?, text_of(&error));
                trace::write(file, &[Table::Traces], Err(&text), &staging)?;
                self.keep(staging, id, choice, None, Some(text))
            }
        }
    }

    /// Makes what was staged a part of the dataset. Tables from `before` stay; without it, all others go.
    fn keep(
        &self,
        staging: Staging,
        id: &str,
        choice: &Choice,
        before: Option<State>,
        error: Option<String>,
    ) -> Result<Outcome, Error> {
        let staged = staging.finish()?;
        let before = before.filter(|state| state.error.is_none() && error.is_none()).unwrap_or_default();
        let names = |tables: &[Table]| tables.iter().map(|table| table.name().to_owned()).collect::<Vec<_>>();
        let mut asked = [before.asked, names(&choice.tables)].concat();
        asked.sort_unstable();
        asked.dedup();
        let mut files = before.files;
        files.extend(staged.files.iter().map(|(table, files)| (table.name().to_owned(), files.clone())));
        let drop: Vec<Table> = Table::ALL.into_iter().filter(|table| !files.contains_key(table.name())).collect();
        let (rows, bytes) = (staged.rows, staged.bytes);
        let (version, format) = (self.version.clone(), self.format.name().to_owned());
        let state = State { version, format, files, asked, error, rows, bytes };
        let done = outcome(id, &state, false);
        publish::publish(self, staged, id, &drop, state)?;
        Ok(done)
    }
}

fn outcome(id: &str, state: &State, passed_over: bool) -> Outcome {
    Outcome {
        id: id.to_owned(),
        rows: state.rows,
        bytes: state.bytes,
        tables: state.files.len(),
        passed_over,
        error: state.error.clone(),
    }
}
