//! The trace model: which processes existed, which address ranges and names were valid, and which pages a snapshot has,
//! at any given time of the trace.
//!
//! Built from a [`History`](crate::load::history::History). Categories are assigned by `analysis`.

pub(crate) mod address_index;
pub(crate) mod address_space;
pub(crate) mod address_space_at;
pub(crate) mod category;
pub(crate) mod commits;
mod documented_tags;
pub(crate) mod drive_paths;
pub(crate) mod file_names;
pub(crate) mod flat_ranges;
pub(crate) mod kernel_images;
pub(crate) mod kernel_space;
pub(crate) mod live_space;
pub(crate) mod page_owner_key;
pub(crate) mod page_text_stream;
pub(crate) mod pool_tags;
pub(crate) mod process;
pub(crate) mod process_name;
pub(crate) mod process_timeline;
pub(crate) mod range_map;
pub(crate) mod registry_hives;
pub(crate) mod rundown;
mod rundown_merge;
pub(crate) mod services;
pub mod snapshot;
mod undo_events;
pub mod window;
pub(crate) mod working_set_owner;

pub use crate::moment::{At, Moment};
pub use category::{Category, Class};
pub use process::{Instance, Processes};
