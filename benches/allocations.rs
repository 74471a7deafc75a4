//! Speed of `pfnset allocations`: `cargo bench --bench allocations`, records per second end to end, with two threads.
//!
//! On generated, uncompressed traces of 20 million records of pool, and as many of heaps, with up to a million live allocations, in the
//! page cache. Beside each the floor: the sum of all words of the file, by the same threads. Also prints the most anonymous memory
//! (`RssAnon`) of the command, which grows with what is live and with distinct lifetimes, not with records. Only a wrong result fails the
//! bench.

mod generated;

use etl_writer::allocations::AllocationSpec;
use generated::{median, most_anonymous_kib, sum_of_words, timed};
use pfnset::internals::{AllocationQuery, AllocationSet};
use pfnset::trace::Trace;
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
    // In a process of its own: the memory of several runs in one process is not that of a run.
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.arg("allocations").arg(&path).arg("-j").arg(THREADS.to_string()).stderr(Stdio::null());
    if let Some(kib) = most_anonymous_kib(&mut command) {
        println!("    most anonymous memory: {} MiB", kib / 1024);
    }
}
