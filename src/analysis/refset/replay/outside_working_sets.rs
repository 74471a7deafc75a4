//! Pages that are outside of working sets: pool, and ranges of large, driver-locked and AWE pages.
//!
//! Both are identified by their start, so a release without an access at the same start counts nothing.

use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::totals::balance::{Balance, add};
use crate::event::page_access_ex::PageRange;
use crate::event::page_identity::PageUse;
use crate::model::window::Window;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;

/// What happens to pages outside of working sets. Counts are pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideKind {
    /// Pool of whole pages at an address.
    PoolAllocate(u64, u64),
    /// It is freed.
    PoolFree(u64),
    /// A range: use, start, pages.
    RangeAccess(PageUse, u64, u64),
    /// It is released.
    RangeRelease(PageUse, u64, u64),
}

impl OutsideKind {
    /// From a range event.
    pub fn of_range(range: &PageRange, access: bool) -> OutsideKind {
        if access {
            OutsideKind::RangeAccess(range.page_use(), range.start, range.pages)
        } else {
            OutsideKind::RangeRelease(range.page_use(), range.start, range.pages)
        }
    }
}

/// One such event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsideEvent {
    /// When it was logged.
    pub moment: Moment,
    /// What happened.
    pub kind: OutsideKind,
}

/// Events of pool and ranges to which the others are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Pages of ranges that were released, and that nothing told before.
    pub released_pages: u64,
    /// Accesses of a range, and allocations of pool, at a place that is held: its release is missing.
    pub held_again: u64,
    /// Accesses of ranges, and their releases.
    pub ranges: (u64, u64),
    /// Allocations of pool, and frees.
    pub pool: (u64, u64),
}

/// Pool and ranges that are held, in pages.
#[derive(Debug, Default, Clone)]
pub struct OutsideWorkingSets {
    pool: FastMap<u64, u64>,
    ranges: FastMap<(PageUse, u64), u64>,
    /// Pages of pool now.
    pub pool_pages: u64,
    /// Pages of ranges now.
    pub range_pages: u64,
    /// What does not match.
    pub unmatched: Unmatched,
}

impl OutsideWorkingSets {
    /// Nothing is held.
    pub fn emptied(&self) -> OutsideWorkingSets {
        OutsideWorkingSets { unmatched: self.unmatched, ..OutsideWorkingSets::default() }
    }

    /// Applies one event; what comes and goes in the window is added to `flows`.
    pub fn apply(&mut self, window: &Window, event: &OutsideEvent, flows: &mut Balance) {
        let inside = u64::from(window.holds(event.moment));
        let mut accessed = |reason: AccessReason, pages: u64| {
            add(&mut flows.accesses, reason as usize, inside * pages);
            flows.accessed_outside += inside * pages;
        };
        let mut released = |reason: ReleaseReason, pages: u64| {
            add(&mut flows.releases, reason as usize, inside * pages);
            flows.released_outside += inside * pages;
        };
        // More than 16 TiB at once can only be damage.
        let sound = |pages: u64| pages.min(1 << 32);
        match event.kind {
            OutsideKind::PoolAllocate(address, pages) => {
                let pages = sound(pages);
                self.unmatched.pool.0 += 1;
                accessed(AccessReason::PoolAllocate, pages);
                self.pool_pages = self.pool_pages.saturating_add(pages);
                let before = self.pool.insert(address, pages);
                self.unmatched.held_again += u64::from(before.is_some());
                let before = before.unwrap_or(0);
                self.pool_pages = self.pool_pages.saturating_sub(before);
            }
            OutsideKind::PoolFree(address) => {
                self.unmatched.pool.1 += 1;
                let pages = self.pool.remove(&address).unwrap_or(0);
                released(ReleaseReason::PoolFree, pages);
                self.pool_pages = self.pool_pages.saturating_sub(pages);
            }
            OutsideKind::RangeAccess(page_use, start, pages) => {
                let pages = sound(pages);
                self.unmatched.ranges.0 += 1;
                accessed(AccessReason::PageRangeAccess, pages);
                self.range_pages = self.range_pages.saturating_add(pages);
                let before = self.ranges.insert((page_use, start), pages);
                self.unmatched.held_again += u64::from(before.is_some());
                let before = before.unwrap_or(0);
                self.range_pages = self.range_pages.saturating_sub(before);
            }
            OutsideKind::RangeRelease(page_use, start, pages) => {
                self.unmatched.ranges.1 += 1;
                let held = self.ranges.get_mut(&(page_use, start));
                let gone = pages.min(held.as_ref().map_or(0, |held| **held));
                self.unmatched.released_pages = self.unmatched.released_pages.saturating_add(sound(pages - gone));
                let Some(held) = held else { return };
                *held -= gone;
                if *held == 0 {
                    self.ranges.remove(&(page_use, start));
                }
                released(ReleaseReason::PageRangeRelease, gone);
                self.range_pages = self.range_pages.saturating_sub(gone);
            }
        }
    }

    /// Pool as `(first address, pages)`.
    pub fn pool(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pool.iter().map(|(&address, &pages)| (address, pages))
    }

    /// Ranges as `(use, start, pages)`; a start is an address or, for driver-locked and AWE pages, a frame.
    pub fn ranges(&self) -> impl Iterator<Item = (PageUse, u64, u64)> {
        self.ranges.iter().map(|(&(page_use, start), &pages)| (page_use, start, pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::window::Origin;
    use crate::units::Ticks;

    #[test]
    fn only_what_is_held_is_released() {
        let window = Window {
            from: Moment::FIRST,
            to: Moment::LAST,
            from_mark: None,
            to_mark: None,
            origin: Origin::User,
            resets: vec![],
        };
        let (mut pages, mut flows) = (OutsideWorkingSets::default(), Balance::default());
        for kind in [
            OutsideKind::PoolAllocate(0x1000, 3),
            OutsideKind::PoolFree(0x2000),
            OutsideKind::PoolAllocate(0x1000, 4),
            OutsideKind::RangeAccess(PageUse::LargePage, 0x20_0000, 512),
            OutsideKind::RangeRelease(PageUse::LargePage, 0x20_0000, 12),
            OutsideKind::RangeRelease(PageUse::Awe, 0x20_0000, 12),
            OutsideKind::RangeAccess(PageUse::Awe, 5, u64::MAX),
            OutsideKind::RangeRelease(PageUse::Awe, 5, u64::MAX),
        ] {
            pages.apply(&window, &OutsideEvent { moment: Moment { time: Ticks(1), order: 0 }, kind }, &mut flows);
        }
        assert_eq!((pages.pool_pages, pages.range_pages), (4, 500));
        let unmatched = Unmatched { released_pages: 12 + (1 << 32), held_again: 1, ..pages.unmatched };
        assert_eq!((pages.unmatched, pages.emptied().unmatched, pages.emptied().pool_pages), (unmatched, unmatched, 0));
        assert_eq!(flows.releases[ReleaseReason::PoolFree as usize], 0);
        assert_eq!(flows.releases[ReleaseReason::PageRangeRelease as usize], 12 + (1 << 32));
    }
}
