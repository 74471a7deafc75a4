//! Where pages go from WPA's categories to the corrected ones, and by which rules.

use crate::analysis::category_rules::Rule;
use crate::analysis::table::{Column, Fit, Line, Table, Value};
use crate::model::category::Category;
use std::collections::BTreeMap;

/// Pages that the two rule sets count under different categories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reclassification {
    /// WPA's category.
    pub from: Category,
    /// The corrected one.
    pub to: Category,
    /// Pages.
    pub pages: u64,
    /// The rules that decided, most pages first.
    pub reasons: Vec<Reason>,
}

/// Why pages have another category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// WPA's rule.
    pub wpa: Rule,
    /// The corrected rule.
    pub corrected: Rule,
    /// Pages that these two decide.
    pub pages: u64,
}

impl Reason {
    /// The reason in words.
    pub fn text(&self) -> String {
        let (ours, wpa) = (self.corrected, self.wpa);
        format!("{}: {}. WPA: {}", ours.condition(), ours.reason(), wpa.reason())
    }
}

/// Reclassifications with most pages first, of pages by the rule of WPA and by ours.
pub fn reclassifications(counted: &BTreeMap<(Rule, Rule), u64>) -> Vec<Reclassification> {
    let mut all: BTreeMap<(usize, usize), Reclassification> = BTreeMap::new();
    for (&(wpa, corrected), &pages) in counted {
        let (from, to) = (wpa.category(), corrected.category());
        if from == to {
            continue;
        }
        let empty = Reclassification { from, to, pages: 0, reasons: Vec::new() };
        let one = all.entry((from as usize, to as usize)).or_insert(empty);
        one.pages += pages;
        one.reasons.push(Reason { wpa, corrected, pages });
    }
    let mut all: Vec<Reclassification> = all.into_values().collect();
    all.iter_mut().for_each(|one| one.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.pages)));
    all.sort_by_key(|one| (std::cmp::Reverse(one.pages), one.from as usize, one.to as usize));
    all
}

/// Reclassifications with their reasons.
pub fn table(all: &[Reclassification]) -> Table {
    let line = |one: &Reclassification, reason: &Reason| {
        Line::new([
            Value::text(one.from.name()),
            Value::text(one.to.name()),
            Value::count(reason.pages),
            Value::pages(reason.pages as i64),
            Value::text(reason.text()),
        ])
    };
    Table {
        columns: vec![
            Column::text("In WPA"),
            Column::text("Corrected"),
            Column::number("Pages"),
            Column::number(""),
            Column::text("Why").fit(Fit::Wraps),
        ],
        lines: all.iter().flat_map(|one| one.reasons.iter().map(move |reason| line(one, reason))).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_moves_is_reclassified() {
        let counted = BTreeMap::from([
            ((Rule::DataFile, Rule::DataFile), 100),
            ((Rule::DataFile, Rule::Unused), 3),
            ((Rule::NoRangeInTrace, Rule::Region), 4),
            ((Rule::NoRangeInTrace, Rule::Heap), 9),
            ((Rule::UnknownOwner, Rule::Region), 6),
        ]);
        let all = reclassifications(&counted);
        let of: Vec<_> = all.iter().map(|one| (one.from, one.to, one.pages, one.reasons.len())).collect();
        use Category::{MapFile, Unused, VirtualAlloc, VirtualAllocPreTrace, Win32Heap};
        let expected = [
            (VirtualAllocPreTrace, VirtualAlloc, 10, 2),
            (VirtualAllocPreTrace, Win32Heap, 9, 1),
            (MapFile, Unused, 3, 1),
        ];
        assert_eq!(of, expected);
        assert_eq!(all[0].reasons[0].wpa, Rule::UnknownOwner);
        assert_eq!(table(&all).lines.len(), 4);
    }
}
