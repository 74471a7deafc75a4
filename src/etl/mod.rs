//! The container: an `.etl` file is a sequence of buffers, each a chain of records.
//!
//! This module finds records and reads their headers: [`EtlFile`] opens and indexes a file, [`event_area::EventArea`] gives the
//! records of one buffer, [`record`] reads headers, [`buffer_order`] says which buffers come first. Payloads are
//! decoded by `event`. `docs/formats.md` has the layouts and says which of them were verified.

pub mod buffer;
mod buffer_index;
pub(crate) mod buffer_order;
pub mod clock;
pub(crate) mod compression;
pub mod event_area;
pub mod extended_items;
pub mod file;
pub(crate) mod header_error;
pub(crate) mod header_type;
pub(crate) mod joined_files;
pub mod log_file_header;
pub mod record;
pub mod record_id;
pub(crate) mod resync;
mod rewrite;
pub(crate) mod stamp_limits;
pub(crate) mod time_slice;
pub(crate) mod tournament_tree;
pub(crate) mod wrong_stamps;

pub use buffer_order::Span;
pub use file::{EtlFile, Scratch};
pub use stamp_limits::StampLimits;
