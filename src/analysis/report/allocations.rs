//! What was allocated and not freed, over time and by whom: commit, pool, heaps.

use crate::analysis::allocations::{
    AllocationOrder, AllocationQuery, AllocationRow, AllocationSet, AllocationView, TimelineStep,
};
use crate::analysis::report::downsampling::step_of;
use crate::analysis::table::Table;
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::trace::Trace;
use crate::trace::analysis_needs::COMMIT_ALLOCATIONS;
use crate::units::{Nanos, PAGE_BYTES};

/// Steps in the length of the trace.
const STEPS: i128 = 300;
/// Bars of the picture.
const BARS: usize = 12;
/// Most rows of the tables.
const MOST_ROWS: usize = 200;

/// The kinds of allocations that a trace has.
#[derive(Debug)]
pub struct AllocationOverview {
    /// In the order of [`AllocationKind::ALL`]; at least one.
    pub(crate) kinds: Vec<KindOverview>,
}

/// Allocations of one kind in pictures.
#[derive(Debug)]
pub(crate) struct KindOverview {
    /// All of it, by who allocated.
    pub set: AllocationSet,
    /// What was allocated in the first half and is there at the end.
    leaks: AllocationSet,
}

impl AllocationOverview {
    /// The overview of a trace.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without allocations.
    pub(crate) fn new(trace: &Trace) -> Result<AllocationOverview, Error> {
        // A rundown alone is no course.
        let has_course = |kind: &AllocationKind| kind.hooks().iter().any(|hook| trace.survey().kernel_count(*hook) > 0);
        let kinds = AllocationKind::ALL.into_iter().filter(has_course).map(|kind| KindOverview::new(trace, kind));
        let kinds: Vec<KindOverview> = kinds.collect::<Result<_, Error>>()?;
        if kinds.is_empty() { Err(trace.cannot_run(&COMMIT_ALLOCATIONS)) } else { Ok(AllocationOverview { kinds }) }
    }
}

impl KindOverview {
    fn new(trace: &Trace, of: AllocationKind) -> Result<KindOverview, Error> {
        let end = trace.survey().last().map_or(Nanos(0), |last| trace.time(last));
        let query = AllocationQuery { of: Some(of), ..AllocationQuery::default() };
        let leaks = AllocationQuery { only_leaks: true, order: AllocationOrder::Oldest, ..query.clone() };
        let all = AllocationQuery { timeline: Some(step_of(end, STEPS)), ..query };
        Ok(KindOverview { set: AllocationSet::answer(trace, &all)?, leaks: AllocationSet::answer(trace, &leaks)? })
    }

    /// Begins of the steps and the end of the last: seconds.
    pub fn times(&self) -> Vec<f64> {
        let begins = self.set.timeline.iter().map(|step| self.set.time(step.from).seconds());
        begins.chain([self.set.window_times.1.seconds()]).collect()
    }

    /// The most that was allocated in each step, in pages; last what was there at the end.
    pub fn pages(&self) -> Vec<f64> {
        let steps = self.set.timeline.iter().map(|step: &TimelineStep| pages(step.peak));
        steps.chain([pages(self.set.total.at_end().bytes)]).collect()
    }

    /// Who has most at the end: label, of it from before the trace, of it allocated in the trace; pages.
    pub fn owners(&self) -> Vec<(&str, f64, f64)> {
        let owner = |row: &'_ AllocationRow| {
            let figures = &row.figures;
            (figures.at_end().count > 0).then(|| (pages(figures.kept.bytes), pages(figures.impacting.bytes)))
        };
        let of_rows = self.set.rows.iter().take(BARS);
        of_rows
            .filter_map(|row| owner(row).and_then(|(kept, new)| Some((row.labels.first()?.shown(), kept, new))))
            .collect()
    }

    /// By who allocated.
    pub fn table(&self) -> Table {
        self.set.row_table(AllocationView::Outstanding, AllocationOrder::AtEnd, Some(MOST_ROWS))
    }

    /// What was allocated in the first half and is there at the end; `None` if nothing.
    pub fn leak_table(&self) -> Option<Table> {
        let has_some = self.leaks.total.impacting.count > 0;
        has_some.then(|| self.leaks.row_table(AllocationView::Leaks, AllocationOrder::Oldest, Some(MOST_ROWS)))
    }
}

fn pages(bytes: u128) -> f64 {
    bytes as f64 / PAGE_BYTES as f64
}
