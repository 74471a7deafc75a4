//! The visitor that collects the history: it turns decoded events into small owned values for the model.
//!
//! One of them runs on each thread. Records that come in millions (page records) or hundreds of thousands (rundowns of
//! address spaces) are read without the decoder of all events. Events are only sorted by process; `model` interprets them.

use crate::byte_reader::Wide;
use crate::code_page::CodePage;
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::event_area::{EventArea, Records};
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::HookId;
use crate::event::file_name_and_view::MapView;
use crate::event::heap_range::HeapRange;
use crate::event::hooks::*;
use crate::event::memory_counters::MmStats;
use crate::event::page_identity::{PageIdentity, PageKind};
use crate::event::pool::PoolAction;
use crate::event::registry_hive::Hive;
use crate::event::working_set_change::WorkingSetEvent;
use crate::event::{Event, Phase};
use crate::load::count_only::CountOnly;
use crate::load::history::{History, SystemHistory};
use crate::load::owned_events::*;
use crate::load::page_run::{PageRun, cut_and_sort};
use crate::load::scheduling::SchedulingScan;
use crate::load::space_events::{RundownRun, is_many};
use crate::load::survey::Survey;
use crate::load::trace_parts::Parts;
use crate::load::walk::{KindRun, Run, Visitor};
use crate::load::working_set_samples::WorkingSetRecord;
use crate::moment::{At, Moment};
use crate::units::{PAGE_BYTES, Ticks, is_kernel_address};

/// Collects the history on one thread.
pub(crate) struct HistoryVisitor<'r> {
    rank: &'r [u32],
    parts: Parts,
    /// What was collected.
    pub(crate) history: History,
    run: Option<PageRun>,
    count_only: CountOnly,
}

impl<'r> HistoryVisitor<'r> {
    /// An empty collector of these parts, with the ranks of the buffers and the encoding of 8-bit text.
    fn new(parts: Parts, rank: &'r [u32], code_page: CodePage) -> Self {
        let system = SystemHistory { code_page, ..SystemHistory::default() };
        let history = History { system, ..History::default() };
        HistoryVisitor { rank, parts, history, run: None, count_only: CountOnly::default() }
    }

    fn begin_run(&mut self, run: PageRun) {
        self.history.pages.runs.extend(self.run.replace(run));
    }

    fn end_run(&mut self) {
        self.history.pages.runs.extend(self.run.take());
    }

    fn moment(&self, area: &EventArea<'_>, offset: u32, time: Ticks) -> Moment {
        moment(self.rank, area, offset, time)
    }

    /// Adds an event of a process id, or of the process that thread `creator` is creating.
    #[inline]
    fn space_event(&mut self, process_id: u32, creator: Option<u32>, event: At<SpaceEvent>) {
        let History { spaces, system, .. } = &mut self.history;
        match creator {
            Some(thread) if self.parts.has(Parts::SPACES) => spaces.unassigned.entry(thread).or_default().push(event),
            None if self.parts.has(Parts::SPACES) => spaces.by_process_id.entry(process_id).or_default().push(event),
            Some(_) => {} // it is named by its start
            None => _ = system.space_ids.insert(process_id),
        }
    }

    fn heap_event(&mut self, record: &Record<'_>, moment: Moment, heap: HeapRange<'_>) {
        let (process_id, value) = match heap {
            HeapRange::Rundown(rundown) => {
                // The process is listed, also without ranges.
                self.history.system.space_ids.insert(rundown.process_id);
                for (base, size) in rundown.ranges() {
                    let value = SpaceEvent::HeapRundown { heap: rundown.heap, base, size };
                    self.space_event(rundown.process_id, None, At { moment, value });
                }
                return;
            }
            HeapRange::Create { heap, first_range_bytes, .. } => {
                (record.process_id, SpaceEvent::HeapCreate { heap, size: first_range_bytes })
            }
            HeapRange::Reserve(span) => (
                record.process_id,
                SpaceEvent::HeapReserve { heap: span.heap, base: span.address, size: span.size_bytes },
            ),
            HeapRange::Release(span) => (
                record.process_id,
                SpaceEvent::HeapRelease { heap: span.heap, base: span.address, size: span.size_bytes },
            ),
            HeapRange::Destroy { heap } => (record.process_id, SpaceEvent::HeapDestroy { heap }),
        };
        if let Some(process_id) = process_id {
            self.space_event(process_id, None, At { moment, value });
        }
    }
}

impl History {
    /// Reads the whole trace, counts its records, and collects these parts of it.
    pub(crate) fn new(etl: &EtlFile, parts: Parts) -> (Survey, History) {
        let rank = ranks(&etl.buffers);
        let visitor = || HistoryVisitor::new(parts, &rank, etl.code_page);
        if !parts.has(Parts::SCHEDULING) {
            let (survey, visitors) = Survey::with_visitors(etl, visitor);
            return History::joined(visitors.into_iter(), survey, etl);
        }
        let (survey, visitors) = Survey::with_visitors(etl, || (visitor(), SchedulingScan::new(&rank)));
        let (visitors, scans): (Vec<_>, Vec<_>) = visitors.into_iter().unzip();
        let (survey, mut history) = History::joined(visitors.into_iter(), survey, etl);
        history.scheduling.buffers = scans.into_iter().flat_map(|scan| scan.facts).collect();
        history.scheduling.buffers.sort_unstable_by_key(|facts| facts.buffer);
        (survey, history)
    }

    fn joined<'r>(
        visitors: impl Iterator<Item = HistoryVisitor<'r>>,
        survey: Survey,
        etl: &EtlFile,
    ) -> (Survey, History) {
        // The first part is moved, not copied: lists are long, and many are in one part only.
        let mut parts = visitors.map(|visitor| visitor.history);
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|part| all.append(part));
        all.finish(&survey, etl);
        cut_and_sort(&mut all.pages.runs, etl);
        (survey, all)
    }
}

/// Number of page records whose stamps are checked together.
const MOST_AT_ONCE: usize = 1024;

/// Number of page records that are taken one by one where a run ends, at least.
const ONE_BY_ONE: usize = 16;

fn moment(rank: &[u32], area: &EventArea<'_>, offset: u32, time: Ticks) -> Moment {
    let rank = rank.get(area.index as usize).copied().unwrap_or(area.index);
    Moment { time, order: u64::from(rank) << 32 | u64::from(offset) }
}

impl Visitor for HistoryVisitor<'_> {
    #[inline(always)]
    fn take_mixed(&mut self, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        self.count_only.take_mixed(area, rest)
    }

    fn take_kinds(&mut self) -> Vec<KindRun> {
        self.count_only.take_kinds()
    }

    fn take_classic(&mut self, first: &RawRecord<'_>, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        self.count_only.take_classic(first, area, rest)
    }

    fn take_run(
        &mut self,
        first: &RawRecord<'_>,
        hook: HookId,
        area: &EventArea<'_>,
        rest: &mut Records<'_>,
    ) -> Option<Run> {
        match hook {
            PAGE_IN_MEMORY | PAGE_IN_MEMORY_24H2 if self.parts.has(Parts::PAGES) => {}
            PAGE_IN_MEMORY | PAGE_IN_MEMORY_24H2 => return self.count_only.take_run(first, hook, area, rest),
            _ if is_many(hook) => {
                let at = |offset, time| moment(self.rank, area, offset, time);
                let History { spaces, system, .. } = &mut self.history;
                if !self.parts.has(Parts::SPACES) {
                    let ids = &mut system.space_ids;
                    return RundownRun::take(area, first, hook, rest, at, |process_id, _| _ = ids.insert(process_id));
                }
                return RundownRun::take(area, first, hook, rest, at, |process_id, run| {
                    spaces.by_process_id.entry(process_id).or_default().push_run(area, run);
                });
            }
            // There can be a hundred million of them; `allocations` reads them later.
            POOL_ALLOC | SESSION_ALLOC | POOL_FREE | SESSION_FREE if !self.parts.has(Parts::SPACES) => {
                return self.count_only.take_run(first, hook, area, rest);
            }
            // There are tens of millions of them. They are only counted here; the reference set reads them later.
            // So do `stacks`, and what asks for the scheduling.
            SAMPLED_PROFILE if self.parts.has(Parts::SCHEDULING) => return None,
            STACK | SAMPLED_PROFILE => return self.count_only.take_run(first, hook, area, rest),
            _ if WorkingSetEvent::is(hook) => {
                return self.count_only.take_run(first, hook, area, rest);
            }
            _ => return None,
        }
        let (version, pointer) = (first.kernel_version(), first.header.pointer());
        if self.run.is_some_and(|run| !run.is_like(hook, version, pointer)) {
            self.end_run();
        }
        let payload = first.kernel_payload()?;
        let payload_at = first.bytes.len() - payload.len();
        // Records with another payload length or an implausible stamp are left to the general decoder, which reports them.
        let pfn = PageIdentity::read(payload, pointer)?.pfn;
        let (time, time_at) = (area.time_of(first)?, first.kernel_time_at());
        let mut taken = Run::new(time, first.bytes.len());
        if !PageIdentity::is_possible_pfn(pfn) {
            self.end_run();
            self.history.pages.impossible += 1;
            return Some(taken);
        }
        let begin = |offset, time, pfn| {
            let first = moment(self.rank, area, offset, time);
            PageRun::new(first, area.index, offset, hook, version, pointer, pfn)
        };
        let mut run = match self.run.take() {
            Some(mut run) if run.continues(pfn, time) => {
                run.extend(1, time);
                run
            }
            other => {
                self.history.pages.runs.extend(other);
                begin(first.position.offset, time, pfn)
            }
        };
        // Records with equal first 8 bytes have a payload of the same length and their time at the same offset.
        let mut last = (pfn, time);
        let page = |record: &[u8]| {
            Some((PageIdentity::read(record.get(payload_at..)?, pointer)?.pfn, RawRecord::time_in(record, time_at)))
        };
        'alike: loop {
            // Nearly always they continue the run.
            let mut next = last;
            let alike = rest.alike_while(first, MOST_AT_ONCE, |record| {
                let (pfn, time) = page(record).unwrap_or(last); // has the length of the first one
                let goes_on = (pfn == next.0.wrapping_add(1)) & (next.1 <= time);
                next = if goes_on { (pfn, time) } else { next };
                goes_on
            });
            // Stamps that do not fall are all plausible if the last one is.
            if !alike.is_empty() && area.stamps.contains(next.1) {
                run.extend(alike.len() as u32, next.1);
                taken.add_sorted(alike.len() as u32, next.1);
                last = next;
                continue;
            }
            // All of those whose last stamp is not plausible, so that none is read a third time.
            rest.go_back_to(alike.offset_of(0));
            let alike = rest.alike(first, alike.len().max(ONE_BY_ONE));
            if alike.is_empty() {
                break;
            }
            for (number, (pfn, time)) in alike.parts(0).filter_map(page).enumerate() {
                if !area.stamps.contains(time) || !PageIdentity::is_possible_pfn(pfn) {
                    rest.go_back_to(alike.offset_of(number));
                    break 'alike;
                }
                taken.add(time);
                if run.continues(pfn, time) {
                    run.extend(1, time);
                } else {
                    let next = begin(alike.offset_of(number), time, pfn);
                    self.history.pages.runs.push(std::mem::replace(&mut run, next));
                }
                last = (pfn, time);
            }
        }
        self.run = Some(run);
        Some(taken)
    }

    fn end_of_buffer(&mut self, _: &EventArea<'_>, _: &Records<'_>) {
        self.end_run();
    }

    fn event(&mut self, record: &Record<'_>, event: &Event<'_>, time: Ticks, area: &EventArea<'_>) {
        let moment = self.moment(area, record.position.offset, time);
        let (parts, history) = (self.parts, &mut self.history);
        match *event {
            Event::Process { phase, process } => history.system.processes.push(At {
                moment,
                value: ProcessEvent {
                    phase,
                    key: process.key,
                    process_id: process.process_id,
                    session_id: process.session_id,
                    directory_table_base: process.directory_table_base,
                    image_name: process.image_name.0.into(),
                    parent_id: process.parent_id,
                    command_line: process.command_line.text().into(),
                    exit_status: process.exit_status,
                    thread_id: record.thread_id,
                },
            }),
            Event::VirtualRange { phase, range } => {
                let value = SpaceEvent::Region { phase, base: range.base, size: range.size_bytes, flags: range.flags };
                let is_new = range.process_id == 0 && matches!(phase, Phase::Start | Phase::End);
                let creator = is_new.then(|| record.thread_id.unwrap_or(0));
                self.space_event(range.process_id, creator, At { moment, value });
            }
            Event::MapView { phase, view } => {
                let MapView { base, size_bytes: size, file_key, process_id, .. } = view;
                let kind = view.kind();
                if is_kernel_address(base, record.pointer) {
                    let value = KernelView { process_id, phase, base, size, file_key, kind };
                    history.system.kernel_views.push(At { moment, value });
                    return;
                }
                let creator = (process_id == 0).then(|| record.thread_id.unwrap_or(0));
                let value = SpaceEvent::View { phase, base, size, file_key, kind };
                self.space_event(process_id, creator, At { moment, value });
            }
            Event::Heap(heap) => self.heap_event(record, moment, heap),
            Event::Thread { phase, thread } => {
                if thread.thread_id != 0 && parts.has(Parts::SCHEDULING) {
                    let (process_id, thread_id) = (thread.process_id, thread.thread_id);
                    let value = ThreadEvent { phase, process_id, thread_id, processor: area.buffer.processor };
                    history.scheduling.threads.push(At { moment, value });
                }
                // When the end of a thread is logged, its user stack may have been freed already.
                if thread.user_stack_base != 0 || phase == Phase::End {
                    let value = SpaceEvent::Thread {
                        phase,
                        thread_id: thread.thread_id,
                        stack_base: thread.user_stack_base,
                        stack_limit: thread.user_stack_limit,
                    };
                    self.space_event(thread.process_id, None, At { moment, value });
                }
            }
            Event::Image { phase, image } if is_kernel_address(image.base, record.pointer) => {
                if matches!(image.process_id, None | Some(0 | 4)) {
                    let file_name = image.file_name.text().into();
                    let value = ImageEvent { phase, base: image.base, size: image.size_bytes, file_name };
                    history.system.kernel_images.push(At { moment, value });
                }
            }
            Event::Image { image, .. } => {
                let path = image.file_name;
                history.system.process_images.extend(image.process_id.filter(|_| may_tell_name(path)).map(
                    |process_id| {
                        let file_name = path.text().into();
                        At { moment, value: ProcessImage { process_id, file_name } }
                    },
                ));
            }
            Event::FileName { kind, file } if !file.is_unknown() && parts.has(Parts::FILES) => {
                let value = FileEvent { kind, key: file.key, name: file.name.text().into() };
                history.files.names.push(At { moment, value });
            }
            Event::Hive(hive) if parts.has(Parts::FILES) => {
                let (listed, file_name) = match hive {
                    Hive::Rundown { file_name, .. } => (true, file_name),
                    Hive::Initialize { file_name, .. } => (false, file_name),
                    _ => return,
                };
                history.files.hives.push(At { moment, value: HiveFile { listed, file_name: file_name.text().into() } });
            }
            Event::Session { phase, session } if parts.has(Parts::SPACES) => {
                let value = SessionEvent { phase, key: session.key, session_id: session.session_id };
                history.spaces.sessions.push(At { moment, value });
            }
            // A small allocation follows a header, so only big allocations begin at a page boundary.
            Event::Pool { action: action @ (PoolAction::Alloc | PoolAction::Free), piece }
                if piece.address.is_multiple_of(PAGE_BYTES) && parts.has(Parts::SPACES) =>
            {
                let phase = if action == PoolAction::Alloc { Phase::Start } else { Phase::End };
                let value = PoolEvent { phase, base: piece.address, size: piece.size_bytes, tag: piece.tag };
                history.spaces.pool.push(At { moment, value });
            }
            Event::PoolSnapshot { phase, snapshot } if parts.has(Parts::SPACES) => {
                history.spaces.pool_rundown.add_big(moment, phase, &snapshot);
            }
            Event::Page { .. } if !parts.has(Parts::PAGES) => {}
            // A page record that is logged under its class GUID.
            Event::Page { kind: PageKind::InMemory | PageKind::InMemoryTradeable, page }
                if !PageIdentity::is_possible_pfn(page.pfn) =>
            {
                history.pages.impossible += 1;
                self.end_run();
            }
            Event::Page { kind: kind @ (PageKind::InMemory | PageKind::InMemoryTradeable), page } => {
                let hook = if kind == PageKind::InMemory { PAGE_IN_MEMORY } else { PAGE_IN_MEMORY_24H2 };
                let at = record.position.offset;
                match &mut self.run {
                    Some(run) if run.is_like(hook, record.version, record.pointer) && run.continues(page.pfn, time) => {
                        run.extend(1, time);
                    }
                    _ => {
                        let (version, pointer) = (record.version, record.pointer);
                        self.begin_run(PageRun::new(moment, area.index, at, hook, version, pointer, page.pfn));
                    }
                }
            }
            Event::MemInfo(info) if parts.has(Parts::COUNTERS) => history.counters.memory.push(At {
                moment,
                value: MemoryCounters {
                    zero: info.counts().zero_pages,
                    free: info.counts().free_pages,
                    modified: info.counts().modified_pages,
                    modified_no_write: info.counts().modified_no_write_pages,
                    bad: info.counts().bad_pages,
                    standby: info.counts().standby_pages,
                    repurposed: info.counts().repurposed_pages,
                    modified_pagefile: info.counts().modified_pagefile_pages,
                    commit: info.commit(),
                },
            }),
            Event::ProcessWorkingSets(_) | Event::SessionWorkingSets(_) if parts.has(Parts::COUNTERS) => {
                let (buffer, offset) = (area.index, record.position.offset);
                history.counters.working_sets.push(WorkingSetRecord { moment, buffer, offset });
            }
            Event::MmStats(MmStats::Aggregate { blocks_in_use, .. }) if parts.has(Parts::COUNTERS) => {
                let value = u64::try_from(blocks_in_use).unwrap_or(0);
                history.counters.combined.push(At { moment, value });
            }
            Event::KernelMemUsage(usage) if parts.has(Parts::SPACES) => history.spaces.kernel_blocks.push(At {
                moment,
                value: KernelBlock {
                    usage_type: usage.usage_type(),
                    address: usage.virtual_address,
                    pages: usage.pages,
                },
            }),
            Event::Cpu(cpu) => {
                history.system.ram_pages = history.system.ram_pages.max(Some(u64::from(cpu.memory_megabytes) * 256));
                let highest = cpu.details.map(|details| details.highest_user_address);
                history.system.highest_user_address = history.system.highest_user_address.max(highest);
            }
            Event::Merged(crate::event::merged::AddedByMerge::Volume { nt_prefix, dos_prefix }) => {
                history.system.volumes.push((nt_prefix.to_string().into(), dos_prefix.to_string().into()));
            }
            Event::Service(service) if service.process_id != 0 => history.system.services.push(At {
                moment,
                value: RunningService { process_id: service.process_id, name: service.name.to_string().into() },
            }),
            Event::Mark(mark) => {
                history.system.marks.push(At { moment, value: history.system.code_page.text(mark.text).into() })
            }
            _ => {}
        }
    }
}

/// True for images that may be their process's executable, when their file name has other letters than ASCII or is so
/// long that a process event may have cut it.
fn may_tell_name(path: Wide<'_>) -> bool {
    let unit = |pair: &[u8; 2]| u16::from_le_bytes(*pair);
    let (pairs, _) = path.0.as_chunks::<2>();
    let name = pairs.rsplit(|pair| unit(pair) == u16::from(b'\\')).next().unwrap_or_default();
    let is_end = |end: &[u8; 4]| {
        let last = name.last_chunk::<4>().into_iter().flatten();
        last.zip(end).filter(|(pair, byte)| unit(pair) | 0x20 == u16::from(**byte)).count() == 4
    };
    let is_long = name.len() > 14 && [b".exe", b".com", b".scr"].into_iter().any(is_end);
    is_long || name.iter().any(|pair| unit(pair) > 0x7f)
}
