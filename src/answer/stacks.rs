//! The answer of `pfnset stacks`. Wire format: docs/json.md, schema `pfnset.stacks`.

use crate::analysis::stack_profile::StackProfile;
use crate::analysis::stacks::{
    Dimension, FunctionRow, KindRow, ModuleRow, NO_STACK_TEXT, ProcessRow, SelfAndTotal, StackCounts, StackSet,
    TreeRow, Weight,
};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Measured, Node, Table, Value};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, TimeUnit, Unit, percent};
use crate::answer::rows::{Records, Rows};
use crate::answer::stack_display::{FunctionOrder, StackDisplay};
use crate::answer::stack_names::{all_not_known, named, not_known_in_a_line, without_names};
use crate::answer::stack_scope;
use crate::answer::stack_weights::{base, of_share, share, size, weight, weight_title, whole, without_stack};
use crate::answer::text_block::Block;
use serde_json::json;

/// Functions on the first screen, without a number of the user's.
const FIRST: usize = 10;
/// Lines above them from which on no blank line fits between.
const MANY_LINES: usize = 6;

/// The answer of `pfnset stacks`.
pub(crate) fn answer(set: &StackSet, display: StackDisplay) -> Answer<'_> {
    let StackDisplay { top, order, unit } = display;
    let is_grouped = !set.dimensions.is_empty();
    let rows = if set.has_tree {
        tree(set).titled(title(set, unit)).into()
    } else if is_grouped {
        Rows::new(row_records(set, None), move || rows(set, top).titled(title(set, unit)))
    } else {
        functions(set, order, Some(top.unwrap_or(FIRST))).titled(title(set, unit)).into()
    };
    let screen = match set.has_tree {
        true => stack_scope::tree_screen(set, title(set, unit)),
        false => (!is_grouped).then(|| first_screen(set, display)),
    };
    let answer = Answer {
        warnings: set.warnings.clone(),
        facts: facts(set, top),
        tables: vec![rows],
        notes: notes(set),
        document: screen.clone().filter(|_| !set.has_tree),
        screen,
        units: Units { size: unit, ..Units::default() },
        ..Answer::new("pfnset.stacks")
    }
    .chosen_by(&set.filter);
    Answer { chosen_by: stack_scope::chosen(answer.chosen_by, set), ..answer }
}

/// Lists are whole without a number of the user's.
fn facts(set: &StackSet, top: Option<usize>) -> Facts<'_> {
    let cut = move |table: Table| match top {
        Some(top) => Table { records: table.records.into_iter().take(top).collect(), ..table },
        None => table,
    };
    Facts::of_trace()
        .filter(&set.filter)
        .is("leaf", &set.leaf)
        .is("caller_of", set.root.as_ref().filter(|_| set.is_of_callers))
        .is("callee_of", set.root.as_ref().filter(|_| !set.is_of_callers))
        .is("max_depth", set.max_depth)
        .is("fold", &set.fold)
        .is("records", records(set))
        .has("kinds", Fact::table(|| kinds(set)))
        .is("window", set.window.as_ref().map(stack_scope::window_json))
        .is("of", set.of.name())
        .is("weight", set.of.weight().name())
        .is("span_ns", set.span_ns)
        .is("interval_ns", set.interval_ns.map(|(least, most)| json!({ "least": least, "most": most })))
        .is("totals", totals(set))
        .is("frames", frames(set))
        .has("processes", Fact::table(move || cut(processes(set))))
        .has("modules", Fact::table(move || cut(modules(set))))
        .has("functions", Fact::table(move || cut(functions(set, FunctionOrder::Own, None))))
        .has("tree", Fact::table(|| tree(set)))
        .group_by(&set.dimensions)
        .has("rows", Fact::lazy(move || Fact::Records(row_records(set, top))))
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
        "cut_frames": counts.cut_frames,
        "unmatched": joined.unmatched,
        "duplicates": joined.duplicates,
        "unresolved_keys": joined.unresolved_keys,
        "completed_by_others": joined.completed_by_others,
        "lost_user_parts": joined.lost_user_parts,
        "left_out": set.left_out,
    })
}

pub(super) fn totals(set: &StackSet) -> serde_json::Value {
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

pub(super) fn frames(set: &StackSet) -> serde_json::Value {
    let frames = &set.totals.frames;
    json!({
        "method": frames.method,
        "symbol": frames.symbol,
        "module": frames.module,
        "unknown": frames.unknown,
        "total": frames.total(),
    })
}

/// At most 23 lines of 80 columns, so that the prompt fits below: what was counted, by process and module, names, what is not known,
/// functions, the hottest path.
fn first_screen(set: &StackSet, StackDisplay { top, order, unit }: StackDisplay) -> Vec<Block> {
    let processes = most(&set.processes, |row| of_share(set, row.counts.events, row.counts.weight)).into_iter();
    let processes = processes.map(|row| (&*row.process, of_share(set, row.counts.events, row.counts.weight)));
    let innermost = |row: &ModuleRow| of_share(set, row.counts.self_events, row.counts.self_weight);
    let modules = most(&set.modules, innermost).into_iter();
    let modules = modules.filter_map(|row| Some((row.module.as_deref()?, innermost(row))));
    let mut blocks = vec![Block::Title(title(set, unit))];
    blocks.extend(base(set).map(Block::Text));
    blocks.extend([
        by_share("By process", set, processes),
        by_share("Innermost module", set, modules),
        Block::Fitting(vec![named(set)]),
    ]);
    blocks.extend(
        [without_names(set), not_known_in_a_line(set)]
            .into_iter()
            .filter(|texts| !texts.is_empty())
            .map(Block::Fitting),
    );
    let mut table = functions(set, order, Some(top.unwrap_or(FIRST)));
    table.lines.extend(hottest(set));
    blocks.extend((blocks.len() < MANY_LINES).then_some(Block::Blank));
    blocks.push(Block::Table(table));
    blocks
}

/// The hottest path as an indented tree below the functions; `… 3 more › ` stands for functions that are left out above one.
fn hottest(set: &StackSet) -> Vec<Line> {
    let has_weight = weight_title(set).is_some();
    let line = |row: &TreeRow| {
        let function = row.function.as_deref().unwrap_or_default();
        let name = match row.folded {
            0 => function.to_owned(),
            some => format!("… {some} more › {function}"),
        };
        let share = share(set, row.counts.events, row.counts.weight);
        let own = has_weight.then_some(Value::Nothing);
        let total = [share, Value::count(row.counts.events)];
        let weight = has_weight.then(|| weight(set, row.counts.weight));
        let cells = [Value::Text(name), Value::Nothing].into_iter().chain(own).chain(total).chain(weight);
        Line { depth: row.depth, ..Line::new(cells) }
    };
    let heading = std::iter::once(Value::text("Hottest path (--tree):"));
    let blanks = std::iter::repeat_n(Value::Nothing, 3 + 2 * usize::from(has_weight));
    let heading = (!set.hottest.is_empty()).then(|| Line::new(heading.chain(blanks)));
    heading.into_iter().chain(set.hottest.iter().map(line)).collect()
}

/// What was counted, what of it has names, and what is not known.
pub(crate) fn sentences(set: &StackSet) -> Vec<String> {
    [title(set, Unit::Auto), named(set)].into_iter().chain(all_not_known(set)).collect()
}

/// What a screen says of its functions: other lines stand for tables of their own.
fn notes(set: &StackSet) -> Vec<String> {
    let of_names =
        || std::iter::once(named(set)).chain(without_names(set).into_iter().take(1)).chain(all_not_known(set));
    let is_of_functions = !set.has_tree && set.dimensions.is_empty();
    let of_names = is_of_functions.then(of_names).into_iter().flatten();
    base(set).filter(|_| set.has_tree || is_of_functions).into_iter().chain(of_names).collect()
}

/// `79,528 samples from 1.000000 s "click" to the end (79.528 s, every 1.00 ms) in 9.94 s; no stack: 92.1 %`.
fn title(set: &StackSet, unit: Unit) -> String {
    let totals = &set.totals;
    let time = |nanos: u64| TimeUnit::Auto.show(nanos);
    let weight = match (set.of.weight(), set.interval_ns) {
        (Weight::Time, Some((least, most))) if least == most => {
            let assumed = set.warnings.iter().any(|warning| warning.is_of(&["interval_assumed"]));
            let assumed = if assumed { ", assumed" } else { "" };
            format!(" ({}, every {}{assumed})", time(totals.weight), time(most))
        }
        (Weight::Time, Some((least, most))) => {
            format!(" ({}, every {} to {})", time(totals.weight), time(least), time(most))
        }
        // Of no event nothing says what its time would be.
        (Weight::Time, None) if totals.events == 0 => String::new(),
        (Weight::Time, None) => format!(" ({} of waiting)", time(totals.weight)),
        (Weight::Bytes, _) => format!(" ({})", unit.chosen_or_own(totals.weight)),
        (Weight::Pages | Weight::Count, _) => String::new(),
    };
    format!(
        "{} {}{}{weight} in {}; no stack: {}",
        numbers::count(totals.events),
        events_of(set),
        stack_scope::window(set),
        time(set.span_ns),
        percent(without_stack(set), whole(set)),
    )
}

/// Those with most events first.
fn most<R>(rows: &[R], events: impl Fn(&R) -> u64) -> Vec<&R> {
    let mut sorted: Vec<&R> = rows.iter().collect();
    sorted.sort_by_key(|row| std::cmp::Reverse(events(row)));
    sorted
}

/// What the events are, in the plural.
pub(super) fn events_of(set: &StackSet) -> String {
    match set.of.name().as_str() {
        "samples" => "samples".to_owned(),
        "cswitch" => "context switches".to_owned(),
        name => format!("events ({name})"),
    }
}

/// `By process: Idle (0) 92.2 %, Test.x64.exe (3676) 6.4 %, 19 more`: as many as a line has room for.
fn by_share<'s>(what: &str, set: &StackSet, rows: impl Iterator<Item = (&'s str, u64)>) -> Block {
    const MOST: usize = 4;
    let rows: Vec<(&str, u64)> = rows.filter(|(_, events)| *events > 0).collect();
    let line = |shown: usize| {
        let part = |(name, part): &(&str, u64)| format!("{name} {}", percent(*part, whole(set)));
        let mut parts: Vec<String> = rows.iter().take(shown).map(part).collect();
        if rows.len() > shown {
            parts.push(format!("{} more", rows.len() - shown));
        }
        format!("{what}: {}", if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
    };
    Block::Fitting((1..=MOST).rev().map(line).collect())
}

fn kinds(set: &StackSet) -> Table {
    let record = |kind: &KindRow| {
        let numbers = [kind.events, kind.with_stack, kind.kernel_only, kind.incomplete].map(Value::count);
        std::iter::once(Value::text(&*kind.event)).chain(numbers).collect()
    };
    records_of(["event", "events", "with_stack", "kernel_only", "incomplete"], &set.kinds, record)
}

fn processes(set: &StackSet) -> Table {
    let record = |row: &ProcessRow| {
        let StackCounts { events, with_stack, weight } = row.counts;
        vec![Value::text(&*row.process), Value::count(events), Value::count(with_stack), Value::count(weight)]
    };
    records_of(["process", "events", "with_stack", "weight"], &set.processes, record)
}

/// Records for programs; people see no such table.
fn records_of<const F: usize, R>(fields: [&'static str; F], rows: &[R], record: impl Fn(&R) -> Vec<Value>) -> Table {
    Table { fields: fields.map(Field::new).to_vec(), records: rows.iter().map(record).collect(), ..Table::default() }
}

fn self_and_total(counts: &SelfAndTotal) -> [Value; 4] {
    [counts.self_events, counts.total_events, counts.self_weight, counts.total_weight].map(Value::count)
}

fn modules(set: &StackSet) -> Table {
    let name = |row: &ModuleRow| Value::maybe(row.module.as_deref(), Value::text);
    let record = |row: &ModuleRow| std::iter::once(name(row)).chain(self_and_total(&row.counts)).collect();
    records_of(["module", "self", "total", "self_weight", "total_weight"], &set.modules, record)
}

/// For programs most total first; for people, who look for where time goes, in this order, and what has no stack last. The lines end with
/// the number of those left out.
pub(crate) fn functions(set: &StackSet, order: FunctionOrder, top: Option<usize>) -> Table {
    let names = |row: &FunctionRow| [Value::text(&*row.function), Value::maybe(row.module.as_deref(), Value::text)];
    let record = |row: &FunctionRow| names(row).into_iter().chain(self_and_total(&row.counts)).collect();
    let fields = ["function", "module", "self", "total", "self_weight", "total_weight"];
    let mut sorted: Vec<&FunctionRow> = set.functions.iter().collect();
    let most = |SelfAndTotal { self_events, total_events, self_weight, total_weight }: &SelfAndTotal| match order {
        FunctionOrder::Own => (*self_weight, *self_events),
        FunctionOrder::Total => (*total_weight, *total_events),
    };
    sorted.sort_by_key(|row| std::cmp::Reverse(most(&row.counts)));
    sorted.sort_by_key(|row| row.function == NO_STACK_TEXT);
    // No function: not one of those that are left out. The title says how many they are.
    sorted.truncate(
        sorted.len() - usize::from(top.is_some() && sorted.last().is_some_and(|row| row.function == NO_STACK_TEXT)),
    );
    let shown = top.unwrap_or(sorted.len());
    let mut lines: Vec<Line> = sorted
        .iter()
        .take(shown)
        .map(|row| {
            Line::new(
                std::iter::once(Value::text(&*row.function)).chain(function(set, &row.counts).into_iter().flatten()),
            )
        })
        .collect();
    if let Some(more) = sorted.len().checked_sub(shown).filter(|more| *more > 0) {
        // An event is in the total of each function of its stack: only what is innermost adds up.
        let mut hidden = SelfAndTotal::default();
        sorted.iter().skip(shown).for_each(|row| hidden += row.counts);
        let [own, own_weight, part, ..] = function(set, &hidden);
        let rest = [own, own_weight, part, Some(Value::Nothing), weight_title(set).map(|_| Value::Nothing)];
        lines.push(Line::new(std::iter::once(Value::More(more as u64, "more")).chain(rest.into_iter().flatten())));
    }
    let weight = |of: &str, order| weight_title(set).map(|title| weight_column(of, title).fit(Fit::Leaves(order)));
    let columns = [
        Some(Column::text("Function")),
        Some(Column::number("Self")),
        weight("Self", 2),
        Some(Column::number("Share").fit(Fit::Leaves(0))),
        Some(Column::number("Total")),
        weight("Total", 1),
    ];
    let columns = columns.into_iter().flatten().collect();
    Table { columns, lines, ..records_of(fields, &set.functions, record) }
}

/// The numbers of a function: its own events, their weight and share, all events and their weight.
fn function(set: &StackSet, counts: &SelfAndTotal) -> [Option<Value>; 5] {
    let weight = |of: u64| weight_title(set).map(|_| weight(set, of));
    [
        Some(Value::count(counts.self_events)),
        weight(counts.self_weight),
        Some(share(set, counts.self_events, counts.self_weight)),
        Some(Value::count(counts.total_events)),
        weight(counts.total_weight),
    ]
}

/// `Self time`, or `Self` in the unit of sizes.
fn weight_column(of: &str, title: &str) -> Column {
    match title {
        "" => Column::number(of.to_owned()).with_unit(),
        _ => Column::number(format!("{of} {}", title.to_lowercase())),
    }
}

/// Functions below those that called them. Shares are of the weight of all events.
fn tree(set: &StackSet) -> Table {
    let fields = ["depth", "function", "folded", "events", "ends", "weight"];
    let record = |row: &TreeRow| {
        vec![
            Value::Number(row.depth as u64),
            Value::maybe(row.function.as_deref(), Value::text),
            Value::count(row.folded),
            Value::count(row.counts.events),
            Value::count(row.ends),
            Value::count(row.counts.weight),
        ]
    };
    let line = |row: &TreeRow| {
        let name = match &row.function {
            Some(function) => Value::text(&**function),
            None => Value::More(row.folded, "more"),
        };
        let counts = [
            share(set, row.counts.events, row.counts.weight),
            Value::count(row.counts.events),
            Value::CountIfAny(row.ends),
        ];
        let cells =
            std::iter::once(name).chain(counts).chain(weight_title(set).map(|_| weight(set, row.counts.weight)));
        Line { depth: row.depth, ..Line::new(cells) }
    };
    // Callers stand below whom they called: the innermost row is where stacks begin.
    let ends = if set.is_of_callers { "Begins here" } else { "Ends here" };
    let numbers = [Column::number("Share"), Column::number("Events"), Column::number(ends).fit(Fit::Leaves(0))];
    let weight = weight_title(set).map(|title| Column::number(title).fit(Fit::Leaves(1)));
    Table {
        columns: std::iter::once(Column::text("Function")).chain(numbers).chain(weight).collect(),
        lines: set.tree.iter().map(line).collect(),
        ..records_of(fields, &set.tree, record)
    }
}

fn measured(set: &StackSet) -> Vec<Measured<StackCounts>> {
    const EVENTS: Measured<StackCounts> = Measured::new("events", "Events", |counts, _| Value::count(counts.events));
    const STACKS: Measured<StackCounts> =
        Measured::new("with_stack", "With stack", |counts, _| Value::count(counts.with_stack));
    let weight = Measured::new("weight", "", |counts: &StackCounts, _| Value::count(counts.weight)).unseen();
    let shown = match set.of.weight() {
        Weight::Time => Some(Measured::shown("Time", |counts: &StackCounts, _| Value::Duration(counts.weight))),
        Weight::Bytes => Some(Measured::shown("", |counts: &StackCounts, _| size(counts.weight))),
        Weight::Pages | Weight::Count => None,
    };
    [EVENTS, STACKS, weight].into_iter().chain(shown).collect()
}

fn rows(set: &StackSet, top: Option<usize>) -> Table {
    let measured = measured(set);
    let by_weight = |a: &StackCounts, b: &StackCounts| (b.weight, b.events).cmp(&(a.weight, a.events));
    let tree = Node::tree(&set.rows, by_weight, top);
    let table = Table::of_tree(Dimension::titles(&set.dimensions), &tree, &tree.measure, &measured);
    table.with_total(&tree, &tree.measure, &measured)
}

/// The rows for programs, the first `top`.
fn row_records(set: &StackSet, top: Option<usize>) -> Records<'_> {
    let measures = Measured::fields(&measured(set)).collect::<Vec<_>>();
    Records::streamed(Field::of_labels(&set.dimensions).chain(measures), move || {
        let measured = measured(set);
        set.rows.iter().take(top.unwrap_or(usize::MAX)).map(move |row| {
            let labels = row.labels.iter().map(|label| set.texts.value(label));
            labels.chain(Measured::record(&measured, &row.measure, &row.measure)).collect()
        })
    })
}

/// Events one by one, for viewers of profiles.
pub(crate) fn profile<'a>(profile: &'a StackProfile<'a>) -> Answer<'a> {
    Answer { warnings: profile.warnings.clone(), profile: Some(profile), ..Answer::new("pfnset.stacks") }
}

/// The distinct stacks alone, outermost frame first, with their events, or their weight: for the form of flame graphs.
pub fn collapsed(set: &StackSet, by_weight: bool) -> Answer<'_> {
    let count = move |counts: &StackCounts| if by_weight { counts.weight } else { counts.events };
    let record = move |(stack, counts): (String, StackCounts)| vec![Value::Text(stack), Value::count(count(&counts))];
    let records = Records::streamed(["stack", "count"], move || set.stacks.rows().map(record));
    let tables = vec![Rows::new(records, Table::default)];
    Answer { warnings: set.warnings.clone(), tables, ..Answer::new("pfnset.stacks") }
}
