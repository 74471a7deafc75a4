//! Rows of the reference set: labels for the keys of the totals, conditions, groups, order.

use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::query::{Dimension, HELD, Query, RowOrder};
use crate::analysis::refset::row_key::{FileCode, RowCount, RowKey};
use crate::analysis::table::group::natural;
use crate::analysis::table::{Condition, Group, NO_LABEL, Node};
use crate::model::category::Category;
use crate::model::working_set_owner::{Owner, OwnerId};
use foldhash::HashMap as FastMap;
use std::borrow::Cow;
use std::cmp::Ordering;

impl ReplayContext<'_> {
    /// The label of an owner.
    pub fn owner(&self, owner: OwnerId) -> String {
        owner.label(self.lifetimes.processes, self.lifetimes.reading)
    }

    fn file_label(&self, code: FileCode) -> String {
        match code {
            FileCode::None => NO_LABEL.to_owned(),
            FileCode::Combined => "CombinedPage".to_owned(),
            FileCode::Name(index) => self.names.name(index).to_owned(),
            FileCode::Unknown(key) => format!("Unknown (0x{key:x})"),
        }
    }

    /// True when a key meets all conditions.
    pub fn meets(&self, key: &RowKey, conditions: &[Condition<Dimension>]) -> bool {
        conditions.iter().all(|condition| {
            let label = self.label(key, condition.dimension);
            condition.patterns.matches_any(&[&label, &self.shown(condition.dimension, &label)])
        })
    }

    /// The label of a key in a dimension.
    pub fn label(&self, key: &RowKey, dimension: Dimension) -> String {
        let none = || NO_LABEL.to_owned();
        match dimension {
            // Private pages of sessions are the system's, as WPA has no owner for them.
            Dimension::Process => match (key.owner.owner(), key.category) {
                (Owner::Session(_), Category::SessionPrivate) => self.owner(OwnerId::SYSTEM),
                _ => self.owner(key.owner),
            },
            Dimension::Category => key.category.name().to_owned(),
            Dimension::Class => key.category.class().name().to_owned(),
            Dimension::File => self.file_label(key.file),
            Dimension::Detail => self.file_label(key.detail),
            Dimension::AccessReason => key.access_reason.map_or_else(none, |reason| reason.name().to_owned()),
            Dimension::ReleaseReason => key.release_reason.map_or_else(|| HELD.into(), |r| r.name().to_owned()),
            Dimension::Impact => key.impact.map_or_else(none, |impact| impact.name().to_owned()),
        }
    }

    /// A label as tables show it.
    pub fn shown<'l>(&self, dimension: Dimension, label: &'l str) -> Cow<'l, str> {
        match (dimension, label) {
            (Dimension::File, NO_LABEL) => Cow::Borrowed("no file"),
            (Dimension::Detail, NO_LABEL) => Cow::Borrowed("no detail"),
            (Dimension::File | Dimension::Detail, path) => self.drive_paths.shown(path),
            _ => Cow::Borrowed(label),
        }
    }

    /// The rows as a tree, with labels as tables show them.
    pub fn tree(&self, rows: &[Group<RowCount>], query: &Query) -> Node<RowCount> {
        let shown = |(dimension, label): (&Dimension, &String)| self.shown(*dimension, label).into_owned();
        let labels = |row: &Group<RowCount>| query.group_by.iter().zip(&row.labels).map(shown).collect();
        let rows: Vec<_> = rows.iter().map(|row| Group { labels: labels(row), measure: row.measure }).collect();
        query.order.tree(&rows, query.top)
    }

    /// Rows by these dimensions that meet the query's conditions, in its order.
    pub fn rows(
        &self,
        all: &FastMap<RowKey, RowCount>,
        dimensions: &[Dimension],
        query: &Query,
    ) -> Vec<Group<RowCount>> {
        let mut groups: FastMap<Vec<String>, RowCount> = FastMap::default();
        for (key, count) in all {
            if self.meets(key, &query.conditions) {
                let labels = dimensions.iter().map(|&dimension| self.label(key, dimension)).collect();
                *groups.entry(labels).or_default() += *count;
            }
        }
        let mut rows: Vec<_> = groups.into_iter().map(|(labels, measure)| Group { labels, measure }).collect();
        rows.retain(|row| row.measure != RowCount::default());
        rows.sort_by(|a, b| {
            let names = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|o| o.is_ne());
            query.order.compare(&a.measure, &b.measure).then_with(|| names().unwrap_or(Ordering::Equal))
        });
        rows
    }
}

impl RowOrder {
    fn compare(self, a: &RowCount, b: &RowCount) -> Ordering {
        match self {
            RowOrder::Pages | RowOrder::Peak => b.pages.cmp(&a.pages).then_with(|| b.impact_pages.cmp(&a.impact_pages)),
            RowOrder::ImpactPages => b.impact_pages.cmp(&a.impact_pages).then_with(|| b.pages.cmp(&a.pages)),
            RowOrder::Name => Ordering::Equal,
        }
    }

    /// Rows as a tree.
    pub fn tree(self, rows: &[Group<RowCount>], top: Option<usize>) -> Node<RowCount> {
        Node::tree(rows, |a, b| self.compare(a, b), top)
    }
}
