//! Speed of memory over time: `cargo bench --bench memory`, the table of hours of working sets, with two threads.
//!
//! On a generated, uncompressed trace of 10 million entries in the page cache: 3,334 samples of 3,000 processes. More than a
//! second fails the bench. Also prints the anonymous memory, which grows with the processes and not with the samples.

mod generated;

use etl_writer::{MemorySpec, Session};
use pfnset::analysis::memory::MemorySet;
use pfnset::analysis::memory::query::MemoryQuery;
use pfnset::trace::Trace;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MOST: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let test = std::env::args().any(|argument| argument == "--test");
    let (samples, rounds) = if test { (4, 1) } else { (3_334, 7) };
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().expect("threads");
    let session = Session { buffer_size: 1 << 20, ..Session::windows10() };
    let spec = MemorySpec { samples, processes: 3_000, session, keep: false, ..MemorySpec::default() };
    let path = generated::memory(&spec);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let trace = Trace::open(&path).expect("the trace");
        let set = MemorySet::answer(&trace, &MemoryQuery::default()).expect("memory over time");
        times.push(begin.elapsed());
        let entries: u64 = set.processes.iter().map(|process| process.count).sum();
        assert_eq!((entries, set.samples.len() as u64), (samples * 3_000, samples));
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("{} entries in {median:.2?} (median of {rounds}): {times:.2?}", samples * 3_000);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let anonymous = status.lines().find(|line| line.starts_with("RssAnon"));
        println!("    {}", anonymous.unwrap_or("memory unknown"));
    }
    if test || median <= MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
