//! Where pages go from WPA's categories to the corrected ones, and by which rules.

use crate::analysis::category::Category;
use crate::analysis::rules::Rule;
use crate::analysis::table::{Column, Fit, Line, Table, Value};
use std::collections::BTreeMap;

/// Pages that the two rule sets count under different categories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
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
    /// In words.
    pub fn text(&self) -> String {
        let (ours, wpa) = (self.corrected, self.wpa);
        format!("{}: {}. WPA: {}", ours.condition(), ours.reason(), wpa.reason())
    }
}

/// Flows with most pages first, of pages by the rule of WPA and by ours.
pub fn flows(counted: &BTreeMap<(Rule, Rule), u64>) -> Vec<Flow> {
    let mut all: BTreeMap<(usize, usize), Flow> = BTreeMap::new();
    for (&(wpa, corrected), &pages) in counted {
        let (from, to) = (wpa.category(), corrected.category());
        if from == to {
            continue;
        }
        let empty = Flow { from, to, pages: 0, reasons: Vec::new() };
        let flow = all.entry((from as usize, to as usize)).or_insert(empty);
        flow.pages += pages;
        flow.reasons.push(Reason { wpa, corrected, pages });
    }
    let mut all: Vec<Flow> = all.into_values().collect();
    all.iter_mut().for_each(|flow| flow.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.pages)));
    all.sort_by_key(|flow| (std::cmp::Reverse(flow.pages), flow.from as usize, flow.to as usize));
    all
}

/// The flows with their reasons.
pub fn table(flows: &[Flow]) -> Table {
    let line = |flow: &Flow, reason: &Reason| {
        Line::new([
            Value::text(flow.from.name()),
            Value::text(flow.to.name()),
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
        lines: flows.iter().flat_map(|flow| flow.reasons.iter().map(move |reason| line(flow, reason))).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_moves_flows() {
        let counted = BTreeMap::from([
            ((Rule::DataFile, Rule::DataFile), 100),
            ((Rule::DataFile, Rule::Unused), 3),
            ((Rule::NoRangeInTrace, Rule::Region), 4),
            ((Rule::NoRangeInTrace, Rule::Heap), 9),
            ((Rule::UnknownOwner, Rule::Region), 6),
        ]);
        let flows = flows(&counted);
        let of: Vec<_> = flows.iter().map(|flow| (flow.from, flow.to, flow.pages, flow.reasons.len())).collect();
        use Category::{MapFile, Unused, VirtualAlloc, VirtualAllocPreTrace, Win32Heap};
        let expected = [
            (VirtualAllocPreTrace, VirtualAlloc, 10, 2),
            (VirtualAllocPreTrace, Win32Heap, 9, 1),
            (MapFile, Unused, 3, 1),
        ];
        assert_eq!(of, expected);
        assert_eq!(flows[0].reasons[0].wpa, Rule::UnknownOwner);
        assert_eq!(table(&flows).lines.len(), 4);
    }
}
