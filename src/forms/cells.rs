//! Values as the text of a cell: for people with units and rounded, for programs as they are. Text from outside is made harmless
//! here, for every form with cells.

use crate::analysis::table::{Align, Column, Field, Forms, Line, Table, Value};
use crate::answer::Units;
use crate::answer::numbers::{self, Unit};
use crate::escape::visible;
use crate::forms::sparkline;
use std::borrow::Cow;

/// The largest amount of memory that is printed, bytes.
pub(super) fn largest(table: &Table) -> u64 {
    let cells = table.lines.iter().flat_map(|line| &line.cells);
    let sizes = cells.filter_map(|cell| if let Value::Size(bytes) = cell { Some(bytes.unsigned_abs()) } else { None });
    sizes.max().unwrap_or(0)
}

/// The same units, with the one for sizes that suits this table.
pub(super) fn for_table(units: Units, table: &Table) -> Units {
    Units { size: units.size.for_largest(largest(table)), ..units }
}

/// The heading of a column; without a title of its own it is that of the unit.
pub(super) fn heading(column: &Column, unit: Unit) -> String {
    let title = if is_of_unit(column) { "Size".into() } else { visible(&column.title) };
    match unit.name() {
        name if !name.is_empty() && (column.has_unit || is_of_unit(column)) => format!("{title}/{name}"),
        _ => title.into_owned(),
    }
}

fn is_of_unit(column: &Column) -> bool {
    column.title.is_empty() && column.align == Align::Right
}

/// True where a heading tells the unit of sizes.
pub(super) fn tells_unit(table: &Table) -> bool {
    table.columns.iter().any(|column| column.has_unit || is_of_unit(column))
}

/// The cells of a line, the first one indented. `width` is that of a screen.
pub(super) fn cells(line: &Line, units: Units, width: Option<u16>) -> Vec<String> {
    let cell = |value: &Value| match value {
        Value::Course(course) => sparkline::shown(course, width),
        value => shown(value, units),
    };
    let mut cells: Vec<String> = line.cells.iter().map(cell).collect();
    cells.first_mut().into_iter().for_each(|label| label.insert_str(0, &"  ".repeat(line.depth)));
    cells
}

/// A value for people.
pub(super) fn shown(value: &Value, units: Units) -> String {
    let signed = |value: i64, show: &dyn Fn(u64) -> String| {
        format!("{}{}", if value < 0 { "-" } else { "" }, show(value.unsigned_abs()))
    };
    match value {
        Value::Nothing | Value::Absent | Value::Object(_) | Value::CountIfAny(0) => String::new(),
        Value::Unknown => "unknown".to_owned(),
        Value::Difference(0) | Value::SizeDifference(0) | Value::DurationDifference(0) => String::new(),
        Value::Text(text) => visible(text).into_owned(),
        Value::Course(course) => sparkline::shown(course, None),
        Value::List(texts) => texts.join(", "),
        Value::Numbers(numbers) => joined(numbers, ", "),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Count(count) => signed(*count, &numbers::count),
        Value::CountIfAny(count) => numbers::count(*count),
        Value::Difference(more) => {
            format!("{}{}", if *more > 0 { "+" } else { "" }, signed(*more, &numbers::count))
        }
        Value::Size(bytes) => signed(*bytes, &|bytes| units.size.show(bytes)),
        Value::SizeDifference(more) => {
            format!("{}{}", if *more > 0 { "+" } else { "" }, signed(*more, &|bytes| units.size.show(bytes)))
        }
        Value::DurationDifference(more) => {
            format!("{}{}", if *more > 0 { "+" } else { "" }, signed(*more, &|nanos| units.time.show(nanos)))
        }
        Value::Bytes(bytes) => numbers::bytes(*bytes),
        Value::Share(percent) => format!("{percent:.1} %"),
        Value::Points(points) => format!("{points:.1}"),
        Value::Change(percent) => numbers::change(*percent),
        Value::Seconds(time) | Value::ExactSeconds(time) => numbers::seconds(*time),
        Value::Duration(nanos) => units.time.show(*nanos),
        Value::Decimal(number) => format!("{number:.3}"),
        Value::Hex(number) => format!("0x{number:x}"),
        Value::More(count, what) => format!("+ {} {what}", numbers::count(*count)),
    }
}

fn joined(numbers: &[u64], between: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(between)
}

/// The number by which a value is sorted; `None` for texts.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Nothing | Value::Absent | Value::Unknown | Value::Object(_) | Value::Text(_) | Value::List(_) => None,
        Value::Course(_) | Value::Numbers(_) | Value::Flag(_) | Value::More(..) => None,
        Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
            Some(*number as f64)
        }
        Value::Count(number) | Value::Difference(number) | Value::Size(number) => Some(*number as f64),
        Value::SizeDifference(number) | Value::DurationDifference(number) => Some(*number as f64),
        Value::Share(number) | Value::Points(number) | Value::Change(number) | Value::Decimal(number) => Some(*number),
        Value::Seconds(time) | Value::ExactSeconds(time) => Some(time.seconds()),
        Value::Hex(number) => Some(*number as f64),
    }
}

/// A value for programs, as text.
pub(super) fn plain(value: &Value) -> Cow<'_, str> {
    Cow::Owned(match value {
        Value::Nothing | Value::Absent | Value::Unknown | Value::Object(_) | Value::Course(_) => String::new(),
        Value::Text(text) => return visible(text),
        Value::List(texts) => texts.join("+"),
        Value::Numbers(numbers) => joined(numbers, "+"),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
            number.to_string()
        }
        Value::Count(number) | Value::Difference(number) | Value::Size(number) => number.to_string(),
        Value::SizeDifference(number) | Value::DurationDifference(number) => number.to_string(),
        Value::Share(number) | Value::Points(number) | Value::Change(number) | Value::Decimal(number) => {
            number.to_string()
        }
        Value::Seconds(time) => numbers::seconds(*time),
        Value::ExactSeconds(time) => time.seconds().to_string(),
        Value::Hex(_) | Value::More(..) => shown(value, Units::default()),
    })
}

/// The values of a record that are written in one of these forms, with their names.
pub(super) fn written<'t>(
    fields: &'t [Field],
    record: &'t [Value],
    forms: &'t [Forms],
) -> impl Iterator<Item = (&'t Field, &'t Value)> {
    fields.iter().zip(record).filter(|(field, _)| forms.contains(&field.forms))
}
