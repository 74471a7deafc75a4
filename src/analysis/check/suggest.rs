//! A first budgets file: the largest processes and categories of a trace.

use crate::analysis::check::budget::{Analysis, Budget, Conditions, Measure};
use crate::analysis::check::measured::{TraceValues, Value};
use crate::facets::vocabulary::CATEGORY;
use crate::facets::{Dimension as _, NO_LABEL, ProcessFacet};
use crate::model::category::Category;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::units::PAGE_BYTES;
use std::collections::BTreeMap;

/// Processes and categories that are suggested.
const MOST: usize = 5;

/// A budget that fits a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// Its name.
    pub name: String,
    /// What is measured.
    pub measure: Measure,
    /// Dimension and patterns; `None` for all pages.
    pub condition: Option<(&'static str, String)>,
    /// What the trace has: pages, faults, or nanoseconds of waits.
    pub pages: u64,
    /// The same and a tenth more, in whole pages or MiB, faults or milliseconds.
    pub max: String,
}

/// A tenth more, as a limit is written.
fn a_tenth_more(pages: u64) -> String {
    const PAGES_OF_MIB: u64 = (1 << 20) / PAGE_BYTES;
    let more = pages.saturating_add(pages.div_ceil(10));
    match more {
        small if small < 10 * PAGES_OF_MIB => format!("{small} pages"),
        large => format!("{} MiB", large.div_ceil(PAGES_OF_MIB)),
    }
}

/// All pages as a budget.
fn whole((analysis, measure): (Analysis, Measure)) -> Budget {
    let conditions = match analysis {
        Analysis::Resident => Conditions::Resident(Vec::new()),
        Analysis::Reference => Conditions::Reference(Vec::new()),
        Analysis::Faults => Conditions::Faults(Vec::new()),
        Analysis::Allocations(_) => Conditions::Allocations(Vec::new()),
    };
    Budget {
        name: measure.name().to_owned(),
        analysis,
        measure,
        conditions,
        symbols: SymbolFolders::default(),
        filter: Vec::new(),
        max: None,
        min: None,
        max_growth: None,
        watch: 0,
        optional: false,
    }
}

/// `chrome.exe` of `chrome.exe (42)`; `None` for a label without a process, and for a name that would not match itself as a pattern.
fn process_name(label: &str) -> Option<&str> {
    let (name, id) = label.strip_suffix(')')?.rsplit_once(" (")?;
    let is_plain = !name.contains(['*', '?', ';', '!', '=']) && name != "Unknown" && !name.is_empty();
    (is_plain && id.parse::<u64>().is_ok()).then_some(name)
}

fn largest<'v>(value: &'v Value, name: &str, key: impl Fn(&'v str) -> Option<&'v str>) -> Vec<(&'v str, u64)> {
    let Some(at) = value.dimensions.iter().position(|dimension| dimension == name) else { return Vec::new() };
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &value.rows {
        if let Some(key) = row.labels.get(at).and_then(|label| key(label)) {
            *sums.entry(key).or_default() += u64::try_from(row.pages).unwrap_or(0);
        }
    }
    let mut all: Vec<(&str, u64)> = sums.into_iter().filter(|(_, pages)| *pages > 0).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    all.truncate(MOST);
    all
}

impl Suggestion {
    fn new(name: String, measure: Measure, condition: Option<(&'static str, String)>, pages: u64) -> Suggestion {
        let max = match measure {
            Measure::HardFaults => pages.saturating_add(pages.div_ceil(10)).to_string(),
            Measure::FaultWait => pages.saturating_add(pages.div_ceil(10)).div_ceil(1_000_000).to_string(),
            _ => a_tenth_more(pages),
        };
        Suggestion { name, measure, condition, pages, max }
    }
}

/// Budgets for a trace, by what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggested {
    /// The budgets.
    pub budgets: Vec<Suggestion>,
    /// Of which analysis there are none, and why.
    pub without: Vec<(Analysis, String)>,
}

/// Budgets for a trace, by what it holds; or why there are none.
///
/// # Errors
/// Why the trace has neither of the two sets.
pub fn suggest(trace: &Trace) -> Result<Suggested, String> {
    let measures = [
        (Analysis::Resident, Measure::Pages),
        (Analysis::Reference, Measure::HeldAtStop),
        (Analysis::Reference, Measure::Peak),
        (Analysis::Faults, Measure::HardFaults),
        (Analysis::Faults, Measure::FaultWait),
    ];
    let values = TraceValues::answer(trace, &measures.map(whole)).values;
    let (mut all, mut without) = (Vec::new(), Vec::new());
    for ((of, measure), value) in measures.into_iter().zip(&values) {
        let value = match value {
            Ok(value) => value,
            Err(reason) => {
                let is_told = without.iter().any(|(analysis, _)| *analysis == of);
                without.extend((!is_told).then(|| (of, reason.clone())));
                continue;
            }
        };
        if of == Analysis::Faults {
            let name = if measure == Measure::HardFaults { "Hard faults" } else { "Waits of hard faults" };
            // Of faults that there are none of, nothing tells what is usual.
            all.extend((value.pages > 0).then(|| Suggestion::new(name.into(), measure, None, value.pages)));
            continue;
        }
        let what = match measure {
            Measure::Pages => "memory",
            Measure::Peak => {
                all.push(Suggestion::new("Reference set, peak".into(), measure, None, value.pages));
                continue;
            }
            _ => "reference set",
        };
        if measure == Measure::HeldAtStop {
            all.push(Suggestion::new("Reference set at stop".into(), measure, None, value.pages));
        }
        let process = ProcessFacet::Process.name();
        for (name, pages) in largest(value, process, process_name) {
            let condition = Some((process, format!("{name} (*)")));
            all.push(Suggestion::new(format!("{name}, {what}"), measure, condition, pages));
        }
        let category = |label| (![NO_LABEL, Category::Unused.name()].contains(&label)).then_some(label);
        for (name, pages) in largest(value, CATEGORY.name, category) {
            let condition = Some((CATEGORY.name, name.to_owned()));
            all.push(Suggestion::new(format!("{name}, {what}"), measure, condition, pages));
        }
    }
    let reason = || values.into_iter().find_map(Result::err).unwrap_or_default();
    if all.is_empty() { Err(reason()) } else { Ok(Suggested { budgets: all, without }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_whole_numbers_with_a_tenth_of_room() {
        assert_eq!(
            [100, 2326, 2400, 256_000].map(a_tenth_more),
            ["110 pages", "2559 pages", "11 MiB", "1100 MiB"].map(String::from)
        );
        assert_eq!(a_tenth_more(u64::MAX), "72057594037927936 MiB");
        assert_eq!(
            (process_name("a b.exe (4)"), process_name("Unknown (-1)"), process_name("n/a")),
            (Some("a b.exe"), None, None)
        );
    }
}
