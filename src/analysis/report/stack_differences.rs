//! Samples of two traces as one tree: of each function what it has in both, for a picture whose widths are those of the second trace.

use crate::analysis::diff::process_matching::{Match, Matched};
use crate::analysis::report::Overview;
use crate::analysis::stacks::{Kind, StackQuery, StackSet, Texts, in_one_case};
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use foldhash::HashMap as FastMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Levels of the tree; what lies deeper counts for the last of them.
const DEPTH: usize = 96;
/// Branches of a function.
const BRANCHES: usize = 200;
/// Most functions of the picture.
const MOST: usize = 4000;
/// Most functions by way that are kept: what comes then counts for the function above.
const MOST_NODES: usize = 1 << 18;
/// Branches of the first trace alone that are named.
const NAMED: usize = 3;

/// What is compared, of the first and of the second trace.
type Both = [u64; 2];

/// A line of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BothRow {
    /// Level, from 0.
    pub depth: usize,
    /// Label; `None` for folded branches.
    pub function: Option<String>,
    /// Folded branches; 0 for a function.
    pub folded: u64,
    /// Weights.
    pub weights: Both,
    /// Samples.
    pub events: Both,
}

/// A branch that the second trace has nothing of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstOnly {
    /// The function at which it begins.
    pub function: String,
    /// The one above it.
    pub below: Option<String>,
    /// Its weight.
    pub weight: u64,
}

/// Which of two traces has no samples with stacks.
pub(crate) type Lacking = [bool; 2];

/// Samples of two traces.
#[derive(Debug)]
pub(crate) struct StackDifferences {
    /// Weights of all samples with a stack.
    pub whole: Both,
    /// True where weights are numbers of samples.
    pub by_events: bool,
    /// The tree of what the second trace has, larger branches first.
    pub rows: Vec<BothRow>,
    /// Number and weight of the branches that only the first trace has.
    pub first_only: (u64, u64),
    /// The largest of them.
    pub largest_first_only: Vec<FirstOnly>,
}

impl StackDifferences {
    /// Between the first trace and each of the others.
    pub fn of_all(
        traces: &[&Trace],
        overviews: &[&Overview],
        symbols: &SymbolFolders,
    ) -> Vec<Result<StackDifferences, Lacking>> {
        let has_samples = |overview: &&&Overview| {
            let of = |set: &StackSet| set.of.name() == SAMPLES && set.totals.with_stack > 0;
            overview.stacks.as_ref().is_ok_and(|found| found.kinds.iter().any(of))
        };
        let has_samples: Vec<bool> = overviews.iter().map(|overview| has_samples(&overview)).collect();
        let of = |at: usize| -> Option<StackSet> {
            let trace = traces.get(at).filter(|_| has_samples.get(at) == Some(&true))?;
            samples(trace, symbols)
        };
        let first = has_samples.iter().skip(1).any(|has| *has).then(|| of(0)).flatten();
        let between = |at: usize| match (&first, of(at)) {
            (Some(first), Some(second)) => Ok(StackDifferences::new(first, &second)),
            _ => Err([0, at].map(|side| has_samples.get(side) != Some(&true))),
        };
        (1..traces.len()).map(between).collect()
    }

    fn new(first: &StackSet, second: &StackSet) -> StackDifferences {
        let sets = [first, second];
        let by_events = sets.iter().any(|set| set.totals.weight_with_stack == 0);
        let labels = sets.map(|set| set.stacks.ways().map(|(process, ..)| process.to_owned()).collect());
        let [ref left, ref right]: [BTreeSet<String>; 2] = labels;
        let processes = Matched::new([left, right], Match::Name, &Default::default());
        let mut tree = BothTree::default();
        // Names are as the second trace writes them.
        for (side, set) in sets.into_iter().enumerate().rev() {
            for (process, frames, counts) in set.stacks.ways().filter(|(.., counts)| counts.with_stack > 0) {
                let weight = if by_events { counts.events } else { counts.weight };
                let way = std::iter::once(processes.name(side, process)).chain(frames);
                tree.add(side, way, (weight, counts.events));
            }
        }
        let (first_only, largest_first_only) = tree.first_only();
        StackDifferences { whole: tree.whole, by_events, rows: tree.rows(MOST), first_only, largest_first_only }
    }
}

/// The kind that is compared, as it is asked for.
const SAMPLES: &str = "samples";

/// The distinct stacks of the samples of a trace.
fn samples(trace: &Trace, symbols: &SymbolFolders) -> Option<StackSet> {
    let of = Kind::parse(SAMPLES).ok();
    let query =
        StackQuery { of, symbols: symbols.clone(), whole_stacks: true, compared: true, ..StackQuery::default() };
    StackSet::answer(trace, &query).ok()
}

#[derive(Debug, Default)]
struct Node {
    name: u32,
    /// `None` of the outermost ones.
    above: Option<u32>,
    below: Vec<u32>,
    weights: Both,
    events: Both,
}

/// Functions by the way that leads to them.
#[derive(Debug, Default)]
struct BothTree {
    /// By name in one case, the name that is shown.
    shown: FastMap<u32, String>,
    names: Texts,
    nodes: Vec<Node>,
    children: FastMap<(Option<u32>, u32), u32>,
    roots: Vec<u32>,
    whole: Both,
}

/// What is shown next: a node, or so many folded ones with their sums.
enum Next {
    Node(u32),
    Folded(u64, Both, Both),
}

fn add(sum: &mut Both, side: usize, amount: u64) {
    sum.get_mut(side).into_iter().for_each(|sum| *sum = sum.saturating_add(amount));
}

fn added(sums: Both, more: Both) -> Both {
    [sums[0].saturating_add(more[0]), sums[1].saturating_add(more[1])]
}

impl BothTree {
    /// Adds a stack of a side: names of its process and its functions, outermost first.
    fn add<'n>(&mut self, side: usize, way: impl Iterator<Item = &'n str>, (weight, events): (u64, u64)) {
        add(&mut self.whole, side, weight);
        let mut at = None;
        for name in way.take(DEPTH) {
            let number = self.names.id(&in_one_case(name));
            let next = self.nodes.len() as u32;
            let known = self.children.get(&(at, number)).copied();
            if known.is_none() && self.nodes.len() >= MOST_NODES {
                return;
            }
            let node = known.unwrap_or(next);
            if known.is_none() {
                self.shown.entry(number).or_insert_with(|| name.to_owned());
                self.children.insert((at, number), node);
                self.nodes.push(Node { name: number, above: at, ..Node::default() });
                match at.and_then(|at: u32| self.nodes.get_mut(at as usize)) {
                    Some(above) => above.below.push(node),
                    None => self.roots.push(node),
                }
            }
            if let Some(node) = self.nodes.get_mut(node as usize) {
                add(&mut node.weights, side, weight);
                add(&mut node.events, side, events);
            }
            at = Some(node);
        }
    }

    fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }

    fn name(&self, node: &Node) -> &str {
        self.shown.get(&node.name).map_or("", String::as_str)
    }

    fn weights(&self, number: u32) -> Both {
        self.node(number).map(|node| node.weights).unwrap_or_default()
    }

    /// Number and weight of the branches that the second trace has nothing of, and the largest of them.
    fn first_only(&self) -> ((u64, u64), Vec<FirstOnly>) {
        let is_drawn = |above: Option<u32>| above.is_none_or(|above| self.weights(above)[1] > 0);
        let begins = |node: &&Node| node.weights[0] > 0 && node.weights[1] == 0 && is_drawn(node.above);
        let mut all: Vec<&Node> = self.nodes.iter().filter(begins).collect();
        all.sort_by_key(|node| (Reverse(node.weights[0]), self.name(node)));
        let weight = all.iter().fold(0u64, |sum, node| sum.saturating_add(node.weights[0]));
        let named = |node: &&Node| FirstOnly {
            function: self.name(node).to_owned(),
            below: node.above.and_then(|above| self.node(above)).map(|above| self.name(above).to_owned()),
            weight: node.weights[0],
        };
        ((all.len() as u64, weight), all.iter().take(NAMED).map(named).collect())
    }

    /// The lines, larger branches first; so many at most.
    fn rows(&self, most: usize) -> Vec<BothRow> {
        let all = self.whole[1];
        // A branch of this size can have so many of its size in it.
        let mut least = if self.nodes.len() <= most { 0 } else { all / (most as u64).max(1) / 64 };
        loop {
            let rows = self.rows_of(least);
            if rows.len() <= most || least > all || least == u64::MAX {
                return rows;
            }
            least = least.max(1).saturating_mul(2);
        }
    }

    /// The lines, with branches folded that are smaller than this.
    fn rows_of(&self, least: u64) -> Vec<BothRow> {
        let mut rows = Vec::new();
        // Nodes to show, the next one last.
        let mut todo: Vec<(usize, Next)> = Vec::new();
        self.put(&self.roots, 0, least, &mut todo);
        while let Some((depth, next)) = todo.pop() {
            match next {
                Next::Folded(folded, weights, events) => {
                    rows.push(BothRow { depth, function: None, folded, weights, events });
                }
                Next::Node(number) => {
                    let Some(node) = self.node(number) else { continue };
                    let function = Some(self.name(node).to_owned());
                    rows.push(BothRow { depth, function, folded: 0, weights: node.weights, events: node.events });
                    self.put(&node.below, depth + 1, least, &mut todo);
                }
            }
        }
        rows
    }

    /// Puts siblings that the second trace has on the list, so that the largest comes off first and the folded ones last.
    fn put(&self, siblings: &[u32], depth: usize, least: u64, todo: &mut Vec<(usize, Next)>) {
        let size = |number: &u32| self.weights(*number)[1];
        let name = |number: &u32| self.node(*number).map_or("", |node| self.name(node));
        let mut siblings: Vec<u32> = siblings.iter().copied().filter(|number| size(number) > 0).collect();
        siblings.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| name(a).cmp(name(b))));
        let large = siblings.iter().take(BRANCHES).take_while(|number| size(number) >= least).count();
        let folded = siblings.split_off(large);
        if !folded.is_empty() {
            let nodes = || folded.iter().filter_map(|number| self.node(*number));
            let weights = nodes().fold(Both::default(), |sum, node| added(sum, node.weights));
            let events = nodes().fold(Both::default(), |sum, node| added(sum, node.events));
            todo.push((depth, Next::Folded(folded.len() as u64, weights, events)));
        }
        todo.extend(siblings.into_iter().rev().map(|number| (depth, Next::Node(number))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> BothTree {
        let mut tree = BothTree::default();
        for (side, stacks) in [
            (1, &[("p;a.dll!f;b", 5), ("p;a.dll!f", 2), ("p;e;c", 3), ("q;x", 1)][..]),
            (0, &[("p;A.DLL!f;b", 1), ("p;a.dll!f;gone;deeper", 4), ("p;a.dll!f;gone", 2), ("old;x", 7), ("p;e", 6)]),
        ] {
            for (stack, weight) in stacks {
                tree.add(side, stack.split(';'), (*weight, 1));
            }
        }
        tree
    }

    fn shown(rows: &[BothRow]) -> String {
        let line = |row: &BothRow| {
            let name = row.function.clone().unwrap_or_else(|| format!("+{}", row.folded));
            let [first, second] = row.weights;
            format!("{}{name} {first} {second}", " ".repeat(row.depth))
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn functions_have_the_weights_of_both_traces_and_the_order_of_the_second() {
        let tree = tree();
        assert_eq!(tree.whole, [20, 11]);
        let all = "p 13 10\n a.dll!f 7 7\n  b 1 5\n e 6 3\n  c 0 3\nq 0 1\n x 0 1";
        assert_eq!(shown(&tree.rows(9)), all);
        assert_eq!(shown(&tree.rows_of(4)), "p 13 10\n a.dll!f 7 7\n  b 1 5\n +1 6 3\n+1 0 1");
        assert_eq!(tree.rows(1).len(), 1, "{:?}", tree.rows(1));
    }

    #[test]
    fn branches_of_the_first_trace_alone_are_named() {
        let ((branches, weight), largest) = tree().first_only();
        assert_eq!((branches, weight), (2, 13));
        let named: Vec<(&str, Option<&str>, u64)> =
            largest.iter().map(|one| (&*one.function, one.below.as_deref(), one.weight)).collect();
        assert_eq!(named, [("old", None, 7), ("gone", Some("a.dll!f"), 6)]);
        let drawn: u64 = tree().rows(9).iter().filter(|row| row.depth == 0).map(|row| row.weights[0]).sum();
        assert_eq!(drawn + 7, tree().whole[0]);
    }

    #[test]
    fn nothing_overflows_and_deep_stacks_end() {
        let mut tree = BothTree::default();
        let deep = vec!["f"; 10_000];
        tree.add(1, deep.iter().copied(), (u64::MAX, 1));
        tree.add(1, deep.iter().copied(), (u64::MAX, 1));
        tree.add(0, deep.iter().copied(), (1, 1));
        let rows = tree.rows(MOST);
        assert_eq!((rows.len(), rows[0].weights), (DEPTH, [1, u64::MAX]));
    }
}
