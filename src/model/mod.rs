//! The trace model: which processes existed, which address ranges and names were valid, and which pages a snapshot has,
//! at any given time of the trace.
//!
//! Built from a [`History`](crate::load::history::History). Categories are assigned by `analysis`.

pub mod address_index;
pub mod file_names;
pub mod hives;
pub mod kernel;
pub mod live_space;
pub mod owner_key;
pub mod process;
mod process_name;
pub mod process_timeline;
pub mod ranges;
pub mod rundown;
mod rundown_merge;
pub mod segments;
pub mod snapshot;
pub mod space;
pub mod state;
pub mod stream;
mod undo;
pub mod window;
pub mod working_set_owner;
