//! Whether the numbers of a trace can be trusted, and what every command says of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `warning` | a [`Warning`]: its code, its words, whether numbers can be wrong; the [`Warnings`] of a result; and the list of all codes. A new warning begins here |
//! | `loss`, `damage_time` | what was lost and what is damaged, found in the file |
//! | `kept_buffers` | of sessions that keep only their last buffers: where each processor's begin |
//! | `header_contradictions` | where the log-file header and the records contradict each other |
//! | `files_together` | where the files of one recording contradict each other, or hold the same events |
//! | `trust_report` | the [`TrustReport`]: all losses and damage of a trace, and the warnings about them |
//! | `level` | the [`TrustLevel`]: the worst of them, as one word and one sentence |
//! | `readiness` | which analyses can run, by what was recorded, and the warnings of rundowns that are missing; it says nothing of loss |
//!
//! A warning about the file is made in `trust_report`, one about rundowns in `readiness`, one about the numbers of an analysis in the
//! `warnings.rs` or the `mod.rs` of that analysis.

pub(crate) mod damage_time;
mod files_together;
mod header_contradictions;
mod kept_buffers;
pub(crate) mod level;
pub(crate) mod loss;
pub(crate) mod readiness;
pub(crate) mod trust_report;
pub(crate) mod untold_labels;
pub(crate) mod warning;

pub use level::TrustLevel;
pub use loss::{DescribedHole, Loss, PeakRate};
pub use readiness::{Need, Readiness, ReadinessLevel};
pub use trust_report::{AbsenceReason, TrustReport};
pub use warning::{Warning, Warnings};
