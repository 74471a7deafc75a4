//! Whose the ids are that conditions name: those of threads, and the handles of heaps.

use crate::dimensions::single_dimensions::{HEAP, THREAD};
use crate::dimensions::{Condition, Dimension, Label, NO_LABEL, ProcessFacet};
use crate::pattern::Patterns;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The processes of an id that conditions name. Rows of a value are by process, and do not tell it of each id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdOwners {
    /// The dimension: threads, or heaps.
    pub(super) dimension: String,
    /// The id.
    pub(super) id: String,
    /// Labels of its processes: an id can be given again.
    pub(super) processes: BTreeSet<String>,
}

/// The patterns of a condition that name ids: all but those that mean others, everything, or what has none.
pub(super) fn named_ids(patterns: &str) -> Vec<&str> {
    let names_id = |text: &&str| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        !text.starts_with('!') && *text != NO_LABEL && digits.bytes().any(|byte| byte.is_ascii_hexdigit())
    };
    patterns.split(';').map(str::trim).filter(names_id).collect()
}

/// Process, and the dimensions of ids that the conditions name; nothing where they name none.
pub(super) fn owned_ids<D: Dimension>(conditions: &[Condition<D>]) -> Vec<D> {
    let is_named = |dimension: &D| {
        conditions.iter().any(|of| of.dimension == *dimension && !named_ids(&of.patterns.to_string()).is_empty())
    };
    let ids = D::ALL.iter().copied().filter(|dimension| [THREAD.name, HEAP.name].contains(&dimension.name()));
    let ids: Vec<D> = ids.filter(is_named).collect();
    let process = D::parse(ProcessFacet::Process.name()).ok().filter(|_| !ids.is_empty());
    process.into_iter().chain(ids).collect()
}

/// Whose the ids are that the conditions name. `rows`: labels of process and ids, by the dimensions `by` that [`owned_ids`] gives.
pub(super) fn owners<'r, D: Dimension>(
    conditions: &[Condition<D>],
    by: &[D],
    rows: impl Iterator<Item = &'r [Label]>,
) -> Vec<IdOwners> {
    let named: Vec<Option<Patterns>> = by
        .iter()
        .map(|dimension| {
            let of = conditions.iter().find(|condition| condition.dimension == *dimension)?;
            Some(Patterns::new(&named_ids(&of.patterns.to_string()).join(";")))
        })
        .collect();
    let mut found: BTreeMap<(&str, String), BTreeSet<String>> = BTreeMap::new();
    for labels in rows {
        let Some(process) = labels.first() else { continue };
        for ((dimension, named), id) in by.iter().zip(&named).zip(labels).skip(1) {
            if named.as_ref().is_some_and(|named| named.matches(id.as_str())) {
                found.entry((dimension.name(), String::from(id))).or_default().insert(String::from(process));
            }
        }
    }
    let of_id = |((dimension, id), processes): ((&str, String), BTreeSet<String>)| IdOwners {
        dimension: dimension.to_owned(),
        id,
        processes,
    };
    found.into_iter().map(of_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_none_are_no_ids() {
        assert_eq!(named_ids("8;12*; 0x1f0000 ;0xab*"), ["8", "12*", "0x1f0000", "0xab*"]);
        assert_eq!(named_ids("*;n/a;!88;?*;0x*"), Vec::<&str>::new());
    }
}
