//! Owner keys: which process a page record names.
//!
//! Event version 4 writes process ids, version 2 the low bits of the UniqueProcessKey; older Windows may write the PFN of
//! the page directory. The version decides, unless its reading names almost no process and another reading names more. This
//! is decided once for a trace, so that all analyses read its keys in the same way.

use crate::etl::EtlFile;
use crate::etl::record_id::HookId;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_RELEASE};
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::load::page_run::PageRun;
use crate::load::survey::Survey;
use crate::model::process::{Instance, Processes};
use crate::model::snapshot::{Snapshot, pages_of};
use crate::named_enum::named_enum;
use crate::units::PointerSize;
use foldhash::HashSet as FastSet;
use rayon::prelude::*;
use std::collections::BTreeMap;

named_enum! {
    /// What owner keys contain.
    pub enum KeyReading {
        /// Process ids (event version 4: Windows 11 22H2 and later).
        ProcessId = "process_id",
        /// Low 48 bits of the UniqueProcessKey; in 32-bit traces all 32 (event version 2).
        ProcessKey = "process_key",
        /// DirectoryTableBase / 4096 (Windows 7 and older; never verified).
        DirectoryBase = "directory_base",
    }
}

impl KeyReading {
    /// The reading that an event version calls for.
    pub const fn of_version(version: u8) -> KeyReading {
        if version >= 4 { KeyReading::ProcessId } else { KeyReading::ProcessKey }
    }

    /// The key of a process in this reading; `None` when no event gave it.
    pub fn key_of(self, process: &Instance, pointer: PointerSize) -> Option<u64> {
        let key = match self {
            KeyReading::ProcessId => u64::from(process.process_id),
            KeyReading::ProcessKey => key_bits(process.key, pointer),
            KeyReading::DirectoryBase => process.directory_table_base? >> 12,
        };
        (key != 0).then_some(key)
    }

    /// Label of a key that matches no process.
    pub fn unknown_label(self, key: u64) -> String {
        match self {
            KeyReading::ProcessId => format!("Unknown ({key})"),
            _ => format!("Unknown (0x{key:x})"),
        }
    }
}

/// The low bits of a process's or session's unique key that fit into an owner key.
pub const fn key_bits(process_key: u64, pointer: PointerSize) -> u64 {
    process_key & pointer.pick(0xffff_ffff_ffff, 0xffff_ffff)
}

/// The lowest kernel address, as an owner key has it: the kernel has the upper half of the address space.
const fn first_kernel_address(pointer: PointerSize) -> u64 {
    pointer.pick(1 << 47, 1 << 31)
}

/// Number of page runs and buffers that are sampled, spread over the trace, and of keys in each; of short runs more are.
const PLACES: usize = 64;
const MOST_PLACES: usize = 512;
const RUN_PAGES: u32 = 1024;
const BUFFER_KEYS: usize = 64;

/// Events whose page identities are sampled in addition to the page sequences.
const ACCESSES: [HookId; 3] = [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_RELEASE];

/// How the owner keys of a trace are read, by event version and pointer size.
#[derive(Debug, Clone, Default)]
pub struct OwnerKeys {
    samples: BTreeMap<(u8, PointerSize), Sample>,
    /// Event version and pointer size of the page accesses; `None` when there are none.
    pub accesses: Option<(u8, PointerSize)>,
}

/// Sampled keys: how many there are, how many match a process in each reading, and how many can be the address of a
/// process object.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    keys: u64,
    named: [u64; 3],
    addresses: u64,
}

impl Sample {
    /// The reading by the event version, unless another reading is clearly better: the version's reading matches less than a
    /// tenth of the keys that the best one matches, and the best one matches at least a tenth of all keys, which is more
    /// than chance. The frames of page directories hardly match by chance: where the version calls for addresses and few keys
    /// can be one, any match is enough for them.
    fn reading(&self, own: KeyReading) -> KeyReading {
        let hits = |reading: KeyReading| self.named.get(reading as usize).copied().unwrap_or(0);
        let best = KeyReading::ALL.into_iter().max_by_key(|&reading| (hits(reading), reading == own)).unwrap_or(own);
        let is_better = hits(own).saturating_mul(10) < hits(best) && hits(best).saturating_mul(10) >= self.keys;
        let are_frames = own == KeyReading::ProcessKey
            && best == KeyReading::DirectoryBase
            && self.addresses.saturating_mul(10) < self.keys;
        if is_better || are_frames && hits(own) == 0 { best } else { own }
    }
}

impl OwnerKeys {
    /// Samples private pages of the page sequences and, if the trace has page accesses, of those.
    pub fn new(etl: &EtlFile, survey: &Survey, processes: &Processes, snapshots: &[Snapshot]) -> OwnerKeys {
        let mut keys = OwnerKeys::default();
        let runs: Vec<&PageRun> = snapshots.iter().flat_map(|snapshot| &snapshot.runs).collect();
        let of_runs = spread(&runs, places(&runs)).into_par_iter().map_init(Vec::new, |scratch, run| {
            let part = PageRun { pages: run.pages.min(RUN_PAGES), ..**run };
            let mut found = Vec::new();
            pages_of(&etl.area(run.buffer as usize, scratch), &part, |page| {
                found.extend(owner_key(&page).filter(|_| page.list() == PageList::Active));
            });
            ((run.version, run.pointer), found)
        });
        let mut found: Vec<((u8, PointerSize), Vec<u64>)> = of_runs.collect();
        if ACCESSES.iter().any(|&hook| survey.kernel_count(hook) > 0) {
            let buffers: Vec<usize> = (0..etl.buffers.len()).collect();
            let of_buffers = spread(&buffers, PLACES).into_par_iter().map_init(Vec::new, |scratch, &index| {
                let mut found: Vec<((u8, PointerSize), Vec<u64>)> = Vec::new();
                let mut count = 0;
                for raw in etl.area(index, scratch).records() {
                    if !raw.hook().is_some_and(|hook| ACCESSES.contains(&hook)) {
                        continue;
                    }
                    let pointer = raw.header.pointer();
                    let page = raw.kernel_payload().and_then(|payload| PageIdentity::read(payload, pointer));
                    let Some(page) = page else { continue };
                    let kind = (raw.kernel_version(), pointer);
                    match found.iter_mut().find(|(of, _)| *of == kind) {
                        Some((_, keys)) => keys.extend(owner_key(&page)),
                        None => found.push((kind, owner_key(&page).into_iter().collect())),
                    }
                    count += usize::from(owner_key(&page).is_some());
                    if count == BUFFER_KEYS {
                        break;
                    }
                }
                found
            });
            let of_buffers: Vec<_> = of_buffers.flatten_iter().collect();
            keys.accesses = of_buffers.first().map(|(kind, _)| *kind);
            found.extend(of_buffers);
        }
        let kinds: Vec<(u8, PointerSize)> = found.iter().map(|(kind, _)| *kind).collect();
        let pointers = [PointerSize::P4, PointerSize::P8].into_iter();
        for pointer in pointers.filter(|pointer| kinds.iter().any(|kind| kind.1 == *pointer)) {
            let named = processes.instances.get(..processes.named).unwrap_or_default();
            let known = KeyReading::ALL.map(|reading| -> FastSet<u64> {
                named.iter().filter_map(|process| reading.key_of(process, pointer)).collect()
            });
            for (kind, list) in found.iter().filter(|(kind, _)| kind.1 == pointer) {
                let sample = keys.samples.entry(*kind).or_default();
                sample.keys += list.len() as u64;
                sample.addresses += list.iter().filter(|&&key| key >= first_kernel_address(pointer)).count() as u64;
                for (named, known) in sample.named.iter_mut().zip(&known) {
                    *named += list.iter().filter(|key| known.contains(key)).count() as u64;
                }
            }
        }
        keys
    }

    /// The reading of records of this event version and pointer size.
    pub fn reading(&self, version: u8, pointer: PointerSize) -> KeyReading {
        let own = KeyReading::of_version(version);
        self.samples.get(&(version, pointer)).map_or(own, |sample| sample.reading(own))
    }
}

/// How many of the runs are sampled: of short ones as many as have the pages of [`PLACES`] long ones.
fn places(runs: &[&PageRun]) -> usize {
    let pages: u64 = runs.iter().map(|run| u64::from(run.pages.min(RUN_PAGES))).sum();
    let short = (PLACES as u64 * u64::from(RUN_PAGES)).saturating_mul(runs.len() as u64) / pages.max(1);
    short.clamp(PLACES as u64, MOST_PLACES as u64) as usize
}

/// Up to `most` of a list, at equal distances.
fn spread<T>(list: &[T], most: usize) -> Vec<&T> {
    list.iter().step_by(list.len().div_ceil(most).max(1)).collect()
}

/// The owner key of a private page that has one.
fn owner_key(page: &PageIdentity) -> Option<u64> {
    Some(page.key()).filter(|&key| page.page_use() == PageUse::ProcessPrivate && key != 0)
}
