//! Categories of pages, by WPA's names (`ResidentSetPageCategory`) where WPA has one. The
//! [`rules`](crate::analysis::rules) decide which page has which; `docs/categories.md` has the table with keywords.

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // WPA's names; what they mean is in docs/categories.md
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
    VirtualAllocPreTrace,
    Win32Heap,
    WsMetaData,
}

/// WPA's grouping of categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
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

impl Class {
    /// All classes in the order of their numbers.
    pub const ALL: [Class; 4] = [Class::Dynamic, Class::File, Class::Kernel, Class::Free];

    /// Name as printed.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Dynamic => "Dynamic",
            Class::File => "File",
            Class::Kernel => "Kernel",
            Class::Free => "Free",
        }
    }
}

use Category::*;

impl Category {
    /// All categories in the order of their numbers, which is that of their names.
    pub const ALL: [Category; 32] = [
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
        VirtualAllocPreTrace,
        Win32Heap,
        WsMetaData,
    ];

    /// WPA's name, letter for letter.
    pub const fn name(self) -> &'static str {
        match self {
            AddressingWindowExtensionsPage => "AddressingWindowExtensionsPage",
            BadPage => "BadPage",
            CopyOnWriteImage => "CopyOnWriteImage",
            CopyOnWriteMapFile => "CopyOnWriteMapFile",
            CopyOnWritePageFileMappedSection => "CopyOnWritePageFileMappedSection",
            Driver => "Driver",
            DriverFile => "DriverFile",
            DriverLockedSystemPage => "DriverLockedSystemPage",
            Image => "Image",
            KernelStack => "KernelStack",
            LargePage => "LargePage",
            MapFile => "MapFile",
            MetaFile => "MetaFile",
            NonPagedPool => "NonPagedPool",
            PagedPool => "PagedPool",
            PageFileMappedSection => "PageFileMappedSection",
            PageTable => "PageTable",
            PfnDatabase => "PfnDatabase",
            Prefetcher => "Prefetcher",
            RegistryFile => "RegistryFile",
            SessionCopyOnWriteImage => "SessionCopyOnWriteImage",
            SessionPrivate => "SessionPrivate",
            StraggleIOPage => "StraggleIOPage",
            SystemPage => "SystemPage",
            Unused => "Unused",
            Use14 => "Use14",
            Use15 => "Use15",
            UserStack => "UserStack",
            VirtualAlloc => "VirtualAlloc",
            VirtualAllocPreTrace => "VirtualAlloc_PreTrace",
            Win32Heap => "Win32Heap",
            WsMetaData => "WsMetaData",
        }
    }

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
