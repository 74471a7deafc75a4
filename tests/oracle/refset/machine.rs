//! A made-up machine that knows what its working sets hold: processes of a few slots of eight pages, frames that are
//! used again, files, sections, caches. It logs what it does, page by page, as events; steps that cannot be done now do
//! nothing.

use crate::refset::events::{Event, PAGE, Setup, What, Who, thread_of};
use etl_writer::Rng;
use etl_writer::payloads::file::{View, ViewKind};
use etl_writer::payloads::pages::{Extra, Identity};
use std::collections::{BTreeMap, BTreeSet};

/// Pages of a slot, a file, a section.
pub const PAGES: usize = 8;
/// Slots of a process.
pub const SLOTS: usize = 5;
pub const FRAMES: u64 = 160;
/// Pages of a large-page range.
pub const LARGE: u64 = 512;

/// An operation: what, and three numbers that say where.
#[derive(Clone, Copy)]
pub struct Op(pub u8, pub u8, pub u8, pub u8);

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Op({}, {}, {}, {})", self.0, self.1, self.2, self.3)
    }
}

/// Number of operations.
pub const OPS: u8 = 33;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Nothing,
    Region,
    /// With its thread.
    Stack(u32),
    /// Of a file or section, by number, and its generation.
    View(usize, u32),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    pub held: Option<Identity>,
    /// Copied on write: private from then on.
    pub copied: bool,
    /// Combined: prototype PTE and frame.
    pub combined: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub kind: Kind,
    pub cells: [Cell; PAGES],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Unborn,
    Alive,
    Dead,
}

/// A file or a pagefile-backed section.
#[derive(Clone, Copy, Debug)]
pub struct Backing {
    pub kind: ViewKind,
    pub generation: u32,
    pub frames: [Option<u64>; PAGES],
}

pub struct Machine {
    pub setup: Setup,
    pub events: Vec<Event>,
    pub lives: Vec<Who>,
    pub state: Vec<State>,
    pub slots: Vec<[Slot; SLOTS]>,
    pub backings: [Backing; 8],
    /// Views of the cache and of the session: file and pages.
    pub cache: [Slot; 3],
    pub session: [Option<Identity>; PAGES],
    /// Pages of the kernel and of its tables, by slot; the last number is the life that they belong to.
    pub kernel: BTreeMap<(u8, u8, usize), Identity>,
    /// Active for good from the start mark on.
    pub locked: Vec<Identity>,
    pub pool: [Option<u64>; 4],
    pub large: [Option<usize>; 3],
    pub free: Vec<u64>,
    pub combined: u64,
    pub threads: u32,
    pub rng: Rng,
    pub time: u64,
}

pub const NOTHING: Slot =
    Slot { kind: Kind::Nothing, cells: [Cell { held: None, copied: false, combined: None }; PAGES] };

impl Machine {
    pub fn new(setup: Setup, seed: u64) -> Machine {
        let kinds = [ViewKind::Data, ViewKind::Image, ViewKind::PageFile, ViewKind::ImageOther];
        let backing = |n: usize| Backing { kind: kinds[n % 4], generation: 0, frames: [None; PAGES] };
        let mut machine = Machine {
            setup,
            events: Vec::new(),
            lives: Vec::new(),
            state: Vec::new(),
            slots: Vec::new(),
            backings: std::array::from_fn(backing),
            cache: [NOTHING; 3],
            session: [None; PAGES],
            kernel: BTreeMap::new(),
            locked: Vec::new(),
            pool: [None; 4],
            large: [None; 3],
            free: (16..16 + FRAMES).collect(),
            combined: 0,
            threads: 0,
            rng: Rng::new(seed),
            time: 1_000_000_100,
        };
        (0..3).for_each(|_| {
            machine.life(true, true);
        });
        machine.step(Op(4, 0, 0, 0));
        machine.step(Op(6, 1, 1, 1));
        // What was there before the trace is told by the start rundown alone.
        machine.events.clear();
        machine.rundown(false);
        machine
    }

    pub fn log(&mut self, thread: u32, process: u32, what: What) {
        self.time += self.rng.below(4);
        self.events.push(Event { time: self.time, thread, process, what });
    }

    /// Logs by a life's own thread; one that has not started has its creator's thread and no id.
    pub fn log_by(&mut self, life: usize, what: What) {
        let who = &self.lives[life];
        let (thread, process) = if self.state[life] == State::Unborn { (who.creator, 0) } else { (who.tid, who.pid) };
        self.log(thread, process, what);
    }

    pub fn life(&mut self, first: bool, starts: bool) -> Option<usize> {
        let busy =
            |pid: u32| (0..self.lives.len()).any(|life| self.state[life] != State::Dead && self.lives[life].pid == pid);
        let pid = (1..6).map(|n| n * 4 + 96).find(|&pid| !busy(pid))?;
        let number = self.lives.len() as u64;
        let (tid, creator) = (1000 + number as u32 * 4, 3000 + number as u32 * 4);
        self.lives.push(Who { pid, number, tid, creator, first, starts });
        self.state.push(if first { State::Alive } else { State::Unborn });
        self.slots.push([NOTHING; SLOTS]);
        Some(self.lives.len() - 1)
    }

    pub fn pick(&self, number: u8, which: impl Fn(State) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.lives.len()).filter(|&life| which(self.state[life])).collect();
        all.get(usize::from(number) % all.len().max(1)).copied()
    }

    pub fn base(&self, slot: usize) -> u64 {
        self.setup.p.pick(0x1_2340_0000, 0x0040_0000) + slot as u64 * 0x8_0000
    }

    pub fn cache_base(&self, slot: usize) -> u64 {
        self.setup.p.pick(0xffff_d30a_0000_0000, 0xc000_0000) + slot as u64 * 0x8_0000
    }

    pub fn session_base(&self) -> u64 {
        self.setup.p.pick(0xffff_f900_c000_0000, 0xbc00_0000)
    }

    pub fn pool_address(&self, slot: usize) -> u64 {
        self.setup.p.pick(0xffff_a18f_0000_0000, 0xb000_0000) + slot as u64 * 0x8_0000
    }

    pub fn large_address(slot: usize) -> u64 {
        0x2000_0000 + slot as u64 * LARGE * PAGE
    }

    pub fn frame(&mut self) -> Option<u64> {
        let count = self.free.len() as u64;
        (count > 0).then(|| self.free.swap_remove(self.rng.below(count) as usize))
    }

    /// The identity of a page of a file or section; its frame is found when it is read first.
    pub fn backed(&mut self, number: usize, page: usize) -> Option<Identity> {
        if self.backings[number].frames[page].is_none() {
            self.backings[number].frames[page] = Some(self.frame()?);
        }
        let (frame, kind) = (self.backings[number].frames[page]?, self.backings[number].kind);
        Some(match kind {
            ViewKind::PageFile => Identity::section(frame, self.prototype(number) + page as u64 * 8),
            kind => Identity::file(frame, self.key(number), page as u64 * PAGE, kind != ViewKind::Data),
        })
    }

    pub fn key(&self, number: usize) -> u64 {
        self.setup.p.pick(0xffff_c001_2000_0010, 0x9000_0010) + number as u64 * 0x80
    }

    pub fn prototype(&self, number: usize) -> u64 {
        self.setup.p.pick(0xffff_b001_0000_0000, 0x9800_0000) + number as u64 * 0x100
    }

    pub fn view(&self, pid: u32, base: u64, number: usize) -> View {
        let kind = self.backings[number].kind;
        let key = if kind == ViewKind::PageFile { 0 } else { self.key(number) };
        View::new(pid, base, PAGES as u64 * PAGE, key, kind)
    }

    /// The category that a private page of a slot has.
    pub fn category(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Nothing => "VirtualAlloc_PreTrace",
            Kind::Region => "VirtualAlloc",
            Kind::Stack(_) => "UserStack",
            Kind::View(number, _) => match self.backings[number].kind {
                ViewKind::Data => "CopyOnWriteMapFile",
                ViewKind::Image | ViewKind::ImageOther => "CopyOnWriteImage",
                ViewKind::PageFile => "CopyOnWritePageFileMappedSection",
            },
        }
    }

    pub fn private(&mut self, life: usize, address: u64) -> Option<Identity> {
        let frame = self.frame()?;
        Some(Identity::private(frame, self.lives[life].key(&self.setup), address))
    }

    /// A page of a slot leaves the working set; a private one's frame is free.
    pub fn drop_cell(&mut self, life: usize, slot: usize, page: usize) {
        if let Some(was) = self.slots[life][slot].cells[page].held.take()
            && was.page_use == 0
        {
            self.free.push(was.pfn);
        }
    }

    pub fn drop_slot(&mut self, life: usize, slot: usize) {
        (0..PAGES).for_each(|page| self.drop_cell(life, slot, page));
    }

    pub fn step(&mut self, Op(what, a, b, c): Op) {
        let (slot, page) = (usize::from(b) % SLOTS, usize::from(c) % PAGES);
        let alive = self.pick(a, |state| state == State::Alive);
        let _ = match what {
            0..=3 => self.pick(a, |state| state != State::Dead).and_then(|life| self.touch(life, slot, page)),
            4 | 5 => alive.and_then(|life| self.map(life, slot, c)),
            6 => alive.and_then(|life| self.allocate(life, slot, c)),
            7 => alive.and_then(|life| self.free(life, slot, c)),
            8 | 9 => self.pick(a, |state| state != State::Dead).and_then(|life| self.copy(life, slot, page)),
            10..=12 => alive.and_then(|life| self.trim(life, slot, page)),
            13 => alive.and_then(|life| self.delete(life, slot, page)),
            14 => alive.and_then(|life| self.combine(life, slot, page)),
            15 => alive.and_then(|life| self.end(life)),
            16 => self.birth(b, c),
            17 | 18 => self.pick(a, |state| state == State::Unborn).and_then(|life| self.begin(life)),
            19 => self.cached_write(a, usize::from(b) % 8, page),
            20..=22 => self.cache(a, usize::from(b) % 3, c),
            23 => self.in_session(a, usize::from(b) % PAGES, c),
            24 | 25 => self.kernel_page(a, b, c),
            26 => self.pool(a, usize::from(b) % 4, c),
            27 => alive.and_then(|life| self.range(life, usize::from(b) % 3)),
            28 => self.delete_section(usize::from(b) % 8),
            29 => self.repurpose(usize::from(b) % 8, page),
            32 => self.log_sets(),
            30 => alive.and_then(|life| self.end_thread(life, slot)),
            _ => self.replace_file(usize::from(b) % 8),
        };
    }

    /// Windows logs what each working set has.
    fn log_sets(&mut self) -> Option<()> {
        let alive = (0..self.lives.len()).filter(|&life| self.state[life] == State::Alive);
        let pages = |life: usize| {
            let cells = self.slots[life].iter().flat_map(|slot| &slot.cells).filter_map(|cell| cell.held);
            let frames: BTreeSet<u64> = cells.map(|held| held.pfn).collect();
            (frames.len() + self.kernel.keys().filter(|at| at.2 == life + 1).count()) as u64
        };
        let sets = alive.map(|life| (self.lives[life].pid, pages(life))).collect();
        self.log(8, 4, What::Sets(sets));
        Some(())
    }

    pub fn touch(&mut self, life: usize, slot: usize, page: usize) -> Option<()> {
        let Slot { kind, cells } = self.slots[life][slot];
        let cell = cells[page];
        if cell.held.is_some() {
            return None;
        }
        let address = self.base(slot) + page as u64 * PAGE;
        let shared = match (kind, cell.combined) {
            (_, Some((prototype, frame))) => Some(Identity::section(frame, prototype | 1)),
            (Kind::View(number, generation), _) if !cell.copied => {
                if self.backings[number].generation != generation {
                    return None;
                }
                Some(self.backed(number, page)?)
            }
            _ => None,
        };
        let held = match shared {
            Some(identity) => {
                self.log_by(life, What::Shared(identity, Extra::process(address), ""));
                identity
            }
            // Nobody would know whose page it is.
            None if !self.lives[life].starts => return None,
            None => {
                let identity = self.private(life, address)?;
                self.log_by(life, What::Access(identity, self.category(kind)));
                identity
            }
        };
        self.slots[life][slot].cells[page].held = Some(held);
        Some(())
    }

    pub fn copy(&mut self, life: usize, slot: usize, page: usize) -> Option<()> {
        let Slot { kind, cells } = self.slots[life][slot];
        let was = cells[page].held.filter(|held| held.page_use != 0)?;
        if !self.lives[life].starts {
            return None;
        }
        let address = self.base(slot) + page as u64 * PAGE;
        let identity = self.private(life, address)?;
        let extra = Extra { copy_on_write: true, ..Extra::process(if was.pfn % 2 == 0 { address } else { 0 }) };
        self.log_by(life, What::Shared(identity, extra, self.category(kind)));
        self.slots[life][slot].cells[page] = Cell { held: Some(identity), copied: true, combined: None };
        Some(())
    }

    pub fn trim(&mut self, life: usize, slot: usize, page: usize) -> Option<()> {
        self.slots[life][slot].cells[page].held?;
        self.drop_cell(life, slot, page);
        let address = self.base(slot) + page as u64 * PAGE;
        if self.setup.removals {
            self.log_by(life, What::Remove(Extra::process(address)));
        }
        Some(())
    }

    pub fn delete(&mut self, life: usize, slot: usize, page: usize) -> Option<()> {
        let held = self.slots[life][slot].cells[page].held.filter(|held| held.page_use == 0)?;
        self.drop_cell(life, slot, page);
        self.log_by(life, What::Release(held));
        Some(())
    }

    pub fn combine(&mut self, life: usize, slot: usize, page: usize) -> Option<()> {
        let held = self.slots[life][slot].cells[page].held.filter(|held| held.page_use == 0)?;
        let frame = self.frame()?;
        let prototype = self.setup.p.pick(0xffff_b009_0000_0000, 0x9900_0000) + self.combined * 16;
        self.combined += 1;
        self.drop_cell(life, slot, page);
        // A system thread does it.
        self.log(8, 4, What::Combine(held, prototype));
        let combined = Some(Identity::section(frame, prototype | 1));
        self.slots[life][slot].cells[page] =
            Cell { held: combined, combined: Some((prototype, frame)), ..self.slots[life][slot].cells[page] };
        Some(())
    }

    pub fn allocate(&mut self, life: usize, slot: usize, how: u8) -> Option<()> {
        let (pid, base, size) = (self.lives[life].pid, self.base(slot), PAGES as u64 * PAGE);
        (self.slots[life][slot].kind == Kind::Nothing).then_some(())?;
        self.log_by(life, What::Alloc(pid, base, size));
        self.slots[life][slot].kind = Kind::Region;
        if how.is_multiple_of(2) {
            self.threads += 1;
            let tid = 5000 + self.threads * 4;
            let thread = thread_of(pid, tid, (base + size, base + size - 2 * PAGE));
            self.log_by(life, What::ThreadStart(thread));
            self.slots[life][slot].kind = Kind::Stack(tid);
        }
        Some(())
    }

    pub fn end_thread(&mut self, life: usize, slot: usize) -> Option<()> {
        let Kind::Stack(tid) = self.slots[life][slot].kind else { return None };
        let end = self.base(slot) + PAGES as u64 * PAGE;
        let thread = thread_of(self.lives[life].pid, tid, (end, end - 2 * PAGE));
        self.log(tid, self.lives[life].pid, What::ThreadEnd(thread));
        self.slots[life][slot].kind = Kind::Region;
        Some(())
    }

    pub fn free(&mut self, life: usize, slot: usize, how: u8) -> Option<()> {
        let (pid, base, size) = (self.lives[life].pid, self.base(slot), PAGES as u64 * PAGE);
        if self.slots[life][slot].kind != Kind::Region {
            return None;
        }
        if how.is_multiple_of(3) {
            let pages = usize::from(how) % 5 + 1;
            (0..pages).for_each(|page| self.drop_cell(life, slot, page));
            (0..pages).for_each(|page| self.slots[life][slot].cells[page] = Cell::default());
            let size = pages as u64 * PAGE;
            self.log_by(life, What::Free(pid, base, size, size, false));
        } else {
            self.drop_slot(life, slot);
            self.log_by(life, What::Free(pid, base, if how % 3 == 1 { size } else { 0 }, size, true));
            self.slots[life][slot] = NOTHING;
        }
        Some(())
    }

    /// Maps a view, or unmaps the one that is there.
    pub fn map(&mut self, life: usize, slot: usize, which: u8) -> Option<()> {
        let base = self.base(slot);
        match self.slots[life][slot].kind {
            Kind::View(number, _) => {
                self.drop_slot(life, slot);
                self.slots[life][slot] = NOTHING;
                self.log_by(life, What::Unmap(self.view(self.lives[life].pid, base, number)));
            }
            Kind::Nothing => {
                let number = usize::from(which) % 8;
                self.log_by(life, What::Map(self.view(self.lives[life].pid, base, number)));
                self.slots[life][slot].kind = Kind::View(number, self.backings[number].generation);
            }
            _ => return None,
        }
        Some(())
    }

    pub fn end(&mut self, life: usize) -> Option<()> {
        if (0..self.lives.len()).filter(|&life| self.state[life] == State::Alive).count() < 2 {
            return None;
        }
        (0..SLOTS).for_each(|slot| self.drop_slot(life, slot));
        self.slots[life] = [NOTHING; SLOTS];
        self.kernel.retain(|at, page| {
            let is_own = at.2 == life + 1;
            self.free.extend(is_own.then_some(page.pfn));
            !is_own
        });
        for slot in 0..self.large.len() {
            self.large[slot] = self.large[slot].filter(|&owner| owner != life);
        }
        self.log_by(life, What::End(life));
        self.state[life] = State::Dead;
        Some(())
    }

    /// A thread begins to make a process: a view is mapped into it, its first pages are touched.
    pub fn birth(&mut self, which: u8, how: u8) -> Option<()> {
        let life = self.life(false, !how.is_multiple_of(5))?;
        let number = usize::from(which) % 8;
        self.log_by(life, What::Map(self.view(0, self.base(0), number)));
        self.slots[life][0].kind = Kind::View(number, self.backings[number].generation);
        (0..usize::from(how) % 3).for_each(|page| {
            self.touch(life, 0, page);
        });
        Some(())
    }

    pub fn begin(&mut self, life: usize) -> Option<()> {
        self.lives[life].starts.then_some(())?;
        self.log(self.lives[life].creator, 4, What::Begin(life));
        self.state[life] = State::Alive;
        let who = &self.lives[life];
        self.log(who.creator, 4, What::ThreadStart(thread_of(who.pid, who.tid, (0, 0))));
        Some(())
    }
}
