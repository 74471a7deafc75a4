//! Speed of `pfnset events --rows --format jsonl`: `cargo bench --bench event_rows`, rows per second end to end, with two threads.
//!
//! On generated, uncompressed traces in the page cache: context switches, ready threads and deferred procedure calls (kernel decoders),
//! and TraceLogging events of three kinds. Rows are formatted, brought into order and thrown away. Also prints the most anonymous
//! memory (`RssAnon`) of the command, which does not grow with the records.

mod generated;

use etl_writer::scheduling::SchedulingSpec;
use generated::{median, most_anonymous_kib, timed};
use pfnset::trace::Trace;
use pfnset::unstable_api::{EventForm, EventListing, EventRowQuery, RowWriter};
use std::path::Path;
use std::process::{Command, Stdio};

const THREADS: usize = 2;
const ROUNDS: usize = 3;

fn main() {
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    let test = std::env::args().any(|argument| argument == "--test");
    let spec = if test { SchedulingSpec::small() } else { SchedulingSpec::default() };
    let switches = if test { spec.switches } else { spec.switches / 8 };
    let events = if test { 1000 } else { 4_000_000 };
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads");
    let rounds = if test { 1 } else { ROUNDS };
    measure("kernel", &generated::scheduling(&SchedulingSpec { switches, ..spec.clone() }), rounds);
    measure("TraceLogging", &generated::trace_logging(events / 4), rounds);
    measure("TraceLogging", &generated::trace_logging(events), rounds);
}

/// Prints rows per second, median of some rounds, and memory.
fn measure(what: &str, path: &Path, rounds: usize) {
    let (mut times, mut counted) = (Vec::new(), (0u64, 0usize));
    for _ in 0..rounds {
        counted = (0, 0);
        times.push(timed(|| {
            let trace = Trace::open(path).expect("the trace");
            let query = EventRowQuery::default();
            let listing = EventListing::answer(&trace, &query).expect("events");
            let write = &mut |text: &[u8]| {
                counted = (counted.0 + 1, counted.1 + std::hint::black_box(text).len());
                Ok(())
            };
            let new = || RowWriter::new(EventForm::Jsonl, 100);
            assert!(listing.stream(new, RowWriter::row, RowWriter::stack, write).expect("room"));
            assert!(counted.0 > 0);
        }));
    }
    let (time, (rows, bytes)) = (median(times), counted);
    let rate = rows as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{what}: {rows} rows, {} MB, in {time:.2?} (median of {rounds}): {rate:.2} million rows/s",
        bytes / 1_000_000
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command
        .args(["events", "--rows", "-q", "--format", "jsonl", "-j", &THREADS.to_string()])
        .arg(path)
        .stderr(Stdio::null());
    if let Some(kib) = most_anonymous_kib(&mut command) {
        println!("    most anonymous memory: {} MiB", kib / 1024);
    }
}
