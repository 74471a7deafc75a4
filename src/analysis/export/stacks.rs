//! The tables `stacks` and `stack_events`: distinct stacks with the names of their frames, and the events of the kinds that `pfnset
//! stacks` names, which refer to them.

use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::analysis::stacks::{EventStacks, ListedEvent, each_event};
use crate::error::Error;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::{Warning, Warnings, symbols_missing};

/// The stacks of all events of a trace, and what casts doubt on them. Their numbers are the same in each run, whatever is asked for
/// beside them.
pub fn read(trace: &Trace, symbols: &SymbolFolders) -> (EventStacks, Warnings) {
    let (stacks, told) = EventStacks::of_all(trace, symbols);
    let of_symbols = symbols_missing(STACK_EVENTS.name, told);
    let none = stacks.is_empty().then(|| Warning::note(STACK_EVENTS.name, "no_stacks", "no record has a stack".into()));
    let warnings = none.into_iter().chain(of_symbols).collect();
    (stacks, warnings)
}

/// Writes the distinct stacks.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn stacks(stacks: &EventStacks, sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::Stacks, sink);
    for number in (0..stacks.distinct() as u32).filter(|number| *number != EventStacks::NONE) {
        let names = stacks.names(number);
        let frames: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        rows.push([Cell::count(number.into()), Cell::List(&frames)])?;
    }
    rows.finish()
}

/// Writes the events, kind by kind, with and without a stack, and returns what makes their processes doubtful.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn events(trace: &Trace, stacks: &EventStacks, sink: &dyn Sink) -> Result<Vec<Warning>, Error> {
    let mut rows = ColumnBatches::new(Table::StackEvents, sink);
    let has_processors = trace.etl().header.mode & MODE_NO_PER_PROCESSOR == 0;
    let mut place = 0;
    let doubts = each_event(trace, &mut |event: &ListedEvent<'_>| {
        let stack = stacks.find_near(event.moment, &mut place);
        let number = |number: u32| Cell::count(number.into());
        rows.push([
            Cell::Text(event.kind),
            Cell::Real(trace.time(event.moment.time).seconds()),
            Cell::maybe(has_processors.then_some(event.processor), |processor| Cell::count(processor.into())),
            Cell::Text(event.process),
            Cell::maybe(event.thread, number),
            Cell::maybe(event.weight, Cell::count),
            Cell::Text(event.unit.name()),
            Cell::maybe((stack != EventStacks::NONE).then_some(stack), number),
        ])
    })?;
    rows.finish()?;
    Ok(doubts)
}
