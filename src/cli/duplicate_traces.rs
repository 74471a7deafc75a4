//! Traces that are named several times: by other paths, as one file of a recording of two, or as copies.

use crate::cli::recordings::Recording;
use crate::dataset::is_copy;
use crate::input::{STANDARD_INPUT, split_member};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a file is found by: its place without links, and its name in an archive.
type Place = (PathBuf, Option<String>);

fn place(path: &Path) -> Place {
    let (file, member) = split_member(path);
    (fs::canonicalize(&file).unwrap_or(file), member)
}

fn name(recording: &Recording) -> String {
    recording.files().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" + ")
}

/// Each recording once, whatever its files are called, and a line for each one that was named again. A file of a recording of two that
/// was found in a folder counts there; what the `arguments` put together is together beside each of its files.
pub fn once(arguments: &[Recording], all: Vec<Recording>) -> (Vec<Recording>, Vec<String>) {
    let mut of_several: BTreeMap<Place, String> = BTreeMap::new();
    let is_file = |path: &Path| path.as_os_str() != STANDARD_INPUT;
    let was_found = |recording: &&Recording| !recording.with.is_empty() && !arguments.contains(recording);
    for recording in all.iter().filter(was_found) {
        recording.files().for_each(|path| _ = of_several.entry(place(path)).or_insert_with(|| name(recording)));
    }
    let (mut seen, mut first, mut lines) = (BTreeSet::new(), Vec::new(), Vec::new());
    for recording in all {
        let is_alone = recording.with.is_empty() && is_file(&recording.trace);
        let whole = of_several.get(&place(&recording.trace)).filter(|_| is_alone);
        let again = recording.trace.display();
        if recording.refused.is_some() {
            first.push(recording);
        } else if let Some(whole) = whole {
            lines.push(format!("{again} is a file of {whole}: it counts once"));
        } else if seen.insert(recording.files().map(|path| place(path.as_path())).collect::<BTreeSet<_>>()) {
            first.push(recording);
        } else {
            lines.push(format!("{again} is named twice: it counts once"));
        }
    }
    (first, lines)
}

/// What copies of a file have in common before it is read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    bytes: u64,
    /// Its first bytes: the header of a trace has the time of its start, so that traces of one size differ here.
    start: Vec<u8>,
    /// Its name in an archive.
    member: Option<String>,
}

/// Bytes at the start of a file that are compared first.
const START: u64 = 1024;

fn shapes(recording: &Recording) -> Option<Vec<Shape>> {
    let of_file = |path: &PathBuf| {
        let (path, member) = split_member(path);
        let bytes = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        let mut start = Vec::new();
        File::open(path).and_then(|file| file.take(START).read_to_end(&mut start)).ok()?;
        Some(Shape { bytes, start, member })
    };
    let mut all: Vec<Shape> = recording.files().map(of_file).collect::<Option<_>>()?;
    all.sort_unstable();
    Some(all)
}

/// The first of each recording whose files have the same bytes, and a line for each copy. Only files of one size with the same first
/// bytes are read.
pub fn without_copies(all: Vec<Recording>) -> (Vec<Recording>, Vec<String>) {
    let mut by_shape: BTreeMap<Vec<Shape>, Vec<Recording>> = BTreeMap::new();
    let (mut first, mut lines) = (Vec::new(), Vec::new());
    for recording in all {
        let Some(shape) = shapes(&recording).filter(|_| recording.refused.is_none()) else {
            first.push(recording);
            continue;
        };
        let like = by_shape.entry(shape).or_default();
        match like.iter().find(|other| is_copy((&recording.trace, &recording.with), (&other.trace, &other.with))) {
            Some(other) => lines.push(format!("{} is a copy of {}: it counts once", name(&recording), name(other))),
            None => {
                like.push(recording.clone());
                first.push(recording);
            }
        }
    }
    (first, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_another_order_are_the_same_recording() {
        let [a, b] = ["a.etl", "b.etl"].map(PathBuf::from);
        let both = vec![Recording::new(a.clone(), vec![b.clone()]), Recording::new(b, vec![a])];
        let (kept, lines) = once(&both, both.clone());
        assert_eq!((kept.len(), lines), (1, vec!["b.etl is named twice: it counts once".to_owned()]));
    }
}
