//! Categories of pages, by WPA's names (`ResidentSetPageCategory`) where WPA has one. The
//! [`rules`](crate::analysis::category_rules) decide which page has which; `docs/categories.md` has the table with keywords.

use crate::named_enum::named_enum;

named_enum! {
    /// What a page holds. The order is that of the names, which are WPA's, letter for letter.
    #[allow(missing_docs)] // what they mean is in docs/categories.md
    pub enum Category {
        AddressingWindowExtensionsPage,
        BadPage,
        CopyOnWriteImage,
        CopyOnWriteMapFile,
        CopyOnWritePageFileMappedSection,
        Driver,
        DriverFile,
        DriverLockedSystemPage,
        Image,
        KernelStack,
        LargePage,
        MapFile,
        MetaFile,
        NonPagedPool,
        PagedPool,
        PageFileMappedSection,
        PageTable,
        PfnDatabase,
        Prefetcher,
        RegistryFile,
        SessionCopyOnWriteImage,
        SessionPrivate,
        StraggleIOPage,
        SystemPage,
        Unused,
        Use14,
        Use15,
        UserStack,
        VirtualAlloc,
        VirtualAllocPreTrace = "VirtualAlloc_PreTrace",
        Win32Heap,
        WsMetaData,
    }
}

named_enum! {
    /// WPA's grouping of categories.
    pub enum Class {
        /// Memory that processes allocated.
        Dynamic,
        /// Contents of files.
        File,
        /// The kernel's own.
        Kernel,
        /// Pages that hold nothing.
        Free,
    }
}

use Category::*;

impl Category {
    /// The class that WPA shows it under.
    pub const fn class(self) -> Class {
        match self {
            Unused | BadPage => Class::Free,
            Image | MapFile | MetaFile | DriverFile | Prefetcher | RegistryFile => Class::File,
            AddressingWindowExtensionsPage
            | CopyOnWriteImage
            | CopyOnWriteMapFile
            | CopyOnWritePageFileMappedSection
            | LargePage
            | PageFileMappedSection
            | UserStack
            | VirtualAlloc
            | VirtualAllocPreTrace
            | Win32Heap => Class::Dynamic,
            Driver
            | DriverLockedSystemPage
            | KernelStack
            | NonPagedPool
            | PagedPool
            | PageTable
            | PfnDatabase
            | SessionCopyOnWriteImage
            | SessionPrivate
            | StraggleIOPage
            | SystemPage
            | Use14
            | Use15
            | WsMetaData => Class::Kernel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_order_agree() {
        for (number, category) in Category::ALL.into_iter().enumerate() {
            assert_eq!(category as usize, number, "{}", category.name());
        }
        for (number, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, number);
        }
    }
}
