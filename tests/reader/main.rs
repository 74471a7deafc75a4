//! The library as a reader of traces: that an independent writer made (`etl_writer`, which is checked here too), that are
//! damaged, and recorded ones where they are present.

mod anonymized;
mod compression;
mod container;
mod corrupt;
mod opened;
mod program_database;
#[path = "../../src/random_cases.rs"]
mod random_cases;
mod reading;
mod recorded;
mod walks;
mod writer;
