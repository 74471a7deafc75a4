//! End rundowns: when the kernel described the state at stop, and for which kinds of thing.
//!
//! A trace can hold several (the keywords of a session can change; files are merged). A rundown belongs to the stretch
//! between two records that turn keywords on, so those cut the time line into episodes.

use crate::event::Phase;
use crate::load::history::{At, History, SpaceEvent};
use crate::units::Ticks;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What has an end rundown of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// VirtualAlloc regions.
    Region,
    /// Mapped views.
    View,
    /// Heap ranges.
    Heap,
    /// Threads.
    Thread,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Region, Kind::View, Kind::Heap, Kind::Thread];

    /// The kind that an event is about.
    pub const fn of(event: &SpaceEvent) -> Kind {
        match event {
            SpaceEvent::Region { .. } => Kind::Region,
            SpaceEvent::View { .. } => Kind::View,
            SpaceEvent::Thread { .. } => Kind::Thread,
            _ => Kind::Heap,
        }
    }
}

/// First and last stamp of one end rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// First record.
    pub first: Ticks,
    /// Last record.
    pub last: Ticks,
}

/// Rundowns of a trace by kind.
#[derive(Debug, Clone, Default)]
pub struct Rundowns {
    /// Stamps at which keywords were turned on.
    cuts: Vec<Ticks>,
    /// From here on a heap rundown record describes the end; heap rundowns do not say which end they are.
    heap_end: Vec<Ticks>,
    episodes: [Vec<Episode>; 4],
    /// Stamp of the first start-rundown record.
    start: [Option<Ticks>; 4],
}

/// What is found of one kind.
#[derive(Default)]
struct Found {
    episodes: BTreeMap<usize, Episode>,
    start: Option<Ticks>,
}

impl Found {
    fn add(&mut self, number: usize, episode: Episode) {
        let all = self.episodes.entry(number).or_insert(episode);
        (all.first, all.last) = (all.first.min(episode.first), all.last.max(episode.last));
    }
}

impl Rundowns {
    /// Finds them.
    pub fn new(history: &History) -> Rundowns {
        let masks = &history.survey.group_masks;
        let on = |m: &&crate::load::survey::GroupMasks| m.is_start && m.masks.iter().any(|&mask| mask != 0);
        let mut all = Rundowns {
            cuts: masks.iter().filter(on).map(|m| m.time).collect(),
            heap_end: masks.iter().filter(|m| !m.is_start).map(|m| m.time).collect(),
            ..Rundowns::default()
        };
        if all.heap_end.is_empty() {
            let ends = [0x0281, 0x0428, 0x0304].iter().filter_map(|&hook| history.survey.kernel_span(hook));
            all.heap_end = ends.map(|(first, _)| first).min().into_iter().collect();
        }
        let found =
            (history.spaces.par_iter()).map(|(_, events)| all.found_in(events)).reduce(Default::default, |mut a, b| {
                for (a, b) in a.iter_mut().zip(b) {
                    b.episodes.into_iter().for_each(|(number, episode)| a.add(number, episode));
                    a.start = a.start.into_iter().chain(b.start).min();
                }
                a
            });
        all.start = std::array::from_fn(|kind| found[kind].start);
        all.episodes = found.map(|kind| kind.episodes.into_values().collect());
        all
    }

    fn found_in(&self, events: &[At<SpaceEvent>]) -> [Found; 4] {
        let mut found: [Found; 4] = Default::default();
        for event in events {
            let (of, time) = (&mut found[Kind::of(&event.value) as usize], event.moment.time);
            match self.rundown_phase(event) {
                Some(Phase::DcEnd) => {
                    let number = self.cuts.partition_point(|&cut| cut <= time);
                    of.add(number, Episode { first: time, last: time });
                }
                Some(_) => of.start = Some(of.start.map_or(time, |start| start.min(time))),
                None => {}
            }
        }
        found
    }

    /// DcStart or DcEnd for rundown records, `None` for actual events.
    pub fn rundown_phase(&self, event: &At<SpaceEvent>) -> Option<Phase> {
        match event.value {
            SpaceEvent::Region { phase, .. } | SpaceEvent::View { phase, .. } | SpaceEvent::Thread { phase, .. } => {
                matches!(phase, Phase::DcStart | Phase::DcEnd).then_some(phase)
            }
            SpaceEvent::HeapRundown { .. } => {
                let time = event.moment.time;
                let stopped = self.heap_end.partition_point(|&end| end <= time);
                let since = stopped.checked_sub(1).and_then(|i| self.heap_end.get(i));
                let restarted = since.is_some_and(|&since| self.cuts.iter().any(|&cut| cut > since && cut <= time));
                Some(if since.is_some() && !restarted { Phase::DcEnd } else { Phase::DcStart })
            }
            _ => None,
        }
    }

    /// The last end rundown of this kind that began at or before `time`.
    pub fn last_before(&self, kind: Kind, time: Ticks) -> Option<Episode> {
        self.episodes[kind as usize].iter().rev().copied().find(|episode| episode.first <= time)
    }

    /// The first end rundown of this kind that began after `time`.
    pub fn first_after(&self, kind: Kind, time: Ticks) -> Option<Episode> {
        self.episodes[kind as usize].iter().copied().find(|episode| episode.first > time)
    }

    /// True when a start rundown of this kind had begun by `time`.
    pub fn has_start(&self, kind: Kind, time: Ticks) -> bool {
        self.start[kind as usize].is_some_and(|start| start <= time)
    }
}
