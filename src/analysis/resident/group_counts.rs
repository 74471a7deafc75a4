//! Counting pages by dimensions: a flat table where the dimensions are small, a hash map where they are not.

use crate::analysis::resident::classify::{ClassifiedPage, PageOwner};
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::Condition;
use crate::dimensions::Dimension as _;
use crate::event::page_identity::{PageIdentity, PageList};
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Largest number of cells of a flat table, for each thread.
const MOST_CELLS: usize = 1 << 18;
/// Most dimensions of one grouping: those of the rows, and the list.
const MOST_DIMENSIONS: usize = Dimension::MOST + 1;

type GroupKey = [DimensionCode; MOST_DIMENSIONS];

/// Pages on each list.
pub type ByList = [u64; PageList::ALL.len()];

/// Pages by the dimensions of one grouping.
#[derive(Debug, Clone)]
pub struct Counter<'d> {
    dimensions: &'d [Dimension],
    sizes: Vec<usize>,
    cells: Vec<u64>,
    rest: FastMap<GroupKey, u64>,
}

impl<'d> Counter<'d> {
    /// An empty counter. It counts at most [`MOST_DIMENSIONS`] dimensions; the caller refuses more.
    pub fn new(dimensions: &'d [Dimension], context: &SnapshotContext<'_>) -> Counter<'d> {
        let sizes: Option<Vec<usize>> = dimensions.iter().map(|d| d.size(context)).collect();
        let cells = sizes.as_ref().and_then(|sizes| sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size)));
        let (sizes, cells) = match (sizes, cells) {
            (Some(sizes), Some(cells)) if cells <= MOST_CELLS => (sizes, cells),
            _ => (Vec::new(), 0),
        };
        Counter { dimensions, sizes, cells: vec![0; cells], rest: FastMap::default() }
    }

    /// Counts classified pages.
    #[inline(never)]
    pub fn add_all(
        &mut self,
        context: &SnapshotContext<'_>,
        pages: &[PageIdentity],
        classified_pages: &[ClassifiedPage],
    ) {
        pages.iter().zip(classified_pages).for_each(|(page, classified)| self.add(context, page, classified));
    }

    #[inline(always)]
    fn add(&mut self, context: &SnapshotContext<'_>, page: &PageIdentity, classified: &ClassifiedPage) {
        if !self.cells.is_empty() {
            let mut at = Some(0);
            for (dimension, size) in self.dimensions.iter().zip(&self.sizes) {
                at = at.zip(dimension.index(context, page, classified)).map(|(at, index)| at * size + index);
            }
            if let Some(cell) = at.and_then(|at| self.cells.get_mut(at)) {
                *cell += 1;
                return;
            }
        }
        self.add_rest(context, page, classified);
    }

    fn add_rest(&mut self, context: &SnapshotContext<'_>, page: &PageIdentity, classified: &ClassifiedPage) {
        let mut key = [DimensionCode::None; MOST_DIMENSIONS];
        for (slot, dimension) in key.iter_mut().zip(self.dimensions) {
            *slot = dimension.code(context, page, classified);
        }
        *self.rest.entry(key).or_default() += 1;
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: Counter<'_>) {
        self.cells.iter_mut().zip(other.cells).for_each(|(all, part)| *all += part);
        other.rest.into_iter().for_each(|(key, pages)| *self.rest.entry(key).or_default() += pages);
    }

    /// Groups that have pages, by their codes (one for each dimension, in order), with the number of pages.
    pub fn groups(&self, context: &SnapshotContext<'_>) -> BTreeMap<Vec<DimensionCode>, u64> {
        let keyed =
            self.rest.iter().map(|(key, &pages)| (key.iter().take(self.dimensions.len()).copied().collect(), pages));
        let mut all: BTreeMap<Vec<DimensionCode>, u64> = keyed.collect();
        for (mut at, &pages) in self.cells.iter().enumerate().filter(|(_, pages)| **pages > 0) {
            let mut codes = Vec::with_capacity(self.sizes.len());
            for (dimension, size) in self.dimensions.iter().zip(&self.sizes).rev() {
                codes.push(dimension.code_at(context, at % size));
                at /= size;
            }
            codes.reverse();
            *all.entry(codes).or_default() += pages;
        }
        all
    }
}

/// Pages by owner and list, for the list of the largest processes.
#[derive(Debug, Clone)]
pub struct ByOwner {
    /// By process instance.
    cells: Vec<ByList>,
    unknown: FastMap<u64, ByList>,
}

impl ByOwner {
    /// Nothing counted yet.
    pub fn new(context: &SnapshotContext<'_>) -> ByOwner {
        ByOwner { cells: vec![ByList::default(); context.processes.instances.len()], unknown: FastMap::default() }
    }

    /// Counts classified pages.
    #[inline]
    pub fn add_all<'p>(&mut self, pages: impl Iterator<Item = (&'p PageIdentity, &'p ClassifiedPage)>) {
        let cells = self.cells.as_mut_slice();
        let unknown = &mut self.unknown;
        pages.for_each(|(page, classified)| {
            let lists = match classified.owner() {
                PageOwner::Process(index) => cells.get_mut(index as usize),
                PageOwner::Unknown => Some(unknown.entry(page.key()).or_default()),
                PageOwner::None | PageOwner::Shared => None,
            };
            // any list is one of the eight
            lists.into_iter().for_each(|lists| lists[page.list() as usize] += 1);
        });
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: ByOwner) {
        let add = |all: &mut ByList, part: ByList| all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
        self.cells.iter_mut().zip(other.cells).for_each(|(all, part)| add(all, part));
        other.unknown.into_iter().for_each(|(key, part)| add(self.unknown.entry(key).or_default(), part));
    }

    /// Processes with pages, as codes of [`Dimension::PROCESS`].
    pub fn groups(&self) -> impl Iterator<Item = (DimensionCode, ByList)> {
        let known = self.cells.iter().enumerate().filter(|(_, pages)| **pages != ByList::default());
        let known = known.map(|(index, &pages)| (DimensionCode::Number(index as u64), pages));
        known.chain(self.unknown.iter().map(|(&key, &pages)| (DimensionCode::Unknown(key), pages)))
    }
}

/// Conditions of a query. A label is matched once for each code; the answer is kept.
#[derive(Debug, Default)]
pub struct Filter<'c> {
    conditions: &'c [Condition<Dimension>],
    known: Vec<FastMap<DimensionCode, bool>>,
    kept: (Vec<PageIdentity>, Vec<ClassifiedPage>),
}

impl<'c> Filter<'c> {
    /// A filter without answers yet.
    pub fn new(conditions: &'c [Condition<Dimension>]) -> Filter<'c> {
        Filter { conditions, known: vec![FastMap::default(); conditions.len()], kept: Default::default() }
    }

    /// Those pages of a batch that meet all conditions.
    pub fn select(
        &mut self,
        context: &SnapshotContext<'_>,
        pages: &[PageIdentity],
        classified_pages: &[ClassifiedPage],
    ) -> (&[PageIdentity], &[ClassifiedPage]) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.0.clear();
        kept.1.clear();
        for (page, classified) in pages.iter().zip(classified_pages) {
            if self.passes(context, page, classified) {
                kept.0.push(*page);
                kept.1.push(*classified);
            }
        }
        self.kept = kept;
        (&self.kept.0, &self.kept.1)
    }

    /// True when the page meets all conditions.
    #[inline]
    pub fn passes(&mut self, context: &SnapshotContext<'_>, page: &PageIdentity, classified: &ClassifiedPage) -> bool {
        self.conditions.iter().zip(&mut self.known).all(|(condition, known)| {
            let code = condition.dimension.code(context, page, classified);
            *known.entry(code).or_insert_with(|| condition.dimension.meets(context, code, condition))
        })
    }
}
