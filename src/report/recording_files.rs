//! Reports of a recording in several files: the JSON names all of them.

use crate::analysis::table::Table;
use crate::report::text::Unit;
use crate::report::{Report, Style};
use crate::units::counted;
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;

/// A report with the files of its recording, as the user named them.
pub struct OfSeveralFiles<'r> {
    /// The report.
    pub report: &'r dyn Report,
    /// The files.
    pub traces: Vec<PathBuf>,
}

/// Adds `traces`, all files of a recording, to an object about a recording in several files.
pub fn add_files(object: &mut Value, files: &[PathBuf]) {
    if let (Some(object), [_, _, ..]) = (object.as_object_mut(), files) {
        let names = files.iter().map(|path| path.display().to_string());
        object.insert("traces".into(), names.collect::<Vec<_>>().into());
    }
}

/// `kernel.etl and 1 more file`.
pub fn name(files: &[PathBuf]) -> String {
    let Some((first, more)) = files.split_first() else { return String::new() };
    let first = first.display();
    match more.len() {
        0 => first.to_string(),
        more => format!("{first} and {}", counted(more as u64, "more file", "more files")),
    }
}

impl Report for OfSeveralFiles<'_> {
    fn warnings(&self) -> &[String] {
        self.report.warnings()
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        self.report.table(out, style)
    }

    fn json(&self) -> Value {
        let mut json = self.report.json();
        add_files(&mut json, &self.traces);
        json
    }

    fn tables(&self) -> Vec<Table> {
        self.report.tables()
    }

    fn unit(&self) -> Unit {
        self.report.unit()
    }
}
