//! Rows become columns: each row is a list of cells, and about a million rows become one batch, sorted by process and
//! category so that statistics of a file's parts are narrow.

use crate::analysis::export::schema::{Kind, LIST_PART, MAP_PARTS, Table};
use crate::analysis::export::sink::Sink;
use crate::error::Error;
use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field};
use foldhash::HashMap as FastMap;
use std::sync::Arc;

/// Rows of a batch, which becomes a row group.
pub const BATCH_ROWS: usize = 1 << 20;

/// Bytes of maps in a batch.
pub(crate) const BATCH_BYTES: usize = 32 << 20;

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'t> {
    /// Unknown, or does not apply.
    Null,
    /// A text.
    Text(&'t str),
    /// A number.
    Integer(i64),
    /// An address.
    Address(u64),
    /// Seconds.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// Microseconds since 1970.
    Instant(i64),
    /// Texts by name, each of which can be unknown.
    Map(&'t [(&'t str, Option<&'t str>)]),
    /// Texts in their order.
    List(&'t [&'t str]),
}

impl<'t> Cell<'t> {
    /// A count; if it is too large for a signed number, the largest signed number.
    pub fn count(value: u64) -> Cell<'t> {
        Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// A value, or null.
    pub fn maybe<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell<'t>) -> Cell<'t> {
        value.map_or(Cell::Null, cell)
    }
}

/// Texts by number.
#[derive(Debug, Default)]
struct Texts {
    numbers: FastMap<Box<str>, i32>,
    texts: Vec<Box<str>>,
}

impl Texts {
    fn number(&mut self, text: &str) -> i32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as i32; // a batch has fewer rows
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// Place of each text in the order of texts.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_unstable_by_key(|&number| self.texts.get(number));
        let mut ranks = vec![0; order.len()];
        (0..).zip(order).for_each(|(rank, number)| ranks[number] = rank);
        ranks
    }
}

/// Texts by name, row by row.
#[derive(Debug, Default)]
struct Maps {
    names: Texts,
    /// Number of the name, and where the value lies in `values`.
    entries: Vec<(i32, Option<(usize, usize)>)>,
    values: String,
    /// Where the entries of each row lie.
    rows: Vec<Option<(usize, usize)>>,
}

impl Maps {
    fn push(&mut self, entries: Option<&[(&str, Option<&str>)]>) {
        let begin = self.entries.len();
        for (name, value) in entries.unwrap_or_default() {
            let from = self.values.len();
            self.values.push_str(value.unwrap_or_default());
            self.entries.push((self.names.number(name), value.map(|_| (from, self.values.len()))));
        }
        self.rows.push(entries.map(|_| (begin, self.entries.len())));
    }

    fn array(&self, order: &[u32]) -> Result<ArrayRef, ArrowError> {
        let mut maps = map_builder();
        for row in order {
            let place = self.rows.get(*row as usize).copied().flatten();
            let entries = place.and_then(|(from, to)| self.entries.get(from..to));
            for (name, value) in entries.unwrap_or_default() {
                maps.keys().append_value(self.names.texts.get(*name as usize).map_or("", |name| name));
                maps.values().append_option(value.and_then(|(from, to)| self.values.get(from..to)));
            }
            maps.append(place.is_some())?;
        }
        Ok(Arc::new(maps.finish()))
    }
}

/// Builds a column of [`Kind::Map`].
pub(crate) fn map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    let [entry, key, value] = MAP_PARTS.map(str::to_owned);
    MapBuilder::new(Some(MapFieldNames { entry, key, value }), StringBuilder::new(), StringBuilder::new())
}

/// Texts in their order, row by row.
#[derive(Debug, Default)]
struct TextLists {
    texts: Texts,
    /// Bytes of all texts as often as they occur.
    bytes: usize,
    entries: Vec<i32>,
    /// Where the texts of each row lie.
    rows: Vec<Option<(usize, usize)>>,
}

impl TextLists {
    fn push(&mut self, list: Option<&[&str]>) {
        let begin = self.entries.len();
        for text in list.unwrap_or_default() {
            self.bytes += text.len();
            self.entries.push(self.texts.number(text));
        }
        self.rows.push(list.map(|_| (begin, self.entries.len())));
    }

    fn array(&self, order: &[u32]) -> Result<ArrayRef, ArrowError> {
        let mut lists = list_builder();
        for row in order {
            let place = self.rows.get(*row as usize).copied().flatten();
            for number in place.and_then(|(from, to)| self.entries.get(from..to)).unwrap_or_default() {
                lists.values().append_value(self.texts.texts.get(*number as usize).map_or("", |text| text));
            }
            lists.append(place.is_some());
        }
        Ok(Arc::new(lists.finish()))
    }
}

/// Builds a column of [`Kind::List`].
pub(crate) fn list_builder() -> ListBuilder<StringBuilder> {
    ListBuilder::new(StringBuilder::new()).with_field(Field::new(LIST_PART, DataType::Utf8, false))
}

/// The values of a column so far.
#[derive(Debug)]
enum Values {
    Text(Texts, Vec<Option<i32>>),
    Integer(Vec<Option<i64>>),
    Address(Vec<Option<u64>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    Instant(Vec<Option<i64>>),
    Map(Maps),
    List(TextLists),
}

impl Values {
    /// Bytes of what has no limit of its own in each row.
    fn bytes(&self) -> usize {
        match self {
            Values::Map(maps) => maps.values.len() + size_of_val(&*maps.entries),
            Values::List(lists) => lists.bytes + size_of_val(&*lists.entries),
            _ => 0,
        }
    }

    fn new(kind: Kind) -> Values {
        match kind {
            Kind::Text => Values::Text(Texts::default(), Vec::new()),
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Address => Values::Address(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Flag => Values::Flag(Vec::new()),
            Kind::Instant => Values::Instant(Vec::new()),
            Kind::Map => Values::Map(Maps::default()),
            Kind::List => Values::List(TextLists::default()),
        }
    }

    /// A cell of another kind than the column's is null: the schema test would show it.
    fn push(&mut self, cell: Cell<'_>) {
        match self {
            Values::Text(texts, numbers) => numbers.push(match cell {
                Cell::Text(text) => Some(texts.number(text)),
                _ => None,
            }),
            Values::Integer(list) => list.push(if let Cell::Integer(value) = cell { Some(value) } else { None }),
            Values::Address(list) => list.push(if let Cell::Address(value) = cell { Some(value) } else { None }),
            Values::Real(list) => list.push(if let Cell::Real(value) = cell { Some(value) } else { None }),
            Values::Flag(list) => list.push(if let Cell::Flag(value) = cell { Some(value) } else { None }),
            Values::Instant(list) => list.push(if let Cell::Instant(value) = cell { Some(value) } else { None }),
            Values::Map(maps) => maps.push(if let Cell::Map(entries) = cell { Some(entries) } else { None }),
            Values::List(lists) => lists.push(if let Cell::List(texts) = cell { Some(texts) } else { None }),
        }
    }

    /// The column in another order of rows.
    fn array(&self, order: &[u32]) -> Result<ArrayRef, ArrowError> {
        fn ordered<T: Copy>(list: &[Option<T>], order: &[u32]) -> Vec<Option<T>> {
            order.iter().map(|&row| list.get(row as usize).copied().flatten()).collect()
        }
        Ok(match self {
            Values::Text(texts, numbers) => {
                let texts = StringArray::from_iter_values(&texts.texts);
                return dictionary(Int32Array::from(ordered(numbers, order)), Arc::new(texts));
            }
            Values::Integer(list) => Arc::new(Int64Array::from(ordered(list, order))),
            Values::Address(list) => Arc::new(UInt64Array::from(ordered(list, order))),
            Values::Real(list) => Arc::new(Float64Array::from(ordered(list, order))),
            Values::Flag(list) => Arc::new(BooleanArray::from(ordered(list, order))),
            Values::Instant(list) => {
                Arc::new(TimestampMicrosecondArray::from(ordered(list, order)).with_timezone("UTC"))
            }
            Values::Map(maps) => return maps.array(order),
            Values::List(lists) => return lists.array(order),
        })
    }
}

/// Texts by number as an Arrow column.
///
/// # Errors
/// A number without a text, which would be an error of this program.
pub fn dictionary(numbers: Int32Array, texts: ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(numbers, texts)?))
}

/// Collects the rows of a table and hands them on in batches.
pub struct ColumnBatches<'s> {
    table: Table,
    columns: Vec<Values>,
    count: usize,
    sink: &'s dyn Sink,
}

impl<'s> ColumnBatches<'s> {
    /// No rows yet.
    pub fn new(table: Table, sink: &'s dyn Sink) -> ColumnBatches<'s> {
        ColumnBatches { table, columns: empty(table), count: 0, sink }
    }

    /// Adds a row; cells in the order of the columns.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn push<const N: usize>(&mut self, cells: [Cell<'_>; N]) -> Result<(), Error> {
        debug_assert_eq!(N, self.columns.len(), "{}", self.table.name());
        self.push_with(cells.into_iter())
    }

    /// Adds a row; a cell for each column.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn push_with<'c>(&mut self, cells: impl Iterator<Item = Cell<'c>>) -> Result<(), Error> {
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        self.count += 1;
        let is_full = self.count >= BATCH_ROWS || self.columns.iter().map(Values::bytes).sum::<usize>() >= BATCH_BYTES;
        if is_full { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let columns = std::mem::replace(&mut self.columns, empty(self.table));
        let order = self.order(&columns);
        self.count = 0;
        let column = |place: usize| match columns.get(place) {
            Some(values) => values.array(&order),
            None => Err(ArrowError::SchemaError(format!("{} has no column {place}", self.table.name()))),
        };
        self.sink.write(self.table, order.len(), &column)
    }

    /// Rows by process, then category; else as they came, as those of a table in the order of time.
    fn order(&self, columns: &[Values]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.count as u32).collect();
        if self.table.is_in_time_order() {
            return order;
        }
        for name in ["category", "process"] {
            let Some(Values::Text(texts, numbers)) = self.table.place(name).and_then(|at| columns.get(at)) else {
                continue;
            };
            let ranks = texts.ranks();
            let rank = |row: &u32| {
                let number = numbers.get(*row as usize).copied().flatten();
                let rank = number.and_then(|number| ranks.get(number as usize)).copied();
                // Rows without a text come last.
                (rank.is_none(), rank)
            };
            order.sort_by_key(rank);
        }
        order
    }

    /// Hands on what is left. A table without rows is written too, with its columns.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()
    }
}

fn empty(table: Table) -> Vec<Values> {
    table.columns().iter().map(|column| Values::new(column.kind)).collect()
}
