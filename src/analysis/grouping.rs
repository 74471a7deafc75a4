//! Rows, nested: groups with subtotals, the largest first, and one row for what is left out, so that sums stay honest.

/// What is counted of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measure {
    /// Pages by the classification that the rows are grouped by.
    pub pages: u64,
    /// Pages of the same labels by WPA's rules.
    pub pages_wpa: u64,
    /// Pages on the active list.
    pub active: u64,
    /// Pages on the standby list.
    pub standby: u64,
    /// Pages on the modified and modified-no-write lists.
    pub modified: u64,
}

impl std::ops::AddAssign for Measure {
    fn add_assign(&mut self, other: Measure) {
        self.pages += other.pages;
        self.pages_wpa += other.pages_wpa;
        self.active += other.active;
        self.standby += other.standby;
        self.modified += other.modified;
    }
}

/// How rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Most pages first.
    #[default]
    Pages,
    /// By label.
    Name,
    /// Most pages by WPA's rules first.
    PagesWpa,
    /// Greatest difference between the two first.
    Difference,
}

/// A group and its parts. `M` is what is counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node<M = Measure> {
    /// Label in the dimension of this level; empty for the root.
    pub label: String,
    /// Sum of the group.
    pub measure: M,
    /// Groups of the next dimension.
    pub parts: Vec<Node<M>>,
    /// Parts that are not listed, if any: their number and sum.
    pub more: Option<(u64, M)>,
}

impl Node {
    /// A tree of rows, each with one label for each level.
    pub fn tree(rows: &[(Vec<String>, Measure)], sort: Sort, top: Option<usize>) -> Node {
        Node::tree_by(rows, |a, b| sort.compare(a, b), top)
    }
}

impl<M: Copy + Default + std::ops::AddAssign> Node<M> {
    /// A tree of rows, each with one label for each level, in an order of the caller's.
    pub fn tree_by(
        rows: &[(Vec<String>, M)],
        compare: impl Fn(&Node<M>, &Node<M>) -> std::cmp::Ordering + Copy,
        top: Option<usize>,
    ) -> Node<M> {
        let mut root = Node::default();
        let all: Vec<(&[String], M)> = rows.iter().map(|(labels, measure)| (labels.as_slice(), *measure)).collect();
        root.grow(all, compare, top);
        root
    }

    fn grow(
        &mut self,
        rows: Vec<(&[String], M)>,
        compare: impl Fn(&Node<M>, &Node<M>) -> std::cmp::Ordering + Copy,
        top: Option<usize>,
    ) {
        type Group<'r, M> = (&'r str, Vec<(&'r [String], M)>);
        let mut groups: Vec<Group<'_, M>> = Vec::new();
        let mut index = std::collections::HashMap::new();
        for (labels, measure) in rows {
            self.measure += measure;
            let Some((first, rest)) = labels.split_first() else { continue };
            let at = *index.entry(first.as_str()).or_insert_with(|| {
                groups.push((first, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, group)) = groups.get_mut(at) {
                group.push((rest, measure));
            }
        }
        for (label, group) in groups {
            let mut part = Node { label: label.to_owned(), ..Node::default() };
            part.grow(group, compare, top);
            self.parts.push(part);
        }
        self.parts.sort_by(compare);
        if let Some(top) = top
            && self.parts.len() > top
        {
            let rest = self.parts.split_off(top);
            let mut sum = M::default();
            rest.iter().for_each(|part| sum += part.measure);
            self.more = Some((rest.len() as u64, sum));
        }
    }
}

impl Sort {
    /// The order of two rows.
    fn compare(self, a: &Node, b: &Node) -> std::cmp::Ordering {
        let difference = |node: &Node| node.measure.pages.abs_diff(node.measure.pages_wpa);
        let by = |key: fn(&Node) -> u64| key(b).cmp(&key(a));
        let first = match self {
            Sort::Pages => by(|node| node.measure.pages),
            Sort::PagesWpa => by(|node| node.measure.pages_wpa),
            Sort::Difference => difference(b).cmp(&difference(a)),
            Sort::Name => natural(&a.label, &b.label),
        };
        first.then_with(|| by(|node| node.measure.pages_wpa)).then_with(|| natural(&a.label, &b.label))
    }
}

/// Numbers by value, texts by letter.
pub fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        _ => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<(Vec<String>, Measure)> {
        [("a", "x", 5), ("a", "y", 1), ("b", "x", 9), ("c", "z", 2)]
            .map(|(first, second, pages)| {
                (vec![first.to_owned(), second.to_owned()], Measure { pages, ..Measure::default() })
            })
            .to_vec()
    }

    #[test]
    fn subtotals_and_what_is_left_out_add_up() {
        let tree = Node::tree(&rows(), Sort::Pages, Some(1));
        assert_eq!(tree.measure.pages, 17);
        assert_eq!((tree.parts[0].label.as_str(), tree.parts[0].measure.pages), ("b", 9));
        let (count, rest) = tree.more.unwrap();
        assert_eq!((count, rest.pages), (2, 8));
        let all = Node::tree(&rows(), Sort::Name, None);
        assert_eq!(all.parts.iter().map(|p| p.label.as_str()).collect::<String>(), "abc");
        assert_eq!((all.parts[0].parts.len(), all.more), (2, None));
    }

    #[test]
    fn numbers_sort_by_value() {
        assert_eq!(natural("9", "10"), std::cmp::Ordering::Less);
    }
}
