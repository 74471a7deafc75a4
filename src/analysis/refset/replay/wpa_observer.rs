//! Counts the same updates by WPA's rules, to show the difference. Pages are kept by the process id of the record header.
//!
//! A private page is its address, a shareable page its frame, whatever the extra info says. WPA's rules ignore
//! unmapped views, copies on write, processes that are being created and the system's working sets. Its false re-accesses
//! come from there.

use crate::analysis::refset::context::OptionalEvents;
use crate::analysis::refset::pages::page_arena::{self, PageArena};
use crate::analysis::refset::replay::update::{Update, UpdateKind};
use crate::event::page_identity::PageUse;
use crate::units::PAGE_BYTES;
use foldhash::{HashMap as FastMap, HashSet as FastSet};
use std::collections::BTreeSet;
use std::hint::black_box;

/// A block of 64 pages.
#[derive(Debug, Default)]
struct WpaBlock {
    /// Private pages that are held.
    private: u64,
    /// Addresses at which a shareable page was accessed last; the values are its frames.
    framed: page_arena::Block,
}

impl WpaBlock {
    /// A shareable page was accessed last at an address.
    #[inline(always)]
    fn set(&mut self, frames: &mut PageArena<u64>, bit: u64, pfn: u64) {
        match self.framed.get_mut(frames, bit) {
            Some(frame) => *frame = pfn,
            None => self.framed.insert(frames, bit, pfn),
        }
    }
}

/// Bits of an address below a block.
const BLOCK_SHIFT: u32 = 18;

#[inline(always)]
const fn split(address: u64) -> (u64, u64) {
    (address >> BLOCK_SHIFT, 1 << (address >> 12 & 63))
}

/// What one process id holds under WPA's rules.
#[derive(Debug, Default)]
pub struct WpaObserver {
    blocks: FastMap<u64, WpaBlock>,
    frames: PageArena<u64>,
    /// Blocks in order.
    order: BTreeSet<u64>,
    shareable: FastSet<u64>,
    /// Prototype PTE and frame of pages of pagefile-backed sections.
    sections: BTreeSet<(u64, u64)>,
}

impl WpaObserver {
    /// Reads the memory in order, so that it is in the cache.
    pub fn load(&self) {
        self.blocks.values().for_each(|block| _ = black_box(block.private));
        self.frames.load();
        self.shareable.iter().for_each(|frame| _ = black_box(*frame));
    }

    /// Observes an update of a kind; true when it is an access of a page that is held already.
    #[inline(always)]
    pub fn observe<S>(&mut self, kind: UpdateKind, update: &Update<S>, needs: OptionalEvents) -> bool {
        match kind {
            UpdateKind::Private => {
                let (block, frames, bit) = self.block(update.address());
                let held = block.private & bit != 0;
                block.private |= bit;
                block.framed.remove(frames, bit);
                held
            }
            UpdateKind::Shareable | UpdateKind::CopyOnWrite => {
                if needs.removals && update.address() != 0 {
                    let (block, frames, bit) = self.block(update.address());
                    block.set(frames, bit, update.page.pfn());
                }
                if needs.sections && update.page.page_use() == PageUse::PageFileMapped {
                    self.sections.insert((update.identity & !1, update.page.pfn()));
                }
                !self.shareable.insert(update.page.pfn())
            }
            UpdateKind::Release | UpdateKind::Combine => {
                self.release_private(update.address());
                false
            }
            UpdateKind::Remove => {
                let (number, bit) = split(update.address());
                if let Some(block) = self.blocks.get_mut(&number) {
                    match block.framed.remove(&mut self.frames, bit) {
                        None => block.private &= !bit,
                        Some(pfn) => drop(self.shareable.remove(&pfn)),
                    }
                }
                false
            }
            UpdateKind::Kernel | UpdateKind::Unmap | UpdateKind::FreePool | UpdateKind::Recorded => false,
        }
    }

    /// The block of an address, the frames of all blocks, and its bit.
    #[inline]
    fn block(&mut self, address: u64) -> (&mut WpaBlock, &mut PageArena<u64>, u64) {
        let (number, bit) = split(address);
        let block = self.blocks.entry(number).or_insert_with(|| {
            self.order.insert(number);
            WpaBlock::default()
        });
        (block, &mut self.frames, bit)
    }

    fn release_private(&mut self, address: u64) {
        let (number, bit) = split(address);
        if let Some(block) = self.blocks.get_mut(&number) {
            block.private &= !bit;
        }
    }

    /// Private pages at `[low, high)` are freed, or went with their thread's stack. Blocks that are left empty go.
    pub fn free(&mut self, low: u64, high: u64) {
        let (first, after) = (low / PAGE_BYTES, high.div_ceil(PAGE_BYTES));
        if low >= high {
            return;
        }
        let mut empty = Vec::new();
        for &number in self.order.range(first >> 6..=(after - 1) >> 6) {
            let Some(block) = self.blocks.get_mut(&number) else { continue };
            let page = number << 6;
            // Bits of the pages in the range.
            let from = first.saturating_sub(page).min(63);
            let to = after.saturating_sub(page).min(64);
            block.private &= !((u64::MAX << from) & (u64::MAX >> (64 - to.max(1))));
            if block.private | block.framed.mask() == 0 {
                empty.push(number);
            }
        }
        for number in empty {
            self.blocks.remove(&number);
            self.order.remove(&number);
        }
    }

    /// A pagefile-backed section with prototype PTEs at `[low, high)` is deleted.
    pub fn delete_section(&mut self, low: u64, high: u64) {
        let gone: Vec<(u64, u64)> = self.sections.range((low, 0)..(high.max(low), 0)).copied().collect();
        for page in gone {
            self.sections.remove(&page);
            self.shareable.remove(&page.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::page_identity::PageIdentity;
    use crate::moment::Moment;
    use crate::units::PointerSize;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn update(kind: UpdateKind, page: u64, pfn: u64) -> Update {
        let identity = PageIdentity { flags: PageUse::File as u64, pfn, u2: 0 };
        Update::new(Moment::default(), kind, &identity, page << 12, PointerSize::P8)
    }

    proptest! {
        /// Against two sets and a map, as the rules say it.
        #[test]
        fn follows_the_rules(steps in prop::collection::vec((0u8..6, 0u64..150, 0u64..40), 0..400)) {
            let needs = OptionalEvents { removals: true, sections: false };
            let mut wpa = WpaObserver::default();
            let (mut private, mut shareable) = (BTreeSet::new(), BTreeSet::new());
            let mut last: BTreeMap<u64, Option<u64>> = BTreeMap::new();
            for (what, page, pfn) in steps {
                let mut again = false;
                let kind = match what {
                    0 => {
                        last.insert(page, None);
                        again = !private.insert(page);
                        UpdateKind::Private
                    }
                    1 => {
                        if page != 0 {
                            last.insert(page, Some(pfn));
                        }
                        again = !shareable.insert(pfn);
                        UpdateKind::Shareable
                    }
                    2 => {
                        private.remove(&page);
                        UpdateKind::Release
                    }
                    3 | 4 => {
                        match last.remove(&page) {
                            Some(Some(pfn)) => drop(shareable.remove(&pfn)),
                            _ => drop(private.remove(&page)),
                        }
                        UpdateKind::Remove
                    }
                    _ => {
                        private.retain(|held| !(page..page + pfn).contains(held));
                        wpa.free(page << 12, (page + pfn) << 12);
                        continue;
                    }
                };
                prop_assert_eq!(wpa.observe(kind, &update(kind, page, pfn), needs), again);
            }
        }
    }
}
