//! Context switches and readied threads.
//!
//! Sources: `docs/formats.md` ("Thread"), after the Windows MOF (`CSwitch_V2`…`V4`, `CompCS`, `ReadyThread`) and two
//! published samples of version 4.

use crate::byte_reader::layout;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use crate::units::Ticks;
use zerocopy::little_endian::{I32, I64, U32};

crate::event::hooks_macro::hooks! {
    CSWITCH = 0x0524, "Thread: CSwitch", "CSwitch";
    COMPACT_CSWITCH = 0x0525, "Thread: CompCS";
    READY_THREAD = 0x0532, "Thread: ReadyThread", "ReadyThread";
}

/// `0x0524` CSwitch: 24 bytes, 16 in version 1. The processor is the buffer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextSwitch {
    /// Thread that starts to run; 0 = idle.
    pub new_thread_id: u32,
    /// Thread that stops running; 0 = idle.
    pub old_thread_id: u32,
    /// Priority of the new thread.
    pub new_priority: i8,
    /// Priority of the old thread.
    pub old_priority: i8,
    /// C-state of the processor before, when the old thread is idle, else its rank (version 1: the new one's quantum).
    pub previous_c_state: u8,
    /// Priority decrement of the new thread, 0 when the old one is idle (version 1: the old one's quantum).
    pub new_priority_decrement: i8,
    /// Why the old thread waits, see [`wait_reason_name`].
    pub old_wait_reason: u8,
    /// Wait mode of the old thread and, by version, scheduling flags; see [`ContextSwitch::old_waits_in_user_mode`].
    pub old_wait_mode: u8,
    /// State of the old thread, see [`thread_state_name`].
    pub old_state: u8,
    /// Ideal processor of the old thread.
    pub old_ideal_processor: u8,
    /// How long the new thread waited, in clock ticks; `None` in version 1.
    pub new_wait_clock_ticks: Option<u32>,
    /// What is left of the old thread's quantum, in 1024 cycles; `None` in version 1.
    pub old_remaining_quantum: Option<i32>,
}

impl ContextSwitch {
    /// True when the old thread waits in user mode (bit 0, in all versions).
    pub const fn old_waits_in_user_mode(&self) -> bool {
        self.old_wait_mode & 1 != 0
    }

    /// Decodes a record of version 1 or later.
    ///
    /// # Errors
    /// A fault when there are fewer bytes than the version has.
    #[inline]
    pub fn read(payload: &Payload<'_>) -> Read<ContextSwitch> {
        let known = 1..=4;
        if payload.version < 2 { payload.read::<SwitchV1>(known) } else { payload.read::<SwitchLayout>(known) }
    }
}

layout! {
    SwitchV1 = 16 bytes => ContextSwitch {
        new_thread_id: U32, old_thread_id: U32, new_priority: i8, old_priority: i8, previous_c_state: u8,
        new_priority_decrement: i8, old_wait_reason: u8, old_wait_mode: u8, old_state: u8, old_ideal_processor: u8
    } with |_| { new_wait_clock_ticks: None, old_remaining_quantum: None }
}

layout! {
    SwitchLayout = 24 bytes => ContextSwitch {
        new_thread_id: U32, old_thread_id: U32, new_priority: i8, old_priority: i8, previous_c_state: u8,
        new_priority_decrement: i8, old_wait_reason: u8, old_wait_mode: u8, old_state: u8, old_ideal_processor: u8,
        new_wait_clock_ticks: U32, old_remaining_quantum: I32
    }
}

/// Name of a thread state; `None` for an unknown number.
pub fn thread_state_name(state: u8) -> Option<&'static str> {
    const NAMES: [&str; 10] = [
        "Initialized",
        "Ready",
        "Running",
        "Standby",
        "Terminated",
        "Waiting",
        "Transition",
        "DeferredReady",
        "GateWait",
        "WaitingForProcessInSwap",
    ];
    NAMES.get(usize::from(state)).copied()
}

/// Name of a wait reason; `None` for an unknown number. Meaningful when the state is Waiting; with Ready, 30–33 say how
/// the thread lost the processor. 37 meant "maximum" before Windows 8.
pub fn wait_reason_name(reason: u8) -> Option<&'static str> {
    const NAMES: [&str; 43] = [
        "Executive",
        "FreePage",
        "PageIn",
        "PoolAllocation",
        "DelayExecution",
        "Suspended",
        "UserRequest",
        "WrExecutive",
        "WrFreePage",
        "WrPageIn",
        "WrPoolAllocation",
        "WrDelayExecution",
        "WrSuspended",
        "WrUserRequest",
        "WrEventPair",
        "WrQueue",
        "WrLpcReceive",
        "WrLpcReply",
        "WrVirtualMemory",
        "WrPageOut",
        "WrRendezvous",
        "WrKeyedEvent",
        "WrTerminated",
        "WrProcessInSwap",
        "WrCpuRateControl",
        "WrCalloutStack",
        "WrKernel",
        "WrResource",
        "WrPushLock",
        "WrMutex",
        "WrQuantumEnd",
        "WrDispatchInt",
        "WrPreempted",
        "WrYieldExecution",
        "WrFastMutex",
        "WrGuardedMutex",
        "WrRundown",
        "WrAlertByThreadId",
        "WrDeferredPreempt",
        "WrPhysicalFault",
        "WrIoRing",
        "WrMdlCache",
        "WrRcu",
    ];
    NAMES.get(usize::from(reason)).copied()
}

/// `0x0525`: switches of one processor in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactSwitches<'a> {
    /// Time that the first packet's delta counts from.
    pub first_time: Ticks,
    /// Threads that packets name by index.
    pub thread_ids: [u32; 16],
    /// Base priorities of those threads.
    pub base_priorities: [i8; 16],
    /// Packets of 2, 4 or 8 bytes; the low 2 bits of each say which.
    pub packets: &'a [u8],
}

/// A switch of a packet. The thread that runs next is the one that the next packet switches out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactSwitch {
    /// Stamp of the switch.
    pub time: Ticks,
    /// Thread that stops running; 0 = idle.
    pub old_thread_id: u32,
    /// Wait reason or state of that thread, see [`CompactSwitch::old_state`]; `None` for idle.
    pub state_or_reason: Option<u8>,
}

/// Number of wait reasons of a Windows build, where it is known. It decides what packets of compact switches mean.
pub(crate) const fn wait_reasons_of_build(build: u32) -> Option<u8> {
    match build {
        7600..=7601 => Some(37),
        10586 => Some(39),
        _ => None,
    }
}

/// Stands for a state of the old thread that is in the packet but cannot be decoded: the number goes into packed records, beside those
/// that Windows may still add.
pub(crate) const UNDECODED_STATE: u8 = u8::MAX;

impl CompactSwitch {
    /// State and wait reason of the old thread, as in [`ContextSwitch`]. Numbers below the number of wait reasons of the
    /// build are reasons of the state Waiting, the others are states. Where that number is not known, only what is a reason
    /// in every build is decoded.
    pub const fn old_state(&self, wait_reasons: Option<u8>) -> (u8, u8) {
        const FEWEST_REASONS: u8 = 37;
        const WAITING: u8 = 5;
        match (self.state_or_reason, wait_reasons) {
            (None, _) => (WAITING, 0),
            (Some(number), Some(reasons)) if number >= reasons => (number - reasons, 0),
            (Some(number), None) if number >= FEWEST_REASONS => (UNDECODED_STATE, number),
            (Some(number), _) => (WAITING, number),
        }
    }
}

impl CompactSwitches<'_> {
    /// The switches in order. A packet that is cut ends them.
    pub fn switches(&self) -> impl Iterator<Item = CompactSwitch> {
        let (mut rest, mut time) = (self.packets, self.first_time);
        std::iter::from_fn(move || {
            let head = u64::from(*rest.first()?);
            let bytes = [2, 4, 4, 8][(head & 3) as usize];
            let (packet, after) = rest.split_at_checked(bytes)?;
            rest = after;
            let word = packet.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
            let bits = |low: u32, count: u32| (word >> low) & ((1 << count) - 1);
            let (delta, thread) = match head & 3 {
                0 => (bits(2, 14), None),
                1 => (bits(2, 30), None),
                2 => (bits(15, 17), Some((bits(2, 4), bits(9, 6)))),
                _ => (bits(2, 30), Some((bits(32, 4), bits(36, 6)))),
            };
            time = Ticks(time.0.saturating_add(delta as i64));
            let old_thread_id =
                thread.map_or(0, |(index, _)| self.thread_ids.get(index as usize).copied().unwrap_or(0));
            Some(CompactSwitch { time, old_thread_id, state_or_reason: thread.map(|(_, number)| number as u8) })
        })
    }
}

impl<'a> CompactSwitches<'a> {
    /// Decodes the head of 88 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'a>) -> Read<CompactSwitches<'a>> {
        let mut c = payload.cursor();
        let head = c.read::<CompactHead>().map_err(|_| Fault::Length { expected: size_of::<CompactHead>() })?;
        Ok(Parsed::new(CompactSwitches { packets: c.rest(), ..head }, None))
    }
}

layout! {
    CompactHead = 88 bytes => CompactSwitches<'a> {
        first_time: I64, thread_ids: [U32; 16], base_priorities: [i8; 16]
    } with |_| { packets: &[] }
}

/// `0x0532`: a thread became ready, 8 bytes. The thread that readied it is in the header, or else it is the one that ran on
/// that processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyThread {
    /// The thread that became ready.
    pub thread_id: u32,
    /// Why its priority is adjusted: 0 not, 1 its wait is over, 2 boost.
    pub adjust_reason: i8,
    /// By how much.
    pub adjust_increment: i8,
    /// Flags: 1 from a deferred procedure call, 2 kernel stack swapped out, 4 process swapped out, 8 direct switch.
    pub flags: u8,
}

impl ReadyThread {
    /// Flag: a deferred procedure call readied the thread; the thread that ran was only interrupted.
    pub const FROM_DPC: u8 = 1;
}

layout! {
    ReadyLayout = 8 bytes => ReadyThread, fn read(ANY) {
        thread_id: U32, adjust_reason: i8, adjust_increment: i8, flags: u8, -reserved(u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn context_switch_of_all_versions() {
        let bytes = Bytes::new(24).u32(0, 5000).u32(4, 6000).u8(8, 9).u8(9, 0xfe).u8(10, 3).u8(11, 0xff).u8(12, 15);
        let bytes = bytes.u8(13, 0x0b).u8(14, 5).u8(15, 7).u32(16, 42).u32(20, -3i32 as u32);
        for p in [P8, P4] {
            for version in [2, 3, 4] {
                let Event::ContextSwitch(found) = event(0x0524, version, p, &bytes) else { panic!() };
                let expected = ContextSwitch {
                    new_thread_id: 5000,
                    old_thread_id: 6000,
                    new_priority: 9,
                    old_priority: -2,
                    previous_c_state: 3,
                    new_priority_decrement: -1,
                    old_wait_reason: 15,
                    old_wait_mode: 0x0b,
                    old_state: 5,
                    old_ideal_processor: 7,
                    new_wait_clock_ticks: Some(42),
                    old_remaining_quantum: Some(-3),
                };
                assert_eq!(found, expected);
                assert!(found.old_waits_in_user_mode());
                check_fixed(0x0524, version, p, &bytes);
            }
            check_unknown_version(0x0524, p, &bytes);
        }
        let old = bytes.cut(8);
        let Event::ContextSwitch(found) = event(0x0524, 1, P4, &old) else { panic!() };
        assert_eq!((found.new_wait_clock_ticks, found.old_remaining_quantum), (None, None));
        check_fixed(0x0524, 1, P4, &old);
    }

    #[test]
    fn states_and_reasons_have_the_kernels_numbers() {
        let states = [1, 5, 9, 10].map(thread_state_name);
        assert_eq!(states, [Some("Ready"), Some("Waiting"), Some("WaitingForProcessInSwap"), None]);
        for (number, name) in [
            (0, "Executive"),
            (6, "UserRequest"),
            (7, "WrExecutive"),
            (13, "WrUserRequest"),
            (15, "WrQueue"),
            (24, "WrCpuRateControl"),
            (30, "WrQuantumEnd"),
            (33, "WrYieldExecution"),
            (37, "WrAlertByThreadId"),
            (42, "WrRcu"),
        ] {
            assert_eq!(wait_reason_name(number), Some(name));
        }
        assert_eq!(wait_reason_name(43), None);
    }

    #[test]
    fn compact_switches_keep_their_packets_raw() {
        let mut bytes = Bytes::new(88).u64(0, 1234);
        for index in 0..16 {
            bytes = bytes.u32(8 + 4 * index, 100 + index as u32).u8(72 + index, 0xf0 + index as u8);
        }
        let bytes = bytes.more(&[1, 2, 3, 4, 5, 6]);
        let Event::CompactSwitches(found) = event(0x0525, 2, P8, &bytes) else { panic!() };
        assert_eq!((found.first_time, found.packets), (Ticks(1234), [1, 2, 3, 4, 5, 6].as_slice()));
        assert_eq!((found.thread_ids[0], found.thread_ids[15]), (100, 115));
        assert_eq!((found.base_priorities[0], found.base_priorities[15]), (-16, -1));
        for cut in 7..=bytes.0.len() {
            assert_eq!(fault(0x0525, 2, P8, &bytes.clone().cut(cut)), Fault::Length { expected: 88 });
        }
    }

    #[test]
    fn packets_of_compact_switches() {
        let full = |delta: u64, index: u64, state: u64| 3 | delta << 2 | index << 32 | state << 36 | 9 << 42 | 7 << 47;
        let lite = |delta: u32, index: u32, state: u32| 2 | index << 2 | 3 << 6 | state << 9 | delta << 15;
        let mut packets = Vec::new();
        packets.extend((5u16 << 2).to_le_bytes());
        packets.extend((1 | 70_000u32 << 2).to_le_bytes());
        packets.extend(lite(131_071, 15, 15).to_le_bytes());
        packets.extend(full(1 << 29, 2, 38).to_le_bytes());
        packets.extend([3, 0, 0]); // cut
        let thread_ids = std::array::from_fn(|index| 100 + index as u32);
        let batch =
            CompactSwitches { first_time: Ticks(1000), thread_ids, base_priorities: [0; 16], packets: &packets };
        let found: Vec<_> = batch.switches().collect();
        let read: Vec<_> = found.iter().map(|s| (s.time.0, s.old_thread_id, s.state_or_reason)).collect();
        let times = [1005, 71_005, 202_076, 202_076 + (1 << 29)];
        assert_eq!(
            read,
            [(times[0], 0, None), (times[1], 0, None), (times[2], 115, Some(15)), (times[3], 102, Some(38))]
        );
        assert_eq!(found[2].old_state(Some(37)), (5, 15));
        assert_eq!([Some(37), Some(39), None].map(|r| found[3].old_state(r)), [(1, 0), (5, 38), (UNDECODED_STATE, 38)]);
    }

    #[test]
    fn ready_thread() {
        let bytes = Bytes::new(8).u32(0, 5000).u8(4, 1).u8(5, 0xff).u8(6, 8);
        let expected = ReadyThread { thread_id: 5000, adjust_reason: 1, adjust_increment: -1, flags: 8 };
        for p in [P8, P4] {
            assert_eq!(event(0x0532, 2, p, &bytes), Event::ReadyThread(expected));
            check_fixed(0x0532, 2, p, &bytes);
        }
    }
}
