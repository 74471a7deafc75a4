//! The steps of the scenario: each writes the records of one thing that happens and keeps state and truth in step.

use std::io::{self, Seek, Write};

use super::super::bytes::{Ptr, Put};
use super::super::logger::Logger;
use super::super::machine::addresses::PAGE;
use super::super::payloads::pages::{self, Extra, Identity};
use super::super::payloads::{file, memory, pool, process, thread};
use super::super::record::Rec;
use super::super::sampling::SamplingSpec;
use super::RefsetTruth;
use super::state::{LARGE, Proc, Region, State};

const P: Ptr = Ptr::P8;

/// The scenario in motion.
pub struct Scenario<W: Write + Seek> {
    /// The machine.
    pub state: State,
    /// Where records go.
    pub log: Logger<W>,
    /// What is known.
    pub truth: RefsetTruth,
    page_rec: Rec,
}

impl<W: Write + Seek> Scenario<W> {
    /// Starts with this machine.
    pub fn new(state: State, log: Logger<W>) -> Scenario<W> {
        let page_rec = Rec::system(P, 0, state.spec.event_version, Vec::new());
        Scenario { state, log, truth: RefsetTruth::default(), page_rec }
    }

    /// Counts an access of `pages` pages that are held from now on.
    pub fn accessed(&mut self, reason: &'static str, pages: u64) {
        *self.truth.accesses.entry(reason).or_default() += pages;
        self.state.held += pages;
        self.truth.peak_pages = self.truth.peak_pages.max(self.state.held);
    }

    fn released(&mut self, reason: &'static str, pages: u64) {
        *self.truth.releases.entry(reason).or_default() += pages;
        self.state.held -= pages;
    }

    /// Lets a little time pass; gives a random processor.
    fn later(&mut self) -> u16 {
        let processor = self.log.rng.below(u64::from(self.state.spec.processors)) as u16;
        let later = self.log.rng.below(8);
        self.log.wait(later);
        processor
    }

    /// Writes a record on a random processor, by `thread` of `process`, a little later than the one before.
    fn put(&mut self, rec: Rec, ids: (u32, u32)) -> io::Result<()> {
        let processor = self.later();
        self.log.put_on(processor, &mut rec.by(ids.0, ids.1))
    }

    /// Writes a page record without a new allocation; `extra` follows the identity when it is there.
    fn put_page(&mut self, hook: u16, id: Option<&Identity>, extra: Option<Extra>, ids: (u32, u32)) -> io::Result<()> {
        let mut put = Put::reuse(&mut self.page_rec.payload, P);
        if let Some(id) = id {
            id.put(&mut put);
        }
        if let Some(extra) = extra {
            put.ptr(extra.word());
        }
        self.page_rec.payload = put.done();
        (self.page_rec.hook, self.page_rec.thread, self.page_rec.process) = (hook, ids.0, ids.1);
        let processor = self.later();
        self.truth.page_records += 1;
        self.log.put_on(processor, &mut self.page_rec)?;
        let has_stack = self.state.spec.stacks > 0 && [pages::ACCESS, pages::ACCESS_EX].contains(&hook);
        if has_stack { self.put_stack(processor, ids) } else { Ok(()) }
    }

    /// Writes the stack of the page record before.
    fn put_stack(&mut self, processor: u16, (thread, process): (u32, u32)) -> io::Result<()> {
        let calls = SamplingSpec { stacks: self.state.spec.stacks, ..SamplingSpec::default() };
        let mut put = Put::new(P);
        put.u64(self.page_rec.time).u32(process).u32(thread);
        calls.stack(self.log.rng.below(calls.stacks)).into_iter().for_each(|frame| {
            put.ptr(frame);
        });
        let rec = Rec::perf(P, 0x1820, 2, put.done());
        self.log.put_on(processor, &mut rec.by(thread, process))
    }

    /// A process, and its thread and process id.
    fn pick_proc(&mut self) -> (usize, (u32, u32)) {
        let i = self.log.rng.below(self.state.procs.len() as u64) as usize;
        (i, self.state.procs[i].ids())
    }

    fn pick_region(&mut self, i: usize) -> usize {
        self.log.rng.below(self.state.procs[i].regions.len() as u64) as usize
    }

    /// Takes a frame for page `bit` and marks it held; `None` when no frame is free.
    pub fn take_private(&mut self, i: usize, r: usize, bit: u32) -> Option<Identity> {
        let frame = self.state.free.pop()?;
        let key = self.state.owner_key(&self.state.procs[i]);
        let region = &mut self.state.procs[i].regions[r];
        region.frames[bit as usize] = frame;
        region.held |= 1 << bit;
        Some(Identity::private(u64::from(frame), key, region.address(bit)))
    }

    /// A page enters a working set: PageAccess for private ones, PageAccessEx for file pages.
    pub fn access(&mut self) -> io::Result<()> {
        let (i, ids) = self.pick_proc();
        let r = self.pick_region(i);
        let (held, file) = (self.state.procs[i].regions[r].held, self.state.procs[i].regions[r].file);
        let Some(bit) = Region::pick(!held, &mut self.log.rng) else { return Ok(()) };
        if self.state.procs[i].regions[r].is_private(bit) {
            let Some(id) = self.take_private(i, r, bit) else { return Ok(()) };
            self.accessed("PrivatePageAccess", 1);
            return self.put_page(pages::ACCESS, Some(&id), None, ids);
        }
        let Some(file) = file else { return Ok(()) };
        let region = &mut self.state.procs[i].regions[r];
        region.held |= 1 << bit;
        let extra = Extra::process(region.address(bit));
        let id = self.state.file_page(file, bit);
        self.accessed("SharablePageAccess", 1);
        self.put_page(pages::ACCESS_EX, Some(&id), Some(extra), ids)
    }

    /// A page leaves: RemoveFromWS, or PageRelease of a private page in one of four cases.
    pub fn remove(&mut self) -> io::Result<()> {
        let (i, ids) = self.pick_proc();
        let r = self.pick_region(i);
        let key = self.state.owner_key(&self.state.procs[i]);
        let region = &mut self.state.procs[i].regions[r];
        let Some(bit) = Region::pick(region.held, &mut self.log.rng) else { return Ok(()) };
        let address = region.address(bit);
        let (private, frame) = (region.is_private(bit), region.frames[bit as usize]);
        State::drop_pages(&mut self.state.free, region, 1 << bit);
        if private && self.log.rng.percent(25) {
            self.released("PageRelease", 1);
            let id = Identity::private(u64::from(frame), key, address);
            return self.put_page(pages::RELEASE, Some(&id), None, ids);
        }
        self.released("RemovedFromWorkingSet", 1);
        self.put_page(pages::REMOVE_FROM_WS, None, Some(Extra::process(address)), ids)
    }

    /// A cache page enters or leaves the system working set, in the context of some process.
    pub fn cache(&mut self) -> io::Result<()> {
        let (_, ids) = self.pick_proc();
        let slot = self.log.rng.below(self.state.cache.len() as u64) as usize;
        let leave = self.log.rng.percent(50);
        let region = &mut self.state.cache[slot];
        let Some(bit) = Region::pick(if leave { region.held } else { !region.held }, &mut self.log.rng) else {
            return Ok(());
        };
        let extra = Extra { working_set: 2, ..Extra::process(region.address(bit)) };
        let Some(file) = region.file else { return Ok(()) };
        region.held ^= 1 << bit;
        if leave {
            self.released("RemovedFromWorkingSet", 1);
            return self.put_page(pages::REMOVE_FROM_WS, None, Some(extra), ids);
        }
        let id = self.state.file_page(file, bit);
        self.accessed("SharablePageAccess", 1);
        self.put_page(pages::ACCESS_EX, Some(&id), Some(extra), ids)
    }

    /// A cached write: a PageAccessEx that puts the page into no working set.
    pub fn cached_write(&mut self) -> io::Result<()> {
        let (_, ids) = self.pick_proc();
        let (file, bit) = (self.log.rng.below(self.state.spec.files) as u32, self.log.rng.below(64) as u32);
        let id = self.state.file_page(file, bit);
        *self.truth.accesses.entry("SharablePageAccess").or_default() += 1;
        let extra = Extra { working_set: 2, cached_write: true, ..Extra::default() };
        self.put_page(pages::ACCESS_EX, Some(&id), Some(extra), ids)
    }

    /// A held file page is copied on write.
    pub fn copy_on_write(&mut self) -> io::Result<()> {
        let (i, ids) = self.pick_proc();
        let r = self.pick_region(i);
        let region = &self.state.procs[i].regions[r];
        if region.file.is_none() {
            return Ok(());
        }
        let Some(bit) = Region::pick(region.held & !region.copied, &mut self.log.rng) else { return Ok(()) };
        let extra = Extra { copy_on_write: true, ..Extra::process(region.address(bit)) };
        let Some(id) = self.take_private(i, r, bit) else { return Ok(()) };
        self.state.procs[i].regions[r].copied |= 1 << bit;
        self.released("CopyOnWrite", 1);
        self.accessed("SharablePageAccess", 1);
        self.put_page(pages::ACCESS_EX, Some(&id), Some(extra), ids)
    }

    /// A region is decommitted in part, or freed and allocated again; a view is unmapped and another file mapped.
    pub fn replace_region(&mut self) -> io::Result<()> {
        let (i, ids) = self.pick_proc();
        let (r, pid) = (self.pick_region(i), ids.1);
        let part = self.log.rng.percent(30);
        let slot = (r as u64).checked_sub(self.state.spec.regions);
        let new_file = slot.map(|slot| self.state.pick_file(slot, &mut self.log.rng));
        let before = self.state.view(pid, &self.state.procs[i].regions[r]);
        let region = &mut self.state.procs[i].regions[r];
        let (base, size) = (region.base, region.size());
        let (Some(before), Some(new_file)) = (before, new_file) else {
            if part {
                let gone = State::drop_pages(&mut self.state.free, region, 0xffff_ffff);
                self.released("VirtualAddressRangeDecommit", gone);
                return self.put(memory::virtual_free(P, base, size / 2, pid, memory::DECOMMIT), ids);
            }
            let gone = State::drop_pages(&mut self.state.free, region, u64::MAX);
            self.released("VirtualAddressRangeEnd", gone);
            self.put(memory::virtual_free(P, base, size, pid, memory::RELEASE), ids)?;
            let flags = memory::RESERVE | memory::COMMIT;
            return self.put(memory::virtual_alloc(P, base, size, pid, flags), ids);
        };
        let gone = State::drop_pages(&mut self.state.free, region, u64::MAX);
        (region.copied, region.file) = (0, Some(new_file));
        self.released("UnmapFile", gone);
        self.put(before.rec(P, 3, file::UNMAP), ids)?;
        match self.state.view(pid, &self.state.procs[i].regions[r]) {
            Some(view) => self.put(view.rec(P, 3, file::MAP), ids),
            None => Ok(()),
        }
    }

    /// A large-page range comes or goes.
    pub fn large(&mut self) -> io::Result<()> {
        let (i, ids) = self.pick_proc();
        let (key, version) = (self.state.owner_key(&self.state.procs[i]), self.state.spec.event_version);
        let (hook, number) = match self.state.procs[i].large.pop() {
            Some(number) => {
                self.state.free_large.push(number);
                self.released("PageRangeRelease", LARGE);
                (pages::RANGE_RELEASE, number)
            }
            None => {
                let Some(number) = self.state.free_large.pop() else { return Ok(()) };
                self.state.procs[i].large.push(number);
                self.accessed("PageRangeAccess", LARGE);
                (pages::RANGE_ACCESS, number)
            }
        };
        self.truth.page_records += 1;
        self.put(pages::range(P, version, hook, 13, key, self.state.large_address(number), LARGE), ids)
    }

    /// Pool of 1–16 pages is allocated or freed.
    pub fn pool(&mut self) -> io::Result<()> {
        let (_, ids) = self.pick_proc();
        if self.state.pool.len() >= 256 || (self.log.rng.percent(45) && !self.state.pool.is_empty()) {
            let n = self.log.rng.below(self.state.pool.len() as u64) as usize;
            let (address, count) = self.state.pool.swap_remove(n);
            self.released("PoolFree", count);
            return self.put(pool::pool(P, pool::FREE, 1, *b"Synt", count * PAGE, address), ids);
        }
        let count = self.log.rng.between(1, 16);
        let address = self.state.pool_address(count);
        self.state.pool.push((address, count));
        self.accessed("PoolAllocate", count);
        self.put(pool::pool(P, pool::ALLOC, 1, *b"Synt", count * PAGE, address), ids)
    }

    /// A process ends and another takes its place, every second time with the same id. The new one's first pages are
    /// touched before it has an id: process id 0, by the creating thread.
    pub fn replace_process(&mut self) -> io::Result<()> {
        let (i, ids) = self.pick_proc();
        let pid = ids.1;
        let ended = self.state.process(&self.state.procs[i]);
        let gone = State::held_by(&self.state.procs[i]);
        let mut old = self.state.procs[i].clone();
        self.free_all(&mut old);
        self.put(thread_of(&old).rec(P, 3, thread::END), ids)?;
        self.released("ProcessEnd", gone);
        let ended = process::Process { exit_status: 0, ..ended };
        self.put(ended.rec(P, 4, process::END), ids)?;

        let pid = if self.log.rng.percent(50) { pid } else { self.state.new_pid() };
        let mut new = self.state.new_proc(pid, &mut self.log.rng);
        let creator = self.state.procs[usize::from(i == 0)].ids();
        let first_view = self.state.spec.regions as usize;
        let region = &mut new.regions[first_view];
        if let (Some(view), Some(file)) = (self.state.view(0, region), region.file) {
            self.put(view.rec(P, 3, file::MAP), (creator.0, 0))?;
            for bit in 0..4 {
                region.held |= 1 << bit;
                let id = self.state.file_page(file, bit);
                self.accessed("SharablePageAccess", 1);
                self.put_page(pages::ACCESS_EX, Some(&id), Some(Extra::process(region.address(bit))), (creator.0, 0))?;
            }
        }
        self.put(self.state.process(&new).rec(P, 4, process::START), creator)?;
        self.put(thread_of(&new).rec(P, 3, thread::START), creator)?;
        for (_, region) in new.regions.iter().enumerate().filter(|(r, _)| *r != first_view) {
            let flags = memory::RESERVE | memory::COMMIT;
            let rec = match self.state.view(pid, region) {
                Some(view) => view.rec(P, 3, file::MAP),
                None => memory::virtual_alloc(P, region.base, region.size(), pid, flags),
            };
            self.put(rec, (new.tid, pid))?;
        }
        self.state.procs[i] = new;
        Ok(())
    }

    /// Gives back everything a process has.
    fn free_all(&mut self, proc: &mut Proc) {
        for region in &mut proc.regions {
            State::drop_pages(&mut self.state.free, region, u64::MAX);
        }
        self.state.free.append(&mut proc.tables);
        self.state.free_large.append(&mut proc.large);
    }
}

/// The one thread of a process.
pub fn thread_of(proc: &Proc) -> thread::Thread {
    thread::Thread { pid: proc.pid, tid: proc.tid, ..thread::Thread::default() }
}
