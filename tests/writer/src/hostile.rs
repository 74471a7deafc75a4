//! Traces of every shape, and damaged ones: files that are flipped, random, and files made to hurt.

use crate::payloads::header;
use crate::{Compression, Ptr::P8, Rec, Rng, Session, Trace};

/// Small traces of every shape: 32 and 64 bit, plain and compressed, circular, with all kinds of records.
pub fn made_up_traces() -> Vec<(String, Vec<u8>)> {
    let sessions = [
        ("plain", Session::windows10()),
        ("vista", Session::vista()),
        ("xpress", Session::windows8().merged()),
        ("lznt1", Session::windows10().compressed(Compression::Lznt1)),
        ("huffman", Session::windows10().bits32().compressed(Compression::Huffman)),
    ];
    let trace = |session: Session| {
        let session = Session { buffer_size: 0x1000, ..session };
        let t0 = session.t0;
        let mixed = (0..600u64).map(move |n| mixed_record(n).at(t0 + n * 10).on((n % 3) as u16));
        Trace::new(session).push_all(mixed)
    };
    let mut all: Vec<_> = sessions.iter().map(|(name, s)| ((*name).to_owned(), trace(s.clone()).finish())).collect();
    all.push(("circular".into(), trace(Session::windows10()).circular(6).finish()));
    all
}

/// A record of each header kind in turn, with payloads of some events that are decoded.
fn mixed_record(n: u64) -> Rec {
    use crate::payloads::{image::Image, memory, pages::Identity, perf, process, process::Process, thread};
    let guid = [n as u8 % 5; 16];
    match n % 12 {
        0 => Process::new(n as u32, "program.exe").rec(P8, 4, process::DC_START),
        1 => Identity::private(n, 4, n << 12).rec(P8, 4, 0x0223),
        2 => thread::Switch::default().rec(P8, 4).with_counters(&[1, 2]),
        3 => memory::virtual_alloc(P8, n << 12, 0x2000, 4, 0x1000),
        4 => Image::default().rec(P8, 3, 0x1403),
        5 => Rec::message(n as u16, (n % 256) as u16, vec![n as u8; 5]),
        6 => Rec::event(P8, guid, n as u16, 0, vec![7; 9]).with_item(1, &[3; 16]).with_item(11, b"\x08\0\0Name\0"),
        7 => Rec::full(P8, guid, n as u8, 2, vec![1; 13]),
        8 => Rec::instance(P8, guid, n as u8, (1, 2, guid), vec![]),
        9 => perf::mark(P8, "a mark"),
        10 => Rec::error(vec![0; 20]),
        _ => header::group_masks(P8, 0x0005, [n as u32; 8], 70),
    }
}

/// Compressed buffers of two small records each, which claim to hold `claim` bytes.
fn claims(buffers: u64, claim: u32, overlap: bool) -> Vec<u8> {
    let session = Session { buffer_size: claim, ..Session::windows10().compressed(Compression::Xpress) };
    let t0 = session.t0;
    let mut trace = Trace::new(session);
    for n in 0..buffers {
        // All buffers last from the start to the end, so that the merge has all of them open.
        let last = if overlap { t0 + 1_000_000 } else { t0 + n };
        let first = Rec::perf(P8, 1, 0, vec![0; 48]).at(t0 + n);
        trace = trace.push(first).push(Rec::perf(P8, 1, 0, vec![0; 48]).at(last)).flush_all();
    }
    trace.edit_buffers(move |buffers| buffers.iter_mut().for_each(|b| b.offset_field = Some(claim))).finish()
}

/// A few kilobytes that claim to hold gigabytes: 100 compressed buffers of 64 MiB each.
pub fn a_small_file_with_large_claims() -> Vec<u8> {
    claims(100, 64 << 20, false)
}

/// Files made to make a reader take time or memory out of proportion; smaller ones where nothing is optimized.
pub fn made_to_hurt() -> Vec<(&'static str, Vec<u8>)> {
    let scaled = |count: u64| if cfg!(debug_assertions) { count / 40 } else { count };
    let packed = |size| Session { buffer_size: size, ..Session::windows10().compressed(Compression::Xpress) };
    let plain = Session { buffer_size: 0x1_0000, ..Session::windows10() };
    let t0 = plain.t0;
    let every_kind_once = |n: u64| {
        let mut guid = [0; 16];
        guid[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        Rec { guid, ..Rec::message(1, 2, vec![]) }
    };
    let long_names = |n: u64| {
        let name = format!("{n:05}{}", "x".repeat(2_000));
        Rec::event(P8, [1; 16], 0, 0, vec![]).with_item(11, &crate::tracelogging_schema(&name, &[])).at(t0)
    };
    // Records as short as can be whose header does not fit.
    let bad_header = || Rec::raw(vec![8, 0, 0, 0x90, 1, 0, 0x22, 0]);
    let dropped = |n: u64| header::last_dropped(P8, &vec![t0 + n; 500]).at(t0 + n);
    let masks = |n: u64| header::group_masks(P8, 5, [n as u32; 8], 70).at(t0 + n);
    let backwards = |n: u64| Rec::perf(P8, 1, 0, vec![]).at(t0 + 1_000_000 - n);
    let tiny = tiny_buffers(&Trace::new(plain.clone()).finish(), scaled(20_000));
    vec![
        ("thousands of compressed buffers that claim 16 MiB each", claims(scaled(2_000), 16 << 20, false)),
        ("thousands of overlapping ones that claim 1 MiB each", claims(scaled(4_000), 1 << 20, true)),
        (
            "every record of another kind",
            Trace::new(plain.clone()).push_all((0..scaled(200_000)).map(every_kind_once)).finish(),
        ),
        (
            "every record with another long name",
            Trace::new(packed(1 << 20)).push_all((0..scaled(5_000)).map(long_names)).finish(),
        ),
        (
            "every record with a bad header",
            Trace::new(plain.clone()).push_all((0..scaled(500_000)).map(|_| bad_header())).finish(),
        ),
        (
            "every record says what was dropped",
            Trace::new(packed(1 << 20)).push_all((0..scaled(5_000)).map(dropped)).finish(),
        ),
        (
            "every record changes the group masks",
            Trace::new(packed(1 << 20)).push_all((0..scaled(50_000)).map(masks)).finish(),
        ),
        ("times that run backwards", Trace::new(plain.clone()).push_all((0..scaled(300_000)).map(backwards)).finish()),
        ("nothing but empty buffers", tiny),
    ]
}

/// The header buffer of `trace`, followed by buffers of 0x50 bytes, each with an 8-byte record.
fn tiny_buffers(trace: &[u8], count: u64) -> Vec<u8> {
    let mut file = trace[..0x1_0000].to_vec();
    for n in 0..count {
        let mut buffer = [0; 0x50];
        buffer[0] = 0x50;
        buffer[0x18..0x20].copy_from_slice(&(n * 3).to_le_bytes());
        buffer[0x28..0x2a].copy_from_slice(&((n % 700) as u16).to_le_bytes());
        buffer[0x30] = 0x50;
        buffer[0x34] = 0x20;
        buffer[0x48..].copy_from_slice(&[8, 0, 13, 0xc0, 0, 0, 0, 0]);
        file.extend(buffer);
    }
    file
}

/// `bytes` with `count` bytes at random places replaced by random ones.
pub fn flipped(bytes: &[u8], count: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut copy = bytes.to_vec();
    for _ in 0..count {
        let at = rng.below(copy.len() as u64) as usize;
        copy[at] = rng.word() as u8;
    }
    copy
}

/// Random bytes.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..length).map(|_| rng.word() as u8).collect()
}
