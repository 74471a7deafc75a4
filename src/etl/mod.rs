//! The container: an `.etl` file is a sequence of buffers, each a chain of records.
//!
//! Knows where records lie and what their headers say: [`EtlFile`] opens and indexes a file, [`area::Area`] walks one
//! buffer, [`record`] reads headers, [`order`] merges the processors' streams by time. What payloads mean is `event`'s
//! business. The layouts and what of them was verified: `docs/formats.md`.

pub mod area;
pub mod buffer;
pub mod clock;
pub mod compression;
pub mod extended;
pub mod file;
mod header_type;
mod index;
pub mod logfile;
mod map;
pub mod order;
pub mod record;
mod resync;
pub mod stamps;

pub use file::{EtlFile, Scratch};
