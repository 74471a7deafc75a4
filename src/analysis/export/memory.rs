//! Tables of the counters that Windows logs: memory of the machine, working sets of processes and sessions.

use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::analysis::memory::MemorySet;
use crate::analysis::memory::counters::{COUNTERS, MemorySample, STANDBY};
use crate::analysis::memory::query::MemoryQuery;
use crate::analysis::memory::working_sets::TrackOwner;
use crate::error::Error;
use crate::trace::Trace;
use crate::units::PAGE_BYTES;

/// Reads the counters of a trace; `None` for one that has none.
///
/// # Errors
/// As [`MemorySet::answer`].
pub fn read(trace: &Trace) -> Result<Option<MemorySet>, Error> {
    match MemorySet::answer(trace, &MemoryQuery { all_samples: true, ..MemoryQuery::default() }) {
        Err(Error::MissingEvents(_) | Error::MissingPart(_)) => Ok(None),
        set => set.map(Some),
    }
}

/// A counter of a sample by its name.
fn counter<'t>(sample: &MemorySample, name: &str) -> Cell<'t> {
    let column = COUNTERS.iter().chain(&STANDBY).find(|column| column.name == name);
    Cell::maybe(column.and_then(|column| (column.of)(sample)), Cell::count)
}

/// MemInfo records.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn samples(set: Option<&MemorySet>, sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::MemorySamples, sink);
    for sample in set.iter().flat_map(|set| &set.samples) {
        let columns = Table::MemorySamples.columns();
        let repurposed = sample.counters.repurposed.iter().fold(0, |sum: u64, pages| sum.saturating_add(*pages));
        rows.push_with(columns.iter().map(|column| match column.name {
            "time_s" => Cell::Real(sample.time.seconds()),
            "repurposed" => Cell::count(repurposed),
            name => counter(sample, name),
        }))?;
    }
    rows.finish()
}

/// Entries of MemInfoWS and MemInfoSessionWS records.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn working_sets(set: Option<&MemorySet>, sink: &dyn Sink) -> Result<(), Error> {
    let mut rows = ColumnBatches::new(Table::WorkingSets, sink);
    for (set, track) in set.iter().flat_map(|set| set.processes.iter().chain(&set.sessions).map(|track| (*set, track)))
    {
        let is_process = !matches!(track.owner, TrackOwner::Session(_));
        let instance = match track.owner {
            TrackOwner::Instance(index) => Some(index as u64),
            TrackOwner::ProcessId(_) | TrackOwner::Session(_) => None,
        };
        for sample in &track.samples {
            let sizes = &sample.value;
            let bytes = sizes.working_set_pages.saturating_mul(PAGE_BYTES);
            rows.push([
                Cell::Real(set.time(sample.moment).seconds()),
                if is_process { Cell::Text(&track.label) } else { Cell::Null },
                Cell::maybe(instance, Cell::count),
                if is_process { Cell::Integer(sizes.id.into()) } else { Cell::Null },
                Cell::maybe(track.session, |id| Cell::Integer(id.into())),
                Cell::count(sizes.working_set_pages),
                Cell::count(bytes),
                Cell::count(sizes.private_working_set_pages),
                Cell::count(sizes.commit_pages),
                Cell::count(sizes.virtual_or_paged_pool_pages),
            ])?;
        }
    }
    rows.finish()
}
