//! Names of threads and their processes.

use crate::analysis::cpu::query::Dimension;
use crate::analysis::cpu::replay::thread_instances::{ThreadIndex, ThreadInstance};
use crate::model::process::Processes;
use foldhash::HashMap as FastMap;
use std::sync::Arc;

/// Process labels of all threads.
#[derive(Debug)]
pub struct Labels<'l> {
    instances: &'l [ThreadInstance],
    processes: Vec<Arc<str>>,
}

impl<'l> Labels<'l> {
    /// The labels of these threads.
    pub fn new(instances: &'l [ThreadInstance], processes: &Processes) -> Labels<'l> {
        let mut known: FastMap<String, Arc<str>> = FastMap::default();
        let label = |instance: &ThreadInstance| {
            let label = instance.process_label(processes);
            known.entry(label).or_insert_with_key(|label| label.as_str().into()).clone()
        };
        Labels { instances, processes: instances.iter().map(label).collect() }
    }

    /// The process of a thread.
    pub fn process(&self, instance: ThreadIndex) -> Arc<str> {
        self.processes.get(instance as usize).cloned().unwrap_or_else(|| "Unknown".into())
    }

    /// The id of a thread; 0 where it is not known.
    pub fn thread_id(&self, instance: ThreadIndex) -> u32 {
        self.instances.get(instance as usize).map_or(0, |instance| instance.thread_id)
    }

    /// The label of a thread on a processor.
    pub fn label(&self, dimension: Dimension, instance: ThreadIndex, processor: u16) -> String {
        match dimension {
            Dimension::Process => self.process(instance).to_string(),
            Dimension::Thread => self.thread_id(instance).to_string(),
            Dimension::Processor => processor.to_string(),
        }
    }
}
