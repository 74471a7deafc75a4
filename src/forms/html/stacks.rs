//! The flame graphs of the page: the part with its tables, and the data of the pictures.

use crate::analysis::report::stacks::StackOverview;
use crate::analysis::stacks::{StackSet, TreeRow, Weight};
use crate::answer::stack_display::FunctionOrder;
use crate::answer::stacks::{functions, sentences};
use crate::escape::visible;
use crate::forms::html::label::label;
use crate::forms::html::page_section::{numbers_of, part};
use crate::forms::html::trace_page::TracePage;
use maud::{Markup, html};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Functions of a table.
const MOST_ROWS: usize = 200;

/// True when a trace has such pictures.
pub fn are_there(traces: &[TracePage<'_>]) -> bool {
    traces.iter().any(|trace| trace.overview.stacks.is_ok())
}

/// The part of the page.
pub fn stacks(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("stacks", "Stacks: which code did it"),
        |overview| &overview.stacks,
        |number, found| {
            html! {
                @for (at, set) in found.kinds.iter().enumerate() {
                    h3 { (heading(set)) }
                    @for line in sentences(set) { p { (visible(&line)) "." } }
                    @for line in TracePage::not_said_yet(traces, number, &set.warnings) { p.unrecorded { (visible(line)) } }
                    (picture(number, at, set))
                }
            }
        },
    )
}

fn heading(set: &StackSet) -> &'static str {
    match set.of.name().as_str() {
        "samples" => "Samples: what ran",
        "cswitch" => "Context switches: where threads waited",
        _ => "Page accesses: what touched pages",
    }
}

fn picture(number: usize, at: usize, set: &StackSet) -> Markup {
    let key = format!("{number}-{at}");
    html! {
        div.controls data-flame-controls=(key) {}
        figure {
            figcaption { "Processes at the top, below each function those that it called; the width is the share. Click a function to see it alone; click the path above, or press Escape, to go back. Small branches are drawn as one." }
            nav.path data-flame-path=(key) aria-label={ "Where in the picture of stacks " (number + 1) "." (at + 1) } {}
            details { summary { "What this function called, as a list" } ul.level data-flame-level=(key) {} }
            div.chart.flame data-kind="flame" data-trace=(number) data-at=(at) role="img" aria-label=(heading(set)) {}
            (numbers_of("functions", &functions(set, FunctionOrder::Own, Some(MOST_ROWS))))
        }
    }
}

/// The data of the pictures of a trace.
pub fn data(found: &StackOverview) -> Value {
    found.kinds.iter().map(tree).collect()
}

/// Names, and a line for each function in the order of the tree: its level, the number of its name, its weight, its events, and of
/// small branches how many they are.
fn tree(set: &StackSet) -> Value {
    let mut names: Vec<String> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let by_events = set.totals.weight_with_stack == 0;
    let mut row = |row: &TreeRow| {
        let name = row.function.as_deref().map(label).unwrap_or_default();
        let number = *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() - 1
        });
        let weight = if by_events { row.counts.events } else { row.counts.weight };
        json!([row.depth, number, weight, row.counts.events, row.folded])
    };
    let rows: Vec<Value> = set.tree.iter().map(&mut row).collect();
    let unit = match set.of.weight() {
        _ if by_events => "events",
        Weight::Time => "time",
        Weight::Bytes => "bytes",
        Weight::Pages => "pages",
        Weight::Count => "events",
    };
    json!({ "of": set.of.name(), "unit": unit, "names": names, "rows": rows })
}
