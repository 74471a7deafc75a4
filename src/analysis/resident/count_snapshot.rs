//! Classifies and counts each page of a snapshot once, in the smallest table that answers the query, in parallel.

use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::category_counts::CategoryCounts;
use crate::analysis::resident::commit_stacks::PageShare;
use crate::analysis::resident::consistency_checks::BaseCounts;
use crate::analysis::resident::group_counts::{ByList, ByOwner, Counter, Filter};
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode};
use crate::analysis::resident::query::{Classification, ResidentQuery};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::Condition;
use crate::etl::EtlFile;
use crate::event::page_identity::PageIdentity;
use crate::model::category::Category;
use crate::model::snapshot::Snapshot;
use std::collections::BTreeMap;

/// Groups by their codes, with pages.
type Groups = BTreeMap<Vec<DimensionCode>, u64>;

/// What has to be counted for a query.
#[derive(Debug)]
pub(super) struct SnapshotPlan {
    /// Dimensions of the query under its classification, and the list.
    main: Vec<Dimension>,
    /// The same with WPA's category and class instead of the corrected ones.
    wpa: Vec<Dimension>,
    /// True when rows are counted by both rule sets.
    pub compares: bool,
    /// Index of the list in the codes of `SnapshotCounts::groups`.
    pub list_at: usize,
    /// Conditions of the query under its classification.
    conditions: Vec<Condition<Dimension>>,
    /// Those that are not on stacks, read anew: what they match is no answer to the user's patterns. Where stacks are asked for.
    besides_stacks: Option<Vec<Condition<Dimension>>>,
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct SnapshotCounts {
    /// By the query's dimensions and the list.
    pub groups: Groups,
    /// By the query's dimensions with WPA's category and class instead of the corrected ones.
    pub groups_wpa: Groups,
    /// By process, in no order.
    pub owners: Vec<(DimensionCode, ByList)>,
    /// AWE and large pages of a trace that does not record whose they are.
    pub unowned: ByList,
    /// For the checks.
    pub base: BaseCounts,
    /// Of how many pages the stack is known, where stacks are asked for.
    pub stacks: Option<PageShare>,
}

/// What one thread counts.
struct WorkerCounts<'q> {
    classifier: BatchClassifier<'q>,
    /// All pages.
    by_category: CategoryCounts,
    /// The pages that meet the conditions, where there are any.
    selected: Option<CategoryCounts>,
    main: Option<Counter<'q>>,
    wpa: Option<Counter<'q>>,
    owners: Option<ByOwner>,
    filter: Filter<'q>,
    stacks: Option<(Filter<'q>, PageShare)>,
}

impl WorkerCounts<'_> {
    /// Counts of how many pages the stack is known.
    fn count_stacks(&mut self, context: &SnapshotContext<'_>, pages: &[PageIdentity]) {
        let Some((filter, share)) = &mut self.stacks else { return };
        for (page, classified) in pages.iter().zip(self.classifier.classified_pages(pages.len())) {
            if filter.passes(context, page, classified) {
                share.add(context.stack_of(page, classified));
            }
        }
    }

    /// Adds the counts of another thread.
    fn merge(&mut self, other: Self) {
        self.by_category.merge(&other.by_category);
        self.classifier.stats.merge(other.classifier.stats);
        self.selected.as_mut().zip(other.selected).into_iter().for_each(|(all, part)| all.merge(&part));
        self.owners.as_mut().zip(other.owners).into_iter().for_each(|(all, part)| all.merge(part));
        for (all, part) in [(&mut self.main, other.main), (&mut self.wpa, other.wpa)] {
            all.as_mut().zip(part).into_iter().for_each(|(all, part)| all.merge(part));
        }
        self.stacks.as_mut().zip(other.stacks).into_iter().for_each(|((_, all), (_, part))| all.merge(part));
    }
}

impl SnapshotPlan {
    /// The plan for a query.
    pub fn new(query: &ResidentQuery) -> SnapshotPlan {
        let swap = |&d: &Dimension| d.by_wpa().unwrap_or(d);
        let wpa: Vec<Dimension> = query.group_by.iter().map(swap).collect();
        let by_wpa = query.classification == Classification::Wpa;
        let mut main = if by_wpa { wpa.clone() } else { query.group_by.clone() };
        let list_at = main.iter().position(|&d| d == Dimension::List).unwrap_or_else(|| {
            main.push(Dimension::List);
            main.len() - 1
        });
        let compares = query.compares();
        let condition = |condition: &Condition<Dimension>| match by_wpa {
            true => Condition { dimension: swap(&condition.dimension), ..condition.clone() },
            false => condition.clone(),
        };
        let conditions: Vec<Condition<Dimension>> = query.conditions.iter().map(condition).collect();
        let besides_stacks = || {
            let others = conditions.iter().filter(|condition| condition.dimension.of_stack().is_none());
            others.filter_map(|condition| Condition::parse(&condition.text()).ok()).collect()
        };
        let besides_stacks = query.wants_stacks().then(besides_stacks);
        SnapshotPlan { main, wpa, compares, list_at, conditions, besides_stacks }
    }

    /// Classifies and counts all pages, in parallel.
    pub fn count(
        &self,
        etl: &EtlFile,
        context: &SnapshotContext<'_>,
        snapshot: &Snapshot,
        query: &ResidentQuery,
    ) -> SnapshotCounts {
        let is_small = CategoryCounts::holds(&self.main);
        let empty = || WorkerCounts {
            classifier: BatchClassifier::new(context),
            by_category: CategoryCounts::default(),
            selected: (!query.conditions.is_empty()).then(CategoryCounts::default),
            main: (!is_small).then(|| Counter::new(&self.main, context)),
            wpa: (!is_small && self.compares).then(|| Counter::new(&self.wpa, context)),
            owners: query.processes.then(|| ByOwner::new(context)),
            filter: Filter::new(&self.conditions),
            stacks: self.besides_stacks.as_ref().map(|conditions| (Filter::new(conditions), PageShare::default())),
        };
        let threads = snapshot.fold(etl, empty, |counts, pages| {
            counts.classifier.classify(pages);
            counts.count_stacks(context, pages);
            let classified_pages = counts.classifier.classified_pages(pages.len());
            counts.by_category.add_all(pages, classified_pages);
            let (mut pages, mut classified_pages) = (pages, classified_pages);
            match &mut counts.selected {
                None => {
                    let classifier = &counts.classifier;
                    counts.owners.iter_mut().for_each(|owners| owners.add_all(classifier.owned(pages)));
                }
                Some(selected) => {
                    (pages, classified_pages) = counts.filter.select(context, pages, classified_pages);
                    selected.add_all(pages, classified_pages);
                    counts.owners.iter_mut().for_each(|owners| owners.add_all(pages.iter().zip(classified_pages)));
                }
            }
            for counter in [&mut counts.main, &mut counts.wpa].into_iter().flatten() {
                counter.add_all(context, pages, classified_pages);
            }
        });
        let mut all = empty();
        threads.into_iter().for_each(|part| all.merge(part));
        let counts = all.selected.as_ref().unwrap_or(&all.by_category);
        let groups = |counter: &Option<Counter<'_>>, dimensions: &[Dimension]| match counter {
            Some(counter) => counter.groups(context),
            None => counts.groups(dimensions),
        };
        SnapshotCounts {
            groups: groups(&all.main, &self.main),
            groups_wpa: if self.compares { groups(&all.wpa, &self.wpa) } else { Groups::new() },
            owners: all.owners.iter().flat_map(ByOwner::groups).collect(),
            unowned: match context.owned_large_pages {
                true => ByList::default(),
                false => counts.lists_of(&[Category::AddressingWindowExtensionsPage, Category::LargePage]),
            },
            base: BaseCounts::new(&all.by_category, all.classifier.stats),
            stacks: all.stacks.map(|(_, share)| share),
        }
    }
}
