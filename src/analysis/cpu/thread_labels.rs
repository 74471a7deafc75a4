//! Names of threads and their processes.

use crate::analysis::cpu::query::Dimension;
use crate::analysis::cpu::replay::thread_instances::{ThreadIndex, ThreadInstance};
use crate::facets::process::{ProcessCode, ProcessFacts};
use crate::facets::{Condition, Label, NO_LABEL, ProcessFacet};
use crate::model::page_owner_key::KeyReading;
use crate::model::process::Processes;
use crate::model::services::Services;
use foldhash::HashMap as FastMap;
use std::sync::Arc;

/// Processes of all threads.
#[derive(Debug)]
pub struct Labels<'l> {
    instances: &'l [ThreadInstance],
    processes: &'l Processes,
    services: Option<Services>,
    codes: Vec<ProcessCode>,
    names: FastMap<ProcessCode, Arc<str>>,
}

impl<'l> Labels<'l> {
    /// The labels of these threads.
    pub fn new(instances: &'l [ThreadInstance], processes: &'l Processes, services: Option<Services>) -> Labels<'l> {
        let codes: Vec<ProcessCode> = instances.iter().map(|instance| instance.process_code(processes)).collect();
        let mut labels = Labels { instances, processes, services, codes, names: FastMap::default() };
        let mut names: FastMap<ProcessCode, Arc<str>> = FastMap::default();
        for &code in &labels.codes {
            names.entry(code).or_insert_with(|| labels.of_process(ProcessFacet::Process, code).as_str().into());
        }
        labels.names = names;
        labels
    }

    fn of_process(&self, facet: ProcessFacet, code: ProcessCode) -> Label {
        // Threads have no owner keys.
        let reading = KeyReading::ProcessId;
        let facts =
            ProcessFacts { processes: self.processes, services: self.services.as_ref(), reading, nobody: NO_LABEL };
        facet.label(code, &facts)
    }

    fn code(&self, instance: ThreadIndex) -> ProcessCode {
        self.codes.get(instance as usize).copied().unwrap_or(ProcessCode::Unknown)
    }

    /// The process of a thread.
    pub fn process(&self, instance: ThreadIndex) -> Arc<str> {
        self.names.get(&self.code(instance)).cloned().unwrap_or_else(|| "Unknown".into())
    }

    /// The id of a thread; 0 where it is not known.
    pub fn thread_id(&self, instance: ThreadIndex) -> u32 {
        self.instances.get(instance as usize).map_or(0, |instance| instance.thread_id)
    }

    /// The label of a thread on a processor.
    pub fn label(&self, dimension: Dimension, instance: ThreadIndex, processor: u16) -> Label {
        match dimension {
            Dimension::Process(of) => self.of_process(of, self.code(instance)),
            Dimension::Thread => Label::number(self.thread_id(instance)),
            Dimension::Processor => Label::number(processor),
            Dimension::Module => Label::nothing(),
        }
    }

    /// True when a thread on a processor meets the conditions on the dimensions that `of` chooses.
    pub fn meets(
        &self,
        conditions: &[Condition<Dimension>],
        of: impl Fn(Dimension) -> bool,
        (instance, processor): (ThreadIndex, u16),
    ) -> bool {
        let mut chosen = conditions.iter().filter(|condition| of(condition.dimension));
        chosen.all(|condition| condition.lets_pass([&self.label(condition.dimension, instance, processor)]))
    }
}
