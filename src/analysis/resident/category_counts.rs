//! Pages by rule, list and priority in one small table. Most groupings need no other dimensions and are read from it; so
//! are the numbers of the checks.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::classify::ClassifiedPage;
use crate::analysis::resident::group_counts::ByList;
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode};
use crate::event::page_identity::{PageIdentity, PageList};
use crate::model::category::Category;
use std::collections::BTreeMap;

/// Pages by corrected rule, WPA's rule, list and priority. Only a few hundred of the cells are in use, so they
/// stay in the first-level cache.
#[derive(Debug, Clone)]
pub struct CategoryCounts(Vec<u64>);

const RULES: usize = Rule::ALL.len();
const LISTS: usize = PageList::ALL.len();
const PRIORITIES: usize = 8;

/// Cells of a pair of rules. Most pairs have no pages and are passed over at once.
const CELLS_OF_RULES: usize = LISTS * PRIORITIES;
const NO_PAGES: [u64; CELLS_OF_RULES] = [0; CELLS_OF_RULES];

impl Default for CategoryCounts {
    /// No pages.
    fn default() -> CategoryCounts {
        CategoryCounts(vec![0; RULES * RULES * LISTS * PRIORITIES])
    }
}

/// A cell that is not empty.
struct Cell {
    rule: Rule,
    rule_wpa: Rule,
    list: usize,
    priority: usize,
    pages: u64,
}

impl CategoryCounts {
    /// True when groupings by these dimensions can be read from them.
    pub fn holds(dimensions: &[Dimension]) -> bool {
        use Dimension::{Category, CategoryWpa, Class, ClassWpa, List, Priority, Rule};
        let is_held = |dimension: &Dimension| {
            matches!(dimension, Category | CategoryWpa | Class | ClassWpa | Rule | List | Priority)
        };
        dimensions.iter().all(is_held)
    }

    /// Counts classified pages.
    #[inline(never)]
    pub fn add_all(&mut self, pages: &[PageIdentity], classified_pages: &[ClassifiedPage]) {
        let cells = self.0.as_mut_slice();
        for (page, classified) in pages.iter().zip(classified_pages) {
            let at = classified.rule as usize * RULES + classified.rule_wpa as usize;
            let at = (at * LISTS + page.list() as usize) * PRIORITIES + usize::from(page.priority());
            if let Some(cell) = cells.get_mut(at) {
                *cell += 1;
            }
        }
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: &CategoryCounts) {
        let pairs = self.0.chunks_exact_mut(CELLS_OF_RULES).zip(other.0.chunks_exact(CELLS_OF_RULES));
        for (all, part) in pairs.filter(|(_, part)| *part != NO_PAGES) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
        }
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        let of_rules = self.0.chunks_exact(CELLS_OF_RULES).enumerate().filter(|(_, cells)| *cells != NO_PAGES);
        of_rules.flat_map(|(rules, cells)| {
            let rule = |number: usize| Rule::ALL.get(number).copied().unwrap_or(Rule::Unused);
            let (rule, rule_wpa) = (rule(rules / RULES), rule(rules % RULES));
            cells.iter().enumerate().filter(|(_, pages)| **pages > 0).map(move |(at, &pages)| Cell {
                rule,
                rule_wpa,
                list: at / PRIORITIES,
                priority: at % PRIORITIES,
                pages,
            })
        })
    }

    /// Pages by the rule of WPA and by ours.
    pub fn by_rules(&self) -> BTreeMap<(Rule, Rule), u64> {
        let mut all = BTreeMap::new();
        self.cells().for_each(|cell| *all.entry((cell.rule_wpa, cell.rule)).or_default() += cell.pages);
        all
    }

    /// Pages of a category by our rules.
    pub fn category(&self, category: Category) -> u64 {
        self.cells().filter(|cell| cell.rule.category() == category).map(|cell| cell.pages).sum()
    }

    /// Pages of these categories by list.
    pub fn lists_of(&self, categories: &[Category]) -> ByList {
        let mut all = ByList::default();
        for cell in self.cells().filter(|cell| categories.contains(&cell.rule.category())) {
            all.get_mut(cell.list).into_iter().for_each(|pages| *pages += cell.pages);
        }
        all
    }

    /// Pages by list, then priority.
    pub fn list_priority(&self) -> [[u64; PRIORITIES]; LISTS] {
        let mut all = [[0; PRIORITIES]; LISTS];
        for cell in self.cells() {
            let slot = all.get_mut(cell.list).and_then(|list| list.get_mut(cell.priority));
            slot.into_iter().for_each(|pages| *pages += cell.pages);
        }
        all
    }

    /// Groups with pages by dimensions that these counts hold.
    pub fn groups(&self, dimensions: &[Dimension]) -> BTreeMap<Vec<DimensionCode>, u64> {
        let mut groups = BTreeMap::new();
        for cell in self.cells() {
            let code = |dimension: &Dimension| match dimension {
                Dimension::Category => cell.rule.category() as usize,
                Dimension::CategoryWpa => cell.rule_wpa.category() as usize,
                Dimension::Class => cell.rule.category().class() as usize,
                Dimension::ClassWpa => cell.rule_wpa.category().class() as usize,
                Dimension::Rule => cell.rule as usize,
                Dimension::Priority => cell.priority,
                _ => cell.list,
            };
            let codes = dimensions.iter().map(|dimension| DimensionCode::Number(code(dimension) as u64)).collect();
            *groups.entry(codes).or_default() += cell.pages;
        }
        groups
    }
}
