//! A trace in a temporary file, opened, and everything that the reader says about its records, one by one.

use etl_writer::{Trace, file_of};
use pfnset::etl::EtlFile;
use pfnset::etl::record::HeaderType;
use pfnset::etl::record_id::RecordId;
use pfnset::units::{PointerSize, Ticks};
use std::ops::Deref;
use tempfile::NamedTempFile;

/// An open trace and the file below it.
pub struct Opened {
    /// The trace.
    pub trace: pfnset::trace::Trace,
    file: NamedTempFile,
}

impl Deref for Opened {
    type Target = EtlFile;

    fn deref(&self) -> &EtlFile {
        self.trace.etl()
    }
}

/// A record as the reader gives it, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub header: HeaderType,
    pub id: RecordId,
    pub version: u8,
    pub pointer: PointerSize,
    pub thread_id: Option<u32>,
    pub process_id: Option<u32>,
    /// The record's own time.
    pub own_time: Option<Ticks>,
    /// Its time in the trace: its own or that of the record before it.
    pub time: Ticks,
    pub processor: u16,
    pub payload: Vec<u8>,
    pub extended: Vec<u8>,
}

/// Opens the bytes of a trace, which must be one.
pub fn open(bytes: &[u8]) -> Opened {
    let file = file_of(bytes);
    let etl = EtlFile::open(file.path()).expect("an .etl file");
    Opened { trace: etl.into(), file }
}

/// Finishes and opens a trace that must be read without complaint.
pub fn open_sound(trace: Trace) -> Opened {
    let opened = open(&trace.finish());
    let survey = opened.trace.survey();
    assert!(survey.damage.is_empty(), "{:?}", survey.damage);
    assert_eq!(survey.total, opened.reads().len() as u64, "the survey counts every record");
    opened
}

impl Opened {
    /// Path of the file.
    pub fn path(&self) -> &std::path::Path {
        self.file.path()
    }

    /// All records in file order; each must have a sound header.
    pub fn reads(&self) -> Vec<Read> {
        let mut reads = Vec::new();
        let mut scratch = Vec::new();
        for index in 0..self.buffers.len() {
            let area = self.area(index, &mut scratch);
            let walked = area.for_each_timed(self.before_first(), |raw, time| {
                let record = raw.read().expect("a sound header");
                assert_eq!((raw.time(), raw.header), (record.time, record.header), "both ways to read a header agree");
                reads.push(Read {
                    header: record.header,
                    id: record.id,
                    version: record.version,
                    pointer: record.pointer,
                    thread_id: record.thread_id,
                    process_id: record.process_id,
                    own_time: record.time,
                    time,
                    processor: area.buffer.processor,
                    payload: record.payload.to_vec(),
                    extended: record.extended.to_vec(),
                });
            });
            assert!(area.damage(&walked).is_empty());
        }
        reads
    }

    /// The records behind the log-file header.
    pub fn data(&self) -> Vec<Read> {
        self.reads().split_off(1)
    }

    /// Numbers that the test wrote as payloads, in file order.
    pub fn serials(&self) -> Vec<u64> {
        self.data().iter().map(Read::serial).collect()
    }
}

impl Read {
    /// The number that the test wrote as payload.
    pub fn serial(&self) -> u64 {
        u64::from_le_bytes(self.payload.as_slice().try_into().expect("a payload of 8 bytes"))
    }
}
