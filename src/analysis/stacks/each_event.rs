//! All events of a kind, one by one, with their weights: for tables with a row for each.

use super::counting::Weights;
use super::process_labels::Owners;
use super::query::{KINDS, Kind, Weight};
use super::rows::is_in_ticks;
use super::stack_matching::{self, Joined};
use super::switch_chains;
use crate::error::Error;
use crate::load::stacks::first_walk::Parts;
use crate::load::stacks::second_walk::EventChoice;
use crate::load::stacks::stack_events::{Events, Owner};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::Warning;

/// An event.
#[derive(Debug)]
pub(crate) struct ListedEvent<'e> {
    /// Name of its kind.
    pub kind: &'static str,
    /// When it was logged.
    pub moment: Moment,
    /// Where it was logged.
    pub processor: u16,
    /// Label of its process.
    pub process: &'e str,
    /// Its thread.
    pub thread: Option<u32>,
    /// Its weight; `None`: unknown.
    pub weight: Option<u64>,
    /// The unit of the weight.
    pub unit: Weight,
}

/// Gives each event of the kinds that have names to `each`, kind by kind, and returns what makes their processes doubtful.
///
/// # Errors
/// Those of `each`.
pub(crate) fn each_event(
    trace: &Trace,
    each: &mut dyn FnMut(&ListedEvent<'_>) -> Result<(), Error>,
) -> Result<Vec<Warning>, Error> {
    trace.gather(crate::trace::Parts::SYSTEM);
    let parts = Parts::new(trace.etl());
    let owners = Owners::new(trace.processes(), &parts.threads);
    let mut doubts = Vec::new();
    for (kind, choice, _) in &KINDS {
        let of = Kind(choice.clone());
        if of.is_recorded(trace) {
            doubts.extend(each_of(trace, (&parts, &owners), (kind, &of), each)?);
        }
    }
    doubts.extend(owners.doubt(STACK_EVENTS.name));
    Ok(doubts)
}

fn each_of(
    trace: &Trace,
    (parts, owners): (&Parts, &Owners<'_>),
    (name, of): (&'static str, &Kind),
    each: &mut dyn FnMut(&ListedEvent<'_>) -> Result<(), Error>,
) -> Result<Option<Warning>, Error> {
    let mut events = Events::new(trace.etl(), &parts.parts, &of.0, of.most_pool_bytes(trace));
    let Joined { stacks, .. } = stack_matching::join(parts, &mut events);
    let mut weights = Weights::new(parts, &events);
    let unit = of.weight();
    let clock = &trace.etl().clock;
    let in_ticks = is_in_ticks(unit, of.0 == EventChoice::Samples);
    for (event, stack) in events.events.iter().zip(&stacks) {
        let (moment, value) = (event.moment, &event.value);
        let Some(chosen) = events.chosen(value) else { continue };
        let weight = weights.of(&of.0, event, &chosen);
        let id = if stack.has_stack() { stack.process_id() } else { owners.process_of(chosen.owner, moment) };
        let thread = match chosen.owner {
            Owner::Thread(id) => Some(id),
            Owner::Process(_) => value.thread_id(),
        };
        each(&ListedEvent {
            kind: name,
            moment,
            processor: events.class(value).map_or(0, |class| class.processor),
            process: &owners.label(id, moment),
            thread,
            weight: if in_ticks { weight.map(|ticks| clock.length_ns(ticks)) } else { weight },
            unit,
        })?;
    }
    Ok(switch_chains::doubt(trace, &events, weights.missing_switches, |_| true))
}
