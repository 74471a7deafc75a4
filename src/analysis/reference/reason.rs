//! Why pages enter and leave working sets, by WPA's names. Each variant names the event that it is
//! read from.

/// Declares reasons, each by its name in WPA, which is that of its variant.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$of_one:meta])* $one:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$of_one])* $one,)+ }

        impl $name {
            /// All in the order of their numbers.
            pub const ALL: [$name; [$($name::$one),+].len()] = [$($name::$one),+];

            /// WPA's name, where it has one.
            pub const fn name(self) -> &'static str {
                match self { $($name::$one => stringify!($one),)+ }
            }
        }
    };
}

reasons! {
    /// Why a page was accessed.
    AccessReason {
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

reasons! {
    /// Why a page was released.
    ReleaseReason {
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

reasons! {
    /// How a holding lies to the window.
    Impact {
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
