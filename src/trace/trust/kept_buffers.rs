//! Sessions that keep only their last buffers: those of each processor begin at another moment.

use crate::etl::EtlFile;
use crate::etl::buffer::TYPE_HEADER;
use crate::etl::log_file_header::{MODE_CIRCULAR, MODE_NO_PER_PROCESSOR};
use crate::load::survey::Survey;
use crate::units::{Ticks, first_of};
use std::collections::BTreeMap;

/// One part of so many of the time that is kept: what is missing of a shorter time is not told.
const TOLD_PART: u64 = 20;

/// Processors that a line names.
const NAMED: usize = 8;

/// That records of some processors begin later than those of others, because their buffers before that were overwritten.
pub(super) fn kept_unevenly(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let header = &etl.header;
    // A circular file that was never filled kept everything.
    let is_whole = header.mode & MODE_CIRCULAR != 0 && !etl.has_overwritten();
    if is_whole || header.mode & MODE_NO_PER_PROCESSOR != 0 {
        return None;
    }
    let from = survey.kept_from(etl)?;
    let mut firsts: BTreeMap<u16, Ticks> = BTreeMap::new();
    for (buffer, span) in etl.buffers.iter().zip(&survey.spans) {
        let Some(span) = span.as_ref().filter(|span| buffer.kind != TYPE_HEADER && span.first >= from) else {
            continue;
        };
        firsts.entry(buffer.processor).and_modify(|first| *first = (*first).min(span.first)).or_insert(span.first);
    }
    let span = survey.last()?.0.abs_diff(from.0);
    let is_late = |first: &Ticks| first.0.abs_diff(from.0).saturating_mul(TOLD_PART) > span;
    let late: Vec<(u16, Ticks)> = firsts.into_iter().filter(|(_, first)| is_late(first)).collect();
    let seconds = |time: Ticks| etl.clock.nanos(time).seconds();
    let name = |(number, first): &(u16, Ticks)| format!("{:.3} s of processor {number}", seconds(*first));
    let names: Vec<String> = late.iter().map(name).collect();
    let whole = late.iter().map(|(_, first)| *first).max()?;
    Some(format!(
        "the session kept only its last buffers: records begin at {:.3} s, but at {}. Counts of a window are whole from {:.3} s on",
        seconds(from),
        first_of(&names, NAMED),
        seconds(whole)
    ))
}
