//! The answer of `pfnset diff --of KIND`. Wire format: docs/json.md, schema `pfnset.diff_stacks`.

use crate::analysis::diff::stacks::{StackDiff, StackSide};
use crate::analysis::stacks::{Dimension, Weight};
use crate::analysis::table::Dimension as _;
use crate::answer::answer_type::{Answer, Units, name_of_files};
use crate::answer::comparison::{Compared, ListedRows, compared_rows, equal, held, within_tolerance};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, TimeUnit, Unit, percent};
use crate::answer::stacks::{events_of, frames, totals};
use crate::units::counted;
use serde_json::json;

/// The answer of `pfnset diff --of KIND`.
pub fn answer(diff: &StackDiff, unit: Unit, listed: ListedRows) -> Answer<'_> {
    let unit = unit.for_largest(diff.weights().into_iter().max().unwrap_or(0));
    let lines = Compared {
        sides: sides(diff),
        verdict: verdict(diff),
        title: title(diff, unit),
        not_listed: listed.not_listed(diff.compared.rows.len()),
        note: without_names(diff),
    };
    lines
        .around(Answer {
            warnings: diff.warnings.clone(),
            facts: facts(diff),
            tables: vec![diff.table(listed.most()).into()],
            units: Units { size: unit, ..Units::default() },
            ..Answer::new("pfnset.diff_stacks")
        })
        .chosen_by(&diff.compared.filter)
}

fn facts(diff: &StackDiff) -> Facts<'_> {
    let [left, right] = diff.sides.each_ref().map(|side| {
        let set = &side.set;
        let facts = Facts::default()
            .is("path", side.files.first().map(|path| path.display().to_string()))
            .files(&side.files)
            .is("span_ns", set.span_ns)
            .is("interval_ns", set.interval_ns.map(|(least, most)| json!({ "least": least, "most": most })))
            .is("totals", totals(set))
            .is("frames", frames(set));
        Fact::Object(facts)
    });
    let facts = Facts::default()
        .has("warnings", Fact::Warnings)
        .has("left", left)
        .has("right", right)
        .is("of", diff.of().name())
        .is("weight", diff.of().weight().name())
        .is("measure", diff.measure.name())
        .filter(&diff.compared.filter)
        .group_by(&diff.dimensions);
    let total = Facts::of_values(diff.total_values());
    compared_rows(facts, &diff.compared, diff.compared.is_equal(), Some(total), |rows| diff.table_of(rows))
        .doubts(&diff.warnings)
}

/// `LEFT   trace.etl: 79,528 samples (79.528 s) in 9.954 s`.
fn sides(diff: &StackDiff) -> [String; 2] {
    let side = |name: &str, side: &StackSide| {
        let (set, totals) = (&side.set, &side.set.totals);
        let weight = match diff.of().weight() {
            Weight::Time | Weight::Bytes => format!(" ({})", amount(diff, totals.weight.into())),
            Weight::Pages | Weight::Count => String::new(),
        };
        let (events, span) = (numbers::count(totals.events), TimeUnit::Auto.show(set.span_ns));
        format!("{name:<5}  {}: {events} {}{weight} in {span}", name_of_files(&side.files), events_of(set))
    };
    let [left, right] = &diff.sides;
    [side("LEFT", left), side("RIGHT", right)]
}

/// A weight in a sentence.
fn amount(diff: &StackDiff, weight: i128) -> String {
    let weight = u64::try_from(weight.unsigned_abs()).unwrap_or(u64::MAX);
    match diff.of().weight() {
        Weight::Time => TimeUnit::Auto.show(weight),
        Weight::Bytes => numbers::bytes(weight),
        Weight::Pages => counted(weight, "page", "pages"),
        Weight::Count => counted(weight, "event", "events"),
    }
}

/// `Samples by function: self, and its share of the whole side`.
fn title(diff: &StackDiff, unit: Unit) -> String {
    let [left, _] = &diff.sides;
    let mut events = events_of(&left.set);
    events.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    let by = Dimension::names(&diff.dimensions).join(", ");
    let sizes = match diff.of().weight() {
        Weight::Bytes => format!("; sizes in {}", unit.name()),
        Weight::Time | Weight::Pages | Weight::Count => String::new(),
    };
    format!("{events} by {by}: {}, and its share of the whole side{sizes}", diff.measure.name())
}

/// Whether the sides agree, and in what not.
fn verdict(diff: &StackDiff) -> String {
    let compared = &diff.compared;
    let rows = counted(compared.all.rows, "row", "rows");
    let within = within_tolerance(compared.within.rows);
    if let Some(text) = compared.no_match() {
        return text.into();
    }
    let [left, right] = diff.weights().map(i128::from);
    if compared.is_equal() {
        let all = equal(compared.within.rows);
        return format!("{all}: {rows}, {}{within}", held([left, right].map(|side| amount(diff, side))));
    }
    let total = match right - left {
        0 => "the sums agree".to_owned(),
        more if more > 0 => format!("RIGHT has {} more", amount(diff, more)),
        less => format!("LEFT has {} more", amount(diff, less)),
    };
    format!("Different: {} of {rows}; {total}{within}", numbers::count(compared.differing().count() as u64))
}

/// Rows by function that are offsets in images say little of another build.
fn without_names(diff: &StackDiff) -> Option<String> {
    let has_functions = diff.dimensions.iter().any(|of| matches!(of, Dimension::Function | Dimension::Stack));
    let [left, right] = diff.sides.each_ref().map(|side| side.set.totals.frames);
    (has_functions && left.module + right.module > 0).then(|| {
        let [left, right] = [left, right].map(|frames| percent(frames.module, frames.total()));
        format!("Frames without a function's name: {left}, {right} (--symbols; --group-by module)")
    })
}
