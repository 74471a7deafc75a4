//! Records of working sets (MemInfoWS, MemInfoSessionWS): where they lie, and reading them.
//!
//! A record has an entry for each process, and a trace of hours has millions of entries. They are read in place, in parallel
//! and in no order; the caller decides what to keep.

use crate::etl::EtlFile;
use crate::event::memory_counters::WorkingSets;
use crate::event::{Decoded, Event, decode};
use crate::moment::Moment;
use std::collections::BTreeMap;

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkingSetRecord {
    /// When it was logged.
    pub moment: Moment,
    /// Index of its buffer.
    pub buffer: u32,
    /// Offset in the buffer's event area.
    pub offset: u32,
}

/// What the entries of a record are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingSetScope {
    /// MemInfoWS.
    Processes,
    /// MemInfoSessionWS.
    Sessions,
}

/// Passes each of these records to `visit`, with one accumulator for each thread.
pub fn read_working_sets<A: Send>(
    etl: &EtlFile,
    records: &[WorkingSetRecord],
    empty: impl Fn() -> A + Sync,
    visit: impl Fn(&mut A, Moment, WorkingSetScope, &WorkingSets<'_>) + Sync,
) -> Vec<A> {
    let mut by_buffer: BTreeMap<u32, Vec<(u32, Moment)>> = BTreeMap::new();
    for record in records {
        by_buffer.entry(record.buffer).or_default().push((record.offset, record.moment));
    }
    let (buffers, mut wanted): (Vec<u32>, Vec<_>) = by_buffer.into_iter().unzip();
    wanted.iter_mut().for_each(|offsets| offsets.sort_unstable());
    etl.fold_some(&buffers, empty, |accumulator, at, area| {
        let offsets = wanted.get(at).map_or(&[][..], Vec::as_slice);
        for raw in area.records() {
            let Ok(found) = offsets.binary_search_by_key(&raw.position.offset, |(offset, _)| *offset) else { continue };
            let (Some((_, moment)), Ok(record)) = (offsets.get(found), raw.read()) else { continue };
            match decode(&record) {
                Decoded::Event { event: Event::ProcessWorkingSets(sets), .. } => {
                    visit(accumulator, *moment, WorkingSetScope::Processes, &sets);
                }
                Decoded::Event { event: Event::SessionWorkingSets(sets), .. } => {
                    visit(accumulator, *moment, WorkingSetScope::Sessions, &sets);
                }
                _ => {}
            }
        }
    })
}
