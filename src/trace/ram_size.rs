//! How much RAM the machine has, as far as anything tells: at most, where sizes are judged by it, and at least, where page sequences are.

use super::Trace;
use super::analysis_needs::RESIDENT_SET;
use crate::load::owned_events::MemoryCounters;
use crate::model::snapshot::Snapshot;
use crate::units::{PAGE_BYTES, most_pages};

/// Windows gives its pool no more addresses: 16 TiB for non-paged pool, 15.5 TiB for paged pool.
const MOST_POOL_BYTES: u64 = 1 << 44;

/// No allocation of pool is larger: what the system configuration says, else what page sequences of a trace without losses have, and a bit more.
pub(crate) fn most_pool_bytes(trace: &Trace) -> u64 {
    let configured = trace.system().ram_pages.filter(|&pages| pages > 0);
    // Without page records these are not gathered for it.
    let has_sequences = || !trace.trust().any() && !trace.missing(&RESIDENT_SET).iter().any(|need| need.required);
    let up_to = |snapshot: &Snapshot| snapshot.pages.max(snapshot.pfns.1.saturating_add(1));
    let of_sequences = || trace.snapshots().iter().map(up_to).max();
    let ram_pages = configured.or_else(|| if has_sequences() { of_sequences() } else { None });
    (most_pages(ram_pages) * PAGE_BYTES).min(MOST_POOL_BYTES)
}

/// What tells of the size of RAM beside page sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RamSource {
    /// The size itself, by the system configuration.
    Configuration,
    /// Pages on lists by a MemInfo record: RAM has at least these.
    Lists,
}

/// How many pages RAM has, or at least has: the most that anything but a page sequence tells.
pub(crate) fn known_ram(trace: &Trace) -> Option<(u64, RamSource)> {
    let configured = trace.system().ram_pages.filter(|&pages| pages > 0);
    let listed = trace.counters().memory.iter().map(|at| at.value).filter(MemoryCounters::is_possible);
    let listed = listed.map(|counters| counters.listed()).max().filter(|&pages| pages > 0);
    let all = configured.map(|pages| (pages, RamSource::Configuration));
    all.into_iter().chain(listed.map(|pages| (pages, RamSource::Lists))).max_by_key(|(pages, _)| *pages)
}
