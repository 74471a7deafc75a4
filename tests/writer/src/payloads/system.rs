//! SystemConfig records (hooks 0x0bxx): processor and RAM, disks, platform, processor groups, OS version.

use super::super::bytes::{Ptr, Put};
use super::super::record::Rec;

/// CPU (0x0b0a), version 2 or 3.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// MHz.
    pub mhz: u32,
    /// Processors.
    pub processors: u32,
    /// Physical memory, MB.
    pub memory_mb: u32,
    /// Page size, bytes.
    pub page_size: u32,
    /// Computer name.
    pub computer: String,
    /// Domain name.
    pub domain: String,
    /// Highest user address, version 3.
    pub highest_user_address: u64,
    /// 9 x64, 12 ARM64, 0 x86.
    pub architecture: u16,
    /// Memory speed, MHz.
    pub memory_mhz: u32,
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu {
            mhz: 2904,
            processors: 4,
            memory_mb: 16_246,
            page_size: 4096,
            computer: "SYNTH".into(),
            domain: "WORKGROUP".into(),
            highest_user_address: 0x7fff_fffe_ffff,
            architecture: 9,
            memory_mhz: 2667,
        }
    }
}

impl Cpu {
    /// The record: 828 / 820 bytes in version 3, 808 / 804 in version 2.
    pub fn rec(&self, p: Ptr, version: u16) -> Rec {
        let mut put = Put::new(p);
        put.u32(self.mhz).u32(self.processors).u32(self.memory_mb).u32(self.page_size).u32(0x1_0000);
        put.wide_fixed(&self.computer, 256).wide_fixed(&self.domain, 134).ptr(0xff);
        if version >= 3 {
            put.ptr(self.highest_user_address);
            put.u16(self.architecture).u16(6).u16(0x9e0d).u8(1).u8(1).u32(self.memory_mhz);
        }
        Rec::system(p, 0x0b0a, version, put.done())
    }
}

/// Physical disk (0x0b0b), 568 bytes.
pub fn physical_disk(p: Ptr, disk: u32, manufacturer: &str) -> Rec {
    let mut put = Put::new(p);
    put.u32(disk).u32(512).u32(63).u32(255).u64(60_801).u32(0).u32(0).u32(0).u32(0);
    put.wide_fixed(manufacturer, 256).u32(4).u8(1).u8(0).wide_fixed("C:", 3).zeros(4);
    Rec::system(p, 0x0b0b, 2, put.done())
}

/// Logical disk (0x0b0c), 112 bytes.
pub fn logical_disk(p: Ptr, disk: u32, partition: u32, letter: &str, bytes: u64) -> Rec {
    let mut put = Put::new(p);
    put.u64(0x10_0000).u64(bytes).u32(disk).u32(112).u32(1).wide_fixed(letter, 4).u32(0).u32(partition);
    put.u32(8).u32(512).u32(0).u64(bytes / 16_384).u64(bytes / 4096).wide_fixed("NTFS", 16).u32(0).u32(0);
    Rec::system(p, 0x0b0c, 2, put.done())
}

/// A service (0x0b0f) and the process that it runs in; 0: none.
pub fn service(p: Ptr, pid: u32, name: &str) -> Rec {
    let mut put = Put::new(p);
    put.u32(pid).u32(if pid == 0 { 1 } else { 4 }).u32(7);
    put.wide(name).wide("A name for people").wide("svchost.exe").wide("").wide("netsvcs");
    Rec::system(p, 0x0b0f, 3, put.done())
}

/// Platform (0x0b19).
pub fn platform(p: Ptr, manufacturer: &str, product: &str, bios_date: &str, bios_version: &str) -> Rec {
    let payload = Put::new(p).wide(manufacturer).wide(product).wide(bios_date).wide(bios_version).done();
    Rec::system(p, 0x0b19, 2, payload)
}

/// Processor groups (0x0b1a): affinity mask of each.
pub fn processor_groups(p: Ptr, masks: &[u64]) -> Rec {
    let mut put = Put::new(p);
    put.u32(masks.len() as u32);
    masks.iter().for_each(|mask| {
        put.ptr(*mask);
    });
    Rec::perf(p, 0x0b1a, 2, put.done())
}

/// Processor numbers (0x0b1b): group and number in it, by index.
pub fn processor_numbers(p: Ptr, numbers: &[(u16, u8)]) -> Rec {
    let mut put = Put::new(p);
    put.u32(numbers.len() as u32);
    for (group, number) in numbers {
        put.u16(*group).u8(*number).u8(0);
    }
    Rec::perf(p, 0x0b1b, 2, put.done())
}

/// NUMA nodes (0x0b18): mask and group, 16 bytes each.
pub fn numa_nodes(p: Ptr, nodes: &[(u64, u16)]) -> Rec {
    let mut put = Put::new(p);
    put.u32(nodes.len() as u32);
    for (mask, group) in nodes {
        put.u64(*mask).u16(*group).zeros(6);
    }
    Rec::perf(p, 0x0b18, 2, put.done())
}

/// Device family (0x0b21): exact OS version.
pub fn device_family(p: Ptr, version: [u16; 4], family: u32, form: u32) -> Rec {
    Rec::system(p, 0x0b21, 2, family_payload(version, family, form))
}

/// The 16 bytes of a device family record, `version` from major to revision.
pub fn family_payload(version: [u16; 4], family: u32, form: u32) -> Vec<u8> {
    let number = version.iter().fold(0_u64, |sum, part| sum << 16 | u64::from(*part));
    Put::new(Ptr::P8).u64(number).u32(family).u32(form).done()
}

/// Processor (0x0b23), 428 bytes.
pub fn processor(p: Ptr, index: u32, mhz: u32, name: &str) -> Rec {
    let mut put = Put::new(p);
    put.u32(index).u32(0x3d19_3fff).u32(mhz).wide_fixed(name, 64);
    put.wide_fixed("Intel64 Family 6 Model 158 Stepping 13", 128).wide_fixed("GenuineIntel", 16);
    Rec::system(p, 0x0b23, 2, put.done())
}

/// Boot (0x0b25), 16 bytes.
pub fn boot(p: Ptr, flags: u64, firmware: u32, secure: bool) -> Rec {
    Rec::system(p, 0x0b25, 2, Put::new(p).u64(flags).u32(firmware).u8(u8::from(secure)).u8(1).u16(0).done())
}
