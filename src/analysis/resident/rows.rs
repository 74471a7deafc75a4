//! Rows of the resident set: labels and measures for what was counted, and the tables that are shown.

use crate::analysis::resident::dimension::{Code, Dimension};
use crate::analysis::resident::row_counts::{PageCounts, ResidentOrder};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::snapshot_counts::{SnapshotCounts, SnapshotPlan};
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::analysis::table::{Field, Forms, Group, Measured, Node, Table, Value};
use crate::event::page::PageList;
use std::collections::BTreeMap;

/// Groups by the query's dimensions, most pages first.
pub(super) fn groups(
    counted: &mut SnapshotCounts,
    plan: &SnapshotPlan,
    dimensions: &[Dimension],
    context: &SnapshotContext<'_>,
) -> Vec<Group<PageCounts>> {
    let mut all: BTreeMap<Vec<Code>, PageCounts> = BTreeMap::new();
    for (mut codes, pages) in std::mem::take(&mut counted.groups) {
        let list = codes.get(plan.list_at).copied();
        codes.truncate(dimensions.len());
        let is = |wanted: PageList| list == Some(Code::Number(wanted as u64));
        let on = |is: bool| if is { pages } else { 0 };
        *all.entry(codes).or_default() += PageCounts {
            pages,
            pages_wpa: on(!plan.compares),
            active: on(is(PageList::Active)),
            standby: on(is(PageList::Standby)),
            modified: on(is(PageList::Modified) || is(PageList::ModifiedNoWrite)),
        };
    }
    for (codes, pages) in std::mem::take(&mut counted.groups_wpa) {
        all.entry(codes).or_default().pages_wpa += pages;
    }
    let labels = |codes: &[Code]| codes.iter().zip(dimensions).map(|(&code, d)| d.label(context, code)).collect();
    let mut groups: Vec<_> =
        all.into_iter().map(|(codes, measure)| Group { labels: labels(&codes), measure }).collect();
    groups.sort_by(|a, b| b.measure.pages.cmp(&a.measure.pages).then_with(|| a.labels.cmp(&b.labels)));
    groups
}

/// The largest processes.
pub(super) fn processes(counted: &SnapshotCounts, context: &SnapshotContext<'_>, most: usize) -> Node<PageCounts> {
    let group = |&(code, pages): &(Code, u64)| Group {
        labels: vec![Dimension::Process.label(context, code)],
        measure: PageCounts { pages, ..PageCounts::default() },
    };
    ResidentOrder::Pages.tree(&counted.owners.iter().map(group).collect::<Vec<_>>(), Some(most))
}

type Column = Measured<PageCounts>;

const PAGES: Column = Column::new("pages", "Pages", |m, _| Value::count(m.pages));
const SIZE: Column = Column::new("bytes", "", |m, _| Value::pages(m.pages as i64));
const SHARE: Column = Column::shown("Share", |m, all| Value::share(m.pages, all.pages));
const WPA: Column = Column::new("pages_wpa", "WPA", |m, _| Value::count(m.pages_wpa));
const DIFFERENCE: Column =
    Column::shown("Difference", |m, _| Value::Difference(m.pages.wrapping_sub(m.pages_wpa) as i64));
const ACTIVE: Column = Column::new("active_pages", "Active", |m, _| Value::CountIfAny(m.active));
const STANDBY: Column = Column::new("standby_pages", "Standby", |m, _| Value::CountIfAny(m.standby));
const MODIFIED: Column = Column::new("modified_pages", "Modified", |m, _| Value::CountIfAny(m.modified));

impl ResidentSet {
    /// The table of one of the snapshots.
    pub fn table(&self, snapshot: &SnapshotSet) -> Table {
        let both = if self.compares { vec![WPA, DIFFERENCE.leaves(3)] } else { Vec::new() };
        let lists = [ACTIVE.leaves(2), STANDBY.leaves(1), MODIFIED.leaves(0)];
        let columns = [vec![PAGES, SIZE, SHARE.leaves(4)], both, lists.to_vec()].concat();
        let all = snapshot.tree.measure;
        Table::of_groups(&self.dimensions, &snapshot.rows, &snapshot.tree, all, &columns)
            .with_total(&snapshot.tree, all, &columns)
            .with_first_field(Field::only("snapshot", Forms::Alone), &Value::Number(snapshot.index as u64))
    }
}

impl SnapshotSet {
    /// The largest processes by pages that are theirs.
    pub fn process_table(&self) -> Table {
        Table::of_tree("Process", &self.processes, self.tree.measure, &[PAGES, SIZE, SHARE])
            .titled("Largest processes (private pages and page tables)")
    }
}
