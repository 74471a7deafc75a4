//! How the machine is recorded: group masks, rundowns, the emptied working sets at the start mark, the page sequence, the
//! end.

use super::addresses::PAGE;
use super::event::{What, thread_record, view_record};
use super::{DATABASE_PAGES, FRAMES, LARGE, Machine, PAGES, SYSTEM, State};
use crate::payloads::memory::{self, HeapRundown};
use crate::payloads::pages::{Identity, list};
use crate::payloads::pool::Counted;
use crate::payloads::{counters, file, header, image, process, thread};

/// Text of the mark at which working sets are emptied.
pub const START_MARK: &str = "ReferenceSet start";
/// Text of the mark at which a scenario ends.
pub const STOP_MARK: &str = "ReferenceSet stop";

/// Which rundown: DCStart or DCEnd. Its methods give hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Start,
    End,
}

impl Phase {
    /// The hook of this rundown.
    pub fn pick(self, start: u16, end: u16) -> u16 {
        if self == Phase::Start { start } else { end }
    }

    pub fn process(self) -> u16 {
        self.pick(process::DC_START, process::DC_END)
    }

    pub fn thread(self) -> u16 {
        self.pick(thread::DC_START, thread::DC_END)
    }

    pub fn image(self) -> u16 {
        self.pick(image::DC_START, image::DC_END)
    }

    pub fn view(self) -> u16 {
        self.pick(file::MAP_DC_START, file::MAP_DC_END)
    }

    pub fn region(self) -> u16 {
        self.pick(memory::ALLOC_DC_START, memory::ALLOC_DC_END)
    }
}

impl Machine {
    /// Begins to record: group masks, the start rundown.
    pub fn begin(&mut self) {
        self.tracing = true;
        self.log_masks(header::MASKS_AFTER);
        self.rundown(Phase::Start, |_| ());
        self.log_record(header::rundown_complete(self.setup.p));
    }

    /// Stops: the end rundown, while which more can happen.
    pub fn stop(&mut self, meanwhile: impl FnMut(&mut Machine)) {
        self.log_masks(header::MASKS_BEFORE);
        self.rundown(Phase::End, meanwhile);
    }

    fn log_masks(&mut self, hook: u16) {
        let removals = u32::from(self.setup.removals) << 27;
        let masks = [0xc307, 0x0048_8063 | removals, 0, 0, 0, 0, 0, 0];
        self.log_record(header::group_masks(self.setup.p, hook, masks, 80));
    }

    fn listed(&mut self, thing: usize, phase: Phase) {
        let thing = &mut self.things[thing];
        if phase == Phase::End { thing.listed_end = true } else { thing.listed_start = true }
    }

    /// A rundown; what is recorded of it is in the setup.
    fn rundown(&mut self, phase: Phase, mut meanwhile: impl FnMut(&mut Machine)) {
        let (all, heaps) = match phase {
            Phase::Start => (self.setup.start, self.setup.heap_start),
            Phase::End => (self.setup.end, self.setup.end),
        };
        for life in self.alive() {
            if all && self.lives[life].is_alive() {
                self.process_rundown(life, phase);
            }
            meanwhile(self);
            if all {
                self.view_rundown(life, phase, &mut meanwhile);
            }
            meanwhile(self);
            if all && self.lives[life].is_alive() {
                self.region_rundown(life, phase);
            }
            meanwhile(self);
            if heaps && self.lives[life].is_alive() {
                self.heap_rundown(life, phase);
            }
        }
        if all {
            self.kernel_rundown(phase);
        }
    }

    fn process_rundown(&mut self, life: usize, phase: Phase) {
        self.listed(self.lives[life].thing, phase);
        self.log_any_header(self.lives[life].record(&self.setup).rec(self.setup.p, 4, phase.process()));
        for thread in self.threads_of(life) {
            self.listed(self.threads[thread].thing, phase);
            self.log_any_header(thread_record(self.setup.p, &self.thread(thread), phase.thread()));
        }
    }

    fn view_rundown(&mut self, life: usize, phase: Phase, meanwhile: &mut impl FnMut(&mut Machine)) {
        let mut page = 0;
        while page < PAGES && self.lives[life].is_alive() {
            if let Some((from, to, thing)) = self.view_at(life, page) {
                self.listed(thing, phase);
                let (pid, pages) = (self.lives[life].pid, (to - from) as u64);
                let view = self.view_of(pid, self.address(from), pages, &self.views[&thing]);
                self.log_any_header(view_record(self.setup.p, &view, phase.view()));
                page = to - 1;
                if self.rng.percent(20) {
                    meanwhile(self);
                }
            }
            page += 1;
        }
    }

    fn region_rundown(&mut self, life: usize, phase: Phase) {
        let mut regions: Vec<_> = (0..PAGES).filter_map(|page| self.region_at(life, page)).collect();
        regions.dedup();
        for (from, to, thing) in regions {
            self.listed(thing, phase);
            let (p, pid, size) = (self.setup.p, self.lives[life].pid, (to - from) as u64 * PAGE);
            self.log_any_header(memory::virtual_rundown(p, phase.region(), self.address(from), size, pid, 0, size / 2));
        }
    }

    fn heap_rundown(&mut self, life: usize, phase: Phase) {
        for heap in self.lives[life].heaps.clone() {
            let extent = |&(at, pages, _): &(usize, usize, usize)| (self.address(at), pages as u64 * PAGE);
            let ranges: Vec<(u64, u64)> = heap.ranges.iter().map(extent).collect();
            heap.ranges.iter().for_each(|range| self.listed(range.2, phase));
            let version = 2 + (heap.handle / PAGE % 3) as u16;
            self.log_heap(HeapRundown::new(self.lives[life].pid, heap.handle, &ranges).rec(self.setup.p, version));
        }
    }

    fn kernel_rundown(&mut self, phase: Phase) {
        for slot in 0..self.images.len() {
            let Some(thing) = self.images[slot] else { continue };
            self.listed(thing, phase);
            self.log_any_header(self.image_record(slot, thing, phase.image()));
        }
        let counted = [Counted::Padded, Counted::Tight, Counted::No][self.lives.len() % 3];
        for (thing, rec) in self.pool_records(phase.pick(0x0e2a, 0x0e2b), counted) {
            self.listed(thing, phase);
            self.log_record(rec);
        }
        for slot in 0..self.sessions.len() {
            let Some(thing) = self.sessions[slot] else { continue };
            self.listed(thing, phase);
            self.log_any_header(view_record(self.setup.p, &self.session_view(slot, thing), phase.view()));
        }
    }

    /// The recorder empties the working sets and logs what stays active.
    pub fn start_mark(&mut self) {
        for life in 0..self.lives.len() {
            for page in 0..PAGES {
                let held = self.lives[life].pages[page].held;
                let stays = held.is_some_and(|held| held.page_use == 0) && self.lives[life].is_alive();
                if !(stays && self.rng.percent(50)) {
                    self.drop_page(life, page);
                }
            }
        }
        self.cache.iter_mut().flat_map(|view| &mut view.held).for_each(|page| *page = None);
        let session = self.session_pages.iter_mut().filter_map(Option::take);
        self.free_frames.extend(session.filter(|page| page.page_use == 7).map(|page| page.pfn));
        self.locked = (1..6).map(|n| Identity::file(n, self.file_key(20), n * PAGE, n % 2 == 0)).collect();
        self.pool.fill(None);
        self.large.fill(None);
        self.log(SYSTEM, What::Mark(START_MARK));
        self.time += 1;
        for page in self.active() {
            let of = |pages: &[super::spaces::Page]| {
                pages.iter().position(|other| other.held.is_some_and(|held| held.pfn == page.pfn))
            };
            let found = (0..self.lives.len()).find_map(|life| Some((life, of(&self.lives[life].pages)?)));
            let category = found.map_or("", |(life, page)| self.category(life, page));
            self.log(SYSTEM, What::Active(page, category));
        }
        self.time += 1;
    }

    /// The scenario ends.
    pub fn stop_mark(&mut self) {
        self.log(SYSTEM, What::Mark(STOP_MARK));
    }

    /// Every frame as it is now.
    pub fn frames(&self) -> Vec<Identity> {
        let mut pages = self.active();
        for (slot, _, bytes) in self.pool_there() {
            let (first, base) = (0x1000 + slot as u64 * 0x10, self.pool_base(slot));
            pages.extend((0..bytes.div_ceil(PAGE)).map(|n| Identity::new(4, first + n, 0, base + n * PAGE)));
        }
        for (slot, owner) in self.large.iter().enumerate() {
            let Some(owner) = *owner else { continue };
            let (key, first, base) = (self.large_key(owner), 0x2000 + slot as u64 * LARGE, Self::large_address(slot));
            pages.extend((0..LARGE).map(|n| Identity::new(13, first + n, key, base + n * PAGE)));
        }
        let active: Vec<u64> = pages.iter().map(|page| page.pfn).collect();
        let rest = (0..16 + FRAMES).filter(|frame| !active.contains(frame));
        pages.extend(rest.map(|pfn| Identity { list: list::ZERO, pfn, ..Identity::default() }));
        pages.sort_by_key(|page| page.pfn);
        pages
    }

    /// What follows the page sequence.
    pub fn usage(&mut self) {
        let (p, version, database) = (self.setup.p, self.setup.version(), self.database());
        self.log_record(counters::kernel_usage(p, version, 0, database, DATABASE_PAGES));
    }

    /// The file names, and the end of the trace: its bytes.
    pub fn finish(&mut self) -> Vec<u8> {
        for slot in 0..self.files.len() {
            let Some(thing) = self.files[slot].thing.filter(|_| self.setup.end) else { continue };
            self.listed(thing, Phase::End);
            self.log_any_header(self.file_record(slot, thing, file::RUNDOWN));
        }
        self.log_record(header::group_masks(self.setup.p, header::MASKS_AFTER, [0; 8], 80));
        let in_header = self.rng.percent(50);
        self.trace(self.setup.session(), in_header)
    }

    /// Pages of processes that have not started: nothing tells whose they are.
    pub fn held_by_nobody(&self) -> u64 {
        let unborn = self.lives.iter().filter(|life| life.state == State::Unborn);
        unborn.flat_map(|life| &life.pages).filter(|page| page.held.is_some()).count() as u64
    }
}
