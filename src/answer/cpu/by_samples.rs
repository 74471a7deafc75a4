//! The answer of `pfnset cpu` for a trace with samples and without context switches.

use super::{CpuDisplay, CpuView, ends, json};
use crate::analysis::cpu::SampledUse;
use crate::answer::answer_type::{Answer, Units};
use crate::answer::numbers;
use crate::answer::text_block::Block;
use crate::trace::trust::warning::grave;

/// Rows of both tables on the first screen, where the user does not say.
const FIRST: (usize, usize) = (6, 3);

/// The answer of `pfnset cpu` for a trace without context switches, as a summary or as rows.
pub fn answer(set: &SampledUse, display: CpuDisplay) -> Answer<'_> {
    let CpuDisplay { view, order, top, unit, .. } = display;
    let (from, to) = ends(set.window_times, &set.window);
    let title = format!("CPU use by samples from {from} to {to}");
    let is_summary = view == CpuView::Summary;
    let first = if is_summary { top.or(Some(FIRST.0)) } else { top };
    let told = format!(
        "{} samples, one each {} on each processor; {} met an idle thread",
        numbers::count(set.all.events),
        unit.show(set.interval_ns),
        numbers::count(set.idle.events),
    );
    let mut screen = vec![Block::Title(title.clone()), Block::Text(told), Block::Blank, Block::Rows(0)];
    if is_summary && !set.modules.is_empty() {
        screen.extend([Block::Blank, Block::Table(set.module_table(top.or(Some(FIRST.1))))]);
    }
    Answer {
        warnings: set.warnings.clone(),
        grave: grave(&set.doubts),
        facts: json::facts_by_samples(set),
        tables: vec![set.row_table(order, first).titled(title).into()],
        screen: Some(screen),
        units: Units { time: unit, ..Units::default() },
        ..Answer::new("pfnset.cpu")
    }
    .chosen_by(&set.filter)
}
