//! Counting pages by dimensions: a flat table where the dimensions are small, a hash map where they are not.

use crate::analysis::category::Category;
use crate::analysis::pattern::Patterns;
use crate::analysis::resident::dimension::{Code, Dimension};
use crate::analysis::resident::judge::Verdict;
use crate::analysis::resident::scene::Scene;
use crate::error::Error;
use crate::event::page::{PageIdentity, PageList};
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Largest number of cells of a flat table, for each thread.
const MOST_CELLS: usize = 1 << 18;
/// Most dimensions of one grouping.
pub const MOST_DIMENSIONS: usize = 8;

type Key = [Code; MOST_DIMENSIONS];

/// Pages by the dimensions of one grouping.
#[derive(Debug, Clone)]
pub struct Counter<'d> {
    dimensions: &'d [Dimension],
    sizes: Vec<usize>,
    cells: Vec<u64>,
    rest: FastMap<Key, u64>,
}

impl<'d> Counter<'d> {
    /// An empty counter. Dimensions behind the eighth are not counted; the caller refuses them.
    pub fn new(dimensions: &'d [Dimension], scene: &Scene<'_>) -> Counter<'d> {
        let sizes: Option<Vec<usize>> = dimensions.iter().map(|d| d.size(scene)).collect();
        let cells = sizes.as_ref().and_then(|sizes| sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size)));
        let (sizes, cells) = match (sizes, cells) {
            (Some(sizes), Some(cells)) if cells <= MOST_CELLS => (sizes, cells),
            _ => (Vec::new(), 0),
        };
        Counter { dimensions, sizes, cells: vec![0; cells], rest: FastMap::default() }
    }

    /// Counts a page.
    #[inline(always)]
    pub fn add(&mut self, scene: &Scene<'_>, page: &PageIdentity, verdict: &Verdict) {
        if !self.cells.is_empty() {
            let mut at = Some(0);
            for (dimension, size) in self.dimensions.iter().zip(&self.sizes) {
                at = at.zip(dimension.index(scene, page, verdict)).map(|(at, index)| at * size + index);
            }
            if let Some(cell) = at.and_then(|at| self.cells.get_mut(at)) {
                *cell += 1;
                return;
            }
        }
        self.add_rest(scene, page, verdict);
    }

    fn add_rest(&mut self, scene: &Scene<'_>, page: &PageIdentity, verdict: &Verdict) {
        let mut key = [Code::None; MOST_DIMENSIONS];
        for (slot, dimension) in key.iter_mut().zip(self.dimensions) {
            *slot = dimension.code(scene, page, verdict);
        }
        *self.rest.entry(key).or_default() += 1;
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: Counter<'_>) {
        self.cells.iter_mut().zip(other.cells).for_each(|(all, part)| *all += part);
        other.rest.into_iter().for_each(|(key, pages)| *self.rest.entry(key).or_default() += pages);
    }

    /// Groups with pages: codes in order of the dimensions, pages. In order of the codes.
    pub fn groups(&self, scene: &Scene<'_>) -> BTreeMap<Vec<Code>, u64> {
        let keyed =
            self.rest.iter().map(|(key, &pages)| (key.iter().take(self.dimensions.len()).copied().collect(), pages));
        let mut all: BTreeMap<Vec<Code>, u64> = keyed.collect();
        for (mut at, &pages) in self.cells.iter().enumerate().filter(|(_, pages)| **pages > 0) {
            let mut codes = Vec::with_capacity(self.sizes.len());
            for (dimension, size) in self.dimensions.iter().zip(&self.sizes).rev() {
                codes.push(dimension.code_at(scene, at % size));
                at /= size;
            }
            codes.reverse();
            *all.entry(codes).or_default() += pages;
        }
        all
    }
}

/// Pages by corrected category, WPA's category and list: what most questions are about, in a table that stays in the
/// first-level cache. Groupings by these dimensions (and by class) are read from it.
#[derive(Debug, Clone)]
pub struct Cube(Vec<u64>);

impl Default for Cube {
    /// An empty cube.
    fn default() -> Cube {
        Cube(vec![0; Self::CATEGORIES * Self::CATEGORIES * Self::LISTS])
    }
}

impl Cube {
    const CATEGORIES: usize = Category::ALL.len();
    const LISTS: usize = PageList::ALL.len();

    /// True when groupings by these dimensions can be read from a cube.
    pub fn holds(dimensions: &[Dimension]) -> bool {
        use Dimension::{Category, CategoryWpa, Class, List};
        dimensions.iter().all(|dimension| matches!(dimension, Category | CategoryWpa | Class | List))
    }

    /// Counts a page.
    #[inline(always)]
    pub fn add(&mut self, page: &PageIdentity, verdict: &Verdict) {
        let at = (verdict.category as usize * Self::CATEGORIES + verdict.wpa as usize) * Self::LISTS;
        if let Some(cell) = self.0.get_mut(at + page.list() as usize) {
            *cell += 1;
        }
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: &Cube) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, part)| *all += part);
    }

    /// Groups with pages by dimensions that a cube holds.
    pub fn groups(&self, dimensions: &[Dimension]) -> BTreeMap<Vec<Code>, u64> {
        let mut groups = BTreeMap::new();
        for (at, &pages) in self.0.iter().enumerate().filter(|(_, pages)| **pages > 0) {
            let (list, rest) = (at % Self::LISTS, at / Self::LISTS);
            let (wpa, category) = (rest % Self::CATEGORIES, rest / Self::CATEGORIES);
            let code = |dimension: &Dimension| match dimension {
                Dimension::Category => category,
                Dimension::CategoryWpa => wpa,
                Dimension::Class => Category::ALL.get(category).map_or(0, |category| category.class() as usize),
                _ => list,
            };
            let codes = dimensions.iter().map(|dimension| Code::Number(code(dimension) as u64)).collect();
            *groups.entry(codes).or_default() += pages;
        }
        groups
    }
}

/// A condition on one dimension.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The dimension.
    pub dimension: Dimension,
    /// What its label must match.
    pub patterns: Patterns,
}

impl Condition {
    /// Reads `DIM=PATTERNS`.
    ///
    /// # Errors
    /// A usage error that shows the form, or lists the dimensions.
    pub fn parse(text: &str) -> Result<Condition, Error> {
        let Some((name, patterns)) = text.split_once('=') else {
            return Err(Error::Usage(format!(
                "\"{text}\" is no condition; write DIMENSION=PATTERNS, as in --where 'process=chrome*'"
            )));
        };
        Ok(Condition { dimension: Dimension::parse(name)?, patterns: Patterns::new(patterns) })
    }
}

/// Conditions with the answers for codes that were seen already.
#[derive(Debug, Default)]
pub struct Filter<'c> {
    conditions: &'c [Condition],
    known: Vec<FastMap<Code, bool>>,
}

impl<'c> Filter<'c> {
    /// A filter that has seen nothing.
    pub fn new(conditions: &'c [Condition]) -> Filter<'c> {
        Filter { conditions, known: vec![FastMap::default(); conditions.len()] }
    }

    /// True when the page meets all conditions.
    #[inline]
    pub fn passes(&mut self, scene: &Scene<'_>, page: &PageIdentity, verdict: &Verdict) -> bool {
        self.conditions.iter().zip(&mut self.known).all(|(condition, known)| {
            let code = condition.dimension.code(scene, page, verdict);
            *known.entry(code).or_insert_with(|| condition.patterns.matches(&condition.dimension.label(scene, code)))
        })
    }
}
