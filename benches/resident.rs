//! Speed of the resident set: `cargo bench --bench resident`, the whole command as a user runs it, on two threads.
//!
//! On generated, uncompressed traces of 4,194,304 pages (a machine of 16 GiB) and of four times as many, in the page
//! cache; `-- --pages N` for another number. The yardstick is the floor: a fresh process that maps the file and sums its 8-byte
//! words by two threads, taken in turns with the command. Also prints the most anonymous memory (`RssAnon`) that the command
//! had, where the system tells, and how the time is divided. Times depend on the machine, so none fails the bench; more than
//! 64 MiB of anonymous memory does.

mod generated;

use etl_writer::ResidentSpec;
use generated::{AgainstFloor, against_floor, median, most_anonymous_kib, timed};
use pfnset::analysis::resident::query::ResidentQuery;
use pfnset::analysis::resident::{ResidentSet, SnapshotContext};
use pfnset::trace::Trace;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

const THREADS: usize = 2;
const MOST_ANONYMOUS_KIB: u64 = 64 * 1024;
const ROUNDS: usize = 21;

fn command(trace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.arg("resident").arg(trace).arg("-j").arg(THREADS.to_string()).stdout(Stdio::null());
    command
}

/// Medians of the phases of the work, in this process.
fn phases(path: &Path, rounds: usize) {
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        let mut trace = None;
        let open = timed(|| trace = Trace::open(path).ok());
        let trace = trace.expect("a sound trace");
        let survey = timed(|| assert!(!trace.snapshots().is_empty(), "page records"));
        let context = timed(|| drop(black_box(SnapshotContext::new(&trace, &trace.snapshots()[0]))));
        // What the first two gathered is kept, so only the context is made again.
        let all = timed(|| drop(black_box(ResidentSet::answer(&trace, &ResidentQuery::default()))));
        let rest = all.saturating_sub(context);
        times.iter_mut().zip([open, survey, context, rest]).for_each(|(times, time)| times.push(time));
    }
    let [open, survey, context, rest] = times.map(median);
    println!("    of it: open {open:.1?}, survey {survey:.1?}, state at the snapshot {context:.1?}, pages {rest:.1?}");
}

/// Prints the figures of a trace; false when the command had too much memory.
fn measure(pages: u64, rounds: usize) -> bool {
    let trace = generated::resident(&ResidentSpec { pages, ..ResidentSpec::default() });
    let AgainstFloor { run, least, floor, ratio } = against_floor(&trace, rounds, || command(&trace));
    let page = run.as_secs_f64() * 1e9 / pages as f64;
    println!("{pages} pages: {run:.1?} (median of {rounds}, least {least:.1?}), {page:.1} ns a page");
    println!("    floor {floor:.1?}: {ratio:.1} floors (median of the pairs)");
    let anonymous = (0..3).filter_map(|_| most_anonymous_kib(&mut command(&trace))).max();
    if let Some(kib) = anonymous {
        println!("    anonymous memory: {kib} KiB");
    }
    phases(&trace, rounds.div_ceil(3));
    anonymous.is_none_or(|kib| kib <= MOST_ANONYMOUS_KIB)
}

fn main() -> ExitCode {
    if generated::is_floor() {
        return ExitCode::SUCCESS;
    }
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("threads");
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    if std::env::args().any(|argument| argument == "--test") {
        measure(50_000, 1);
        return ExitCode::SUCCESS;
    }
    if let Some(pages) = generated::number_after("--pages") {
        let fits = measure(pages, 3);
        return if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let default = ResidentSpec::default().pages;
    let small = measure(default, ROUNDS);
    let large = std::env::args().any(|argument| argument == "--small") || measure(4 * default, ROUNDS / 3);
    if small && large { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
