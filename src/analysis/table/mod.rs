//! Tables: all commands make their tables of these parts, and `forms` has one writer for each form.
//!
//! An analysis lists its dimensions ([`facets`](crate::dimensions)), counts [`group`]s, and defines [`Measured`] columns for their measures;
//! [`Table::of_groups`] makes the table. Rows are added up, sorted and left out here. `forms` only decides how a [`Value`]
//! looks and which columns fit.

mod column_choice;
pub(crate) mod group;
mod many_traces;

pub use crate::dimensions::{Condition, Dimension, Label};
pub(crate) use crate::dimensions::{NO_LABEL, spelling};
pub use group::{Group, Measure, Node};
pub(crate) use many_traces::TraceTable;

use crate::dimensions::LabelKind;
use crate::units::{Nanos, PAGE_BYTES};
use std::borrow::Cow;

/// A table in the form for programs (`fields`, `records`: every group, raw values) and in that for people (`columns`,
/// `lines`: nested, with subtotals, totals and a line for what is left out).
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Title above the table.
    pub title: Option<String>,
    /// Names of the values of a record.
    pub fields: Vec<Field>,
    /// One for each group on the lowest level.
    pub records: Vec<Vec<Value>>,
    /// Headings.
    pub columns: Vec<Column>,
    /// One for each printed line.
    pub lines: Vec<Line>,
}

/// Name of a value of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Heading in CSV, key in JSON.
    pub name: &'static str,
    /// Where it is written.
    pub forms: Forms,
}

/// The forms in which a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forms {
    /// All.
    All,
    /// CSV and JSON lines, whose records stand alone; a JSON document says it once.
    Alone,
    /// CSV.
    Csv,
    /// JSON and JSON lines.
    Json,
}

/// A printed column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Heading; empty for numbers: the unit of sizes.
    pub title: Cow<'static, str>,
    /// How cells are aligned.
    pub align: Align,
    /// What happens to the column where the width is small.
    pub fit: Fit,
    /// True where the unit of sizes stands behind the title: that of all columns beside it.
    pub(crate) has_unit: bool,
    /// True for a label of rows beside the first column: without it rows cannot be told apart.
    pub(crate) is_label: bool,
}

/// How cells are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// What happens to a column where the width is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It stays as it is.
    Stays,
    /// Its texts are cut in the middle.
    Shrinks,
    /// Its texts continue on the next line.
    Wraps,
    /// It is left out where cutting texts is not enough; the lowest number goes first.
    Leaves(u8),
    /// It is shown only where nothing has to be cut for it. The lowest number is left out first.
    Spare(u8),
}

/// A printed line.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Level of nesting, from 0: the first cell is indented.
    pub depth: usize,
    /// True when a rule separates it from the line above.
    pub ruled: bool,
    /// One for each column; one alone goes across all columns.
    pub cells: Vec<Value>,
}

/// A value with its unit. Text tables round and add units, the forms for programs do not.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Unknown or not said: empty; in JSON null.
    Nothing,
    /// As [`Value::Nothing`], and in JSON without its key.
    Absent,
    /// A number that is there and that nothing tells: `unknown` for people, empty and null for programs.
    Unknown,
    /// A text.
    Text(String),
    /// Several texts: joined with `+` in CSV.
    List(Vec<&'static str>),
    /// Yes or no.
    Flag(bool),
    /// A number that names something.
    Number(u64),
    /// Several numbers: joined with `+` in CSV.
    Numbers(Vec<u64>),
    /// A count.
    Count(i64),
    /// A count that is left out of text tables when it is 0, so that they show where something is.
    CountIfAny(u64),
    /// A difference with its sign; left out of text tables when it is 0.
    Difference(i64),
    /// An amount of memory in bytes; text tables show it in the user's unit.
    Size(i64),
    /// A difference of amounts of memory; as [`Value::Difference`].
    SizeDifference(i64),
    /// Bytes; text tables choose the unit.
    Bytes(u64),
    /// A share in percent.
    Share(f64),
    /// A difference of shares in percentage points.
    Points(f64),
    /// How much more or less something became, in percent of what it was; text tables show its sign.
    Change(f64),
    /// A time; CSV and text tables have six digits.
    Seconds(Nanos),
    /// A time with all digits in CSV and JSON.
    ExactSeconds(Nanos),
    /// A length of time in nanoseconds; text tables show it in the user's unit.
    Duration(u64),
    /// A difference of lengths of time in nanoseconds; as [`Value::Difference`].
    DurationDifference(i64),
    /// A number with a fraction, as it is; text tables have three digits.
    Decimal(f64),
    /// An address or a key.
    Hex(u64),
    /// The number of rows that are not listed: `+ 12 more`.
    More(u64, &'static str),
    /// How a number changes over time; only people see it.
    Course(Course),
    /// Values by name; only JSON has it.
    Object(Vec<(Cow<'static, str>, Value)>),
}

/// How a number changes over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Course {
    /// Heights from 0 (the least) to 7 (the most) in equal spans of time; `None` where nothing is known.
    pub heights: Vec<Option<u8>>,
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    /// A count.
    pub fn count(count: u64) -> Value {
        Value::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The size of a number of pages.
    pub fn pages(pages: i64) -> Value {
        Value::Size(pages.saturating_mul(PAGE_BYTES as i64))
    }

    /// A part of the whole; of nothing it is a part of one.
    pub fn share(part: u64, whole: u64) -> Value {
        Value::Share(part as f64 * 100.0 / whole.max(1) as f64)
    }

    /// The value, or [`Value::Nothing`] for `None`.
    pub fn maybe<T>(value: Option<T>, of: impl FnOnce(T) -> Value) -> Value {
        value.map_or(Value::Nothing, of)
    }

    /// The value of a label: of numbers and flags what it says, else the text for programs.
    pub fn of_label(label: &Label) -> Value {
        match label.kind() {
            LabelKind::Number(number) => Value::Number(number),
            LabelKind::Flag(flag) => Value::Flag(flag),
            _ => Value::text(label.as_str()),
        }
    }
}

impl Field {
    /// A field of all forms.
    pub const fn new(name: &'static str) -> Field {
        Field { name, forms: Forms::All }
    }

    /// Names of the labels of a record.
    pub fn of_labels<D: Dimension>(dimensions: &[D]) -> impl Iterator<Item = Field> {
        dimensions.iter().map(|dimension| Field::new(dimension.name()))
    }

    /// A field of some forms.
    pub const fn only(name: &'static str, forms: Forms) -> Field {
        Field { name, forms }
    }
}

impl From<&'static str> for Field {
    fn from(name: &'static str) -> Field {
        Field::new(name)
    }
}

impl Column {
    /// A column of texts, which may be cut.
    pub fn text(title: impl Into<Cow<'static, str>>) -> Column {
        Column { title: title.into(), align: Align::Left, fit: Fit::Shrinks, has_unit: false, is_label: false }
    }

    /// A column of labels, which stays beside any choice of columns.
    pub(crate) fn label(title: impl Into<Cow<'static, str>>) -> Column {
        Column { is_label: true, ..Column::text(title) }
    }

    /// A column of numbers.
    pub fn number(title: impl Into<Cow<'static, str>>) -> Column {
        Column { title: title.into(), align: Align::Right, fit: Fit::Stays, has_unit: false, is_label: false }
    }

    /// The same column, treated in another way where the width is small.
    pub fn fit(self, fit: Fit) -> Column {
        Column { fit, ..self }
    }

    /// The same column with the unit of sizes in its heading: that of all columns beside it.
    pub(crate) fn with_unit(self) -> Column {
        Column { has_unit: true, ..self }
    }
}

impl Line {
    /// A line without nesting.
    pub fn new(cells: impl IntoIterator<Item = Value>) -> Line {
        Line { depth: 0, ruled: false, cells: cells.into_iter().collect() }
    }

    /// A text that goes across all columns.
    pub fn across(text: &str) -> Line {
        Line::new([Value::text(text)])
    }
}

/// A value of a measure: what it is called and how it is shown. `A` is what it is a part of, or what its units are those of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured<M, A = M> {
    field: Option<Field>,
    title: Option<&'static str>,
    fit: Fit,
    has_unit: bool,
    value: fn(&M, all: &A) -> Value,
}

impl<M, A> Measured<M, A> {
    /// A value with its name in CSV and JSON and its heading; an empty heading is that of the user's unit.
    pub const fn new(field: &'static str, title: &'static str, value: fn(&M, &A) -> Value) -> Measured<M, A> {
        Measured { field: Some(Field::new(field)), title: Some(title), fit: Fit::Stays, has_unit: false, value }
    }

    /// A value that programs can compute themselves: only people see it.
    pub const fn shown(title: &'static str, value: fn(&M, &A) -> Value) -> Measured<M, A> {
        Measured { field: None, title: Some(title), fit: Fit::Stays, has_unit: false, value }
    }

    /// A value that people do not see.
    pub const fn fact(field: &'static str, value: fn(&M, &A) -> Value) -> Measured<M, A> {
        Measured { field: Some(Field::new(field)), title: None, fit: Fit::Stays, has_unit: false, value }
    }

    /// The same for programs only.
    pub const fn unseen(self) -> Measured<M, A> {
        Measured { title: None, ..self }
    }

    /// The same where records stand alone: a JSON document says it elsewhere.
    pub const fn alone(self) -> Measured<M, A> {
        let field = match self.field {
            Some(field) => Some(Field::only(field.name, Forms::Alone)),
            None => None,
        };
        Measured { field, ..self }
    }

    /// The same with the unit of sizes in its heading.
    pub const fn in_unit(self) -> Measured<M, A> {
        Measured { has_unit: true, ..self }
    }

    /// The same, left out where the width is small: the lowest number goes first.
    pub const fn leaves(self, order: u8) -> Measured<M, A> {
        Measured { fit: Fit::Leaves(order), ..self }
    }

    /// The same, only where there is room for it: the lowest number goes first.
    pub const fn spare(self, order: u8) -> Measured<M, A> {
        Measured { fit: Fit::Spare(order), ..self }
    }

    /// Columns with the one that rows are ordered by: it does not leave, and is added where it is not among them.
    pub fn ordered(mut list: Vec<Measured<M, A>>, by: Option<Measured<M, A>>) -> Vec<Measured<M, A>> {
        if let Some(by) = by {
            match list.iter_mut().find(|column| column.title == by.title) {
                Some(column) => column.fit = Fit::Stays,
                None => list.push(by),
            }
        }
        list
    }

    /// The printed column, where it is one.
    pub fn column(&self) -> Option<Column> {
        Some(Column { has_unit: self.has_unit, ..Column::number(self.title?).fit(self.fit) })
    }

    /// The printed columns.
    pub fn columns(list: &[Measured<M, A>]) -> impl Iterator<Item = Column> {
        list.iter().filter_map(Measured::column)
    }

    /// The value of a measure; `all` is what shares are of.
    pub fn value(&self, measure: &M, all: &A) -> Value {
        (self.value)(measure, all)
    }

    /// The names of the values of a record.
    pub fn fields(list: &[Measured<M, A>]) -> impl Iterator<Item = Field> {
        list.iter().filter_map(|measured| measured.field)
    }

    /// The values of a record.
    pub fn record(list: &[Measured<M, A>], measure: &M, all: &A) -> impl Iterator<Item = Value> {
        list.iter().filter(|measured| measured.field.is_some()).map(|measured| measured.value(measure, all))
    }

    /// The cells of a printed line.
    pub fn cells(list: &[Measured<M, A>], measure: &M, all: &A) -> impl Iterator<Item = Value> {
        list.iter().filter(|measured| measured.title.is_some()).map(|measured| measured.value(measure, all))
    }

    /// A record as an object inside another one.
    pub fn object(list: &[Measured<M, A>], measure: &M, all: &A) -> Value {
        let fields = list.iter().filter_map(|measured| Some((measured.field?, measured.value(measure, all))));
        Value::Object(
            fields.filter(|(field, _)| field.forms != Forms::Alone).map(|(f, v)| (f.name.into(), v)).collect(),
        )
    }
}

impl Table {
    /// The same with more digits of the times that its lines begin with, where two of them would look the same.
    pub(crate) fn with_times_apart(mut self) -> Table {
        let time = |line: &Line| match line.cells.first() {
            Some(Value::Seconds(time) | Value::ExactSeconds(time)) => Some(*time),
            _ => None,
        };
        let mut times: Vec<Nanos> = self.lines.iter().filter_map(time).collect();
        times.dedup();
        let shown = |time: &Nanos| format!("{:.6}", time.seconds());
        if times.iter().zip(times.iter().skip(1)).any(|(one, next)| shown(one) == shown(next)) {
            for line in &mut self.lines {
                let exact = time(line).map(|time| Value::text(format!("{:.9}", time.seconds())));
                line.cells.iter_mut().zip(exact).for_each(|(cell, exact)| *cell = exact);
            }
        }
        self
    }

    /// The table of groups: records of `groups`, lines of `tree`. `all` is what shares are of.
    pub(crate) fn of_groups<D: Dimension, M: Measure, A>(
        dimensions: &[D],
        groups: &[Group<M>],
        tree: &Node<M>,
        all: &A,
        measured: &[Measured<M, A>],
    ) -> Table {
        let mut table = Table::of_tree(D::titles(dimensions), tree, all, measured);
        table.fields = Field::of_labels(dimensions).chain(Measured::fields(measured)).collect();
        let record = |group: &Group<M>| -> Vec<Value> {
            group.labels.iter().map(Value::of_label).chain(Measured::record(measured, &group.measure, all)).collect()
        };
        table.records = groups.iter().map(record).collect();
        table
    }

    /// A table for people only: the lines of `tree`.
    pub(crate) fn of_tree<M: Measure, A>(
        title: impl Into<Cow<'static, str>>,
        tree: &Node<M>,
        all: &A,
        measured: &[Measured<M, A>],
    ) -> Table {
        let columns = Measured::columns(measured);
        let mut table =
            Table { columns: std::iter::once(Column::text(title)).chain(columns).collect(), ..Table::default() };
        table.add_lines(tree, 0, all, measured);
        table
    }

    fn add_lines<M: Measure, A>(&mut self, node: &Node<M>, depth: usize, all: &A, measured: &[Measured<M, A>]) {
        for part in &node.parts {
            self.lines.push(line(Value::text(&part.label), depth, &part.measure, all, measured));
            self.add_lines(part, depth + 1, all, measured);
        }
        if let Some((count, rest)) = &node.more {
            self.lines.push(line(Value::More(*count, "more"), depth, rest, all, measured));
        }
    }

    /// A table whose cells are texts in all forms. Columns: field and title.
    pub fn of_texts<const N: usize>(
        columns: [(&'static str, &'static str); N],
        rows: impl Iterator<Item = [String; N]>,
    ) -> Table {
        let records: Vec<Vec<Value>> = rows.map(|row| row.map(Value::Text).to_vec()).collect();
        Table {
            title: None,
            fields: columns.map(|(field, _)| Field::new(field)).to_vec(),
            columns: columns.map(|(_, title)| Column::text(title)).to_vec(),
            lines: records.iter().cloned().map(Line::new).collect(),
            records,
        }
    }

    /// Adds the sum of all groups below a rule.
    pub(crate) fn with_total<M: Measure, A>(mut self, tree: &Node<M>, all: &A, measured: &[Measured<M, A>]) -> Table {
        self.lines.push(Line { ruled: true, ..line(Value::text("Total"), 0, &tree.measure, all, measured) });
        self
    }

    /// Sets the title.
    pub fn titled(mut self, title: impl Into<String>) -> Table {
        self.title = Some(title.into());
        self
    }

    /// Adds a field, with the same value in every record, before the others.
    pub fn with_first_field(mut self, field: Field, value: &Value) -> Table {
        self.fields.insert(0, field);
        self.records.iter_mut().for_each(|record| record.insert(0, value.clone()));
        self
    }
}

fn line<M, A>(label: Value, depth: usize, measure: &M, all: &A, measured: &[Measured<M, A>]) -> Line {
    let cells = std::iter::once(label).chain(Measured::cells(measured, measure, all)).collect();
    Line { depth, ruled: false, cells }
}
