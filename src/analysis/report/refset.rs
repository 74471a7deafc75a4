//! The reference set over time.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::{Dimension, Query};
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::report::downsampling::{step_of, thinned};
use crate::analysis::table::{Column, Line, Table, Value};
use crate::dimensions::Label;
use crate::error::Error;
use crate::model::category::Category;
use crate::trace::Trace;
use crate::units::Nanos;

/// Most points over time.
const MOST_POINTS: usize = 400;
/// Steps of the timeline in the length of the trace: the scenario may be a small part of it.
const STEPS: i128 = 4000;
/// Most rows of each level of a table.
const MOST_ROWS: usize = 20;
/// Most processes of the table of what each held.
const MOST_HOLDERS: usize = 200;

/// The reference set in pictures.
#[derive(Debug)]
pub struct RefsetOverview {
    /// The reference set; its rows are by impact, then process.
    pub set: ReferenceSet,
    /// Times of the points, since trace start.
    pub times: Vec<Nanos>,
    /// Held pages of each category at the points.
    pub held: Vec<(Category, Vec<u64>)>,
}

impl RefsetOverview {
    /// The overview of a trace of this length.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without page accesses.
    pub fn new(trace: &Trace, length: Nanos) -> Result<RefsetOverview, Error> {
        let query = Query {
            group_by: vec![Dimension::Impact, Dimension::PROCESS],
            top: Some(MOST_ROWS),
            timeline: Some(step_of(length, STEPS)),
            ..Query::default()
        };
        let mut set = ReferenceSet::answer(trace, &query)?;
        let (mut times, mut held) = (Vec::new(), Vec::new());
        if let Some(timeline) = set.timeline.take() {
            let count = timeline.times.len();
            let kept = thinned(count, MOST_POINTS);
            times = kept.iter().filter_map(|&at| timeline.times.get(at).copied()).collect();
            for group in &timeline.groups {
                let number = group.labels.first().and_then(Label::number_in_list);
                let Some(&category) = number.and_then(|number| Category::ALL.get(number)) else { continue };
                let pages: Vec<u64> = group.pages(count).collect();
                held.push((category, kept.iter().filter_map(|&at| pages.get(at).copied()).collect()));
            }
        }
        // Classes stay together.
        held.sort_by_key(|(category, _)| (category.class() as usize, *category as usize));
        Ok(RefsetOverview { set, times, held })
    }

    /// Accesses and releases in the window by reason: name, pages accessed, pages released.
    pub fn reasons(&self) -> Vec<(&'static str, u64, u64)> {
        let accesses = AccessReason::ALL.map(AccessReason::name).into_iter().zip(self.set.balance.accesses);
        let releases = ReleaseReason::ALL.map(ReleaseReason::name).into_iter().zip(self.set.balance.releases);
        let all = accesses.map(|(name, pages)| (name, pages, 0)).chain(releases.map(|(name, pages)| (name, 0, pages)));
        all.filter(|(_, accessed, released)| accessed + released > 0).collect()
    }

    /// The same as a table.
    pub fn reason_table(&self) -> Table {
        let line = |(name, accessed, released): (&str, u64, u64)| {
            let size = Value::pages((accessed + released) as i64);
            Line::new([Value::text(name), Value::CountIfAny(accessed), Value::CountIfAny(released), size])
        };
        let columns = ["Pages accessed", "Pages released", ""].map(Column::number);
        Table {
            columns: [Column::text("Reason")].into_iter().chain(columns).collect(),
            lines: self.reasons().into_iter().map(line).collect(),
            ..Table::default()
        }
    }

    /// Impact by process.
    pub fn impact_table(&self) -> Table {
        self.set.table()
    }

    /// What each process held.
    pub fn holder_table(&self) -> Table {
        let line = |holder: &crate::analysis::refset::totals::process_peaks::ProcessPeak| {
            Line::new([
                Value::text(&holder.process),
                Value::count(holder.peak.0),
                Value::pages(holder.peak.0 as i64),
                Value::Seconds(holder.peak.1),
                Value::Decimal(holder.average),
            ])
        };
        let columns = ["Peak, pages", "", "at s", "Average, pages"].map(Column::number);
        Table {
            columns: [Column::text("Process")].into_iter().chain(columns).collect(),
            lines: self.set.process_peaks.iter().take(MOST_HOLDERS).map(line).collect(),
            ..Table::default()
        }
    }
}
