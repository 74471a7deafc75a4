//! What was held when, as a table for people.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::totals::balance::BalanceStep;
use crate::analysis::table::{Column, Fit, Line, Table, Value};
use crate::answer::numbers;

/// What was held when, and what came and went: each line is added to those above it, up to what is held at stop.
pub(super) fn table(set: &ReferenceSet) -> Table {
    let line = |what: &str, pages: u64, note: &str| {
        Line::new([Value::text(what), Value::count(pages), Value::pages(pages as i64), Value::text(note)])
    };
    let step = |step: &BalanceStep| {
        let (title, note) = words(step);
        let (change, size) = (Value::Difference(step.pages), Value::pages(step.pages));
        Line::new([Value::text(title), change, size, Value::text(note)])
    };
    let emptied = set.window.resets.contains(&set.window.from);
    let at_start = if emptied { "active as working sets were emptied" } else { "" };
    // Parts are rounded, and what is shown of the whole is their sum.
    let rounded = set.average.by_class.iter().map(|(class, pages)| (pages.round().max(0.0) as u64, class.name()));
    let average = rounded.clone().map(|(pages, _)| pages).sum();
    let by_class: Vec<String> = rounded.map(|(pages, class)| format!("{class} {}", numbers::count(pages))).collect();
    let steps = set.balance.steps();
    Table {
        columns: vec![
            Column::text("Held"),
            Column::number("Pages"),
            Column::number("").fit(Fit::Leaves(0)),
            Column::text("").fit(Fit::Wraps),
        ],
        lines: std::iter::once(line("at start", set.held_at_start, at_start))
            .chain(steps.iter().filter(|step| step.pages != 0).map(step))
            .chain([
                Line { ruled: true, ..line("at stop", set.held_at_stop, "") },
                line("at the peak", set.peak.0, &format!("at {:.6} s", set.peak.1.seconds())),
                line("on average", average, &by_class.join(", ")),
            ])
            .collect(),
        ..Table::default()
    }
}

/// What a step is called, and what its pages are: `2 of these, 3 of those`, without what there is none of.
fn words(step: &BalanceStep) -> (&'static str, String) {
    let parts = step.parts.iter().map(|(pages, what)| format!("{} {what}", numbers::count(*pages)));
    let parts = parts.collect::<Vec<_>>().join(", ");
    match step.name {
        "held_already" => ("counted before", parts),
        "never_held" => ("never held", parts),
        "not_started" => ("not yet started", "process starts after the window".to_owned()),
        "outside_working_sets" => ("not in working sets", format!("kernel, pool, ranges: {parts}")),
        "emptied" => ("emptied", "working sets were emptied again".to_owned()),
        name => (name, parts),
    }
}
