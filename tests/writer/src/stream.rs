//! [`Stream`]: the writer for big generated traces. Only the open buffers of the processors are in memory.

use std::io::{self, Seek, SeekFrom, Write};

use super::buffer::{Buffer, HEADER, Packer};
use super::record::Rec;
use super::session::Session;

/// File offset of BuffersWritten: buffer header, SYSTEM header, 0x24 bytes into the log-file header.
pub const BUFFERS_WRITTEN_AT: u64 = (HEADER + 0x20 + 0x24) as u64;

/// File offset of EndTime.
pub const END_TIME_AT: u64 = (HEADER + 0x20 + 0x10) as u64;

/// Writes buffers as they fill up; [`Stream::finish`] patches BuffersWritten and EndTime.
pub struct Stream<W: Write + Seek> {
    session: Session,
    out: W,
    packer: Packer,
    /// The buffer closed last: held back because the last one of the file is flagged.
    pending: Option<Buffer>,
    scratch: Vec<u8>,
    written: u32,
    bytes: u64,
    /// Time of the latest record.
    latest: u64,
}

impl<W: Write + Seek> Stream<W> {
    /// Writes the header buffer with the log-file header and `header` records.
    pub fn new(session: Session, header: &[Rec], mut out: W) -> io::Result<Stream<W>> {
        let mut scratch = Vec::new();
        Buffer::header(&session, header, session.buffers_written.unwrap_or(0)).encode(&session, &mut scratch);
        out.write_all(&scratch)?;
        let bytes = scratch.len() as u64;
        let packer = Packer::new(&session);
        Ok(Stream { session, out, packer, pending: None, scratch, written: 1, bytes, latest: 0 })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Adds a record.
    pub fn push(&mut self, rec: &Rec) -> io::Result<()> {
        self.latest = self.latest.max(rec.time);
        match self.packer.push(rec) {
            Some(closed) => self.close(closed),
            None => Ok(()),
        }
    }

    /// Adds the bytes of one record, header and padding included: the way for tens of millions of equal records.
    pub fn push_encoded(&mut self, processor: u16, time: u64, bytes: &[u8]) -> io::Result<()> {
        self.latest = self.latest.max(time);
        match self.packer.push_encoded(processor, time, bytes) {
            Some(closed) => self.close(closed),
            None => Ok(()),
        }
    }

    /// Flushes everything, patches BuffersWritten and, when records go on after it, EndTime (neither if the session was
    /// never stopped), and returns the output and the file's length in bytes.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        for buffer in self.packer.flush_all() {
            self.close(buffer)?;
        }
        if let Some(mut last) = self.pending.take() {
            last.flags |= 0x01;
            self.emit(&last)?;
        }
        if self.session.end_time != 0 && self.session.buffers_written.is_none() {
            self.out.seek(SeekFrom::Start(BUFFERS_WRITTEN_AT))?;
            self.out.write_all(&self.written.to_le_bytes())?;
        }
        if self.session.end_time != 0 {
            let end = self.session.end_time.max(self.session.filetime(self.latest));
            self.out.seek(SeekFrom::Start(END_TIME_AT))?;
            self.out.write_all(&end.to_le_bytes())?;
            self.out.seek(SeekFrom::End(0))?;
        }
        self.out.flush()?;
        Ok((self.out, self.bytes))
    }

    fn close(&mut self, buffer: Buffer) -> io::Result<()> {
        match self.pending.replace(buffer) {
            Some(before) => self.emit(&before),
            None => Ok(()),
        }
    }

    fn emit(&mut self, buffer: &Buffer) -> io::Result<()> {
        self.scratch.clear();
        buffer.encode(&self.session, &mut self.scratch);
        self.written += 1;
        self.bytes += self.scratch.len() as u64;
        self.out.write_all(&self.scratch)
    }
}
