//! What came and went in the window, and how the pages held at its end follow from it and from those held at its begin.

use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use std::ops::AddAssign;

/// What came and went in the window, in pages: sums of what readers and shards count. Each number is counted by itself: none
/// is made up from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Accesses by reason, with those of pages outside of working sets.
    pub accesses: [u64; AccessReason::ALL.len()],
    /// Releases by reason, with those of pages outside of working sets.
    pub releases: [u64; ReleaseReason::ALL.len()],
    /// Accesses of pages that were held already, by reason.
    pub reaccesses: [u64; AccessReason::ALL.len()],
    /// The same under WPA's rules.
    pub wpa_reaccesses: [u64; AccessReason::ALL.len()],
    /// Accesses by the active rundown of pages that count as held at the window's start.
    pub rundown: u64,
    /// Accesses of pages that their owner held at another address.
    pub second_mappings: u64,
    /// Accesses of pages that entered no working set: cached writes, and accesses by processes that never started.
    pub never_held: u64,
    /// Accesses by processes that never started.
    pub unattributed: u64,
    /// Accesses logged in the window whose process starts after it, less those of before whose process starts in it.
    pub not_started: i64,
    /// Accesses of pages outside of working sets: kernel pages of the active rundown, pool, ranges.
    pub accessed_outside: u64,
    /// Releases of such pages.
    pub released_outside: u64,
    /// Held pages that were forgotten when the working sets were emptied again.
    pub emptied: u64,
}

impl AddAssign for Balance {
    fn add_assign(&mut self, part: Balance) {
        add_all(&mut self.accesses, &part.accesses);
        add_all(&mut self.releases, &part.releases);
        add_all(&mut self.reaccesses, &part.reaccesses);
        add_all(&mut self.wpa_reaccesses, &part.wpa_reaccesses);
        self.rundown += part.rundown;
        self.second_mappings += part.second_mappings;
        self.never_held += part.never_held;
        self.unattributed += part.unattributed;
        self.not_started += part.not_started;
        self.accessed_outside += part.accessed_outside;
        self.released_outside += part.released_outside;
        self.emptied += part.emptied;
    }
}

/// Adds to one slot of a table.
#[inline(always)]
pub fn add(table: &mut [u64], index: usize, count: u64) {
    if let Some(slot) = table.get_mut(index) {
        *slot = slot.saturating_add(count);
    }
}

/// Adds one table to another.
pub fn add_all(all: &mut [u64], part: &[u64]) {
    all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
}

/// One step: pages that are added, or taken away when they are less than 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalanceStep {
    /// Name for programs.
    pub name: &'static str,
    /// What is added.
    pub pages: i64,
    /// What they are, where that is known, and how many of each.
    pub parts: Vec<(u64, &'static str)>,
}

impl Balance {
    /// Accesses.
    pub fn accessed(&self) -> u64 {
        self.accesses.iter().sum()
    }

    /// Releases.
    pub fn released(&self) -> u64 {
        self.releases.iter().sum()
    }

    /// Accesses of held pages by the corrected rules.
    pub fn reaccessed(&self) -> u64 {
        self.reaccesses.iter().sum()
    }

    /// Accesses of held pages by WPA's rules.
    pub fn reaccessed_wpa(&self) -> u64 {
        self.wpa_reaccesses.iter().sum()
    }

    /// Accesses of pages that were held then, whatever made them so.
    pub fn held_already(&self) -> u64 {
        self.rundown + self.reaccessed() + self.second_mappings
    }

    /// Pages that entered a working set in the window; those of the active rundown had entered before.
    pub fn entered(&self) -> u64 {
        let gone = self.held_already() + self.never_held + self.accessed_outside;
        self.accessed().saturating_sub(gone).saturating_add_signed(-self.not_started)
    }

    /// Pages that left a working set.
    pub fn left(&self) -> u64 {
        self.released().saturating_sub(self.released_outside)
    }

    /// The steps from begin to end in the order in which they are shown.
    pub fn steps(&self) -> [BalanceStep; 7] {
        let minus = |count: u64| -(count as i64);
        let already = [
            (self.rundown, "of those at start"),
            (self.reaccessed(), "re-accessed"),
            (self.second_mappings, "mapped twice"),
        ];
        let never = [
            (self.never_held.saturating_sub(self.unattributed), "cached writes"),
            (self.unattributed, "by processes never started"),
        ];
        let outside = [(self.accessed_outside, "accessed"), (self.released_outside, "released")];
        let outside_pages = self.released_outside as i64 - self.accessed_outside as i64;
        let step = |name, pages, parts: &[(u64, &'static str)]| BalanceStep {
            name,
            pages,
            parts: parts.iter().copied().filter(|(pages, _)| *pages > 0).collect(),
        };
        [
            step("accessed", self.accessed() as i64, &[]),
            step("held_already", minus(self.held_already()), &already),
            step("never_held", minus(self.never_held), &never),
            step("not_started", -self.not_started, &[]),
            step("released", minus(self.released()), &[]),
            step("outside_working_sets", outside_pages, &outside),
            step("emptied", minus(self.emptied), &[]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_they_are_made_of() {
        let flows = Balance {
            accesses: [0, 300, 600, 0, 100, 0],
            releases: [500, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            rundown: 40,
            reaccesses: [0, 20, 0, 0, 0, 0],
            second_mappings: 3,
            never_held: 7,
            unattributed: 1,
            not_started: -5,
            accessed_outside: 300,
            released_outside: 200,
            emptied: 11,
            ..Balance::default()
        };
        let mut twice = flows;
        twice += flows;
        assert_eq!((twice.accessed(), twice.never_held, twice.not_started), (2000, 14, -10));
        let sum: i64 = flows.steps().iter().map(|step| step.pages).sum();
        assert_eq!(100 + sum, 424);
        assert_eq!((flows.entered(), flows.left()), (635, 300));
        assert_eq!(100 + flows.entered() - flows.left() - flows.emptied, 424);
        assert_eq!(flows.steps()[1].parts, [(40, "of those at start"), (20, "re-accessed"), (3, "mapped twice")]);
        assert_eq!(flows.steps()[2].parts, [(6, "cached writes"), (1, "by processes never started")]);
    }
}
