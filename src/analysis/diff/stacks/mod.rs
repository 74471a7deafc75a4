//! Stacks of two traces: which code ran, waited or allocated more.
//!
//! Weights stand beside shares of all that is compared of a side, because traces have other lengths.

mod rows;
#[cfg(feature = "cli")]
mod tables;

pub use rows::{StackDiffRow, StackMeasure};

use super::allocations::trace;
use super::comparison::Comparison;
use super::needed_stacks::need_stacks;
use super::other_machines::of_other_machines;
use super::process_matching::{Match, Matched, Starts};
use super::query::{SIDES, at_side};
use super::row_choice::RowChoice;
use super::side::Source;
use super::trace_side::starts;
use crate::analysis::stacks::{Dimension, Kind, SelfAndTotal, StackQuery, StackSet};
use crate::error::Error;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{Nanos, are_of_other_lengths, count, counted};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A question.
#[derive(Debug, Clone, Default)]
pub struct StackDiffQuery {
    /// The kind of events, as the user named it.
    pub of: String,
    /// Dimensions, conditions, symbol files: the same for both sides.
    pub stacks: StackQuery,
    /// What decides whether a row differs.
    pub measure: StackMeasure,
    /// How rows are matched, kept and ordered.
    pub rows: RowChoice,
}

/// One of the two traces.
#[derive(Debug)]
pub struct StackSide {
    /// Its files, as the user named them.
    pub files: Vec<PathBuf>,
    /// Its stacks.
    pub set: StackSet,
}

/// What `pfnset diff --of KIND` shows.
#[derive(Debug)]
pub struct StackDiff {
    /// Doubts of both sides.
    pub warnings: Warnings,
    /// What decides.
    pub measure: StackMeasure,
    /// The two sides.
    pub sides: [StackSide; 2],
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// The rows. Totals of functions do not add up: an event is in those of all functions of its stack.
    pub compared: Comparison<SelfAndTotal>,
}

impl StackDiff {
    /// Compares.
    ///
    /// # Errors
    /// [`Error::Usage`] for a side that is no trace, and for a tolerance that is none of the kind; those of [`StackSet::answer`] with the
    /// side's name.
    pub fn new(left: &Source, right: &Source, query: &StackDiffQuery) -> Result<StackDiff, Error> {
        let traces = [trace(0, left, "stacks")?, trace(1, right, "stacks")?];
        let mut group_by = query.stacks.group_by.clone();
        if group_by.is_empty() {
            group_by.push(Dimension::Function);
        }
        let kinds = [
            Kind::of_trace(&query.of, traces[0]).map_err(|error| named(error, 0))?,
            Kind::of_trace(&query.of, traces[1]).map_err(|error| named(error, 1))?,
        ];
        let tolerance = rows::tolerance_of(&kinds[0], query.rows.tolerance)?;
        let mut sets = Vec::new();
        for (side, ((trace, source), of)) in traces.into_iter().zip([left, right]).zip(kinds).enumerate() {
            let asked = StackQuery { of: Some(of), group_by: group_by.clone(), compared: true, ..query.stacks.clone() };
            sets.push(StackSet::answer(trace, &asked).map_err(|error| at_side(error, side, &source.path))?);
        }
        let Ok([left_set, right_set]) = <[StackSet; 2]>::try_from(sets) else {
            return Err(Error::Usage("two sides are compared".into()));
        };
        let sets = [&left_set, &right_set];
        let how = query.rows.matching.unwrap_or(Match::Name);
        let matched = matched(sets, &group_by, how, &traces.map(|trace| starts(how, trace)));
        let joined = rows::join(sets, &group_by, &matched, (query.measure, tolerance, query.rows.order));
        let is_of_frames =
            |dimension: Dimension| matches!(dimension, Dimension::Function | Dimension::Module | Dimension::Stack);
        let conditions = query.stacks.conditions.iter().map(|condition| condition.dimension);
        let names_frames = group_by.iter().copied().chain(conditions).any(is_of_frames);
        let mut warnings = warnings(sets, &matched, names_frames);
        warnings.add(of_other_machines(traces));
        need_stacks(&joined, (&group_by, &query.stacks.conditions), &warnings)?;
        Ok(StackDiff {
            warnings,
            measure: query.measure,
            compared: Comparison::new(joined, query.rows.keeps_same, &query.stacks.conditions),
            dimensions: group_by,
            sides: [
                StackSide { files: left.files(), set: left_set },
                StackSide { files: right.files(), set: right_set },
            ],
        })
    }

    /// The left side's events: their kind and its unit.
    pub fn of(&self) -> &Kind {
        &self.sides[0].set.of
    }

    /// The weight of all events of each side.
    pub fn weights(&self) -> [u64; 2] {
        self.sides.each_ref().map(|side| side.set.totals.weight)
    }

    /// True when the rows add up to all events: an event is in the total of each function of its stack.
    pub fn adds_up(&self) -> bool {
        let of_frames = |dimension: &Dimension| matches!(dimension, Dimension::Function | Dimension::Module);
        self.measure == StackMeasure::Own || !self.dimensions.iter().any(of_frames)
    }
}

/// Which side does not know the kind.
fn named(error: Error, side: usize) -> Error {
    match error {
        Error::Usage(text) => Error::Usage(format!("{}: {text}", SIDES.get(side).copied().unwrap_or_default())),
        other => other,
    }
}

/// The names under which the processes of both sides are compared.
fn matched(sets: [&StackSet; 2], dimensions: &[Dimension], how: Match, starts: &[Starts; 2]) -> Matched {
    let Some(place) = dimensions.iter().position(|dimension| *dimension == Dimension::Process) else {
        return Matched::default();
    };
    let labels = sets.map(|set| -> BTreeSet<String> {
        set.compared.iter().filter_map(|row| row.labels.get(place)).map(|label| label.to_string()).collect()
    });
    Matched::new(labels.each_ref(), how, starts)
}

/// `names_frames`: rows or conditions are of what only events with a stack have.
fn warnings(sets: [&StackSet; 2], matched: &Matched, names_frames: bool) -> Warnings {
    let note = |code, text| Warning::note(STACK_EVENTS.name, code, text);
    let mut warnings = Warnings::default();
    for (name, set) in SIDES.iter().zip(sets) {
        warnings.extend(set.warnings.clone().named(name));
        let without = set.totals.events.saturating_sub(set.totals.with_stack);
        // That no record has one is said already.
        let has_none = set.warnings.iter().any(|warning| warning.is_of(&["no_stacks"]));
        if without > 0 && names_frames && !has_none {
            let (without, all) = (count(without), counted(set.totals.events, "event has", "events have"));
            let text = format!("{name}: {without} of {all} no stack: functions and modules are not known of them");
            warnings.push(note("stacks_incomplete", text));
        }
        if set.totals.weight_unknown > 0 {
            let waits = counted(set.totals.weight_unknown, "wait", "waits");
            let text = format!("{name}: the length of {waits} is unknown: they weigh nothing");
            warnings.push(note("weights_unknown", text).of(set.totals.weight_unknown));
        }
    }
    warnings.extend(matched.renamed_warning());
    let lengths = other_lengths(sets.map(|set| set.span_ns));
    warnings.extend(lengths.map(|text| note("lengths_differ", text)));
    warnings
}

/// Spans that differ by more than a tenth: then weights differ too.
fn other_lengths([left, right]: [u64; 2]) -> Option<String> {
    let seconds = |nanos: u64| Nanos(nanos.into()).seconds();
    are_of_other_lengths(left, right).then(|| {
        format!(
            "LEFT spans {:.3} s and RIGHT {:.3} s: amounts grow with the time, so compare the shares",
            seconds(left),
            seconds(right)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lengths_are_said_from_a_tenth_on() {
        assert_eq!(other_lengths([1_000_000_000, 900_000_000]), None);
        assert_eq!(other_lengths([0, 0]), None);
        let said = other_lengths([1_000_000_000, 899_999_999]).unwrap_or_default();
        assert!(said.starts_with("LEFT spans 1.000 s and RIGHT 0.900 s: "), "{said}");
        assert!(other_lengths([0, u64::MAX]).is_some());
    }
}
