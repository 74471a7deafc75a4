//! The recording of the made-up machine: rundowns, the emptied working sets at the start mark, the final sequence.

use crate::refset::events::{PAGE, START, STOP, What, thread_of};
use crate::refset::machine::{FRAMES, Kind, LARGE, Machine, PAGES, SLOTS, Slot, State};
use etl_writer::payloads::pages::{Identity, list};
use etl_writer::payloads::{file, memory, process, thread};
use std::collections::BTreeMap;

impl Machine {
    /// The recorder empties the working sets and logs what stays active.
    pub fn start(&mut self) {
        for life in 0..self.lives.len() {
            for (slot, page) in (0..SLOTS).flat_map(|slot| (0..PAGES).map(move |page| (slot, page))) {
                let held = self.slots[life][slot].cells[page].held;
                let stays = held.is_some_and(|held| held.page_use == 0) && self.state[life] == State::Alive;
                if !(stays && self.rng.percent(50)) {
                    self.drop_cell(life, slot, page);
                }
            }
        }
        self.cache.iter_mut().flat_map(|slot| &mut slot.cells).for_each(|cell| cell.held = None);
        let session = std::mem::take(&mut self.session);
        self.free.extend(session.iter().flatten().filter(|page| page.page_use == 7).map(|page| page.pfn));
        self.locked = (1..6).map(|n| Identity::file(n, self.key(20), n * PAGE, n % 2 == 0)).collect();
        (self.pool, self.large) = ([None; 4], [None; 3]);
        self.log(8, 4, What::Mark(START));
        self.time += 1;
        for page in self.active() {
            let category = self.category_of(&page);
            self.log(8, 4, What::Active(page, category));
        }
        self.time += 1;
    }

    /// The category of a process's page by its slot.
    pub fn category_of(&self, page: &Identity) -> &'static str {
        let of_page = |slot: &&Slot| slot.cells.iter().any(|cell| cell.held.is_some_and(|held| held.pfn == page.pfn));
        self.slots.iter().flatten().find(of_page).map_or("", |slot| self.category(slot.kind))
    }

    pub fn mark_stop(&mut self) {
        self.log(8, 4, What::Mark(STOP));
    }

    /// The end rundown and the final page sequence.
    pub fn finish(&mut self) {
        for life in 0..self.lives.len() {
            if self.state[life] == State::Unborn {
                self.begin(life);
            }
        }
        self.rundown(true);
        self.time += 5;
        let mut pages = self.active();
        for slot in 0..4 {
            let base = self.pool_address(slot);
            let first = 0x1000 + slot as u64 * 0x10;
            pages.extend((0..self.pool[slot].unwrap_or(0)).map(|n| Identity::new(4, first + n, 0, base + n * PAGE)));
        }
        for (slot, owner) in self.large.into_iter().enumerate() {
            let Some(owner) = owner else { continue };
            let key = if self.setup.by_id { self.lives[owner].key(&self.setup) } else { 0 };
            let first = 0x2000 + slot as u64 * LARGE;
            let base = Self::large_address(slot);
            pages.extend((0..LARGE).map(|n| Identity::new(13, first + n, key, base + n * PAGE)));
        }
        let active: Vec<u64> = pages.iter().map(|page| page.pfn).collect();
        let rest = (0..16 + FRAMES).filter(|frame| !active.contains(frame));
        pages.extend(rest.map(|frame| Identity { list: list::ZERO, pfn: frame, ..Identity::default() }));
        pages.sort_by_key(|page| page.pfn);
        for page in pages {
            self.log(8, 4, What::Final(page));
        }
    }

    /// Pages of processes that have not started: nothing tells whose they are.
    pub fn held_by_nobody(&self) -> u64 {
        let unborn = (0..self.lives.len()).filter(|&life| self.state[life] == State::Unborn);
        let cells = unborn.flat_map(|life| &self.slots[life]).flat_map(|slot| &slot.cells);
        cells.filter(|cell| cell.held.is_some()).count() as u64
    }

    /// Every active page once.
    pub fn active(&self) -> Vec<Identity> {
        let cells = self.slots.iter().flatten().chain(&self.cache).flat_map(|slot| &slot.cells);
        let held = cells.filter_map(|cell| cell.held).chain(self.session.iter().copied().flatten());
        let all = held.chain(self.kernel.values().copied()).chain(self.locked.iter().copied());
        let by_frame: BTreeMap<u64, Identity> = all.map(|page| (page.pfn, page)).collect();
        by_frame.into_values().collect()
    }

    pub fn rundown(&mut self, at_end: bool) {
        let p = self.setup.p;
        let pick = |start: u16, end: u16| if at_end { end } else { start };
        let mut records = Vec::new();
        for life in (0..self.lives.len()).filter(|&life| self.state[life] == State::Alive) {
            let who = &self.lives[life];
            records.push(who.record(p).rec(p, 4, pick(process::DC_START, process::DC_END)));
            let hook = pick(thread::DC_START, thread::DC_END);
            records.push(thread_of(who.pid, who.tid, (0, 0)).rec(p, 3, hook));
            for slot in 0..SLOTS {
                let (base, size) = (self.base(slot), PAGES as u64 * PAGE);
                let kind = self.slots[life][slot].kind;
                match kind {
                    Kind::Nothing => {}
                    Kind::View(number, _) => {
                        let view = self.view(who.pid, base, number);
                        records.push(view.rec(p, 3, pick(file::MAP_DC_START, file::MAP_DC_END)));
                    }
                    Kind::Region | Kind::Stack(_) => {
                        let hook = pick(memory::ALLOC_DC_START, memory::ALLOC_DC_END);
                        records.push(memory::virtual_rundown(p, hook, base, size, who.pid, 0, size));
                    }
                }
                if let Kind::Stack(tid) = kind {
                    let stack = (base + size, base + size - 2 * PAGE);
                    records.push(thread_of(who.pid, tid, stack).rec(p, 3, hook));
                }
            }
        }
        for rec in records {
            self.log(0, 0, What::Rundown(rec));
        }
    }
}
