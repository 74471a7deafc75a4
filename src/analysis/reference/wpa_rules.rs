//! The account as WPA keeps it, to show the difference: one process id, as it is in record headers.
//!
//! A private page is its address, a shareable page its frame, whatever the extra info says. Unmapped views, copies on
//! write, newborn processes and the system's working sets are not told apart, and that is where WPA's re-accesses come
//! from.

use crate::analysis::reference::address_set::AddressSet;
use crate::analysis::reference::step::{Kind, Step};
use foldhash::{HashMap as FastMap, HashSet as FastSet};
use std::collections::BTreeSet;

/// Which parts of the account a trace needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WpaNeeds {
    /// It holds RemoveFromWS events.
    pub removals: bool,
    /// It holds deletes of pagefile-backed sections.
    pub sections: bool,
}

/// What was accessed last at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Private,
    Frame(u64),
}

/// What one process id holds under WPA's rules.
#[derive(Debug, Default)]
pub struct WpaPages {
    private: AddressSet,
    shareable: FastSet<u64>,
    last: FastMap<u64, Last>,
    /// Prototype PTE and frame of pages of pagefile-backed sections.
    sections: BTreeSet<(u64, u64)>,
}

impl WpaPages {
    /// Follows a step; true when it is an access of a page that is held already.
    #[inline]
    pub fn follow(&mut self, step: &Step, needs: WpaNeeds) -> bool {
        match step.kind {
            Kind::Private => {
                if needs.removals {
                    self.last.insert(step.address, Last::Private);
                }
                !self.private.insert(step.address)
            }
            Kind::Shareable | Kind::CopyOnWrite => {
                if needs.removals && step.address != 0 {
                    self.last.insert(step.address, Last::Frame(step.pfn));
                }
                if needs.sections && step.page_use == crate::event::page::PageUse::PageFileMapped {
                    self.sections.insert((step.identity & !1, step.pfn));
                }
                !self.shareable.insert(step.pfn)
            }
            Kind::Release | Kind::Combine => {
                self.private.remove(step.address);
                false
            }
            Kind::Remove => {
                match self.last.remove(&step.address) {
                    Some(Last::Private) => self.private.remove(step.address),
                    Some(Last::Frame(pfn)) => self.shareable.remove(&pfn),
                    None => false,
                };
                false
            }
            Kind::Apart | Kind::Unmap | Kind::FreePool => false,
        }
    }

    /// Private pages at `[low, high)` are freed, or went with their thread's stack.
    pub fn free(&mut self, low: u64, high: u64) {
        for address in self.private.members(low, high) {
            self.private.remove(address);
            self.last.remove(&address);
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
