//! Generated traces for benches, made once and kept in `target/bench-data`.
//!
//! The generator is the test support's (`tests/writer`): a machine with hundreds of processes and thousands of ranges,
//! and one page record for each physical page, or a scenario of page accesses and releases. A kept trace is made again
//! when the generator's source is newer.

// Each bench uses its own part.
#![allow(dead_code)]

use etl_writer::allocations::{AllocationSpec, generate_allocations};
use etl_writer::record::tracelogging_schema;
use etl_writer::refset::{RefsetSpec, generate_refset};
use etl_writer::sampling::{SamplingSpec, generate_sampling};
use etl_writer::scheduling::{SchedulingSpec, generate_scheduling};
use etl_writer::{MemorySpec, Ptr::P8, Rec, ResidentSpec, Session, Stream, generate_memory, generate_resident};
use pfnset::etl::EtlFile;
use pfnset::input::{Input, UnpackLimits};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Sum of the 8-byte words of all event areas, by all threads: what reading the memory costs.
pub fn sum_of_words(etl: &EtlFile) -> u64 {
    let parts = etl.fold_buffers(
        || 0u64,
        |sum, area| {
            let (words, _) = area.bytes.as_chunks::<8>();
            *sum = words.iter().fold(*sum, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        },
    );
    parts.iter().fold(0, |all, part| all.wrapping_add(*part))
}

/// The argument with which a bench sums the words of a file instead of what it else does.
const FLOOR: &str = "--floor-of";

/// A command that maps a file, sums its 8-byte words with two threads, and ends: the least that any program pays that looks at
/// the whole file. It is this bench again, whose `main` calls [`is_floor`] first.
pub fn floor(trace: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this bench"));
    command.arg(FLOOR).arg(trace).stdout(Stdio::null());
    command
}

/// The number after an argument of this bench.
pub fn number_after(name: &str) -> Option<u64> {
    let number = std::env::args().skip_while(|argument| argument != name).nth(1)?;
    Some(number.parse().expect("a number"))
}

/// Times of a command and of the [`floor`] of its trace, run in turns.
pub struct AgainstFloor {
    /// Median of the command.
    pub run: Duration,
    /// The fastest.
    pub least: Duration,
    /// Median of the floor.
    pub floor: Duration,
    /// How many floors the command takes, median of the pairs.
    pub ratio: f64,
}

/// Measures a command that `command` makes, its output read by nobody.
pub fn against_floor(trace: &Path, rounds: usize, command: impl Fn() -> Command) -> AgainstFloor {
    let run = |mut command: Command| {
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.expect("the command runs").success());
    };
    run(floor(trace)); // the file into the page cache
    let (mut floors, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        floors.push(timed(|| run(floor(trace))));
        runs.push(timed(|| run(command())));
    }
    let mut ratios: Vec<f64> = floors.iter().zip(&runs).map(|(floor, run)| run.div_duration_f64(*floor)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let ratio = ratios.get(rounds / 2).copied().unwrap_or_default();
    let least = runs.iter().min().copied().unwrap_or_default();
    AgainstFloor { run: median(runs), least, floor: median(floors), ratio }
}

/// True when this process is a [`floor`]; it has done its work then.
pub fn is_floor() -> bool {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [floor, trace] = arguments.as_slice() else { return false };
    if floor != FLOOR {
        return false;
    }
    let file = Input::open(Path::new(trace), &UnpackLimits::default()).expect("a readable trace");
    let next = AtomicUsize::new(0);
    let sum = || {
        let mut sum = 0u64;
        while let Some(part) = file.bytes().chunks(1 << 19).nth(next.fetch_add(1, Ordering::Relaxed)) {
            sum = part.as_chunks::<8>().0.iter().fold(sum, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        }
        sum
    };
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(sum);
        sum().wrapping_add(other.join().expect("the other thread"))
    });
    println!("{both}");
    true
}

/// The resident-set trace of `spec`, an uncompressed one of `spec.pages` pages.
pub fn resident(spec: &ResidentSpec) -> PathBuf {
    kept(&format!("resident-{}-seed{}.etl", spec.pages, spec.seed), |out| {
        let (out, truth) = generate_resident(spec, out)?;
        Ok((out, truth.bytes))
    })
}

/// The scheduler's trace of `spec`.
pub fn scheduling(spec: &SchedulingSpec) -> PathBuf {
    kept(&format!("scheduling-{}-seed{}.etl", spec.switches, spec.seed), |out| generate_scheduling(spec, out))
}

/// The samples of `spec`, with their stacks.
pub fn sampling(spec: &SamplingSpec) -> PathBuf {
    let name = format!("sampling-{}-{}x{}-seed{}.etl", spec.samples, spec.stacks, spec.frames, spec.seed);
    kept(&name, |out| generate_sampling(spec, out))
}

/// So many TraceLogging events of three kinds, 1 µs apart, on four processors.
pub fn trace_logging(events: u64) -> PathBuf {
    kept(&format!("trace-logging-{events}.etl"), |out| {
        let session = Session { processors: 4, ..Session::windows10() };
        let traits = [&[20, 0][..], b"Acme.Storage.Diag\0"].concat();
        let kind = |name: &str, fields: &[(&str, u8)], payload: &[u8]| {
            let record = Rec { channel: 11, ..Rec::event(P8, [9; 16], 0, 0, payload.to_vec()) };
            record.with_item(11, &tracelogging_schema(name, fields)).with_item(12, &traits).by(1000, 400)
        };
        // In-types: 8 unsigned of 4 bytes, 10 of 8, 16 pointer, 2 8-bit text.
        let kinds = [
            kind("ReadDone", &[("Offset", 10), ("Bytes", 8), ("Status", 7)], &[7; 16]),
            kind("Opened", &[("Path", 2), ("Handle", 16)], b"C:\\data\\store-17.db\0\x10\0\0\0\0\0\0\0"),
            kind("Tick", &[("Count", 8)], &[1, 2, 3, 4]),
        ];
        let mut stream = Stream::new(session.clone(), &[], out)?;
        for (number, kind) in (0..events).zip(kinds.iter().cycle()) {
            let record = kind.clone().at(session.t0 + 1000 + number * 10).on((number / 64 % 4) as u16);
            stream.push(&record)?;
        }
        stream.finish()
    })
}

/// The pool trace of `spec`.
pub fn allocations(spec: &AllocationSpec) -> PathBuf {
    let of = if spec.is_of_heaps { "heap-" } else { "" };
    let name = format!("allocations-{of}{}-live{}-seed{}.etl", spec.records, spec.live, spec.seed);
    kept(&name, |out| generate_allocations(spec, out))
}

/// The reference-set trace of `spec`, an uncompressed one of about `spec.events` page events.
pub fn refset(spec: &RefsetSpec) -> PathBuf {
    let stacks = if spec.stacks > 0 { format!("-stacks{}", spec.stacks) } else { String::new() };
    kept(&format!("refset-{}{stacks}-seed{}.etl", spec.events, spec.seed), |out| {
        let (out, truth) = generate_refset(spec, out)?;
        Ok((out, truth.bytes))
    })
}

/// The most anonymous memory (`RssAnon`) of one run of a command, KiB; on Linux only.
pub fn most_anonymous_kib(command: &mut Command) -> Option<u64> {
    let mut child = command.stdout(Stdio::null()).spawn().expect("the command runs");
    let status = format!("/proc/{}/status", child.id());
    let mut most = None;
    while child.try_wait().expect("the command is there").is_none() {
        let Ok(text) = fs::read_to_string(&status) else { continue };
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        most = most.max(line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()));
        std::thread::sleep(Duration::from_micros(200)); // the processors are the command's
    }
    most
}

/// The trace of `spec`, with `spec.samples` samples of the working sets of `spec.processes` processes.
pub fn memory(spec: &MemorySpec) -> PathBuf {
    kept(&format!("memory-{}x{}-seed{}.etl", spec.samples, spec.processes, spec.seed), |out| {
        let (out, truth) = generate_memory(spec, out)?;
        Ok((out, truth.bytes))
    })
}

/// How long this takes once.
pub fn timed(run: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    run();
    begin.elapsed()
}

/// The median of some times; zero of none.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Median time of each, run in turns so that a busy machine hurts all alike; the first round only warms up.
pub fn medians<const N: usize>(rounds: usize, runs: [&dyn Fn(); N]) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for round in 0..=rounds {
        for (run, times) in runs.iter().zip(&mut times) {
            let time = timed(run);
            if round > 0 {
                times.push(time);
            }
        }
    }
    times.map(median)
}

type Out = BufWriter<File>;

/// The trace of this name; made when it is not there yet. `make` also tells its size in bytes.
fn kept(name: &str, make: impl FnOnce(Out) -> io::Result<(Out, u64)>) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let path = folder.join("bench-data").join(name);
    let made = fs::metadata(&path).and_then(|m| m.modified()).ok();
    if made.is_some_and(|made| made > newest(&root.join("tests/writer/src"))) {
        return path;
    }
    let begin = Instant::now();
    fs::create_dir_all(folder.join("bench-data")).expect("a folder for bench data");
    let part = path.with_extension("part");
    let out = BufWriter::with_capacity(1 << 20, File::create(&part).expect("a file for the trace"));
    let (out, bytes) = make(out).expect("room for the trace");
    out.into_inner().expect("room for the trace");
    fs::rename(&part, &path).expect("the trace in place");
    eprintln!("made {}: {} bytes in {:.1?}", path.display(), bytes, begin.elapsed());
    path
}

/// When a file below `folder` was changed last.
fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).expect("the generator's source").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => newest(&entry.path()),
            _ => entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH),
        })
        .max()
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
