//! The first screen: physical memory as RAMMap and Task Manager show it, then the largest categories by class, then the largest
//! processes, cut to the lines of a small terminal.

use crate::analysis::resident::page_counts::{PageCounts, ResidentOrder};
use crate::analysis::resident::query::ResidentView;
use crate::analysis::resident::tables::{
    ACTIVE_SIZE, Column, DIFFERENCE_SIZE, FREE_SIZE, MODIFIED_SIZE, OTHER_SIZE, PAGES, SHARE, SIZE, STANDBY_SIZE,
    WPA_SIZE,
};
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::analysis::table::{Group, Node, Table};
use crate::dimensions::Label;
use crate::model::category::{Category, Class};
use std::cmp::Reverse;

/// Lines of classes, categories and processes, the rule above the processes included. With the three lines on memory, the heading, the
/// total with its rules, the line of checks and that on columns without room they are 23, so that a prompt below them fits into 24.
const LINES: usize = 14;
/// Most processes on the first screen.
const PROCESSES: usize = 2;

/// Physical memory, in pages. The parts add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhysicalMemory {
    /// All.
    pub all: u64,
    /// In use: neither modified, nor standby, nor free.
    pub in_use: u64,
    /// On the modified and modified-no-write lists.
    pub modified: u64,
    /// On the standby list.
    pub standby: u64,
    /// On the zero and free lists.
    pub free: u64,
}

impl SnapshotSet {
    /// Physical memory: of it the pages that were selected.
    pub fn memory(&self) -> PhysicalMemory {
        let all = &self.all;
        PhysicalMemory {
            all: all.pages,
            in_use: all.active() + all.other(),
            modified: all.modified(),
            standby: all.standby(),
            free: all.free(),
        }
    }
}

impl ResidentSet {
    /// The table of the first screen, for a set whose rows are categories.
    pub fn overview(&self, snapshot: &SnapshotSet, view: &ResidentView) -> Table {
        let mut processes = Node { label: "Processes (own pages)".to_owned(), ..snapshot.processes.clone() };
        let mut classes = classes(snapshot, |groups| view.sort.tree(groups, None));
        // A user who asks for WPA's numbers must see the largest of both.
        let asks_wpa = self.compares && view.columns.wpa && view.sort == ResidentOrder::default();
        let size = |pages: &PageCounts| match view.sort {
            ResidentOrder::Difference if self.compares => pages.pages.abs_diff(pages.pages_wpa),
            ResidentOrder::PagesWpa => pages.pages_wpa,
            _ if asks_wpa => pages.pages.max(pages.pages_wpa),
            _ => pages.pages,
        };
        if asks_wpa {
            classes.iter_mut().for_each(|class| class.parts.sort_by_key(|part| Reverse(size(&part.measure))));
        }
        let some = |parts: usize, most: usize| if parts > most + 1 { most } else { parts };
        if let Some(top) = view.top {
            classes.iter_mut().for_each(|class| cut(class, top, "categories"));
            cut(&mut processes, top, "processes");
        } else if !view.columns.all {
            let listed = some(processes.parts.len(), PROCESSES);
            cut(&mut processes, listed, "processes");
            let below = if listed == 0 { 0 } else { 2 + lines(listed, snapshot.processes.parts.len()) };
            // A doubtful trace has a line more at the end, and so have pages that were chosen by stacks; conditions are below the title.
            let more = [self.warnings.is_doubtful(), self.stacks.is_some(), !self.filter.is_empty()].map(usize::from);
            let most = LINES - more.into_iter().sum::<usize>();
            cut_classes(&mut classes, most.saturating_sub(below), size);
        }
        let all = snapshot.all;
        let columns = self.overview_columns(view, &all);
        let tree = Node { measure: all, parts: classes, ..Node::default() };
        let mut table = Table::of_tree("Category", &tree, &all, &columns).with_total(&tree, &all, &columns);
        if !processes.parts.is_empty() {
            let below = Node { parts: vec![processes], ..Node::default() };
            let mut lines = Table::of_tree("Process", &below, &all, &columns).lines;
            lines.first_mut().into_iter().for_each(|line| line.ruled = true);
            table.lines.append(&mut lines);
        }
        table
    }

    /// All categories by class, without a limit and with WPA's numbers, for a set whose rows are categories.
    pub fn category_table(&self, snapshot: &SnapshotSet) -> Table {
        let all = snapshot.all;
        let classes = classes(snapshot, |groups| ResidentOrder::default().tree(groups, None));
        let tree = Node { measure: all, parts: classes, ..Node::default() };
        let columns = [SIZE, WPA_SIZE, DIFFERENCE_SIZE, PAGES, SHARE];
        let columns = [&columns[..], &lists(&all)].concat();
        Table::of_tree("Category", &tree, &all, &columns).with_total(&tree, &all, &columns)
    }

    /// Processes with pages of their own, at most `top`.
    pub fn process_table(&self, snapshot: &SnapshotSet, top: usize) -> Table {
        let mut processes = snapshot.processes.clone();
        cut(&mut processes, top, "processes");
        let all = snapshot.all;
        let columns = [&[PAGES, SIZE, SHARE][..], &lists(&processes.measure)].concat();
        Table::of_tree("Process", &processes, &all, &columns).with_total(&processes, &all, &columns)
    }

    /// WPA's number is there if there is room. If it was asked for, it replaces lists.
    fn overview_columns(&self, view: &ResidentView, all: &PageCounts) -> Vec<Column> {
        let mut columns = vec![SIZE, SHARE.spare(0)];
        if self.compares && view.columns.wpa {
            columns.extend([WPA_SIZE, DIFFERENCE_SIZE]);
        } else if self.compares {
            columns.extend([WPA_SIZE.spare(2), DIFFERENCE_SIZE.spare(1)]);
        }
        columns.extend([ACTIVE_SIZE.leaves(4), STANDBY_SIZE.leaves(3), MODIFIED_SIZE.leaves(2)]);
        columns.push(FREE_SIZE.leaves(1));
        columns.extend((all.other() > 0).then_some(OTHER_SIZE.leaves(0)));
        columns
    }
}

/// Sizes by list; other pages (bad, in transition) have a column if there are any.
fn lists(all: &PageCounts) -> Vec<Column> {
    let mut columns = vec![ACTIVE_SIZE, STANDBY_SIZE, MODIFIED_SIZE, FREE_SIZE];
    columns.extend((all.other() > 0).then_some(OTHER_SIZE));
    columns
}

/// The categories of the snapshot's rows by class; classes without pages are left out.
fn classes(snapshot: &SnapshotSet, tree: impl Fn(&[Group<PageCounts>]) -> Node<PageCounts>) -> Vec<Node<PageCounts>> {
    let of_class = |class: Class| {
        let is_in = |group: &&Group<PageCounts>| {
            let number = group.labels.first().and_then(Label::number_in_list);
            number.and_then(|number| Category::ALL.get(number)).is_some_and(|category| category.class() == class)
        };
        let groups: Vec<_> = snapshot.rows.iter().filter(is_in).cloned().collect();
        Node { label: class.name().to_owned(), ..tree(&groups) }
    };
    Class::ALL.map(of_class).into_iter().filter(|class| !class.parts.is_empty()).collect()
}

/// Lines of the first parts of a node, with that of the rest.
const fn lines(shown: usize, parts: usize) -> usize {
    if shown > 0 && shown < parts { shown + 1 } else { shown }
}

/// Keeps the first parts; if none is kept, the label says how many there are.
fn cut(node: &mut Node<PageCounts>, most: usize, what: &str) {
    if node.parts.len() <= most {
        return;
    }
    let rest = node.parts.split_off(most);
    if most == 0 {
        node.label = format!("{} ({} {what})", node.label, rest.len());
        return;
    }
    let mut sum = PageCounts::default();
    rest.iter().for_each(|part| sum += part.measure);
    node.more = Some((rest.len() as u64, sum));
}

/// Keeps the first categories of each class, so that all together take at most this many lines and include the largest.
fn cut_classes(classes: &mut [Node<PageCounts>], most: usize, size: impl Fn(&PageCounts) -> u64) {
    let mut shown = vec![0; classes.len()];
    let taken = |shown: &[usize]| -> usize {
        let of_classes = classes.iter().zip(shown).map(|(class, &shown)| 1 + lines(shown, class.parts.len()));
        of_classes.sum()
    };
    loop {
        let next = |(index, class): (usize, &Node<PageCounts>)| {
            let mut with_next = shown.clone();
            let at = with_next.get_mut(index)?;
            let part = class.parts.get(*at)?;
            *at += 1;
            // A free page is Unused, so a line for it says nothing.
            let says_something = class.parts.len() > 1 || part.label != Category::Unused.name();
            (says_something && taken(&with_next) <= most).then_some((size(&part.measure), with_next))
        };
        match classes.iter().enumerate().filter_map(next).max_by_key(|(pages, _)| *pages) {
            Some((_, with_next)) => shown = with_next,
            None => break,
        }
    }
    classes.iter_mut().zip(shown).for_each(|(class, shown)| match class.parts.len() {
        1 => class.parts.truncate(shown),
        _ => cut(class, shown, "categories"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(label: &str, pages: &[u64]) -> Node<PageCounts> {
        let part = |(number, &pages): (usize, &u64)| Node {
            label: format!("{label} {number}"),
            measure: PageCounts { pages, ..PageCounts::default() },
            ..Node::default()
        };
        Node { label: label.to_owned(), parts: pages.iter().enumerate().map(part).collect(), ..Node::default() }
    }

    fn cut_to(most: usize) -> Vec<(String, usize, u64)> {
        let mut classes = vec![class("a", &[90, 70, 5]), class("b", &[80, 1]), class("c", &[3])];
        cut_classes(&mut classes, most, |pages| pages.pages);
        let more = |class: &Node<PageCounts>| class.more.map_or(0, |(parts, _)| parts);
        classes.iter().map(|class| (class.label.clone(), class.parts.len(), more(class))).collect()
    }

    #[test]
    fn the_largest_categories_get_the_lines() {
        let of =
            |rows: [(&str, usize, u64); 3]| rows.map(|(label, parts, more)| (label.to_owned(), parts, more)).to_vec();
        assert_eq!(cut_to(3), of([("a (3 categories)", 0, 0), ("b (2 categories)", 0, 0), ("c", 0, 0)]));
        assert_eq!(cut_to(5), of([("a", 1, 2), ("b (2 categories)", 0, 0), ("c", 0, 0)]));
        assert_eq!(cut_to(7), of([("a", 1, 2), ("b", 2, 0), ("c", 0, 0)]));
        assert_eq!(cut_to(9), of([("a", 3, 0), ("b", 2, 0), ("c", 1, 0)]));
    }
}
