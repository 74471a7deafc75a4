//! A table as aligned text. No line is wider than the width, and no number is cut.

use crate::analysis::table::{Align, Column, Fit, Table};
use crate::answer::Units;
use crate::forms::cells::{cells, for_table, heading};
use crate::forms::column_widths::{self, GAP, Natural, WIDEST_WORD};
use crate::forms::line_wrapping;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Writes the table without its title. Where the width is too small, columns that may go are left out, then texts are cut or
/// continue on the next line.
///
/// # Errors
/// What the writer says.
pub fn text(out: &mut dyn Write, table: &Table, units: Units, width: u16) -> io::Result<()> {
    let hidden = print(out, table, units, width)?;
    let names = |column: &usize| table.columns.get(*column);
    let units = for_table(units, table);
    let hidden: Vec<String> = hidden.iter().filter_map(names).map(|column| heading(column, units.size)).collect();
    line_wrapping::not_shown(out, &hidden, width)
}

/// The same for a table with many columns, the lowest ranks of which are left out without their names.
///
/// # Errors
/// What the writer says.
///
/// Returns how many are left out.
pub fn ranked(out: &mut dyn Write, table: &Table, units: Units, width: u16) -> io::Result<u64> {
    Ok(print(out, table, units, width)?.len() as u64)
}

/// Writes it, and returns the numbers of the columns that are left out.
fn print(out: &mut dyn Write, table: &Table, units: Units, width: u16) -> io::Result<Vec<usize>> {
    let rows = rows(table, units, width);
    let natural = natural(table, &rows);
    let shown = column_widths::fitting(&table.columns, &natural, width.into());
    let part = |row: &Vec<String>| {
        if is_across(table, row) { Vec::new() } else { column_widths::lines(row, &table.columns, &shown) }
    };
    let parts: Vec<Vec<Vec<String>>> = rows.iter().map(part).collect();
    let mut widths = vec![0; shown.len()];
    for cells in parts.iter().flatten() {
        widths.iter_mut().zip(cells).for_each(|(width, cell)| *width = cell.width().max(*width));
    }
    let aligns = || shown.iter().filter_map(|&(index, _)| Some(table.columns.get(index)?.align));
    let lines_of = |parts: &Vec<Vec<String>>| -> Vec<String> {
        parts.iter().map(|cells| aligned(cells, aligns().zip(widths.iter().copied()))).collect()
    };
    let lines: Vec<Vec<String>> = parts.iter().map(lines_of).collect();
    let rule = "─".repeat(lines.iter().flatten().map(|line| line.width()).max().unwrap_or(0));
    for (number, (row, lines)) in rows.iter().zip(&lines).enumerate() {
        if number.checked_sub(1).and_then(|number| table.lines.get(number)).is_some_and(|line| line.ruled) {
            writeln!(out, "{rule}")?;
        }
        match row.first().filter(|_| is_across(table, row)) {
            Some(text) => line_wrapping::wrapped(out, text, width)?,
            None => lines.iter().try_for_each(|line| writeln!(out, "{line}"))?,
        }
        if number == 0 {
            writeln!(out, "{rule}")?;
        }
    }
    let is_hidden = |index: &usize| !shown.iter().any(|(other, _)| other == index);
    Ok((0..table.columns.len()).filter(is_hidden).collect())
}

/// True when a width is enough for all columns and all that their cells say.
pub fn fits(table: &Table, units: Units, width: u16) -> bool {
    let natural = natural(table, &rows(table, units, width));
    let all = natural.iter().map(|natural| natural.cell).enumerate();
    column_widths::fitting(&table.columns, &natural, width.into()) == all.collect::<Vec<_>>()
}

/// Headings and lines as they are printed.
fn rows(table: &Table, units: Units, width: u16) -> Vec<Vec<String>> {
    let units = for_table(units, table);
    let titles = table.columns.iter().map(|column| heading(column, units.size));
    let lines = table.lines.iter().map(|line| cells(line, units, Some(width)));
    std::iter::once(titles.collect()).chain(lines).collect()
}

/// True for one cell that goes across all columns.
fn is_across(table: &Table, row: &[String]) -> bool {
    row.len() == 1 && table.columns.len() > 1
}

/// Widths of the widest cells and words.
fn natural(table: &Table, rows: &[Vec<String>]) -> Vec<Natural> {
    let in_columns = || rows.iter().filter(|row| !is_across(table, row));
    let widest = |index: usize| in_columns().filter_map(|row| Some(row.get(index)?.width())).max().unwrap_or(0);
    let word = |index: usize| {
        let cells = in_columns().filter_map(|row| row.get(index));
        let indented = cells.flat_map(|cell| cell.split(' ').map(|word| word.width()));
        indented.filter(|&width| width <= WIDEST_WORD).max().unwrap_or(0)
    };
    let of = |(index, column): (usize, &Column)| Natural {
        cell: widest(index),
        word: if column.fit == Fit::Wraps { word(index) } else { 0 },
    };
    table.columns.iter().enumerate().map(of).collect()
}

/// A line of cells side by side, without blanks at its end.
fn aligned(cells: &[String], columns: impl Iterator<Item = (Align, usize)>) -> String {
    let mut line = String::new();
    for (number, (cell, (align, width))) in cells.iter().zip(columns).enumerate() {
        let pad = width.saturating_sub(cell.width());
        let (before, after) = if align == Align::Left { (0, pad) } else { (pad, 0) };
        line.extend(std::iter::repeat_n(' ', before + if number > 0 { GAP } else { 0 }));
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', after));
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::table::{Field, Forms, Line, Value};
    use crate::forms::markdown;

    fn table() -> Table {
        let total = Line { ruled: true, ..Line::new([Value::text("Total"), Value::count(7), Value::Share(1.0)]) };
        let label = "a long label that does not end before it is cut";
        Table {
            columns: vec![Column::text("Name"), Column::number("Pages"), Column::number("Share").fit(Fit::Leaves(0))],
            lines: vec![Line::new([Value::text(label), Value::count(1234), Value::Share(99.0)]), total],
            fields: vec![Field::only("number", Forms::Alone), Field::new("name"), Field::only("id", Forms::Json)],
            records: vec![
                vec![Value::Number(3), Value::text("a,b"), Value::Hex(255)],
                vec![Value::Number(4), Value::Nothing, Value::Absent],
            ],
            ..Table::default()
        }
    }

    fn printed(width: u16, table: &Table) -> String {
        let mut out = Vec::new();
        text(&mut out, table, Units::default(), width).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn labels_are_cut_in_the_middle_and_numbers_never() {
        let mut table = table();
        table.columns[2].fit = Fit::Stays;
        let text = printed(45, &table);
        assert!(text.lines().all(|line| line.width() <= 45), "{text}");
        assert!(text.contains("…") && text.contains("it is cut  1,234"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with('─')).count(), 2);
    }

    #[test]
    fn columns_that_may_leave_go_before_labels_become_unreadable() {
        let text = printed(40, &table());
        assert!(!text.contains("99.0 %") && text.contains("1,234"), "{text}");
        assert!(text.ends_with("\nNot shown, for lack of width: Share\n"), "{text}");
        assert!(printed(100, &table()).contains("Share"));
    }

    #[test]
    fn spare_columns_go_before_labels_are_cut_and_are_named() {
        let mut table = table();
        table.columns[2].fit = Fit::Spare(0);
        let label = "a long label that does not end before it is cut".len();
        assert!(printed(label as u16 + 2 + 5 + 2 + 6, &table).contains("99.0 %"));
        let text = printed(label as u16 + 2 + 5 + 1 + 6, &table);
        assert!(!text.contains("99.0 %") && !text.contains("…"), "{text}");
        assert!(text.ends_with("Not shown, for lack of width: Share\n"), "{text}");
    }

    #[test]
    fn a_cell_alone_goes_across_all_columns() {
        let mut table = table();
        table.lines[0].cells[0] = Value::text("short");
        let why = "b.etl: a reason that is longer than the table is wide";
        table.lines.insert(1, Line { ruled: true, ..Line::across(why) });
        table.lines.push(Line::across("the end"));
        let text = printed(45, &table);
        let lines: Vec<&str> = text.lines().collect();
        let rule = "─".repeat(20);
        let expected =
            ["short  1,234  99.0 %", &rule, "b.etl: a reason that is longer than the", "  table is wide", &rule];
        assert_eq!(lines[2..7], expected, "{text}");
        assert!(lines[7].starts_with("Total") && lines[8] == "the end", "{text}");
        let mut out = Vec::new();
        markdown::tables(&mut out, [std::borrow::Cow::Owned(table)], Units::default()).unwrap();
        assert!(String::from_utf8(out).unwrap().contains(&format!("| {why} |  |  |\n")));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = table();
        table.lines[0].cells[0] = Value::text("記録".repeat(20));
        let text = printed(45, &table);
        assert!(text.lines().all(|line| line.width() <= 45), "{text}");
        let ends: Vec<usize> = text.lines().skip(2).filter(|l| !l.starts_with('─')).map(|l| l.width()).collect();
        assert_eq!(ends[0], ends[1], "{text}");
    }
}
