//! The tables of many traces as one: the trace is the first dimension.

use super::{Align, Column, Fit, Line, Table, Value};
use std::borrow::Cow;

/// Lines of many traces for people. Nested rows are nested in their trace, which has the line of the total, above what
/// they are of: their window or snapshot; rows of other tables have a column for the trace.
#[derive(Debug, Default)]
pub struct TraceTable {
    columns: Vec<Column>,
    lines: Vec<Line>,
    was_long: bool,
}

impl TraceTable {
    /// Adds the tables of a trace. What is said of it stands above its rows where they are nested.
    pub fn add(&mut self, trace: &str, said: &[String], tables: Vec<Table>) {
        let has_several = tables.len() > 1;
        for mut table in tables {
            let is_nested = table.columns.first().is_some_and(|first| first.align == Align::Left);
            let places = self.places(&table.columns, is_nested);
            let title = table.title.take();
            let name = match &title {
                Some(title) if has_several => format!("{trace}: {title}"),
                _ => trace.to_owned(),
            };
            let mut lines: Vec<Line> = Vec::new();
            if is_nested {
                lines.push(head(&mut table, &name, has_several));
                let below = said.iter().chain(title.iter().filter(|_| !has_several));
                lines.extend(below.map(|text| Line { depth: 1, ..Line::across(text) }));
            }
            for mut line in table.lines {
                if is_nested {
                    line.depth += 1;
                } else if let [Value::Text(text)] = line.cells.as_slice() {
                    line = Line { ruled: line.ruled, ..Line::across(&format!("{name}: {text}")) };
                } else {
                    line.cells.insert(0, Value::text(&name));
                }
                lines.push(line);
            }
            let is_long = lines.len() > 1;
            if let Some(first) = lines.first_mut() {
                first.ruled = (is_long || self.was_long) && !self.lines.is_empty();
            }
            self.was_long = is_long;
            self.lines.extend(lines.into_iter().map(|line| placed(line, &places)));
        }
    }

    /// Adds a line that says why a trace has no table.
    pub fn add_error(&mut self, text: &str) {
        let ruled = self.was_long && !self.lines.is_empty();
        self.was_long = false;
        self.lines.push(Line { ruled, ..Line::across(text) });
    }

    /// The whole table.
    pub fn into_table(self) -> Table {
        let mut columns = self.columns;
        if columns.is_empty() {
            columns.push(Column::text("Trace").fit(Fit::Wraps));
        }
        Table { columns, lines: self.lines, ..Table::default() }
    }

    /// Where each cell of a table with these columns goes. Columns that no trace before had come last.
    fn places(&mut self, columns: &[Column], is_nested: bool) -> Vec<usize> {
        let (labels, others) = columns.split_at(usize::from(is_nested).min(columns.len()));
        if self.columns.is_empty() {
            let title = match labels.first().map(|labels| labels.title.as_ref()) {
                None | Some("") => Cow::Borrowed("Trace"),
                Some(labels) => Cow::Owned(format!("Trace / {labels}")),
            };
            let has_unit = labels.first().is_some_and(|labels| labels.has_unit);
            self.columns.push(Column { has_unit, ..Column::text(title) });
        }
        let mut places = vec![0];
        for column in others {
            let same = |(place, known): (usize, &Column)| known.title == column.title && !places.contains(&place);
            let known = self.columns.iter().enumerate().position(same);
            places.push(known.unwrap_or_else(|| {
                self.columns.push(column.clone());
                self.columns.len() - 1
            }));
        }
        places
    }
}

/// The line of the trace: the total of its rows, where they have one.
fn head(table: &mut Table, name: &str, keeps_total: bool) -> Line {
    let is_total = |line: &Line| line.ruled && line.cells.first() == Some(&Value::text("Total"));
    let total = table.lines.iter().position(is_total).filter(|_| !keeps_total);
    let Some(mut total) = total.map(|at| table.lines.remove(at)) else { return Line::across(name) };
    total.cells.first_mut().into_iter().for_each(|label| *label = Value::text(name));
    total
}

fn placed(line: Line, places: &[usize]) -> Line {
    if line.cells.len() == 1 {
        return line;
    }
    let width = places.iter().max().map_or(0, |last| last + 1);
    let mut cells = vec![Value::Nothing; width];
    for (cell, &place) in line.cells.into_iter().zip(places) {
        cells.get_mut(place).into_iter().for_each(|to| *to = cell.clone());
    }
    Line { cells, ..line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(columns: &[&'static str], cells: &[i64]) -> Table {
        let line = |label: &str, cells: &[i64]| {
            Line::new(std::iter::once(Value::text(label)).chain(cells.iter().map(|&cell| Value::Count(cell))))
        };
        Table {
            columns: std::iter::once(Column::text("Class")).chain(columns.iter().map(|&c| Column::number(c))).collect(),
            lines: vec![line("File", cells), Line { ruled: true, ..line("Total", cells) }],
            ..Table::default()
        }
    }

    #[test]
    fn a_trace_has_the_line_of_its_total_and_columns_are_matched_by_their_headings() {
        let mut all = TraceTable::default();
        all.add("a.etl", &[], vec![nested(&["x", "y"], &[1, 2])]);
        all.add_error("b.etl: no trace");
        all.add("c.etl", &[], vec![nested(&["y", "z"], &[3, 4])]);
        let table = all.into_table();
        let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_ref()).collect();
        assert_eq!(titles, ["Trace / Class", "x", "y", "z"]);
        let lines: Vec<_> = table.lines.iter().map(|line| (line.depth, line.ruled, line.cells.clone())).collect();
        let [x, y, z] = [1, 2, 3].map(Value::Count);
        assert_eq!(lines[0], (0, false, vec![Value::text("a.etl"), x.clone(), y.clone()]));
        assert_eq!(lines[1], (1, false, vec![Value::text("File"), x, y]));
        assert_eq!(lines[2], (0, true, vec![Value::text("b.etl: no trace")]));
        assert_eq!(lines[3], (0, true, vec![Value::text("c.etl"), Value::Nothing, z, Value::Count(4)]));
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn rows_that_are_not_nested_have_a_column_for_the_trace() {
        let times = |time: i64| Table {
            columns: vec![Column::number("Time s"), Column::number("Pages")],
            lines: vec![Line::new([Value::Count(time), Value::Count(7)])],
            ..Table::default()
        };
        let mut all = TraceTable::default();
        all.add("a.etl", &[], vec![times(1), times(2).titled("Snapshot 1")]);
        let table = all.into_table();
        assert_eq!(table.columns[0].title, "Trace");
        assert_eq!(table.lines[0].cells, [Value::text("a.etl"), Value::Count(1), Value::Count(7)]);
        assert_eq!(table.lines[1].cells[0], Value::text("a.etl: Snapshot 1"));
        let mut none = TraceTable::default();
        none.add_error("x");
        assert_eq!((none.into_table().columns.len(), TraceTable::default().into_table().lines.len()), (1, 0));
    }
}
