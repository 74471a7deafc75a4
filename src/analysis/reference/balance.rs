//! How what is held at the window's end follows from what was held at its begin, and from what came and went.

use crate::analysis::reference::reason::{AccessReason, ReleaseReason};
use crate::analysis::reference::replay::ReplayResult;

/// The steps from the pages held at the window's begin to those held at its end. All counts are pages, and those of the
/// window. Each is counted by itself: none is made up from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Held at the begin, with what the active rundown names.
    pub at_start: u64,
    /// Accesses, with those of pages outside of working sets.
    pub accessed: u64,
    /// Accesses by the active rundown of pages that [`Balance::at_start`] holds already.
    pub rundown: u64,
    /// Accesses of pages that were held already.
    pub reaccessed: u64,
    /// Accesses of pages that their owner held at another address.
    pub second_mappings: u64,
    /// Accesses of pages that entered no working set.
    pub never_held: u64,
    /// Those of them that are cached writes; the others name a process that never started.
    pub cached_writes: u64,
    /// Accesses logged in the window whose process starts after it, less those of before whose process starts in it.
    pub not_started: i64,
    /// Accesses of pages outside of working sets: kernel pages of the active rundown, pool, ranges.
    pub accessed_outside: u64,
    /// Releases, with those of pages outside of working sets.
    pub released: u64,
    /// Releases of pages outside of working sets.
    pub released_outside: u64,
    /// Held pages that were forgotten when the working sets were emptied again.
    pub emptied: u64,
    /// Held at the end.
    pub at_stop: u64,
}

/// One step: pages that are added, or taken away when they are less than 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name for programs.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What is added.
    pub pages: i64,
    /// What they are, for people; empty where the title says it.
    pub note: String,
}

impl Balance {
    /// Of what was replayed.
    pub fn of(outcome: &ReplayResult<'_>) -> Balance {
        let pages = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let ReplayResult { totals, held, outside, .. } = outcome;
        let of =
            |table: &[u64], indices: [usize; 2]| -> u64 { indices.iter().filter_map(|&index| table.get(index)).sum() };
        let accesses = [AccessReason::PoolAllocate, AccessReason::PageRangeAccess].map(|reason| reason as usize);
        let releases = [ReleaseReason::PoolFree, ReleaseReason::PageRangeRelease].map(|reason| reason as usize);
        Balance {
            at_start: pages(held.at_from) + totals.rundown_pages,
            accessed: outcome.accesses.iter().sum(),
            rundown: totals.rundown_pages,
            reaccessed: totals.reaccesses.iter().sum(),
            second_mappings: totals.second_mappings,
            never_held: outcome.never_held,
            cached_writes: outcome.never_held.saturating_sub(outcome.unattributed),
            not_started: outcome.not_started,
            accessed_outside: totals.kernel.entered + of(&outside.accesses, accesses),
            released: totals.releases.iter().sum(),
            released_outside: totals.kernel.released + of(&outside.releases, releases),
            emptied: totals.emptied,
            at_stop: pages(held.at_to),
        }
    }

    /// Accesses of pages that were held then, whatever made them so.
    pub const fn held_already(&self) -> u64 {
        self.rundown + self.reaccessed + self.second_mappings
    }

    /// Pages that entered a working set in the window; those of the active rundown had entered before.
    pub const fn entered(&self) -> u64 {
        let gone = self.held_already() + self.never_held + self.accessed_outside;
        self.accessed.saturating_sub(gone).saturating_add_signed(-self.not_started)
    }

    /// Pages that left a working set.
    pub const fn left(&self) -> u64 {
        self.released.saturating_sub(self.released_outside)
    }

    /// The steps from begin to end in the order in which they are shown. `count` writes a number for people.
    pub fn steps(&self, count: fn(u64) -> String) -> [Step; 7] {
        let minus = |count: u64| -(count as i64);
        let already = counted(
            count,
            [
                (self.rundown, "of those at start"),
                (self.reaccessed, "re-accessed"),
                (self.second_mappings, "mapped twice"),
            ],
        );
        let never = counted(
            count,
            [
                (self.cached_writes, "cached writes"),
                (self.never_held.saturating_sub(self.cached_writes), "by processes never started"),
            ],
        );
        let outside = [(self.accessed_outside, "accessed"), (self.released_outside, "released")];
        let outside = format!("kernel, pool, ranges: {}", counted(count, outside));
        let step = |name, title, pages, note: &str| Step { name, title, pages, note: note.to_owned() };
        [
            step("accessed", "accessed", self.accessed as i64, ""),
            step("held_already", "counted before", minus(self.held_already()), &already),
            step("never_held", "never held", minus(self.never_held), &never),
            step("not_started", "not yet started", -self.not_started, "process starts after the window"),
            step("released", "released", minus(self.released), ""),
            step(
                "outside_working_sets",
                "not in working sets",
                self.released_outside as i64 - self.accessed_outside as i64,
                &outside,
            ),
            step("emptied", "emptied", minus(self.emptied), "working sets were emptied again"),
        ]
    }
}

/// `2 of these, 3 of those`, without what there is none of.
fn counted<const N: usize>(count: fn(u64) -> String, list: [(u64, &str); N]) -> String {
    let list = list.iter().filter(|(pages, _)| *pages > 0).map(|(pages, what)| format!("{} {what}", count(*pages)));
    list.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(count: u64) -> String {
        count.to_string()
    }

    #[test]
    fn steps_are_what_they_are_made_of() {
        let balance = Balance {
            at_start: 100,
            accessed: 1000,
            rundown: 40,
            reaccessed: 20,
            second_mappings: 3,
            never_held: 7,
            cached_writes: 6,
            not_started: -5,
            accessed_outside: 300,
            released: 500,
            released_outside: 200,
            emptied: 11,
            at_stop: 424,
        };
        let sum: i64 = balance.steps(plain).iter().map(|step| step.pages).sum();
        assert_eq!(100 + sum, 424);
        assert_eq!((balance.entered(), balance.left()), (635, 300));
        assert_eq!(100 + balance.entered() - balance.left() - balance.emptied, 424);
        assert_eq!(balance.steps(plain)[1].note, "40 of those at start, 20 re-accessed, 3 mapped twice");
        assert_eq!(balance.steps(plain)[2].note, "6 cached writes, 1 by processes never started");
    }
}
