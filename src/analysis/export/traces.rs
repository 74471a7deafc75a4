//! The table `traces`: one row about the trace itself, also if it cannot be read.

use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::{SCHEMA_VERSION, Table};
use crate::analysis::export::sink::Sink;
use crate::analysis::info::TraceInfo;
use crate::error::Error;
use crate::trace::Trace;
use crate::trace::trust::loss::Loss;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::FileTime;

/// A trace as a file.
#[derive(Debug, Clone)]
pub struct TraceFile {
    /// As the user named it.
    pub file: String,
    /// SHA-256 of its bytes, hexadecimal; `None` when they cannot be read.
    pub digest: Option<String>,
    /// Its size.
    pub bytes: Option<u64>,
    /// Version of this program.
    pub program_version: String,
}

/// What is known of a readable trace.
#[derive(Debug)]
pub struct Facts {
    info: TraceInfo,
    machine: Option<String>,
    memory_pages: Option<u64>,
    snapshots: u64,
}

impl Facts {
    /// What a reader has to know of the trace, whatever its tables.
    pub(super) fn warnings(&self) -> Warnings {
        self.info.warnings.clone()
    }

    /// Collects the facts. `machine` converts the machine's name to the text that is written.
    pub fn new(trace: &Trace, machine: impl Fn(&str) -> String) -> Facts {
        let of_snapshots = trace.snapshots().iter().map(|snapshot| snapshot.pages).max();
        Facts {
            info: TraceInfo::answer(trace),
            machine: trace.survey().computer_name.as_deref().map(machine),
            memory_pages: trace.system().ram_pages.or(of_snapshots),
            snapshots: trace.snapshots().len() as u64,
        }
    }
}

/// Microseconds since 1970; `None` for 0, which means unknown.
fn instant(time: FileTime) -> Option<i64> {
    const FROM_1601_TO_1970: i64 = 11_644_473_600_000_000;
    let micros = i64::try_from(time.0 / 10).ok()?;
    (micros > 0).then(|| micros - FROM_1601_TO_1970)
}

/// The table `warnings`: a row for each doubt.
///
/// # Errors
/// [`Error::NotWritten`].
pub(crate) fn warnings(warnings: &[Warning], sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::Warnings, sink);
    for warning in warnings {
        rows.push([
            Cell::Text(warning.analysis),
            Cell::Text(warning.code),
            Cell::Text(&warning.text),
            Cell::maybe(warning.amount, Cell::count),
            Cell::Flag(warning.is_grave),
        ])?;
    }
    rows.finish()
}

/// The row: facts of a trace and what casts doubt on its tables, or why there are none.
///
/// # Errors
/// [`Error::NotWritten`].
pub(crate) fn write(
    trace: &TraceFile,
    tables: &[Table],
    facts: Result<(&Facts, &Warnings), &str>,
    sink: &dyn Sink,
) -> Result<(), Error> {
    let names: Vec<&str> = tables.iter().map(|table| table.name()).collect();
    let (tables, known) = (names.join(","), facts.ok().map(|(facts, _)| facts));
    let warnings = facts.ok().map(|(_, warnings)| warnings);
    let info = known.map(|facts| &facts.info);
    let loss = info.map(|info| info.trust.loss_of_all());
    let lost = |of: fn(&Loss) -> u32| {
        let counter = loss.as_ref().and_then(|loss| loss.known(of(loss)));
        Cell::maybe(counter, |count| Cell::count(count.into()))
    };
    let count = |of: fn(&TraceInfo) -> u64| Cell::maybe(info.map(of), Cell::count);
    let lines = warnings.map(|warnings| warnings.texts().join("\n")).filter(|lines| !lines.is_empty());
    let session = info.map(|info| info.logger_name.as_str()).filter(|name| !name.is_empty());
    let mut rows = ColumnBatches::new(Table::Traces, sink);
    rows.push([
        Cell::Text(&trace.file),
        Cell::maybe(trace.digest.as_deref(), Cell::Text),
        Cell::maybe(trace.bytes, Cell::count),
        Cell::Text(&trace.program_version),
        Cell::Integer(SCHEMA_VERSION.into()),
        Cell::Text(&tables),
        Cell::maybe(facts.err(), Cell::Text),
        Cell::maybe(session, Cell::Text),
        Cell::maybe(known.and_then(|facts| facts.machine.as_deref()), Cell::Text),
        count(|info| info.os_build.into()),
        Cell::maybe(info.and_then(|info| info.os_text.as_deref()), Cell::Text),
        Cell::maybe(info.and_then(|info| info.machine_processors), |count| Cell::Integer(count.into())),
        Cell::maybe(known.and_then(|facts| facts.memory_pages), Cell::count),
        Cell::maybe(info.and_then(|info| instant(info.start)), Cell::Instant),
        Cell::maybe(info, |info| Cell::Real(info.duration.seconds())),
        count(|info| info.events),
        Cell::maybe(known, |facts| Cell::count(facts.snapshots)),
        lost(|loss| loss.events_lost),
        lost(|loss| loss.buffers_lost),
        Cell::maybe(loss.as_ref(), |loss| Cell::count(loss.missing_buffers)),
        count(|info| info.trust.damaged),
        count(|info| info.trust.misfit_records),
        Cell::maybe(info, |info| Cell::Flag(info.trust.is_cut())),
        Cell::maybe(warnings, |warnings| Cell::Flag(!warnings.is_doubtful())),
        Cell::maybe(lines.as_deref(), Cell::Text),
    ])?;
    rows.finish()
}
