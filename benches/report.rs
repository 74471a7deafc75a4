//! Speed of the report: `cargo bench --bench report`, beside the analyses whose results it shows, each as a user runs it, on two
//! threads.
//!
//! On generated traces in the page cache: 4,194,304 pages, and two million page accesses. The report may take 1.5 times as long
//! as the analyses, and its file may have 6 MiB; the size fails the bench, times only tell.

mod generated;

use etl_writer::ResidentSpec;
use etl_writer::refset::RefsetSpec;
use generated::median;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const THREADS: &str = "2";
const ROUNDS: usize = 7;
const MOST_BYTES: usize = 6 << 20;

/// What the report shows, as commands. Those that a trace has no events for end at once.
const ANALYSES: [&[&str]; 5] = [
    &["resident"],
    &["resident", "--group-by", "category,process,detail"],
    &["refset", "--group-by", "impact,process"],
    &["memory"],
    &["cpu"],
];

fn run(arguments: &[&str], trace: &Path) -> (Duration, usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.args(arguments).arg(trace).args(["-q", "-j", THREADS]).stderr(Stdio::null());
    let begin = Instant::now();
    let output = command.output().expect("the command runs");
    (begin.elapsed(), output.stdout.len())
}

/// Prints the figures of a trace; false when the page is too large.
fn measure(trace: &Path, rounds: usize) -> bool {
    let (mut analyses, mut reports, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        analyses.push(ANALYSES.iter().map(|arguments| run(arguments, trace).0).sum());
        let (time, size) = run(&["report"], trace);
        reports.push(time);
        bytes = size;
    }
    let (analyses, report) = (median(analyses), median(reports));
    let ratio = report.as_secs_f64() / analyses.as_secs_f64();
    println!("{}: report {report:.1?}, analyses {analyses:.1?}: {ratio:.2} times, {bytes} bytes", trace.display());
    bytes <= MOST_BYTES
}

fn main() -> ExitCode {
    // `cargo test --benches` runs benches too, to see that they work: small traces will do then.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (pages, events, rounds) =
        if is_test { (50_000, 20_000, 1) } else { (ResidentSpec::default().pages, 2_000_000, ROUNDS) };
    let resident = generated::resident(&ResidentSpec { pages, ..ResidentSpec::default() });
    let refset = generated::refset(&RefsetSpec { events, ..RefsetSpec::default() });
    let fits = [resident, refset].iter().all(|trace| measure(trace, rounds));
    if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
