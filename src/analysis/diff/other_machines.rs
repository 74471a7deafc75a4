//! That two traces are of other machines, or of other builds of Windows: whatever of them is compared, a part of the difference is theirs.

use super::query::SIDES;
use crate::trace::Trace;
use crate::trace::machine::Machine;
use crate::trace::trust::warning::Warnings;

/// How the machine of the right trace differs from that of the left one.
pub(super) fn of_other_machines(traces: [&Trace; 2]) -> Warnings {
    let [left, right] = traces.map(Machine::of);
    right.differences(&left, SIDES[0]).into_iter().map(|warning| warning.named(SIDES[1])).collect()
}
