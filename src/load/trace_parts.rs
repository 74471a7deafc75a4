//! The parts of a trace that can be gathered without the others.

use std::ops::BitOr;

/// A set of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts(u8);

impl Parts {
    /// Nothing but counts of the records.
    pub const NONE: Parts = Parts(0);
    /// Processes, kernel images, services, marks and the machine: small lists that all other parts need.
    pub const SYSTEM: Parts = Parts(1);
    /// What changed in address spaces, sessions and kernel memory.
    pub const SPACES: Parts = Parts(1 << 1);
    /// Names of files, and registry hives.
    pub const FILES: Parts = Parts(1 << 2);
    /// Where page records lie.
    pub const PAGES: Parts = Parts(1 << 3);
    /// Memory counters, and where records of working sets lie.
    pub const COUNTERS: Parts = Parts(1 << 4);
    /// Threads, and where scheduling records lie.
    pub const SCHEDULING: Parts = Parts(1 << 5);

    /// Both.
    pub const fn and(self, other: Parts) -> Parts {
        Parts(self.0 | other.0)
    }

    /// Those that are not in `other`.
    pub const fn without(self, other: Parts) -> Parts {
        Parts(self.0 & !other.0)
    }

    /// True when all of `other` is in it.
    #[inline(always)]
    pub const fn has(self, other: Parts) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Parts {
    type Output = Parts;

    fn bitor(self, other: Parts) -> Parts {
        self.and(other)
    }
}
