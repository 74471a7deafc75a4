//! Speed of `pfnset allocations`: `cargo bench --bench allocations`, records per second end to end, with two threads.
//!
//! On generated, uncompressed traces of 20 million records of pool, and as many of heaps, with up to a million live allocations, in the
//! page cache. Beside each the floor: the sum of all words of the file, by the same threads. Then the most anonymous memory
//! (`RssAnon`) of the command: in all, and what of it each live piece and each lifetime of a closed one takes, by runs of more records
//! and of more live pieces. Only a wrong result, or more than 64 and 8 bytes for them, fails the bench.

mod generated;

use etl_writer::allocations::AllocationSpec;
use generated::{median, most_anonymous_kib, sum_of_words, timed};
use pfnset::trace::Trace;
use pfnset::unstable_api::{AllocationQuery, AllocationSet};
use std::path::Path;
use std::process::{Command, Stdio};

const THREADS: usize = 2;
const ROUNDS: usize = 3;

fn main() {
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    let test = std::env::args().any(|argument| argument == "--test");
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads");
    for is_of_heaps in [false, true] {
        let spec = if test { AllocationSpec::small() } else { AllocationSpec::default() };
        measure(&AllocationSpec { is_of_heaps, ..spec }, if test { 1 } else { ROUNDS });
        if !test {
            measure_memory(is_of_heaps);
        }
    }
}

fn measure(spec: &AllocationSpec, rounds: usize) {
    let path = generated::allocations(spec);
    let (mut floors, mut times) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let etl = pfnset::etl::EtlFile::open(&path).expect("the trace");
        floors.push(timed(|| _ = std::hint::black_box(sum_of_words(&etl))));
        times.push(timed(|| {
            let trace = Trace::open(&path).expect("the trace");
            let set = AllocationSet::answer(&trace, &AllocationQuery::default()).expect("records");
            assert!(set.is_balanced);
            let counted: u64 = set.records.iter().take(2).map(|(_, number)| number).sum();
            assert_eq!(counted, spec.records);
        }));
    }
    let (floor, time) = (median(floors), median(times));
    let rate = spec.records as f64 / time.as_secs_f64() / 1e6;
    let of = if spec.is_of_heaps { "heap" } else { "pool" };
    println!("{} {of} records in {time:.2?}: {rate:.2} million/s; floor (sum of words) {floor:.2?}", spec.records);
    if let Some(kib) = most_memory(&path) {
        println!("    most anonymous memory: {} MiB", kib / 1024);
    }
}

/// The most anonymous memory of the command, KiB. In a process of its own: the memory of several runs in one process is not that of a
/// run.
fn most_memory(path: &Path) -> Option<u64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.arg("allocations").arg(path).arg("-j").arg(THREADS.to_string()).stderr(Stdio::null());
    most_anonymous_kib(&mut command)
}

/// Pieces that are live and closed at the end of a trace, and the memory that the command took for it, bytes.
fn pieces_and_memory(spec: &AllocationSpec) -> Option<[f64; 3]> {
    let path = generated::allocations(spec);
    let set = AllocationSet::answer(&Trace::open(&path).expect("the trace"), &AllocationQuery::default());
    let total = set.expect("records").total;
    let pieces = [total.at_end().count, total.freed().count].map(|count| count as f64);
    Some([pieces[0], pieces[1], most_memory(&path)? as f64 * 1024.0])
}

/// What a live piece and a closed one take: three runs, of which two differ in the closed ones alone.
fn measure_memory(is_of_heaps: bool) {
    let spec = |records, live| AllocationSpec { records, live, is_of_heaps, ..AllocationSpec::default() };
    let runs = [spec(4_000_000, 1_000_000), spec(8_000_000, 1_000_000), spec(4_000_000, 4_000_000)];
    let [Some(base), Some(longer), Some(wider)] = runs.each_ref().map(pieces_and_memory) else { return };
    let closed = ((longer[2] - base[2]) / (longer[1] - base[1])).max(0.0);
    let live = (wider[2] - base[2] - (wider[1] - base[1]) * closed) / (wider[0] - base[0]);
    println!("    {live:.1} bytes for a live piece, {closed:.1} for the lifetime of a closed one");
    assert!(live <= 64.0 && closed <= 8.0, "{base:?} {longer:?} {wider:?}");
}
