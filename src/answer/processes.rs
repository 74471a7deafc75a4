//! The answer of `pfnset processes`. Wire format: docs/json.md, schema `pfnset.processes`.

use crate::analysis::processes::{ProcessOrder, ProcessSet, tables};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, Unit};
use serde_json::json;

/// The answer of `pfnset processes`: people see groups in this order, and `top` rows on each level.
pub fn answer(set: &ProcessSet, (sort, top): (ProcessOrder, Option<usize>), unit: Unit) -> Answer<'_> {
    let snapshot = set.snapshot.map(|snapshot| {
        json!({
            "index": snapshot.index,
            "time_s": snapshot.time.seconds(),
            "unattributed_private_pages": snapshot.unattributed.private,
            "unattributed_page_table_pages": snapshot.unattributed.page_tables,
            "awe_and_large_pages": snapshot.awe_and_large,
        })
    });
    let facts = Facts::of_trace()
        .is("snapshot_count", set.snapshot_count)
        .is("snapshot", snapshot)
        .filter(&set.filter)
        .is("total", set.total)
        .is("commit_unknown", set.commit_unknown)
        .has("processes", Fact::records(tables::FIELDS, || set.process_records()))
        .group_by(&set.dimensions)
        .has("rows", Fact::table(move || set.group_table(sort, top)));
    Answer {
        warnings: set.warnings.clone(),
        facts,
        tables: vec![set.table(sort, top).titled(title(set)).into()],
        units: Units { size: unit, ..Units::default() },
        ..Answer::new("pfnset.processes")
    }
    .chosen_by(&set.filter)
}

/// `118 processes, 3 of them selected, counts of pages at 1.234 s (snapshot 0 of 2, numbered from 0)`.
fn title(set: &ProcessSet) -> String {
    let (total, selected) = (set.total, set.processes.len() as u64);
    let of_them = match selected == total {
        true => String::new(),
        false => format!(", {} of them selected", numbers::count(selected)),
    };
    let pages = match &set.snapshot {
        None => "; the trace holds no page records".to_owned(),
        Some(snapshot) => {
            let which = numbers::which_snapshot(snapshot.index, set.snapshot_count);
            let which = which.map_or_else(String::new, |which| format!(" ({which})"));
            format!("; counts of pages at {:.3} s{which}", snapshot.time.seconds())
        }
    };
    format!("{} processes{of_them}{pages}", numbers::count(total))
}
