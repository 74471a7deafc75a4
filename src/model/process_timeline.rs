//! Process lifetimes over time: which process an id or an owner key names at a given moment.
//!
//! Lifetimes are bounded by moments (time stamp, then file order), not by stamps: an access can have the same stamp as
//! the start of its process.

use crate::event::process::ProcessPhase;
use crate::load::history::History;
use crate::load::process_starts::next_start;
use crate::model::owner_key::{KeyReading, key_bits};
use crate::model::process::Processes;
use crate::moment::Moment;
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;

/// One life of a process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLifetime {
    /// When it began; [`Moment::FIRST`] when before the trace.
    pub begin: Moment,
    /// When it ended; [`Moment::LAST`] when after the trace.
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
pub struct ProcessTimeline<'h> {
    /// All instances.
    pub processes: &'h Processes,
    /// How owner keys are read.
    pub reading: KeyReading,
    /// Process ids of the instances.
    ids: Vec<u32>,
    by_id: FastMap<u32, Vec<ProcessLifetime>>,
    by_key: FastMap<u64, Vec<ProcessLifetime>>,
    /// Thread that logged a start, moment, instance.
    starts: Vec<(u32, Moment, u32)>,
}

impl<'h> ProcessTimeline<'h> {
    /// From the process events.
    pub fn new(
        history: &History,
        processes: &'h Processes,
        reading: KeyReading,
        pointer: PointerSize,
    ) -> ProcessTimeline<'h> {
        let at = |time: Option<Ticks>, none: Moment| time.map_or(none, |time| Moment { time, order: 0 });
        let mut lives: Vec<ProcessLifetime> = (0..)
            .zip(&processes.instances)
            .map(|(instance, process)| ProcessLifetime {
                begin: at(process.start, Moment::FIRST),
                end: at(process.end, Moment::LAST),
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
            ProcessTimeline { processes, reading, ids, by_id: FastMap::default(), by_key: FastMap::default(), starts };
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
        let by_begin = |lives: &mut Vec<ProcessLifetime>| lives.sort_by_key(|life| life.begin);
        directory.by_id.values_mut().for_each(by_begin);
        directory.by_key.values_mut().for_each(by_begin);
        directory
    }

    /// All lives of an id by time.
    pub fn lives(&self, process_id: u32) -> &[ProcessLifetime] {
        self.by_id.get(&process_id).map_or(&[], Vec::as_slice)
    }

    /// The life of an id at a moment.
    #[inline]
    pub fn by_id(&self, process_id: u32, moment: Moment) -> Option<&ProcessLifetime> {
        alive(self.lives(process_id), moment)
    }

    /// The life that an owner key names at a moment: the one that is alive, or else the next to begin, for pages of a
    /// process are touched before its start is logged.
    #[inline]
    pub fn by_key(&self, key: u64, moment: Moment) -> Option<&ProcessLifetime> {
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
fn alive(lives: &[ProcessLifetime], moment: Moment) -> Option<&ProcessLifetime> {
    let behind = lives.partition_point(|life| life.begin <= moment);
    lives.get(behind.checked_sub(1)?).filter(|life| moment < life.end)
}
