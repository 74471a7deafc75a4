//! The tables of an export of any file: every column can be made and has all rows, and the counted pages add up.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::analysis::export::schema::Table;
use pfnset::analysis::export::{Columns, Sink, TraceFile, export};
use pfnset::analysis::resident::query::SnapshotChoice;
use pfnset::error::Error;
use pfnset::trace::Trace;
use std::collections::BTreeMap;
use std::sync::Mutex;

#[path = "../scratch_file.rs"]
mod scratch_file;

fuzz_target!(|data: &[u8]| scratch_file::open(data).iter().for_each(write));

/// Rows by table.
#[derive(Default)]
struct Counted(Mutex<BTreeMap<Table, usize>>);

impl Sink for Counted {
    fn write(&self, table: Table, rows: usize, column: &Columns<'_>) -> Result<(), Error> {
        for (place, wanted) in table.schema().fields().iter().enumerate() {
            let made = column(place).expect("a column");
            assert_eq!(
                (made.len(), made.data_type()),
                (rows, wanted.data_type()),
                "{}.{}",
                table.name(),
                wanted.name()
            );
            assert!(wanted.is_nullable() || made.null_count() == 0, "{}.{}", table.name(), wanted.name());
        }
        *self.0.lock().expect("no panic").entry(table).or_default() += rows;
        Ok(())
    }
}

fn write(trace: &Trace) {
    let file = || TraceFile { file: "x".into(), digest: None, bytes: None, program_version: "1".into() };
    let counted = Counted::default();
    let written = export(trace, file, (&Table::ALL, SnapshotChoice::All), str::to_owned, &counted)
        .expect("nothing that can fail");
    let rows = counted.0.into_inner().expect("no panic");
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), written, "a batch for each table");
    assert!(rows.get(&Table::Resident) <= rows.get(&Table::Pages));
    assert_eq!(rows.get(&Table::Traces), Some(&1));
}
