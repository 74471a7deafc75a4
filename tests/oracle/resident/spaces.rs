//! What happens in the address spaces of the made-up machine: regions, views, heaps, threads.

use crate::resident::world::{Cell, FIXED, Heap, Life, Op, PAGE, PAGES, Stack, World};
use etl_writer::Rec;
use etl_writer::payloads::file::{self, View, ViewKind};
use etl_writer::payloads::memory;
use etl_writer::payloads::thread::{self, Thread};

impl World {
    pub fn alive(&self, pick: u8) -> Option<usize> {
        let alive: Vec<usize> = (0..self.lives.len()).filter(|&i| self.lives[i].alive).collect();
        (!alive.is_empty()).then(|| alive[usize::from(pick) % alive.len()])
    }

    /// Does one thing; what is not possible now is left out.
    pub fn step(&mut self, Op(what, a, b, c): Op) {
        self.losing = self.setup.lossy && self.tracing && c % 5 == 0;
        match what {
            0 => self.start_process(a, b, c),
            1 => self.end_process(a, b),
            14 => self.change_file(a, b),
            15 => self.change_image(a),
            16 => self.change_session(a),
            19 => self.change_pool(a, b),
            _ => {
                if let Some(life) = self.alive(a) {
                    self.step_in(life, what, usize::from(b) % (PAGES - FIXED), c);
                }
            }
        }
        self.losing = false;
    }

    pub fn step_in(&mut self, i: usize, what: u8, at: usize, c: u8) {
        let (p, pid) = (self.setup.p, self.lives[i].pid);
        let pages = 1 + usize::from(c / 8) % 6;
        match what {
            2 | 3 => {
                let flags = [memory::RESERVE, memory::RESERVE | memory::COMMIT][usize::from(c) % 2];
                self.reserve(i, at, pages, flags);
            }
            4 => {
                // A commit inside a reservation.
                let Some((from, to)) = self.region_at(i, at) else { return };
                let region = &self.things[self.lives[i].cells[at].region.unwrap()];
                // The kernel commits stacks itself. Of a region whose beginning no one saw, a commit tells so little
                // that its end cannot be told.
                if self.is_stack(i, from, to) || !(region.made || region.listed_start) {
                    return;
                }
                let (from, to) = (from.max(at), to.min(at + pages));
                let rec = memory::virtual_alloc(p, self.address(from), (to - from) as u64 * PAGE, pid, memory::COMMIT);
                self.log_any_header(rec);
                let tracing = self.tracing;
                self.lives[i].cells[from..to].iter_mut().for_each(|cell| cell.traced |= tracing);
            }
            5 | 6 => self.free_region(i, at, c),
            7 | 8 => self.map(i, at, pages, c),
            9 => self.unmap(i, at),
            10 => self.heap(i, at, c),
            11 => self.end_heap(i, c),
            12 => self.start_thread(i, at, c),
            13 => self.end_thread(i, c),
            _ => self.noise(i, at, c),
        }
    }

    pub fn is_free(&self, i: usize, at: usize, pages: usize) -> bool {
        let free = |cell: &Cell| cell.region.is_none() && cell.view.is_none();
        at + pages <= PAGES && self.lives[i].cells[at..at + pages].iter().all(free)
    }

    pub fn reserve(&mut self, i: usize, at: usize, pages: usize, flags: u32) -> bool {
        if !self.is_free(i, at, pages) {
            return false;
        }
        let (thing, tracing) = (self.thing(), self.tracing);
        for cell in &mut self.lives[i].cells[at..at + pages] {
            *cell = Cell { region: Some(thing), traced: tracing, ..Cell::default() };
        }
        let (p, pid) = (self.setup.p, self.lives[i].pid);
        let rec = memory::virtual_alloc(p, self.address(at), pages as u64 * PAGE, pid, flags);
        self.log_any_header(rec);
        true
    }

    /// First page and page behind the region that holds a page.
    pub fn region_at(&self, i: usize, at: usize) -> Option<(usize, usize)> {
        let cells = &self.lives[i].cells;
        let region = cells[at].region?;
        let same = |page: &usize| cells[*page].region == Some(region);
        Some(((0..=at).rev().take_while(same).last()?, (at..PAGES).take_while(same).last()? + 1))
    }

    pub fn is_stack(&self, i: usize, from: usize, to: usize) -> bool {
        self.lives[i].stacks.iter().any(|stack| stack.base > from && stack.base <= to)
    }

    pub fn free_region(&mut self, i: usize, at: usize, c: u8) {
        let Some((from, to)) = self.region_at(i, at) else { return };
        if self.is_stack(i, from, to) || self.lives[i].cells[from..to].iter().any(|cell| cell.heap.is_some()) {
            return;
        }
        // A part of a reservation can be released, too; what is left behind it is another region then.
        match c % 7 {
            0 if to - from > 2 && self.setup.start => {
                let thing = self.lives[i].cells[from].region.unwrap();
                self.things.push(self.things[thing].clone());
                let rest = self.things.len() - 1;
                self.free(i, from + 1, from + 2, true);
                self.end(rest);
                self.lives[i].cells[from + 2..to].iter_mut().for_each(|cell| cell.region = Some(rest));
            }
            size => self.free(i, from, to, size % 2 == 0),
        }
    }

    /// Frees pages that are one region. Without a size the record tells nothing of a region that no one knew.
    pub fn free(&mut self, i: usize, from: usize, to: usize, with_size: bool) {
        let thing = self.lives[i].cells[from].region.unwrap();
        if with_size {
            self.end(thing);
        }
        let (p, pid) = (self.setup.p, self.lives[i].pid);
        let size = if with_size { (to - from) as u64 * PAGE } else { 0 };
        let rec = memory::virtual_free(p, self.address(from), size, pid, memory::RELEASE);
        self.log_any_header(rec);
        self.lives[i].cells[from..to].fill(Cell::default());
    }

    pub fn view_record(&self, pid: u32, at: usize, pages: usize, thing: usize, hook: u16) -> Rec {
        let (kind, slot) = self.views[&thing];
        let key = if kind == ViewKind::PageFile { 0 } else { self.file_key(slot) };
        let version = if thing.is_multiple_of(2) { 2 } else { 3 };
        View::new(pid, self.address(at), pages as u64 * PAGE, key, kind).rec(self.setup.p, version, hook)
    }

    pub fn new_view(&mut self, c: u8) -> usize {
        let thing = self.thing();
        let kind = [ViewKind::Data, ViewKind::Image, ViewKind::ImageOther, ViewKind::PageFile][usize::from(c) % 4];
        self.views.insert(thing, (kind, usize::from(c / 4) % self.files.len()));
        thing
    }

    pub fn put_view(&mut self, i: usize, at: usize, pages: usize, thing: usize) {
        let view = Cell { view: Some(thing), ..Cell::default() };
        self.lives[i].cells[at..at + pages].fill(view);
    }

    pub fn map(&mut self, i: usize, at: usize, pages: usize, c: u8) {
        if self.is_free(i, at, pages) {
            let thing = self.new_view(c);
            let rec = self.view_record(self.lives[i].pid, at, pages, thing, file::MAP);
            self.log_any_header(rec);
            self.put_view(i, at, pages, thing);
        }
    }

    pub fn view_at(&self, i: usize, at: usize) -> Option<(usize, usize, usize)> {
        let cells = &self.lives[i].cells;
        let view = cells[at].view?;
        let same = |page: &usize| cells[*page].view == Some(view);
        Some(((0..=at).rev().take_while(same).last()?, (at..PAGES).take_while(same).last()? + 1, view))
    }

    pub fn unmap(&mut self, i: usize, at: usize) {
        let Some((from, to, thing)) = self.view_at(i, at) else { return };
        self.end(thing);
        let rec = self.view_record(self.lives[i].pid, from, to - from, thing, file::UNMAP);
        self.log_any_header(rec);
        self.lives[i].cells[from..to].fill(Cell::default());
    }

    /// Makes a heap, or gives one another range.
    pub fn heap(&mut self, i: usize, at: usize, c: u8) {
        let (p, pid, pages) = (self.setup.p, self.lives[i].pid, 1 + usize::from(c / 16) % 4);
        if !self.reserve(i, at, pages, memory::RESERVE | memory::COMMIT) {
            return;
        }
        let (base, size) = (self.address(at), pages as u64 * PAGE);
        let grows = c.is_multiple_of(4) && !self.lives[i].heaps.is_empty();
        // The first range can be smaller than its creation says; then it comes as a reserve.
        let smaller = c % 4 == 1;
        let heap = if grows { usize::from(c / 4) % self.lives[i].heaps.len() } else { self.lives[i].heaps.len() };
        if !grows {
            if self.lives[i].heaps.iter().any(|heap| heap.handle == base) {
                return;
            }
            self.lives[i].heaps.push(Heap { handle: base, ranges: Vec::new() });
            let claimed = if smaller { size + 2 * PAGE } else { size };
            self.log_heap(memory::heap_create(p, pid, base, claimed, 2));
        }
        let handle = self.lives[i].heaps[heap].handle;
        if grows || smaller || c % 4 == 2 {
            self.log_heap(memory::heap_reserve(p, pid, handle, base, size));
        }
        let (thing, tracing) = (self.thing(), self.tracing);
        self.lives[i].heaps[heap].ranges.push((at, pages, thing));
        for cell in &mut self.lives[i].cells[at..at + pages] {
            (cell.heap, cell.traced_heap) = (Some(thing), tracing);
        }
    }

    /// A heap gives a range back, or goes.
    pub fn end_heap(&mut self, i: usize, c: u8) {
        let (p, pid, count) = (self.setup.p, self.lives[i].pid, self.lives[i].heaps.len());
        if count < 2 {
            return;
        }
        let heap = 1 + usize::from(c / 8) % (count - 1);
        let handle = self.lives[i].heaps[heap].handle;
        let all = !c.is_multiple_of(3);
        let ranges = self.lives[i].heaps[heap].ranges.clone();
        let gone = if all { &ranges[..] } else { &ranges[..ranges.len().min(1)] };
        for &(at, pages, thing) in gone {
            if !all || c.is_multiple_of(2) {
                self.end(thing);
                self.log_heap(memory::heap_release(p, pid, handle, self.address(at), pages as u64 * PAGE));
            }
        }
        if all {
            self.log_heap(memory::heap_destroy(p, pid, handle));
            self.lives[i].heaps.remove(heap);
        } else {
            self.lives[i].heaps[heap].ranges.drain(..gone.len());
        }
        for &(at, pages, _) in gone {
            for cell in &mut self.lives[i].cells[at..at + pages] {
                (cell.heap, cell.traced_heap) = (None, false);
            }
            if c % 5 < 3 {
                self.free(i, at, at + pages, c.is_multiple_of(2));
            }
        }
    }

    pub fn thread_record(&self, life: &Life, stack: &Stack, hook: u16) -> Rec {
        let user_stack = (self.address(stack.base), self.address(stack.limit));
        let version = 2 + (stack.tid / 4 % 3) as u16;
        Thread { pid: life.pid, tid: stack.tid, user_stack, ..Thread::default() }.rec(self.setup.p, version, hook)
    }

    pub fn start_thread(&mut self, i: usize, at: usize, c: u8) {
        let pages = 2 + usize::from(c) % 4;
        if !self.reserve(i, at, pages, memory::RESERVE) {
            return;
        }
        // Stacks can begin below the end of their region.
        let base = at + pages - usize::from(pages > 3 && c.is_multiple_of(2));
        let thing = self.thing();
        self.next_tid += 4;
        let stack = Stack { tid: self.next_tid, base, limit: base - 1, thing };
        let rec = self.thread_record(&self.lives[i], &stack, thread::START);
        self.log_any_header(rec);
        self.lives[i].stacks.push(stack);
    }

    pub fn end_thread(&mut self, i: usize, c: u8) {
        let count = self.lives[i].stacks.len();
        if count < 2 {
            return;
        }
        let stack = self.lives[i].stacks.remove(1 + usize::from(c) % (count - 1));
        let mut rec = self.thread_record(&self.lives[i], &stack, thread::END);
        if c.is_multiple_of(3) {
            // The stack may be gone when the end is logged.
            let life = &self.lives[i];
            rec = Thread { pid: life.pid, tid: stack.tid, ..Thread::default() }.rec(self.setup.p, 3, thread::END);
        } else {
            self.end(stack.thing);
        }
        self.log_any_header(rec);
        if let Some((from, to)) = self.region_at(i, stack.base - 1).filter(|_| c.is_multiple_of(2)) {
            self.free(i, from, to, c.is_multiple_of(4));
        }
    }

    /// Events that change nothing of what is asked.
    pub fn noise(&mut self, i: usize, at: usize, c: u8) {
        let (p, pid, base) = (self.setup.p, self.lives[i].pid, self.address(at));
        let rec = match c % 4 {
            0 => memory::virtual_free(p, base, PAGE, pid, memory::DECOMMIT),
            1 => memory::virtual_alloc(p, base, PAGE, pid, 0x8_0000),
            2 => memory::mem_reset(p, base, PAGE, 1),
            _ => View::new(0, base, PAGE, self.file_key(0), ViewKind::Data).rec(p, 3, file::MAP).by(77_777, 4),
        };
        self.log(rec);
    }
}
