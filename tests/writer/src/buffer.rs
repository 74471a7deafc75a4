//! Buffers: collecting records per processor, and the 0x48-byte buffer header.
//!
//! As in the kernel, each processor fills its own buffer and a buffer goes to the file when the next record does not
//! fit: the file is in time order per processor only. Sequence numbers are given when a buffer is taken into use, so
//! that buffers of different processors can stand in the file with falling numbers.

use super::compress;
use super::record::Rec;
use super::session::{Compression, MODE_NO_PER_PROCESSOR, MODE_RELOG, Session};

/// Size of the buffer header.
pub const HEADER: usize = 0x48;

/// How one data buffer of a compressed file is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As the session says.
    Session,
    /// Uncompressed, BufferSize = header + used bytes.
    PlainTight,
    /// Uncompressed, filled with 0xFF up to the session's buffer size.
    PlainPadded,
}

/// One buffer before it becomes bytes. Tests of damage change fields through `Trace::edit_buffers`.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// BufferType: 4 header, 0 generic.
    pub kind: u16,
    /// BufferFlag, without 0x20 (from the session) and 0x40 (from the storage), which are added.
    pub flags: u16,
    /// Processor.
    pub processor: u16,
    /// SequenceNumber.
    pub sequence: u64,
    /// Raw time stamp of the last record: when the buffer was flushed.
    pub flushed: u64,
    /// Closed because the next record did not fit (as opposed to flushed early).
    pub full: bool,
    /// Where the first record ends, counted from the area's start: SavedOffset of header buffers is stale there.
    pub first_end: usize,
    /// Event area, uncompressed.
    pub area: Vec<u8>,
    /// How it is stored.
    pub storage: Storage,
    /// A lie for BufferSize.
    pub size_field: Option<u32>,
    /// A lie for Offset.
    pub offset_field: Option<u32>,
}

impl Buffer {
    fn new(kind: u16, processor: u16, sequence: u64) -> Buffer {
        Buffer {
            kind,
            flags: 0,
            processor,
            sequence,
            flushed: 0,
            full: false,
            first_end: 0,
            area: Vec::new(),
            storage: Storage::Session,
            size_field: None,
            offset_field: None,
        }
    }

    /// A data buffer without records.
    pub fn empty(processor: u16, sequence: u64) -> Buffer {
        Buffer::new(0, processor, sequence)
    }

    /// The header buffer: the log-file header record and `more` records, all logged on "processor 0".
    pub fn header(session: &Session, more: &[Rec], written: u32) -> Buffer {
        let mut buffer = Buffer::new(4, 0, 0);
        session.header_rec(written).encode(&mut buffer.area);
        buffer.first_end = buffer.area.len();
        more.iter().for_each(|rec| rec.encode(&mut buffer.area));
        let room = session.buffer_size as usize - HEADER;
        assert!(buffer.area.len() <= room, "header records take {} bytes, room is {room}", buffer.area.len());
        buffer.flags = 0x01;
        buffer
    }

    /// The bytes of the buffer in the file.
    pub fn encode(&self, session: &Session, out: &mut Vec<u8>) {
        let start = out.len();
        let used = HEADER + self.area.len();
        out.resize(start + HEADER, 0);
        let compressed = self.put_area(session, out);
        let size = (out.len() - start) as u32;
        let header_kind = self.kind == 4;
        let merged = session.stored_mode() & MODE_RELOG != 0;

        let mut put = |at: usize, bytes: &[u8]| out[start + at..start + at + bytes.len()].copy_from_slice(bytes);
        put(0x00, &self.size_field.unwrap_or(size).to_le_bytes());
        let offset = self.offset_field.unwrap_or(used as u32);
        let saved = match (header_kind, session.processor_index) {
            (true, true) => (HEADER + self.first_end) as u32,
            (true, false) => 0,
            (false, _) => offset,
        };
        put(0x04, &saved.to_le_bytes());
        // Not the end of the records: past the buffer in closed buffers.
        let current = match (header_kind, self.full) {
            (true, _) => used as u32,
            (false, true) => session.buffer_size + 0x40,
            (false, false) => session.buffer_size + used as u32,
        };
        put(0x08, &current.to_le_bytes());
        let stamp = match (header_kind, merged) {
            (true, _) => 0,
            (false, true) => session.filetime(self.flushed),
            (false, false) => self.flushed,
        };
        put(0x10, &stamp.to_le_bytes());
        put(0x18, &self.sequence.to_le_bytes());
        if !header_kind {
            put(0x20, &(0xffff_8c86_0000_0000_u64 | self.sequence << 4).to_le_bytes());
            put(0x38, &0xffff_ca86_8970_4e38_u64.to_le_bytes());
            put(0x40, &0xffff_ca86_8739_ba20_u64.to_le_bytes());
        }
        let (field, mut flags) = self.processor_field(session, header_kind && merged);
        put(0x28, &field.to_le_bytes());
        put(0x2a, &session.logger_id.to_le_bytes());
        let state: u32 = match (header_kind, session.compression) {
            (true, Compression::Lznt1) => 2,
            (true, Compression::Huffman) => 4,
            _ => 3,
        };
        put(0x2c, &state.to_le_bytes());
        put(0x30, &offset.to_le_bytes());
        flags |= self.flags | if compressed { 0x40 } else { 0 };
        put(0x34, &flags.to_le_bytes());
        put(0x36, &self.kind.to_le_bytes());
    }

    /// Processor field and its flag bit.
    fn processor_field(&self, session: &Session, merged_header: bool) -> (u16, u16) {
        if session.processor_index {
            (self.processor, if merged_header { 0 } else { 0x20 })
        } else {
            assert!(self.processor < 256, "the old processor field has 8 bits");
            (0x0800 | self.processor, 0)
        }
    }

    /// Appends the event area as stored; true when compressed.
    fn put_area(&self, session: &Session, out: &mut Vec<u8>) -> bool {
        let start = out.len() - HEADER;
        let full = start + session.buffer_size as usize;
        if session.compression == Compression::None {
            out.extend_from_slice(&self.area);
            out.resize(full.max(out.len()), 0xff);
            return false;
        }
        if self.kind == 4 {
            out.extend_from_slice(&self.area);
            // The header buffer of merged files is short: 0x200 or 0x400 bytes.
            out.resize(start + (out.len() - start).next_multiple_of(0x200), 0xff);
            return false;
        }
        if self.storage == Storage::Session {
            let at = out.len();
            compress::compress(session.compression, &self.area, out);
            if out.len() - at < self.area.len() {
                return true;
            }
            out.truncate(at);
        }
        out.extend_from_slice(&self.area);
        if self.storage == Storage::PlainPadded {
            out.resize(full.max(out.len()), 0xff);
        }
        false
    }
}

/// Collects records into the open buffer of each processor.
#[derive(Clone, Debug)]
pub struct Packer {
    room: usize,
    one_stream: bool,
    open: Vec<Option<Buffer>>,
    next_sequence: u64,
    scratch: Vec<u8>,
}

impl Packer {
    /// Starts with no open buffer; the first data buffer gets sequence number 1.
    pub fn new(session: &Session) -> Packer {
        assert!(session.buffer_size as usize > HEADER + 8 && session.buffer_size.is_multiple_of(8), "odd buffer size");
        Packer {
            room: session.buffer_size as usize - HEADER,
            one_stream: session.mode & MODE_NO_PER_PROCESSOR != 0,
            open: Vec::new(),
            next_sequence: 1,
            scratch: Vec::new(),
        }
    }

    /// Sets the sequence number of the next buffer (a NEWFILE part goes on from the file before).
    pub fn sequence_from(&mut self, next: u64) {
        self.next_sequence = next;
    }

    /// Takes a number for a buffer that the caller makes.
    pub fn take_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence - 1
    }

    /// Adds a record; returns the buffer that had to be closed to make room for it.
    pub fn push(&mut self, rec: &Rec) -> Option<Buffer> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        rec.encode(&mut scratch);
        let closed = self.push_encoded(rec.processor, rec.time, &scratch);
        self.scratch = scratch;
        closed
    }

    /// Adds the bytes of a record (padded to 8 already).
    pub fn push_encoded(&mut self, processor: u16, time: u64, bytes: &[u8]) -> Option<Buffer> {
        assert!(bytes.len() <= self.room, "a record of {} bytes does not fit a buffer with {}", bytes.len(), self.room);
        let processor = if self.one_stream { 0 } else { processor };
        let slot = usize::from(processor);
        if self.open.len() <= slot {
            self.open.resize(slot + 1, None);
        }
        let mut closed = None;
        if self.open[slot].as_ref().is_some_and(|buffer| buffer.area.len() + bytes.len() > self.room) {
            closed = self.open[slot].take().map(|buffer| Buffer { full: true, ..buffer });
        }
        if self.open[slot].is_none() {
            let mut buffer = Buffer::empty(processor, self.take_sequence());
            buffer.area.reserve_exact(self.room);
            self.open[slot] = Some(buffer);
        }
        if let Some(buffer) = &mut self.open[slot] {
            buffer.area.extend_from_slice(bytes);
            buffer.flushed = buffer.flushed.max(time);
        }
        closed
    }

    /// Closes the open buffer of one processor.
    pub fn flush(&mut self, processor: u16) -> Option<Buffer> {
        self.open.get_mut(usize::from(processor)).and_then(Option::take)
    }

    /// Closes all open buffers, by processor, as a session does when it stops.
    pub fn flush_all(&mut self) -> Vec<Buffer> {
        self.open.iter_mut().filter_map(Option::take).collect()
    }
}
