//! Rows of an answer: records for programs, a table for people. What a form does not write is not made.

use crate::analysis::table::{Field, Table, Value};
use crate::error::Error;
use std::borrow::Cow;
use std::fmt;

/// Makes records, one after the other.
type Source<'a> = dyn Fn() -> Box<dyn Iterator<Item = Vec<Value>> + 'a> + 'a;

/// Records and the names of their values.
pub struct Records<'a> {
    /// Names of the values of a record.
    pub fields: Vec<Field>,
    made: Made<'a>,
}

enum Made<'a> {
    All(Vec<Vec<Value>>),
    /// Begins with the first record: there can be more of them than memory should hold.
    OneByOne(Box<Source<'a>>),
}

impl<'a> Records<'a> {
    /// The records of a table.
    pub fn of(table: Table) -> Records<'a> {
        Records { fields: table.fields, made: Made::All(table.records) }
    }

    /// Records that are made while they are written.
    pub fn streamed<I: IntoIterator<Item = Vec<Value>> + 'a>(
        fields: impl IntoIterator<Item = impl Into<Field>>,
        source: impl Fn() -> I + 'a,
    ) -> Records<'a>
    where
        I::IntoIter: 'a,
    {
        let source = Box::new(move || -> Box<dyn Iterator<Item = Vec<Value>> + 'a> { Box::new(source().into_iter()) });
        Records { fields: fields.into_iter().map(Into::into).collect(), made: Made::OneByOne(source) }
    }

    /// Calls `write` with each record until it fails.
    ///
    /// # Errors
    /// What `write` says.
    pub fn each<E>(&self, mut write: impl FnMut(&[Value]) -> Result<(), E>) -> Result<(), E> {
        match &self.made {
            Made::All(records) => records.iter().try_for_each(|record| write(record)),
            Made::OneByOne(source) => source().try_for_each(|record| write(&record)),
        }
    }
}

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("fields", &self.fields).finish_non_exhaustive()
    }
}

/// The rows of an answer.
#[derive(Debug)]
pub struct Rows<'a> {
    /// For programs.
    pub records: Records<'a>,
    shown: Shown<'a>,
}

/// The table for people.
enum Shown<'a> {
    Table(Table),
    Made(Box<dyn Fn() -> Table + 'a>),
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Table(table) => table.fmt(f),
            Shown::Made(_) => f.write_str(".."),
        }
    }
}

impl<'a> Rows<'a> {
    /// Rows of which records and table are made where they are written.
    pub fn new(records: Records<'a>, table: impl Fn() -> Table + 'a) -> Rows<'a> {
        Rows { records, shown: Shown::Made(Box::new(table)) }
    }

    /// The table for people.
    pub fn table(&self) -> Cow<'_, Table> {
        match &self.shown {
            Shown::Table(table) => Cow::Borrowed(table),
            Shown::Made(make) => Cow::Owned(make()),
        }
    }

    /// The table alone.
    pub fn into_table(self) -> Table {
        match self.shown {
            Shown::Table(table) => table,
            Shown::Made(make) => make(),
        }
    }

    /// The same with these columns for people.
    ///
    /// # Errors
    /// A usage error for a name that is no heading.
    pub fn with_columns(self, names: &str) -> Result<Rows<'a>, Error> {
        let table = match self.shown {
            Shown::Table(table) => table,
            Shown::Made(make) => make(),
        };
        Ok(Rows { records: self.records, shown: Shown::Table(table.with_columns(names)?) })
    }
}

impl From<Table> for Rows<'_> {
    fn from(table: Table) -> Self {
        let Table { title, fields, records, columns, lines } = table;
        let shown = Table { title, columns, lines, ..Table::default() };
        Rows { records: Records { fields, made: Made::All(records) }, shown: Shown::Table(shown) }
    }
}
