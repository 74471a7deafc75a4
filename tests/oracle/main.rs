//! The library's joins against slow, obvious oracles: each page of a resident set, each access and release of a reference
//! set, on machines that live through random events; the values of counters; what processors and threads did.

mod counter;
mod cpu;
mod refset;
mod resident;

use pfnset::etl::EtlFile;

fn with_file<R>(bytes: &[u8], read: impl FnOnce(&EtlFile) -> R) -> R {
    let file = etl_writer::file_of(bytes);
    read(&EtlFile::open(file.path()).expect("an .etl file"))
}
