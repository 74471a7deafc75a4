//! The trace model: who was alive, which address ranges and names were valid, and which pages a snapshot holds, at
//! any given time of the trace.
//!
//! Built from a [`History`](crate::load::history::History). Knows nothing of categories: `analysis` judges.

pub mod address_index;
pub mod kernel;
pub mod names;
pub mod owner;
pub mod process;
pub mod ranges;
pub mod rundown;
pub mod snapshot;
pub mod space;
pub mod state;
pub mod stream;
mod takeover;
mod undo;
