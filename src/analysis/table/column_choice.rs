//! Columns that a user chooses, by their headings.

use crate::analysis::table::{Align, Column, Fit, Table, spelling};
use crate::error::Error;

impl Column {
    /// The heading as it is written on a command line: without capitals and commas, `_` for blanks; that of the user's unit is `size`.
    pub fn name(&self) -> String {
        match self.title.as_ref() {
            "" => "size".to_owned(),
            title => plain(title),
        }
    }
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(',', "").replace([' ', '-', '/'], "_")
}

impl Table {
    /// The table for people with the labels of its rows and the columns of `a,b,c` in this order.
    ///
    /// # Errors
    /// A usage error for a name that is no heading, and for one that occurs twice.
    pub fn with_columns(mut self, names: &str) -> Result<Table, Error> {
        let known: Vec<String> = self.columns.iter().skip(1).map(Column::name).collect();
        let is_label = |at: usize, column: &Column| at == 0 || column.is_label;
        let labels = self.columns.iter().enumerate().filter(|(at, column)| is_label(*at, column));
        let mut chosen: Vec<usize> = labels.map(|(at, _)| at).collect();
        let mut named = Vec::new();
        for name in names.split(',') {
            let Some(at) = known.iter().position(|known| *known == plain(name)) else {
                let advice = spelling::advice(name, known.iter().map(String::as_str));
                return Err(Error::Usage(format!("unknown column \"{}\"{advice}", name.trim())));
            };
            if named.contains(&at) {
                return Err(Error::Usage(format!("column {} is named twice", name.trim())));
            }
            named.push(at);
            if !chosen.contains(&(at + 1)) {
                chosen.push(at + 1);
            }
        }
        // What was asked for stays where the width is small.
        for column in &mut self.columns {
            column.fit = match (column.fit, column.align) {
                (Fit::Wraps, _) => Fit::Wraps,
                (_, Align::Left) => Fit::Shrinks,
                (_, Align::Right) => Fit::Stays,
            };
        }
        self.columns = chosen.iter().filter_map(|&at| self.columns.get(at).cloned()).collect();
        for line in &mut self.lines {
            line.cells = chosen.iter().filter_map(|&at| line.cells.get(at).cloned()).collect();
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::table::{Line, Value};

    #[test]
    fn columns_are_chosen_by_their_headings() {
        let table = || Table {
            columns: vec![
                Column::text("Process"),
                Column::number("Pages").fit(Fit::Leaves(1)),
                Column::number(""),
                Column::number("At s"),
                Column::number("Off, points"),
            ],
            lines: vec![Line::new([
                Value::text("a"),
                Value::Number(1),
                Value::Number(2),
                Value::Number(3),
                Value::Number(4),
            ])],
            ..Table::default()
        };
        // A comma in the heading separates no names.
        assert_eq!(table().with_columns("off_points").unwrap().lines[0].cells[1], Value::Number(4));
        let chosen = table().with_columns("at-S, size").unwrap();
        assert_eq!(chosen.columns.iter().map(Column::name).collect::<Vec<_>>(), ["process", "at_s", "size"]);
        assert_eq!(chosen.lines[0].cells, [Value::text("a"), Value::Number(3), Value::Number(2)]);
        assert_eq!(table().with_columns("pages").unwrap().columns[1].fit, Fit::Stays);
        let error = |names| table().with_columns(names).unwrap_err().to_string();
        assert!(error("page").contains("did you mean \"pages\"? Known are pages, size, at_s"));
        assert!(error("size,Size").contains("column Size is named twice") && error("process").contains("unknown"));
    }

    #[test]
    fn labels_stay() {
        let table = || Table {
            columns: vec![
                Column::text("Process"),
                Column::label("Kind"),
                Column::number("Events"),
                Column::number("Bytes"),
            ],
            lines: vec![Line::new([Value::text("a"), Value::text("k"), Value::Number(1), Value::Number(2)])],
            ..Table::default()
        };
        let names =
            |chosen: &str| table().with_columns(chosen).unwrap().columns.iter().map(Column::name).collect::<Vec<_>>();
        assert_eq!(names("bytes"), ["process", "kind", "bytes"]);
        assert_eq!(names("events,kind"), ["process", "kind", "events"]);
        assert!(table().with_columns("kind,kind").is_err());
        assert_eq!(
            table().with_columns("bytes").unwrap().lines[0].cells,
            [Value::text("a"), Value::text("k"), Value::Number(2)]
        );
    }
}
