//! Files that the user names for output: complete or as before, never over an input.

use crate::program::{finish, fixtures, out, pfnset, program, run, skipped_on_windows};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const TRACE: &str = "resident-small.etl";
const BUDGETS: &str = "[[budget]]\nname = \"Everything\"\nmax = \"100 %\"\n";

/// Every flag that names a file to be written, with a command that has it; `OUT` is the file.
const WRITERS: [&str; 9] = [
    "resident TRACE -o OUT",
    "resident TRACE --format json -o OUT",
    "pages TRACE --format csv -o OUT",
    "report TRACE -o OUT",
    "anonymize TRACE --force -o OUT",
    "check TRACE --budgets BUDGETS -o OUT",
    "check TRACE --budgets BUDGETS --junit OUT",
    "check TRACE --budgets BUDGETS --save-baseline OUT",
    "check TRACE --init --force -o OUT",
];

/// A folder with a trace, budgets and a file from before.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::copy(fixtures().join(TRACE), folder.at("TRACE")).unwrap();
        fs::write(folder.at("BUDGETS"), BUDGETS).unwrap();
        fs::write(folder.at("OUT"), "from before").unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Arguments with the paths of files instead of their names.
    fn arguments(&self, line: &str) -> Vec<String> {
        let path = |word: &str| match word.split('!').next() {
            Some(name @ ("TRACE" | "BUDGETS" | "OUT" | "LINK" | "ZIP" | "SMALL")) => {
                word.replacen(name, self.at(name).to_str().unwrap(), 1)
            }
            _ => word.to_owned(),
        };
        line.split(' ').map(path).collect()
    }

    fn content(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(Result::unwrap);
        let content = |path: &Path| fs::read(path).unwrap();
        entries.map(|entry| (entry.file_name().into_string().unwrap(), content(&entry.path()))).collect()
    }
}

/// A file may not grow beyond 512 bytes, as on a disk that is nearly full.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_what_was_there() {
    if skipped_on_windows("a_full_disk_leaves_what_was_there", "limits of file sizes are those of Unix") {
        return;
    }
    for line in WRITERS {
        let folder = Folder::new();
        let before = folder.content();
        let mut command = assert_cmd::Command::new("sh");
        command.args(["-c", r#"trap '' XFSZ; ulimit -f 1; exec "$@""#, "sh"]).arg(program());
        let ran = finish(command.args(folder.arguments(line)).arg("-q"));
        if ran.code == 0 {
            // What was written is small: only then is it allowed.
            assert!(fs::metadata(folder.at("OUT")).unwrap().len() <= 512, "{line}: {ran:?}");
            continue;
        }
        assert_eq!(ran.code, 2, "{line}: {ran:?}");
        let path = folder.at("OUT").display().to_string();
        assert!(ran.err.contains(&format!("cannot write {path}")), "{line}: {}", ran.err);
        assert_eq!(folder.content(), before, "{line}: as before, and nothing beside it");
    }
}

#[test]
fn what_is_written_replaces_what_was_there() {
    for line in WRITERS {
        let folder = Folder::new();
        let arguments = folder.arguments(line);
        let ran = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        let now = folder.content();
        assert_eq!(now.keys().collect::<Vec<_>>(), ["BUDGETS", "OUT", "TRACE"], "{line}");
        assert!(now["OUT"] != b"from before" && now["OUT"].len() > 60, "{line}");
    }
}

/// Other forms of names: each is found, and the input stays as it was.
#[test]
fn an_input_is_never_written_over() {
    let folder = Folder::new();
    fs::hard_link(folder.at("TRACE"), folder.at("LINK")).unwrap();
    let mut archive = zip::ZipWriter::new(File::create(folder.at("ZIP")).unwrap());
    archive.start_file("a.etl", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::copy(&mut File::open(folder.at("TRACE")).unwrap(), &mut archive).unwrap();
    archive.finish().unwrap();
    fs::write(folder.at("SMALL"), "Ntfs - ntfs.sys - a list of pool tags").unwrap();
    let before = folder.content();
    for line in [
        "resident ZIP!a.etl -o ZIP",
        "pages ZIP!a.etl --format csv -o ZIP",
        "anonymize ZIP!a.etl --force -o ZIP",
        "report ZIP!a.etl -o ZIP",
        "resident --each ZIP -o ZIP",
        "resident TRACE -o LINK",
        "anonymize LINK --force -o TRACE",
        "diff TRACE ZIP!a.etl -o ZIP",
        "check LINK --budgets BUDGETS --junit TRACE",
        "check ZIP!a.etl --budgets BUDGETS --save-baseline ZIP",
        "check TRACE --budgets BUDGETS -o BUDGETS",
        "allocations TRACE --of pool --group-by tag --pooltags SMALL -o SMALL",
        "events TRACE --rows --manifest SMALL -o SMALL",
        "anonymize TRACE --secret-file SMALL --force -o SMALL",
    ] {
        let arguments = folder.arguments(line);
        let ran = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, 2, "{line}: {ran:?}");
        assert!(ran.err.contains("; name another file"), "{line}: {}", ran.err);
        assert_eq!(folder.content(), before, "{line}");
    }
    // Standard input that is a file.
    for line in ["resident - -o TRACE", "resident - -o LINK", "anonymize - --force -o LINK"] {
        let mut command = std::process::Command::new(program());
        let output = command.args(folder.arguments(line)).stdin(File::open(folder.at("TRACE")).unwrap()).output();
        let output = output.unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains("; name another file"), "{line}: {err}");
        assert_eq!(folder.content(), before, "{line}");
    }
}

#[cfg(unix)]
#[test]
fn modes_links_and_devices_stay() {
    use std::os::unix::fs::PermissionsExt;
    if skipped_on_windows("modes_links_and_devices_stay", "modes, links and devices are those of Unix") {
        return;
    }
    let folder = Folder::new();
    let (out, mode) = (folder.at("OUT"), |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    let resident = |out: &str| run(&["resident", TRACE, "--format", "csv", "-o", out]);
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!((resident(out.to_str().unwrap()).code, mode(&out)), (0, 0o640));
    // As any program makes a file.
    fs::write(folder.at("plain"), "").unwrap();
    assert_eq!(resident(folder.at("new").to_str().unwrap()).code, 0);
    assert_eq!(mode(&folder.at("new")), mode(&folder.at("plain")));
    // What a link names is replaced, not the link.
    std::os::unix::fs::symlink("OUT", folder.at("link")).unwrap();
    fs::write(&out, "from before").unwrap();
    assert_eq!(resident(folder.at("link").to_str().unwrap()).code, 0);
    assert!(folder.at("link").is_symlink() && fs::read(&out).unwrap() == fs::read(folder.at("new")).unwrap());
    assert_eq!(resident("/dev/null").code, 0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let ran = resident(folder.0.path().to_str().unwrap());
    assert!(ran.code == 2 && ran.err.contains("cannot write"), "{ran:?}");
    // To a file that may not be written.
    fs::set_permissions(&out, fs::Permissions::from_mode(0o440)).unwrap();
    if File::options().write(true).open(&out).is_err() {
        let ran = resident(out.to_str().unwrap());
        assert!(ran.code == 2 && ran.err.contains("cannot write"), "{ran:?}");
    }
    let names: Vec<String> = folder.content().into_keys().collect();
    assert_eq!(names, ["BUDGETS", "OUT", "TRACE", "link", "new", "plain"]);
}

/// The trace is cut as soon as the output has begun.
#[cfg(unix)]
#[test]
fn a_trace_that_shrinks_leaves_what_was_there() {
    if skipped_on_windows("a_trace_that_shrinks_leaves_what_was_there", "Windows refuses to cut a mapped file") {
        return;
    }
    for line in ["anonymize TRACE --force -o OUT -q", "pages TRACE --format csv -o OUT -q"] {
        let folder = Folder::new();
        let spec = etl_writer::ResidentSpec { pages: 400_000, ..etl_writer::ResidentSpec::small() };
        etl_writer::generate_resident(&spec, File::create(folder.at("TRACE")).unwrap()).unwrap();
        let mut command = std::process::Command::new(program());
        let mut child = command.args(folder.arguments(line)).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let has_begun = || fs::read_dir(folder.0.path()).unwrap().count() > 3;
        while !has_begun() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        File::options().write(true).open(folder.at("TRACE")).unwrap().set_len(1 << 16).unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(3) && err.contains("it became shorter"),
            "{line}: {:?} {err}",
            output.status
        );
        let now = folder.content();
        assert_eq!(now.keys().collect::<Vec<_>>(), ["BUDGETS", "OUT", "TRACE"], "{line}");
        assert_eq!(now["OUT"], b"from before", "{line}");
    }
}

/// Ctrl-C, `kill`, a closed terminal.
#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_leaves_no_part() {
    use std::os::unix::process::ExitStatusExt;
    if skipped_on_windows("a_run_that_is_stopped_leaves_no_part", "signals are those of Unix") {
        return;
    }
    let folder = Folder::new();
    let spec = etl_writer::ResidentSpec { pages: 400_000, ..etl_writer::ResidentSpec::small() };
    etl_writer::generate_resident(&spec, File::create(folder.at("TRACE")).unwrap()).unwrap();
    let before = folder.content();
    let stopped = || {
        let mut child = std::process::Command::new(program())
            .args(folder.arguments("pages TRACE --format csv -o OUT -q"))
            .spawn()
            .unwrap();
        let has_begun = || fs::read_dir(folder.0.path()).unwrap().count() > before.len();
        while !has_begun() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        child.wait().unwrap()
    };
    // On a busy machine the signal can come when the output is whole and in its place already.
    let is_stopped = (0..20).any(|_| {
        let (ended, now) = (stopped(), folder.content());
        assert!([Some(15), None].contains(&ended.signal()), "{ended:?}");
        assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "nothing beside it");
        let is_whole = now["OUT"].iter().filter(|byte| **byte == b'\n').count() > 400_000;
        assert!(now == before || is_whole, "as before, or whole");
        fs::write(folder.at("OUT"), &before["OUT"]).unwrap();
        ended.signal() == Some(15) && !is_whole
    });
    assert!(is_stopped);
}

/// What a run that was killed could not remove, the next one into the same folder does, unless it may be in use.
#[test]
fn what_was_left_over_goes_with_the_next_output() {
    let folder = Folder::new();
    let hours = |hours: u64| std::time::SystemTime::now() - std::time::Duration::from_secs(3600 * hours);
    let mut files = Vec::new();
    for (name, age) in [
        (".pfnset-old.part", 2),
        (".pfnset-used.part", 2),
        (".pfnset-new.part", 0),
        ("pfnset-other.part", 2),
        (".pfnset-other", 2),
    ] {
        let file = File::create(folder.at(name)).unwrap();
        file.set_modified(hours(age)).unwrap();
        if name.contains("used") {
            file.lock().unwrap();
        }
        files.push(file);
    }
    fs::create_dir(folder.at("sub")).unwrap();
    let arguments = folder.arguments("resident TRACE -o OUT");
    assert_eq!(run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).code, 0);
    let mut names: Vec<String> =
        fs::read_dir(folder.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let kept = [".pfnset-new.part", ".pfnset-other", ".pfnset-used.part", "BUDGETS", "OUT", "TRACE"];
    assert_eq!(names, [&kept[..], &["pfnset-other.part", "sub"]].concat());
}

#[test]
fn an_error_leaves_what_was_there() {
    let folder = Folder::new();
    fs::write(folder.at("TRACE"), "Hello, this is no trace").unwrap();
    let before = folder.content();
    for line in WRITERS.iter().filter(|line| !line.contains("--budgets")) {
        let ran = finish(&mut pfnset(&folder.arguments(line).iter().map(String::as_str).collect::<Vec<_>>()));
        assert_eq!(ran.code, 3, "{line}: {ran:?}");
        assert_eq!(folder.content(), before, "{line}");
    }
}

#[test]
fn output_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    for format in ["table", "json", "csv"] {
        for command in ["info", "events"] {
            let direct = out(&[command, TRACE, "--format", format]);
            assert_eq!(out(&[command, TRACE, "--format", format, "-o", file.to_str().unwrap()]), "");
            assert_eq!(fs::read_to_string(&file).unwrap(), direct);
        }
    }
}
