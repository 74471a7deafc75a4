//! The events of a kind one by one, with their stacks.

use super::counting::{Counting, Log, Logged};
use super::frame_names::Names;
use super::query::{Kind, StackQuery, Weight};
use super::rows::{Key, Threads};
use super::stack_keys;
use super::stack_matching::{self, Joined};
use super::text_interner::Texts;
use super::{kinds, nothing_of, symbol_use};
use crate::error::Error;
use crate::load::stacks::first_walk::{Parts, session_pointer};
use crate::load::stacks::second_walk::EventChoice;
use crate::load::stacks::stack_events::Events;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use foldhash::HashMap as FastMap;

/// Events of a kind in a window, in record order.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Names of frames, those of databases among them.
    pub names: Names,
    /// Labels of processes.
    pub processes: Texts,
    /// Threads by their numbers.
    pub threads: Threads,
    /// Ids of processes, by the number of their label.
    pub process_ids: FastMap<u32, u32>,
    /// Process, thread and stack of events.
    pub keys: Vec<Key>,
    /// The events.
    pub events: Vec<Logged>,
    /// The unit of their weights; time is in ticks, of samples in nanoseconds.
    pub weight: Weight,
    /// What makes their weights and processes doubtful.
    pub doubts: Vec<Warning>,
    /// Warnings of the search for symbols, and what counts as no event.
    pub told: Vec<String>,
}

impl EventLog {
    /// Reads them.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when there is none, [`Error::MissingPart`] when they were lost.
    pub(crate) fn new(
        trace: &Trace,
        records: &Parts,
        query: &StackQuery,
        window: (Moment, Moment),
        choice: &EventChoice,
    ) -> Result<EventLog, Error> {
        let of = Kind(choice.clone());
        let mut events = Events::new(trace.etl(), &records.parts, choice, of.most_pool_bytes(trace));
        let Joined { stacks, counts } = stack_matching::join(records, &mut events);
        if !events.has_chosen() {
            return Err(nothing_of(trace, &of, &kinds(trace, &events, &stacks)));
        }
        let mut counting = Counting::new(trace, records, query);
        counting.window = window;
        counting.wants_thread = true;
        counting.log = Some(Log::default());
        let mut names = Names::new(&records.addresses, session_pointer(trace.etl()));
        counting.count(&mut names, &events, &stacks, &of);
        let (left_out, of_switches) = (events.left_out, counting.of_switches(trace, &events));
        let of_sums = counting.doubts((trace, query), &events, &of);
        drop((events, stacks));
        names.close();
        let (_, mut told) = symbol_use::read(&mut names, &query.symbols);
        told.extend((left_out.sum() > 0).then(|| format!("{}: left out: {}", of.name(), left_out.counts().join(", "))));
        told.extend(counts.unknown_counts().map(|text| format!("{}: not known: {text}", of.name())));
        let of_keys = stack_keys::doubt(records, &counts);
        let doubts = of_switches.into_iter().chain(of_sums).chain(of_keys).collect();
        let Counting { processes, threads, log, rows, .. } = counting;
        let keys = rows.things().iter().map(|row| row.key).collect();
        let Log { events, process_ids } = log.unwrap_or_default();
        Ok(EventLog { names, processes, threads, process_ids, keys, events, weight: of.weight(), doubts, told })
    }
}
