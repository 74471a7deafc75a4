//! The event area of one buffer: a chain of records at multiples of 8.
//!
//! A record's size leads to the next record. Where the chain breaks (no record, a size that is too small or passes the
//! end, filler where a record has room) the place is reported, and reading continues at the next valid record (`resync`).

use crate::error::{Damage, DamageLog};
use crate::etl::buffer::{BUFFER_HEADER_BYTES, Buffer};
use crate::etl::header_type::{HeaderType, Marker, marker};
use crate::etl::record::RawRecord;
use crate::etl::record_id::{HookId, Position};
use crate::etl::resync::{self, Break, Breaks};
use crate::etl::stamp_limits::StampLimits;
use crate::units::{FileOffset, Ticks};

/// The readable event area of one buffer, decompressed.
#[derive(Debug, Clone)]
pub struct EventArea<'a> {
    /// The buffer.
    pub buffer: Buffer,
    /// Index of the buffer in file order.
    pub index: u32,
    /// The records' bytes; shorter than the header says when the buffer was cut or its compressed bytes are damaged.
    pub bytes: &'a [u8],
    /// Why `bytes` is shorter than the header says; `None` when it is complete.
    pub fault: Option<String>,
    /// Limits of plausible time stamps.
    pub stamps: StampLimits,
}

impl<'a> EventArea<'a> {
    /// Loads the bytes from memory before they are read. Record by record, the size of each tells where the next one is, so that each
    /// waits for memory; here nothing depends on what is read. No more than what caches hold beside what visitors need.
    pub fn load(&self) {
        const LINE: usize = 64;
        const MOST: usize = 512 << 10;
        if !self.buffer.is_compressed() {
            let some = self.bytes.get(..MOST).unwrap_or(self.bytes);
            std::hint::black_box(some.iter().step_by(LINE).fold(0, |sum, byte| sum ^ byte));
        }
    }

    /// The records in offset order.
    #[inline]
    pub fn records(&self) -> Records<'a> {
        Records { bytes: self.bytes, at: 0, buffer: self.index, stamps: self.stamps, breaks: None }
    }

    /// File offset of byte `at` of the event area; for compressed buffers, the offset of the buffer.
    pub fn file_offset(&self, at: usize) -> FileOffset {
        match self.buffer.is_compressed() {
            true => self.buffer.offset,
            false => FileOffset(self.buffer.offset.0 + u64::from(BUFFER_HEADER_BYTES) + at as u64),
        }
    }

    /// The time stamp of a record; `None` when it has none or has one that is not plausible.
    #[inline(always)]
    pub fn time_of(&self, record: &RawRecord<'_>) -> Option<Ticks> {
        record.time().filter(|time| self.stamps.contains(*time))
    }

    /// The damage of this buffer: breaks that `records`, read to its end, has found, and why the area is incomplete. A
    /// cut buffer was reported when the file was indexed, so the record at the cut is not reported again.
    pub fn damage(&self, records: &Records<'a>) -> DamageLog {
        let mut log = DamageLog::default();
        if let Some(fault) = self.fault.as_ref().filter(|_| !self.buffer.cut) {
            log.push(Damage {
                offset: self.buffer.offset,
                what: format!("compressed event area of buffer {}", self.index),
                expected: format!("{} bytes", self.buffer.area_bytes()),
                found: format!("{} bytes, then {fault}", self.bytes.len()),
            });
        }
        let is_whole = self.fault.is_none() && !self.buffer.cut;
        let Some(breaks) = &records.breaks else { return log };
        for broken in breaks.places.iter().filter(|broken| is_whole || !broken.is_cut_short()) {
            let (at, index) = (broken.at, self.index);
            log.push(Damage {
                offset: self.file_offset(at),
                what: format!(
                    "record at 0x{at:x} of the event area of buffer {index} ({} bytes passed over)",
                    broken.passed_over
                ),
                expected: broken.expected(),
                found: broken.found(),
            });
        }
        log.total += breaks.more;
        log
    }

    /// Calls `visit` for each record with its time. A record without a plausible stamp gets the time of the record before
    /// it, or `before_first` if it is the first. Returns the iterator, for [`EventArea::damage`].
    #[inline]
    pub fn for_each_timed(&self, before_first: Ticks, mut visit: impl FnMut(RawRecord<'a>, Ticks)) -> Records<'a> {
        let mut records = self.records();
        let mut time = before_first;
        for record in &mut records {
            time = self.time_of(&record).unwrap_or(time);
            visit(record, time);
        }
        records
    }
}

/// Consecutive records with equal first 8 bytes, hence of one kind and size.
#[derive(Debug, Clone, Copy)]
pub struct Alike<'a> {
    bytes: &'a [u8],
    size: usize,
    stride: usize,
    offset: usize,
}

impl<'a> Alike<'a> {
    /// For each record, its bytes from offset `at` in the record to its end.
    #[inline(always)]
    pub fn parts(&self, at: usize) -> impl Iterator<Item = &'a [u8]> {
        let (at, size) = (at.min(self.size), self.size);
        self.bytes.chunks_exact(self.stride).map(move |record| record.get(at..size).unwrap_or_default())
    }

    /// Number of records.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.stride
    }

    /// True when there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Offset of a record in the area, by its number in this sequence.
    #[inline(always)]
    pub fn offset_of(&self, number: usize) -> u32 {
        (self.offset + number * self.stride) as u32
    }
}

/// First eight bytes of records that were read before, and what they say. A record that begins with them needs no check but
/// that it ends inside of the area.
#[derive(Debug)]
pub(crate) struct KnownHeads<T> {
    /// By [`KnownHeads::place_of`]: those of events that are often together differ.
    slots: [Option<Known<T>>; KNOWN],
}

/// How many of these there are at most.
pub(crate) const KNOWN: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Known<T> {
    head: u64,
    size: usize,
    what: T,
}

impl<T: Copy> Default for KnownHeads<T> {
    fn default() -> Self {
        KnownHeads { slots: [None; KNOWN] }
    }
}

impl<T: Copy> KnownHeads<T> {
    /// The place of a hook id. The kind alone would give context switches and deferred procedure calls the same one.
    #[inline(always)]
    pub const fn place_of(hook: HookId) -> usize {
        (hook.0 as usize + (hook.0 >> 6) as usize) % KNOWN
    }

    /// Notes what the first eight bytes of a kernel record with this hook id say; what its place knew before is forgotten.
    pub fn note(&mut self, record: &RawRecord<'_>, hook: HookId, what: T) {
        if let (Some(head), Some(slot)) = (record.bytes.first_chunk(), self.slots.get_mut(Self::place_of(hook))) {
            *slot = Some(Known { head: u64::from_le_bytes(*head), size: record.bytes.len(), what });
        }
    }

    /// What is known of a record with this head.
    #[inline(always)]
    fn get(&self, head: [u8; 8]) -> Option<&Known<T>> {
        let head = u64::from_le_bytes(head);
        self.slots[Self::place_of(HookId((head >> 48) as u16))].as_ref().filter(|known| known.head == head)
    }
}

/// Iterator over the records of an area.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    buffer: u32,
    stamps: StampLimits,
    /// Where the chain broke; boxed, because breaks are rare.
    breaks: Option<Box<Breaks>>,
}

impl<'a> Records<'a> {
    /// Continues at `offset` in the area, where a record must start.
    pub(crate) fn at_offset(mut self, offset: u32) -> Self {
        self.at = offset as usize;
        self
    }

    /// Goes back to `offset`, where a record that was returned before starts.
    pub fn go_back_to(&mut self, offset: u32) {
        self.at = offset as usize;
    }

    /// The next record, if its first eight bytes equal those of `first`: same kind, size, hook, version and extension
    /// words. Fast, for millions of page records: nothing else of the record is read.
    #[inline(always)]
    pub fn next_alike(&mut self, first: &RawRecord<'_>) -> Option<RawRecord<'a>> {
        let bytes = self.bytes.get(self.at..)?.get(..first.bytes.len())?;
        if bytes.first_chunk::<8>() != first.bytes.first_chunk::<8>() {
            return None;
        }
        let position = Position { offset: self.at as u32, ..first.position };
        self.at += (bytes.len() + 7) & !7;
        Some(RawRecord { header: first.header, position, bytes })
    }

    /// The next record's bytes and offset, and what is known of its first eight bytes. `None` when that is nothing, and at the
    /// end: then [`Iterator::next`] tells which.
    #[inline(always)]
    pub(crate) fn next_known<T: Copy>(&mut self, heads: &KnownHeads<T>) -> Option<(T, &'a [u8], u32)> {
        let rest = self.bytes.get(self.at..)?;
        let known = heads.get(*rest.first_chunk()?)?;
        let (bytes, offset) = (rest.get(..known.size)?, self.at as u32);
        self.at += (known.size + 7) & !7;
        Some((known.what, bytes, offset))
    }

    /// The next records whose first eight bytes equal those of `first`, at most `most` of them: the same as repeated
    /// [`Records::next_alike`], at the cost of one comparison for each record.
    #[inline(always)]
    pub fn alike(&mut self, first: &RawRecord<'_>, most: usize) -> Alike<'a> {
        self.alike_while(first, most, |_| true)
    }

    /// Like [`Records::alike`], and ends before the first record for which `goes_on` is false.
    #[inline(always)]
    pub fn alike_while(
        &mut self,
        first: &RawRecord<'_>,
        most: usize,
        mut goes_on: impl FnMut(&'a [u8]) -> bool,
    ) -> Alike<'a> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (size, stride) = (first.bytes.len(), first.bytes.len().next_multiple_of(8));
        let head = first.bytes.first_chunk::<8>();
        let mut is_wanted =
            |record: &'a [u8]| record.first_chunk() == head && record.get(..size).is_some_and(&mut goes_on);
        let count = rest.chunks_exact(stride).take(most).take_while(|record| is_wanted(record)).count();
        let alike = Alike { bytes: rest.get(..count * stride).unwrap_or_default(), size, stride, offset: self.at };
        self.at += count * stride;
        alike
    }

    /// The chain is broken here, or ends with filler: continues at the next valid record, if there is one.
    #[cold]
    fn resume(&mut self) -> Option<RawRecord<'a>> {
        let is_filler = resync::is_filler_to_the_end(self.bytes, self.at);
        // Writers count no filler as data: where the smallest record has room, one was overwritten.
        if is_filler && self.bytes.len() - self.at < HeaderType::Message.header_bytes() {
            self.at = self.bytes.len();
            return None;
        }
        let next = if is_filler { None } else { resync::next_valid(self.bytes, self.at, self.stamps) };
        self.breaks.get_or_insert_default().push(Break::new(self.bytes, self.at, next));
        self.at = next.unwrap_or(self.bytes.len()); // no valid record follows: the iterator ends
        next.and_then(|_| self.next())
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = RawRecord<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<RawRecord<'a>> {
        if let Some((header, bytes)) = record_at(self.bytes, self.at) {
            let position = Position { buffer: self.buffer, offset: self.at as u32 };
            self.at += (bytes.len() + 7) & !7;
            return Some(RawRecord { header, position, bytes });
        }
        if self.at >= self.bytes.len() { None } else { self.resume() }
    }
}

/// Kind and bytes of the record at an offset in an event area; `None` at its end and where the chain is broken.
#[inline(always)]
pub(crate) fn record_at(area: &[u8], at: usize) -> Option<(HeaderType, &[u8])> {
    let rest = area.get(at..)?;
    match marker(*rest.first_chunk::<8>()?) {
        Marker::Record(header, size) if size >= header.header_bytes() => Some((header, rest.get(..size)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(bytes: &[u8]) -> EventArea<'_> {
        let mut header = [0; 0x48];
        header[..4].copy_from_slice(&0x400u32.to_le_bytes());
        header[0x30] = 0x48;
        let buffer = Buffer::read(&header, FileOffset(0), 0x400).unwrap();
        EventArea { buffer: Buffer { cut: false, ..buffer }, index: 3, bytes, fault: None, stamps: StampLimits::NONE }
    }

    fn perfinfo(size: u16) -> Vec<u8> {
        let mut bytes = vec![2, 0, 17, 0xc0, 0, 0, 0x22, 0x0f];
        bytes[4..6].copy_from_slice(&size.to_le_bytes());
        bytes.resize(usize::from(size).max(8), 0);
        bytes
    }

    fn walk(bytes: &[u8]) -> (Vec<usize>, Vec<Damage>) {
        let area = area(bytes);
        let mut records = area.records();
        let sizes = (&mut records).map(|r| r.bytes.len()).collect();
        (sizes, area.damage(&records).places)
    }

    #[test]
    fn records_are_padded_to_8_and_end_with_the_area_or_filler() {
        let mut bytes = perfinfo(19);
        bytes.resize(24, 0xaa);
        bytes.extend(perfinfo(16));
        assert_eq!(walk(&bytes), (vec![19, 16], vec![]));
        bytes.extend([0xff; 7]);
        assert_eq!(walk(&bytes), (vec![19, 16], vec![]));
    }

    #[test]
    fn filler_where_a_record_has_room_is_damage() {
        for (records, filler) in [(1, 8), (1, 16), (2, 400), (0, 8), (0, 0x3b8)] {
            let bytes = [perfinfo(16).repeat(records), vec![0xff; filler]].concat();
            let (sizes, damage) = walk(&bytes);
            assert_eq!(sizes, vec![16; records]);
            let [damage] = &damage[..] else { panic!("{damage:?}") };
            assert_eq!(damage.offset, FileOffset(0x48 + 16 * records as u64));
            assert!(damage.what.ends_with(&format!("({filler} bytes passed over)")), "{damage:?}");
            assert!(
                damage.expected.starts_with("a record marker") && damage.found.starts_with("bytes [ff"),
                "{damage:?}"
            );
        }
    }

    #[test]
    fn a_broken_chain_is_reported_once_with_its_place() {
        for (tail, found) in [(perfinfo(8), "8"), (perfinfo(60)[..24].to_vec(), "60"), (vec![0; 16], "bytes [00")] {
            let bytes = [perfinfo(16), tail].concat();
            let (sizes, damage) = walk(&bytes);
            assert_eq!(sizes, [16]);
            let [damage] = &damage[..] else { panic!("{damage:?}") };
            assert_eq!(damage.offset, FileOffset(0x48 + 16));
            assert!(damage.found.starts_with(found), "{damage:?}");
        }
    }

    #[test]
    fn alike_records_are_taken_together() {
        let other = perfinfo(16);
        let bytes = [perfinfo(20), vec![0; 4], perfinfo(20), vec![0; 4], perfinfo(20), vec![0; 4], other].concat();
        let area = area(&bytes);
        let mut records = area.records();
        let first = records.next().unwrap();
        let one = records.alike(&first, 1);
        assert_eq!((one.len(), one.offset_of(0)), (1, 24));
        let rest = records.alike(&first, 9);
        assert_eq!((rest.len(), rest.offset_of(0), rest.is_empty()), (1, 48, false));
        assert_eq!(rest.parts(0).map(<[u8]>::len).collect::<Vec<_>>(), [20]);
        assert_eq!(rest.parts(99).map(<[u8]>::len).collect::<Vec<_>>(), [0]);
        assert!(records.alike(&first, 9).is_empty());
        assert!(records.next_alike(&first).is_none());
        let last = records.next().unwrap();
        assert_eq!((last.bytes.len(), last.position.offset), (16, 72));
        records.go_back_to(last.position.offset);
        assert_eq!(records.next().map(|record| record.position.offset), Some(72));
    }

    #[test]
    fn a_size_of_zero_does_not_loop() {
        assert_eq!(walk(&perfinfo(0)).0, Vec::<usize>::new());
    }

    #[test]
    fn known_records_are_those_with_the_same_first_bytes() {
        let record = |hook: u8, size: usize| {
            let mut bytes = perfinfo(size as u16);
            bytes[6] = hook;
            bytes
        };
        let bytes = [record(1, 0x18), record(2, 0x18), record(1, 0x18), record(1, 0x20), record(0x11, 0x18)].concat();
        let cut = area(&bytes[..bytes.len() - 8]);
        let (mut records, mut heads) = (cut.records(), KnownHeads::default());
        let mut seen = Vec::new();
        loop {
            if let Some((what, bytes, offset)) = records.next_known(&heads) {
                seen.push((true, bytes.len(), offset));
                assert_eq!(what, u16::from(bytes[6]));
            } else if let Some(raw) = records.next() {
                seen.push((false, raw.bytes.len(), raw.position.offset));
                let hook = raw.hook().unwrap();
                heads.note(&raw, hook, hook.0 & 0xff);
            } else {
                break;
            }
        }
        let want = [(false, 0x18, 0), (false, 0x18, 0x18), (true, 0x18, 0x30), (false, 0x20, 0x48)];
        assert_eq!(seen, want); // the last one is cut
    }
}
