//! `pfnset processes` in all forms. Wire format: docs/json.md, schema `pfnset.processes`.

use crate::analysis::processes::ProcessSet;
use crate::analysis::table::{Dimension as _, Table};
use crate::report::text::Unit;
use crate::report::{Report, Style, table, text};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct ProcessReport<'a> {
    trace: &'a Path,
    set: &'a ProcessSet,
    unit: Unit,
}

impl<'a> ProcessReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a ProcessSet, unit: Unit) -> Self {
        ProcessReport { trace, set, unit }
    }

    /// `118 processes, 3 of them selected, pages at 1.234 s (snapshot 0 of 2, numbered from 0)`.
    fn title(&self) -> String {
        let (total, selected) = (self.set.total, self.set.processes.len() as u64);
        let of_them = match selected == total {
            true => String::new(),
            false => format!(", {} of them selected", text::count(selected)),
        };
        let pages = match &self.set.snapshot {
            None => "; the trace holds no page records".to_owned(),
            Some(snapshot) => {
                let which = text::which_snapshot(snapshot.index, self.set.snapshot_count);
                let which = which.map_or_else(String::new, |which| format!(" ({which})"));
                format!("; pages at {:.3} s{which}", snapshot.time.seconds())
            }
        };
        format!("{} processes{of_them}{pages}", text::count(total))
    }
}

impl Report for ProcessReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.set.warnings
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        text::heading(out, &self.title())?;
        writeln!(out)?;
        table::text(out, &self.set.table(), style, self.unit)
    }

    fn json(&self) -> Value {
        let set = self.set;
        json!({
            "schema": "pfnset.processes",
            "version": 1,
            "trace": self.trace.display().to_string(),
            "warnings": set.warnings,
            "snapshot_count": set.snapshot_count,
            "snapshot": set.snapshot.map(|snapshot| json!({
                "index": snapshot.index,
                "time_s": snapshot.time.seconds(),
                "unattributed_private_pages": snapshot.unattributed.private,
                "unattributed_page_table_pages": snapshot.unattributed.page_tables,
            })),
            "total": set.total,
            "processes": table::objects(&set.process_table()),
            "group_by": set.dimensions.iter().map(|dimension| dimension.name()).collect::<Vec<_>>(),
            "rows": table::objects(&set.group_table()),
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.set.table().titled(self.title())]
    }

    fn unit(&self) -> Unit {
        self.unit
    }
}
