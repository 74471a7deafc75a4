//! Analyses: typed events in, results out. No raw bytes and no printing here.

pub(crate) mod category;
#[cfg(feature = "cli")]
pub mod check;
pub mod cpu;
#[cfg(feature = "cli")]
pub mod diff;
pub mod event_statistics;
#[cfg(feature = "export")]
pub mod export;
pub mod info;
pub mod loss;
pub mod memory;
#[cfg(feature = "cli")]
pub mod overview;
pub mod pages;
pub mod processes;
pub(crate) mod readiness;
pub mod recording;
pub mod refset;
pub mod resident;
pub(crate) mod rules;
pub(crate) mod session_advice;
pub mod table;
pub mod trust;
pub mod verdict;
pub(crate) mod windows_release;
