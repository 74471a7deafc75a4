//! Memory over time beside the stacks of a profile: what was in use, and the working set and commit of each process.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::query::MemoryQuery;
use crate::analysis::memory::working_sets::{MemoryTrack, TrackOwner};
use crate::analysis::stacks::{Dimension, StackQuery};
use crate::dimensions::Condition;
use crate::error::Error;
use crate::event::hooks::{MEM_INFO, MEM_INFO_WS};
use crate::event::memory_counters::WorkingSetSizes;
use crate::trace::Trace;
use crate::units::{Nanos, PAGE_BYTES};

/// Most processes with counters, those with the largest working sets: each counter is a track of the viewer.
const MOST_PROCESSES: usize = 200;

/// A number of bytes over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileCounter {
    /// Label and id of its process; `None`: of the machine.
    pub process: Option<(String, u32)>,
    /// What is counted.
    pub name: &'static str,
    /// Time since trace start and bytes.
    pub values: Vec<(u64, u64)>,
}

/// The counters of a trace in the window of a query; none where it has no records of them.
///
/// # Errors
/// What the analysis of memory says, but not that records are missing.
pub(crate) fn read(trace: &Trace, query: &StackQuery) -> Result<Vec<ProfileCounter>, Error> {
    if [MEM_INFO, MEM_INFO_WS].iter().all(|hook| trace.survey().kernel_count(*hook) == 0) {
        return Ok(Vec::new());
    }
    let memory =
        MemoryQuery { all_samples: true, from: query.from.clone(), to: query.to.clone(), ..MemoryQuery::default() };
    let set = match MemorySet::answer(trace, &memory) {
        Err(Error::MissingEvents(_) | Error::MissingPart(_)) => return Ok(Vec::new()),
        set => set?,
    };
    let time = |time: Nanos| u64::try_from(time.0.max(0)).unwrap_or(u64::MAX);
    let bytes = |pages: u64| pages.saturating_mul(PAGE_BYTES);
    let in_use = set.samples.iter().filter_map(|sample| Some((time(sample.time), bytes(sample.in_use?))));
    let commit = set.samples.iter().filter_map(|sample| {
        Some((time(sample.time), bytes(sample.counters.commit.map(|commit| commit.commit_pages)?)))
    });
    let of_machine = |name, values| ProfileCounter { process: None, name, values };
    let mut all = vec![of_machine("In use", in_use.collect()), of_machine("Commit", commit.collect())];
    let is_wanted = |track: &&MemoryTrack| {
        let of_process = |condition: &&Condition<Dimension>| condition.dimension == Dimension::Process;
        query.conditions.iter().filter(of_process).all(|condition| condition.matches([&track.label]))
    };
    let mut processes: Vec<&MemoryTrack> = set.processes.iter().filter(is_wanted).collect();
    processes.sort_by_key(|track| std::cmp::Reverse(track.most[0]));
    for track in processes.into_iter().take(MOST_PROCESSES) {
        let id = match track.owner {
            TrackOwner::ProcessId(id) => id,
            _ => track.first.value.id,
        };
        let counter = |name, pages: fn(&WorkingSetSizes) -> u64| ProfileCounter {
            process: Some((track.label.to_string(), id)),
            name,
            values: (track.samples.iter())
                .map(|sample| (time(set.time(sample.moment)), bytes(pages(&sample.value))))
                .collect(),
        };
        all.push(counter("Working set", |sizes| sizes.working_set_pages));
        all.push(counter("Commit", |sizes| sizes.commit_pages));
    }
    all.retain(|counter| !counter.values.is_empty());
    Ok(all)
}
