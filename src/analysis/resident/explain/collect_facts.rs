//! What a page was joined with: process, ranges, files, kernel images, each with the events that name it.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::classify::ClassifiedPage;
use crate::analysis::resident::explain::address_history::{self, AddressEvent};
use crate::analysis::resident::explain::cited_event::{self, CitedEvent};
use crate::analysis::resident::explain::fact::{Fact, fact};
use crate::analysis::resident::explain::ranges::RangesAt;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::etl::record_id::HookId;
use crate::event::file_name_and_view::ViewKind;
use crate::event::hooks::KERNEL_MEM_USAGE;
use crate::event::image::Image;
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::load::owned_events::KernelView;
use crate::load::space_events::SpaceReader;
use crate::model::address_index::AddressOwner;
use crate::model::address_space_at::{lifetime, space_at};
use crate::model::snapshot::Snapshot;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::is_kernel_address;
use crate::units::{PAGE_BYTES, count};

/// Most events of one fact.
const MOST_EVENTS: usize = 6;

/// Everything about one page or address.
pub(super) struct FactCollector<'m> {
    trace: &'m Trace,
    context: &'m SnapshotContext<'m>,
    snapshot: &'m Snapshot,
    pub(super) facts: Vec<Fact>,
    pub(super) history: Vec<AddressEvent>,
    pub(super) more_history: usize,
}

impl<'m> FactCollector<'m> {
    fn new(trace: &'m Trace, context: &'m SnapshotContext<'m>, snapshot: &'m Snapshot) -> FactCollector<'m> {
        FactCollector { trace, context, snapshot, facts: Vec::new(), history: Vec::new(), more_history: 0 }
    }

    /// The facts about a page.
    pub(super) fn of_page(
        trace: &'m Trace,
        context: &'m SnapshotContext<'m>,
        snapshot: &'m Snapshot,
        page: &PageIdentity,
        classified: &ClassifiedPage,
    ) -> FactCollector<'m> {
        let mut all = FactCollector::new(trace, context, snapshot);
        let page_use = page.page_use();
        if context.has_owner(page_use) && page.key() != 0 {
            let instance = context.owners.get(page.key());
            match instance {
                Some(instance) => all.process(instance),
                None => {
                    all.add("process", "Process", "none: the key names no process of that time".into(), None, vec![])
                }
            }
            if let Some(instance) = instance.filter(|_| page_use == PageUse::ProcessPrivate && page.u2 != 0) {
                all.user_address(instance, page.u2, classified.address_owner);
            }
        }
        match page_use {
            PageUse::File | PageUse::MetaFile => all.file(page.file_key()),
            PageUse::SystemPte | PageUse::SessionPrivate => all.kernel_address(page.u2),
            PageUse::PagedPool | PageUse::NonPagedPool if context.pool_tag(page.u2).is_some() => {
                all.kernel_address(page.u2);
            }
            _ => {}
        }
        // Where the list decides, no range does. WPA looks at the transition list only.
        if Rule::of_list(page.list()).is_some() {
            all.facts.iter_mut().for_each(|fact| fact.corrected = false);
        }
        if page.list() == PageList::Transition {
            all.facts.iter_mut().for_each(|fact| fact.wpa = false);
        }
        all
    }

    /// The facts about an address in a process.
    pub(super) fn of_address(
        trace: &'m Trace,
        context: &'m SnapshotContext<'m>,
        snapshot: &'m Snapshot,
        instance: u32,
        address: u64,
        owner: AddressOwner,
    ) -> FactCollector<'m> {
        let mut all = FactCollector::new(trace, context, snapshot);
        all.process(instance);
        if is_kernel_address(address, context.pointer) {
            all.kernel_address(address);
        } else {
            all.user_address(instance, address, owner);
        }
        all
    }

    fn add(
        &mut self,
        kind: &'static str,
        title: &'static str,
        text: String,
        range: Option<(u64, u64)>,
        events: Vec<CitedEvent>,
    ) {
        self.facts.push(fact(kind, title, text, range, events));
    }

    fn event(&self, hook: HookId, moment: Moment) -> CitedEvent {
        CitedEvent::new(self.trace.etl(), hook, moment.time)
    }

    fn process(&mut self, instance: u32) {
        let Some(process) = self.trace.processes().instances.get(instance as usize) else { return };
        let seconds = |ticks| format!("{:.6} s", self.trace.time(ticks).seconds());
        let from = process.start_time().map_or_else(|| process.unknown_start("before the trace"), seconds);
        let to = process.end_time().map_or("its end".into(), seconds);
        let session = process.session_id.map_or("no session".into(), |session| format!("session {session}"));
        let text = format!("{}, {session}, alive from {from} to {to}", process.label());
        let events: Vec<CitedEvent> = (self.trace.system().processes.iter())
            .filter(|e| e.value.process_id == process.process_id && (e.value.key == process.key || e.value.key == 0))
            .map(|e| self.event(e.value.phase.hook(), e.moment))
            .take(MOST_EVENTS)
            .collect();
        self.add("process", "Process", text, None, events);
    }

    fn user_address(&mut self, instance: u32, address: u64, owner: AddressOwner) {
        let (trace, snapshot) = (self.trace, self.snapshot.first);
        let Some(process) = trace.processes().instances.get(instance as usize) else { return };
        let Some(events) = trace.spaces().by_process_id.get(&process.process_id) else { return };
        let mut reader = SpaceReader::default();
        let events = events.read(trace.etl(), &mut reader);
        let space = space_at(events, process, snapshot, trace.rundowns()).space;
        let own = lifetime(events, process);
        // A page belongs to a range by its first byte.
        let at = address / PAGE_BYTES * PAGE_BYTES;
        let ranges = RangesAt { etl: trace.etl(), space: &space, own, at, owner, snapshot };
        let mut found = ranges.facts();
        if found.is_empty() {
            let text = "in no heap range, stack, view or region of the process".into();
            found.push(fact("no_range", "Address", text, None, Vec::new()));
        }
        self.facts.append(&mut found);
        if let Some((.., view)) = space.views.get(at)
            && view.kind != ViewKind::PagefileBacked
        {
            self.file(view.file_key);
        }
        (self.history, self.more_history) = address_history::at_address(trace.etl(), own, &space, at, snapshot);
    }

    fn kernel_address(&mut self, address: u64) {
        let kernel = &self.context.kernel;
        if let Some(block) = kernel.pfn_database.iter().rfind(|block| block.address <= address)
            && self.context.is_pfn_database(address)
        {
            let told = self.trace.spaces().kernel_blocks.iter().filter(|event| event.value == *block);
            let events = told.map(|e| self.event(KERNEL_MEM_USAGE, e.moment)).take(MOST_EVENTS).collect();
            let text = format!("PFN database, {} pages", count(block.pages));
            self.facts.push(Fact {
                corrected: true,
                ..fact("pfn_database", "Kernel block", text, Some(block.range()), events)
            });
        }
        if let Some((base, end, path)) = kernel.images.get(address) {
            let told = self.trace.system().kernel_images.iter().filter(|e| e.value.base == base);
            let events = told.map(|e| self.event(Image::hook(e.value.phase), e.moment)).take(MOST_EVENTS).collect();
            let in_database = self.context.is_pfn_database(address);
            let image = fact("kernel_image", "Kernel image", (*path).to_owned(), Some((base, end)), events);
            self.facts.push(Fact { corrected: !in_database, wpa: !in_database, ..image });
        }
        if let Some((base, end, &(kind, key))) = kernel.views.get(address) {
            let told = self.trace.system().kernel_views.iter().filter(|e| e.value.base == base);
            let hook = |view: &KernelView| cited_event::hook(&view.as_view());
            let events = told.map(|e| self.event(hook(&e.value), e.moment)).take(MOST_EVENTS).collect();
            let image = matches!(kind, ViewKind::Image | ViewKind::ImageOtherProtection);
            let text = if image { "view of a session image" } else { "view at a kernel address" };
            let view = fact("session_view", "Session view", text.into(), Some((base, end)), events);
            self.facts.push(Fact { corrected: image, wpa: image, ..view });
            self.file(key);
        }
        if let Some((base, end, tag)) = kernel.pool.get(address) {
            let text = format!("big pool allocation, tag \"{tag}\"");
            self.facts.push(fact("pool_allocation", "Pool", text, Some((base, end)), Vec::new()));
        }
        if self.facts.iter().all(|fact| fact.range.is_none()) {
            let text = "in no kernel image, session view or PFN database that the trace knows".into();
            self.add("no_range", "Address", text, None, Vec::new());
        }
    }

    fn file(&mut self, key: u64) {
        let text = match self.context.files.name(key) {
            Some(name) => format!("key 0x{key:x}: {name}"),
            None => format!("key 0x{key:x}: no event names it"),
        };
        let all: Vec<_> = self.trace.files().names.iter().filter(|event| event.value.key == key).collect();
        let events = all.iter().map(|e| self.event(e.value.kind.hook(), e.moment)).take(MOST_EVENTS).collect();
        self.add("file", "File", text, None, events);
        // A reused key had other names: show which name when.
        let first = all.first().map(|event| &event.value.name);
        if all.iter().any(|event| Some(&event.value.name) != first) {
            let seen = all.iter().map(|e| AddressEvent {
                event: self.event(e.value.kind.hook(), e.moment),
                range: None,
                text: e.value.name.to_string(),
                rundown: false,
                after: e.moment >= self.snapshot.first,
            });
            let seen: Vec<AddressEvent> = seen.take(address_history::MOST_ADDRESS_EVENTS).collect();
            self.more_history += all.len() - seen.len();
            self.history.extend(seen);
        }
    }
}
