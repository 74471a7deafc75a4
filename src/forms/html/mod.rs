//! `pfnset report`: one HTML file that shows traces in pictures, with all that it needs inside of it.
//!
//! [`page`] is the text of the page, [`tables`] its tables, [`data`] the data for the scripts, [`script`] the scripts
//! themselves. docs/report.md says what the page shows and why it is made like this.

#[cfg(test)]
mod colour_vision_tests;
mod data;
mod headline;
mod label;
mod page;
mod page_section;
mod script;
mod stack_differences;
mod stacks;
mod tables;
mod trace_page;

use crate::analysis::check::TraceResult;
use crate::analysis::report::differences::Differences;
use crate::analysis::report::stack_differences::{Lacking, StackDifferences};
use crate::analysis::report::{Overview, Part};
use std::io::{self, Write};
use std::path::Path;
use trace_page::TracePage;

/// The page.
#[derive(Debug)]
pub struct HtmlReport<'a> {
    traces: Vec<TracePage<'a>>,
    differences: &'a [Part<Differences>],
    verdicts: &'a [TraceResult],
    stacks: &'a [Result<StackDifferences, Lacking>],
}

impl<'a> HtmlReport<'a> {
    /// Of traces with the files of each, and of what differs between the first and each of the others.
    pub fn new(
        traces: impl Iterator<Item = (Vec<&'a Path>, &'a Overview)>,
        differences: &'a [Part<Differences>],
    ) -> HtmlReport<'a> {
        HtmlReport { traces: TracePage::of_all(&traces.collect::<Vec<_>>()), differences, verdicts: &[], stacks: &[] }
    }

    /// With the results of budgets for each trace.
    pub fn with_verdicts(self, verdicts: &'a [TraceResult]) -> HtmlReport<'a> {
        HtmlReport { verdicts, ..self }
    }

    /// With what differs between the samples of the first trace and of each of the others.
    pub(crate) fn with_stacks(self, stacks: &'a [Result<StackDifferences, Lacking>]) -> HtmlReport<'a> {
        HtmlReport { stacks, ..self }
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let charts = script::charts()?;
        let differences = (self.differences, self.stacks);
        out.write_all(page::page(&self.traces, differences, self.verdicts, &charts).into_string().as_bytes())
    }
}
