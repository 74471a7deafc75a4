//! Faults and disk (`pfnset faults`): what was read because it was not in RAM, who waited for it, and what it cost.
//!
//! Sources: `docs/faults.md`.

mod disk_requests;
mod fault_set;
mod file_key_names;
mod hard_faults;
mod labels;
mod query;
mod read_before;
mod read_ranges;
mod rows;
mod tables;
mod timeline;
mod warnings;

pub use fault_set::{FaultSet, SoftFaults};
pub use query::{Dimension, FaultQuery, RangeQuery};
#[cfg(feature = "cli")]
pub(crate) use query::{HardKind, Of};
pub use read_ranges::RangeSet;
pub(crate) use rows::{HardFigures, HardSet};
pub(crate) use timeline::FaultStep;
pub(crate) use warnings::WAITS_OVERLAP;

use crate::analysis::recording_end::beyond_recording;
use crate::analysis::repeated_marks::marks_repeated;
use crate::analysis::stacks::{Owners, Texts};
use crate::analysis::time_grid::{Grid, TickRange};
use crate::dimensions::Condition;
use crate::error::Error;
use crate::event::page_fault::FaultKind;
use crate::load::fault_records::{FaultRecords, SoftOwner};
use crate::load::stacks::first_walk::session_pointer;
use crate::load::trace_parts::Parts;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::FAULTS;
use disk_requests::Requests;
use file_key_names::KeyNames;
use labels::Named;
use read_ranges::ReadRanges;
use std::collections::BTreeMap;

impl FaultSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without any fault or disk request, [`Error::MissingPart`] when they were lost, [`Error::Usage`] for
    /// a window or a timeline that cannot be.
    pub fn answer(trace: &Trace, query: &FaultQuery) -> Result<FaultSet, Error> {
        FaultSet::answer_with(trace, query, &[]).map(|(set, _)| set)
    }

    /// Answers a query, and has the hard faults that meet other conditions instead; all go through the trace together.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn answer_with(
        trace: &Trace,
        query: &FaultQuery,
        others: &[&[Condition<Dimension>]],
    ) -> Result<(FaultSet, Vec<HardSet>), Error> {
        trace.gather(Parts::SYSTEM.and(Parts::COUNTERS));
        let snapshot = query.ranges.map(|asked| read_ranges::snapshot(trace, asked.beside)).transpose()?.flatten();
        let (etl, clock) = (trace.etl(), &trace.etl().clock);
        let (window, range) = TickRange::of_recording(trace, query.from.as_ref(), query.to.as_ref())?;
        let grid = query.timeline.map(|step| Grid::of_timeline(range, step, clock)).transpose()?;
        let by_process = Owners::new(trace.processes(), &[]);
        let owner = |id: Option<u32>, moment: Moment| -> Option<SoftOwner> {
            range.holds(moment.time).then(|| (id, id.and_then(|id| by_process.instance(id, moment))))
        };
        let records = FaultRecords::new(etl, &owner);
        if records.hard.is_empty() && records.disk.is_empty() && records.soft.is_empty() {
            return Err(trace.cannot_run(&FAULTS));
        }
        let mut named = Named { owners: Owners::new(trace.processes(), &records.threads), texts: Texts::default() };
        let files = KeyNames::new(&records.names, &mut named.texts);
        let hard = hard_faults::hard_faults(&records, &mut named, &files, session_pointer(etl), clock.origin);
        let read = query.ranges.map(|asked| (asked, ReadRanges::new(&hard)));
        let Requests { requests, unfinished } = Requests::new(&records.disk, &mut named, &files);
        let of_times = warnings::of_times(&hard, &requests, clock);
        let rows = |conditions| rows::Rows::new(trace, &named.texts, range, conditions);
        let counted = rows(&query.conditions);
        let of_others = others.iter().map(|conditions| rows(conditions).hard_set(&hard, &query.group_by)).collect();
        let (hard, requests) = (counted.hard_faults(hard), counted.requests(requests));
        let soft = soft(&records, &by_process, trace, &counted);
        let ranges = read.map(|(asked, read)| RangeSet::new(trace, &counted, &read, &hard, (asked, snapshot)));
        let figures = counted.hard_figures(&hard);
        let mut warnings = warnings::warnings(trace, &records, &requests, (&named.owners, &files));
        let early = range.count_before(query.from.as_ref(), records.hard.iter().map(|fault| fault.moment.time));
        warnings.extend(warnings::early(early, &records, range, query.from.as_ref()));
        let (disk, unfinished) = (counted.request_figures(&requests), counted.unfinished(&unfinished));
        warnings.extend(warnings::of_figures(&figures, &disk, (unfinished, warnings::has_no_completion(&records))));
        warnings.extend(of_times.into_iter().chain(beyond_recording(FAULTS.name, trace, range.from, range.to)));
        warnings.extend(marks_repeated(FAULTS.name, trace, (query.from.as_ref(), query.to.as_ref()), range.from));
        warnings.add(query.ranges.map(|_| warnings::of_ranges(trace, snapshot)).unwrap_or_default());
        let set = FaultSet {
            warnings,
            window_times: (clock.nanos(range.from), clock.nanos(range.to)),
            window,
            window_ticks: range.ticks(),
            dimensions: query.group_by.clone(),
            hard: figures,
            hard_before_start: early,
            hard_rows: counted.hard_rows(&hard, &query.group_by),
            disk,
            unfinished,
            disk_rows: counted.request_rows(&requests, &query.group_by),
            not_counted: query.told_of_none(),
            filter: Condition::written(&query.conditions),
            ranges,
            soft,
            timeline: grid.map(|grid| timeline::steps(trace, range, grid, &hard, &requests)),
            by_file: counted.hard_rows_by_file(&hard, &query.group_by),
        };
        Ok((set, of_others))
    }
}

/// Soft faults that meet the conditions.
fn soft(records: &FaultRecords, owners: &Owners<'_>, trace: &Trace, counted: &rows::Rows<'_>) -> SoftFaults {
    let mut hard_markers = 0;
    let mut by_label: BTreeMap<(String, FaultKind), u64> = BTreeMap::new();
    for (((id, instance), kind), count) in &records.soft {
        let process = instance.and_then(|index| trace.processes().instances.get(index));
        let label = process.map_or_else(|| owners.label(*id, Moment::FIRST), |process| process.label());
        if !counted.wants_soft(&label) {
            continue;
        }
        if *kind == FaultKind::Hard {
            hard_markers += count;
            continue;
        }
        *by_label.entry((label, *kind)).or_default() += count;
    }
    let row = |((process, kind), events)| rows::SoftRow { process, kind, events };
    let mut rows: Vec<rows::SoftRow> = by_label.into_iter().map(row).collect();
    rows.sort_by(|a, b| (b.events, &a.process, a.kind_name()).cmp(&(a.events, &b.process, b.kind_name())));
    SoftFaults { rows, hard_markers, missing: warnings::missing_soft(trace) }
}
