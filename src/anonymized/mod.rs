//! A trace without what it says about people: names are replaced by stand-ins of the same length, payloads of unknown events
//! are zeroed. Sizes, times and counts stay, and so does damage.

mod alphabet;
mod area;
mod changes;
mod permutation;
mod process_names;
mod record;
mod sid;
mod stand_in;
mod well_known_words;

pub use changes::Changes;
pub use stand_in::StandIns;
pub(crate) use stand_in::TextKind;

use crate::trace::Trace;
use process_names::ProcessNames;
use std::io::{self, Write};

/// Writes the first file of a recording without what it says about people. Compressed buffers are written uncompressed. Bytes
/// that belong to no sound record are not passed on, but that they are there is.
///
/// # Errors
/// What the writer says.
pub fn write(trace: &Trace, names: &StandIns, out: &mut dyn Write) -> io::Result<Changes> {
    let changes = Changes::default();
    let processes = ProcessNames::new(trace);
    let tools = record::Tools { names, processes: &processes, changes: &changes };
    trace.etl().rewrite(out, |area| area::anonymized(area, &tools))?;
    Ok(changes)
}
