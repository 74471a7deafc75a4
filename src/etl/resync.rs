//! After damage inside of a buffer: where do sound records begin again?
//!
//! Records lie at multiples of 8. A place is sound when several records in a row from it have a known kind, a size that
//! fits and stamps that can be true and do not fall, or when fewer such records reach exactly to the area's end or to
//! filler. Whether a place is sound does not depend on how it was reached, so every walk of a buffer sees the same records.
//! Each place costs a look at a few headers, and each byte of a gap one look for each walk: work stays linear.

use crate::error::DamageLog;
use crate::etl::header_type::{HeaderType, Marker, marker};
use crate::etl::record::{Position, RawRecord};
use crate::etl::stamps::StampLimits;

/// Records in a row that make a place sound.
const SOUND_RECORDS: usize = 4;

/// Where and why a chain of records broke.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Break {
    /// Offset in the event area.
    pub at: usize,
    /// Bytes up to the next sound record, or to the end.
    pub passed_over: usize,
    /// Bytes left in the area.
    left: usize,
    /// First bytes and, if they are a record's, its smallest and its stated size.
    head: [u8; 8],
    sizes: Option<(usize, usize)>,
}

impl Break {
    /// At `at`, up to the next sound record.
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

    /// True when the area's end may be all that is wrong with the record.
    pub fn is_cut_short(&self) -> bool {
        self.sizes.map_or(self.left < 8, |(least, size)| size >= least && size > self.left)
    }

    /// What a sound record has.
    pub fn expected(&self) -> String {
        match self.sizes {
            Some((least, _)) => format!("a record size between {least} and {}", self.left),
            None => "a record marker (0xc0 or 0x90 at byte 3)".into(),
        }
    }

    /// What this one has.
    pub fn found(&self) -> String {
        match self.sizes {
            Some((_, size)) => size.to_string(),
            None if self.left < 8 => format!("{} bytes", self.left),
            None => format!("bytes {:02x?}", self.head),
        }
    }
}

/// Where the chain of one area broke: the first places, and how many more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breaks {
    /// The first places.
    pub places: Vec<Break>,
    /// Places beyond those.
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

/// True when nothing but filler (0xFF) follows: the area ends at `at`.
pub(crate) fn is_filler_to_the_end(area: &[u8], at: usize) -> bool {
    area.get(at..).unwrap_or_default().iter().all(|&byte| byte == 0xff)
}

/// The next sound place after `at`.
pub(crate) fn next_sound(area: &[u8], at: usize, stamps: StampLimits) -> Option<usize> {
    (at / 8 + 1..area.len() / 8).map(|place| place * 8).find(|&place| is_sound(area, place, stamps))
}

fn is_sound(area: &[u8], mut at: usize, stamps: StampLimits) -> bool {
    let mut earliest = stamps.earliest;
    for count in 0..SOUND_RECORDS {
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
            if time < earliest || !stamps.hold(time) {
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
        next_sound(&area, 0, SESSION)
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
