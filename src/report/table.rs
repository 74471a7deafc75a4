//! The writers of a [`Table`]: text, CSV, JSON, JSON lines, Markdown.

use crate::analysis::table::fit::GAP;
use crate::analysis::table::{Align, Field, Fit, Forms, Line, Table, Value};
use crate::report::fit;
use crate::report::text::{self, Unit, printable};
use crate::report::{Style, to_json};
use serde_json::{Map, json};
use std::borrow::Cow;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Writes the table as aligned text, without its title. No line is wider than the style allows, and no number is cut: where the
/// width is too small, columns that may go are left out, then texts are cut or continue on the next line.
///
/// # Errors
/// What the writer says.
pub fn text(out: &mut dyn Write, table: &Table, style: &Style, unit: Unit) -> io::Result<()> {
    let unit = unit.for_largest(largest(table));
    let rows = rows(table, unit);
    let natural = natural(table, &rows);
    let shown = table.fitting(&natural, usize::from(style.width));

    let part =
        |row: &Vec<String>| if is_across(table, row) { Vec::new() } else { fit::lines(row, &table.columns, &shown) };
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
    let width = lines.iter().flatten().map(|line| line.width()).max().unwrap_or(0);
    let rule = "─".repeat(width);
    for (number, (row, lines)) in rows.iter().zip(&lines).enumerate() {
        if number.checked_sub(1).and_then(|number| table.lines.get(number)).is_some_and(|line| line.ruled) {
            writeln!(out, "{rule}")?;
        }
        match row.first().filter(|_| is_across(table, row)) {
            Some(text) => text::wrapped(out, text, style.width)?,
            None => lines.iter().try_for_each(|line| writeln!(out, "{line}"))?,
        }
        if number == 0 {
            writeln!(out, "{rule}")?;
        }
    }
    let is_hidden = |index: &usize| !shown.iter().any(|(other, _)| other == index);
    let hidden = table.columns.iter().enumerate().filter(|(index, _)| is_hidden(index));
    let hidden = hidden.filter(|(_, column)| !matches!(column.fit, Fit::Spare(_)));
    let hidden: Vec<String> = hidden.map(|(_, column)| heading(&column.title, column.align, unit)).collect();
    text::not_shown(out, &hidden, style.width)
}

/// True when a width is enough for all columns and all that their cells say.
pub fn fits(table: &Table, style: &Style, unit: Unit) -> bool {
    let natural = natural(table, &rows(table, unit.for_largest(largest(table))));
    table.fitting(&natural, usize::from(style.width)) == natural.iter().copied().enumerate().collect::<Vec<_>>()
}

/// Headings and lines as they are printed.
fn rows(table: &Table, unit: Unit) -> Vec<Vec<String>> {
    let titles = table.columns.iter().map(|column| heading(&column.title, column.align, unit));
    std::iter::once(titles.collect()).chain(table.lines.iter().map(|line| cells(line, unit))).collect()
}

/// True for one cell that goes across all columns.
fn is_across(table: &Table, row: &[String]) -> bool {
    row.len() == 1 && table.columns.len() > 1
}

/// Widths of the widest cells.
fn natural(table: &Table, rows: &[Vec<String>]) -> Vec<usize> {
    let in_columns = || rows.iter().filter(|row| !is_across(table, row));
    let widest = |index: usize| in_columns().filter_map(|row| Some(row.get(index)?.width())).max().unwrap_or(0);
    (0..table.columns.len()).map(widest).collect()
}

/// The largest amount of memory that is printed, bytes.
pub(super) fn largest(table: &Table) -> u64 {
    let cells = table.lines.iter().flat_map(|line| &line.cells);
    let sizes = cells.filter_map(|cell| if let Value::Size(bytes) = cell { Some(bytes.unsigned_abs()) } else { None });
    sizes.max().unwrap_or(0)
}

pub(super) fn heading(title: &str, align: Align, unit: Unit) -> String {
    if title.is_empty() && align == Align::Right { unit.title().to_owned() } else { title.to_owned() }
}

/// The cells of a line, the first one indented.
fn cells(line: &Line, unit: Unit) -> Vec<String> {
    let mut cells: Vec<String> = line.cells.iter().map(|value| shown(value, unit)).collect();
    cells.first_mut().into_iter().for_each(|label| label.insert_str(0, &"  ".repeat(line.depth)));
    cells
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

/// A value for people.
pub(super) fn shown(value: &Value, unit: Unit) -> String {
    let signed = |value: i64, show: &dyn Fn(u64) -> String| {
        format!("{}{}", if value < 0 { "-" } else { "" }, show(value.unsigned_abs()))
    };
    match value {
        Value::Nothing | Value::Absent | Value::CountIfAny(0) => String::new(),
        Value::Difference(0) | Value::SizeDifference(0) => String::new(),
        Value::Text(text) => printable(text).into_owned(),
        Value::List(texts) => texts.join(", "),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Count(count) => signed(*count, &text::count),
        Value::CountIfAny(count) => text::count(*count),
        Value::Difference(more) => format!("{}{}", if *more > 0 { "+" } else { "" }, signed(*more, &text::count)),
        Value::Size(bytes) => signed(*bytes, &|bytes| unit.show(bytes)),
        Value::SizeDifference(more) => {
            format!("{}{}", if *more > 0 { "+" } else { "" }, signed(*more, &|bytes| unit.show(bytes)))
        }
        Value::Bytes(bytes) => text::bytes(*bytes),
        Value::Share(percent) => format!("{percent:.1} %"),
        Value::Seconds(time) | Value::ExactSeconds(time) => text::seconds(*time),
        Value::Duration(nanos) => text::TimeUnit::Auto.show(*nanos),
        Value::Decimal(number) => format!("{number:.3}"),
        Value::Hex(number) => format!("0x{number:x}"),
        Value::More(count, what) => format!("+ {} {what}", text::count(*count)),
    }
}

/// The number by which a value is sorted; `None` for texts.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Nothing | Value::Absent | Value::Text(_) | Value::List(_) | Value::Flag(_) | Value::More(..) => None,
        Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
            Some(*number as f64)
        }
        Value::Count(number) | Value::Difference(number) | Value::Size(number) | Value::SizeDifference(number) => {
            Some(*number as f64)
        }
        Value::Share(number) | Value::Decimal(number) => Some(*number),
        Value::Seconds(time) | Value::ExactSeconds(time) => Some(time.seconds()),
        Value::Hex(number) => Some(*number as f64),
    }
}

/// A value for programs, as text.
fn plain(value: &Value) -> Cow<'_, str> {
    Cow::Owned(match value {
        Value::Nothing | Value::Absent => String::new(),
        Value::Text(text) => return Cow::Borrowed(text),
        Value::List(texts) => texts.join("+"),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
            number.to_string()
        }
        Value::Decimal(number) => number.to_string(),
        Value::Count(number) | Value::Difference(number) | Value::Size(number) | Value::SizeDifference(number) => {
            number.to_string()
        }
        Value::Share(percent) => percent.to_string(),
        Value::Seconds(time) => text::seconds(*time),
        Value::ExactSeconds(time) => time.seconds().to_string(),
        Value::Hex(_) | Value::More(..) => shown(value, Unit::Auto),
    })
}

/// A value as JSON.
fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Nothing | Value::Absent => serde_json::Value::Null,
        Value::Flag(flag) => json!(flag),
        Value::List(texts) => json!(texts),
        Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
            json!(number)
        }
        Value::Decimal(number) => json!(number),
        Value::Count(number) | Value::Difference(number) | Value::Size(number) | Value::SizeDifference(number) => {
            json!(number)
        }
        Value::Share(percent) => json!(percent),
        Value::Seconds(time) | Value::ExactSeconds(time) => json!(time.seconds()),
        Value::Text(_) | Value::Hex(_) | Value::More(..) => json!(plain(value)),
    }
}

/// The values of a record that are written in one of these forms, with their names.
fn written<'t>(
    table: &'t Table,
    record: &'t [Value],
    forms: &'t [Forms],
) -> impl Iterator<Item = (&'t Field, &'t Value)> {
    table.fields.iter().zip(record).filter(|(field, _)| forms.contains(&field.forms))
}

fn object(table: &Table, record: &[Value], forms: &[Forms]) -> serde_json::Value {
    let values = written(table, record, forms).filter(|(_, value)| **value != Value::Absent);
    values.map(|(field, value)| (field.name.to_owned(), json_value(value))).collect::<Map<_, _>>().into()
}

/// The records as JSON objects.
pub fn objects(table: &Table) -> serde_json::Value {
    let objects = table.records.iter().map(|record| object(table, record, &[Forms::All, Forms::Json]));
    to_json(&objects.collect::<Vec<_>>())
}

/// Writes one JSON object on each line.
///
/// # Errors
/// What the writer says.
pub fn json_lines(out: &mut dyn Write, tables: &[Table]) -> io::Result<()> {
    for table in tables {
        for record in &table.records {
            serde_json::to_writer(&mut *out, &object(table, record, &[Forms::All, Forms::Json, Forms::Alone]))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Writes the records of tables with the same fields below one heading.
///
/// # Errors
/// What the writer says.
pub fn csv(out: &mut dyn Write, tables: &[Table]) -> io::Result<()> {
    csv_rows(out, tables, true)
}

/// The same; without the heading it continues what was written.
///
/// # Errors
/// What the writer says.
pub fn csv_rows(out: &mut dyn Write, tables: &[Table], has_heading: bool) -> io::Result<()> {
    const WRITTEN: [Forms; 3] = [Forms::All, Forms::Csv, Forms::Alone];
    let mut csv = csv::Writer::from_writer(out);
    let fields = tables.first().into_iter().flat_map(|table| &table.fields);
    let names: Vec<&str> = fields.filter(|field| WRITTEN.contains(&field.forms)).map(|field| field.name).collect();
    if has_heading && !names.is_empty() {
        csv.write_record(names)?;
    }
    for table in tables {
        for record in &table.records {
            csv.write_record(written(table, record, &WRITTEN).map(|(_, value)| plain(value).into_owned()))?;
        }
    }
    csv.flush()
}

/// Writes tables as Markdown (GitHub's), each below its title.
///
/// # Errors
/// What the writer says.
pub fn markdown(out: &mut dyn Write, tables: &[Table], unit: Unit) -> io::Result<()> {
    let escaped = |cell: String| cell.replace('\\', "\\\\").replace('|', "\\|").replace("  ", "&emsp;");
    for (number, table) in tables.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let unit = unit.for_largest(largest(table));
        if let Some(title) = &table.title {
            writeln!(out, "**{}**\n", printable(title))?;
        }
        let titles = table.columns.iter().map(|column| escaped(heading(&column.title, column.align, unit)));
        writeln!(out, "| {} |", titles.collect::<Vec<_>>().join(" | "))?;
        let rules = table.columns.iter().map(|column| if column.align == Align::Left { "---" } else { "---:" });
        writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"))?;
        for line in &table.lines {
            let mut cells = cells(line, unit);
            cells.resize(table.columns.len().max(cells.len()), String::new());
            writeln!(out, "| {} |", cells.into_iter().map(escaped).collect::<Vec<_>>().join(" | "))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::table::{Column, Fit};

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
        text(&mut out, table, &Style { width }, Unit::Auto).unwrap();
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
    fn spare_columns_are_not_missed() {
        let mut table = table();
        table.columns[2].fit = Fit::Spare(0);
        let label = "a long label that does not end before it is cut".len();
        assert!(printed(label as u16 + 2 + 5 + 2 + 6, &table).contains("99.0 %"));
        let text = printed(label as u16 + 2 + 5 + 1 + 6, &table);
        assert!(!text.contains("99.0 %") && !text.contains("Not shown") && !text.contains("…"), "{text}");
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
        markdown(&mut out, &[table], Unit::Auto).unwrap();
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

    #[test]
    fn each_form_has_its_fields() {
        let (mut lines, mut csv_text) = (Vec::new(), Vec::new());
        json_lines(&mut lines, &[table()]).unwrap();
        csv(&mut csv_text, &[table(), table()]).unwrap();
        let expected = "{\"number\":3,\"name\":\"a,b\",\"id\":\"0xff\"}\n{\"number\":4,\"name\":null}\n";
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
        let rows = "3,\"a,b\"\n4,\n";
        assert_eq!(String::from_utf8(csv_text).unwrap(), format!("number,name\n{rows}{rows}"));
        assert_eq!(objects(&table()), json!([{ "name": "a,b", "id": "0xff" }, { "name": null }]));
    }

    #[test]
    fn markdown_keeps_nesting_and_escapes_bars() {
        let mut table = table().titled("Rows");
        table.lines = vec![Line { depth: 1, ..Line::new([Value::text("a|b"), Value::count(1), Value::Share(50.0)]) }];
        let mut out = Vec::new();
        markdown(&mut out, &[table], Unit::Auto).unwrap();
        let expected = "**Rows**\n\n| Name | Pages | Share |\n|---|---:|---:|\n| &emsp;a\\|b | 1 | 50.0 % |\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
