//! Speed of `pfnset stacks`: `cargo bench --bench stacks`, stacks per second end to end, with two threads, beside the time that reading the
//! bytes takes.
//!
//! On generated, uncompressed traces in the page cache: four million samples of 65,536 stacks of 24 frames, and a million different
//! stacks of 60 frames. Also prints the most anonymous memory (`RssAnon`) of the command. Only a wrong result fails the bench.

mod generated;

use etl_writer::sampling::SamplingSpec;
use generated::{median, most_anonymous_kib, sum_of_words, timed};
use pfnset::trace::Trace;
use pfnset::unstable_api::{StackQuery, StackSet};
use std::process::{Command, Stdio};
use std::time::Duration;

const THREADS: usize = 2;
const ROUNDS: usize = 5;

fn main() {
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    let test = std::env::args().any(|argument| argument == "--test");
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads");
    let specs =
        if test { vec![SamplingSpec::small()] } else { vec![SamplingSpec::default(), SamplingSpec::distinct()] };
    for spec in specs {
        measure(&spec, if test { 1 } else { ROUNDS });
    }
}

/// Prints stacks per second, median of some rounds, and memory.
fn measure(spec: &SamplingSpec, rounds: usize) {
    let path = generated::sampling(spec);
    let (mut times, mut floors): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        floors.push(timed(|| {
            let trace = Trace::open(&path).expect("the trace");
            assert_ne!(sum_of_words(trace.etl()), 0);
        }));
        times.push(timed(|| {
            let trace = Trace::open(&path).expect("the trace");
            let set = StackSet::answer(&trace, &StackQuery::default()).expect("stacks");
            assert_eq!((set.totals.events, set.totals.with_stack), (spec.samples, spec.samples));
            assert_eq!((set.joined.unmatched, set.joined.duplicates), (0, 0));
        }));
    }
    let time = median(times.clone());
    let rate = spec.samples as f64 / time.as_secs_f64();
    let SamplingSpec { samples, stacks, frames, .. } = spec;
    println!(
        "{samples} samples, {stacks} stacks of {frames} frames: {time:.2?} (median of {rounds}), {:.2} million/s",
        rate / 1e6
    );
    println!("    times: {times:.2?}; reading the bytes: {:.2?}", median(floors));
    // In a process of its own: the memory of several runs in one process is not that of a run.
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.arg("stacks").arg(&path).arg("-j").arg(THREADS.to_string()).stderr(Stdio::null());
    if let Some(kib) = most_anonymous_kib(&mut command) {
        println!("    most anonymous memory: {} MiB", kib / 1024);
    }
}
