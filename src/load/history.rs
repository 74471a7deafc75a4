//! The history: what the model needs of a trace, collected in one parallel walk.
//!
//! Page records are not kept: a run of them becomes one [`PageRun`] that says where they lie. All other records become
//! small owned values with the moment at which they were logged. Nothing is interpreted here; `model` does that.

use crate::bytes::Narrow;
use crate::etl::EtlFile;
use crate::etl::area::{Area, Records};
use crate::etl::order::ranks;
use crate::etl::record::{HookId, RawRecord, Record};
use crate::event::file::{FileNameKind, MapView, ViewKind};
use crate::event::heap::HeapRange;
use crate::event::memory_counters::MmStats;
use crate::event::page::{ExtraInfo, PageAccessEx, PageIdentity};
use crate::event::payload::MEMORY;
use crate::event::process::ProcessPhase;
use crate::event::registry::Hive;
use crate::event::virtual_memory::VirtualRange;
use crate::event::{Event, Parsed, Payload, Phase};
use crate::load::survey::{Listener, Survey, TakenRun};
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;

/// When a record was logged: time, then file position, the order of all records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment {
    /// Raw stamp.
    pub time: Ticks,
    /// Rank of the buffer and offset in its event area.
    pub order: u64,
}

/// A value and when it was logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// When.
    pub moment: Moment,
    /// What.
    pub value: T,
}

/// A process event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEvent {
    /// Kind.
    pub phase: ProcessPhase,
    /// UniqueProcessKey, a kernel address.
    pub key: u64,
    /// Process id.
    pub process_id: u32,
    /// Session; `None` for processes of no session.
    pub session_id: Option<u32>,
    /// Physical address of the page directory.
    pub directory_table_base: Option<u64>,
    /// File name of the image.
    pub image_name: Box<str>,
    /// Thread that logged the event (the creator's, for a start).
    pub thread_id: Option<u32>,
}

/// Something that changes or describes a process's address space: addresses, and sizes in bytes.
#[allow(missing_docs)] // fields are named as in `event`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceEvent {
    /// VirtualAlloc (Start), VirtualFree (End), rundown.
    Region { phase: Phase, base: u64, size: u64, flags: u32 },
    /// MapFile, UnmapFile, rundown.
    View { phase: Phase, base: u64, size: u64, file_key: u64, kind: ViewKind },
    /// A heap was created: `[heap, heap + size)` unless a reserve says otherwise.
    HeapCreate { heap: u64, size: u64 },
    /// A heap reserved a range.
    HeapReserve { heap: u64, base: u64, size: u64 },
    /// A heap gave a range back.
    HeapRelease { heap: u64, base: u64, size: u64 },
    /// A heap went with all its ranges.
    HeapDestroy { heap: u64 },
    /// The rundown names a range of a heap.
    HeapRundown { heap: u64, base: u64, size: u64 },
    /// A thread with a user stack, `[limit, base)` committed at first.
    Thread { phase: Phase, thread_id: u32, stack_base: u64, stack_limit: u64 },
}

/// An image at a kernel address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageEvent {
    /// Kind.
    pub phase: Phase,
    /// First address.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// Path as logged.
    pub file_name: Box<str>,
}

/// A file name event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEvent {
    /// Kind.
    pub kind: FileNameKind,
    /// File key.
    pub key: u64,
    /// Path as logged.
    pub name: Box<str>,
}

/// Memory counters as the kernel logged them, pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounters {
    /// Zero list.
    pub zero: u64,
    /// Free list.
    pub free: u64,
    /// Modified list.
    pub modified: u64,
    /// Modified-no-write list.
    pub modified_no_write: u64,
    /// Bad list, as far as the kernel calls pages bad.
    pub bad: u64,
    /// Standby list by priority.
    pub standby: [u64; 8],
}

/// A block of kernel memory of known use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelBlock {
    /// Usage type; 0 = PFN metadata.
    pub usage_type: u8,
    /// First address.
    pub address: u64,
    /// Pages.
    pub pages: u64,
}

/// Page records with consecutive PFNs in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// When the first was logged.
    pub first: Moment,
    /// Stamp of the last.
    pub last_time: Ticks,
    /// Buffer in file order.
    pub buffer: u32,
    /// Offset of the first record in the event area.
    pub start: u32,
    /// Event version: decides what owner keys mean.
    pub version: u8,
    /// Pointer size.
    pub pointer: PointerSize,
    /// Number of records.
    pub pages: u32,
    /// PFN of the first record; the last has `first_pfn + pages - 1`.
    pub first_pfn: u64,
}

impl PageRun {
    /// PFN of the last record.
    pub fn last_pfn(&self) -> u64 {
        self.first_pfn.saturating_add(u64::from(self.pages.saturating_sub(1)))
    }
}

/// True for the events that make up a page sequence.
#[inline(always)]
pub const fn is_page_sequence(hook: HookId) -> bool {
    matches!(hook.0, 0x0223 | 0x028a)
}

/// Everything that the model is built from, each list in order of its moments.
#[derive(Debug, Default)]
pub struct History {
    /// Counts, damage and losses of the whole trace.
    pub survey: Survey,
    /// Process events.
    pub processes: Vec<At<ProcessEvent>>,
    /// Address-space events by process id.
    pub spaces: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Views that were mapped into a process without an id yet, by the thread that mapped them.
    pub newborn: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Views at kernel addresses (session images), whatever process they name.
    pub kernel_views: Vec<At<SpaceEvent>>,
    /// Images at kernel addresses.
    pub kernel_images: Vec<At<ImageEvent>>,
    /// File names.
    pub files: Vec<At<FileEvent>>,
    /// Registry hive files.
    pub hives: Vec<At<Box<str>>>,
    /// MemInfo records.
    pub counters: Vec<At<MemoryCounters>>,
    /// Combined pages by the MMStats aggregate (blocks in use).
    pub combined: Vec<At<u64>>,
    /// KernelMemUsage records.
    pub kernel_blocks: Vec<At<KernelBlock>>,
    /// RAM by the system configuration, pages.
    pub ram_pages: Option<u64>,
    /// Prefixes of kernel paths and what users call them.
    pub volumes: Vec<(Box<str>, Box<str>)>,
    /// Marks.
    pub marks: Vec<At<Box<str>>>,
    /// Page records.
    pub runs: Vec<PageRun>,
    /// Page records that have another length than their layout.
    pub pointer: Option<PointerSize>,
}

impl History {
    /// Walks the whole trace.
    pub fn new(etl: &EtlFile) -> History {
        let (rank, _) = ranks(&etl.buffers);
        let (survey, parts) = Survey::with_listeners(etl, || Collector::new(&rank));
        let mut all = History { survey, ..History::default() };
        for part in parts {
            all.append(part.history);
        }
        all.sort();
        all
    }

    fn append(&mut self, mut part: History) {
        self.processes.append(&mut part.processes);
        for (process_id, mut events) in part.spaces {
            self.spaces.entry(process_id).or_default().append(&mut events);
        }
        for (thread_id, mut events) in part.newborn {
            self.newborn.entry(thread_id).or_default().append(&mut events);
        }
        self.kernel_views.append(&mut part.kernel_views);
        self.kernel_images.append(&mut part.kernel_images);
        self.files.append(&mut part.files);
        self.hives.append(&mut part.hives);
        self.counters.append(&mut part.counters);
        self.combined.append(&mut part.combined);
        self.kernel_blocks.append(&mut part.kernel_blocks);
        self.ram_pages = self.ram_pages.max(part.ram_pages);
        self.volumes.append(&mut part.volumes);
        self.marks.append(&mut part.marks);
        self.runs.append(&mut part.runs);
    }

    fn sort(&mut self) {
        self.adopt_newborn();
        by_moment(&mut self.processes);
        self.spaces.par_iter_mut().for_each(|(_, events)| by_moment(events));
        by_moment(&mut self.kernel_views);
        by_moment(&mut self.kernel_images);
        self.files.par_sort_unstable_by_key(|event| event.moment);
        by_moment(&mut self.hives);
        by_moment(&mut self.counters);
        by_moment(&mut self.combined);
        by_moment(&mut self.kernel_blocks);
        by_moment(&mut self.marks);
        self.volumes.sort();
        self.volumes.dedup();
        // Records of equal time on two processors can only be in the order of their PFNs.
        self.runs.sort_unstable_by_key(|run| (run.first.time, run.first_pfn, run.first.order));
    }

    /// Gives views that were mapped before their process had an id to the process that the same thread started next.
    fn adopt_newborn(&mut self) {
        let mut starts: Vec<(u32, Moment, u32)> = (self.processes.iter())
            .filter(|event| event.value.phase == ProcessPhase::Start)
            .filter_map(|event| Some((event.value.thread_id?, event.moment, event.value.process_id)))
            .collect();
        starts.sort_unstable();
        for (thread_id, events) in std::mem::take(&mut self.newborn) {
            for event in events {
                let next = starts.partition_point(|&(thread, moment, _)| (thread, moment) < (thread_id, event.moment));
                match starts.get(next).filter(|start| start.0 == thread_id) {
                    Some(&(_, moment, process_id)) => {
                        // The process begins to be known at its start, so its views do too.
                        self.spaces.entry(process_id).or_default().push(At { moment, value: event.value });
                    }
                    None => self.newborn.entry(thread_id).or_default().push(event),
                }
            }
        }
    }
}

fn by_moment<T>(list: &mut [At<T>]) {
    list.sort_by_key(|event| event.moment);
}

/// Collects on one thread.
struct Collector<'r> {
    rank: &'r [u32],
    history: History,
    run: Option<PageRun>,
}

impl<'r> Collector<'r> {
    fn new(rank: &'r [u32]) -> Self {
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

/// Page accesses and releases come in tens of millions, and the history has no use for them: what reads them later
/// reads those that are sound, all others are decoded the slow way here, which counts them.
#[inline(always)]
fn take_access(raw: &RawRecord<'_>, hook: HookId) -> Option<TakenRun> {
    let pointer = raw.header.pointer();
    let size = match hook.0 {
        0x0282 => PageAccessEx::size(pointer),
        0x0283 => ExtraInfo::size(pointer),
        _ => PageIdentity::size(pointer),
    };
    let is_sound = raw.kernel_payload()?.len() == size && MEMORY.contains(&raw.kernel_version());
    let time = raw.time().filter(|_| is_sound)?;
    Some(TakenRun { records: 1, bytes: raw.bytes.len() as u64, times: (time, time, time, time), sorted: true })
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
            0x0275..=0x0277 | 0x0282 | 0x0283 => return take_access(first, hook),
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
            Event::Merged(crate::event::merged::Merged::Volume { nt_prefix, dos_prefix }) => {
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

/// True for addresses of the kernel's half: the upper canonical half in 64-bit traces, 2 GiB up in 32-bit ones.
pub const fn is_kernel_address(address: u64, pointer: PointerSize) -> bool {
    match pointer {
        PointerSize::P8 => address >= 0xffff_8000_0000_0000,
        PointerSize::P4 => address >= 0x8000_0000,
    }
}

fn text(name: Narrow<'_>) -> Box<str> {
    name.text().into()
}
