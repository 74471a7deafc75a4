//! The contents of a trace as tables for SQL: columns in Arrow's form, passed to a [`Sink`] in batches of about a million
//! rows. [`schema`] lists the tables; `dataset` writes them into files.

mod allocation_pieces;
mod allocations;
pub(crate) mod arrow_schema;
mod chosen_snapshots;
pub(crate) mod column_batches;
mod cpu;
mod descriptions;
mod events;
mod memory;
mod page_attributes;
mod processes_files_ranges;
mod refset;
mod resident;
pub mod schema;
mod sink;
mod stacks;
#[cfg(feature = "cli")]
pub(crate) mod table_in_memory;
pub(crate) mod traces;

pub use sink::{Columns, Sink};
pub use traces::TraceFile;

use crate::analysis::allocations::{AllocationQuery, AllocationSet};
use crate::analysis::cpu::{CpuUse, SampledUse};
use crate::analysis::faults::{FaultQuery, FaultSet};
use crate::analysis::memory::MemorySet;
use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::Query;
use crate::analysis::resident::ResidentSet;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::warnings;
use crate::error::Error;
use crate::etl::record_id::HookId;
use crate::event::hooks::{
    CSWITCH, DISK_READ, DISK_WRITE, HARD_FAULT, IN_MEMORY_ACTIVE, MEM_INFO, MEM_INFO_SESSION_WS, MEM_INFO_WS,
    PAGE_ACCESS, PAGE_ACCESS_EX,
};
use crate::load::allocation_kinds::AllocationKind;
use crate::pattern::Patterns;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::{RESIDENT_SET, STACK_EVENTS};
use crate::trace::trust::warning::{self, Warnings};
use chosen_snapshots::{Chosen, chosen};
use column_batches::ColumnBatches;
use schema::Table;
use std::collections::BTreeSet;
use traces::Facts;

/// Writes these tables of a trace (`events` with all records), of the snapshots of this choice, and returns those that it has. `machine`
/// converts the machine's name to the text that is written; `file` is asked for at the end, because a digest takes time.
///
/// # Errors
/// [`Error::NotWritten`]; the sink may have taken some of the tables.
pub fn export(
    trace: &Trace,
    file: impl FnOnce() -> TraceFile,
    chosen: (&[Table], SnapshotChoice),
    machine: impl Fn(&str) -> String,
    sink: &dyn Sink,
) -> Result<Vec<Table>, Error> {
    let (tables, choice) = chosen;
    let all = Patterns::default();
    export_with_warnings(
        trace,
        (file, Earlier::default),
        (tables, choice, &all, &SymbolFolders::default()),
        machine,
        sink,
    )
    .map(|(tables, _)| tables)
}

/// Writes these tables of a trace, of the snapshots of this choice, `events` of records with these names, `traces` last. Returns those
/// that it has, and what casts doubt on them. `machine` converts the machine's name to the text that is written; `file` is asked for at
/// the end, because a digest takes time, and so are the tables that the dataset has of it from earlier and keeps: they are judged too.
///
/// # Errors
/// [`Error::NotWritten`]; the sink may have taken some of the tables.
pub(crate) fn export_with_warnings(
    trace: &Trace,
    (file, earlier): (impl FnOnce() -> TraceFile, impl FnOnce() -> Earlier),
    (tables, choice, names, symbols): (&[Table], SnapshotChoice, &Patterns, &SymbolFolders),
    machine: impl Fn(&str) -> String,
    sink: &dyn Sink,
) -> Result<(Vec<Table>, Warnings), Error> {
    let of_processors = tables.iter().any(|table| table.is_of_processors());
    // Nearly all tables are made of the same parts, or of some of them.
    let parts = ResidentSet::PARTS | ReferenceSet::PARTS | MemorySet::PARTS;
    trace.gather(if of_processors { parts | CpuUse::PARTS } else { parts });
    let facts = Facts::new(trace, machine);
    let has = |table: Table| tables.contains(&table);
    let of_pages = of_snapshots(trace, tables, &chosen(trace, choice)?, sink)?;
    let mut warnings = facts.warnings();
    warnings.retain(|warning| of_pages.is_empty() || warning.analysis != RESIDENT_SET.name);
    warnings.add(of_pages);
    if has(Table::Processes) {
        processes_files_ranges::processes(trace, sink)?;
    }
    if has(Table::Files) {
        processes_files_ranges::files(trace, sink)?;
    }
    let has_accesses = is_any(trace, &OF_ACCESSES);
    let has_switches = is_any(trace, &[CSWITCH]);
    let wanted = refset::Wanted { counted: has(Table::Refset), holdings: has(Table::RefsetPages) };
    if wanted.counted || wanted.holdings {
        warnings.add(refset::write(trace, has_accesses, wanted, sink)?);
    }
    warnings.add(of_counters(trace, tables, sink)?);
    let processors = if has_switches && of_processors { cpu::read(trace)? } else { None };
    if let Some(set) = &processors {
        of_cpu(set, tables, sink)?;
        warnings.add(set.warnings.clone());
    }
    if has(Table::Allocations) {
        warnings.add(allocations::write(trace, sink)?);
    }
    warnings.add(of_pieces_and_stacks(trace, tables, (names, symbols), sink)?);
    let mut kept = earlier();
    kept.tables.retain(|table| !has(*table));
    warnings.add(of_other_tables(trace, &kept, choice)?);
    if has(Table::Warnings) {
        let has_allocations = OF_ALLOCATIONS.iter().any(|of| has(*of) || kept.tables.contains(of));
        warnings.add(of_analyses_without_table(trace, has_allocations));
        traces::warnings(&warnings, sink)?;
    }
    let mut written = tables.to_vec();
    written.retain(|table| !table.is_of_processors() || processors.is_some());
    let there: BTreeSet<Table> = written.iter().chain(&kept.there).copied().collect();
    traces::write(&file(), &Vec::from_iter(there), Ok((&facts, &warnings)), sink)?;
    Ok((written, warnings))
}

/// What the dataset has of the trace from earlier and keeps.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Tables that it was asked for; those that the trace does not have are not there.
    pub tables: Vec<Table>,
    /// Tables that are there.
    pub there: Vec<Table>,
    /// What was missing of symbols when `stacks` was written: where they were looked for is not known any more.
    pub symbols_missing: Vec<String>,
}

/// Records of the tables of the reference set.
const OF_ACCESSES: [HookId; 3] = [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX];
/// Records of the tables of counters.
const OF_COUNTERS: [HookId; 3] = [MEM_INFO, MEM_INFO_WS, MEM_INFO_SESSION_WS];

/// The tables of stacks, and those with a row for each event or piece, which refer to them; returns what casts doubt on them.
fn of_pieces_and_stacks(
    trace: &Trace,
    tables: &[Table],
    (names, symbols): (&Patterns, &SymbolFolders),
    sink: &dyn Sink,
) -> Result<Warnings, Error> {
    let has = |table: Table| tables.contains(&table);
    let mut warnings = Warnings::default();
    let mut found = None;
    if tables.iter().any(|table| table.is_of_stacks()) {
        let (all, told) = stacks::read(trace, symbols);
        warnings.add(told);
        if has(Table::Stacks) {
            stacks::stacks(&all, sink)?;
        }
        if has(Table::StackEvents) {
            warnings.add(stacks::events(trace, &all, sink)?);
        }
        found = Some(all);
    }
    if has(Table::Events) {
        warnings.add(events::write(trace, (names, found.as_ref()), sink)?);
    }
    let found = found.filter(|_| has(Table::PieceStacks));
    if has(Table::AllocationPieces) || has(Table::PieceStacks) {
        warnings.add(allocation_pieces::write(trace, has, found, sink)?);
    }
    Ok(warnings)
}

/// Tables whose warnings are those of allocations.
const OF_ALLOCATIONS: [Table; 2] = [Table::Allocations, Table::AllocationPieces];

/// True when a trace has records of which this table is made; tables of rundowns and of other facts are never missed.
pub(crate) fn is_recorded(trace: &Trace, table: Table) -> bool {
    match table {
        Table::Pages | Table::Resident => !trace.snapshots().is_empty(),
        Table::Refset | Table::RefsetPages => is_any(trace, &OF_ACCESSES),
        Table::MemorySamples | Table::WorkingSets => is_any(trace, &OF_COUNTERS),
        Table::Cpu | Table::CpuWaits | Table::CpuInterrupts => is_any(trace, &[CSWITCH]),
        Table::Stacks | Table::PieceStacks => trace.missing(&STACK_EVENTS).iter().all(|need| !need.required),
        Table::Allocations | Table::AllocationPieces => AllocationKind::ALL.iter().any(|of| of.is_recorded(trace)),
        _ => true,
    }
}

/// True when a trace has records of one of these kinds.
fn is_any(trace: &Trace, hooks: &[HookId]) -> bool {
    hooks.iter().any(|&hook| trace.survey().kernel_count(hook) > 0)
}

/// What faults and times by samples say, and what allocations without their table leave out or estimate: their records can be rows of
/// `events`.
fn of_analyses_without_table(trace: &Trace, has_allocations: bool) -> Warnings {
    let mut warnings = Warnings::default();
    for kind in AllocationKind::ALL.into_iter().filter(|kind| !has_allocations && is_any(trace, kind.hooks())) {
        let query = AllocationQuery { of: Some(kind), ..AllocationQuery::default() };
        warnings.extend(AllocationSet::answer(trace, &query).map(|set| set.warnings).unwrap_or_default());
    }
    warnings.retain(|warning| ["records_left_out", "frees_estimated"].contains(&warning.code));
    if is_any(trace, &[HARD_FAULT, DISK_READ, DISK_WRITE]) {
        warnings.add(FaultSet::answer(trace, &FaultQuery::default()).map(|set| set.warnings).unwrap_or_default());
    }
    warnings.add(SampledUse::warnings_of_trace(trace));
    warnings
}

/// What casts doubt on tables that are there already.
fn of_other_tables(
    trace: &Trace,
    Earlier { tables, symbols_missing, .. }: &Earlier,
    choice: SnapshotChoice,
) -> Result<Warnings, Error> {
    let has = |wanted: &[Table]| wanted.iter().any(|table| tables.contains(table));
    let mut warnings = Warnings::default();
    if has(&[Table::Pages, Table::Resident]) {
        let indices: Vec<usize> = chosen(trace, choice)?.iter().map(|chosen| chosen.index).collect();
        warnings.extend(if indices.is_empty() { Warnings::default() } else { warnings::of_snapshots(trace, &indices) });
    }
    if has(&[Table::Refset, Table::RefsetPages]) {
        warnings.extend(ReferenceSet::answer(trace, &Query::default()).map(|set| set.warnings).unwrap_or_default());
    }
    if has(&[Table::MemorySamples, Table::WorkingSets]) {
        warnings.extend(memory::read(trace)?.into_iter().flat_map(|set| set.warnings));
    }
    if has(&[Table::Cpu, Table::CpuWaits, Table::CpuInterrupts]) {
        warnings.extend(cpu::read(trace)?.into_iter().flat_map(|set| set.warnings));
    }
    if has(&OF_ALLOCATIONS) {
        warnings.extend(allocations::read(trace)?.1);
    }
    if tables.iter().any(|table| table.is_of_stacks()) {
        warnings.extend(stacks::read(trace, &SymbolFolders::default()).1);
    }
    if tables.contains(&Table::Stacks) {
        warnings.extend(warning::symbols_missing(STACK_EVENTS.name, symbols_missing.iter().cloned()));
    }
    Ok(warnings)
}

/// The tables of counters; returns what casts doubt on them.
fn of_counters(trace: &Trace, tables: &[Table], sink: &dyn Sink) -> Result<Warnings, Error> {
    let has = |table: Table| tables.contains(&table);
    if !has(Table::MemorySamples) && !has(Table::WorkingSets) {
        return Ok(Warnings::default());
    }
    let has_counters = is_any(trace, &OF_COUNTERS);
    let set = if has_counters { memory::read(trace)? } else { None };
    if has(Table::MemorySamples) {
        memory::samples(set.as_ref(), sink)?;
    }
    if has(Table::WorkingSets) {
        memory::working_sets(set.as_ref(), sink)?;
    }
    Ok(set.map(|set| set.warnings).unwrap_or_default())
}

fn of_cpu(set: &crate::analysis::cpu::CpuUse, tables: &[Table], sink: &dyn Sink) -> Result<(), Error> {
    for table in tables {
        match table {
            Table::Cpu => cpu::threads(set, sink)?,
            Table::CpuWaits => cpu::waits(set, sink)?,
            Table::CpuInterrupts => cpu::interrupts(set, sink)?,
            _ => {}
        }
    }
    Ok(())
}

/// The tables with the pages and ranges of each snapshot; returns what casts doubt on the pages.
fn of_snapshots(trace: &Trace, tables: &[Table], chosen: &[Chosen<'_>], sink: &dyn Sink) -> Result<Warnings, Error> {
    let has = |table: Table| tables.contains(&table);
    let wanted = resident::Wanted { pages: has(Table::Pages), resident: has(Table::Resident) };
    let by_page = wanted.pages || wanted.resident;
    for chosen in chosen.iter().filter(|_| by_page) {
        let context = SnapshotContext::new(trace, chosen.snapshot);
        resident::write(trace.etl(), &context, *chosen, wanted, sink)?;
    }
    if chosen.is_empty() {
        for table in [Table::Pages, Table::Resident].into_iter().filter(|table| has(*table)) {
            ColumnBatches::new(table, sink).finish()?;
        }
    }
    if has(Table::Ranges) {
        let mut ranges = ColumnBatches::new(Table::Ranges, sink);
        chosen.iter().try_for_each(|chosen| processes_files_ranges::ranges(trace, *chosen, &mut ranges))?;
        ranges.finish()?;
    }
    let indices: Vec<usize> = chosen.iter().map(|chosen| chosen.index).collect();
    Ok(if by_page && !indices.is_empty() { warnings::of_snapshots(trace, &indices) } else { Warnings::default() })
}
