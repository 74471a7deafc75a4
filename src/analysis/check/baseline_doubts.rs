//! What was wrong with the trace of a table when the table was written, and for which budgets it holds no value for that. A table tells it by
//! codes alone: a loss, which in a trace counts where something needed was lost, counts for all budgets here.

use crate::analysis::check::budget::{Budget, Conditions};
use crate::analysis::check::driver_names::could_be_of_drivers;
use crate::analysis::check::required_data::{DRIVERS, NEEDED, Use, use_of};
use crate::analysis::check::trace_values::unknown_by;
use crate::analysis::check::unknown_services::is_by_service;
use crate::dimensions::single_dimensions::{COLD, NON_TRADEABLE, POOL_TAG};
use crate::imported::pfnset_table::PfnsetTable;
use crate::imported::selection::ToldOnce;
use crate::trace::analysis_needs::Recorded;
use crate::trace::trust::untold_labels::LABELS_UNKNOWN;

/// Doubts beside which budgets of a trace have their values all the same.
const ARE_JUDGED: [&str; 5] =
    ["sequence_gaps", "combined_pages_differ", "pfn_database_differs", "rundown_disagrees", "no_trims"];

/// Doubts about whose the pages are.
const OF_OWNERS: [&str; 8] = [
    "rundown_missing",
    "rundown_incomplete",
    "process_starts_missing",
    "process_ends_missing",
    "thread_starts_missing",
    "thread_end_records_missing",
    "file_name_records_missing",
    "keys_name_no_process",
];

/// Why the value of a budget is not known.
pub fn doubted(table: &PfnsetTable, budget: &Budget) -> Option<String> {
    let conditions = &budget.conditions;
    let is_of_owners = || NEEDED.iter().any(|recorded| tell(recorded, "", conditions));
    let untold = [POOL_TAG.name, COLD.name, NON_TRADEABLE.name];
    let is_untold = || is_by_service(conditions) || conditions.by_name().iter().any(|(name, _)| untold.contains(name));
    let concerns = |told: &&ToldOnce, is_grave: bool| {
        let unknown = unknown_by(&told.code);
        match &*told.code {
            _ if !unknown.is_empty() => unknown.iter().any(|(recorded, things)| tell(recorded, things, conditions)),
            LABELS_UNKNOWN => is_untold(),
            code if OF_OWNERS.contains(&code) => is_of_owners(),
            code => is_grave && !ARE_JUDGED.contains(&code),
        }
    };
    let grave = table.selection.grave.iter().flatten().find(|told| concerns(told, true));
    let told = grave.or_else(|| table.selection.notes.iter().find(|told| concerns(told, false)))?;
    Some(format!(
        "when the baseline was written: {}. A baseline that is the trace, or is saved from it, knows which budgets that concerns",
        told.text
    ))
}

/// True where these things tell which pages meet the conditions.
fn tell(recorded: &Recorded, things: &str, conditions: &Conditions) -> bool {
    recorded.exchanges.iter().map(|exchange| use_of(recorded, exchange, conditions)).any(|of| {
        let Use { named, splits, needs, takes } = of;
        let is_named = needs || things != DRIVERS || takes && could_be_of_drivers(conditions);
        splits || named.is_some() && is_named
    })
}
