//! Damaged files: cut, with flipped bytes, random, made to hurt. An error or counted damage; never a panic or a hang.
//!
//! Recorded traces take part where they are present. Optimized builds do what the numbers say; others, which are
//! thirty times slower, a part of it; `PFNSET_CASES` scales both.

use crate::random_cases::{one_in, times};
use crate::reading::{Effort, Found, read_all, read_pages, recorded_traces};
use etl_writer::file_of;
use etl_writer::hostile::{flipped, made_to_hurt, made_up_traces, noise};
use etl_writer::{Rng, Session, Trace as Writer};
use pfnset::anonymized::{self, StandIns};
use pfnset::etl::EtlFile;
use pfnset::trace::Trace;
use std::fs::OpenOptions;
use std::path::Path;

/// A thirtieth of the work where nothing is optimized.
fn scaled(count: u64) -> u64 {
    times(if cfg!(debug_assertions) { count / 30 } else { count })
}

/// Recorded and made-up traces, with names.
fn traces() -> Vec<(String, Vec<u8>)> {
    let recorded = recorded_traces().into_iter().map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("a readable trace"))
    });
    recorded.chain(made_up_traces()).collect()
}

/// Large files are walked once for each damage, and read in every way for one in ten.
fn effort(bytes: &[u8], turn: u64) -> Effort {
    if bytes.len() < 1 << 20 || turn.is_multiple_of(10) { Effort::All } else { Effort::Survey }
}

#[test]
fn cut_anywhere() {
    for (name, bytes) in traces() {
        let whole = read_all(file_of(&bytes).path(), Effort::All);
        assert!(whole.opened && whole.damaged_places == 0, "{name}: {whole:?}");
        let mut rng = Rng::new(11);
        let mut cuts: Vec<u64> = (0..scaled(200)).map(|_| rng.below(bytes.len() as u64)).collect();
        cuts.sort();
        // One file, cut shorter and shorter.
        let file = file_of(&bytes);
        let handle = OpenOptions::new().write(true).open(file.path()).unwrap();
        let mut before = whole.clone();
        for (turn, &cut) in (0..).zip(cuts.iter().rev()) {
            handle.set_len(cut).unwrap();
            let found = read_all(file.path(), effort(&bytes, turn));
            assert!(found.records <= before.records, "{name} cut at {cut}: {found:?} after {before:?}");
            // A cut between two buffers leaves no trace but the session's own count.
            assert!(found.damaged_places <= 1, "{name} cut at {cut}: {found:?}");
            before = found;
        }
    }
}

#[test]
fn with_2000_flipped_bytes() {
    for (name, bytes) in traces() {
        let mut refused = 0;
        let mut damaged = 0;
        for seed in 0..scaled(30) {
            let file = file_of(&flipped(&bytes, 2_000, seed));
            let found = read_all(file.path(), effort(&bytes, seed));
            refused += u64::from(!found.opened);
            damaged += u64::from(found.damaged_places > 0);
        }
        assert!(refused + damaged > 0, "{name}: so much damage shows");
    }
}

/// Few flips leave most of the file in order, so that deep places are reached.
#[test]
fn with_few_flipped_bytes() {
    for (name, bytes) in traces() {
        for seed in 0..scaled(if bytes.len() < 1 << 20 { 180 } else { 30 }) {
            let count = 1 + (seed as usize * 7) % 60;
            let found = read_all(file_of(&flipped(&bytes, count, 1_000 + seed)).path(), effort(&bytes, seed));
            assert!(found.opened || found == Found::default(), "{name}");
        }
    }
}

/// Flips in the first buffer only, where the session's facts are.
#[test]
fn with_a_flipped_header_buffer() {
    for (name, bytes) in made_up_traces() {
        for seed in 0..scaled(400) {
            let mut copy = bytes.clone();
            let head = flipped(&bytes[..0x200], 1 + seed as usize % 4, seed);
            copy[..0x200].copy_from_slice(&head);
            let found = read_all(file_of(&copy).path(), Effort::All);
            assert!(found.opened || found == Found::default(), "{name}");
        }
    }
}

/// Every byte of a buffer header, of a compressed area's begin and of a record header, at its extremes.
#[test]
fn with_every_byte_of_the_first_buffers_at_its_extremes() {
    for (name, bytes) in made_up_traces() {
        let second = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let places = (0..0x48).chain(second..second + 0x90);
        let edits = places.flat_map(|at| [0, 0x7f, 0x80, 0xff].map(|value| (at, value))).collect();
        for (at, value) in one_in(if cfg!(debug_assertions) { 64 } else { 1 }, edits) {
            let mut copy = bytes.clone();
            copy[at] = value;
            let found = read_all(file_of(&copy).path(), Effort::Survey);
            assert!(found.opened || at < 0x48, "{name}: byte {at:#x} = {value:#x}");
        }
    }
}

#[test]
fn random_bytes_are_refused() {
    for seed in 0..100 {
        let found = read_all(file_of(&noise(1 << (seed % 18), seed)).path(), Effort::All);
        assert!(!found.opened);
    }
    for byte in [0, 0xff] {
        for length in [1, 0x47, 0x48, 0x49, 4096, 1 << 20] {
            assert!(!read_all(file_of(&vec![byte; length]).path(), Effort::All).opened);
        }
    }
}

#[test]
fn random_bytes_behind_a_sound_header_buffer() {
    let head = Writer::new(Session { buffer_size: 0x1000, ..Session::windows10() }).finish();
    for seed in 0..scaled(200) {
        let found = read_all(file_of(&[head.clone(), noise(0x1_0000, seed)].concat()).path(), Effort::All);
        assert!(found.opened && found.records >= 1 && found.damaged_places > 0, "{found:?}");
    }
}

/// Random bytes as event areas, plain and compressed, in buffers that are in order.
#[test]
fn random_bytes_inside_sound_buffers() {
    for (name, bytes) in made_up_traces() {
        for seed in 0..scaled(100) {
            let mut copy = bytes.clone();
            let mut at = u32::from_le_bytes(copy[..4].try_into().unwrap()) as usize;
            let mut rng = Rng::new(seed);
            while at + 0x48 < copy.len() {
                let size = u32::from_le_bytes(copy[at..at + 4].try_into().unwrap()) as usize;
                let from = at + 0x48 + rng.below(size as u64 - 0x48) as usize;
                copy[from..at + size].copy_from_slice(&noise(at + size - from, rng.word()));
                at += size;
            }
            let found = read_all(file_of(&copy).path(), Effort::All);
            assert!(found.opened && found.damaged_places > 0, "{name}: {found:?}");
        }
    }
}

/// Memory recordings, whose pages are joined with everything else of the trace.
#[test]
fn resident_sets_of_damaged_traces() {
    for name in ["resident-small.etl", "refset-small.etl"] {
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)).unwrap();
        assert!(read_pages(file_of(&bytes).path()));
        let mut rng = Rng::new(7);
        for _ in 0..scaled(60) {
            read_pages(file_of(&bytes[..rng.below(bytes.len() as u64) as usize]).path());
        }
        for seed in 0..scaled(150) {
            let count = [3, 30, 300, 2_000][seed as usize % 4];
            read_pages(file_of(&flipped(&bytes, count, seed)).path());
        }
    }
}

#[test]
fn files_made_to_hurt_are_read() {
    for (name, bytes) in made_to_hurt() {
        let found = read_all(file_of(&bytes).path(), Effort::All);
        assert!(found.opened, "{name}");
    }
}

/// Whatever buffer size the log-file header states: what could be read can be read again after it was written without names.
#[test]
fn written_without_names_it_opens_again() {
    const BUFFER_SIZE_AT: usize = 0x48 + 0x20; // after the buffer's header and the record's
    for (name, mut bytes) in made_up_traces() {
        let whole = EtlFile::open(file_of(&bytes).path()).expect("a sound trace").header.buffer_size_bytes;
        assert_eq!(bytes[BUFFER_SIZE_AT..][..4], whole.to_le_bytes(), "{name}");
        // Each of the sizes at which a header does not fit, and some of those at which fewer records do.
        let most = one_in(if cfg!(debug_assertions) { 24 } else { 1 }, (0x200..whole).step_by(24).collect());
        for stated in (0..0x200).step_by(48).chain(most).chain([1 << 20, u32::MAX]) {
            bytes[BUFFER_SIZE_AT..][..4].copy_from_slice(&stated.to_le_bytes());
            let trace = Trace::open(file_of(&bytes).path()).expect("its first record is whole");
            let mut new = Vec::new();
            anonymized::write(&trace, &StandIns::new(b"a"), &mut new).expect("memory takes all");
            assert!(EtlFile::open(file_of(&new).path()).is_ok(), "{name} with {stated}");
        }
    }
}
