//! Hook ids of kernel events and their names.
//!
//! An event with a decoder has its id and its name beside its layout, by [`hooks!`](super::hooks_macro); the others, which are only counted,
//! are listed here. Sources: `docs/formats.md`; beyond it the type names of the public Windows MOF classes and trace
//! headers, written the way WPA and xperf write them.

use super::hooks_macro::KernelName;
use crate::etl::record_id::HookId;
use std::sync::LazyLock;

/// The families of `layouts` that have hook ids: these are passed on, and their names are in [`ALL`].
macro_rules! families {
    ($($family:ident)+) => {
        pub use super::layouts::{$($family::hook::*),+};

        const NAMES: &[&[(HookId, KernelName)]] = &[$(super::layouts::$family::hook::NAMES),+];
    };
}
families! {
    cswitch disk_io file_name_and_view header_group heap_range heap image memory_counters page_access_ex page_fault page_identity perfinfo pool pool_snapshot
    process registry_hive section stack system_config system_disk system_service thread user_session virtual_memory
}

/// All names, sorted by id.
pub(super) static ALL: LazyLock<Vec<(HookId, KernelName)>> = LazyLock::new(|| {
    let mut all = NAMES.concat();
    all.extend(COUNTED.iter().map(|(hook, name)| (HookId(*hook), *name)));
    all.sort_unstable_by_key(|(hook, _)| *hook);
    all
});

const fn k(hook: u16, name: &'static str) -> (u16, KernelName) {
    (hook, KernelName { name, alias: None })
}

/// With the name that xperf gives it.
const fn x(hook: u16, name: &'static str, alias: &'static str) -> (u16, KernelName) {
    (hook, KernelName { name, alias: Some(alias) })
}

/// Events that are only counted.
static COUNTED: [(u16, KernelName); 132] = [
    k(0x0030, "EventTrace: RundownBegin"),
    k(0x0031, "EventTrace: RundownEnd"),
    k(0x0041, "EventTrace: DbgIdNB10"),
    k(0x0221, "Memory: RemovePageByColor"),
    k(0x0222, "Memory: RemovePageFromList"),
    k(0x0224, "Memory: InsertInFreeList"),
    k(0x0225, "Memory: InsertInModifiedList"),
    k(0x0226, "Memory: InsertInList"),
    k(0x0228, "Memory: InsertAtFront"),
    k(0x0229, "Memory: UnlinkFromStandby"),
    k(0x022a, "Memory: UnlinkFromFreeOrZero"),
    k(0x022b, "Memory: WorkingSetManager"),
    k(0x022c, "Memory: TrimProcess"),
    k(0x022e, "Memory: ZeroShareCount"),
    k(0x023c, "Memory: WSInfoProcess"),
    k(0x0245, "Memory: FaultAddressWithIp"),
    k(0x0246, "Memory: TrimSession"),
    k(0x0247, "Memory: MemorySnapLite"),
    k(0x024a, "Memory: WSInfoSession"),
    k(0x0272, "Memory: FileStoreFault"),
    k(0x0273, "Memory: InMemoryStoreFault"),
    k(0x0274, "Memory: CompressedPage"),
    k(0x0284, "Memory: WSShareableRundown"),
    k(0x0422, "FileIo: Null"),
    x(0x0440, "FileIo: Create", "FileIoCreate"),
    x(0x0441, "FileIo: Cleanup", "FileIoCleanup"),
    x(0x0442, "FileIo: Close", "FileIoClose"),
    x(0x0443, "FileIo: Read", "FileIoRead"),
    x(0x0444, "FileIo: Write", "FileIoWrite"),
    x(0x0445, "FileIo: SetInfo", "FileIoSetInfo"),
    x(0x0446, "FileIo: Delete", "FileIoDelete"),
    x(0x0447, "FileIo: Rename", "FileIoRename"),
    x(0x0448, "FileIo: DirEnum", "FileIoDirEnum"),
    x(0x0449, "FileIo: Flush", "FileIoFlush"),
    x(0x044a, "FileIo: QueryInfo", "FileIoQueryInfo"),
    x(0x044b, "FileIo: FSControl", "FileIoFSCTL"),
    x(0x044c, "FileIo: OperationEnd", "FileIoOpEnd"),
    x(0x044d, "FileIo: DirNotify", "FileIoDirNotify"),
    k(0x044f, "FileIo: DeletePath"),
    k(0x0450, "FileIo: RenamePath"),
    k(0x0529, "Thread: SpinLock"),
    k(0x053e, "Thread: KernelQueueEnqueue"),
    k(0x053f, "Thread: KernelQueueDequeue"),
    k(0x060a, "TcpIp: SendIPV4"),
    k(0x060b, "TcpIp: RecvIPV4"),
    k(0x060c, "TcpIp: ConnectIPV4"),
    k(0x060d, "TcpIp: DisconnectIPV4"),
    k(0x060e, "TcpIp: RetransmitIPV4"),
    k(0x060f, "TcpIp: AcceptIPV4"),
    k(0x0610, "TcpIp: ReconnectIPV4"),
    k(0x0611, "TcpIp: Fail"),
    k(0x0612, "TcpIp: TCPCopyIPV4"),
    k(0x061a, "TcpIp: SendIPV6"),
    k(0x061b, "TcpIp: RecvIPV6"),
    k(0x061c, "TcpIp: ConnectIPV6"),
    k(0x061d, "TcpIp: DisconnectIPV6"),
    k(0x061e, "TcpIp: RetransmitIPV6"),
    k(0x061f, "TcpIp: AcceptIPV6"),
    k(0x0620, "TcpIp: ReconnectIPV6"),
    k(0x0622, "TcpIp: TCPCopyIPV6"),
    k(0x080a, "UdpIp: SendIPV4"),
    k(0x080b, "UdpIp: RecvIPV4"),
    k(0x0811, "UdpIp: Fail"),
    k(0x081a, "UdpIp: SendIPV6"),
    k(0x081b, "UdpIp: RecvIPV6"),
    k(0x090a, "Registry: Create"),
    k(0x090b, "Registry: Open"),
    k(0x090c, "Registry: Delete"),
    k(0x090d, "Registry: Query"),
    k(0x090e, "Registry: SetValue"),
    k(0x090f, "Registry: DeleteValue"),
    k(0x0910, "Registry: QueryValue"),
    k(0x0911, "Registry: EnumerateKey"),
    k(0x0912, "Registry: EnumerateValueKey"),
    k(0x0913, "Registry: QueryMultipleValue"),
    k(0x0914, "Registry: SetInformation"),
    k(0x0915, "Registry: Flush"),
    k(0x0916, "Registry: KCBCreate"),
    k(0x0917, "Registry: KCBDelete"),
    k(0x0918, "Registry: KCBRundownBegin"),
    k(0x0919, "Registry: KCBRundownEnd"),
    k(0x091a, "Registry: Virtualize"),
    k(0x091b, "Registry: Close"),
    k(0x0922, "Registry: Counters"),
    k(0x0923, "Registry: Config"),
    k(0x0930, "Registry: NotificationRegister"),
    k(0x0931, "Registry: NotificationDeliver"),
    k(0x0b0d, "SystemConfig: NIC"),
    k(0x0b0e, "SystemConfig: Video"),
    k(0x0b10, "SystemConfig: Power"),
    k(0x0b11, "SystemConfig: Network"),
    k(0x0b12, "SystemConfig: OpticalDisk"),
    k(0x0b13, "SystemConfig: PhyDiskEx"),
    k(0x0b15, "SystemConfig: IRQ"),
    k(0x0b16, "SystemConfig: PnP"),
    k(0x0b17, "SystemConfig: IDEChannel"),
    k(0x0b1c, "SystemConfig: DPI"),
    k(0x0b1d, "SystemConfig: CodeIntegrity"),
    k(0x0b1e, "SystemConfig: MachineId"),
    k(0x0b1f, "SystemConfig: Defragmentation"),
    k(0x0b22, "SystemConfig: FlightIds"),
    k(0x0f2f, "PerfInfo: PmcInterrupt"),
    k(0x0f30, "PerfInfo: PmcConfig"),
    x(0x0f33, "PerfInfo: SysClEnter", "SysCallEnter"),
    x(0x0f34, "PerfInfo: SysClExit", "SysCallExit"),
    k(0x0f46, "PerfInfo: IoTimerExpiration"),
    k(0x0f4b, "PerfInfo: SpinLockDCStart"),
    k(0x0f4c, "PerfInfo: SpinLockDCEnd"),
    k(0x0f4f, "PerfInfo: ClockInterrupt"),
    k(0x0f5b, "PerfInfo: IPI"),
    k(0x0f64, "PerfInfo: DpcEnqueue"),
    k(0x0f65, "PerfInfo: DpcExecution"),
    k(0x0f66, "PerfInfo: InterruptSteering"),
    k(0x0f6d, "PerfInfo: ShouldYieldProcessor"),
    k(0x102b, "Heap: Lock"),
    k(0x102c, "Heap: Unlock"),
    k(0x102d, "Heap: Validate"),
    k(0x102e, "Heap: Walk"),
    k(0x1120, "Object: CreateHandle"),
    k(0x1121, "Object: CloseHandle"),
    k(0x1122, "Object: DuplicateHandle"),
    k(0x1124, "Object: TypeDCStart"),
    k(0x1125, "Object: TypeDCEnd"),
    k(0x1126, "Object: HandleDCStart"),
    k(0x1127, "Object: HandleDCEnd"),
    k(0x1130, "Object: CreateObject"),
    k(0x1131, "Object: DeleteObject"),
    k(0x1a21, "ALPC: SendMessage"),
    k(0x1a22, "ALPC: ReceiveMessage"),
    k(0x1a23, "ALPC: WaitForReply"),
    k(0x1a24, "ALPC: WaitForNewMessage"),
    k(0x1a25, "ALPC: Unwait"),
];
