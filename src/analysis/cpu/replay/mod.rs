//! The records of all processors in order, and what is counted on the way.
//!
//! Each [`processor`], set up by [`processor_setup`], reads its buffers with `load::scheduling` and finds out what it is used
//! for at each moment ([`interrupt_nesting`]); the [`processor_event`]s that it passes on are merged with those of the other
//! processors ([`event_merge`]); the [`scheduler`] follows the [`thread_instances`] in that order and counts in
//! [`thread_counts`] and [`process_pair_counts`], the [`ready_queue`] beside it. [`pipeline`] runs these steps slice by slice:
//! the ordered pass over one slice while the next one is read and merged.

pub mod event_merge;
pub mod interrupt_nesting;
pub mod pipeline;
pub mod process_numbers;
pub mod process_pair_counts;
pub mod processor;
pub mod processor_event;
pub mod processor_setup;
pub mod ready_queue;
pub mod scheduler;
pub mod thread_counts;
mod thread_events;
pub mod thread_instances;
