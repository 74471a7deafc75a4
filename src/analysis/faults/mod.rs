//! Faults and disk (`pfnset faults`): what was read because it was not in RAM, who waited for it, and what it cost.
//!
//! Sources: `docs/faults.md`.

mod coverage;
mod file_names;
mod hard;
mod places;
mod query;
mod requests;
mod rows;
mod tables;
mod timeline;

pub use query::{Dimension, FaultQuery};
pub use rows::{HardFigures, RequestFigures, SoftRow};
pub use tables::Total;
pub use timeline::FaultStep;

use crate::analysis::cpu::time_grid::TickRange;
use crate::analysis::stacks::{Owners, Texts};
use crate::error::Error;
use crate::event::page_fault::FaultKind;
use crate::facets::Label;
use crate::load::fault_records::{FaultRecords, SoftOwner};
use crate::load::parts::Parts;
use crate::load::stacks::first_walk::session_pointer;
use crate::model::window::{Ends, Window};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::FAULTS;
use crate::units::{Nanos, Ticks, counted};
use file_names::FileNames;
use requests::Requests;
use std::collections::BTreeMap;

/// A row: labels in order of the dimensions, and its figures.
pub type Row<F> = (Vec<Label>, F);

/// What `pfnset faults` shows.
#[derive(Debug)]
pub struct FaultSet {
    /// Doubts, most important first.
    pub warnings: Vec<String>,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// Its length.
    pub window_ticks: u64,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// All hard faults of the window.
    pub hard: HardFigures,
    /// Hard faults by the dimensions that they have; empty where they have none of them.
    pub hard_rows: Vec<Row<HardFigures>>,
    /// All disk requests that were completed in the window.
    pub disk: RequestFigures,
    /// Requests that were started in the window and never completed.
    pub unfinished: u64,
    /// Disk requests by the dimensions that they have.
    pub disk_rows: Vec<Row<RequestFigures>>,
    /// Soft faults by process and kind.
    pub soft: Vec<SoftRow>,
    /// Markers of hard faults among the soft ones.
    pub hard_markers: u64,
    /// The timeline, if asked for.
    pub timeline: Option<Vec<FaultStep>>,
    /// Hard faults by file, where rows are by something else: what was read most.
    pub by_file: Vec<Row<HardFigures>>,
}

/// Texts, and whose threads and processes are.
pub(crate) struct Named<'t> {
    owners: Owners<'t>,
    texts: Texts,
}

impl Named<'_> {
    fn process(&mut self, process_id: Option<u32>, moment: Moment) -> u32 {
        let label = self.owners.label(process_id, moment);
        self.texts.id(&label)
    }

    fn file(&mut self, files: &FileNames, key: u64, moment: Moment) -> u32 {
        files.at(key, moment).unwrap_or_else(|| self.texts.id(&format!("Unknown (0x{key:x})")))
    }
}

/// The moment after all records of a time.
const fn is_after(time: Ticks) -> Moment {
    Moment { time, order: u64::MAX }
}

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
        let counted = rows::Rows::new(&named.texts, range, clock.frequency_hz, &query.conditions);
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
            soft: soft.0,
            hard_markers: soft.1,
            timeline: grid.map(|grid| timeline::steps(trace, range, grid, &hard, &requests)),
            by_file: if has_file { Vec::new() } else { counted.hard_rows(&hard, &[Dimension::File]) },
        })
    }
}

impl FaultSet {
    /// Soft faults of all kinds.
    pub fn soft_events(&self) -> u64 {
        self.soft.iter().map(|row| row.events).sum()
    }

    /// Soft faults by kind, most first.
    pub fn soft_kinds(&self) -> Vec<(&'static str, u64)> {
        let mut by_kind: BTreeMap<&'static str, u64> = BTreeMap::new();
        self.soft.iter().for_each(|row| *by_kind.entry(tables::soft_name(row.kind)).or_default() += row.events);
        let mut kinds: Vec<(&'static str, u64)> = by_kind.into_iter().collect();
        kinds.sort_by_key(|(_, events)| std::cmp::Reverse(*events));
        kinds
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
fn soft(records: &FaultRecords, owners: &Owners<'_>, trace: &Trace) -> (Vec<SoftRow>, u64) {
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
    let row = |((process, kind), events)| SoftRow { process, kind, events };
    let mut rows: Vec<SoftRow> = by_label.into_iter().map(row).collect();
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
