//! One trace into a dataset: from its path to its parts.

use crate::analysis::export::schema::{SCHEMA_VERSION, Table};
use crate::analysis::export::{Earlier, TraceFile, export_with_warnings, is_recorded, traces};
use crate::analysis::resident::query::SnapshotChoice;
use crate::code_page::CodePage;
use crate::dataset::identity::{Identity, TraceId, digest_of, identify, pseudonym};
use crate::dataset::same_recording::Related;
use crate::dataset::session::Session;
use crate::dataset::staging::Staging;
use crate::dataset::trace_rows::name_of;
use crate::dataset::trace_state::{MOST_DOUBTS, State};
use crate::dataset::{Dataset, publish};
use crate::error::Error;
use crate::etl::EtlFile;
use crate::input::{Input, STANDARD_INPUT, UnpackLimits};
use crate::named_enum::named_enum;
use crate::pattern::Patterns;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::recording;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Tables; `traces` is always among them.
    pub tables: Vec<Table>,
    /// Which snapshots' pages and ranges.
    pub snapshots: Snapshots,
    /// Traces that are there already, from the same version and in the same form, are skipped.
    pub resume: bool,
    /// The machine's name itself is written, not a digest.
    pub machine_names: bool,
    /// The encoding of 8-bit names.
    pub code_page: CodePage,
    /// Names of the records in `events`, where that is among the tables; none means all.
    pub events: Patterns,
    /// Where symbol files are looked for, for the names in `stacks`.
    pub symbols: SymbolFolders,
}

impl Choice {
    /// The names as text; `None` without that table.
    fn events_text(&self) -> Option<String> {
        let refers_to = if self.tables.contains(&Table::Stacks) { " with stacks" } else { "" };
        self.tables.contains(&Table::Events).then(|| format!("{}{refers_to}", self.events))
    }

    /// A digest of the folders with symbol files; `None` without that table. A dataset has no paths.
    fn symbols_digest(&self) -> Option<String> {
        let has_names = self.tables.contains(&Table::Stacks);
        has_names.then(|| digest_of(self.symbols.folders.iter().map(|folder| folder.as_os_str().as_encoded_bytes())))
    }
}

named_enum! {
    /// Snapshots in a dataset.
    pub enum Snapshots {
        /// The last whole one of each trace.
        Last = "last",
        /// All of each trace.
        All = "all",
    }
}

impl Snapshots {
    const fn choice(self) -> SnapshotChoice {
        match self {
            Snapshots::Last => SnapshotChoice::Last,
            Snapshots::All => SnapshotChoice::All,
        }
    }
}

/// What became of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its name in the dataset.
    pub id: String,
    /// Rows that were written, in all tables.
    pub rows: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Tables that were written.
    pub tables: usize,
    /// True when it was there already.
    pub passed_over: bool,
    /// Why it has nothing but a row in `traces`.
    pub error: Option<String>,
    /// What makes numbers of its tables wrong, most important first.
    pub(crate) grave: Warnings,
    /// What is wrong with the symbol files that were given.
    pub(crate) of_symbols: Warnings,
    /// Tables that were asked for and for which the trace has no records.
    pub(crate) lacking: Vec<Table>,
    /// The other traces of its recording.
    pub(crate) related: Related,
    /// The name of its file that the dataset had before, and that which it has now.
    pub(crate) renamed: Option<(String, String)>,
}

/// Opens a recording. `streamed` is what standard input gave, where one of the files is that.
fn open(
    path: &Path,
    further: &[PathBuf],
    code_page: CodePage,
    limits: &UnpackLimits,
    mut streamed: Option<Result<Input, Error>>,
) -> Result<Trace, Error> {
    let all = recording::open_all(path, further, |path| {
        let mut etl = match streamed.take_if(|_| path.as_os_str() == STANDARD_INPUT) {
            Some(input) => EtlFile::from_input(input?).map_err(|reason| Error::NotEtl { path: path.into(), reason })?,
            None => EtlFile::open_within(path, limits)?,
        };
        etl.code_page = code_page;
        Ok(etl)
    });
    all.map(|(all, _)| all.into())
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
        let is_streamed = |path: &Path| path.as_os_str() == STANDARD_INPUT;
        let is_streamed = is_streamed(path) || further.iter().any(|path| is_streamed(path));
        // In another order its times would count from another start, and its name would be another one.
        let in_order = recording::in_order(path, further, limits);
        let (path, further) = match in_order.as_slice() {
            [first, others @ ..] => (first.as_path(), others),
            [] => (path, further),
        };
        let streamed = is_streamed.then(|| Input::open(Path::new(STANDARD_INPUT), limits));
        let identify = |streamed| identify(path, further, |path| self.shown(path), &self.version, streamed);
        let open = |streamed| open(path, further, choice.code_page, limits, streamed);
        if choice.resume || streamed.is_some() {
            let bytes = streamed.as_ref().and_then(|input| input.as_ref().ok()).map(Input::bytes);
            let identity = identify(bytes);
            let Identity { id, file, .. } = &identity;
            let before = self.before(id, choice).filter(|state| {
                let is_named_so = state.name == self.given(file)
                    && state.file.as_ref().is_none_or(|name| *name == digest_of_name(file));
                let has_events = choice.events_text().is_none_or(|events| state.events == Some(events));
                let has_symbols = choice.symbols_digest().is_none_or(|digest| state.symbols == Some(digest));
                file.digest.is_some()
                    && state.has_whole_files(&self.places, id)
                    && is_named_so
                    && has_events
                    && has_symbols
                    && state.covers(&choice.tables, choice.machine_names, &self.tags)
            });
            if let Some(state) = before.filter(|_| choice.resume) {
                let related = self.marks.settle(&self.places, &identity, &state)?;
                return Ok(Outcome { related, ..outcome(id, &state, 0) });
            }
            return self.export_as(|| open(streamed), (path, further), choice, || identity);
        }
        thread::scope(|scope| {
            // The digest takes one thread as long as reading the file; the export has the others. Without a thread for it, it comes
            // afterwards.
            let digest = thread::Builder::new().spawn_scoped(scope, || identify(None)).ok();
            let identified = || digest.and_then(|digest| digest.join().ok()).unwrap_or_else(|| identify(None));
            self.export_as(|| open(None), (path, further), choice, identified)
        })
    }

    /// Engines read the files of one form, so that of two they see a part. Traces that are all exported again can change their form. What
    /// is streamed is not known before it is read.
    ///
    /// # Errors
    /// [`Error::Usage`] where a trace that is none of these is there in another form.
    pub(crate) fn refuse_other_form(
        &self,
        recordings: &[(&Path, &[PathBuf])],
        limits: &UnpackLimits,
    ) -> Result<(), Error> {
        if self.of_other_form.is_empty() {
            return Ok(());
        }
        let id = |(path, further): &(&Path, &[PathBuf])| {
            let ordered = recording::in_order(path, further, limits);
            let (first, others) = ordered.split_first()?;
            Some(identify(first, others, |path| self.shown(path), &self.version, None).id)
        };
        let again: Vec<TraceId> = recordings.iter().filter_map(id).collect();
        let Some((id, form)) = self.of_other_form.iter().find(|(id, _)| !again.contains(id)) else { return Ok(()) };
        Err(Error::Usage(format!(
            "{} holds traces in the form {} (such as {id}), and queries would see those of one form only: export in this form too, or \
             all traces again, or into another folder",
            self.folder().display(),
            form.name()
        )))
    }

    /// What stands for a file in `traces.trace_file`: its path, or what the user named instead of the start of it.
    fn shown(&self, path: &Path) -> String {
        let shown = path.display().to_string();
        let named = self.name.as_ref().and_then(|(start, name)| Some(format!("{name}{}", shown.strip_prefix(start)?)));
        named.unwrap_or(shown)
    }

    /// The name that the file of a trace has in the dataset, and that which it gets, where they differ.
    fn other_name(&self, Identity { id, file, .. }: &Identity) -> Option<(String, String)> {
        let before = State::of(&self.places, id)?;
        let is_same = before.file.as_ref().is_some_and(|digest| *digest == digest_of_name(file));
        let name = if is_same { return None } else { name_of(&self.places, id, &before)? };
        (name != file.file).then(|| (name, file.file.clone()))
    }

    /// The name of a trace where the user gave one.
    fn given(&self, file: &TraceFile) -> Option<String> {
        self.name.as_ref().map(|_| file.file.clone())
    }

    /// The state of a trace whose tables are all there, as far as it is known before they are written.
    fn state_for(&self, choice: &Choice) -> State {
        State {
            version: self.version.clone(),
            format: self.format,
            code_page: choice.code_page.name().to_owned(),
            machine_names: choice.machine_names,
            schema_version: SCHEMA_VERSION,
            snapshots: choice.snapshots.name().to_owned(),
            parts: BTreeMap::new(),
            asked: choice.tables.iter().copied().collect(),
            error: None,
            unreadable_file: None,
            tags: self.tags.clone(),
            name: None,
            file: None,
            events: choice.events_text(),
            symbols: choice.symbols_digest(),
            symbols_missing: Vec::new(),
            doubts: Vec::new(),
            files: Vec::new(),
            session: None,
            rows: 0,
            bytes: 0,
        }
    }

    /// What the dataset has of a trace with the rows and in the form that it would have now.
    fn before(&self, id: &TraceId, choice: &Choice) -> Option<State> {
        State::of(&self.places, id).filter(|state| state.is_like(&self.state_for(choice)))
    }

    /// All tables of a trace fit together: those from another version or with other flags go. Nobody loses some without a word.
    ///
    /// # Errors
    /// [`Error::Usage`] where tables would go that this export does not write again.
    fn spare_others(&self, identity: &Identity, choice: &Choice) -> Result<(), Error> {
        let (Identity { id, file, .. }, now) = (identity, self.state_for(choice));
        for part in self.marks.parts_of(&self.places, identity)? {
            let before = State::of(&self.places, &part);
            self.spare(before.as_ref(), choice, file, || format!("{part} is of a part of the recording"))?;
        }
        let Some(before) = State::of(&self.places, id) else { return Ok(()) };
        let has = |table: Table| choice.tables.contains(&table);
        let is_linked = before.parts.contains_key(&Table::PieceStacks);
        if is_linked && has(Table::AllocationPieces) && !has(Table::PieceStacks) && before.is_like(&now) {
            return Err(Error::Usage(format!(
                "piece_stacks of {} in {} refers to allocation_pieces by numbers of one run: export both, or into another folder",
                file.file,
                self.folder().display()
            )));
        }
        let other = Some(&before).filter(|before| !before.is_like(&now));
        self.spare(other, choice, file, || before.other_than(&now))
    }

    /// An error where a trace that goes has tables that are not written again.
    fn spare(
        &self,
        before: Option<&State>,
        choice: &Choice,
        file: &TraceFile,
        because: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        let tables = before.into_iter().flat_map(|before| before.parts.keys());
        let lost: Vec<&str> = tables.filter(|table| !choice.tables.contains(table)).map(|table| table.name()).collect();
        if lost.is_empty() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{} of {} in {} would be removed, because {}, and all tables of a trace must fit together: export them too, or into \
             another folder",
            lost.join(", "),
            file.file,
            self.folder().display(),
            because()
        )))
    }

    fn export_as(
        &self,
        open: impl FnOnce() -> Result<Trace, Error>,
        (path, further): (&Path, &[PathBuf]),
        choice: &Choice,
        identified: impl FnOnce() -> Identity,
    ) -> Result<Outcome, Error> {
        let staging = self.stage()?;
        let identity = LazyCell::new(identified);
        let exported = match open() {
            Ok(trace) => {
                let machine = |name: &str| if choice.machine_names { name.to_owned() } else { pseudonym(name) };
                let chosen = (choice.tables.as_slice(), choice.snapshots.choice(), &choice.events, &choice.symbols);
                let earlier = || {
                    let before = self.before(&identity.id, choice).filter(|state| state.error.is_none());
                    before.map_or_else(Earlier::default, |state| Earlier {
                        tables: state.asked.iter().copied().collect(),
                        there: state.parts.keys().copied().collect(),
                        symbols_missing: state.symbols_missing,
                    })
                };
                export_with_warnings(&trace, (|| identity.file.clone(), earlier), chosen, machine, &staging).and_then(
                    |(written, warnings)| {
                        let is_lacking = |table: &Table| !written.contains(table) || !is_recorded(&trace, *table);
                        let lacking = choice.tables.iter().copied().filter(is_lacking).collect();
                        let session = further.is_empty().then(|| Session::of(&trace, path));
                        check_whole(&trace, &identity.file).map(|()| (lacking, warnings, session))
                    },
                )
            }
            Err(error) => Err(error),
        };
        match exported {
            Ok((lacking, warnings, session)) => {
                if let Some(whole) = self.marks.whole_of(&self.places, &identity)? {
                    let nothing = outcome(&identity.id, &self.state_for(choice), 0);
                    let related = Related { part_of: Some(whole), ..Related::default() };
                    return Ok(Outcome { related, ..nothing });
                }
                self.spare_others(&identity, choice)?;
                let grave = warnings.grave();
                let before = self.before(&identity.id, choice);
                let outcome = self.keep(staging, &identity, choice, before, Ok((&warnings, session)))?;
                // Those that stay from an earlier run were told then.
                let is_now = choice.tables.contains(&Table::Stacks);
                let is_of_symbols = |warning: &Warning| is_now && warning.is_of(&["symbols_missing"]);
                let of_symbols = warnings.into_iter().filter(is_of_symbols).collect();
                Ok(Outcome { grave, of_symbols, lacking, ..outcome })
            }
            Err(error @ Error::NotWritten { .. }) => Err(error),
            Err(error) => {
                drop(staging);
                let (staging, text) = (self.stage()?, text_of(&error));
                traces::write(&identity.file, &[Table::Traces], Err(&text), &staging)?;
                self.keep(staging, &identity, choice, None, Err(text))
            }
        }
    }

    /// Makes what was staged a part of the dataset, with what makes numbers wrong or the error. Tables from `before` stay; without
    /// it, all others go.
    fn keep(
        &self,
        staging: Staging,
        identity: &Identity,
        choice: &Choice,
        before: Option<State>,
        judged: Result<(&Warnings, Option<Session>), String>,
    ) -> Result<Outcome, Error> {
        let Identity { id, file, files } = identity;
        let staged = staging.finish()?;
        let (rows, bytes, tables) = (staged.rows, staged.bytes, staged.parts.len());
        let none = Warnings::default();
        let ((warnings, session), error) = match judged {
            Ok(judged) => (judged, None),
            Err(error) => ((&none, None), Some(error)),
        };
        let name_digest = digest_of_name(file);
        let unreadable_file = error.is_some().then(|| name_digest.clone());
        let named = (self.given(file), Some(name_digest.clone()));
        let now = State { rows, bytes, name: named.0, file: named.1, files: files.clone(), ..self.state_for(choice) };
        let mut state = State { error, unreadable_file, session, ..now };
        state.add_doubts(warnings.grave().texts());
        let of_symbols = warnings.iter().filter(|warning| is_of_stacks(warning)).take(MOST_DOUBTS);
        state.symbols_missing = of_symbols.map(|warning| warning.text.clone()).collect();
        if let Some(before) = before.filter(|before| before.error.is_none() && state.error.is_none()) {
            state.parts = before.parts;
            state.events = state.events.or(before.events);
            state.symbols = state.symbols.or(before.symbols);
            state.asked.extend(before.asked);
            state.add_doubts(before.doubts);
        }
        state.parts.extend(&staged.parts);
        let done = Outcome { renamed: self.other_name(identity), ..outcome(id, &state, tables) };
        publish::publish(&self.places, staged, id, &state)?;
        let done = Outcome { related: self.marks.settle(&self.places, identity, &state)?, ..done };
        // What was at this path and could not be read is there no more.
        let before = self.unreadable.get(&name_digest).into_iter().flatten().filter(|other| *other != id);
        before.into_iter().try_for_each(|other| publish::remove(&self.places, other, |state| state.error.is_some()))?;
        Ok(done)
    }
}

/// A digest of the name that a trace has in the dataset.
fn digest_of_name(file: &TraceFile) -> String {
    digest_of(std::iter::once(file.file.as_bytes()))
}

/// A trace that became shorter while it was read is one that cannot be read.
fn check_whole(trace: &Trace, file: &TraceFile) -> Result<(), Error> {
    trace.etl().check_whole().map_err(|source| Error::Unreadable { path: file.file.clone().into(), source })
}

/// True for what is missing of symbols in the tables of stacks.
fn is_of_stacks(doubt: &Warning) -> bool {
    doubt.analysis == STACK_EVENTS.name && doubt.is_of(&["symbols_missing"])
}

/// What was said of a trace when it was exported.
fn kept(text: String) -> Warning {
    Warning::grave(OF_TRACE, "written_of_doubtful_trace", text)
}

/// What is said of a trace of which so many tables were written.
fn outcome(id: &TraceId, state: &State, tables: usize) -> Outcome {
    Outcome {
        id: id.to_string(),
        rows: state.rows,
        bytes: state.bytes,
        tables,
        passed_over: tables == 0,
        error: state.error.clone(),
        grave: state.doubts.iter().cloned().map(kept).collect(),
        of_symbols: Warnings::default(),
        lacking: Vec::new(),
        related: Related::default(),
        renamed: None,
    }
}
