//! A trace: the file, whether it can be trusted, and what all analyses need of it.
//!
//! Opening reads one page of each buffer. Everything else is gathered when it is asked for first, in a walk over all records,
//! and kept: a second question reads it again from memory. [`Trace`] owns the file; analyses borrow the trace.

pub mod loss;
pub mod page_sequences;
pub mod readiness;
pub mod recording;
pub mod trust;
pub mod trust_level;

use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::input::UnpackLimits;
use crate::load::history::History;
use crate::load::scheduling::{BufferFacts, SchedulingScan};
use crate::load::survey::Survey;
use crate::model::hives::Hives;
use crate::model::page_owner_key::OwnerKeys;
use crate::model::process::Processes;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::Snapshot;
use crate::units::{Nanos, Ticks};
use page_sequences::PageSequences;
use readiness::Readiness;
use std::path::Path;
use std::sync::OnceLock;
use trust::TrustReport;

/// A trace that was opened: one file, or all files of a recording.
#[derive(Debug)]
pub struct Trace {
    etl: EtlFile,
    gathered: Gathered,
}

/// What was gathered so far.
#[derive(Debug, Default)]
struct Gathered {
    /// Of a walk that only counted.
    survey: OnceLock<Survey>,
    history: OnceLock<(History, PageSequences)>,
    scheduling: OnceLock<Vec<BufferFacts>>,
    trust: OnceLock<TrustReport>,
    processes: OnceLock<Processes>,
    rundowns: OnceLock<Rundowns>,
    hives: OnceLock<Hives>,
    owner_keys: OnceLock<OwnerKeys>,
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

    /// Counts of all records.
    pub fn survey(&self) -> &Survey {
        match self.gathered.history.get() {
            Some((history, _)) => &history.survey,
            None => self.gathered.survey.get_or_init(|| Survey::new(&self.etl)),
        }
    }

    /// What makes numbers of this trace doubtful.
    pub fn trust(&self) -> &TrustReport {
        self.gathered.trust.get_or_init(|| TrustReport::new(&self.etl, self.survey()))
    }

    /// Which analyses can run.
    pub fn readiness(&self) -> Vec<Readiness> {
        readiness::readiness(self.survey())
    }

    /// What an analysis lacks, by its JSON name.
    pub(crate) fn missing(&self, analysis: &str) -> Vec<readiness::Need> {
        readiness::readiness_of(self.survey(), analysis).map(|readiness| readiness.missing).unwrap_or_default()
    }

    /// What the model is built from.
    pub(crate) fn history(&self) -> &History {
        &self.walked().0
    }

    fn walked(&self) -> &(History, PageSequences) {
        self.gathered.history.get_or_init(|| separate(History::new(&self.etl)))
    }

    /// Where scheduling records lie.
    pub(crate) fn scheduling(&self) -> &[BufferFacts] {
        self.gathered.scheduling.get_or_init(|| {
            let (rank, _) = ranks(&self.etl.buffers);
            let (history, scans) = History::with_visitors(&self.etl, || SchedulingScan::new(&rank));
            drop(self.gathered.history.set(separate(history)));
            let mut facts: Vec<BufferFacts> = scans.into_iter().flat_map(|scan| scan.facts).collect();
            facts.sort_unstable_by_key(|facts| facts.buffer);
            facts
        })
    }

    /// The page sequences.
    pub fn page_sequences(&self) -> &PageSequences {
        &self.walked().1
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
            [] => Err(self.trust().cannot_run(
                "Memory",
                "the trace holds no page sequence (Memory: PageInMemory), so nothing is known of what RAM held",
                "Record with the keyword Memory:\n  wpr -start ResidentSet -filemode, then wpr -stop trace.etl\n  \
                 xperf -on PROC_THREAD+LOADER+MEMORY+MEMINFO+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
            )),
            snapshots => Ok(snapshots),
        }
    }

    /// Process instances.
    pub fn processes(&self) -> &Processes {
        self.gathered.processes.get_or_init(|| Processes::new(self.history()))
    }

    /// When the kernel listed what exists.
    pub(crate) fn rundowns(&self) -> &Rundowns {
        self.gathered.rundowns.get_or_init(|| Rundowns::new(self.history()))
    }

    /// Registry hives.
    pub(crate) fn hives(&self) -> &Hives {
        self.gathered.hives.get_or_init(|| Hives::new(self.history()))
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

/// The page sequences, and everything else.
fn separate(mut history: History) -> (History, PageSequences) {
    let runs = std::mem::take(&mut history.runs);
    let sequences = PageSequences::new(&runs, history.impossible_pages);
    (history, sequences)
}
