//! Process lifetimes over time: which process an id or an owner key names at a given moment.
//!
//! Lifetimes are bounded by moments (time stamp, then file order), not by stamps: an access can have the same stamp as
//! the start of its process.

use crate::model::page_owner_key::KeyReading;
use crate::model::process::Processes;
use crate::moment::Moment;
use crate::units::PointerSize;
use foldhash::HashMap as FastMap;

/// The lifetime of one process instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLifetime {
    /// When it began; [`Moment::FIRST`] when before the trace.
    pub begin: Moment,
    /// When it ended; [`Moment::LAST`] when after the trace.
    pub end: Moment,
    /// False when the end was not logged and is only known from later events.
    pub end_logged: bool,
    /// Index of the instance.
    pub instance: u32,
    /// Process id.
    pub process_id: u32,
}

/// Which process ids and owner keys name which instances, and when.
#[derive(Debug)]
pub struct ProcessTimeline<'h> {
    /// All instances.
    pub processes: &'h Processes,
    /// How owner keys are read.
    pub reading: KeyReading,
    /// Process ids of the instances.
    ids: Vec<u32>,
    by_id: FastMap<u32, Vec<ProcessLifetime>>,
    by_key: FastMap<u64, Vec<ProcessLifetime>>,
}

impl<'h> ProcessTimeline<'h> {
    /// The timeline of the trace's processes, with this reading of owner keys.
    pub fn new(processes: &'h Processes, reading: KeyReading, pointer: PointerSize) -> ProcessTimeline<'h> {
        let ids = processes.instances.iter().map(|process| process.process_id).collect();
        let mut all =
            ProcessTimeline { processes, reading, ids, by_id: FastMap::default(), by_key: FastMap::default() };
        for (instance, process) in (0..).zip(&processes.instances) {
            let lifetime = ProcessLifetime {
                begin: process.begin,
                end: process.end,
                end_logged: process.end_logged,
                instance,
                process_id: process.process_id,
            };
            all.by_id.entry(process.process_id).or_default().push(lifetime);
            if let Some(key) = reading.key_of(process, pointer) {
                all.by_key.entry(key).or_default().push(lifetime);
            }
        }
        let by_begin = |lives: &mut Vec<ProcessLifetime>| lives.sort_by_key(|life| life.begin);
        all.by_id.values_mut().for_each(by_begin);
        all.by_key.values_mut().for_each(by_begin);
        all
    }

    /// All lifetimes of an id by time.
    pub fn lifetimes_of(&self, process_id: u32) -> &[ProcessLifetime] {
        self.by_id.get(&process_id).map_or(&[], Vec::as_slice)
    }

    /// The lifetime of an id at a moment.
    #[inline]
    pub fn by_id(&self, process_id: u32, moment: Moment) -> Option<&ProcessLifetime> {
        alive(self.lifetimes_of(process_id), moment)
    }

    /// The lifetime that an owner key names at a moment: the process that is running, or else the next one to start, because
    /// pages of a process are touched before its start is logged.
    #[inline]
    pub fn by_key(&self, key: u64, moment: Moment) -> Option<&ProcessLifetime> {
        let lives = self.by_key.get(&key)?;
        alive(lives, moment).or_else(|| lives.get(lives.partition_point(|life| life.begin <= moment)))
    }

    /// The process that a thread starts next, and its start. Accesses of this thread for process id 0 belong to it.
    pub fn next_started(&self, thread_id: u32, moment: Moment) -> Option<(Moment, u32)> {
        self.processes.starts.next(thread_id, moment)
    }

    /// Session of an instance.
    pub fn session(&self, instance: u32) -> Option<u32> {
        self.processes.instances.get(instance as usize)?.session_id
    }

    /// Process id of an instance.
    #[inline]
    pub fn process_id(&self, instance: u32) -> Option<u32> {
        self.ids.get(instance as usize).copied()
    }

    /// Which processes owner keys name at one moment; only running processes count.
    pub fn owners_at(&self, moment: Moment) -> OwnersAt {
        let alive = self.by_key.iter().filter_map(|(&key, lives)| Some((key, alive(lives, moment)?.instance)));
        OwnersAt::new(self.reading, self.processes.named as u32, alive.collect())
    }
}

#[inline]
fn alive(lives: &[ProcessLifetime], moment: Moment) -> Option<&ProcessLifetime> {
    let begun = lives.partition_point(|life| life.begin <= moment);
    lives.get(begun.checked_sub(1)?).filter(|life| moment < life.end)
}

/// From owner keys to process instances at one moment, for look-ups of millions of pages.
#[derive(Debug, Clone)]
pub struct OwnersAt {
    /// How keys are read.
    pub reading: KeyReading,
    by_key: FastMap<u64, u32>,
    /// By key ÷ 4, where keys are small and multiples of 4 as process ids are; `u32::MAX` for none, in half the room of an `Option`.
    by_id: Vec<u32>,
    /// Instances from this index on are address spaces whose process no event names.
    named: u32,
}

impl OwnersAt {
    /// Keys below this are looked up in a table instead of a map; Windows assigns small process ids first.
    const MOST_IDS: u64 = 1 << 20;

    fn new(reading: KeyReading, named: u32, by_key: FastMap<u64, u32>) -> OwnersAt {
        let is_id = |key: &u64| key.is_multiple_of(4) && *key < Self::MOST_IDS;
        let ids = by_key.keys().copied().filter(is_id).max().map_or(0, |most| most / 4 + 1);
        let mut by_id = vec![u32::MAX; ids as usize];
        for (key, &index) in by_key.iter().filter(|(key, _)| is_id(key)) {
            by_id.get_mut((key / 4) as usize).into_iter().for_each(|slot| *slot = index);
        }
        OwnersAt { reading, by_key, by_id, named }
    }

    /// Index of the process instance that a key names, with process events or with an address space only.
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
