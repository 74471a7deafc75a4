//! Why pages enter and leave working sets, by WPA's names. Each variant names the event that it is
//! read from.

use crate::named_enum::named_enum;

named_enum! {
    /// Why a page was accessed.
    pub enum AccessReason {
        /// It was active when the working sets had been emptied (`0x0275`).
        ActiveRundown,
        /// A private page was added to a working set (`0x0276`).
        PrivatePageAccess,
        /// A shareable page was added to a working set (`0x0282`); WPA's spelling.
        SharablePageAccess,
        /// Large, driver-locked or AWE pages (`0x0278`).
        PageRangeAccess,
        /// Pool of whole pages (`0x0e20`, `0x0e21`).
        PoolAllocate,
        /// A private page became a combined one (`0x027a`).
        PageCombine,
    }
}

named_enum! {
    /// Why a page was released.
    pub enum ReleaseReason {
        /// Its content was deleted (`0x0277`).
        PageRelease,
        /// Large, driver-locked or AWE pages (`0x0279`).
        PageRangeRelease,
        /// Its region was freed (`0x0263`, MEM_RELEASE).
        VirtualAddressRangeEnd,
        /// It was decommitted (`0x0263`, MEM_DECOMMIT).
        VirtualAddressRangeDecommit,
        /// Its pagefile-backed section was deleted (`0x024f`).
        PageFileMappedSectionDelete,
        /// It became a combined page (`0x027a`).
        PageCombine,
        /// Pool was freed (`0x0e22`, `0x0e23`).
        PoolFree,
        /// Its process ended (`0x0302`).
        ProcessEnd,
        /// It was trimmed (`0x0283`).
        RemovedFromWorkingSet,
        /// Its view was unmapped (`0x0426`). Not in WPA.
        UnmapFile,
        /// A private copy took its place (`0x0282` with the copy-on-write bit). Not in WPA.
        CopyOnWrite,
        /// Its release was not logged: another page was accessed at its address, or the end of its process was lost.
        NotLogged,
    }
}

named_enum! {
    /// How a holding lies to the window.
    pub enum Impact {
        /// It begins inside and ends after, or (counted negative) begins before and ends inside.
        Impacting,
        /// It begins and ends inside.
        Transient,
        /// It begins before and ends after.
        Persistent,
    }
}

impl Impact {
    /// Type and sign of a holding.
    pub const fn of(begins_before: bool, ends_inside: bool) -> (Impact, i64) {
        match (begins_before, ends_inside) {
            (true, true) => (Impact::Impacting, -1),
            (false, true) => (Impact::Transient, 1),
            (true, false) => (Impact::Persistent, 1),
            (false, false) => (Impact::Impacting, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree() {
        for (number, reason) in AccessReason::ALL.into_iter().enumerate() {
            assert_eq!((reason as usize, format!("{reason:?}").as_str()), (number, reason.name()));
        }
        for (number, reason) in ReleaseReason::ALL.into_iter().enumerate() {
            assert_eq!((reason as usize, format!("{reason:?}").as_str()), (number, reason.name()));
        }
        for (number, impact) in Impact::ALL.into_iter().enumerate() {
            assert_eq!((impact as usize, format!("{impact:?}").as_str()), (number, impact.name()));
        }
    }
}
