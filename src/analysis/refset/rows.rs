//! Rows of the reference set: labels for the keys of the totals, conditions, groups, order.

use crate::analysis::refset::access_stacks::StackShare;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::query::{Dimension, HELD, Query, RowOrder};
use crate::analysis::refset::row_key::{FileCode, LabelParts, RowCount, RowKey};
use crate::analysis::table::group::natural;
use crate::analysis::table::{Group, Node};
use crate::dimensions::file_dimensions::Content;
use crate::dimensions::process_dimensions::{ProcessCode, ProcessFacts};
use crate::dimensions::{Condition, Label, NO_LABEL, ProcessFacet};
use crate::model::category::Category;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::services::Services;
use crate::model::working_set_owner::{Owner, OwnerId};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Whose a working set is.
const fn process_code(owner: OwnerId) -> ProcessCode {
    match owner.owner() {
        Owner::System => ProcessCode::System,
        Owner::Session(id) => ProcessCode::Session(id),
        Owner::Process(index) => ProcessCode::Instance(index),
        Owner::UnknownProcess(id) => ProcessCode::UnknownId(id),
        Owner::UnknownKey(0) => ProcessCode::None,
        Owner::UnknownKey(key) => ProcessCode::UnknownKey(key),
    }
}

const fn facts<'f>(lifetimes: &'f ProcessTimeline<'f>, services: Option<&'f Services>) -> ProcessFacts<'f> {
    ProcessFacts { processes: lifetimes.processes, services, reading: lifetimes.reading, nobody: NO_LABEL }
}

/// The label of an owner in the dimension `process`.
pub fn owner_label(owner: OwnerId, lifetimes: &ProcessTimeline<'_>) -> Label {
    ProcessFacet::Process.label(process_code(owner), &facts(lifetimes, None))
}

impl ReplayContext<'_> {
    /// The label of an owner.
    pub fn owner(&self, owner: OwnerId) -> String {
        owner_label(owner, self.lifetimes).to_string()
    }

    fn content(&self, code: FileCode) -> Content<'_> {
        match code {
            FileCode::None => Content::None,
            FileCode::Combined => Content::Combined,
            FileCode::Name(index) => self.names.name(index).map_or(Content::None, Content::Path),
            FileCode::Unknown(key) => Content::Unknown(key),
        }
    }

    /// True when a key meets all conditions.
    pub fn meets(&self, key: &RowKey, conditions: &[Condition<Dimension>]) -> bool {
        conditions.iter().all(|condition| match (self.stacks, condition.dimension) {
            (Some(stacks), Dimension::Stack(of)) => stacks.meets(key.stack, of, condition),
            _ => condition.matches([&self.label(key, condition.dimension)]),
        })
    }

    /// The label of a key in a dimension.
    pub fn label(&self, key: &RowKey, dimension: Dimension) -> Label {
        match dimension {
            Dimension::Process(of) => {
                let owner = match (key.owner.owner(), key.category) {
                    // Private pages of sessions are the system's, as WPA has no owner for them. They have a session.
                    (Owner::Session(_), Category::SessionPrivate) if of != ProcessFacet::Session => OwnerId::SYSTEM,
                    _ => key.owner,
                };
                of.label(process_code(owner), &facts(self.lifetimes, self.services))
            }
            Dimension::Category => Label::listed(key.category as usize, key.category.name()),
            Dimension::Class => Label::listed(key.category.class() as usize, key.category.class().name()),
            Dimension::File(of) => of.label(self.content(key.file), &self.drive_paths),
            Dimension::Detail => self.content(key.detail).detail(&self.drive_paths),
            Dimension::AccessReason => Label::maybe(key.access_reason.map(|reason| reason.name())),
            Dimension::ReleaseReason => Label::name(key.release_reason.map_or(HELD, |reason| reason.name())),
            Dimension::Impact => Label::maybe(key.impact.map(|impact| impact.name())),
            Dimension::Stack(of) => self.stacks.map_or_else(Label::nothing, |stacks| stacks.label(key.stack, of)),
        }
    }

    /// Of how many pages the stack is known, of those that meet the conditions on other facts.
    pub fn stack_share(&self, all: &FastMap<RowKey, RowCount>, query: &Query) -> Option<StackShare> {
        // Read anew: what they match here is no answer to the user's patterns.
        let others: Vec<Condition<Dimension>> = (query.conditions.iter())
            .filter(|condition| !condition.dimension.is_of_stacks())
            .filter_map(|condition| Condition::parse(&condition.text()).ok())
            .collect();
        let rows = all.iter().filter(|(key, _)| self.meets(key, &others));
        Some(self.stacks?.share(rows.map(|(key, count)| (*key, count.pages))))
    }

    /// The rows as a tree.
    pub fn tree(&self, rows: &[Group<RowCount>], query: &Query) -> Node<RowCount> {
        query.order.tree(rows, query.top)
    }

    /// Rows by these dimensions that meet the query's conditions, in its order.
    pub fn rows(
        &self,
        all: &FastMap<RowKey, RowCount>,
        dimensions: &[Dimension],
        query: &Query,
    ) -> Vec<Group<RowCount>> {
        // Labels of stacks are long: they are made once for all keys that they are the same of.
        let parts = LabelParts::of(dimensions);
        let mut keys: FastMap<RowKey, RowCount> = FastMap::default();
        for (key, count) in all {
            if self.meets(key, &query.conditions) {
                *keys.entry(parts.of_key(key)).or_default() += *count;
            }
        }
        let labels = |(key, count): (RowKey, RowCount)| {
            (dimensions.iter().map(|&dimension| self.label(&key, dimension)).collect::<Vec<Label>>(), count)
        };
        let labelled: Vec<_> = keys.into_iter().collect::<Vec<_>>().into_par_iter().map(labels).collect();
        let mut groups: FastMap<Vec<Label>, RowCount> = FastMap::default();
        for (labels, count) in labelled {
            *groups.entry(labels).or_default() += count;
        }
        let mut rows: Vec<_> = groups.into_iter().map(|(labels, measure)| Group { labels, measure }).collect();
        rows.retain(|row| row.measure != RowCount::default());
        rows.par_sort_by(|a, b| {
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
