//! Memory while reading hostile files: at most a small multiple of what the file holds, plus a fixed amount.
//!
//! A binary of its own, because it counts every allocation of the process. The fixed amount is for what is bounded by
//! constants, whatever a file says: room for one decompressed buffer for each thread, lists of kinds, of damage and of
//! misfits with their texts, open buffers of the merged order, batches of digests.

#[allow(dead_code)] // a part is used
#[path = "reader/reading.rs"]
mod reading;

use etl_writer::hostile::{a_small_file_with_large_claims, flipped, made_to_hurt, made_up_traces, noise};
use etl_writer::{Ptr, Rec, Session};
use pfnset::analysis::export::schema::Table;
use pfnset::analysis::memory::MemorySet;
use pfnset::analysis::memory::query::{MemoryDimension, MemoryQuery, TimelineStep};
use pfnset::analysis::processes::{ProcessQuery, ProcessSet};
use pfnset::anonymized::{self, StandIns};
use pfnset::answer::numbers::Unit;
use pfnset::answer::processes;
use pfnset::code_page::CodePage;
use pfnset::dataset::add_trace::{Choice, Snapshots};
use pfnset::dataset::{Dataset, Format};
use pfnset::forms::csv::Cells;
use pfnset::forms::{self, Form, Look};
use pfnset::input::UnpackLimits;
use pfnset::pattern::Patterns;
use pfnset::trace::Trace;
use pfnset::units::Nanos;
use pfnset::unstable_api::{
    EventForm, EventListing, EventRowQuery, RowWriter, StackQuery, StackSet, collapsed_stacks, stacks_answer,
};
use reading::{Effort, read_all, recorded_traces};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts live bytes and their maximum.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
    LARGEST.fetch_max(bytes, Relaxed);
}

// SAFETY: every call is handed on to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new live side by side while the bytes are copied.
        grown(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is bounded by constants.
const FIXED: usize = 64 << 20;

/// The same for a file of a few kilobytes, whatever it claims to hold.
const FIXED_CLAIMS: usize = 4 << 20;

/// The same for files that claim buffers of 16 MiB and kinds without end.
const FIXED_LARGE: usize = 192 << 20;

/// Says how many bytes were live at most during `work`, besides those before, and how many at once were asked for.
fn peak_of(work: impl FnOnce()) -> (usize, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    LARGEST.store(0, Relaxed);
    work();
    (PEAK.load(Relaxed).saturating_sub(before), LARGEST.load(Relaxed))
}

fn check(name: &str, bytes: &[u8], fixed: usize) {
    check_work(name, bytes, fixed, |path| {
        read_all(path, Effort::All);
    });
}

fn check_work(name: &str, bytes: &[u8], fixed: usize, work: impl FnOnce(&Path)) {
    let file = etl_writer::file_of(bytes);
    let (peak, largest) = peak_of(|| work(file.path()));
    let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    println!("{name}: file {:.2} MiB, peak {:.2} MiB, largest {:.2} MiB", mib(bytes.len()), mib(peak), mib(largest));
    assert!(peak < bytes.len() + fixed, "{name}: {peak} bytes were live for a file of {}", bytes.len());
}

/// Set in the process that reads the traces and takes a part of what is made up.
const PART: &str = "PFNSET_ALLOCATION_PART";

/// One test, so that nothing else allocates at the same time; half of it runs in a process of its own beside it.
#[test]
fn memory_is_bounded_by_the_file() {
    if std::env::var_os(PART).is_some() {
        of_joined_stacks_by_event();
        return of_traces();
    }
    let mut other = Command::new(std::env::current_exe().expect("its own path"));
    let other = other.args(["--exact", "memory_is_bounded_by_the_file", "--nocapture"]).env(PART, "traces");
    let other = other.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a second process");
    of_files_made_up();
    let ended = other.wait_with_output().expect("its output");
    let said = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(ended.status.success() && said[0].contains("1 passed"), "{}{}", said[0], said[1]);
    print!("{}", said[0]);
}

/// Memory of traces, whole and with flipped bytes.
fn of_traces() {
    for path in recorded_traces() {
        let bytes = std::fs::read(&path).expect("a readable trace");
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        check(&name, &bytes, FIXED);
        let seeds = if cfg!(debug_assertions) { 1 } else { 4 };
        (0..seeds).for_each(|seed| check(&format!("{name}, flipped"), &flipped(&bytes, 2_000, seed), FIXED));
    }
    for (name, bytes) in made_up_traces() {
        check(&name, &bytes, FIXED);
        (0..if cfg!(debug_assertions) { 5 } else { 20 })
            .for_each(|seed| check(&format!("{name}, flipped"), &flipped(&bytes, 200, seed), FIXED));
    }
}

/// Memory of files that are made to take much.
fn of_files_made_up() {
    check("random", &noise(4 << 20, 5), 1 << 20);
    check("zeros", &vec![0; 4 << 20], 1 << 20);
    for (name, bytes) in made_to_hurt() {
        check(name, &bytes, FIXED_LARGE);
    }
    check_work("4,000 processes, each in one sample", &processes_in_one_sample(4_000), FIXED, |path| {
        let trace = Trace::open(path).expect("a sound file");
        let group_by = Some(MemoryDimension::Process);
        let timeline =
            |step| MemoryQuery { group_by, timeline: Some(step), all_samples: true, ..MemoryQuery::default() };
        let set = MemorySet::answer(&trace, &timeline(TimelineStep::Samples)).expect("samples");
        assert_eq!(set.table(Default::default()).records.len(), 4_000);
        let steps = MemorySet::answer(&trace, &timeline(TimelineStep::Every(Nanos(100_000))));
        assert!(steps.is_err_and(|error| error.to_string().contains("at most 500,000 rows")));
    });
    of_what_is_written();
    of_folded_functions();
    of_joined_stacks();
    of_rows();
    let claiming = a_small_file_with_large_claims();
    assert!(claiming.len() < 20_000, "{} bytes", claiming.len());
    check("100 buffers that claim 64 MiB each", &claiming, FIXED_CLAIMS);
}

/// Memory of what is written again or in another form: a trace with other names, tables, JSON.
fn of_what_is_written() {
    let bomb = zeros(300);
    assert!(bomb.len() < 2 << 20, "{} bytes", bomb.len());
    check_work("300 buffers of 1 MiB of zeros, anonymized", &bomb, FIXED, |path| {
        let trace = Trace::open(path).expect("a sound file");
        let mut written = Written(0);
        anonymized::write(&trace, &StandIns::new(b"secret"), &mut written).expect("room");
        assert!(written.0 < bomb.len() * 200 + (1 << 20), "{} bytes of {}", written.0, bomb.len());
    });
    let ranges = ranges_at_many_snapshots(2_000, 40);
    for (snapshots, rows) in [(Snapshots::Last, 2_000), (Snapshots::All, 80_000)] {
        check_work(&format!("ranges of {snapshots:?}"), &ranges, FIXED_LARGE, |path| {
            let folder = tempfile::tempdir().expect("a folder");
            let dataset = Dataset::open(folder.path(), Format::Csv, "1").expect("a dataset");
            let tables = vec![Table::Ranges, Table::Traces];
            let (resume, machine_names, code_page) = (false, false, CodePage::default());
            let events = Patterns::default();
            let symbols = Default::default();
            let choice = Choice { tables, snapshots, resume, machine_names, code_page, events, symbols };
            let done = dataset.export(path, &[], &choice, &UnpackLimits::default()).expect("room");
            assert_eq!((done.rows, done.error), (rows + 1, None));
        });
    }
    check_work("20,000 processes as JSON", &many_processes(20_000), FIXED, |path| {
        let before = LIVE.load(Relaxed);
        let trace = Trace::open(path).expect("a sound file");
        let set = ProcessSet::answer(&trace, &ProcessQuery::default()).expect("processes");
        forms::write(&processes::answer(&set, Default::default(), Unit::Auto), Form::Json, &mut io::sink()).unwrap();
        let of_each = (PEAK.load(Relaxed) - before) / 20_000;
        assert!(of_each < 2_500, "{of_each} bytes a process");
    });
}

/// Events that wait for one user part of 2,000 frames in a module with a name of 4 KB: each stack has a text of 128 KiB.
fn of_joined_stacks() {
    let bytes = joined_stacks(100, 2_000);
    let forms = [
        Form::Collapsed,
        Form::Csv(Cells::Plain),
        Form::Json,
        Form::Text(Look { width: 100, color: false, rows: None }),
    ];
    for form in forms {
        check_work(&format!("joined stacks, {form:?}"), &bytes, FIXED * 2 / 3, |path| {
            let trace = Trace::open(path).expect("a sound file");
            let is_collapsed = form == Form::Collapsed;
            let mut query = StackQuery { whole_stacks: is_collapsed, ..StackQuery::default() };
            if !is_collapsed {
                query.group_by = pfnset::dimensions::Dimension::parse_list("stack").expect("a dimension");
            }
            let set = StackSet::answer(&trace, &query).expect("samples");
            assert_eq!((set.totals.with_stack, set.totals.frames.total()), (100, 100 * 513));
            let answer = match is_collapsed {
                true => collapsed_stacks(&set, false),
                false => stacks_answer(&set),
            };
            let mut written = Written(0);
            forms::write(&answer, form, &mut written).expect("room");
            let is_whole = !matches!(form, Form::Text(_));
            assert!(!is_whole || written.0 > 100 * (100 << 10), "{} bytes are written", written.0);
        });
    }
}

/// The same, where the names of its modules change, and as rows.
fn of_joined_stacks_by_event() {
    check_work("joined stacks whose names change", &renamed_stacks(1_000, 8_000), FIXED, |path| {
        let trace = Trace::open(path).expect("a sound file");
        let set = StackSet::answer(&trace, &StackQuery::default()).expect("samples");
        assert_eq!((set.totals.with_stack, set.totals.frames.total()), (1_000, 1_000 * 513));
        assert_eq!(
            (set.counts.cut_frames, set.totals.frames.module),
            (8_000 - 512, (1..=512).sum::<u64>() + 488 * 512)
        );
    });
    check_work("rows of events with joined stacks", &joined_stacks(300, 2_000), FIXED, |path| {
        let trace = Trace::open(path).expect("a sound file");
        let query = EventRowQuery { stacks: Some(Default::default()), ..EventRowQuery::default() };
        let listing = EventListing::answer(&trace, &query).expect("events");
        let mut written = Written(0);
        let new = || RowWriter::new(EventForm::Jsonl, 100);
        let write = &mut |row: &[u8]| io::Write::write_all(&mut written, row);
        assert!(listing.stream(new, RowWriter::row, RowWriter::stack, write).expect("room"), "all rows");
        assert!(written.0 > 300 * (100 << 10), "{} bytes are written", written.0);
    });
}

fn joined_stacks(events: u64, frames: usize) -> Vec<u8> {
    use etl_writer::payloads::image::{self, Image};
    use etl_writer::payloads::perf::{sample, stack};
    use etl_writer::{Ptr::P8, Session, Trace};
    let session = Session { processors: 1, ..Session::windows10() };
    let (begin, kernel, user) = (session.t0, 0xffff_f800_0000_0000, 0x1000_0000);
    let named = Image { base: user, size: 0x100_0000, pid: 40, name: "n".repeat(4_000), ..Image::default() };
    let event = |n: u64| begin + 100 + 10 * n;
    let sampled = (0..events).flat_map(|n| {
        let walked = stack(P8, event(n), 40, 44, &[kernel + 16 * n]).at(event(n) + 1);
        [sample(P8, kernel + 16 * n, 44, 0).at(event(n)), walked]
    });
    let joined = stack(P8, event(0), 40, 44, &vec![user + 0x20; frames]).at(event(events));
    let image = named.rec(P8, 3, image::LOAD).at(begin + 1);
    Trace::new(session).push_all([image].into_iter().chain(sampled).chain([joined])).finish()
}

/// Events that wait for one user part; before each of them, an image is loaded that has one of its frames.
fn renamed_stacks(events: u64, frames: u64) -> Vec<u8> {
    use etl_writer::payloads::image::{self, Image};
    use etl_writer::payloads::perf::{sample, stack};
    use etl_writer::{Ptr::P8, Session, Trace};
    let session = Session { processors: 1, ..Session::windows10() };
    let (begin, kernel, user) = (session.t0, 0xffff_f800_0000_0000, 0x1000_0000);
    let event = |n: u64| begin + 100 + 10 * n;
    let sampled = (0..events).flat_map(|n| {
        let loaded =
            Image { base: user + 0x1000 * n, size: 0x1000, pid: 40, name: format!("{n}.dll"), ..Image::default() };
        let walked = stack(P8, event(n), 40, 44, &[kernel]).at(event(n) + 1);
        [loaded.rec(P8, 3, image::LOAD).at(event(n) - 2), sample(P8, kernel, 44, 0).at(event(n)), walked]
    });
    let all: Vec<u64> = (0..frames).map(|n| user + 0x1000 * n + 8).collect();
    let joined = stack(P8, event(0), 40, 44, &all).at(event(events));
    Trace::new(session).push_all(sampled.chain([joined])).finish()
}

/// 256 functions with names of 4,000 bytes were folded, and each of 492 addresses lies in them.
fn of_folded_functions() {
    let packed = std::fs::read("tests/program/symbols/CrashWithException.pdb.gz").expect("a database");
    let mut database = Vec::new();
    io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut database).expect("gzip");
    let publics: Vec<u8> =
        (0..256).flat_map(|n| public_symbol(4, 0, &format!("f{n:03}{}", "x".repeat(3_996)))).collect();
    let folded = with_symbol_records(database, &publics);
    let (length, addresses) = (folded.len(), (0x6000..0x6000 + 492).collect::<Vec<u32>>());
    let (peak, _) = peak_of(|| {
        let (names, damage) = pfnset::unstable_api::functions_of(folded, &addresses).expect("a database");
        assert_eq!((names.len(), damage), (492, None));
        assert!(names.values().all(|name| name.starts_with("f000xx")));
    });
    println!("folded functions: file {length}, peak {peak}");
    assert!(peak < 4 * length + (4 << 20), "{peak} bytes were live for a database of {length}");
}

/// S_PUB32 of a function.
fn public_symbol(section: u16, offset: u32, name: &str) -> Vec<u8> {
    let (kind, is_function) = (0x110e_u16.to_le_bytes(), 2_u32.to_le_bytes());
    let (offset, section) = (offset.to_le_bytes(), section.to_le_bytes());
    let mut record = [&kind, &is_function[..], &offset, &section, name.as_bytes(), &[0]].concat();
    record.resize(record.len().next_multiple_of(4) + 2, 0);
    [&(record.len() as u16).to_le_bytes()[..], &record].concat()
}

/// A PDB with more records at the end of its stream of symbols, in blocks of their own.
fn with_symbol_records(mut pdb: Vec<u8>, more: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize;
    let (block, directory_bytes, map) = (number(&pdb, 32), number(&pdb, 44), number(&pdb, 52));
    let read = |pdb: &[u8], blocks: &[usize]| -> Vec<u8> {
        blocks.iter().flat_map(|at| pdb[at * block..(at + 1) * block].to_vec()).collect()
    };
    let numbers = |bytes: &[u8]| -> Vec<usize> { bytes.chunks_exact(4).map(|four| number(four, 0)).collect() };
    let append = |pdb: &mut Vec<u8>, bytes: &[u8]| -> Vec<u32> {
        let first = pdb.len() / block;
        pdb.extend(bytes);
        pdb.resize(pdb.len().next_multiple_of(block), 0);
        (first..pdb.len() / block).map(|at| at as u32).collect()
    };
    let own = numbers(&pdb[map * block..])[..directory_bytes.div_ceil(block)].to_vec();
    let directory = numbers(&read(&pdb, &own)[..directory_bytes]);
    let mut sizes = directory[1..=directory[0]].to_vec();
    let mut left = &directory[1 + directory[0]..];
    let blocks_of = |size: &usize| if *size == u32::MAX as usize { 0 } else { size.div_ceil(block) };
    let mut lists: Vec<Vec<usize>> = Vec::new();
    for size in &sizes {
        let (own, rest) = left.split_at(blocks_of(size));
        lists.push(own.to_vec());
        left = rest;
    }
    let symbols = usize::from(u16::from_le_bytes(read(&pdb, &lists[3])[20..22].try_into().expect("2 bytes")));
    let all = [&read(&pdb, &lists[symbols])[..sizes[symbols]], more].concat();
    sizes[symbols] = all.len();
    lists[symbols] = append(&mut pdb, &all).into_iter().map(|at| at as usize).collect();
    let directory: Vec<u8> = ([sizes.len()].iter().chain(&sizes).chain(lists.iter().flatten()))
        .flat_map(|number| (*number as u32).to_le_bytes())
        .collect();
    let own: Vec<u8> = append(&mut pdb, &directory).into_iter().flat_map(u32::to_le_bytes).collect();
    let map = append(&mut pdb, &own)[0];
    let blocks = (pdb.len() / block) as u32;
    pdb[40..44].copy_from_slice(&blocks.to_le_bytes());
    pdb[44..48].copy_from_slice(&(directory.len() as u32).to_le_bytes());
    pdb[52..56].copy_from_slice(&map.to_le_bytes());
    pdb
}

/// Counts what is written.
struct Written(usize);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Processes that live all the time, each with a command line.
fn many_processes(count: u32) -> Vec<u8> {
    use etl_writer::payloads::process::{self, Process};
    use etl_writer::{Ptr::P8, Session, Trace};
    let session = Session::windows10();
    let begin = session.t0;
    let record = |n: u32| {
        let named = Process {
            command: format!("program-{n}.exe /a /b"),
            ..Process::new(4 * n + 4, &format!("program-{n}.exe"))
        };
        named.rec(P8, 4, process::DC_START).at(begin + u64::from(n))
    };
    Trace::new(session).push_all((1..=count).map(record)).finish()
}

/// One process with many regions, and many page sequences of two pages.
fn ranges_at_many_snapshots(ranges: u64, snapshots: u64) -> Vec<u8> {
    use etl_writer::payloads::memory::{COMMIT, RESERVE, virtual_alloc};
    use etl_writer::payloads::pages::{IN_MEMORY, Identity};
    use etl_writer::payloads::process::{self, Process};
    use etl_writer::{Ptr::P8, Session, Trace};
    let session = Session { processors: 1, ..Session::windows10() };
    let (begin, second) = (session.t0, session.frequency);
    let mut all = vec![Process::new(40, "a.exe").rec(P8, 4, process::START).at(begin).by(8, 4)];
    let region = |n: u64| virtual_alloc(P8, 0x10_0000 * (n + 1), 0x1_0000, 40, RESERVE | COMMIT).at(begin + 1 + n);
    all.extend((0..ranges).map(region));
    let pages = |n: u64| {
        let page = |pfn| Identity::private(pfn, 40, 0x10_0000).rec(P8, 4, IN_MEMORY);
        [0x100, 0x101].map(|pfn| page(pfn).at(begin + second * (n + 1) + pfn))
    };
    all.extend((0..snapshots).flat_map(pages));
    Trace::new(session).push_all(all).finish()
}

/// Compressed buffers of 1 MiB, each with records of zeros.
fn zeros(buffers: u64) -> Vec<u8> {
    use etl_writer::{Compression, Ptr::P8, Rec, Session, Trace};
    let session = Session { buffer_size: 1 << 20, ..Session::windows10().compressed(Compression::Xpress) };
    let begin = session.t0;
    let record = |n: u64| Rec::perf(P8, 1, 0, vec![0; 65_500]).at(begin + n);
    let mut trace = Trace::new(session);
    for buffer in 0..buffers {
        trace = trace.push_all((0..15).map(|n| record(buffer * 15 + n))).flush_all();
    }
    trace.finish()
}

/// Records of working sets, 0.1 ms from one to the next, each of another process.
fn processes_in_one_sample(processes: u32) -> Vec<u8> {
    use etl_writer::{Ptr::P8, Session, Trace, payloads::counters::working_sets};
    let session = Session::windows10();
    let (begin, step) = (session.t0, session.frequency / 10_000);
    let record =
        |n: u32| working_sets(P8, 0x027d, &[(4 * n + 4, [n.into(); 8])], false).at(begin + step * u64::from(n));
    Trace::new(session).push_all((0..processes).map(record)).finish()
}

/// Memory of rows of events whose names are far longer than the events.
fn of_rows() {
    let long = "\u{4e00}".repeat(15_000);
    let events = |count: usize, payload: Vec<u8>| vec![Rec::event(Ptr::P8, PROVIDER, 5, 0, payload); count];
    let values = [vec![map("M", &long), schema(5, 1, 1_000, ["a", "M", "T"])], events(20, vec![1; 1_000])].concat();
    let missing = [vec![schema(5, 1, 1, [&long, "M", &long[..30_000]])], events(4_000, Vec::new())].concat();
    let maps = (0..4).map(|id| schema(id, 1_000, 1, ["x", &long, "T"])).collect();
    for (name, recs) in [("names of numbers", values), ("names of fields and events", missing), ("names of maps", maps)]
    {
        check_work(name, &trace(recs), FIXED, |path| {
            let trace = Trace::open(path).expect("a sound file");
            let query = EventRowQuery::default();
            let listing = EventListing::answer(&trace, &query).expect("events");
            let mut written = Written(0);
            let new = || RowWriter::new(EventForm::Jsonl, 100);
            let whole = listing
                .stream(new, RowWriter::row, RowWriter::stack, &mut |row| io::Write::write_all(&mut written, row));
            assert!(whole.expect("room"), "all rows");
            assert!(written.0 < FIXED, "{name}: {} bytes are written", written.0);
        });
    }
}

const PROVIDER: [u8; 16] = [7; 16];

fn trace(recs: Vec<Rec>) -> Vec<u8> {
    let session = Session::windows10();
    let begin = session.t0;
    etl_writer::Trace::new(session).push_all((begin..).zip(recs).map(|(time, rec)| rec.at(time))).finish()
}

/// A record of event information, with a NUL after each text; offsets of the texts are written at the places.
fn event_info(kind: u8, begin: usize, mut bytes: Vec<u8>, texts: &[(&str, Vec<usize>)]) -> Rec {
    for (text, places) in texts {
        let offset = (bytes.len() - begin) as u32;
        places.iter().for_each(|place| bytes[*place..place + 4].copy_from_slice(&offset.to_le_bytes()));
        bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    }
    Rec::full(Ptr::P8, etl_writer::guid("bbccf6c1-6cd1-48c4-80ff-839482e37671"), kind, 0, bytes)
}

/// `TRACE_EVENT_INFO`: so many properties, each of so many bytes, all with one name and one map.
fn schema(id: u8, properties: u16, count: u16, [name, map, task]: [&str; 3]) -> Rec {
    let places: Vec<usize> = (0..usize::from(properties)).map(|number| 112 + 24 * number).collect();
    let mut bytes = vec![0; 112 + 24 * places.len()];
    bytes[..16].copy_from_slice(&PROVIDER);
    bytes[32] = id;
    [100, 104].iter().for_each(|place| bytes[*place..place + 2].copy_from_slice(&properties.to_le_bytes()));
    for place in &places {
        (bytes[*place], bytes[place + 8]) = (0x20, 4);
        bytes[place + 16..place + 18].copy_from_slice(&count.to_le_bytes());
    }
    let at = |offset: usize| places.iter().map(|place| place + offset).collect();
    event_info(32, 0, bytes, &[(name, at(4)), (map, at(12)), (task, vec![52, 68])])
}

/// `EVENT_MAP_INFO` behind the provider: the name of 1.
fn map(name: &str, of_one: &str) -> Rec {
    let mut bytes = [&PROVIDER[..], &[0; 24]].concat();
    (bytes[20], bytes[24], bytes[36]) = (1, 1, 1);
    event_info(33, 16, bytes, &[(name, vec![16]), (of_one, vec![32])])
}
