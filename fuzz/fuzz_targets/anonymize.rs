//! Any file written again without names: it has the same buffers, the same records and the same damage, and no new fault.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::anonymized::{self, StandIns};
use pfnset::etl::EtlFile;
use pfnset::trace::Survey;
use pfnset::trace::Trace;

#[path = "../scratch_file.rs"]
mod scratch_file;

fuzz_target!(|data: &[u8]| scratch_file::open(data).iter().for_each(check));

fn check(trace: &Trace) {
    let etl = trace.etl();
    let mut new = Vec::new();
    let changes = anonymized::write(trace, &StandIns::new(b"a"), &mut new).expect("memory takes all");
    let count = |etl: &EtlFile| -> u64 {
        etl.fold_buffers(|| 0, |sum, area| *sum += area.records().count() as u64).iter().sum()
    };
    assert_eq!(changes.figures()[0], count(etl));
    let again = scratch_file::open(&new).expect("a trace");
    assert_eq!(count(again.etl()), count(etl), "records");
    let [before, after] = [etl, again.etl()].map(Survey::new);
    assert_eq!(after.damage.total > 0, before.damage.total > 0, "damage");
    assert_eq!(after.misfits.total(), before.misfits.total(), "records that do not fit");
    if etl.damage.total == 0 {
        assert_eq!(again.etl().buffers.len(), etl.buffers.len());
    }
}
