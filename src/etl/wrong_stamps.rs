//! Records whose time stamps are not plausible: counted by buffer, reported once for each.

use crate::error::{Damage, DamageLog};
use crate::etl::EtlFile;
use crate::etl::event_area::EventArea;
use crate::etl::record::RawRecord;
use crate::units::{FileOffset, Ticks};

/// Records of one buffer whose stamps are not plausible.
#[derive(Debug)]
pub(crate) struct WrongStamps {
    buffer: u32,
    count: u64,
    /// The first record: offset in the event area, offset in the file, stamp.
    at: u32,
    offset: FileOffset,
    stamp: Ticks,
}

impl WrongStamps {
    /// Adds a record to the entry of its buffer, which is the last of `all` or a new one.
    #[cold]
    pub fn note(all: &mut Vec<WrongStamps>, record: &RawRecord<'_>, stamp: Ticks, area: &EventArea<'_>) {
        let at = record.position.offset;
        match all.last_mut().filter(|last| last.buffer == area.index) {
            Some(last) => last.count += 1,
            None => {
                let offset = area.file_offset(at as usize);
                all.push(WrongStamps { buffer: area.index, count: 1, at, offset, stamp });
            }
        }
    }

    /// Index of the buffer.
    pub fn buffer(&self) -> u32 {
        self.buffer
    }

    /// The damage to report: one place for all these records.
    pub fn damage(&self, etl: &EtlFile) -> DamageLog {
        let seconds = |stamp| etl.clock.nanos(stamp).seconds();
        let whose = match self.count {
            1 => format!("time stamp of the record at 0x{:x} of the event area of buffer {}", self.at, self.buffer),
            many => format!("time stamps of {many} records of buffer {}, the first at 0x{:x}", self.buffer, self.at),
        };
        let mut log = DamageLog::default();
        log.push(Damage {
            offset: self.offset,
            what: format!("{whose} (taken as that of the record before)"),
            expected: format!("{:.3} s to {:.3} s", seconds(etl.stamps.earliest), seconds(etl.stamps.latest)),
            found: format!("{:.3} s", seconds(self.stamp)),
        });
        log
    }
}
