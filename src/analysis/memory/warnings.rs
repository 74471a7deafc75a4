//! What makes the numbers doubtful.

use super::counters::MemorySample;
use crate::trace::analysis_needs::MEMORY_UTILIZATION;
use crate::trace::trust::warning::Warning;
use crate::units::counted;

/// What is not there, and what contradicts itself.
pub(super) fn warnings(
    samples: &[MemorySample],
    has_physical: bool,
    has_counters: bool,
    has_working_sets: bool,
) -> Vec<Warning> {
    let note = |code, text| Warning::note(MEMORY_UTILIZATION.name, code, text);
    let missing = |keyword: &str, without: &str| format!("not in the trace, therefore unknown: {keyword} ({without})");
    let contradicts = |sample: &MemorySample| has_physical && sample.in_use.is_none();
    let lines = [
        (!has_counters, "not_recorded", missing("MemoryInfo", "page lists, pools and commit over time")),
        (!has_working_sets, "not_recorded", missing("MemoryInfoWS", "working sets by process")),
        (
            samples.iter().any(contradicts),
            "lists_exceed_memory",
            "the page lists hold more pages than physical memory has by the trace: what is in use is unknown then"
                .into(),
        ),
    ];
    lines.into_iter().filter(|(holds, ..)| *holds).map(|(_, code, line)| note(code, line)).collect()
}

/// That values are left out which no machine can have.
pub(super) fn left_out(impossible: u64, one: &str, many: &str) -> Option<Warning> {
    let text = format!("left out: {} with more pages than any machine has", counted(impossible, one, many));
    (impossible > 0).then(|| Warning::note(MEMORY_UTILIZATION.name, "records_left_out", text).of(impossible))
}
