//! The differential flame graph: widths are those of the second trace, colours say how shares changed against the first.

use crate::analysis::report::stack_differences::{BothRow, FirstOnly, Lacking, StackDifferences};
use crate::answer::numbers::{self, TimeUnit, percent};
use crate::escape::visible;
use crate::forms::html::label::label;
use crate::units::counted;
use maud::{Markup, html};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The picture, with what it cannot show.
pub fn picture(number: usize, found: &StackDifferences, [first, second]: [&str; 2]) -> Markup {
    let key = format!("d{number}");
    html! {
        h4 { "Samples: which code got hotter" }
        div.controls data-flame-controls=(key) {}
        figure {
            figcaption {
                "The width is the share of the samples of " (second) " that have a stack, the colour is how that share changed against " (first)
                ": processes of one name are at the top as one, below each function those that it called. Click a function to see it alone; \
                 click the path above, or press Escape, to go back."
            }
            ul.legend {
                li { span.swatch.less {} "smaller share than in " (first) }
                li { span.swatch.even {} "the same" }
                li { span.swatch.more {} "larger share; the full colour: only in " (second) }
            }
            nav.path data-flame-path=(key) aria-label={ "Where in the picture of differences " (number + 1) } {}
            details { summary { "What this function called, as a list" } ul.level data-flame-level=(key) {} }
            div.chart.flame data-kind="flameDifference" data-trace=(number) role="img" aria-label="Samples: which code got hotter" {}
            @if let Some(line) = first_only(found, first) { p { (visible(&line)) } }
        }
    }
}

/// Why there is none, where one of the two has the samples for it.
pub fn no_picture(lacking: Lacking, names: [&str; 2]) -> Markup {
    let without = match lacking {
        [true, false] => Some(names[0]),
        [false, true] => Some(names[1]),
        _ => None,
    };
    html! {
        @if let Some(name) = without {
            p.unrecorded { "Not shown: which code got hotter, because " (name) " has no samples with stacks" }
        }
    }
}

/// `Only in a.etl, so without width here: 1.234 s (4.5 % of its samples with a stack) in 12 branches, the largest a!f below b!g 2.1 %, …`.
fn first_only(found: &StackDifferences, first: &str) -> Option<String> {
    let (branches, weight) = found.first_only;
    let amount = |weight: u64| match found.by_events {
        true => counted(weight, "sample", "samples"),
        false => TimeUnit::Auto.show(weight),
    };
    let [whole, _] = found.whole;
    let named = |one: &FirstOnly| {
        let below = one.below.as_ref().map_or_else(String::new, |above| format!(" below {}", label(above)));
        format!("{}{below} {}", label(&one.function), percent(one.weight, whole))
    };
    let named = found.largest_first_only.iter().map(named).collect::<Vec<_>>().join(", ");
    let more = numbers::count(branches.saturating_sub(found.largest_first_only.len() as u64));
    let more = if more == "0" { String::new() } else { format!(", {more} more") };
    let (sum, share) = (amount(weight), percent(weight, whole));
    (branches > 0).then(|| {
        let branches = counted(branches, "branch", "branches");
        format!(
            "Only in {first}, so not drawn: {sum}, {share} of its samples with a stack, in {branches}: {named}{more}."
        )
    })
}

/// The data of the picture: names, and a line for each function in the order of the tree: its level, the number of its name, its weight
/// and samples in the second trace, of small branches how many they are, and its weight and samples in the first trace.
pub fn data(found: &StackDifferences) -> Value {
    let mut names: Vec<String> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut row = |row: &BothRow| {
        let name = row.function.as_deref().map(label).unwrap_or_default();
        let number = *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() - 1
        });
        let ([before, now], [events_before, events]) = (row.weights, row.events);
        json!([row.depth, number, now, events, row.folded, before, events_before])
    };
    let rows: Vec<Value> = found.rows.iter().map(&mut row).collect();
    let unit = if found.by_events { "events" } else { "time" };
    json!({ "unit": unit, "whole": found.whole, "names": names, "rows": rows })
}
