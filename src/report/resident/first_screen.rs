//! The first screen of `pfnset resident`: physical memory with a bar, categories, processes and checks, in 24 lines of 80
//! columns.

use super::checks;
use crate::analysis::resident::first_screen::PhysicalMemory;
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::report::text::{self, Unit};
use crate::report::{Style, table};
use crate::units::PAGE_BYTES;
use std::io::{self, Write};

/// Characters of the bar: in use, modified, standby, free.
const FILLS: [char; 4] = ['█', '▓', '▒', '░'];
/// Widest bar: longer ones say no more.
const WIDEST: u16 = 100;

/// Prints it.
///
/// # Errors
/// What the writer says.
pub(super) fn print(
    out: &mut dyn Write,
    style: &Style,
    set: &ResidentSet,
    snapshot: &SnapshotSet,
    unit: Unit,
) -> io::Result<()> {
    let width = usize::from(style.width);
    let lines =
        |out: &mut dyn Write, text: &str| text::wrap(text, width).iter().try_for_each(|line| writeln!(out, "{line}"));
    text::wrap(&title(set, snapshot, unit), width).iter().try_for_each(|line| text::heading(out, line))?;
    let memory = snapshot.memory();
    writeln!(out, "{}", bar(&memory, usize::from(style.width.min(WIDEST))))?;
    let legend: Vec<String> =
        FILLS.iter().zip(parts(snapshot, unit)).map(|(fill, part)| format!("{fill} {part}")).collect();
    joined(&legend, width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    table::text(out, &set.overview(snapshot), style, unit_of(snapshot, unit))?;
    if set.is_whole() {
        return checks::print_in_full(out, &snapshot.checks, style);
    }
    lines(out, &checks::in_short(&snapshot.checks, width))
}

/// `Physical memory at 1.234 s: 16,384 MiB, 4,194,304 pages`.
pub(super) fn title(set: &ResidentSet, snapshot: &SnapshotSet, unit: Unit) -> String {
    let of_all = text::which_snapshot(snapshot.index, set.snapshot_count);
    let of_all = of_all.map_or_else(String::new, |which| format!(" ({which})"));
    let amount = unit_of(snapshot, unit).amount(snapshot.selected * PAGE_BYTES);
    let (what, pages) = match snapshot.selected == snapshot.pages {
        true => ("Physical memory", text::count(snapshot.pages)),
        false => ("Selected memory", format!("{} of {}", text::count(snapshot.selected), text::count(snapshot.pages))),
    };
    format!("{what} at {:.3} s{of_all}: {amount}, {pages} pages", snapshot.time.seconds())
}

/// `in use 8,192` and the others; the last one with the unit of all.
pub(super) fn parts(snapshot: &SnapshotSet, unit: Unit) -> [String; 4] {
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

/// A bar of this width.
fn bar(memory: &PhysicalMemory, width: usize) -> String {
    let parts = FILLS.iter().zip(memory.cells(width));
    parts.flat_map(|(fill, cells)| std::iter::repeat_n(*fill, cells)).collect()
}

/// Parts in lines; no part is broken.
fn joined(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut().filter(|line| line.chars().count() + 2 + part.chars().count() <= width) {
            Some(line) => {
                line.push_str("  ");
                line.push_str(part);
            }
            None => lines.push(part.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_what_is_there() {
        let memory = PhysicalMemory { all: 10, in_use: 5, modified: 1, standby: 3, free: 1 };
        assert_eq!(bar(&memory, 10), "█████▓▒▒▒░");
    }

    #[test]
    fn no_part_of_the_legend_is_broken() {
        let parts = ["█ in use 1 MiB", "▓ modified 2 MiB", "▒ standby 3 MiB"].map(str::to_owned);
        assert_eq!(joined(&parts, 40), ["█ in use 1 MiB  ▓ modified 2 MiB", "▒ standby 3 MiB"]);
        assert_eq!(joined(&parts, 5).len(), 3);
    }
}
