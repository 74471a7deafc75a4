//! The answer of `pfnset check`. Wire format: docs/json.md, schema `pfnset.check`.

use crate::analysis::check::budget::{MeasureUnit, RowSum};
use crate::analysis::check::largest_growth::Grown;
use crate::analysis::check::verdict::{LimitKind, LimitResult, Verdict};
use crate::analysis::check::{BudgetResult, Spread, TraceResult};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value as Cell};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::check_amounts::{Amounts, amount_of, baseline_of, decisive, growth, growth_limit, signed, value_of};
use crate::answer::check_overview::overview;
use crate::answer::json_facts::{Fact, Facts, filter_json};
use crate::answer::numbers::Unit;
use crate::answer::text_block::Block;
use crate::dimensions::{Dimension as _, ProcessFacet};
use crate::trace::trust::warning::Warnings;
use serde_json::{Value, json};
use std::path::Path;

/// Where budgets came from, and the worst verdict.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    /// The budgets file.
    pub budgets: &'a Path,
    /// The baseline.
    pub baseline: Option<&'a Path>,
    /// What makes values of the baseline doubtful or useless, with its name: each row of CSV has it, as each suite of JUnit.
    pub of_baseline: &'a Warnings,
    /// The worst of all traces.
    pub verdict: Verdict,
}

/// The answer of these traces. `warnings`: with the names of the traces where there are several.
pub(crate) fn answer<'a>(
    checked: Checked<'_>,
    traces: &'a [TraceResult],
    warnings: Warnings,
    unit: Unit,
) -> Answer<'a> {
    let facts = Facts::default()
        .has("warnings", Fact::Warnings)
        .doubts(&warnings)
        .is("budgets_file", checked.budgets.display().to_string())
        .is("baseline", checked.baseline.map(|path| path.display().to_string()))
        .is("verdict", checked.verdict.name())
        .has("traces", Fact::list(move || traces.iter().map(move |trace| Fact::Object(of_trace(trace, unit)))));
    Answer {
        warnings,
        facts,
        tables: traces.iter().map(|trace| table(trace, checked.of_baseline, unit).into()).collect(),
        screen: Some(screen(traces, unit)),
        document: Some(document(traces, unit)),
        units: Units { size: unit, ..Units::default() },
        ..Answer::new("pfnset.check")
    }
}

fn of_trace<'a>(trace: &TraceResult, unit: Unit) -> Facts<'a> {
    Facts::default()
        .is("trace", trace.path().display().to_string())
        .is("verdict", trace.verdict.name())
        .is("warnings", trace.all_warnings().texts())
        .doubts(&trace.warnings)
        .is("budgets", trace.budgets.iter().map(|result| budget(result, unit)).collect::<Vec<_>>())
        .files(&trace.files)
}

/// Up to so many traces each has its own table, also where nothing is wrong.
const FEW: usize = 4;

/// The traces that have a table of their own, with their numbers: of many those that do not pass.
fn told(traces: &[TraceResult]) -> impl Iterator<Item = (usize, &TraceResult)> {
    let is_told = move |trace: &TraceResult| traces.len() <= FEW || trace.verdict != Verdict::Pass;
    traces.iter().enumerate().filter(move |(_, trace)| is_told(trace))
}

/// `19 traces: 2 fail, 17 pass`: the worst first.
fn of_all(traces: &[TraceResult]) -> String {
    let mut verdicts: Vec<(Verdict, u64)> = Vec::new();
    for trace in traces {
        match verdicts.iter_mut().find(|(verdict, _)| *verdict == trace.verdict) {
            Some((_, count)) => *count += 1,
            None => verdicts.push((trace.verdict, 1)),
        }
    }
    verdicts.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
    let parts: Vec<String> = verdicts.iter().map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
    format!("{} traces: {}", traces.len(), parts.join(", "))
}

fn screen(traces: &[TraceResult], unit: Unit) -> Vec<Block> {
    let mut screen = Vec::new();
    if let Some(overview) = overview(traces, unit) {
        screen.extend([Block::Heading(of_all(traces)), Block::Blank, Block::Table(overview)]);
    }
    for (number, trace) in told(traces) {
        if !screen.is_empty() {
            screen.push(Block::Blank);
        }
        screen.extend([Block::Title(title(trace)), Block::Blank, Block::Rows(number)]);
        for lines in reasons(trace, unit) {
            screen.push(Block::Blank);
            screen.extend(lines.into_iter().map(Block::Text));
        }
    }
    screen
}

fn document(traces: &[TraceResult], unit: Unit) -> Vec<Block> {
    let mut document = Vec::new();
    if let Some(overview) = overview(traces, unit) {
        document.extend([Block::Heading(of_all(traces)), Block::Blank, Block::Table(overview)]);
    }
    for (number, trace) in told(traces) {
        document.extend((!document.is_empty()).then_some(Block::Blank));
        document.push(Block::Rows(number));
        for lines in reasons(trace, unit) {
            let Some((first, rest)) = lines.split_first() else { continue };
            document.extend([Block::Blank, Block::Heading(first.clone())]);
            let item =
                |line: &String| Block::Item(if line.starts_with("    ") { 2 } else { 0 }, line.trim_start().to_owned());
            document.extend(rest.iter().map(item));
        }
    }
    document
}

/// The number of pages, where a value is one.
fn pages_of(result: &BudgetResult, value: Option<u64>) -> Option<u64> {
    value.filter(|_| result.budget.measure.unit() == MeasureUnit::Pages)
}

/// The reason of a verdict; `None` for a pass.
pub fn reason(result: &BudgetResult, unit: Unit) -> Option<String> {
    let amounts = Amounts::new(result, unit);
    let of_limit = |limit: &LimitResult| {
        let (room, bytes) = (limit.room, amounts.shown(limit.limit));
        let grew = || amounts.shown(growth(result).unwrap_or(0));
        let most = || amounts.shown(growth(result).unwrap_or(0).saturating_add(room));
        match (room < 0, limit.kind) {
            (true, LimitKind::Max) => format!("{} above max {bytes}", amounts.shown(room.saturating_neg())),
            (true, LimitKind::Min) => format!("{} below min {bytes}", amounts.shown(room.saturating_neg())),
            (true, LimitKind::MaxGrowth) => {
                let beyond = amounts.shown(room.saturating_neg());
                let noise = if limit.verdict == Verdict::Watch { ", no more than a run of the baseline" } else { "" };
                format!("grew by {}, {beyond} more than max_growth {}{noise}", grew(), most())
            }
            (false, LimitKind::MaxGrowth) => format!("grew by {}, near max_growth {}", grew(), most()),
            (false, LimitKind::Max) => format!("{} left below max {bytes}", amounts.shown(room)),
            (false, LimitKind::Min) => format!("{} left above min {bytes}", amounts.shown(room)),
        }
    };
    match (result.verdict, &result.fault) {
        (Verdict::Pass, _) => None,
        (Verdict::NoMatch, Some(fault)) if result.is_absent() => Some(format!("{fault}; the budget is optional")),
        (Verdict::Invalid | Verdict::NoMatch, Some(fault)) => Some(fault.clone()),
        // Each limit that is as bad as the worst: whoever mends one wants to know of the others.
        _ => {
            let worst = decisive(result)?.verdict;
            let broken = || result.limits.iter().filter(|limit| limit.verdict == worst);
            let all: Vec<String> = broken().map(of_limit).collect();
            let of_growth = || broken().any(|limit| limit.kind == LimitKind::MaxGrowth);
            let spread =
                result.spread.filter(|_| of_growth()).map(|spread| format!("; {}", runs(result, spread, unit)));
            Some(all.join("; ") + &spread.unwrap_or_default())
        }
    }
}

/// `baseline: median 4.00 MiB of 5 runs with 3.90 MiB to 4.30 MiB`.
fn runs(result: &BudgetResult, spread: Spread, unit: Unit) -> String {
    let amounts = Amounts::new(result, unit);
    let [median, least, most] = [result.baseline.unwrap_or_default(), spread.least, spread.most]
        .map(|number| amounts.shown(amount_of(result, number)));
    let within = match is_within_spread(result) {
        true => ": the value is within their spread",
        false => "",
    };
    match spread.runs {
        1 => format!("baseline: {median} of 1 run{within}"),
        runs => format!("baseline: median {median} of {runs} runs with {least} to {most}{within}"),
    }
}

/// A row that grew: `chrome.exe / VirtualAlloc: 12.00 MiB, +4.00 MiB`. Processes have the labels that tables have.
fn grown(row: &Grown, dimensions: &[String], amounts: Amounts) -> String {
    let label = |(label, dimension): (&String, &String)| match dimension == ProcessFacet::Process.name() {
        true => ProcessFacet::Process.of_text(label).shown().to_owned(),
        false => label.clone(),
    };
    let labels: Vec<String> = row.labels.iter().zip(dimensions).map(label).collect();
    let amount = |number: i64| number.saturating_mul(signed(amounts.of.scale()));
    let more = match row.baseline {
        None => String::new(),
        Some(0) => ", new".to_owned(),
        Some(_) => format!(", {}", amounts.change(amount(row.growth()))),
    };
    format!("{}: {}{more}", labels.join(" / "), amounts.shown(amount(row.pages)))
}

/// The reason and what grew, one line each.
pub fn explained(result: &BudgetResult, unit: Unit) -> Vec<String> {
    let Some(reason) = reason(result, unit) else { return Vec::new() };
    let mut lines = vec![format!("{}: {}", result.budget.name, reason)];
    if !result.grown.is_empty() {
        let what =
            if result.grown.iter().any(|row| row.baseline.is_some()) { "what grew most" } else { "its largest parts" };
        // What is held at the peak of all is another amount: it is not kept by row.
        let own = match result.budget.measure.sum_of_rows() {
            RowSum::Equal | RowSum::Rounded => "",
            RowSum::AtLeast => " (each its own peak, at its own time: they do not add up)",
            RowSum::OfGrowing => " (what others freed is not taken off: one can have more than all)",
        };
        lines.push(format!("  {what}, by {}{own}:", result.dimensions.join(" and ")));
        lines.extend(
            result
                .grown
                .iter()
                .map(|row| format!("    {}", grown(row, &result.dimensions, Amounts::new(result, unit)))),
        );
    }
    lines
}

/// The reasons of a trace. A reason that makes several budgets invalid is printed once.
pub(crate) fn reasons(trace: &TraceResult, unit: Unit) -> Vec<Vec<String>> {
    let is_invalid = |result: &&BudgetResult| result.verdict == Verdict::Invalid;
    let mut told: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for result in &trace.budgets {
        let Some(fault) = result.fault.as_deref().filter(|_| is_invalid(&result)) else {
            all.push(explained(result, unit));
            continue;
        };
        if told.contains(&fault) {
            continue;
        }
        told.push(fault);
        let same = trace.budgets.iter().filter(is_invalid).filter(|other| other.fault.as_deref() == Some(fault));
        let names: Vec<&str> = same.map(|other| other.budget.name.as_str()).collect();
        let names = match names.len() == trace.budgets.len() && names.len() > 1 {
            true => "all budgets".to_owned(),
            false => names.join("; "),
        };
        all.push(vec![format!("{names}: {fault}")]);
    }
    all.retain(|lines| !lines.is_empty());
    all
}

fn title(trace: &TraceResult) -> String {
    format!("{}: {}", trace.names(), trace.verdict.name())
}

fn line(result: &BudgetResult, unit: Unit) -> Line {
    let amounts = Amounts::new(result, unit);
    let shown = |amount: Option<i64>| Cell::maybe(amount, |amount| Cell::text(amounts.shown(amount)));
    Line::new([
        Cell::text(&result.budget.name),
        Cell::text(result.verdict.name()),
        shown(value_of(result)),
        Cell::maybe(decisive(result), |limit| {
            Cell::text(format!("{} {}", limit.kind.name(), amounts.shown(limit.limit)))
        }),
        shown(decisive(result).map(|limit| limit.room)),
        Cell::maybe(growth(result), |amount| {
            let noise = if is_within_spread(result) { " (in the spread)" } else { "" };
            Cell::text(format!("{}{noise}", amounts.change(amount)))
        }),
    ])
}

/// True where a value is no further from the median than the runs of the baseline are: its growth may be no more than noise.
fn is_within_spread(result: &BudgetResult) -> bool {
    let within = |spread: Spread| result.value.is_some_and(|value| (spread.least..=spread.most).contains(&value));
    growth(result) != Some(0) && result.spread.is_some_and(within)
}

/// Columns of CSV.
const FIELDS: [&str; 18] = [
    "trace",
    "name",
    "verdict",
    "value_pages",
    "value_bytes",
    "limit",
    "limit_bytes",
    "room_bytes",
    "baseline_bytes",
    "unit",
    "value",
    "limit_value",
    "reason",
    "warnings",
    "baseline_value",
    "growth",
    "growth_limit_value",
    "optional",
];

/// The budgets of a trace, a row for each. `of_baseline`: what is said of the values that they are compared with.
pub(crate) fn table(trace: &TraceResult, of_baseline: &Warnings, unit: Unit) -> Table {
    let of_all = [trace.warnings.texts(), of_baseline.texts()].concat();
    let record = |result: &BudgetResult| {
        let amounts = Amounts::new(result, unit);
        let number = |amount: Option<i64>| Cell::maybe(amount, |amount| amounts.cell(amount));
        let optional = |amount: Option<i64>| Cell::maybe(amount.and_then(|amount| amounts.bytes(amount)), Cell::Size);
        vec![
            Cell::text(trace.names()),
            Cell::text(&result.budget.name),
            Cell::text(result.verdict.name()),
            Cell::maybe(pages_of(result, result.value), Cell::count),
            optional(value_of(result)),
            Cell::maybe(decisive(result), |limit| Cell::text(limit.kind.name())),
            optional(decisive(result).map(|limit| limit.limit)),
            optional(decisive(result).map(|limit| limit.room)),
            optional(baseline_of(result)),
            Cell::text(amounts.of.name()),
            number(value_of(result)),
            number(decisive(result).map(|limit| limit.limit)),
            Cell::maybe(reason(result, unit), Cell::text),
            Cell::text([&of_all[..], &result.warnings].concat().join("; ")),
            number(baseline_of(result)),
            number(growth(result)),
            number(growth_limit(result)),
            Cell::Flag(result.budget.optional),
        ]
    };
    Table {
        title: Some(title(trace)),
        fields: FIELDS.map(Field::new).to_vec(),
        records: trace.budgets.iter().map(record).collect(),
        columns: vec![
            Column::text("Budget"),
            Column::text("Verdict").fit(Fit::Stays),
            Column::number("Value"),
            Column::number("Limit").fit(Fit::Leaves(2)),
            Column::number("Room").fit(Fit::Leaves(1)),
            Column::number("Growth").fit(Fit::Leaves(0)),
        ],
        lines: trace.budgets.iter().map(|result| line(result, unit)).collect(),
    }
}

fn budget(result: &BudgetResult, unit: Unit) -> Value {
    let amounts = Amounts::new(result, unit);
    let is_of_pages = amounts.of == MeasureUnit::Pages;
    let number = |amount: Option<i64>| amount.map(|amount| amounts.number(amount));
    let bytes = |amount: Option<i64>| amount.and_then(|amount| amounts.bytes(amount));
    let limit = |limit: &LimitResult| {
        json!({
            "limit": limit.kind.name(),
            "verdict": limit.verdict.name(),
            "limit_value": amounts.number(limit.limit),
            "room": amounts.number(limit.room),
            "limit_bytes": amounts.bytes(limit.limit),
            "room_bytes": amounts.bytes(limit.room),
        })
    };
    let row = |row: &Grown| {
        let scaled = |number: i64| amounts.number(number.saturating_mul(signed(amounts.of.scale())));
        json!({
            "labels": row.labels,
            "value": scaled(row.pages),
            "growth": scaled(row.growth()),
            "pages": is_of_pages.then_some(row.pages),
            "baseline_pages": row.baseline.filter(|_| is_of_pages),
            "growth_pages": is_of_pages.then(|| row.growth()),
        })
    };
    json!({
        "name": result.budget.name,
        "analysis": result.budget.analysis.name(),
        "measure": result.budget.measure.name(),
        "where": filter_json(&result.budget.filter),
        "optional": result.budget.optional,
        "verdict": result.verdict.name(),
        "warnings": result.warnings,
        "unit": amounts.of.name(),
        "value": number(value_of(result)),
        "value_pages": pages_of(result, result.value),
        "value_bytes": bytes(value_of(result)),
        "limit": decisive(result).map(|limit| limit.kind.name()),
        "limit_value": number(decisive(result).map(|limit| limit.limit)),
        "room": number(decisive(result).map(|limit| limit.room)),
        "limit_bytes": bytes(decisive(result).map(|limit| limit.limit)),
        "room_bytes": bytes(decisive(result).map(|limit| limit.room)),
        "baseline_value": number(baseline_of(result)),
        "growth": number(growth(result)),
        "baseline_pages": pages_of(result, result.baseline),
        "baseline_bytes": bytes(baseline_of(result)),
        "baseline_runs": result.spread.map(|spread| spread.runs),
        "baseline_least": number(result.spread.map(|spread| amount_of(result, spread.least))),
        "baseline_most": number(result.spread.map(|spread| amount_of(result, spread.most))),
        "growth_bytes": bytes(growth(result)),
        "reason": reason(result, unit),
        "limits": result.limits.iter().map(limit).collect::<Vec<_>>(),
        "grown_by": result.dimensions,
        "grown": result.grown.iter().map(row).collect::<Vec<_>>(),
    })
}
