//! The page lists over time.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::counters::{COUNTERS, CounterColumn, MemorySample};
use crate::analysis::memory::query::{MemoryDimension, MemoryQuery};
use crate::analysis::memory::shown_rows::MemoryView;
use crate::analysis::report::downsampling::thinned;
use crate::analysis::table::Table;
use crate::error::Error;
use crate::event::hooks::MEM_INFO_WS;
use crate::trace::Trace;
use crate::units::Nanos;

/// Most points over time.
const MOST_POINTS: usize = 600;
/// Most processes of the table.
const MOST_PROCESSES: usize = 200;
/// The lists that add up to physical memory, in the order in which they are stacked.
const STACKED: [&str; 6] = ["in_use", "modified", "modified_no_write", "standby", "free", "zero"];
/// What is drawn as a line: it may exceed physical memory.
const LINES: [&str; 1] = ["commit"];

/// Memory over time in pictures.
#[derive(Debug)]
pub struct MemoryOverview {
    /// All of it.
    pub set: MemorySet,
    /// Times of the points, since trace start.
    pub times: Vec<Nanos>,
    /// What is stacked: title, pages at the points.
    pub stacked: Vec<(&'static str, Vec<Option<u64>>)>,
    /// What is drawn as a line.
    pub lines: Vec<(&'static str, Vec<Option<u64>>)>,
}

impl MemoryOverview {
    /// The overview of a trace.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without memory counters.
    pub fn new(trace: &Trace) -> Result<MemoryOverview, Error> {
        let has_processes = trace.survey().kernel_count(MEM_INFO_WS) > 0;
        let group_by = has_processes.then_some(MemoryDimension::Process);
        let query = MemoryQuery { group_by, ..MemoryQuery::default() };
        let mut set = MemorySet::answer(trace, &query)?;
        // Counters are shown too.
        let of_counters = set.doubts_of_times(trace, None);
        set.warnings.add(of_counters);
        let kept = thinned(set.samples.len(), MOST_POINTS);
        let samples: Vec<&MemorySample> = kept.iter().filter_map(|&at| set.samples.get(at)).collect();
        let series = |name: &&str| {
            let column: &CounterColumn = COUNTERS.iter().find(|column| column.name == *name)?;
            let values: Vec<Option<u64>> = samples.iter().map(|sample| (column.of)(sample)).collect();
            values.iter().any(|value| value.is_some_and(|pages| pages > 0)).then_some((column.title, values))
        };
        Ok(MemoryOverview {
            times: samples.iter().map(|sample| sample.time).collect(),
            stacked: STACKED.iter().filter_map(series).collect(),
            lines: LINES.iter().filter_map(series).collect(),
            set,
        })
    }

    /// Counters with their extremes.
    pub fn counter_table(&self) -> Table {
        self.set.counter_table(|_| true)
    }

    /// Working sets by process; `None` when they were not recorded.
    pub fn process_table(&self) -> Option<Table> {
        let view = MemoryView { top: Some(MOST_PROCESSES), ..MemoryView::default() };
        (!self.set.processes.is_empty()).then(|| self.set.table(view))
    }
}
