//! [`Trace`]: a whole small file in memory, with knobs for everything that happens to real ones.
//!
//! The knobs act when the file is finished, in this order: buffer edits, lost buffers, circular overwriting, shuffling,
//! encoding, cut, zeros of a preallocated file, trailing garbage.

use super::buffer::{Buffer, Packer, Storage};
use super::record::Rec;
use super::session::{MODE_CIRCULAR, Session};

type Edit = Box<dyn FnOnce(&mut Vec<Buffer>)>;

/// Where a buffer of a finished file lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// File offset.
    pub offset: usize,
    /// Bytes in the file.
    pub len: usize,
    /// Bytes of the event area, uncompressed.
    pub area_len: usize,
    /// Processor.
    pub processor: u16,
    /// SequenceNumber.
    pub sequence: u64,
}

/// Builder of an `.etl` file in memory.
pub struct Trace {
    /// The session; may be changed until `finish`.
    pub session: Session,
    header: Vec<Rec>,
    packer: Packer,
    buffers: Vec<Buffer>,
    edits: Vec<Edit>,
    lost: Vec<u64>,
    slots: Option<usize>,
    shuffle: Option<u64>,
    cut: usize,
    zeros: usize,
    trailing: Vec<u8>,
}

impl Trace {
    /// A trace without records besides the log-file header.
    pub fn new(session: Session) -> Trace {
        let packer = Packer::new(&session);
        Trace {
            session,
            header: Vec::new(),
            packer,
            buffers: Vec::new(),
            edits: Vec::new(),
            lost: Vec::new(),
            slots: None,
            shuffle: None,
            cut: 0,
            zeros: 0,
            trailing: Vec::new(),
        }
    }

    /// Adds a record to the header buffer, behind the log-file header.
    pub fn header_rec(mut self, rec: Rec) -> Trace {
        self.header.push(rec);
        self
    }

    /// Adds a record to its processor's buffer.
    pub fn push(mut self, rec: Rec) -> Trace {
        self.add(&rec);
        self
    }

    /// Adds several records.
    pub fn push_all(mut self, recs: impl IntoIterator<Item = Rec>) -> Trace {
        recs.into_iter().for_each(|rec| self.add(&rec));
        self
    }

    /// Adds a record, for loops.
    pub fn add(&mut self, rec: &Rec) {
        self.buffers.extend(self.packer.push(rec));
    }

    /// Flushes one processor's buffer early.
    pub fn flush(mut self, processor: u16) -> Trace {
        self.buffers.extend(self.packer.flush(processor));
        self
    }

    /// Flushes all open buffers.
    pub fn flush_all(mut self) -> Trace {
        self.buffers.extend(self.packer.flush_all());
        self
    }

    /// Writes a data buffer without records.
    pub fn empty_buffer(mut self, processor: u16) -> Trace {
        let sequence = self.packer.take_sequence();
        self.buffers.push(Buffer::empty(processor, sequence));
        self
    }

    /// Number of the next data buffer (a NEWFILE part goes on counting).
    pub fn sequence_from(mut self, next: u64) -> Trace {
        self.packer.sequence_from(next);
        self
    }

    /// Changes the list of data buffers before anything else is done to it.
    pub fn edit_buffers(mut self, edit: impl FnOnce(&mut Vec<Buffer>) + 'static) -> Trace {
        self.edits.push(Box::new(edit));
        self
    }

    /// Leaves the data buffers of these indexes (in order of closing) uncompressed in a compressed file.
    pub fn plain_buffers(self, indexes: &[usize], storage: Storage) -> Trace {
        let indexes = indexes.to_vec();
        self.edit_buffers(move |buffers| {
            indexes.iter().for_each(|index| buffers[*index].storage = storage);
        })
    }

    /// Drops the buffers with these sequence numbers: a gap, as lost buffers leave it.
    pub fn lose_buffers(mut self, sequences: &[u64]) -> Trace {
        self.lost.extend_from_slice(sequences);
        self
    }

    /// Circular file of `buffers` buffers in all: the writer starts over behind the first StartBuffers buffers.
    pub fn circular(mut self, buffers: usize) -> Trace {
        assert!(buffers > 1 && self.session.start_buffers == 1, "room for the header buffer and one more");
        self.session.mode |= MODE_CIRCULAR;
        self.slots = Some(buffers - 1);
        self
    }

    /// Puts the data buffers into the file in an order chosen by `seed`.
    pub fn shuffled(mut self, seed: u64) -> Trace {
        self.shuffle = Some(seed);
        self
    }

    /// Cuts this many bytes off the end (of the last buffer, as a full disk does).
    pub fn cut(mut self, bytes: usize) -> Trace {
        self.cut = bytes;
        self
    }

    /// Ends the file in zeros: preallocated and never stopped.
    pub fn preallocated(mut self, zeros: usize) -> Trace {
        self.zeros = zeros;
        self
    }

    /// Appends bytes behind the last buffer.
    pub fn trailing(mut self, bytes: &[u8]) -> Trace {
        self.trailing = bytes.to_vec();
        self
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        self.finish_placed().0
    }

    /// The file and where its buffers lie, in file order, the header buffer first.
    pub fn finish_placed(mut self) -> (Vec<u8>, Vec<Placed>) {
        let rest = self.packer.flush_all();
        self.buffers.extend(rest);
        for edit in std::mem::take(&mut self.edits) {
            edit(&mut self.buffers);
        }
        if let Some(last) = self.buffers.last_mut() {
            last.flags |= 0x01;
        }
        let ever_written = 1 + self.buffers.len() as u32;
        self.buffers.retain(|buffer| !self.lost.contains(&buffer.sequence));
        if let Some(slots) = self.slots {
            overwrite(&mut self.buffers, slots);
        }
        if let Some(seed) = self.shuffle {
            shuffle(&mut self.buffers, seed);
        }
        let derived = match (self.session.end_time, self.slots) {
            (0, _) => 0,
            (_, Some(_)) => ever_written,
            (_, None) => 1 + self.buffers.len() as u32,
        };
        let written = self.session.buffers_written.unwrap_or(derived);

        let mut out = Vec::new();
        let mut placed = Vec::new();
        let head = Buffer::header(&self.session, &self.header, written);
        for buffer in std::iter::once(&head).chain(&self.buffers) {
            let offset = out.len();
            buffer.encode(&self.session, &mut out);
            placed.push(Placed {
                offset,
                len: out.len() - offset,
                area_len: buffer.area.len(),
                processor: buffer.processor,
                sequence: buffer.sequence,
            });
        }
        out.truncate(out.len() - self.cut);
        out.resize(out.len() + self.zeros, 0);
        out.extend_from_slice(&self.trailing);
        (out, placed)
    }
}

/// What is left in `slots` places when each buffer is written behind the one before, from the start again at the end.
fn overwrite(buffers: &mut Vec<Buffer>, slots: usize) {
    let mut file: Vec<Buffer> = Vec::with_capacity(slots);
    for (index, buffer) in buffers.drain(..).enumerate() {
        match file.get_mut(index % slots) {
            Some(slot) => *slot = buffer,
            None => file.push(buffer),
        }
    }
    *buffers = file;
}

/// Fisher-Yates.
fn shuffle(buffers: &mut [Buffer], seed: u64) {
    let mut rng = super::rng::Rng::new(seed);
    for index in (1..buffers.len()).rev() {
        buffers.swap(index, rng.below(index as u64 + 1) as usize);
    }
}
