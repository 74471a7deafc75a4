//! Where the batches of tables go.

use crate::analysis::export::schema::Table;
use crate::error::Error;
use arrow_array::ArrayRef;
use arrow_schema::ArrowError;

/// Makes a column of a batch by its place.
pub type Columns<'c> = dyn Fn(usize) -> Result<ArrayRef, ArrowError> + Sync + 'c;

/// Takes the batches of tables. Columns are made when they are asked for, so that not all of them are in memory.
pub trait Sink: Sync {
    /// Takes a batch with this number of rows. A table without rows has one empty batch.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    fn write(&self, table: Table, rows: usize, column: &Columns<'_>) -> Result<(), Error>;
}
