//! `pfnset resident` in all forms. Wire format: docs/json.md, schema `pfnset.resident`.

use crate::analysis::resident::checks::Checks;
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::analysis::table::{Dimension as _, Table};
use crate::report::text::Unit;
use crate::report::{Report, Style, table, text, to_json};
use crate::units::{PAGE_BYTES, counted};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct ResidentReport<'a> {
    trace: &'a Path,
    set: &'a ResidentSet,
    unit: Unit,
    /// Largest processes below the table.
    with_processes: bool,
}

impl<'a> ResidentReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a ResidentSet, unit: Unit, with_processes: bool) -> Self {
        ResidentReport { trace, set, unit, with_processes }
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
                "checks": checks(&s.checks),
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

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        for (number, snapshot) in self.set.snapshots.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            self.snapshot_table(out, style, snapshot)?;
        }
        Ok(())
    }
}

impl ResidentReport<'_> {
    /// `Snapshot 0 (of 0 to 1) at 1.234 s: 4,096 pages, 16.00 MiB, 12 of them selected`.
    fn title(&self, snapshot: &SnapshotSet) -> String {
        let of_all = match self.set.snapshot_count {
            1 => String::new(),
            count => format!(" {} (of 0 to {})", snapshot.index, count - 1),
        };
        let selected = match snapshot.selected == snapshot.pages {
            true => String::new(),
            false => format!(", {} of them selected", text::count(snapshot.selected)),
        };
        format!(
            "Snapshot{of_all} at {:.3} s: {} pages, {}{selected}",
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
        if !self.with_processes {
            return Ok(());
        }
        let line = checks_line(&snapshot.checks);
        text::wrap(&line, style.width.into()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        let processes = snapshot.process_table();
        if processes.lines.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        text::heading(out, processes.title.as_deref().unwrap_or_default())?;
        table::text(out, &processes, style, self.unit)
    }
}

/// All checks in words; those that fail are among the warnings too.
fn checks_line(c: &Checks) -> String {
    let beside = |count: Option<u64>, source: &str| match count {
        Some(count) => format!("{source} {}", text::count(count)),
        None => format!("no {source}"),
    };
    let temporary = c.slist_or_temp().filter(|&pages| pages > 0);
    let temporary = temporary.map_or_else(String::new, |pages| format!(", SLIST/Temp {}", text::count(pages)));
    let lists = match c.lists.len() {
        0 => "lists: no MemInfo".to_owned(),
        all => format!("lists: {} of {all} as MemInfo has them", c.lists_that_agree()),
    };
    format!(
        "Checks: PFNs 0x{:x} to 0x{:x}, {} missing in {}, {} twice; {lists}; bad pages {} ({}{temporary}); combined {} ({}); \
         PFN database {} ({})",
        c.pfns.0,
        c.pfns.1,
        text::count(c.missing_pfns),
        counted(c.gaps, "gap", "gaps"),
        text::count(c.duplicates),
        text::count(c.bad_list),
        beside(c.bad_meminfo, "MemInfo"),
        text::count(c.combined),
        beside(c.combined_mmstats, "MMStats"),
        text::count(c.pfn_database_counted),
        beside(c.pfn_database.map(|(_, pages)| pages), "KernelMemUsage"),
    )
}

fn checks(c: &Checks) -> Value {
    json!({
        "coverage": {
            "pages": c.pages,
            "first_pfn": c.pfns.0,
            "last_pfn": c.pfns.1,
            "missing_pfns": c.missing_pfns,
            "gaps": c.gaps,
            "duplicates": c.duplicates,
            "ram_pages": c.ram_pages,
            "lost_buffers": c.lost_buffers,
        },
        "bad_pages": { "list": c.bad_list, "meminfo": c.bad_meminfo, "slist_or_temp": c.slist_or_temp() },
        "combined_pages": { "counted": c.combined, "mmstats": c.combined_mmstats },
        "pfn_database": {
            "address": c.pfn_database.map(|(address, _)| format!("0x{address:x}")),
            "pages": c.pfn_database.map(|(_, pages)| pages),
            "counted": c.pfn_database_counted,
        },
        "lists": c.lists.iter().map(|list| json!({
            "list": list.what, "counted": list.counted, "meminfo": list.expected, "ok": list.is_fine(),
        })).collect::<Vec<_>>(),
        "contradictions": c.contradictions,
        "contradiction_examples": c.contradiction_examples,
        "owner_keys": { "reading": c.reading.name(), "active_private_pages": c.keyed.0, "unnamed": c.keyed.1 },
        "failures": c.failures(),
    })
}
