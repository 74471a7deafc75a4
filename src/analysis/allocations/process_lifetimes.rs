//! Process instances as allocations see them: an id is used again, and a record after the end of an instance changes nothing.
//!
//! Source: `docs/allocations.md` ("Processes"). [`crate::model::process`] joins more (keys, names); here only starts and ends count.

use crate::dimensions::Label;
use crate::event::process::ProcessPhase;
use crate::load::creator_threads::CreatorThreads;
use crate::load::owned_events::ProcessEvent;
use crate::model::process::Processes;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::HashSet;

/// Number of a life.
pub type LifeId = u32;

/// One process, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Process id.
    pub process_id: u32,
    /// Its start record; `None`: before the trace.
    pub begin: Option<Moment>,
    /// Its end; [`Moment::LAST`]: it outlived the trace.
    pub end: Moment,
    /// True for one that only stands for its id: a record names a process that is not alive.
    is_unknown: bool,
}

impl Life {
    /// True at a moment from its begin to its end, for the process with this id.
    fn is_alive(&self, process_id: u32, moment: Moment) -> bool {
        let has_begun = self.begin.is_none_or(|begin| begin <= moment);
        self.process_id == process_id && has_begun && moment < self.end && !self.is_unknown
    }
}

/// Whose a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This one's.
    Life(LifeId),
    /// A process that has ended.
    Ended,
    /// No process that is known.
    Nobody,
}

/// Places of [`Lives::recent`]; a power of two.
const RECENT: usize = 64;

/// All lives.
#[derive(Debug)]
pub struct Lives {
    /// In no order.
    pub all: Vec<Life>,
    /// By process id, in order of time.
    by_id: FastMap<u32, Vec<LifeId>>,
    /// Those that were asked for last, by the last bits of their ids.
    recent: [LifeId; RECENT],
    starts: CreatorThreads,
}

impl Default for Lives {
    fn default() -> Self {
        let (all, by_id, starts) = (Vec::new(), FastMap::default(), CreatorThreads::default());
        Lives { all, by_id, recent: [LifeId::MAX; RECENT], starts }
    }
}

impl Lives {
    /// By the process records of a trace, which are in order.
    pub fn new(records: &[At<ProcessEvent>]) -> Lives {
        let mut lives = Lives::default();
        for At { moment, value } in records {
            let (id, moment) = (value.process_id, *moment);
            let last = lives.by_id.get(&id).and_then(|of| of.last()).copied();
            match value.phase {
                ProcessPhase::Start => {
                    // Its end was lost; or nothing told of one before, but records may come.
                    let before = last.unwrap_or_else(|| lives.add(id, None));
                    lives.end(before, moment);
                    let life = lives.add(id, Some(moment));
                    value.thread_id.into_iter().for_each(|thread| lives.starts.add(thread, moment, life));
                }
                ProcessPhase::DcStart | ProcessPhase::DcEnd if last.is_none() => _ = lives.add(id, None),
                ProcessPhase::End => {
                    let life = last.unwrap_or_else(|| lives.add(id, None));
                    lives.end(life, moment);
                }
                ProcessPhase::DcStart | ProcessPhase::DcEnd | ProcessPhase::Defunct => {}
            }
        }
        lives.starts.sort();
        lives
    }

    fn add(&mut self, process_id: u32, begin: Option<Moment>) -> LifeId {
        let life = self.all.len() as LifeId;
        self.all.push(Life { process_id, begin, end: Moment::LAST, is_unknown: false });
        self.by_id.entry(process_id).or_default().push(life);
        life
    }

    /// A life that stands for an id whose process is not alive.
    pub fn add_unknown(&mut self, process_id: u32) -> LifeId {
        self.all.push(Life { process_id, begin: None, end: Moment::LAST, is_unknown: true });
        self.all.len() as LifeId - 1
    }

    fn end(&mut self, life: LifeId, moment: Moment) {
        let life = self.all.get_mut(life as usize).filter(|life| life.end == Moment::LAST);
        life.into_iter().for_each(|life| life.end = moment);
    }

    /// A life by its number.
    pub fn get(&self, life: LifeId) -> Option<&Life> {
        self.all.get(life as usize)
    }

    /// How many there are.
    #[cfg(feature = "cli")]
    pub fn count(&self) -> LifeId {
        self.all.len() as LifeId
    }

    /// Whose a record with this process id is. An id of which there is no process record becomes a life from before the trace.
    #[inline]
    pub fn of(&mut self, process_id: u32, moment: Moment) -> Owner {
        // Ids are multiples of 4.
        let slot = (process_id >> 2) as usize % RECENT;
        let recent = self.recent.get(slot).and_then(|life| Some((*life, self.all.get(*life as usize)?)));
        match recent {
            Some((life, found)) if found.is_alive(process_id, moment) => Owner::Life(life),
            _ => self.searched(process_id, moment, slot),
        }
    }

    fn searched(&mut self, process_id: u32, moment: Moment, slot: usize) -> Owner {
        let Some(of_id) = self.by_id.get(&process_id) else { return Owner::Life(self.add(process_id, None)) };
        let begun =
            |life: &LifeId| self.all.get(*life as usize).is_some_and(|life| life.begin.is_none_or(|b| b <= moment));
        let last = of_id.partition_point(begun).checked_sub(1).and_then(|last| of_id.get(last));
        match last.map(|life| (*life, self.all.get(*life as usize))) {
            Some((life, Some(found))) if moment < found.end => {
                self.recent.get_mut(slot).into_iter().for_each(|recent| *recent = life);
                Owner::Life(life)
            }
            Some(_) => Owner::Ended,
            None => Owner::Nobody,
        }
    }

    /// The same for a record that can be of a process without an id yet: of the one that its thread starts next.
    pub fn of_range(&mut self, process_id: u32, thread_id: Option<u32>, moment: Moment) -> Owner {
        if process_id != 0 {
            return self.of(process_id, moment);
        }
        let next = thread_id.and_then(|thread| self.starts.next(thread, moment));
        next.map_or(Owner::Nobody, |(_, life)| Owner::Life(life))
    }

    /// The process instance of a life, by its place in the list.
    pub fn instance(&self, life: LifeId, processes: &Processes) -> Option<usize> {
        let life = self.get(life).filter(|life| !life.is_unknown)?;
        if let Some(begin) = life.begin {
            return processes.alive(life.process_id, begin);
        }
        let is_from_before = |at: &usize| {
            let instance = processes.instances.get(*at);
            instance.is_some_and(|instance| instance.begin == Moment::FIRST && !instance.start_logged)
        };
        processes.instances_of(life.process_id).iter().copied().find(is_from_before)
    }

    /// `name (pid)` of a life.
    pub fn label(&self, life: LifeId, processes: &Processes) -> Label {
        let instance = self.instance(life, processes).and_then(|at| processes.instances.get(at));
        match (instance, self.get(life)) {
            (Some(instance), _) => Label::process(&instance.name, instance.process_id),
            (None, Some(life)) => Label::process("", life.process_id),
            (None, None) => Label::name(""),
        }
    }

    /// Names with ids that several processes had, one after the other.
    pub fn repeated_labels(&self, processes: &Processes) -> HashSet<Label> {
        let mut once = HashSet::new();
        let several = self.by_id.values().filter(|of_id| of_id.len() > 1);
        let labels = several.flatten().map(|life| self.label(*life, processes));
        labels.filter(|label| !once.insert(label.clone())).collect()
    }

    /// When it began; `None`: before the trace.
    pub fn start(&self, life: LifeId) -> Option<Ticks> {
        self.get(life)?.begin.map(|begin| begin.time)
    }

    /// Id and end of a life from before the trace, if it has ended.
    pub fn ended(&self, life: LifeId) -> Option<(u32, Ticks)> {
        let life =
            self.get(life).filter(|life| !life.is_unknown && life.begin.is_none() && life.end != Moment::LAST)?;
        Some((life.process_id, life.end.time))
    }

    /// Ends in order.
    pub fn ends(&self) -> Vec<(Moment, LifeId)> {
        let ends = (0..).zip(&self.all).filter(|(_, life)| life.end != Moment::LAST).map(|(id, life)| (life.end, id));
        let mut ends: Vec<(Moment, LifeId)> = ends.collect();
        ends.sort_unstable();
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: i64, phase: ProcessPhase, process_id: u32) -> At<ProcessEvent> {
        let value = ProcessEvent {
            phase,
            key: 1,
            process_id,
            session_id: None,
            directory_table_base: None,
            image_name: b"a".to_vec().into(),
            parent_id: 4,
            command_line: "".into(),
            exit_status: 0,
            thread_id: Some(40),
        };
        At { moment: at(time), value }
    }

    fn at(time: i64) -> Moment {
        Moment { time: Ticks(time), order: 0 }
    }

    #[test]
    fn ids_that_come_back_are_other_lives() {
        use ProcessPhase::*;
        let mut lives = Lives::new(&[
            record(0, DcStart, 8),
            record(5, End, 8),
            record(9, Start, 8),
            record(12, Start, 8),
            record(20, DcEnd, 8),
            record(20, Defunct, 16),
            record(21, Start, 24),
        ]);
        let begins: Vec<_> = [1, 5, 7, 9, 12, 30].map(|time| lives.of(8, at(time))).into();
        let life = |number| Owner::Life(number);
        assert_eq!(begins, [life(0), Owner::Ended, Owner::Ended, life(1), life(2), life(2)]);
        assert_eq!(lives.of(16, at(1)), Owner::Life(5), "a defunct process opens none");
        // Records before the first start of an id are of a process from before the trace, which that start ends.
        assert_eq!((lives.of(24, at(20)), lives.of(24, at(21))), (Owner::Life(3), Owner::Life(4)));
        assert_eq!(lives.ends().iter().map(|(moment, _)| moment.time.0).collect::<Vec<_>>(), [5, 12, 21]);
        assert_eq!(lives.of_range(0, Some(40), at(10)), Owner::Life(2));
        assert_eq!(lives.of_range(0, Some(40), at(22)), Owner::Nobody);
        assert_eq!(lives.of_range(0, None, at(10)), Owner::Nobody);
    }
}
