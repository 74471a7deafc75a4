//! Rundowns: when the kernel listed what exists, and for which kinds of objects.
//!
//! A trace can contain several start and end rundowns, because the keywords of a session can change and several sessions
//! can be merged into one file. An episode is one rundown of one kind. Records belong to different episodes only if the
//! keyword was turned off and on again in between; the start or stop of another session does not split an episode.

use crate::event::Phase;
use crate::event::hooks::{MAP_FILE_DC_END, PROCESS_DC_END, VIRTUAL_ALLOC_DC_END};
use crate::load::owned_events::SpaceEvent;
use crate::load::space_events::SpaceEvents;
use crate::load::survey::Survey;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Kinds of objects with a rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RundownKind {
    /// VirtualAlloc regions.
    Region,
    /// Mapped views.
    View,
    /// Heap ranges.
    Heap,
    /// Threads.
    Thread,
}

impl RundownKind {
    /// All kinds.
    pub const ALL: [RundownKind; 4] = [RundownKind::Region, RundownKind::View, RundownKind::Heap, RundownKind::Thread];

    /// The kind of an event.
    pub const fn of(event: &SpaceEvent) -> RundownKind {
        match event {
            SpaceEvent::Region { .. } => RundownKind::Region,
            SpaceEvent::View { .. } => RundownKind::View,
            SpaceEvent::Thread { .. } => RundownKind::Thread,
            _ => RundownKind::Heap,
        }
    }
}

/// One rundown of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// When keywords were turned on or off, or the first record of any kind. A process that starts later need not be listed.
    pub begin: Ticks,
    /// First record.
    pub first: Ticks,
    /// Last record.
    pub last: Ticks,
    /// True for an end rundown.
    pub at_end: bool,
    /// True when it is the trace's first rundown of this kind.
    pub is_first: bool,
}

/// First and last stamp by *end or start* and number of the episode.
type Spans = BTreeMap<(bool, usize), (Ticks, Ticks)>;

fn widen(spans: &mut Spans, number: (bool, usize), (first, last): (Ticks, Ticks)) {
    let span = spans.entry(number).or_insert((first, last));
    *span = (span.0.min(first), span.1.max(last));
}

/// Rundowns of a trace by kind.
#[derive(Debug, Clone, Default)]
pub struct Rundowns {
    /// Stamps at which keywords were turned on, and at which they were turned off.
    on: Vec<Ticks>,
    off: Vec<Ticks>,
    /// The episodes in order of time.
    episodes: [Vec<Episode>; 4],
}

impl Rundowns {
    /// Finds the rundowns of a trace.
    pub fn new(survey: &Survey, spaces: &FastMap<u32, SpaceEvents>) -> Rundowns {
        let masks = &survey.group_masks;
        let turns_on = |m: &&crate::load::survey::MasksChange| m.is_start && m.masks.iter().any(|&mask| mask != 0);
        let mut all = Rundowns {
            on: masks.iter().filter(turns_on).map(|m| m.time).collect(),
            off: masks.iter().filter(|m| !m.is_start).map(|m| m.time).collect(),
            ..Rundowns::default()
        };
        if all.off.is_empty() {
            // Windows 7 does not log the masks before a change, so the first end rundown record stands for the change.
            let ends = [VIRTUAL_ALLOC_DC_END, MAP_FILE_DC_END, PROCESS_DC_END]
                .iter()
                .filter_map(|&hook| survey.kernel_span(hook));
            all.off = ends.map(|(first, _)| first).min().into_iter().collect();
        }
        let starts = turns(&all.on, &all.off);
        let ends = turns(&all.off, &all.on);
        let found = (spaces.par_iter()).map(|(_, events)| all.spans_in(events, &starts, &ends)).reduce(
            Default::default,
            |mut a, b| {
                for (a, b) in a.iter_mut().zip(b) {
                    b.into_iter().for_each(|(number, span)| widen(a, number, span));
                }
                a
            },
        );
        let mut begins: BTreeMap<(bool, usize), Ticks> = BTreeMap::new();
        for (&(at_end, number), &(first, _)) in found.iter().flatten() {
            let turn = number.checked_sub(1).and_then(|i| if at_end { ends.get(i) } else { starts.get(i) });
            let begin = begins.entry((at_end, number)).or_insert(first);
            *begin = turn.copied().unwrap_or(first).min(*begin).min(first);
        }
        all.episodes = found.map(|kind| {
            let episode = |((at_end, number), (first, last))| {
                let begin = begins.get(&(at_end, number)).copied().unwrap_or(first);
                Episode { begin, first, last, at_end, is_first: false }
            };
            let mut list: Vec<Episode> = kind.into_iter().map(episode).collect();
            list.sort_by_key(|episode| (episode.first, episode.at_end));
            list.first_mut().into_iter().for_each(|episode| episode.is_first = true);
            list
        });
        all
    }

    fn spans_in(&self, events: &SpaceEvents, starts: &[Ticks], ends: &[Ticks]) -> [Spans; 4] {
        let mut found: [Spans; 4] = Default::default();
        // No keyword was turned on or off within a run, so all of it is in one episode.
        for run in events.runs() {
            let at_end = run.phase() == Phase::DcEnd;
            let number = up_to(if at_end { ends } else { starts }, run.times.0);
            let kind = if run.is_of_regions() { RundownKind::Region } else { RundownKind::View };
            if let Some(spans) = found.get_mut(kind as usize) {
                widen(spans, (at_end, number), run.times);
            }
        }
        for event in events.kept() {
            let Some(phase) = self.rundown_phase(event) else { continue };
            let (at_end, time) = (phase == Phase::DcEnd, event.moment.time);
            let number = up_to(if at_end { ends } else { starts }, time);
            if let Some(spans) = found.get_mut(RundownKind::of(&event.value) as usize) {
                widen(spans, (at_end, number), (time, time));
            }
        }
        found
    }

    /// DcStart or DcEnd for rundown records, `None` for actual events. Heap rundown records do not
    /// tell: they belong to an end rundown if keywords were last turned off, to a start rundown otherwise.
    pub fn rundown_phase(&self, event: &At<SpaceEvent>) -> Option<Phase> {
        match event.value {
            SpaceEvent::Region { phase, .. } | SpaceEvent::View { phase, .. } | SpaceEvent::Thread { phase, .. } => {
                matches!(phase, Phase::DcStart | Phase::DcEnd).then_some(phase)
            }
            SpaceEvent::HeapRundown { .. } => {
                let time = event.moment.time;
                let latest = |list: &[Ticks]| list.get(up_to(list, time).checked_sub(1)?).copied();
                Some(if latest(&self.off) > latest(&self.on) { Phase::DcEnd } else { Phase::DcStart })
            }
            _ => None,
        }
    }

    /// The last rundown of this kind that began at or before `time`.
    pub fn last_before(&self, kind: RundownKind, time: Ticks) -> Option<Episode> {
        self.of(kind).iter().rev().copied().find(|episode| episode.first <= time)
    }

    /// The first end rundown of this kind that began after `time`.
    pub fn first_end_after(&self, kind: RundownKind, time: Ticks) -> Option<Episode> {
        self.of(kind).iter().copied().find(|episode| episode.at_end && episode.first > time)
    }

    fn of(&self, kind: RundownKind) -> &[Episode] {
        self.episodes.get(kind as usize).map_or(&[], Vec::as_slice)
    }
}

/// How many of the stamps, which rise, are at or before `time`.
fn up_to(list: &[Ticks], time: Ticks) -> usize {
    list.partition_point(|&at| at <= time)
}

/// The stamps of `list` that have one of `others` between them and their predecessor; a new episode begins there.
fn turns(list: &[Ticks], others: &[Ticks]) -> Vec<Ticks> {
    let before = std::iter::once(0).chain(list.iter().map(|&at| up_to(others, at)));
    list.iter().zip(before).filter(|&(&at, before)| up_to(others, at) > before).map(|(&at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::survey::MasksChange;
    use crate::moment::Moment;

    /// A trace with keywords turned on (`true`) and off at these times, and heap rundown records at those.
    fn heaps(masks: &[(i64, bool)], rundown: &[i64]) -> Vec<(i64, i64, bool, bool)> {
        let (mut survey, mut spaces) = (Survey::default(), FastMap::default());
        survey.group_masks =
            masks.iter().map(|&(time, is_start)| MasksChange { time: Ticks(time), is_start, masks: [1; 8] }).collect();
        let record = |&time: &i64| At {
            moment: Moment { time: Ticks(time), order: 0 },
            value: SpaceEvent::HeapRundown { heap: 1, base: 1, size: 1 },
        };
        spaces.insert(4, SpaceEvents::new(rundown.iter().map(record).collect()));
        let rundowns = Rundowns::new(&survey, &spaces);
        rundowns.of(RundownKind::Heap).iter().map(|e| (e.first.0, e.last.0, e.at_end, e.is_first)).collect()
    }

    #[test]
    fn rundowns_at_start_and_end_are_told_apart() {
        let masks = [(0, true), (90, false)];
        assert_eq!(heaps(&masks, &[1, 2, 91, 95]), [(1, 2, false, true), (91, 95, true, false)]);
        assert_eq!(heaps(&masks, &[91]), [(91, 91, true, true)]);
        assert_eq!(heaps(&[], &[91]), [(91, 91, false, true)]);
    }

    #[test]
    fn keywords_that_change_make_episodes() {
        let masks = [(0, true), (50, false), (55, true), (90, false)];
        let expected = [(1, 1, false, true), (51, 52, true, false), (56, 56, false, false), (91, 91, true, false)];
        assert_eq!(heaps(&masks, &[1, 51, 52, 56, 91]), expected);
    }

    #[test]
    fn another_session_does_not_cut_a_rundown() {
        // Two sessions start and stop one in the other's rundown.
        let masks = [(0, true), (3, true), (90, false), (93, false)];
        assert_eq!(heaps(&masks, &[1, 5, 91, 95]), [(1, 5, false, true), (91, 95, true, false)]);
    }
}
