//! Generated traces for benches, made once and kept in `target/bench-data`.
//!
//! The generator is the test support's (`tests/synth`): a machine with hundreds of processes and thousands of ranges,
//! and one page record for each physical page. A kept trace is made again when the generator's source is newer.

#[path = "../../tests/synth/mod.rs"]
pub mod synth;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use synth::{ResidentSpec, generate_resident};

/// The resident-set trace of `spec`, an uncompressed one of `spec.pages` pages.
pub fn resident(spec: &ResidentSpec) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let path = folder.join("bench-data").join(format!("resident-{}-seed{}.etl", spec.pages, spec.seed));
    let made = fs::metadata(&path).and_then(|m| m.modified()).ok();
    if made.is_some_and(|made| made > newest(&root.join("tests/synth"))) {
        return path;
    }
    let begin = Instant::now();
    fs::create_dir_all(folder.join("bench-data")).expect("a folder for bench data");
    let part = path.with_extension("part");
    let out = BufWriter::with_capacity(1 << 20, File::create(&part).expect("a file for the trace"));
    let (out, truth) = generate_resident(spec, out).expect("room for the trace");
    out.into_inner().expect("room for the trace");
    fs::rename(&part, &path).expect("the trace in place");
    eprintln!("made {}: {} bytes in {:.1?}", path.display(), truth.bytes, begin.elapsed());
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
