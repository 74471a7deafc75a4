//! Counting: the events of a kind by process and stack, with their weights.

use super::frame_names::Names;
use super::named_slices::{self, NamedSlice};
use super::process_labels::Owners;
use super::query::{Dimension, Kind, StackQuery};
use super::rows::{Key, Row, StackId, Threads};
use super::sample_capacity::TimeOfSamples;
use super::sample_coverage::{SampleCoverage, SampleTime};
use super::samples_by_processor::SamplesByProcessor;
use super::sampling_intervals::ProfileIntervals;
use super::stack_matching::Attached;
use super::switch_chains;
use super::text_interner::Texts;
use crate::analysis::recording_end::of_named_window;
use crate::analysis::time_grid::TickRange;
use crate::etl::clock::Clock;
use crate::event::Phase;
use crate::load::stacks::first_walk::Parts;
use crate::load::stacks::interner::{Numbered, RecentNumbers};
use crate::load::stacks::second_walk::EventChoice;
use crate::load::stacks::stack_events::{Chosen, Class, Events, Owner, StackEvent};
use crate::moment::{At, Moment};
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::readiness::no_threads;
use crate::trace::trust::warning::Warning;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// Counts the chosen events by process and stack.
pub(super) struct Counting<'a> {
    pub(super) parts: &'a Parts,
    pub(super) owners: Owners<'a>,
    /// Events after the first and until the second moment count.
    pub window: (Moment, Moment),
    /// The first and the last of them.
    span: Option<(Ticks, Ticks)>,
    /// The shortest and the longest profile interval of samples.
    pub interval_ns: Option<(u64, u64)>,
    /// All samples of the window.
    pub samples: TimeOfSamples,
    by_processor: SamplesByProcessor,
    /// True where each thread is counted on its own.
    pub wants_thread: bool,
    wants_processor: bool,
    /// What is counted.
    pub rows: Numbered<Row>,
    recent_rows: RecentNumbers,
    /// Labels of processes.
    pub processes: Texts,
    /// Their numbers, by process id and instance.
    process_numbers: FastMap<(Option<u32>, Option<usize>), u32>,
    /// Threads by their numbers.
    pub threads: Threads,
    /// Each event, where they are wanted one by one.
    pub log: Option<Log>,
    /// Context switches that are not in the trace, of threads that count.
    pub missing_switches: u64,
}

/// Events one by one; their keys are those of rows.
#[derive(Default)]
pub(super) struct Log {
    /// The events.
    pub events: Vec<Logged>,
    /// Ids of processes, by the number of their label.
    pub process_ids: FastMap<u32, u32>,
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logged {
    /// Stamp of the event.
    pub time: Ticks,
    /// The number of its key.
    pub key: u32,
    /// Its weight.
    pub weight: u64,
}

impl<'a> Counting<'a> {
    /// From the first to the last event that counts.
    pub fn span_ns(&self, clock: &Clock) -> u64 {
        self.span.map_or(0, |(first, last)| u64::try_from(clock.nanos(last).0 - clock.nanos(first).0).unwrap_or(0))
    }

    /// What makes the sums doubtful.
    pub fn doubts(&self, (trace, query): (&Trace, &StackQuery), events: &Events, of: &Kind) -> Vec<Warning> {
        let of_samples = self.samples.doubt(trace, STACK_EVENTS.name, query);
        let of_processors = if of.0 == EventChoice::Samples { self.coverage(trace, query, events) } else { Vec::new() };
        let (named, ends) = ((query.from.as_ref(), query.to.as_ref()), (self.window.0.time, self.window.1.time));
        let of_recording = of_named_window(STACK_EVENTS.name, trace, named, ends);
        let of_threads = || no_threads(trace.survey(), &STACK_EVENTS);
        let is_unknown = self.process_numbers.keys().any(|(process_id, _)| process_id.is_none());
        let of_owners = is_unknown.then(of_threads).flatten();
        of_samples
            .into_iter()
            .chain(of_processors)
            .chain(self.owners.doubt(STACK_EVENTS.name))
            .chain(of_owners)
            .chain(of_recording)
            .collect()
    }

    /// Of how much time of the window there are samples.
    fn coverage(&self, trace: &Trace, query: &StackQuery, events: &Events) -> Vec<Warning> {
        let range = TickRange::of_recording(trace, query.from.as_ref(), query.to.as_ref()).ok();
        let Some((_, range)) = range else { return Vec::new() };
        let sample = |event: &At<StackEvent>| -> Option<SampleTime> {
            let class = events.class(&event.value).filter(|class| class.is_chosen())?;
            Some((event.moment.time, class.processor, events.chosen(&event.value)?.amount))
        };
        let samples = events.events.iter().filter_map(sample);
        let longest = self.interval_ns.map(|(_, longest)| longest);
        SampleCoverage::new((trace, self.parts), range, samples, self.by_processor.clone(), longest)
            .warnings(&trace.etl().clock, STACK_EVENTS.name)
    }

    /// That context switches are missing in the window.
    pub fn of_switches(&self, trace: &Trace, events: &Events) -> Option<Warning> {
        switch_chains::doubt(trace, events, self.missing_switches, |moment| is_inside(self.window, moment))
    }

    /// Before the first event.
    pub fn new(trace: &'a Trace, parts: &'a Parts, query: &StackQuery) -> Counting<'a> {
        let wants = |dimension: Dimension| {
            query.group_by.contains(&dimension)
                || query.conditions.iter().any(|condition| condition.dimension == dimension)
        };
        Counting {
            parts,
            owners: Owners::new(trace.processes(), &parts.threads),
            window: (Moment::FIRST, Moment::LAST),
            span: None,
            interval_ns: None,
            samples: TimeOfSamples::default(),
            by_processor: SamplesByProcessor::new(trace),
            wants_thread: wants(Dimension::Thread),
            wants_processor: wants(Dimension::Processor),
            rows: Numbered::default(),
            recent_rows: RecentNumbers::default(),
            processes: Texts::default(),
            process_numbers: FastMap::default(),
            threads: Threads::default(),
            log: None,
            missing_switches: 0,
        }
    }

    /// Counts the chosen events.
    pub fn count(&mut self, names: &mut Names, events: &Events, stacks: &[Attached], of: &Kind) {
        let (parts, window) = (self.parts, self.window);
        // In most traces fewer rows than events and lists of frames.
        self.rows.make_room_for_things(parts.frames.nodes().len().min(stacks.len()));
        let mut weights = Weights::new(parts, events);
        let counts = |event: &At<StackEvent>| {
            events.class(&event.value).is_some_and(Class::is_chosen) && is_inside(window, event.moment)
        };
        let each = |slice: NamedSlice<'_>| self.slice(events, &slice, &mut weights, of);
        named_slices::for_each(names, (&events.events, stacks), parts, counts, each);
    }

    fn slice(&mut self, events: &Events, named: &NamedSlice<'_>, weights: &mut Weights<'_>, of: &Kind) {
        for ((event, stack), id) in named.events.iter().zip(named.stacks).zip(&named.ids) {
            let Some(chosen) = events.chosen(&event.value) else { continue };
            let missing_before = weights.missing_switches;
            let weight = weights.of(&of.0, event, &chosen);
            // An interval or a wait that began before the window is known nevertheless.
            if is_inside(self.window, event.moment) {
                let (time, class) = (event.moment.time, events.class(&event.value));
                self.missing_switches += weights.missing_switches - missing_before;
                self.span = Some((self.span.map_or(time, |(first, _)| first), time));
                if of.0 == EventChoice::Samples {
                    let interval = weights.intervals.in_force();
                    let (least, most) = self.interval_ns.unwrap_or((interval, interval));
                    self.interval_ns = Some((least.min(interval), most.max(interval)));
                    let time_ns = weight.unwrap_or(0);
                    self.samples += TimeOfSamples { records: 1, time_ns };
                    class.iter().for_each(|class| self.by_processor.add(class.processor, time_ns));
                }
                self.event((event, class), (stack, *id), &chosen, weight);
            }
        }
    }

    /// The number of the label of a process.
    fn process(&mut self, id: Option<u32>, moment: Moment) -> u32 {
        let instance = id.and_then(|id| self.owners.instance(id, moment));
        let (owners, processes) = (&self.owners, &mut self.processes);
        let number = self.process_numbers.entry((id, instance));
        *number.or_insert_with(|| processes.id(&owners.label(id, moment)))
    }

    fn event(
        &mut self,
        (event, class): (&At<StackEvent>, Option<&Class>),
        (stack, stack_id): (&Attached, StackId),
        chosen: &Chosen,
        weight: Option<u64>,
    ) {
        let At { moment, value } = event;
        let has_stack = stack.has_stack();
        let process_id = if has_stack { stack.process_id() } else { self.owners.process_of(chosen.owner, *moment) };
        let process = self.process(process_id, *moment);
        let thread = match self.wants_thread {
            true => {
                let thread = match chosen.owner {
                    Owner::Thread(id) => Some(id),
                    Owner::Process(_) => value.thread_id(),
                };
                self.threads.number(thread)
            }
            false => 0,
        };
        let processor = class.filter(|_| self.wants_processor).map_or(0, |class| class.processor);
        let key = Key { process, thread, processor, stack: stack_id };
        let number = self.recent_rows.number(&mut self.rows, stack_id.near(), Row::of(key));
        if let Some(log) = &mut self.log {
            log.events.push(Logged { time: moment.time, key: number, weight: weight.unwrap_or(0) });
            process_id.iter().for_each(|id| _ = log.process_ids.insert(process, *id));
        }
        let Some(Row { counted, weight_unknown, .. }) = self.rows.get_mut(number) else { return };
        counted.events += 1;
        counted.weight = counted.weight.saturating_add(weight.unwrap_or(0));
        *weight_unknown += u32::from(weight.is_none());
        counted.kernel_only += u32::from(has_stack && !stack.has_user_frames());
        counted.incomplete += u32::from(stack.is_incomplete());
    }
}

fn is_inside((from, to): (Moment, Moment), moment: Moment) -> bool {
    from <= moment && moment < to
}

/// Weights in time order.
pub(super) struct Weights<'a> {
    pub(super) parts: &'a Parts,
    events: &'a Events,
    intervals: ProfileIntervals<'a>,
    stop: usize,
    thread: usize,
    last_switch: FastMap<u32, LastSwitch>,
    /// Stops that counted before their turn, by thread.
    taken: FastMap<u32, Moment>,
    /// Context switches that must have been, because a thread went on, or stopped, twice.
    pub missing_switches: u64,
}

/// The last switch of a thread.
#[derive(Debug, Clone, Copy)]
enum LastSwitch {
    /// To another one, at a time.
    Stopped(Ticks),
    /// To this one; when it had stopped before, if that is known.
    Ran(Option<Ticks>),
}

impl<'a> Weights<'a> {
    /// Before the first event.
    pub fn new(parts: &'a Parts, events: &'a Events) -> Weights<'a> {
        Weights {
            parts,
            events,
            intervals: ProfileIntervals::new(&parts.intervals),
            stop: 0,
            thread: 0,
            last_switch: FastMap::default(),
            taken: FastMap::default(),
            missing_switches: 0,
        }
    }

    /// Ticks of the clock for context switches, nanoseconds for samples; `None` = unknown.
    pub fn of(&mut self, of: &EventChoice, event: &At<StackEvent>, chosen: &Chosen) -> Option<u64> {
        match of {
            EventChoice::Samples => Some(chosen.amount.saturating_mul(self.intervals.nanos(event.moment))),
            EventChoice::ContextSwitches => {
                self.stops_before(event);
                let Owner::Thread(thread) = chosen.owner else { return None };
                let last = match self.last_switch.get(&thread).copied() {
                    Some(LastSwitch::Ran(before)) => self.stop_at(thread, event).or(Some(LastSwitch::Ran(before))),
                    last => last,
                };
                self.missing_switches += u64::from(matches!(last, Some(LastSwitch::Ran(_))));
                let stopped = match last {
                    Some(LastSwitch::Stopped(at)) => Some(at),
                    Some(LastSwitch::Ran(before)) => before,
                    None => None,
                };
                self.last_switch.insert(thread, LastSwitch::Ran(stopped));
                Some(event.moment.time.0.saturating_sub(stopped?.0).max(0) as u64)
            }
            _ => Some(chosen.amount),
        }
    }

    /// The stop of a thread on another processor at the time at which it goes on here: which of both was first is not recorded.
    fn stop_at(&mut self, thread: u32, event: &At<StackEvent>) -> Option<LastSwitch> {
        let time = event.moment.time;
        let later = self.events.stops.get(self.stop..)?.iter().take_while(|stop| stop.moment.time <= time);
        let mut own = later.filter(|stop| stop.value.0 == thread && stop.moment > event.moment);
        let moment = own.next()?.moment;
        self.taken.insert(thread, moment);
        Some(LastSwitch::Stopped(time))
    }

    /// Stops and starts of threads before an event, in their order.
    fn stops_before(&mut self, event: &At<StackEvent>) {
        loop {
            let stop = self.events.stops.get(self.stop).filter(|stop| stop.moment < event.moment);
            let thread = self.parts.threads.get(self.thread).filter(|thread| thread.moment < event.moment);
            match (stop, thread) {
                (Some(stop), thread) if thread.is_none_or(|thread| stop.moment < thread.moment) => {
                    let (stopped, _) = stop.value;
                    if self.taken.get(&stopped) == Some(&stop.moment) {
                        self.stop += 1;
                        continue;
                    }
                    // Each processor has an idle thread, and all of them have id 0.
                    let before = self.last_switch.insert(stopped, LastSwitch::Stopped(stop.moment.time));
                    let stopped_twice = stopped != 0 && matches!(before, Some(LastSwitch::Stopped(_)));
                    self.missing_switches += u64::from(stopped_twice);
                    self.stop += 1;
                }
                (_, Some(thread)) => {
                    if thread.value.phase == Phase::Start {
                        self.last_switch.remove(&thread.value.thread_id);
                    }
                    self.thread += 1;
                }
                _ => return,
            }
        }
    }
}
