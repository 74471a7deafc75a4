//! The labels of single pages on both sides: which of the file's are the same as which of the trace's.

use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::file_matching;
use crate::analysis::diff::file_side::FilePages;
use crate::analysis::diff::process_matching::{Matched, Matching};
use crate::analysis::diff::trace_side::ResidentSide;
use crate::analysis::resident::classify::ClassifiedPage;
use crate::analysis::resident::page_dimensions::{Dimension as ResidentDimension, DimensionCode};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::{Condition, Dimension as _};
use crate::event::page_identity::PageIdentity;
use crate::imported::wpa::page_rows::{PageCell, PageRows};
use std::collections::BTreeSet;

/// The code of a label in the trace, and that of one in the file.
pub(super) type LabelPair = (DimensionCode, u32);

/// The labels of one dimension.
#[derive(Debug)]
pub(super) struct DimensionLabels {
    pub dimension: Dimension,
    of_trace: ResidentDimension,
    /// The key column of the file.
    key: usize,
    /// The file's labels by code, in the form of the dimension.
    shown: Vec<String>,
    /// The same as they are compared.
    compared: Vec<String>,
    matched: Matched,
}

impl DimensionLabels {
    /// The codes of a page.
    #[inline]
    pub fn pair(
        &self,
        context: &SnapshotContext<'_>,
        (page, classified): (&PageIdentity, &ClassifiedPage),
        (rows, cell): (&PageRows, &PageCell),
    ) -> LabelPair {
        (self.of_trace.code(context, page, classified), rows.code(cell.combination(), self.key))
    }
}

/// The labels of all dimensions that a file has for its pages.
#[derive(Debug)]
pub(super) struct PageLabels<'c> {
    pub context: &'c SnapshotContext<'c>,
    pub all: Vec<DimensionLabels>,
    /// Which of the two sides the trace is.
    trace_at: usize,
}

impl<'c> PageLabels<'c> {
    pub fn new(
        context: &'c SnapshotContext<'c>,
        (side, trace_at): (&ResidentSide<'_>, usize),
        file: &FilePages<'_>,
        conditions: &[Condition<Dimension>],
        (by_wpa, matching): (bool, Matching),
    ) -> PageLabels<'c> {
        let of_dimension = |(dimension, key): &(Dimension, usize)| {
            let (dimension, key) = (*dimension, *key);
            let labels = file.rows.labels.get(key).map(Vec::as_slice).unwrap_or_default();
            let shown: Vec<String> = labels.iter().map(|label| dimension.in_one_form(label)).collect();
            let mut sets = [BTreeSet::new(), BTreeSet::new()];
            if dimension.is_matched() {
                let rows = side.rows(&[dimension], conditions, by_wpa);
                let of_trace = rows.iter().filter_map(|row| row.labels.first());
                let of_trace = of_trace.map(|label| dimension.in_one_form(label)).collect();
                let codes = file.codes(key);
                let of_file = codes.into_iter().filter_map(|code| shown.get(code as usize).cloned()).collect();
                sets = if trace_at == 0 { [of_trace, of_file] } else { [of_file, of_trace] };
            }
            let matched = file_matching::of_dimension(dimension, sets.each_ref(), matching, &Default::default());
            let compared = shown.iter().map(|label| dimension.joined_by(matched.name(1 - trace_at, label))).collect();
            let of_trace = dimension.resident(by_wpa)?;
            Some(DimensionLabels { dimension, of_trace, key, shown, compared, matched })
        };
        PageLabels { context, all: file.dimensions.iter().filter_map(of_dimension).collect(), trace_at }
    }

    fn of_trace(&self, labels: &DimensionLabels, code: DimensionCode) -> String {
        labels.dimension.in_one_form(labels.of_trace.label(self.context, code).as_str())
    }

    /// True for labels that stand for the same.
    pub fn is_same(&self, labels: &DimensionLabels, (ours, theirs): LabelPair) -> bool {
        let ours = self.of_trace(labels, ours);
        let ours = labels.dimension.joined_by(labels.matched.name(self.trace_at, &ours));
        labels.compared.get(theirs as usize).is_some_and(|theirs| *theirs == ours)
    }

    /// The name of a dimension, and two labels of it: that of the file, that of the trace.
    pub fn texts(&self, at: usize, (ours, theirs): LabelPair) -> Option<(&'static str, [String; 2])> {
        let labels = self.all.get(at)?;
        let theirs = labels.shown.get(theirs as usize).cloned().unwrap_or_default();
        Some((labels.dimension.name(), [theirs, self.of_trace(labels, ours)]))
    }
}
