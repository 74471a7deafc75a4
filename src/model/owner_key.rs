//! Owner keys: which process a page record names.
//!
//! Event version 4 writes process ids, version 2 the low bits of the UniqueProcessKey; older Windows may write a page
//! directory's frame. The version decides, unless its reading names almost no process and another one does better.

use crate::etl::EtlFile;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_RELEASE};
use crate::event::page::{PageIdentity, PageUse};
use crate::model::process::Processes;
use crate::units::{PointerSize, Ticks};
use foldhash::{HashMap as FastMap, HashSet as FastSet};

/// What owner keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyReading {
    /// Process ids (event version 4: Windows 11 22H2 and later).
    ProcessId,
    /// Low 48 bits of the UniqueProcessKey; in 32-bit traces all 32 (event version 2).
    ProcessKey,
    /// DirectoryTableBase / 4096 (Windows 7 and older; never verified).
    DirectoryBase,
}

impl KeyReading {
    /// All readings.
    pub const ALL: [KeyReading; 3] = [KeyReading::ProcessId, KeyReading::ProcessKey, KeyReading::DirectoryBase];

    /// The reading that an event version calls for.
    pub const fn of_version(version: u8) -> KeyReading {
        if version >= 4 { KeyReading::ProcessId } else { KeyReading::ProcessKey }
    }

    /// Name as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            KeyReading::ProcessId => "process_id",
            KeyReading::ProcessKey => "process_key",
            KeyReading::DirectoryBase => "directory_base",
        }
    }

    /// The label of a key that names no process.
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

/// From owner keys to the process instances that were alive at one time.
#[derive(Debug, Clone)]
pub struct Owners {
    /// How keys are read.
    pub reading: KeyReading,
    by_key: FastMap<u64, u32>,
    /// By key ÷ 4, where keys are small and multiples of 4 as process ids are; `u32::MAX` for none.
    by_id: Vec<u32>,
    /// Instances from this index on are address spaces whose process no event names.
    named: u32,
}

impl Owners {
    /// The owners at `time`.
    pub fn new(processes: &Processes, time: Ticks, reading: KeyReading, pointer: PointerSize) -> Owners {
        let mut by_key = FastMap::default();
        for index in processes.all_alive(time) {
            let Some(process) = processes.instances.get(index) else { continue };
            let key = match reading {
                KeyReading::ProcessId => Some(u64::from(process.process_id)),
                KeyReading::ProcessKey => Some(key_bits(process.key, pointer)),
                KeyReading::DirectoryBase => process.directory_table_base.map(|base| base >> 12),
            };
            by_key.extend(key.filter(|&key| key != 0).map(|key| (key, index as u32)));
        }
        let is_id = |key: &u64| key.is_multiple_of(4) && *key < Self::MOST_IDS;
        let ids = by_key.keys().copied().filter(is_id).max().map_or(0, |most| most / 4 + 1);
        let mut by_id = vec![u32::MAX; ids as usize];
        for (key, &index) in by_key.iter().filter(|(key, _)| is_id(key)) {
            by_id.get_mut((key / 4) as usize).into_iter().for_each(|slot| *slot = index);
        }
        Owners { reading, by_key, by_id, named: processes.named as u32 }
    }

    /// Keys below this are looked up in a table instead of a map: ids are given out from below.
    const MOST_IDS: u64 = 1 << 20;

    /// Index of the process instance that a key means: a named one, or one of which only the address space is known.
    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<u32> {
        match self.by_id.get((key >> 2) as usize) {
            Some(&index) if key & 3 == 0 => (index != u32::MAX).then_some(index),
            _ => self.by_key.get(&key).copied(),
        }
    }

    /// True when events name the process of this instance.
    #[inline(always)]
    pub const fn is_named(&self, instance: u32) -> bool {
        instance < self.named
    }
}

/// Buffers that are looked at, spread over the trace, and keys that suffice.
const BUFFERS: usize = 256;
const KEYS: u64 = 4096;

/// The reading and the pointer size of the page accesses.
pub fn reading_of(etl: &EtlFile, processes: &Processes) -> (KeyReading, PointerSize) {
    let (mut keys, mut first): (Vec<u64>, Option<(u8, PointerSize)>) = (Vec::new(), None);
    let mut scratch = Vec::new();
    for index in (0..etl.buffers.len()).step_by(etl.buffers.len().div_ceil(BUFFERS).max(1)) {
        let area = etl.area(index, &mut scratch);
        for raw in area.records() {
            if !raw.hook().is_some_and(|hook| matches!(hook, IN_MEMORY_ACTIVE | PAGE_ACCESS | PAGE_RELEASE)) {
                continue;
            }
            let pointer = raw.header.pointer();
            let page = raw.kernel_payload().and_then(|payload| PageIdentity::read(payload, pointer));
            let Some(page) = page else { continue };
            first.get_or_insert((raw.kernel_version(), pointer));
            let Some(page) = Some(page).filter(|page| page.page_use() == PageUse::ProcessPrivate && page.key() != 0)
            else {
                continue;
            };
            keys.push(page.key());
        }
        if keys.len() as u64 >= KEYS {
            break;
        }
    }
    let (version, pointer) = first.unwrap_or((2, PointerSize::P8));
    let own = KeyReading::of_version(version);
    let hits = KeyReading::ALL.map(|reading| {
        let known: FastSet<u64> = (processes.instances.iter())
            .filter_map(|process| match reading {
                KeyReading::ProcessId => Some(u64::from(process.process_id)),
                KeyReading::ProcessKey => Some(key_bits(process.key, pointer)),
                KeyReading::DirectoryBase => process.directory_table_base.map(|base| base >> 12),
            })
            .collect();
        (keys.iter().filter(|key| known.contains(key)).count(), reading)
    });
    let of_own = hits.iter().find(|hit| hit.1 == own).map_or(0, |hit| hit.0);
    let (most, best) = hits.into_iter().max_by_key(|&(count, reading)| (count, reading == own)).unwrap_or((0, own));
    // "Fits almost none" is less than a tenth; a better reading must fit most.
    let better = of_own * 10 < keys.len() && most * 2 > keys.len();
    (if better { best } else { own }, pointer)
}
