//! SystemConfig group: the machine that was traced.
//!
//! Sources: `docs/formats.md` ("SystemConfig"), checked on recorded traces (8-byte pointers); where the Windows MOF
//! contradicts the traces, the traces win. Fixed character arrays are UTF-16LE, cut at the first NUL.

use crate::byte_reader::{Wide, layout};
use crate::event::fixed_text::FixedText;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload, PointerArray};
use zerocopy::little_endian::{U16, U32, U64};

crate::event::hooks_macro::hooks! {
    CPU = 0x0b0a, "SystemConfig: CPU";
    NUMA_NODE = 0x0b18, "SystemConfig: NumaNode";
    PLATFORM = 0x0b19, "SystemConfig: Platform";
    PROCESSOR_GROUP = 0x0b1a, "SystemConfig: ProcessorGroup";
    PROCESSOR_NUMBER = 0x0b1b, "SystemConfig: ProcessorNumber";
    DEVICE_FAMILY = 0x0b21, "SystemConfig: DeviceFamily";
    PROCESSOR = 0x0b23, "SystemConfig: Processor";
    VIRTUALIZATION = 0x0b24, "SystemConfig: Virtualization";
    BOOT = 0x0b25, "SystemConfig: Boot";
}

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
    pub computer_name: FixedText<'a>,
    /// Domain name. Not to be printed unless asked for.
    pub domain_name: FixedText<'a>,
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
    /// The two bytes that follow: physical address extension is on, no-execute is on; in the order of the MOF.
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
        let known = 2..=3;
        if payload.version >= 3 { payload.read::<CpuLayout>(known) } else { payload.read::<CpuV2>(known) }
    }
}

layout! {
    CpuV2<P> = 808 / 804 bytes => Cpu<'a> {
        mhz: U32, processors: U32, memory_megabytes: U32, page_bytes: U32, allocation_granularity_bytes: U32,
        computer_name: [U16; 256], domain_name: [U16; 134], hyper_threading: P
    } with |_| { details: None }
}

layout! {
    CpuLayout<P> = 828 / 820 bytes => Cpu<'a> {
        mhz: U32, processors: U32, memory_megabytes: U32, page_bytes: U32, allocation_granularity_bytes: U32,
        computer_name: [U16; 256], domain_name: [U16; 134], hyper_threading: P, details: CpuDetailsLayout<P>
    }
}

layout! {
    CpuDetailsLayout<P> = 20 / 16 bytes => CpuDetails {
        highest_user_address: P, architecture: U16, level: U16, revision: U16, -pae(u8), -nx(u8), -memory_mhz(U32)
    } with |raw| {
        pae_and_nx: (raw.pae != 0, raw.nx != 0),
        memory_mhz: Some(raw.memory_mhz.get()).filter(|&mhz| mhz != 0),
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
pub(crate) fn read_processor_groups<'a>(payload: &Payload<'a>) -> Read<PointerArray<'a>> {
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

layout! {
    /// The version is stored from its lowest part on.
    FamilyLayout = 16 bytes => DeviceFamily, fn read(ANY) {
        -version_reversed([U16; 4]), family: U32, form: U32
    } with |raw| { version: { let [d, c, b, a] = raw.version_reversed.map(U16::get); [a, b, c, d] } }
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
    pub name: FixedText<'a>,
    /// Identifier.
    pub identifier: FixedText<'a>,
    /// Vendor.
    pub vendor: FixedText<'a>,
}

layout! {
    ProcessorLayout = 428 bytes => Processor<'a>, fn read(ANY) {
        index: U32, features: U32, mhz: U32, name: [U16; 64], identifier: [U16; 128], vendor: [U16; 16]
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

layout! {
    VirtualizationLayout = 4 bytes => Virtualization, fn read(ANY) { vbs: u8, hvci: u8, hypervisor: u8, -reserved(u8) }
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

layout! {
    BootLayout = 16 bytes => Boot, fn read(ANY) {
        flags: U64, firmware: U32, secure_boot: u8, secure_boot_capable: u8, -reserved(U16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn cpu_of_both_versions() {
        for (p, v2, at) in [(P8, 808, [808, 816, 818, 820, 822, 824]), (P4, 804, [804, 808, 810, 812, 814, 816])] {
            let bytes = Bytes::new(at[5] + 4).u32(0, 2300).u32(4, 8).u32(8, 65349).u32(12, 4096).u32(16, 65536);
            let bytes = bytes.raw(20, b"P\0C\0").raw(532, b"D\0").ptr(p, 800, 0xff).ptr(p, at[0], 0x7fff_ffff);
            let bytes =
                bytes.u16(at[1], 9).u16(at[2], 6).u16(at[3], 0x9e0a).u8(at[4], 1).u8(at[4] + 1, 0).u32(at[5], 3200);
            let Event::Cpu(found) = event(0x0b0a, 3, p, &bytes) else { panic!() };
            assert_eq!((found.mhz, found.processors, found.memory_megabytes), (2300, 8, 65349));
            assert_eq!((found.page_bytes, found.allocation_granularity_bytes), (4096, 65536));
            assert_eq!((found.computer_name.to_string(), found.domain_name.to_string()), ("PC".into(), "D".into()));
            assert_eq!(found.hyper_threading, 0xff);
            let details = CpuDetails {
                highest_user_address: 0x7fff_ffff,
                architecture: 9,
                level: 6,
                revision: 0x9e0a,
                pae_and_nx: (true, false),
                memory_mhz: Some(3200),
            };
            assert_eq!(found.details, Some(details));
            check_fixed(0x0b0a, 3, p, &bytes);
            check_unknown_version(0x0b0a, p, &bytes);

            let unknown_speed = bytes.clone().u32(at[5], 0);
            let Event::Cpu(found) = event(0x0b0a, 3, p, &unknown_speed) else { panic!() };
            assert_eq!(found.details.unwrap().memory_mhz, None);

            let old = bytes.cut(at[5] + 4 - v2);
            let Event::Cpu(found) = event(0x0b0a, 2, p, &old) else { panic!() };
            assert_eq!((found.hyper_threading, found.details), (0xff, None));
            check_fixed(0x0b0a, 2, p, &old);
        }
    }

    #[test]
    fn numa_nodes_by_the_equation() {
        for (entry, groups) in [(16, [0, 1]), (8, [0, 0])] {
            let bytes = Bytes::new(4 + 2 * entry).u32(0, 2).u64(4, 0xff).u64(4 + entry, 0xf0);
            let bytes = if entry == 16 { bytes.u16(4 + entry + 8, 1) } else { bytes };
            let Event::NumaNodes(found) = event(0x0b18, 2, P8, &bytes) else { panic!() };
            assert_eq!(found.nodes().collect::<Vec<_>>(), [(0xff, groups[0]), (0xf0, groups[1])]);
            for cut in (1..=bytes.0.len()).filter(|cut| *cut != 16) {
                fault(0x0b18, 2, P8, &bytes.clone().cut(cut));
            }
            assert_eq!(fault(0x0b18, 2, P8, &bytes.u32(0, u32::MAX)), Fault::Count { count: u32::MAX });
        }
    }

    #[test]
    fn platform_is_four_strings() {
        let bytes = Bytes::new(0).wide("Maker").wide("Model").wide("2024-01-01").wide("1.2");
        let Event::Platform(found) = event(0x0b19, 2, P8, &bytes) else { panic!() };
        assert_eq!((found.manufacturer.to_string(), found.product.to_string()), ("Maker".into(), "Model".into()));
        assert_eq!((found.bios_date.to_string(), found.bios_version.to_string()), ("2024-01-01".into(), "1.2".into()));
        check_strings(0x0b19, 2, P8, &bytes);
    }

    #[test]
    fn processor_groups_and_numbers() {
        for p in [P8, P4] {
            let bytes = Bytes::new(4 + 2 * p.bytes()).u32(0, 2).ptr(p, 4, 0xff).ptr(p, 4 + p.bytes(), 0x0f);
            let Event::ProcessorGroups(found) = event(0x0b1a, 2, p, &bytes) else { panic!() };
            assert_eq!(found.iter().collect::<Vec<_>>(), [0xff, 0x0f]);
            assert_eq!(fault(0x0b1a, 2, p, &bytes.cut(1)), Fault::Count { count: 2 });
        }
        let bytes = Bytes::new(12).u32(0, 2).u8(6, 5).u16(8, 1).u8(10, 6);
        let Event::ProcessorNumbers(found) = event(0x0b1b, 2, P8, &bytes) else { panic!() };
        assert_eq!(found.numbers().collect::<Vec<_>>(), [(0, 5), (1, 6)]);
        assert_eq!(fault(0x0b1b, 2, P8, &bytes.more(&[0])), Fault::Count { count: 2 });
    }

    #[test]
    fn device_family_has_its_version_from_high_to_low() {
        let bytes = Bytes::new(16).u64(0, 10 << 48 | 26100 << 16 | 4652).u32(8, 3).u32(12, 1);
        let expected = DeviceFamily { version: [10, 0, 26100, 4652], family: 3, form: 1 };
        assert_eq!(event(0x0b21, 2, P8, &bytes), Event::DeviceFamily(expected));
        check_fixed(0x0b21, 2, P8, &bytes);
    }

    #[test]
    fn processor_has_its_identifier_before_its_vendor() {
        let bytes =
            Bytes::new(428).u32(0, 7).u32(4, 0x21).u32(8, 2300).raw(12, b"N\0").raw(140, b"I\0").raw(396, b"V\0");
        let expected = Processor {
            index: 7,
            features: 0x21,
            mhz: 2300,
            name: Wide(b"N\0").into(),
            identifier: Wide(b"I\0").into(),
            vendor: Wide(b"V\0").into(),
        };
        assert_eq!(event(0x0b23, 2, P8, &bytes), Event::Processor(expected));
        check_fixed(0x0b23, 2, P8, &bytes);
    }

    #[test]
    fn virtualization_and_boot() {
        let bytes = Bytes::new(4).u8(0, 1).u8(2, 1);
        let expected = Virtualization { vbs: true, hvci: false, hypervisor: true };
        assert_eq!(event(0x0b24, 2, P8, &bytes), Event::Virtualization(expected));
        check_fixed(0x0b24, 2, P8, &bytes);
        let bytes = Bytes::new(16).u64(0, 5).u32(8, 2).u8(12, 1);
        let expected = Boot { flags: 5, firmware: 2, secure_boot: true, secure_boot_capable: false };
        assert_eq!(event(0x0b25, 2, P8, &bytes), Event::Boot(expected));
        check_fixed(0x0b25, 2, P8, &bytes);
    }
}
