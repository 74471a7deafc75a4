//! The answer of `pfnset resident`. Wire format: docs/json.md, schema `pfnset.resident`.

mod consistency_checks;
mod first_screen;
mod stacks;

use crate::analysis::resident::query::ResidentView;
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, Unit};
use crate::answer::text_block::Block;
use crate::units::PAGE_BYTES;

/// The answer of `pfnset resident`; people see the first screen instead of the table of rows where it was asked for.
pub fn answer<'a>(set: &'a ResidentSet, view: &ResidentView, unit: Unit, is_first_screen: bool) -> Answer<'a> {
    let table = |snapshot| set.table(snapshot, view).titled(title(set, snapshot, view)).into();
    let tables = set.snapshots.iter().map(table).collect();
    Answer {
        warnings: set.warnings.clone(),
        headline: has_no_match(set).then(|| NO_MATCH.to_owned()).into_iter().collect(),
        facts: facts(set),
        tables,
        notes: notes(set),
        screen: Some(screen(set, view, unit, is_first_screen)),
        document: is_first_screen.then(|| document(set, view, unit)),
        units: Units { size: unit, ..Units::default() },
        ..Answer::new("pfnset.resident")
    }
    .chosen_by(&set.filter)
}

fn facts(set: &ResidentSet) -> Facts<'_> {
    let of_snapshot = move |(number, snapshot): (usize, &SnapshotSet)| {
        let facts = Facts::default()
            .is("index", snapshot.index)
            .is("is_last", set.last == Some(snapshot.index))
            .is("time_s", snapshot.time.seconds())
            .is("pages", snapshot.pages)
            .is("bytes", snapshot.pages * PAGE_BYTES)
            .is("selected_pages", snapshot.selected)
            .is("checks", consistency_checks::json(&snapshot.checks))
            .has("rows", Fact::Rows(number));
        Fact::Object(match snapshot.stacks {
            Some(share) => facts.is("stacks", stacks::of_pages(share)),
            None => facts,
        })
    };
    let facts = Facts::of_trace()
        .doubts(&set.warnings)
        .notes(&set.warnings)
        .filter(&set.filter)
        .missing(&set.missing)
        .code_page(set.code_page)
        .is("classification", set.classification.name())
        .group_by(&set.dimensions)
        .is("snapshot_count", set.snapshot_count)
        .has("snapshots", Fact::list(move || set.snapshots.iter().enumerate().map(of_snapshot)));
    match set.stacks {
        Some(share) => facts.is("stacks", stacks::of_allocations(share)),
        None => facts,
    }
}

/// Of how many pages of each snapshot the stack is known, where rows or conditions ask for stacks.
fn notes(set: &ResidentSet) -> Vec<String> {
    let of_snapshot = |snapshot: &SnapshotSet| {
        let note = stacks::in_full(set, snapshot)?;
        Some(if set.snapshots.len() > 1 { format!("Snapshot {}: {note}", snapshot.index) } else { note })
    };
    set.snapshots.iter().filter_map(of_snapshot).collect()
}

fn screen(set: &ResidentSet, view: &ResidentView, unit: Unit, is_first_screen: bool) -> Vec<Block> {
    let mut screen = Vec::new();
    for (number, snapshot) in set.snapshots.iter().enumerate() {
        if number > 0 {
            screen.push(Block::Blank);
        }
        match is_first_screen && !is_empty(snapshot) {
            true => {
                screen.extend(first_screen::screen(set, view, snapshot, unit));
                screen.extend(stacks::in_short(set, snapshot).map(Block::Line));
            }
            false => screen.extend(rows(set, number, snapshot, view)),
        }
    }
    screen
}

fn document(set: &ResidentSet, view: &ResidentView, unit: Unit) -> Vec<Block> {
    let mut document = Vec::new();
    for (number, snapshot) in set.snapshots.iter().enumerate() {
        document.extend((number > 0).then_some(Block::Blank));
        document.push(Block::Table(first_screen::table(set, view, snapshot, unit)));
        if !is_empty(snapshot) {
            document.push(first_screen::checks(view, snapshot));
            document.extend(stacks::in_short(set, snapshot).map(Block::Text));
        }
    }
    document
}

/// `Snapshot 0 of 2, numbered from 0, at 1.234 s: 4,096 pages, 16.00 MiB, 12 of them selected; columns without a unit: pages`.
fn title(set: &ResidentSet, snapshot: &SnapshotSet, view: &ResidentView) -> String {
    let which = numbers::which_snapshot(snapshot.index, set.snapshot_count);
    let which = which.map_or_else(|| "Snapshot".to_owned(), |which| format!("{},", which.replacen('s', "S", 1)));
    let selected = match snapshot.selected == snapshot.pages {
        true => String::new(),
        false => format!(", {} of them selected", numbers::count(snapshot.selected)),
    };
    format!(
        "{which} at {:.3} s: {} pages, {}{selected}{}{}",
        snapshot.time.seconds(),
        numbers::count(snapshot.pages),
        numbers::bytes(snapshot.pages * PAGE_BYTES),
        first_screen::whose_rules(set),
        if view.columns.lists_across { "" } else { "; columns without a unit: pages" }
    )
}

/// That conditions choose nothing of a snapshot.
const NO_MATCH: &str =
    "No page meets the conditions of --where; pfnset resident TRACE --group-by DIMENSION lists the labels";

/// True for a snapshot of which conditions choose no page.
fn is_empty(snapshot: &SnapshotSet) -> bool {
    snapshot.selected == 0 && snapshot.pages > 0
}

/// True where they choose none of any snapshot: every form says so above its tables, also those that have no screen.
fn has_no_match(set: &ResidentSet) -> bool {
    !set.snapshots.is_empty() && set.snapshots.iter().all(is_empty)
}

fn rows(set: &ResidentSet, number: usize, snapshot: &SnapshotSet, view: &ResidentView) -> Vec<Block> {
    let mut rows = vec![Block::Title(title(set, snapshot, view))];
    rows.push(Block::Blank);
    if is_empty(snapshot) {
        // Above all is said what is true of all snapshots.
        rows.extend((!has_no_match(set)).then(|| Block::Line(NO_MATCH.to_owned())));
        rows.extend(stacks::in_short(set, snapshot).map(Block::Text));
        return rows;
    }
    rows.push(Block::Rows(number));
    rows.extend(stacks::in_full(set, snapshot).into_iter().flat_map(|note| [Block::Blank, Block::Text(note)]));
    if view.columns.all {
        rows.push(Block::Text(consistency_checks::in_full(&snapshot.checks)));
    }
    rows
}
