//! Rows of two sides, whatever they are of: what each side has, how much the two may differ, in which order the rows stand, what they
//! add up to.

use super::tolerance::Tolerance;
use crate::analysis::table::group::natural;
use crate::dimensions::{Condition, Dimension, Label};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// What one side of a row has.
pub trait Amounts: Copy + Default + Debug {
    /// What can decide whether rows differ, where there is a choice.
    type Measure: Copy + Debug;
    /// How much two sides may differ.
    type Limit: Copy + Default + Debug;

    /// The number that decides.
    fn amount(&self, measure: Self::Measure) -> i128;

    /// How much two sides may differ.
    fn limit(tolerance: Tolerance, row: &ComparedRow<Self>) -> Self::Limit;

    /// True when the sides differ by more than that.
    fn exceeds_limit(row: &ComparedRow<Self>) -> bool;
}

/// A row.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComparedRow<A: Amounts> {
    /// Labels in order of the dimensions.
    pub labels: Vec<Label>,
    /// The side whose labels these are: it has the whole of those that are cut.
    pub(crate) named_by: usize,
    /// On the left; `None`: the row is not there.
    pub left: Option<A>,
    /// On the right.
    pub right: Option<A>,
    /// What decides.
    pub measure: A::Measure,
    /// How much the two may differ.
    pub limit: A::Limit,
}

/// How much more the right side has, in percent of the left; `None` where one of the two has nothing.
pub(super) fn percent((left, right): (i128, i128)) -> Option<f64> {
    (left > 0 && right > 0).then(|| right.saturating_sub(left) as f64 * 100.0 / left as f64)
}

/// A part of all, in percent.
pub(super) fn share(part: i128, all: u64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

impl<A: Amounts> ComparedRow<A> {
    /// A row that neither side has yet.
    pub(crate) fn new(labels: Vec<Label>, named_by: usize, measure: A::Measure) -> ComparedRow<A> {
        ComparedRow { labels, named_by, left: None, right: None, measure, limit: A::Limit::default() }
    }

    /// The numbers that decide.
    pub fn compared(&self) -> (i128, i128) {
        let of = |side: &Option<A>| side.unwrap_or_default().amount(self.measure);
        (of(&self.left), of(&self.right))
    }

    /// Right less left.
    pub fn delta(&self) -> i128 {
        let (left, right) = self.compared();
        right.saturating_sub(left)
    }

    /// How much more the right side has, in percent of the left; `None` where one of the two has nothing.
    pub fn change(&self) -> Option<f64> {
        percent(self.compared())
    }

    /// Both sides as shares of all that they have, in percent.
    pub fn shares(&self, [all_left, all_right]: [u64; 2]) -> [f64; 2] {
        let (left, right) = self.compared();
        [share(left, all_left), share(right, all_right)]
    }

    /// True when the two differ by more than is allowed.
    pub fn differs(&self) -> bool {
        A::exceeds_limit(self)
    }
}

/// How much numbers may differ.
pub(super) fn limit(tolerance: Tolerance, (left, right): (i128, i128)) -> i128 {
    match tolerance {
        Tolerance::Bytes(bytes) => bytes.into(),
        Tolerance::Share(millionths) => {
            let larger = left.saturating_abs().max(right.saturating_abs());
            let millionths = i128::from(millionths);
            (larger / 1_000_000).saturating_mul(millionths).saturating_add(larger % 1_000_000 * millionths / 1_000_000)
        }
    }
}

/// How rows are ordered; equal ones by their labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffOrder {
    /// The largest difference first.
    #[default]
    Difference,
    /// Those that only one side has first, then the largest difference in percent.
    Change,
    /// Those with most on the left first.
    Left,
    /// Those with most on the right first.
    Right,
    /// By label.
    Name,
    /// Of stacks: the largest difference of shares first.
    Share,
}

impl DiffOrder {
    /// Compares two rows. `all`: what the sides have, where shares of it are known.
    pub(super) fn compare<A: Amounts>(self, all: Option<[u64; 2]>, a: &ComparedRow<A>, b: &ComparedRow<A>) -> Ordering {
        let labels = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
        let largest = || b.delta().saturating_abs().cmp(&a.delta().saturating_abs());
        let change = |row: &ComparedRow<A>| row.change().map_or(f64::INFINITY, f64::abs);
        let points = |row: &ComparedRow<A>| {
            let [left, right] = all.map(|all| row.shares(all)).unwrap_or_default();
            (right - left).abs()
        };
        let first = match self {
            DiffOrder::Difference => largest(),
            DiffOrder::Share => points(b).total_cmp(&points(a)).then_with(largest),
            DiffOrder::Change => change(b).total_cmp(&change(a)).then_with(largest),
            DiffOrder::Left => b.compared().0.cmp(&a.compared().0),
            DiffOrder::Right => b.compared().1.cmp(&a.compared().1),
            DiffOrder::Name => Ordering::Equal,
        };
        first.then_with(|| labels().unwrap_or(Ordering::Equal))
    }
}

/// What rows add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ComparedTotals {
    /// Rows.
    pub rows: u64,
    /// What decides, on the left.
    pub left: i128,
    /// The same on the right.
    pub right: i128,
    /// Added, over the rows that have more.
    pub more: i128,
    /// Removed, over the rows that have less.
    pub less: i128,
}

impl ComparedTotals {
    /// The sums of these rows.
    pub fn of<'r, A: Amounts + 'r>(rows: impl IntoIterator<Item = &'r ComparedRow<A>>) -> ComparedTotals {
        let mut totals = ComparedTotals::default();
        for row in rows {
            let (left, right) = row.compared();
            totals.rows += 1;
            totals.left = totals.left.saturating_add(left);
            totals.right = totals.right.saturating_add(right);
            totals.more = totals.more.saturating_add(row.delta().max(0));
            totals.less = totals.less.saturating_add(row.delta().min(0).saturating_abs());
        }
        totals
    }

    /// Right less left.
    pub const fn delta(&self) -> i128 {
        self.right.saturating_sub(self.left)
    }
}

/// Joins the rows of two sides by keys.
pub(super) struct Join<K, A: Amounts> {
    pub rows: BTreeMap<K, ComparedRow<A>>,
    measure: A::Measure,
}

impl<K: Ord, A: Amounts> Join<K, A> {
    pub fn new(measure: A::Measure) -> Join<K, A> {
        Join { rows: BTreeMap::new(), measure }
    }

    /// What a side has under a key; nothing until now where it was not asked for.
    pub fn side(&mut self, side: usize, key: K, labels: impl FnOnce() -> Vec<Label>) -> &mut A {
        let row = self.rows.entry(key).or_insert_with(|| ComparedRow::new(labels(), side, self.measure));
        let slot = if side == 0 { &mut row.left } else { &mut row.right };
        slot.get_or_insert_default()
    }

    /// All rows in order.
    pub fn in_order(self, tolerance: Tolerance, order: DiffOrder, all: Option<[u64; 2]>) -> Vec<ComparedRow<A>> {
        let mut rows: Vec<ComparedRow<A>> = self.rows.into_values().collect();
        rows.iter_mut().for_each(|row| row.limit = A::limit(tolerance, row));
        rows.sort_by(|a, b| order.compare(all, a, b));
        rows
    }
}

/// The rows that were compared.
#[derive(Debug)]
#[non_exhaustive]
pub struct Comparison<A: Amounts> {
    /// Those that differ by more than is allowed, and all others where they were asked for, in the order that was asked for.
    pub rows: Vec<ComparedRow<A>>,
    /// Sums over all rows.
    pub all: ComparedTotals,
    /// Those that differ, but by no more than is allowed.
    pub within: ComparedTotals,
    /// Those that do not differ.
    pub same: ComparedTotals,
    keeps_same: bool,
    /// Conditions that chose what was compared: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Patterns of them that match nothing, a line each.
    pub(crate) unmatched: Vec<String>,
}

impl<A: Amounts> Comparison<A> {
    pub(super) fn new<D: Dimension>(
        mut rows: Vec<ComparedRow<A>>,
        keeps_same: bool,
        conditions: &[Condition<D>],
    ) -> Comparison<A> {
        let fine = |is_same: bool| {
            let fine = rows.iter().filter(move |row| !row.differs() && (row.delta() == 0) == is_same);
            ComparedTotals::of(fine)
        };
        let (all, within, same) = (ComparedTotals::of(&rows), fine(false), fine(true));
        rows.retain(|row| keeps_same || row.differs());
        let (filter, unmatched) = (Condition::written(conditions), Condition::unmatched(conditions));
        Comparison { rows, all, within, same, keeps_same, filter, unmatched }
    }

    /// Rows that differ by more than is allowed.
    pub fn differing(&self) -> impl Iterator<Item = &ComparedRow<A>> {
        self.rows.iter().filter(|row| row.differs())
    }

    /// The others, where they were asked for.
    pub fn agreeing(&self) -> Option<impl Iterator<Item = &ComparedRow<A>>> {
        self.keeps_same.then(|| self.rows.iter().filter(|row| !row.differs()))
    }

    /// True when neither side has a row, for example because nothing meets the conditions: nothing was compared, so nothing is known to
    /// be equal.
    pub const fn has_no_match(&self) -> bool {
        self.all.rows == 0
    }

    /// What a verdict says of sides without a row.
    pub(crate) fn no_match(&self) -> Option<&'static str> {
        let text = match self.filter.is_empty() {
            true => "No match: neither side has a row",
            false => "No match: nothing of either side meets the conditions",
        };
        self.has_no_match().then_some(text)
    }

    /// True when nothing differs by more than is allowed.
    pub fn is_equal(&self) -> bool {
        self.differing().next().is_none() && !self.has_no_match()
    }
}

/// Longest text of a key, bytes: a sum stands for longer ones.
const LONGEST: usize = 256;

/// By what labels of two traces are the same. How much of a long stack is in its label depends on the other stacks of its trace, so the
/// whole text decides.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Text(String),
    Long([u8; 32]),
}

impl Key {
    pub fn new(text: String) -> Key {
        if text.len() > LONGEST { Key::Long(Sha256::digest(text.as_bytes()).into()) } else { Key::Text(text) }
    }
}
