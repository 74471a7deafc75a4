//! Analyses: typed events in, results out. There are no raw bytes and no printing here.

pub(crate) mod allocations;
pub(crate) mod category_rules;
#[cfg(feature = "cli")]
pub(crate) mod check;
pub mod cpu;
#[cfg(feature = "cli")]
pub mod diff;
#[cfg(feature = "export")]
pub(crate) mod event_rows;
pub mod event_statistics;
#[cfg(feature = "export")]
pub mod export;
pub(crate) mod faults;
pub mod info;
pub mod memory;
#[cfg(feature = "cli")]
pub(crate) mod overview;
pub mod pages;
pub mod processes;
pub mod refset;
pub mod resident;
#[cfg(feature = "cli")]
pub(crate) mod stack_profile;
pub(crate) mod stacks;
pub mod table;
