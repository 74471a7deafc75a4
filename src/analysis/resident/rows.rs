//! Rows of the resident set: the counts with their labels, and those of processes.

use crate::analysis::resident::count_snapshot::{SnapshotCounts, SnapshotPlan};
use crate::analysis::resident::group_counts::ByList;
use crate::analysis::resident::page_counts::{PageCounts, ResidentOrder};
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::{Group, Node};
use crate::dimensions::Label;
use std::collections::{BTreeMap, HashMap};

/// Groups by the query's dimensions, most pages first.
pub(super) fn groups(
    counted: &mut SnapshotCounts,
    plan: &SnapshotPlan,
    dimensions: &[Dimension],
    context: &SnapshotContext<'_>,
) -> Vec<Group<PageCounts>> {
    let mut all: BTreeMap<Vec<DimensionCode>, PageCounts> = BTreeMap::new();
    for (mut codes, pages) in std::mem::take(&mut counted.groups) {
        let list = codes.get(plan.list_at).copied();
        codes.truncate(dimensions.len());
        let mut counts = PageCounts { pages, pages_wpa: if plan.compares { 0 } else { pages }, ..Default::default() };
        if let Some(DimensionCode::Number(list)) = list {
            counts.by_list.get_mut(list as usize).into_iter().for_each(|on_list| *on_list = pages);
        }
        *all.entry(codes).or_default() += counts;
    }
    for (codes, pages) in std::mem::take(&mut counted.groups_wpa) {
        all.entry(codes).or_default().pages_wpa += pages;
    }
    let labels =
        |codes: &[DimensionCode]| codes.iter().zip(dimensions).map(|(&code, d)| d.label(context, code)).collect();
    let mut groups: Vec<Group<PageCounts>> =
        all.iter().map(|(codes, &measure)| Group { labels: labels(codes), measure }).collect();
    if dimensions.iter().any(|dimension| dimension.joins_codes()) {
        groups.sort_by(|a, b| a.labels.cmp(&b.labels));
        groups.dedup_by(|next, kept| {
            let same = next.labels == kept.labels;
            if same {
                kept.measure += next.measure;
            }
            same
        });
    }
    groups.sort_by(|a, b| b.measure.pages.cmp(&a.measure.pages).then_with(|| a.labels.cmp(&b.labels)));
    groups
}

/// What people read for AWE and large pages before Windows 11.
const OWNER_NOT_RECORDED: &str = "owner not recorded (AWE, large)";

/// A process, and its own pages.
pub(crate) type OwnPages = (Label, u64);

/// Processes with pages of their own, most pages first; and which of them has most.
pub(super) fn processes(
    counted: &SnapshotCounts,
    context: &SnapshotContext<'_>,
) -> (Node<PageCounts>, Option<OwnPages>) {
    let group = |&(code, by_list): &(DimensionCode, _)| Group {
        labels: vec![Dimension::PROCESS.label(context, code)],
        measure: PageCounts::of_lists(by_list),
    };
    // These belong to processes too, and nothing tells to which.
    let unowned = (counted.unowned != ByList::default()).then(|| Group {
        labels: vec![Label::nothing().shown_as(OWNER_NOT_RECORDED)],
        measure: PageCounts::of_lists(counted.unowned),
    });
    let mut groups: Vec<Group<PageCounts>> = counted.owners.iter().map(group).collect();
    let names: HashMap<String, Label> =
        groups.iter().flat_map(|group| &group.labels).map(|label| (label.shown().to_owned(), label.clone())).collect();
    groups.extend(unowned);
    let processes = ResidentOrder::Pages.tree(&groups, None);
    let owners = processes.parts.iter().filter_map(|part| Some((names.get(&part.label)?, part.measure.pages)));
    let largest = owners.max_by_key(|(_, pages)| *pages).map(|(label, pages)| (label.clone(), pages));
    (processes, largest)
}
