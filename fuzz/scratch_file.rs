//! The input of a run as a file: its bytes go through a real file, because that is what is mapped.

use pfnset::trace::Trace;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, process};

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm"); // much faster than a disk
    let folder = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    folder.join(format!("pfnset-fuzz-{}.etl", process::id()))
});

/// Calls `use_file` with a file of these bytes.
pub fn with<T>(data: &[u8], use_file: impl FnOnce(&Path) -> T) -> T {
    fs::write(&*FILE, data).expect("a scratch file can be written");
    let result = use_file(&FILE);
    // On Unix the map outlives the name, and so nothing is left over after a crash.
    if cfg!(unix) {
        let _ = fs::remove_file(&*FILE);
    }
    result
}

/// Opens `data`; `None` when it is no trace.
#[allow(dead_code)] // not every target opens it as a trace
pub fn open(data: &[u8]) -> Option<Trace> {
    with(data, |path| Trace::open(path).ok())
}
