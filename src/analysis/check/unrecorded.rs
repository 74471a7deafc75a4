//! Keywords that were not recorded, so that a value is of other pages or times than with them: it is known by this recording's measure, and is
//! none to compare with a recording that has them.

use super::budget::Conditions;
use super::required_data::{NEEDED, Use, not_recorded, use_of};
use crate::event::hooks::READY_THREAD;
use crate::trace::Trace;
use crate::trace::analysis_needs::{
    AnalysisNeeds, CPU, DPCS, Exchange, HEAPS, INTERRUPTS, PROCESSES, Recorded, THREADS,
};
use crate::trace::trust::readiness::not_seen;

/// Keywords that were not recorded, so that pages which meet the conditions are those of other categories too: the value is known
/// by this recording's measure, and is none to compare with one that has them. Each with what it means.
pub fn unrecorded(trace: &Trace, analysis: &AnalysisNeeds, conditions: &Conditions) -> Vec<(&'static str, String)> {
    let missing = trace.missing(analysis);
    let mut found = counted_as_others(|keyword| missing.iter().any(|need| need.keyword == keyword), conditions);
    // Threads alone: of processes there are events.
    let of_threads = not_seen(trace.survey()).filter(|(recorded, _)| taken_from_others(recorded, conditions).is_some());
    let told = of_threads
        .map(|(recorded, things)| (recorded.keyword, format!("no record of {}: {}", things.name, things.without)));
    found.extend(told);
    found
}

/// Keywords that were not recorded, and tell categories apart.
pub fn telling_categories(trace: &Trace, analysis: &AnalysisNeeds) -> Vec<String> {
    let missing = trace.missing(analysis);
    let is_missing = |recorded: &&&Recorded| missing.iter().any(|need| need.keyword == recorded.keyword);
    NEEDED.iter().filter(is_missing).map(|recorded| recorded.keyword.to_owned()).collect()
}

/// The same of time on the processors: with whose time that of interrupts counts.
pub fn unrecorded_interrupts(trace: &Trace) -> Vec<(&'static str, String)> {
    let missing = trace.missing(&CPU).into_iter();
    let missing = missing.filter(|need| [DPCS.keyword, INTERRUPTS.keyword].contains(&need.keyword));
    missing
        .map(|need| {
            (need.keyword, format!("no event of the keyword {} is in the trace ({})", need.keyword, need.without))
        })
        .collect()
}

/// What a trace without the keyword ReadyThread lacks.
pub(super) const NOT_READY: &str = "no record says when threads became ready";

/// The same of the time of waits: where they end.
pub fn unrecorded_wakeups(trace: &Trace) -> Vec<(&'static str, String)> {
    let has_none = trace.survey().kernel_count(READY_THREAD) == 0;
    let text = format!("{NOT_READY}: each wait lasts until the thread runs again, with the time in which it was ready");
    has_none
        .then_some(("ReadyThread", text))
        .into_iter()
        .chain(unrecorded_ends(trace, THREADS, "those that ended count as waiting"))
        .collect()
}

/// The same of ready delays: those of threads that begin.
pub fn unrecorded_starts(trace: &Trace) -> Vec<(&'static str, String)> {
    unrecorded_ends(trace, THREADS, "delays of those that began are missing").into_iter().collect()
}

/// The same of what ends with processes or threads; `what` comes of that.
pub fn unrecorded_ends(trace: &Trace, things: &str, what: &str) -> Option<(&'static str, String)> {
    let mut kinds = PROCESSES.things.iter().filter(|kind| kind.name == things);
    let has_none =
        kinds.all(|kind| kind.described().chain(kind.changes()).all(|hook| trace.survey().kernel_count(hook) == 0));
    has_none.then(|| {
        let keyword = PROCESSES.keyword;
        (keyword, format!("no record of {things} is in the trace (keyword {keyword}): when they began and ended is not known, and {what}"))
    })
}

/// The same of a result that was saved, by the keywords that its trace was recorded without.
///
/// # Errors
/// What cannot be known without one of them: then the value is none.
pub fn unrecorded_of_saved(missing: &[String], conditions: &Conditions) -> Result<Vec<String>, String> {
    let is_missing = |keyword: &str| missing.iter().any(|name| name == keyword);
    for recorded in NEEDED.iter().filter(|recorded| is_missing(recorded.keyword)) {
        for exchange in recorded.exchanges {
            let Use { named, needs, .. } = use_of(recorded, exchange, conditions);
            if named.is_some() || needs {
                return Err(not_recorded(named, recorded.keyword));
            }
        }
    }
    let found = counted_as_others(is_missing, conditions);
    Ok(found.into_iter().map(|(keyword, _)| keyword.to_owned()).collect())
}

/// A keyword without which a value would be unknown, or of other pages; of a baseline that does not say what was recorded.
pub fn depends_on_keyword(conditions: &Conditions) -> Option<&'static str> {
    let matters = |recorded: &&&Recorded| {
        recorded.exchanges.iter().any(|exchange| {
            let Use { named, splits, needs, .. } = use_of(recorded, exchange, conditions);
            named.is_some() || splits || needs
        })
    };
    NEEDED.iter().find(matters).map(|recorded| recorded.keyword)
}

/// The categories of which conditions take some, so that pages of others are among them without the keyword.
fn taken_from_others(recorded: &Recorded, conditions: &Conditions) -> Option<&'static Exchange> {
    recorded.exchanges.iter().find(|exchange| {
        let Use { named, splits, needs, .. } = use_of(recorded, exchange, conditions);
        named.is_none() && splits && !needs
    })
}

fn counted_as_others(is_missing: impl Fn(&str) -> bool, conditions: &Conditions) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for recorded in NEEDED.iter().filter(|recorded| is_missing(recorded.keyword)) {
        if let Some(exchange) = taken_from_others(recorded, conditions) {
            let keyword = recorded.keyword;
            let text = if keyword == HEAPS.keyword {
                format!("no heap ranges ({keyword}): pages of heaps are counted as VirtualAlloc")
            } else {
                let names: Vec<&str> = exchange.needs.iter().map(|category| category.name()).collect();
                format!("the keyword {keyword} was not recorded: pages of {} count as others", names.join(", "))
            };
            found.push((keyword, text));
        }
    }
    found
}
