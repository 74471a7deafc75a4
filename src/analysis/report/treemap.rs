//! The resident set as nested tiles: class, category, process or file, detail. At most some thousand; the small tiles
//! of each level become one tile, so that sums stay exact.

use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::Group;
use crate::analysis::table::group::natural;
use crate::dimensions::{Label, LabelKind, NO_LABEL};
use crate::model::category::Category;
use std::collections::BTreeMap;

/// Most tiles of a trace.
const MOST: usize = 4000;

/// What the pages of the tiles are counted by.
pub const DIMENSIONS: [Dimension; 4] =
    [Dimension::Category, Dimension::CategoryWpa, Dimension::PROCESS, Dimension::Detail];

/// What a tile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All pages.
    All,
    /// A class of categories.
    Class,
    /// A category by the corrected rules.
    Category,
    /// A process, or what shared and kernel pages hold: a file, an image, a pool tag.
    Owner,
    /// What the pages of a process hold.
    Detail,
    /// The part of a tile that WPA counts under one category.
    Rules,
    /// This number of tiles that are too small.
    More(u64),
}

impl Level {
    /// The level of a depth of the tree.
    const fn of_depth(depth: usize) -> Level {
        match depth {
            0 => Level::All,
            1 => Level::Class,
            2 => Level::Category,
            3 => Level::Owner,
            4 => Level::Detail,
            _ => Level::Rules,
        }
    }
}

/// A tile and those inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// What it is.
    pub level: Level,
    /// Its name.
    pub label: String,
    /// Pages.
    pub pages: u64,
    /// WPA's category, where all of its pages have one.
    pub wpa: Option<Category>,
    /// The tiles inside, the largest first.
    pub parts: Vec<Tile>,
}

impl Tile {
    /// The tiles of pages counted by [`DIMENSIONS`].
    pub fn new(counted: &BTreeMap<Vec<DimensionCode>, u64>, context: &SnapshotContext<'_>) -> Tile {
        let groups: Vec<Group<u64>> =
            counted.iter().map(|(codes, &pages)| Group { labels: labels(codes, context), measure: pages }).collect();
        Tile::folded(&groups, MOST)
    }

    /// The tiles of groups by class, category, owner, detail and WPA's category.
    fn folded(groups: &[Group<u64>], most: usize) -> Tile {
        let all: Vec<_> = groups.iter().map(|group| (group.labels.as_slice(), group.measure)).collect();
        let tree = Branch::new(None, &all);
        let mut least = if groups.len() <= most { 1 } else { (tree.pages / most as u64 / 8).max(1) };
        loop {
            let tile = grow(&tree, 0, least);
            if tile.count() <= most || least > tree.pages {
                return tile;
            }
            least = least.saturating_mul(2);
        }
    }

    /// Tiles, this one included.
    pub fn count(&self) -> usize {
        1 + self.parts.iter().map(Tile::count).sum::<usize>()
    }
}

fn labels(codes: &[DimensionCode], context: &SnapshotContext<'_>) -> Vec<Label> {
    let &[category, wpa, process, detail] = codes else { return Vec::new() };
    let class = match category {
        DimensionCode::Number(number) => Category::ALL.get(number as usize).map(|category| category.class().name()),
        _ => None,
    };
    let detail = match detail {
        DimensionCode::None => Label::nothing(),
        detail => Dimension::Detail.label(context, detail),
    };
    let (owner, detail) = match process {
        DimensionCode::None | DimensionCode::Shared => (detail, Label::nothing()),
        process => (Dimension::PROCESS.label(context, process), detail),
    };
    vec![
        Label::maybe(class),
        Dimension::Category.label(context, category),
        owner,
        detail,
        Dimension::CategoryWpa.label(context, wpa),
    ]
}

/// A label of a group, the labels below it, and the group's pages.
type Inside<'g> = (&'g Label, &'g [Label], u64);

/// Groups of one label with those inside of it, the largest first.
struct Branch<'g> {
    /// `None`: all groups.
    label: Option<&'g Label>,
    pages: u64,
    parts: Vec<Branch<'g>>,
}

impl<'g> Branch<'g> {
    fn new(label: Option<&'g Label>, groups: &[(&'g [Label], u64)]) -> Branch<'g> {
        let mut by_label: BTreeMap<&str, Vec<Inside<'g>>> = BTreeMap::new();
        for &(labels, pages) in groups {
            if let Some((first, rest)) = labels.split_first() {
                by_label.entry(first.shown()).or_default().push((first, rest, pages));
            }
        }
        let part = |all: Vec<Inside<'g>>| {
            let inside: Vec<_> = all.iter().map(|&(_, rest, pages)| (rest, pages)).collect();
            Branch::new(all.first().map(|(label, ..)| *label), &inside)
        };
        let mut parts: Vec<Branch<'g>> = by_label.into_values().map(part).collect();
        parts.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| natural(a.text(), b.text())));
        Branch { label, pages: groups.iter().map(|(_, pages)| pages).sum(), parts }
    }

    fn is_unnamed(&self) -> bool {
        self.label.is_some_and(|label| label.kind() == LabelKind::Nothing)
    }

    fn text(&self) -> &'g str {
        self.label.map_or("", Label::shown)
    }

    fn name(&self) -> String {
        if self.is_unnamed() { "without a name".to_owned() } else { self.text().to_owned() }
    }
}

/// Pages by the number of WPA's category.
type ByRules = BTreeMap<Option<usize>, u64>;

/// The pages of a branch by WPA's categories, which are its lowest level.
fn by_rules(branch: &Branch<'_>, depth: usize, into: &mut ByRules) {
    match Level::of_depth(depth) {
        Level::Rules => *into.entry(branch.label.and_then(Label::number_in_list)).or_default() += branch.pages,
        _ => branch.parts.iter().for_each(|part| by_rules(part, depth + 1, into)),
    }
}

fn grow(branch: &Branch<'_>, depth: usize, least: u64) -> Tile {
    let level = Level::of_depth(depth);
    let is_unnamed = matches!(&branch.parts[..], [only] if only.is_unnamed());
    if level == Level::Detail || depth >= 2 && is_unnamed {
        let mut rules = ByRules::new();
        by_rules(branch, depth, &mut rules);
        return leaf(level, branch.name(), &rules);
    }
    let (large, small): (Vec<&Branch<'_>>, Vec<&Branch<'_>>) =
        branch.parts.iter().partition(|part| part.pages >= least);
    // A tile for one that is left out would be no smaller than itself.
    let (large, small) = if small.len() == 1 { (branch.parts.iter().collect(), Vec::new()) } else { (large, small) };
    let mut parts: Vec<Tile> = large.into_iter().map(|part| grow(part, depth + 1, least)).collect();
    if !small.is_empty() {
        let mut rules = ByRules::new();
        small.iter().for_each(|part| by_rules(part, depth + 1, &mut rules));
        let count = small.len() as u64;
        parts.push(leaf(Level::More(count), format!("+ {count} more"), &rules));
    }
    Tile { level, label: branch.name(), pages: branch.pages, wpa: None, parts }
}

/// A tile whose pages differ in nothing but what WPA counts them under.
fn leaf(level: Level, label: String, rules: &ByRules) -> Tile {
    let category = |number: &Option<usize>| number.and_then(|number| Category::ALL.get(number)).copied();
    let pages = rules.values().sum();
    if rules.len() == 1 {
        let wpa = rules.keys().next().and_then(category);
        return Tile { level, label, pages, wpa, parts: Vec::new() };
    }
    let part = |(number, &pages): (&Option<usize>, &u64)| Tile {
        level: Level::Rules,
        label: format!("in WPA {}", category(number).map_or(NO_LABEL, Category::name)),
        pages,
        wpa: category(number),
        parts: Vec::new(),
    };
    let mut parts: Vec<Tile> = rules.iter().map(part).collect();
    parts.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.label.cmp(&b.label)));
    Tile { level, label, pages, wpa: None, parts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_cases::cases;
    use proptest::prelude::*;

    /// Class, category, owner, WPA's category; there is no detail.
    fn group(class: &str, category: Category, owner: Label, wpa: Category, pages: u64) -> Group<u64> {
        let [category, wpa] = [category, wpa].map(|category| Label::listed(category as usize, category.name()));
        Group { labels: vec![Label::name(class), category, owner, Label::nothing(), wpa], measure: pages }
    }

    #[test]
    fn levels_without_names_are_left_out() {
        use Category::{MapFile, PageTable, Unused, VirtualAlloc, VirtualAllocPreTrace};
        let groups = [
            group("Dynamic", VirtualAlloc, Label::name("a.exe (4)"), VirtualAlloc, 5),
            group("Dynamic", VirtualAlloc, Label::name("a.exe (4)"), VirtualAllocPreTrace, 7),
            group("Kernel", PageTable, Label::name("a.exe (4)"), PageTable, 2),
            group("Free", Unused, Label::nothing(), MapFile, 3),
        ];
        let tile = Tile::folded(&groups, 100);
        assert_eq!((tile.pages, tile.parts.len(), tile.level), (17, 3, Level::All));
        let process = &tile.parts[0].parts[0].parts[0];
        assert_eq!((process.level, process.label.as_str(), process.wpa), (Level::Owner, "a.exe (4)", None));
        let rules: Vec<_> = process.parts.iter().map(|part| (part.pages, part.wpa)).collect();
        assert_eq!(rules, [(7, Some(Category::VirtualAllocPreTrace)), (5, Some(Category::VirtualAlloc))]);
        let unused = &tile.parts[1].parts[0];
        assert_eq!((unused.label.as_str(), unused.wpa), ("Unused", Some(Category::MapFile)));
    }

    fn sums_up(tile: &Tile) -> bool {
        tile.parts.is_empty()
            || tile.pages == tile.parts.iter().map(|part| part.pages).sum::<u64>() && tile.parts.iter().all(sums_up)
    }

    proptest! {
        #![proptest_config(cases(96))]

        #[test]
        fn folding_keeps_sums_and_its_limit(
            pages in prop::collection::vec((0..4usize, 0..5usize, 0..40usize, 0..3usize, 1..1000u64), 1..400),
            most in 40..200usize,
        ) {
            let owner = |number: usize| Label::name(format!("p ({number})"));
            let groups: Vec<_> = pages
                .iter()
                .map(|&(class, category, number, wpa, pages)| {
                    group(&class.to_string(), Category::ALL[category], owner(number), Category::ALL[wpa], pages)
                })
                .collect();
            let tile = Tile::folded(&groups, most);
            prop_assert!(sums_up(&tile));
            prop_assert_eq!(tile.pages, pages.iter().map(|page| page.4).sum::<u64>());
            // Classes stay, with the rest of their pages, for any limit.
            prop_assert!(tile.count() <= most.max(4 * 5));
        }
    }
}
