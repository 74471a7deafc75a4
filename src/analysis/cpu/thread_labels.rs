//! Names of threads, their processes and the stacks of their switch-ins.

use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::replay::thread_counts::CountedOf;
use crate::analysis::cpu::replay::thread_instances::{IDLE_INSTANCE, ThreadIndex, ThreadInstance, UNKNOWN_INSTANCE};
use crate::analysis::cpu::switch_stacks::SwitchStacks;
use crate::dimensions::process_dimensions::{ProcessCode, ProcessFacts};
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, IDLE, Label, NO_LABEL, ProcessFacet};
use crate::model::page_owner_key::KeyReading;
use crate::model::process::Processes;
use crate::model::services::Services;
use foldhash::HashMap as FastMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Processes of all threads.
#[derive(Debug)]
pub struct Labels<'l> {
    instances: &'l [ThreadInstance],
    processes: &'l Processes,
    services: Option<Services>,
    stacks: Option<&'l SwitchStacks>,
    codes: Vec<ProcessCode>,
    names: FastMap<ProcessCode, Arc<str>>,
    /// Which stacks meet which of the query's conditions, as far as it was asked: many threads have the same.
    met: RefCell<FastMap<(usize, u32), bool>>,
}

impl<'l> Labels<'l> {
    /// The labels of these threads.
    pub fn new(
        instances: &'l [ThreadInstance],
        processes: &'l Processes,
        services: Option<Services>,
        stacks: Option<&'l SwitchStacks>,
    ) -> Labels<'l> {
        let codes: Vec<ProcessCode> = instances.iter().map(|instance| instance.process_code(processes)).collect();
        let mut labels = Labels {
            instances,
            processes,
            services,
            stacks,
            codes,
            names: FastMap::default(),
            met: RefCell::default(),
        };
        let mut names: FastMap<ProcessCode, Arc<str>> = FastMap::default();
        for &code in &labels.codes {
            names.entry(code).or_insert_with(|| labels.of_process(ProcessFacet::Process, code).as_str().into());
        }
        labels.names = names;
        labels
    }

    /// The same, after all threads were asked for where conditions name threads: one that never ran is there, and ran for no time. Its
    /// labels match as far as the conditions on processes before them hold.
    pub(super) fn matching(self, query: &CpuQuery) -> Labels<'l> {
        let is_of_thread = |dimension| matches!(dimension, Dimension::Process(_) | Dimension::Thread);
        if query.conditions.iter().any(|condition| condition.dimension == Dimension::Thread) {
            for id in (0..self.instances.len() as ThreadIndex).filter(|id| *id != UNKNOWN_INSTANCE) {
                let _ = self.meets(&query.conditions, is_of_thread, CountedOf::thread(id, 0));
            }
        }
        self
    }

    fn of_process(&self, facet: ProcessFacet, code: ProcessCode) -> Label {
        // Threads have no owner keys.
        let reading = KeyReading::ProcessId;
        let facts =
            ProcessFacts { processes: self.processes, services: self.services.as_ref(), reading, nobody: NO_LABEL };
        facet.label(code, &facts)
    }

    /// True when no event tells the process of a thread.
    pub(super) fn is_without_process(&self, instance: ThreadIndex) -> bool {
        self.code(instance) == ProcessCode::Unknown
    }

    /// The id of its process, where no event tells the name of that.
    pub(super) fn unnamed_process(&self, instance: ThreadIndex) -> Option<u32> {
        match self.code(instance) {
            ProcessCode::UnknownId(id) => Some(id),
            ProcessCode::Instance(index) => {
                let process = self.processes.instances.get(index as usize)?;
                process.name.is_empty().then_some(process.process_id)
            }
            _ => None,
        }
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

    /// The stacks, and what a dimension is of them; idle threads do not wait.
    fn stacks(&self, dimension: Dimension, of: CountedOf) -> Option<(&'l SwitchStacks, StackFacet)> {
        self.stacks.zip(dimension.of_stack()).filter(|_| of.instance != IDLE_INSTANCE)
    }

    /// The label of what was counted.
    pub fn label(&self, dimension: Dimension, of: CountedOf) -> Label {
        match dimension {
            // Where rows are of many threads, the idle ones have their own.
            Dimension::Process(facet) if of.instance == IDLE_INSTANCE && !names_one(facet) => Label::name(IDLE),
            Dimension::Process(facet) => self.of_process(facet, self.code(of.instance)),
            Dimension::Thread => Label::number(self.thread_id(of.instance)),
            Dimension::Processor => Label::number(of.processor),
            Dimension::Stack
            | Dimension::Function
            | Dimension::Module
            | Dimension::ReadyStack
            | Dimension::ReadyFunction
            | Dimension::ReadyModule => match self.stacks(dimension, of) {
                Some((stacks, facet)) => stacks.label(of.stacks.of(dimension), facet),
                None => Label::name(IDLE),
            },
        }
    }

    /// True when it meets the conditions on the dimensions that `chooses` names. Those on stacks are the query's, in its order.
    pub fn meets(
        &self,
        conditions: &[Condition<Dimension>],
        chooses: impl Fn(Dimension) -> bool,
        of: CountedOf,
    ) -> bool {
        let mut chosen = conditions.iter().enumerate().filter(|(_, condition)| chooses(condition.dimension));
        chosen.all(|(number, condition)| match self.stacks(condition.dimension, of) {
            Some((stacks, facet)) => {
                let stack = of.stacks.of(condition.dimension);
                let mut met = self.met.borrow_mut();
                *met.entry((number, stack)).or_insert_with(|| stacks.meets(stack, facet, condition))
            }
            None => condition.matches([&self.label(condition.dimension, of)]),
        })
    }
}

/// True for what tells one process from another.
pub(super) const fn names_one(facet: ProcessFacet) -> bool {
    matches!(facet, ProcessFacet::Process | ProcessFacet::ProcessName | ProcessFacet::Pid)
}
