//! Killed at any moment, a dataset is for each trace as before or complete, once the next run has opened it; and every file
//! in it is whole at any moment.

use super::{batches, parts};
use crate::program::{command, out};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TRACES: [&str; 3] = ["resident-small.etl", "refset-small.etl", "cpu-compressed.etl"];
const ROUNDS: u32 = 50;

fn export(dataset: &Path) -> Command {
    let mut command = command(&["export"]);
    command.args(TRACES).args(["--pages", "-q", "-j", "2", "--out"]).arg(dataset);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Files of each trace, without the partition.
fn by_trace(dataset: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in parts(dataset) {
        let path = path.strip_prefix(dataset).unwrap().to_string_lossy().replace('\\', "/");
        let [table, trace, file] = path.split('/').collect::<Vec<_>>()[..] else { panic!("{path}") };
        all.entry(trace.to_owned()).or_default().insert(format!("{table}/{file}"));
    }
    all
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), target).map(drop).unwrap()
        }
    }
}

/// Random enough for times, and the same in each run.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn a_dataset_is_as_before_or_complete_for_each_trace() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let before = at("before");
    let csv = [&["export"][..], &TRACES, &["-q", "--format", "csv", "--out", before.to_str().unwrap()]].concat();
    out(&csv);
    let begin = Instant::now();
    assert!(export(&at("complete")).status().unwrap().success());
    let whole_run = begin.elapsed();
    let (before, complete) = (by_trace(&at("before")), by_trace(&at("complete")));
    let dataset = at("dataset");
    let (mut state, mut kills, mut mixed, mut kept, mut replaced) = (1, 0, 0, 0, 0);
    for round in 0..ROUNDS {
        let _ = fs::remove_dir_all(&dataset);
        if round % 2 == 0 {
            copy(&at("before"), &dataset);
        }
        let mut child = export(&dataset).spawn().unwrap();
        // The end, where parts are moved, is a short part of the run: aim at it more often than elsewhere.
        let (least, span) = if round % 3 == 0 { (0, 1000) } else { (300, 900) };
        std::thread::sleep(whole_run * (least + next(&mut state) % span) as u32 / 1000);
        child.kill().unwrap();
        kills += u32::from(!child.wait().unwrap().success());
        for path in parts(&dataset).into_iter().filter(|path| path.extension().is_some_and(|e| e == "parquet")) {
            batches(&path); // panics on a file that is not whole
        }
        let expected = |now: &BTreeMap<String, BTreeSet<String>>, trace: &String| match now.get(trace) {
            found if found == complete.get(trace) => Some(true),
            None if round % 2 == 1 => Some(false),
            found if round % 2 == 0 && found == before.get(trace) => Some(false),
            _ => None,
        };
        mixed += complete.keys().filter(|trace| expected(&by_trace(&dataset), trace).is_none()).count();
        // Whatever is exported next finishes what was begun.
        out(&["export", "refset-proved.etl", "-q", "--tables", "traces", "--out", dataset.to_str().unwrap()]);
        let now = by_trace(&dataset);
        for trace in complete.keys() {
            match expected(&now, trace) {
                Some(true) => replaced += 1,
                Some(false) => kept += 1,
                None => panic!("round {round}, {trace}: {:#?}", now.get(trace)),
            }
        }
        assert_eq!(fs::read_dir(dataset.join(".pfnset").join("work")).unwrap().count(), 0, "round {round}");
    }
    println!("{kills} killed, {replaced} complete, {kept} as before, {mixed} that the next run had to finish");
    assert!(kills > 10 && kept > 10 && replaced > 10, "{kills} {kept} {replaced}");
    assert!(whole_run < Duration::from_secs(60));
}
