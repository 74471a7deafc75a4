//! SystemConfig group: the machine that was traced.
//!
//! Sources: `docs/formats.md` ("SystemConfig"), checked on recorded traces (8-byte pointers); where the Windows MOF
//! contradicts the traces, the traces win. Fixed character arrays are UTF-16LE, cut at the first NUL.

use super::outcome::{Fault, Oddity, Parsed, Read};
use super::payload::{ANY, Payload, PointerArray};
use crate::bytes::Wide;

/// `0x0b0a` CPU: 828/820 bytes (version 3), 808/804 (version 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu<'a> {
    /// Frequency, in MHz.
    pub mhz: u32,
    /// Number of processors.
    pub processors: u32,
    /// Physical memory as Windows sees it, in MB.
    pub memory_megabytes: u32,
    /// Page size.
    pub page_bytes: u32,
    /// Allocation granularity.
    pub allocation_granularity_bytes: u32,
    /// Computer name. Not to be printed unless asked for.
    pub computer_name: Wide<'a>,
    /// Domain name. Not to be printed unless asked for.
    pub domain_name: Wide<'a>,
    /// Mask of hyper-threads.
    pub hyper_threading: u64,
    /// What version 3 adds.
    pub details: Option<CpuDetails>,
}

/// The part of a CPU record that version 3 adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuDetails {
    /// Highest address of user mode.
    pub highest_user_address: u64,
    /// Architecture: 0 x86, 9 x64, 12 ARM64.
    pub architecture: u16,
    /// Processor level.
    pub level: u16,
    /// Processor revision.
    pub revision: u16,
    /// The two bytes behind: physical address extension and no-execute are on, in the order of the MOF.
    pub pae_and_nx: (bool, bool),
    /// Memory speed, in MHz; `None` when unknown.
    pub memory_mhz: Option<u32>,
}

impl<'a> Cpu<'a> {
    /// Decodes a record of version 2 or 3.
    ///
    /// # Errors
    /// A fault when there are fewer bytes than the version has.
    pub fn read(payload: &Payload<'a>) -> Read<Cpu<'a>> {
        let long = payload.version >= 3;
        let expected = if long { payload.pointer.pick(828, 820) } else { payload.pointer.pick(808, 804) };
        let oddity = payload.fixed(expected, 2..=3)?;
        let mut c = payload.cursor();
        let mut value = Cpu {
            mhz: c.u32("MHz")?,
            processors: c.u32("number of processors")?,
            memory_megabytes: c.u32("memory size")?,
            page_bytes: c.u32("page size")?,
            allocation_granularity_bytes: c.u32("allocation granularity")?,
            computer_name: c.wide_array(256, "computer name")?,
            domain_name: c.wide_array(134, "domain name")?,
            hyper_threading: c.ptr("hyper-threading mask")?,
            details: None,
        };
        if long {
            value.details = Some(CpuDetails {
                highest_user_address: c.ptr("highest user address")?,
                architecture: c.u16("architecture")?,
                level: c.u16("level")?,
                revision: c.u16("revision")?,
                pae_and_nx: (c.u8("PAE enabled")? != 0, c.u8("NX enabled")? != 0),
                memory_mhz: Some(c.u32("memory speed")?).filter(|&mhz| mhz != 0),
            });
        }
        Ok(Parsed::new(value, oddity))
    }
}

/// Splits a payload into a count and that many entries that fill it, of one of some sizes.
fn counted<'a>(payload: &Payload<'a>, sizes: &[usize]) -> Result<(&'a [u8], usize), Fault> {
    let mut c = payload.cursor();
    let count = c.u32("count")?;
    let entries = c.rest();
    let fits = |size: &&usize| usize::try_from(count).ok().and_then(|n| n.checked_mul(**size)) == Some(entries.len());
    let size = sizes.iter().find(fits).ok_or(Fault::Count { count })?;
    Ok((entries, *size))
}

/// `0x0b18` NumaNode: processors of each node. Entries of 16 bytes (8 by the MOF).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumaNodes<'a> {
    entries: &'a [u8],
    entry_bytes: usize,
}

impl<'a> NumaNodes<'a> {
    /// Mask of processors and processor group of each node; group 0 where entries have none.
    pub fn nodes(&self) -> impl Iterator<Item = (u64, u16)> + 'a {
        self.entries.chunks_exact(self.entry_bytes.max(1)).filter_map(|entry| {
            let (mask, rest) = entry.split_first_chunk::<8>()?;
            let group = rest.first_chunk().map_or(0, |group| u16::from_le_bytes(*group));
            Some((u64::from_le_bytes(*mask), group))
        })
    }

    /// Decodes a count and that many entries.
    ///
    /// # Errors
    /// [`Fault::Count`] when count and length disagree.
    pub fn read(payload: &Payload<'a>) -> Read<NumaNodes<'a>> {
        let (entries, entry_bytes) = counted(payload, &[16, 8])?;
        Ok(Parsed::new(NumaNodes { entries, entry_bytes }, None))
    }
}

/// `0x0b19` Platform: four strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform<'a> {
    /// Manufacturer of the machine.
    pub manufacturer: Wide<'a>,
    /// Product.
    pub product: Wide<'a>,
    /// Date of the BIOS.
    pub bios_date: Wide<'a>,
    /// Version of the BIOS.
    pub bios_version: Wide<'a>,
}

impl<'a> Platform<'a> {
    /// Decodes the strings.
    ///
    /// # Errors
    /// A fault when one of them has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<Platform<'a>> {
        let mut c = payload.cursor();
        let value = Platform {
            manufacturer: c.wide("manufacturer")?,
            product: c.wide("product")?,
            bios_date: c.wide("BIOS date")?,
            bios_version: c.wide("BIOS version")?,
        };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }
}

/// `0x0b1a` ProcessorGroup: the affinity mask of each group.
///
/// # Errors
/// [`Fault::Count`] when count and length disagree.
pub fn read_processor_groups<'a>(payload: &Payload<'a>) -> Read<PointerArray<'a>> {
    let (masks, _) = counted(payload, &[payload.pointer.bytes()])?;
    Ok(Parsed::new(PointerArray::new(masks, payload.pointer), None))
}

/// `0x0b1b` ProcessorNumber: group and number of each processor, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessorNumbers<'a> {
    entries: &'a [u8],
}

impl<'a> ProcessorNumbers<'a> {
    /// Group, and number in the group, of each processor.
    pub fn numbers(&self) -> impl Iterator<Item = (u16, u8)> + 'a {
        self.entries
            .as_chunks::<4>()
            .0
            .iter()
            .map(|[low, high, number, _]| (u16::from_le_bytes([*low, *high]), *number))
    }

    /// Decodes a count and that many entries of 4 bytes.
    ///
    /// # Errors
    /// [`Fault::Count`] when count and length disagree.
    pub fn read(payload: &Payload<'a>) -> Read<ProcessorNumbers<'a>> {
        let (entries, _) = counted(payload, &[4])?;
        Ok(Parsed::new(ProcessorNumbers { entries }, None))
    }
}

/// `0x0b21` DeviceFamily: exact Windows build, 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceFamily {
    /// Major, minor, build, revision: `[10, 0, 26100, 4652]`.
    pub version: [u16; 4],
    /// Device family; 3 = desktop.
    pub family: u32,
    /// Form.
    pub form: u32,
}

impl DeviceFamily {
    /// Decodes the 16 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<DeviceFamily> {
        let oddity: Option<Oddity> = payload.fixed(16, ANY)?;
        let mut c = payload.cursor();
        let mut version = [0; 4];
        for part in version.iter_mut().rev() {
            *part = c.u16("version")?;
        }
        let value = DeviceFamily { version, family: c.u32("device family")?, form: c.u32("device form")? };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0b23` Processor: 428 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor<'a> {
    /// Index of the processor.
    pub index: u32,
    /// Feature set.
    pub features: u32,
    /// Frequency, in MHz.
    pub mhz: u32,
    /// Name.
    pub name: Wide<'a>,
    /// Identifier.
    pub identifier: Wide<'a>,
    /// Vendor.
    pub vendor: Wide<'a>,
}

impl<'a> Processor<'a> {
    /// Decodes the 428 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'a>) -> Read<Processor<'a>> {
        let oddity = payload.fixed(428, ANY)?;
        let mut c = payload.cursor();
        let value = Processor {
            index: c.u32("index")?,
            features: c.u32("feature set")?,
            mhz: c.u32("MHz")?,
            name: c.wide_array(64, "name")?,
            identifier: c.wide_array(128, "identifier")?,
            vendor: c.wide_array(16, "vendor")?,
        };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0b24` Virtualization: 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Virtualization {
    /// Virtualization-based security is on.
    pub vbs: bool,
    /// Code integrity protected by the hypervisor is on.
    pub hvci: bool,
    /// A hypervisor runs.
    pub hypervisor: bool,
}

impl Virtualization {
    /// Decodes the 4 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<Virtualization> {
        let oddity = payload.fixed(4, ANY)?;
        let mut c = payload.cursor();
        let value = Virtualization {
            vbs: c.u8("VBS enabled")? != 0,
            hvci: c.u8("HVCI enabled")? != 0,
            hypervisor: c.u8("hypervisor enabled")? != 0,
        };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0b25` Boot: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boot {
    /// Boot flags.
    pub flags: u64,
    /// Firmware: 1 BIOS, 2 UEFI.
    pub firmware: u32,
    /// Secure boot is on.
    pub secure_boot: bool,
    /// The machine can boot securely.
    pub secure_boot_capable: bool,
}

impl Boot {
    /// Decodes the 16 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<Boot> {
        let oddity = payload.fixed(16, ANY)?;
        let mut c = payload.cursor();
        let value = Boot {
            flags: c.u64("boot flags")?,
            firmware: c.u32("firmware type")?,
            secure_boot: c.u8("secure boot enabled")? != 0,
            secure_boot_capable: c.u8("secure boot capable")? != 0,
        };
        Ok(Parsed::new(value, oddity))
    }
}
