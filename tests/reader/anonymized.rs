//! Anonymized traces are what they were for a reader: as many records of each kind, with the same times, and damage stays.

use crate::random_cases::times;
use crate::reading::recorded_traces;
use etl_writer::hostile::{flipped, made_up_traces};
use etl_writer::{Compression, Ptr, Rec, Rng, Session, Trace as Writer, file_of};
use pfnset::anonymized::{self, StandIns};
use pfnset::trace::Survey;
use pfnset::trace::Trace;
use std::collections::BTreeMap;

fn anonymized(trace: &Trace) -> Vec<u8> {
    let mut new = Vec::new();
    anonymized::write(trace, &StandIns::new(b"a"), &mut new).expect("memory takes all");
    new
}

/// What a trace says of itself, apart from names, and places in a file whose buffers are of another size now.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    records: u64,
    /// Version, records and bytes of each kind. GUIDs of a program's own events are others.
    kinds: Vec<(u8, u64, u64)>,
    /// Places with damage. One compressed buffer can have several, and fewer when it is written uncompressed.
    damage: u64,
    /// Payloads that do not fit, by kind and length. Which of its fields does not fit may be another one.
    misfits: BTreeMap<String, u64>,
    spans: Vec<String>,
    trusted: bool,
}

fn said(trace: &Trace, is_packed: bool) -> Said {
    let Survey { total, kinds, damage, misfits, spans, .. } = trace.survey();
    let mut kinds: Vec<_> = kinds.iter().map(|kind| (kind.version, kind.count, kind.bytes)).collect();
    kinds.sort();
    let mut by_length = BTreeMap::new();
    for (misfit, count) in misfits.iter() {
        let kind = misfit.to_string().split(", ").take(1).collect();
        *by_length.entry(kind).or_default() += count;
    }
    Said {
        records: *total,
        kinds,
        damage: if is_packed { damage.total.min(1) } else { damage.total },
        misfits: by_length,
        spans: spans.iter().map(|span| format!("{span:?}")).collect(),
        trusted: !trace.trust().any(),
    }
}

fn opened(bytes: &[u8]) -> Option<Trace> {
    Trace::open(file_of(bytes).path()).ok()
}

fn check(name: &str, bytes: &[u8]) -> bool {
    let Some(trace) = opened(bytes) else { return false };
    let again = opened(&anonymized(&trace)).unwrap_or_else(|| panic!("{name}: no trace any more"));
    let is_packed = trace.etl().is_compressed();
    let before = opened(bytes).map(|trace| said(&trace, is_packed));
    assert_eq!(before, Some(said(&again, is_packed)), "{name}");
    true
}

#[test]
fn whole_and_cut_traces_say_the_same() {
    let recorded = recorded_traces()
        .into_iter()
        .map(|path| (path.display().to_string(), std::fs::read(path).expect("a readable trace")));
    for (name, bytes) in recorded.filter(|(_, bytes)| bytes.len() < 1 << 20).chain(made_up_traces()) {
        assert!(check(&name, &bytes), "{name}");
        let mut rng = Rng::new(3);
        for _ in 0..times(3) {
            let end = rng.below(bytes.len() as u64) as usize;
            check(&format!("{name} cut at {end}"), &bytes[..end]);
        }
    }
}

#[test]
fn damaged_traces_say_the_same() {
    let mut damaged = 0;
    for (name, bytes) in made_up_traces() {
        for seed in 0..times(6) {
            let bytes = flipped(&bytes, 1 + seed as usize, seed);
            damaged += u64::from(check(&format!("{name}, flipped {seed}"), &bytes));
        }
    }
    assert!(damaged > times(20), "{damaged} of them could be opened");
}

/// A buffer whose compressed bytes end early, or are no such bytes, in each format; and filler in the middle of a buffer.
#[test]
fn buffers_that_cannot_be_unpacked_stay_damaged() {
    for compression in [Compression::Xpress, Compression::Lznt1, Compression::Huffman, Compression::None] {
        let session = Session { buffer_size: 0x2000, ..Session::windows10().compressed(compression) };
        let t0 = session.t0;
        let recs = (0..400u64).map(|n| Rec::perf(Ptr::P8, 0x0f2e, 2, vec![n as u8; 16]).at(t0 + n));
        let whole = Writer::new(session).push_all(recs).finish();
        let buffers = opened(&whole).expect("a trace").etl().buffers.clone();
        let buffer = buffers[1];
        let (start, size) = (buffer.offset.0 as usize + 0x48, buffer.size_bytes as usize - 0x48);
        for part in 0..8 {
            let mut bytes = whole.clone();
            let from = start + size * part / 8;
            bytes[from..start + size].fill(if part % 2 == 0 { 0xff } else { 0x55 });
            check(&format!("{compression:?}, from {part}/8 on"), &bytes);
        }
        let mut bytes = whole.clone();
        bytes[start + 256..start + 512].fill(0xff);
        check(&format!("{compression:?}, in the middle"), &bytes);
        check(&format!("{compression:?}, bytes after the end"), &[&whole[..], b"a few bytes"].concat());
        bytes = whole.clone();
        bytes[buffer.offset.0 as usize..][..0x48].fill(0x41);
        check(&format!("{compression:?}, no buffer header"), &bytes);
    }
}

/// Compressed buffers of 4 KiB that unpack to 64 MiB each: one record, and a match that repeats it. Each is read up to 200 times
/// its size, and the rest is damage, before as after.
#[test]
fn what_unpacks_to_too_much_is_read_up_to_a_ratio() {
    const SIZE: u32 = 64 << 20;
    let session = Session { buffer_size: SIZE, ..Session::windows10().compressed(Compression::Xpress) };
    let mut bytes = Writer::new(session.clone()).finish();
    let mut record = Vec::from([2u8, 0, 17, 0xc0, 16, 0, 0x99, 0x0f]);
    record.extend(session.t0.to_le_bytes());
    // 16 literals, then a match at distance 16 whose length has 4 bytes.
    let length = SIZE - 0x48 - 16 - 3;
    let stream = [&0xffffu32.to_le_bytes()[..], &record, &(15u16 << 3 | 7).to_le_bytes(), &[0x0f, 0xff, 0, 0]].concat();
    let stream = [&stream[..], &length.to_le_bytes(), &[0xff; 4000]].concat();
    let header = bytes.len();
    for sequence in 1..=20u64 {
        let mut buffer = vec![0; 0x48];
        let size = (0x48 + stream.len()) as u32;
        for (at, value) in [(0, size), (0x18, sequence as u32), (0x30, SIZE), (0x34, 0x60)] {
            buffer[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend(buffer.into_iter().chain(stream.iter().copied()));
    }
    let trace = opened(&bytes).expect("a trace");
    let unpacked: usize = trace.etl().fold_buffers(|| 0, |sum, area| *sum += area.bytes.len()).iter().sum();
    assert!((1..=200 * bytes.len()).contains(&unpacked), "{unpacked} of {}", bytes.len());
    let new = anonymized(&trace);
    assert!(new.len() < 250 * (bytes.len() - header) + header, "{} of {}", new.len(), bytes.len());
    let again = opened(&new).expect("a trace");
    assert_eq!((said(&again, true).records, said(&again, true).damage), (said(&trace, true).records, 1));
}
