//! Memory while reading hostile files: at most a small multiple of what the file holds, plus a fixed amount.
//!
//! A binary of its own, because it counts every allocation of the process. The fixed amount is for what is bounded by
//! constants, whatever a file says: room for one decompressed buffer for each thread, lists of kinds, of damage and of
//! misfits with their texts, open buffers of the merged order, batches of digests.

#[allow(dead_code)] // a part is used
#[path = "reader/reading.rs"]
mod reading;

use etl_writer::hostile::{a_small_file_with_large_claims, flipped, made_to_hurt, made_up_traces, noise};
use pfnset::analysis::memory::MemorySet;
use pfnset::analysis::memory::query::{MemoryDimension, MemoryQuery, TimelineStep};
use pfnset::trace::Trace;
use pfnset::units::Nanos;
use reading::{Effort, read_all, recorded_traces};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
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

/// One test, so that nothing else allocates at the same time.
#[test]
fn memory_is_bounded_by_the_file() {
    for path in recorded_traces() {
        let bytes = std::fs::read(&path).expect("a readable trace");
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        check(&name, &bytes, FIXED);
        let seeds = if cfg!(debug_assertions) { 1 } else { 4 };
        (0..seeds).for_each(|seed| check(&format!("{name}, flipped"), &flipped(&bytes, 2_000, seed), FIXED));
    }
    for (name, bytes) in made_up_traces() {
        check(&name, &bytes, FIXED);
        (0..20).for_each(|seed| check(&format!("{name}, flipped"), &flipped(&bytes, 200, seed), FIXED));
    }
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
        assert_eq!(set.table().records.len(), 4_000);
        let steps = MemorySet::answer(&trace, &timeline(TimelineStep::Every(Nanos(100_000))));
        assert!(steps.is_err_and(|error| error.to_string().contains("at most 500,000 rows")));
    });
    let claiming = a_small_file_with_large_claims();
    assert!(claiming.len() < 20_000, "{} bytes", claiming.len());
    check("100 buffers that claim 64 MiB each", &claiming, FIXED_CLAIMS);
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
