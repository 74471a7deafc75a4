//! Loading: reads all records of a trace once, in parallel, counts them and collects what the model needs.

pub(crate) mod allocation_rule;
pub(crate) mod allocations;
pub(crate) mod count_only;
pub(crate) mod creator_threads;
pub(crate) mod event_kind_counts;
pub(crate) mod event_row;
pub(crate) mod event_values;
pub(crate) mod fault_records;
pub(crate) mod history;
mod history_visitor;
pub(crate) mod mem_info_ws;
pub(crate) mod misfits;
pub(crate) mod page_run;
pub mod parts;
pub(crate) mod pool_rundown;
pub(crate) mod presence;
pub(crate) mod scheduling;
pub(crate) mod schemas;
pub mod sha256_digest;
pub(crate) mod space_events;
pub(crate) mod stacks;
pub mod survey;
mod survey_visitor;
pub(crate) mod thread_records;
pub(crate) mod timed_records;
pub(crate) mod walk;
pub(crate) mod working_set_events;
