//! Rows of a saved baseline that pfnset did not write: somebody changed them by hand.

use super::budget::{Analysis, Measure, RowSum};
use crate::analysis::diff::compared_dimensions::Dimension as Compared;
use crate::dimensions::single_dimensions::{ACCESS_REASON, CATEGORY, TAG};
use crate::dimensions::{Dimension as _, FileFacet, ProcessFacet};
use crate::imported::wpa::contradictions::{is_category, is_total};
use crate::load::allocation_kinds::AllocationKind;
use crate::pattern::Patterns;
use crate::units::counted;
use std::collections::BTreeSet;

/// What the rows of a value are by; `None` where the analysis is not known.
fn dimensions_of(analysis: &str, measure: Measure) -> Option<Vec<&'static str>> {
    let [process, file] = [ProcessFacet::Process.facet().name, FileFacet::File.facet().name];
    let analysis = Analysis::ALL.into_iter().find(|known| known.name() == analysis)?;
    Some(match analysis {
        Analysis::Reference if measure.is_of_accesses() => vec![ACCESS_REASON.name],
        Analysis::Resident | Analysis::Reference => vec![process, CATEGORY.name],
        Analysis::Faults => vec![process, file],
        Analysis::Allocations(AllocationKind::Pool) => vec![TAG.name],
        Analysis::Cpu | Analysis::Allocations(_) => vec![process],
    })
}

/// True where rows with the same labels are one row: what is rounded row by row, or row by row not below 0, has one for each process.
pub(super) fn are_merged(measure: Measure) -> bool {
    matches!(measure.sum_of_rows(), RowSum::Equal | RowSum::AtLeast)
}

/// That rows are by other dimensions than those of such a value, or have labels that none of them has.
pub(super) fn unlikely_rows(
    (analysis, measure): (&str, Measure),
    dimensions: &[String],
    rows: &[&[String]],
) -> Option<String> {
    let wanted = dimensions_of(analysis, measure)?;
    if dimensions != wanted {
        return Some(format!(
            "its rows are by {}, and those of such a value by {}",
            dimensions.join(", "),
            wanted.join(", ")
        ));
    }
    let mut known: BTreeSet<&[String]> = BTreeSet::new();
    let mut found = (1..).zip(rows).filter_map(|(number, labels)| {
        if labels.len() != wanted.len() {
            return Some(format!(
                "row {number} has {}, and the rows are by {}",
                counted(labels.len() as u64, "label", "labels"),
                wanted.join(", ")
            ));
        }
        let is_again = !known.insert(labels) && are_merged(measure);
        let again = is_again.then(|| format!("row {number}, {}, is there twice", labels.join(", ")));
        let mut labels = wanted.iter().zip(*labels);
        again.or_else(|| {
            labels.find_map(|(dimension, label)| {
                unlikely_label(dimension, label).map(|why| format!("row {number}: {why}"))
            })
        })
    });
    found.next()
}

/// That a row is of something which the conditions of its value exclude. Only names that every trace writes alike are compared.
pub(super) fn excluded_row<'c>(
    conditions: impl Iterator<Item = (&'c str, &'c str)>,
    dimensions: &[String],
    rows: &[&[String]],
) -> Option<String> {
    for (name, patterns) in conditions {
        let Some(at) = dimensions.iter().position(|dimension| dimension == name) else { continue };
        let patterns = match name {
            _ if name == CATEGORY.name => Patterns::of_labels(patterns),
            _ if name == ProcessFacet::Process.facet().name => Patterns::of_processes(patterns),
            _ => continue,
        };
        let of = Compared::of_name(name)?;
        let is_other = |label: &&String| !of.meets(label, &patterns);
        let mut others =
            (1..).zip(rows).filter_map(|(number, labels)| Some((number, labels.get(at).filter(is_other)?)));
        if let Some((number, label)) = others.next() {
            return Some(format!("row {number}: \"{label}\" does not meet {name}={patterns}"));
        }
    }
    None
}

/// Why a label is none of the dimension. Files and tags of pool can have any name.
fn unlikely_label(dimension: &str, label: &str) -> Option<String> {
    let is_of = |names: &[&str]| names.contains(&dimension);
    if is_of(&[CATEGORY.name]) && !is_category(label) {
        return Some(format!("\"{label}\" is no category"));
    }
    let is_named = is_of(&[ProcessFacet::Process.facet().name, ACCESS_REASON.name]);
    (is_named && is_total(label)).then(|| format!("\"{label}\" is a total"))
}
