//! The forms of files in a dataset.

use crate::named_enum::named_enum;

named_enum! {
    /// Forms of the files.
    pub enum Format {
        /// Parquet, compressed by zstd.
        Parquet = "parquet",
        /// Arrow's own files (IPC), compressed by zstd.
        Arrow = "arrow",
        /// Comma-separated values with a heading line.
        Csv = "csv",
    }
}

impl Format {
    /// The form of this name.
    pub fn of_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}
