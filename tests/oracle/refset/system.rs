//! What happens on the made-up machine outside of processes' slots: the cache, sessions, the kernel's pages, pool,
//! ranges, and the ends of files and sections.

use crate::refset::events::{PAGE, What};
use crate::refset::machine::{Kind, LARGE, Machine, NOTHING, PAGES, Slot, State};
use etl_writer::payloads::file::{self, ViewKind};
use etl_writer::payloads::pages::{Extra, Identity};

impl Machine {
    pub fn cached_write(&mut self, by: u8, number: usize, page: usize) -> Option<()> {
        let life = self.pick(by, |state| state == State::Alive)?;
        let identity = self.backed(number, page)?;
        let extra = Extra { working_set: 2, cached_write: true, ..Extra::default() };
        self.log_by(life, What::Shared(identity, extra, ""));
        Some(())
    }

    /// The cache maps, unmaps, reads, is trimmed.
    pub fn cache(&mut self, by: u8, slot: usize, how: u8) -> Option<()> {
        let life = self.pick(by, |state| state == State::Alive)?;
        let (base, page) = (self.cache_base(slot), usize::from(how / 4) % PAGES);
        let extra = Extra { working_set: 2, ..Extra::process(base + page as u64 * PAGE) };
        match (self.cache[slot].kind, how % 8) {
            (Kind::View(number, generation), 1..=4) if self.cache[slot].cells[page].held.is_none() => {
                (self.backings[number].generation == generation).then_some(())?;
                let identity = self.backed(number, page)?;
                self.cache[slot].cells[page].held = Some(identity);
                self.log_by(life, What::Shared(identity, extra, ""));
            }
            (Kind::View(number, _), 0) => {
                self.cache[slot] = NOTHING;
                self.log(8, 4, What::Unmap(self.view(4, base, number)));
            }
            (Kind::View(..), _) => {
                self.cache[slot].cells[page].held.take()?;
                if self.setup.removals {
                    self.log_by(life, What::Remove(extra));
                }
            }
            _ => {
                let number = usize::from(how) % 8;
                self.cache[slot].kind = Kind::View(number, self.backings[number].generation);
                self.log(8, 4, What::Map(self.view(4, base, number)));
            }
        }
        Some(())
    }

    /// A session's page: private in the first half, of a file in the second.
    pub fn in_session(&mut self, by: u8, page: usize, how: u8) -> Option<()> {
        let life = self.pick(by, |state| state == State::Alive)?;
        let address = self.session_base() + page as u64 * PAGE;
        let extra = Extra { working_set: 1, ..Extra::process(address) };
        if let Some(was) = self.session[page].take() {
            if was.page_use == 7 {
                self.free.push(was.pfn);
            }
            if was.page_use == 7 && how.is_multiple_of(2) {
                self.log_by(life, What::Release(was));
            } else if self.setup.removals {
                self.log_by(life, What::Remove(extra));
            }
        } else if page < PAGES / 2 {
            let identity = Identity::new(7, self.frame()?, 0, address);
            self.session[page] = Some(identity);
            self.log_by(life, What::Access(identity, ""));
        } else {
            let identity = self.backed(1, page)?;
            self.session[page] = Some(identity);
            self.log_by(life, What::Shared(identity, extra, ""));
        }
        Some(())
    }

    /// A page of the kernel, or of a process's tables.
    pub fn kernel_page(&mut self, by: u8, which: u8, how: u8) -> Option<()> {
        let life = self.pick(by, |state| state == State::Alive)?;
        let page_use = [3, 4, 5, 6, 8, 11, 12, 3][usize::from(which) % 8];
        let its = matches!(page_use, 3 | 12);
        let at = (page_use, how % 4, if its { life + 1 } else { 0 });
        let base = self.setup.p.pick(0xffff_8a00_0000_0000, 0x8a00_0000);
        let address = base + (u64::from(page_use) << 20) + at.2 as u64 * 0x1_0000 + u64::from(how % 4) * PAGE;
        match self.kernel.remove(&at) {
            None => {
                let key = if its { self.lives[life].key(&self.setup) } else { 0 };
                let u2 = if page_use == 8 { self.key(0) } else { address };
                let identity = Identity::new(page_use, self.frame()?, key, u2);
                self.kernel.insert(at, identity);
                self.log_by(life, What::Access(identity, ""));
            }
            Some(was) => {
                self.free.push(was.pfn);
                if matches!(page_use, 4 | 6) && self.setup.removals && how.is_multiple_of(8) {
                    self.log_by(life, What::Remove(Extra { working_set: 2, ..Extra::process(address) }));
                } else {
                    self.log_by(life, What::Release(was));
                }
            }
        }
        Some(())
    }

    pub fn pool(&mut self, by: u8, slot: usize, how: u8) -> Option<()> {
        let life = self.pick(by, |state| state == State::Alive)?;
        let address = self.pool_address(slot);
        let what = match self.pool[slot].take() {
            Some(pages) => What::PoolFree(address, pages),
            None => {
                let pages = u64::from(how) % 5 + 1;
                self.pool[slot] = Some(pages);
                What::PoolAlloc(address, pages)
            }
        };
        self.log_by(life, what);
        Some(())
    }

    pub fn range(&mut self, life: usize, slot: usize) -> Option<()> {
        let (was, address) = (self.large[slot], Self::large_address(slot));
        let owner = was.unwrap_or(life);
        self.large[slot] = if was.is_some() { None } else { Some(owner) };
        let key = if self.setup.by_id { self.lives[owner].key(&self.setup) } else { 0 };
        self.log_by(life, What::Range(was.is_none(), key, address, LARGE));
        Some(())
    }

    /// A section is deleted and its prototype PTEs are another one's at once.
    pub fn delete_section(&mut self, number: usize) -> Option<()> {
        (self.backings[number].kind == ViewKind::PageFile).then_some(())?;
        // A view that nobody owns yet keeps its section.
        let unborn = (0..self.lives.len()).filter(|&life| self.state[life] == State::Unborn);
        let mapped = |slot: &Slot| matches!(slot.kind, Kind::View(other, _) if other == number);
        if unborn.flat_map(|life| &self.slots[life]).any(mapped) {
            return None;
        }
        let low = self.prototype(number);
        let its = move |page: &Identity| page.page_use == 2 && (low..low + 0x100).contains(&page.u2);
        let cells = self.slots.iter_mut().flatten().chain(&mut self.cache).flat_map(|slot| &mut slot.cells);
        cells.filter(|cell| cell.held.is_some_and(|page| its(&page))).for_each(|cell| cell.held = None);
        self.session.iter_mut().filter(|page| page.is_some_and(|page| its(&page))).for_each(|page| *page = None);
        self.backings[number].generation += 1;
        let frames = std::mem::take(&mut self.backings[number].frames);
        self.free.extend(frames.into_iter().flatten());
        self.log(8, 4, What::SectionDelete(low, low + 0x100));
        Some(())
    }

    pub fn is_held(&self, frame: u64) -> bool {
        let cells = self.slots.iter().flatten().chain(&self.cache).flat_map(|slot| &slot.cells);
        cells.filter_map(|cell| cell.held.as_ref()).chain(self.session.iter().flatten()).any(|page| page.pfn == frame)
    }

    /// The frame of a page that no working set holds is used for something else.
    pub fn repurpose(&mut self, number: usize, page: usize) -> Option<()> {
        let frame = self.backings[number].frames[page].filter(|&frame| !self.is_held(frame))?;
        self.backings[number].frames[page] = None;
        self.free.push(frame);
        Some(())
    }

    /// A file that nobody maps is deleted; its key becomes another file's.
    pub fn replace_file(&mut self, number: usize) -> Option<()> {
        let mapped = |slot: &Slot| matches!(slot.kind, Kind::View(other, _) if other == number);
        if number == 1 || self.slots.iter().flatten().chain(&self.cache).any(mapped) {
            return None;
        }
        let key = self.key(number);
        self.log(8, 4, What::Rundown(file::name(self.setup.p, file::DELETE, key, "\\old")));
        (0..PAGES).for_each(|page| {
            self.repurpose(number, page);
        });
        self.backings[number].kind = match self.backings[number].kind {
            ViewKind::PageFile => return None,
            ViewKind::Data => ViewKind::Image,
            _ => ViewKind::Data,
        };
        self.log(8, 4, What::Rundown(file::name(self.setup.p, file::CREATE, key, "\\new")));
        Some(())
    }
}
