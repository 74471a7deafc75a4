//! Page by page: each row of a file that is a page is compared with the same page of the trace, by all labels that the file has.
//!
//! The pages of the file are sorted; those of the trace come in order of PFNs, batch by batch, so that both are walked
//! together. Whether two labels are the same is found out once for each pair of them.

use crate::analysis::category_rules::Rule;
use crate::analysis::diff::compared_dimensions::{Dimension, of_resident};
use crate::analysis::diff::file_side::FilePages;
use crate::analysis::diff::page_labels::{DimensionLabels, LabelPair, PageLabels};
use crate::analysis::diff::process_matching::Matching;
use crate::analysis::diff::trace_side::ResidentSide;
use crate::analysis::pages::address_of;
use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::classify::ClassifiedPage;
use crate::analysis::resident::group_counts::Filter;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::Condition;
use crate::dimensions::NO_LABEL;
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::imported::wpa::page_rows::PageCell;
use crate::model::category::Category;
use foldhash::HashMap as FastMap;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages that are given as examples.
const EXAMPLES: usize = 100;

/// What differs, page by page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageDifferences {
    /// What pages are compared by, with the number of pages that have another label: the category first.
    pub(crate) dimensions: Vec<(Dimension, u64)>,
    /// Pages on both sides.
    pub compared: u64,
    /// Pages among these with another category.
    pub differing: u64,
    /// Pages among these with another label of any of the dimensions.
    pub(crate) differing_in_any: u64,
    /// Pages of the trace that the file lacks.
    pub only_trace: u64,
    /// Pages of the file that the trace lacks.
    pub only_export: u64,
    /// Rows of the file whose page has an earlier row.
    pub repeated: u64,
    /// Pages on both sides with another virtual address: of an export private pages alone.
    pub other_address: u64,
    /// The first pages that differ, by PFN.
    pub examples: Vec<PageExample>,
    /// Pages whose categories differ, by them and our rule; most first.
    pub groups: Vec<PageGroup>,
    /// Pages with another label than the category, by the two labels; most first.
    pub(crate) label_groups: Vec<LabelGroup>,
}

/// A page that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageExample {
    /// Page frame number.
    pub pfn: u64,
    /// Category in the trace; `None`: it lacks the page.
    pub trace: Option<&'static str>,
    /// Category in the file; `None`: it lacks the page.
    pub export: Option<String>,
    /// Names of the other dimensions with another label, and the labels in the file and in the trace.
    pub(crate) others: Vec<(&'static str, [String; 2])>,
}

/// Pages that differ in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageGroup {
    /// Category in the file.
    pub theirs: String,
    /// Category in the trace.
    pub ours: &'static str,
    /// The rule that gave it.
    pub rule: Rule,
    /// Pages.
    pub pages: u64,
    /// The first of them.
    pub first_pfn: u64,
}

/// Pages with another label in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabelGroup {
    pub(crate) dimension: Dimension,
    /// The label in the file.
    pub(crate) theirs: String,
    /// The label in the trace.
    pub(crate) ours: String,
    pub(crate) pages: u64,
    pub(crate) first_pfn: u64,
}

/// Pages of a pair of labels.
#[derive(Debug, Clone, Copy)]
struct PairPages {
    is_same: bool,
    /// Those of labels that are not the same.
    pages: u64,
    first_pfn: u64,
}

/// A page that differs: the categories by number, the combination of the file, pairs of other labels by dimension.
type FoundExample = (u64, Option<Category>, Option<u32>, Vec<(usize, LabelPair)>);

/// What one thread found.
struct Found<'c> {
    classifier: BatchClassifier<'c>,
    filter: Filter<'c>,
    compared: u64,
    differing_in_any: u64,
    only_trace: u64,
    other_address: u64,
    /// By the code of the file's category, and our rule.
    groups: BTreeMap<(u32, Rule), (u64, u64)>,
    /// For each dimension.
    pairs: Vec<FastMap<LabelPair, PairPages>>,
    /// The least PFNs.
    examples: BinaryHeap<FoundExample>,
}

impl<'c> Found<'c> {
    fn new(context: &'c SnapshotContext<'c>, filter: Filter<'c>, dimensions: usize) -> Found<'c> {
        Found {
            classifier: BatchClassifier::new(context),
            filter,
            compared: 0,
            differing_in_any: 0,
            only_trace: 0,
            other_address: 0,
            groups: BTreeMap::new(),
            pairs: vec![FastMap::default(); dimensions],
            examples: BinaryHeap::new(),
        }
    }

    fn example(&mut self, example: FoundExample) {
        self.examples.push(example);
        if self.examples.len() > EXAMPLES {
            self.examples.pop();
        }
    }

    /// True where a page is one of the first that differ, so that nothing is collected for the others.
    fn takes_example(&self, pfn: u64) -> bool {
        self.examples.len() < EXAMPLES || self.examples.peek().is_some_and(|last| pfn < last.0)
    }

    fn merge(&mut self, other: Found<'_>) {
        self.compared += other.compared;
        self.differing_in_any += other.differing_in_any;
        self.only_trace += other.only_trace;
        self.other_address += other.other_address;
        for (key, (pages, first)) in other.groups {
            let group = self.groups.entry(key).or_insert((0, first));
            *group = (group.0 + pages, group.1.min(first));
        }
        for (all, pairs) in self.pairs.iter_mut().zip(other.pairs) {
            for (pair, found) in pairs.into_iter().filter(|(_, found)| !found.is_same) {
                let all = all.entry(pair).or_insert(PairPages { pages: 0, ..found });
                *all = PairPages {
                    is_same: false,
                    pages: all.pages + found.pages,
                    first_pfn: all.first_pfn.min(found.first_pfn),
                };
            }
        }
        other.examples.into_iter().for_each(|example| self.example(example));
    }
}

/// The rows of a file, and which of them were met.
struct Cells<'r> {
    file: &'r FilePages<'r>,
    labels: &'r PageLabels<'r>,
    by_wpa: bool,
    met: Vec<AtomicU64>,
}

impl<'r> Cells<'r> {
    fn new(file: &'r FilePages<'r>, labels: &'r PageLabels<'r>, by_wpa: bool) -> Cells<'r> {
        let met = (0..file.rows.cells.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Cells { file, labels, by_wpa, met }
    }

    fn is_met(&self, at: usize) -> bool {
        self.met.get(at / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 != 0)
    }

    fn meet(&self, at: usize) {
        self.met.get(at / 64).into_iter().for_each(|word| {
            word.fetch_or(1 << (at % 64), Ordering::Relaxed);
        });
    }

    fn is_wanted(&self, cell: &PageCell) -> bool {
        self.file.wanted.get(cell.combination() as usize).copied().unwrap_or(false)
    }

    fn rule(&self, classified: &ClassifiedPage) -> Rule {
        if self.by_wpa { classified.rule_wpa } else { classified.rule }
    }

    fn visit(&self, found: &mut Found<'_>, pages: &[PageIdentity], classified_pages: &[ClassifiedPage]) {
        let Some(first) = pages.first() else { return };
        let cells = self.file.rows.cells.as_slice();
        let mut at = cells.partition_point(|cell| cell.pfn() < first.pfn);
        let mut before = None;
        for (page, classified) in
            pages.iter().zip(classified_pages).filter(|(page, _)| before.replace(page.pfn) != Some(page.pfn))
        {
            let is_passed = |cell: &PageCell| cell.pfn() < page.pfn || cell.pfn() == page.pfn && !self.is_wanted(cell);
            while cells.get(at).is_some_and(is_passed) {
                at += 1;
            }
            match cells.get(at).filter(|cell| cell.pfn() == page.pfn) {
                Some(cell) => {
                    self.meet(at);
                    self.compare(found, (page, classified), cell);
                }
                None => {
                    found.only_trace += 1;
                    found.example((page.pfn, Some(self.rule(classified).category()), None, Vec::new()));
                }
            }
        }
    }

    /// Compares a page that both sides have.
    fn compare(&self, found: &mut Found<'_>, (page, classified): (&PageIdentity, &ClassifiedPage), cell: &PageCell) {
        found.compared += 1;
        found.other_address += u64::from(self.has_other_address(page, cell));
        let mut differs = false;
        for (labels, pairs) in self.labels.all.iter().zip(&mut found.pairs) {
            let pair = labels.pair(self.labels.context, (page, classified), (&self.file.rows, cell));
            let new = || PairPages { is_same: self.labels.is_same(labels, pair), pages: 0, first_pfn: page.pfn };
            let known = pairs.entry(pair).or_insert_with(new);
            if known.is_same {
                continue;
            }
            differs = true;
            (known.pages, known.first_pfn) = (known.pages + 1, known.first_pfn.min(page.pfn));
            if labels.dimension == Dimension::Category {
                let group = found.groups.entry((pair.1, self.rule(classified))).or_insert((0, page.pfn));
                *group = (group.0 + 1, group.1.min(page.pfn));
            }
        }
        if differs {
            found.differing_in_any += 1;
            if found.takes_example(page.pfn) {
                let others = self.other_pairs(found, (page, classified), cell);
                let category = self.rule(classified).category();
                found.example((page.pfn, Some(category), Some(cell.combination()), others));
            }
        }
    }

    /// Of a page that differs the pairs of labels that are not the same, but for the category.
    fn other_pairs(
        &self,
        found: &Found<'_>,
        page: (&PageIdentity, &ClassifiedPage),
        cell: &PageCell,
    ) -> Vec<(usize, LabelPair)> {
        let pairs = self.labels.all.iter().zip(&found.pairs).enumerate();
        let others = pairs.filter(|(_, (labels, _))| labels.dimension != Dimension::Category);
        let others = others.filter_map(|(at, (labels, pairs))| {
            let pair = labels.pair(self.labels.context, page, (&self.file.rows, cell));
            pairs.get(&pair).is_some_and(|found| !found.is_same).then_some((at, pair))
        });
        others.collect()
    }

    fn has_other_address(&self, page: &PageIdentity, cell: &PageCell) -> bool {
        match self.file.all_addresses {
            true => address_of(page).unwrap_or(0) != cell.address,
            false => {
                let is_private = page.page_use() == PageUse::ProcessPrivate && page.u2 != 0 && cell.address != 0;
                is_private && page.u2 >> 12 != cell.address >> 12
            }
        }
    }

    /// Numbers of the rows whose page only the file has, and how many rows repeat a page.
    fn only_here(&self) -> (Vec<usize>, u64) {
        let (mut only, mut repeated, mut before) = (Vec::new(), 0, None);
        for (at, cell) in self.file.rows.cells.iter().enumerate().filter(|(_, cell)| self.is_wanted(cell)) {
            if before.replace(cell.pfn()) == Some(cell.pfn()) {
                repeated += 1;
            } else if !self.is_met(at) {
                only.push(at);
            }
        }
        (only, repeated)
    }
}

impl PageDifferences {
    /// Compares the pages of one snapshot of a file with those of the trace, which is this side of the two.
    pub(crate) fn new(
        (side, trace_at): (&ResidentSide<'_>, usize),
        file: &FilePages<'_>,
        conditions: &[Condition<Dimension>],
        (by_wpa, matching): (bool, Matching),
    ) -> PageDifferences {
        let Some(snapshot) = side.pages() else { return PageDifferences::default() };
        let context: SnapshotContext<'_> = SnapshotContext::new(side.trace, snapshot);
        let labels = PageLabels::new(&context, (side, trace_at), file, conditions, (by_wpa, matching));
        let cells = Cells::new(file, &labels, by_wpa);
        let conditions = of_resident(conditions, by_wpa);
        let empty = || Found::new(&context, Filter::new(&conditions), labels.all.len());
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
        PageDifferences::of(all, &cells)
    }

    fn of(mut all: Found<'_>, cells: &Cells<'_>) -> PageDifferences {
        let (only, repeated) = cells.only_here();
        for cell in only.iter().take(EXAMPLES).filter_map(|at| cells.file.rows.cells.get(*at)) {
            all.example((cell.pfn(), None, Some(cell.combination()), Vec::new()));
        }
        let key = cells.file.dimensions.iter().find(|(of, _)| *of == Dimension::Category).map(|(_, key)| *key);
        let category = |code: u32| key.map_or(NO_LABEL, |key| cells.file.rows.label(key, code)).to_owned();
        let group = |((code, rule), (pages, first_pfn)): ((u32, Rule), (u64, u64))| PageGroup {
            theirs: category(code),
            ours: rule.category().name(),
            rule,
            pages,
            first_pfn,
        };
        let mut groups: Vec<PageGroup> = std::mem::take(&mut all.groups).into_iter().map(group).collect();
        groups.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.first_pfn.cmp(&b.first_pfn)));
        let examples = std::mem::take(&mut all.examples).into_sorted_vec();
        let example = |(pfn, trace, combination, others): FoundExample| PageExample {
            pfn,
            trace: trace.map(Category::name),
            export: combination.map(|at| category(key.map_or(0, |key| cells.file.rows.code(at, key)))),
            others: others.into_iter().filter_map(|(at, pair)| cells.labels.texts(at, pair)).collect(),
        };
        let pages = |(labels, pairs): (&DimensionLabels, &FastMap<_, PairPages>)| {
            (labels.dimension, pairs.values().map(|found| found.pages).sum())
        };
        PageDifferences {
            dimensions: cells.labels.all.iter().zip(&all.pairs).map(pages).collect(),
            compared: all.compared,
            differing: groups.iter().map(|group| group.pages).sum(),
            differing_in_any: all.differing_in_any,
            only_trace: all.only_trace,
            only_export: only.len() as u64,
            repeated,
            other_address: all.other_address,
            examples: examples.into_iter().map(example).collect(),
            groups,
            label_groups: label_groups(&all.pairs, cells.labels),
        }
    }

    /// True when every page is on both sides and has the same labels.
    pub const fn is_equal(&self) -> bool {
        self.differing_in_any == 0 && self.only_trace == 0 && self.only_export == 0
    }
}

/// Pages with other labels than the category. Several codes can have one label.
fn label_groups(pairs: &[FastMap<LabelPair, PairPages>], labels: &PageLabels<'_>) -> Vec<LabelGroup> {
    let mut merged: BTreeMap<(usize, [String; 2]), (u64, u64)> = BTreeMap::new();
    let others = labels.all.iter().zip(pairs).enumerate();
    for (at, (_, pairs)) in others.filter(|(_, (labels, _))| labels.dimension != Dimension::Category) {
        for (pair, found) in pairs.iter().filter(|(_, found)| !found.is_same) {
            let Some((_, texts)) = labels.texts(at, *pair) else { continue };
            let group = merged.entry((at, texts)).or_insert((0, found.first_pfn));
            *group = (group.0 + found.pages, group.1.min(found.first_pfn));
        }
    }
    let group = |((at, [theirs, ours]), (pages, first_pfn)): ((usize, [String; 2]), (u64, u64))| {
        let dimension = labels.all.get(at)?.dimension;
        Some(LabelGroup { dimension, theirs, ours, pages, first_pfn })
    };
    let mut groups: Vec<LabelGroup> = merged.into_iter().filter_map(group).collect();
    groups.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.first_pfn.cmp(&b.first_pfn)));
    groups
}
