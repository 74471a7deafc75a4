//! A trace that is cut while the program reads it: an error and exit code 3, wherever it is cut.

use crate::program::{Ran, command, fixtures, run};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const TRACE: &str = "resident-small.etl";

/// Compares the trace at `path` with a copy on standard input, and cuts the trace to `length` bytes meanwhile.
///
/// The program opens the trace first, then it reads standard input. A pipe does not hold the copy, so when all of it but the
/// last byte is written the trace is mapped.
fn run_while_cutting(path: &Path, length: u64, more: &[&str]) -> Ran {
    let copy = fs::read(fixtures().join(TRACE)).unwrap();
    fs::write(path, &copy).unwrap();
    let mut command = command(&[&["diff", path.to_str().unwrap(), "-", "-q"], more].concat());
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = program.stdin.take().unwrap();
    let (last, most) = copy.split_last().unwrap();
    stdin.write_all(most).unwrap();
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
    stdin.write_all(&[*last]).unwrap();
    drop(stdin);
    let output = program.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap_or_else(|| panic!("cut to {length} bytes: {}", output.status));
    Ran { code, out: text(output.stdout), err: text(output.stderr) }
}

/// Windows itself refuses to cut a mapped file; Wine does not.
#[cfg(unix)]
#[test]
fn a_trace_that_shrinks_is_an_error_and_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shrinking.etl");
    let whole = fs::metadata(fixtures().join(TRACE)).unwrap().len();
    assert!(whole > 2 << 16, "more than a pipe holds");
    let kept = run_while_cutting(&path, whole, &[]);
    assert_eq!((kept.code, kept.err.as_str()), (0, ""));

    // To nothing, inside of a page, between pages and buffers, within the last page.
    let sizes = (0..17).map(|part| whole * part / 17).chain([1, whole - 4096, whole - 1]);
    let mut lost = 0;
    for length in sizes {
        let ran = run_while_cutting(&path, length, &[]);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "cut to {length} bytes: {}", ran.err);
        assert!(ran.err.contains(path.to_str().unwrap()), "{}", ran.err);
        lost += usize::from(ran.err.contains("any more"));
        assert!(ran.err.contains("it became shorter"), "{}", ran.err);
    }
    assert!(lost >= 18, "lost pages were read: {lost}");
}

/// The part that is lost was not read, or was read as zeros: what was made of it comes into no place.
#[cfg(unix)]
#[test]
fn a_trace_that_shrinks_leaves_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let [path, to] = ["shrinking.etl", "out"].map(|name| folder.path().join(name));
    let whole = fs::metadata(fixtures().join(TRACE)).unwrap().len();
    for length in [whole / 2, whole - 4096, whole - 1] {
        let ran = run_while_cutting(&path, length, &["-o", to.to_str().unwrap()]);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "cut to {length} bytes: {}", ran.err);
        assert!(ran.err.contains("it became shorter"), "{}", ran.err);
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["shrinking.etl"], "cut to {length} bytes");
    }
    assert_eq!(run_while_cutting(&path, whole, &["-o", to.to_str().unwrap()]).code, 0);
    assert!(to.exists());
}

#[test]
fn a_log_that_grows_is_fine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.etl");
    let whole = fs::metadata(fixtures().join(TRACE)).unwrap().len();
    let ran = run_while_cutting(&path, whole + (1 << 20), &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    // Read again, its end is seen.
    assert_eq!(run(&["info", path.to_str().unwrap(), "--strict", "-q"]).code, 3);
}
