//! `pfnset refset` in all forms. Wire format: docs/json.md, schema `pfnset.refset`.

mod json;
mod tables;

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::Verification;
use crate::analysis::refset::totals::timeline::Timeline;
use crate::analysis::table::Table;
use crate::report::text::Unit;
use crate::report::{Report, Style, text};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// The view that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefsetView {
    /// One screen: the window, what was held, the largest categories and processes, and how well the result agrees with
    /// the final page sequence.
    Summary,
    /// Rows by the dimensions that the user named.
    Rows,
    /// Held pages over time.
    Timeline,
    /// The comparison with the final page sequence.
    Verification,
}

/// The report.
#[derive(Debug)]
pub struct RefsetReport<'a> {
    trace: &'a Path,
    set: &'a ReferenceSet,
    unit: Unit,
    view: RefsetView,
    /// The conditions that chose the rows, as the user wrote them.
    conditions: &'a [String],
}

impl<'a> RefsetReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a ReferenceSet, unit: Unit, view: RefsetView) -> Self {
        RefsetReport { trace, set, unit, view, conditions: &[] }
    }

    /// Names these conditions above the rows.
    pub fn with_conditions(self, conditions: &'a [String]) -> Self {
        RefsetReport { conditions, ..self }
    }
}

impl Report for RefsetReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.set.warnings
    }

    fn json(&self) -> Value {
        json::whole(self.trace, self.set)
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        match self.view {
            RefsetView::Summary => self.summary(out, style),
            RefsetView::Rows => self.row_table(out, style),
            RefsetView::Timeline => self.timeline_table(out, style),
            RefsetView::Verification => self.verification_table(out, style),
        }
    }

    fn tables(&self) -> Vec<Table> {
        match self.view {
            RefsetView::Summary | RefsetView::Rows => {
                vec![self.set.table().titled(self.title(self.rows_title()) + &self.where_words(", where "))]
            }
            RefsetView::Timeline => {
                let timeline = self.set.timeline.iter();
                timeline
                    .map(|timeline| timeline.table(&timeline.all_groups()))
                    .map(|table| table.titled(self.title("Held pages") + &self.where_words(", where ")))
                    .collect()
            }
            RefsetView::Verification => self.set.verification.iter().map(Verification::table).collect(),
        }
    }

    fn tables_of_each(&self) -> Vec<Table> {
        match self.view {
            RefsetView::Summary | RefsetView::Rows => self.tables(),
            RefsetView::Timeline => self.set.timeline.iter().map(Timeline::table_of_rows).collect(),
            RefsetView::Verification => self.set.verification.iter().map(Verification::table_of_sum).collect(),
        }
    }

    fn unit(&self) -> Unit {
        self.unit
    }
}
