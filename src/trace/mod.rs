//! A trace: the file, whether it can be trusted, and what all analyses need of it.
//!
//! Opening reads one page of each buffer. The rest is gathered in walks over all records, part by part ([`Parts`]): an analysis
//! gathers the parts that it needs, and what was gathered is kept for the next question. [`Trace`] owns the file; analyses
//! borrow the trace. Page records, accesses and scheduling records stay in the file, and are read where they lie.

pub(crate) mod analysis_needs;
#[cfg(feature = "cli")]
pub(crate) mod machine;
pub mod page_sequences;
pub(crate) mod ram_size;
mod recorded_by_keyword;
pub(crate) mod recording;
pub mod trust;

use crate::code_page::CodePage;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::input::UnpackLimits;
pub use crate::load::event_kind_counts::KindCount;
use crate::load::history::{CounterHistory, FileHistory, History, SchedulingHistory, SpaceHistory, SystemHistory};
pub use crate::load::misfitting_payloads::{Misfit, Misfits};
pub use crate::load::survey::{MasksChange, Survey};
pub use crate::load::trace_parts::Parts;
use crate::model::page_owner_key::OwnerKeys;
use crate::model::process::Processes;
use crate::model::registry_hives::Hives;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::Snapshot;
use crate::units::{Nanos, Ticks};
use analysis_needs::{AnalysisNeeds, RESIDENT_SET};
use page_sequences::PageSequences;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use trust::readiness::{self, Need, Readiness};
use trust::trust_report::TrustReport;

/// A trace that was opened: one file, or all files of a recording.
#[derive(Debug)]
pub struct Trace {
    etl: EtlFile,
    gathered: Gathered,
}

/// What was gathered so far, and what was made of it.
#[derive(Debug, Default)]
struct Gathered {
    walks: AtomicU32,
    survey: OnceLock<Survey>,
    system: OnceLock<SystemHistory>,
    spaces: OnceLock<SpaceHistory>,
    files: OnceLock<FileHistory>,
    pages: OnceLock<PageSequences>,
    counters: OnceLock<CounterHistory>,
    scheduling: OnceLock<SchedulingHistory>,
    trust: OnceLock<TrustReport>,
    processes: OnceLock<Processes>,
    rundowns: OnceLock<Rundowns>,
    hives: OnceLock<Hives>,
    owner_keys: OnceLock<OwnerKeys>,
    /// One walk at a time: a second thread waits for the first one's result.
    walking: Mutex<()>,
}

impl Gathered {
    fn parts(&self) -> Parts {
        let is_there = [
            (Parts::SYSTEM, self.system.get().is_some()),
            (Parts::SPACES, self.spaces.get().is_some()),
            (Parts::FILES, self.files.get().is_some()),
            (Parts::PAGES, self.pages.get().is_some()),
            (Parts::COUNTERS, self.counters.get().is_some()),
            (Parts::SCHEDULING, self.scheduling.get().is_some()),
        ];
        is_there.into_iter().filter(|(_, is_there)| *is_there).fold(Parts::NONE, |all, (part, _)| all | part)
    }

    /// Keeps what a walk collected. What was there already stays: it is the same.
    fn keep(&self, parts: Parts, survey: Survey, history: History) {
        fn set<T>(place: &OnceLock<T>, value: T) {
            place.get_or_init(|| value);
        }
        let History { system, spaces, files, pages, counters, scheduling } = history;
        set(&self.survey, survey);
        if parts.has(Parts::SPACES) {
            set(&self.spaces, spaces);
        }
        if parts.has(Parts::FILES) {
            set(&self.files, files);
        }
        if parts.has(Parts::PAGES) {
            set(&self.pages, PageSequences::new(&pages));
        }
        if parts.has(Parts::COUNTERS) {
            set(&self.counters, counters);
        }
        if parts.has(Parts::SCHEDULING) {
            set(&self.scheduling, scheduling);
        }
        set(&self.system, system);
    }
}

impl Trace {
    /// Opens a trace, or an archive with a trace in it, which is unpacked within the default limits.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the system refuses, [`Error::NotUnpacked`] for an archive that gives no trace,
    /// [`Error::NotEtl`] for a file that is no trace.
    pub fn open(path: &Path) -> Result<Trace, Error> {
        EtlFile::open(path).map(Trace::from)
    }

    /// The same; archives are unpacked within these limits.
    ///
    /// # Errors
    /// The same.
    pub fn open_within(path: &Path, limits: &UnpackLimits) -> Result<Trace, Error> {
        EtlFile::open_within(path, limits).map(Trace::from)
    }

    /// The file.
    pub const fn etl(&self) -> &EtlFile {
        &self.etl
    }

    /// The file without what was gathered.
    pub fn into_etl(self) -> EtlFile {
        self.etl
    }

    /// Adds another file of the same recording, and forgets what was gathered.
    ///
    /// # Errors
    /// Why the files do not fit together, in words that follow "OTHER does not belong to the recording of FIRST:".
    pub fn join(&mut self, name: &str, other: EtlFile) -> Result<(), String> {
        recording::add(&mut self.etl, name, other)?;
        self.gathered = Gathered::default();
        Ok(())
    }

    /// A stamp as time since the trace began.
    pub fn time(&self, stamp: Ticks) -> Nanos {
        self.etl.clock.nanos(stamp)
    }

    /// Gathers parts of the trace, in one walk over all records for all that are not there yet.
    ///
    /// An analysis does this for the parts that it needs. Who asks several questions names the parts of all of them first.
    /// Must not be called from tasks of rayon, which the walk waits for.
    pub fn gather(&self, parts: Parts) {
        let missing = || parts.without(self.gathered.parts());
        if missing().is_empty() {
            return;
        }
        let _alone = self.gathered.walking.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = missing();
        if !missing.is_empty() {
            self.gathered.walks.fetch_add(1, Ordering::Relaxed);
            let (survey, history) = History::new(&self.etl, missing);
            self.gathered.keep(missing, survey, history);
        }
    }

    /// How often all records were read.
    pub fn walks(&self) -> u32 {
        self.gathered.walks.load(Ordering::Relaxed)
    }

    /// Counts of all records.
    pub fn survey(&self) -> &Survey {
        self.gathered.survey.get_or_init(|| {
            self.gathered.walks.fetch_add(1, Ordering::Relaxed);
            Survey::new(&self.etl)
        })
    }

    /// What makes numbers of this trace doubtful.
    pub fn trust(&self) -> &TrustReport {
        self.gathered.trust.get_or_init(|| TrustReport::new(&self.etl, self.survey()))
    }

    /// Which analyses can run.
    pub fn readiness(&self) -> Vec<Readiness> {
        readiness::readiness(self.survey())
    }

    /// What an analysis lacks.
    pub(crate) fn missing(&self, analysis: &AnalysisNeeds) -> Vec<Need> {
        readiness::judge(self.survey(), analysis).missing
    }

    /// The error of an analysis that cannot run without what it requires.
    pub(crate) fn cannot_run(&self, analysis: &AnalysisNeeds) -> Error {
        self.trust().cannot_run(analysis.required.keyword, analysis.absent, analysis.advice)
    }

    /// A part that is gathered now if it was not before.
    fn part<'t, T: Default>(&'t self, part: Parts, place: &'t OnceLock<T>) -> &'t T {
        self.gather(part);
        place.get_or_init(T::default) // gathering has set it
    }

    /// The machine and what runs on it.
    pub(crate) fn system(&self) -> &SystemHistory {
        self.part(Parts::SYSTEM, &self.gathered.system)
    }

    /// What changed in address spaces, sessions and kernel memory.
    pub(crate) fn spaces(&self) -> &SpaceHistory {
        self.part(Parts::SPACES, &self.gathered.spaces)
    }

    /// Names of files.
    pub(crate) fn files(&self) -> &FileHistory {
        self.part(Parts::FILES, &self.gathered.files)
    }

    /// The page sequences.
    pub fn page_sequences(&self) -> &PageSequences {
        self.part(Parts::PAGES, &self.gathered.pages)
    }

    /// Memory counters.
    pub(crate) fn counters(&self) -> &CounterHistory {
        self.part(Parts::COUNTERS, &self.gathered.counters)
    }

    /// Threads, and where scheduling records lie.
    pub(crate) fn scheduling(&self) -> &SchedulingHistory {
        self.part(Parts::SCHEDULING, &self.gathered.scheduling)
    }

    /// The page sequences, in order of time.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.page_sequences().snapshots
    }

    /// The same for an analysis that cannot work without any.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when the trace holds none, [`Error::MissingPart`] when it is not whole.
    pub fn need_snapshots(&self) -> Result<&[Snapshot], Error> {
        match self.snapshots() {
            [] => Err(self.cannot_run(&RESIDENT_SET)),
            snapshots => Ok(snapshots),
        }
    }

    /// Process instances.
    pub fn processes(&self) -> &Processes {
        self.gathered.processes.get_or_init(|| Processes::new(self.system()))
    }

    /// The code page by which names of processes were read; `None` where none needed one.
    pub(crate) fn code_page_of_names(&self) -> Option<CodePage> {
        self.processes().has_names_by_code_page.then_some(self.etl.code_page)
    }

    /// When the kernel listed what exists.
    pub(crate) fn rundowns(&self) -> &Rundowns {
        self.gathered.rundowns.get_or_init(|| Rundowns::new(self.survey(), &self.spaces().by_process_id))
    }

    /// Registry hives.
    pub(crate) fn hives(&self) -> &Hives {
        self.gathered.hives.get_or_init(|| Hives::new(&self.files().hives))
    }

    /// How owner keys are read.
    pub(crate) fn owner_keys(&self) -> &OwnerKeys {
        let made = || OwnerKeys::new(&self.etl, self.survey(), self.processes(), self.snapshots());
        self.gathered.owner_keys.get_or_init(made)
    }
}

impl From<EtlFile> for Trace {
    fn from(etl: EtlFile) -> Trace {
        Trace { etl, gathered: Gathered::default() }
    }
}
