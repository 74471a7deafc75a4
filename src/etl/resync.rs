//! Resynchronization: finds the next valid record after damage inside a buffer.
//!
//! Records lie at multiples of 8. A place is valid when several consecutive records from it have a known kind, a size that
//! fits and plausible stamps that do not fall, or when fewer such records end exactly at the area's end or at filler. The
//! result depends on the bytes only, so all passes over a buffer find the same records. Checking a place reads a few
//! headers, so the work is linear in the size of the gap.

use crate::error::DamageLog;
use crate::etl::header_type::{HeaderType, Marker, marker};
use crate::etl::record::RawRecord;
use crate::etl::record_id::Position;
use crate::etl::stamp_limits::StampLimits;

/// Number of consecutive records that make a place valid.
const VALID_RECORDS: usize = 4;

/// Where and why a chain of records broke.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Break {
    /// Offset in the event area.
    pub at: usize,
    /// Bytes up to the next valid record, or to the end.
    pub passed_over: usize,
    /// Bytes left in the area.
    left: usize,
    /// First bytes at the break and, if they can be a record's, the smallest size of its kind and its stated size.
    head: [u8; 8],
    sizes: Option<(usize, usize)>,
}

impl Break {
    /// A break at `at`; `next` is where the next valid record starts.
    pub fn new(area: &[u8], at: usize, next: Option<usize>) -> Break {
        let rest = area.get(at..).unwrap_or_default();
        let mut head = [0; 8];
        rest.iter().zip(&mut head).for_each(|(from, to)| *to = *from);
        let sizes = match marker(head) {
            Marker::Record(header, size) if rest.len() >= 8 => Some((header.header_bytes(), size)),
            _ => None,
        };
        Break { at, passed_over: next.unwrap_or(area.len()) - at, left: rest.len(), head, sizes }
    }

    /// True when the record's only fault may be that the area ends before it does.
    pub fn is_cut_short(&self) -> bool {
        self.sizes.map_or(self.left < 8, |(least, size)| size >= least && size > self.left)
    }

    /// What a valid record has.
    pub fn expected(&self) -> String {
        match self.sizes {
            Some((least, _)) => format!("a record size between {least} and {}", self.left),
            None => "a record marker (0xc0 or 0x90 at byte 3)".into(),
        }
    }

    /// What was found.
    pub fn found(&self) -> String {
        match self.sizes {
            Some((_, size)) => size.to_string(),
            None if self.left < 8 => format!("{} bytes", self.left),
            None => format!("bytes {:02x?}", self.head),
        }
    }
}

/// Where the chain of one area broke: the first places, and the number of the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breaks {
    /// The first places.
    pub places: Vec<Break>,
    /// Number of further places.
    pub more: u64,
}

impl Breaks {
    /// Adds a place.
    pub fn push(&mut self, place: Break) {
        match self.places.len() < DamageLog::KEPT {
            true => self.places.push(place),
            false => self.more += 1,
        }
    }
}

/// True when only filler (0xFF) follows `at`: the records end there.
pub(crate) fn is_filler_to_the_end(area: &[u8], at: usize) -> bool {
    area.get(at..).unwrap_or_default().iter().all(|&byte| byte == 0xff)
}

/// The next valid place after `at`.
pub(crate) fn next_valid(area: &[u8], at: usize, stamps: StampLimits) -> Option<usize> {
    (at / 8 + 1..area.len() / 8).map(|place| place * 8).find(|&place| is_valid(area, place, stamps))
}

fn is_valid(area: &[u8], mut at: usize, stamps: StampLimits) -> bool {
    let mut earliest = stamps.earliest;
    for count in 0..VALID_RECORDS {
        let rest = area.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return count > 0;
        }
        let (header, size) = match rest.first_chunk().map(|head| marker(*head)) {
            Some(Marker::Record(header, size)) => (header, size),
            Some(Marker::Filler) => return count > 1,
            _ => return false,
        };
        let is_known = !matches!(header, HeaderType::Error | HeaderType::Other(_)) && size >= header.header_bytes();
        let Some(bytes) = rest.get(..size).filter(|_| is_known) else { return false };
        if let Some(time) = (RawRecord { header, position: Position::default(), bytes }).time() {
            if time < earliest || !stamps.contains(time) {
                return false;
            }
            earliest = time;
        }
        at += size.next_multiple_of(8);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    const SESSION: StampLimits = StampLimits { earliest: Ticks(100), latest: Ticks(900) };

    fn record(time: i64) -> Vec<u8> {
        [vec![2, 0, 17, 0xc0, 24, 0, 0x22, 0x0f], time.to_le_bytes().to_vec(), vec![0; 8]].concat()
    }

    fn after(damage: &[u8], times: &[i64], tail: &[u8]) -> Option<usize> {
        let area = [damage, &times.iter().flat_map(|&time| record(time)).collect::<Vec<_>>(), tail].concat();
        next_valid(&area, 0, SESSION)
    }

    #[test]
    fn several_records_in_a_row_are_sound() {
        assert_eq!(after(&[0xff; 40], &[200, 200, 201, 300], &[7; 80]), Some(40));
        assert_eq!(after(&[0xff; 40], &[200, 200, 201], &[7; 80]), None);
    }

    #[test]
    fn fewer_are_sound_when_they_reach_the_end_or_its_filler() {
        assert_eq!(after(&[0x41; 16], &[200], &[]), Some(16));
        assert_eq!(after(&[0x41; 16], &[200, 200], &[0xff; 24]), Some(16));
        assert_eq!(after(&[0x41; 16], &[200], &[0xff; 24]), None);
    }

    #[test]
    fn stamps_that_cannot_be_or_fall_make_a_place_unsound() {
        assert_eq!(after(&[0; 8], &[99, 200, 300, 400, 500], &[1; 8]), Some(32));
        assert_eq!(after(&[0; 8], &[300, 200, 300, 400, 901], &[1; 8]), None);
        assert_eq!(after(&[0; 8], &[800, 200, 300, 400, 500], &[1; 8]), Some(32));
    }
}
