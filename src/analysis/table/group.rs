//! Nested groups: subtotals, the largest first, and one row for the groups that are left out, so that sums stay exact.

use crate::dimensions::Label;
use foldhash::HashMap as FastMap;
use std::cmp::Ordering;
use std::ops::AddAssign;

/// The counts of a group.
pub trait Measure: Copy + Default + AddAssign {}

impl<M: Copy + Default + AddAssign> Measure for M {}

/// A group on the lowest level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<M> {
    /// Labels in order of the dimensions.
    pub labels: Vec<Label>,
    /// Counts.
    pub measure: M,
}

/// A group and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node<M> {
    /// Label in the dimension of this level, as people read it; empty for the root.
    pub label: String,
    /// Sum of the group.
    pub measure: M,
    /// Groups of the next dimension.
    pub parts: Vec<Node<M>>,
    /// Parts that are not listed, if any: their number and sum.
    pub more: Option<(u64, M)>,
}

impl<M: Measure> Node<M> {
    /// A tree of groups: on each level the first `top` in the order of their measures, then of their labels.
    pub fn tree(groups: &[Group<M>], order: impl Fn(&M, &M) -> Ordering + Copy, top: Option<usize>) -> Node<M> {
        let mut root = Node::default();
        let all = groups.iter().map(|group| (group.labels.as_slice(), group.measure)).collect();
        root.grow(all, order, top);
        root
    }

    fn grow(&mut self, groups: Vec<(&[Label], M)>, order: impl Fn(&M, &M) -> Ordering + Copy, top: Option<usize>) {
        type Part<'r, M> = (&'r str, M, Vec<(&'r [Label], M)>);
        let mut parts: Vec<Part<'_, M>> = Vec::new();
        let mut index: FastMap<&str, usize> = FastMap::default();
        for (labels, measure) in groups {
            self.measure += measure;
            let Some((first, rest)) = labels.split_first() else { continue };
            let at = *index.entry(first.shown()).or_insert_with(|| {
                parts.push((first.shown(), M::default(), Vec::new()));
                parts.len() - 1
            });
            if let Some((_, sum, part)) = parts.get_mut(at) {
                *sum += measure;
                part.push((rest, measure));
            }
        }
        parts.sort_by(|(a, of_a, _), (b, of_b, _)| order(of_a, of_b).then_with(|| natural(a, b)));
        let rest = parts.split_off(top.map_or(parts.len(), |top| top.min(parts.len())));
        if !rest.is_empty() {
            let mut sum = M::default();
            rest.iter().for_each(|(_, measure, _)| sum += *measure);
            self.more = Some((rest.len() as u64, sum));
        }
        for (label, _, groups) in parts {
            let mut part = Node { label: label.to_owned(), ..Node::default() };
            part.grow(groups, order, top);
            self.parts.push(part);
        }
    }
}

/// The order in which people look for names: numbers in them by value, letters without case. Labels that differ in case
/// alone have an order too, so that rows never change places from run to run.
pub fn natural(a: &str, b: &str) -> Ordering {
    without_case(a, b).then_with(|| alphanumeric_sort::compare_str(a, b)).then_with(|| a.cmp(b))
}

fn without_case(a: &str, b: &str) -> Ordering {
    first_difference(a.as_bytes(), b.as_bytes())
        .unwrap_or_else(|| alphanumeric_sort::compare_str(a.to_lowercase(), b.to_lowercase()))
}

/// The order of two texts where it is that of their first difference, without case, in ASCII: texts of stacks begin alike for hundreds
/// of bytes. `None` where there is more to compare.
fn first_difference(a: &[u8], b: &[u8]) -> Option<Ordering> {
    const CHUNK: usize = 32;
    let chunks = a.chunks_exact(CHUNK).zip(b.chunks_exact(CHUNK));
    let same = CHUNK * chunks.take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (a.get(same..)?, b.get(same..)?);
    let equal = same + rest_a.iter().zip(rest_b).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let (shared, a, b) = (a.get(..equal)?, a.get(equal..)?, b.get(equal..)?);
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let shared_digits = digits_at_end(shared);
    if !shared.is_ascii() || [a, b].iter().any(|text| text.first().is_some_and(|byte| !byte.is_ascii())) {
        return None;
    }
    let (of_a, of_b) = (digits(a), digits(b));
    if of_a + of_b == 0 || (shared_digits == 0 && (of_a == 0 || of_b == 0)) {
        // No number is longer or shorter here.
        return Some(a.first().map(u8::to_ascii_lowercase).cmp(&b.first().map(u8::to_ascii_lowercase)));
    }
    // The first digit of both numbers: zeros before a number do not count.
    let first = |text: &[u8]| shared.get(equal - shared_digits).or(text.first()).copied();
    if [a, b].iter().any(|text| first(text) == Some(b'0')) {
        return None;
    }
    Some(of_a.cmp(&of_b).then_with(|| a.first().cmp(&b.first())))
}

fn digits_at_end(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn groups() -> Vec<Group<u64>> {
        [("a", "x", 5), ("a", "y", 1), ("b", "x", 9), ("c", "z", 2)]
            .map(|(first, second, pages)| Group {
                labels: vec![Label::name(first), Label::name(second)],
                measure: pages,
            })
            .to_vec()
    }

    #[test]
    fn subtotals_and_what_is_left_out_add_up() {
        let tree = Node::tree(&groups(), |a, b| b.cmp(a), Some(1));
        assert_eq!(tree.measure, 17);
        assert_eq!((tree.parts[0].label.as_str(), tree.parts[0].measure), ("b", 9));
        assert_eq!(tree.more, Some((2, 8)));
        let all = Node::tree(&groups(), |_, _| Ordering::Equal, None);
        assert_eq!(all.parts.iter().map(|p| p.label.as_str()).collect::<String>(), "abc");
        assert_eq!((all.parts[0].parts.len(), all.more), (2, None));
    }

    proptest! {
        #[test]
        fn what_is_equal_before_the_first_difference_changes_no_order(a in "[a0-2:Ké]{0,6}", b in "[a0-2:kÉ]{0,4}", shared in "[A-Ca-c0-2;é]{0,40}") {
            let shared_too = shared.clone();
            for (a, b) in [
                (a.clone(), b.clone()),
                (format!("{shared}{a}"), format!("{}{b}", shared.to_uppercase())),
                (format!("{shared}{a}"), format!("{shared_too}{b}")),
            ] {
                prop_assert_eq!(without_case(&a, &b), alphanumeric_sort::compare_str(a.to_lowercase(), b.to_lowercase()));
            }
        }
    }

    #[test]
    fn names_sort_as_people_look_for_them() {
        let mut names = ["svchost.exe (10)", "Zoom", "svchost.exe (9)", "apple", "Banana", "10", "9", "banana", "n/a"];
        names.sort_by(|a, b| natural(a, b));
        let sorted = ["9", "10", "apple", "Banana", "banana", "n/a", "svchost.exe (9)", "svchost.exe (10)", "Zoom"];
        assert_eq!(names, sorted);
    }
}
