//! Comparisons of pages: rows by category, process or file, and their tables.

pub(crate) mod rows;
mod tables;
