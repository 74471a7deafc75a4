//! Speed of the reference set: `cargo bench --bench refset`, page events per second end to end, with two threads.
//!
//! On a generated, uncompressed trace of 20 million accesses and releases in the page cache, everything included: the
//! survey, both rule sets, the proof against the final sequence. Also prints the most anonymous memory (`RssAnon`) of the
//! command, which grows with the pages held, not with the events. `-- --events N` for another number of events. A wrong result
//! fails the bench, and so does memory that grows with more than the pages held.

mod generated;

use etl_writer::refset::RefsetSpec;
use generated::{AgainstFloor, against_floor, most_anonymous_kib};
use pfnset::analysis::refset::ReferenceSet;
use pfnset::analysis::refset::query::Query;
use pfnset::trace::Trace;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const THREADS: usize = 2;
const ROUNDS: usize = 7;

/// Anonymous memory that a run may have, MiB, and how much of it for a page that is held, bytes.
const MOST_ANONYMOUS_MIB: u64 = 64;
const MOST_OF_A_PAGE: u64 = 256;

fn main() {
    if generated::is_floor() {
        return;
    }
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    let test = std::env::args().any(|argument| argument == "--test");
    let spec = if test { RefsetSpec::small() } else { RefsetSpec::default() };
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads");
    if let Some(events) = generated::number_after("--events") {
        return measure(&RefsetSpec { events, ..spec }, 1);
    }
    if !test {
        // Held pages do not grow with the length of the scenario, and neither must the memory.
        measure(&RefsetSpec { events: spec.events / 4, ..spec.clone() }, 1);
    }
    measure(&spec, if test { 1 } else { ROUNDS });
    by_stack(&RefsetSpec { events: spec.events / 10, stacks: 1 << 16, ..spec }, if test { 1 } else { ROUNDS });
}

/// Prints how much longer rows by stack take, where accesses have stacks.
fn by_stack(spec: &RefsetSpec, rounds: usize) {
    let path = generated::refset(spec);
    let run = |rows: Option<&str>| {
        let trace = Trace::open(&path).expect("the trace");
        let mut query = Query::default();
        rows.into_iter().for_each(|rows| {
            query.group_by = pfnset::dimensions::Dimension::parse_list(rows).expect("dimensions");
        });
        let set = ReferenceSet::answer(&trace, &query).expect("a reference set");
        assert!(set.held_at_stop > 0);
    };
    let plain = || run(None);
    let by_stack = || run(Some("stack"));
    let [plain, by_stack] = generated::medians(rounds, [&plain, &by_stack]);
    let times = by_stack.as_secs_f64() / plain.as_secs_f64();
    println!("{} page events with stacks in {plain:.2?}, by stack in {by_stack:.2?}: {times:.2} times", spec.events);
}

/// Prints events per second, median of some rounds, and memory.
fn measure(spec: &RefsetSpec, rounds: usize) {
    let path = generated::refset(spec);
    let mut times: Vec<Duration> = Vec::new();
    let mut held = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        let trace = Trace::open(&path).expect("the trace");
        let set = ReferenceSet::answer(&trace, &Query::default()).expect("a reference set");
        times.push(begin.elapsed());
        assert_eq!(set.balance.reaccessed(), 0, "nothing was lost, so nothing is accessed twice");
        assert_eq!(set.verification.as_ref().map(|v| v.residue()), Some(0.0));
        held = set.peak.0;
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let rate = spec.events as f64 / median.as_secs_f64();
    println!("{} page events in {median:.2?} (median of {rounds}): {:.2} million/s", spec.events, rate / 1e6);
    println!("    times: {times:.2?}");
    // In a process of its own: the memory of several runs in one process is not that of a run.
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
        command.arg("refset").arg(&path).arg("-j").arg(THREADS.to_string()).stderr(Stdio::null());
        command
    };
    let AgainstFloor { run, floor, ratio, .. } = against_floor(&path, rounds, command);
    println!("    the whole command {run:.2?}, floor {floor:.2?}: {ratio:.1} floors (median of the pairs)");
    if let Some(kib) = most_anonymous_kib(&mut command()) {
        println!("    most anonymous memory: {} MiB, for {held} pages held at the peak", kib / 1024);
        assert!(kib / 1024 <= MOST_ANONYMOUS_MIB + ((held * MOST_OF_A_PAGE) >> 20), "more than the held pages need");
    }
}
