//! Thread records: start, end and rundown, names, priorities, affinity.
//!
//! Sources: `docs/formats.md` ("Thread"): `Thread_V2…V4_TypeGroup1` of the Windows MOF, checked on recorded traces
//! (version 3 with and without a name, 8-byte pointers). Context switches are in `cswitch`.

use crate::byte_reader::{Wide, layout, size};
use crate::etl::record_id::HookId;
use crate::event::Phase;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use hook::*;
use zerocopy::little_endian::{U16, U32};

crate::event::hooks_macro::hooks! {
    THREAD_START = 0x0501, "Thread: Start", "T-Start";
    THREAD_END = 0x0502, "Thread: End", "T-End";
    THREAD_DC_START = 0x0503, "Thread: DCStart", "T-DCStart";
    THREAD_DC_END = 0x0504, "Thread: DCEnd", "T-DCEnd";
    SET_PRIORITY = 0x0530, "Thread: SetPriority";
    SET_BASE_PRIORITY = 0x0531, "Thread: SetBasePriority";
    SET_PAGE_PRIORITY = 0x0533, "Thread: SetPagePriority";
    SET_IO_PRIORITY = 0x0534, "Thread: SetIoPriority";
    SET_AFFINITY = 0x0535, "Thread: SetAffinity";
    SET_NAME = 0x0548, "Thread: SetName";
}

/// Versions before 2 (before Windows Vista) have another layout and are only counted.
pub(crate) const FIRST_VERSION: u8 = 2;

/// A thread: fixed part of 68/40 bytes (v2) or 72/44 bytes (v3 and later), then perhaps its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread<'a> {
    /// The process it belongs to.
    pub process_id: u32,
    /// Thread id; 0 once per processor (idle threads of process 0).
    pub thread_id: u32,
    /// High end of the kernel stack.
    pub stack_base: u64,
    /// Low end of the kernel stack.
    pub stack_limit: u64,
    /// High end of the user stack; 0 for kernel threads.
    pub user_stack_base: u64,
    /// Low end of what was first committed of the user stack, not of its reservation.
    pub user_stack_limit: u64,
    /// Kernel start address; version 2 only.
    pub start_address: Option<u64>,
    /// Affinity mask; version 3 and later.
    pub affinity: Option<u64>,
    /// User start address.
    pub win32_start_address: u64,
    /// Address of the thread environment block; 0 for kernel threads.
    pub teb: u64,
    /// Service tag; 0 = none.
    pub sub_process_tag: u32,
    /// Priorities and flags; version 3 and later.
    pub priorities: Option<ThreadPriorities>,
    /// Name; `None` when the record has no name field, empty when the thread has no name.
    pub name: Option<Wide<'a>>,
}

/// The last four bytes of a thread record's fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPriorities {
    /// Base priority.
    pub base: u8,
    /// Page priority.
    pub page: u8,
    /// I/O priority.
    pub io: u8,
    /// Flags; 1 = registry notification.
    pub flags: u8,
}

layout! {
    ThreadV2<P> = 68 / 40 bytes => Thread<'a> {
        process_id: U32, thread_id: U32, stack_base: P, stack_limit: P, user_stack_base: P, user_stack_limit: P,
        start_address: P, win32_start_address: P, teb: P, sub_process_tag: U32
    } with |_| { affinity: None, priorities: None, name: None }
}

layout! {
    ThreadV3<P> = 72 / 44 bytes => Thread<'a> {
        process_id: U32, thread_id: U32, stack_base: P, stack_limit: P, user_stack_base: P, user_stack_limit: P,
        affinity: P, win32_start_address: P, teb: P, sub_process_tag: U32, priorities: PrioritiesLayout
    } with |_| { start_address: None, name: None }
}

layout! {
    PrioritiesLayout = 4 bytes => ThreadPriorities { base: u8, page: u8, io: u8, flags: u8 }
}

impl<'a> Thread<'a> {
    /// The event about a thread in this phase.
    pub const fn hook(phase: Phase) -> HookId {
        phase.pick([THREAD_START, THREAD_END, THREAD_DC_START, THREAD_DC_END])
    }

    /// Decodes a record of version 2 or later. Only the length shows whether a name follows: versions 3
    /// with and without one exist.
    ///
    /// # Errors
    /// A fault when the fixed part is cut or what follows is not a name.
    pub fn read(payload: &Payload<'a>) -> Read<Thread<'a>> {
        let version_2 = payload.version == 2;
        let expected = if version_2 { size::<ThreadV2>(payload.pointer) } else { size::<ThreadV3>(payload.pointer) };
        let mut c = payload.cursor();
        let thread = if version_2 { c.read::<ThreadV2>() } else { c.read::<ThreadV3>() };
        let mut thread = thread.map_err(|_| Fault::Length { expected })?;
        // 68 bytes with 8-byte pointers is the one layout that a C compiler pads; a padding is no name.
        let padded = version_2 && expected % payload.pointer.bytes() != 0;
        if c.remaining() != 0 {
            let mut after = c.clone();
            match after.wide("thread name") {
                Ok(name) if after.remaining() == 0 || payload.version > 4 => {
                    thread.name = Some(name);
                    c = after;
                }
                _ if padded && c.remaining() < payload.pointer.bytes() => return Ok(Parsed::new(thread, None)),
                Ok(_) => return Err(Fault::Trailing { parsed: after.position() }),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Parsed::new(thread, payload.ends(&c, FIRST_VERSION..=4)))
    }
}

/// `0x0548` SetName: overrides the name in earlier records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadName<'a> {
    /// The process.
    pub process_id: u32,
    /// The thread.
    pub thread_id: u32,
    /// Its new name.
    pub name: Wide<'a>,
}

impl<'a> ThreadName<'a> {
    /// Decodes two ids and a string.
    ///
    /// # Errors
    /// A fault when the ids are cut or the string has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<ThreadName<'a>> {
        let mut c = payload.cursor();
        let value =
            ThreadName { process_id: c.u32("process id")?, thread_id: c.u32("thread id")?, name: c.wide("name")? };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }
}

/// Which of a thread's priorities changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PriorityKind {
    /// `0x0530`: the dynamic priority.
    Dynamic,
    /// `0x0531`: the base priority.
    Base,
    /// `0x0533`: the page priority.
    Page,
    /// `0x0534`: the I/O priority.
    Io,
}

/// `0x0530`, `0x0531`, `0x0533`, `0x0534`: a priority was set, 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPriority {
    /// Which priority.
    pub kind: PriorityKind,
    /// The thread.
    pub thread_id: u32,
    /// Priority before.
    pub old: u8,
    /// Priority after.
    pub new: u8,
    /// Dynamic priority afterwards; only where the base priority was set.
    pub dynamic: Option<i8>,
}

layout! {
    PriorityLayout = 8 bytes => ThreadPriority {
        thread_id: U32, old: u8, new: u8, dynamic: i8, -reserved(u8)
    } with |_| { kind: PriorityKind::Base }
}

impl ThreadPriority {
    /// Decodes a record.
    ///
    /// # Errors
    /// A fault when the payload is shorter than the layout.
    pub fn read(payload: &Payload<'_>, kind: PriorityKind) -> Read<ThreadPriority> {
        let Parsed { value, oddity } = payload.read::<PriorityLayout>(ANY)?;
        let dynamic = value.dynamic.filter(|_| kind == PriorityKind::Base);
        Ok(Parsed::new(ThreadPriority { kind, dynamic, ..value }, oddity))
    }
}

/// `0x0535`: a thread's affinity was set, 16/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadAffinity {
    /// Mask of processors in the group.
    pub mask: u64,
    /// The thread.
    pub thread_id: u32,
    /// Processor group.
    pub group: u16,
}

layout! {
    AffinityLayout<P> = 16 / 12 bytes => ThreadAffinity, fn read(ANY) {
        mask: P, thread_id: U32, group: U16, -reserved(U16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::event::{Decoded, Event, Oddity, Phase, decode};
    use crate::units::PointerSize;

    fn fixed(version: u8, p: PointerSize) -> Bytes {
        let size = if version == 2 { p.pick(68, 40) } else { p.pick(72, 44) };
        let at = p.pick([8, 16, 24, 32, 40, 48, 56], [8, 12, 16, 20, 24, 28, 32]);
        let mut bytes = Bytes::new(size).u32(0, 4312).u32(4, 5000);
        for (index, at) in at.into_iter().enumerate() {
            bytes = bytes.ptr(p, at, 0x1000 * (index as u64 + 1));
        }
        let bytes = bytes.u32(p.pick(64, 36), 7);
        if version == 2 {
            return bytes;
        }
        let at = p.pick(68, 40);
        bytes.u8(at, 8).u8(at + 1, 5).u8(at + 2, 2).u8(at + 3, 1)
    }

    fn thread<'a>(event: Event<'a>) -> Thread<'a> {
        match event {
            Event::Thread { phase: Phase::Start, thread } => thread,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_version_and_pointer_size_without_and_with_a_name() {
        for (version, p) in [(2, P8), (2, P4), (3, P8), (3, P4), (4, P8), (4, P4)] {
            let bytes = fixed(version, p);
            let found = thread(event(0x0501, version, p, &bytes));
            assert_eq!((found.process_id, found.thread_id), (4312, 5000));
            assert_eq!((found.stack_base, found.stack_limit), (0x1000, 0x2000));
            assert_eq!((found.user_stack_base, found.user_stack_limit), (0x3000, 0x4000));
            assert_eq!(found.start_address, (version == 2).then_some(0x5000));
            assert_eq!(found.affinity, (version > 2).then_some(0x5000));
            assert_eq!((found.win32_start_address, found.teb, found.sub_process_tag), (0x6000, 0x7000, 7));
            let priorities = ThreadPriorities { base: 8, page: 5, io: 2, flags: 1 };
            assert_eq!(found.priorities, (version > 2).then_some(priorities));
            assert_eq!(found.name, None);
            for cut in 1..=bytes.0.len() {
                let expected = bytes.0.len();
                assert_eq!(fault(0x0501, version, p, &bytes.clone().cut(cut)), Fault::Length { expected });
            }

            let named = bytes.clone().wide("Idle Thread");
            let name = thread(event(0x0501, version, p, &named)).name.unwrap();
            assert_eq!(name.to_string(), "Idle Thread");
            let unnamed = bytes.clone().wide("");
            assert!(thread(event(0x0501, version, p, &unnamed)).name.unwrap().is_empty());
            let at = bytes.0.len();
            let unterminated = named.clone().cut(2);
            assert_eq!(fault(0x0501, version, p, &unterminated), Fault::Unterminated { field: "thread name", at });
            let parsed = named.0.len();
            assert_eq!(fault(0x0501, version, p, &named.more(&[1])), Fault::Trailing { parsed });
        }
    }

    #[test]
    fn only_the_layout_that_c_pads_may_have_padding() {
        assert_eq!(thread(event(0x0501, 2, P8, &fixed(2, P8).more(&[0xee; 4]))).name, None);
        fault(0x0501, 2, P4, &fixed(2, P4).more(&[0xee; 3]));
        fault(0x0501, 3, P8, &fixed(3, P8).more(&[0xee; 4]));
    }

    #[test]
    fn later_versions_are_read_as_the_last_known_one() {
        let bytes = fixed(4, P8).wide("n").more(&[1, 2, 3]);
        let (event, oddity) = odd(0x0501, 5, P8, &bytes);
        assert_eq!(thread(event).name.unwrap().to_string(), "n");
        assert_eq!(oddity, Oddity::UnknownVersion { parsed: 72 + 4 });
    }

    #[test]
    fn phases_and_versions_before_vista() {
        let bytes = fixed(3, P8);
        for (hook, phase) in
            [(0x0501, Phase::Start), (0x0502, Phase::End), (0x0503, Phase::DcStart), (0x0504, Phase::DcEnd)]
        {
            let Event::Thread { phase: found, .. } = event(hook, 3, P8, &bytes) else { panic!() };
            assert_eq!(found, phase);
            assert_eq!(decode(&record(hook, 1, P8, &bytes.0)), Decoded::NotDecoded);
        }
    }

    #[test]
    fn a_name_can_be_set_later() {
        let bytes = Bytes::new(8).u32(0, 4).u32(4, 8).wide("worker");
        let Event::ThreadName(found) = event(0x0548, 2, P8, &bytes) else { panic!() };
        assert_eq!((found.process_id, found.thread_id, found.name.to_string()), (4, 8, "worker".into()));
        check_strings(0x0548, 2, P8, &bytes);
    }

    #[test]
    fn priorities_and_affinity() {
        let bytes = Bytes::new(8).u32(0, 8).u8(4, 9).u8(5, 10).u8(6, 0xff);
        for (hook, kind, dynamic) in [
            (0x0530, PriorityKind::Dynamic, None),
            (0x0531, PriorityKind::Base, Some(-1)),
            (0x0533, PriorityKind::Page, None),
            (0x0534, PriorityKind::Io, None),
        ] {
            let expected = ThreadPriority { kind, thread_id: 8, old: 9, new: 10, dynamic };
            assert_eq!(event(hook, 3, P8, &bytes), Event::ThreadPriority(expected));
            check_fixed(hook, 3, P8, &bytes);
        }
        for (p, size) in [(P8, 16), (P4, 12)] {
            let bytes = Bytes::new(size).ptr(p, 0, 0xf0).u32(p.bytes(), 8).u16(p.bytes() + 4, 1);
            let expected = ThreadAffinity { mask: 0xf0, thread_id: 8, group: 1 };
            assert_eq!(event(0x0535, 3, p, &bytes), Event::ThreadAffinity(expected));
            check_fixed(0x0535, 3, p, &bytes);
        }
    }
}
