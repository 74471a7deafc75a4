//! Disks and volumes of the machine that was traced (SystemConfig group).
//!
//! Sources: `docs/formats.md` ("SystemConfig"), checked on recorded traces. Fixed character arrays are UTF-16LE, cut at
//! the first NUL.

use crate::byte_reader::layout;
use crate::event::fixed_text::FixedText;
use crate::event::payload::ANY;
use zerocopy::little_endian::{I64, U16, U32, U64};

crate::event::hooks_macro::hooks! {
    PHYSICAL_DISK = 0x0b0b, "SystemConfig: PhyDisk";
    LOGICAL_DISK = 0x0b0c, "SystemConfig: LogDisk";
}

/// `0x0b0b` PhyDisk: 568 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhysicalDisk<'a> {
    /// Disk number.
    pub disk: u32,
    /// Bytes per sector.
    pub sector_bytes: u32,
    /// Sectors per track.
    pub sectors_per_track: u32,
    /// Tracks per cylinder.
    pub tracks_per_cylinder: u32,
    /// Cylinders.
    pub cylinders: u64,
    /// SCSI port, path, target, logical unit.
    pub scsi: [u32; 4],
    /// Manufacturer.
    pub manufacturer: FixedText<'a>,
    /// Number of partitions.
    pub partitions: u32,
    /// The write cache is on.
    pub write_cache: bool,
    /// Drive letter of the boot volume.
    pub boot_drive: FixedText<'a>,
}

layout! {
    PhysicalLayout = 568 bytes => PhysicalDisk<'a>, fn read(ANY) {
        disk: U32, sector_bytes: U32, sectors_per_track: U32, tracks_per_cylinder: U32, cylinders: U64, scsi: [U32; 4],
        manufacturer: [U16; 256], partitions: U32, write_cache: u8, -padding(u8), boot_drive: [U16; 3], -rest(U32)
    }
}

/// `0x0b0c` LogDisk: 112 bytes. It names no device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalDisk<'a> {
    /// Start on the disk, in bytes.
    pub start_offset: u64,
    /// Size of the partition.
    pub partition_bytes: u64,
    /// Disk number.
    pub disk: u32,
    /// Drive type: 1 partition, 2 volume, 4 extent.
    pub drive_type: u32,
    /// Drive letter, `C:`.
    pub drive_letter: FixedText<'a>,
    /// Partition number.
    pub partition: u32,
    /// Sectors per cluster.
    pub sectors_per_cluster: u32,
    /// Bytes per sector.
    pub sector_bytes: u32,
    /// Free clusters.
    pub free_clusters: i64,
    /// Clusters.
    pub clusters: i64,
    /// File system.
    pub file_system: FixedText<'a>,
}

layout! {
    LogicalLayout = 112 bytes => LogicalDisk<'a>, fn read(ANY) {
        start_offset: U64, partition_bytes: U64, disk: U32, -structure_bytes(U32), drive_type: U32,
        drive_letter: [U16; 4], -unknown(U32), partition: U32, sectors_per_cluster: U32, sector_bytes: U32,
        -unknown_2(U32), free_clusters: I64, clusters: I64, file_system: [U16; 16], -rest(U64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_reader::Wide;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn physical_disk() {
        let bytes = Bytes::new(568).u32(0, 1).u32(4, 512).u32(8, 63).u32(12, 255).u64(16, 0x1_0000_0001);
        let bytes = (0..4).fold(bytes, |bytes, i| bytes.u32(24 + 4 * i, 10 + i as u32));
        let bytes = bytes.raw(40, b"A\0B\0").u32(552, 3).u8(556, 1).u8(557, 0xff).raw(558, b"C\0:\0");
        let expected = PhysicalDisk {
            disk: 1,
            sector_bytes: 512,
            sectors_per_track: 63,
            tracks_per_cylinder: 255,
            cylinders: 0x1_0000_0001,
            scsi: [10, 11, 12, 13],
            manufacturer: Wide(b"A\0B\0").into(),
            partitions: 3,
            write_cache: true,
            boot_drive: Wide(b"C\0:\0").into(),
        };
        for p in [P8, P4] {
            assert_eq!(event(0x0b0b, 2, p, &bytes), Event::PhysicalDisk(expected));
            check_fixed(0x0b0b, 2, p, &bytes);
        }
    }

    #[test]
    fn logical_disk() {
        let bytes = Bytes::new(112).u64(0, 0x10_0000).u64(8, 0x40_0000_0000).u32(16, 1).u32(20, 112).u32(24, 2);
        let bytes = bytes.raw(28, b"C\0:\0").u32(36, 0xdead).u32(40, 4).u32(44, 8).u32(48, 512).u32(52, 0xdead);
        let bytes = bytes.u64(56, 1000).u64(64, 2000).raw(72, b"N\0T\0F\0S\0");
        let expected = LogicalDisk {
            start_offset: 0x10_0000,
            partition_bytes: 0x40_0000_0000,
            disk: 1,
            drive_type: 2,
            drive_letter: Wide(b"C\0:\0").into(),
            partition: 4,
            sectors_per_cluster: 8,
            sector_bytes: 512,
            free_clusters: 1000,
            clusters: 2000,
            file_system: Wide(b"N\0T\0F\0S\0").into(),
        };
        for p in [P8, P4] {
            assert_eq!(event(0x0b0c, 2, p, &bytes), Event::LogicalDisk(expected));
            check_fixed(0x0b0c, 2, p, &bytes);
        }
    }
}
