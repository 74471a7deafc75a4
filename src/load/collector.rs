//! The collector: the history's part that one thread hears while the survey walks.
//!
//! Runs of page records become one [`PageRun`] each, undecoded but for their PFNs; rundown records of address spaces are
//! taken raw, because they come in hundreds of thousands; all other events become small owned values.

use super::history::{
    At, FileEvent, History, ImageEvent, KernelBlock, MemoryCounters, Moment, PageRun, ProcessEvent, SpaceEvent,
    is_kernel_address,
};
use super::survey::{Listener, TakenRun};
use crate::bytes::Narrow;
use crate::etl::area::{Area, Records};
use crate::etl::record::{HookId, RawRecord, Record};
use crate::event::file::MapView;
use crate::event::heap::HeapRange;
use crate::event::memory_counters::MmStats;
use crate::event::merged::Merged;
use crate::event::page::PageIdentity;
use crate::event::registry::Hive;
use crate::event::virtual_memory::VirtualRange;
use crate::event::{Event, Parsed, Payload, Phase};
use crate::units::Ticks;

/// Collects on one thread.
pub(super) struct Collector<'r> {
    rank: &'r [u32],
    pub(super) history: History,
    run: Option<PageRun>,
}

impl<'r> Collector<'r> {
    pub(super) fn new(rank: &'r [u32]) -> Self {
        Collector { rank, history: History::default(), run: None }
    }

    /// A rundown record of a region or a view in a user's address space; `None` for one that is anything but plain.
    fn take_rundown(&mut self, area: &Area<'_>, raw: &RawRecord<'_>, hook: HookId) -> Option<TakenRun> {
        let time = raw.time()?;
        let (version, pointer) = (raw.kernel_version(), raw.header.pointer());
        let payload = Payload { hook, version, pointer, bytes: raw.kernel_payload()? };
        let phase = if matches!(hook.0, 0x0280 | 0x0427) { Phase::DcStart } else { Phase::DcEnd };
        let (process_id, value) = match hook.0 {
            0x0280 | 0x0281 => {
                let Parsed { value: range, oddity: None } = VirtualRange::read_rundown(&payload).ok()? else {
                    return None;
                };
                let VirtualRange { base, size_bytes: size, flags, process_id, .. } = range;
                (process_id, SpaceEvent::Region { phase, base, size, flags })
            }
            _ => {
                let Parsed { value: view, oddity: None } = MapView::read(&payload).ok()? else { return None };
                if view.process_id == 0 || is_kernel_address(view.base, pointer) {
                    return None;
                }
                let MapView { base, file_key, size_bytes: size, process_id, .. } = view;
                (process_id, SpaceEvent::View { phase, base, size, file_key, kind: view.kind() })
            }
        };
        let moment = self.moment(area, raw.position.offset, time);
        self.history.spaces.entry(process_id).or_default().push(At { moment, value });
        Some(TakenRun { records: 1, bytes: raw.bytes.len() as u64, times: (time, time, time, time), sorted: true })
    }

    fn moment(&self, area: &Area<'_>, offset: u32, time: Ticks) -> Moment {
        let rank = self.rank.get(area.index as usize).copied().unwrap_or(area.index);
        Moment { time, order: u64::from(rank) << 32 | u64::from(offset) }
    }
}

impl Listener for Collector<'_> {
    fn take_run(
        &mut self,
        area: &Area<'_>,
        first: &RawRecord<'_>,
        hook: HookId,
        behind: &mut Records<'_>,
    ) -> Option<TakenRun> {
        match hook.0 {
            0x0223 | 0x028a => {}
            // Rundowns of address spaces come in hundreds of thousands.
            0x0280 | 0x0281 | 0x0427 | 0x0428 => return self.take_rundown(area, first, hook),
            _ => return None,
        }
        let (header, version) = (first.header, first.kernel_version());
        // A payload of another length is decoded the slow way, which counts it as malformed.
        let page = |raw: &RawRecord<'_>| PageIdentity::read(raw.kernel_payload()?, header.pointer());
        let mut pfn = page(first)?.pfn;
        let mut raw = *first;
        let mut time = raw.time()?;
        let mut taken = TakenRun { records: 0, bytes: 0, times: (time, time, time, time), sorted: true };
        loop {
            taken.records += 1;
            taken.bytes += raw.bytes.len() as u64;
            taken.sorted &= taken.times.1 <= time;
            taken.times = (taken.times.0, time, taken.times.2.min(time), taken.times.3.max(time));
            match &mut self.run {
                Some(run)
                    if run.first_pfn.wrapping_add(u64::from(run.pages)) == pfn
                        && run.version == version
                        && run.last_time <= time =>
                {
                    run.pages += 1;
                    run.last_time = time;
                }
                _ => {
                    self.history.runs.extend(self.run.take());
                    self.run = Some(PageRun {
                        first: self.moment(area, raw.position.offset, time),
                        last_time: time,
                        buffer: area.index,
                        start: raw.position.offset,
                        version,
                        pointer: header.pointer(),
                        pages: 1,
                        first_pfn: pfn,
                    });
                }
            }
            let next = behind
                .next_if(|next| next.header == header && next.hook() == Some(hook) && next.kernel_version() == version);
            let read = next.and_then(|next| Some((next, page(&next)?.pfn, next.time()?)));
            match (next, read) {
                (_, Some(read)) => (raw, pfn, time) = read,
                (Some(odd), None) => {
                    behind.put_back(&odd);
                    return Some(taken);
                }
                (None, None) => return Some(taken),
            }
        }
    }

    fn end_of_buffer(&mut self) {
        self.history.runs.extend(self.run.take());
    }

    fn hear(&mut self, area: &Area<'_>, record: &Record<'_>, event: &Event<'_>, time: Ticks) {
        let moment = self.moment(area, record.position.offset, time);
        let history = &mut self.history;
        match *event {
            Event::Process { phase, process } => history.processes.push(At {
                moment,
                value: ProcessEvent {
                    phase,
                    key: process.key,
                    process_id: process.process_id,
                    session_id: process.session_id,
                    directory_table_base: process.directory_table_base,
                    image_name: text(process.image_name),
                    thread_id: record.thread_id,
                },
            }),
            Event::VirtualRange { phase, range } => {
                let value = SpaceEvent::Region { phase, base: range.base, size: range.size_bytes, flags: range.flags };
                history.spaces.entry(range.process_id).or_default().push(At { moment, value });
            }
            Event::MapView { phase, view } => {
                let value = SpaceEvent::View {
                    phase,
                    base: view.base,
                    size: view.size_bytes,
                    file_key: view.file_key,
                    kind: view.kind(),
                };
                let event = At { moment, value };
                if is_kernel_address(view.base, record.pointer) {
                    history.kernel_views.push(event);
                } else if view.process_id == 0 {
                    history.newborn.entry(record.thread_id.unwrap_or(0)).or_default().push(event);
                } else {
                    history.spaces.entry(view.process_id).or_default().push(event);
                }
            }
            Event::Heap(heap) => hear_heap(history, record, moment, heap),
            Event::Thread { phase, thread } if thread.user_stack_base != 0 => {
                let value = SpaceEvent::Thread {
                    phase,
                    thread_id: thread.thread_id,
                    stack_base: thread.user_stack_base,
                    stack_limit: thread.user_stack_limit,
                };
                history.spaces.entry(thread.process_id).or_default().push(At { moment, value });
            }
            Event::Image { phase, image } if is_kernel_address(image.base, record.pointer) => {
                if matches!(image.process_id, None | Some(0 | 4)) {
                    let file_name = image.file_name.to_string().into();
                    let value = ImageEvent { phase, base: image.base, size: image.size_bytes, file_name };
                    history.kernel_images.push(At { moment, value });
                }
            }
            Event::FileName { kind, file } if !file.is_unknown() => {
                let value = FileEvent { kind, key: file.key, name: file.name.to_string().into() };
                history.files.push(At { moment, value });
            }
            Event::Hive(Hive::Rundown { file_name, .. } | Hive::Initialize { file_name, .. }) => {
                history.hives.push(At { moment, value: file_name.to_string().into() });
            }
            Event::MemInfo(info) => history.counters.push(At {
                moment,
                value: MemoryCounters {
                    zero: info.zero_pages(),
                    free: info.free_pages(),
                    modified: info.modified_pages(),
                    modified_no_write: info.modified_no_write_pages(),
                    bad: info.bad_pages(),
                    standby: info.standby_pages(),
                },
            }),
            Event::MmStats(MmStats::Aggregate { blocks_in_use, .. }) => {
                let value = u64::try_from(blocks_in_use).unwrap_or(0);
                history.combined.push(At { moment, value });
            }
            Event::KernelMemUsage(usage) => history.kernel_blocks.push(At {
                moment,
                value: KernelBlock {
                    usage_type: usage.usage_type(),
                    address: usage.virtual_address,
                    pages: usage.pages,
                },
            }),
            Event::Cpu(cpu) => {
                history.ram_pages = history.ram_pages.max(Some(u64::from(cpu.memory_megabytes) * 256));
            }
            Event::Merged(Merged::Volume { nt_prefix, dos_prefix }) => {
                history.volumes.push((nt_prefix.to_string().into(), dos_prefix.to_string().into()));
            }
            Event::Mark(mark) => history.marks.push(At { moment, value: text(mark.text) }),
            _ => {}
        }
    }
}

fn hear_heap(history: &mut History, record: &Record<'_>, moment: Moment, heap: HeapRange<'_>) {
    let (process_id, value) = match heap {
        HeapRange::Rundown(rundown) => {
            let events = history.spaces.entry(rundown.process_id).or_default();
            events.extend(
                rundown.ranges().map(|(base, size)| At {
                    moment,
                    value: SpaceEvent::HeapRundown { heap: rundown.heap, base, size },
                }),
            );
            return;
        }
        HeapRange::Create { heap, first_range_bytes, .. } => {
            (record.process_id, SpaceEvent::HeapCreate { heap, size: first_range_bytes })
        }
        HeapRange::Reserve(span) => {
            (record.process_id, SpaceEvent::HeapReserve { heap: span.heap, base: span.address, size: span.size_bytes })
        }
        HeapRange::Release(span) => {
            (record.process_id, SpaceEvent::HeapRelease { heap: span.heap, base: span.address, size: span.size_bytes })
        }
        HeapRange::Destroy { heap } => (record.process_id, SpaceEvent::HeapDestroy { heap }),
    };
    if let Some(process_id) = process_id {
        history.spaces.entry(process_id).or_default().push(At { moment, value });
    }
}

fn text(name: Narrow<'_>) -> Box<str> {
    name.text().into()
}
