//! Page by page: each row of an export that is a page is compared with the page of the trace by WPA's rules.
//!
//! The pages of the export are sorted; those of the trace come in order of PFNs, batch by batch, so that both are walked
//! together. A row takes 16 bytes.

use crate::analysis::category_rules::Rule;
use crate::analysis::diff::compared_dimensions::{Dimension, of_resident};
use crate::analysis::diff::trace_side::ResidentSide;
use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::classify::ClassifiedPage;
use crate::analysis::resident::group_counts::Filter;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::Condition;
use crate::dimensions::NO_LABEL;
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::imported::wpa::WpaRows;
use crate::imported::wpa::rows::PageCell;
use crate::model::category::Category;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages that are given as examples.
const EXAMPLES: usize = 100;

/// What differs, page by page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageDifferences {
    /// Pages on both sides.
    pub compared: u64,
    /// Pages among these with another category.
    pub differing: u64,
    /// Pages of the trace that the export lacks.
    pub only_trace: u64,
    /// Pages of the export that the trace lacks.
    pub only_export: u64,
    /// Rows of the export whose page has an earlier row.
    pub repeated: u64,
    /// Private pages on both sides with another virtual address.
    pub other_address: u64,
    /// The first pages that differ, by PFN.
    pub examples: Vec<PageExample>,
    /// Pages that differ, by their categories and our rule; most first.
    pub groups: Vec<PageGroup>,
}

/// A page that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageExample {
    /// Page frame number.
    pub pfn: u64,
    /// Category in the trace; `None`: it lacks the page.
    pub trace: Option<&'static str>,
    /// Category in the export; `None`: it lacks the page.
    pub export: Option<String>,
}

/// Pages that differ in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageGroup {
    /// Category in the export.
    pub theirs: String,
    /// Category in the trace.
    pub ours: &'static str,
    /// WPA's rule that gave it.
    pub rule: Rule,
    /// Pages.
    pub pages: u64,
    /// The first of them.
    pub first_pfn: u64,
}

/// What one thread found.
struct Found<'c> {
    classifier: BatchClassifier<'c>,
    filter: Filter<'c>,
    compared: u64,
    only_trace: u64,
    other_address: u64,
    groups: BTreeMap<(u32, Rule), (u64, u64)>,
    /// The least PFNs, with the categories of trace and export.
    examples: BinaryHeap<(u64, Option<Category>, Option<u32>)>,
}

impl Found<'_> {
    fn example(&mut self, pfn: u64, trace: Option<Category>, export: Option<u32>) {
        self.examples.push((pfn, trace, export));
        if self.examples.len() > EXAMPLES {
            self.examples.pop();
        }
    }

    fn merge(&mut self, other: Found<'_>) {
        self.compared += other.compared;
        self.only_trace += other.only_trace;
        self.other_address += other.other_address;
        for (key, (pages, first)) in other.groups {
            let group = self.groups.entry(key).or_insert((0, first));
            *group = (group.0 + pages, group.1.min(first));
        }
        other.examples.into_iter().for_each(|(pfn, trace, export)| self.example(pfn, trace, export));
    }
}

/// The rows of an export, and which of them were met.
struct Cells<'r> {
    cells: &'r [PageCell],
    /// For each code the category, where it is one.
    categories: Vec<Option<Category>>,
    met: Vec<AtomicU64>,
}

impl Cells<'_> {
    fn is_met(&self, at: usize) -> bool {
        self.met.get(at / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 != 0)
    }

    fn meet(&self, at: usize) {
        self.met.get(at / 64).into_iter().for_each(|word| {
            word.fetch_or(1 << (at % 64), Ordering::Relaxed);
        });
    }

    fn visit(&self, found: &mut Found<'_>, pages: &[PageIdentity], classified_pages: &[ClassifiedPage]) {
        let Some(first) = pages.first() else { return };
        let mut at = self.cells.partition_point(|cell| cell.pfn() < first.pfn);
        let mut before = None;
        for (page, classified) in
            pages.iter().zip(classified_pages).filter(|(page, _)| before.replace(page.pfn) != Some(page.pfn))
        {
            while self.cells.get(at).is_some_and(|cell| cell.pfn() < page.pfn) {
                at += 1;
            }
            let ours = classified.category_wpa();
            let Some(cell) = self.cells.get(at).filter(|cell| cell.pfn() == page.pfn) else {
                found.only_trace += 1;
                found.example(page.pfn, Some(ours), None);
                continue;
            };
            self.meet(at);
            found.compared += 1;
            let is_private = page.page_use() == PageUse::ProcessPrivate && page.u2 != 0 && cell.address != 0;
            found.other_address += u64::from(is_private && page.u2 >> 12 != cell.address >> 12);
            if self.categories.get(cell.category() as usize).copied().flatten() != Some(ours) {
                let key = (cell.category(), classified.rule_wpa);
                let group = found.groups.entry(key).or_insert((0, page.pfn));
                *group = (group.0 + 1, group.1.min(page.pfn));
                found.example(page.pfn, Some(ours), Some(cell.category()));
            }
        }
    }
}

impl PageDifferences {
    /// Compares the pages of one snapshot of an export with those of the trace.
    pub fn new(side: &ResidentSide<'_>, export: &WpaRows, conditions: &[Condition<Dimension>]) -> PageDifferences {
        let Some(snapshot) = side.pages() else { return PageDifferences::default() };
        let known = |label: &str| {
            let form = Dimension::Category.in_one_form(label);
            Category::ALL.into_iter().find(|category| category.name() == form)
        };
        let cells = Cells {
            cells: &export.pages,
            categories: export.categories.iter().map(|label| known(label)).collect(),
            met: (0..export.pages.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        };
        let conditions = of_resident(conditions, true);
        let context: SnapshotContext<'_> = SnapshotContext::new(side.trace, snapshot);
        let empty = || Found {
            classifier: BatchClassifier::new(&context),
            filter: Filter::new(&conditions),
            compared: 0,
            only_trace: 0,
            other_address: 0,
            groups: BTreeMap::new(),
            examples: BinaryHeap::new(),
        };
        let threads = snapshot.fold(side.trace.etl(), empty, |found, pages| {
            found.classifier.classify(pages);
            let mut filter = std::mem::take(&mut found.filter);
            let classified_pages = found.classifier.classified_pages(pages.len()).to_vec();
            match conditions.is_empty() {
                true => cells.visit(found, pages, &classified_pages),
                false => {
                    let (pages, classified_pages) = filter.select(&context, pages, &classified_pages);
                    cells.visit(found, pages, classified_pages);
                }
            }
            found.filter = filter;
        });
        let mut all = empty();
        threads.into_iter().for_each(|part| all.merge(part));
        PageDifferences::of(all, &cells, &export.categories)
    }

    fn of(mut all: Found<'_>, cells: &Cells<'_>, labels: &[Box<str>]) -> PageDifferences {
        let (mut only_export, mut repeated) = (0, 0);
        let mut before = None;
        for (at, cell) in cells.cells.iter().enumerate() {
            if before.replace(cell.pfn()) == Some(cell.pfn()) {
                repeated += 1;
            } else if !cells.is_met(at) {
                only_export += 1;
                all.example(cell.pfn(), None, Some(cell.category()));
            }
        }
        let label = |code: u32| labels.get(code as usize).map_or(NO_LABEL, |label| label).to_owned();
        let group = |((code, rule), (pages, first_pfn)): ((u32, Rule), (u64, u64))| PageGroup {
            theirs: label(code),
            ours: rule.category().name(),
            rule,
            pages,
            first_pfn,
        };
        let mut groups: Vec<PageGroup> = std::mem::take(&mut all.groups).into_iter().map(group).collect();
        groups.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.first_pfn.cmp(&b.first_pfn)));
        let examples = std::mem::take(&mut all.examples).into_sorted_vec();
        let example = |(pfn, trace, export): (u64, Option<Category>, Option<u32>)| PageExample {
            pfn,
            trace: trace.map(Category::name),
            export: export.map(label),
        };
        PageDifferences {
            compared: all.compared,
            differing: groups.iter().map(|group| group.pages).sum(),
            only_trace: all.only_trace,
            only_export,
            repeated,
            other_address: all.other_address,
            examples: examples.into_iter().map(example).collect(),
            groups,
        }
    }

    /// True when every page is on both sides and has one category.
    pub const fn is_equal(&self) -> bool {
        self.differing == 0 && self.only_trace == 0 && self.only_export == 0
    }
}
