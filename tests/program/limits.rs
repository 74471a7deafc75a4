//! Where the system gives less than is asked for: little memory, no threads.
#![cfg(unix)]

use crate::program::{Ran, finish, fixtures, program, run, skipped_on_windows};
use crate::random_cases::one_in;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::time::Duration;

const TRACE: &str = "resident-small.etl";

/// Runs the program where no more than this many KiB of addresses can be had.
pub(crate) fn in_memory(kibibytes: u32, arguments: &[&str]) -> Ran {
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kibibytes}; exec \"$@\""), "sh"]).arg(program());
    // Each thread would take 64 MiB of addresses of its own; the allocator of the program for Linux would keep what it had.
    let limits = [("MALLOC_ARENA_MAX", "1"), ("MIMALLOC_DISALLOW_ARENA_ALLOC", "1")];
    finish(command.args(arguments).current_dir(fixtures()).envs(limits))
}

/// An archive for which memory would be enough, if it were there.
#[test]
fn what_memory_does_not_hold_goes_to_a_file() {
    if skipped_on_windows("what_memory_does_not_hold_goes_to_a_file", "limits of memory are those of Unix") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.etl.gz");
    let packed = |bytes: &[u8]| {
        let mut archive = GzEncoder::new(Vec::new(), Compression::fast());
        archive.write_all(bytes).unwrap();
        archive.finish().unwrap()
    };
    // What follows the trace is no buffer, and does not shrink so much that it would be refused.
    let mut rng = etl_writer::Rng::new(1);
    let mut piece = vec![0; 1 << 20];
    piece.iter_mut().step_by(64).for_each(|byte| *byte = rng.word() as u8);
    let trace = packed(&std::fs::read(fixtures().join(TRACE)).unwrap());
    std::fs::write(&path, [trace, packed(&piece).repeat(320)].concat()).unwrap();
    let path = path.to_str().unwrap();
    let arguments = ["info", path, "--format", "json", "-j", "1", "-q"];
    assert_eq!(in_memory(600 << 10, &arguments), run(&arguments));
    // Not even for the file's map: a message and no abort.
    let ran = in_memory(200 << 10, &arguments);
    assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{}", ran.err);
}

/// Stacks of 256 TiB: no thread can be had.
#[test]
fn without_threads_one_does_all() {
    if skipped_on_windows("without_threads_one_does_all", "threads of Windows take their memory later") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut archive = GzEncoder::new(Vec::new(), Compression::fast());
    archive.write_all(&std::fs::read(fixtures().join(TRACE)).unwrap()).unwrap();
    std::fs::write(at("t.gz"), archive.finish().unwrap()).unwrap();
    std::fs::write(at("b.toml"), "[[budget]]\nname = \"a\"\nmax = \"90 %\"\n").unwrap();
    let [dataset, packed, budgets] = ["d", "t.gz", "b.toml"].map(at);
    let all = [
        &["info", TRACE][..],
        &["events", TRACE, "--digest"],
        &["resident", &packed],
        &["resident", TRACE, "--format", "json", "-j", "8"],
        &["pages", TRACE, "--format", "csv"],
        &["processes", TRACE],
        &["memory", TRACE],
        &["refset", "refset-small.etl", "--format", "json"],
        &["cpu", "cpu-compressed.etl"],
        &["diff", TRACE, &packed],
        &["check", TRACE, "--budgets", &budgets],
        &["report", TRACE],
        &["anonymize", TRACE, "-o", &at("x.etl"), "--secret", "s", "--force", "-q"],
        &["export", TRACE, "refset-small.etl", "--out", &dataset, "-q"],
    ];
    for arguments in one_in(2, all.to_vec()) {
        let mut alone = assert_cmd::Command::new(program());
        alone.args(arguments).current_dir(fixtures()).env("RUST_MIN_STACK", (1u64 << 48).to_string());
        let (alone, usual) = (finish(alone.timeout(Duration::from_secs(60))), run(arguments));
        assert!(alone.code < 2, "{arguments:?}: {}", alone.err);
        assert_eq!(alone, usual, "{arguments:?}");
    }
}
