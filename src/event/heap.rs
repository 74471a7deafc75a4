//! Heap ranges: the address ranges that the heaps of a process reserve.
//!
//! They come under hook ids `0x0264`–`0x0268` and from the user-mode provider Win32HeapRanges (types 0x64–0x68) with
//! the same payloads. Sources: `docs/formats.md` ("Heap ranges"), after the Windows MOF. Not checked on a recorded
//! trace, so the rundown's header length is derived from the record and never assumed.

use super::outcome::{Fault, Oddity, Parsed, Read};
use super::payload::{MEMORY, Payload, PointerArray};
use crate::units::PointerSize;

/// What happened to a heap's ranges. The process is the header's, except in a rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapRange<'a> {
    /// The ranges of a heap at the end of the session; a heap can have several of these records.
    Rundown(HeapRundown<'a>),
    /// A heap was made. Its first range comes as a reserve, or is `[heap, heap + first_range_bytes)`.
    Create {
        /// Heap handle, an address.
        heap: u64,
        /// Size of the first range.
        first_range_bytes: u64,
        /// Flags.
        flags: u32,
    },
    /// A heap reserved a range.
    Reserve(HeapSpan),
    /// A heap gave a range back.
    Release(HeapSpan),
    /// A heap was destroyed, with all its ranges.
    Destroy {
        /// Heap handle, an address.
        heap: u64,
    },
}

/// One range of a heap: 24/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSpan {
    /// Heap handle, an address.
    pub heap: u64,
    /// First address of the range.
    pub address: u64,
    /// Size of the range.
    pub size_bytes: u64,
}

/// `0x0264`: a header and any number of (address, size) pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRundown<'a> {
    /// Heap handle, an address.
    pub heap: u64,
    /// Flags.
    pub flags: u32,
    /// The process; wins over the header's.
    pub process_id: u32,
    /// Heap tag; version 4 only.
    pub tag: Option<u64>,
    pairs: PointerArray<'a>,
}

impl<'a> HeapRundown<'a> {
    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.pairs.len() / 2
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ranges as (first address, size in bytes).
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let pairs = self.pairs;
        (0..self.len()).filter_map(move |index| Some((pairs.get(2 * index)?, pairs.get(2 * index + 1)?)))
    }
}

/// Where a rundown's fields lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Heap, flags, process id, count, then by version a reserved word or the heap tag: the order of the MOF.
    TagLast,
    /// Version 4 with the heap tag between flags and process id.
    TagAfterFlags,
}

/// Header lengths that a version can have, with the order of the MOF; padded ones second.
const fn header_lengths(version: u8, pointer: PointerSize) -> &'static [usize] {
    match (version, pointer) {
        (2, PointerSize::P8) => &[20, 24],
        (3, PointerSize::P8) => &[24],
        (4, PointerSize::P8) => &[28, 32],
        (2, PointerSize::P4) => &[16],
        (3, PointerSize::P4) => &[20],
        (4, PointerSize::P4) => &[24, 28],
        _ => &[],
    }
}

/// Header length by the equation `payload length = header + count × 2P`, if the payload is long enough.
fn header_by_count(length: usize, count: u32, pointer: PointerSize) -> Option<usize> {
    let ranges = usize::try_from(count).ok()?.checked_mul(2 * pointer.bytes())?;
    length.checked_sub(ranges)
}

impl<'a> HeapRundown<'a> {
    /// Decodes a rundown. The header length is that which makes header and ranges fill the payload.
    ///
    /// # Errors
    /// [`Fault::Count`] when no known header length does, or more than one reading does and none is the version's.
    pub fn read(payload: &Payload<'a>) -> Read<HeapRundown<'a>> {
        let (length, pointer, version) = (payload.bytes.len(), payload.pointer, payload.version);
        let mut c = payload.cursor();
        let heap = c.ptr("heap handle")?;
        let flags = c.u32("flags")?;
        let process_id = c.u32("process id")?;
        let count = c.u32("range count")?;
        let header = header_by_count(length, count, pointer);
        let fits = |version| header.filter(|h| header_lengths(version, pointer).contains(h));

        let mut moved = payload.cursor();
        moved.skip(pointer.bytes() + 4, "heap handle and flags")?;
        let moved = (|| {
            let (tag, process_id, count) =
                (moved.u64("heap tag").ok()?, moved.u32("process id").ok()?, moved.u32("range count").ok()?);
            let header = header_by_count(length, count, pointer)?;
            header_lengths(4, pointer).contains(&header).then_some((tag, process_id, header))
        })();

        let any = fits(2).or(fits(3)).or(fits(4));
        let (order, header, oddity) = match (fits(version), any, moved) {
            (Some(header), _, _) => (Order::TagLast, header, None),
            (None, _, Some((_, _, header))) if version == 4 => (Order::TagAfterFlags, header, None),
            (None, Some(header), None) => (Order::TagLast, header, Some(Oddity::HeapHeader { header, count })),
            (None, None, Some((_, _, header))) => {
                (Order::TagAfterFlags, header, Some(Oddity::HeapHeader { header, count }))
            }
            _ => return Err(Fault::Count { count }),
        };
        let (process_id, tag) = match (order, moved) {
            (Order::TagAfterFlags, Some((tag, process_id, _))) => (process_id, Some(tag)),
            _ if header >= pointer.pick(28, 24) => (process_id, Some(c.u64("heap tag")?)),
            _ => (process_id, None),
        };
        let pairs = PointerArray::new(payload.bytes.get(header..).unwrap_or_default(), pointer);
        Ok(Parsed::new(HeapRundown { heap, flags, process_id, tag, pairs }, oddity))
    }
}

impl<'a> HeapRange<'a> {
    /// Decodes any of the five records, by the hook id.
    ///
    /// # Errors
    /// A fault when the payload is shorter than its layout, when no rundown header fits, or for another hook id.
    pub fn read(payload: &Payload<'a>) -> Read<HeapRange<'a>> {
        let pointer = payload.pointer;
        match payload.hook.0 {
            0x0264 => {
                let rundown = HeapRundown::read(payload)?;
                Ok(Parsed::new(HeapRange::Rundown(rundown.value), rundown.oddity))
            }
            0x0265 => {
                let oddity = payload.fixed(pointer.pick(20, 12), MEMORY)?;
                let mut c = payload.cursor();
                let value = HeapRange::Create {
                    heap: c.ptr("heap handle")?,
                    first_range_bytes: c.ptr("first range size")?,
                    flags: c.u32("flags")?,
                };
                Ok(Parsed::new(value, oddity))
            }
            0x0266 | 0x0267 => {
                let oddity = payload.fixed(pointer.pick(24, 12), MEMORY)?;
                let mut c = payload.cursor();
                let span =
                    HeapSpan { heap: c.ptr("heap handle")?, address: c.ptr("address")?, size_bytes: c.ptr("size")? };
                let value = if payload.hook.0 == 0x0266 { HeapRange::Reserve(span) } else { HeapRange::Release(span) };
                Ok(Parsed::new(value, oddity))
            }
            0x0268 => {
                let oddity = payload.fixed(pointer.bytes(), MEMORY)?;
                Ok(Parsed::new(HeapRange::Destroy { heap: payload.cursor().ptr("heap handle")? }, oddity))
            }
            _ => Err(Fault::Value { field: "hook id" }),
        }
    }
}
