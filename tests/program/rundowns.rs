//! Rundowns of which most records are missing, or a half, without a word of the session that anything was lost.

use crate::check::{check, folder, json};
use crate::program::fixtures;
use crate::trust::{places, with};
use std::fs;

/// What is left of a fixture where of the records of these events only those remain whose number `stays`.
fn thinned(name: &str, hooks: &[u16], stays: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bytes = fs::read(fixtures().join(name)).expect("a fixture");
    let places = places(&bytes, hooks);
    assert!(places.len() > 4, "{name} has {hooks:x?}");
    let gone = places.into_iter().enumerate().filter(|(number, _)| !stays(*number));
    gone.for_each(|(_, at)| bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes()));
    bytes
}

/// The verdict of a budget of pages of a category, why it has none, and the exit code.
fn judged(bytes: &[u8], category: &str) -> (i32, String, String) {
    let budgets = format!("[[budget]]\nname = \"a\"\nwhere = {{ category = \"{category}\" }}\nmax = \"1 GiB\"\n");
    let folder = folder(&budgets);
    fs::write(folder.path().join("trace.etl"), bytes).expect("a trace");
    let ran = check(&folder, "trace.etl --budgets budgets.toml --format json");
    let text = |key: &str| json(&ran)["traces"][0]["budgets"][0][key].as_str().unwrap_or_default().to_owned();
    (ran.code, text("verdict"), text("reason"))
}

/// One record of a rundown was enough for it: pages of heaps were a fifth of what they are, and a budget passed.
#[test]
fn one_record_is_no_rundown() {
    for (hooks, things, category) in [
        (&[0x0264][..], "heap ranges", "Win32Heap"),
        (&[0x0424], "file names", "DriverFile"),
        (&[0x1403, 0x1404], "images", "Driver"),
        (&[0x0503, 0x0504], "threads", "UserStack"),
    ] {
        let bytes = thinned("resident-small.etl", hooks, |number| number == 3);
        let says = format!("the rundown of {things} is not whole: 1 record, beside 14 processes");
        for command in ["resident", "pages"] {
            let ran = with(command, &bytes, &["--strict", "--format", "csv"]);
            assert!(ran.code == 3 && ran.err.contains(&says), "{command}: {}", ran.err);
        }
        let (code, verdict, reason) = judged(&bytes, category);
        assert!((code, &*verdict) == (3, "invalid") && reason.contains(&says), "{category}: {verdict} {reason}");
        assert_eq!(judged(&bytes, "NonPagedPool").1, "pass", "{things}");
    }
    assert_eq!(with("resident", &thinned("resident-small.etl", &[0x0424], |_| true), &["--strict"]).code, 0);
}

/// Half of the names: no page counted as one of a driver's file any more, and nothing said so.
#[test]
fn half_of_the_names_of_files_are_too_few() {
    let bytes = thinned("resident-small.etl", &[0x0424], |number| number % 2 == 0);
    let says = "files: their pages count as MapFile, those of registry files, of drivers and of the prefetcher too";
    for command in ["resident", "pages"] {
        let ran = with(command, &bytes, &["--strict", "--format", "csv"]);
        assert!(ran.code == 3 && ran.err.contains("no record names ") && ran.err.contains(says), "{}", ran.err);
    }
    let (code, verdict, reason) = judged(&bytes, "DriverFile");
    assert!((code, &*verdict) == (3, "invalid") && reason.contains(says), "{verdict} {reason}");
    assert_eq!(judged(&bytes, "Win32Heap").1, "pass");
}

/// Records of threads that do not fit were a note, though each of them tells of which process its faults and waits are.
#[test]
fn threads_that_cannot_be_read_make_numbers_doubtful() {
    {
        let (trace, command) = ("resident-small.etl", "resident");
        let mut bytes = fs::read(fixtures().join(trace)).expect("a fixture");
        let starts = places(&bytes, &[0x0501]);
        assert!(!starts.is_empty(), "{trace}");
        // Each 40 bytes shorter than its layout, and a record of an unknown event behind it.
        for at in starts {
            let size = u16::from_le_bytes([bytes[at.start + 4], bytes[at.start + 5]]);
            bytes[at.start + 4..at.start + 6].copy_from_slice(&(size - 40).to_le_bytes());
            let rest = at.start + usize::from(size - 40).next_multiple_of(8);
            let header = bytes[at.start..at.start + 4].to_vec();
            bytes[rest..rest + 4].copy_from_slice(&header);
            let left = at.start + usize::from(size).next_multiple_of(8) - rest;
            bytes[rest + 4..rest + 6].copy_from_slice(&(left as u16).to_le_bytes());
            bytes[rest + 6..rest + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
            let time = bytes[at.start + 16..at.start + 24].to_vec();
            bytes[rest + 16..rest + 24].copy_from_slice(&time);
        }
        let ran = with(command, &bytes, &["--strict", "--format", "csv"]);
        let says = "records of 0x0501 do not fit their layout and are left out";
        assert!(ran.code == 3 && ran.err.contains(says), "{trace}: {} {}", ran.code, ran.err);
    }
}
