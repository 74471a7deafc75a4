//! Loading: reads all records of a trace once, in parallel, counts them and collects what the model needs.

mod census;
mod collector;
pub mod digest;
pub(crate) mod facts;
pub(crate) mod history;
pub(crate) mod kinds;
pub(crate) mod misfits;
pub(crate) mod page_run;
mod pool_rundown;
pub(crate) mod presence;
pub(crate) mod process_starts;
pub(crate) mod scheduling;
pub(crate) mod space_events;
pub mod survey;
mod timed_records;
pub(crate) mod walk;
pub(crate) mod working_set_events;
pub(crate) mod working_set_records;
