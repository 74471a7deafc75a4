//! Speed of the export: `cargo bench --bench export`, the whole command as a user runs it, on two threads.
//!
//! On a generated, uncompressed trace of 4,194,304 pages (a machine of 16 GiB) in the page cache: all tables with a row for
//! each page. Prints rows of `pages` in a second, bytes of each table, and the most anonymous memory. More than 12 bytes a page
//! in the table `pages` or more than 256 MiB fail the bench; times depend on the machine and do not.

mod generated;

use etl_writer::ResidentSpec;
use generated::{AgainstFloor, against_floor, most_anonymous_kib};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

const MOST_ANONYMOUS_KIB: u64 = 256 * 1024;
const MOST_BYTES: f64 = 12.0;
const TABLES: [&str; 5] = ["pages", "resident", "ranges", "files", "processes"];

fn command(trace: &Path, dataset: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pfnset"));
    command.arg("export").arg(trace).arg("--out").arg(dataset).args(["-j", "2", "-q"]).args(more);
    command.stdout(Stdio::null());
    command
}

/// Bytes of a table.
fn size(table: &Path) -> u64 {
    let entries = std::fs::read_dir(table).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.map(|path| if path.is_dir() { size(&path) } else { path.metadata().map_or(0, |data| data.len()) }).sum()
}

fn main() -> ExitCode {
    if generated::is_floor() {
        return ExitCode::SUCCESS;
    }
    let test = std::env::args().any(|argument| argument == "--test");
    let (pages, rounds) = if test { (50_000, 1) } else { (ResidentSpec::default().pages, 7) };
    let trace = generated::resident(&ResidentSpec { pages, ..ResidentSpec::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let mut good = true;
    for (name, more) in [
        ("all tables, --pages", &["--pages"][..]),
        ("without --pages", &[]),
        ("--tables pages", &["--tables", "pages"]),
    ] {
        let AgainstFloor { run, ratio, .. } = against_floor(&trace, rounds, || command(&trace, folder.path(), more));
        let rate = pages as f64 / run.as_secs_f64() / 1e6;
        println!("{name}: {pages} pages in {run:.2?} (median of {rounds}), {rate:.2} M pages/s, {ratio:.1} floors");
        if let Some(kib) = most_anonymous_kib(&mut command(&trace, folder.path(), more)) {
            println!("    anonymous memory: {kib} KiB");
            good &= kib <= MOST_ANONYMOUS_KIB;
        }
    }
    for table in TABLES {
        let bytes = size(&folder.path().join(table));
        println!("    {table}: {bytes} bytes, {:.2} a page", bytes as f64 / pages as f64);
        good &= table != "pages" || bytes as f64 / pages as f64 <= MOST_BYTES;
    }
    if test || good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
