//! A kernel event's payload with everything that decides its layout, and the rules that all layouts share.
//!
//! A kernel event is logged with a hook id, or with the GUID of its class and a type; [`Payload::of`] converts the second
//! form to the first.
//! Sources: `docs/formats.md` ("Group numbers and class GUIDs", "Length rule"), after the GUIDs of the public MOF
//! classes.

use super::outcome::{Fault, Oddity, Parsed, Read};
use crate::byte_reader::{self, Cursor, Layout};
use crate::etl::record::Record;
use crate::etl::record_id::{HookId, RecordId};
use crate::units::PointerSize;
use std::ops::RangeInclusive;
use uuid::{Uuid, uuid};

/// A kernel event, identified by its hook id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Hook id: as recorded, or computed from class GUID and type.
    pub hook: HookId,
    /// Event version.
    pub version: u8,
    /// Pointer size of this record.
    pub pointer: PointerSize,
    /// The payload.
    pub bytes: &'a [u8],
}

/// Provider of heap ranges in user mode; its types 0x64–0x68 are the Memory group's.
pub(crate) const WIN32_HEAP_RANGES: Uuid = uuid!("d781ca11-61c0-4387-b83d-af52d3d2dd6a");

/// Class of image records.
pub(crate) const IMAGE: Uuid = uuid!("2cb15d1d-5fc1-11d2-abe1-00a0c911f518");

/// Class of records of heaps.
pub(crate) const HEAP: Uuid = uuid!("222962ab-6180-4b88-a825-346b75f2a24a");

/// Kernel event classes: GUID and group number.
pub(crate) const CLASSES: [(Uuid, u8); 18] = [
    (uuid!("68fdd900-4a3e-11d1-84f4-0000f80464e3"), 0x00), // EventTrace
    (uuid!("3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c"), 0x01), // DiskIo
    (uuid!("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c"), 0x02), // PageFault
    (uuid!("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), 0x03), // Process
    (uuid!("90cbdc39-4a3e-11d1-84f4-0000f80464e3"), 0x04), // FileIo
    (uuid!("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"), 0x05), // Thread
    (uuid!("9a280ac0-c8e0-11d1-84e2-00c04fb998a2"), 0x06), // TcpIp
    (uuid!("bf3a50c5-a9c9-4988-a005-2df0b7c80f80"), 0x08), // UdpIp
    (uuid!("ae53722e-c863-11d2-8659-00c04fa321a1"), 0x09), // Registry
    (uuid!("01853a65-418f-4f36-aefc-dc0f1d2fd235"), 0x0b), // SystemConfig
    (uuid!("0268a8b6-74fd-4302-9dd0-6e8f1795c0cf"), 0x0e), // PoolTrace
    (uuid!("ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"), 0x0f), // PerfInfo
    (HEAP, 0x10),
    (uuid!("89497f50-effe-4440-8cf2-ce6b1cdcaca7"), 0x11), // ObTrace
    (IMAGE, 0x14),
    (uuid!("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"), 0x18), // StackWalk
    (uuid!("45d8cccd-539f-4b72-a8b7-5c683142609a"), 0x1a), // ALPC
    (uuid!("d837ca92-12b9-44a5-ad6a-3a65b3578aa8"), 0x1b), // SplitIo
];

/// The hook id of a classic event; `None` for a class that is not the kernel's.
pub(crate) fn hook_of_class(class: Uuid, opcode: u8) -> Option<HookId> {
    const LOAD: u8 = 10;
    match (class, opcode) {
        // Image/Load is the one event of its class whose hook id lies in another group.
        (IMAGE, LOAD) => Some(HookId(0x030a)),
        (WIN32_HEAP_RANGES, 0x64..=0x68) => Some(HookId(0x0200 | u16::from(opcode))),
        _ => {
            let (_, group) = CLASSES.iter().find(|(guid, _)| *guid == class)?;
            Some(HookId(u16::from(*group) << 8 | u16::from(opcode)))
        }
    }
}

/// The hook id of a record of the class [`HEAP`].
pub(crate) const fn heap_hook(kind: u8) -> HookId {
    HookId(0x1000 | kind as u16)
}

/// The hook id of a kernel event in either form.
pub(crate) fn hook_of(id: RecordId) -> Option<HookId> {
    match id {
        RecordId::Kernel(hook) => Some(hook),
        RecordId::Classic { class, opcode } => hook_of_class(class, opcode),
        _ => None,
    }
}

impl<'a> Payload<'a> {
    /// The payload of a kernel event in either form; `None` for all other records.
    pub fn of(record: &Record<'a>) -> Option<Payload<'a>> {
        let hook = hook_of(record.id)?;
        Some(Payload { hook, version: record.version, pointer: record.pointer, bytes: record.payload })
    }

    pub(crate) fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.bytes, self.pointer)
    }

    /// The rule for fixed layouts of `expected` bytes: up to a pointer's size more is tail padding of a C structure,
    /// more than that is reported, less is a fault.
    #[inline]
    pub(crate) fn fixed(&self, expected: usize, known: Versions) -> Result<Option<Oddity>, Fault> {
        let Some(more) = self.bytes.len().checked_sub(expected) else { return Err(Fault::Length { expected }) };
        Ok(if !known.contains(&self.version) {
            Some(Oddity::UnknownVersion { parsed: expected })
        } else if more >= self.pointer.bytes() {
            Some(Oddity::Longer { parsed: expected })
        } else {
            None
        })
    }

    /// Reads a fixed layout by the rule for them.
    #[inline(always)]
    pub(crate) fn read<L: Layout<'a>>(&self, known: Versions) -> Read<L::Value> {
        let expected = byte_reader::size::<L>(self.pointer);
        let oddity = self.fixed(expected, known)?;
        let (value, _) = byte_reader::first::<L>(self.bytes, self.pointer).ok_or(Fault::Length { expected })?;
        Ok(Parsed::new(value, oddity))
    }

    /// The rule for layouts without padding: any other length is a fault, an unknown version is reported.
    pub(crate) fn exactly(&self, expected: usize, known: Versions) -> Result<Option<Oddity>, Fault> {
        if self.bytes.len() != expected {
            return Err(Fault::Length { expected });
        }
        Ok((!known.contains(&self.version)).then_some(Oddity::UnknownVersion { parsed: expected }))
    }

    /// The rule for layouts that end with strings: bytes after the last one are reported.
    pub(crate) fn ends(&self, cursor: &Cursor<'a>, known: Versions) -> Option<Oddity> {
        let parsed = cursor.position();
        if !known.contains(&self.version) {
            Some(Oddity::UnknownVersion { parsed })
        } else {
            (cursor.remaining() != 0).then_some(Oddity::Longer { parsed })
        }
    }
}

/// Event versions whose layout is known.
pub(crate) type Versions = RangeInclusive<u8>;

/// For records whose versions are not documented: the length alone decides.
pub(crate) const ANY: Versions = 0..=u8::MAX;

/// The Memory group: version 2 on Windows 7 to 10, 4 on Windows 11 22H2 and later, with the same payloads.
pub(crate) const MEMORY: Versions = 2..=4;

/// Numbers of pointer size in a row, borrowed from the payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PointerArray<'a> {
    bytes: &'a [u8],
    pointer: PointerSize,
}

impl<'a> PointerArray<'a> {
    /// An array over `bytes`; a rest smaller than one number is not part of it.
    pub(crate) fn new(bytes: &'a [u8], pointer: PointerSize) -> Self {
        PointerArray { bytes, pointer }
    }

    /// The size of each.
    pub(crate) fn pointer(&self) -> PointerSize {
        self.pointer
    }

    /// The first ones, at most so many.
    pub(crate) fn first(&self, most: usize) -> PointerArray<'a> {
        let bytes = self.bytes.get(..most.saturating_mul(self.pointer.bytes())).unwrap_or(self.bytes);
        PointerArray { bytes, ..*self }
    }

    /// The bytes of the numbers.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.pointer.bytes()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at `index`, widened to 64 bits; `None` past the end.
    pub fn get(&self, index: usize) -> Option<u64> {
        let at = index.checked_mul(self.pointer.bytes())?;
        let rest = self.bytes.get(at..)?;
        match self.pointer {
            PointerSize::P8 => rest.first_chunk().map(|b| u64::from_le_bytes(*b)),
            PointerSize::P4 => rest.first_chunk().map(|b| u64::from(u32::from_le_bytes(*b))),
        }
    }

    /// Adds all numbers to a list: for millions of arrays.
    #[inline]
    pub fn append_to(&self, list: &mut Vec<u64>) {
        match self.pointer {
            PointerSize::P8 => list.extend(self.bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b))),
            PointerSize::P4 => list.extend(self.bytes.as_chunks().0.iter().map(|b| u64::from(u32::from_le_bytes(*b)))),
        }
    }

    /// All numbers in their order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + 'a {
        let array = *self;
        (0..array.len()).filter_map(move |index| array.get(index))
    }
}

impl std::fmt::Debug for PointerArray<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{P4, P8, record, with_id};
    use super::*;

    fn hook(class: Uuid, opcode: u8) -> Option<u16> {
        Payload::of(&with_id(RecordId::Classic { class, opcode }, 2, P8, &[])).map(|payload| payload.hook.0)
    }

    #[test]
    fn classes_become_hook_ids() {
        assert_eq!(hook(IMAGE, 10), Some(0x030a));
        assert_eq!(hook(IMAGE, 2), Some(0x1402));
        assert_eq!(hook(uuid!("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), 39), Some(0x0327));
        assert_eq!(hook(uuid!("ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"), 34), Some(0x0f22));
        assert_eq!(hook(WIN32_HEAP_RANGES, 100), Some(0x0264));
        assert_eq!(hook(WIN32_HEAP_RANGES, 104), Some(0x0268));
        assert_eq!(hook(WIN32_HEAP_RANGES, 99), None);
        assert_eq!(hook(Uuid::nil(), 1), None);
    }

    #[test]
    fn kernel_records_keep_their_own_id_version_and_pointer_size() {
        let payload = Payload::of(&record(0x0223, 4, P4, &[1, 2])).unwrap();
        assert_eq!((payload.hook, payload.version, payload.pointer), (HookId(0x0223), 4, P4));
        assert_eq!(payload.bytes, [1, 2]);
        assert!(Payload::of(&with_id(RecordId::Manifest { provider: IMAGE, id: 10 }, 2, P8, &[])).is_none());
    }

    #[test]
    fn pointer_arrays_end_with_their_last_whole_number() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0];
        let four = PointerArray::new(&bytes, P4);
        assert_eq!((four.len(), four.iter().collect::<Vec<_>>()), (2, vec![1, 2]));
        assert_eq!(four.get(2), None);
        assert_eq!(four.get(usize::MAX), None);
        let eight = PointerArray::new(&bytes, P8);
        assert_eq!(eight.iter().collect::<Vec<_>>(), [0x2_0000_0001]);
        assert!(PointerArray::new(&[], P8).is_empty());
    }
}
