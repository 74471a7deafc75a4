//! Any file written again without names: it has the same buffers and the same records.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::anonymized::{self, StandIns};
use pfnset::etl::EtlFile;

#[path = "../scratch_file.rs"]
mod scratch_file;

fuzz_target!(|data: &[u8]| scratch_file::open(data).iter().for_each(|trace| check(trace.etl())));

fn check(etl: &EtlFile) {
    let mut new = Vec::new();
    let changes = anonymized::write(etl, &StandIns::new(b"a"), &mut new).expect("memory takes all");
    let count = |etl: &EtlFile| -> u64 { etl.map_buffers(|area| area.records().count() as u64).iter().sum() };
    assert_eq!(changes.figures()[0], count(etl));
    let again = scratch_file::open(&new).expect("a trace").into_etl();
    if etl.damage.total == 0 && etl.map_buffers(|area| area.fault.is_some()).iter().all(|faulty| !faulty) {
        assert_eq!(again.buffers.len(), etl.buffers.len());
    }
}
