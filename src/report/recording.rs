//! Reports of a recording in several files: the JSON names them all.

use crate::analysis::table::Table;
use crate::report::text::Unit;
use crate::report::{Report, Style};
use serde_json::Value;
use std::io::{self, Write};

/// A report with the files of its recording, as the user named them.
pub struct OfSeveralFiles<'r> {
    /// The report.
    pub report: &'r dyn Report,
    /// The files.
    pub traces: Vec<String>,
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
        if let Some(object) = json.as_object_mut() {
            object.insert("traces".into(), self.traces.clone().into());
        }
        json
    }

    fn tables(&self) -> Vec<Table> {
        self.report.tables()
    }

    fn unit(&self) -> Unit {
        self.report.unit()
    }
}
