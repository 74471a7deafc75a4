//! The table of traces and budgets with which the answer about several traces begins.

use crate::analysis::check::verdict::Verdict;
use crate::analysis::check::{BudgetResult, TraceResult, worst};
use crate::analysis::table::{Column, Fit, Line, Table, Value as Cell};
use crate::answer::check_amounts::{Amounts, decisive};
use crate::answer::numbers::Unit;

/// All traces and all budgets: verdicts, and by how much limits are broken. Where the width is small, the budgets with the best
/// verdicts are left out first, of these the last.
pub(super) fn overview(traces: &[TraceResult], unit: Unit) -> Option<Table> {
    let first = traces.first().filter(|_| traces.len() > 1)?;
    // Columns of one verdict are left out from the last on.
    const OF_A_VERDICT: u8 = 50;
    let column = |(at, result): (usize, &BudgetResult)| {
        let worst = worst(traces.iter().filter_map(|trace| trace.budgets.get(at)).map(BudgetResult::counted));
        let place = u8::try_from(first.budgets.len().saturating_sub(at)).unwrap_or(u8::MAX).min(OF_A_VERDICT);
        Column::text(result.budget.name.clone()).fit(Fit::Leaves(worst as u8 * OF_A_VERDICT + place))
    };
    let cell = |result: &BudgetResult| {
        let beyond = decisive(result).filter(|limit| limit.room < 0);
        let text = match beyond.filter(|_| result.verdict == Verdict::Fail) {
            Some(limit) => {
                format!(
                    "{} {}: {}",
                    result.verdict.name(),
                    limit.kind.name(),
                    Amounts::new(result, unit).shown(limit.room)
                )
            }
            None => result.verdict.name().to_owned(),
        };
        Cell::text(text)
    };
    let line = |trace: &TraceResult| {
        let head = [Cell::text(trace.names()), Cell::text(trace.verdict.name())];
        Line::new(head.into_iter().chain(trace.budgets.iter().map(cell)))
    };
    let head = [Column::text("Trace"), Column::text("Verdict").fit(Fit::Stays)];
    Some(Table {
        columns: head.into_iter().chain(first.budgets.iter().enumerate().map(column)).collect(),
        lines: traces.iter().map(line).collect(),
        ..Table::default()
    })
}
