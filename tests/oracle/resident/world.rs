//! A small made-up machine that knows the truth: plain arrays of what each page of each address space really is, and
//! the records that Windows would log while it changes. No ranges, no maps, no look-ups: the slow, obvious side of the
//! comparison. What can happen is in `spaces` and `system`, rundowns are in `recording`; what the pages of a snapshot
//! must be called is in `truth`.

use etl_writer::payloads::file::ViewKind;
use etl_writer::payloads::memory;
use etl_writer::{Compression, HeaderKind, Ptr, Rec, Rng, Session, Trace, guid};
use std::collections::BTreeMap;

/// Pages of every address space.
pub const PAGES: usize = 54;
/// Those of them that a process has from its beginning to its end: a view, a stack, a heap.
pub const FIXED: usize = 6;
/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Kernel images and session images: slots of this many pages.
pub const SLOT_PAGES: u64 = 4;
/// Pages of the PFN database.
pub const DATABASE_PAGES: u64 = 3;

/// What owner keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    Pid,
    Address,
    Directory,
}

/// How the trace is recorded and written.
#[derive(Clone, Debug)]
pub struct Setup {
    pub p: Ptr,
    pub keys: Keys,
    pub hook: u16,
    /// Start rundown of everything but heaps.
    pub start: bool,
    /// Start rundown of heaps.
    pub heap_start: bool,
    /// End rundown.
    pub end: bool,
    /// Events between the rundowns may be lost.
    pub lossy: bool,
    /// Header kinds differ from record to record.
    pub headers: bool,
    /// Heap ranges as records of their provider.
    pub provider: bool,
    pub compression: Compression,
}

impl Setup {
    pub fn version(&self) -> u16 {
        if self.keys == Keys::Pid { 4 } else { 2 }
    }
}

/// Something that exists for a while, and how a reader could know of it.
#[derive(Clone, Debug, Default)]
pub struct Thing {
    /// In the start rundown.
    pub listed_start: bool,
    /// Its beginning was logged.
    pub made: bool,
    /// Its end was logged, with all that describes it.
    pub ended: bool,
    /// In the end rundown.
    pub listed_end: bool,
}

impl Thing {
    pub fn known(&self) -> bool {
        self.listed_start || self.made || self.ended || self.listed_end
    }
}

/// One page of an address space; numbers are things.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    pub region: Option<usize>,
    pub heap: Option<usize>,
    pub view: Option<usize>,
    /// Allocated by an event of the trace.
    pub traced: bool,
    /// Made heap by an event of the trace.
    pub traced_heap: bool,
}

#[derive(Clone, Debug)]
pub struct Stack {
    pub tid: u32,
    /// Page behind the stack.
    pub base: usize,
    /// First page of the initial commit.
    pub limit: usize,
    pub thing: usize,
}

#[derive(Clone, Debug)]
pub struct Heap {
    pub handle: u64,
    /// First page, pages, thing.
    pub ranges: Vec<(usize, usize, usize)>,
}

/// One life of a process.
#[derive(Clone, Debug)]
pub struct Life {
    pub pid: u32,
    pub number: u64,
    pub alive: bool,
    pub thing: usize,
    pub cells: Vec<Cell>,
    pub stacks: Vec<Stack>,
    pub heaps: Vec<Heap>,
}

/// The machine.
pub struct World {
    pub setup: Setup,
    pub things: Vec<Thing>,
    pub lives: Vec<Life>,
    /// Kind and file slot of views, by thing.
    pub views: BTreeMap<usize, (ViewKind, usize)>,
    /// Names of files and kernel images and tags of pool allocations, by thing.
    pub names: BTreeMap<usize, String>,
    /// What the file slots, the kernel image slots and the session image slots hold.
    pub files: Vec<Option<usize>>,
    pub images: Vec<Option<usize>>,
    pub sessions: Vec<Option<usize>>,
    /// Big pool allocations.
    pub pool: Vec<Option<usize>>,
    pub tracing: bool,
    /// The next events are lost.
    pub losing: bool,
    pub rng: Rng,
    pub time: u64,
    pub trace: Trace,
    pub next_tid: u32,
}

/// An operation: what, and three numbers that say where.
#[derive(Clone, Copy)]
pub struct Op(pub u8, pub u8, pub u8, pub u8);

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Op({}, {}, {}, {})", self.0, self.1, self.2, self.3) // on one line, in any list
    }
}

impl World {
    pub fn new(setup: Setup, seed: u64) -> World {
        let base = Session { buffer_size: 0x2000, processors: 3, ..Session::windows10() };
        let base = if setup.p == Ptr::P4 { base.bits32() } else { base };
        let session = if setup.compression == Compression::None { base } else { base.compressed(setup.compression) };
        let time = session.t0 + 10;
        World {
            setup,
            things: Vec::new(),
            lives: Vec::new(),
            views: BTreeMap::new(),
            names: BTreeMap::new(),
            files: vec![None; 6],
            images: vec![None; 3],
            sessions: vec![None; 2],
            pool: vec![None; 3],
            tracing: false,
            losing: false,
            rng: Rng::new(seed),
            time,
            trace: Trace::new(session),
            next_tid: 100,
        }
    }

    pub fn address(&self, page: usize) -> u64 {
        self.setup.p.pick(0x1_2340_0000, 0x0040_0000) + page as u64 * PAGE
    }

    pub fn file_key(&self, slot: usize) -> u64 {
        self.setup.p.pick(0xffff_c001_2000_0010, 0x9000_0010) + slot as u64 * 0x80
    }

    pub fn image_base(&self, slot: usize) -> u64 {
        self.setup.p.pick(0xffff_f801_2000_0000, 0x8200_0000) + slot as u64 * 2 * SLOT_PAGES * PAGE
    }

    pub fn session_base(&self, slot: usize) -> u64 {
        self.setup.p.pick(0xffff_f900_c000_0000, 0xbc00_0000) + slot as u64 * 2 * SLOT_PAGES * PAGE
    }

    pub fn pool_base(&self, slot: usize) -> u64 {
        self.setup.p.pick(0xffff_a18f_0000_0000, 0xb000_0000) + slot as u64 * 2 * SLOT_PAGES * PAGE
    }

    pub fn database(&self) -> u64 {
        self.setup.p.pick(0xffff_fa80_0000_0000, 0xa000_0000)
    }

    pub fn process_key(&self, life: &Life) -> u64 {
        self.setup.p.pick(0xffff_9c08_0000_0080, 0x8500_0020) + life.number * 0x400
    }

    pub fn directory(life: &Life) -> u64 {
        (0x7000 + life.number) * PAGE
    }

    /// The key that the page records of a life carry.
    pub fn owner_key(&self, life: &Life) -> u64 {
        match self.setup.keys {
            Keys::Pid => u64::from(life.pid),
            Keys::Address => self.process_key(life) & 0xffff_ffff_ffff,
            Keys::Directory => Self::directory(life) / PAGE,
        }
    }

    pub fn name(life: &Life) -> String {
        format!("p{}.exe", life.number)
    }

    /// A thing that begins now.
    pub fn thing(&mut self) -> usize {
        let made = self.tracing;
        self.things.push(Thing { made, ..Thing::default() });
        self.things.len() - 1
    }

    pub fn end(&mut self, thing: usize) {
        self.things[thing].ended |= self.tracing;
    }

    /// Logs a record on any processor, unless nothing is recorded or it is lost.
    pub fn log(&mut self, rec: Rec) {
        if self.tracing && !self.losing {
            self.time += self.rng.between(1, 3);
            let processor = self.rng.below(3) as u16;
            self.trace.add(&rec.at(self.time).on(processor));
        }
    }

    /// As [`World::log`], with any header that the event could come with.
    pub fn log_any_header(&mut self, rec: Rec) {
        let p = self.setup.p;
        let kind = if self.setup.headers { self.rng.below(5) } else { 9 };
        let rec = match kind {
            0 => rec.with_header(HeaderKind::System(p)),
            1 => rec.with_header(HeaderKind::Compact(p)),
            2 => rec.with_header(HeaderKind::PerfInfo(p)),
            3 => {
                let class = match rec.hook {
                    0x030a | 0x1400.. => "2cb15d1d-5fc1-11d2-abe1-00a0c911f518",
                    0x0200..0x0300 => "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c",
                    0x0300..0x0400 => "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
                    0x0e00..0x0f00 => "0268a8b6-74fd-4302-9dd0-6e8f1795c0cf",
                    0x0400..0x0500 => "90cbdc39-4a3e-11d1-84f4-0000f80464e3",
                    _ => "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",
                };
                rec.into_class(guid(class))
            }
            _ => rec,
        };
        self.log(rec);
    }

    /// Logs a page record of the sequence: one thread, which moves from processor to processor.
    pub fn log_page(&mut self, rec: Rec, processor: &mut u16) {
        if self.rng.percent(3) {
            *processor = self.rng.below(3) as u16;
        }
        self.trace.add(&rec.at(self.time).on(*processor));
        self.time += self.rng.below(3);
    }

    pub fn log_heap(&mut self, rec: Rec) {
        self.log(if self.setup.provider { rec.into_class(memory::win32_heap_ranges()) } else { rec });
    }
}
