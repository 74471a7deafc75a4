//! The first screen of `pfnset resident`: physical memory with a bar, categories, processes and checks, in 23 lines of 80
//! columns, so that the prompt after them fits too.

use super::consistency_checks;
use crate::analysis::resident::first_screen::PhysicalMemory;
use crate::analysis::resident::query::ResidentView;
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::analysis::table::Table;
use crate::answer::numbers::{self, Unit};
use crate::answer::text_block::Block;
use crate::units::PAGE_BYTES;

/// Its parts.
pub(super) fn screen(set: &ResidentSet, view: &ResidentView, snapshot: &SnapshotSet, unit: Unit) -> Vec<Block> {
    let PhysicalMemory { in_use, modified, standby, free, .. } = snapshot.memory();
    let bar = parts(snapshot, unit).into_iter().zip([in_use, modified, standby, free]).collect();
    let heading = Block::Heading(title(set, snapshot, unit));
    vec![heading, Block::Bar(bar), Block::Table(set.overview(snapshot, view)), checks(view, snapshot)]
}

/// What the checks say.
pub(super) fn checks(view: &ResidentView, snapshot: &SnapshotSet) -> Block {
    match view.columns.all {
        true => Block::Text(consistency_checks::in_full(&snapshot.checks)),
        false => Block::Fitting(consistency_checks::in_short(&snapshot.checks)),
    }
}

/// The same as a table below a title.
pub(super) fn table(set: &ResidentSet, view: &ResidentView, snapshot: &SnapshotSet, unit: Unit) -> Table {
    let parts = parts(snapshot, unit).join(", ");
    set.overview(snapshot, view).titled(format!("{}: {parts}", title(set, snapshot, unit)))
}

/// `Physical memory at 1.234 s: 16,384 MiB, 4,194,304 pages`.
fn title(set: &ResidentSet, snapshot: &SnapshotSet, unit: Unit) -> String {
    let of_all = numbers::which_snapshot(snapshot.index, set.snapshot_count);
    let of_all = of_all.map_or_else(String::new, |which| format!(" ({which})"));
    let amount = unit_of(snapshot, unit).amount(snapshot.selected * PAGE_BYTES);
    let (what, pages) = match snapshot.selected == snapshot.pages {
        true => ("Physical memory", numbers::count(snapshot.pages)),
        false => {
            ("Selected memory", format!("{} of {}", numbers::count(snapshot.selected), numbers::count(snapshot.pages)))
        }
    };
    let rules = whose_rules(set);
    format!("{what} at {:.3} s{of_all}: {amount}, {pages} pages{rules}", snapshot.time.seconds())
}

/// `in use 8,192` and the others; the last one with the unit of all.
fn parts(snapshot: &SnapshotSet, unit: Unit) -> [String; 4] {
    let PhysicalMemory { in_use, modified, standby, free, .. } = snapshot.memory();
    let unit = unit_of(snapshot, unit);
    let show = |what: &str, pages: u64| format!("{what} {}", unit.show(pages * PAGE_BYTES));
    let free = format!("free {}", unit.amount(free * PAGE_BYTES));
    [show("in use", in_use), show("modified", modified), show("standby", standby), free]
}

/// One unit for all numbers of the screen. Many columns leave no place for fractions of large numbers.
fn unit_of(snapshot: &SnapshotSet, unit: Unit) -> Unit {
    match snapshot.selected * PAGE_BYTES {
        bytes if unit == Unit::Auto && (1 << 30..1 << 40).contains(&bytes) => Unit::WholeMib,
        bytes => unit.for_largest(bytes),
    }
}

/// By whose rules pages are counted, where it is not by ours.
pub(super) fn whose_rules(set: &ResidentSet) -> &'static str {
    match () {
        () if set.is_by_wpa() => ", by WPA's rules",
        // Conditions are on our categories: WPA has other pages in those of the same names.
        () if set.compares && !set.filter.is_empty() => "; WPA: same pages",
        () => "",
    }
}
