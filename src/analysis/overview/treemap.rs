//! The resident set as nested tiles: class, category, process or file, detail. At most some thousand; the small tiles
//! of each level become one tile, so that sums stay exact.

use crate::analysis::resident::dimension::{Dimension, DimensionCode};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::{Group, Node};
use crate::facets::{Label, NO_LABEL};
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
        let tree = Node::tree(groups, |a, b| b.cmp(a), None);
        let mut least = if groups.len() <= most { 1 } else { (tree.measure / most as u64 / 8).max(1) };
        loop {
            let tile = grow(&tree, 0, least);
            if tile.count() <= most || least > tree.measure {
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

type ByRules<'n> = BTreeMap<&'n str, u64>;

/// The pages of a node by WPA's categories, which are its lowest level.
fn by_rules<'n>(node: &'n Node<u64>, depth: usize, into: &mut ByRules<'n>) {
    match Level::of_depth(depth) {
        Level::Rules => *into.entry(&node.label).or_default() += node.measure,
        _ => node.parts.iter().for_each(|part| by_rules(part, depth + 1, into)),
    }
}

fn grow(node: &Node<u64>, depth: usize, least: u64) -> Tile {
    let level = Level::of_depth(depth);
    let is_unnamed = matches!(&node.parts[..], [only] if only.label == NO_LABEL);
    if level == Level::Detail || depth >= 2 && is_unnamed {
        let mut rules = ByRules::new();
        by_rules(node, depth, &mut rules);
        return leaf(level, named(&node.label), &rules);
    }
    let (large, small): (Vec<&Node<u64>>, Vec<&Node<u64>>) = node.parts.iter().partition(|part| part.measure >= least);
    // A tile for one that is left out would be no smaller than itself.
    let (large, small) = if small.len() == 1 { (node.parts.iter().collect(), Vec::new()) } else { (large, small) };
    let mut parts: Vec<Tile> = large.into_iter().map(|part| grow(part, depth + 1, least)).collect();
    if !small.is_empty() {
        let mut rules = ByRules::new();
        small.iter().for_each(|part| by_rules(part, depth + 1, &mut rules));
        let count = small.len() as u64;
        parts.push(leaf(Level::More(count), format!("+ {count} more"), &rules));
    }
    Tile { level, label: named(&node.label), pages: node.measure, wpa: None, parts }
}

/// A label in words.
fn named(label: &str) -> String {
    if label == NO_LABEL { "without a name".to_owned() } else { label.to_owned() }
}

/// A tile whose pages differ in nothing but what WPA counts them under.
fn leaf(level: Level, label: String, rules: &ByRules<'_>) -> Tile {
    let category = |name: &str| Category::ALL.into_iter().find(|category| category.name() == name);
    let pages = rules.values().sum();
    if rules.len() == 1 {
        let wpa = rules.keys().next().and_then(|name| category(name));
        return Tile { level, label, pages, wpa, parts: Vec::new() };
    }
    let part = |(name, &pages): (&&str, &u64)| Tile {
        level: Level::Rules,
        label: format!("in WPA {name}"),
        pages,
        wpa: category(name),
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

    fn group(labels: [&str; 5], pages: u64) -> Group<u64> {
        Group { labels: labels.map(Label::name).to_vec(), measure: pages }
    }

    #[test]
    fn levels_without_names_are_left_out() {
        let groups = [
            group(["Dynamic", "VirtualAlloc", "a.exe (4)", "n/a", "VirtualAlloc"], 5),
            group(["Dynamic", "VirtualAlloc", "a.exe (4)", "n/a", "VirtualAlloc_PreTrace"], 7),
            group(["Kernel", "PageTable", "a.exe (4)", "n/a", "PageTable"], 2),
            group(["Free", "Unused", "n/a", "n/a", "MapFile"], 3),
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
            let name = |number: usize| Category::ALL[number].name();
            let groups: Vec<_> = pages
                .iter()
                .map(|&(class, category, owner, wpa, pages)| {
                    group([&class.to_string(), name(category), &format!("p ({owner})"), "n/a", name(wpa)], pages)
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
