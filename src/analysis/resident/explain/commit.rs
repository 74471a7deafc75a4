//! Who committed the address of a page: the record, and its stack.

use crate::analysis::resident::commit_stacks::CommitStacks;
use crate::analysis::resident::explain::cited_event::CitedEvent;
use crate::analysis::resident::explain::fact::{Fact, fact};
use crate::event::hooks::VIRTUAL_ALLOC;
use crate::load::space_events::SpaceReader;
use crate::model::address_space_at::lifetime;
use crate::model::commits::commits_at;
use crate::moment::Moment;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use std::cell::OnceCell;

/// The stacks of a trace, joined when the first page asks for them.
pub(super) struct StacksOnDemand<'t> {
    trace: &'t Trace,
    symbols: &'t SymbolFolders,
    stacks: OnceCell<CommitStacks>,
}

impl<'t> StacksOnDemand<'t> {
    /// Not joined yet.
    pub fn new(trace: &'t Trace, symbols: &'t SymbolFolders) -> StacksOnDemand<'t> {
        StacksOnDemand { trace, symbols, stacks: OnceCell::new() }
    }

    /// The record that committed an address of a process instance, and the names of its stack, innermost first; `None` where no record
    /// of the trace did.
    pub fn commit(&self, instance: u32, address: u64, snapshot: Moment) -> Option<(Fact, Option<Vec<String>>)> {
        let process = self.trace.processes().instances.get(instance as usize)?;
        let events = self.trace.spaces().by_process_id.get(&process.process_id)?;
        let mut reader = SpaceReader::default();
        let own = lifetime(events.read(self.trace.etl(), &mut reader), process);
        let commits = commits_at(own, snapshot, |moment| moment);
        let (base, end, &moment) = commits.get(address)?;
        let stacks = self.stacks.get_or_init(|| CommitStacks::new(self.trace, &[], &[], self.symbols));
        let names = stacks.names_at(moment);
        let text = if names.is_some() { "VirtualAlloc" } else { "VirtualAlloc, without a stack" };
        let event = CitedEvent::new(self.trace.etl(), VIRTUAL_ALLOC, moment.time);
        Some((fact("commit", "Commit", text.to_owned(), Some((base, end)), vec![event]), names))
    }

    /// The stacks, where a page asked for them.
    pub fn joined(&self) -> Option<&CommitStacks> {
        self.stacks.get()
    }
}
