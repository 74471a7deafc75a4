//! Several files as one recording: sessions of one boot that were recorded side by side and never merged, for example the
//! kernel's events in one file and heap ranges in another.
//!
//! Their stamps come from one clock, so records of all files have one order. Sequence numbers, losses and damage belong
//! to each file.

use crate::etl::buffer::Buffer;
use crate::etl::file::EtlFile;
use crate::etl::stamp_limits::StampLimits;
use crate::units::FileTime;
use std::ops::Range;

/// Two boot times that differ by less are of one boot, 100 ns: Windows corrects the time of the boot when its clock is set.
const SAME_BOOT: u64 = 10 * 10_000_000;

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
        let same = |file: &EtlFile| file.header == other.header && file.own_buffers() == other.own_buffers();
        if same(self) || self.others.iter().any(|(_, file)| same(file)) {
            return Err("it is the same file again".into());
        }
        Ok(())
    }

    /// What files of one recording have in common beside their boot, as text.
    pub(crate) fn platform(&self) -> String {
        let (clock, header) = (&self.clock, &self.header);
        format!("{} {} {} {}", clock.kind.name(), clock.frequency_hz, header.pointer_bytes, header.os_build)
    }

    /// The bytes of the first file.
    pub(super) fn own_bytes(&self) -> &[u8] {
        self.input.bytes()
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
