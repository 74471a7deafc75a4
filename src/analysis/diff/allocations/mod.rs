//! Allocations of two traces: what is outstanding at the end, growth and peak of each row, on both sides.
//!
//! Processes are matched before records are read: so the peak of all processes of one name is that of their sum.

mod rows;
#[cfg(feature = "cli")]
mod tables;

pub use rows::{AllocationDiffRow, AllocationMeasure, AllocationSums};

use super::comparison::Comparison;
use super::missing_names::NO_NAME;
use super::needed_stacks::need_stacks;
use super::other_machines::of_other_machines;
use super::process_matching::{Match, Matched};
use super::query::{SIDES, at_side};
use super::row_choice::RowChoice;
use super::side::Source;
use super::trace_side::starts;
use crate::analysis::allocations::{AllocationQuery, AllocationSet, CommonNames, Dimension};
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::trace::trust::warning::Warnings;
use crate::trace::{Parts, Trace};
use crate::units::Nanos;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A question.
#[derive(Debug, Clone, Default)]
pub struct AllocationDiffQuery {
    /// Kind, dimensions, conditions, symbol files: the same for both sides.
    pub allocations: AllocationQuery,
    /// What decides whether a row differs.
    pub measure: AllocationMeasure,
    /// How rows are matched, kept and ordered.
    pub rows: RowChoice,
}

/// One of the two traces.
#[derive(Debug)]
#[non_exhaustive]
pub struct AllocationSide {
    /// Its files, as the user named them.
    pub files: Vec<PathBuf>,
    /// Its allocations.
    pub set: AllocationSet,
}

impl AllocationSide {
    /// Length of what was compared.
    pub(crate) fn length(&self) -> Nanos {
        Nanos(self.set.window_times.1.0 - self.set.window_times.0.0)
    }
}

/// What `pfnset diff --allocations` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct AllocationDiff {
    /// Doubts of both sides.
    pub warnings: Warnings,
    /// The kind.
    pub of: AllocationKind,
    /// What decides.
    pub measure: AllocationMeasure,
    /// The two sides.
    pub sides: [AllocationSide; 2],
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// The rows. Peaks at different times do not add up: those of all are in [`AllocationDiff::sums`].
    pub compared: Comparison<AllocationSums>,
}

impl AllocationDiff {
    /// Compares.
    ///
    /// # Errors
    /// [`Error::Usage`] for a side that is no trace, those of [`AllocationSet::answer`] with the side's name.
    pub fn new(left: &Source, right: &Source, query: &AllocationDiffQuery) -> Result<AllocationDiff, Error> {
        let sources = [left, right];
        let traces = [trace(0, left, "allocations")?, trace(1, right, "allocations")?];
        traces.iter().for_each(|trace| trace.gather(Parts::SYSTEM));
        let of = kind(traces, &query.allocations);
        let how = query.rows.matching.unwrap_or(Match::Name);
        let matched = matched(traces, how);
        let mut sets = Vec::new();
        for ((side, trace), names) in traces.into_iter().enumerate().zip(&matched.sides) {
            // Ids of other recordings are of other processes, and no start orders those that nothing lists.
            let of_unlisted = (how != Match::Pid).then_some(NO_NAME);
            let put_together = Some(CommonNames { by_label: names.clone(), of_unlisted });
            let asked = AllocationQuery { of: Some(of), put_together, ..query.allocations.clone() };
            let place = sources.get(side).map(|source| source.path.clone()).unwrap_or_default();
            sets.push(AllocationSet::answer(trace, &asked).map_err(|error| at_side(error, side, &place))?);
        }
        let Ok([left_set, right_set]) = <[AllocationSet; 2]>::try_from(sets) else {
            return Err(Error::Usage("two sides are compared".into()));
        };
        let mut warnings = Warnings::default();
        for (name, set) in SIDES.iter().zip([&left_set, &right_set]) {
            warnings.extend(set.warnings.clone().named(name));
        }
        warnings.add(of_other_machines(traces));
        let joined = rows::join([&left_set, &right_set], query.measure, query.rows);
        need_stacks(&joined, (&left_set.dimensions, &query.allocations.conditions), &warnings)?;
        warnings.extend(matched.renamed_warning());
        Ok(AllocationDiff {
            warnings,
            of,
            measure: query.measure,
            dimensions: left_set.dimensions.clone(),
            sides: [
                AllocationSide { files: left.files(), set: left_set },
                AllocationSide { files: right.files(), set: right_set },
            ],
            compared: Comparison::new(joined, query.rows.keeps_same, &query.allocations.conditions),
        })
    }

    /// The sums of all rows together, on both sides.
    pub fn sums(&self) -> [AllocationSums; 2] {
        self.sides.each_ref().map(|side| AllocationSums::of(&side.set.total))
    }
}

/// The trace of a side; `what` of two traces is compared.
pub(super) fn trace<'s>(side: usize, source: &'s Source, what: &str) -> Result<&'s Trace, Error> {
    source.trace().ok_or_else(|| {
        let side = SIDES.get(side).copied().unwrap_or_default();
        Error::Usage(format!("{what} of two traces are compared: {side} ({}) is no trace", source.path.display()))
    })
}

/// The kind that is asked for, or the first one that both sides have and that has the dimensions.
fn kind(traces: [&Trace; 2], query: &AllocationQuery) -> AllocationKind {
    let fits = |kind: &AllocationKind| query.dimensions().all(|of| of.only_of().is_none_or(|only| only == *kind));
    let of_both = |kind: &AllocationKind| traces.iter().all(|trace| kind.is_recorded(trace));
    let of_one = |kind: &AllocationKind| traces.iter().any(|trace| kind.is_recorded(trace));
    let first =
        |is: &dyn Fn(&AllocationKind) -> bool| AllocationKind::ALL.into_iter().filter(fits).find(|kind| is(kind));
    query.of.or_else(|| first(&of_both)).or_else(|| first(&of_one)).unwrap_or(AllocationKind::Commit)
}

/// The names under which the processes of both sides are compared.
fn matched(traces: [&Trace; 2], how: Match) -> Matched {
    let labels = traces.map(|trace| -> BTreeSet<String> {
        trace.processes().instances.iter().map(|process| process.label()).collect()
    });
    Matched::new(labels.each_ref(), how, &traces.map(|trace| starts(how, trace)))
}
