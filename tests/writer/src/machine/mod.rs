//! One simulated machine, the small one: it lives action by action, knows what is true in plain arrays, and logs what
//! Windows would log.
//!
//! State: lives of process ids with an address space of [`PAGES`] pages each, threads, processors, files, kernel and
//! session images, pool, the cache, page frames that are used again. Actions change the state and log [`Event`]s; an
//! action that cannot be done now does nothing. Nothing is derived by the rules that a reader of the trace follows: an
//! oracle reads the state, or follows the events.
//!
//! * [`lives`]: processes and threads; [`spaces`]: regions, views, heaps, stacks; [`system`]: what the kernel has.
//! * [`working_sets`]: pages that are accessed, copied, trimmed, combined; the cache, sessions, the kernel's pages.
//! * [`scheduling`]: processors, and what each thread does in each moment.
//! * [`recording`]: group masks, rundowns, marks, the page sequence; [`event`]: what is logged, and its record.
//! * [`addresses`]: where things are; the generators of big traces (`resident`, `refset`) have them there, too.

pub mod addresses;
pub mod event;
pub mod lives;
pub mod recording;
pub mod scheduling;
pub mod spaces;
pub mod system;
pub mod working_sets;

use std::collections::BTreeMap;

use crate::bytes::Ptr;
use crate::payloads::file::ViewKind;
use crate::payloads::pages::{self, Identity};
use crate::rng::Rng;
use crate::session::{Compression, Session};
pub use addresses::PAGE;
pub use event::{Event, What};
pub use lives::{Life, State, Thread};
use scheduling::Schedule;
use spaces::View;

/// Pages of every address space.
pub const PAGES: usize = 54;
/// Pages of a file, of a cache view, of a session.
pub const FILE_PAGES: usize = 8;
/// Pages of a kernel image, of a session image: in slots of twice as many.
pub const IMAGE_PAGES: u64 = 4;
/// Pages of the PFN database.
pub const DATABASE_PAGES: u64 = 3;
/// Page frames that come and go.
pub const FRAMES: u64 = 160;
/// Pages of a large-page range.
pub const LARGE: u64 = 512;
/// Thread and process that do the kernel's own work.
pub const SYSTEM: (u32, u32) = (8, 4);

/// What owner keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Process ids.
    Pid,
    /// Unique process keys, 48 bits of them.
    Address,
    /// Page numbers of directory tables.
    Directory,
}

/// How the trace is recorded and written.
#[derive(Clone, Debug)]
pub struct Setup {
    pub p: Ptr,
    pub processors: u16,
    pub keys: Keys,
    /// Sessions that processes are in by turns; their working sets are told apart by the process that logs.
    pub sessions: u64,
    pub hook: u16,
    /// Start rundown of everything but heaps.
    pub start: bool,
    /// Start rundown of heaps.
    pub heap_start: bool,
    /// End rundown.
    pub end: bool,
    /// Events between the rundowns may be lost.
    pub lossy: bool,
    /// RemoveFromWS events are recorded.
    pub removals: bool,
    /// Header kinds differ from record to record.
    pub headers: bool,
    /// Heap ranges as records of their provider.
    pub provider: bool,
    pub compression: Compression,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            p: Ptr::P8,
            processors: 3,
            keys: Keys::Pid,
            sessions: 1,
            hook: pages::IN_MEMORY,
            start: true,
            heap_start: true,
            end: true,
            lossy: false,
            removals: true,
            headers: false,
            provider: false,
            compression: Compression::None,
        }
    }
}

impl Setup {
    /// Version of page events.
    pub fn version(&self) -> u16 {
        if self.keys == Keys::Pid { 4 } else { 2 }
    }

    /// The session: small buffers, so that a trace has many.
    pub fn session(&self) -> Session {
        let base = Session { buffer_size: 0x2000, processors: self.processors.into(), ..Session::windows10() };
        let base = if self.p == Ptr::P4 { base.bits32() } else { base };
        base.compressed(self.compression)
    }
}

/// Something that exists for a while, and how a reader could know of it.
#[derive(Clone, Debug, Default)]
pub struct Thing {
    pub listed_start: bool,
    /// Its beginning was logged.
    pub made: bool,
    /// Its end was logged, with all that describes it.
    pub ended: bool,
    pub listed_end: bool,
}

impl Thing {
    /// Whether anything in the trace tells of it.
    pub fn known(&self) -> bool {
        self.listed_start || self.made || self.ended || self.listed_end
    }
}

/// What a file's key stands for; also a pagefile-backed section.
#[derive(Clone, Debug)]
pub struct File {
    /// The file that has the key now.
    pub thing: Option<usize>,
    /// What views of its pages are, where the view does not say it.
    pub kind: ViewKind,
    /// Sections that had its prototype PTEs before.
    pub generation: u32,
    /// Frames of the pages that are in memory.
    pub frames: [Option<u64>; FILE_PAGES],
}

/// A view of the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheView {
    /// File and its generation.
    pub file: Option<(usize, u32)>,
    /// Pages that the system working set holds.
    pub held: [Option<Identity>; FILE_PAGES],
}

/// The machine.
#[derive(Clone, Default)]
pub struct Machine {
    pub setup: Setup,
    /// All that ever was; everything else has numbers of things.
    pub things: Vec<Thing>,
    pub lives: Vec<Life>,
    /// All threads that ever were.
    pub threads: Vec<Thread>,
    /// Views by their thing.
    pub views: BTreeMap<usize, View>,
    /// Names of files and images, tags of pool, by their thing.
    pub names: BTreeMap<usize, String>,
    /// Files by the number of their key.
    pub files: Vec<File>,
    /// Kernel images, by slot.
    pub images: Vec<Option<usize>>,
    /// Views of sessions, by slot.
    pub sessions: Vec<Option<usize>>,
    /// Big pool allocations, by slot: thing, bytes.
    pub pool: Vec<Option<(usize, u64)>>,
    pub cache: [CacheView; 3],
    /// Pages of the sessions' working sets: those of each session after those of the one before.
    pub session_pages: Vec<Option<Identity>>,
    /// Pages of the kernel and of its tables: use, slot, number of the life that they belong to plus one.
    pub kernel: BTreeMap<(u8, u8, usize), Identity>,
    /// Pages that are active for good from the start mark on.
    pub locked: Vec<Identity>,
    /// Owners of the large-page ranges.
    pub large: [Option<usize>; 3],
    /// Frames that nothing is in.
    pub free_frames: Vec<u64>,
    /// Pages that were ever combined.
    pub combined: u64,
    pub schedule: Schedule,
    /// What was logged.
    pub events: Vec<Event>,
    /// Records are written.
    pub tracing: bool,
    /// The next events are lost.
    pub losing: bool,
    pub rng: Rng,
    /// Stamp of the latest event.
    pub time: u64,
    processor: u16,
    next_tid: u32,
}

impl Machine {
    /// A machine without processes, of which nothing is recorded yet.
    pub fn new(setup: Setup, seed: u64) -> Machine {
        let kinds = [ViewKind::Data, ViewKind::Image, ViewKind::PageFile, ViewKind::ImageOther];
        let file = |n: usize| File { thing: None, kind: kinds[n % 4], generation: 0, frames: [None; FILE_PAGES] };
        let time = setup.session().t0 + 10;
        Machine {
            session_pages: vec![None; FILE_PAGES * setup.sessions as usize],
            setup,
            files: (0..8).map(file).collect(),
            images: vec![None; 3],
            sessions: vec![None; 2],
            pool: vec![None; 4],
            free_frames: (16..16 + FRAMES).collect(),
            rng: Rng::new(seed),
            time,
            next_tid: 1000,
            ..Machine::default()
        }
    }

    /// A thing that begins now.
    pub fn thing(&mut self) -> usize {
        self.things.push(Thing { made: self.tracing, ..Thing::default() });
        self.things.len() - 1
    }

    /// A thing ends, and what is logged of that tells all of it.
    pub fn end_thing(&mut self, thing: usize) {
        self.things[thing].ended |= self.tracing;
    }

    /// Takes a free frame.
    pub fn frame(&mut self) -> Option<u64> {
        let count = self.free_frames.len() as u64;
        (count > 0).then(|| self.free_frames.swap_remove(self.rng.below(count) as usize))
    }
}
