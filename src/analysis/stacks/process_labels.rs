//! Which process an event is of, as a label.

use crate::event::Phase;
use crate::load::stacks::first_walk::ThreadRecord;
use crate::load::stacks::second_walk::Owner;
use crate::model::process::Processes;
use crate::moment::{At, Moment};
use foldhash::HashMap as FastMap;

/// Process and thread ids over time.
pub struct Owners<'t> {
    processes: &'t Processes,
    by_id: FastMap<u32, Vec<usize>>,
    /// First record of each thread id, and its starts.
    threads: FastMap<u32, (u32, Vec<(Moment, u32)>)>,
}

impl<'t> Owners<'t> {
    /// Of a trace.
    pub fn new(processes: &'t Processes, threads: &[At<ThreadRecord>]) -> Owners<'t> {
        let mut by_id: FastMap<u32, Vec<usize>> = FastMap::default();
        for (index, process) in processes.instances.iter().enumerate().take(processes.named) {
            by_id.entry(process.process_id).or_default().push(index);
        }
        let mut of_threads: FastMap<u32, (u32, Vec<(Moment, u32)>)> = FastMap::default();
        for At { moment, value } in threads {
            let (_, starts) = of_threads.entry(value.thread_id).or_insert_with(|| (value.process_id, Vec::new()));
            if value.phase == Phase::Start {
                starts.push((*moment, value.process_id));
            }
        }
        Owners { processes, by_id, threads: of_threads }
    }

    /// The process of an event without a stack.
    pub fn process_of(&self, owner: Owner, moment: Moment) -> Option<u32> {
        match owner {
            Owner::Process(id) => id,
            Owner::Thread(0) => Some(0),
            Owner::Thread(id) => {
                let (first, starts) = self.threads.get(&id)?;
                let last = starts.get(..starts.partition_point(|(start, _)| *start <= moment)).and_then(<[_]>::last);
                Some(last.map_or(*first, |(_, process)| *process))
            }
        }
    }

    /// The instance that an id names: of its last start, else of its first record.
    pub fn instance(&self, id: u32, moment: Moment) -> Option<usize> {
        let lives = self.by_id.get(&id).map_or(&[][..], Vec::as_slice);
        let has_started = |index: &usize| {
            self.processes.instances.get(*index).is_some_and(|life| life.start_logged && life.begin <= moment)
        };
        lives.iter().rev().copied().find(has_started).or_else(|| lives.first().copied())
    }

    /// `name (pid)` of that instance.
    pub fn label(&self, process_id: Option<u32>, moment: Moment) -> String {
        let Some(id) = process_id else { return "Unknown".to_owned() };
        let found = self.instance(id, moment).and_then(|index| self.processes.instances.get(index));
        found.map_or_else(|| format!("Unknown ({id})"), |process| process.label())
    }
}
