//! Fields of kernel events about memory: pages, faults, address ranges, heaps, pools, counters.
//!
//! Sources: `docs/events.md` ("Kernel events").

use super::builder::Builder;
use super::value::FieldValue;
use crate::event::Event;
use crate::event::heap::HeapRecord;
use crate::event::heap_range::HeapRange;
use crate::event::memory_counters::MmStats;
use crate::event::page_identity::PageIdentity;
use crate::event::pool::PoolPiece;
use crate::event::virtual_memory::VirtualRange;

impl Builder<'static> {
    /// Adds the fields of an event about memory; `None` for other events.
    pub fn memory_event(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::Page { page, .. } => self.page(page),
            Event::PageAccessEx(found) => {
                self.page(&found.page);
                self.hex("ExtraInfo", found.extra.raw);
            }
            Event::RemoveFromWorkingSet(found) => _ = self.hex("ExtraInfo", found.raw),
            Event::PageRangeAccess(found) | Event::PageRangeRelease(found) => {
                self.hex("Flags", found.flags).hex("StartVa", found.start).number("PageCount", found.pages);
            }
            Event::PageCombine(found) => {
                self.page(&found.page);
                self.hex("ProtoPte", found.prototype_pte_raw);
            }
            Event::PageFault { fault, .. } => {
                self.hex("VirtualAddress", fault.virtual_address).hex("ProgramCounter", fault.instruction);
            }
            Event::HardFault(fault) => {
                self.signed("InitialTime", fault.initial_time.0).number("ReadOffset", fault.read_offset);
                self.hex("VirtualAddress", fault.virtual_address).hex("FileObject", fault.file_key);
                self.number("TThreadId", fault.thread_id).number("ByteCount", fault.byte_count);
            }
            Event::VirtualRange { range, .. } => self.range(range),
            Event::VirtualRotate(found) => {
                self.hex("BaseAddress", found.base).number("RegionSize", found.size_bytes);
                found.flags.into_iter().for_each(|flags| _ = self.hex("Flags", flags));
            }
            Event::MemReset(found) => {
                self.hex("BaseAddress", found.base).number("RegionSize", found.size_bytes).hex("Flags", found.flags);
            }
            Event::ContiguousMemory(found) => {
                self.number("ThreadId", found.thread_id).number("NumberOfBytes", found.size_bytes);
            }
            Event::Heap(found) => self.heap_range(found),
            Event::HeapBlock(found) => self.heap_block(found),
            Event::PagefileSection { section, .. } => {
                self.hex("StartVa", section.start).hex("EndVa", section.end).number("ProcessId", section.process_id);
            }
            Event::SectionObjectCreate(found) | Event::SectionObjectDelete(found) => {
                self.hex("SectionObject", found.object).hex("StartVa", found.start);
            }
            Event::Session { session, .. } => {
                self.hex("UniqueSessionKey", session.key).number("SessionId", session.session_id);
            }
            Event::ImageLoadBacked(found) => {
                self.hex("FileObject", found.file_key).hex("DeviceChar", found.device_characteristics);
                self.hex("FileChar", found.file_characteristics).hex("LoadFlags", found.load_flags);
            }
            Event::KernelMemUsage(found) => {
                self.hex("Flags", found.flags)
                    .hex("VirtualAddress", found.virtual_address)
                    .number("PageCount", found.pages);
            }
            Event::MemInfo(found) => {
                let counts = found.counts();
                let list = |pages: [u64; 8]| FieldValue::List(pages.map(FieldValue::Unsigned).to_vec());
                self.number("ZeroPageCount", counts.zero_pages).number("FreePageCount", counts.free_pages);
                self.number("ModifiedPageCount", counts.modified_pages);
                self.number("ModifiedNoWritePageCount", counts.modified_no_write_pages);
                self.number("BadPageCount", counts.bad_pages).add("StandbyPageCounts", list(counts.standby_pages));
                self.add("RepurposedPageCounts", list(counts.repurposed_pages));
                self.number("ModifiedPageCountPageFile", counts.modified_pagefile_pages);
                if let Some(commit) = found.commit() {
                    self.number("PagedPoolPageCount", commit.paged_pool_pages);
                    self.number("NonPagedPoolPageCount", commit.non_paged_pool_pages);
                    self.number("MdlPageCount", commit.mdl_pages).number("CommitPageCount", commit.commit_pages);
                }
            }
            Event::MmStats(found) => self.combining(found),
            Event::ProcessWorkingSets(found) | Event::SessionWorkingSets(found) => {
                let list = found.iter().map(|sizes| {
                    let mut one = Builder::new(self.code_page);
                    one.number("Id", sizes.id).number("WorkingSetPageCount", sizes.working_set_pages);
                    one.number("CommitPageCount", sizes.commit_pages);
                    one.number("VirtualSizeInPages", sizes.virtual_or_paged_pool_pages);
                    one.number("PrivateWorkingSetPageCount", sizes.private_working_set_pages);
                    if let Some(store) = sizes.store {
                        one.number("StoreSizePageCount", store.store_size_pages)
                            .number("StoredPageCount", store.stored_pages);
                        one.number("CommitDebtInPages", store.commit_debt_pages);
                        one.number("SharedCommitInPages", store.shared_commit_pages);
                    }
                    FieldValue::Object(one.list)
                });
                let list = FieldValue::List(list.collect());
                self.add("WsInfo", list);
            }
            Event::Pool { piece, .. } => self.pool(piece),
            _ => return None,
        }
        Some(())
    }

    fn page(&mut self, page: &PageIdentity) {
        self.hex("Flags", page.flags).number("PageFrameIndex", page.pfn).hex("u2", page.u2);
    }

    fn range(&mut self, range: &VirtualRange) {
        self.hex("BaseAddress", range.base).number("RegionSize", range.size_bytes);
        self.number("ProcessId", range.process_id).hex("Flags", range.flags);
        range.commit_bytes.into_iter().for_each(|bytes| _ = self.number("CommitSizeInBytes", bytes));
    }

    fn pool(&mut self, piece: &PoolPiece) {
        let tag = piece.tag.characters().map(char::from).iter().collect::<String>();
        self.hex("PoolType", piece.pool_type).text("Tag", tag).number("NumberOfBytes", piece.size_bytes);
        self.hex("Entry", piece.address);
        piece.session_id.into_iter().for_each(|id| _ = self.number("SessionId", id));
    }

    fn heap_range(&mut self, found: &HeapRange<'_>) {
        match found {
            HeapRange::Rundown(rundown) => {
                let range = |(base, size): (u64, u64)| {
                    let both = [("Address", FieldValue::Hex(base)), ("Size", FieldValue::Unsigned(size))];
                    FieldValue::Object(both.to_vec())
                };
                self.hex("HeapHandle", rundown.heap).hex("HRFlags", rundown.flags);
                self.number("HRPid", rundown.process_id).number("HRRangeCount", rundown.len() as u64);
                self.add("Ranges", FieldValue::List(rundown.ranges().map(range).collect()));
            }
            HeapRange::Create { heap, first_range_bytes, .. } => {
                self.hex("HeapHandle", *heap).number("FirstRangeSize", *first_range_bytes);
            }
            HeapRange::Reserve(space) | HeapRange::Release(space) => {
                self.hex("HeapHandle", space.heap).hex("HRAddress", space.address).number("HRSize", space.size_bytes);
            }
            HeapRange::Destroy { heap } => _ = self.hex("HeapHandle", *heap),
        }
    }

    fn heap_block(&mut self, found: &HeapRecord) {
        match found {
            HeapRecord::Create(create) => {
                self.hex("HeapHandle", create.heap).hex("HeapFlags", create.flags);
                create.reserved_bytes.into_iter().for_each(|bytes| _ = self.number("ReservedSpace", bytes));
                create.committed_bytes.into_iter().for_each(|bytes| _ = self.number("CommittedSpace", bytes));
            }
            HeapRecord::Alloc(alloc) => {
                self.hex("HeapHandle", alloc.heap).number("AllocSize", alloc.size_bytes);
                self.hex("AllocAddress", alloc.address).number("SourceId", alloc.source);
            }
            HeapRecord::Realloc(found) => {
                self.hex("HeapHandle", found.heap).hex("NewAllocAddress", found.address);
                self.hex("OldAllocAddress", found.old_address).number("NewAllocSize", found.size_bytes);
                self.number("OldAllocSize", found.old_size_bytes).number("SourceId", found.source);
            }
            HeapRecord::Free(free) => {
                self.hex("HeapHandle", free.heap).hex("FreeAddress", free.address).number("SourceId", free.source);
            }
            HeapRecord::Destroy { heap } => _ = self.hex("HeapHandle", *heap),
            HeapRecord::Expand(resize) | HeapRecord::Contract(resize) => {
                self.hex("HeapHandle", resize.heap).number("CommittedSize", resize.size_bytes);
                self.hex("CommitAddress", resize.address).number("CommittedSpace", resize.committed_bytes);
                self.number("ReservedSpace", resize.reserved_bytes);
            }
            HeapRecord::Snapshot(found) => {
                self.hex("HeapHandle", found.heap).number("FreeSpace", found.free_bytes);
                self.number("CommittedSpace", found.committed_bytes).number("ReservedSpace", found.reserved_bytes);
                self.hex("HeapFlags", found.flags);
            }
        }
    }

    fn combining(&mut self, found: &MmStats) {
        match *found {
            MmStats::Aggregate { scans, pages_scanned, pages_combined, blocks_in_use, block_references } => {
                self.number("Scans", scans).number("PagesScanned", pages_scanned);
                self.number("PagesCombined", pages_combined).signed("CombinedBlocksInUse", blocks_in_use);
                self.signed("SumCombinedBlocksReferenceCount", block_references);
            }
            MmStats::Iteration { pages_scanned, pages_combined } => {
                self.number("PagesScanned", pages_scanned).number("PagesCombined", pages_combined);
            }
            MmStats::Unknown { kind } => _ = self.number("Type", kind),
        }
    }
}
