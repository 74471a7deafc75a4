//! The input of a run as an open trace: its bytes go through a real file, because that is what is mapped.

use pfnset::etl::EtlFile;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, process};

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm"); // much faster than a disk
    let folder = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    folder.join(format!("pfnset-fuzz-{}.etl", process::id()))
});

/// Opens `data`; `None` when it is no trace.
pub fn open(data: &[u8]) -> Option<EtlFile> {
    fs::write(&*FILE, data).expect("a scratch file can be written");
    let opened = EtlFile::open(&FILE);
    // On Unix the map outlives the name, and so nothing is left over after a crash.
    if cfg!(unix) {
        let _ = fs::remove_file(&*FILE);
    }
    opened.ok()
}
