//! An answer: what a command found, for any form. [`forms`](crate::forms) write it; each form takes any answer.
//!
//! Each file here makes the answer of one analysis from its result. Numbers in tables stay values with their units; numbers in
//! sentences are made by [`numbers`].

pub mod answer_type;
pub mod json_facts;
pub mod numbers;
mod rows;
pub mod text_block;

pub(crate) mod allocations;
pub(crate) mod check;
mod check_amounts;
mod check_overview;
pub(crate) mod comparison;
pub mod counter_samples;
pub mod counter_types;
pub mod cpu;
pub mod diff;
pub(crate) mod diff_allocations;
pub(crate) mod diff_stacks;
pub mod events;
pub mod explain;
pub(crate) mod faults;
pub mod info;
mod info_many_traces;
pub mod memory;
pub mod processes;
pub mod refset;
pub mod resident;
pub(crate) mod stack_display;
mod stack_names;
mod stack_scope;
mod stack_weights;
pub(crate) mod stacks;
pub(crate) mod symbols;

pub use answer_type::{Answer, Place, Units};
pub use json_facts::{Fact, Facts};
pub use rows::{Records, Rows};
pub use text_block::Block;
