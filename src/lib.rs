//! Offline analysis of Windows memory traces.
//!
//! The data's way: [`etl`] (buffers and record headers of an `.etl` file) → [`event`] (payloads) → model → analysis →
//! report. Each room imports only from those before it.
//!
//! The feature `cli` (on by default) is the program and `report`; without it the library has few dependencies.

pub mod analysis;
pub mod bytes;
pub mod error;
pub mod etl;
pub mod event;
pub mod load;
pub mod model;
pub mod moment;
pub mod pattern;
#[cfg(feature = "cli")]
pub mod report;
pub mod units;

/// The README's code, compiled by the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
