//! The answer of `pfnset diff`. Wire format: docs/json.md, schema `pfnset.diff`.

use crate::analysis::diff::comparison::ComparedTotals;
use crate::analysis::diff::page_by_page::PageDifferences;
use crate::analysis::diff::trace_side::RuleChange;
use crate::analysis::diff::{Diff, Dimension, SideFacts};
use crate::analysis::table::Dimension as _;
use crate::answer::answer_type::{Answer, Units, name_of_files};
use crate::answer::comparison::{ListedRows, equal, held, within_tolerance};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, Unit};
use crate::answer::rows::Records;
use crate::answer::text_block::Block;
use crate::units::counted;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The answer of `pfnset diff`.
pub fn answer(diff: &Diff, unit: Unit, listed: ListedRows) -> Answer<'_> {
    Answer {
        warnings: diff.warnings.clone(),
        facts: facts(diff),
        tables: vec![diff.table(listed.most()).into()],
        closing: sides(diff).into_iter().chain([verdict(diff)]).collect(),
        screen: Some(screen(diff, listed)),
        document: Some(document(diff, listed.top)),
        units: Units { size: unit, ..Units::default() },
        ..Answer::new("pfnset.diff")
    }
    .chosen_by(&diff.compared.filter)
}

fn screen(diff: &Diff, listed: ListedRows) -> Vec<Block> {
    let mut screen: Vec<Block> = sides(diff).map(Block::Text).into();
    screen.extend([Block::Heading(verdict(diff)), Block::Blank, Block::Rows(0)]);
    screen.extend(listed.not_listed(diff.compared.rows.len()).map(Block::Text));
    screen.extend(reference_hint(diff).map(Block::Text));
    screen.extend(ignored(diff).map(Block::Text));
    if let Some(pages) = &diff.pages {
        screen.extend([Block::Blank, Block::Text(page_line(diff, pages))]);
    }
    if let Some(pages) = diff.page_table(listed.top) {
        screen.extend([Block::Blank, Block::Table(pages)]);
        screen.push(Block::Line("The reasons for the first page of each group:".into()));
        screen.extend(explanations(diff, listed.top).into_iter().map(|line| Block::Line(format!("  {line}"))));
    }
    if let Some(labels) = diff.page_label_table(listed.top) {
        screen.extend([Block::Blank, Block::Title(labels.title.clone().unwrap_or_default()), Block::Table(labels)]);
    }
    if let Some(moved) = diff.rule_change_table(listed.top) {
        screen.extend([Block::Blank, Block::Title(moved.title.clone().unwrap_or_default()), Block::Table(moved)]);
    }
    screen
}

fn document(diff: &Diff, top: Option<usize>) -> Vec<Block> {
    let mut document = vec![Block::Heading(verdict(diff))];
    let pages = diff.pages.iter().map(|pages| page_line(diff, pages));
    let items = sides(diff).into_iter().chain(ignored(diff)).chain(pages);
    document.extend(items.map(|line| Block::Item(0, line)));
    document.extend([Block::Blank, Block::Rows(0)]);
    for further in [diff.page_table(top), diff.page_label_table(top), diff.rule_change_table(top)].into_iter().flatten()
    {
        document.extend([Block::Blank, Block::Table(further)]);
    }
    document
}

fn facts(diff: &Diff) -> Facts<'_> {
    let [left, right] = diff.sides.each_ref().map(|side| {
        let facts = Facts::default().all(json!({
            "path": side.files.first().map(|path| path.display().to_string()),
            "kind": side.kind,
            "classification": side.classification,
            "total_pages": side.total_pages,
            "snapshot": side.snapshot,
            "window": side.window.map(|(start, stop)| json!({"start_s": start, "stop_s": stop})),
        }));
        Fact::Object(facts.filter(&side.filter).files(&side.files))
    });
    let mut facts = Facts::default()
        .has("warnings", Fact::Warnings)
        .has("left", left)
        .has("right", right)
        .filter(&diff.compared.filter)
        .is("dimensions", Dimension::names(&diff.dimensions))
        .is("equal", diff.is_equal())
        .is("no_match", diff.compared.has_no_match())
        .is("rows_compared", diff.compared.all.rows)
        .is("rows_within_tolerance", diff.compared.within.rows)
        .has("differing", Fact::Records(Records::of(diff.table_of(diff.compared.differing()))))
        .is("ignored_columns", &diff.ignored);
    if let Some(rows) = diff.compared.agreeing() {
        facts = facts.has("agreeing", Fact::Records(Records::of(diff.table_of(rows))));
    }
    if let Some(moved) = &diff.rule_changes {
        let row = |row: &RuleChange| {
            json!({
                "category_wpa": row.category_wpa,
                "category": row.category,
                "rule": row.rule,
                "pages": row.pages,
            })
        };
        facts = facts.is("moved", moved.iter().map(row).collect::<Value>());
    }
    if let Some(pages) = &diff.pages {
        facts = facts.is("pages", pages_json(pages, diff.trace_is_right));
    }
    facts.is("unmatched", &diff.compared.unmatched).doubts(&diff.warnings)
}

/// `LEFT   trace.etl: trace, 6,000 pages by WPA's rules`.
fn sides(diff: &Diff) -> [String; 2] {
    let [left, right] = &diff.sides;
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
        let pages = pages_of(facts.total_pages.into());
        let chosen: Vec<String> = facts.filter.iter().map(|(name, patterns)| format!("{name}={patterns}")).collect();
        let chosen = if chosen.is_empty() { String::new() } else { format!(", where {}", chosen.join(", ")) };
        let window =
            facts.window.map(|(start, stop)| format!(", from {start:.6} s to {stop:.6} s")).unwrap_or_default();
        format!("{name:<5}  {}: {kind}{snapshot}, {pages} {rules}{chosen}{window}", name_of_files(&facts.files))
    };
    [side("LEFT", left), side("RIGHT", right)]
}

/// Whether the sides agree, and in what not.
fn verdict(diff: &Diff) -> String {
    let compared = &diff.compared;
    let rows = counted(compared.all.rows, "row", "rows");
    let within = within_tolerance(compared.within.rows);
    if let Some(text) = compared.no_match() {
        return text.into();
    }
    if diff.is_equal() {
        let all = equal(compared.within.rows);
        return format!("{all}: {rows}, {}{within}", held([compared.all.left, compared.all.right].map(pages_of)));
    }
    let changed = ComparedTotals::of(compared.differing());
    if changed.rows == 0 {
        return format!("Different: {rows} agree{within}, but single pages do not");
    }
    let total = match compared.all.delta() {
        0 => format!("the totals agree: at least {} moved from one key to another", pages_of(changed.more)),
        more if more > 0 => format!("RIGHT has {} more", pages_of(more)),
        less => format!("LEFT has {} more", pages_of(-less)),
    };
    let differing = numbers::count(changed.rows);
    format!("Different: {differing} of {rows}, by {}; {total}{within}", pages_of(changed.more + changed.less))
}

fn reference_hint(diff: &Diff) -> Option<String> {
    let hint = "Both traces also have what was touched while they were recorded: --refset compares that";
    diff.has_reference_sets.then(|| hint.to_owned())
}

/// What the comparison page by page found.
fn page_line(diff: &Diff, pages: &PageDifferences) -> String {
    let (left, right) = match diff.trace_is_right {
        false => (pages.only_trace, pages.only_export),
        true => (pages.only_export, pages.only_trace),
    };
    format!(
        "Page by page: {} on both sides{}; {} only on the left, {} only on the right",
        pages_of(pages.compared.into()),
        other_labels(&pages.dimensions),
        numbers::count(left),
        numbers::count(right)
    )
}

/// `, 3 with another list, 0 with another category or priority`.
fn other_labels(dimensions: &[(Dimension, u64)]) -> String {
    let name = |(dimension, _): &(Dimension, u64)| dimension.name().replace('_', " ");
    let with = |is_same: bool| dimensions.iter().filter(move |(_, pages)| (*pages == 0) == is_same);
    let mut text: String =
        with(false).map(|of| format!(", {} with another {}", numbers::count(of.1), name(of))).collect();
    let names: Vec<String> = with(true).map(name).collect();
    match names.split_last() {
        None => {}
        Some((only, [])) => text += &format!(", 0 with another {only}"),
        Some((last, names)) => text += &format!(", 0 with another {} or {last}", names.join(", ")),
    }
    text
}

/// Command lines that explain a page of each group.
fn explanations(diff: &Diff, top: Option<usize>) -> Vec<String> {
    let [left, right] = &diff.sides;
    let trace = if diff.trace_is_right { right } else { left };
    let quoted = |path: &PathBuf| {
        let path = path.display().to_string();
        if path.contains([' ', '&', '(', ')', '\'']) { format!("\"{path}\"") } else { path }
    };
    let path = trace.files.iter().map(quoted).collect::<Vec<_>>().join(" ");
    let snapshot = match trace.snapshot.filter(|_| trace.has_more_snapshots) {
        Some(snapshot) => format!(" --snapshot {snapshot}"),
        None => String::new(),
    };
    let groups = diff.page_groups(top).iter();
    groups.map(|group| format!("pfnset resident {path}{snapshot} --explain 0x{:x}", group.first_pfn)).collect()
}

fn ignored(diff: &Diff) -> Option<String> {
    let names: Vec<String> = diff.ignored.iter().map(|name| format!("\"{}\"", name)).collect();
    (!names.is_empty()).then(|| format!("Columns that are not compared: {}", names.join(", ")))
}

/// `6,000 pages`.
fn pages_of(pages: i128) -> String {
    let sign = if pages < 0 { "-" } else { "" };
    let unit = if pages == 1 { "page" } else { "pages" };
    format!("{sign}{} {unit}", numbers::count(u64::try_from(pages.unsigned_abs()).unwrap_or(u64::MAX)))
}

/// Pairs of labels that JSON lists.
const MOST_LABEL_GROUPS: usize = 100;

fn pages_json(pages: &PageDifferences, trace_is_right: bool) -> Value {
    let sides = |trace: Value, export: Value| if trace_is_right { (export, trace) } else { (trace, export) };
    let (only_left, only_right) = sides(json!(pages.only_trace), json!(pages.only_export));
    let examples = pages.examples.iter().map(|example| {
        let (left, right) = sides(json!(example.trace), json!(example.export));
        let label = |(dimension, [theirs, ours]): &(&str, [String; 2])| {
            let (left, right) = sides(json!(ours), json!(theirs));
            json!({ "dimension": dimension, "left": left, "right": right })
        };
        let others: Value = example.others.iter().map(label).collect();
        json!({ "pfn": format!("0x{:x}", example.pfn), "left": left, "right": right, "other_labels": others })
    });
    let dimension =
        |(dimension, differing): &(Dimension, u64)| json!({ "dimension": dimension.name(), "differing": differing });
    let label_groups = pages.label_groups.iter().take(MOST_LABEL_GROUPS).map(|group| {
        let (left, right) = sides(json!(group.ours), json!(group.theirs));
        json!({
            "dimension": group.dimension.name(),
            "left": left,
            "right": right,
            "pages": group.pages,
            "first_pfn": format!("0x{:x}", group.first_pfn),
        })
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
        "by_dimension": pages.dimensions.iter().map(dimension).collect::<Value>(),
        "differing_in_any": pages.differing_in_any,
        "label_groups": label_groups.collect::<Vec<_>>(),
    })
}
