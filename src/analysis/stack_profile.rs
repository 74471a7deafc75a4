//! The stacks of a trace as a profile for a viewer: each event with its time, thread and stack; allocations with what freed them.

use crate::analysis::allocations::{PieceOfStack, Pieces};
use crate::analysis::profile_memory_tracks;
pub(crate) use crate::analysis::profile_memory_tracks::ProfileCounter;
use crate::analysis::stacks::{
    Dimension, EventLog, Found, Key, Kind, Logged, Owned, PartKind, ProfilePart, StackId, StackQuery, Texts, Threads,
    Weight, window,
};
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::load::stacks::first_walk::Parts;
use crate::load::stacks::second_walk::EventChoice;
use crate::model::window::Window;
use crate::moment::Moment;
use crate::symbols::PdbId;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::{Warning, Warnings, symbols_missing};
use crate::units::{FileTime, Ticks, count};
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kinds of a profile of all: those of which a weight is time or memory.
const OF_ALL: [EventChoice; 7] = [
    EventChoice::Samples,
    EventChoice::ContextSwitches,
    EventChoice::HardFault,
    EventChoice::PageAccess,
    EventChoice::VirtualAlloc,
    EventChoice::Heap,
    EventChoice::Pool,
];

/// Nanoseconds in the unit of waits.
const MILLISECOND: u64 = 1_000_000;

/// An image of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfiledImage {
    /// File name.
    pub module: String,
    /// Its database, where the trace names it.
    pub pdb: Option<PdbId>,
    /// Functions at addresses that occur.
    pub functions: BTreeMap<u32, Arc<str>>,
}

/// A profile.
#[derive(Debug)]
pub(crate) struct StackProfile<'q> {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// When the trace began.
    pub start: FileTime,
    /// What a sample of weight 1 stands for.
    pub interval_ns: u64,
    /// Marks with their times since trace start.
    pub marks: Vec<(u64, String)>,
    /// Memory over time.
    pub counters: Vec<ProfileCounter>,
    /// Images of frames.
    pub images: Vec<ProfiledImage>,
    /// Events by kind.
    pub parts: Vec<ProfilePart<'q>>,
}

impl<'q> StackProfile<'q> {
    /// The profile of one kind, or of all that have time or memory as weight.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when the trace holds no such events, [`Error::MissingPart`] when they were lost.
    pub(crate) fn answer(trace: &Trace, query: &'q StackQuery) -> Result<StackProfile<'q>, Error> {
        trace.gather(crate::trace::Parts::SYSTEM);
        let trust = trace.trust();
        let marks = trace.system().marks.iter();
        let mut making = Making {
            trace,
            query,
            records: Parts::new(trace.etl()),
            window: window(trace, query)?,
            profile: StackProfile {
                warnings: trust.warnings(),
                start: trace.etl().clock.start,
                interval_ns: MILLISECOND,
                marks: Vec::new(),
                counters: profile_memory_tracks::read(trace, query)?,
                images: Vec::new(),
                parts: Vec::new(),
            },
        };
        making.profile.marks = marks.map(|mark| (making.nanos(mark.moment.time), mark.value.to_string())).collect();
        match &query.of {
            Some(of) => making.kind(&of.0, true)?,
            None => {
                for choice in &OF_ALL {
                    making.kind(choice, false)?;
                }
                if making.profile.parts.is_empty() {
                    return Err(trace.cannot_run(&crate::trace::analysis_needs::STACK_EVENTS));
                }
            }
        }
        let mut profile = making.profile;
        profile.number_images();
        Ok(profile)
    }

    /// Numbers the images of all frames, with their functions.
    fn number_images(&mut self) {
        let mut numbers: FastMap<(String, Option<PdbId>), u32> = FastMap::default();
        let images = &mut self.images;
        for part in &mut self.parts {
            part.number_images(|module, pdb, rva, function| {
                let number = *numbers.entry((module.to_owned(), pdb.cloned())).or_insert_with(|| {
                    let (module, pdb) = (module.to_owned(), pdb.cloned());
                    images.push(ProfiledImage { module, pdb, functions: BTreeMap::new() });
                    images.len() as u32 - 1
                });
                if let (Some(image), Some(function)) = (images.get_mut(number as usize), function) {
                    image.functions.entry(rva).or_insert_with(|| function.into());
                }
                number
            });
        }
    }
}

/// A profile while it is made.
struct Making<'t, 'q> {
    trace: &'t Trace,
    query: &'q StackQuery,
    records: Parts,
    window: Window,
    profile: StackProfile<'q>,
}

impl Making<'_, '_> {
    fn nanos(&self, time: Ticks) -> u64 {
        u64::try_from(self.trace.etl().clock.nanos(time).0.max(0)).unwrap_or(u64::MAX)
    }

    fn is_inside(&self, time: Ticks) -> bool {
        let moment = Moment { time, order: 0 };
        self.window.from <= moment && moment < self.window.to
    }

    /// Events of one kind; `is_wanted`: it is an error when there is none.
    fn kind(&mut self, choice: &EventChoice, is_wanted: bool) -> Result<(), Error> {
        let of = match choice {
            EventChoice::VirtualAlloc => Some(AllocationKind::Commit),
            EventChoice::Heap => Some(AllocationKind::Heap),
            EventChoice::Pool => Some(AllocationKind::Pool),
            _ => None,
        };
        let survey = self.trace.survey();
        if !is_wanted && choice.hooks().iter().all(|hook| survey.kernel_count(*hook) == 0) {
            return Ok(());
        }
        match of {
            Some(of) if of.is_recorded(self.trace) => self.allocations(of),
            _ => self.events(choice, is_wanted),
        }
    }

    fn events(&mut self, choice: &EventChoice, is_wanted: bool) -> Result<(), Error> {
        let window = (self.window.from, self.window.to);
        let log = EventLog::new(self.trace, &self.records, self.query, window, choice);
        let log = match log {
            Ok(log) => log,
            Err(_) if !is_wanted => return Ok(()),
            Err(error) => return Err(error),
        };
        let kind = match (choice, log.weight) {
            (EventChoice::Samples, _) => PartKind::Samples,
            (EventChoice::ContextSwitches, _) => PartKind::Waits,
            (_, Weight::Bytes) => PartKind::Bytes(Kind::name_of(choice)),
            _ => PartKind::Counts(Kind::name_of(choice)),
        };
        let found = self.weighed(kind, &log);
        let EventLog { names, keys, processes, threads, process_ids, doubts, told, .. } = log;
        let owned = Owned { keys: &keys, processes: &processes, threads: &threads, process_ids: &process_ids };
        self.profile.parts.push(ProfilePart::new((kind, names), &owned, found, self.query));
        self.profile.warnings.add(doubts);
        self.profile.warnings.add(symbols_missing(STACK_EVENTS.name, told));
        Ok(())
    }

    /// The events with weights of their viewer: samples as intervals, waits as whole milliseconds; what is left of a wait goes to the
    /// next one of the same thread and stack.
    fn weighed(&mut self, kind: PartKind, log: &EventLog) -> Vec<Found> {
        if kind == PartKind::Samples {
            let interval = log.events.iter().map(|event| event.weight).fold(0, greatest_common_divisor);
            self.profile.interval_ns = if interval == 0 { MILLISECOND } else { interval };
        }
        let mut left = vec![0u64; log.keys.len()];
        let clock = &self.trace.etl().clock;
        let found = |event: &Logged| {
            let key = log.keys.get(event.key as usize)?;
            let weight = match kind {
                PartKind::Samples => event.weight / self.profile.interval_ns.max(1),
                PartKind::Waits => {
                    let left = left.get_mut(event.key as usize)?;
                    let nanos = left.saturating_add(clock.length_ns(event.weight));
                    *left = nanos % MILLISECOND;
                    nanos / MILLISECOND
                }
                _ => event.weight,
            };
            let weight = i64::try_from(weight).unwrap_or(i64::MAX);
            Some(Found { key: event.key, time_ns: self.nanos(event.time), stack: key.stack, weight, piece: 0 })
        };
        let found = log.events.iter().filter_map(found).collect();
        let lost = left.into_iter().fold(0, u64::saturating_add) / MILLISECOND;
        if lost > 0 {
            let text = format!("the profile has waits in whole milliseconds: {} ms in all are not in it", count(lost));
            self.profile.warnings.add([Warning::note(STACK_EVENTS.name, "records_left_out", text)]);
        }
        found
    }

    fn allocations(&mut self, of: AllocationKind) -> Result<(), Error> {
        let conditions = &self.query.conditions;
        if conditions.iter().any(|condition| condition.dimension == Dimension::Processor) {
            let text = format!("{} is not in the profile: the processor of a piece is not known", of.name());
            self.profile.warnings.add([Warning::note(STACK_EVENTS.name, "records_left_out", text)]);
            return Ok(());
        }
        let Pieces { list, processes, stacks, warnings } = Pieces::new(self.trace, of, &self.query.symbols)?;
        let (names, stacks) = stacks.into_stacks();
        let (mut labels, mut threads, mut process_ids) = (Texts::default(), Threads::default(), FastMap::default());
        let (mut keys, mut found) = (Vec::new(), Vec::new());
        let mut numbers: FastMap<Key, u32> = FastMap::default();
        let stack_of = |number: u32| stacks.get(number as usize).copied().unwrap_or_default();
        for (piece, number) in list.iter().zip(1..) {
            let (id, label) = processes.get(piece.process as usize).map_or((0, "Unknown"), |(id, label)| (*id, label));
            let process = labels.id(label);
            process_ids.insert(process, id);
            let thread = threads.number(piece.thread);
            let stack = stack_of(piece.stack);
            let key = *numbers.entry(Key { process, thread, processor: 0, stack }).or_insert_with_key(|key| {
                keys.push(*key);
                keys.len() as u32 - 1
            });
            found.extend(self.both_ends(piece, number, key, [stack, stack_of(piece.closing_stack)]));
        }
        let owned = Owned { keys: &keys, processes: &labels, threads: &threads, process_ids: &process_ids };
        let part = ProfilePart::new((PartKind::Allocations(of.name()), names), &owned, found, self.query);
        self.profile.parts.push(part);
        self.profile.warnings.add(warnings);
        Ok(())
    }

    /// What opened a piece and what closed it, where they are in the window.
    fn both_ends(&self, piece: &PieceOfStack, number: u64, key: u32, stacks: [StackId; 2]) -> Vec<Found> {
        let bytes = i64::try_from(piece.bytes).unwrap_or(i64::MAX);
        let ends = [(piece.opened, bytes), (piece.closed, -bytes)];
        let inside = |(time, _): &(Option<Ticks>, i64)| time.is_some_and(|time| self.is_inside(time));
        (ends.into_iter().zip(stacks).filter(|(end, _)| inside(end)))
            .filter_map(|((time, weight), stack)| {
                Some(Found { key, time_ns: self.nanos(time?), stack, weight, piece: number })
            })
            .collect()
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::greatest_common_divisor;

    #[test]
    fn intervals_have_a_common_unit() {
        let of = |all: &[u64]| all.iter().copied().fold(0, greatest_common_divisor);
        assert_eq!([of(&[]), of(&[7]), of(&[1_000_000, 500_000]), of(&[3, 0, 7])], [0, 7, 500_000, 1]);
    }
}
