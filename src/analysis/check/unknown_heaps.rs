//! Pages of processes of which no heap range is known, which count as VirtualAlloc: where some processes have none, they can be Win32Heap.

use super::measured_value::Value;
use crate::analysis::category_rules::Rule;
use crate::analysis::resident::page_dimensions::Dimension;
use crate::dimensions::Condition;
use crate::model::category::Category;
use crate::units::{PAGE_BYTES, count};

/// Pages that conditions take, or leave out, because nothing tells that they are of a heap.
pub(super) struct Movable {
    /// The conditions again, with VirtualAlloc in place of heaps.
    pub conditions: Vec<Condition<Dimension>>,
    /// True where the value can be greater by them, false where it can be less.
    pub is_more: bool,
}

/// Those of these conditions; `None` where they choose both or neither.
pub(super) fn of_heaps(conditions: &[Condition<Dimension>]) -> Option<Movable> {
    let passes = |condition: &Condition<Dimension>, label: &str| condition.patterns.could_pass(&[label]);
    let labels = |condition: &Condition<Dimension>| match condition.dimension {
        Dimension::Category => Some([Category::Win32Heap.name(), Category::VirtualAlloc.name()]),
        Dimension::Rule => Some([Rule::Heap.id(), Rule::Region.id()]),
        _ => None,
    };
    let takes = |at: usize| {
        let of =
            |condition| labels(condition).and_then(|labels| labels.get(at).copied().map(|label| (condition, label)));
        conditions.iter().filter_map(of).all(|(condition, label)| passes(condition, label))
    };
    let [heaps, regions] = [0, 1].map(takes);
    let replaced = |condition: &Condition<Dimension>| match labels(condition) {
        Some([_, region]) => Condition::fixed(condition.dimension, region),
        None => condition.anew(),
    };
    let conditions = conditions.iter().map(replaced).collect();
    (heaps != regions).then_some(Movable { conditions, is_more: heaps })
}

/// Why it is not known whether a value fails: `fails` tells it of each.
pub(super) fn decided_by_heaps(value: &Value, fails: impl Fn(u64) -> bool) -> Option<String> {
    let other = value.pages.saturating_add_signed(value.of_heaps);
    (fails(value.pages) != fails(other)).then(|| {
        let [least, most] = [value.pages.min(other), value.pages.max(other)].map(bytes);
        format!("{}, so the value is {least} to {most}, and a limit lies between", unknown(value.of_heaps))
    })
}

/// Why a value of nothing can be of heaps.
pub(super) fn none_by_heaps(of_heaps: i64) -> Option<String> {
    (of_heaps > 0).then(|| unknown(of_heaps))
}

fn unknown(pages: i64) -> String {
    let moved = bytes(pages.unsigned_abs());
    format!("no heap range is known of the processes of {moved}, which count as VirtualAlloc and can be Win32Heap")
}

fn bytes(pages: u64) -> String {
    format!("{} bytes", count(pages.saturating_mul(PAGE_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::Dimension as _;

    #[test]
    fn conditions_on_one_of_both_are_asked_for() {
        let asked = |texts: &[&str]| {
            let conditions: Vec<_> = texts.iter().map(|text| Condition::parse(text).unwrap()).collect();
            let written = |of: Condition<Dimension>| format!("{}={}", of.dimension.name(), of.patterns);
            let movable = of_heaps(&conditions)?;
            Some((movable.is_more, movable.conditions.into_iter().map(written).collect::<Vec<_>>().join(" ")))
        };
        let told = |is_more, text: &str| Some((is_more, text.to_owned()));
        assert_eq!(asked(&["category=Win32Heap"]), told(true, "category=VirtualAlloc"));
        assert_eq!(asked(&["process=a.exe", "category=Virtual*"]), told(false, "process=a.exe category=VirtualAlloc"));
        assert_eq!(asked(&["rule=private.heap", "list=Active"]), told(true, "rule=private.region list=Active"));
        for other in ["category=VirtualAlloc;Win32Heap", "category=Image", "process=a.exe", "rule=private.*"] {
            assert_eq!(asked(&[other]), None, "{other}");
        }
        assert_eq!(asked(&["category=!Win32Heap"]), told(false, "category=VirtualAlloc"));
    }
}
