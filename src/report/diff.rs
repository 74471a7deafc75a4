//! `pfnset diff` in all forms. Wire format: docs/json.md, schema `pfnset.diff`.

use crate::analysis::diff::pages::PageDifferences;
use crate::analysis::diff::rows::DiffTotals;
use crate::analysis::diff::{Diff, SideFacts, names};
use crate::analysis::table::Table;
use crate::report::text::Unit;
use crate::report::{Report, Style, recording_files, table, text};
use crate::units::counted;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;

/// The report.
#[derive(Debug)]
pub struct DiffReport<'a> {
    diff: &'a Diff,
    unit: Unit,
}

impl<'a> DiffReport<'a> {
    /// Of this result.
    pub fn new(diff: &'a Diff, unit: Unit) -> Self {
        DiffReport { diff, unit }
    }

    /// `LEFT   trace.etl: trace, 6,000 pages by WPA's rules`.
    fn sides(&self) -> [String; 2] {
        let [left, right] = &self.diff.sides;
        let side = |name: &str, facts: &SideFacts| {
            let kind = match facts.kind {
                "trace" => "trace",
                "pfnset_json" => "JSON of pfnset",
                "pfnset_csv" => "CSV of pfnset",
                _ => "table of WPA",
            };
            let snapshot = match facts.snapshot.filter(|_| facts.has_more_snapshots) {
                Some(snapshot) => format!(", snapshot {snapshot}"),
                None => String::new(),
            };
            let rules = if facts.classification == "wpa" { "by WPA's rules" } else { "by corrected rules" };
            let pages = pages_of(facts.total_pages);
            format!(
                "{name:<5}  {}: {kind}{snapshot}, {pages} {rules}",
                text::printable(&recording_files::name(&facts.files))
            )
        };
        [side("LEFT", left), side("RIGHT", right)]
    }

    /// Whether the sides agree, and in what not.
    fn verdict(&self) -> String {
        let diff = self.diff;
        let rows = counted(diff.all.rows, "row", "rows");
        let within = match diff.within.rows {
            0 => String::new(),
            some => format!("; {} within the tolerance", counted(some, "row differs", "rows differ")),
        };
        if diff.is_equal() {
            let all = if diff.within.rows > 0 { "Equal within the tolerance" } else { "Equal" };
            return format!("{all}: {rows}, {}{within}", pages_of(diff.all.left));
        }
        if diff.differing.is_empty() {
            return format!("Different: {rows} agree{within}, but single pages do not");
        }
        let changed = DiffTotals::of(&diff.differing);
        let total = match diff.all.delta() {
            0 => format!("the totals agree: at least {} moved from one key to another", pages_of(changed.more)),
            more if more > 0 => format!("RIGHT has {} more", pages_of(more)),
            less => format!("LEFT has {} more", pages_of(-less)),
        };
        let differing = text::count(changed.rows);
        format!("Different: {differing} of {rows}, by {}; {total}{within}", pages_of(changed.more + changed.less))
    }

    /// What the comparison page by page found.
    fn page_line(&self, pages: &PageDifferences) -> String {
        let (left, right) = match self.diff.trace_is_right {
            false => (pages.only_trace, pages.only_export),
            true => (pages.only_export, pages.only_trace),
        };
        format!(
            "Page by page: {} on both sides, {} with another category; {} only on the left, {} only on the right",
            pages_of(i64::try_from(pages.compared).unwrap_or(i64::MAX)),
            text::count(pages.differing),
            text::count(left),
            text::count(right)
        )
    }

    /// Command lines that explain a page of each group.
    fn explanations(&self) -> Vec<String> {
        let [left, right] = &self.diff.sides;
        let trace = if self.diff.trace_is_right { right } else { left };
        let quoted = |path: &PathBuf| {
            let path = path.display().to_string();
            if path.contains([' ', '&', '(', ')', '\'']) { format!("\"{path}\"") } else { path }
        };
        let path = trace.files.iter().map(quoted).collect::<Vec<_>>().join(" ");
        let snapshot = match trace.snapshot.filter(|_| trace.has_more_snapshots) {
            Some(snapshot) => format!(" --snapshot {snapshot}"),
            None => String::new(),
        };
        let groups = self.diff.page_groups().iter();
        groups.map(|group| format!("pfnset resident {path}{snapshot} --explain 0x{:x}", group.first_pfn)).collect()
    }

    fn ignored(&self) -> Option<String> {
        let names: Vec<String> =
            self.diff.ignored.iter().map(|name| format!("\"{}\"", text::printable(name))).collect();
        (!names.is_empty()).then(|| format!("Columns that are not compared: {}", names.join(", ")))
    }

    /// The tables below the first one, with their titles.
    fn further(&self) -> [Option<Table>; 2] {
        [self.diff.page_table(), self.diff.rule_change_table()]
    }
}

/// `6,000 pages`.
fn pages_of(pages: i64) -> String {
    let sign = if pages < 0 { "-" } else { "" };
    let unit = if pages == 1 { "page" } else { "pages" };
    format!("{sign}{} {unit}", text::count(pages.unsigned_abs()))
}

fn wrapped(out: &mut dyn Write, line: &str, style: &Style) -> io::Result<()> {
    text::wrap(line, style.width.into()).iter().try_for_each(|part| writeln!(out, "{part}"))
}

impl Report for DiffReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.diff.warnings
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.diff.warnings, style.width)?;
        self.sides().iter().try_for_each(|line| wrapped(out, line, style))?;
        for part in text::wrap(&self.verdict(), style.width.into()) {
            text::heading(out, &part)?;
        }
        writeln!(out)?;
        table::text(out, &self.diff.table(), style, self.unit)?;
        self.ignored().iter().try_for_each(|line| wrapped(out, line, style))?;
        if let Some(pages) = &self.diff.pages {
            writeln!(out)?;
            wrapped(out, &self.page_line(pages), style)?;
        }
        let [pages, moved] = self.further();
        if let Some(pages) = pages {
            writeln!(out)?;
            table::text(out, &pages, style, self.unit)?;
            writeln!(out, "The reasons for the first page of each group:")?;
            self.explanations().iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        if let Some(moved) = moved {
            writeln!(out)?;
            text::heading(out, moved.title.as_deref().unwrap_or_default())?;
            table::text(out, &moved, style, self.unit)?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let diff = self.diff;
        let [left, right] = diff.sides.each_ref().map(|facts| {
            let mut side = json!({
                "path": facts.files.first().map(|path| path.display().to_string()),
                "kind": facts.kind,
                "classification": facts.classification,
                "total_pages": facts.total_pages,
                "snapshot": facts.snapshot,
            });
            recording_files::add_files(&mut side, &facts.files);
            side
        });
        let mut object = json!({
            "schema": "pfnset.diff",
            "version": 1,
            "warnings": diff.warnings,
            "left": left,
            "right": right,
            "dimensions": names(&diff.dimensions),
            "equal": diff.is_equal(),
            "rows_compared": diff.all.rows,
            "rows_within_tolerance": diff.within.rows,
            "differing": table::objects(&diff.table()),
            "ignored_columns": diff.ignored,
        });
        if let (Some(object), Some(moved)) = (object.as_object_mut(), &diff.rule_changes) {
            let row = |row: &crate::analysis::diff::trace_side::RuleChange| {
                json!({
                    "category_wpa": row.category_wpa,
                    "category": row.category,
                    "rule": row.rule,
                    "pages": row.pages,
                })
            };
            object.insert("moved".into(), moved.iter().map(row).collect());
        }
        if let (Some(object), Some(pages)) = (object.as_object_mut(), &diff.pages) {
            object.insert("pages".into(), pages_json(pages, diff.trace_is_right));
        }
        object
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.diff.table()]
    }

    fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        for warning in &self.diff.warnings {
            writeln!(out, "> {}\n", text::printable(warning))?;
        }
        writeln!(out, "**{}**\n", self.verdict())?;
        self.sides().iter().try_for_each(|line| writeln!(out, "- {line}"))?;
        self.ignored().iter().try_for_each(|line| writeln!(out, "- {line}"))?;
        self.diff.pages.iter().try_for_each(|pages| writeln!(out, "- {}", self.page_line(pages)))?;
        writeln!(out)?;
        let tables: Vec<Table> =
            std::iter::once(self.diff.table()).chain(self.further().into_iter().flatten()).collect();
        table::markdown(out, &tables, self.unit)
    }

    fn unit(&self) -> Unit {
        self.unit
    }
}

fn pages_json(pages: &PageDifferences, trace_is_right: bool) -> Value {
    let sides = |trace: Value, export: Value| if trace_is_right { (export, trace) } else { (trace, export) };
    let (only_left, only_right) = sides(json!(pages.only_trace), json!(pages.only_export));
    let examples = pages.examples.iter().map(|example| {
        let (left, right) = sides(json!(example.trace), json!(example.export));
        json!({ "pfn": format!("0x{:x}", example.pfn), "left": left, "right": right })
    });
    let groups = pages.groups.iter().map(|group| {
        json!({
            "category_export": group.theirs,
            "category_trace": group.ours,
            "rule": group.rule.id(),
            "pages": group.pages,
            "first_pfn": format!("0x{:x}", group.first_pfn),
        })
    });
    json!({
        "compared": pages.compared,
        "differing": pages.differing,
        "only_left": only_left,
        "only_right": only_right,
        "repeated": pages.repeated,
        "other_address": pages.other_address,
        "examples": examples.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
    })
}
