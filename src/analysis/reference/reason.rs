//! Why pages enter and leave working sets, by WPA's names. Which event stands behind each: `docs/categories.md`.

/// Why a page was accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
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

impl AccessReason {
    /// All reasons in the order of their numbers.
    pub const ALL: [AccessReason; 6] = [
        AccessReason::ActiveRundown,
        AccessReason::PrivatePageAccess,
        AccessReason::SharablePageAccess,
        AccessReason::PageRangeAccess,
        AccessReason::PoolAllocate,
        AccessReason::PageCombine,
    ];

    /// WPA's name.
    pub const fn name(self) -> &'static str {
        match self {
            AccessReason::ActiveRundown => "ActiveRundown",
            AccessReason::PrivatePageAccess => "PrivatePageAccess",
            AccessReason::SharablePageAccess => "SharablePageAccess",
            AccessReason::PageRangeAccess => "PageRangeAccess",
            AccessReason::PoolAllocate => "PoolAllocate",
            AccessReason::PageCombine => "PageCombine",
        }
    }
}

/// Why a page was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
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

impl ReleaseReason {
    /// All reasons in the order of their numbers.
    pub const ALL: [ReleaseReason; 12] = [
        ReleaseReason::PageRelease,
        ReleaseReason::PageRangeRelease,
        ReleaseReason::VirtualAddressRangeEnd,
        ReleaseReason::VirtualAddressRangeDecommit,
        ReleaseReason::PageFileMappedSectionDelete,
        ReleaseReason::PageCombine,
        ReleaseReason::PoolFree,
        ReleaseReason::ProcessEnd,
        ReleaseReason::RemovedFromWorkingSet,
        ReleaseReason::UnmapFile,
        ReleaseReason::CopyOnWrite,
        ReleaseReason::NotLogged,
    ];

    /// WPA's name, where it has one.
    pub const fn name(self) -> &'static str {
        match self {
            ReleaseReason::PageRelease => "PageRelease",
            ReleaseReason::PageRangeRelease => "PageRangeRelease",
            ReleaseReason::VirtualAddressRangeEnd => "VirtualAddressRangeEnd",
            ReleaseReason::VirtualAddressRangeDecommit => "VirtualAddressRangeDecommit",
            ReleaseReason::PageFileMappedSectionDelete => "PageFileMappedSectionDelete",
            ReleaseReason::PageCombine => "PageCombine",
            ReleaseReason::PoolFree => "PoolFree",
            ReleaseReason::ProcessEnd => "ProcessEnd",
            ReleaseReason::RemovedFromWorkingSet => "RemovedFromWorkingSet",
            ReleaseReason::UnmapFile => "UnmapFile",
            ReleaseReason::CopyOnWrite => "CopyOnWrite",
            ReleaseReason::NotLogged => "NotLogged",
        }
    }
}

/// How a holding lies to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Impact {
    /// It begins inside and ends behind, or (counted negative) begins before and ends inside.
    Impacting,
    /// It begins and ends inside.
    Transient,
    /// It begins before and ends behind.
    Persistent,
}

impl Impact {
    /// All types in the order of their numbers.
    pub const ALL: [Impact; 3] = [Impact::Impacting, Impact::Transient, Impact::Persistent];

    /// WPA's name.
    pub const fn name(self) -> &'static str {
        match self {
            Impact::Impacting => "Impacting",
            Impact::Transient => "Transient",
            Impact::Persistent => "Persistent",
        }
    }

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
