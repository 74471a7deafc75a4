//! Names of threads and their processes.

use crate::analysis::cpu::query::Dimension;
use crate::analysis::cpu::replay::thread_instances::{ProcessEvidence, ThreadIndex, ThreadInstance};
use crate::model::process::{Instance, Processes};
use foldhash::HashMap as FastMap;
use std::sync::Arc;

/// Process labels of all threads.
#[derive(Debug)]
pub struct Labels<'l> {
    instances: &'l [ThreadInstance],
    processes: Vec<Arc<str>>,
}

impl<'l> Labels<'l> {
    /// Of these threads.
    pub fn new(instances: &'l [ThreadInstance], processes: &Processes) -> Labels<'l> {
        let mut known: FastMap<String, Arc<str>> = FastMap::default();
        let label = |instance: &ThreadInstance| {
            let label = process_label(instance, processes);
            known.entry(label).or_insert_with_key(|label| label.as_str().into()).clone()
        };
        Labels { instances, processes: instances.iter().map(label).collect() }
    }

    /// The process of a thread.
    pub fn process(&self, instance: ThreadIndex) -> Arc<str> {
        self.processes.get(instance as usize).cloned().unwrap_or_else(|| "Unknown".into())
    }

    /// The label of a thread on a processor.
    pub fn label(&self, dimension: Dimension, instance: ThreadIndex, processor: u16) -> String {
        match dimension {
            Dimension::Process => self.process(instance).to_string(),
            Dimension::Thread => {
                self.instances.get(instance as usize).map_or(0, |instance| instance.thread_id).to_string()
            }
            Dimension::Processor => processor.to_string(),
        }
    }
}

/// `name.exe (pid)`; `Unknown` without a record of the thread, `Unknown (pid)` without one of the process.
pub fn process_label(instance: &ThreadInstance, processes: &Processes) -> String {
    let Some(ProcessEvidence { process_id, moment, is_start }) = instance.process else { return "Unknown".to_owned() };
    if process_id == 0 {
        return "Idle (0)".to_owned();
    }
    let indices = processes.lives(process_id);
    let all = || indices.iter().filter_map(|index| processes.instances.get(*index));
    let alive = all().rev().find(|process| process.is_alive(moment));
    // Threads end after their process has ended, and start before its start has been logged.
    let next = || all().find(|process| process.begin > moment).filter(|_| is_start);
    let before = || all().rev().find(|process| process.begin <= moment);
    let found = alive.or_else(next).or_else(before).or_else(|| all().next());
    found.map_or_else(|| format!("Unknown ({process_id})"), Instance::label)
}
