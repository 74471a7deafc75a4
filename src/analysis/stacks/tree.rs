//! Stacks as a tree: which functions called which, with the largest branches first and small ones folded.

use super::counts::StackCounts;
use super::text_interner::Texts;

use crate::pattern::Patterns;
use foldhash::HashMap as FastMap;

/// Which tree.
#[derive(Debug, Clone)]
pub enum Root {
    /// From the outermost functions inwards.
    All,
    /// From a function outwards: who called it.
    CallersOf(Patterns),
    /// From a function inwards: what it called.
    CalledBy(Patterns),
}

/// What tree is asked for.
#[derive(Debug, Clone)]
pub struct TreeQuery {
    /// Which part of all stacks it shows.
    pub root: Root,
    /// Levels.
    pub depth: usize,
    /// Branches of each function that are shown; the rest is folded.
    pub branches: usize,
    /// Most lines: small branches are folded until there are no more. `None`: no limit.
    pub most: Option<usize>,
    /// True when processes are above the functions; then events without a stack are not in the tree.
    pub by_process: bool,
}

impl TreeQuery {
    /// A tree of functions.
    pub const fn new(root: Root, depth: usize, branches: usize) -> TreeQuery {
        TreeQuery { root, depth, branches, most: None, by_process: false }
    }
}

impl TreeQuery {
    /// The function whose callers, or whose calls, are wanted.
    pub(super) fn function(&self) -> Option<&Patterns> {
        match &self.root {
            Root::All => None,
            Root::CallersOf(wanted) | Root::CalledBy(wanted) => Some(wanted),
        }
    }
}

/// A line of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    /// Level, from 0.
    pub depth: usize,
    /// Label; `None` for folded branches.
    pub function: Option<String>,
    /// Folded branches; 0 for a function.
    pub folded: u64,
    /// Events whose stack goes this way.
    pub counts: StackCounts,
    /// Events whose stack ends here: the function ran itself. For callers: those that nobody called.
    pub ends: u64,
}

/// Functions by the way that leads to them.
#[derive(Debug)]
pub(super) struct Tree {
    names: Texts,
    /// The first is above all functions.
    nodes: Vec<Node>,
    children: FastMap<(u32, u32), u32>,
}

#[derive(Debug, Default)]
struct Node {
    name: u32,
    below: Vec<u32>,
    counts: StackCounts,
    ends: u64,
}

/// What is shown next: a node, or so many folded ones with their sum.
enum Next {
    Node(u32),
    Folded(u64, StackCounts),
}

/// Most functions by way that are kept for a tree whose lines are limited: each stack can bring as many as it has frames.
const MOST_NODES: usize = 1 << 18;

/// The node above all functions.
const ROOT: u32 = 0;

impl Default for Tree {
    fn default() -> Tree {
        Tree { names: Texts::default(), nodes: vec![Node::default()], children: FastMap::default() }
    }
}

impl Tree {
    /// The functions that nothing is above.
    fn roots(&self) -> &[u32] {
        self.nodes.first().map(|root| root.below.as_slice()).unwrap_or_default()
    }

    /// How many functions by way there are.
    fn functions(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Adds a stack: labels of its frames, outermost first, with true for the function that is wanted.
    pub fn add(&mut self, query: &TreeQuery, frames: &[(String, bool)], counts: StackCounts) {
        let is_wanted = |(_, is_wanted): &(String, bool)| *is_wanted;
        match &query.root {
            Root::All => self.walk(query, frames.iter().map(|(name, _)| name), counts),
            // Of a recursion the outermost call has called all others.
            Root::CalledBy(_) => {
                let way = frames.iter().position(is_wanted).and_then(|from| frames.get(from..)).unwrap_or_default();
                self.walk(query, way.iter().map(|(name, _)| name), counts);
            }
            Root::CallersOf(_) => {
                let way = frames.iter().rposition(is_wanted).and_then(|to| frames.get(..=to)).unwrap_or_default();
                self.walk(query, way.iter().rev().map(|(name, _)| name), counts);
            }
        }
    }

    fn walk<'f>(&mut self, query: &TreeQuery, way: impl Iterator<Item = &'f String>, counts: StackCounts) {
        let (mut at, mut length) = (ROOT, 0);
        for frame in way {
            length += 1;
            if length > query.depth {
                return;
            }
            let name = self.names.id(frame);
            let next = self.nodes.len() as u32;
            // What comes now counts for the function above, as what is too deep does.
            if query.most.is_some() && self.functions() >= MOST_NODES && !self.children.contains_key(&(at, name)) {
                return;
            }
            let node = *self.children.entry((at, name)).or_insert(next);
            if node == next {
                self.nodes.push(Node { name, ..Node::default() });
                self.nodes.get_mut(at as usize).into_iter().for_each(|parent| parent.below.push(node));
            }
            self.nodes.get_mut(node as usize).into_iter().for_each(|node| node.counts += counts);
            at = node;
        }
        self.nodes.get_mut(at as usize).into_iter().for_each(|node| node.ends += counts.events);
    }

    /// The lines, larger branches first.
    pub fn rows(&self, query: &TreeQuery) -> Vec<TreeRow> {
        let most = query.most.unwrap_or(usize::MAX);
        let roots = self.roots().iter().filter_map(|node| self.nodes.get(*node as usize));
        let all: u64 = roots.fold(0, |sum, node| {
            let StackCounts { weight, events, .. } = node.counts;
            sum.saturating_add(weight.max(events))
        });
        // A branch of this size can have so many of its size in it.
        let mut least = if self.functions() <= most { 0 } else { all / (most as u64).max(1) / 64 };
        loop {
            let rows = self.rows_of(query, least);
            if rows.len() <= most || least > all || least == u64::MAX {
                return rows;
            }
            least = least.max(1).saturating_mul(2);
        }
    }

    /// The lines, with branches folded that are smaller than this.
    fn rows_of(&self, query: &TreeQuery, least: u64) -> Vec<TreeRow> {
        let mut rows = Vec::new();
        // Nodes to show, the next one last; or how many are folded, with their sums.
        let mut todo: Vec<(usize, Next)> = Vec::new();
        self.put(self.roots().to_vec(), 0, (query, least), &mut todo);
        while let Some((depth, next)) = todo.pop() {
            match next {
                Next::Folded(folded, counts) => rows.push(TreeRow { depth, function: None, folded, counts, ends: 0 }),
                Next::Node(number) => {
                    let Some(node) = self.nodes.get(number as usize) else { continue };
                    let function = Some(self.names.get(node.name).to_owned());
                    rows.push(TreeRow { depth, function, folded: 0, counts: node.counts, ends: node.ends });
                    self.put(node.below.clone(), depth + 1, (query, least), &mut todo);
                }
            }
        }
        rows
    }

    /// Puts siblings on the list, so that the largest comes off first and the folded ones last.
    fn put(
        &self,
        mut siblings: Vec<u32>,
        depth: usize,
        (query, least): (&TreeQuery, u64),
        todo: &mut Vec<(usize, Next)>,
    ) {
        let node = |number: &u32| self.nodes.get(*number as usize);
        let counts = |number: &u32| node(number).map(|node| node.counts).unwrap_or_default();
        let name = |number: &u32| node(number).map(|node| self.names.get(node.name)).unwrap_or_default();
        siblings.sort_by(|a, b| {
            let order = |number: &u32| (counts(number).with_stack > 0, counts(number).weight, counts(number).events);
            order(b).cmp(&order(a)).then_with(|| name(a).cmp(name(b)))
        });
        let size = |number: &u32| counts(number).weight.max(counts(number).events);
        let large = siblings.iter().take(query.branches).take_while(|number| size(number) >= least).count();
        let folded = siblings.split_off(large);
        if !folded.is_empty() {
            let mut sum = StackCounts::default();
            folded.iter().for_each(|number| sum += counts(number));
            todo.push((depth, Next::Folded(folded.len() as u64, sum)));
        }
        todo.extend(siblings.into_iter().rev().map(|number| (depth, Next::Node(number))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(root: Root, depth: usize, branches: usize) -> String {
        shown_within(None, root, depth, branches)
    }

    fn shown_within(most: Option<usize>, root: Root, depth: usize, branches: usize) -> String {
        let query = TreeQuery { most, ..TreeQuery::new(root, depth, branches) };
        let mut tree = Tree::default();
        for (stack, events) in [("a;b;c", 5), ("a;b", 2), ("a;d;b;c", 1), ("e;b;b;c", 4), ("f", 1)] {
            let is_wanted = |name: &str| query.function().is_some_and(|wanted| wanted.matches(name));
            let frames: Vec<_> = stack.split(';').map(|name| (name.to_owned(), is_wanted(name))).collect();
            tree.add(&query, &frames, StackCounts { events, with_stack: events, weight: events });
        }
        let line = |row: &TreeRow| {
            let name = row.function.clone().unwrap_or_else(|| format!("+{}", row.folded));
            format!("{}{name} {} {}", " ".repeat(row.depth), row.counts.events, row.ends)
        };
        tree.rows(&query).iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn branches_add_up_and_small_ones_are_folded() {
        let all = "a 8 0\n b 7 2\n  c 5 5\n d 1 0\n  b 1 0\n   c 1 1\ne 4 0\n b 4 0\n  b 4 0\n   c 4 4\nf 1 1";
        assert_eq!(shown(Root::All, 9, 9), all);
        assert_eq!(shown(Root::All, 2, 1), "a 8 0\n b 7 2\n +1 1 0\n+2 5 0");
    }

    #[test]
    fn a_limit_folds_the_smallest_branches() {
        let within = |most| shown_within(Some(most), Root::All, 9, 9);
        assert_eq!(within(12), shown(Root::All, 9, 9));
        assert_eq!(within(9), "a 8 0\n b 7 2\n  c 5 5\n +1 1 0\ne 4 0\n b 4 0\n  b 4 0\n   c 4 4\n+1 1 0");
        assert_eq!(within(3), "a 8 0\n +2 8 0\n+2 5 0");
    }

    #[test]
    fn callers_and_callees_of_a_function() {
        let b = || Patterns::new("b");
        assert_eq!(shown(Root::CallersOf(b()), 9, 9), "b 12 0\n a 7 7\n b 4 0\n  e 4 4\n d 1 0\n  a 1 1");
        assert_eq!(shown(Root::CalledBy(b()), 9, 9), "b 12 2\n c 6 6\n b 4 0\n  c 4 4");
    }
}
