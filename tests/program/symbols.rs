//! Functions of images by their databases: where files are looked for, which ones count, what is said of the others, and files that are
//! damaged.

use crate::program::{command, run};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub const NAME: &str = "CrashWithException.pdb";
const KEY: &str = "F535C5FB2AE84BB8AA206C30BE566C5A1";

fn place(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/symbols").join(file)
}

fn trace() -> String {
    place("stacks-symbols.etl.gz").to_string_lossy().into_owned()
}

/// The database of that name.
pub fn database() -> Vec<u8> {
    let packed = fs::read(place("CrashWithException.pdb.gz")).expect("the database");
    let mut bytes = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
    bytes
}

/// A folder with files at these paths.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, bytes).expect("a file");
    }
    folder
}

/// The answer with these folders; its warnings about them, without folders in them.
fn asked(folders: &[&tempfile::TempDir]) -> (Value, Vec<String>) {
    let trace = trace();
    let mut arguments = vec!["stacks", &trace, "-q", "--format", "json"];
    let paths: Vec<String> = folders.iter().map(|folder| folder.path().to_string_lossy().into_owned()).collect();
    paths.iter().for_each(|path| arguments.extend(["--symbols", path]));
    let ran = run(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all: Value = serde_json::from_str(&ran.out).expect("JSON");
    let bare = |warning: &Value| {
        let warning = warning.as_str().expect("text").to_owned();
        paths.iter().fold(warning, |text, path| text.replace(&format!("{path}{}", std::path::MAIN_SEPARATOR), ""))
    };
    let warnings = all["warnings"].as_array().expect("a list").iter().map(bare);
    // The made-up samples stand for more time than there is, in several builds of one program.
    let is_of_samples =
        |warning: &String| warning.starts_with("the samples stand for ") || warning.contains(" builds of ");
    let warnings = warnings.filter(|warning| !is_of_samples(warning)).collect();
    (all, warnings)
}

/// Frames with the name of a function.
fn named(all: &Value) -> u64 {
    all["frames"]["symbol"].as_u64().expect("a number")
}

#[test]
fn all_layouts_are_read_and_names_have_no_case() {
    let bytes = database();
    let server = format!("{NAME}/{KEY}/{NAME}");
    let letters = format!("cr/{NAME}/{KEY}/{NAME}");
    let layouts: [Vec<(&str, &[u8])>; 4] = [
        vec![(NAME, &bytes)],
        vec![(&server, &bytes)],
        vec![("index2.txt", b""), (&letters, &bytes)],
        vec![("crashwithexception.PDB/f535c5fb2ae84bb8aa206c30be566c5a1/CRASHWITHEXCEPTION.pdb", &bytes)],
    ];
    for files in layouts {
        let (all, warnings) = asked(&[&folder(&files)]);
        assert_eq!((named(&all), warnings.len()), (133, 0), "{:?} {warnings:?}", files[0].0);
        assert_eq!(all["frames"]["total"], 2605);
    }
    // Without `index2.txt` the folder of two letters is none of a symbol server.
    assert_eq!(named(&asked(&[&folder(&[(&letters, &bytes)])]).0), 0);
    let functions = asked(&[&folder(&[(NAME, &bytes)])]).0["functions"].to_string();
    for function in ["malloc", "std::bad_alloc::bad_alloc", "std::exception::`scalar deleting destructor'"] {
        assert!(functions.contains(&format!("\"CrashWithException.exe!{function}\"")), "{function}");
    }
}

/// Each file that does not fit is told of, and the search goes on.
#[test]
fn files_that_do_not_fit_do_not_count() {
    let right = database();
    let mut other_guid = right.clone();
    let guid: [u8; 4] = 0xF535_C5FB_u32.to_le_bytes();
    (0..right.len() - 4).filter(|at| right[*at..].starts_with(&guid)).for_each(|at| other_guid[at] ^= 1);
    let compressed = format!("{NAME}/{KEY}/CrashWithException.pd_");
    let folders = [
        folder(&[(NAME, b"no database")]),
        folder(&[(NAME, &other_guid)]),
        folder(&[(NAME, b"Microsoft MSFZ Container\r\n\x1aALD\0\0")]),
        folder(&[(&compressed, b"SZDD")]),
        folder(&[(NAME, &right[..right.len() / 8])]),
        folder(&[(NAME, b"")]),
    ];
    let (all, warnings) = asked(&folders.iter().collect::<Vec<_>>());
    assert_eq!(named(&all), 0);
    let wanted = format!("; looked for {NAME} {KEY}");
    let expected =
        ["it is no PDB", "its GUID is f535c5fa-", "compressed (MSFZ)", "compressed (.pd_)", "damaged", "it is no PDB"];
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for (warning, says) in warnings.iter().zip(expected) {
        assert!(warning.contains(says) && warning.ends_with(&wanted), "{warning}: {says}");
    }
    let good = folder(&[(NAME, &right)]);
    assert_eq!(named(&asked(&[&folders[0], &folders[4], &good]).0), 133);
}

#[test]
fn the_first_screen_says_why_frames_have_no_name() {
    let trace = trace();
    let said = |more: &[&str]| run(&[&["stacks", &trace, "-q"], more].concat()).out;
    let none = said(&[]);
    assert!(none.contains("crash.exe 21.0 % (needs crash.pdb 3249…1), 8 more: pfnset symbols"), "{none}");
    let empty = folder(&[]);
    let path = empty.path().to_string_lossy();
    let none = said(&["--symbols", &path]);
    assert!(none.contains("(no PDB, looked for crash.pdb 3249…1 in 1 folder)"), "{none}");
    let ran = run(&["stacks", &trace, "--symbols", "no-such-folder"]);
    assert_eq!((ran.code, ran.err.contains("--symbols no-such-folder: there is no such folder")), (2, true), "{ran:?}");
}

/// Local parts of the variable are read; servers are named.
#[test]
fn the_variable_of_debuggers_counts_after_the_flag() {
    let cache = folder(&[(&format!("{NAME}/{KEY}/{NAME}"), &database())]);
    let value = format!("srv*{}*https://symbols.example/download", cache.path().display());
    let output = command(&["stacks", &trace(), "--format", "json"])
        .env("_NT_SYMBOL_PATH", value)
        .output()
        .expect("the program runs");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(named(&all), 133);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("symbol servers of _NT_SYMBOL_PATH are not asked: https://symbols.example/download"),
        "{said}"
    );
}

/// Lines are those of the Breakpad text of the same database, which another reader made; inlined functions with their lines are those
/// of `llvm-symbolizer` 14.
#[test]
fn lines_and_inlined_functions_are_those_that_other_readers_find() {
    let known: [(u32, &[&str]); 10] = [
        (0x1033, &["stdio.h:958"]),
        (0x1104, &["crashwithexception.cpp:10"]),
        (0x1123, &["crashwithexception.cpp:17"]),
        (0x1124, &["crashwithexception.cpp:18"]),
        (0x1041, &["_vfprintf_l stdio.h:643", "stdio.h:958"]),
        (0x1488, &["__scrt_common_main exe_common.inl:328", "exe_main.cpp:16"]),
        (0x1491, &["__scrt_common_main exe_common.inl:330", "exe_main.cpp:16"]),
        (0x1661, &["std::exception::{ctor} vcruntime_exception.h:63", "vcruntime_exception.h:116"]),
        (0x122a, &["__scrt_main_policy::set_app_type exe_common.inl:44", "exe_common.inl:148"]),
        (
            0x1896,
            &[
                "__crt_rotate_pointer_value internal_shared.h:498",
                "__crt_fast_encode_pointer internal_shared.h:517",
                "utility.cpp:325",
            ],
        ),
    ];
    let addresses: Vec<u32> = known.iter().map(|(address, _)| *address).collect();
    let found = pfnset::unstable_api::sources_of(database(), &addresses).expect("a database");
    let line = |line: &Option<pfnset::unstable_api::SourceLine>| {
        line.as_ref().map(|line| format!("{}:{}", line.file.rsplit('\\').next().unwrap_or_default(), line.line))
    };
    for (address, expected) in known {
        let source = found.get(&address).cloned().unwrap_or_default();
        let inlined = source.inlined.iter().rev();
        let inlined = inlined.map(|one| format!("{} {}", one.function, line(&one.line).unwrap_or_default()));
        let told: Vec<String> = inlined.chain(line(&source.line)).collect();
        assert_eq!(told, expected, "{address:#x}");
    }
}

#[test]
fn lines_are_in_labels_and_conditions_match_without_them() {
    let (folder, trace) = (folder(&[(NAME, &database())]), trace());
    let path = folder.path().to_string_lossy().into_owned();
    let asked = |more: &[&str]| -> Value {
        let arguments = [&["stacks", &trace, "-q", "--format", "json", "--symbols", &path], more].concat();
        let ran = run(&arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let labels = |all: &Value| -> Vec<String> {
        let functions = all["functions"].as_array().expect("a list").iter();
        functions.map(|row| row["function"].as_str().expect("a text").to_owned()).collect()
    };
    let (plain, lines) = (asked(&[]), asked(&["--lines"]));
    assert_eq!(plain["frames"], lines["frames"]);
    let foo = r"CrashWithException.exe!X::foo (c:\users\sentry\source\repos\crashwithexception\crashwithexception\crashwithexception.cpp:";
    let with_line = |label: &&String| label.starts_with(foo);
    assert!(labels(&lines).iter().any(|label| with_line(&label)), "{:?}", labels(&lines));
    let moved = asked(&["--lines", "--source-root", r"C:/Users/sentry=/src"]);
    let foo = "CrashWithException.exe!X::foo (/src/source/repos/crashwithexception/crashwithexception/crashwithexception.cpp:";
    assert!(labels(&moved).iter().any(|label| label.starts_with(foo)), "{:?}", labels(&moved));
    let told =
        |root: &str| run(&["stacks", &trace, "--symbols", &path, "--lines", "--source-root", root, "--format", "csv"]);
    let unused = "pfnset: warning: --source-root: no path of a source file is changed by d:/none=/x";
    assert!(told("d:/none=/x").err.lines().any(|line| line == unused), "{:?}", told("d:/none=/x").err);
    assert!(!told(r"C:/Users/sentry=/src").err.contains("--source-root"));
    // With and without lines a condition on a function chooses the same.
    let where_foo = ["--where", "function=*!X::foo"];
    let (bare, told) = (asked(&where_foo), asked(&[&where_foo[..], &["--lines"]].concat()));
    assert_eq!(bare["totals"], told["totals"]);
    assert_ne!(bare["totals"]["events"], 0);
    let root = ["--caller-of", "*!X::foo"];
    let (bare, told) = (asked(&root), asked(&[&root[..], &["--lines"]].concat()));
    assert_eq!(bare["tree"][0]["events"], told["tree"][0]["events"]);
    // Inlined functions are frames inside of those that the trace has.
    let inlined = asked(&["--inlines"]);
    assert_eq!((&inlined["frames"], &inlined["totals"]), (&plain["frames"], &plain["totals"]));
    let more: Vec<String> = labels(&inlined).into_iter().filter(|label| !labels(&plain).contains(label)).collect();
    assert!(more.contains(&"CrashWithException.exe!__scrt_common_main".to_owned()), "{more:?}");
    for wrong in [&["--lines"][..], &["--source-root", "a=b"], &["--lines", "--symbols", &path, "--source-root", "a"]] {
        assert_eq!(run(&[&["stacks", &trace], wrong].concat()).code, 2, "{wrong:?}");
    }
}

/// Bytes changed and cut anywhere: names or none, but an end.
#[test]
fn damaged_databases_end() {
    let right = database();
    let addresses: Vec<u32> = (0x1000..0x3000).step_by(3).collect();
    let read = |bytes: Vec<u8>| pfnset::unstable_api::functions_of(bytes, &addresses);
    let (all, damage) = read(right.clone()).expect("a database");
    assert!(all.len() > 1000 && damage.is_none(), "{} {damage:?}", all.len());
    let by_name: BTreeMap<&String, usize> = all.values().fold(BTreeMap::new(), |mut sums, name| {
        *sums.entry(name).or_default() += 1;
        sums
    });
    assert!(by_name.contains_key(&"malloc".to_owned()), "{:?}", by_name.keys().next());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let mut fewer = 0;
    for round in 0..60 {
        let mut bytes = right.clone();
        match round % 3 {
            0 => bytes.truncate(next(right.len())),
            // The header, the list of streams, and what they hold.
            1 => (0..4).for_each(|_| bytes[next(64)] ^= 1 << next(8)),
            _ => (0..2000).for_each(|_| bytes[next(right.len())] = next(256) as u8),
        }
        fewer += usize::from(read(bytes).map_or(true, |(names, damage)| names.len() < all.len() || damage.is_some()));
    }
    assert!(fewer > 40, "{fewer}");
}

/// What is missing can be copied by a list; what is there is named.
#[test]
fn the_files_that_a_trace_needs() {
    let trace = trace();
    let good = folder(&[(NAME, &database())]);
    let path = good.path().to_string_lossy();
    let all: Value = serde_json::from_str(&run(&["symbols", &trace, "-q", "--symbols", &path, "--format", "json"]).out)
        .expect("JSON");
    assert_eq!(
        [&all["stacks"], &all["frames"], &all["named"], &all["folders"]].map(Value::as_u64),
        [626, 2605, 133, 1].map(Some)
    );
    let image = all["images"].as_array().expect("a list").iter().find(|image| image["pdb"] == NAME).expect("the image");
    let found = good.path().join(NAME);
    assert_eq!((&image["key"], image["found"].as_str()), (&Value::from(KEY), found.to_str()));
    assert_eq!((&image["frames"], &image["named"], &image["age"]), (&133.into(), &133.into(), &1.into()));
    let missing = run(&["symbols", &trace, "-q", "--symbols", &path, "--format", "manifest"]).out;
    let lines: Vec<&str> = missing.lines().collect();
    assert!(lines.contains(&"crash.pdb,3249D99D0C4049318610F4E4FB0B69362,1") && lines.len() == 8, "{missing}");
    assert!(!missing.contains(NAME), "{missing}");
    insta::assert_snapshot!(run(&["symbols", &trace, "-q"]).out);
}

/// `crash.exe+0x2a6e` was one row of samples of three programs.
#[test]
fn offsets_of_several_builds_in_one_row_are_told() {
    let told = |more: &[&str]| {
        let trace = trace();
        let ran = run(&[&["stacks", &trace, "-q", "--format", "json"], more].concat());
        let all: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        let warnings = all["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
        warnings.filter(|text| text.contains(" builds of ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let says = "3 builds of crash.exe: equal offsets are different code, and ";
    for mixed in [&[][..], &["--group-by", "function"], &["--group-by", "stack"], &["--tree"]] {
        let all = told(mixed);
        assert!(all.len() == 1 && all[0].starts_with(says), "{mixed:?}: {all:?}");
    }
    let processes = [&["--group-by", "function", "--where", "process=208"][..], &["--group-by", "process,function"]];
    for apart in processes.into_iter().chain([&["--group-by", "module"][..], &["--group-by", "process"]]) {
        assert_eq!(told(apart), [""; 0], "{apart:?}");
    }
    // An offset chooses other code in each build, also where rows are by process.
    for chosen in [
        ["--leaf", "crash.exe+0x2a6e", "--group-by", "module"],
        ["--where", "function=CRASH.exe+0x2a6e", "--group-by", "process"],
    ] {
        let all = told(&chosen);
        let chosen_in = "and 1 offset is chosen in several builds; names out of their PDBs tell them apart";
        assert!(all.len() == 1 && all[0].starts_with(says) && all[0].ends_with(chosen_in), "{chosen:?}: {all:?}");
    }
    assert_eq!(told(&["--where", "function=crash.exe*", "--group-by", "process"]), [""; 0]);
    let one_build = ["--where", "function=crash.exe+0x2a6e", "--where", "process=208", "--group-by", "process"];
    assert_eq!(told(&one_build), [""; 0]);
    // Folded frames have no offsets: what is left is of another module.
    assert!(told(&["--fold", "crash.exe"]).iter().all(|text| !text.contains("crash.exe")));
}

/// Processes of a comparison are those of one name: advice to have rows by process was of no use there.
#[test]
fn differences_by_process_add_up_builds_too() {
    let trace = trace();
    for by in ["function", "process,function", "process,stack"] {
        let ran = run(&["diff", &trace, &trace, "--of", "samples", "--group-by", by, "--format", "csv"]);
        let of_both = |says: &str| assert_eq!(ran.err.matches(says).count(), 2, "{by}: {}", ran.err);
        of_both("3 builds of crash.exe: equal offsets are different code");
        of_both("of several builds in one row");
        of_both("; names out of their PDBs tell them apart");
    }
    let ran = run(&["diff", &trace, &trace, "--of", "samples", "--group-by", "process,module", "--format", "csv"]);
    assert!(!ran.err.contains(" builds of "), "{}", ran.err);
}

/// They changed nothing, without a word.
#[test]
fn flags_of_functions_are_refused_where_rows_have_none() {
    let ran = |more: &[&str]| run(&[&["stacks", "stacks-keys.etl", "-q"], more].concat());
    for by in ["process", "thread", "processor"] {
        for (flags, told) in [
            (&["--symbols", "."][..], "--symbols names functions: it is for rows or conditions by stack"),
            (&["--lines"], "--lines is of functions"),
            (&["--inlines"], "--inlines is of functions"),
        ] {
            let refused = ran(&[&["--group-by", by], flags].concat());
            assert!(refused.code == 2 && refused.err.contains(told), "{by} {flags:?}: {refused:?}");
        }
    }
    for more in [
        &["--group-by", "function"][..],
        &["--group-by", "process", "--leaf", "*"],
        &["--group-by", "process", "--where", "function=*"],
        &["--group-by", "process", "--format", "json"],
        &["--tree"],
    ] {
        let all = [more, &["--symbols", ".", "--lines"]].concat();
        assert_eq!(ran(&all).code, 0, "{all:?}");
    }
}
