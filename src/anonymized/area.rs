//! An event area without what its records say about people. What is no record stays what it was for a reader: filler, or
//! damage.

use crate::anonymized::record::{Tools, replace};
use crate::etl::event_area::EventArea;
use crate::etl::header_type::{Marker, marker};
use crate::etl::resync::is_filler_to_the_end;

/// The bytes of the area, with stand-ins; as many as it has.
pub fn anonymized(area: &EventArea<'_>, tools: &Tools<'_>) -> Vec<u8> {
    // No record begins with zeros: they are damage.
    let mut new = vec![0; area.bytes.len()];
    let mut parts = Vec::new();
    let mut end = 0;
    for record in area.records() {
        let begin = record.position.offset as usize;
        copy_marker(area.bytes, end, begin, &mut new);
        let Some(whole) = new.get_mut(begin..).and_then(|rest| rest.get_mut(..record.bytes.len())) else { continue };
        whole.copy_from_slice(record.bytes);
        replace(&record, whole, tools, &mut parts);
        end = (begin + record.bytes.len()).next_multiple_of(8);
    }
    let end = end.min(new.len());
    if is_filler_to_the_end(area.bytes, end) {
        new.iter_mut().skip(end).for_each(|byte| *byte = 0xff);
    } else {
        copy_marker(area.bytes, end, new.len(), &mut new);
    }
    new
}

/// A broken chain tells by the first bytes what it broke at: which kind of record was to follow, and of which size, or filler.
fn copy_marker(old: &[u8], from: usize, to: usize, new: &mut [u8]) {
    if from >= to {
        return;
    }
    let head = old.get(from..).and_then(|rest| rest.first_chunk::<8>());
    let kept: [u8; 8] = match head.map(|head| (head, marker(*head))) {
        Some((head, Marker::Record(..))) => *head,
        Some((_, Marker::Filler)) => [0xff; 8],
        _ => return,
    };
    new.get_mut(from..from + kept.len()).into_iter().for_each(|place| place.copy_from_slice(&kept));
}
