//! Goes through the records of a trace in their order, slice by slice: only the records of a few slices and what is live are in memory.

use super::counting::Counting;
use super::replay_result::Replayed;
use super::resident_pages::ResidentPages;
use super::{blocks, commit_replay};
use crate::load::allocation_kinds::{AllocationKind, AllocationRundowns};
use crate::trace::Trace;

/// Goes through all records of a kind; `resident`: pages with which commit is compared at their time.
pub fn replay(
    trace: &Trace,
    kind: AllocationKind,
    counting: &mut Counting<'_>,
    resident: Option<&ResidentPages>,
) -> Replayed {
    let has_rundown = kind.rundowns().iter().any(|hook| trace.survey().kernel_count(*hook) > 0);
    let rundowns = match has_rundown {
        true => AllocationRundowns::new(trace.etl(), kind),
        false => AllocationRundowns::default(),
    };
    match kind {
        AllocationKind::Commit => commit_replay::replay(trace, &rundowns.regions, counting, resident),
        AllocationKind::Pool | AllocationKind::Heap => blocks::replay(trace, kind, &rundowns, counting),
    }
}
