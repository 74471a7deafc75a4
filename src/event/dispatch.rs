//! The table from hook ids to decoders, and the event that comes out.
//!
//! One line for each id. Ids that are missing have no public layout or are not needed: their records are counted only.

use super::cswitch::{CompactSwitches, ContextSwitch, ReadyThread};
use super::file_name_and_view::{FileName, FileNameKind, MapView, SameFile};
use super::header_group::{
    DebugId, GroupMasks, LastDroppedTimes, LogFile, MasksPhase, PartitionInfo, ProviderBinary, read_build_lab,
};
use super::heap::HeapRecord;
use super::heap_range::HeapRange;
use super::hooks::*;
use super::image::{Image, ImageLoadBacked, read_address};
use super::memory_counters::{KernelMemUsage, MemInfo, MmStats, WorkingSets};
use super::merged::AddedByMerge;
use super::outcome::{Fault, Malformed, Oddity, Parsed, Read, Surplus};
use super::page_access_ex::{ExtraInfo, PageAccessEx, PageCombine, PageRange};
use super::page_fault::{FaultKind, HardFault, PageFault};
use super::page_identity::{PageIdentity, PageKind};
use super::payload::Payload;
use super::perfinfo::{
    Dpc, DpcKind, Interrupt, InterruptKind, IntervalPhase, Mark, ProfileBatch, ProfileInterval, ProfileSample,
};
use super::pool::{PoolAction, PoolPiece};
use super::pool_snapshot::{PoolSnapshot, PoolSnapshotKind};
use super::process::{Process, ProcessCounters, ProcessInSwap, ProcessPhase, ProcessTerminate};
use super::registry_hive::Hive;
use super::section::{PagefileSection, SectionObject, SectionPhase};
use super::stack::{StackDefinition, StackReference, StackWalk};
use super::system_config::{
    Boot, Cpu, DeviceFamily, NumaNodes, Platform, Processor, ProcessorNumbers, Virtualization, read_processor_groups,
};
use super::system_disk::{LogicalDisk, PhysicalDisk};
use super::system_service::{self, Service};
use super::thread::{PriorityKind, Thread, ThreadAffinity, ThreadName, ThreadPriority};
use super::user_session::Session;
use super::virtual_memory::{ContiguousMemory, MemReset, VirtualRange, VirtualRotate};
use super::{Phase, page_access_ex, payload::PointerArray, process, thread};
use crate::byte_reader::Narrow;
use crate::etl::record::Record;
use crate::etl::record_id::{HookId, RecordId};

/// Result of [`decode`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decoded<'a> {
    /// The record fits its layout, or is longer than it.
    Event {
        /// The event.
        event: Event<'a>,
        /// What is to be reported about a record that was understood only in part.
        surplus: Option<Surplus>,
    },
    /// A kind of record without a public layout, or one that is not needed: count it only.
    NotDecoded,
    /// The record contradicts its layout: count it, use nothing of it.
    Malformed(Malformed),
}

/// A decoded event. Names of fields are explained at the structures they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // fields repeat the names of their types
#[non_exhaustive]
pub enum Event<'a> {
    /// `0x0000`: the file's header record.
    LogFile(LogFile<'a>),
    /// `0x0005`, `0x0020`: what the session records.
    GroupMasks { phase: MasksPhase, masks: GroupMasks },
    /// `0x0008`: the start rundown is complete.
    RundownComplete,
    /// `0x0040`: program database of a provider's binary.
    DebugId(DebugId<'a>),
    /// `0x0042`: the Windows build as text.
    BuildLab(Narrow<'a>),
    /// `0x0043`: a provider's binary.
    ProviderBinary(ProviderBinary<'a>),
    /// `0x0050`: partition the trace was recorded in.
    PartitionInfo(PartitionInfo<'a>),
    /// `0x0052`: when events were dropped.
    LastDroppedTimes(LastDroppedTimes<'a>),

    /// `0x0301`–`0x0304`, `0x0327`.
    Process { phase: ProcessPhase, process: Process<'a> },
    /// `0x030b`.
    ProcessTerminate(ProcessTerminate),
    /// `0x0320` (phase End), `0x0321` (phase DcEnd).
    ProcessCounters { phase: Phase, counters: ProcessCounters },
    /// `0x0323`.
    ProcessInSwap(ProcessInSwap),

    /// `0x0501`–`0x0504`.
    Thread { phase: Phase, thread: Thread<'a> },
    /// `0x0548`.
    ThreadName(ThreadName<'a>),
    /// `0x0524`.
    ContextSwitch(ContextSwitch),
    /// `0x0525`.
    CompactSwitches(CompactSwitches<'a>),
    /// `0x0532`.
    ReadyThread(ReadyThread),
    /// `0x0530`, `0x0531`, `0x0533`, `0x0534`.
    ThreadPriority(ThreadPriority),
    /// `0x0535`.
    ThreadAffinity(ThreadAffinity),

    /// `0x030a`, `0x1402`–`0x1404`.
    Image { phase: Phase, image: Image<'a> },
    /// `0x1421`: where the kernel is mapped.
    KernelBase(u64),
    /// `0x1422`: address of the hypercall page.
    HypercallPage(u64),

    /// `0x0400`, `0x0420`, `0x0423`, `0x0424`.
    FileName { kind: FileNameKind, file: FileName<'a> },
    /// `0x0421`.
    SameFile(SameFile),
    /// `0x0425`–`0x0428`.
    MapView { phase: Phase, view: MapView },

    /// `0x0223`, `0x028a`, `0x0275`, `0x0285`, `0x0276`, `0x0277`.
    Page { kind: PageKind, page: PageIdentity },
    /// `0x0282`: a shareable page was added to a working set.
    PageAccessEx(PageAccessEx),
    /// `0x0283`: a page was removed from a working set.
    RemoveFromWorkingSet(ExtraInfo),
    /// `0x0278`: several pages were added.
    PageRangeAccess(PageRange),
    /// `0x0279`: several pages were deleted.
    PageRangeRelease(PageRange),
    /// `0x027a`: equal pages became one.
    PageCombine(PageCombine),

    /// `0x020a`–`0x020f`.
    PageFault { kind: FaultKind, fault: PageFault },
    /// `0x0220`.
    HardFault(HardFault),
    /// `0x0262` (phase Start), `0x0263` (End), `0x0280` (DcStart), `0x0281` (DcEnd).
    VirtualRange { phase: Phase, range: VirtualRange },
    /// `0x027f`.
    VirtualRotate(VirtualRotate),
    /// `0x0286`.
    MemReset(MemReset),
    /// `0x0271`.
    ContiguousMemory(ContiguousMemory),
    /// `0x0264`–`0x0268`, Win32HeapRanges.
    Heap(HeapRange<'a>),
    /// `0x1020`–`0x1026`, `0x102a`.
    HeapBlock(HeapRecord),
    /// `0x0248`, `0x0249`, `0x024f`.
    PagefileSection { phase: SectionPhase, section: PagefileSection },
    /// `0x0287`.
    SectionObjectCreate(SectionObject),
    /// `0x0288`.
    SectionObjectDelete(SectionObject),
    /// `0x024b` (phase Start), `0x024e` (End), `0x024d` (DcStart), `0x024c` (DcEnd).
    Session { phase: Phase, session: Session },
    /// `0x0269`.
    ImageLoadBacked(ImageLoadBacked),
    /// `0x027b`.
    KernelMemUsage(KernelMemUsage),
    /// `0x027c`.
    MmStats(MmStats),
    /// `0x0270`.
    MemInfo(MemInfo<'a>),
    /// `0x027d`: by process.
    ProcessWorkingSets(WorkingSets<'a>),
    /// `0x027e`: by session.
    SessionWorkingSets(WorkingSets<'a>),

    /// `0x0e20`–`0x0e27`.
    Pool { action: PoolAction, piece: PoolPiece },
    /// `0x0e28`–`0x0e2f`: not decoded, because their layout is not public.
    PoolSnapshot { phase: Phase, snapshot: PoolSnapshot<'a> },

    /// `0x0f22`, `0x0f24`.
    Mark(Mark<'a>),
    /// `0x0f2e`.
    ProfileSample(ProfileSample),
    /// `0x0f37`.
    ProfileBatch(ProfileBatch<'a>),
    /// `0x0f48`–`0x0f4a`.
    ProfileInterval { phase: IntervalPhase, interval: ProfileInterval<'a> },
    /// `0x0f43`, `0x0f5f`, `0x0f32`.
    Interrupt { kind: InterruptKind, interrupt: Interrupt },
    /// `0x0f42`, `0x0f44`, `0x0f45`.
    Dpc { kind: DpcKind, dpc: Dpc },

    /// `0x1820`.
    Stack(StackWalk<'a>),
    /// `0x1825`: the kernel's part of a stack.
    KernelStackReference(StackReference),
    /// `0x1826`: the user's part of a stack.
    UserStackReference(StackReference),
    /// `0x1822`–`0x1824`.
    StackDefinition(StackDefinition<'a>),

    /// `0x0b0a`.
    Cpu(Cpu<'a>),
    /// `0x0b0b`.
    PhysicalDisk(PhysicalDisk<'a>),
    /// `0x0b0c`.
    LogicalDisk(LogicalDisk<'a>),
    /// `0x0b0f`.
    Service(Service<'a>),
    /// `0x0b18`.
    NumaNodes(NumaNodes<'a>),
    /// `0x0b19`.
    Platform(Platform<'a>),
    /// `0x0b1a`: affinity mask of each processor group.
    ProcessorGroups(PointerArray<'a>),
    /// `0x0b1b`.
    ProcessorNumbers(ProcessorNumbers<'a>),
    /// `0x0b21`.
    DeviceFamily(DeviceFamily),
    /// `0x0b23`.
    Processor(Processor<'a>),
    /// `0x0b24`.
    Virtualization(Virtualization),
    /// `0x0b25`.
    Boot(Boot),

    /// `0x0924`–`0x0928`.
    Hive(Hive<'a>),
    /// SysConfig and ImageId records of merged traces.
    Merged(AddedByMerge<'a>),
}

/// Decodes one record.
pub fn decode<'a>(record: &Record<'a>) -> Decoded<'a> {
    let read = match (Payload::of(record), record.id) {
        (Some(payload), _) => by_hook(&payload),
        (None, RecordId::Classic { class, opcode }) => {
            let Record { version, pointer, payload: bytes, .. } = *record;
            let payload = Payload { hook: HookId(0), version, pointer, bytes };
            AddedByMerge::read(&payload, class, opcode).map(|read| to(read, Event::Merged))
        }
        _ => None,
    };
    let Record { id, version, pointer, .. } = *record;
    let length = record.payload.len();
    match read {
        None => Decoded::NotDecoded,
        Some(Ok(Parsed { value: event, oddity })) => {
            let surplus = oddity.map(|oddity| Surplus { id, version, pointer, length, what: oddity });
            Decoded::Event { event, surplus }
        }
        Some(Err(fault)) => Decoded::Malformed(Malformed { id, version, pointer, length, what: fault }),
    }
}

/// True for frequent events whose validity depends on version and length alone: if one record is valid, all records with the
/// same version, pointer size and length are.
#[inline]
pub(crate) const fn is_judged_by_length(hook: HookId) -> bool {
    matches!(
        hook,
        PAGE_IN_MEMORY
            | PAGE_IN_MEMORY_24H2
            | IN_MEMORY_ACTIVE
            | IN_MEMORY_ACTIVE_RUNDOWN
            | PAGE_ACCESS
            | PAGE_RELEASE
            | PAGE_ACCESS_EX
            | REMOVE_FROM_WS
            | TRANSITION_FAULT
            | DEMAND_ZERO_FAULT
            | COPY_ON_WRITE
            | VIRTUAL_ALLOC
            | VIRTUAL_FREE
            | VIRTUAL_ALLOC_DC_START
            | VIRTUAL_ALLOC_DC_END
            | POOL_ALLOC
            | SESSION_ALLOC
            | POOL_FREE
            | SESSION_FREE
            | HEAP_ALLOC
            | HEAP_FREE
            | MAP_FILE
            | UNMAP_FILE
            | MAP_FILE_DC_START
            | MAP_FILE_DC_END
            | CSWITCH
            | READY_THREAD
            | SAMPLED_PROFILE
            | STACK
            | ISR
            | PASSIVE_ISR
            | ISR_MSI
            | DPC
            | THREADED_DPC
            | TIMER_DPC
    )
}

/// Wraps what a decoder gave into its event.
fn to<'a, T>(read: Read<T>, event: impl FnOnce(T) -> Event<'a>) -> Read<Event<'a>> {
    Ok(read?.map(event))
}

fn empty<'a>(payload: &Payload<'a>, event: Event<'a>) -> Read<Event<'a>> {
    let oddity = (!payload.bytes.is_empty()).then_some(Oddity::Longer { parsed: 0 });
    Ok(Parsed::new(event, oddity))
}

/// `None` for ids that are only counted.
fn by_hook<'a>(p: &Payload<'a>) -> Option<Read<Event<'a>>> {
    use Event as E;
    let process = |phase| to(Process::read(p), |process| E::Process { phase, process });
    let thread = |phase| to(Thread::read(p), |thread| E::Thread { phase, thread });
    let image = |phase| to(Image::read(p), |image| E::Image { phase, image });
    let file = |kind| to(FileName::read(p), |file| E::FileName { kind, file });
    let view = |phase| to(MapView::read(p), |view| E::MapView { phase, view });
    let page =
        |kind| to(page_access_ex::decode(p, PageIdentity::size, PageIdentity::read), |page| E::Page { kind, page });
    let fault = |kind| to(PageFault::read(p), |fault| E::PageFault { kind, fault });
    let range = |phase, read: Read<VirtualRange>| to(read, |range| E::VirtualRange { phase, range });
    let section = |phase| to(PagefileSection::read(p), |section| E::PagefileSection { phase, section });
    let session = |phase| to(Session::read(p), |session| E::Session { phase, session });
    let pool = |action, read: Read<PoolPiece>| to(read, |piece| E::Pool { action, piece });
    let snapshot = |phase, kind| Ok(Parsed::new(E::PoolSnapshot { phase, snapshot: PoolSnapshot::new(p, kind) }, None));
    let interval = |phase| to(ProfileInterval::read(p, phase), |interval| E::ProfileInterval { phase, interval });
    let interrupt = |kind| to(Interrupt::read(p, kind), |interrupt| E::Interrupt { kind, interrupt });
    let dpc = |kind| to(Dpc::read(p), |dpc| E::Dpc { kind, dpc });
    let priority = |kind| to(ThreadPriority::read(p, kind), E::ThreadPriority);
    let masks = |phase| to(GroupMasks::read(p), |masks| E::GroupMasks { phase, masks });
    let counters = |phase| to(ProcessCounters::read(p), |counters| E::ProcessCounters { phase, counters });

    Some(match p.hook {
        LOG_FILE => to(LogFile::read(p), E::LogFile),
        MASKS_AFTER_CHANGE => masks(MasksPhase::AfterChange),
        MASKS_BEFORE_CHANGE => masks(MasksPhase::BeforeChange),
        RUNDOWN_COMPLETE => empty(p, E::RundownComplete),
        DEBUG_ID => to(DebugId::read(p), E::DebugId),
        BUILD_LAB => to(read_build_lab(p), E::BuildLab),
        PROVIDER_BINARY => to(ProviderBinary::read(p), E::ProviderBinary),
        PARTITION_INFO => to(PartitionInfo::read(p), E::PartitionInfo),
        LAST_DROPPED_TIMES => to(LastDroppedTimes::read(p), E::LastDroppedTimes),

        TRANSITION_FAULT => fault(FaultKind::Transition),
        DEMAND_ZERO_FAULT => fault(FaultKind::DemandZero),
        COPY_ON_WRITE => fault(FaultKind::CopyOnWrite),
        GUARD_PAGE_FAULT => fault(FaultKind::GuardPage),
        HARD_PAGE_FAULT => fault(FaultKind::Hard),
        ACCESS_VIOLATION => fault(FaultKind::AccessViolation),
        HARD_FAULT => to(HardFault::read(p), E::HardFault),
        PAGE_IN_MEMORY => page(PageKind::InMemory),
        PAGEFILE_SECTION_RUNDOWN => section(SectionPhase::Rundown),
        PAGEFILE_SECTION_CREATE => section(SectionPhase::Create),
        SESSION_CREATE => session(Phase::Start),
        SESSION_DC_END => session(Phase::DcEnd),
        SESSION_DC_START => session(Phase::DcStart),
        SESSION_DELETE => session(Phase::End),
        PAGEFILE_SECTION_DELETE => section(SectionPhase::Delete),
        VIRTUAL_ALLOC => range(Phase::Start, VirtualRange::read(p)),
        VIRTUAL_FREE => range(Phase::End, VirtualRange::read(p)),
        HEAP_RANGE_RUNDOWN | HEAP_RANGE_CREATE | HEAP_RANGE_RESERVE | HEAP_RANGE_RELEASE | HEAP_RANGE_DESTROY => {
            to(HeapRange::read(p), E::Heap)
        }
        IMAGE_LOAD_BACKED => to(ImageLoadBacked::read(p), E::ImageLoadBacked),
        MEM_INFO => to(MemInfo::read(p), E::MemInfo),
        CONTIGUOUS_MEMORY => to(ContiguousMemory::read(p), E::ContiguousMemory),
        IN_MEMORY_ACTIVE => page(PageKind::InMemoryActive),
        PAGE_ACCESS => page(PageKind::Access),
        PAGE_RELEASE => page(PageKind::Release),
        PAGE_RANGE_ACCESS => to(page_access_ex::decode(p, PageRange::size, PageRange::read), E::PageRangeAccess),
        PAGE_RANGE_RELEASE => to(page_access_ex::decode(p, PageRange::size, PageRange::read), E::PageRangeRelease),
        PAGE_COMBINE => to(page_access_ex::decode(p, PageCombine::size, PageCombine::read), E::PageCombine),
        KERNEL_MEM_USAGE => to(KernelMemUsage::read(p), E::KernelMemUsage),
        MM_STATS => to(MmStats::read(p), E::MmStats),
        MEM_INFO_WS => to(WorkingSets::read(p), E::ProcessWorkingSets),
        MEM_INFO_SESSION_WS => to(WorkingSets::read(p), E::SessionWorkingSets),
        VIRTUAL_ROTATE => to(VirtualRotate::read(p), E::VirtualRotate),
        VIRTUAL_ALLOC_DC_START => range(Phase::DcStart, VirtualRange::read_rundown(p)),
        VIRTUAL_ALLOC_DC_END => range(Phase::DcEnd, VirtualRange::read_rundown(p)),
        PAGE_ACCESS_EX => to(page_access_ex::decode(p, PageAccessEx::size, PageAccessEx::read), E::PageAccessEx),
        REMOVE_FROM_WS => to(page_access_ex::decode(p, ExtraInfo::size, ExtraInfo::read), E::RemoveFromWorkingSet),
        IN_MEMORY_ACTIVE_RUNDOWN => page(PageKind::InMemoryActiveRundown),
        MEM_RESET => to(MemReset::read(p), E::MemReset),
        SECTION_OBJECT_CREATE => to(SectionObject::read(p), E::SectionObjectCreate),
        SECTION_OBJECT_DELETE => to(SectionObject::read(p), E::SectionObjectDelete),
        PAGE_IN_MEMORY_24H2 => page(PageKind::InMemoryTradeable),

        PROCESS_START | PROCESS_END | PROCESS_DC_START | PROCESS_DC_END | PROCESS_DEFUNCT
            if p.version < process::FIRST_VERSION =>
        {
            return None;
        }
        PROCESS_START => process(ProcessPhase::Start),
        PROCESS_END => process(ProcessPhase::End),
        PROCESS_DC_START => process(ProcessPhase::DcStart),
        PROCESS_DC_END => process(ProcessPhase::DcEnd),
        PROCESS_DEFUNCT => process(ProcessPhase::Defunct),
        IMAGE_LOAD => image(Phase::Start),
        PROCESS_TERMINATE => to(ProcessTerminate::read(p), E::ProcessTerminate),
        PERF_CTR => counters(Phase::End),
        PERF_CTR_RUNDOWN => counters(Phase::DcEnd),
        IN_SWAP => to(ProcessInSwap::read(p), E::ProcessInSwap),

        FILE_NAME => file(FileNameKind::Name),
        FILE_CREATE => file(FileNameKind::Create),
        SAME_FILE => to(SameFile::read(p), E::SameFile),
        FILE_DELETE => file(FileNameKind::Delete),
        FILE_RUNDOWN => file(FileNameKind::Rundown),
        MAP_FILE => view(Phase::Start),
        UNMAP_FILE => view(Phase::End),
        MAP_FILE_DC_START => view(Phase::DcStart),
        MAP_FILE_DC_END => view(Phase::DcEnd),

        THREAD_START | THREAD_END | THREAD_DC_START | THREAD_DC_END if p.version < thread::FIRST_VERSION => {
            return None;
        }
        THREAD_START => thread(Phase::Start),
        THREAD_END => thread(Phase::End),
        THREAD_DC_START => thread(Phase::DcStart),
        THREAD_DC_END => thread(Phase::DcEnd),
        CSWITCH => to(ContextSwitch::read(p), E::ContextSwitch),
        COMPACT_CSWITCH => to(CompactSwitches::read(p), E::CompactSwitches),
        SET_PRIORITY => priority(PriorityKind::Dynamic),
        SET_BASE_PRIORITY => priority(PriorityKind::Base),
        READY_THREAD => to(ReadyThread::read(p), E::ReadyThread),
        SET_PAGE_PRIORITY => priority(PriorityKind::Page),
        SET_IO_PRIORITY => priority(PriorityKind::Io),
        SET_AFFINITY => to(ThreadAffinity::read(p), E::ThreadAffinity),
        SET_NAME => to(ThreadName::read(p), E::ThreadName),

        HIVE_INITIALIZE | HIVE_DESTROY | HIVE_LINK | HIVE_RUNDOWN | HIVE_DIRTY => to(Hive::read(p), E::Hive),

        CPU => to(Cpu::read(p), E::Cpu),
        PHYSICAL_DISK => to(PhysicalDisk::read(p), E::PhysicalDisk),
        LOGICAL_DISK => to(LogicalDisk::read(p), E::LogicalDisk),
        SERVICES if p.version >= system_service::FIRST_VERSION => to(Service::read(p), E::Service),
        NUMA_NODE => to(NumaNodes::read(p), E::NumaNodes),
        PLATFORM => to(Platform::read(p), E::Platform),
        PROCESSOR_GROUP => to(read_processor_groups(p), E::ProcessorGroups),
        PROCESSOR_NUMBER => to(ProcessorNumbers::read(p), E::ProcessorNumbers),
        DEVICE_FAMILY => to(DeviceFamily::read(p), E::DeviceFamily),
        PROCESSOR => to(Processor::read(p), E::Processor),
        VIRTUALIZATION => to(Virtualization::read(p), E::Virtualization),
        BOOT => to(Boot::read(p), E::Boot),

        HEAP_CREATE | HEAP_ALLOC | HEAP_REALLOC | HEAP_DESTROY | HEAP_FREE | HEAP_EXPAND | HEAP_SNAPSHOT
        | HEAP_CONTRACT => to(HeapRecord::read(p), E::HeapBlock),

        POOL_ALLOC => pool(PoolAction::Alloc, PoolPiece::read(p)),
        SESSION_ALLOC => pool(PoolAction::Alloc, PoolPiece::read_session(p)),
        POOL_FREE => pool(PoolAction::Free, PoolPiece::read(p)),
        SESSION_FREE => pool(PoolAction::Free, PoolPiece::read_session(p)),
        ADD_PAGE => pool(PoolAction::AddPage, PoolPiece::read(p)),
        SESSION_ADD_PAGE => pool(PoolAction::AddPage, PoolPiece::read_session(p)),
        BIG_PAGE => pool(PoolAction::AddBigPage, PoolPiece::read(p)),
        SESSION_BIG_PAGE => pool(PoolAction::AddBigPage, PoolPiece::read_session(p)),

        SNAPSHOT_DC_START => snapshot(Phase::DcStart, PoolSnapshotKind::Pool),
        SNAPSHOT_DC_END => snapshot(Phase::DcEnd, PoolSnapshotKind::Pool),
        BIG_SNAPSHOT_DC_START => snapshot(Phase::DcStart, PoolSnapshotKind::Big),
        BIG_SNAPSHOT_DC_END => snapshot(Phase::DcEnd, PoolSnapshotKind::Big),
        SESSION_SNAPSHOT_DC_START => snapshot(Phase::DcStart, PoolSnapshotKind::Session),
        SESSION_SNAPSHOT_DC_END => snapshot(Phase::DcEnd, PoolSnapshotKind::Session),
        SESSION_BIG_SNAPSHOT_DC_START => snapshot(Phase::DcStart, PoolSnapshotKind::SessionBig),
        SESSION_BIG_SNAPSHOT_DC_END => snapshot(Phase::DcEnd, PoolSnapshotKind::SessionBig),

        MARK => to(Mark::read(p, false), E::Mark),
        ASYNC_MARK => to(Mark::read(p, true), E::Mark),
        SAMPLED_PROFILE => to(ProfileSample::read(p), E::ProfileSample),
        ISR_MSI => interrupt(InterruptKind::Message),
        SAMPLED_PROFILE_CACHE => to(ProfileBatch::read(p), E::ProfileBatch),
        THREADED_DPC => dpc(DpcKind::Threaded),
        ISR => interrupt(InterruptKind::Line),
        DPC => dpc(DpcKind::Plain),
        TIMER_DPC => dpc(DpcKind::Timer),
        PROFILE_INTERVAL_SET => interval(IntervalPhase::Set),
        PROFILE_INTERVAL_DC_START => interval(IntervalPhase::DcStart),
        PROFILE_INTERVAL_DC_END => interval(IntervalPhase::DcEnd),
        PASSIVE_ISR => interrupt(InterruptKind::Passive),

        IMAGE_UNLOAD => image(Phase::End),
        IMAGE_DC_START => image(Phase::DcStart),
        IMAGE_DC_END => image(Phase::DcEnd),
        KERNEL_BASE => to(read_address(p), E::KernelBase),
        HYPERCALL_PAGE => to(read_address(p), E::HypercallPage),

        STACK => to(StackWalk::read(p), E::Stack),
        KEY_CREATE | KEY_DELETE | KEY_RUNDOWN => to(StackDefinition::read(p), E::StackDefinition),
        STACK_KEY_KERNEL => to(StackReference::read(p), E::KernelStackReference),
        STACK_KEY_USER => to(StackReference::read(p), E::UserStackReference),
        _ => return None,
    })
}

/// `decode` returns faults by value, so its result must stay small.
const _: () = assert!(size_of::<Fault>() <= 32 && size_of::<Event<'_>>() <= 192);
