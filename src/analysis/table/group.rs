//! Nested groups: subtotals, the largest first, and one row for the groups that are left out, so that sums stay exact.

use crate::dimensions::Label;
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
        type Part<'r, M> = (&'r str, Vec<(&'r [Label], M)>);
        let mut parts: Vec<Part<'_, M>> = Vec::new();
        let mut index = std::collections::HashMap::new();
        for (labels, measure) in groups {
            self.measure += measure;
            let Some((first, rest)) = labels.split_first() else { continue };
            let at = *index.entry(first.shown()).or_insert_with(|| {
                parts.push((first.shown(), Vec::new()));
                parts.len() - 1
            });
            if let Some((_, part)) = parts.get_mut(at) {
                part.push((rest, measure));
            }
        }
        for (label, groups) in parts {
            let mut part = Node { label: label.to_owned(), ..Node::default() };
            part.grow(groups, order, top);
            self.parts.push(part);
        }
        self.parts.sort_by(|a, b| order(&a.measure, &b.measure).then_with(|| natural(&a.label, &b.label)));
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

/// The order in which people look for names: numbers in them by value, letters without case. Labels that differ in case
/// alone have an order too, so that rows never change places from run to run.
pub fn natural(a: &str, b: &str) -> Ordering {
    without_case(a, b).then_with(|| alphanumeric_sort::compare_str(a, b)).then_with(|| a.cmp(b))
}

fn without_case(a: &str, b: &str) -> Ordering {
    // Texts of stacks begin alike for hundreds of bytes. Equal letters up to here change nothing; digits can be part of a number.
    let from = if a.is_ascii() && b.is_ascii() { equal_to(a.as_bytes(), b.as_bytes()) } else { 0 };
    let lower = |text: &str| text.get(from..).unwrap_or_default().to_lowercase();
    alphanumeric_sort::compare_str(lower(a), lower(b))
}

/// Where the last character ends that is no digit, of those that two texts have alike before the first difference.
fn equal_to(a: &[u8], b: &[u8]) -> usize {
    let equal = a.iter().zip(b).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let equal = a.get(..equal).unwrap_or_default();
    equal.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1)
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
        fn what_is_equal_before_the_first_difference_changes_no_order(a in "[a0:Ké]{0,6}", b in "[a0:kÉ]{0,4}", shared in "[A-Ca-c0-2;é]{0,8}") {
            for (a, b) in [(a.clone(), b.clone()), (format!("{shared}{a}"), format!("{}{b}", shared.to_uppercase()))] {
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
