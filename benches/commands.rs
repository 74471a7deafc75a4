//! Speed of the other commands: `cargo bench --bench commands`, each as a user runs it, on two threads, its output read by
//! nobody.
//!
//! On the generated trace of 4,194,304 pages in the page cache. What reads every record is told in records per second,
//! what prints a row for each page in time per row. `--refset` measures the same on the trace of page accesses.

mod generated;

use etl_writer::ResidentSpec;
use etl_writer::refset::RefsetSpec;
use generated::{AgainstFloor, against_floor, sum_of_words};
use pfnset::etl::EtlFile;
use pfnset::trace::Survey;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

const THREADS: &str = "2";
const ROUNDS: usize = 9;

/// Commands that read every record once.
const RECORDS: [&[&str]; 4] = [&["info"], &["events"], &["events", "--digest"], &["processes"]];

/// Commands that write a row for each page.
const PAGES: [&[&str]; 4] = [
    &["pages", "--format", "csv"],
    &["pages", "--format", "jsonl"],
    &["pages", "--format", "xperf"],
    &["pages", "--where", "category=Driver"],
];

/// Times of a command, and of the floor.
fn run(arguments: &[&str], trace: &Path, rounds: usize) -> AgainstFloor {
    against_floor(trace, rounds, || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
        command.args(arguments).arg(trace).args(["-j", THREADS]);
        command
    })
}

fn measure(trace: &Path, pages: Option<u64>, rounds: usize) {
    let etl = EtlFile::open(trace).expect("a sound trace");
    black_box(sum_of_words(&etl)); // the file into the page cache
    let records = Survey::new(&etl).total;
    println!("{records} records, {} bytes, medians of {rounds}:", etl.size_bytes());
    for arguments in RECORDS {
        let AgainstFloor { run, least, ratio, .. } = run(arguments, trace, rounds);
        let rate = records as f64 / 1e6 / run.as_secs_f64();
        let name = arguments.join(" ");
        println!("  {name:<32} {run:>9.1?} (least {least:.1?})  {rate:>6.1} M records/s, {ratio:.1} floors");
    }
    check(trace, rounds);
    let Some(pages) = pages else { return };
    for arguments in PAGES {
        let AgainstFloor { run, least, ratio, .. } = run(arguments, trace, rounds.div_ceil(3));
        let row = run.as_secs_f64() * 1e9 / pages as f64;
        let name = arguments.join(" ");
        println!("  {name:<32} {run:>9.1?} (least {least:.1?})  {row:>6.1} ns a page, {ratio:.1} floors");
    }
}

/// Three budgets of one trace: the walk is the same for all of them.
fn check(trace: &Path, rounds: usize) {
    const BUDGETS: &str = "[[budget]]\nname = \"Files\"\nwhere = { class = \"File\" }\nmax = \"100 %\"\n\
        [[budget]]\nname = \"Services\"\nwhere = { process = \"svchost*\" }\nmax = \"100 %\"\n\
        [[budget]]\nname = \"All\"\nmax = \"100 %\"\n";
    let budgets = trace.with_extension("budgets.toml");
    std::fs::write(&budgets, BUDGETS).expect("room for the budgets");
    let budgets = ["check", "--budgets", budgets.to_str().expect("a plain path")];
    let AgainstFloor { run, least, ratio, .. } = run(&budgets, trace, rounds);
    println!("  {:<32} {run:>9.1?} (least {least:.1?}), {ratio:.1} floors", "check, 3 budgets");
}

fn main() {
    if generated::is_floor() {
        return;
    }
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().expect("threads");
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    let (spec, rounds) = match has("--test") {
        true => (ResidentSpec { pages: 50_000, ..ResidentSpec::default() }, 1),
        false => (ResidentSpec::default(), ROUNDS),
    };
    if has("--refset") {
        measure(&generated::refset(&RefsetSpec::default()), None, rounds);
    } else {
        measure(&generated::resident(&spec), Some(spec.pages), rounds);
    }
}
