//! Image records: executables and libraries mapped into a process or the kernel.
//!
//! Sources: `docs/formats.md` ("Image"): `Image_Load_V2` and `Image_Load` of the Windows MOF, checked on recorded
//! traces (versions 2 and 3, 8-byte pointers); versions 0 and 1 from TraceEvent and a published test file. `ImageLoadBacked` is
//! in "Memory" there and not checked on a recorded trace.

use crate::byte_reader::{Cursor, FieldError, Wide, layout};
use crate::etl::record_id::HookId;
use crate::event::Phase;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, MEMORY, Payload};
use hook::*;
use zerocopy::little_endian::{U16, U32};

crate::event::hooks_macro::hooks! {
    IMAGE_LOAD = 0x030a, "Image: Load", "I-Start";
    IMAGE_UNLOAD = 0x1402, "Image: UnLoad", "I-End";
    IMAGE_DC_START = 0x1403, "Image: DCStart", "I-DCStart";
    IMAGE_DC_END = 0x1404, "Image: DCEnd", "I-DCEnd";
    KERNEL_BASE = 0x1421, "Image: KernelBase";
    HYPERCALL_PAGE = 0x1422, "Image: HypercallPage";
    IMAGE_LOAD_BACKED = 0x0269, "Memory: ImageLoadBacked";
}

/// An image. Version 2 and later: 56/44 bytes and the name; version 1: base, size, process id, name; version 0: base,
/// size, name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image<'a> {
    /// Address at which it is mapped.
    pub base: u64,
    /// Size of the mapping, a multiple of the page size.
    pub size_bytes: u64,
    /// The process; 0 = a kernel image, for any process id in the header; `None` in version 0.
    pub process_id: Option<u32>,
    /// What only version 2 and later carry.
    pub details: Option<ImageDetails>,
    /// File name: `\Device\HarddiskVolumeN\…`, `\SystemRoot\…`, `\??\C:\…`, or without any device.
    pub file_name: Wide<'a>,
}

/// PE header fields of an image record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageDetails {
    /// PE checksum.
    pub checksum: u32,
    /// PE time stamp; 0 in rundown records of user images.
    pub time_date_stamp: u32,
    /// Signature level and type; `None` in version 2, where the bytes are reserved.
    pub signature: Option<(u8, u8)>,
    /// Default base as recorded; see [`Image::preferred_base`].
    pub default_base_raw: u64,
}

impl<'a> Image<'a> {
    /// The event about an image in this phase.
    pub const fn hook(phase: Phase) -> HookId {
        phase.pick([IMAGE_LOAD, IMAGE_UNLOAD, IMAGE_DC_START, IMAGE_DC_END])
    }

    /// The base that the linker chose; `None` before version 2 and for kernel images (whose records hold 0).
    ///
    /// Load and unload records of a 64-bit kernel hold, for a 32-bit image, *BaseOfData* in the low half and the base
    /// in the high half. Such a value is recognized because user addresses are below bit 47.
    pub fn preferred_base(&self) -> Option<u64> {
        let raw = self.details?.default_base_raw;
        match self.process_id {
            Some(0) => None,
            _ if raw >> 47 != 0 => Some(raw >> 32),
            _ => Some(raw),
        }
    }

    /// Decodes a record of any version.
    ///
    /// # Errors
    /// A fault when the fixed part is cut or the name has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<Image<'a>> {
        match payload.version {
            0 | 1 => Image::read_old(payload),
            _ => Image::read_details(payload),
        }
    }

    fn read_details(payload: &Payload<'a>) -> Read<Image<'a>> {
        let mut c = payload.cursor();
        let mut image = c.read::<ImageLayout>()?;
        image.details = image
            .details
            .map(|details| ImageDetails { signature: details.signature.filter(|_| payload.version >= 3), ..details });
        image.file_name = c.wide("file name")?;
        Ok(Parsed::new(image, payload.ends(&c, 2..=3)))
    }

    /// Version 1 has its size as a pointer or (in one published file of 64-bit records) as 4 bytes; the form that ends
    /// where the payload ends is taken. The short one is tried first: a long record read as a short one finds the NUL in
    /// the upper half of its process id, while a short record read as a long one can end exactly by losing two
    /// characters of its name.
    fn read_old(payload: &Payload<'a>) -> Read<Image<'a>> {
        type Form<'a> = fn(&mut Cursor<'a>) -> Result<Image<'a>, FieldError>;
        let forms: &[Form<'a>] = match payload.version {
            0 => &[|c| c.read::<ImageV0>()],
            _ => &[|c| c.read::<BriefImageV1>(), |c| c.read::<ImageV1>()],
        };
        let mut fault = Fault::Value { field: "image" }; // replaced by what the last form says
        for read in forms {
            let mut c = payload.cursor();
            let image = read(&mut c).and_then(|image| Ok(Image { file_name: c.wide("file name")?, ..image }));
            match image {
                Ok(image) if c.remaining() == 0 => return Ok(Parsed::new(image, None)),
                Ok(_) => fault = Fault::Trailing { parsed: c.position() },
                Err(error) => fault = error.into(),
            }
        }
        Err(fault)
    }
}

layout! {
    /// `Image_Load_V2` of the MOF, checked on recorded traces with 8-byte pointers.
    ImageLayout<P> = 56 / 44 bytes => Image<'a> {
        base: P, size_bytes: P, process_id: U32, details: DetailsLayout<P>
    } with |_| { file_name: Wide::default() }
}

layout! {
    DetailsLayout<P> = 36 / 32 bytes => ImageDetails {
        checksum: U32, time_date_stamp: U32, -signature_level(u8), -signature_type(u8), -reserved(U16),
        default_base_raw: P, -reserved_2([u8; 16])
    } with |raw| { signature: Some((raw.signature_level, raw.signature_type)) }
}

layout! {
    /// After TraceEvent.
    ImageV1<P> = 20 / 12 bytes => Image<'a> {
        base: P, size_bytes: P, process_id: U32
    } with |_| { details: None, file_name: Wide::default() }
}

layout! {
    /// After one published file of 64-bit records.
    BriefImageV1<P> = 16 / 12 bytes => Image<'a> {
        base: P, size_bytes: U32, process_id: U32
    } with |_| { details: None, file_name: Wide::default() }
}

layout! {
    /// After TraceEvent.
    ImageV0<P> = 12 / 8 bytes => Image<'a> {
        base: P, size_bytes: U32
    } with |_| { process_id: None, details: None, file_name: Wide::default() }
}

/// `0x1421` (base of the kernel's own image) and `0x1422` (hypercall page): one address, 8/4 bytes.
///
/// # Errors
/// A fault when the payload is shorter than a pointer.
pub(crate) fn read_address(payload: &Payload<'_>) -> Read<u64> {
    let oddity = payload.fixed(payload.pointer.bytes(), ANY)?;
    Ok(Parsed::new(payload.cursor().ptr("address")?, oddity))
}

/// `0x0269`: an image is backed by the pagefile instead of its file, 16/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLoadBacked {
    /// File key.
    pub file_key: u64,
    /// Device characteristics.
    pub device_characteristics: u32,
    /// File characteristics.
    pub file_characteristics: u16,
    /// Load flags: 1 active data reference, 2 ejectable device, 4 writable handles.
    pub load_flags: u16,
}

layout! {
    LoadBackedLayout<P> = 16 / 12 bytes => ImageLoadBacked, fn read(MEMORY) {
        file_key: P, device_characteristics: U32, file_characteristics: U16, load_flags: U16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::event::{Event, Oddity, Phase};
    use crate::units::PointerSize;

    fn sample(p: PointerSize) -> Bytes {
        let at = p.pick([8, 16, 20, 24, 28, 32], [4, 8, 12, 16, 20, 24]);
        let bytes = Bytes::new(p.pick(56, 44)).ptr(p, 0, 0x7ff6_1234_0000).ptr(p, at[0], 0x5000).u32(at[1], 4312);
        let bytes = bytes.u32(at[2], 0xcafe).u32(at[3], 0x5f5e_1000).u8(at[4], 8).u8(at[4] + 1, 4);
        bytes.ptr(p, at[5], 0x1_4000_0000).wide(r"\Device\HarddiskVolume3\x.dll")
    }

    fn image<'a>(event: Event<'a>) -> Image<'a> {
        match event {
            Event::Image { image, .. } => image,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn versions_2_and_3() {
        for p in [P8, P4] {
            let bytes = sample(p);
            for (version, signature) in [(2, None), (3, Some((8, 4)))] {
                let found = image(event(0x030a, version, p, &bytes));
                assert_eq!(found.base, p.pick(0x7ff6_1234_0000, 0x1234_0000));
                assert_eq!((found.size_bytes, found.process_id), (0x5000, Some(4312)));
                let details = found.details.unwrap();
                assert_eq!((details.checksum, details.time_date_stamp), (0xcafe, 0x5f5e_1000));
                assert_eq!(details.signature, signature);
                assert_eq!(details.default_base_raw, p.pick(0x1_4000_0000, 0x4000_0000));
                assert_eq!(found.file_name.to_string(), r"\Device\HarddiskVolume3\x.dll");
                check_strings(0x030a, version, p, &bytes);
            }
            let at = p.pick(56, 44);
            assert_eq!(fault(0x030a, 3, p, &bytes.clone().cut(2)), Fault::Unterminated { field: "file name", at });
            check_unknown_version(0x030a, p, &bytes);
        }
    }

    #[test]
    fn every_phase() {
        for (hook, expected) in
            [(0x030a, Phase::Start), (0x1402, Phase::End), (0x1403, Phase::DcStart), (0x1404, Phase::DcEnd)]
        {
            let bytes = sample(P8);
            let Event::Image { phase, .. } = event(hook, 3, P8, &bytes) else { panic!() };
            assert_eq!(phase, expected);
        }
    }

    #[test]
    fn the_exact_end_tells_the_size_of_version_1() {
        for p in [P8, P4] {
            let bytes = Bytes::new(2 * p.bytes() + 4).ptr(p, 0, 0x40_0000).ptr(p, p.bytes(), 0x5000);
            let bytes = bytes.u32(2 * p.bytes(), 77).wide("a.dll");
            let found = image(event(0x1403, 1, p, &bytes));
            assert_eq!((found.base, found.size_bytes, found.process_id), (0x40_0000, 0x5000, Some(77)));
            assert_eq!((found.details, found.file_name.to_string()), (None, "a.dll".into()));
            for cut in 1..=2 {
                fault(0x1403, 1, p, &bytes.clone().cut(cut));
            }
        }
        // 64-bit records with a size of 4 bytes.
        let bytes = Bytes::new(16).u64(0, 0x40_0000).u32(8, 0x5000).u32(12, 77).wide("ab.dll");
        let found = image(event(0x1403, 1, P8, &bytes));
        assert_eq!(
            (found.size_bytes, found.process_id, found.file_name.to_string()),
            (0x5000, Some(77), "ab.dll".into())
        );
    }

    #[test]
    fn version_0_names_no_process() {
        for p in [P8, P4] {
            let bytes = Bytes::new(p.bytes() + 4).ptr(p, 0, 0x40_0000).u32(p.bytes(), 0x5000).wide("a.dll");
            let found = image(event(0x1403, 0, p, &bytes));
            assert_eq!(
                (found.size_bytes, found.process_id, found.file_name.to_string()),
                (0x5000, None, "a.dll".into())
            );
            fault(0x1403, 0, p, &bytes.clone().cut(1));
            fault(0x1403, 0, p, &bytes.more(&[1]));
        }
    }

    #[test]
    fn preferred_base_of_a_32_bit_image_is_in_the_high_half() {
        let base = |raw, process_id| {
            image(event(0x030a, 3, P8, &sample(P8).u64(32, raw).u32(16, process_id))).preferred_base()
        };
        assert_eq!(base(0x1_8000_0000, 5), Some(0x1_8000_0000));
        assert_eq!(base(0x6b00_0000_0001_0000, 5), Some(0x6b00_0000));
        assert_eq!(base(0, 0), None);
    }

    #[test]
    fn addresses_of_kernel_and_hypercall_page() {
        for p in [P8, P4] {
            let bytes = Bytes::new(p.bytes()).ptr(p, 0, 0x8000_1000);
            assert_eq!(event(0x1421, 2, p, &bytes), Event::KernelBase(0x8000_1000));
            assert_eq!(event(0x1422, 2, p, &bytes), Event::HypercallPage(0x8000_1000));
            check_fixed(0x1421, 2, p, &bytes);
        }
        assert_eq!(odd(0x1421, 2, P4, &Bytes::new(8)).1, Oddity::Longer { parsed: 4 });
    }

    #[test]
    fn image_backed_by_the_pagefile() {
        for (p, size) in [(P8, 16), (P4, 12)] {
            let at = p.bytes();
            let bytes = Bytes::new(size).ptr(p, 0, 0xa000_0010).u32(at, 0x20).u16(at + 4, 3).u16(at + 6, 4);
            let expected = ImageLoadBacked {
                file_key: 0xa000_0010,
                device_characteristics: 0x20,
                file_characteristics: 3,
                load_flags: 4,
            };
            assert_eq!(event(0x0269, 2, p, &bytes), Event::ImageLoadBacked(expected));
            check_fixed(0x0269, 2, p, &bytes);
        }
    }
}
