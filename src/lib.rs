//! Offline analysis of Windows memory traces (ETW `.etl` files), on any system.
//!
//! Open a [`Trace`], ask it, look at the rows, or write the answer in any form:
//!
//! ```
//! use pfnset::analysis::resident::{ResidentSet, query::ResidentQuery};
//! use pfnset::Trace;
//! # use std::path::Path;
//!
//! let trace = Trace::open(Path::new("fixtures/resident-small.etl"))?;
//! let set = ResidentSet::answer(&trace, &ResidentQuery::default())?;
//! for row in &set.snapshots[0].rows {
//!     println!("{:?}: {} pages, {} in WPA", row.labels, row.measure.pages, row.measure.pages_wpa);
//! }
//! # assert_eq!(set.snapshots[0].pages, 3000);
//! # Ok::<(), pfnset::Error>(())
//! ```
//!
//! A [`Trace`] is a file, or several of one recording. It gathers what questions need, keeps it, and judges once whether the
//! file can be trusted ([`Trace::trust`]). Each analysis has a query, and a function `answer(trace, query)`:
//!
//! - [`ResidentSet`](analysis::resident::ResidentSet): what each page of RAM held at a snapshot, by category, with WPA's number
//!   beside it; [`PageListing`](analysis::pages::PageListing): the same, one row for each page;
//!   [`Explanation`](analysis::resident::explain::Explanation): why a page is what it is.
//! - [`ReferenceSet`](analysis::refset::ReferenceSet): pages that processes touched in a time window.
//! - [`MemorySet`](analysis::memory::MemorySet): memory over time; [`CpuUse`](analysis::cpu::CpuUse): who ran and who had to wait;
//!   [`ProcessSet`](analysis::processes::ProcessSet): the processes.
//! - [`AllocationSet`](analysis::allocations::AllocationSet): what was allocated and never freed;
//!   [`FaultSet`](analysis::faults::FaultSet): hard faults and disk requests; [`StackSet`](analysis::stacks::StackSet): which code did it.
//! - `analysis::diff` compares two of these, `analysis::check` judges them against budgets, `analysis::report` and `analysis::export` give all of
//!   them as a page and as tables.
//! - [`TraceInfo`](analysis::info::TraceInfo), [`EventStatistics`](analysis::events::EventStatistics): what a trace
//!   holds, and what it can be used for.
//!
//! Below them are [`EtlFile`](etl::EtlFile) (buffers and record headers, for questions of your own) and [`event::decode`]
//! (payloads). [`counter`] needs no trace: types of performance counters, and the values of raw samples.
//!
//! Data flows in one direction, and each module imports only from those before it: [`input`] (the bytes of a file or of a
//! trace in an archive), `symbols` (functions of images, from their databases), [`etl`] (buffers and record headers of the file), [`event`] (payloads), `load` (one parallel pass
//! over all records), [`model`] (processes, address spaces and names at any time), [`dimensions`] (what rows can be grouped by and
//! filtered on), [`trace`] (the file with what was gathered of it), [`anonymized`] (a trace written again with other names),
//! `imported` (tables in files that WPA or pfnset exported), [`analysis`], `answer` (what a command found), `forms` (text, CSV, JSON, …),
//! `dataset` (files for SQL engines) and `cli` (the program).
//!
//! # Where a new thing goes
//!
//! | new | file | beside it |
//! |---|---|---|
//! | record layout | `src/event/layouts/FAMILY.rs`: the layout, and in `hooks!` the event's name (an event that was only counted leaves `COUNTED` in `src/event/hooks.rs`) | a line in `src/event/dispatch.rs`; whether it tells of people: `src/event/personal.rs`; names of its fields: `src/event/fields/kernel.rs`, of memory `src/event/fields/kernel_memory.rs` |
//! | dimension | of a process, a file, a stack: `src/dimensions/FACT_dimensions.rs`; it is there for each analysis that has the whole fact. In `src/dimensions/single_dimensions.rs` where it stands alone | its labels, where they are not in that file: of stacks `src/analysis/stacks/stack_labels.rs`; a line in `dimensions!` of analyses that list theirs one by one, in `src/analysis/COMMAND/query.rs` (`resident`, `pages`: `src/analysis/resident/page_dimensions.rs`; `processes`: `src/analysis/processes/rows.rs`; `diff`: `src/analysis/diff/compared_dimensions.rs`), and what the compiler names |
//! | column | `src/analysis/COMMAND/tables.rs`; of a timeline `timeline_table.rs` beside it | commands without that file: `src/answer/COMMAND.rs`; `counter`: `src/answer/counter_types.rs`, `src/answer/counter_samples.rs`; `diff`: `tables.rs` in the folders of `src/analysis/diff`; `info`: `src/analysis/info/buffer_content.rs`, `src/analysis/info/recording_files.rs`; `events`: `src/analysis/events.rs`, its `--rows` `src/forms/event_rows.rs`; `pages`: `src/analysis/pages.rs`, then its width and cell in `src/forms/pages`; a counter of `memory`: `src/analysis/memory/counters.rs`; `cpu` by samples: `src/analysis/cpu/by_samples.rs`; `export`: `src/analysis/export/schema.rs` |
//! | form of output | `src/forms/FORM.rs` | lines in `src/forms/mod.rs`, `src/forms/many_traces.rs`, `src/cli/args.rs` and `src/cli/output.rs`; `pages` and `events --rows` write row by row and have lists of their own: `src/forms/pages/mod.rs`, `src/forms/event_rows.rs` |
//! | warning | its code in `src/trace/trust/warning.rs`, and in docs/export.md | its words: about the file in `src/trace/trust/trust_report.rs` (the header against the records: `src/trace/trust/header_contradictions.rs`; several files: `src/trace/trust/files_together.rs`), about rundowns in `src/trace/trust/readiness.rs`, about page sequences in `src/trace/page_sequences.rs`, about the check of a snapshot in `src/analysis/resident/check_outcomes.rs`, about one analysis in `src/analysis/COMMAND/warnings.rs` or, without that file, `mod.rs`; about sides of a comparison where the fact is found, in `src/analysis/diff` and `src/imported` |
//! | flag of a command | `src/cli/commands/COMMAND.rs`; of many commands `src/cli/args.rs` | what it asks for: `src/analysis/COMMAND/query.rs`, or the query in `mod.rs` where there is none |
//! | keyword of a recorder | its bit in `src/event/group_mask_bits.rs` | what it records, and who needs it: `src/trace/analysis_needs.rs` (values of the types in `src/trace/recorded_by_keyword.rs`) |
//! | measure of a budget | `src/analysis/check/budget.rs` | its value: of pages and of the reference set in `src/analysis/check/trace_values.rs`, of processors, faults and allocations in `src/analysis/check/cpu_values.rs`, `src/analysis/check/fault_values.rs`, `src/analysis/check/allocation_values.rs`; what it needs of a recording: `src/analysis/check/required_data.rs` |
//! | command | `src/analysis/COMMAND/mod.rs`, `src/answer/COMMAND.rs`, `src/cli/commands/COMMAND.rs` | lines in `src/cli/commands/mod.rs`; what it needs of a recording: `src/trace/analysis_needs.rs`; its warnings for `info --strict`: `src/analysis/info/strict_warnings.rs` |
//!
//! docs/contributing-commands.md says the rest.
//!
//! The feature `cli` (on by default) adds the program, `answer` and `forms`; without it the library has few dependencies.

// Much of what is not public is there for the program alone.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

pub mod analysis;
pub mod anonymized;
#[cfg(feature = "cli")]
pub mod answer;
pub(crate) mod byte_reader;
pub(crate) mod chunked_list;
#[cfg(feature = "cli")]
mod cli;
pub mod code_page;
pub mod counter;
#[cfg(feature = "export")]
pub mod dataset;
pub mod dimensions;
pub mod error;
pub(crate) mod escape;
pub mod etl;
pub mod event;
#[cfg(feature = "cli")]
pub mod forms;
#[cfg(feature = "cli")]
pub(crate) mod imported;
pub mod input;
pub(crate) mod load;
pub mod model;
pub(crate) mod moment;
mod named_enum;
pub mod pattern;
#[cfg(test)]
mod random_cases;
pub(crate) mod symbols;
pub mod trace;
pub mod units;
#[doc(hidden)]
pub mod unstable_api;

pub use error::Error;
pub use trace::Trace;

/// The README's code, compiled by the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
