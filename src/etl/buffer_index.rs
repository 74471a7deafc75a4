//! The buffer index: reads all buffer headers once, and continues after damaged ones.
//!
//! Policy: follow `BufferSize` from buffer to buffer. Where a header is not valid, report it and, in an uncompressed
//! file, continue at the next multiple of the session's buffer size that has a valid header; in a compressed file
//! buffers lie at any offset, so the rest is reported as unread. `BufferSize` 0 ends the log.

use crate::error::{Damage, DamageLog};
use crate::etl::buffer::{BUFFER_HEADER_BYTES, Buffer, FLAG_COMPRESSED};
use crate::units::FileOffset;
use rayon::prelude::*;

/// What is known of the file from its log-file header.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mode {
    /// Buffers are compressed, so they may begin anywhere.
    pub compressed: bool,
    /// The file may end in zeros: preallocated or never stopped.
    pub zeros_expected: bool,
}

/// All buffers in file order.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Buffers in file order.
    pub buffers: Vec<Buffer>,
    /// Damaged headers.
    pub damage: DamageLog,
    /// Where the log ends and only zeros follow, if it does.
    pub end_of_log: Option<FileOffset>,
}

/// Indexes `file` from the second buffer on; `first` is the header buffer, which was checked when the file was opened.
/// `next_data` says where, from an offset on, the next bytes are that are no hole of a sparse file.
pub(crate) fn index(
    file: &[u8],
    first: Buffer,
    session_buffer_bytes: u32,
    mode: Mode,
    next_data: &dyn Fn(usize) -> usize,
) -> Index {
    let mut index = Index { buffers: vec![first], ..Index::default() };
    let mut at = first.size_bytes as usize;
    let mut compressed = mode.compressed;
    if !compressed && at == session_buffer_bytes as usize {
        let regular = regular(file, at, session_buffer_bytes);
        at += regular.len() * session_buffer_bytes as usize;
        index.buffers.extend(regular);
    }
    while let Some(rest) = file.get(at..).filter(|rest| !rest.is_empty()) {
        let offset = FileOffset(at as u64);
        if rest.len() < BUFFER_HEADER_BYTES as usize {
            index.damage.push(Damage {
                offset,
                what: "end of the file".into(),
                expected: "a buffer header or nothing".into(),
                found: format!("{} trailing bytes", rest.len()),
            });
            break;
        }
        match Buffer::read(rest, offset, session_buffer_bytes) {
            Ok(buffer) => {
                compressed |= buffer.is_compressed();
                at += buffer.size_bytes as usize; // at least 0x48: always advances
                index.buffers.push(buffer);
            }
            Err(invalid) => {
                let zeros = rest.iter().take(BUFFER_HEADER_BYTES as usize).all(|&b| b == 0);
                let resumed = if compressed { None } else { next_valid(file, at, session_buffer_bytes, next_data) };
                if zeros && resumed.is_none() {
                    index.end_of_log = Some(offset);
                }
                if !(zeros && resumed.is_none() && mode.zeros_expected) {
                    let until = resumed.unwrap_or(file.len());
                    index.damage.push(Damage {
                        offset,
                        what: format!("buffer header ({} bytes passed over)", until - at),
                        expected: invalid.expected,
                        found: invalid.found,
                    });
                }
                match resumed {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }
    for buffer in index.buffers.iter().filter(|b| b.cut) {
        index.damage.push(Damage {
            offset: buffer.offset,
            what: format!("buffer {} (sequence number)", buffer.sequence),
            expected: "the whole buffer in the file".into(),
            found: format!("the file ends after {} of its bytes", buffer.size_bytes),
        });
    }
    take_out_copies(file, &mut index);
    empty_renumbered_copies(file, &mut index);
    index
}

/// Takes out buffers that are in the file again, byte for byte: their records happened once. Others with the number of
/// another stay: files that were put together begin again to count.
fn take_out_copies(file: &[u8], index: &mut Index) {
    let Index { buffers, damage, .. } = index;
    // Numbers that ascend are all different.
    if buffers.is_sorted_by(|one, next| one.sequence < next.sequence) {
        return;
    }
    let mut order: Vec<&Buffer> = buffers.iter().filter(|buffer| buffer.area_bytes() > 0).collect();
    order.sort_by_key(|buffer| (buffer.sequence, buffer.processor, buffer.offset));
    let bytes = |buffer: &Buffer| file.get(buffer.offset.0 as usize..)?.get(..buffer.size_bytes as usize);
    let is_copy = |one: &Buffer, next: &Buffer| {
        (one.sequence, one.processor) == (next.sequence, next.processor) && bytes(one) == bytes(next)
    };
    let pairs = order.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    let mut copies: Vec<(FileOffset, FileOffset, u64)> = pairs
        .filter(|(one, next)| is_copy(one, next))
        .map(|(one, next)| (next.offset, one.offset, next.sequence))
        .collect();
    copies.sort_unstable();
    damage.extend(copies.iter().map(|(offset, before, sequence)| Damage {
        offset: *offset,
        what: format!("buffer {sequence} (sequence number), a copy that is not counted"),
        expected: "each buffer once".into(),
        found: format!("the bytes of the buffer at offset {before} again"),
    }));
    buffers.retain(|buffer| copies.binary_search_by_key(&buffer.offset, |(offset, ..)| *offset).is_err());
}

/// Records of fewer bytes can be the same by chance, where a clock is coarse.
const LEAST_OF_A_COPY: u32 = 0x100;

/// Empties buffers whose records are those of another one of the processor with the same time of its flush, under another number: they
/// happened once. The number stays, because nothing is missing there.
fn empty_renumbered_copies(file: &[u8], index: &mut Index) {
    let Index { buffers, damage, .. } = index;
    let flush = |buffer: &Buffer| (buffer.processor, buffer.flushed, buffer.used_bytes, buffer.size_bytes);
    let is_asked = |buffer: &Buffer| buffer.flushed != 0 && buffer.area_bytes() >= LEAST_OF_A_COPY;
    let mut order: Vec<usize> = (0..buffers.len()).filter(|at| buffers.get(*at).is_some_and(is_asked)).collect();
    order.sort_by_key(|at| buffers.get(*at).map(flush));
    let area = |buffer: &Buffer| {
        let (start, size) = (buffer.offset.0 as usize, buffer.size_bytes as usize);
        let end = if buffer.is_compressed() { size } else { size.min(buffer.used_bytes as usize) };
        file.get(start..)?.get(BUFFER_HEADER_BYTES as usize..end)
    };
    let mut copies = Vec::new();
    for of_flush in order.chunk_by(|one, next| buffers.get(*one).map(flush) == buffers.get(*next).map(flush)) {
        let of_flush: Vec<(usize, Buffer)> = of_flush.iter().filter_map(|at| Some((*at, *buffers.get(*at)?))).collect();
        for (place, (at, buffer)) in of_flush.iter().enumerate() {
            let is_same = |one: &&(usize, Buffer)| one.1.sequence != buffer.sequence && area(&one.1) == area(buffer);
            // Of many with one time, each is compared with a few.
            let first = of_flush.iter().take(place).take(BUFFERS_COMPARED).find(is_same);
            copies.extend(first.map(|(_, first)| (*at, first.offset)));
        }
    }
    for (at, first) in copies {
        let Some(buffer) = buffers.get_mut(at) else { continue };
        buffer.used_bytes = BUFFER_HEADER_BYTES;
        buffer.flags &= !FLAG_COMPRESSED;
        damage.push(Damage {
            offset: buffer.offset,
            what: format!(
                "buffer {} (sequence number), a copy under another number that is not counted",
                buffer.sequence
            ),
            expected: "each buffer once".into(),
            found: format!("the records of the buffer at offset {first} again"),
        });
    }
}

/// Buffers of one time of a flush that another one is compared with, at most.
const BUFFERS_COMPARED: usize = 16;

/// Most buffers whose headers are read side by side.
const BUFFERS_AT_A_TIME: usize = 1 << 14;

/// The buffers from `at` on, as long as each is complete, uncompressed and of the session's size: nearly always all of
/// them. They are read in parallel, because each header lies on a page that is not in memory yet.
fn regular(file: &[u8], at: usize, session_buffer_bytes: u32) -> Vec<Buffer> {
    let size = session_buffer_bytes as usize;
    let mut all = Vec::new();
    let mut rest = file.get(at..).unwrap_or_default();
    // Not all of the file at once: of a sparse one, the rest may be terabytes that hold nothing.
    let mut at_a_time = 64_usize;
    while !rest.is_empty() {
        let (some, others) = rest.split_at(size.saturating_mul(at_a_time).min(rest.len()));
        (rest, at_a_time) = (others, BUFFERS_AT_A_TIME.min(at_a_time * 2));
        let start = at + all.len() * size;
        let read = |(number, bytes): (usize, &[u8])| {
            let buffer = Buffer::read(bytes, FileOffset((start + number * size) as u64), session_buffer_bytes).ok();
            buffer.filter(|buffer| buffer.size_bytes as usize == size && !buffer.cut && !buffer.is_compressed())
        };
        let buffers: Vec<Option<Buffer>> = some.par_chunks_exact(size).enumerate().map(read).collect();
        let wanted = all.len() + buffers.len();
        all.extend(buffers.into_iter().map_while(|buffer| buffer));
        if all.len() < wanted {
            break;
        }
    }
    all
}

/// Offset of the next valid buffer header after `at`, at a multiple of the session's buffer size.
fn next_valid(file: &[u8], at: usize, session_buffer_bytes: u32, next_data: &dyn Fn(usize) -> usize) -> Option<usize> {
    let step = (session_buffer_bytes.max(BUFFER_HEADER_BYTES)) as usize;
    let mut candidate = (at / step + 1).checked_mul(step)?;
    while let Some(rest) = file.get(candidate..).filter(|rest| rest.len() >= BUFFER_HEADER_BYTES as usize) {
        if Buffer::read(rest, FileOffset(candidate as u64), session_buffer_bytes).is_ok() {
            return Some(candidate);
        }
        let is_zero = rest.iter().take(BUFFER_HEADER_BYTES as usize).all(|&byte| byte == 0);
        let data = if is_zero { next_data(candidate) / step * step } else { 0 };
        candidate = candidate.checked_add(step)?.max(data);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION_BUFFER_BYTES: u32 = 0x400;

    fn buffer(size: u32) -> Vec<u8> {
        let mut bytes = vec![0xff; size as usize];
        bytes[..0x48].fill(0);
        bytes[0..4].copy_from_slice(&size.to_le_bytes());
        bytes[0x30] = 0x48;
        bytes
    }

    fn run(file: &[u8], zeros_expected: bool) -> Index {
        let first = Buffer::read(file, FileOffset(0), SESSION_BUFFER_BYTES).unwrap();
        index(file, first, SESSION_BUFFER_BYTES, Mode { zeros_expected, ..Mode::default() }, &|at| at)
    }

    #[test]
    fn a_damaged_header_costs_one_buffer() {
        let mut file = [buffer(0x400), buffer(0x400), buffer(0x400)].concat();
        file[0x400..0x404].copy_from_slice(&[0xee; 4]);
        let index = run(&file, false);
        let offsets: Vec<_> = index.buffers.iter().map(|b| b.offset.0).collect();
        assert_eq!(offsets, [0, 0x800]);
        assert_eq!(index.damage.total, 1);
        assert_eq!(index.damage.places[0].offset, FileOffset(0x400));
    }

    #[test]
    fn zeros_end_a_preallocated_log() {
        let mut file = [buffer(0x400), buffer(0x400)].concat();
        file.extend(vec![0; 0x1000]);
        let index = run(&file, true);
        assert_eq!((index.buffers.len(), index.damage.total, index.end_of_log), (2, 0, Some(FileOffset(0x800))));
        assert_eq!(run(&file, false).damage.total, 1);
    }

    /// Two buffers far apart: what is between them is not looked at.
    #[test]
    fn holes_are_passed_over() {
        let mut file = [buffer(0x400), buffer(0x400), vec![0; 0x400 * 5000], buffer(0x400)].concat();
        file.extend(vec![0; 0x400 * 5000]);
        let asked = std::cell::Cell::new(0);
        let far = 0x400 * 5002;
        let next_data = |at: usize| {
            asked.set(asked.get() + 1);
            if at < far { far + 0x10 } else { file.len() }
        };
        let first = Buffer::read(&file, FileOffset(0), SESSION_BUFFER_BYTES).unwrap();
        let index = index(&file, first, SESSION_BUFFER_BYTES, Mode::default(), &next_data);
        let offsets: Vec<_> = index.buffers.iter().map(|b| b.offset.0 as usize).collect();
        assert_eq!((offsets, asked.get()), (vec![0, 0x400, far], 2));
        assert_eq!(index.end_of_log, Some(FileOffset(far as u64 + 0x400)));
    }

    /// An upload that repeats a block: the records of the copy were counted again.
    #[test]
    fn a_buffer_that_is_there_twice_counts_once() {
        let numbered = |sequence: u8, records: u8| {
            let mut bytes = buffer(0x400);
            (bytes[0x18], bytes[0x48]) = (sequence, records);
            bytes[0x30..0x34].copy_from_slice(&0x400u32.to_le_bytes());
            bytes
        };
        let all = [numbered(0, 0), numbered(1, 1), numbered(2, 2), numbered(1, 1), numbered(2, 3), numbered(1, 1)];
        let index = run(&all.concat(), false);
        let offsets: Vec<_> = index.buffers.iter().map(|b| b.offset.0).collect();
        assert_eq!(offsets, [0, 0x400, 0x800, 0x1000], "one with another content is no copy");
        let places: Vec<_> = index.damage.places.iter().map(|damage| damage.offset.0).collect();
        assert_eq!(places, [0xc00, 0x1400]);
        assert!(index.damage.places[0].found.contains("0x400"), "{:?}", index.damage);
    }

    #[test]
    fn trailing_bytes_and_a_cut_buffer_are_reported() {
        let file = [buffer(0x400), vec![1; 0x30]].concat();
        assert!(run(&file, false).damage.places[0].found.contains("48 trailing bytes"));
        let file = [buffer(0x400), buffer(0x400)[..0x100].to_vec()].concat();
        let index = run(&file, false);
        assert_eq!((index.buffers.len(), index.damage.total), (2, 1));
        assert!(index.buffers[1].cut);
    }
}
