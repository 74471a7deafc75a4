//! Image records: executables and libraries mapped into a process or the kernel.
//!
//! Sources: `docs/formats.md` ("Image"): `Image_Load_V2` and `Image_Load` of the Windows MOF, checked on recorded
//! traces (versions 2 and 3, 8-byte pointers); versions 0 and 1 from TraceEvent and a published test file.

use super::outcome::{Fault, Parsed, Read};
use super::payload::{ANY, Payload};
use crate::bytes::{Cursor, Wide};

/// An image. Version 2 and later: 56/44 bytes and the name; version 1: base, size, process id, name; version 0: base,
/// size, name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image<'a> {
    /// Address at which it is mapped.
    pub base: u64,
    /// Size of the mapping, a multiple of the page size.
    pub size_bytes: u64,
    /// The process; 0 = a kernel image, whatever the header says; `None` in version 0.
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
    /// The base that the linker chose; `None` before version 2 and for kernel images (whose records hold 0).
    ///
    /// Load and unload records of a 64-bit kernel hold, for a 32-bit image, *BaseOfData* in the low half and the base
    /// in the high half; no user address reaches bit 47, which tells the case.
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
        let base = c.ptr("image base")?;
        let size_bytes = c.ptr("image size")?;
        let process_id = c.u32("process id")?;
        let checksum = c.u32("checksum")?;
        let time_date_stamp = c.u32("time stamp")?;
        let level = c.u8("signature level")?;
        let kind = c.u8("signature type")?;
        c.skip(2, "reserved")?;
        let default_base_raw = c.ptr("default base")?;
        c.skip(16, "reserved")?;
        let signature = (payload.version >= 3).then_some((level, kind));
        let image = Image {
            base,
            size_bytes,
            process_id: Some(process_id),
            details: Some(ImageDetails { checksum, time_date_stamp, signature, default_base_raw }),
            file_name: c.wide("file name")?,
        };
        Ok(Parsed::new(image, payload.ends(&c, 2..=3)))
    }

    /// Version 1 has its size as a pointer or (in one published file of 64-bit records) as 4 bytes: the exact end
    /// decides.
    fn read_old(payload: &Payload<'a>) -> Read<Image<'a>> {
        type Size<'a> = fn(&mut Cursor<'a>) -> Result<u64, Fault>;
        let as_pointer: Size<'a> = |c| Ok(c.ptr("image size")?);
        let as_u32: Size<'a> = |c| Ok(u64::from(c.u32("image size")?));
        let forms: &[Size<'a>] = if payload.version == 0 { &[as_u32] } else { &[as_pointer, as_u32] };
        let mut fault = Fault::Value { field: "image size" }; // replaced by what the last form says
        for read_size in forms {
            match Image::read_old_form(payload, *read_size) {
                Ok((image, end)) if end.remaining() == 0 => return Ok(Parsed::new(image, None)),
                Ok((_, end)) => fault = Fault::Trailing { parsed: end.position() },
                Err(error) => fault = error,
            }
        }
        Err(fault)
    }

    fn read_old_form(
        payload: &Payload<'a>,
        read_size: fn(&mut Cursor<'a>) -> Result<u64, Fault>,
    ) -> Result<(Image<'a>, Cursor<'a>), Fault> {
        let mut c = payload.cursor();
        let image = Image {
            base: c.ptr("image base")?,
            size_bytes: read_size(&mut c)?,
            process_id: if payload.version == 0 { None } else { Some(c.u32("process id")?) },
            details: None,
            file_name: c.wide("file name")?,
        };
        Ok((image, c))
    }
}

/// `0x1421` (base of the kernel's own image) and `0x1422` (hypercall page): one address, 8/4 bytes.
///
/// # Errors
/// A fault when the payload is shorter than a pointer.
pub fn read_address(payload: &Payload<'_>) -> Read<u64> {
    let oddity = payload.fixed(payload.pointer.bytes(), ANY)?;
    Ok(Parsed::new(payload.cursor().ptr("address")?, oddity))
}
