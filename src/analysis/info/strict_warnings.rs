//! What the analyses say of their own numbers: each that can run answers its default question, and its warnings are kept
//! (`pfnset info --strict`).

use crate::analysis::allocations::{AllocationQuery, AllocationSet};
use crate::analysis::cpu::CpuUse;
use crate::analysis::cpu::query::CpuQuery;
use crate::analysis::faults::{FaultQuery, FaultSet};
use crate::analysis::memory::MemorySet;
use crate::analysis::memory::query::MemoryQuery;
use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::Query;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::warnings::of_snapshots;
use crate::load::allocation_kinds::AllocationKind;
use crate::trace::Trace;
use crate::trace::trust::warning::{OF_TRACE, Warnings};

/// What is not told again: what was never recorded, which readiness tells. All else is what the commands themselves say.
const OF_READINESS: [&str; 4] = ["not_recorded", "not_left", "heaps_not_recorded", "by_samples"];

/// How often the records are read at most: once for each of the questions.
pub(crate) const READS: u64 = 11;

/// The warnings of all analyses that can run. One that cannot run says nothing: it has no numbers.
pub(super) fn warnings(trace: &Trace) -> Warnings {
    let mut all = of_resident(trace);
    all.extend(ReferenceSet::answer(trace, &Query::default()).map(|set| set.warnings).unwrap_or_default());
    all.extend(CpuUse::answer(trace, &CpuQuery::default()).map(|set| set.warnings).unwrap_or_default());
    #[cfg(feature = "cli")]
    all.extend(of_samples(trace));
    all.extend(FaultSet::answer(trace, &FaultQuery::default()).map(|set| set.warnings).unwrap_or_default());
    all.extend(MemorySet::answer(trace, &MemoryQuery::default()).map(|set| set.warnings).unwrap_or_default());
    for of in AllocationKind::ALL.into_iter().filter(|of| of.is_recorded(trace)) {
        let query = AllocationQuery { of: Some(of), ..AllocationQuery::default() };
        all.extend(AllocationSet::answer(trace, &query).map(|set| set.warnings).unwrap_or_default());
    }
    all.into_iter().filter(|warning| warning.analysis != OF_TRACE && !warning.is_of(&OF_READINESS)).collect()
}

/// Beside switches times by samples are estimates, which is no doubt: that is kept which makes them wrong, and that nothing is known of a
/// processor. Without switches they are all that is known.
#[cfg(feature = "cli")]
fn of_samples(trace: &Trace) -> Warnings {
    let mut all = crate::analysis::cpu::SampledUse::warnings_of_trace(trace);
    let has_switches = crate::analysis::cpu::SampledUse::estimates(trace).is_none();
    all.retain(|warning| !has_switches || warning.is_grave || warning.code == crate::analysis::stacks::NO_SAMPLES);
    all
}

fn of_resident(trace: &Trace) -> Warnings {
    let last = SnapshotChoice::Last.indices(trace.snapshots()).unwrap_or_default();
    if last.is_empty() { Warnings::default() } else { of_snapshots(trace, &last) }
}
