//! Whatever a command prints fits the terminal: each line of each table, its headings, notes and warnings.

use crate::program::{finish, fixtures, pfnset, trace_commands};
use crate::random_cases::one_in;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;

/// Flags with which commands print other lines. A command that is not listed runs without flags.
const FLAGS: [&str; 25] = [
    "allocations --preset leaks --group-by process,function",
    "allocations --preset lifetimes",
    "allocations --of pool --preset churn --group-by tag,pool,session",
    "allocations --timeline 1",
    "resident --all --wpa",
    "resident --pivot list --group-by use",
    "resident --group-by process_name --columns size,active,standby",
    "resident --group-by process,category,file --sort name",
    "resident --group-by list,priority,use,category_wpa",
    "resident --preset files --top 5 --unit kib",
    "resident --explain 0x100",
    "resident --explain 0x7ff610333000 --process 1284",
    "events --digest",
    "events --name nothing",
    "refset --group-by impact,process,file",
    "refset --group-by access_reason,release_reason --where process=*",
    "refset --timeline 10ms",
    "refset --timeline 20ms --group-by file",
    "refset --sort peak --top 99",
    "refset --group-by file,detail --columns share,pages",
    "resident --group-by file --all",
    "processes --columns parent,private,start_s",
    "refset --verify",
    "processes --group-by session,name",
    "pages --snapshot all",
];

fn too_wide(folder: &Path, line: &str, trace: &Path, width: usize) -> Vec<String> {
    let mut words = line.split(' ');
    let command = words.next().expect("a command");
    let trace = trace.to_str().expect("a plain name");
    let arguments: Vec<&str> = [command, trace].into_iter().chain(words).collect();
    let ran = finish(pfnset(&arguments).current_dir(folder).env("COLUMNS", width.to_string()));
    let lines = ran.out.lines().filter(|line| line.width() > width);
    lines.take(2).map(|text| format!("{line} {trace} at {width} columns: {} wide: {text}", text.width())).collect()
}

/// The traces with all flags at all widths; the samples beside the repository without flags at the smallest, where lines are
/// longest for it. Of both a part, each time another.
fn runs() -> Vec<(PathBuf, String, usize)> {
    let commands = trace_commands();
    let with_flags: Vec<&str> = commands.iter().map(String::as_str).chain(FLAGS).collect();
    let mut runs = Vec::new();
    for trace in etl_files(&fixtures()) {
        let lines = with_flags.iter().flat_map(|line| [60, 80, 100].map(|width| (line, width)));
        let lines = lines.map(|(line, width)| (trace.clone(), line.to_string(), width));
        runs.extend(one_in(16, lines.collect()));
    }
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    let samples = ["real", "synthetic"].iter().flat_map(|folder| etl_files(&samples.join(folder)));
    let lines = samples.flat_map(|trace| commands.iter().map(move |command| (trace.clone(), command.clone(), 60)));
    runs.extend(one_in(16, lines.collect()));
    runs
}

fn etl_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "etl")).collect();
    files.sort();
    files
}

#[test]
fn every_line_fits() {
    let folder = fixtures();
    let runs = runs();
    let wide: Vec<String> =
        runs.par_iter().flat_map_iter(|(trace, line, width)| too_wide(&folder, line, trace, *width)).collect();
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// Where nothing fits, lines may be wider, and the program does not fail.
#[test]
fn no_terminal_is_too_narrow() {
    let commands = trace_commands();
    let lines = commands.iter().map(String::as_str).chain(FLAGS);
    let runs: Vec<_> = lines.flat_map(|line| [0, 1, 3, 9, 15, 22].map(|width| (line, width))).collect();
    let pages = runs.iter().filter(|(line, _)| *line == "pages").copied().collect::<Vec<_>>();
    for (line, width) in pages.into_iter().chain(one_in(8, runs)) {
        let [command, flags @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else { panic!("no command") };
        for trace in ["resident-small.etl", "refset-small.etl"] {
            let arguments = [&[*command, trace], flags].concat();
            let ran = finish(pfnset(&arguments).env("COLUMNS", width.to_string()));
            assert!(ran.code < 5, "{line} at {width}: {}", ran.err);
        }
    }
}

#[test]
fn help_fits() {
    for command in ["--help".to_owned()].into_iter().chain(trace_commands()) {
        for width in [60, 80, 100] {
            let line = if command == "--help" { vec!["--help"] } else { vec![command.as_str(), "--help"] };
            let out = finish(pfnset(&line).env("COLUMNS", width.to_string())).out;
            let wide: Vec<&str> = out.lines().filter(|line| line.width() > width).collect();
            assert!(wide.is_empty(), "{command} at {width}: {wide:#?}");
        }
    }
}

/// Rows were in the order of a column that had left, or that no table had.
#[test]
fn the_column_that_rows_are_ordered_by_is_shown() {
    for (line, heading) in [
        ("cpu cpu-compressed.etl --sort switches", "Switches"),
        ("cpu cpu-compressed.etl --sort ready", "Ready"),
        ("cpu cpu-compressed.etl --sort preempted", "Lost to others"),
        ("cpu cpu-compressed.etl --sort waits", "Waiting"),
        // Who groups a timeline asks for its groups.
        ("cpu cpu-compressed.etl --timeline 50ms --group-by process", "burn.exe ("),
        ("allocations alloc-x86.etl --of pool --sort pieces", "Allocations"),
        ("allocations alloc-x86.etl --of pool --sort lifetime", "Longest life"),
        ("allocations alloc-x86.etl --of pool --sort oldest", "Oldest/s"),
        ("allocations alloc-x86.etl --of pool --preset lifetimes --sort impacting", "Impacting"),
        ("processes resident-small.etl --sort start", "Start s"),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let ran = finish(pfnset(&arguments).env("COLUMNS", "80"));
        let headings = ran.out.lines().zip(ran.out.lines().skip(1)).find(|(_, below)| below.starts_with('─'));
        let (headings, _) = headings.unwrap_or_else(|| panic!("{line}: {ran:?}"));
        assert!(headings.contains(&format!("  {heading}")) && headings.width() <= 80, "{line}: {}", ran.out);
    }
}
