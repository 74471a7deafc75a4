//! The resident set in pictures.

use crate::analysis::report::pfn_map::{PfnCells, PfnMap, PfnMapCounts};
use crate::analysis::report::reclassifications::{Reclassification, reclassifications};
use crate::analysis::report::treemap::{self, Tile};
use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::category_counts::CategoryCounts;
use crate::analysis::resident::group_counts::Counter;
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode};
use crate::analysis::resident::query::ResidentQuery;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::analysis::table::{Column, Line, Table, Value};
use crate::dimensions::Label;
use crate::error::Error;
use crate::event::page_identity::PageList;
use crate::model::category::{Category, Class};
use crate::trace::Trace;

/// Priorities of standby pages.
const PRIORITIES: usize = 8;
/// Most processes of the table.
const MOST_PROCESSES: usize = 1000;

/// Pages of the standby list by priority and class.
pub type Standby = [[u64; Class::ALL.len()]; PRIORITIES];

/// The resident set of one snapshot.
#[derive(Debug)]
pub struct ResidentOverview {
    /// Its categories and processes.
    pub set: ResidentSet,
    /// Its pages as tiles.
    pub treemap: Tile,
    /// What WPA has elsewhere.
    pub reclassifications: Vec<Reclassification>,
    /// The standby list by priority.
    pub standby: Standby,
    /// Physical memory by PFN.
    pub pfn_map: PfnMap,
}

/// What one thread counts.
struct WorkerCounts<'q> {
    classifier: BatchClassifier<'q>,
    by_rule: CategoryCounts,
    groups: Counter<'q>,
    pfn_map: PfnMapCounts,
}

impl ResidentOverview {
    /// The overview of the last whole snapshot.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is none.
    pub fn new(trace: &Trace) -> Result<ResidentOverview, Error> {
        let set = ResidentSet::answer(trace, &ResidentQuery::default())?;
        let index = set.snapshots.first().map(|snapshot| snapshot.index);
        let Some(snapshot) = index.and_then(|index| trace.snapshots().get(index)) else {
            return Err(Error::MissingEvents("no page sequence of the trace is whole".to_owned().into()));
        };
        let context = SnapshotContext::new(trace, snapshot);
        let cells = PfnCells::new(snapshot.pfns);
        let empty = || WorkerCounts {
            classifier: BatchClassifier::new(&context),
            by_rule: CategoryCounts::default(),
            groups: Counter::new(&treemap::DIMENSIONS, &context),
            pfn_map: PfnMapCounts::new(cells),
        };
        let threads = snapshot.fold(trace.etl(), empty, |counts, pages| {
            counts.classifier.classify(pages);
            let classified_pages = counts.classifier.classified_pages(pages.len());
            counts.by_rule.add_all(pages, classified_pages);
            counts.groups.add_all(&context, pages, classified_pages);
            counts.pfn_map.add_all(pages, classified_pages);
        });
        let mut all = empty();
        for part in threads {
            all.by_rule.merge(&part.by_rule);
            all.groups.merge(part.groups);
            all.pfn_map.merge(&part.pfn_map);
        }
        Ok(ResidentOverview {
            treemap: Tile::new(&all.groups.groups(&context), &context),
            reclassifications: reclassifications(&all.by_rule.by_rules()),
            standby: standby(&all.by_rule),
            pfn_map: PfnMap::new(&all.pfn_map),
            set,
        })
    }

    /// The snapshot.
    pub fn snapshot(&self) -> Option<&SnapshotSet> {
        self.set.snapshots.first()
    }

    /// Categories by class, with WPA's numbers.
    pub fn category_table(&self) -> Table {
        self.snapshot().map(|snapshot| self.set.category_table(snapshot)).unwrap_or_default()
    }

    /// Processes by their own pages.
    pub fn process_table(&self) -> Table {
        self.snapshot().map(|snapshot| self.set.process_table(snapshot, MOST_PROCESSES)).unwrap_or_default()
    }

    /// Categories with their pages by the corrected rules and by WPA's, in the order of [`Category::ALL`].
    pub fn by_category(&self) -> Vec<(Category, u64, u64)> {
        let rows = || self.snapshot().into_iter().flat_map(|snapshot| &snapshot.rows);
        let of = |category: Category| {
            let row = rows().find(|row| row.labels.first().and_then(Label::number_in_list) == Some(category as usize));
            row.map_or((category, 0, 0), |row| (category, row.measure.pages, row.measure.pages_wpa))
        };
        Category::ALL.map(of).to_vec()
    }

    /// Classes with their pages by the corrected rules and by WPA's.
    pub fn by_class(&self) -> Vec<(Class, u64, u64)> {
        let of = |class: Class| {
            let categories = self.by_category().into_iter().filter(|(category, ..)| category.class() == class);
            categories.fold((class, 0, 0), |sum, (_, pages, wpa)| (class, sum.1 + pages, sum.2 + wpa))
        };
        Class::ALL.map(of).to_vec()
    }

    /// Pages that both rule sets count under one category, and all.
    pub fn pages_in_place(&self) -> (u64, u64) {
        let moved: u64 = self.reclassifications.iter().map(|flow| flow.pages).sum();
        (self.treemap.pages.saturating_sub(moved), self.treemap.pages)
    }

    /// Standby by priority, the highest first.
    pub fn standby_table(&self) -> Table {
        let sum: u64 = self.standby.iter().flatten().sum();
        let line = |(priority, classes): (usize, &[u64; Class::ALL.len()])| {
            let pages: u64 = classes.iter().sum();
            let of_class = classes.iter().map(|&pages| Value::pages(pages as i64));
            let all = [Value::count(pages), Value::pages(pages as i64), Value::share(pages, sum)];
            Line::new([Value::Number(priority as u64)].into_iter().chain(all).chain(of_class))
        };
        let classes = Class::ALL.iter().map(|class| Column::number(class.name()));
        let columns = ["Pages", "", "Share"].map(Column::number);
        Table {
            columns: [Column::number("Priority")].into_iter().chain(columns).chain(classes).collect(),
            lines: self.standby.iter().enumerate().rev().map(line).collect(),
            ..Table::default()
        }
    }
}

fn standby(counted: &CategoryCounts) -> Standby {
    let mut standby = Standby::default();
    for (codes, pages) in counted.groups(&[Dimension::List, Dimension::Priority, Dimension::Class]) {
        let &[DimensionCode::Number(list), DimensionCode::Number(priority), DimensionCode::Number(class)] = &codes[..]
        else {
            continue;
        };
        let of_priority = standby.get_mut(priority as usize).filter(|_| list == PageList::Standby as u64);
        let slot = of_priority.and_then(|classes| classes.get_mut(class as usize));
        slot.into_iter().for_each(|sum| *sum += pages);
    }
    standby
}
