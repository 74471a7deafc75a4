//! `pfnset resident` in all forms. Wire format: docs/json.md, schema `pfnset.resident`.

mod checks;
mod first_screen;

use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::analysis::table::{Dimension as _, Table};
use crate::report::text::Unit;
use crate::report::{Report, Style, table, text, to_json};
use crate::units::PAGE_BYTES;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct ResidentReport<'a> {
    trace: &'a Path,
    set: &'a ResidentSet,
    unit: Unit,
    /// The first screen instead of the table of rows.
    is_first_screen: bool,
}

impl<'a> ResidentReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a ResidentSet, unit: Unit, is_first_screen: bool) -> Self {
        ResidentReport { trace, set, unit, is_first_screen }
    }
}

impl Report for ResidentReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.set.warnings
    }

    fn json(&self) -> Value {
        let snapshots = self.set.snapshots.iter().map(|s| {
            json!({
                "index": s.index,
                "time_s": s.time.seconds(),
                "pages": s.pages,
                "bytes": s.pages * PAGE_BYTES,
                "selected_pages": s.selected,
                "checks": checks::json(&s.checks),
                "rows": table::objects(&self.set.table(s)),
            })
        });
        to_json(&json!({
            "schema": "pfnset.resident",
            "version": 1,
            "trace": self.trace.display().to_string(),
            "warnings": self.set.warnings,
            "missing_keywords": self.set.missing.iter().map(|need| need.keyword).collect::<Vec<_>>(),
            "classification": self.set.classification.name(),
            "group_by": self.set.dimensions.iter().map(|d| d.name()).collect::<Vec<_>>(),
            "snapshot_count": self.set.snapshot_count,
            "snapshots": snapshots.collect::<Vec<_>>(),
        }))
    }

    fn tables(&self) -> Vec<Table> {
        self.set.snapshots.iter().map(|snapshot| self.set.table(snapshot).titled(self.title(snapshot))).collect()
    }

    fn unit(&self) -> Unit {
        self.unit
    }

    fn tables_for_people(&self) -> Vec<Table> {
        if !self.is_first_screen {
            return self.tables();
        }
        let screen = |snapshot| {
            let memory = first_screen::title(self.set, snapshot, self.unit);
            let parts = first_screen::parts(snapshot, self.unit).join(", ");
            self.set.overview(snapshot).titled(format!("{memory}: {parts}"))
        };
        self.set.snapshots.iter().map(screen).collect()
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        for (number, snapshot) in self.set.snapshots.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            match self.is_first_screen && (snapshot.selected > 0 || snapshot.pages == 0) {
                true => first_screen::print(out, style, self.set, snapshot, self.unit)?,
                false => self.snapshot_table(out, style, snapshot)?,
            }
        }
        Ok(())
    }
}

impl ResidentReport<'_> {
    /// `Snapshot 0 of 2, numbered from 0, at 1.234 s: 4,096 pages, 16.00 MiB, 12 of them selected`.
    fn title(&self, snapshot: &SnapshotSet) -> String {
        let which = text::which_snapshot(snapshot.index, self.set.snapshot_count);
        let which = which.map_or_else(|| "Snapshot".to_owned(), |which| format!("{},", which.replacen('s', "S", 1)));
        let selected = match snapshot.selected == snapshot.pages {
            true => String::new(),
            false => format!(", {} of them selected", text::count(snapshot.selected)),
        };
        format!(
            "{which} at {:.3} s: {} pages, {}{selected}",
            snapshot.time.seconds(),
            text::count(snapshot.pages),
            text::bytes(snapshot.pages * PAGE_BYTES)
        )
    }

    fn snapshot_table(&self, out: &mut dyn Write, style: &Style, snapshot: &SnapshotSet) -> io::Result<()> {
        text::heading(out, &self.title(snapshot))?;
        writeln!(out)?;
        if snapshot.selected == 0 && snapshot.pages > 0 {
            let labels = "pfnset resident TRACE --group-by DIMENSION lists the labels";
            return writeln!(out, "No page meets the conditions of --where; {labels}");
        }
        table::text(out, &self.set.table(snapshot), style, self.unit)?;
        if self.set.is_whole() { checks::print_in_full(out, &snapshot.checks, style) } else { Ok(()) }
    }
}
