//! Physical memory by PFN: cells of equal length, each with the category and the list that most of its pages have.

use crate::analysis::resident::classify::ClassifiedPage;
use crate::analysis::table::{Column, Line, Table, Value};
use crate::event::page_identity::{PageIdentity, PageList};
use crate::model::category::Category;
use std::cmp::Reverse;

/// Most cells of a map; a power of two.
const MOST_CELLS: u64 = 1 << 14;
const CATEGORIES: usize = Category::ALL.len();
const LISTS: usize = PageList::ALL.len();
const COUNTS: usize = CATEGORIES + LISTS;

/// Where cells begin and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfnCells {
    /// The first PFN; a multiple of a cell's length.
    pub first: u64,
    /// The length of a cell is 2 to the power of this, in pages.
    shift: u32,
    /// Cells.
    pub count: usize,
}

impl PfnCells {
    /// For PFNs from the lowest to the highest.
    pub fn new((lowest, highest): (u64, u64)) -> PfnCells {
        let cells = |shift: u32| (highest >> shift).saturating_sub(lowest >> shift).saturating_add(1);
        let shift = (0..u64::BITS).find(|&shift| cells(shift) <= MOST_CELLS).unwrap_or(u64::BITS - 1);
        PfnCells { first: lowest >> shift << shift, shift, count: cells(shift) as usize }
    }

    /// Pages of a cell.
    pub const fn length(&self) -> u64 {
        1 << self.shift
    }

    const fn at(&self, pfn: u64) -> usize {
        (pfn.saturating_sub(self.first) >> self.shift) as usize
    }
}

/// Pages of each cell by category, then by list. Its size depends on the number of cells only.
#[derive(Debug, Clone)]
pub struct PfnMapCounts {
    cells: PfnCells,
    counts: Vec<u32>,
}

impl PfnMapCounts {
    /// No pages.
    pub fn new(cells: PfnCells) -> PfnMapCounts {
        PfnMapCounts { cells, counts: vec![0; cells.count * COUNTS] }
    }

    /// Counts classified pages.
    pub fn add_all(&mut self, pages: &[PageIdentity], classified_pages: &[ClassifiedPage]) {
        for (page, classified) in pages.iter().zip(classified_pages) {
            let at = self.cells.at(page.pfn) * COUNTS;
            let Some(cell) = self.counts.get_mut(at..).and_then(|cells| cells.get_mut(..COUNTS)) else { continue };
            let (category, list) = (classified.category() as usize, CATEGORIES + page.list() as usize);
            for place in [category, list] {
                cell.get_mut(place).into_iter().for_each(|count| *count = count.saturating_add(1));
            }
        }
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: &PfnMapCounts) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(all, part)| *all = all.saturating_add(*part));
    }
}

/// One colour of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellShare {
    /// Pages.
    pub pages: u64,
    /// Pages of these in cells that hold nothing else.
    pub pages_alone: u64,
    /// Cells of which it is the most.
    pub cells: u64,
}

/// Physical memory by PFN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PfnMap {
    /// Where cells begin.
    pub cells: PfnCells,
    /// The category that most pages of each cell have; `None` where no page is.
    pub categories: Vec<Option<Category>>,
    /// The same by list.
    pub lists: Vec<Option<PageList>>,
    /// By category, most pages first; those without pages are left out.
    pub by_category: Vec<(Category, CellShare)>,
    /// By list.
    pub by_list: Vec<(PageList, CellShare)>,
}

impl PfnMap {
    /// The map of these counts.
    pub fn new(counted: &PfnMapCounts) -> PfnMap {
        let mut shares = [CellShare::default(); COUNTS];
        let (mut categories, mut lists) = (Vec::new(), Vec::new());
        for cell in counted.counts.chunks_exact(COUNTS) {
            let (by_category, by_list) = cell.split_at(CATEGORIES);
            let (of_category, of_list) = shares.split_at_mut(CATEGORIES);
            categories.push(most(by_category, of_category).and_then(|at| Category::ALL.get(at).copied()));
            lists.push(most(by_list, of_list).and_then(|at| PageList::ALL.get(at).copied()));
        }
        let (of_category, of_list) = shares.split_at(CATEGORIES);
        PfnMap {
            cells: counted.cells,
            categories,
            lists,
            by_category: with_pages(Category::ALL.iter().copied().zip(of_category)),
            by_list: with_pages(PageList::ALL.iter().copied().zip(of_list)),
        }
    }

    /// The numbers of the map.
    pub fn table(&self) -> Table {
        let part = |name: &'static str, share: &CellShare| Line {
            depth: 1,
            ..Line::new([
                Value::text(name),
                Value::count(share.pages),
                Value::pages(share.pages as i64),
                Value::count(share.cells),
                Value::share(share.pages_alone, share.pages),
            ])
        };
        let heading = |name: &str| Line::new([Value::text(name)].into_iter().chain((0..4).map(|_| Value::Nothing)));
        let lists = self.by_list.iter().map(|(list, share)| part(list.name(), share));
        let categories = self.by_category.iter().map(|(category, share)| part(category.name(), share));
        let lines = [heading("By list")].into_iter().chain(lists);
        Table {
            columns: vec![
                Column::text("List or category"),
                Column::number("Pages"),
                Column::number(""),
                Column::number("Cells with most of it"),
                Column::number("In cells of nothing else"),
            ],
            lines: lines.chain([heading("By category")]).chain(categories).collect(),
            ..Table::default()
        }
    }
}

/// The place of the greatest count, the first of equal ones; adds the counts to the shares.
fn most(counts: &[u32], shares: &mut [CellShare]) -> Option<usize> {
    let kinds = counts.iter().filter(|count| **count > 0).count();
    for (share, &count) in shares.iter_mut().zip(counts).filter(|(_, count)| **count > 0) {
        share.pages += u64::from(count);
        share.pages_alone += if kinds == 1 { u64::from(count) } else { 0 };
    }
    let (at, _) = counts.iter().enumerate().filter(|(_, count)| **count > 0).max_by_key(|&(at, n)| (n, Reverse(at)))?;
    shares.get_mut(at).into_iter().for_each(|share| share.cells += 1);
    Some(at)
}

fn with_pages<'s, K>(shares: impl Iterator<Item = (K, &'s CellShare)>) -> Vec<(K, CellShare)> {
    let mut found: Vec<(K, CellShare)> =
        shares.filter(|(_, share)| share.pages > 0).map(|(kind, share)| (kind, *share)).collect();
    found.sort_by_key(|(_, share)| Reverse(share.pages));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_any_range_of_pfns() {
        let small = PfnCells::new((5, 1000));
        assert_eq!((small.first, small.length(), small.count), (5, 1, 996));
        let large = PfnCells::new((0x1001, 0x1001 + (1 << 24)));
        assert!(large.count <= MOST_CELLS as usize && large.count > MOST_CELLS as usize / 2, "{large:?}");
        assert_eq!(large.at(0x1001 + (1 << 24)), large.count - 1);
        let widest = PfnCells::new((0, u64::MAX));
        assert_eq!((widest.at(u64::MAX), widest.count), (widest.count - 1, MOST_CELLS as usize));
    }

    #[test]
    fn a_cell_has_the_colour_of_most_of_its_pages() {
        let mut counted = PfnMapCounts::new(PfnCells::new((0, 2)));
        let (image, unused) = (Category::Image as usize, Category::Unused as usize);
        let active = CATEGORIES + PageList::Active as usize;
        for (cell, place, pages) in [(0, image, 3), (0, unused, 5), (0, active, 8), (2, image, 2), (2, active, 2)] {
            counted.counts[cell * COUNTS + place] = pages;
        }
        let map = PfnMap::new(&counted);
        assert_eq!(map.categories, [Some(Category::Unused), None, Some(Category::Image)]);
        let image = CellShare { pages: 5, pages_alone: 2, cells: 1 };
        let unused = CellShare { pages: 5, pages_alone: 0, cells: 1 };
        assert_eq!(map.by_category, [(Category::Image, image), (Category::Unused, unused)]);
        assert_eq!(map.by_list, [(PageList::Active, CellShare { pages: 10, pages_alone: 10, cells: 2 })]);
    }
}
