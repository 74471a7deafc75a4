//! Checks the test support's trace writer with eyes of its own: a small walker and a small LZ77 decoder, no `pfnset`.
//!
//! The walker knows the buffer header and where each record kind has its size; it demands that every chain of records
//! ends exactly at the buffer's end. Payload lengths are compared with the documented table.

use etl_writer::Ptr::{self, P4, P8};
use etl_writer::payloads::{counters, file, header, image, memory, merged, pages, perf, pool, process, system, thread};
use etl_writer::{
    Compression, HeaderKind, Rec, RefsetSpec, ResidentSpec, Session, Storage, Stream, Trace, generate_refset,
    generate_resident, guid,
};
use std::io::Cursor;

/// A record as the walker sees it.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    processor: u16,
    kind: u8,
    hook: u16,
    bytes: Vec<u8>,
}

/// A buffer as the walker sees it.
#[derive(Debug)]
struct Walked {
    sequence: u64,
    flags: u16,
    kind: u16,
    size: usize,
    records: Vec<Seen>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Walks a whole file; panics where anything does not add up.
fn walk(file: &[u8], how: Compression) -> Vec<Walked> {
    let mut buffers = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let size = u32_at(file, at) as usize;
        let (used, flags) = (u32_at(file, at + 0x30) as usize, u16_at(file, at + 0x34));
        let stored = &file[at + 0x48..at + size];
        let area = if flags & 0x40 == 0 { stored[..used - 0x48].to_vec() } else { unpack(how, stored, used - 0x48) };
        assert_eq!(area.len(), used - 0x48, "buffer at {at:#x}");
        if flags & 0x40 == 0 {
            assert!(stored[used - 0x48..].iter().all(|b| *b == 0xff), "filler of the buffer at {at:#x}");
        }
        let field = u16_at(file, at + 0x28);
        let processor = if flags & 0x20 != 0 { field & 0x7ff } else { field & 0xff };
        let mut records = Vec::new();
        let mut pos = 0;
        while pos < area.len() {
            let kind = if area[pos + 3] & 0xf0 == 0x90 { 15 } else { area[pos + 2] };
            let system = matches!(kind, 1..=4 | 16 | 17);
            let len = u16_at(&area, pos + if system { 4 } else { 0 }) as usize;
            let hook = if system { u16_at(&area, pos + 6) } else { 0 };
            records.push(Seen { processor, kind, hook, bytes: area[pos..pos + len].to_vec() });
            pos = (pos + len + 7) & !7;
        }
        assert_eq!(pos, area.len(), "the chain of the buffer at {at:#x} ends at its end");
        buffers.push(Walked { sequence: u64_at(file, at + 0x18), flags, kind: u16_at(file, at + 0x36), size, records });
        at += size;
    }
    assert_eq!(at, file.len());
    buffers
}

fn unpack(how: Compression, stored: &[u8], len: usize) -> Vec<u8> {
    match how {
        Compression::None => panic!("a compressed buffer in an uncompressed file"),
        Compression::Xpress => unpack_xpress(stored, len),
        Compression::Huffman => xpress_huffman::decompress(stored, len).unwrap(),
        Compression::Lznt1 => {
            let mut out = Vec::new();
            lznt1::decompress(stored, &mut out).unwrap();
            out
        }
    }
}

/// Plain LZ77, written from the description of its decoder.
fn unpack_xpress(stored: &[u8], len: usize) -> Vec<u8> {
    let (mut out, mut at, mut flags, mut left, mut half) = (Vec::new(), 0, 0, 0, None);
    while out.len() < len {
        if left == 0 {
            (flags, left, at) = (u32_at(stored, at), 32, at + 4);
        }
        left -= 1;
        if flags >> left & 1 == 0 {
            out.push(stored[at]);
            at += 1;
            continue;
        }
        let token = u16_at(stored, at) as usize;
        at += 2;
        let mut run = token & 7;
        if run == 7 {
            let nibble = match half.take() {
                Some(byte_at) => stored[byte_at] >> 4,
                None => {
                    half = Some(at);
                    at += 1;
                    stored[at - 1] & 15
                }
            };
            run += nibble as usize;
            if nibble == 15 {
                run += stored[at] as usize;
                at += 1;
                if stored[at - 1] == 255 {
                    (run, at) = (u16_at(stored, at) as usize, at + 2);
                    if run == 0 {
                        (run, at) = (u32_at(stored, at) as usize, at + 4);
                    }
                }
            }
        }
        for _ in 0..run + 3 {
            out.push(out[out.len() - (token >> 3) - 1]);
        }
    }
    assert!(stored.len() - at <= 4, "at most one unused flag word is left");
    out
}

/// `count` small records with rising times, spread over `processors`.
fn samples(count: u64, processors: u64) -> Vec<Rec> {
    let rec = |i: u64| perf::sample(P8, 0x7ff6_0000_0000 + i * 0x31, (i % 7) as u32 * 4, 0);
    (0..count).map(|i| rec(i).at(1_000_000_100 + i).on((i * i % processors) as u16)).collect()
}

fn all_of(walked: &[Walked]) -> Vec<Seen> {
    let mut records: Vec<Seen> = walked.iter().skip(1).flat_map(|buffer| buffer.records.clone()).collect();
    records.sort_by_key(|seen| u64_at(&seen.bytes, 8));
    records
}

#[test]
fn buffers_hold_each_processors_records_in_order_and_all_of_them() {
    let recs = samples(9_000, 4);
    let bytes = Trace::new(Session::windows10()).push_all(recs.clone()).finish();
    assert_eq!(bytes.len() % 0x1_0000, 0);
    let walked = walk(&bytes, Compression::None);
    assert_eq!(u32_at(&bytes, 0x48 + 0x20 + 0x24) as usize, walked.len(), "BuffersWritten");
    assert!(walked.len() > 5);
    let flagged: Vec<usize> = (0..walked.len()).filter(|i| walked[*i].flags & 1 != 0).collect();
    assert_eq!(flagged, [0, walked.len() - 1]);
    assert_eq!((walked[0].kind, walked[0].records[0].kind, walked[0].records[0].hook), (4, 2, 0));
    let seen = all_of(&walked);
    assert_eq!(seen.len(), recs.len());
    for (seen, rec) in seen.iter().zip(&recs) {
        assert_eq!((seen.processor, seen.hook, &seen.bytes[16..]), (rec.processor, 0x0f2e, &rec.payload[..]));
    }
    for processor in 0..4 {
        let times: Vec<u64> = (walked.iter().skip(1).flat_map(|buffer| &buffer.records))
            .filter(|seen| seen.processor == processor)
            .map(|seen| u64_at(&seen.bytes, 8))
            .collect();
        assert!(times.is_sorted(), "processor {processor}");
    }
}

#[test]
fn every_header_kind_has_its_type_and_size() {
    let class = guid("ce1dbfb4-137e-4da6-87b0-3f59aa102cbc");
    assert_eq!(class[..8], [0xb4, 0xbf, 0x1d, 0xce, 0x7e, 0x13, 0xa6, 0x4d]);
    let body = || vec![7_u8; 5];
    let cases: Vec<(Rec, u8, usize)> = vec![
        (Rec::system(P4, 0x0301, 2, body()), 1, 0x20),
        (Rec::system(P8, 0x0301, 2, body()), 2, 0x20),
        (Rec::compact(P4, 0x0301, 2, body()), 3, 0x18),
        (Rec::compact(P8, 0x0301, 2, body()), 4, 0x18),
        (Rec::perf(P4, 0x0524, 2, body()), 16, 0x10),
        (Rec::perf(P8, 0x0524, 2, body()).with_pebs(9).with_counters(&[1, 2, 3, 4, 5, 6, 7]), 17, 0x10 + 64),
        (Rec::full(P4, class, 34, 0, body()), 10, 0x30),
        (Rec::full(P8, class, 34, 0, body()), 20, 0x30),
        (Rec::instance(P4, class, 1, (1, 2, class), body()), 11, 0x48),
        (Rec::instance(P8, class, 1, (1, 2, class), body()), 21, 0x48),
        (Rec::event(P4, class, 1, 0, body()), 18, 0x50),
        (Rec::event(P8, class, 1, 0, body()).with_item(1, &[1; 16]).with_stack(P4, 5, &[1]), 19, 0x50 + 24 + 24),
        (Rec::message(12, 0xbb, body()), 15, 8 + 4 + 16 + 8 + 8),
        (Rec::message(12, 0x2f, body()), 15, 8 + 4 + 4 + 8 + 8),
        (Rec::message(12, 0x40, body()), 15, 8),
        (Rec::error(body()), 13, 8),
        (Rec::unknown(99, body()), 99, 8),
    ];
    let bytes = Trace::new(Session::windows10()).push_all(cases.iter().map(|case| case.0.clone().at(5))).finish();
    let walked = walk(&bytes, Compression::None);
    assert_eq!(walked[1].records.len(), cases.len());
    for (seen, (rec, kind, header)) in walked[1].records.iter().zip(&cases) {
        assert_eq!((seen.kind, seen.bytes.len()), (*kind, header + 5), "{:?}", rec.header);
        assert_eq!(seen.bytes[*header..], [7; 5], "{:?}", rec.header);
        if let HeaderKind::System(_) | HeaderKind::Compact(_) = rec.header {
            assert_eq!(u64_at(&seen.bytes, 0x10), 5);
        }
    }
    assert_eq!(u16_at(&walked[1].records[5].bytes, 0), 0x8702, "PEBS bit and seven counters");
    let event = &walked[1].records[11].bytes;
    assert_eq!((u16_at(event, 0x50), u16_at(event, 0x54), u16_at(event, 0x56)), (24, 1, 16), "first item is linked");
    assert_eq!((u16_at(event, 0x68), u16_at(event, 0x6c), u16_at(event, 0x6e)), (24, 0, 12), "second ends the list");
}

#[test]
fn compressed_files_unpack_to_the_same_records() {
    let recs = samples(9_000, 4);
    for how in [Compression::Xpress, Compression::Lznt1, Compression::Huffman] {
        // 256 KiB buffers: more than one block of the Huffman form, and 16-bit match lengths.
        let big = Session { buffer_size: 0x4_0000, ..Session::windows8().merged().compressed(how) };
        let session = big.clone();
        let zeros = Rec::unknown(99, vec![0; 60_000]).on(0).at(2_000_000_000);
        let bytes = Trace::new(session)
            .push_all(recs.clone())
            .push_all([zeros.clone(), zeros.clone(), zeros])
            .plain_buffers(&[1], Storage::PlainTight)
            .plain_buffers(&[2], Storage::PlainPadded)
            .finish();
        let walked = walk(&bytes, how);
        assert_eq!(walked[0].size % 0x200, 0);
        let packed: Vec<bool> = walked.iter().map(|buffer| buffer.flags & 0x40 != 0).collect();
        assert_eq!(packed[..4], [false, true, false, false], "{how:?}");
        assert_eq!(walked[3].size, 0x4_0000);
        let seen: Vec<Seen> = all_of(&walked).into_iter().filter(|seen| seen.hook == 0x0f2e).collect();
        assert_eq!(seen.len(), recs.len());
        assert!(seen.iter().zip(&recs).all(|(seen, rec)| seen.bytes[16..] == rec.payload), "{how:?}");
    }
}

#[test]
fn knobs_leave_the_traces_they_promise() {
    let small = || Session { buffer_size: 0x400, ..Session::windows10() };
    let recs = samples(400, 2);
    let sequences = |bytes: &[u8]| walk(bytes, Compression::None).iter().map(|b| b.sequence).collect::<Vec<u64>>();

    let whole = sequences(&Trace::new(small()).push_all(recs.clone()).finish());
    let lossy = sequences(&Trace::new(small()).push_all(recs.clone()).lose_buffers(&[2, 3]).finish());
    assert_eq!(lossy, whole.iter().copied().filter(|s| !matches!(s, 2 | 3)).collect::<Vec<u64>>());

    let wrapped = Trace::new(small()).push_all(recs.clone()).circular(6).finish();
    let order = sequences(&wrapped);
    let written = u32_at(&wrapped, 0x8c) as usize;
    assert_eq!((order.len(), written), (6, whole.len()));
    let oldest = 1 + (written - 1) % 5;
    let unrolled: Vec<u64> = (0..5).map(|i| order[1 + (oldest - 1 + i) % 5]).collect();
    assert_eq!(unrolled, whole[whole.len() - 5..], "the documented start of a circular file");

    let mut shuffled = sequences(&Trace::new(small()).push_all(recs.clone()).shuffled(3).finish());
    assert!(!shuffled[1..].is_sorted() && shuffled[0] == 0);
    shuffled.sort_unstable();
    assert_eq!(shuffled.len(), whole.len());

    let spoiled = Trace::new(small()).push_all(recs.clone()).cut(10).preallocated(4096).trailing(b"xyz").finish();
    let clean = Trace::new(small()).push_all(recs.clone()).empty_buffer(1).finish();
    assert_eq!(spoiled.len(), (clean.len() - 0x400) - 10 + 4096 + 3);
    assert_eq!(walk(&clean, Compression::None).iter().filter(|buffer| buffer.records.is_empty()).count(), 1);

    let old = Trace::new(Session { end_time: 0, ..Session::vista() }).push(recs[3].clone().on(12)).finish();
    assert_eq!((u16_at(&old, 0x28), u16_at(&old, 0x1_0028), u32_at(&old, 0x8c)), (0x0800, 0x080c, 0));
    let one_stream = Session { mode: 0x1000_0001, ..Session::windows10() };
    assert_eq!(walk(&Trace::new(one_stream).push_all(recs).finish(), Compression::None).len(), 2);
    let far =
        walk(&Trace::new(Session::windows10()).push(samples(1, 1)[0].clone().on(700)).finish(), Compression::None);
    assert_eq!(far[1].records[0].processor, 700);
}

#[test]
fn the_stream_writes_what_the_builder_writes() {
    let recs = samples(5_000, 3);
    let mut stream = Stream::new(Session::windows10(), &[], Cursor::new(Vec::new())).unwrap();
    recs.iter().for_each(|rec| stream.push(rec).unwrap());
    let (file, len) = stream.finish().unwrap();
    assert_eq!(len, file.get_ref().len() as u64);
    assert!(file.into_inner() == Trace::new(Session::windows10()).push_all(recs).finish());
}

/// Payload lengths of the documents, columns P=8 and P=4.
#[test]
fn payloads_have_the_documented_lengths() {
    let id = pages::Identity::private(1, 2, 0x1000);
    let extra = pages::Extra::process(0x1000);
    let info = counters::MemInfo::default();
    let heap = |version| move |p| memory::HeapRundown::new(4, 1, &[(1, 2)]).rec(p, version);
    let named = || image::Image { name: "a".into(), pid: 4, ..Default::default() };
    let view = file::View::new(4, 1, 2, 3, file::ViewKind::Image);
    let big = [pool::BigPool { address: 0x1000, bytes: 8, tag: *b"Abcd", non_paged: true }];
    let someone = || process::Process { command: String::new(), ..process::Process::new(4, "a") };
    // Fixed part, TOKEN_USER + SID with one sub-authority, "a\0" and the empty wide strings.
    let sid = |p: Ptr| 2 * p.size() + 8 + 4 + 2;
    type Case<'a> = (&'a str, Box<dyn Fn(Ptr) -> Rec + 'a>, usize, usize);
    let cases: Vec<Case> = vec![
        ("process v2", Box::new(|p| someone().rec(p, 2, 0x0303)), 24 + sid(P8) + 2, 20 + sid(P4) + 2),
        ("process v3", Box::new(|p| someone().rec(p, 3, 0x0303)), 32 + sid(P8) + 2, 24 + sid(P4) + 2),
        ("process v4", Box::new(|p| someone().rec(p, 4, 0x0303)), 36 + sid(P8) + 6, 28 + sid(P4) + 6),
        ("process v5", Box::new(|p| someone().rec(p, 5, 0x0327)), 36 + sid(P8) + 14, 28 + sid(P4) + 14),
        ("thread v2", Box::new(|p| thread::Thread::default().rec(p, 2, 0x0503)), 68, 40),
        ("thread v3", Box::new(|p| thread::Thread::default().rec(p, 3, 0x0503)), 72, 44),
        ("thread v4", Box::new(|p| thread::Thread::default().rec(p, 4, 0x0503)), 74, 46),
        ("cswitch", Box::new(|p| thread::Switch::default().rec(p, 4)), 24, 24),
        ("ready", Box::new(|p| thread::ready(p, 4, 1, 0, 1)), 8, 8),
        ("image v1", Box::new(|p| named().rec(p, 1, 0x1403)), 20 + 4, 12 + 4),
        ("image v3", Box::new(|p| named().rec(p, 3, 0x1403)), 56 + 4, 44 + 4),
        ("view v2", Box::new(|p| view.rec(p, 2, 0x0425)), 36, 24),
        ("view v3", Box::new(|p| view.rec(p, 3, 0x0425)), 44, 32),
        ("alloc", Box::new(|p| memory::virtual_alloc(p, 1, 2, 4, 8)), 24, 16),
        ("alloc rundown", Box::new(|p| memory::virtual_rundown(p, 0x0281, 1, 2, 4, 8, 3)), 32, 20),
        ("heap v2", Box::new(heap(2)), 20 + 16, 16 + 8),
        ("heap v3", Box::new(heap(3)), 24 + 16, 20 + 8),
        ("heap v4", Box::new(heap(4)), 28 + 16, 24 + 8),
        ("heap create", Box::new(|p| memory::heap_create(p, 4, 1, 2, 3)), 20, 12),
        ("section", Box::new(|p| memory::section(p, 0x0249, 1, 2, 4)), 20, 12),
        ("session", Box::new(|p| memory::session(p, 0x024d, 1, 2)), 12, 8),
        ("hard fault", Box::new(|p| memory::hard_fault(p, 1, 2, 3, 4, 5, 6)), 40, 32),
        ("identity", Box::new(|p| id.rec(p, 2, 0x0223)), 24, 16),
        ("access ex", Box::new(|p| id.access_ex(p, 2, extra)), 32, 20),
        ("combine", Box::new(|p| id.combine(p, 2, 1)), 32, 20),
        ("remove", Box::new(|p| pages::remove_from_ws(p, 2, extra)), 8, 4),
        ("range", Box::new(|p| pages::range(p, 2, 0x0278, 9, 1, 2, 3)), 24, 16),
        ("kernel usage", Box::new(|p| counters::kernel_usage(p, 2, 0, 1, 2)), 24, 12),
        ("aggregate", Box::new(|p| counters::mm_aggregate(p, 1, 2, 3, 4, 5)), 32, 32),
        ("mem info v2", Box::new(|p| info.rec(p, 2)), 176, 88),
        ("mem info v3", Box::new(|p| info.rec(p, 3)), 208, 104),
        ("working sets", Box::new(|p| counters::working_sets(p, 0x027d, &[(4, [1; 8])], false)), 4 + 68, 4 + 36),
        ("pool", Box::new(|p| pool::pool(p, 0x0e20, 1, *b"Abcd", 8, 9)), 24, 16),
        ("session pool", Box::new(|p| pool::session_pool(p, 0x0e21, 1, *b"Abcd", 8, 9, 1)), 28, 20),
        ("big pool", Box::new(|p| pool::big_pool(p, 0x0e2a, None, pool::Counted::Padded, &big)), 32, 16),
        ("sample", Box::new(|p| perf::sample(p, 1, 2, 0)), 16, 12),
        ("isr", Box::new(|p| perf::isr(p, 0x0f43, 1, 2, 1, 3)), 20, 16),
        ("dpc", Box::new(|p| perf::dpc(p, 0x0f44, 1, 2)), 16, 12),
        ("stack", Box::new(|p| perf::stack(p, 1, 2, 3, &[1, 2])), 32, 24),
        ("stack key", Box::new(|p| perf::stack_key(p, 0x1825, 1, 2, 3, 4)), 24, 20),
        ("masks", Box::new(|p| header::group_masks(p, 0x0005, [0; 8], 85)), 36, 36),
        ("partition", Box::new(|p| header::partition(p, 4, 1, [1; 16], [0; 16])), 48, 48),
        ("cpu v2", Box::new(|p| system::Cpu::default().rec(p, 2)), 808, 804),
        ("cpu v3", Box::new(|p| system::Cpu::default().rec(p, 3)), 828, 820),
        ("physical disk", Box::new(|p| system::physical_disk(p, 0, "x")), 568, 568),
        ("logical disk", Box::new(|p| system::logical_disk(p, 0, 1, "C:", 1 << 30)), 112, 112),
        ("processor", Box::new(|p| system::processor(p, 0, 1, "x")), 428, 428),
        ("image id", Box::new(|p| merged::image(p, 1, 2, 3, 4, "")), 26, 18),
        ("hive", Box::new(|p| file::hive_rundown(p, 1, 2, 3, "a", "")), 26, 22),
    ];
    for (name, make, p8, p4) in &cases {
        assert_eq!((make(P8).payload.len(), make(P4).payload.len()), (*p8, *p4), "{name}");
    }
    assert_eq!(id.flags(), 5 << 57 | 2 << 9 | 6 << 4);
    assert_eq!(pages::Identity::file(1, 0x80, 0x1_2000, true).flags() & 0x01ff_ffff_ffff_fe00, 0x1_2000);
}

#[test]
fn a_small_machine_logs_each_page_once_and_in_order() {
    for spec in [
        ResidentSpec::small(),
        ResidentSpec { event_version: 2, pointer: P4, processors: 4, ..ResidentSpec::small() },
        ResidentSpec { compression: Compression::Xpress, build: 26100, ..ResidentSpec::small() },
    ] {
        let (file, truth) = generate_resident(&spec, Cursor::new(Vec::new())).unwrap();
        let bytes = file.into_inner();
        assert_eq!(bytes.len() as u64, truth.bytes);
        let walked = walk(&bytes, spec.compression);
        assert_eq!(u32_at(&bytes, 0x8c) as usize, walked.len());
        let records: usize = walked.iter().map(|buffer| buffer.records.len()).sum();
        // The log-file header record and the first group masks lie in the header buffer.
        assert_eq!(records as u64, truth.records + 2);
        let mut pages: Vec<&Seen> =
            walked.iter().flat_map(|buffer| &buffer.records).filter(|seen| seen.hook == 0x0223).collect();
        pages.sort_by_key(|seen| u64_at(&seen.bytes, 8));
        assert_eq!(pages.len() as u64, spec.pages);
        let number = |seen: &Seen, at: usize| {
            if spec.pointer == P8 { u64_at(&seen.bytes, at) } else { u32_at(&seen.bytes, at).into() }
        };
        let mut by_list = [0_u64; 8];
        pages.iter().for_each(|seen| by_list[(seen.bytes[16] >> 4 & 7) as usize] += 1);
        assert_eq!(by_list, truth.by_list);
        let mut pfns: Vec<u64> = pages.iter().map(|seen| number(seen, 24)).collect();
        assert!(pages.iter().any(|seen| seen.processor != pages[0].processor), "the logging thread moves");
        pfns.sort_unstable();
        pfns.dedup();
        assert_eq!(pfns.len() as u64, spec.pages);
        let mut private: Vec<(u64, u64)> = (pages.iter())
            .filter(|seen| seen.bytes[16] & 15 == 0 && u64_at(&seen.bytes, 16) >> 9 & 0xffff_ffff_ffff != 0)
            .map(|seen| (u64_at(&seen.bytes, 16) >> 9 & 0xffff_ffff_ffff, number(seen, 24 + spec.pointer.size())))
            .collect();
        let count = private.len();
        private.sort_unstable();
        private.dedup();
        assert_eq!(private.len(), count, "no private page has two frames");
        assert_eq!(truth.by_category.values().sum::<u64>(), spec.pages);
        for (name, share) in [("VirtualAlloc", 10), ("Win32Heap", 5), ("MapFile", 10), ("Image", 5), ("UserStack", 0)] {
            assert!(truth.by_category[name] * 100 > spec.pages * share, "{name}: {:?}", truth.by_category);
        }
    }
}

/// Leaves the benchmark traces in cargo's temporary folder and says how long each took.
#[test]
#[ignore = "writes some hundred MB; for a look by hand, in release mode"]
fn write_the_big_traces() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("resident-big.etl");
    let begin = std::time::Instant::now();
    let out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let (_, truth) = generate_resident(&ResidentSpec::default(), out).unwrap();
    println!("{}: {:?}, {} MB", path.display(), begin.elapsed(), truth.bytes >> 20);
    println!("{:?}\n{:#?}", truth.by_list, truth.by_category);

    let path = path.with_file_name("refset-big.etl");
    let begin = std::time::Instant::now();
    let out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let (_, truth) = generate_refset(&RefsetSpec::default(), out).unwrap();
    println!("{}: {:?}, {} MB", path.display(), begin.elapsed(), truth.bytes >> 20);
    println!("{:#?} {:#?}", truth.accesses, truth.releases);
    println!("peak {}, system {}, {} records", truth.peak_pages, truth.held_by_system, truth.records);
}

/// Replays the accesses and releases with a slow map of its own and compares with the truth and the final sequence.
#[test]
fn a_small_scenario_ends_with_what_its_final_sequence_shows() {
    let spec = RefsetSpec::small();
    let (file, truth) = generate_refset(&spec, Cursor::new(Vec::new())).unwrap();
    let bytes = file.into_inner();
    let walked = walk(&bytes, Compression::None);
    let records: Vec<Seen> = walked.into_iter().flat_map(|buffer| buffer.records).collect();
    assert_eq!(records.len() as u64, truth.records + 2);
    let of = |hook: u16| records.iter().filter(move |seen| seen.hook == hook);
    assert_eq!(of(0x0223).count() as u64, truth.sequence_pages);
    assert_eq!(of(0x0275).count() as u64, truth.accesses["ActiveRundown"]);
    let page_hooks = [0x0276, 0x0277, 0x0278, 0x0279, 0x0282, 0x0283];
    assert_eq!(page_hooks.iter().map(|hook| of(*hook).count() as u64).sum::<u64>(), truth.page_records);
    assert_eq!(of(0x0276).count() as u64, truth.accesses["PrivatePageAccess"]);
    assert_eq!(of(0x0277).count() as u64, truth.releases["PageRelease"]);
    assert_eq!(of(0x0282).count() as u64, truth.accesses["SharablePageAccess"]);
    assert_eq!(of(0x0283).count() as u64, truth.releases["RemovedFromWorkingSet"]);
    assert_eq!(of(0x0302).count() as u64, spec.process_ends);
    let reasons =
        ["VirtualAddressRangeEnd", "VirtualAddressRangeDecommit", "UnmapFile", "CopyOnWrite", "ProcessEnd", "PoolFree"];
    assert!(reasons.iter().all(|reason| truth.releases[reason] > 0), "{:?}", truth.releases);
    let (gained, lost) = (truth.accesses.values().sum::<u64>(), truth.releases.values().sum::<u64>());
    let held = truth.held_by_process.values().sum::<u64>() + truth.held_by_system;
    let cached = of(0x0282).filter(|seen| seen.bytes[0x20 + 24] & 4 != 0).count() as u64;
    assert_eq!(gained - cached, lost + held, "what came and did not go is held");

    // Active private pages at the end = those of the final sequence: (owner key, address) -> frame.
    let mut ordered: Vec<&Seen> = records.iter().filter(|seen| matches!(seen.kind, 2 | 17)).collect();
    let time = |seen: &Seen| u64_at(&seen.bytes, if seen.kind == 17 { 8 } else { 16 });
    ordered.sort_by_key(|seen| time(seen));
    let mut private = std::collections::BTreeMap::new();
    let mut last = std::collections::BTreeMap::new();
    for seen in ordered {
        let at = if seen.kind == 17 { 0x10 } else { 0x20 };
        let body = &seen.bytes[at..];
        let pid = u32_at(&seen.bytes, 0x0c);
        let id = || (u64_at(body, 0) >> 9 & 0xffff_ffff_ffff, u64_at(body, 16));
        match seen.hook {
            0x0276 | 0x0275 | 0x0223 if body[0] & 15 != 0 || body[0] >> 4 & 7 != 6 => {}
            0x0282 if body[24] & 8 == 0 => {}
            0x0276 | 0x0275 | 0x0282 => {
                assert_eq!(private.insert(id(), u64_at(body, 8)), None, "no reaccess");
            }
            0x0277 => assert!(private.remove(&id()).is_some()),
            0x0283 => {
                private.remove(&(u64::from(pid), u64_at(body, 0) & !0xfff));
            }
            0x0263 | 0x0426 => {
                let size = u64_at(body, if seen.hook == 0x0263 { 8 } else { 24 });
                let range = u64_at(body, 0)..u64_at(body, 0) + size;
                private.retain(|key, _| key.0 != u64::from(pid) || !range.contains(&key.1));
            }
            0x0302 => private.retain(|key, _| key.0 != u64::from(pid)),
            0x0223 => {
                last.insert(id(), u64_at(body, 8));
            }
            _ => {}
        }
    }
    assert!(private.len() > 500);
    assert_eq!(private, last);
}

/// The example of the module's head.
#[test]
fn the_example_writes_three_records() {
    let bytes: Vec<u8> = Trace::new(Session { processors: 2, ..Session::windows10() })
        .push(process::Process::new(4, "System").rec(P8, 4, process::DC_START).at(1_000_000_100))
        .push(memory::virtual_alloc(P8, 0x1_0000, 0x2000, 4, 0x1000).by(8, 4).on(1).at(1_000_000_200))
        .push(pages::Identity::private(0x100, 4, 0x1_0000).rec(P8, 4, 0x0223).on(1).at(1_000_000_300))
        .finish();
    let hooks: Vec<u16> = all_of(&walk(&bytes, Compression::None)).iter().map(|seen| seen.hook).collect();
    assert_eq!((hooks.len(), bytes.len()), (3, 0x3_0000));
}
