//! A trace of the page, and what the page calls it.

use crate::analysis::report::Overview;
use crate::answer::answer_type::Warnings;
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

    /// Of the warnings of a part those that do not stand at the head of the trace of this number.
    pub(super) fn not_said_yet<'w>(
        traces: &'w [TracePage<'_>],
        number: usize,
        warnings: &'w Warnings,
    ) -> impl Iterator<Item = &'w str> {
        let head = traces.get(number).map(|trace| &trace.overview.warnings);
        let is_new = move |text: &&str| head.is_some_and(|head| !head.say(text));
        warnings.iter().map(|warning| warning.text.as_str()).filter(is_new)
    }
}
