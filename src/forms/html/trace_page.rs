//! A trace of the page, and what the page calls it.

use crate::analysis::report::Overview;
use crate::answer::answer_type::Warnings;
use crate::forms::html::label::label;
use std::path::{Path, PathBuf};

/// A trace of the page.
#[derive(Debug)]
pub struct TracePage<'a> {
    /// Its file name; the whole path where another trace has the same.
    pub name: String,
    /// Its files as the user named them: that of its name first.
    pub files: Vec<String>,
    /// What is shown of it.
    pub overview: &'a Overview,
}

impl<'a> TracePage<'a> {
    /// Traces with the files of each.
    pub fn of_all(traces: &[(Vec<&Path>, &'a Overview)]) -> Vec<TracePage<'a>> {
        let first = |files: &[&Path]| files.first().map_or_else(PathBuf::new, |path| path.to_path_buf());
        let file =
            |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
        let is_alone = |path: &Path| traces.iter().filter(|(other, _)| file(&first(other)) == file(path)).count() == 1;
        let page = |(files, overview): &(Vec<&Path>, &'a Overview)| {
            let path = first(files);
            let name = if is_alone(&path) { file(&path) } else { path.display().to_string() };
            let files = files.iter().map(|path| label(&path.display().to_string())).collect();
            TracePage { name: label(&name), files, overview }
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
