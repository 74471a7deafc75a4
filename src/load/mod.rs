//! The bridge from files to the model: all buffers, in parallel, each record looked at once.

mod census;
mod collector;
pub mod facts;
pub mod history;
pub mod kinds;
pub mod misfits;
pub mod page_run;
mod pool_rundown;
pub mod process_starts;
pub mod space_events;
pub mod survey;
pub mod walk;
