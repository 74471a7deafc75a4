//! Which events a result of stacks is of, and which frames of them it shows: their window, and what `--max-depth` and `--fold` left.

use crate::analysis::stacks::{StackSet, StackWindow};
use crate::answer::stack_weights::base;
use crate::answer::text_block::Block;
use crate::units::{Nanos, counted};
use serde_json::json;

/// The window in JSON.
pub(super) fn window_json(window: &StackWindow) -> serde_json::Value {
    json!({
        "start_s": window.times.0.map(Nanos::seconds),
        "stop_s": window.times.1.map(Nanos::seconds),
        "start_mark": window.marks.0,
        "stop_mark": window.marks.1,
    })
}

/// ` from 0.250273 s "click" to 0.500000 s`; nothing where the user named no end of it.
pub(super) fn window(set: &StackSet) -> String {
    let Some(StackWindow { times, marks }) = &set.window else { return String::new() };
    let end = |time: Option<Nanos>, mark: &Option<String>, none: &str| match (time, mark) {
        (Some(time), Some(mark)) => format!("{:.6} s \"{mark}\"", time.seconds()),
        (Some(time), None) => format!("{:.6} s", time.seconds()),
        (None, _) => none.to_owned(),
    };
    let (from, to) = (end(times.0, &marks.0, "the beginning"), end(times.1, &marks.1, "the end"));
    format!(" from {from} to {to}")
}

/// The user's conditions, which part of all stacks a tree shows, and how stacks were shortened: without it a function would seem to end
/// where the cut is.
pub(super) fn chosen(conditions: Option<String>, set: &StackSet) -> Option<String> {
    let leaf = set.leaf.as_ref().map(|patterns| match conditions {
        Some(_) => format!(" and innermost function={patterns}"),
        None => format!("Where innermost function={patterns}"),
    });
    let conditions = conditions.into_iter().chain(leaf).reduce(|all, leaf| all + &leaf);
    let root = set.root.as_ref().map(|patterns| match set.is_of_callers {
        true => format!("callers of {patterns}"),
        false => format!("called by {patterns}"),
    });
    let all = [conditions, root, shortened(set)].into_iter().flatten().collect::<Vec<String>>().join("; ");
    let mut chars = all.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect())
}

/// What stands above a tree of chosen events: what its shares are of. `None` where all events are in it.
pub(super) fn tree_screen(set: &StackSet, title: String) -> Option<Vec<Block>> {
    let base = base(set)?;
    Some(vec![Block::Title(title), Block::Text(base), Block::Blank, Block::Rows(0)])
}

/// True when frames of stacks were left out.
pub(super) fn is_shortened(set: &StackSet) -> bool {
    set.max_depth.is_some() || set.fold.is_some()
}

/// In one line of 80 columns, most of the time.
fn shortened(set: &StackSet) -> Option<String> {
    let cut =
        set.max_depth.map(|frames| format!("cut to {}", counted(frames as u64, "outermost frame", "outermost frames")));
    let fold = set.fold.as_ref().map(|modules| format!("folded in {modules}"));
    let how: Vec<String> = cut.into_iter().chain(fold).collect();
    is_shortened(set).then(|| format!("stacks are {}: self and innermost are of the frames left", how.join(" and ")))
}
