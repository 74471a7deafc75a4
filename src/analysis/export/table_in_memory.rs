//! One table of a trace, all of it in memory, for callers that have no use for files.

use crate::analysis::cpu::CpuUse;
use crate::analysis::cpu::query::CpuQuery;
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::{Columns, Sink};
use crate::analysis::export::{Earlier, TraceFile, export_with_warnings};
use crate::analysis::resident::query::SnapshotChoice;
use crate::error::Error;
use crate::pattern::Patterns;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;
use arrow_array::RecordBatch;
use rayon::prelude::*;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

struct Collected {
    table: Table,
    batches: Mutex<Vec<RecordBatch>>,
}

impl Sink for Collected {
    fn write(&self, table: Table, rows: usize, column: &Columns<'_>) -> Result<(), Error> {
        if table != self.table || rows == 0 {
            return Ok(());
        }
        let columns = (0..table.columns().len()).into_par_iter().map(column).collect::<Result<_, _>>();
        let batch = columns.and_then(|columns| RecordBatch::try_new(table.schema(), columns));
        let failed = |error| Error::not_written(Path::new(table.name()))(io::Error::other(error));
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(batch.map_err(failed)?);
        Ok(())
    }
}

/// The rows of a table, of the snapshots of this choice, `events` of the records with these names, and what casts doubt on them.
///
/// # Errors
/// A usage error for a table of datasets and for names that do not belong to the table; what the analysis says that it is made by.
pub(crate) fn table(
    trace: &Trace,
    table: Table,
    choice: SnapshotChoice,
    names: Option<&Patterns>,
) -> Result<(Vec<RecordBatch>, Warnings), Error> {
    let usage = |text: &str| Err(Error::Usage(format!("table {}: {text}", table.name())));
    match (table, names) {
        (Table::Traces, _) => {
            return usage("it has a row for each trace of a dataset; info tells the same of one trace");
        }
        (Table::Events, None) => return usage("say which events, as in events=\"Process*\"; * is all"),
        (Table::Events, Some(_)) | (_, None) => {}
        (_, Some(_)) => return usage("names of events are for the table events"),
    }
    let is_of_snapshots = matches!(table, Table::Pages | Table::Resident | Table::Ranges);
    if choice != SnapshotChoice::default() && !is_of_snapshots {
        return usage("it is not of a snapshot; pages, resident and ranges are");
    }
    if is_of_snapshots {
        trace.need_snapshots()?;
    }
    let no_file = || TraceFile { file: String::new(), digest: None, bytes: None, program_version: String::new() };
    let sink = Collected { table, batches: Mutex::default() };
    let none = Patterns::default();
    let symbols = SymbolFolders::default();
    let chosen = (&[table][..], choice, names.unwrap_or(&none), &symbols);
    let (written, warnings) = export_with_warnings(trace, (no_file, Earlier::default), chosen, str::to_owned, &sink)?;
    if !written.contains(&table) {
        // The analysis says why it cannot run.
        CpuUse::answer(trace, &CpuQuery::default())?;
    }
    Ok((sink.batches.into_inner().unwrap_or_else(PoisonError::into_inner), warnings))
}
