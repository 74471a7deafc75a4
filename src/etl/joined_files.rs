//! Several files as one recording: sessions of one boot that were recorded side by side and never merged, for example the
//! kernel's events in one file and heap ranges in another.
//!
//! Their stamps come from one clock, so records of all files have one order. Sequence numbers, losses and damage belong
//! to each file.

use crate::etl::buffer::Buffer;
use crate::etl::file::{EtlFile, Scratch};
use crate::etl::log_file_header::{MODE_CIRCULAR, MODE_NO_PER_PROCESSOR, MODE_PRIVATE};
use crate::etl::stamp_limits::StampLimits;
use crate::units::{FileTime, Ticks};
use std::ops::Range;

/// Two boot times that differ by less are of one boot, 100 ns: Windows corrects the time of the boot when its clock is set.
const SAME_BOOT: u64 = 10 * 10_000_000;

/// Two sessions of one recording overlap: whoever records both stops one after the other, and starts none after that. So much can lie between
/// them by their headers and none in truth: the date of an end is that of a tick of the clock, in seconds, and the clock of dates is slewed
/// while a session runs, by this part of its length.
const TICK: f64 = 0.016;
const SLEWED: f64 = 1e-3;

/// True for two boot times of one boot.
pub fn is_same_boot(one: FileTime, other: FileTime) -> bool {
    one.0.abs_diff(other.0) <= SAME_BOOT
}

impl EtlFile {
    /// Adds another file of the same recording. Times are those since the start of this one.
    ///
    /// # Errors
    /// Why the files do not fit together, in words that follow "OTHER does not belong to the recording of FIRST:".
    pub fn join(&mut self, name: &str, mut other: EtlFile) -> Result<(), String> {
        self.fits(&other)?;
        let file = u16::try_from(self.others.len() + 1).map_err(|_| "too many files".to_owned())?;
        other.clock = self.clock;
        self.stamps = StampLimits {
            earliest: self.stamps.earliest.min(other.stamps.earliest),
            latest: self.stamps.latest.max(other.stamps.latest),
        };
        self.buffers.extend(other.buffers.iter().map(|buffer| Buffer { file, ..*buffer }));
        self.damage.append_of(name, std::mem::take(&mut other.damage));
        self.others.push((name.to_owned(), other));
        Ok(())
    }

    /// Checks whether two files belong to one recording.
    ///
    /// # Errors
    /// Why not.
    pub fn fits(&self, other: &EtlFile) -> Result<(), String> {
        let (own, theirs) = (&self.clock, &other.clock);
        if own.kind != theirs.kind {
            return Err(format!("its clock is {}, not {}", theirs.kind.name(), own.kind.name()));
        }
        if own.frequency_hz != theirs.frequency_hz {
            return Err(format!("its clock has {} Hz, not {} Hz", theirs.frequency_hz, own.frequency_hz));
        }
        let (bits, other_bits) = (self.header.pointer_bytes, other.header.pointer_bytes);
        if bits != other_bits {
            return Err(format!("its pointers have {other_bits} bytes, not {bits}"));
        }
        let (build, other_build) = (self.header.os_build, other.header.os_build);
        if build != other_build {
            return Err(format!("it is of Windows build {other_build}, not {build}"));
        }
        if !is_same_boot(self.header.boot_time, other.header.boot_time) {
            return Err("it was recorded after another boot of Windows".into());
        }
        if let (Some(one), Some(other)) = (self.all_processors(), other.all_processors())
            && one != other
        {
            return Err(format!("its machine has {other} processors, not {one}"));
        }
        for (earlier, later, when) in
            [(self, other, "began after that one ended"), (other, self, "ended before that one began")]
        {
            let apart = later.seconds_after(earlier).filter(|apart| *apart > TICK + earlier.seconds() * SLEWED);
            if let Some(apart) = apart {
                return Err(format!("its session {when}, by {apart:.3} s: they were not recorded together"));
            }
        }
        let same = |file: &EtlFile| file.header == other.header && file.own_buffers() == other.own_buffers();
        if same(self) || self.others.iter().any(|(_, file)| same(file)) {
            return Err("it is the same file again".into());
        }
        Ok(())
    }

    /// Processors of the machine, where the header of this kind of session counts them.
    fn all_processors(&self) -> Option<u32> {
        const OTHERWISE: u32 = MODE_NO_PER_PROCESSOR | MODE_PRIVATE;
        Some(self.header.processors).filter(|_| self.header.mode & OTHERWISE == 0)
    }

    /// Length of its session by its dates; 0 where they tell none.
    fn seconds(&self) -> f64 {
        let length = self.header.end_time.and_then(|end| end.0.checked_sub(self.header.start_time.0));
        length.unwrap_or(0) as f64 / 1e7
    }

    /// Seconds from the end of another session of this clock to the start of this one; below zero where they overlap. By the dates for
    /// the length, and by the clock for the rest, because dates are set. `None` where the other one was never stopped.
    fn seconds_after(&self, earlier: &EtlFile) -> Option<f64> {
        let end = earlier.header.end_time.filter(|end| *end >= earlier.header.start_time);
        let [own, other] = [self, earlier].map(|file| file.header_stamp().unwrap_or(file.clock.origin));
        let between = i128::from(own.0) - i128::from(other.0);
        end.map(|_| between as f64 / self.clock.frequency_hz.max(1) as f64 - earlier.seconds())
    }

    /// What files of one recording have in common beside their boot, as text.
    pub(crate) fn platform(&self) -> String {
        let (clock, header) = (&self.clock, &self.header);
        format!("{} {} {} {}", clock.kind.name(), clock.frequency_hz, header.pointer_bytes, header.os_build)
    }

    /// Stamp of the record of the log-file header, the first one. That of a further file is its own, though its clock is that of the first.
    pub(crate) fn header_stamp(&self) -> Option<Ticks> {
        self.first_stamp(0, &mut Scratch::new())
    }

    /// The bytes of the first file.
    pub(super) fn own_bytes(&self) -> &[u8] {
        self.input.bytes()
    }

    /// True of a circular file that was filled: it holds the last buffers that were written.
    pub(crate) fn has_overwritten(&self) -> bool {
        self.header.mode & MODE_CIRCULAR != 0 && self.header.buffers_written as usize > self.own_buffers().len()
    }

    /// The buffers of this file alone.
    pub fn own_buffers(&self) -> &[Buffer] {
        let further: usize = self.others.iter().map(|(_, file)| file.buffers.len()).sum();
        self.buffers.get(..self.buffers.len().saturating_sub(further)).unwrap_or_default()
    }

    /// The further files of the recording: name, file, and the indexes of its buffers in the recording.
    pub fn further(&self) -> impl Iterator<Item = (&str, &EtlFile, Range<usize>)> {
        let mut start = self.own_buffers().len();
        self.others.iter().map(move |(name, file)| {
            let buffers = start..start + file.buffers.len();
            start = buffers.end;
            (name.as_str(), file, buffers)
        })
    }

    /// Name of the further file in which a buffer is; `None` for this file.
    pub fn file_of(&self, buffer: u32) -> Option<&str> {
        let file = self.buffers.get(buffer as usize)?.file;
        usize::from(file).checked_sub(1).and_then(|further| self.others.get(further)).map(|(name, _)| name.as_str())
    }
}
