//! `pfnset stacks --format firefox`, read back by an own reader of the viewer's processed format (version 55): tables have equal columns,
//! numbers point into tables, stacks have an end; and what it says is what the other forms say.

use crate::program::{out, run};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A thread as it was read.
struct Thread {
    process: String,
    unit: String,
    /// For each sample its stack, outermost first, and its weight.
    samples: Vec<(Vec<String>, i64)>,
    /// Time, piece, bytes.
    allocations: Vec<(f64, u64, i64)>,
    markers: Vec<(String, String)>,
}

struct Read {
    threads: Vec<Thread>,
    libraries: Vec<Value>,
    interval: f64,
}

/// A table whose columns all have its length.
struct Table<'v>(&'v Value, usize);

impl<'v> Table<'v> {
    fn of(holder: &'v Value, name: &str, columns: &[&str]) -> Table<'v> {
        let table = &holder[name];
        let length = table["length"].as_u64().unwrap_or_else(|| panic!("{name} has a length: {table}")) as usize;
        for column in columns {
            assert_eq!(table[column].as_array().map(Vec::len), Some(length), "{name}.{column}");
        }
        Table(table, length)
    }

    /// A cell that is the index of a row, or nothing (`null`, or -1).
    fn index(&self, column: &str, row: usize, below: usize) -> Option<usize> {
        let cell = &self.0[column][row];
        if cell.is_null() || *cell == json!(-1) {
            return None;
        }
        let index = cell.as_u64().unwrap_or_else(|| panic!("{column}: {cell}")) as usize;
        assert!(index < below, "{column}[{row}] = {index}, of {below}");
        Some(index)
    }
}

/// The names of all stacks of a thread, outermost first. `module!function`, `module`, or a text.
fn stacks(thread: &Value, libraries: &[Value], categories: usize) -> Vec<Vec<String>> {
    let strings = thread["stringArray"].as_array().expect("strings");
    let text = |index: usize| strings[index].as_str().expect("a text").replace(';', ":");
    let frames =
        Table::of(thread, "frameTable", &["address", "func", "nativeSymbol", "category", "inlineDepth", "line"]);
    let functions = Table::of(thread, "funcTable", &["name", "isJS", "relevantForJS", "resource", "fileName"]);
    let resources = Table::of(thread, "resourceTable", &["lib", "name", "host", "type"]);
    let symbols = Table::of(thread, "nativeSymbols", &["address", "functionSize", "libIndex", "name"]);
    let table = Table::of(thread, "stackTable", &["frame", "prefix"]);
    let name = |frame: usize| {
        frames.index("category", frame, categories).expect("a category");
        let function = frames.index("func", frame, functions.1).expect("a function");
        let own = text(functions.index("name", function, strings.len()).expect("a name"));
        let Some(resource) = functions.index("resource", function, resources.1) else { return own };
        let library = resources.index("lib", resource, libraries.len()).expect("a library");
        let module = libraries[library]["name"].as_str().expect("a name").replace(';', ":");
        let address = frames.index("address", frame, usize::MAX).expect("an address");
        match frames.index("nativeSymbol", frame, symbols.1) {
            Some(symbol) => {
                assert_eq!(text(symbols.index("name", symbol, strings.len()).expect("a name")), own);
                assert_eq!(symbols.index("libIndex", symbol, libraries.len()), Some(library));
                format!("{module}!{own}")
            }
            None => {
                assert_eq!(own, format!("0x{address:x}"));
                module
            }
        }
    };
    let mut all: Vec<Vec<String>> = Vec::new();
    for row in 0..table.1 {
        // What called comes before what was called, so no stack is without end.
        let mut stack = table.index("prefix", row, row).map_or_else(Vec::new, |prefix| all[prefix].clone());
        stack.push(name(table.index("frame", row, frames.1).expect("a frame")));
        all.push(stack);
    }
    all
}

fn numbers<'v>(table: &Table<'v>, column: &str) -> impl Iterator<Item = f64> + use<'v> {
    table.0[column].as_array().expect("a column").iter().map(|cell| cell.as_f64().expect("a number"))
}

fn thread(thread: &Value, libraries: &[Value], categories: usize) -> Thread {
    let stacks = stacks(thread, libraries, categories);
    let strings = thread["stringArray"].as_array().expect("strings");
    let stack =
        |table: &Table<'_>, row| table.index("stack", row, stacks.len()).map_or_else(Vec::new, |at| stacks[at].clone());
    let samples = Table::of(thread, "samples", &["stack", "timeDeltas", "weight", "threadCPUDelta"]);
    assert!(numbers(&samples, "timeDeltas").chain(numbers(&samples, "threadCPUDelta")).all(|delta| delta >= 0.0));
    let weight = |row: usize| samples.0["weight"][row].as_i64().expect("a whole weight");
    let mut allocations = Vec::new();
    if !thread["nativeAllocations"].is_null() {
        let columns = ["time", "weight", "stack", "memoryAddress", "threadId"];
        let table = Table::of(thread, "nativeAllocations", &columns);
        assert_eq!(table.0["weightType"], "bytes");
        for (row, time) in numbers(&table, "time").enumerate() {
            stack(&table, row);
            let piece = table.0["memoryAddress"][row].as_u64().expect("a piece");
            assert!(piece < 1 << 53, "JavaScript has no such whole number: {piece}");
            allocations.push((time, piece, table.0["weight"][row].as_i64().expect("bytes")));
        }
    }
    let marks = Table::of(thread, "markers", &["name", "startTime", "endTime", "phase", "category", "data"]);
    let text = |index: &Value| strings[index.as_u64().expect("a string") as usize].as_str().expect("a text").to_owned();
    let mark = |row: usize| {
        let data = &marks.0["data"][row];
        let content = data["text"].as_str().map_or_else(|| text(&data["text"]), str::to_owned);
        (text(&marks.0["name"][row]), content)
    };
    Thread {
        process: thread["processName"].as_str().expect("a name").to_owned(),
        unit: samples.0["weightType"].as_str().expect("a unit").to_owned(),
        samples: (0..samples.1).map(|row| (stack(&samples, row), weight(row))).collect(),
        allocations,
        markers: (0..marks.1).map(mark).collect(),
    }
}

/// Reads a profile; panics where it is not sound.
fn read(text: &str) -> Read {
    let profile: Value = serde_json::from_str(text).expect("JSON");
    let meta = &profile["meta"];
    assert_eq!((&meta["preprocessedProfileVersion"], &meta["symbolicated"]), (&json!(55), &json!(false)));
    let libraries = profile["libs"].as_array().expect("libraries").clone();
    for library in &libraries {
        let id = library["breakpadId"].as_str().expect("an id");
        assert!(id.len() >= 33 && id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{library}");
        assert!(["name", "debugName", "path", "debugPath"].iter().all(|key| library[key].is_string()), "{library}");
    }
    let categories = meta["categories"].as_array().expect("categories").len();
    let all = profile["threads"].as_array().expect("threads");
    let ids: BTreeSet<&str> = all.iter().map(|thread| thread["tid"].as_str().expect("a text")).collect();
    assert_eq!(ids.len(), all.len(), "threads have ids of their own");
    Read {
        threads: all.iter().map(|one| thread(one, &libraries, categories)).collect(),
        libraries,
        interval: meta["interval"].as_f64().expect("milliseconds"),
    }
}

fn profile(arguments: &[&str]) -> Read {
    read(&out(&[&["stacks"], arguments, &["-q", "--format", "firefox"]].concat()))
}

fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&out(&[arguments, &["-q", "--format", "json"]].concat())).expect("JSON")
}

/// Processes with their stacks, and how often each occurs.
type Counts = BTreeMap<Vec<String>, u64>;

fn counts_of_profile(read: &Read) -> Counts {
    let mut counts = Counts::new();
    for thread in &read.threads {
        for (stack, _) in &thread.samples {
            let process = thread.process.replace(';', ":");
            *counts.entry([vec![process], stack.clone()].concat()).or_default() += 1;
        }
    }
    counts
}

/// The same of the form `collapsed`, with the modules alone of frames without a function.
fn counts_of_collapsed(arguments: &[&str]) -> Counts {
    let mut counts = Counts::new();
    for line in out(&[&["stacks"], arguments, &["-q", "--format", "collapsed"]].concat()).lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a count");
        let frame = |frame: &str| match frame.rsplit_once("+0x") {
            Some((module, offset)) if offset.bytes().all(|digit| digit.is_ascii_hexdigit()) => module.to_owned(),
            _ => frame.to_owned(),
        };
        let names = stack.split(';').filter(|name| *name != "[no stack]").map(frame).collect();
        *counts.entry(names).or_default() += count.parse::<u64>().expect("a count");
    }
    counts
}

const TRACE: &str = "stacks-keys.etl";

#[test]
fn it_has_the_stacks_of_all_events() {
    for of in ["samples", "cswitch", "page-access", "hard-fault", "ready", "0x030a"] {
        let read = profile(&[TRACE, "--of", of]);
        let counts = counts_of_profile(&read);
        assert_eq!(counts, counts_of_collapsed(&[TRACE, "--of", of]), "{of}");
        assert!(counts.len() > 5, "{of}");
    }
    let samples = profile(&[TRACE, "--of", "samples"]);
    let weight: i64 = samples.threads.iter().flat_map(|thread| &thread.samples).map(|(_, weight)| weight).sum();
    assert_eq!((weight as f64 * samples.interval, samples.interval), (288.0, 0.5));
}

#[test]
fn it_has_what_the_query_chooses() {
    for more in [
        &["--where", "process=tool.exe*"][..],
        &["--where", "module=ntdll.dll"],
        &["--where", "processor=1"],
        &["--leaf", "hal.dll*"],
        &["--fold", "hal.dll;win32k.sys"],
        &["--max-depth", "2"],
        &["--from", "0.0015"],
    ] {
        let arguments = [&[TRACE, "--of", "samples"], more].concat();
        let counts = counts_of_profile(&profile(&arguments));
        assert_eq!(counts, counts_of_collapsed(&arguments), "{more:?}");
        assert!(!counts.is_empty() && counts.values().sum::<u64>() < 297 || !more[0].contains("where"), "{more:?}");
    }
}

fn place(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/symbols").join(file)
}

#[test]
fn functions_have_names_and_images_their_debug_ids() {
    let trace = place("stacks-symbols.etl.gz").to_string_lossy().into_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let mut bytes = Vec::new();
    let packed = std::fs::read(place("CrashWithException.pdb.gz")).expect("the database");
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
    std::fs::write(folder.path().join("CrashWithException.pdb"), bytes).expect("a file");
    let symbols = folder.path().to_string_lossy().into_owned();
    let arguments = [&*trace, "--symbols", &symbols, "--of", "samples"];
    let read = profile(&arguments);
    let counts = counts_of_profile(&read);
    assert_eq!(counts, counts_of_collapsed(&arguments));
    let is_named = |stack: &Vec<String>| stack.iter().any(|name| name.starts_with("CrashWithException.exe!"));
    assert!(counts.keys().any(is_named), "{counts:?}");
    let of_crash = read.libraries.iter().find(|library| library["debugName"] == "CrashWithException.pdb");
    assert_eq!(of_crash.expect("it")["breakpadId"], "F535C5FB2AE84BB8AA206C30BE566C5A1");
}

/// Waits are whole milliseconds; what is left of one goes to the next one of its thread and stack.
#[test]
fn waits_add_up() {
    let arguments = ["cpu-compressed.etl", "--of", "cswitch"];
    let total = json_of(&[&["stacks"], &arguments[..]].concat())["totals"]["weight"].as_u64().expect("nanoseconds");
    let read = profile(&arguments);
    let waiting: Vec<&Thread> = read.threads.iter().filter(|thread| !thread.samples.is_empty()).collect();
    assert!(waiting.iter().all(|thread| thread.unit == "tracing-ms"));
    let sum: u64 = waiting.iter().flat_map(|thread| &thread.samples).map(|(_, weight)| *weight as u64).sum();
    let exact = total / 1_000_000;
    let stacks: usize =
        waiting.iter().map(|thread| thread.samples.iter().map(|(stack, _)| stack).collect::<BTreeSet<_>>().len()).sum();
    assert!(sum <= exact && exact <= sum + stacks as u64, "{sum} of {exact} ms, {stacks} stacks");
    assert!(sum > 0);
    // What is left at the end is said.
    let told = run(&[&["stacks"], &arguments[..], &["--format", "firefox"]].concat()).err;
    assert_eq!(told.contains(&format!("whole milliseconds: {} ms in all", exact - sum)), exact > sum, "{told}");
}

/// What the viewer calls retained: pieces that were allocated, without those that were freed.
#[test]
fn what_is_retained_is_what_is_never_freed() {
    let mut checked = 0;
    for (of, kind) in [("virtual-alloc", "commit"), ("heap", "heap"), ("pool", "pool")] {
        if run(&["allocations", "alloc-x86.etl", "--of", kind]).code != 0 {
            continue;
        }
        let total = &json_of(&["allocations", "alloc-x86.etl", "--of", kind])["total"];
        let read = profile(&["alloc-x86.etl", "--of", of]);
        let (mut allocated, mut retained, mut freed_only) = (0, 0, 0);
        let mut pieces = BTreeSet::new();
        for thread in &read.threads {
            let mut open: BTreeMap<u64, i64> = BTreeMap::new();
            for (_, piece, bytes) in &thread.allocations {
                match open.remove(piece) {
                    None if *bytes >= 0 => {
                        allocated += bytes;
                        open.insert(*piece, *bytes);
                        assert!(pieces.insert(*piece), "piece {piece} is allocated once");
                    }
                    Some(of_piece) => assert_eq!(of_piece, -bytes),
                    None => freed_only -= bytes,
                }
            }
            retained += open.values().sum::<i64>();
        }
        let of = |key: &str| total[key].as_i64().expect("a number");
        let expected = (of("allocated_bytes"), of("impacting_bytes"), of("freed_only_bytes"));
        assert_eq!((allocated, retained, freed_only), expected, "{kind}");
        checked += 1;
    }
    assert!(checked > 1);
}

#[test]
fn without_a_kind_it_has_all_with_time_or_memory_and_no_thread_mixes_them() {
    let read = profile(&[TRACE]);
    let units: BTreeSet<&str> =
        read.threads.iter().filter(|thread| !thread.samples.is_empty()).map(|thread| &*thread.unit).collect();
    assert_eq!(units, ["bytes", "samples", "tracing-ms"].into());
    let with_both = read.threads.iter().filter(|one| !one.samples.is_empty() && !one.allocations.is_empty());
    assert_eq!(with_both.count(), 0);
}

#[test]
fn doubts_are_in_it() {
    let trace = place("stacks-symbols.etl.gz").to_string_lossy().into_owned();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("CrashWithException.pdb"), b"none").expect("a file");
    let symbols = folder.path().to_string_lossy().into_owned();
    let ran = run(&["stacks", &trace, "--symbols", &symbols, "--format", "firefox"]);
    assert!(ran.code == 0 && ran.err.contains("CrashWithException.pdb"), "{ran:?}");
    let marks: Vec<(String, String)> = read(&ran.out).threads.into_iter().flat_map(|thread| thread.markers).collect();
    let is_told = |(name, text): &(String, String)| name == "Warning" && text.contains("CrashWithException.pdb");
    assert!(marks.iter().any(is_told), "{marks:?}");
    let marked = profile(&["refset-small.etl", "--of", "page-access"]);
    let names: BTreeSet<String> =
        marked.threads.into_iter().flat_map(|thread| thread.markers).map(|(name, _)| name).collect();
    assert!(names.contains("Mark"), "{names:?}");
}

#[test]
fn flags_without_effect_are_refused() {
    for (more, says) in [
        (&["--group-by", "process"][..], "--format firefox has each event: --group-by has no effect"),
        (&["--tree"], "--format firefox has each event: a tree is for the other forms"),
        (&["--weight"], "--weight is for --format collapsed"),
        (&["--unit", "kib"], "--unit"),
        (&["--top", "3"], "--top"),
        (&["--columns", "Self"], "--columns"),
    ] {
        let ran = run(&[&["stacks", TRACE, "--format", "firefox"], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{more:?}: {ran:?}");
        assert!(ran.err.contains(says), "{more:?}: {}", ran.err);
    }
    let ran = run(&["stacks", "cpu-compressed.etl", "--of", "heap", "--format", "firefox"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
    let ran = run(&["stacks", "alloc-x86.etl", "--of", "heap", "--where", "processor=0", "--format", "firefox"]);
    assert!(ran.err.contains("heap is not in the profile: the processor of a piece is not known"), "{ran:?}");
}

/// Counters of a profile with the sums of their steps, bytes.
fn counters(trace: &str) -> Vec<(String, Vec<f64>)> {
    let profile: Value = serde_json::from_str(&out(&["stacks", trace, "-q", "--format", "firefox"])).expect("JSON");
    let of = |counter: &Value| {
        let samples = Table::of(counter, "samples", &["count", "number"]);
        let steps = samples.0["count"].as_array().expect("steps").iter();
        let mut sum = 0.0;
        let values = steps.map(|step| {
            sum += step.as_f64().expect("a number");
            sum
        });
        assert_eq!(counter["category"], "Memory");
        (
            format!(
                "{} {}",
                counter["pid"].as_str().and_then(|id| id.split('.').next()).expect("a process"),
                counter["name"].as_str().expect("a name")
            ),
            values.collect(),
        )
    };
    profile["counters"].as_array().expect("counters").iter().map(of).collect()
}

#[test]
fn it_has_memory_over_time() {
    let samples = json_of(&["memory", "faults-x86.etl"])["samples"].clone();
    let commit = samples.as_array().expect("samples").iter().filter_map(|sample| sample["commit_pages"].as_f64());
    let commit: Vec<f64> = commit.map(|pages| 4096.0 * pages).collect();
    assert!(commit.len() > 3);
    assert_eq!(counters("faults-x86.etl"), [("0 Commit".to_owned(), commit)]);

    use etl_writer::Ptr::P8;
    use etl_writer::payloads::{counters::working_sets, memory, process};
    let session = etl_writer::Session::windows10();
    let app = |sizes: [u64; 8]| working_sets(P8, 0x027d, &[(40, sizes)], false);
    let records = [
        process::Process::new(40, "app.exe").rec(P8, 4, process::DC_START),
        memory::virtual_alloc(P8, 0x10_0000, 0x4000, 40, 0x1000),
        app([10, 20, 0, 0, 0, 0, 0, 0]),
        app([15, 18, 0, 0, 0, 0, 0, 0]),
    ];
    let stamped = records.into_iter().zip(1u64..).map(|(record, n)| record.at(session.t0 + 1000 * n));
    let stamped: Vec<etl_writer::Rec> = stamped.collect();
    let file = etl_writer::file_of(&etl_writer::Trace::new(session).push_all(stamped).finish());
    let pages = |all: [u64; 2]| all.map(|pages| 4096.0 * pages as f64).to_vec();
    let known = [("40 Working set".to_owned(), pages([10, 15])), ("40 Commit".to_owned(), pages([20, 18]))];
    assert_eq!(counters(file.path().to_str().expect("UTF-8")), known);
}
