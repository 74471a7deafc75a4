//! Writes a file again with other event areas, uncompressed.

use crate::etl::EtlFile;
use crate::etl::buffer::{BUFFER_HEADER_BYTES, Buffer};
use crate::etl::event_area::EventArea;
use std::io::{self, Write};

/// Buffers that are made at a time.
const AT_A_TIME: usize = 64;

/// A compressed buffer becomes at most this many times as large, unless its records need more.
const MOST_GROWTH: u32 = 16;

impl EtlFile {
    /// Writes this file again; further files of the recording are not written. `change` gives the new bytes of an event area,
    /// as many as it has. Compressed buffers become uncompressed ones, of the session's buffer size where they
    /// filled more than a small part of it. What lies between
    /// buffers and after the last one becomes zero.
    ///
    /// # Errors
    /// What the writer says.
    pub fn rewrite(&self, out: &mut dyn Write, change: impl Fn(&EventArea<'_>) -> Vec<u8> + Sync) -> io::Result<()> {
        let indices: Vec<u32> = (0u32..).take(self.own_buffers().len()).collect();
        let mut end = 0;
        for indices in indices.chunks(AT_A_TIME) {
            let buffers: Vec<Vec<u8>> = self.map_some(indices, |area| self.rewritten(area, &change));
            for (bytes, buffer) in
                buffers.iter().zip(indices.iter().filter_map(|index| self.buffers.get(*index as usize)))
            {
                let gap = buffer.offset.0.saturating_sub(end);
                io::copy(&mut io::Read::take(io::repeat(0), gap), out)?;
                out.write_all(bytes)?;
                end = buffer.offset.0 + u64::from(buffer.size_bytes);
            }
        }
        let rest = self.own_bytes().len() as u64;
        io::copy(&mut io::Read::take(io::repeat(0), rest.saturating_sub(end)), out)?;
        out.flush()
    }

    /// One buffer: header, area, filler.
    fn rewritten(&self, area: &EventArea<'_>, change: &impl Fn(&EventArea<'_>) -> Vec<u8>) -> Vec<u8> {
        let buffer = &area.buffer;
        let header = usize::try_from(buffer.offset.0).ok().and_then(|at| self.own_bytes().get(at..));
        let area_bytes = change(area);
        let size = match buffer.is_compressed() {
            // The file says how large buffers are: a small one must not become a large one for that alone.
            true => {
                let real = BUFFER_HEADER_BYTES.saturating_add(u32::try_from(area_bytes.len()).unwrap_or(u32::MAX));
                let most = buffer.size_bytes.saturating_mul(MOST_GROWTH).max(real);
                self.header.buffer_size_bytes.min(most)
            }
            false => buffer.size_bytes,
        };
        let mut bytes: Vec<u8> =
            header.unwrap_or_default().iter().copied().take(BUFFER_HEADER_BYTES as usize).collect();
        if buffer.is_compressed() {
            Buffer::make_uncompressed(&mut bytes, size);
        }
        bytes.extend(area_bytes);
        bytes.resize(size as usize, 0xff);
        bytes
    }
}
