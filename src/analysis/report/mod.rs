//! The contents of the HTML report of a trace: the results of the other analyses, summarized so that a page can draw them.
//! `forms::html` draws them and computes nothing.
//!
//! [`resident`] counts all pages once more for its pictures: [`treemap`] (class, category, process or file, detail),
//! [`reclassifications`] (from WPA's categories to the corrected ones) and the [`pfn_map`] (physical memory by PFN). [`refset`],
//! [`memory`], [`cpu`], [`faults`] and [`allocations`] reduce their timelines to a few hundred points, [`stacks`] its trees to a few
//! thousand functions; [`differences`] and [`stack_differences`] compare traces.

pub(crate) mod allocations;
pub mod cpu;
pub mod differences;
mod downsampling;
pub(crate) mod faults;
pub(crate) mod headline;
pub mod memory;
pub mod pfn_map;
pub mod reclassifications;
pub mod refset;
pub mod resident;
pub(crate) mod stack_differences;
pub(crate) mod stacks;
pub mod treemap;

use crate::analysis::cpu::CpuUse;
use crate::analysis::info::TraceInfo;
use crate::analysis::memory::MemorySet;
use crate::analysis::refset::ReferenceSet;
use crate::analysis::resident::ResidentSet;
use crate::analysis::stacks::BEYOND_CAPACITY;
use crate::error::Error;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::Nanos;
use allocations::AllocationOverview;
use cpu::CpuOverview;
use faults::FaultOverview;
use memory::MemoryOverview;
use refset::RefsetOverview;
use resident::ResidentOverview;
use stacks::StackOverview;

/// Most marks that are kept.
const MOST_MARKS: usize = 50;

/// A part of the overview, or one line that says why it is not there and what to record.
pub type Part<T> = Result<T, String>;

/// A trace in pictures.
#[derive(Debug)]
pub struct Overview {
    /// The trace itself.
    pub info: TraceInfo,
    /// Everything that makes the pictures doubtful, most important first.
    pub warnings: Warnings,
    /// The first marks of the trace with their times.
    pub marks: Vec<(Nanos, String)>,
    /// What RAM held.
    pub resident: Part<ResidentOverview>,
    /// What a scenario touched.
    pub reference: Part<RefsetOverview>,
    /// The page lists over time.
    pub memory: Part<MemoryOverview>,
    /// The processors over time.
    pub cpu: Part<CpuOverview>,
    /// Hard faults and the disk.
    pub(crate) faults: Part<FaultOverview>,
    /// What was allocated and not freed.
    pub(crate) allocations: Part<AllocationOverview>,
    /// Which code did it.
    pub(crate) stacks: Part<StackOverview>,
}

impl Overview {
    /// Reads a trace. Parts without data are left out. Only a file that cannot be read at all is an error, which opening it
    /// finds.
    pub fn answer(trace: &Trace) -> Overview {
        Overview::with_symbols(trace, &SymbolFolders::default())
    }

    /// The same with names of functions from symbol files.
    pub(crate) fn with_symbols(trace: &Trace, symbols: &SymbolFolders) -> Overview {
        trace.gather(ResidentSet::PARTS | ReferenceSet::PARTS | MemorySet::PARTS | CpuUse::PARTS);
        let info = TraceInfo::answer(trace);
        let resident = part(ResidentOverview::new(trace));
        let marks = trace.system().marks.iter().take(MOST_MARKS);
        let marks = marks.map(|mark| (trace.time(mark.moment.time), mark.value.to_string())).collect();
        let length = info.duration;
        let reference = part(RefsetOverview::new(trace, length));
        let memory = part(MemoryOverview::new(trace));
        let cpu = part(CpuOverview::new(trace, length));
        let faults = part(FaultOverview::new(trace));
        let allocations = part(AllocationOverview::new(trace));
        let stacks = part(StackOverview::new(trace, symbols));
        let mut warnings = info.warnings.clone();
        let of_parts = [
            resident.as_ref().map(|part| &part.set.warnings),
            reference.as_ref().map(|part| &part.set.warnings),
            memory.as_ref().map(|part| &part.set.warnings),
            cpu.as_ref().map(|part| &part.set.warnings),
            faults.as_ref().map(|part| &part.set.warnings),
        ];
        let of_allocations = allocations.iter().flat_map(|part| &part.kinds).flat_map(|kind| &kind.set.warnings);
        warnings.add(of_parts.into_iter().flatten().flatten().chain(of_allocations).cloned());
        let of_stacks = stacks.iter().flat_map(|part| &part.kinds).flat_map(|kind| &kind.warnings);
        warnings.add(of_stacks.filter(|warning| warning.is_of(&BEYOND_CAPACITY)).cloned());
        Overview { info, warnings, marks, resident, reference, memory, cpu, faults, allocations, stacks }
    }
}

impl Overview {
    /// True when nothing is said of the numbers but what was not recorded.
    pub(crate) fn checks_passed(&self) -> bool {
        self.warnings.iter().all(|warning| warning.is_of(&["not_recorded", "not_left", "heaps_not_recorded"]))
    }

    /// True when a check of numbers was made: the trace holds something that a command checks.
    pub(crate) fn has_checks(&self) -> bool {
        // `memory` finds samples that are missing or impossible; nothing else in the trace tells its numbers.
        self.info.unchecked().iter().any(|command| *command != "memory")
    }

    /// What makes numbers doubtful.
    pub(crate) fn warnings_of_numbers(&self) -> Vec<&str> {
        self.texts_of(|warning| warning.is_grave)
    }

    /// What was not recorded, or was put right, and where and why a loss was.
    pub(crate) fn notes(&self) -> Vec<&str> {
        self.texts_of(|warning| !warning.is_grave)
    }

    fn texts_of(&self, wanted: impl Fn(&Warning) -> bool) -> Vec<&str> {
        self.warnings.iter().filter(|warning| wanted(warning)).map(|warning| warning.text.as_str()).collect()
    }
}

fn part<T>(result: Result<T, Error>) -> Part<T> {
    result.map_err(|error| one_line(&error.to_string()))
}

/// A message whose later lines are commands, as one line.
fn one_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first: Vec<&str> = lines.by_ref().take(2).collect();
    // Further lines are other commands, but for a remark.
    lines.fold(first.join(" "), |text, line| match line.starts_with('(') {
        true => format!("{text} {line}"),
        false => format!("{text}; or {line}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_one_line() {
        let message = "no pages. Record with:\n  wpr -start A, then wpr -stop\n  xperf -on B";
        assert_eq!(one_line(message), "no pages. Record with: wpr -start A, then wpr -stop; or xperf -on B");
        assert_eq!(one_line("plain"), "plain");
        let remark = "no pages. Record with:\n  wpr -start A\n(This file is not whole either: it is cut)";
        assert_eq!(one_line(remark), "no pages. Record with: wpr -start A (This file is not whole either: it is cut)");
    }
}
