//! A trace of the page, and what the page calls it.

use crate::analysis::overview::Overview;
use crate::forms::html::label::label;
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

impl<'a> TracePage<'a> {
    /// Traces with their paths.
    pub fn of_all(traces: &[(&Path, &'a Overview)]) -> Vec<TracePage<'a>> {
        let file =
            |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
        let is_alone = |path: &Path| traces.iter().filter(|(other, _)| file(other) == file(path)).count() == 1;
        let page = |&(path, overview): &(&Path, &'a Overview)| {
            let whole = path.display().to_string();
            let name = if is_alone(path) { file(path) } else { whole.clone() };
            TracePage { name: label(&name), path: label(&whole), overview }
        };
        traces.iter().map(page).collect()
    }
}
