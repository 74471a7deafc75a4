//! Loading: reads all records of a trace once, in parallel, counts them and collects what the model needs.

mod census;
mod collector;
pub mod facts;
pub mod history;
pub mod kinds;
pub mod misfits;
pub(crate) mod page_run;
mod pool_rundown;
pub(crate) mod process_starts;
pub(crate) mod space_events;
pub mod survey;
pub mod walk;
