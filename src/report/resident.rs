//! `pfnset resident` in all forms. Wire format: docs/json.md, schema `pfnset.resident`.

use crate::analysis::grouping::{Measure, Node};
use crate::analysis::resident::checks::Checks;
use crate::analysis::resident::dimension::{Code, Dimension};
use crate::analysis::resident::query::Classification;
use crate::analysis::resident::{ResidentSet, Row, SnapshotSet};
use crate::analysis::trust::counted;
use crate::report::table::{Align, TextTable};
use crate::report::text::Unit;
use crate::report::{Report, Style, text, to_json};
use crate::units::PAGE_BYTES;
use serde_json::{Map, Value, json};
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

    /// True when rows have a WPA count of their own.
    fn compares(&self) -> bool {
        self.set.classification == Classification::Both && self.set.dimensions.contains(&Dimension::Category)
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
                "rows": s.rows.iter().map(|row| self.json_row(row)).collect::<Vec<_>>(),
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

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        let dimensions = self.set.dimensions.iter().map(|d| d.name());
        let mut heading: Vec<&str> = ["snapshot"].into_iter().chain(dimensions).collect();
        heading.extend(["pages", "bytes"]);
        if self.compares() {
            heading.push("pages_wpa");
        }
        heading.extend(["active_pages", "standby_pages", "modified_pages"]);
        csv.write_record(heading)?;
        for snapshot in &self.set.snapshots {
            for row in &snapshot.rows {
                let m = &row.measure;
                let mut record = vec![snapshot.index.to_string()];
                record.extend(row.labels.iter().cloned());
                record.extend([m.pages.to_string(), (m.pages * PAGE_BYTES).to_string()]);
                if self.compares() {
                    record.push(m.pages_wpa.to_string());
                }
                record.extend([m.active, m.standby, m.modified].map(|pages| pages.to_string()));
                csv.write_record(record)?;
            }
        }
        csv.flush()
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
    fn json_row(&self, row: &Row) -> Value {
        let mut object = Map::new();
        for ((dimension, label), code) in self.set.dimensions.iter().zip(&row.labels).zip(&row.codes) {
            let value = match (dimension, code) {
                (Dimension::Cold | Dimension::Pinned | Dimension::NonTradeable, Code::Number(n)) => json!(*n != 0),
                (Dimension::Priority | Dimension::Pid | Dimension::Session, Code::Number(n)) => json!(n),
                _ => json!(label),
            };
            object.insert(dimension.name().to_owned(), value);
        }
        let m = &row.measure;
        object.insert("pages".into(), json!(m.pages));
        object.insert("bytes".into(), json!(m.pages * PAGE_BYTES));
        if self.compares() {
            object.insert("pages_wpa".into(), json!(m.pages_wpa));
        }
        object.insert("active_pages".into(), json!(m.active));
        object.insert("standby_pages".into(), json!(m.standby));
        object.insert("modified_pages".into(), json!(m.modified));
        Value::Object(object)
    }

    fn snapshot_table(&self, out: &mut dyn Write, style: &Style, snapshot: &SnapshotSet) -> io::Result<()> {
        let total = snapshot.pages;
        let of_all = match self.set.snapshot_count {
            1 => String::new(),
            count => format!(" {} (of 0 to {})", snapshot.index, count - 1),
        };
        let selected = if snapshot.selected == total {
            String::new()
        } else {
            format!(", {} of them selected", text::count(snapshot.selected))
        };
        text::heading(
            out,
            &format!(
                "Snapshot{of_all} at {:.3} s: {} pages, {}{selected}",
                snapshot.time.seconds(),
                text::count(total),
                text::bytes(total * PAGE_BYTES)
            ),
        )?;
        writeln!(out)?;
        if snapshot.selected == 0 && total > 0 {
            let labels = "pfnset resident TRACE --group-by DIMENSION lists the labels";
            return writeln!(out, "No page meets the conditions of --where; {labels}");
        }
        let titles: Vec<_> = self.set.dimensions.iter().map(|d| d.title()).collect();
        let first = titles.join(" / ");
        let mut columns = vec![
            (first.as_str(), Align::Left),
            ("Pages", Align::Right),
            (self.unit.title(), Align::Right),
            ("Share", Align::Right),
        ];
        if self.compares() {
            columns.extend([("WPA", Align::Right), ("Difference", Align::Right)]);
        }
        columns.extend([("Active", Align::Right), ("Standby", Align::Right), ("Modified", Align::Right)]);
        let mut table =
            TextTable::new(style, &columns).optional(&["Modified", "Standby", "Active", "Difference", "Share"]);
        let base = snapshot.selected.max(1);
        self.add_parts(&mut table, &snapshot.tree, 0, base);
        table.rule();
        table.row(self.cells("Total".into(), &snapshot.tree.measure, base));
        table.print(out)?;
        if self.with_processes {
            let line = checks_line(&snapshot.checks);
            text::wrap(&line, style.width.into()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        if self.with_processes && !snapshot.processes.parts.is_empty() {
            writeln!(out)?;
            text::heading(out, "Largest processes (private pages and page tables)")?;
            let mut table = TextTable::new(
                style,
                &[
                    ("Process", Align::Left),
                    ("Pages", Align::Right),
                    (self.unit.title(), Align::Right),
                    ("Share", Align::Right),
                ],
            );
            let short = |label: String, pages: u64| {
                [label, text::count(pages), self.unit.show(pages), text::share(pages, base)]
            };
            for part in &snapshot.processes.parts {
                table.row(short(part.label.clone(), part.measure.pages));
            }
            if let Some((count, rest)) = &snapshot.processes.more {
                table.row(short(format!("+ {} more", text::count(*count)), rest.pages));
            }
            table.print(out)?;
        }
        Ok(())
    }

    fn add_parts(&self, table: &mut TextTable, node: &Node, depth: usize, base: u64) {
        let indent = "  ".repeat(depth);
        for part in &node.parts {
            table.row(self.cells(format!("{indent}{}", part.label), &part.measure, base));
            self.add_parts(table, part, depth + 1, base);
        }
        if let Some((count, rest)) = &node.more {
            table.row(self.cells(format!("{indent}+ {} more", text::count(*count)), rest, base));
        }
    }

    fn cells(&self, label: String, m: &Measure, base: u64) -> Vec<String> {
        let mut cells = vec![label, text::count(m.pages), self.unit.show(m.pages), text::share(m.pages, base)];
        if self.compares() {
            cells.extend([text::count(m.pages_wpa), text::difference(m.pages, m.pages_wpa)]);
        }
        cells.extend([m.active, m.standby, m.modified].map(text::count_or_blank));
        cells
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
