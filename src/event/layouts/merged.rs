//! Records that merging a trace adds: system paths, volumes, and the identity of each image.
//!
//! They come under two class GUIDs. Sources: `docs/formats.md` ("Records added by merging"), checked on recorded traces
//! (8-byte pointers).

use super::header_group::DebugId;
use super::system_config::DeviceFamily;
use crate::byte_reader::{Wide, layout};
use crate::event::outcome::{Parsed, Read};
use crate::event::payload::{ANY, Payload};
use crate::units::FileTime;
use uuid::{Uuid, uuid};
use zerocopy::little_endian::U32;

/// Class of the system's configuration.
pub const SYS_CONFIG: Uuid = uuid!("9b79ee91-b5fd-41c0-a243-4248e266e9d0");

/// Class of image identities.
pub const IMAGE_ID: Uuid = uuid!("b3e675d7-2554-4f18-830b-2762732560de");

/// A record of either class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddedByMerge<'a> {
    /// SysConfig 32: the Windows build.
    Build {
        /// When Windows was installed; 1970-01-01 = unknown.
        install_date: FileTime,
        /// The same as it is in the record.
        date_bytes: &'a [u8],
        /// Build lab, `26100.4652.amd64fre.…`.
        lab: Wide<'a>,
        /// Product name; "Windows 10 …" on Windows 11 too.
        product: Wide<'a>,
    },
    /// SysConfig 33: where Windows is.
    SystemPaths {
        /// System directory.
        system: Wide<'a>,
        /// Windows directory.
        windows: Wide<'a>,
    },
    /// SysConfig 34: a volume without a drive letter.
    UnknownVolume(Wide<'a>),
    /// SysConfig 35: how the kernel's path begins, and the user's.
    Volume {
        /// Kernel prefix, `\Device\HarddiskVolume3\`.
        nt_prefix: Wide<'a>,
        /// User prefix, `C:\`; may be empty.
        dos_prefix: Wide<'a>,
    },
    /// SysConfig 37: exact build; all zero before Windows 10.
    DeviceFamily(DeviceFamily),
    /// ImageId 0: what an image's PE header says.
    ImageId {
        /// Where it is mapped.
        base: u64,
        /// Size of the mapping.
        size_bytes: u64,
        /// The process; 0 = kernel.
        process_id: u32,
        /// PE time stamp.
        time_date_stamp: u32,
        /// Original file name.
        original_name: Wide<'a>,
    },
    /// ImageId 36 (or 37, of managed code): an image's program database.
    Pdb {
        /// True for 37.
        managed: bool,
        /// Where the image is mapped.
        base: u64,
        /// The process; 0 = kernel.
        process_id: u32,
        /// The database.
        id: DebugId<'a>,
    },
    /// ImageId 32: an image without debug information.
    NoDebugId {
        /// Where it is mapped.
        base: u64,
        /// The process; 0 = kernel.
        process_id: u32,
    },
    /// ImageId 64: an image's version resource.
    FileVersion(FileVersion<'a>),
}

/// Version resource of an image; joined by size and time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion<'a> {
    /// Size of the image, bytes.
    pub image_bytes: u32,
    /// PE time stamp.
    pub time_date_stamp: u32,
    /// Original name, description, file version, binary version, language, product, company, product version, file id,
    /// program id: each string with its NUL.
    strings: &'a [u8],
}

/// Which string of a version resource, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names say it
pub enum FileVersionField {
    OriginalName,
    Description,
    FileVersion,
    BinaryVersion,
    Language,
    Product,
    Company,
    ProductVersion,
    FileId,
    ProgramId,
}

const FILE_VERSION_STRINGS: usize = 10;

impl<'a> FileVersion<'a> {
    /// All strings.
    pub fn texts(&self) -> impl Iterator<Item = Wide<'a>> {
        let mut c = crate::byte_reader::Cursor::new(self.strings, crate::units::PointerSize::P8);
        (0..FILE_VERSION_STRINGS).map_while(move |_| c.wide("file version string").ok())
    }

    /// One of the strings.
    pub fn field(&self, field: FileVersionField) -> Wide<'a> {
        let mut c = crate::byte_reader::Cursor::new(self.strings, crate::units::PointerSize::P8);
        let mut read = || c.wide("file version string").unwrap_or_default(); // present: `read` passed over all of them
        for _ in 0..field as usize {
            read();
        }
        read()
    }

    fn read(payload: &Payload<'a>) -> Read<FileVersion<'a>> {
        let mut c = payload.cursor();
        let image_bytes = c.u32("image size")?;
        let time_date_stamp = c.u32("time stamp")?;
        let strings = c.rest();
        for _ in 0..FILE_VERSION_STRINGS {
            c.wide("file version string")?;
        }
        let oddity = payload.ends(&c, ANY);
        Ok(Parsed::new(FileVersion { image_bytes, time_date_stamp, strings }, oddity))
    }
}

layout! {
    NoDebugIdLayout<P> = 12 / 8 bytes => AddedByMerge<'a> as NoDebugId { base: P, process_id: U32 }
}

impl<'a> AddedByMerge<'a> {
    /// Decodes a record of one of the two classes; `None` for types that are only counted. The payload's hook id is not
    /// looked at.
    pub fn read(payload: &Payload<'a>, class: Uuid, opcode: u8) -> Option<Read<AddedByMerge<'a>>> {
        match (class, opcode) {
            (SYS_CONFIG, 32 | 33 | 34 | 35 | 37) => Some(AddedByMerge::read_system(payload, opcode)),
            (IMAGE_ID, 0 | 32 | 36 | 37 | 64) => Some(AddedByMerge::read_image(payload, opcode)),
            _ => None,
        }
    }

    fn read_system(payload: &Payload<'a>, opcode: u8) -> Read<AddedByMerge<'a>> {
        let mut c = payload.cursor();
        let value = match opcode {
            32 => AddedByMerge::Build {
                date_bytes: c.clone().take(8, "install date")?,
                install_date: FileTime(c.u64("install date")?),
                lab: c.wide("build lab")?,
                product: c.wide("product name")?,
            },
            33 => {
                AddedByMerge::SystemPaths { system: c.wide("system directory")?, windows: c.wide("Windows directory")? }
            }
            34 => AddedByMerge::UnknownVolume(c.wide("device")?),
            35 => AddedByMerge::Volume { nt_prefix: c.wide("NT prefix")?, dos_prefix: c.wide("DOS prefix")? },
            _ => return Ok(DeviceFamily::read(payload)?.map(AddedByMerge::DeviceFamily)),
        };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }

    fn read_image(payload: &Payload<'a>, opcode: u8) -> Read<AddedByMerge<'a>> {
        let mut c = payload.cursor();
        let value = match opcode {
            0 => AddedByMerge::ImageId {
                base: c.ptr("image base")?,
                size_bytes: c.ptr("image size")?,
                process_id: c.u32("process id")?,
                time_date_stamp: c.u32("time stamp")?,
                original_name: c.wide("original file name")?,
            },
            32 => return payload.read::<NoDebugIdLayout>(ANY),
            64 => return Ok(FileVersion::read(payload)?.map(AddedByMerge::FileVersion)),
            _ => AddedByMerge::Pdb {
                managed: opcode == 37,
                base: c.ptr("image base")?,
                process_id: c.u32("process id")?,
                id: DebugId::at(&mut c)?,
            },
        };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::record_id::RecordId;
    use crate::event::testing::*;
    use crate::event::{Decoded, Event, decode};
    use crate::units::PointerSize;

    fn decoded(class: Uuid, opcode: u8, p: PointerSize, bytes: &Bytes) -> Decoded<'_> {
        decode(&with_id(RecordId::Classic { class, opcode }, 0, p, &bytes.0))
    }

    fn merged(class: Uuid, opcode: u8, p: PointerSize, bytes: &Bytes) -> AddedByMerge<'_> {
        for cut in 1..=bytes.0.len() {
            let shorter = bytes.clone().cut(cut);
            assert!(matches!(decoded(class, opcode, p, &shorter), Decoded::Malformed(_)), "{opcode} cut by {cut}");
        }
        let longer = bytes.clone().more(&[0xee; 8]);
        assert!(matches!(decoded(class, opcode, p, &longer), Decoded::Event { surplus: Some(_), .. }));
        match decoded(class, opcode, p, bytes) {
            Decoded::Event { event: Event::Merged(merged), surplus: None } => merged,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn system_configuration() {
        let bytes = Bytes::new(8).u64(0, 77).wide("26100.1").wide("Windows 10 Pro");
        let AddedByMerge::Build { install_date, lab, product, .. } = merged(SYS_CONFIG, 32, P8, &bytes) else {
            panic!()
        };
        assert_eq!(
            (install_date, lab.to_string(), product.to_string()),
            (FileTime(77), "26100.1".into(), "Windows 10 Pro".into())
        );
        let bytes = Bytes::new(0).wide(r"C:\Windows\system32").wide(r"C:\Windows");
        let AddedByMerge::SystemPaths { system, windows } = merged(SYS_CONFIG, 33, P8, &bytes) else { panic!() };
        assert_eq!((system.to_string(), windows.to_string()), (r"C:\Windows\system32".into(), r"C:\Windows".into()));
        let bytes = Bytes::new(0).wide(r"\Device\HarddiskVolume1");
        let AddedByMerge::UnknownVolume(device) = merged(SYS_CONFIG, 34, P8, &bytes) else { panic!() };
        assert_eq!(device.to_string(), r"\Device\HarddiskVolume1");
        let bytes = Bytes::new(0).wide(r"\??\").wide("");
        let AddedByMerge::Volume { nt_prefix, dos_prefix } = merged(SYS_CONFIG, 35, P8, &bytes) else { panic!() };
        assert_eq!((nt_prefix.to_string(), dos_prefix.is_empty()), (r"\??\".into(), true));
        let bytes = Bytes::new(16).u16(6, 10).u16(2, 19045);
        let AddedByMerge::DeviceFamily(family) = merged(SYS_CONFIG, 37, P8, &bytes) else { panic!() };
        assert_eq!(family.version, [10, 0, 19045, 0]);
    }

    #[test]
    fn image_identities() {
        for (p, at) in [(P8, [8, 16, 20, 24]), (P4, [4, 8, 12, 16])] {
            let bytes =
                Bytes::new(at[3]).ptr(p, 0, 0x40_0000).ptr(p, at[0], 0x5000).u32(at[1], 77).u32(at[2], 0x5f5e_1000);
            let bytes = bytes.wide("a.exe");
            let expected = AddedByMerge::ImageId {
                base: 0x40_0000,
                size_bytes: 0x5000,
                process_id: 77,
                time_date_stamp: 0x5f5e_1000,
                original_name: Wide(b"a\0.\0e\0x\0e\0"),
            };
            assert_eq!(merged(IMAGE_ID, 0, p, &bytes), expected);

            let bytes = Bytes::new(p.bytes() + 4).ptr(p, 0, 0x40_0000).u32(p.bytes(), 77);
            assert_eq!(merged(IMAGE_ID, 32, p, &bytes), AddedByMerge::NoDebugId { base: 0x40_0000, process_id: 77 });
        }
        for (p, at) in [(P8, [8, 12, 28, 32]), (P4, [4, 8, 24, 28])] {
            let bytes =
                Bytes::new(at[3]).ptr(p, 0, 0x40_0000).u32(at[0], 77).u8(at[1], 9).u32(at[2], 3).narrow("a.pdb");
            for (opcode, expected) in [(36, false), (37, true)] {
                let AddedByMerge::Pdb { managed, base, process_id, id } = merged(IMAGE_ID, opcode, p, &bytes) else {
                    panic!()
                };
                assert_eq!((managed, base, process_id, id.age), (expected, 0x40_0000, 77, 3));
                assert_eq!((id.guid.as_fields().0, id.pdb_name.text().as_ref()), (9, "a.pdb"));
            }
        }
    }

    #[test]
    fn version_resource_is_ten_strings() {
        let bytes = (0..10).fold(Bytes::new(8).u32(0, 0x5000).u32(4, 99), |bytes, i| bytes.wide(&"x".repeat(i)));
        let AddedByMerge::FileVersion(found) = merged(IMAGE_ID, 64, P8, &bytes) else { panic!() };
        assert_eq!((found.image_bytes, found.time_date_stamp), (0x5000, 99));
        assert!(found.field(FileVersionField::OriginalName).is_empty());
        assert_eq!(found.field(FileVersionField::Company).to_string(), "x".repeat(6));
        assert_eq!(found.field(FileVersionField::ProgramId).to_string(), "x".repeat(9));
    }

    #[test]
    fn other_types_are_only_counted() {
        for (class, opcode) in [(SYS_CONFIG, 36), (IMAGE_ID, 34), (IMAGE_ID, 38), (Uuid::nil(), 0)] {
            assert_eq!(decoded(class, opcode, P8, &Bytes::new(100)), Decoded::NotDecoded);
        }
    }
}
