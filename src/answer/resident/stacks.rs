//! Of how many pages the stack of the commit is known, in JSON and in sentences.

use crate::analysis::resident::commit_stacks::{AllocationShare, PageShare};
use crate::analysis::resident::{ResidentSet, SnapshotSet};
use crate::answer::numbers;
use serde_json::{Value, json};

/// The pages of a snapshot whose stack is known.
pub(super) fn of_pages(share: PageShare) -> Value {
    json!({ "pages": share.pages, "pages_committed": share.committed, "pages_with_stack": share.with_stack })
}

/// The allocations of the trace whose stack is known.
pub(super) fn of_allocations(share: AllocationShare) -> Value {
    json!({ "allocations": share.allocations, "allocations_with_stack": share.with_stack })
}

/// `Stacks are known of 7 of 12 pages (58.3 %), before the conditions on stacks`.
fn known(set: &ResidentSet, share: PageShare) -> String {
    let percent = match share.pages {
        0 => String::new(),
        pages => format!(" ({})", numbers::percent(share.with_stack, pages)),
    };
    let before = if set.chooses_stacks() { ", before the conditions on stacks" } else { "" };
    let [known, all] = [share.with_stack, share.pages].map(numbers::count);
    format!("Stacks are known of {known} of {all} pages{percent}{before}")
}

/// One line for the first screen.
pub(super) fn in_short(set: &ResidentSet, snapshot: &SnapshotSet) -> Option<String> {
    snapshot.stacks.map(|share| format!("{}.", known(set, share)))
}

/// What is said below rows.
pub(super) fn in_full(set: &ResidentSet, snapshot: &SnapshotSet) -> Option<String> {
    let (share, of_trace) = snapshot.stacks.zip(set.stacks)?;
    let comma = if set.chooses_stacks() { "," } else { "" };
    let [with_stack, allocations, bare, unknown] = [
        of_trace.with_stack,
        of_trace.allocations,
        share.committed.saturating_sub(share.with_stack),
        share.pages.saturating_sub(share.committed),
    ]
    .map(numbers::count);
    Some(format!(
        "{}{comma} and of {with_stack} of the {allocations} VirtualAlloc records of the trace. Pages that a record without a stack \
         committed: {bare}; that none of the trace committed (kernel, files and sections, and from before the trace): {unknown}.",
        known(set, share)
    ))
}
