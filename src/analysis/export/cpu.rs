//! The tables of processors: threads, their waits, interrupts.

use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::{CpuRow, CpuUse};
use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::dimensions::Label;
use crate::error::Error;
use crate::trace::Trace;

/// Follows the threads of a trace; `None` for one without context switches.
///
/// # Errors
/// As [`CpuUse::answer`].
pub fn read(trace: &Trace) -> Result<Option<CpuUse>, Error> {
    let query = CpuQuery { group_by: vec![Dimension::PROCESS, Dimension::Thread], ..CpuQuery::default() };
    match CpuUse::answer(trace, &query) {
        Err(Error::MissingEvents(_) | Error::MissingPart(_)) => Ok(None),
        set => set.map(Some),
    }
}

fn seconds<'t>(set: &CpuUse, ticks: u64) -> Cell<'t> {
    Cell::Real(set.ns(ticks) as f64 / 1e9)
}

/// The process and the thread of a row.
fn owner(row: &CpuRow) -> [Cell<'_>; 2] {
    let process = row.labels.first().map(Label::as_str);
    [Cell::maybe(process, Cell::Text), Cell::maybe(row.thread_id, |id| Cell::Integer(id.into()))]
}

/// A row for each thread.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn threads(set: &CpuUse, sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::Cpu, sink);
    let (from, to) = set.window_times;
    for row in &set.rows {
        let [process, thread] = owner(row);
        let all = row.delays.all;
        let delay = |ticks| if all.count == 0 { Cell::Null } else { seconds(set, ticks) };
        let state = |ticks: fn(&crate::analysis::cpu::StateTimes) -> u64| {
            Cell::maybe(row.states.as_ref().map(ticks), |ticks| seconds(set, ticks))
        };
        rows.push([
            process,
            thread,
            Cell::Real(from.seconds()),
            Cell::Real(to.seconds()),
            seconds(set, row.cpu),
            seconds(set, row.with_interrupts),
            Cell::count(row.switches),
            Cell::count(all.count),
            seconds(set, all.total),
            delay(all.p95),
            delay(all.max),
            seconds(set, row.delays.lost().1),
            state(|states| states.running),
            state(|states| states.waiting),
            state(|states| states.unknown),
        ])?;
    }
    rows.finish()
}

/// A row for each thread and wait reason.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn waits(set: &CpuUse, sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::CpuWaits, sink);
    for row in &set.rows {
        for (reason, time) in &row.waits {
            let [process, thread] = owner(row);
            rows.push([process, thread, Cell::Text(reason), Cell::count(time.count), seconds(set, time.ticks)])?;
        }
    }
    rows.finish()
}

/// A row for each routine.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn interrupts(set: &CpuUse, sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::CpuInterrupts, sink);
    for row in &set.interrupts {
        rows.push([
            Cell::Text(row.kind),
            Cell::maybe(row.module.as_deref(), Cell::Text),
            Cell::Address(row.routine),
            Cell::count(row.times.count),
            seconds(set, row.times.inclusive),
            seconds(set, row.times.exclusive),
            seconds(set, row.times.max),
        ])?;
    }
    rows.finish()
}
