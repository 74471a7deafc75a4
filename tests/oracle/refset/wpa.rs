//! WPA's rules, followed one event after the other: what it takes to be held, by the process id of the headers.

use crate::refset::rules::{Owner, Rules, count};
use etl_writer::machine::recording::START_MARK;
use etl_writer::machine::{Event, PAGE, What};
use std::collections::{BTreeMap, BTreeSet};

impl Rules<'_> {
    /// Follows an event.
    pub fn wpa_event(&mut self, event: &Event) {
        let pid = event.process;
        let again = match &event.what {
            What::Mark(START_MARK) => {
                self.wpa = Wpa::default();
                return;
            }
            What::Active(page, _) if page.page_use == 0 => {
                let Owner::Life(life) = self.owner_of(page) else { unreachable!() };
                (self.wpa.private(self.lives[life].pid, page.u2), "ActiveRundown")
            }
            What::Access(page, _) => (self.wpa.private(pid, page.u2 & !(PAGE - 1)), "PrivatePageAccess"),
            What::Shared(page, extra, _) => {
                let address = if extra.copy_on_write { page.u2 } else { extra.address };
                let prototype = (page.page_use == 2).then_some(page.u2 & !1);
                (self.wpa.shared(pid, address, page.pfn, prototype), "SharablePageAccess")
            }
            What::Release(page) | What::Combine(page, _) => {
                let owner = match self.owner_of(page) {
                    Owner::Life(life) if page.page_use == 0 => self.lives[life].pid,
                    _ => pid,
                };
                self.wpa.private.remove(&(owner, page.u2 & !(PAGE - 1)));
                return;
            }
            What::Remove(extra) => return self.wpa.remove(pid, extra.address),
            What::Free(of, base, _, size, _) => return self.wpa.free(*of, *base, base + size),
            What::ThreadEnd(thread) => {
                return self.wpa.free(thread.pid, thread.user_stack.1, thread.user_stack.0);
            }
            What::SectionDelete(low, high) => {
                let wpa = &mut self.wpa;
                wpa.sections.retain(|(prototype, of, pfn)| {
                    let is_deleted = (*low..*high).contains(prototype);
                    if is_deleted {
                        wpa.shared.remove(&(*of, *pfn));
                    }
                    !is_deleted
                });
                return;
            }
            What::End(life) => return self.wpa.end(self.lives[*life].pid),
            _ => return,
        };
        if self.inside {
            count(&mut self.said.wpa, again.1, u64::from(again.0));
        }
    }
}

/// The pages, as WPA knows them.
#[derive(Default)]
pub struct Wpa {
    private: BTreeSet<(u32, u64)>,
    shared: BTreeSet<(u32, u64)>,
    /// What was accessed last at an address: a shareable page's frame, or a private page.
    last: BTreeMap<(u32, u64), Option<u64>>,
    /// Prototype PTE, process id, frame.
    sections: BTreeSet<(u64, u32, u64)>,
}

impl Wpa {
    fn private(&mut self, pid: u32, address: u64) -> bool {
        self.last.insert((pid, address), None);
        !self.private.insert((pid, address))
    }

    fn shared(&mut self, pid: u32, address: u64, pfn: u64, prototype: Option<u64>) -> bool {
        if address != 0 {
            self.last.insert((pid, address), Some(pfn));
        }
        self.sections.extend(prototype.map(|prototype| (prototype, pid, pfn)));
        !self.shared.insert((pid, pfn))
    }

    fn remove(&mut self, pid: u32, address: u64) {
        match self.last.remove(&(pid, address)) {
            Some(Some(pfn)) => drop(self.shared.remove(&(pid, pfn))),
            _ => drop(self.private.remove(&(pid, address))),
        }
    }

    fn free(&mut self, pid: u32, low: u64, high: u64) {
        self.private.retain(|page| page.0 != pid || !(low..high).contains(&page.1));
    }

    fn end(&mut self, pid: u32) {
        self.private.retain(|page| page.0 != pid);
        self.shared.retain(|page| page.0 != pid);
        self.last.retain(|page, _| page.0 != pid);
        self.sections.retain(|page| page.1 != pid);
    }
}
