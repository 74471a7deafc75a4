//! File names and mapped views (FileIo group).
//!
//! Sources: `docs/formats.md` ("File names and mapped files"). Names were checked on recorded traces; mapped views are
//! after the Windows MOF (version 2) and TraceEvent (version 3) only.

use crate::byte_reader::{Wide, layout, size};
use crate::etl::record_id::HookId;
use crate::event::Phase;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use hook::*;
use zerocopy::little_endian::{U32, U64};

crate::event::hooks_macro::hooks! {
    FILE_NAME = 0x0400, "FileIo: Name";
    FILE_CREATE = 0x0420, "FileIo: FileCreate", "FileNameCreate";
    SAME_FILE = 0x0421, "FileIo: SameFile";
    FILE_DELETE = 0x0423, "FileIo: FileDelete", "FileNameDelete";
    FILE_RUNDOWN = 0x0424, "FileIo: FileRundown", "FileNameRundown";
    MAP_FILE = 0x0425, "FileIo: MapFile";
    UNMAP_FILE = 0x0426, "FileIo: UnmapFile";
    MAP_FILE_DC_START = 0x0427, "FileIo: MapFileDCStart";
    MAP_FILE_DC_END = 0x0428, "FileIo: MapFileDCEnd";
}

/// Which record a file name came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileNameKind {
    /// `0x0400`.
    Name,
    /// `0x0420`: the key is assigned to this file.
    Create,
    /// `0x0423`: the key no longer belongs to this file; it can be reused for another one.
    Delete,
    /// `0x0424`: the key belongs to this file at the end of the session (rundown).
    Rundown,
}

impl FileNameKind {
    /// The event of this kind.
    pub const fn hook(self) -> HookId {
        match self {
            FileNameKind::Name => FILE_NAME,
            FileNameKind::Create => FILE_CREATE,
            FileNameKind::Delete => FILE_DELETE,
            FileNameKind::Rundown => FILE_RUNDOWN,
        }
    }
}

/// A file key (as in page identities and hard faults) and its file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileName<'a> {
    /// File key, a kernel address.
    pub key: u64,
    /// Path from the device on, `\Device\HarddiskVolume3\…`.
    pub name: Wide<'a>,
}

/// What the kernel writes for a file that it cannot name: `\FI_UNKNOWN`, UTF-16LE.
const UNKNOWN_NAME: [u8; 22] = *b"\\\0F\0I\0_\0U\0N\0K\0N\0O\0W\0N\0";

impl<'a> FileName<'a> {
    /// True when the kernel could not name the file; treat it as having no name.
    pub fn is_unknown(&self) -> bool {
        self.name.0 == UNKNOWN_NAME
    }

    /// Decodes a key and a string; all versions are alike.
    ///
    /// # Errors
    /// A fault when the key is cut or the name has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<FileName<'a>> {
        let mut c = payload.cursor();
        let value = FileName { key: c.ptr("file key")?, name: c.wide("file name")? };
        Ok(Parsed::new(value, payload.ends(&c, 0..=3)))
    }
}

/// `0x0421`: two keys of one file, 16/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameFile {
    /// Key before.
    pub old_key: u64,
    /// Key afterwards.
    pub new_key: u64,
}

layout! {
    SameFileLayout<P> = 16 / 8 bytes => SameFile, fn read(ANY) { old_key: P, new_key: P }
}

/// What a view is of (bits 54–55 of *misc*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ViewKind {
    /// A file mapped as data.
    DataFile,
    /// A file mapped as an executable image.
    Image,
    /// An image with a protection that differs from its sections'.
    ImageOtherProtection,
    /// Memory without a file (shared memory).
    PagefileBacked,
}

/// `0x0425`–`0x0428`: a view of a section in a process. 36/24 bytes (version 2), 44/32 bytes (version 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapView {
    /// Address of the view.
    pub base: u64,
    /// File key; 0 or a section's address for pagefile-backed views.
    pub file_key: u64,
    /// Kind of view in bits 54–55, probably protection in bits 48–52, file offset below.
    pub misc: u64,
    /// Size of the view.
    pub size_bytes: u64,
    /// Version 3, at 32/20: the file offset by TraceEvent, the commit charge in bytes by the one published sample. Not
    /// to be used for a decision.
    pub unknown_after_size: Option<u64>,
    /// The process; 0 when it is being created and has no id yet (then the header's thread is the one that creates it).
    pub process_id: u32,
}

impl MapView {
    /// The event about a view in this phase.
    pub const fn hook(phase: Phase) -> HookId {
        phase.pick([MAP_FILE, UNMAP_FILE, MAP_FILE_DC_START, MAP_FILE_DC_END])
    }

    /// What the view is of.
    pub const fn kind(&self) -> ViewKind {
        match self.misc >> 54 & 3 {
            0 => ViewKind::DataFile,
            1 => ViewKind::Image,
            2 => ViewKind::ImageOtherProtection,
            _ => ViewKind::PagefileBacked,
        }
    }

    /// Bits 48–52, which look like the kernel's protection code of the address range.
    pub const fn protection(&self) -> u8 {
        (self.misc >> 48 & 0x1f) as u8
    }

    /// Bits 0–47, probably the byte offset in the file. Not to be used for a decision.
    pub const fn file_offset(&self) -> u64 {
        self.misc & 0xffff_ffff_ffff
    }

    /// Decodes a record. The version decides the layout. A record with the length of the other version is a fault, because
    /// its process id would be read from the wrong offset.
    ///
    /// # Errors
    /// A fault when the length is less than the version's layout has, or the other version's.
    pub fn read(payload: &Payload<'_>) -> Read<MapView> {
        let known = 2..=3;
        if payload.version >= 3 {
            return payload.read::<MapViewV3>(known);
        }
        if payload.bytes.len() == size::<MapViewV3>(payload.pointer) {
            return Err(Fault::Length { expected: size::<MapViewV2>(payload.pointer) });
        }
        payload.read::<MapViewV2>(known)
    }
}

layout! {
    /// After the Windows MOF only.
    MapViewV2<P> = 36 / 24 bytes => MapView {
        base: P, file_key: P, misc: U64, size_bytes: P, process_id: U32
    } with |_| { unknown_after_size: None }
}

layout! {
    /// After TraceEvent and one published sample.
    MapViewV3<P> = 44 / 32 bytes => MapView {
        base: P, file_key: P, misc: U64, size_bytes: P, unknown_after_size: U64, process_id: U32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::event::{Event, Phase};

    #[test]
    fn names_of_all_kinds_and_versions() {
        for p in [P8, P4] {
            let bytes = Bytes::new(p.bytes()).ptr(p, 0, 0xa123_4560).wide(r"\Device\HarddiskVolume3\ä.txt");
            for (hook, expected) in [
                (0x0400, FileNameKind::Name),
                (0x0420, FileNameKind::Create),
                (0x0423, FileNameKind::Delete),
                (0x0424, FileNameKind::Rundown),
            ] {
                for version in 0..=3 {
                    let Event::FileName { kind, file } = event(hook, version, p, &bytes) else { panic!() };
                    assert_eq!((kind, file.key), (expected, 0xa123_4560));
                    assert_eq!(file.name.to_string(), r"\Device\HarddiskVolume3\ä.txt");
                    assert!(!file.is_unknown());
                }
                check_strings(hook, 2, p, &bytes);
            }
            let cut = fault(0x0424, 2, p, &bytes.clone().cut(2));
            assert_eq!(cut, Fault::Unterminated { field: "file name", at: p.bytes() });
            check_unknown_version(0x0424, p, &bytes);
        }
    }

    #[test]
    fn the_kernels_word_for_no_name_is_known() {
        let bytes = Bytes::new(8).wide(r"\FI_UNKNOWN");
        let Event::FileName { file, .. } = event(0x0424, 2, P8, &bytes) else { panic!() };
        assert!(file.is_unknown());
    }

    #[test]
    fn same_file() {
        for (p, size) in [(P8, 16), (P4, 8)] {
            let bytes = Bytes::new(size).ptr(p, 0, 1).ptr(p, p.bytes(), 2);
            assert_eq!(event(0x0421, 2, p, &bytes), Event::SameFile(SameFile { old_key: 1, new_key: 2 }));
            check_fixed(0x0421, 2, p, &bytes);
        }
    }

    const MISC: u64 = 1 << 54 | 7 << 48 | 0x3_4000;

    #[test]
    fn views_of_version_2() {
        for (p, size, at) in [(P8, 36, [8, 16, 24, 32]), (P4, 24, [4, 8, 16, 20])] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x7000_0000).ptr(p, at[0], 0xa123_4560).u64(at[1], MISC);
            let bytes = bytes.ptr(p, at[2], 0x2_0000).u32(at[3], 4312);
            for (hook, expected) in
                [(0x0425, Phase::Start), (0x0426, Phase::End), (0x0427, Phase::DcStart), (0x0428, Phase::DcEnd)]
            {
                let Event::MapView { phase, view } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!(phase, expected);
                assert_eq!((view.base, view.file_key, view.misc), (0x7000_0000, 0xa123_4560, MISC));
                assert_eq!((view.kind(), view.protection(), view.file_offset()), (ViewKind::Image, 7, 0x3_4000));
                assert_eq!((view.size_bytes, view.process_id, view.unknown_after_size), (0x2_0000, 4312, None));
            }
        }
    }

    #[test]
    fn views_of_version_3() {
        for (p, size, at) in [(P8, 44, [8, 16, 24, 32, 40]), (P4, 32, [4, 8, 16, 20, 28])] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x7000_0000).ptr(p, at[0], 0xa123_4560).u64(at[1], MISC);
            let bytes = bytes.ptr(p, at[2], 0x2_0000).u64(at[3], 0x4_4000).u32(at[4], 4312);
            let Event::MapView { view, .. } = event(0x0425, 3, p, &bytes) else { panic!() };
            assert_eq!((view.size_bytes, view.process_id), (0x2_0000, 4312));
            assert_eq!(view.unknown_after_size, Some(0x4_4000));
            check_fixed(0x0425, 3, p, &bytes);
            check_unknown_version(0x0425, p, &bytes);
            assert_eq!(fault(0x0425, 2, p, &bytes), Fault::Length { expected: p.pick(36, 24) });
        }
        for p in [P8, P4] {
            let v2 = Bytes::new(p.pick(36, 24));
            assert_eq!(fault(0x0425, 3, p, &v2), Fault::Length { expected: p.pick(44, 32) });
        }
    }

    #[test]
    fn kinds_of_views_are_two_bits() {
        let kind = |bits: u64| match event(0x0425, 2, P8, &Bytes::new(36).u64(16, bits << 54 | 0xff << 56)) {
            Event::MapView { view, .. } => view.kind(),
            other => panic!("{other:?}"),
        };
        let all = [ViewKind::DataFile, ViewKind::Image, ViewKind::ImageOtherProtection, ViewKind::PagefileBacked];
        assert_eq!([kind(0), kind(1), kind(2), kind(3)], all);
    }
}
