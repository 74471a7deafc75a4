//! Heap ranges: the address ranges that the heaps of a process reserve.
//!
//! They come under hook ids `0x0264`–`0x0268` and from the user-mode provider Win32HeapRanges (types 0x64–0x68) with
//! the same payloads. Sources: `docs/formats.md` ("Heap ranges"), after the Windows MOF. Not checked on a recorded
//! trace, so the rundown's header length is derived from the record and never assumed.

use crate::byte_reader::{first, layout, size};
use crate::event::outcome::{Fault, Oddity, Parsed, Read};
use crate::event::payload::{MEMORY, Payload, PointerArray};
use crate::units::PointerSize;
use hook::*;
use zerocopy::little_endian::{U32, U64};

crate::event::hooks_macro::hooks! {
    HEAP_RANGE_RUNDOWN = 0x0264, "Memory: HeapRangeRundown";
    HEAP_RANGE_CREATE = 0x0265, "Memory: HeapRangeCreate";
    HEAP_RANGE_RESERVE = 0x0266, "Memory: HeapRangeReserve";
    HEAP_RANGE_RELEASE = 0x0267, "Memory: HeapRangeRelease";
    HEAP_RANGE_DESTROY = 0x0268, "Memory: HeapRangeDestroy";
}

/// An event about a heap's ranges. The process is that of the header, except in a rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapRange<'a> {
    /// The ranges of a heap at the end of the session; a heap can have several of these records.
    Rundown(HeapRundown<'a>),
    /// A heap was created. Its first range is logged as a reserve, or is `[heap, heap + first_range_bytes)`.
    Create {
        /// Heap handle, an address.
        heap: u64,
        /// Size of the first range.
        first_range_bytes: u64,
        /// Flags.
        flags: u32,
    },
    /// A heap reserved a range.
    Reserve(HeapSpace),
    /// A heap released a range.
    Release(HeapSpace),
    /// A heap was destroyed, with all its ranges.
    Destroy {
        /// Heap handle, an address.
        heap: u64,
    },
}

/// One range of a heap: 24/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSpace {
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
    /// The process; used instead of the header's.
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

/// What stands before a rundown's ranges.
pub(in crate::event) struct RundownHead {
    heap: u64,
    flags: u32,
    process_id: u32,
    count: u32,
    tag: Option<u64>,
}

layout! {
    /// The order of the MOF; version 3 has a reserved word after it.
    HeadLayout<P> = 20 / 16 bytes => RundownHead {
        heap: P, flags: U32, process_id: U32, count: U32
    } with |_| { tag: None }
}

layout! {
    /// Version 4 in the order of the MOF.
    TagLast<P> = 28 / 24 bytes => RundownHead { heap: P, flags: U32, process_id: U32, count: U32, tag: U64 }
}

layout! {
    /// Version 4 in another order, recognized by the length equation.
    TagAfterFlags<P> = 28 / 24 bytes => RundownHead { heap: P, flags: U32, tag: U64, process_id: U32, count: U32 }
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
    /// [`Fault::Count`] when no known header length does.
    pub fn read(payload: &Payload<'a>) -> Read<HeapRundown<'a>> {
        let (length, pointer, version) = (payload.bytes.len(), payload.pointer, payload.version);
        let head = payload.cursor().read::<HeadLayout>()?;
        let by_count = |head: &RundownHead| header_by_count(length, head.count, pointer);
        let header = by_count(&head);
        let fits = |version| header.filter(|h| header_lengths(version, pointer).contains(h));

        // An empty list that happens to fit is no evidence for the other order.
        let moved = first::<TagAfterFlags>(payload.bytes, pointer).map(|(head, _)| head);
        let moved = moved.filter(|head| version == 4 && head.count != 0);
        let moved = moved.and_then(|head| Some((by_count(&head)?, head)));
        let moved = moved.filter(|(header, _)| header_lengths(4, pointer).contains(header));

        let any = fits(2).or(fits(3)).or(fits(4));
        let (head, header, oddity) = match (fits(version), moved, any) {
            (None, Some((header, moved)), _) => (moved, header, None),
            (Some(header), ..) => (head, header, None),
            (None, None, Some(header)) => {
                let oddity = Oddity::HeapHeader { header, count: head.count };
                (head, header, Some(oddity))
            }
            (None, None, None) => return Err(Fault::Count { count: head.count }),
        };
        let long = (head.tag.is_none() && header >= size::<TagLast>(pointer))
            .then(|| first::<TagLast>(payload.bytes, pointer))
            .flatten();
        let RundownHead { heap, flags, process_id, tag, .. } = long.map_or(head, |(long, _)| long);
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
        Ok(match payload.hook {
            HEAP_RANGE_RUNDOWN => HeapRundown::read(payload)?.map(HeapRange::Rundown),
            HEAP_RANGE_CREATE => payload.read::<CreateLayout>(MEMORY)?,
            HEAP_RANGE_RESERVE => payload.read::<SpanLayout>(MEMORY)?.map(HeapRange::Reserve),
            HEAP_RANGE_RELEASE => payload.read::<SpanLayout>(MEMORY)?.map(HeapRange::Release),
            HEAP_RANGE_DESTROY => payload.read::<DestroyLayout>(MEMORY)?,
            _ => return Err(Fault::Value { field: "hook id" }),
        })
    }
}

layout! {
    CreateLayout<P> = 20 / 12 bytes => HeapRange<'a> as Create { heap: P, first_range_bytes: P, flags: U32 }
}

layout! {
    SpanLayout<P> = 24 / 12 bytes => HeapSpace { heap: P, address: P, size_bytes: P }
}

layout! {
    DestroyLayout<P> = 8 / 4 bytes => HeapRange<'a> as Destroy { heap: P }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::record_id::RecordId;
    use crate::event::payload::WIN32_HEAP_RANGES;
    use crate::event::testing::*;
    use crate::event::{Decoded, Event, decode};

    fn rundown<'a>(event: Event<'a>) -> HeapRundown<'a> {
        match event {
            Event::Heap(HeapRange::Rundown(rundown)) => rundown,
            other => panic!("{other:?}"),
        }
    }

    /// A header of `header` bytes with the count after the process id, and two ranges.
    fn sample(p: PointerSize, header: usize) -> Bytes {
        let at = p.bytes();
        let bytes = Bytes::new(header + 4 * at).ptr(p, 0, 0x55_0000).u32(at, 2).u32(at + 4, 4312).u32(at + 8, 2);
        let bytes = bytes.ptr(p, header, 0x1000).ptr(p, header + at, 0x2000);
        bytes.ptr(p, header + 2 * at, 0x9000).ptr(p, header + 3 * at, 0x4000)
    }

    #[test]
    fn every_header_of_every_version() {
        for (version, p, headers) in [
            (2, P8, [20, 24]),
            (3, P8, [24, 24]),
            (4, P8, [28, 32]),
            (2, P4, [16, 16]),
            (3, P4, [20, 20]),
            (4, P4, [24, 28]),
        ] {
            for header in headers {
                let tagged = version == 4;
                let bytes = sample(p, header);
                let bytes = if tagged { bytes.u64(p.bytes() + 12, 0x1234) } else { bytes };
                let found = rundown(event(0x0264, version, p, &bytes));
                assert_eq!((found.heap, found.flags, found.process_id), (0x55_0000, 2, 4312));
                assert_eq!(found.tag, tagged.then_some(0x1234));
                assert_eq!((found.len(), found.is_empty()), (2, false));
                assert_eq!(found.ranges().collect::<Vec<_>>(), [(0x1000, 0x2000), (0x9000, 0x4000)]);
                for cut in 1..=bytes.0.len() {
                    // A payload without its last 4 bytes can fit another version; its count must never exceed the payload.
                    if let Decoded::Event { event, .. } = decode(&record(0x0264, version, p, &bytes.clone().cut(cut).0))
                    {
                        assert_eq!(rundown(event).len(), 2);
                        assert_eq!(cut % 4, 0);
                    }
                }
            }
        }
    }

    #[test]
    fn a_tag_between_flags_and_process_id_is_found() {
        for (p, headers) in [(P8, [28, 32]), (P4, [24, 28])] {
            for header in headers {
                let at = p.bytes();
                let bytes = Bytes::new(header + 2 * at).ptr(p, 0, 0x55_0000).u32(at, 2).u64(at + 4, 0x42_0000_7777);
                let bytes = bytes.u32(at + 12, 4312).u32(at + 16, 1).ptr(p, header, 0x1000).ptr(p, header + at, 0x2000);
                let found = rundown(event(0x0264, 4, p, &bytes));
                assert_eq!((found.process_id, found.tag), (4312, Some(0x42_0000_7777)));
                assert_eq!(found.ranges().collect::<Vec<_>>(), [(0x1000, 0x2000)]);
                // Only version 4 is known to have a tag.
                assert_eq!(fault(0x0264, 2, p, &bytes), Fault::Count { count: 0x42 });
            }
        }
    }

    #[test]
    fn a_header_of_another_version_is_used_and_told() {
        let bytes = sample(P8, 20);
        for version in [0, 3, 4, 5] {
            let (found, oddity) = odd(0x0264, version, P8, &bytes);
            assert_eq!(rundown(found).len(), 2);
            assert_eq!(oddity, Oddity::HeapHeader { header: 20, count: 2 });
        }
    }

    #[test]
    fn a_count_that_contradicts_the_length_gives_no_ranges() {
        for version in 0..6 {
            for count in [0, 1, 3, u32::MAX] {
                let bytes = sample(P8, 24).u32(16, count).u32(24, u32::MAX);
                assert_eq!(fault(0x0264, version, P8, &bytes), Fault::Count { count });
            }
        }
        // No range in the order of the MOF, and none in the other: a version that says so is believed.
        let empty = Bytes::new(28);
        assert!(rundown(event(0x0264, 4, P8, &empty)).is_empty());
        let cut = Bytes::new(28).u32(16, 2);
        assert_eq!(fault(0x0264, 4, P8, &cut), Fault::Count { count: 2 });
    }

    #[test]
    fn the_four_other_records() {
        for p in [P8, P4] {
            let at = p.bytes();
            let create = Bytes::new(2 * at + 4).ptr(p, 0, 0x55_0000).ptr(p, at, 0x1_0000).u32(2 * at, 2);
            let expected = HeapRange::Create { heap: 0x55_0000, first_range_bytes: 0x1_0000, flags: 2 };
            assert_eq!(event(0x0265, 2, p, &create), Event::Heap(expected));
            check_fixed(0x0265, 2, p, &create);
            let span = Bytes::new(3 * at).ptr(p, 0, 0x55_0000).ptr(p, at, 0x66_0000).ptr(p, 2 * at, 0x2000);
            let expected = HeapSpace { heap: 0x55_0000, address: 0x66_0000, size_bytes: 0x2000 };
            assert_eq!(event(0x0266, 2, p, &span), Event::Heap(HeapRange::Reserve(expected)));
            assert_eq!(event(0x0267, 2, p, &span), Event::Heap(HeapRange::Release(expected)));
            check_fixed(0x0266, 2, p, &span);
            check_fixed(0x0267, 2, p, &span);
            let destroy = Bytes::new(at).ptr(p, 0, 0x55_0000);
            assert_eq!(event(0x0268, 2, p, &destroy), Event::Heap(HeapRange::Destroy { heap: 0x55_0000 }));
            check_fixed(0x0268, 2, p, &destroy);
        }
    }

    #[test]
    fn the_user_mode_provider_writes_the_same_payloads() {
        let bytes = sample(P4, 24).u64(16, 9);
        let id = RecordId::Classic { class: WIN32_HEAP_RANGES, opcode: 0x64 };
        let Decoded::Event { event, surplus: None } = decode(&with_id(id, 4, P4, &bytes.0)) else { panic!() };
        assert_eq!(rundown(event).len(), 2);
    }
}
