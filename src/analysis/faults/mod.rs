//! Faults and disk (`pfnset faults`): what was read because it was not in RAM, who waited for it, and what it cost.
//!
//! Sources: `docs/faults.md`.

mod coverage;
mod fault_set;
mod file_names;
mod hard;
mod named;
mod places;
mod query;
mod requests;
mod rows;
mod tables;
mod timeline;

pub use fault_set::FaultSet;
pub use query::{Dimension, FaultQuery};
pub(crate) use rows::HardFigures;
pub use tables::Total;
pub(crate) use timeline::FaultStep;

use crate::analysis::cpu::time_grid::TickRange;
use crate::analysis::stacks::{Owners, Texts};
use crate::error::Error;
use crate::event::page_fault::FaultKind;
use crate::load::fault_records::{FaultRecords, SoftOwner};
use crate::load::parts::Parts;
use crate::load::stacks::first_walk::session_pointer;
use crate::model::window::{Ends, Window};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::FAULTS;
use crate::units::{Ticks, counted};
use file_names::FileNames;
use named::Named;
use requests::Requests;
use std::collections::BTreeMap;

impl FaultSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without any fault or disk request, [`Error::MissingPart`] when they were lost, [`Error::Usage`] for
    /// a window or a timeline that cannot be.
    pub fn answer(trace: &Trace, query: &FaultQuery) -> Result<FaultSet, Error> {
        trace.gather(Parts::SYSTEM.and(Parts::COUNTERS));
        let (etl, clock) = (trace.etl(), &trace.etl().clock);
        let (window, range) = window(trace, query)?;
        let grid = timeline::grid(trace, range, query)?;
        let owner = |id: Option<u32>, moment: Moment, owners: &Owners<'_>| -> Option<SoftOwner> {
            range.holds(moment.time).then(|| (id, id.and_then(|id| owners.instance(id, moment))))
        };
        let by_process = Owners::new(trace.processes(), &[]);
        let records = FaultRecords::new(etl, &|id, moment| owner(id, moment, &by_process));
        if records.hard.is_empty() && records.disk.is_empty() && records.soft.is_empty() {
            return Err(trace.cannot_run(&FAULTS));
        }
        let mut named = Named { owners: Owners::new(trace.processes(), &records.threads), texts: Texts::default() };
        let files = FileNames::new(&records.names, &mut named.texts);
        let hard = hard::hard_faults(&records, &mut named, &files, session_pointer(etl), clock.origin);
        let Requests { requests, unfinished } = Requests::new(&records.disk, &mut named, &files);
        let counted = rows::Rows::new(trace, &named.texts, range, &query.conditions);
        let (hard, requests) = (counted.hard_faults(hard), counted.requests(requests));
        let soft = soft(&records, &by_process, trace);
        let has_file = query.group_by.contains(&Dimension::File);
        Ok(FaultSet {
            warnings: warnings(trace, &records),
            doubtful: trace.trust().any(),
            window_times: (clock.nanos(range.from), clock.nanos(range.to)),
            window,
            window_ticks: range.ticks(),
            dimensions: query.group_by.clone(),
            hard: counted.hard_figures(&hard),
            hard_rows: counted.hard_rows(&hard, &query.group_by),
            disk: counted.request_figures(&requests),
            unfinished: unfinished.iter().filter(|time| range.holds(**time)).count() as u64,
            disk_rows: counted.request_rows(&requests, &query.group_by),
            is_filtered: !query.conditions.is_empty(),
            soft: soft.0,
            hard_markers: soft.1,
            timeline: grid.map(|grid| timeline::steps(trace, range, grid, &hard, &requests)),
            by_file: if has_file { Vec::new() } else { counted.hard_rows(&hard, &[Dimension::File]) },
        })
    }
}

/// The window: the trace from its header's stamp to one tick after its last record, or as the user says.
fn window(trace: &Trace, query: &FaultQuery) -> Result<(Window, TickRange), Error> {
    let clock = &trace.etl().clock;
    let last = trace.survey().last().unwrap_or(clock.origin);
    let ends = Ends {
        first: clock.origin,
        last: Moment { time: Ticks(last.0.saturating_add(1)), order: 0 },
        ..Ends::of_trace(trace.survey(), &trace.system().marks)
    };
    let window = Window::between(ends, query.from.as_ref(), query.to.as_ref(), clock)?;
    let range = TickRange { from: window.from.time, to: window.to.time };
    Ok((window, range))
}

/// Soft faults by process and kind, and the number of markers of hard ones.
fn soft(records: &FaultRecords, owners: &Owners<'_>, trace: &Trace) -> (Vec<rows::SoftRow>, u64) {
    let mut markers = 0;
    let mut by_label: BTreeMap<(String, FaultKind), u64> = BTreeMap::new();
    for (((id, instance), kind), count) in &records.soft {
        if *kind == FaultKind::Hard {
            markers += count;
            continue;
        }
        let process = instance.and_then(|index| trace.processes().instances.get(index));
        let label = process.map_or_else(|| owners.label(*id, Moment::FIRST), |process| process.label());
        *by_label.entry((label, *kind)).or_default() += count;
    }
    let row = |((process, kind), events)| rows::SoftRow { process, kind, events };
    let mut rows: Vec<rows::SoftRow> = by_label.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.events));
    (rows, markers)
}

fn warnings(trace: &Trace, records: &FaultRecords) -> Vec<String> {
    let mut lines = trace.trust().warnings();
    if records.short > 0 {
        let short = counted(records.short, "disk record is", "disk records are");
        lines.push(format!("{short} shorter than the layout: not counted"));
    }
    lines.extend(trace.trust().not_there(&trace.missing(&FAULTS)));
    lines
}
