//! The recording of the made-up machine: group masks, rundowns, the end.

use crate::resident::world::{DATABASE_PAGES, Op, PAGE, PAGES, World};
use etl_writer::payloads::memory::{self, HeapRundown};
use etl_writer::payloads::pool::Counted;
use etl_writer::payloads::{counters, file, header, image, process, thread};
use etl_writer::{Session, Trace};

impl World {
    /// Begins to record.
    pub fn begin(&mut self) {
        self.tracing = true;
        let p = self.setup.p;
        self.log(header::group_masks(p, header::MASKS_AFTER, [0xc307, 0x0048_8001, 0, 0, 0, 0, 0, 0], 80));
        self.rundown(false, &mut Vec::new());
        self.log(header::rundown_complete(p));
    }

    /// Stops: the end rundown, while which more things can happen.
    pub fn stop(&mut self, meanwhile: &mut Vec<Op>) {
        let p = self.setup.p;
        self.log(header::group_masks(p, header::MASKS_BEFORE, [0xc307, 0x0048_8001, 0, 0, 0, 0, 0, 0], 80));
        self.rundown(true, meanwhile);
    }

    pub fn rundown(&mut self, at_end: bool, meanwhile: &mut Vec<Op>) {
        let setup = self.setup.clone();
        let (all, heaps) = if at_end { (setup.end, setup.end) } else { (setup.start, setup.heap_start) };
        let pick = |start: u16, end: u16| if at_end { end } else { start };
        let mut meet = |world: &mut World| {
            if let Some(op) = meanwhile.pop() {
                world.step(op);
            }
        };
        for i in (0..self.lives.len()).filter(|&i| self.lives[i].alive).collect::<Vec<_>>() {
            if all && self.lives[i].alive {
                self.listed(self.lives[i].thing, at_end);
                let rec = self.process_record(&self.lives[i], pick(process::DC_START, process::DC_END));
                self.log_any_header(rec);
                for stack in self.lives[i].stacks.clone() {
                    self.listed(stack.thing, at_end);
                    let rec = self.thread_record(&self.lives[i], &stack, pick(thread::DC_START, thread::DC_END));
                    self.log_any_header(rec);
                }
            }
            meet(self);
            let mut page = 0;
            while page < PAGES && all && self.lives[i].alive {
                if let Some((from, to, thing)) = self.view_at(i, page) {
                    self.listed(thing, at_end);
                    let hook = pick(file::MAP_DC_START, file::MAP_DC_END);
                    let rec = self.view_record(self.lives[i].pid, from, to - from, thing, hook);
                    self.log_any_header(rec);
                    page = to - 1;
                    if self.rng.percent(20) {
                        meet(self);
                    }
                }
                page += 1;
            }
            meet(self);
            let mut page = 0;
            while page < PAGES && all && self.lives[i].alive {
                if let Some((from, to)) = self.region_at(i, page) {
                    self.listed(self.lives[i].cells[page].region.unwrap(), at_end);
                    let hook = pick(memory::ALLOC_DC_START, memory::ALLOC_DC_END);
                    let (size, pid) = ((to - from) as u64 * PAGE, self.lives[i].pid);
                    let rec = memory::virtual_rundown(setup.p, hook, self.address(from), size, pid, 0, size / 2);
                    self.log_any_header(rec);
                    page = to - 1;
                }
                page += 1;
            }
            meet(self);
            if heaps && self.lives[i].alive {
                for heap in self.lives[i].heaps.clone() {
                    let ranges: Vec<(u64, u64)> =
                        heap.ranges.iter().map(|&(at, pages, _)| (self.address(at), pages as u64 * PAGE)).collect();
                    heap.ranges.iter().for_each(|range| self.listed(range.2, at_end));
                    let version = 2 + (heap.handle / PAGE % 3) as u16;
                    self.log_heap(HeapRundown::new(self.lives[i].pid, heap.handle, &ranges).rec(setup.p, version));
                }
            }
        }
        if all {
            for (slot, thing) in self.images.clone().into_iter().enumerate() {
                let Some(thing) = thing else { continue };
                self.listed(thing, at_end);
                let rec = self.image_record(slot, thing, pick(image::DC_START, image::DC_END));
                self.log_any_header(rec);
            }
            let counted = [Counted::Padded, Counted::Tight, Counted::No][self.lives.len() % 3];
            for (thing, rec) in self.pool_records(pick(0x0e2a, 0x0e2b), counted) {
                self.listed(thing, at_end);
                self.log(rec);
            }
            for (slot, thing) in self.sessions.clone().into_iter().enumerate() {
                let Some(thing) = thing else { continue };
                self.listed(thing, at_end);
                let rec = self.session_record(slot, thing, pick(file::MAP_DC_START, file::MAP_DC_END));
                self.log_any_header(rec);
            }
        }
    }

    pub fn listed(&mut self, thing: usize, at_end: bool) {
        let thing = &mut self.things[thing];
        if at_end { thing.listed_end = true } else { thing.listed_start = true }
    }

    /// What follows the page sequence.
    pub fn usage(&mut self) {
        let rec = counters::kernel_usage(self.setup.p, self.setup.version(), 0, self.database(), DATABASE_PAGES);
        self.log(rec);
    }

    /// The file names, and the end of the trace.
    pub fn finish(mut self) -> (Vec<u8>, World) {
        if self.setup.end {
            for (slot, thing) in self.files.clone().into_iter().enumerate() {
                let Some(thing) = thing else { continue };
                self.listed(thing, true);
                let rec = file::name(self.setup.p, file::RUNDOWN, self.file_key(slot), &self.names[&thing]);
                self.log_any_header(rec);
            }
        }
        let empty = Trace::new(Session::windows10());
        let bytes = std::mem::replace(&mut self.trace, empty).finish();
        (bytes, self)
    }
}
