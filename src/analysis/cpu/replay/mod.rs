//! The records of all processors in order, and what is counted on the way.
//!
//! Each [`processor`], set up by [`processor_setup`], reads its buffers with `load::scheduling` and finds out what it is used
//! for at each moment ([`interrupt_nesting`]). Its [`processor_event`]s are merged with those of the other processors
//! ([`event_merge`]). In that order the [`scheduler`] follows the [`thread_instances`], counts in [`thread_counts`] and
//! [`process_pair_counts`] and [`sample_counts`], and updates the [`ready_queue_length`]; [`before_switches`]
//! forgets what was readied too early. Where stacks are asked for, [`open_waits`] keeps waits until it is known which stack they belong to. [`after_window`] reads on where only later records tell what one
//! in the window was. [`pipeline`] runs these steps slice by slice: while the scheduler
//! works on one slice, the next one is read and merged.

mod after_window;
mod before_switches;
pub mod event_merge;
pub mod interrupt_nesting;
mod open_waits;
pub mod pipeline;
pub mod process_numbers;
pub mod process_pair_counts;
pub mod processor;
pub mod processor_event;
pub mod processor_setup;
pub mod ready_queue_length;
pub mod sample_counts;
pub mod scheduler;
pub(crate) mod silent_times;
pub mod thread_counts;
mod thread_events;
pub mod thread_instances;
