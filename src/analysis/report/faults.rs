//! Hard faults and the disk over time, beside available memory.

use crate::analysis::faults::{Dimension, FaultQuery, FaultSet, FaultStep, HardFigures};
use crate::analysis::report::downsampling::step_of;
use crate::analysis::table::Table;
use crate::dimensions::Label;
use crate::error::Error;
use crate::trace::Trace;
use crate::trace::analysis_needs::FAULTS;
use crate::units::Nanos;

/// Steps in the length of the trace.
const STEPS: i128 = 300;
/// Processes and files of the pictures.
const BARS: usize = 12;
/// Most rows of the tables.
const MOST_ROWS: usize = 200;

/// Hard faults and disk requests in pictures.
#[derive(Debug)]
pub struct FaultOverview {
    /// All of it, by process.
    pub(crate) set: FaultSet,
    /// The end of the last step.
    pub(crate) end: Nanos,
    /// Disk requests by file.
    disk_by_file: Table,
}

impl FaultOverview {
    /// The overview of a trace.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without hard faults and disk requests.
    pub(crate) fn new(trace: &Trace) -> Result<FaultOverview, Error> {
        // Most traces have none: they are not read once more to find out.
        if trace.missing(&FAULTS).iter().any(|need| need.required) {
            return Err(trace.cannot_run(&FAULTS));
        }
        let end = trace.survey().last().map_or(Nanos(0), |last| trace.time(last));
        let by = |dimension, timeline| {
            let query = FaultQuery { group_by: vec![dimension], timeline, ..FaultQuery::default() };
            FaultSet::answer(trace, &query)
        };
        let set = by(Dimension::Process, Some(step_of(end, STEPS)))?;
        let disk_by_file = by(Dimension::File, None)?.disk_table(Some(MOST_ROWS));
        Ok(FaultOverview { set, end, disk_by_file })
    }

    /// Pages that were available in each step: by the latest counters at its end.
    pub(crate) fn available(&self) -> Vec<Option<u64>> {
        let steps = self.set.timeline.as_deref().unwrap_or_default().iter();
        let latest = |known: &mut Option<u64>, step: &FaultStep| {
            *known = step.available_pages.or(*known);
            Some(*known)
        };
        steps.scan(None, latest).collect()
    }

    /// The processes that waited longest: label, nanoseconds, faults.
    pub(crate) fn by_process(&self) -> Vec<(&str, u64, u64)> {
        longest(&self.set.hard_rows)
    }

    /// The files that were waited for longest.
    pub(crate) fn by_file(&self) -> Vec<(&str, u64, u64)> {
        longest(&self.set.by_file)
    }

    /// Hard faults by process.
    pub(crate) fn process_table(&self) -> Table {
        self.set.hard_table(Some(MOST_ROWS))
    }

    /// Hard faults by file.
    pub(crate) fn file_table(&self) -> Table {
        self.set.file_table(MOST_ROWS)
    }

    /// Disk requests by file.
    pub(crate) const fn disk_table(&self) -> &Table {
        &self.disk_by_file
    }

    /// The steps in which something happened, or available memory was recorded.
    pub(crate) fn step_table(&self) -> Table {
        let mut table = self.set.timeline_table();
        let is_busy = |step: &FaultStep| step.hard_faults > 0 || step.disk_bytes > 0 || step.available_pages.is_some();
        let mut busy = self.set.timeline.iter().flatten().map(is_busy);
        table.lines.retain(|_| busy.next().unwrap_or(true));
        table
    }
}

fn longest(rows: &[(Vec<Label>, HardFigures)]) -> Vec<(&str, u64, u64)> {
    let with_label = rows.iter().filter_map(|(labels, figures)| Some((labels.first()?.shown(), figures)));
    let with_wait = with_label.filter(|(_, figures)| !figures.is_wait_unknown());
    with_wait.take(BARS).map(|(label, figures)| (label, figures.waited_ns, figures.events)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The picture had values of available memory that the table left out.
    #[test]
    fn steps_with_a_sample_have_a_row() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/faults-x86.etl");
        let overview = FaultOverview::new(&Trace::open(&path).unwrap()).unwrap();
        let steps = overview.set.timeline.as_deref().unwrap();
        let happened = |step: &&FaultStep| step.hard_faults > 0 || step.disk_bytes > 0;
        let sampled = |step: &&FaultStep| step.available_pages.is_some();
        assert!(steps.iter().any(|step| sampled(&step) && !happened(&step)));
        let rows = steps.iter().filter(|step| sampled(step) || happened(step)).count();
        assert_eq!(overview.step_table().lines.len(), rows);
    }
}
