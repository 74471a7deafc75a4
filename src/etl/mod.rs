//! The container: an `.etl` file is a sequence of buffers, each a chain of records.
pub mod compression;
pub mod record;
