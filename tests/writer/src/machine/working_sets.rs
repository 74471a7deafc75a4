//! What enters and leaves working sets: pages of processes, of the cache, of sessions, of the kernel; ranges of large
//! pages; frames that are used again.

use super::addresses::{self, PAGE};
use super::event::What;
use super::spaces::View;
use super::{FILE_PAGES, LARGE, Machine, SYSTEM};
use crate::payloads::file::ViewKind;
use crate::payloads::pages::{Extra, Identity};
use std::collections::BTreeSet;

/// The file whose pages are in the session working set.
pub const SESSION_FILE: usize = 1;

impl Machine {
    /// Base of a view of the cache.
    pub fn cache_base(&self, slot: usize) -> u64 {
        addresses::CACHE_VIEWS.of(self.setup.p) + slot as u64 * 0x8_0000
    }

    /// Address of a range of large pages.
    pub fn large_address(slot: usize) -> u64 {
        0x2000_0000 + slot as u64 * LARGE * PAGE
    }

    /// The identity of a page of a file or section; its frame is found when it is read first.
    pub fn file_page(&mut self, number: usize, page: usize) -> Option<Identity> {
        if self.files[number].frames.get(page)?.is_none() {
            self.files[number].frames[page] = Some(self.frame()?);
        }
        let (frame, kind) = (self.files[number].frames[page]?, self.files[number].kind);
        Some(match kind {
            ViewKind::PageFile => Identity::section(frame, self.prototype(number) + page as u64 * 8),
            kind => Identity::file(frame, self.file_key(number), page as u64 * PAGE, kind != ViewKind::Data),
        })
    }

    /// A private page of a process in a free frame.
    fn private(&mut self, life: usize, page: usize) -> Option<Identity> {
        let frame = self.frame()?;
        Some(Identity::private(frame, self.lives[life].key(&self.setup), self.address(page)))
    }

    /// The category that a private page has.
    pub fn category(&self, life: usize, page: usize) -> &'static str {
        let cell = &self.lives[life].cells[page];
        if cell.heap.is_some() {
            return "Win32Heap";
        }
        match (cell.view.map(|thing| self.views[&thing].kind), self.region_at(life, page)) {
            (Some(ViewKind::Data), _) => "CopyOnWriteMapFile",
            (Some(ViewKind::Image | ViewKind::ImageOther), _) => "CopyOnWriteImage",
            (Some(ViewKind::PageFile), _) => "CopyOnWritePageFileMappedSection",
            (None, Some((from, to, _))) if self.stack_in(life, from, to).is_some() => "UserStack",
            (None, Some(_)) => "VirtualAlloc",
            (None, None) => "VirtualAlloc_PreTrace",
        }
    }

    /// What a page shows that is not private.
    fn shown(&self, life: usize, page: usize) -> Option<(View, usize)> {
        let (from, _, thing) = self.view_at(life, page)?;
        (!self.lives[life].pages[page].copied).then_some((self.views[&thing], page - from))
    }

    /// A page enters the working set.
    pub fn touch(&mut self, life: usize, page: usize) -> Option<()> {
        let was = self.lives[life].pages[page];
        let address = self.address(page);
        let shared = match (was.held, was.combined, self.shown(life, page)) {
            (Some(_), ..) => return None,
            (None, Some((prototype, frame)), _) => Some(Identity::section(frame, prototype | 1)),
            (None, None, Some((view, _))) if self.files[view.file].generation != view.generation => return None,
            (None, None, Some((view, of_file))) => Some(self.file_page(view.file, of_file)?),
            (None, None, None) => None,
        };
        let held = match shared {
            Some(identity) => {
                self.log_by(life, What::Shared(identity, Extra::process(address), ""));
                identity
            }
            // Nobody would know whose page it is.
            None if !self.lives[life].starts => return None,
            None => {
                let identity = self.private(life, page)?;
                self.log_by(life, What::Access(identity, self.category(life, page)));
                identity
            }
        };
        self.lives[life].pages[page].held = Some(held);
        Some(())
    }

    /// A shared page is copied on write.
    pub fn copy(&mut self, life: usize, page: usize) -> Option<()> {
        let was = self.lives[life].pages[page].held.filter(|held| held.page_use != 0)?;
        self.lives[life].starts.then_some(())?;
        let (address, identity) = (self.address(page), self.private(life, page)?);
        let extra = Extra { copy_on_write: true, ..Extra::process(if was.pfn % 2 == 0 { address } else { 0 }) };
        self.log_by(life, What::Shared(identity, extra, self.category(life, page)));
        self.lives[life].pages[page] = super::spaces::Page { held: Some(identity), copied: true, combined: None };
        Some(())
    }

    /// A page leaves the working set.
    pub fn trim(&mut self, life: usize, page: usize) -> Option<()> {
        self.lives[life].pages[page].held?;
        self.drop_page(life, page);
        if self.setup.removals {
            self.log_by(life, What::Remove(Extra::process(self.address(page))));
        }
        Some(())
    }

    /// A private page is freed.
    pub fn delete(&mut self, life: usize, page: usize) -> Option<()> {
        let held = self.lives[life].pages[page].held.filter(|held| held.page_use == 0)?;
        self.drop_page(life, page);
        self.log_by(life, What::Release(held));
        Some(())
    }

    /// A private page is combined with its like.
    pub fn combine(&mut self, life: usize, page: usize) -> Option<()> {
        let held = self.lives[life].pages[page].held.filter(|held| held.page_use == 0)?;
        let frame = self.frame()?;
        let prototype = addresses::COMBINED_PROTOTYPES.of(self.setup.p) + self.combined * 16;
        self.combined += 1;
        self.drop_page(life, page);
        self.log(SYSTEM, What::Combine(held, prototype));
        let page = &mut self.lives[life].pages[page];
        (page.held, page.combined) = (Some(Identity::section(frame, prototype | 1)), Some((prototype, frame)));
        Some(())
    }

    /// Windows logs what each working set has.
    pub fn log_sets(&mut self) -> Option<()> {
        let pages = |life: usize| {
            let held = self.lives[life].pages.iter().filter_map(|page| page.held);
            let frames: BTreeSet<u64> = held.map(|held| held.pfn).collect();
            (frames.len() + self.kernel.keys().filter(|at| at.2 == life + 1).count()) as u64
        };
        let sets = self.alive().into_iter().map(|life| (self.lives[life].pid, pages(life))).collect();
        self.log(SYSTEM, What::Sets(sets));
        Some(())
    }

    /// A cached write: the page enters no working set.
    pub fn cached_write(&mut self, life: usize, number: usize, page: usize) -> Option<()> {
        let identity = self.file_page(number, page)?;
        let extra = Extra { working_set: 2, cached_write: true, ..Extra::default() };
        self.log_by(life, What::Shared(identity, extra, ""));
        Some(())
    }

    /// The cache maps, unmaps, reads, is trimmed.
    pub fn cache(&mut self, life: usize, slot: usize, how: u8) -> Option<()> {
        let (base, page) = (self.cache_base(slot), usize::from(how / 4) % FILE_PAGES);
        let extra = Extra { working_set: 2, ..Extra::process(base + page as u64 * PAGE) };
        let show = |machine: &Machine, file: usize, generation: u32| {
            let view = View { kind: machine.files[file].kind, file, generation };
            machine.view_of(SYSTEM.1, base, FILE_PAGES as u64, &view)
        };
        match (self.cache[slot].file, how % 8) {
            (Some((number, generation)), 1..=4) if self.cache[slot].held[page].is_none() => {
                (self.files[number].generation == generation).then_some(())?;
                let identity = self.file_page(number, page)?;
                self.cache[slot].held[page] = Some(identity);
                self.log_by(life, What::Shared(identity, extra, ""));
            }
            (Some((number, generation)), 0) => {
                self.cache[slot] = super::CacheView::default();
                self.log(SYSTEM, What::Unmap(show(self, number, generation)));
            }
            (Some(_), _) => {
                self.cache[slot].held[page].take()?;
                if self.setup.removals {
                    self.log_by(life, What::Remove(extra));
                }
            }
            (None, _) => {
                let number = usize::from(how) % self.files.len();
                let generation = self.files[number].generation;
                self.cache[slot].file = Some((number, generation));
                self.log(SYSTEM, What::Map(show(self, number, generation)));
            }
        }
        Some(())
    }

    /// A page of a process's session enters or leaves: a private one in the first half, of a file in the second.
    pub fn in_session(&mut self, life: usize, page: usize, is_freed: bool) -> Option<()> {
        let at = self.lives[life].session(&self.setup) as usize * FILE_PAGES + page;
        let address = self.session_base(0) + at as u64 * PAGE;
        let extra = Extra { working_set: 1, ..Extra::process(address) };
        if let Some(was) = self.session_pages[at].take() {
            if was.page_use == 7 {
                self.free_frames.push(was.pfn);
            }
            if was.page_use == 7 && is_freed {
                self.log_by(life, What::Release(was));
            } else if self.setup.removals {
                self.log_by(life, What::Remove(extra));
            }
        } else if page < FILE_PAGES / 2 {
            let identity = Identity::new(7, self.frame()?, 0, address);
            self.session_pages[at] = Some(identity);
            self.log_by(life, What::Access(identity, ""));
        } else {
            let identity = self.file_page(SESSION_FILE, page)?;
            self.session_pages[at] = Some(identity);
            self.log_by(life, What::Shared(identity, extra, ""));
        }
        Some(())
    }

    /// A page of the kernel, or of a process's tables, comes or goes.
    pub fn kernel_page(&mut self, life: usize, which: u8, slot: u8, is_trimmed: bool) -> Option<()> {
        let page_use = [3, 4, 5, 6, 8, 11, 12, 3][usize::from(which) % 8];
        let its = matches!(page_use, 3 | 12);
        let at = (page_use, slot, if its { life + 1 } else { 0 });
        let base = addresses::KERNEL_PAGES.of(self.setup.p) + (u64::from(page_use) << 20);
        let address = base + at.2 as u64 * 0x1_0000 + u64::from(slot) * PAGE;
        match self.kernel.remove(&at) {
            None => {
                let key = if its { self.lives[life].key(&self.setup) } else { 0 };
                let u2 = if page_use == 8 { self.file_key(0) } else { address };
                let identity = Identity::new(page_use, self.frame()?, key, u2);
                self.kernel.insert(at, identity);
                self.log_by(life, What::Access(identity, ""));
            }
            Some(was) => {
                self.free_frames.push(was.pfn);
                if matches!(page_use, 4 | 6) && self.setup.removals && is_trimmed {
                    self.log_by(life, What::Remove(Extra { working_set: 2, ..Extra::process(address) }));
                } else {
                    self.log_by(life, What::Release(was));
                }
            }
        }
        Some(())
    }

    /// A range of large pages comes or goes.
    pub fn range(&mut self, life: usize, slot: usize) -> Option<()> {
        let (was, address) = (self.large[slot], Self::large_address(slot));
        let owner = was.unwrap_or(life);
        self.large[slot] = if was.is_some() { None } else { Some(owner) };
        self.log_by(life, What::Range(was.is_none(), self.large_key(owner), address, LARGE));
        Some(())
    }

    /// Owner key of large pages.
    pub fn large_key(&self, owner: usize) -> u64 {
        if self.setup.keys == super::Keys::Pid { self.lives[owner].key(&self.setup) } else { 0 }
    }

    fn is_held(&self, frame: u64) -> bool {
        let of_lives = self.lives.iter().flat_map(|life| &life.pages).filter_map(|page| page.held);
        let others = self.cache.iter().flat_map(|view| view.held).chain(self.session_pages.iter().copied()).flatten();
        of_lives.chain(others).any(|page| page.pfn == frame)
    }

    /// The frame of a page that no working set holds is used for something else.
    pub fn repurpose(&mut self, number: usize, page: usize) -> Option<()> {
        let frame = self.files[number].frames[page].filter(|&frame| !self.is_held(frame))?;
        self.files[number].frames[page] = None;
        self.free_frames.push(frame);
        Some(())
    }

    /// Every active page once, by frame.
    pub fn active(&self) -> Vec<Identity> {
        let of_lives = self.lives.iter().flat_map(|life| &life.pages).filter_map(|page| page.held);
        let others = self.cache.iter().flat_map(|view| view.held).chain(self.session_pages.iter().copied()).flatten();
        let all = of_lives.chain(others).chain(self.kernel.values().copied()).chain(self.locked.iter().copied());
        let by_frame: std::collections::BTreeMap<u64, Identity> = all.map(|page| (page.pfn, page)).collect();
        by_frame.into_values().collect()
    }
}
