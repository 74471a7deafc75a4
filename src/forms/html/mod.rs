//! `pfnset report`: one HTML file that shows traces in pictures, with all that it needs inside of it.
//!
//! [`page`] is the text of the page, [`tables`] its tables, [`data`] the data for the scripts, [`script`] the scripts
//! themselves. docs/report.md says what the page shows and why it is made like this.

mod data;
mod label;
mod page;
mod script;
mod tables;

use crate::analysis::overview::differences::Differences;
use crate::analysis::overview::{Overview, Part};
use label::label;
use std::io::{self, Write};
use std::path::Path;

/// A trace of the page.
#[derive(Debug)]
pub struct TracePage<'a> {
    /// Its file name; the whole path where another trace has the same.
    pub name: String,
    /// As the user named it.
    pub path: String,
    /// What is shown of it.
    pub overview: &'a Overview,
}

/// The page.
#[derive(Debug)]
pub struct HtmlReport<'a> {
    traces: Vec<TracePage<'a>>,
    differences: &'a [Part<Differences>],
}

impl<'a> HtmlReport<'a> {
    /// Of traces with their names, and of what differs between the first and each of the others.
    pub fn new(
        traces: impl Iterator<Item = (&'a Path, &'a Overview)>,
        differences: &'a [Part<Differences>],
    ) -> HtmlReport<'a> {
        let traces: Vec<(&Path, &Overview)> = traces.collect();
        let file =
            |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
        let is_alone = |path: &Path| traces.iter().filter(|(other, _)| file(other) == file(path)).count() == 1;
        let page = |&(path, overview): &(&Path, &'a Overview)| {
            let whole = path.display().to_string();
            let name = if is_alone(path) { file(path) } else { whole.clone() };
            TracePage { name: label(&name), path: label(&whole), overview }
        };
        HtmlReport { traces: traces.iter().map(page).collect(), differences }
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let charts = script::charts()?;
        out.write_all(page::page(&self.traces, self.differences, &charts).into_string().as_bytes())
    }
}
