//! Working sets of processes and sessions: read in parallel, in no order, into one track for each owner.

use crate::analysis::memory::query::{MemoryDimension, MemoryQuery};
use crate::dimensions::Label;
use crate::etl::EtlFile;
use crate::event::memory_counters::WorkingSetSizes;
use crate::load::working_set_samples::{WorkingSetRecord, WorkingSetScope, read_working_sets};
use crate::model::process::Processes;
use crate::model::window::Window;
use crate::moment::{At, Moment};
use foldhash::HashMap as FastMap;
use std::collections::{BTreeMap, BTreeSet};

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrackOwner {
    /// A process, by its index.
    Instance(usize),
    /// A process without events, by its id.
    ProcessId(u32),
    /// A session.
    Session(u32),
}

/// The memory of a process or a session over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryTrack {
    /// `name.exe (pid)`, or the session's number.
    pub label: Label,
    /// Whose it is.
    pub owner: TrackOwner,
    /// Session; `None` for processes of no session.
    pub session: Option<u32>,
    /// Samples.
    pub count: u64,
    /// First sample.
    pub first: At<WorkingSetSizes>,
    /// Last sample.
    pub last: At<WorkingSetSizes>,
    /// Most pages of working set, private working set, commit.
    pub most: [u64; 3],
    /// When its process ended; [`Moment::LAST`] if this is not known.
    pub end: Moment,
    /// False where its process began after the first sample of any.
    pub is_at_start: bool,
    /// False where its process ended before the last sample of any.
    pub is_at_end: bool,
    /// All samples in order of time, where they were asked for.
    pub samples: Vec<At<WorkingSetSizes>>,
}

impl MemoryTrack {
    fn new(owner: TrackOwner, moment: Moment, sizes: WorkingSetSizes) -> MemoryTrack {
        let first = At { moment, value: sizes };
        MemoryTrack {
            label: Label::name(""),
            owner,
            session: None,
            count: 0,
            last: first.clone(),
            first,
            most: [0; 3],
            end: Moment::LAST,
            is_at_start: true,
            is_at_end: true,
            samples: Vec::new(),
        }
    }

    fn add(&mut self, moment: Moment, sizes: &WorkingSetSizes, keep: bool) {
        self.count += 1;
        if moment < self.first.moment {
            self.first = At { moment, value: *sizes };
        }
        if moment >= self.last.moment {
            self.last = At { moment, value: *sizes };
        }
        let most = [sizes.working_set_pages, sizes.private_working_set_pages, sizes.commit_pages];
        self.most.iter_mut().zip(most).for_each(|(all, now)| *all = (*all).max(now));
        if keep {
            self.samples.push(At { moment, value: *sizes });
        }
    }

    fn append(&mut self, mut other: MemoryTrack) {
        self.count += other.count;
        if other.first.moment < self.first.moment {
            self.first = other.first;
        }
        if other.last.moment > self.last.moment {
            self.last = other.last;
        }
        self.most.iter_mut().zip(other.most).for_each(|(all, now)| *all = (*all).max(now));
        self.samples.append(&mut other.samples);
    }

    /// Pages by which the working set grew between first and last sample; less than 0 where it shrank.
    pub fn growth(&self) -> i64 {
        let [first, last] = [&self.first, &self.last].map(|at| i128::from(at.value.working_set_pages));
        i64::try_from(last - first).unwrap_or(if last > first { i64::MAX } else { i64::MIN })
    }

    /// Its latest sample at a moment, until its process ended.
    pub(super) fn at(&self, moment: Moment) -> Option<&WorkingSetSizes> {
        let before = self.samples.partition_point(|sample| sample.moment <= moment).checked_sub(1)?;
        let At { value, .. } = self.samples.get(before)?;
        (moment < self.end).then_some(value)
    }

    /// Its samples until its process ended, of each moment the last.
    pub(super) fn sampled(&self) -> impl Iterator<Item = &At<WorkingSetSizes>> {
        let next = self.samples.iter().skip(1).map(|at| Some(at.moment)).chain([None]);
        let is_last = |(at, next): &(&At<WorkingSetSizes>, Option<Moment>)| *next != Some(at.moment);
        self.samples.iter().zip(next).filter(is_last).map(|(at, _)| at).filter(|at| at.moment < self.end)
    }
}

/// Which instance a process id stands for; ids can be used again.
struct Owners<'p> {
    processes: &'p Processes,
    by_id: FastMap<u32, Vec<(Moment, usize)>>,
}

impl<'p> Owners<'p> {
    fn new(processes: &'p Processes) -> Self {
        let mut by_id: FastMap<u32, Vec<(Moment, usize)>> = FastMap::default();
        for (index, instance) in processes.instances.iter().enumerate() {
            by_id.entry(instance.process_id).or_default().push((instance.from, index));
        }
        by_id.values_mut().for_each(|lives| lives.sort_unstable());
        Owners { processes, by_id }
    }

    fn of(&self, process_id: u32, moment: Moment) -> TrackOwner {
        let Some(lives) = self.by_id.get(&process_id) else { return TrackOwner::ProcessId(process_id) };
        let before = lives.partition_point(|(from, _)| *from <= moment).max(1);
        lives.get(before - 1).map_or(TrackOwner::ProcessId(process_id), |(_, index)| TrackOwner::Instance(*index))
    }

    /// Label and session.
    fn described(&self, owner: TrackOwner) -> (Label, Option<u32>) {
        match owner {
            TrackOwner::Session(id) => (Label::number(id), Some(id)),
            TrackOwner::ProcessId(id) => (Label::process("", id), None),
            TrackOwner::Instance(index) => match self.processes.instances.get(index) {
                Some(instance) => (Label::process(&instance.name, instance.process_id), instance.session_id),
                None => (Label::nothing(), None),
            },
        }
    }
}

type Tracks = FastMap<TrackOwner, MemoryTrack>;

/// Working sets by owner.
pub(crate) struct WorkingSetTracks {
    /// Those of processes by label.
    pub processes: Vec<MemoryTrack>,
    /// Those of sessions by number.
    pub sessions: Vec<MemoryTrack>,
    /// Entries that are in no track: with numbers that no machine has; of process 0, or of an id that the same sample had before.
    pub left_out: [u64; 2],
    /// When processes and sessions were sampled, in order.
    pub moments: [Vec<Moment>; 2],
}

/// Reads all records in the window. `ram_pages`: of the machine, where the trace tells it.
pub(crate) fn read(
    etl: &EtlFile,
    records: &[WorkingSetRecord],
    (processes, ram_pages): (&Processes, Option<u64>),
    window: &Window,
    query: &MemoryQuery,
) -> WorkingSetTracks {
    let inside: Vec<WorkingSetRecord> = records.iter().filter(|record| window.holds(record.moment)).copied().collect();
    let owners = Owners::new(processes);
    let add = |tracks: &mut Tracks, owner: TrackOwner, moment: Moment, sizes: &WorkingSetSizes| {
        let track = tracks.entry(owner).or_insert_with(|| MemoryTrack::new(owner, moment, *sizes));
        track.add(moment, sizes, query.all_samples);
    };
    let empty = || (Tracks::default(), [0_u64; 2], [Vec::new(), Vec::new()]);
    let parts =
        read_working_sets(etl, &inside, empty, |(tracks, left_out, [processes, sessions]), moment, scope, sets| {
            match scope {
                WorkingSetScope::Processes => processes.push(moment),
                WorkingSetScope::Sessions => sessions.push(moment),
            }
            for sizes in sound(sets.iter(), scope, ram_pages, left_out) {
                let owner = match scope {
                    WorkingSetScope::Processes => owners.of(sizes.id, moment),
                    WorkingSetScope::Sessions => TrackOwner::Session(sizes.id),
                };
                add(tracks, owner, moment, &sizes);
            }
        });
    let mut all: BTreeMap<TrackOwner, MemoryTrack> = BTreeMap::new();
    let left_out = [0, 1].map(|of| parts.iter().filter_map(|(_, left_out, _)| left_out.get(of)).sum());
    let mut moments = [0, 1].map(|of| parts.iter().filter_map(|(.., all)| all.get(of)).flatten().copied().collect());
    moments.iter_mut().for_each(|moments: &mut Vec<Moment>| moments.sort_unstable());
    for track in parts.into_iter().flat_map(|(tracks, ..)| tracks.into_values()) {
        match all.entry(track.owner) {
            std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(track)),
            std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().append(track),
        }
    }
    let mut all: Vec<MemoryTrack> = all.into_values().collect();
    let first = all.iter().map(|track| track.first.moment).min().unwrap_or(Moment::FIRST);
    let last = all.iter().map(|track| track.last.moment).max().unwrap_or(Moment::FIRST);
    for track in &mut all {
        if let TrackOwner::Instance(index) = track.owner
            && let Some(instance) = processes.instances.get(index)
        {
            track.end = instance.end;
            (track.is_at_start, track.is_at_end) = (instance.from <= first, instance.end > last);
        }
        (track.label, track.session) = owners.described(track.owner);
        track.samples.sort_unstable_by_key(|sample| sample.moment);
    }
    all.retain(|track| passes(track, query));
    let (sessions, mut processes): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|track| matches!(track.owner, TrackOwner::Session(_)));
    processes.sort_by(|a, b| a.label.cmp(&b.label).then(a.first.moment.cmp(&b.first.moment)));
    WorkingSetTracks { processes, sessions, left_out, moments }
}

/// The working sets of a sample that can be true; counts the others: with numbers that no machine has, and of no process. The idle process
/// has no memory, and a process has one working set: of several with its id the first is its own, as far as anybody knows.
fn sound(
    sets: impl Iterator<Item = WorkingSetSizes>,
    scope: WorkingSetScope,
    ram_pages: Option<u64>,
    [impossible, misplaced]: &mut [u64; 2],
) -> impl Iterator<Item = WorkingSetSizes> {
    let mut seen = BTreeSet::new();
    sets.filter(move |sizes| {
        let is_of_idle = scope == WorkingSetScope::Processes && sizes.id == 0;
        let is_possible = sizes.is_possible(ram_pages);
        let is_misplaced = is_possible && (is_of_idle || !seen.insert(sizes.id));
        *impossible += u64::from(!is_possible);
        *misplaced += u64::from(is_misplaced);
        is_possible && !is_misplaced
    })
}

fn passes(track: &MemoryTrack, query: &MemoryQuery) -> bool {
    let session = track.session.map_or_else(|| Label::nothing().shown_as("no session"), Label::number);
    match track.owner {
        // What nobody sees meets no condition: then a message says that the shown processes do not.
        TrackOwner::Session(_) if !query.shows_sessions() => query.could_select(MemoryDimension::Session, &session),
        TrackOwner::Session(_) => query.selects(MemoryDimension::Session, &session),
        _ => query.selects(MemoryDimension::Process, &track.label) && query.selects(MemoryDimension::Session, &session),
    }
}
