//! Several files as one recording: which of them fit together, and why others do not (`pfnset info A.etl B.etl`).

use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::etl::EtlFile;
use crate::trace::recording::{add, sorted};
use crate::units::Nanos;

/// One file that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingFile {
    /// As the user named it.
    pub path: String,
    /// Session name.
    pub logger_name: String,
    /// Clock type by name, and its ticks in a second.
    pub clock: (&'static str, u64),
    /// Pointer size of the logging system, bits.
    pub pointer_bits: u32,
    /// When its session began, since the start of the first file.
    pub start: Nanos,
    /// Buffers in the file.
    pub buffers: u64,
    /// Events that the session lost, by its header; `None` when it was never stopped.
    pub events_lost: Option<u32>,
    /// Buffers that the session lost, by its header; `None` when it was never stopped.
    pub buffers_lost: Option<u32>,
    /// Why it does not belong to the recording of the first file; `None` when it does.
    pub reason: Option<String>,
}

/// Joins the files that fit to the first one of their order.
pub fn join(first: (String, EtlFile), others: Vec<(String, EtlFile)>) -> (EtlFile, Vec<RecordingFile>) {
    let ((path, mut all), others) = sorted(first, others, |(_, etl)| etl);
    let mut files = vec![RecordingFile::new(path, &all, &all)];
    for (path, other) in others {
        let mut file = RecordingFile::new(path, &other, &all);
        file.reason = add(&mut all, &file.path, other).err();
        files.push(file);
    }
    (all, files)
}

impl RecordingFile {
    fn new(path: String, file: &EtlFile, first: &EtlFile) -> RecordingFile {
        let since = |file: &EtlFile| i128::from(file.clock.start.0) * 100;
        let lost = |counter: u32| file.header.end_time.map(|_| counter);
        RecordingFile {
            path,
            logger_name: file.logger_name.clone(),
            clock: (file.clock.kind.name(), file.clock.frequency_hz),
            pointer_bits: file.header.pointer_bytes.saturating_mul(8),
            start: Nanos(since(file) - since(first)),
            buffers: file.buffers.len() as u64,
            events_lost: lost(file.header.events_lost),
            buffers_lost: lost(file.header.buffers_lost),
            reason: None,
        }
    }
}

/// The files with what fits.
pub fn table(files: &[RecordingFile]) -> Table {
    const FIELDS: [&str; 11] = [
        "path",
        "logger_name",
        "clock",
        "clock_frequency_hz",
        "pointer_bits",
        "start_s",
        "buffers",
        "events_lost",
        "buffers_lost",
        "fits",
        "reason",
    ];
    let count = |count: Option<u32>| Value::maybe(count, |count| Value::count(count.into()));
    let record = |f: &RecordingFile| {
        vec![
            Value::text(&f.path),
            Value::text(&f.logger_name),
            Value::text(f.clock.0),
            Value::Number(f.clock.1),
            Value::Number(f.pointer_bits.into()),
            Value::ExactSeconds(f.start),
            Value::count(f.buffers),
            count(f.events_lost),
            count(f.buffers_lost),
            Value::Flag(f.reason.is_none()),
            Value::maybe(f.reason.as_deref(), Value::text),
        ]
    };
    let line = |f: &RecordingFile| {
        Line::new([
            Value::text(&f.path),
            Value::text(&f.logger_name),
            Value::Seconds(f.start),
            count(f.events_lost),
            count(f.buffers_lost),
            Value::text(if f.reason.is_none() { "yes" } else { "no" }),
        ])
    };
    Table {
        title: Some("Files".into()),
        fields: FIELDS.map(Field::new).to_vec(),
        records: files.iter().map(record).collect(),
        columns: vec![
            Column::text("File").fit(Fit::Shrinks),
            Column::text("Session").fit(Fit::Leaves(2)),
            Column::number("Starts at s"),
            Column::number("Events lost").fit(Fit::Leaves(0)),
            Column::number("Buffers lost").fit(Fit::Leaves(1)),
            Column::text("Fits the first"),
        ],
        lines: files.iter().map(line).collect(),
    }
}
