//! Owner keys: which process a page record names.
//!
//! Event version 4 writes process ids, version 2 the low bits of the UniqueProcessKey; older Windows may write a page
//! directory's frame. The version decides, unless its reading names almost no process and another one does better.

use crate::model::process::Processes;
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;

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
        Owners { reading, by_key, named: processes.named as u32 }
    }

    /// Index of the process instance that a key means: a named one, or one of which only the address space is known.
    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// True when events name the process of this instance.
    #[inline(always)]
    pub const fn is_named(&self, instance: u32) -> bool {
        instance < self.named
    }
}
