//! Owners of working sets: a process (one life of an id), a session, the system; and who an id or an owner key names at
//! a given moment.
//!
//! Lives are told apart by moments, not by stamps: an access can have the same stamp as the start of its process.

use crate::event::process::ProcessPhase;
use crate::load::history::{History, Moment, next_start};
use crate::model::owner::{KeyReading, key_bits};
use crate::model::process::Processes;
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;

/// Before everything.
pub const FIRST: Moment = Moment { time: Ticks(i64::MIN), order: 0 };
/// After everything.
pub const LAST: Moment = Moment { time: Ticks(i64::MAX), order: u64::MAX };

/// An owner in 8 bytes: the kind in the top byte, the number below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId(u64);

/// What an [`OwnerId`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The system working sets.
    System,
    /// A session's working set, by session id.
    Session(u32),
    /// A process instance by its index.
    Process(u32),
    /// A process id that no event names.
    UnknownProcess(u32),
    /// An owner key that names no process.
    UnknownKey(u64),
}

impl OwnerId {
    const SHIFT: u32 = 56;

    /// The system.
    pub const SYSTEM: OwnerId = OwnerId(0);

    /// Packs an owner. Keys have 48 bits.
    #[inline(always)]
    pub const fn new(owner: Owner) -> OwnerId {
        OwnerId(match owner {
            Owner::System => 0,
            Owner::Session(id) => 1 << Self::SHIFT | id as u64,
            Owner::Process(index) => 2 << Self::SHIFT | index as u64,
            Owner::UnknownProcess(id) => 3 << Self::SHIFT | id as u64,
            Owner::UnknownKey(key) => 4 << Self::SHIFT | key & ((1 << Self::SHIFT) - 1),
        })
    }

    /// Unpacks it.
    #[inline(always)]
    pub const fn owner(self) -> Owner {
        let number = self.0 & ((1 << Self::SHIFT) - 1);
        match self.0 >> Self::SHIFT {
            0 => Owner::System,
            1 => Owner::Session(number as u32),
            2 => Owner::Process(number as u32),
            3 => Owner::UnknownProcess(number as u32),
            _ => Owner::UnknownKey(number),
        }
    }

    /// The packed number.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Name as printed.
    pub fn label(self, processes: &Processes, reading: KeyReading) -> String {
        match self.owner() {
            Owner::System => "System".to_owned(),
            Owner::Session(_) => "Session".to_owned(),
            Owner::Process(index) => {
                processes.instances.get(index as usize).map_or_else(|| "n/a".to_owned(), |process| process.label())
            }
            Owner::UnknownProcess(id) => format!("Unknown ({id})"),
            Owner::UnknownKey(0) => "n/a".to_owned(),
            Owner::UnknownKey(key) => reading.unknown_label(key),
        }
    }
}

/// One life of a process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// When it began; [`FIRST`] when before the trace.
    pub begin: Moment,
    /// When it ended; [`LAST`] when behind the trace.
    pub end: Moment,
    /// False when the end is only known from what came later.
    pub end_logged: bool,
    /// Index of the instance.
    pub instance: u32,
    /// Process id.
    pub process_id: u32,
}

/// Who is who at any moment.
#[derive(Debug)]
pub struct Directory<'h> {
    /// All instances.
    pub processes: &'h Processes,
    /// How owner keys are read.
    pub reading: KeyReading,
    /// Process ids of the instances.
    ids: Vec<u32>,
    by_id: FastMap<u32, Vec<Life>>,
    by_key: FastMap<u64, Vec<Life>>,
    /// Thread that logged a start, moment, instance.
    starts: Vec<(u32, Moment, u32)>,
}

impl<'h> Directory<'h> {
    /// From the process events.
    pub fn new(
        history: &History,
        processes: &'h Processes,
        reading: KeyReading,
        pointer: PointerSize,
    ) -> Directory<'h> {
        let at = |time: Option<Ticks>, none: Moment| time.map_or(none, |time| Moment { time, order: 0 });
        let mut lives: Vec<Life> = (0..)
            .zip(&processes.instances)
            .map(|(instance, process)| Life {
                begin: at(process.start, FIRST),
                end: at(process.end, LAST),
                end_logged: false,
                instance,
                process_id: process.process_id,
            })
            .collect();
        let mut starts = Vec::new();
        for event in &history.processes {
            let (time, moment) = (event.moment.time, event.moment);
            for &index in processes.lives(event.value.process_id) {
                let (Some(process), Some(life)) = (processes.instances.get(index), lives.get_mut(index)) else {
                    continue;
                };
                // A process can start and end within one stamp.
                let is_end = matches!(event.value.phase, ProcessPhase::End | ProcessPhase::Defunct);
                if process.start == Some(time) && !is_end {
                    life.begin = moment;
                    if event.value.phase == ProcessPhase::Start {
                        starts.extend(event.value.thread_id.map(|thread| (thread, moment, index as u32)));
                    }
                }
                if process.end == Some(time) && !life.end_logged && (is_end || life.begin != moment) {
                    life.end = moment;
                    life.end_logged = is_end;
                }
            }
        }
        starts.sort_unstable();
        let ids = processes.instances.iter().map(|process| process.process_id).collect();
        let mut directory =
            Directory { processes, reading, ids, by_id: FastMap::default(), by_key: FastMap::default(), starts };
        for (life, process) in lives.into_iter().zip(&processes.instances) {
            directory.by_id.entry(process.process_id).or_default().push(life);
            let key = match reading {
                KeyReading::ProcessId => u64::from(process.process_id),
                KeyReading::ProcessKey => key_bits(process.key, pointer),
                KeyReading::DirectoryBase => process.directory_table_base.map_or(0, |base| base >> 12),
            };
            if key != 0 {
                directory.by_key.entry(key).or_default().push(life);
            }
        }
        let by_begin = |lives: &mut Vec<Life>| lives.sort_by_key(|life| life.begin);
        directory.by_id.values_mut().for_each(by_begin);
        directory.by_key.values_mut().for_each(by_begin);
        directory
    }

    /// All lives of an id by time.
    pub fn lives(&self, process_id: u32) -> &[Life] {
        self.by_id.get(&process_id).map_or(&[], Vec::as_slice)
    }

    /// The life of an id at a moment.
    #[inline]
    pub fn by_id(&self, process_id: u32, moment: Moment) -> Option<&Life> {
        alive(self.lives(process_id), moment)
    }

    /// The life that an owner key names at a moment: the one that is alive, or else the next to begin, for pages of a
    /// process are touched before its start is logged.
    #[inline]
    pub fn by_key(&self, key: u64, moment: Moment) -> Option<&Life> {
        let lives = self.by_key.get(&key)?;
        alive(lives, moment).or_else(|| lives.get(lives.partition_point(|life| life.begin <= moment)))
    }

    /// The process that a thread starts next: whose address space it touches now without an id.
    pub fn newborn(&self, thread_id: u32, moment: Moment) -> Option<(Moment, u32)> {
        next_start(&self.starts, thread_id, moment)
    }

    /// Session of an instance.
    pub fn session(&self, instance: u32) -> Option<u32> {
        self.processes.instances.get(instance as usize)?.session_id
    }

    /// Process id of an instance.
    #[inline]
    pub fn process_id(&self, instance: u32) -> u32 {
        self.ids.get(instance as usize).copied().unwrap_or(u32::MAX)
    }
}

#[inline]
fn alive(lives: &[Life], moment: Moment) -> Option<&Life> {
    let behind = lives.partition_point(|life| life.begin <= moment);
    lives.get(behind.checked_sub(1)?).filter(|life| moment < life.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_survive_packing() {
        for owner in [
            Owner::System,
            Owner::Session(u32::MAX),
            Owner::Process(7),
            Owner::UnknownProcess(4242),
            Owner::UnknownKey(0xe080_1234_5080),
        ] {
            assert_eq!(OwnerId::new(owner).owner(), owner);
        }
        assert_eq!(OwnerId::new(Owner::System), OwnerId::SYSTEM);
    }
}
