//! Writes a file again with other event areas. What was damaged stays damaged, and at the same place.

use crate::etl::EtlFile;
use crate::etl::buffer::{BUFFER_HEADER_BYTES, Buffer};
use crate::etl::compression::stored;
use crate::etl::event_area::EventArea;
use std::io::{self, Write};

/// Bytes of event areas that are in memory at a time, if there is more than one.
const AT_A_TIME: u64 = 64 << 20;

/// A compressed buffer becomes at most this many times as large, unless its records need more.
const MOST_GROWTH: u32 = 16;

impl EtlFile {
    /// Writes this file again; further files of the recording are not written. `change` gives the new bytes of an event area,
    /// as many as it has. Compressed buffers become uncompressed ones, of the session's buffer size where they filled more
    /// than a small part of it. A buffer that cannot be unpacked to its end stays one. What lies between buffers and after the
    /// last one is left out, but for its length.
    ///
    /// # Errors
    /// What the writer says.
    pub fn rewrite(&self, out: &mut dyn Write, change: impl Fn(&EventArea<'_>) -> Vec<u8> + Sync) -> io::Result<()> {
        let mut end = 0;
        let mut rest = self.own_buffers();
        let mut first = 0;
        while !rest.is_empty() {
            let (some, after) = rest.split_at(few(rest));
            let indices: Vec<u32> = (first..).take(some.len()).collect();
            for (bytes, buffer) in self.map_some(&indices, |area| self.rewritten(area, &change)).iter().zip(some) {
                self.left_out(end, buffer.offset.0, out)?;
                out.write_all(bytes)?;
                end = buffer.offset.0 + u64::from(buffer.size_bytes);
            }
            (rest, first) = (after, first + some.len() as u32);
        }
        self.left_out(end, self.own_bytes().len() as u64, out)?;
        // A file has no archive that can be cut, but it can end inside a buffer.
        if self.is_unpacking_cut() && !self.own_buffers().last().is_some_and(|buffer| buffer.cut) {
            out.write_all(&[0xff; 8])?;
        }
        out.flush()
    }

    /// Writes as many bytes as lie between two places: zeros where there are zeros, which end a log, else what is no buffer.
    fn left_out(&self, from: u64, to: u64, out: &mut dyn Write) -> io::Result<()> {
        let gap = usize::try_from(from).ok().and_then(|from| self.own_bytes().get(from..)).unwrap_or_default();
        let byte = if gap.iter().take(BUFFER_HEADER_BYTES as usize).all(|&byte| byte == 0) { 0 } else { 0xff };
        io::copy(&mut io::Read::take(io::repeat(byte), to.saturating_sub(from)), out).map(|_| ())
    }

    /// One buffer: header, area, filler.
    fn rewritten(&self, area: &EventArea<'_>, change: &impl Fn(&EventArea<'_>) -> Vec<u8>) -> Vec<u8> {
        let buffer = &area.buffer;
        let header = usize::try_from(buffer.offset.0).ok().and_then(|at| self.own_bytes().get(at..));
        let mut bytes: Vec<u8> =
            header.unwrap_or_default().iter().copied().take(BUFFER_HEADER_BYTES as usize).collect();
        let changed = change(area);
        let session = self.session_buffer_bytes;
        if buffer.is_compressed() && area.fault.is_some() && !buffer.cut {
            // Where all is there, what follows is the fault.
            let is_whole = changed.len() >= buffer.area_bytes() as usize;
            let more = if is_whole { &[0; 64][..] } else { &[] };
            let size_of =
                |stored: &[u8]| u32::try_from(stored.len()).unwrap_or(u32::MAX).saturating_add(BUFFER_HEADER_BYTES);
            let stored = stored(self.format, &[&changed, more].concat());
            if let Some(stored) = stored.filter(|stored| size_of(stored) <= session) {
                Buffer::change_header(&mut bytes, size_of(&stored), true);
                return [bytes, stored].concat();
            }
        }
        let real = BUFFER_HEADER_BYTES.saturating_add(u32::try_from(changed.len()).unwrap_or(u32::MAX));
        let size = match buffer.is_compressed() {
            true if buffer.cut => session,
            // The file says how large buffers are: a small one must not become a large one for that alone.
            true => session.min(buffer.size_bytes.saturating_mul(MOST_GROWTH).max(real)),
            false => buffer.stated_bytes,
        };
        Buffer::change_header(&mut bytes, size, false);
        bytes.extend(changed);
        if buffer.is_compressed() && area.fault.is_some() && !buffer.cut {
            keep_damaged(&mut bytes, area, real.max(buffer.used_bytes).min(size));
        }
        let end = match buffer.is_compressed() {
            true if buffer.cut => bytes.len(),
            true => size as usize,
            false => buffer.size_bytes as usize,
        };
        bytes.resize(end, 0xff);
        bytes
    }
}

/// A buffer whose records were too many to be stored: what is missing becomes what no record begins with, also after a record
/// that was cut. Where the chain is broken before, that is damage enough: the records after it are found by where the area ends.
fn keep_damaged(bytes: &mut Vec<u8>, area: &EventArea<'_>, used: u32) {
    let padded = |bytes: usize| bytes.next_multiple_of(8);
    let (mut sum, mut end) = (0, 0);
    for record in area.records() {
        sum += padded(record.bytes.len());
        end = record.position.offset as usize + record.bytes.len();
    }
    if sum == padded(end) {
        bytes.truncate((BUFFER_HEADER_BYTES as usize).saturating_add(end));
        bytes.resize(used as usize, 0);
    } else {
        let whole = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Buffer::change_used(bytes, whole);
    }
}

/// Number of the first buffers whose areas are in memory at a time.
fn few(buffers: &[Buffer]) -> usize {
    let mut sum = 0u64;
    let is_more = |buffer: &Buffer| {
        sum += u64::from(buffer.used_bytes.max(buffer.size_bytes));
        sum > AT_A_TIME
    };
    buffers.iter().position(is_more).unwrap_or(buffers.len()).max(1)
}
