//! The content of events as small owned values. `history_visitor` collects them, `model` interprets them.

use crate::event::Phase;
use crate::event::file_name_and_view::{FileNameKind, ViewKind};
use crate::event::memory_counters::MemInfoCommit;
use crate::event::pool::PoolTag;
use crate::event::process::ProcessPhase;
use crate::units::{MOST_PAGES, PAGE_BYTES};

/// A process event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEvent {
    /// Kind.
    pub phase: ProcessPhase,
    /// UniqueProcessKey, a kernel address.
    pub key: u64,
    /// Process id.
    pub process_id: u32,
    /// Session; `None` for processes of no session.
    pub session_id: Option<u32>,
    /// Physical address of the page directory.
    pub directory_table_base: Option<u64>,
    /// File name of the image as logged: 8-bit text, perhaps cut.
    pub image_name: Box<[u8]>,
    /// Id of the process that created it, or its parent by attribute.
    pub parent_id: u32,
    /// Command line; empty in rundowns of Idle, System and ended processes.
    pub command_line: Box<str>,
    /// Exit status; 0x103 while it runs.
    pub exit_status: i32,
    /// Thread that logged the event (the creator's, for a start).
    pub thread_id: Option<u32>,
}

/// An event that changes or describes a process's address space. Addresses, and sizes in bytes.
#[allow(missing_docs)] // fields are named as in `event`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceEvent {
    /// VirtualAlloc (Start), VirtualFree (End), rundown.
    Region { phase: Phase, base: u64, size: u64, flags: u32 },
    /// MapFile, UnmapFile, rundown.
    View { phase: Phase, base: u64, size: u64, file_key: u64, kind: ViewKind },
    /// A heap was created: `[heap, heap + size)` unless a reserve says otherwise.
    HeapCreate { heap: u64, size: u64 },
    /// A heap reserved a range.
    HeapReserve { heap: u64, base: u64, size: u64 },
    /// A heap released a range.
    HeapRelease { heap: u64, base: u64, size: u64 },
    /// A heap was destroyed, with all its ranges.
    HeapDestroy { heap: u64 },
    /// A rundown lists a range of a heap.
    HeapRundown { heap: u64, base: u64, size: u64 },
    /// A thread with a user stack, `[limit, base)` committed at first.
    Thread { phase: Phase, thread_id: u32, stack_base: u64, stack_limit: u64 },
}

/// A thread event: who a thread is, and when it lived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadEvent {
    /// Kind.
    pub phase: Phase,
    /// Process.
    pub process_id: u32,
    /// Thread.
    pub thread_id: u32,
    /// Processor on which it was logged.
    pub processor: u16,
}

/// An image at a kernel address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageEvent {
    /// Kind.
    pub phase: Phase,
    /// First address.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// Path as logged.
    pub file_name: Box<str>,
}

/// An executable in a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessImage {
    /// Process.
    pub process_id: u32,
    /// Path as logged.
    pub file_name: Box<str>,
}

/// A file name event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEvent {
    /// Kind.
    pub kind: FileNameKind,
    /// File key.
    pub key: u64,
    /// Path as logged.
    pub name: Box<str>,
}

/// A view at a kernel address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelView {
    /// Process that the record names; session images are listed by a process of their session.
    pub process_id: u32,
    /// Kind of event.
    pub phase: Phase,
    /// First address.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// File key.
    pub file_key: u64,
    /// What is mapped.
    pub kind: ViewKind,
}

impl KernelView {
    /// The same view as an event of an address space.
    pub const fn as_view(&self) -> SpaceEvent {
        let KernelView { phase, base, size, file_key, kind, .. } = *self;
        SpaceEvent::View { phase, base, size, file_key, kind }
    }
}

/// A session begins, ends, or is listed by a rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionEvent {
    /// Kind.
    pub phase: Phase,
    /// Unique key, a kernel address.
    pub key: u64,
    /// Session id.
    pub session_id: u32,
}

/// A big pool allocation: allocated, freed, or listed by a rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolEvent {
    /// Kind.
    pub phase: Phase,
    /// First address, page-aligned.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// Tag.
    pub tag: PoolTag,
}

/// A service that was running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningService {
    /// The process that it runs in.
    pub process_id: u32,
    /// Name, as in the registry.
    pub name: Box<str>,
}

/// A registry hive's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiveFile {
    /// True if a rundown lists it; rundowns list all hives.
    pub listed: bool,
    /// Path as logged.
    pub file_name: Box<str>,
}

/// Memory counters as the kernel logged them, pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounters {
    /// Zero list.
    pub zero: u64,
    /// Free list.
    pub free: u64,
    /// Modified list.
    pub modified: u64,
    /// Modified-no-write list.
    pub modified_no_write: u64,
    /// Bad list, without pages that the memory manager only holds aside.
    pub bad: u64,
    /// Standby list by priority.
    pub standby: [u64; 8],
    /// Pages taken from standby for another use since boot, by priority.
    pub repurposed: [u64; 8],
    /// Modified pages that go to the pagefile.
    pub modified_pagefile: u64,
    /// What the longer form of the record adds.
    pub commit: Option<MemInfoCommit>,
}

/// Counters are read one after the other: a list can have lost so many pages meanwhile, 16 MiB.
const BETWEEN_READINGS: u64 = 4096;

impl MemoryCounters {
    /// Pages on the lists together: what RAM has beside active pages.
    pub(crate) fn listed(&self) -> u64 {
        let lists = [self.zero, self.free, self.modified, self.modified_no_write, self.bad];
        lists.into_iter().chain(self.standby).fold(0, u64::saturating_add)
    }

    /// False for numbers that no machine has, and for a part of the modified list that is more than all of it.
    pub(crate) fn is_possible(&self) -> bool {
        let lists = [self.zero, self.free, self.modified, self.modified_no_write, self.bad, self.modified_pagefile];
        let commit = self.commit.map(|commit| {
            [commit.paged_pool_pages, commit.non_paged_pool_pages, commit.mdl_pages, commit.commit_pages]
        });
        let all = lists.into_iter().chain(self.standby).chain(self.repurposed).chain(commit.into_iter().flatten());
        let is_part = self.modified_pagefile <= self.modified.saturating_add(BETWEEN_READINGS);
        is_part && all.max().is_none_or(|most| most <= MOST_PAGES)
    }
}

/// A block of kernel memory with a known use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelBlock {
    /// Usage type; 0 = PFN metadata.
    pub usage_type: u8,
    /// First address.
    pub address: u64,
    /// Pages.
    pub pages: u64,
}

impl KernelBlock {
    /// First address, and the first one after the block.
    pub fn range(&self) -> (u64, u64) {
        (self.address, self.address.saturating_add(self.pages.saturating_mul(PAGE_BYTES)))
    }
}
