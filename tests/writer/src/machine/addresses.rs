//! Where Windows has things: addresses and keys of kernel objects, for all machines of this crate.

use crate::bytes::Ptr;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// An address with 8-byte and with 4-byte pointers.
#[derive(Clone, Copy, Debug)]
pub struct Place(u64, u64);

impl Place {
    /// The address with pointers of this size.
    pub fn of(self, p: Ptr) -> u64 {
        p.pick(self.0, self.1)
    }
}

/// Where kernel images are loaded.
pub const IMAGES: Place = Place(0xffff_f801_2000_0000, 0x8200_0000);
/// Start of the PFN database.
pub const PFN_DATABASE: Place = Place(0xffff_fa80_0000_0000, 0xa000_0000);
/// Views of sessions.
pub const SESSION_VIEWS: Place = Place(0xffff_f900_c000_0000, 0xbc00_0000);
/// Views of the system cache.
pub const CACHE_VIEWS: Place = Place(0xffff_d30a_0000_0000, 0xc000_0000);
/// Big allocations of pool.
pub const BIG_POOL: Place = Place(0xffff_a18f_0000_0000, 0xb000_0000);
/// Prototype PTEs of sections.
pub const PROTOTYPES: Place = Place(0xffff_b001_0000_0000, 0x9800_0000);
/// Prototype PTEs of combined pages.
pub const COMBINED_PROTOTYPES: Place = Place(0xffff_b009_0000_0000, 0x9900_0000);
/// Pages of the kernel that are known by their use.
pub const KERNEL_PAGES: Place = Place(0xffff_8a00_0000_0000, 0x8a00_0000);
/// First page of every small address space.
pub const USER_PAGES: Place = Place(0x1_2340_0000, 0x0040_0000);

/// Unique process key of the process with this number.
pub fn process_key(p: Ptr, number: u64) -> u64 {
    Place(0xffff_9c08_0000_0080, 0x8500_0020).of(p) + number * p.pick(0x1000, 0x400)
}

/// Key of a file, with the low two bits free for a page identity's own.
pub fn file_key(p: Ptr, number: u64) -> u64 {
    Place(0xffff_c001_2000_0010, 0x9000_0010).of(p) + number * 0x80
}

/// Key of a session.
pub fn session_key(p: Ptr, number: u64) -> u64 {
    Place(0xffff_9c08_f000_0000, 0x8700_0000).of(p) + number * 0x1000
}
