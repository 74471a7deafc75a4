//! Counters of the memory manager: page lists, working sets, memory combining, kernel memory.
//!
//! Sources: `docs/formats.md` ("Memory"), after the Windows MOF and public headers. Not checked on a recorded trace, so
//! layouts are derived from the record's length where there are several.

use crate::byte_reader::{exactly, first, layout, size};
use crate::event::outcome::{Fault, Oddity, Parsed, Read};
use crate::event::payload::{MEMORY, Payload};
use crate::units::{MOST_PAGES, PointerSize, fits_in_ram};
use zerocopy::little_endian::{I32, U32, U64};

crate::event::hooks_macro::hooks! {
    MEM_INFO = 0x0270, "Memory: MemInfo";
    KERNEL_MEM_USAGE = 0x027b, "Memory: KernelMemUsage";
    MM_STATS = 0x027c, "Memory: MMStats";
    MEM_INFO_WS = 0x027d, "Memory: MemInfoWS";
    MEM_INFO_SESSION_WS = 0x027e, "Memory: MemInfoSessionWS";
}

/// `0x027b` KernelMemUsage, 24/12 bytes. Several records are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelMemUsage {
    /// Flags word as recorded: usage type in bits 0–4.
    pub flags: u32,
    /// First virtual address.
    pub virtual_address: u64,
    /// Number of pages.
    pub pages: u64,
}

impl KernelMemUsage {
    /// Usage type: the database of page frame numbers, the only public one.
    pub const PFN_METADATA: u8 = 0;

    /// What the memory is used for.
    pub const fn usage_type(&self) -> u8 {
        (self.flags & 0x1f) as u8
    }
}

layout! {
    UsageLayout<P> = 24 / 12 bytes => KernelMemUsage, fn read(MEMORY) {
        flags: U32, -padding(P::Padding), virtual_address: P, pages: P
    }
}

/// `0x027c` MMStats: statistics of memory combining, by the type in bits 0–5 of the first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmStats {
    /// Type 1, 32 bytes: since boot.
    Aggregate {
        /// Scans.
        scans: u32,
        /// Pages scanned.
        pages_scanned: u64,
        /// Pages combined.
        pages_combined: u64,
        /// Combined pages in use.
        blocks_in_use: i32,
        /// Sum of their reference counts; pages saved ≈ this − `blocks_in_use`.
        block_references: i32,
    },
    /// Type 2, 12 bytes: one scan.
    Iteration {
        /// Pages scanned.
        pages_scanned: u32,
        /// Pages combined.
        pages_combined: u32,
    },
    /// Any other type, not defined publicly.
    Unknown {
        /// The type.
        kind: u8,
    },
}

impl MmStats {
    /// Decodes by type; the layouts do not depend on the pointer size.
    ///
    /// # Errors
    /// A fault when there are fewer bytes than the type's layout has.
    pub fn read(payload: &Payload<'_>) -> Read<MmStats> {
        match (payload.cursor().u32("type")? & 0x3f) as u8 {
            1 => payload.read::<AggregateLayout>(MEMORY),
            2 => payload.read::<IterationLayout>(MEMORY),
            kind => Ok(Parsed::new(MmStats::Unknown { kind }, None)),
        }
    }
}

layout! {
    AggregateLayout = 32 bytes => MmStats as Aggregate {
        -kind(U32), scans: U32, pages_scanned: U64, pages_combined: U64, blocks_in_use: I32, block_references: I32
    }
}

layout! {
    IterationLayout = 12 bytes => MmStats as Iteration { -kind(U32), pages_scanned: U32, pages_combined: U32 }
}

/// `0x0270` MemInfo: sizes of the page lists. 176/88 bytes, or 208/104 with the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfo<'a> {
    bytes: &'a [u8],
    pointer: PointerSize,
}

/// The numbers of a MemInfo record, all in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemInfoCounts {
    /// Zeroed pages.
    pub zero_pages: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Modified pages.
    pub modified_pages: u64,
    /// Modified pages that must not be written yet.
    pub modified_no_write_pages: u64,
    /// Bad pages.
    pub bad_pages: u64,
    /// Standby pages by priority, 0 first.
    pub standby_pages: [u64; 8],
    /// Pages taken from standby for another use since boot, by priority, 0 first.
    pub repurposed_pages: [u64; 8],
    /// Modified pages that go to the pagefile.
    pub modified_pagefile_pages: u64,
}

/// The four numbers that the longer form of MemInfo adds, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfoCommit {
    /// Paged pool commit.
    pub paged_pool_pages: u64,
    /// Non-paged pool.
    pub non_paged_pool_pages: u64,
    /// Pages locked by memory descriptor lists.
    pub mdl_pages: u64,
    /// System commit.
    pub commit_pages: u64,
}

layout! {
    CountsLayout<P> = 176 / 88 bytes => MemInfoCounts {
        zero_pages: P, free_pages: P, modified_pages: P, modified_no_write_pages: P, bad_pages: P,
        standby_pages: [P; 8], repurposed_pages: [P; 8], modified_pagefile_pages: P
    }
}

layout! {
    CommitLayout<P> = 32 / 16 bytes => MemInfoCommit {
        paged_pool_pages: P, non_paged_pool_pages: P, mdl_pages: P, commit_pages: P
    }
}

impl<'a> MemInfo<'a> {
    /// The numbers of both forms.
    pub fn counts(&self) -> MemInfoCounts {
        first::<CountsLayout>(self.bytes, self.pointer).map_or_else(MemInfoCounts::default, |(counts, _)| counts)
    }

    /// The numbers of the longer form; `None` in the shorter one.
    pub fn commit(&self) -> Option<MemInfoCommit> {
        let (_, rest) = first::<CountsLayout>(self.bytes, self.pointer)?;
        first::<CommitLayout>(rest, self.pointer).map(|(commit, _)| commit)
    }

    /// Decodes either form, by the length; a longer payload is read as the longer form and reported.
    ///
    /// # Errors
    /// A fault when the length is neither form's and not more.
    pub fn read(payload: &Payload<'a>) -> Read<MemInfo<'a>> {
        let pointer = payload.pointer;
        let (short, length) = (size::<CountsLayout>(pointer), payload.bytes.len());
        let long = short + size::<CommitLayout>(pointer);
        let parsed = match length {
            _ if length == short => short,
            _ if length >= long => long,
            _ => return Err(Fault::Length { expected: if payload.version >= 3 { long } else { short } }),
        };
        let oddity = if !MEMORY.contains(&payload.version) {
            Some(Oddity::UnknownVersion { parsed })
        } else {
            (length > parsed).then_some(Oddity::Longer { parsed })
        };
        Ok(Parsed::new(MemInfo { bytes: payload.bytes.get(..parsed).unwrap_or_default(), pointer }, oddity))
    }
}

/// `0x027d` (processes) and `0x027e` (sessions): a count and that many entries of 68/36 bytes, or 36/20 in the old form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkingSets<'a> {
    bytes: &'a [u8],
    entry_bytes: usize,
    pointer: PointerSize,
}

/// Memory of one process or session, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkingSetSizes {
    /// Process id (`0x027d`) or session id (`0x027e`).
    pub id: u32,
    /// Working set.
    pub working_set_pages: u64,
    /// Commit charge.
    pub commit_pages: u64,
    /// Virtual size (`0x027d`) or paged pool (`0x027e`).
    pub virtual_or_paged_pool_pages: u64,
    /// Private part of the working set.
    pub private_working_set_pages: u64,
    /// What the old form lacks.
    pub store: Option<WorkingSetStore>,
}

/// Pages by which a part is more than its whole for no other reason than damage: 1 GiB. Both are not read at once.
const MUCH_MORE: u64 = 1 << 18;

impl WorkingSetSizes {
    /// False for numbers that the machine cannot have, and for a private part that is much more than the whole.
    pub(crate) fn is_possible(&self, ram_pages: Option<u64>) -> bool {
        let (all, private) = (self.working_set_pages, self.private_working_set_pages);
        fits_in_ram(all, ram_pages) && self.commit_pages <= MOST_PAGES && private <= all.saturating_add(MUCH_MORE)
    }
}

/// The last four numbers of a working set entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkingSetStore {
    /// Size of the memory compression store, in pages.
    pub store_size_pages: u64,
    /// Pages in the store.
    pub stored_pages: u64,
    /// Commit debt, in pages.
    pub commit_debt_pages: u64,
    /// Shared commit, in pages.
    pub shared_commit_pages: u64,
}

impl<'a> WorkingSets<'a> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.entry_bytes).unwrap_or(0)
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = WorkingSetSizes> + 'a {
        let WorkingSets { bytes, entry_bytes, pointer } = *self;
        bytes.chunks_exact(entry_bytes.max(1)).filter_map(move |entry| {
            exactly::<WorkingSetLayout>(entry, pointer).or_else(|| exactly::<OldWorkingSetLayout>(entry, pointer))
        })
    }

    /// Decodes either form; count and length together show which.
    ///
    /// # Errors
    /// [`Fault::Count`] when the count does not go with the length in either form.
    pub fn read(payload: &Payload<'a>) -> Read<WorkingSets<'a>> {
        let mut c = payload.cursor();
        let count = c.u32("count")?;
        let bytes = c.rest();
        let forms = [size::<WorkingSetLayout>(payload.pointer), size::<OldWorkingSetLayout>(payload.pointer)];
        let fits = |entry: &usize| usize::try_from(count).ok().and_then(|n| n.checked_mul(*entry)) == Some(bytes.len());
        let Some(entry_bytes) = forms.into_iter().find(fits) else { return Err(Fault::Count { count }) };
        let known = MEMORY.contains(&payload.version);
        let oddity = (!known).then_some(Oddity::UnknownVersion { parsed: payload.bytes.len() });
        Ok(Parsed::new(WorkingSets { bytes, entry_bytes, pointer: payload.pointer }, oddity))
    }
}

layout! {
    WorkingSetLayout<P> = 68 / 36 bytes => WorkingSetSizes {
        id: U32, working_set_pages: P, commit_pages: P, virtual_or_paged_pool_pages: P, private_working_set_pages: P,
        store: StoreLayout<P>
    }
}

layout! {
    OldWorkingSetLayout<P> = 36 / 20 bytes => WorkingSetSizes {
        id: U32, working_set_pages: P, commit_pages: P, virtual_or_paged_pool_pages: P, private_working_set_pages: P
    } with |_| { store: None }
}

layout! {
    StoreLayout<P> = 32 / 16 bytes => WorkingSetStore {
        store_size_pages: P, stored_pages: P, commit_debt_pages: P, shared_commit_pages: P
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn kernel_memory_has_padding_with_8_byte_pointers_only() {
        for (p, size, at) in [(P8, 24, [8, 16]), (P4, 12, [4, 8])] {
            let bytes = Bytes::new(size).u32(0, 0xffff_ffe0).ptr(p, at[0], 0xfa00_0000).ptr(p, at[1], 9000);
            let bytes = if p == P8 { bytes.u32(4, 0xdead) } else { bytes };
            let Event::KernelMemUsage(found) = event(0x027b, 2, p, &bytes) else { panic!() };
            assert_eq!((found.usage_type(), found.flags), (KernelMemUsage::PFN_METADATA, 0xffff_ffe0));
            assert_eq!((found.virtual_address, found.pages), (0xfa00_0000, 9000));
            check_fixed(0x027b, 2, p, &bytes);
            check_unknown_version(0x027b, p, &bytes);
        }
    }

    #[test]
    fn combining_statistics_by_type() {
        let aggregate =
            Bytes::new(32).u32(0, 0xffc1).u32(4, 5).u64(8, 600).u64(16, 70).u32(24, 8).u32(28, -1i32 as u32);
        let iteration = Bytes::new(12).u32(0, 2).u32(4, 30).u32(8, 4);
        for p in [P8, P4] {
            let expected = MmStats::Aggregate {
                scans: 5,
                pages_scanned: 600,
                pages_combined: 70,
                blocks_in_use: 8,
                block_references: -1,
            };
            assert_eq!(event(0x027c, 2, p, &aggregate), Event::MmStats(expected));
            let expected = MmStats::Iteration { pages_scanned: 30, pages_combined: 4 };
            assert_eq!(event(0x027c, 2, p, &iteration), Event::MmStats(expected));
            let other = Bytes::new(4).u32(0, 0x43);
            assert_eq!(event(0x027c, 2, p, &other), Event::MmStats(MmStats::Unknown { kind: 3 }));
            for (bytes, expected) in [(&aggregate, 32), (&iteration, 12)] {
                for cut in 1..=expected - 4 {
                    assert_eq!(fault(0x027c, 2, p, &bytes.clone().cut(cut)), Fault::Length { expected });
                }
                let longer = bytes.clone().more(&[0; 8]);
                assert_eq!(odd(0x027c, 2, p, &longer).1, Oddity::Longer { parsed: expected });
            }
            assert_eq!(fault(0x027c, 2, p, &Bytes::new(3)), Fault::Short { field: "type", at: 0 });
        }
    }

    #[test]
    fn page_lists_in_both_forms() {
        for p in [P8, P4] {
            let at = p.bytes();
            let long = (0..26).fold(Bytes::new(26 * at), |bytes, i| bytes.ptr(p, i * at, 100 + i as u64));
            let short = long.clone().cut(4 * at);
            for (version, bytes) in [(2, &short), (3, &long)] {
                let Event::MemInfo(found) = event(0x0270, version, p, bytes) else { panic!() };
                let counts = found.counts();
                assert_eq!((counts.zero_pages, counts.free_pages, counts.modified_pages), (100, 101, 102));
                assert_eq!((counts.modified_no_write_pages, counts.bad_pages), (103, 104));
                assert_eq!(counts.standby_pages, [105, 106, 107, 108, 109, 110, 111, 112]);
                assert_eq!(counts.repurposed_pages, [113, 114, 115, 116, 117, 118, 119, 120]);
                assert_eq!(counts.modified_pagefile_pages, 121);
                let commit = MemInfoCommit {
                    paged_pool_pages: 122,
                    non_paged_pool_pages: 123,
                    mdl_pages: 124,
                    commit_pages: 125,
                };
                assert_eq!(found.commit(), (version == 3).then_some(commit));
            }
            for (version, expected) in [(2, 22 * at), (3, 26 * at)] {
                for length in (0..22 * at).chain(22 * at + 1..26 * at) {
                    assert_eq!(fault(0x0270, version, p, &Bytes::new(length)), Fault::Length { expected });
                }
            }
            assert_eq!(odd(0x0270, 3, p, &long.clone().more(&[1])).1, Oddity::Longer { parsed: 26 * at });
            check_unknown_version(0x0270, p, &long);
        }
    }

    #[test]
    fn working_sets_in_both_forms() {
        for (p, old, new) in [(P8, 36, 68), (P4, 20, 36)] {
            for entry in [old, new] {
                let mut bytes = Bytes::new(4 + 3 * entry).u32(0, 3);
                for index in 0..3 {
                    let start = 4 + index * entry;
                    bytes = bytes.u32(start, 1000 + index as u32);
                    for number in 0..(entry - 4) / p.bytes() {
                        bytes = bytes.ptr(p, start + 4 + number * p.bytes(), 10 * index as u64 + number as u64);
                    }
                }
                let Event::ProcessWorkingSets(found) = event(0x027d, 2, p, &bytes) else { panic!() };
                assert_eq!((found.len(), found.is_empty()), (3, false));
                let last = found.iter().last().unwrap();
                let store = WorkingSetStore {
                    store_size_pages: 24,
                    stored_pages: 25,
                    commit_debt_pages: 26,
                    shared_commit_pages: 27,
                };
                let expected = WorkingSetSizes {
                    id: 1002,
                    working_set_pages: 20,
                    commit_pages: 21,
                    virtual_or_paged_pool_pages: 22,
                    private_working_set_pages: 23,
                    store: (entry == new).then_some(store),
                };
                assert_eq!(last, expected);
                assert!(matches!(event(0x027e, 2, p, &bytes), Event::SessionWorkingSets(sets) if sets == found));
                // Three new entries cut in half can be three old ones.
                for cut in (1..=bytes.0.len()).filter(|cut| bytes.0.len() - cut != 4 + 3 * old) {
                    fault(0x027d, 2, p, &bytes.clone().cut(cut));
                }
                assert_eq!(fault(0x027d, 2, p, &bytes.clone().more(&[0])), Fault::Count { count: 3 });
                assert_eq!(fault(0x027d, 2, p, &bytes.clone().u32(0, u32::MAX)), Fault::Count { count: u32::MAX });
                check_unknown_version(0x027d, p, &bytes);
            }
            let none = Bytes::new(4);
            let Event::ProcessWorkingSets(found) = event(0x027d, 2, p, &none) else { panic!() };
            assert_eq!(found.iter().count(), 0);
            assert_eq!(fault(0x027d, 2, p, &Bytes::new(5)), Fault::Count { count: 0 });
        }
    }
}
