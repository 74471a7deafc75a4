//! The columns of a table as they stand in files.

use crate::analysis::export::descriptions::{column_key, described};
use crate::analysis::export::schema::{Kind, SCHEMA_VERSION, SCHEMA_VERSION_KEY, Table};
use arrow_schema::{Field, Schema};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

impl Table {
    /// Its schema in Arrow, with its descriptions.
    pub fn schema(self) -> Arc<Schema> {
        Layout::of(self).schema()
    }
}

/// The columns of a table's files: the table's own, and texts that the dataset adds, which can be null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The table.
    pub table: Table,
    /// Name and description of further columns.
    pub further: Vec<(String, String)>,
}

impl Layout {
    /// The table's own columns.
    pub fn of(table: Table) -> Layout {
        Layout { table, further: Vec::new() }
    }

    /// Names of all columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.table.columns().iter().map(|column| column.name);
        own.chain(self.further.iter().map(|(name, _)| name.as_str()))
    }

    /// How many columns there are.
    pub fn count(&self) -> usize {
        self.table.columns().len() + self.further.len()
    }

    /// The schema in Arrow. Its metadata say the version, and what the table and its columns mean.
    pub fn schema(&self) -> Arc<Schema> {
        let own = self.table.columns().iter();
        let own = own.map(|column| Field::new(column.name, column.kind.data_type(), column.nullable));
        let further = self.further.iter().map(|(name, _)| Field::new(name, Kind::Text.data_type(), true));
        let fields: Vec<Field> = own.chain(further).collect();
        Arc::new(Schema::new_with_metadata(fields, self.metadata().into_iter().collect::<HashMap<_, _>>()))
    }

    /// The metadata of its files, by key.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = described(self.table);
        metadata.insert(SCHEMA_VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string());
        let further = self.further.iter().map(|(name, text)| (column_key(name), text.clone()));
        metadata.extend(further);
        metadata
    }
}
