//! The table from hook ids to decoders, and the event that comes out.
//!
//! One line per id. Ids that are missing have no public layout or are not needed: their records are counted only.

use super::cswitch::{CompactSwitches, ContextSwitch, ReadyThread};
use super::disk::{LogicalDisk, PhysicalDisk};
use super::fault::{FaultKind, HardFault, PageFault};
use super::file::{FileName, FileNameKind, MapView, SameFile};
use super::header::{
    DebugId, GroupMasks, LastDroppedTimes, LogFile, MasksPhase, PartitionInfo, ProviderBinary, read_build_lab,
};
use super::heap::HeapRange;
use super::image::{Image, read_address};
use super::memory_counters::{KernelMemUsage, MemInfo, MmStats, WorkingSets};
use super::merged::Merged;
use super::outcome::{Decoded, Fault, Malformed, Oddity, Parsed, Read, Surplus};
use super::page::{ExtraInfo, PageAccessEx, PageCombine, PageIdentity, PageKind, PageRange};
use super::page_access;
use super::payload::Payload;
use super::perfinfo::{
    Dpc, DpcKind, Interrupt, InterruptKind, IntervalPhase, Mark, ProfileBatch, ProfileInterval, ProfileSample,
};
use super::pool::{PoolAction, PoolPiece};
use super::pool_snapshot::{PoolSnapshot, PoolSnapshotKind};
use super::process::{self, Process, ProcessCounters, ProcessInSwap, ProcessPhase, ProcessTerminate};
use super::registry::Hive;
use super::section::{ImageLoadBacked, PagefileSection, SectionObject, SectionPhase, Session};
use super::stack::{Stack, StackDefinition, StackReference};
use super::system_config::{
    Boot, Cpu, DeviceFamily, NumaNodes, Platform, Processor, ProcessorNumbers, Virtualization, read_processor_groups,
};
use super::thread::{self, PriorityKind, Thread, ThreadAffinity, ThreadName, ThreadPriority};
use super::virtual_memory::{ContiguousMemory, MemReset, VirtualRange, VirtualRotate};
use super::{Phase, payload::PointerArray};
use crate::bytes::Narrow;
use crate::etl::record::{HookId, Record, RecordId};

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
    /// `0x0e28`–`0x0e2f`: handed on raw, for their layout is not public.
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
    Stack(Stack<'a>),
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
    Merged(Merged<'a>),
}

/// Decodes one record.
pub fn decode<'a>(record: &Record<'a>) -> Decoded<'a> {
    let read = match (Payload::of(record), record.id) {
        (Some(payload), _) => by_hook(&payload),
        (None, RecordId::Classic { class, opcode }) => {
            let Record { version, pointer, payload: bytes, .. } = *record;
            let payload = Payload { hook: HookId(0), version, pointer, bytes };
            Merged::read(&payload, class, opcode).map(|read| to(read, Event::Merged))
        }
        _ => None,
    };
    let Record { id, version, pointer, .. } = *record;
    let length = record.payload.len();
    match read {
        None => Decoded::NotDecoded,
        Some(Ok(Parsed { value: event, oddity })) => {
            let surplus = oddity.map(|oddity| Surplus { id, version, pointer, length, oddity });
            Decoded::Event { event, surplus }
        }
        Some(Err(fault)) => Decoded::Malformed(Malformed { id, version, pointer, length, fault }),
    }
}

/// Wraps what a decoder gave into its event.
fn to<'a, T>(read: Read<T>, event: impl FnOnce(T) -> Event<'a>) -> Read<Event<'a>> {
    let Parsed { value, oddity } = read?;
    Ok(Parsed::new(event(value), oddity))
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
    let page = |kind| to(page_access::decode(p, PageIdentity::size, PageIdentity::read), |page| E::Page { kind, page });
    let fault = |kind| to(PageFault::read(p), |fault| E::PageFault { kind, fault });
    let range = |phase, read: Read<VirtualRange>| to(read, |range| E::VirtualRange { phase, range });
    let section = |phase| to(PagefileSection::read(p), |section| E::PagefileSection { phase, section });
    let session = |phase| to(Session::read(p), |session| E::Session { phase, session });
    let pool = |action, session| to(PoolPiece::read(p, session), |piece| E::Pool { action, piece });
    let snapshot = |phase, kind| Ok(Parsed::new(E::PoolSnapshot { phase, snapshot: PoolSnapshot::new(p, kind) }, None));
    let interval = |phase| to(ProfileInterval::read(p, phase), |interval| E::ProfileInterval { phase, interval });
    let interrupt = |kind| to(Interrupt::read(p, kind), |interrupt| E::Interrupt { kind, interrupt });
    let dpc = |kind| to(Dpc::read(p), |dpc| E::Dpc { kind, dpc });
    let priority = |kind| to(ThreadPriority::read(p, kind), E::ThreadPriority);
    let masks = |phase| to(GroupMasks::read(p), |masks| E::GroupMasks { phase, masks });
    let counters = |phase| to(ProcessCounters::read(p), |counters| E::ProcessCounters { phase, counters });

    Some(match p.hook.0 {
        0x0000 => to(LogFile::read(p), E::LogFile),
        0x0005 => masks(MasksPhase::AfterChange),
        0x0020 => masks(MasksPhase::BeforeChange),
        0x0008 => empty(p, E::RundownComplete),
        0x0040 => to(DebugId::read(p), E::DebugId),
        0x0042 => to(read_build_lab(p), E::BuildLab),
        0x0043 => to(ProviderBinary::read(p), E::ProviderBinary),
        0x0050 => to(PartitionInfo::read(p), E::PartitionInfo),
        0x0052 => to(LastDroppedTimes::read(p), E::LastDroppedTimes),

        0x020a => fault(FaultKind::Transition),
        0x020b => fault(FaultKind::DemandZero),
        0x020c => fault(FaultKind::CopyOnWrite),
        0x020d => fault(FaultKind::GuardPage),
        0x020e => fault(FaultKind::Hard),
        0x020f => fault(FaultKind::AccessViolation),
        0x0220 => to(HardFault::read(p), E::HardFault),
        0x0223 => page(PageKind::InMemory),
        0x0248 => section(SectionPhase::Rundown),
        0x0249 => section(SectionPhase::Create),
        0x024b => session(Phase::Start),
        0x024c => session(Phase::DcEnd),
        0x024d => session(Phase::DcStart),
        0x024e => session(Phase::End),
        0x024f => section(SectionPhase::Delete),
        0x0262 => range(Phase::Start, VirtualRange::read(p)),
        0x0263 => range(Phase::End, VirtualRange::read(p)),
        0x0264..=0x0268 => to(HeapRange::read(p), E::Heap),
        0x0269 => to(ImageLoadBacked::read(p), E::ImageLoadBacked),
        0x0270 => to(MemInfo::read(p), E::MemInfo),
        0x0271 => to(ContiguousMemory::read(p), E::ContiguousMemory),
        0x0275 => page(PageKind::InMemoryActive),
        0x0276 => page(PageKind::Access),
        0x0277 => page(PageKind::Release),
        0x0278 => to(page_access::decode(p, PageRange::size, PageRange::read), E::PageRangeAccess),
        0x0279 => to(page_access::decode(p, PageRange::size, PageRange::read), E::PageRangeRelease),
        0x027a => to(page_access::decode(p, PageCombine::size, PageCombine::read), E::PageCombine),
        0x027b => to(KernelMemUsage::read(p), E::KernelMemUsage),
        0x027c => to(MmStats::read(p), E::MmStats),
        0x027d => to(WorkingSets::read(p), E::ProcessWorkingSets),
        0x027e => to(WorkingSets::read(p), E::SessionWorkingSets),
        0x027f => to(VirtualRotate::read(p), E::VirtualRotate),
        0x0280 => range(Phase::DcStart, VirtualRange::read_rundown(p)),
        0x0281 => range(Phase::DcEnd, VirtualRange::read_rundown(p)),
        0x0282 => to(page_access::decode(p, PageAccessEx::size, PageAccessEx::read), E::PageAccessEx),
        0x0283 => to(page_access::decode(p, ExtraInfo::size, ExtraInfo::read), E::RemoveFromWorkingSet),
        0x0285 => page(PageKind::InMemoryActiveRundown),
        0x0286 => to(MemReset::read(p), E::MemReset),
        0x0287 => to(SectionObject::read(p), E::SectionObjectCreate),
        0x0288 => to(SectionObject::read(p), E::SectionObjectDelete),
        0x028a => page(PageKind::InMemoryTradeable),

        0x0301..=0x0304 | 0x0327 if p.version < process::FIRST_VERSION => return None,
        0x0301 => process(ProcessPhase::Start),
        0x0302 => process(ProcessPhase::End),
        0x0303 => process(ProcessPhase::DcStart),
        0x0304 => process(ProcessPhase::DcEnd),
        0x0327 => process(ProcessPhase::Defunct),
        0x030a => image(Phase::Start),
        0x030b => to(ProcessTerminate::read(p), E::ProcessTerminate),
        0x0320 => counters(Phase::End),
        0x0321 => counters(Phase::DcEnd),
        0x0323 => to(ProcessInSwap::read(p), E::ProcessInSwap),

        0x0400 => file(FileNameKind::Name),
        0x0420 => file(FileNameKind::Create),
        0x0421 => to(SameFile::read(p), E::SameFile),
        0x0423 => file(FileNameKind::Delete),
        0x0424 => file(FileNameKind::Rundown),
        0x0425 => view(Phase::Start),
        0x0426 => view(Phase::End),
        0x0427 => view(Phase::DcStart),
        0x0428 => view(Phase::DcEnd),

        0x0501..=0x0504 if p.version < thread::FIRST_VERSION => return None,
        0x0501 => thread(Phase::Start),
        0x0502 => thread(Phase::End),
        0x0503 => thread(Phase::DcStart),
        0x0504 => thread(Phase::DcEnd),
        0x0524 => to(ContextSwitch::read(p), E::ContextSwitch),
        0x0525 => to(CompactSwitches::read(p), E::CompactSwitches),
        0x0530 => priority(PriorityKind::Dynamic),
        0x0531 => priority(PriorityKind::Base),
        0x0532 => to(ReadyThread::read(p), E::ReadyThread),
        0x0533 => priority(PriorityKind::Page),
        0x0534 => priority(PriorityKind::Io),
        0x0535 => to(ThreadAffinity::read(p), E::ThreadAffinity),
        0x0548 => to(ThreadName::read(p), E::ThreadName),

        0x0924..=0x0928 => to(Hive::read(p), E::Hive),

        0x0b0a => to(Cpu::read(p), E::Cpu),
        0x0b0b => to(PhysicalDisk::read(p), E::PhysicalDisk),
        0x0b0c => to(LogicalDisk::read(p), E::LogicalDisk),
        0x0b18 => to(NumaNodes::read(p), E::NumaNodes),
        0x0b19 => to(Platform::read(p), E::Platform),
        0x0b1a => to(read_processor_groups(p), E::ProcessorGroups),
        0x0b1b => to(ProcessorNumbers::read(p), E::ProcessorNumbers),
        0x0b21 => to(DeviceFamily::read(p), E::DeviceFamily),
        0x0b23 => to(Processor::read(p), E::Processor),
        0x0b24 => to(Virtualization::read(p), E::Virtualization),
        0x0b25 => to(Boot::read(p), E::Boot),

        0x0e20 => pool(PoolAction::Alloc, false),
        0x0e21 => pool(PoolAction::Alloc, true),
        0x0e22 => pool(PoolAction::Free, false),
        0x0e23 => pool(PoolAction::Free, true),
        0x0e24 => pool(PoolAction::AddPage, false),
        0x0e25 => pool(PoolAction::AddPage, true),
        0x0e26 => pool(PoolAction::AddBigPage, false),
        0x0e27 => pool(PoolAction::AddBigPage, true),

        0x0e28 => snapshot(Phase::DcStart, PoolSnapshotKind::Pool),
        0x0e29 => snapshot(Phase::DcEnd, PoolSnapshotKind::Pool),
        0x0e2a => snapshot(Phase::DcStart, PoolSnapshotKind::Big),
        0x0e2b => snapshot(Phase::DcEnd, PoolSnapshotKind::Big),
        0x0e2c => snapshot(Phase::DcStart, PoolSnapshotKind::Session),
        0x0e2d => snapshot(Phase::DcEnd, PoolSnapshotKind::Session),
        0x0e2e => snapshot(Phase::DcStart, PoolSnapshotKind::SessionBig),
        0x0e2f => snapshot(Phase::DcEnd, PoolSnapshotKind::SessionBig),

        0x0f22 => to(Mark::read(p, false), E::Mark),
        0x0f24 => to(Mark::read(p, true), E::Mark),
        0x0f2e => to(ProfileSample::read(p), E::ProfileSample),
        0x0f32 => interrupt(InterruptKind::Message),
        0x0f37 => to(ProfileBatch::read(p), E::ProfileBatch),
        0x0f42 => dpc(DpcKind::Threaded),
        0x0f43 => interrupt(InterruptKind::Line),
        0x0f44 => dpc(DpcKind::Plain),
        0x0f45 => dpc(DpcKind::Timer),
        0x0f48 => interval(IntervalPhase::Set),
        0x0f49 => interval(IntervalPhase::DcStart),
        0x0f4a => interval(IntervalPhase::DcEnd),
        0x0f5f => interrupt(InterruptKind::Passive),

        0x1402 => image(Phase::End),
        0x1403 => image(Phase::DcStart),
        0x1404 => image(Phase::DcEnd),
        0x1421 => to(read_address(p), E::KernelBase),
        0x1422 => to(read_address(p), E::HypercallPage),

        0x1820 => to(Stack::read(p), E::Stack),
        0x1822..=0x1824 => to(StackDefinition::read(p), E::StackDefinition),
        0x1825 => to(StackReference::read(p), E::KernelStackReference),
        0x1826 => to(StackReference::read(p), E::UserStackReference),
        _ => return None,
    })
}

/// Faults are ordinary results here; this keeps the size of what `decode` returns in view.
const _: () = assert!(size_of::<Fault>() <= 32 && size_of::<Event<'_>>() <= 192);
