//! The parts of a whole as a bar, with a legend below it.

use crate::escape::visible;
use std::io::{self, Write};

/// Characters of the parts.
const FILLS: [char; 4] = ['█', '▓', '▒', '░'];
/// Widest bar: longer ones say no more.
const WIDEST: u16 = 100;

/// Writes it.
///
/// # Errors
/// What the writer says.
pub fn text(out: &mut dyn Write, parts: &[(String, u64)], width: u16) -> io::Result<()> {
    let amounts: Vec<u64> = parts.iter().map(|(_, amount)| *amount).collect();
    let filled = |(fill, cells): (char, usize)| std::iter::repeat_n(fill, cells);
    let fills = || FILLS.into_iter().cycle();
    let bar: String = fills().zip(cells(&amounts, width.min(WIDEST).into())).flat_map(filled).collect();
    writeln!(out, "{bar}")?;
    let legend: Vec<String> =
        fills().zip(parts).map(|(fill, (words, _))| format!("{fill} {}", visible(words))).collect();
    joined(&legend, width.into()).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Cells of each part in a bar of this width. A part with an amount has at least one.
fn cells(amounts: &[u64], width: usize) -> Vec<usize> {
    let all: u128 = amounts.iter().copied().map(u128::from).sum();
    let share = |amount: u64| (u128::from(amount) * width as u128 / all.max(1)) as usize;
    let mut cells: Vec<usize> = amounts.iter().map(|&amount| share(amount).max(usize::from(amount > 0))).collect();
    let rest = width as isize - cells.iter().sum::<usize>() as isize;
    // Cells that are left after rounding belong to the largest part.
    if let Some(largest) = cells.iter_mut().max_by_key(|cells| **cells).filter(|_| all > 0) {
        *largest = largest.saturating_add_signed(rest);
    }
    cells
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
    fn a_bar_has_its_width_and_shows_what_is_there() {
        assert_eq!(cells(&[5, 1, 3, 1], 10), [5, 1, 3, 1]);
        assert_eq!(cells(&[1_000_000, 1, 0, 1], 10), [8, 1, 0, 1]);
        assert_eq!((cells(&[0, 0, 0, 1], 4), cells(&[0; 4], 4)), (vec![0, 0, 0, 4], vec![0; 4]));
        assert_eq!(cells(&[u64::MAX, u64::MAX], 4), [2, 2]);
    }

    #[test]
    fn parts_have_their_fills() {
        let mut out = Vec::new();
        let parts = [("in use", 5), ("modified", 1), ("standby", 3), ("free", 1)].map(|(words, n)| (words.into(), n));
        text(&mut out, &parts, 10).unwrap();
        let expected = "█████▓▒▒▒░\n█ in use\n▓ modified\n▒ standby\n░ free\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn no_part_of_the_legend_is_broken() {
        let parts = ["█ in use 1 MiB", "▓ modified 2 MiB", "▒ standby 3 MiB"].map(str::to_owned);
        assert_eq!(joined(&parts, 40), ["█ in use 1 MiB  ▓ modified 2 MiB", "▒ standby 3 MiB"]);
        assert_eq!(joined(&parts, 5).len(), 3);
    }
}
