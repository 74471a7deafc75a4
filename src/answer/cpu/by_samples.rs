//! The answer of `pfnset cpu` for a trace with samples and without context switches.

use super::{CpuDisplay, CpuView, ends, json};
use crate::analysis::cpu::SampledUse;
use crate::answer::answer_type::{Answer, Units};
use crate::answer::numbers::{self, TimeUnit};
use crate::answer::text_block::Block;
use crate::units::{Nanos, counted};

/// Rows of both tables on the first screen, where the user does not say. Of processes each sentence above takes one, so that a
/// terminal of 24 rows shows the title and all of both tables.
const FIRST: (usize, usize) = (7, 2);

/// The answer of `pfnset cpu` for a trace without context switches, as a summary or as rows.
pub fn answer(set: &SampledUse, display: CpuDisplay) -> Answer<'_> {
    let CpuDisplay { view, order, top, unit, .. } = display;
    let (from, to) = ends(set.window_times, &set.window);
    let title = format!("CPU use by samples from {from} to {to}");
    let is_summary = view == CpuView::Summary;
    let told = told(set, unit);
    let first = if is_summary { top.or(Some(FIRST.0 - told.len())) } else { top };
    let mut screen = vec![Block::Title(title.clone()), Block::Text(told.join(". ")), Block::Blank, Block::Rows(0)];
    if is_summary && !set.modules.is_empty() {
        screen.extend([Block::Blank, Block::Table(set.module_table(top.or(Some(FIRST.1))))]);
    }
    Answer {
        warnings: set.warnings.clone(),
        facts: json::facts_by_samples(set),
        tables: vec![set.row_table(order, first).titled(title).into()],
        notes: vec![told.join(". ")],
        // The table of modules is no part of the rows.
        document: Some(screen.clone()),
        screen: Some(screen),
        units: Units { time: unit, ..Units::default() },
        ..Answer::new("pfnset.cpu")
    }
    .chosen_by(&set.filter)
}

/// What the samples are, and what they do not tell: five sentences at most.
fn told(set: &SampledUse, unit: TimeUnit) -> Vec<String> {
    let time = |at: Nanos| format!("{:.6} s", at.seconds());
    let Some((first, last)) = set.facts.span else {
        let of_trace = set
            .facts
            .span_of_trace
            .map(|(first, last)| format!("; those of the trace are from {} to {}", time(first), time(last)));
        return vec![format!("No samples{}", of_trace.unwrap_or_default())];
    };
    let without = if set.filter.is_empty() { "" } else { "Without the conditions: " };
    let (least, most) = set.intervals_ns;
    let interval = match least == most {
        true => unit.show(most),
        false => format!("{} to {}", unit.show(least), unit.show(most)),
    };
    let each = match set.coverage.lacking() {
        None => format!("one each {interval} on each processor"),
        Some((found, whole)) => {
            let (found, whole, processors) = (unit.show(found), unit.show(whole), set.coverage.processors());
            format!("{interval} each: {found} of {whole} of {processors} processors")
        }
    };
    let mut told = vec![format!(
        "{without}{} samples from {} to {}, {each}; {} met an idle thread",
        numbers::count(set.all.events),
        time(first),
        time(last),
        numbers::count(set.idle.events),
    )];
    let (from, to) = set.window_times;
    let silent = (first.0 - from.0).max(0) + (to.0 - last.0).max(0);
    let is_long = silent > SILENT_INTERVALS * i128::from(most);
    if is_long && silent * SILENT > to.0 - from.0 {
        let silent = unit.show(u64::try_from(silent).unwrap_or(u64::MAX));
        told.push(format!("No sample is in the other {silent} of the window: what ran then is not known"));
    }
    if set.facts.of_several > 0 {
        let several = counted(set.facts.of_several, "record stands", "records stand");
        told.push(format!("{several} for several intervals (field Count), which Time counts"));
    }
    if set.facts.of_interrupts > 0 {
        let calls = numbers::count(set.facts.of_interrupts);
        told.push(format!("{calls} met a DPC or an interrupt; pfnset stacks counts these for the thread below it"));
    }
    if !set.filter.is_empty() {
        told.push("Shares are of all samples in the window, not only of those that meet the conditions".to_owned());
    }
    told
}

/// A window that is without samples for more than one part in so many, and for more than so many intervals, is said to be.
const SILENT: i128 = 20;
const SILENT_INTERVALS: i128 = 10;
