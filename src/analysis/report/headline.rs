//! What a trace says in short: what holds its memory, and what is out of the ordinary. `forms::html` makes sentences of it.
//!
//! The limits are rules of thumb, which docs/report.md names: a page that calls everything unusual is not read.

use crate::analysis::report::Overview;
use crate::analysis::resident::first_screen::PhysicalMemory;
use crate::analysis::table::Label;
use crate::model::category::Class;

/// Less than this part of memory is available: little. One in ten.
const LITTLE_AVAILABLE: u64 = 10;
/// More than this part of memory waits to be written: much. One in five.
const MUCH_MODIFIED: u64 = 5;
/// A process that owns more than this part of what is in use is large. One in three.
const LARGE_PROCESS: u64 = 3;
/// A kernel that has more than this part of memory is large. One in three.
const LARGE_KERNEL: u64 = 3;

/// A trace in short.
#[derive(Debug)]
pub struct Headline<'o> {
    /// What RAM held; `None` where it was not recorded.
    pub held: Option<Held<'o>>,
    /// What is out of the ordinary, the gravest first.
    pub findings: Vec<Finding<'o>>,
}

/// What RAM held, in pages.
#[derive(Debug)]
pub struct Held<'o> {
    /// Physical memory.
    pub memory: PhysicalMemory,
    /// Dynamic, file and kernel pages, most first.
    pub classes: Vec<(Class, u64)>,
    /// The process that owns most, and its own pages.
    pub largest: Option<(&'o Label, u64)>,
}

/// What is out of the ordinary, with its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding<'o> {
    /// Numbers may be wrong.
    Doubtful,
    /// Little memory is available: on standby, free or zero.
    LittleAvailable(u64),
    /// Much of it waits to be written to disk.
    MuchModified(u64),
    /// A process owns much of what is in use.
    LargeProcess(&'o Label, u64),
    /// The kernel has much of it.
    LargeKernel(u64),
}

impl<'o> Headline<'o> {
    /// The headline of a trace, by its overview.
    pub fn of(overview: &'o Overview) -> Headline<'o> {
        let held = overview.resident.as_ref().ok().and_then(|resident| {
            let snapshot = resident.snapshot()?;
            let mut classes: Vec<(Class, u64)> =
                resident.by_class().into_iter().map(|(class, pages, _)| (class, pages)).collect();
            classes.retain(|(class, pages)| *class != Class::Free && *pages > 0);
            classes.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
            let largest = snapshot.largest_process.as_ref().map(|(process, pages)| (process, *pages));
            Some(Held { memory: snapshot.memory(), classes, largest })
        });
        let mut findings: Vec<Finding<'o>> =
            overview.warnings.is_doubtful().then_some(Finding::Doubtful).into_iter().collect();
        findings.extend(held.iter().flat_map(Held::findings));
        Headline { held, findings }
    }
}

impl<'o> Held<'o> {
    /// Pages that can be had without taking them from anybody.
    pub const fn available(&self) -> u64 {
        self.memory.standby.saturating_add(self.memory.free)
    }

    fn findings(&self) -> Vec<Finding<'o>> {
        let PhysicalMemory { all, in_use, modified, .. } = self.memory;
        let is_more = |pages: u64, of: u64, part: u64| pages.saturating_mul(part) > of;
        let kernel = self.classes.iter().find(|(class, _)| *class == Class::Kernel).map_or(0, |(_, pages)| *pages);
        let little = self.available().saturating_mul(LITTLE_AVAILABLE) < all;
        let large = self.largest.filter(|(_, pages)| is_more(*pages, in_use, LARGE_PROCESS));
        let all_findings = [
            little.then(|| Finding::LittleAvailable(self.available())),
            is_more(modified, all, MUCH_MODIFIED).then_some(Finding::MuchModified(modified)),
            large.map(|(name, pages)| Finding::LargeProcess(name, pages)),
            is_more(kernel, all, LARGE_KERNEL).then_some(Finding::LargeKernel(kernel)),
        ];
        all_findings.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> &'static Label {
        static PROCESS: std::sync::LazyLock<Label> = std::sync::LazyLock::new(|| Label::process("a.exe", 4));
        &PROCESS
    }

    fn held(in_use: u64, modified: u64, standby: u64, free: u64, kernel: u64, largest: u64) -> Held<'static> {
        Held {
            memory: PhysicalMemory { all: in_use + modified + standby + free, in_use, modified, standby, free },
            classes: vec![(Class::Kernel, kernel)],
            largest: Some((process(), largest)),
        }
    }

    #[test]
    fn only_what_is_beyond_its_limit_is_found() {
        assert_eq!(held(600, 100, 200, 100, 300, 200).findings(), []);
        assert_eq!(held(850, 50, 60, 39, 300, 200).findings(), [Finding::LittleAvailable(99)]);
        assert_eq!(held(850, 50, 60, 40, 300, 200).findings(), [], "exactly a tenth");
        assert_eq!(held(600, 201, 100, 99, 300, 200).findings(), [Finding::MuchModified(201)]);
        assert_eq!(
            held(600, 100, 200, 100, 334, 201).findings(),
            [Finding::LargeProcess(process(), 201), Finding::LargeKernel(334)]
        );
        assert_eq!(held(0, 0, 0, 0, 0, 0).findings(), []);
        assert_eq!(held(u64::MAX / 2, 0, 1, 1, 0, u64::MAX / 4).findings().len(), 2);
    }
}
