//! Interrupts and deferred procedure calls by module and routine.

use crate::analysis::cpu::replay::processor::{Processor, Routine, RoutineTimes};
use crate::load::interruptions::Interruption;
use crate::model::kernel_images::KernelImages;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A routine and what it cost; times in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptRow {
    /// `isr`, `dpc`, `threaded_dpc`, `timer_dpc`.
    pub kind: &'static str,
    /// File name of the kernel image that holds the routine; `None` when none does.
    pub module: Option<String>,
    /// Address.
    pub routine: u64,
    /// How often and how long.
    pub times: RoutineTimes,
}

const fn name(kind: Interruption) -> &'static str {
    match kind {
        Interruption::Isr => "isr",
        Interruption::Dpc => "dpc",
        Interruption::ThreadedDpc => "threaded_dpc",
        Interruption::TimerDpc => "timer_dpc",
    }
}

/// The rows, those that took longest first.
pub fn rows(processors: &[Processor], images: &KernelImages<'_>) -> Vec<InterruptRow> {
    let mut sums: BTreeMap<Routine, RoutineTimes> = BTreeMap::new();
    for (routine, times) in processors.iter().flat_map(|processor| &processor.routines) {
        add(sums.entry(*routine).or_default(), times);
    }
    let wanted: Vec<(u64, u32)> = sums.keys().map(|&(_, routine, changes)| (routine, changes)).collect();
    let mut rows: BTreeMap<(Interruption, Option<&str>, u64), RoutineTimes> = BTreeMap::new();
    for ((&(kind, routine, _), times), module) in sums.iter().zip(images.names(&wanted)) {
        add(rows.entry((kind, module, routine)).or_default(), times);
    }
    let row = |((kind, module, routine), times): ((Interruption, Option<&str>, u64), RoutineTimes)| InterruptRow {
        kind: name(kind),
        module: module.map(str::to_owned),
        routine,
        times,
    };
    let counted = rows.into_iter().filter(|(_, times)| times.count > 0);
    let mut rows: Vec<InterruptRow> = counted.map(row).collect();
    rows.sort_by_key(|row| (Reverse(row.times.exclusive), Reverse(row.times.count)));
    rows
}

fn add(sum: &mut RoutineTimes, times: &RoutineTimes) {
    sum.count += times.count;
    sum.inclusive = sum.inclusive.saturating_add(times.inclusive);
    sum.exclusive = sum.exclusive.saturating_add(times.exclusive);
    sum.max = sum.max.max(times.max);
}
