//! The answer of `pfnset stacks`. Wire format: docs/json.md, schema `pfnset.stacks`.

use crate::analysis::stacks::{FunctionRow, ModuleRow, SelfAndTotal, StackCounts, StackSet, Weight};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::answer::block::Block;
use crate::answer::content::{Answer, Units};
use crate::answer::facts::{Fact, Facts};
use crate::answer::numbers::{self, TimeUnit, Unit};
use crate::facets::Dimension as _;
use serde_json::json;
use std::collections::BTreeMap;

/// Rows of each table on the first screen, without a number of the user's.
const FIRST: usize = 12;
/// What stands for the function of events without a stack.
const NO_STACK: &str = "[no stack]";

/// The answer of this result; `top` rows of each table for people.
pub fn answer(set: &StackSet, top: Option<usize>, size: Unit, time: TimeUnit) -> Answer<'_> {
    let is_grouped = !set.dimensions.is_empty();
    let rows = if is_grouped { rows(set, top) } else { functions(set, Some(top.unwrap_or(FIRST))) };
    Answer {
        warnings: set.warnings.clone(),
        facts: facts(set),
        tables: vec![rows.titled(title(set)).into()],
        screen: (!is_grouped).then(|| first_screen(set)),
        units: Units { size, time },
        ..Answer::new("pfnset.stacks")
    }
}

fn facts(set: &StackSet) -> Facts<'_> {
    Facts::of_trace()
        .is("records", records(set))
        .has("kinds", Fact::table(|| kinds(set)))
        .is("of", set.of.name())
        .is("weight", set.of.weight().name())
        .is("totals", totals(set))
        .is("frames", frames(set))
        .has("processes", Fact::table(|| processes(set)))
        .has("modules", Fact::table(|| modules(set)))
        .has("functions", Fact::table(|| functions(set, None)))
        .is("group_by", set.dimensions.iter().map(|dimension| dimension.name()).collect::<Vec<_>>())
        .has("rows", Fact::table(|| rows(set, None)))
}

fn records(set: &StackSet) -> serde_json::Value {
    let (counts, joined) = (&set.counts, &set.joined);
    json!({
        "stacks": counts.stacks,
        "kernel_keys": counts.kernel_keys,
        "user_keys": counts.user_keys,
        "definitions": counts.definitions,
        "items": counts.items,
        "item_keys": counts.item_keys,
        "deferred_parts": counts.deferred_parts,
        "clr_stacks": counts.clr_stacks,
        "unmatched": joined.unmatched,
        "duplicates": joined.duplicates,
        "unresolved_keys": joined.unresolved_keys,
        "completed_by_others": joined.completed_by_others,
        "lost_user_parts": joined.lost_user_parts,
    })
}

fn totals(set: &StackSet) -> serde_json::Value {
    let totals = &set.totals;
    json!({
        "events": totals.events,
        "with_stack": totals.with_stack,
        "without_stack": totals.events - totals.with_stack,
        "kernel_only": totals.kernel_only,
        "incomplete": totals.incomplete,
        "user_only": totals.user_only,
        "weight": totals.weight,
        "weight_with_stack": totals.weight_with_stack,
        "weight_unknown": totals.weight_unknown,
    })
}

fn frames(set: &StackSet) -> serde_json::Value {
    let frames = &set.totals.frames;
    json!({
        "method": frames.method,
        "symbol": frames.symbol,
        "module": frames.module,
        "unknown": frames.unknown,
        "total": frames.total(),
    })
}

fn first_screen(set: &StackSet) -> Vec<Block> {
    let processes = set.processes.iter().map(|row| (&*row.process, row.counts.events));
    let modules = most_self(&set.modules, |row| row.counts.self_events).into_iter();
    let modules = modules.filter_map(|row| Some((row.module.as_deref()?, row.counts.self_events)));
    vec![
        Block::Title(title(set)),
        Block::Text(by_share("By process", set, processes)),
        Block::Text(by_share("Innermost module", set, modules)),
        Block::Blank,
        Block::Rows(0),
    ]
}

/// `79,528 samples, 79.528 s; 92.1 % without a stack; of 128,232 frames 23.3 % in methods, 76.4 % in modules, 0.3 % unknown`.
fn title(set: &StackSet) -> String {
    let totals = &set.totals;
    let weight = match set.of.weight() {
        Weight::Time => format!(", {}", TimeUnit::Auto.show(totals.weight)),
        Weight::Bytes => format!(", {}", numbers::bytes(totals.weight)),
        Weight::Pages | Weight::Count => String::new(),
    };
    let frames = &totals.frames;
    format!(
        "{} {}{weight}; {} without a stack; of {} frames {} in methods, {} in modules, {} unknown",
        numbers::count(totals.events),
        events_of(set),
        percent(totals.events - totals.with_stack, totals.events),
        numbers::count(frames.total()),
        percent(frames.method, frames.total()),
        percent(frames.module, frames.total()),
        percent(frames.unknown, frames.total()),
    )
}

/// Most innermost first.
fn most_self<R>(rows: &[R], events: impl Fn(&R) -> u64) -> Vec<&R> {
    let mut sorted: Vec<&R> = rows.iter().collect();
    sorted.sort_by_key(|row| std::cmp::Reverse(events(row)));
    sorted
}

/// What the events are, in the plural.
fn events_of(set: &StackSet) -> String {
    match set.of.name().as_str() {
        "samples" => "samples".to_owned(),
        "cswitch" => "context switches".to_owned(),
        name => format!("events ({name})"),
    }
}

/// `By process: Idle (0) 92.2 %, Test.x64.exe (3676) 6.4 %, 19 more`.
fn by_share<'s>(what: &str, set: &StackSet, rows: impl Iterator<Item = (&'s str, u64)>) -> String {
    const SHOWN: usize = 4;
    let rows: Vec<(&str, u64)> = rows.filter(|(_, events)| *events > 0).collect();
    let mut parts: Vec<String> = rows
        .iter()
        .take(SHOWN)
        .map(|(name, events)| format!("{name} {}", percent(*events, set.totals.events)))
        .collect();
    if rows.len() > SHOWN {
        parts.push(format!("{} more", rows.len() - SHOWN));
    }
    format!("{what}: {}", if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

fn weight(set: &StackSet, weight: u64) -> Value {
    match set.of.weight() {
        Weight::Time => Value::Duration(weight),
        Weight::Bytes => Value::Bytes(weight),
        Weight::Pages | Weight::Count => Value::count(weight),
    }
}

fn weight_title(set: &StackSet) -> &'static str {
    match set.of.weight() {
        Weight::Time => "Time",
        Weight::Bytes => "Bytes",
        Weight::Pages => "Pages",
        Weight::Count => "Weight",
    }
}

fn kinds(set: &StackSet) -> Table {
    let fields = ["event", "events", "with_stack", "kernel_only", "incomplete"];
    Table {
        fields: fields.map(Field::new).to_vec(),
        records: (set.kinds.iter())
            .map(|kind| {
                let numbers = [kind.events, kind.with_stack, kind.kernel_only, kind.incomplete].map(Value::count);
                std::iter::once(Value::text(&*kind.event)).chain(numbers).collect()
            })
            .collect(),
        ..Table::default()
    }
}

/// A table whose lines for people end with the rows that are left out.
fn table<const F: usize, R>(
    fields: [&'static str; F],
    columns: Vec<Column>,
    rows: &[R],
    top: Option<usize>,
    record: impl Fn(&R) -> Vec<Value>,
    cells: impl Fn(&R) -> Vec<Value>,
) -> Table {
    let shown = top.unwrap_or(rows.len());
    let mut lines: Vec<Line> = rows.iter().take(shown).map(|row| Line::new(cells(row))).collect();
    if let Some(more) = rows.len().checked_sub(shown).filter(|more| *more > 0) {
        let blanks = std::iter::repeat_with(|| Value::Nothing).take(columns.len().saturating_sub(1));
        lines.push(Line::new(std::iter::once(Value::More(more as u64, "more")).chain(blanks)));
    }
    Table {
        title: None,
        fields: fields.map(Field::new).to_vec(),
        records: rows.iter().map(record).collect(),
        columns,
        lines,
    }
}

fn processes(set: &StackSet) -> Table {
    let columns = vec![Column::text("Process"), Column::number("Events"), Column::number(weight_title(set))];
    table(
        ["process", "events", "with_stack", "weight"],
        columns,
        &set.processes,
        None,
        |row| {
            let StackCounts { events, with_stack, weight } = row.counts;
            vec![Value::text(&*row.process), Value::count(events), Value::count(with_stack), Value::count(weight)]
        },
        |row| vec![Value::text(&*row.process), Value::count(row.counts.events), weight(set, row.counts.weight)],
    )
}

fn self_and_total(counts: &SelfAndTotal) -> [Value; 4] {
    [counts.self_events, counts.total_events, counts.self_weight, counts.total_weight].map(Value::count)
}

fn shown(set: &StackSet, counts: &SelfAndTotal) -> [Value; 4] {
    let all = set.totals.events;
    [
        Value::count(counts.self_events),
        Value::share(counts.self_events, all),
        Value::count(counts.total_events),
        weight(set, counts.total_weight),
    ]
}

fn numbers_of(set: &StackSet) -> [Column; 4] {
    [
        Column::number("Self"),
        Column::number("Share").fit(Fit::Leaves(0)),
        Column::number("Total"),
        Column::number(weight_title(set)).fit(Fit::Leaves(1)),
    ]
}

fn modules(set: &StackSet) -> Table {
    let name = |row: &ModuleRow| Value::maybe(row.module.as_deref(), Value::text);
    table(
        ["module", "self", "total", "self_weight", "total_weight"],
        std::iter::once(Column::text("Module")).chain(numbers_of(set)).collect(),
        &set.modules,
        None,
        |row| std::iter::once(name(row)).chain(self_and_total(&row.counts)).collect(),
        |row| std::iter::once(name(row)).chain(shown(set, &row.counts)).collect(),
    )
}

fn functions(set: &StackSet, top: Option<usize>) -> Table {
    // People look for where time goes: by self, and what has no stack last.
    let mut sorted = most_self(&set.functions, |row| row.counts.self_events);
    sorted.sort_by_key(|row| row.function == NO_STACK);
    let names = |row: &FunctionRow| [Value::text(&*row.function), Value::maybe(row.module.as_deref(), Value::text)];
    let mut table = table(
        ["function", "module", "self", "total", "self_weight", "total_weight"],
        std::iter::once(Column::text("Function")).chain(numbers_of(set)).collect(),
        &sorted,
        top,
        |row| names(row).into_iter().chain(self_and_total(&row.counts)).collect(),
        |row| std::iter::once(Value::text(&*row.function)).chain(shown(set, &row.counts)).collect(),
    );
    // Programs get the order of the JSON.
    table.records =
        set.functions.iter().map(|row| names(row).into_iter().chain(self_and_total(&row.counts)).collect()).collect();
    table
}

fn rows(set: &StackSet, top: Option<usize>) -> Table {
    use crate::analysis::table::{Measured, Node};
    const EVENTS: Measured<StackCounts> = Measured::new("events", "Events", |counts, _| Value::count(counts.events));
    const STACKS: Measured<StackCounts> =
        Measured::new("with_stack", "With stack", |counts, _| Value::count(counts.with_stack));
    let shown = match set.of.weight() {
        Weight::Time => Measured::shown("Time", |counts: &StackCounts, _| Value::Duration(counts.weight)),
        Weight::Bytes => Measured::shown("Bytes", |counts: &StackCounts, _| Value::Bytes(counts.weight)),
        Weight::Pages => Measured::shown("Pages", |counts: &StackCounts, _| Value::count(counts.weight)),
        Weight::Count => Measured::shown("Weight", |counts: &StackCounts, _| Value::count(counts.weight)),
    };
    let weight = Measured::new("weight", "", |counts: &StackCounts, _| Value::count(counts.weight)).unseen();
    let measured = [EVENTS, STACKS, shown, weight];
    let by_weight = |a: &StackCounts, b: &StackCounts| (b.weight, b.events).cmp(&(a.weight, a.events));
    let tree = Node::tree(&set.rows, by_weight, top);
    Table::of_groups(&set.dimensions, &set.rows, &tree, &tree.measure, &measured).with_total(
        &tree,
        &tree.measure,
        &measured,
    )
}

/// The distinct stacks alone, outermost frame first, with their events, or their weight: for the form of flame graphs.
pub fn collapsed(set: &StackSet, by_weight: bool) -> Answer<'_> {
    let clean = |text: &String| text.replace(';', ":").replace(['\r', '\n'], " ");
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for row in &set.stacks {
        let names = std::iter::once(&row.process).chain(&row.frames).map(clean);
        let stack = names.collect::<Vec<_>>().join(";");
        let sum = stacks.entry(stack).or_default();
        *sum = sum.saturating_add(if by_weight { row.counts.weight } else { row.counts.events });
    }
    let records = stacks.into_iter().map(|(stack, count)| vec![Value::Text(stack), Value::count(count)]).collect();
    let table = Table { fields: ["stack", "count"].map(Field::new).to_vec(), records, ..Table::default() };
    Answer { warnings: set.warnings.clone(), tables: vec![table.into()], ..Answer::new("pfnset.stacks") }
}
