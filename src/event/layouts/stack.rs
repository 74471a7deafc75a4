//! Call stacks of events.
//!
//! Sources: `docs/formats.md` ("StackWalk"), checked on recorded traces (8-byte pointers). Joining a stack with its
//! event (by time stamp and thread), and a key with its stack, is left to callers.

use super::disk_io::hook::*;
use crate::byte_reader::layout;
use crate::etl::record_id::HookId;
use crate::event::outcome::{Fault, Oddity, Parsed, Read};
use crate::event::payload::{Payload, PointerArray, Versions};
use crate::units::Ticks;
use zerocopy::little_endian::{I64, U32};

crate::event::hooks_macro::hooks! {
    STACK = 0x1820, "StackWalk: Stack", "Stack";
    KEY_CREATE = 0x1822, "StackWalk: KeyCreate";
    KEY_DELETE = 0x1823, "StackWalk: KeyDelete";
    KEY_RUNDOWN = 0x1824, "StackWalk: KeyRundown";
    STACK_KEY_KERNEL = 0x1825, "StackWalk: StackKeyKernel";
    STACK_KEY_USER = 0x1826, "StackWalk: StackKeyUser";
}

/// Disk requests: their start has the stack, not their end.
pub(crate) const DISK_STARTS: &[HookId] = &[DISK_READ_INIT, DISK_WRITE_INIT, DISK_FLUSH_INIT];
/// Ends of disk requests.
pub(crate) const DISK_ENDS: &[HookId] = &[DISK_READ, DISK_WRITE, DISK_FLUSH];
/// Group of the session's own records.
pub(crate) const EVENT_TRACE_GROUP: u8 = 0x00;
/// Group of stacks.
pub(crate) const STACK_GROUP: u8 = 0x18;

const KNOWN: Versions = 2..=2;

/// Which event a stack belongs to: the first 16 bytes of `0x1820`, `0x1825`, `0x1826`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackOwner {
    /// Raw time of the event.
    pub event_time: Ticks,
    /// Process of the event.
    pub process_id: u32,
    /// Thread of the event.
    pub thread_id: u32,
}

layout! {
    OwnerLayout = 16 bytes => StackOwner { event_time: I64, process_id: U32, thread_id: U32 }
}

/// The rest of the payload as whole frames.
fn frames<'a>(payload: &Payload<'a>, rest: &'a [u8]) -> Result<(PointerArray<'a>, Option<Oddity>), Fault> {
    let length = payload.bytes.len();
    match rest.len() % payload.pointer.bytes() {
        0 => {
            let known = KNOWN.contains(&payload.version);
            let oddity = (!known).then_some(Oddity::UnknownVersion { parsed: length });
            Ok((PointerArray::new(rest, payload.pointer), oddity))
        }
        cut => Err(Fault::Trailing { parsed: length - cut }),
    }
}

/// `0x1820`: a stack written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackWalk<'a> {
    /// Its event.
    pub owner: StackOwner,
    /// Return addresses, innermost first.
    pub frames: PointerArray<'a>,
}

impl<'a> StackWalk<'a> {
    /// Decodes the owner and as many frames as there are.
    ///
    /// # Errors
    /// A fault when the owner is cut or the frames are no whole number.
    pub fn read(payload: &Payload<'a>) -> Read<StackWalk<'a>> {
        let mut c = payload.cursor();
        let owner = c.read::<OwnerLayout>()?;
        let (frames, oddity) = frames(payload, c.rest())?;
        Ok(Parsed::new(StackWalk { owner, frames }, oddity))
    }
}

/// `0x1825` (kernel part), `0x1826` (user part): a stack by key, 24/20 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackReference {
    /// Its event.
    pub owner: StackOwner,
    /// Key; its meaning is the first definition at or after this record's time.
    pub key: u64,
}

layout! {
    ReferenceLayout<P> = 24 / 20 bytes => StackReference, fn read(KNOWN) { owner: OwnerLayout, key: P }
}

/// `0x1822` (created), `0x1823` (deleted), `0x1824` (rundown): the stack of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackDefinition<'a> {
    /// Key; used again for other stacks later.
    pub key: u64,
    /// Return addresses, innermost first.
    pub frames: PointerArray<'a>,
}

impl<'a> StackDefinition<'a> {
    /// Decodes the key and as many frames as there are.
    ///
    /// # Errors
    /// A fault when the key is cut or the frames are no whole number.
    pub fn read(payload: &Payload<'a>) -> Read<StackDefinition<'a>> {
        let mut c = payload.cursor();
        let key = c.ptr("stack key")?;
        let (frames, oddity) = frames(payload, c.rest())?;
        Ok(Parsed::new(StackDefinition { key, frames }, oddity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    const OWNER: StackOwner = StackOwner { event_time: Ticks(1234), process_id: 77, thread_id: 5000 };

    fn owner(size: usize) -> Bytes {
        Bytes::new(size).u64(0, 1234).u32(8, 77).u32(12, 5000)
    }

    #[test]
    fn stacks_are_whole_frames() {
        for p in [P8, P4] {
            let bytes = owner(16 + 2 * p.bytes()).ptr(p, 16, 0x8000_0001).ptr(p, 16 + p.bytes(), 0x7000_0002);
            let Event::Stack(found) = event(0x1820, 2, p, &bytes) else { panic!() };
            assert_eq!(found.owner, OWNER);
            assert_eq!(found.frames.iter().collect::<Vec<_>>(), [0x8000_0001, 0x7000_0002]);
            let parsed = 16 + p.bytes();
            assert_eq!(fault(0x1820, 2, p, &bytes.clone().cut(1)), Fault::Trailing { parsed });
            assert_eq!(fault(0x1820, 2, p, &owner(16).cut(1)), Fault::Short { field: "thread_id", at: 12 });
            check_unknown_version(0x1820, p, &bytes);
            assert!(matches!(event(0x1820, 2, p, &owner(16)), Event::Stack(stack) if stack.frames.is_empty()));
        }
    }

    #[test]
    fn references_and_definitions() {
        for p in [P8, P4] {
            let bytes = owner(16 + p.bytes()).ptr(p, 16, 0xa000_1230);
            let expected = StackReference { owner: OWNER, key: 0xa000_1230 };
            assert_eq!(event(0x1825, 2, p, &bytes), Event::KernelStackReference(expected));
            assert_eq!(event(0x1826, 2, p, &bytes), Event::UserStackReference(expected));
            check_fixed(0x1825, 2, p, &bytes);
            let bytes = Bytes::new(3 * p.bytes()).ptr(p, 0, 0xa000_1230).ptr(p, 2 * p.bytes(), 9);
            for hook in [0x1822, 0x1823, 0x1824] {
                let Event::StackDefinition(found) = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!((found.key, found.frames.iter().collect::<Vec<_>>()), (0xa000_1230, vec![0, 9]));
                let parsed = 2 * p.bytes();
                assert_eq!(fault(hook, 2, p, &bytes.clone().cut(1)), Fault::Trailing { parsed });
                fault(hook, 2, p, &Bytes::new(p.bytes() - 1));
            }
        }
    }
}
