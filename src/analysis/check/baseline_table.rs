//! A baseline that is JSON or CSV of `pfnset resident` or `refset`: the value of a budget in its rows.

use crate::analysis::check::baseline_doubts::doubted;
use crate::analysis::check::budget::{Analysis, Budget, Measure};
use crate::analysis::check::measured_value::{Row, UnknownAmount, Value};
use crate::analysis::check::unknown_by_name::of_unknown_by_name;
use crate::analysis::check::unrecorded::{depends_on_keyword, unrecorded_of_saved};
use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::table::Dimension as _;
use crate::dimensions::Label;
use crate::dimensions::single_dimensions::{CATEGORY, CLASS, FUNCTION, IMPACT, MODULE, RELEASE_REASON, STACK};
use crate::imported::CountedRow;
use crate::imported::pfnset_table::{CountedBy, PfnsetTable};
use crate::imported::selection::{Chosen, ChosenBy};
use crate::imported::wpa::columns::ExportedTable;
use crate::pattern::Patterns;

/// The value of a budget in a table.
pub fn table_value(table: &PfnsetTable, budget: &Budget) -> Result<Value, String> {
    if !fits(table, budget) {
        return Err(format!(
            "the baseline holds no {}; save one with pfnset check --save-baseline",
            budget.measure.name()
        ));
    }
    if is_by_wpa_alone(table) {
        return Err("the baseline counts by WPA's rules; write it by the corrected rules, grouped by the dimensions of the budget, or \
                    use pfnset check --save-baseline"
            .to_owned());
    }
    if let Some(reason) = part(table, budget).or_else(|| doubted(table, budget)) {
        return Err(reason);
    }
    let unrecorded = unrecorded(table, budget)?;
    // What patterns matched elsewhere does not count.
    budget.conditions.forget();
    let conditions = columns_of(table, budget.conditions.by_name())?;
    let snapshot = table.last().ok_or("the baseline does not hold the last whole snapshot of its trace")?;
    let counted = table.rows(snapshot, false);
    let selected = || counted.iter().filter(|row| conditions.iter().all(|of| of.is_met(&row.labels)));
    let row = |row: &CountedRow| Row {
        labels: row.labels.iter().cloned().map(Label::name).collect(),
        pages: row.amount.pages(),
    };
    let pages = sum(selected());
    // Where it lacks a column for what is not known, nobody knows how much that is.
    let amounts = of_unknown_by_name(&budget.conditions).into_iter().filter_map(|of| {
        let by = of.conditions.iter().map(|(name, patterns)| (*name, patterns)).collect();
        let unknown = columns_of(table, by).ok()?;
        let rows = counted.iter().filter(|row| unknown.iter().all(|of| of.is_met(&row.labels)));
        Some(UnknownAmount { amount: sum(rows), ..of.amount })
    });
    let value = Value {
        pages,
        total: sum(counted.iter()),
        dimensions: table.dimensions.clone(),
        rows: selected().map(row).collect(),
        unrecorded,
        scenario_ns: table.selection.span_ns,
        code_page: table.selection.code_page,
        has_no_match: selected().next().is_none() && budget.conditions.has_no_match(),
        ..Value::default()
    };
    Ok(value.with_unowned(amounts))
}

/// A condition, and the column that it is asked of.
struct ColumnOf<'p> {
    at: usize,
    /// True where the labels that are compared follow from those of the column.
    is_source: bool,
    of: Option<Dimension>,
    patterns: &'p Patterns,
}

/// The columns of conditions by their names, but of those by which the table was chosen already.
fn columns_of<'p>(
    table: &PfnsetTable,
    by_name: Vec<(&'static str, &'p Patterns)>,
) -> Result<Vec<ColumnOf<'p>>, String> {
    let open = by_name.into_iter().filter(|(name, patterns)| !table.selection.is_by(name, &patterns.to_string()));
    let column = |(name, patterns): (&'static str, &'p Patterns)| {
        if [FUNCTION.name, MODULE.name, STACK.name].contains(&name) {
            return Err(format!(
                "rows of the baseline have the innermost {name} of each stack at most, and the budget finds any; save one with pfnset check --save-baseline"
            ));
        }
        let at = |name: &str| table.dimensions.iter().position(|dimension| dimension == name);
        let of = Dimension::of_name(name);
        // The class of a category needs no column.
        let source = || Some((at(of?.derived_from()?.name())?, true));
        let place = at(name).map(|at| (at, false)).or_else(source);
        let missing =
            || format!("the baseline has no {name}: write it grouped by {name}, or use pfnset check --save-baseline");
        let (at, is_source) = place.ok_or_else(missing)?;
        Ok(ColumnOf { at, is_source, of, patterns })
    };
    open.map(column).collect()
}

impl ColumnOf<'_> {
    /// Whether a label of a row meets the patterns.
    fn is_met(&self, labels: &[Box<str>]) -> bool {
        let Some(label) = labels.get(self.at) else { return false };
        match self.of {
            Some(dimension) if self.is_source => dimension.meets(&dimension.derived(label), self.patterns),
            Some(dimension) => dimension.meets(label, self.patterns),
            None => self.patterns.matches(label),
        }
    }
}

/// True where the categories of the rows are WPA's and not ours. A column of WPA's categories is the same by all rules.
fn is_by_wpa_alone(table: &PfnsetTable) -> bool {
    let is_of_rules = |name: &String| [CATEGORY.name, CLASS.name].contains(&name.as_str());
    table.counted_by == CountedBy::Wpa && table.dimensions.iter().any(is_of_rules)
}

/// True where the table is of what the budget measures.
fn fits(table: &PfnsetTable, budget: &Budget) -> bool {
    let has = |name: &str| table.dimensions.iter().any(|dimension| dimension == name);
    match (budget.analysis, table.table) {
        (Analysis::Resident, ExportedTable::Resident) => true,
        (Analysis::Reference, ExportedTable::Reference) => {
            budget.measure == Measure::HeldAtStop && !has(RELEASE_REASON.name) && !has(IMPACT.name)
        }
        _ => false,
    }
}

fn sum<'r>(rows: impl Iterator<Item = &'r CountedRow>) -> u64 {
    u64::try_from(rows.map(|row| row.amount.pages()).sum::<i64>()).unwrap_or(0)
}

/// Keywords without which the table counts pages of other categories too; `None` where it does not say it.
fn unrecorded(table: &PfnsetTable, budget: &Budget) -> Result<Option<Vec<String>>, String> {
    let missing = table.selection.missing_keywords.as_ref();
    if let (None, Some(keyword)) = (missing, depends_on_keyword(&budget.conditions)) {
        return Err(format!(
            "the baseline does not say whether the keyword {keyword} was recorded, without which these pages count elsewhere (CSV \
             never says it): write it as JSON, or save a baseline"
        ));
    }
    let found = missing.map(|missing| unrecorded_of_saved(missing, &budget.conditions)).transpose();
    found.map_err(|reason| format!("of the baseline: {reason}"))
}

/// Why the rows of a table are not all that the budget counts.
fn part(table: &PfnsetTable, budget: &Budget) -> Option<String> {
    let selection = &table.selection;
    if selection.chosen == Chosen::NotNamed {
        return Some("the baseline holds only a part of its pages, by conditions that it does not name".to_owned());
    }
    let wanted = budget.conditions.by_name();
    let is_wanted = |by: &ChosenBy| wanted.iter().any(|(name, patterns)| by.is_same(name, &patterns.to_string()));
    if let Some(by) = selection.conditions().iter().find(|by| !is_wanted(by)) {
        return Some(format!("the baseline holds only what meets {}; write it without this condition", by.text()));
    }
    selection.window.map(|(start, stop)| {
        format!(
            "the baseline is of a window that was chosen, {start:.3} s to {stop:.3} s; write it of the whole scenario"
        )
    })
}
