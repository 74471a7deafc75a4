//! What the working sets of the simulated machine hold: processes, their regions and views of 64 pages, frames.
//!
//! A private page has a frame of its own while it is held; a file page has its frame for good, so that several
//! processes can hold the same one. Views of one process never show the same file: (owner, frame) is unique.

use super::super::bytes::Ptr;
use super::super::machine::addresses::{self, PAGE};
use super::super::payloads::file::{View, ViewKind};
use super::super::payloads::pages::Identity;
use super::super::payloads::process::Process;
use super::super::rng::Rng;
use super::RefsetSpec;

/// Pages of each region, view and file.
pub const PAGES: u64 = 64;
/// Pages of one large-page range.
pub const LARGE: u64 = 512;
/// Large-page ranges of the machine.
pub const LARGES: u64 = 32;
/// First frame of the kernel's own pages.
pub const KERNEL_FRAMES: u64 = 0x100;

/// A VirtualAlloc region or a mapped view.
#[derive(Clone, Debug)]
pub struct Region {
    /// First address.
    pub base: u64,
    /// File shown, for views.
    pub file: Option<u32>,
    /// Pages held, one bit each.
    pub held: u64,
    /// Pages of a view that were copied on write: private ever after.
    pub copied: u64,
    /// Frames of held private pages.
    pub frames: [u32; PAGES as usize],
}

impl Region {
    fn new(base: u64, file: Option<u32>) -> Region {
        Region { base, file, held: 0, copied: 0, frames: [0; PAGES as usize] }
    }

    /// Address of page `bit`.
    pub fn address(&self, bit: u32) -> u64 {
        self.base + u64::from(bit) * PAGE
    }

    /// Size, bytes.
    pub fn size(&self) -> u64 {
        PAGES * PAGE
    }

    /// Whether page `bit` is private.
    pub fn is_private(&self, bit: u32) -> bool {
        self.file.is_none() || self.copied >> bit & 1 != 0
    }

    /// A random set bit of `mask`.
    pub fn pick(mask: u64, rng: &mut Rng) -> Option<u32> {
        if mask == 0 {
            return None;
        }
        let turn = rng.below(64) as u32;
        Some((mask.rotate_right(turn).trailing_zeros() + turn) % 64)
    }
}

/// One process; its slot gets another when it ends.
#[derive(Clone, Debug)]
pub struct Proc {
    /// Process id.
    pub pid: u32,
    /// Its one logging thread.
    pub tid: u32,
    /// Unique process key.
    pub key: u64,
    /// Regions first, then views.
    pub regions: Vec<Region>,
    /// Page-table frames, held since the start.
    pub tables: Vec<u32>,
    /// Large-page ranges held, by their number on the machine.
    pub large: Vec<u32>,
}

impl Proc {
    /// Ids of the thread and the process.
    pub fn ids(&self) -> (u32, u32) {
        (self.tid, self.pid)
    }
}

/// The whole machine.
pub struct State {
    /// What was asked for.
    pub spec: RefsetSpec,
    /// Processes.
    pub procs: Vec<Proc>,
    /// System working set: cache views.
    pub cache: Vec<Region>,
    /// Pool allocations held: address, pages.
    pub pool: Vec<(u64, u64)>,
    /// Free private frames.
    pub free: Vec<u32>,
    /// Free large-page ranges.
    pub free_large: Vec<u32>,
    /// Pages held by all owners together.
    pub held: u64,
    /// Processes ever made: gives ids and keys.
    pub made: u64,
    pool_made: u64,
}

impl State {
    /// All processes there, nothing held.
    pub fn new(spec: &RefsetSpec, rng: &mut Rng) -> State {
        assert!(spec.files >= spec.views && spec.processes >= 2 && spec.held_limit >= 4096, "too small a scenario");
        let mut state = State {
            spec: spec.clone(),
            procs: Vec::new(),
            cache: Vec::new(),
            pool: Vec::new(),
            free: Vec::new(),
            free_large: (0..LARGES as u32).collect(),
            held: 0,
            made: 0,
            pool_made: 0,
        };
        let first = state.private_frames();
        state.free = (first..first + spec.held_limit).map(|frame| frame as u32).rev().collect();
        for _ in 0..spec.processes {
            let pid = state.new_pid();
            let proc = state.new_proc(pid, rng);
            state.procs.push(proc);
        }
        for slot in 0..spec.views {
            let file = state.pick_file(slot, rng);
            state.cache.push(Region::new(addresses::CACHE_VIEWS.of(Ptr::P8) + slot * 0x10_0000, Some(file)));
        }
        state
    }

    /// A process id never used before.
    pub fn new_pid(&self) -> u32 {
        0x400 + self.made as u32 * 4
    }

    /// A fresh process with this id.
    pub fn new_proc(&mut self, pid: u32, rng: &mut Rng) -> Proc {
        let number = self.made;
        self.made += 1;
        let mut regions = Vec::new();
        for slot in 0..self.spec.regions {
            regions.push(Region::new(0x0200_0000_0000 + slot * 0x10_0000, None));
        }
        for slot in 0..self.spec.views {
            let file = self.pick_file(slot, rng);
            regions.push(Region::new(0x7ff0_0000_0000 + slot * 0x10_0000, Some(file)));
        }
        let key = addresses::process_key(Ptr::P8, number);
        Proc { pid, tid: 0x4000_0000 + number as u32 * 4, key, regions, tables: Vec::new(), large: Vec::new() }
    }

    /// A file for view slot `slot`: files of different slots differ.
    pub fn pick_file(&self, slot: u64, rng: &mut Rng) -> u32 {
        (slot + self.spec.views * rng.below(self.spec.files / self.spec.views)) as u32
    }

    /// First frame of the files' pages.
    pub fn file_frames(&self) -> u64 {
        KERNEL_FRAMES + self.spec.kernel_pages
    }

    /// First frame of the large pages.
    pub fn large_frames(&self) -> u64 {
        (self.file_frames() + self.spec.files * PAGES).next_multiple_of(LARGE)
    }

    /// First of the private frames.
    pub fn private_frames(&self) -> u64 {
        self.large_frames() + LARGES * LARGE
    }

    /// Owner key of a process, by the event version.
    pub fn owner_key(&self, proc: &Proc) -> u64 {
        if self.spec.event_version >= 4 { u64::from(proc.pid) } else { proc.key & 0xffff_ffff_ffff }
    }

    /// File key of file `f`.
    pub fn file_key(&self, f: u32) -> u64 {
        addresses::file_key(Ptr::P8, u64::from(f))
    }

    /// Identity of page `bit` of file `f`; even files are images.
    pub fn file_page(&self, f: u32, bit: u32) -> Identity {
        let frame = self.file_frames() + u64::from(f) * PAGES + u64::from(bit);
        Identity::file(frame, self.file_key(f), u64::from(bit) * PAGE, f.is_multiple_of(2))
    }

    /// Identity of the `n`-th page of the kernel: non-paged pool, system PTEs, kernel stacks.
    pub fn kernel_page(&self, n: u64) -> Identity {
        let page_use = [5, 6, 11][(n % 3) as usize];
        Identity::new(page_use, KERNEL_FRAMES + n, 0, 0xffff_e000_0000_0000 + n * PAGE)
    }

    /// Address of a large-page range.
    pub fn large_address(&self, number: u32) -> u64 {
        0x5000_0000_0000 + u64::from(number) * LARGE * PAGE
    }

    /// Address of a new pool allocation of `pages` pages; addresses do not come back.
    pub fn pool_address(&mut self, pages: u64) -> u64 {
        let at = addresses::KERNEL_PAGES.of(Ptr::P8) + self.pool_made * PAGE;
        self.pool_made += pages;
        at
    }

    /// The process record's content.
    pub fn process(&self, proc: &Proc) -> Process {
        Process { key: proc.key, ..Process::new(proc.pid, &format!("worker{:03}.exe", proc.pid % 97)) }
    }

    /// The view record's content of a view of `pid`.
    pub fn view(&self, pid: u32, region: &Region) -> Option<View> {
        let file = region.file?;
        let kind = if file.is_multiple_of(2) { ViewKind::Image } else { ViewKind::Data };
        Some(View::new(pid, region.base, region.size(), self.file_key(file), kind))
    }

    /// Gives back the frames of the pages `mask` of a region; returns how many pages were held.
    pub fn drop_pages(free: &mut Vec<u32>, region: &mut Region, mask: u64) -> u64 {
        let gone = region.held & mask;
        let mut private = if region.file.is_none() { gone } else { gone & region.copied };
        while private != 0 {
            free.push(region.frames[private.trailing_zeros() as usize]);
            private &= private - 1;
        }
        region.held &= !mask;
        u64::from(gone.count_ones())
    }

    /// Pages that process `proc` holds.
    pub fn held_by(proc: &Proc) -> u64 {
        let small: u64 = proc.regions.iter().map(|region| u64::from(region.held.count_ones())).sum();
        small + proc.tables.len() as u64 + proc.large.len() as u64 * LARGE
    }

    /// Pages that the system working set holds: kernel pages, cache, pool.
    pub fn held_by_system(&self) -> u64 {
        let cache: u64 = self.cache.iter().map(|region| u64::from(region.held.count_ones())).sum();
        self.spec.kernel_pages + cache + self.pool.iter().map(|part| part.1).sum::<u64>()
    }
}
