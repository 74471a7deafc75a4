//! What makes the numbers doubtful.

use super::counters::{Fall, MemorySample};
use crate::event::hooks::{MEM_INFO, MEM_INFO_WS};
use crate::trace::Trace;
use crate::trace::analysis_needs::{MEMORY_UTILIZATION, PROCESS_LIVES, PROCESSES};
use crate::trace::trust::warning::Warning;
use crate::units::{count, counted};

/// What is not there, and what contradicts itself.
pub(super) fn warnings(trace: &Trace, samples: &[MemorySample], has_physical: bool) -> Vec<Warning> {
    let not_there = trace.missing(&MEMORY_UTILIZATION);
    let has = |hook| trace.survey().kernel_count(hook) > 0;
    let lacks_lives = has(MEM_INFO_WS) && not_there.iter().any(|need| need.keyword == PROCESSES.keyword);
    let note = |code, text| Warning::note(MEMORY_UTILIZATION.name, code, text);
    let missing = |keyword: &str, without: &str| format!("not in the trace, therefore unknown: {keyword} ({without})");
    let lines = [
        (!has(MEM_INFO), "not_recorded", missing("MemoryInfo", "page lists, pools and commit over time")),
        (!has(MEM_INFO_WS), "not_recorded", missing("MemoryInfoWS", "working sets by process")),
        (lacks_lives, "not_recorded", missing(PROCESSES.keyword, PROCESS_LIVES)),
    ];
    let absent = lines.into_iter().filter(|(holds, ..)| *holds).map(|(_, code, line)| note(code, line));
    let contradict = samples.iter().filter(|sample| has_physical && sample.in_use.is_none()).count() as u64;
    let text = "the page lists hold more pages than physical memory has by the trace: what is in use is unknown then";
    let exceed = Warning::grave(MEMORY_UTILIZATION.name, "lists_exceed_memory", text.to_owned()).of(contradict);
    (contradict > 0).then_some(exceed).into_iter().chain(absent).collect()
}

/// Counts since boot that fall: what was repurposed is wrong, in pages and per second.
pub(super) fn fallen(samples: &[MemorySample]) -> Option<Warning> {
    let Fall { falls, first, priority, pages: (then, now) } = Fall::of(samples)?;
    let text = format!(
        "pages repurposed since boot fall in {}, first of priority {priority} from {} to {} at {:.6} s: they were reset, or a sample is \
         wrong. Repurposed pages and their rates are wrong for it",
        counted(falls, "place", "places"),
        count(then),
        count(now),
        first.seconds(),
    );
    Some(Warning::grave(MEMORY_UTILIZATION.name, "counters_fell", text).of(falls))
}

/// That working sets are left out which are of no process, or of one that has another in the same sample.
pub(super) fn misplaced(number: u64) -> Option<Warning> {
    let text = format!(
        "left out: {} of process 0, or of a process or session that the same sample had before",
        counted(number, "working set", "working sets")
    );
    (number > 0).then(|| Warning::note(MEMORY_UTILIZATION.name, "records_left_out", text).of(number))
}

/// That values are left out which no machine can have.
pub(super) fn left_out(impossible: u64, one: &str, many: &str) -> Option<Warning> {
    let text = format!(
        "left out: {} that cannot be true: more pages than the machine has, or than the whole that they are of",
        counted(impossible, one, many)
    );
    (impossible > 0).then(|| Warning::note(MEMORY_UTILIZATION.name, "records_left_out", text).of(impossible))
}
