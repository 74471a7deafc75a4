//! Offline analysis of Windows memory traces (ETW `.etl` files), on any system.
//!
//! The resident set: what each page of RAM held at a snapshot, by category, with WPA's number beside it.
//!
//! ```
//! use pfnset::analysis::resident::{ResidentSet, query::ResidentQuery};
//! use pfnset::trace::Trace;
//! use std::path::Path;
//!
//! let trace = Trace::open(Path::new("fixtures/resident-small.etl"))?;
//! let set = ResidentSet::answer(&trace, &ResidentQuery::default())?;
//! let snapshot = set.snapshots.first().expect("a set has at least one snapshot");
//! for row in &snapshot.rows {
//!     println!("{}: {} pages, {} in WPA", row.labels.join(" / "), row.measure.pages, row.measure.pages_wpa);
//! }
//! assert_eq!(snapshot.pages, 3000);
//! assert_eq!(snapshot.rows[0].labels, ["MapFile"]);
//! # Ok::<(), pfnset::error::Error>(())
//! ```
//!
//! [`Trace`](trace::Trace) is a file, or several of one recording. It gathers what questions need, keeps it, and judges once
//! whether the file can be trusted. Each analysis has a function `answer(trace, query)`:
//!
//! - [`ResidentSet`](analysis::resident::ResidentSet): pages of RAM at a snapshot;
//!   [`PageListing`](analysis::pages::PageListing): the same, one row for each page.
//! - [`ReferenceSet`](analysis::refset::ReferenceSet): pages that processes touched in a time window.
//! - [`TraceInfo`](analysis::info::TraceInfo), [`EventStatistics`](analysis::event_statistics::EventStatistics): what a trace
//!   holds, and what it can be used for.
//!
//! Below them:
//!
//! - [`Survey::with_visitors`](load::survey::Survey::with_visitors): all records of a trace, in parallel, for your own
//!   questions.
//! - [`counter`]: the types of performance counters, and the values of raw samples; no trace is needed.
//! - [`EtlFile`](etl::EtlFile) (buffers and record headers) and [`decode`](event::decode) (payloads): the layers below.
//!
//! Data flows in one direction, and each module imports only from those before it: [`input`] (the bytes of a file or of a
//! trace in an archive), [`etl`] (buffers and record headers of the file), [`event`] (payloads), [`load`] (one parallel pass
//! over all records), [`model`] (processes, address spaces and names at any time), [`facets`] (what rows can be grouped by and
//! filtered on), [`trace`] (the file with what was gathered of it), [`anonymized`] (a trace written again with other names), `exported` (tables in files, not traces), [`analysis`],
//! `answer` (what a command found), `forms` (text, CSV, JSON, …) and `dataset` (files for SQL engines).
//!
//! The feature `cli` (on by default) adds the program, `answer` and `forms`; without it the library has few dependencies.

pub mod analysis;
pub mod anonymized;
#[cfg(feature = "cli")]
pub mod answer;
pub(crate) mod bytes;
#[cfg(feature = "cli")]
mod cli;
pub mod code_page;
pub mod counter;
#[cfg(feature = "export")]
pub mod dataset;
pub mod error;
pub mod escape;
pub mod etl;
pub mod event;
#[cfg(feature = "cli")]
pub mod exported;
pub mod facets;
#[cfg(feature = "cli")]
pub mod forms;
pub mod input;
#[doc(hidden)]
pub mod internals;
pub mod load;
pub mod model;
pub(crate) mod moment;
mod named;
pub mod pattern;
#[cfg(test)]
mod random_cases;
pub mod trace;
pub mod units;

/// The README's code, compiled by the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
