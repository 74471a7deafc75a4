//! Speed of `pfnset cpu`: `cargo bench --bench cpu`, records per second end to end, with two threads.
//!
//! On a generated, uncompressed trace of 20 million context switches, 20 million ready threads and 5 million deferred
//! procedure calls on 16 processors, in the page cache. Also prints the most anonymous memory (`RssAnon`) of the command,
//! which grows with threads and distinct delays, not with records. Only a wrong result fails the bench.

mod generated;

use etl_writer::scheduling::SchedulingSpec;
use generated::{AgainstFloor, against_floor, most_anonymous_kib};
use pfnset::analysis::cpu::CpuUse;
use pfnset::analysis::cpu::query::CpuQuery;
use pfnset::trace::Trace;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const THREADS: usize = 2;
const ROUNDS: usize = 5;

fn main() {
    if generated::is_floor() {
        return;
    }
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    let test = std::env::args().any(|argument| argument == "--test");
    let spec = if test { SchedulingSpec::small() } else { SchedulingSpec::default() };
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads");
    if !test {
        measure(&SchedulingSpec { switches: spec.switches / 4, ..spec.clone() }, 1);
    }
    measure(&spec, if test { 1 } else { ROUNDS });
}

/// Prints records per second, median of some rounds, and memory.
fn measure(spec: &SchedulingSpec, rounds: usize) {
    let path = generated::scheduling(spec);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let trace = Trace::open(&path).expect("the trace");
        let set = CpuUse::answer(&trace, &CpuQuery::default()).expect("context switches");
        times.push(begin.elapsed());
        assert!(set.is_balanced() && set.breaks == 0);
        assert_eq!(set.total.switches + 1, spec.switches, "the last one ends the window");
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let rate = spec.records() as f64 / median.as_secs_f64();
    println!("{} records in {median:.2?} (median of {rounds}): {:.2} million/s", spec.records(), rate / 1e6);
    println!("    times: {times:.2?}");
    // In a process of its own: the memory of several runs in one process is not that of a run.
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
        command.arg("cpu").arg(&path).arg("-j").arg(THREADS.to_string()).stderr(Stdio::null());
        command
    };
    let AgainstFloor { run, floor, ratio, .. } = against_floor(&path, rounds, command);
    println!("    the whole command {run:.2?}, floor {floor:.2?}: {ratio:.1} floors (median of the pairs)");
    if let Some(kib) = most_anonymous_kib(&mut command()) {
        println!("    most anonymous memory: {} MiB", kib / 1024);
    }
}
