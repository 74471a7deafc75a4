//! Speed of comparing page by page: `cargo bench --bench diff`, the whole command as a user runs it, on two threads.
//!
//! A generated trace of 4,194,304 pages beside a table of WPA with a row for each page (about 300 MB), both in the page cache.
//! Also prints the most anonymous memory (`RssAnon`) that the command had: 16 bytes a row are 64 MiB. Times depend on the
//! machine, so none fails the bench.

mod generated;

use etl_writer::ResidentSpec;
use generated::most_anonymous_kib;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

fn pfnset(arguments: &[&str], trace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.arg(arguments[0]).arg(trace).args(&arguments[1..]).args(["-q", "-j", "2"]);
    command
}

/// A row of WPA's table for each row of `pfnset pages`. No label of the generated machine holds a comma or a quote.
fn table(trace: &Path) -> PathBuf {
    let path = trace.with_extension("wpa.csv");
    if path.exists() {
        return path;
    }
    let mut pages = pfnset(&["pages", "--format", "csv"], trace).stdout(Stdio::piped()).spawn().expect("the command");
    let rows = BufReader::new(pages.stdout.take().expect("its output"));
    let mut out = BufWriter::new(File::create(&path).expect("a file for the table"));
    writeln!(out, "Process,Page Category,MMList,Page Priority,Page Frame Number,Size (MB),Page Count\r").expect("room");
    for row in rows.lines().skip(1) {
        let row = row.expect("UTF-8");
        let cells: Vec<&str> = row.split(',').collect();
        let [_, pfn, list, priority, _, _, category, process, ..] = cells[..] else { continue };
        let pfn: u64 = pfn.parse().expect("a number");
        writeln!(out, "{process},{category},{list},{priority},0x{pfn:x},0.004,1\r").expect("room");
    }
    out.into_inner().expect("room for the table");
    assert!(pages.wait().expect("the command ends").success());
    path
}

fn measure(pages: u64, rounds: usize) {
    let trace = generated::resident(&ResidentSpec { pages, ..ResidentSpec::default() });
    let table = table(&trace);
    let name = table.to_str().expect("a plain path");
    let command = || {
        let mut command = pfnset(&["diff", name, "--group-by", "category"], &trace);
        command.stdout(Stdio::null());
        command
    };
    let run = || {
        let begin = Instant::now();
        assert!(command().status().expect("the command runs").success(), "the table agrees with its trace");
        begin.elapsed()
    };
    let mut times: Vec<Duration> = (0..rounds).map(|_| run()).collect();
    times.sort_unstable();
    let bytes = std::fs::metadata(&table).expect("the table").len();
    println!("{pages} rows, {bytes} bytes: {:.2?} (median of {rounds})", times[times.len() / 2]);
    if let Some(kib) = most_anonymous_kib(&mut command()) {
        println!("    anonymous memory: {kib} KiB, {:.1} bytes a row", kib as f64 * 1024.0 / pages as f64);
    }
}

fn main() {
    // `cargo test --benches` runs benches too, to see that they work: a small trace will do then.
    match std::env::args().any(|argument| argument == "--test") {
        true => measure(50_000, 1),
        false => measure(ResidentSpec::default().pages, ROUNDS),
    }
}
