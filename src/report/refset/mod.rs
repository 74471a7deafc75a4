//! `pfnset refset` in all forms. Wire format: docs/json.md, schema `pfnset.refset`.

mod json;
mod tables;

use crate::analysis::reference::ReferenceSet;
use crate::analysis::reference::query::Dimension;
use crate::report::text::Unit;
use crate::report::{Report, Style, text};
use crate::units::PAGE_BYTES;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// One screen: the window, what was held, the largest categories and processes, the proof.
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
    view: View,
}

impl<'a> RefsetReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a ReferenceSet, unit: Unit, view: View) -> Self {
        RefsetReport { trace, set, unit, view }
    }

    /// True when rows have a count of physical pages.
    fn with_impact(&self) -> bool {
        self.set.dimensions.contains(&Dimension::Impact)
    }
}

impl Report for RefsetReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.set.warnings
    }

    fn json(&self) -> Value {
        json::whole(self.trace, self.set, self.with_impact())
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        match self.view {
            View::Summary => self.summary(out, style),
            View::Rows => self.row_table(out, style),
            View::Timeline => self.timeline_table(out, style),
            View::Verification => self.verification_table(out, style),
        }
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        match self.view {
            View::Summary | View::Rows => {
                let impact = self.with_impact();
                let mut heading: Vec<&str> = self.set.dimensions.iter().map(|dimension| dimension.name()).collect();
                heading.extend(["pages", "bytes"]);
                if impact {
                    heading.extend(["impact_pages", "impact_bytes"]);
                }
                csv.write_record(heading)?;
                for row in &self.set.rows {
                    let mut record = row.labels.clone();
                    record.extend([row.count.pages, bytes(row.count.pages)].map(|number| number.to_string()));
                    if impact {
                        let pages = row.count.impact_pages;
                        record.extend([pages, bytes(pages)].map(|number| number.to_string()));
                    }
                    csv.write_record(record)?;
                }
            }
            View::Timeline => {
                let Some(timeline) = &self.set.timeline else { return csv.flush() };
                let categories = timeline.categories.iter().map(|category| category.name());
                csv.write_record(["time_s", "pages"].into_iter().chain(categories))?;
                for point in &timeline.points {
                    let mut record = vec![text::seconds(point.time), point.pages.to_string()];
                    record.extend(point.by_category.iter().map(u64::to_string));
                    csv.write_record(record)?;
                }
            }
            View::Verification => {
                let Some(verification) = &self.set.verification else { return csv.flush() };
                csv.write_record(["by", "name", "matched", "only_tracked", "only_final"])?;
                let by_use = verification.by_use.iter().map(|(page_use, a)| ("use", page_use.name(), a));
                let by_process = verification.by_process.iter().map(|(name, a)| ("process", name.as_str(), a));
                for (by, name, agreement) in by_use.chain(by_process) {
                    let counts = [agreement.matched, agreement.only_tracked, agreement.only_final];
                    csv.write_record([by, name].map(str::to_owned).into_iter().chain(counts.map(|n| n.to_string())))?;
                }
            }
        }
        csv.flush()
    }
}

/// Bytes of a number of pages, with its sign.
fn bytes(pages: i64) -> i64 {
    pages.saturating_mul(PAGE_BYTES as i64)
}
