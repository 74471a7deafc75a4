//! Counters of the memory manager: page lists, working sets, memory combining, kernel memory.
//!
//! Sources: `docs/formats.md` ("Memory"), after the Windows MOF and public headers. Not checked on a recorded trace, so
//! layouts are derived from the record's length where there are several.

use super::outcome::{Fault, Oddity, Parsed, Read};
use super::payload::{MEMORY, Payload, PointerArray};
use crate::units::PointerSize;

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

    /// Decodes the 24 or 12 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<KernelMemUsage> {
        let oddity = payload.fixed(payload.pointer.pick(24, 12), MEMORY)?;
        let mut c = payload.cursor();
        let flags = c.u32("usage type")?;
        c.skip(payload.pointer.pick(4, 0), "padding")?;
        let value = KernelMemUsage { flags, virtual_address: c.ptr("virtual address")?, pages: c.ptr("page count")? };
        Ok(Parsed::new(value, oddity))
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
        let mut c = payload.cursor();
        let kind = (c.u32("type")? & 0x3f) as u8;
        let expected = match kind {
            1 => 32,
            2 => 12,
            _ => return Ok(Parsed::new(MmStats::Unknown { kind }, None)),
        };
        let oddity = payload.fixed(expected, MEMORY)?;
        let value = if kind == 1 {
            MmStats::Aggregate {
                scans: c.u32("scans")?,
                pages_scanned: c.u64("pages scanned")?,
                pages_combined: c.u64("pages combined")?,
                blocks_in_use: c.i32("blocks in use")?,
                block_references: c.i32("block references")?,
            }
        } else {
            MmStats::Iteration { pages_scanned: c.u32("pages scanned")?, pages_combined: c.u32("pages combined")? }
        };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0270` MemInfo: sizes of the page lists, in pages. 22 counts of pointer size (176/88 bytes), or 26 (208/104).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfo<'a> {
    counts: PointerArray<'a>,
}

/// The four counts that the longer form of MemInfo adds, in pages.
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

const SHORT_COUNTS: usize = 22;
const LONG_COUNTS: usize = 26;

impl<'a> MemInfo<'a> {
    fn count(&self, index: usize) -> u64 {
        self.counts.get(index).unwrap_or(0) // never missing: `read` made sure of at least 22
    }

    /// Zeroed pages.
    pub fn zero_pages(&self) -> u64 {
        self.count(0)
    }

    /// Free pages.
    pub fn free_pages(&self) -> u64 {
        self.count(1)
    }

    /// Modified pages.
    pub fn modified_pages(&self) -> u64 {
        self.count(2)
    }

    /// Modified pages that must not be written yet.
    pub fn modified_no_write_pages(&self) -> u64 {
        self.count(3)
    }

    /// Bad pages.
    pub fn bad_pages(&self) -> u64 {
        self.count(4)
    }

    /// Standby pages by priority, 0 first.
    pub fn standby_pages(&self) -> [u64; 8] {
        std::array::from_fn(|priority| self.count(5 + priority))
    }

    /// Pages taken from standby for another use since boot, by priority, 0 first.
    pub fn repurposed_pages(&self) -> [u64; 8] {
        std::array::from_fn(|priority| self.count(13 + priority))
    }

    /// Modified pages that go to the pagefile.
    pub fn modified_pagefile_pages(&self) -> u64 {
        self.count(21)
    }

    /// The counts of the longer form; `None` in the shorter one.
    pub fn commit(&self) -> Option<MemInfoCommit> {
        Some(MemInfoCommit {
            paged_pool_pages: self.counts.get(22)?,
            non_paged_pool_pages: self.counts.get(23)?,
            mdl_pages: self.counts.get(24)?,
            commit_pages: self.counts.get(25)?,
        })
    }

    /// Decodes either form, which the length tells; a longer payload is read as the longer form and reported.
    ///
    /// # Errors
    /// A fault when the length is neither form's and not more.
    pub fn read(payload: &Payload<'a>) -> Read<MemInfo<'a>> {
        let [short, long] = [SHORT_COUNTS, LONG_COUNTS].map(|counts| counts * payload.pointer.bytes());
        let length = payload.bytes.len();
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
        let bytes = payload.bytes.get(..parsed).unwrap_or_default();
        Ok(Parsed::new(MemInfo { counts: PointerArray::new(bytes, payload.pointer) }, oddity))
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
pub struct WorkingSet {
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
    pub fn iter(&self) -> impl Iterator<Item = WorkingSet> + 'a {
        let WorkingSets { bytes, entry_bytes, pointer } = *self;
        bytes.chunks_exact(entry_bytes.max(1)).filter_map(move |entry| {
            let (id, numbers) = entry.split_first_chunk::<4>()?;
            let numbers = PointerArray::new(numbers, pointer);
            Some(WorkingSet {
                id: u32::from_le_bytes(*id),
                working_set_pages: numbers.get(0)?,
                commit_pages: numbers.get(1)?,
                virtual_or_paged_pool_pages: numbers.get(2)?,
                private_working_set_pages: numbers.get(3)?,
                store: (|| {
                    Some(WorkingSetStore {
                        store_size_pages: numbers.get(4)?,
                        stored_pages: numbers.get(5)?,
                        commit_debt_pages: numbers.get(6)?,
                        shared_commit_pages: numbers.get(7)?,
                    })
                })(),
            })
        })
    }

    /// Decodes either form, which count and length tell together.
    ///
    /// # Errors
    /// [`Fault::Count`] when the count does not go with the length in either form.
    pub fn read(payload: &Payload<'a>) -> Read<WorkingSets<'a>> {
        let mut c = payload.cursor();
        let count = c.u32("count")?;
        let bytes = c.rest();
        let forms = [8, 4].map(|numbers| 4 + numbers * payload.pointer.bytes());
        let fits = |entry: &usize| usize::try_from(count).ok().and_then(|n| n.checked_mul(*entry)) == Some(bytes.len());
        let Some(entry_bytes) = forms.into_iter().find(fits) else { return Err(Fault::Count { count }) };
        let known = MEMORY.contains(&payload.version);
        let oddity = (!known).then_some(Oddity::UnknownVersion { parsed: payload.bytes.len() });
        Ok(Parsed::new(WorkingSets { bytes, entry_bytes, pointer: payload.pointer }, oddity))
    }
}
