//! Names of threads and their processes.

use crate::analysis::cpu::lives::{Described, Life, LifeId};
use crate::analysis::cpu::query::Dimension;
use crate::model::process::{Instance, Processes};
use foldhash::HashMap as FastMap;
use std::sync::Arc;

/// Process labels of all lives.
#[derive(Debug)]
pub struct Labels<'l> {
    lives: &'l [Life],
    processes: Vec<Arc<str>>,
}

impl<'l> Labels<'l> {
    /// Of these lives.
    pub fn new(lives: &'l [Life], processes: &Processes) -> Labels<'l> {
        let mut known: FastMap<String, Arc<str>> = FastMap::default();
        let label = |life: &Life| {
            let label = process_label(life, processes);
            known.entry(label).or_insert_with_key(|label| label.as_str().into()).clone()
        };
        Labels { lives, processes: lives.iter().map(label).collect() }
    }

    /// The process of a life.
    pub fn process(&self, life: LifeId) -> Arc<str> {
        self.processes.get(life as usize).cloned().unwrap_or_else(|| "Unknown".into())
    }

    /// The label of a life on a processor.
    pub fn label(&self, dimension: Dimension, life: LifeId, processor: u16) -> String {
        match dimension {
            Dimension::Process => self.process(life).to_string(),
            Dimension::Thread => self.lives.get(life as usize).map_or(0, |life| life.thread_id).to_string(),
            Dimension::Processor => processor.to_string(),
        }
    }
}

/// `name.exe (pid)`; `Unknown` without a record of the thread, `Unknown (pid)` without one of the process.
pub fn process_label(life: &Life, processes: &Processes) -> String {
    let Some(Described { process_id, moment, is_start }) = life.process else { return "Unknown".to_owned() };
    if process_id == 0 {
        return "Idle (0)".to_owned();
    }
    let lives = processes.lives(process_id);
    let instance = |index: &usize| processes.instances.get(*index);
    let all = || lives.iter().filter_map(instance);
    let alive = all().rev().find(|process| process.is_alive(moment));
    // Threads end after their process has ended, and start before its start has been logged.
    let next = || all().find(|process| process.begin > moment).filter(|_| is_start);
    let before = || all().rev().find(|process| process.begin <= moment);
    let found = alive.or_else(next).or_else(before).or_else(|| all().next());
    found.map_or_else(|| format!("Unknown ({process_id})"), Instance::label)
}
