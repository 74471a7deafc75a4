//! Which part of a stack a list of frames is: by its first and its last address.

use crate::event::payload::PointerArray;
use crate::units::PointerSize;

/// Which part of a stack a list of frames is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// It ends in the kernel.
    Kernel,
    /// It begins in user mode.
    User,
    /// It begins in the kernel and ends in user mode.
    Whole,
}

impl Half {
    /// What a list is, innermost frame first; `None` when it is empty.
    pub fn of(frames: PointerArray<'_>, session: PointerSize) -> Option<Half> {
        let is_kernel = |index| Some(is_kernel_frame(frames.get(index)?, session));
        Some(match (is_kernel(0)?, is_kernel(frames.len() - 1)?) {
            (_, true) => Half::Kernel,
            (false, false) => Half::User,
            (true, false) => Half::Whole,
        })
    }
}

/// True for frames in the kernel, by the pointer size of the session: an address that a record of 4-byte pointers holds in a 64-bit
/// session is one of user mode, also above 2 GB. (`units::is_kernel_address` takes the pointer size of the record.)
pub const fn is_kernel_frame(address: u64, session: PointerSize) -> bool {
    match session {
        PointerSize::P8 => address >= 0xffff_0000_0000_0000,
        PointerSize::P4 => address >= 0x8000_0000,
    }
}
