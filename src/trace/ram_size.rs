//! How much RAM the machine has at most, as far as sizes are judged by it.

use super::Trace;
use super::analysis_needs::RESIDENT_SET;
use crate::model::snapshot::Snapshot;
use crate::units::{PAGE_BYTES, most_pages};

/// No allocation of pool is larger: what the system configuration says, else what page sequences of a trace without losses have, and a bit more.
pub(crate) fn most_pool_bytes(trace: &Trace) -> u64 {
    let configured = trace.system().ram_pages.filter(|&pages| pages > 0);
    // Without page records these are not gathered for it.
    let has_sequences = || !trace.trust().any() && !trace.missing(&RESIDENT_SET).iter().any(|need| need.required);
    let up_to = |snapshot: &Snapshot| snapshot.pages.max(snapshot.pfns.1.saturating_add(1));
    let of_sequences = || trace.snapshots().iter().map(up_to).max();
    most_pages(configured.or_else(|| if has_sequences() { of_sequences() } else { None })) * PAGE_BYTES
}
