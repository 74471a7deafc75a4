//! Speed of the container against the memory's own: `cargo bench --bench container`.
//!
//! On a generated, uncompressed trace of 4,194,304 pages in the page cache, with two threads. The yardstick is a sum of
//! 8-byte words over the event areas, through the same map and the same loop over buffers as the walk. The ratios
//! depend on the machine's memory as much as on the program, so nothing fails the bench.

mod generated;

use etl_writer::ResidentSpec;
use generated::{medians, sum_of_words};
use pfnset::etl::EtlFile;
use pfnset::etl::event_area::EventArea;
use pfnset::trace::Survey;
use std::hint::black_box;
use std::time::Duration;

/// Threads of every bench.
const THREADS: usize = 2;

/// Rounds of the comparison; their medians are compared.
const ROUNDS: usize = 25;

/// Number of records: all headers visited, nothing decoded.
fn walk(etl: &EtlFile) -> u64 {
    let count = |count: &mut u64, area: &EventArea<'_>| {
        for record in area.records() {
            black_box((record.header, record.position, record.bytes.len())); // all that the walk gives must be made
            *count += 1;
        }
    };
    etl.fold_buffers(|| 0, count).iter().sum()
}

fn open() -> EtlFile {
    static POOL: std::sync::Once = std::sync::Once::new();
    POOL.call_once(|| rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads"));
    let etl = EtlFile::open(&generated::resident(&ResidentSpec::default())).expect("a sound trace");
    black_box(sum_of_words(&etl)); // the file into the page cache, its pages into the map
    etl
}

fn compare() {
    let etl = open();
    let records = walk(&etl);
    let summed = || _ = black_box(sum_of_words(&etl));
    let walked = || _ = black_box(walk(&etl));
    let surveyed = || _ = black_box(Survey::new(&etl));
    let [sum, walk, survey] = medians(ROUNDS, [&summed, &walked, &surveyed]);
    let ratio = |time: Duration| time.as_secs_f64() / sum.as_secs_f64();
    let rate = |time: Duration| records as f64 / 1e6 / time.as_secs_f64();
    let gigabytes = |time: Duration| etl.size_bytes() as f64 / 1e9 / time.as_secs_f64();
    println!("{} bytes, {records} records, {THREADS} threads, medians of {ROUNDS} rounds:", etl.size_bytes());
    for (name, time) in [("sum of words", sum), ("walk of headers", walk), ("survey", survey)] {
        println!(
            "  {name:<16} {time:>10.2?}  {:>6.1} GB/s  {:>6.0} M records/s  {:>5.2} x sum",
            gigabytes(time),
            rate(time),
            ratio(time)
        );
    }
}

fn main() {
    // `cargo test --benches` only asks whether a bench runs, and without optimization.
    let measured = !std::env::args().any(|argument| argument == "--test" || argument == "--list");
    if measured {
        compare();
    }
}
