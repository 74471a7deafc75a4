//! Image records (hooks 0x030a and 0x14xx), versions 0–3.

use super::super::bytes::{Ptr, Put};
use super::super::record::{HeaderKind, Rec};

/// Hook: load.
pub const LOAD: u16 = 0x030a;
/// Hook: unload.
pub const UNLOAD: u16 = 0x1402;
/// Hook: start rundown.
pub const DC_START: u16 = 0x1403;
/// Hook: end rundown.
pub const DC_END: u16 = 0x1404;

/// An image in a process (or in the kernel, process id 0).
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Image base.
    pub base: u64,
    /// Image size, bytes.
    pub size: u64,
    /// Process id; 0 = kernel image.
    pub pid: u32,
    /// Checksum.
    pub checksum: u32,
    /// PE time stamp; 0 in user rundown records.
    pub time_stamp: u32,
    /// Signature level and type, version 3.
    pub signature: (u8, u8),
    /// Default base (load and unload of 32-bit images by a 64-bit kernel: base in the high half).
    pub default_base: u64,
    /// File name.
    pub name: String,
}

impl Image {
    /// The record: PERFINFO for rundowns of user images, else SYSTEM.
    pub fn rec(&self, p: Ptr, version: u16, hook: u16) -> Rec {
        let mut put = Put::new(p);
        put.ptr(self.base);
        match version {
            0 => {
                put.u32(self.size as u32);
            }
            1 => {
                put.ptr(self.size).u32(self.pid);
            }
            _ => {
                put.ptr(self.size).u32(self.pid).u32(self.checksum).u32(self.time_stamp);
                put.u8(self.signature.0).u8(self.signature.1).u16(0).ptr(self.default_base).zeros(16);
            }
        }
        put.wide(&self.name);
        let rec = Rec::system(p, hook, version, put.done()).by(self.pid.wrapping_add(4), self.pid);
        if self.pid != 0 && matches!(hook, DC_START | DC_END) { rec.with_header(HeaderKind::PerfInfo(p)) } else { rec }
    }
}

/// Kernel image base (0x1421).
pub fn kernel_base(p: Ptr, base: u64) -> Rec {
    Rec::perf(p, 0x1421, 2, Put::new(p).ptr(base).done())
}

/// Hypercall page (0x1422).
pub fn hypercall_page(p: Ptr, address: u64) -> Rec {
    Rec::perf(p, 0x1422, 2, Put::new(p).ptr(address).done())
}
