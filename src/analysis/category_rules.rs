//! The classification rules, each once. Classifying a page gives the rule that decided. Its category, id, condition and
//! reason are looked up here. `docs/categories.md` has the same list, which a test compares.

use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::model::address_space::Layer;
use crate::model::category::Category;
use crate::named_enum::named_enum;

named_enum! {
    /// Which classification a rule belongs to, named as in `docs/categories.md`.
    pub enum RuleSet {
        /// Both of them.
        Both = "both",
        /// The corrected one.
        Corrected = "corrected",
        /// WPA's.
        Wpa = "WPA",
    }
}

macro_rules! rules {
    ($($rule:ident $id:literal $set:ident $category:ident, $condition:literal: $reason:literal;)*) => {
        /// A rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Rule {
            $(#[doc = $condition] $rule,)*
        }

        impl Rule {
            /// All rules in the order of their numbers.
            pub const ALL: [Rule; [$($id),*].len()] = [$(Rule::$rule),*];

            /// Stable id: `private.heap`.
            pub const fn id(self) -> &'static str {
                match self { $(Rule::$rule => $id,)* }
            }

            /// Which classification it belongs to.
            pub const fn set(self) -> RuleSet {
                match self { $(Rule::$rule => RuleSet::$set,)* }
            }

            /// The category that it gives.
            #[inline(always)]
            pub const fn category(self) -> Category {
                match self { $(Rule::$rule => Category::$category,)* }
            }

            /// Which pages it is for.
            pub const fn condition(self) -> &'static str {
                match self { $(Rule::$rule => $condition,)* }
            }

            /// Why it gives its category.
            pub const fn reason(self) -> &'static str {
                match self { $(Rule::$rule => $reason,)* }
            }
        }
    };
}

// Within one kind of page the first rule whose condition holds decides.
rules! {
    Transition "list.transition" Both StraggleIOPage,
        "list Transition": "the page waits for I/O";
    Unused "list.unused" Corrected Unused,
        "list Zero or Free": "the page holds nothing, whatever its use was";
    Bad "list.bad" Corrected BadPage,
        "list Bad": "the page is bad, or the kernel keeps it aside (SLIST/Temp)";

    NoOwner "private.no_owner" Both VirtualAllocPreTrace,
        "private page without an owner key": "without its process no range can be found";
    UnknownOwner "private.unknown_owner" Both VirtualAllocPreTrace,
        "private page whose owner key names no process of that time": "the trace knows no ranges of it";
    Heap "private.heap" Corrected Win32Heap,
        "private page in a heap range of its process": "a heap range lies in a region or view and says more than that";
    Stack "private.stack" Corrected UserStack,
        "private page in the stack reservation of a thread of its process":
        "a stack grows within its reservation, and the thread's events tell only how it began";
    ImageView "private.view.image" Both CopyOnWriteImage,
        "private page in a view of an image": "a view's page is private only after a copy on write";
    FileView "private.view.file" Both CopyOnWriteMapFile,
        "private page in a view of a data file": "a view's page is private only after a copy on write";
    PagefileView "private.view.pagefile" Both CopyOnWritePageFileMappedSection,
        "private page in a pagefile-backed view": "a view's page is private only after a copy on write";
    Region "private.region" Corrected VirtualAlloc,
        "private page in a VirtualAlloc region of its process": "no heap, stack or view is known at its address";
    NoRange "private.none" Corrected VirtualAllocPreTrace,
        "private page in no range of its process": "no event of the trace tells what its address belongs to";
    HeapInTrace "wpa.heap" Wpa Win32Heap,
        "private page in a heap range that was made during the trace": "WPA ignores the heap rundown";
    InitialStack "wpa.stack" Wpa UserStack,
        "private page in the initial commit of a thread's stack": "WPA does not know the reservation";
    RegionInTrace "wpa.region" Wpa VirtualAlloc,
        "private page in a region that was allocated during the trace": "WPA ignores the VirtualAlloc rundown";
    NoRangeInTrace "wpa.none" Wpa VirtualAllocPreTrace,
        "private page in nothing that was allocated during the trace, in no initial stack and in no view":
        "WPA takes such a page for older than the trace";

    DriverFile "file.sys" Both DriverFile,
        "data page of a file whose name ends in .sys": "by its name a driver's file";
    PrefetchFile "file.pf" Both Prefetcher,
        "data page of a file whose name ends in .pf": "by its name a prefetch file";
    HiveFile "file.hive" Corrected RegistryFile,
        "data page of a file that the registry's rundown names as a hive": "a hive's pages are data pages of its file";
    HiveByPlace "file.hive_by_place" Corrected RegistryFile,
        "data page of a file that lies where a registry hive is known to lie": "the trace has no hive rundown";
    DataFile "file.data" Both MapFile,
        "data page of any other file": "no rule for names fits, or no event names the file";
    HiveName "metafile.hive_name" Wpa RegistryFile,
        "file-system metafile whose last name is that of a registry hive": "WPA looks for hives among the metafiles";

    PfnDatabase "system.pfn_database" Corrected PfnDatabase,
        "system page in the PFN database": "KernelMemUsage tells where the database lies";
    PfnDatabaseWpa "wpa.pfn_database" Wpa SystemPage,
        "system page in the PFN database": "WPA has no category for it";
    Driver "system.driver" Both Driver,
        "system page in a kernel image": "drivers and the kernel itself are loaded there";
    SessionImage "session.image" Both SessionCopyOnWriteImage,
        "session page in a view of an image at a kernel address": "the session has a copy of its own";

    ImageFile "use.image" Both Image,
        "use 1 (File), mapped as an image": "the page record's image bit is set";
    CombinedSection "use.section.combined" Both PageFileMappedSection,
        "use 2 (PageFileMapped), combined": "memory combining made the page of several equal ones";
    Section "use.section" Both PageFileMappedSection,
        "use 2 (PageFileMapped)": "a page of a section that the pagefile backs";
    PageTable "use.page_table" Both PageTable,
        "use 3 (PageTable)": "a page of a process's page tables";
    PagedPool "use.paged_pool" Both PagedPool,
        "use 4 (PagedPool)": "memory of the kernel that may be paged out";
    NonPagedPool "use.non_paged_pool" Both NonPagedPool,
        "use 5 (NonPagedPool)": "memory of the kernel that stays in RAM";
    System "use.system" Both SystemPage,
        "use 6 (SystemPte), elsewhere": "no event tells what the kernel keeps there";
    Session "use.session" Both SessionPrivate,
        "use 7 (SessionPrivate), in no view of an image": "memory of a session";
    Metafile "use.metafile" Both MetaFile,
        "use 8 (MetaFile)": "a file of the file system's own, whatever its name";
    Awe "use.awe" Both AddressingWindowExtensionsPage,
        "use 9 (Awe)": "a process allocated the physical page itself";
    DriverLocked "use.driver_locked" Both DriverLockedSystemPage,
        "use 10 (DriverLocked)": "a driver allocated or locked the page";
    KernelStack "use.kernel_stack" Both KernelStack,
        "use 11 (KernelStack)": "a thread's stack in the kernel";
    WsMetaData "use.ws_metadata" Both WsMetaData,
        "use 12 (WsMetaData)": "the kernel's list of a process's working set";
    LargePage "use.large_page" Both LargePage,
        "use 13 (LargePage)": "a part of a large page; each 4 KiB counts";
    Use14 "use.14" Both Use14,
        "use 14": "no public source says what it is for";
    Use15 "use.15" Both Use15,
        "use 15": "no public source says what it is for";
}

impl Rule {
    /// Ids of the rules of the corrected classification.
    pub fn ids_corrected() -> Vec<&'static str> {
        Rule::ALL.into_iter().filter(|rule| rule.set() != RuleSet::Wpa).map(Rule::id).collect()
    }

    /// Condition and reason, for people.
    pub fn text(self) -> String {
        format!("{}: {}", self.condition(), self.reason())
    }

    /// The corrected rule for a page by its list alone: a page in transition, free or bad holds nothing.
    pub const fn of_list(list: PageList) -> Option<Rule> {
        match list {
            PageList::Transition => Some(Rule::Transition),
            PageList::Zero | PageList::Free => Some(Rule::Unused),
            PageList::Bad => Some(Rule::Bad),
            _ => None,
        }
    }

    /// The rule for a page by its use alone, where no name or address says more.
    #[inline]
    pub const fn of_use(page: &PageIdentity) -> Rule {
        match page.page_use() {
            PageUse::ProcessPrivate => Rule::NoRange,
            PageUse::File if page.is_image() => Rule::ImageFile,
            PageUse::File => Rule::DataFile,
            PageUse::PageFileMapped if page.combined() => Rule::CombinedSection,
            PageUse::PageFileMapped => Rule::Section,
            PageUse::PageTable => Rule::PageTable,
            PageUse::PagedPool => Rule::PagedPool,
            PageUse::NonPagedPool => Rule::NonPagedPool,
            PageUse::SystemPte => Rule::System,
            PageUse::SessionPrivate => Rule::Session,
            PageUse::MetaFile => Rule::Metafile,
            PageUse::Awe => Rule::Awe,
            PageUse::DriverLocked => Rule::DriverLocked,
            PageUse::KernelStack => Rule::KernelStack,
            PageUse::WsMetaData => Rule::WsMetaData,
            PageUse::LargePage => Rule::LargePage,
            PageUse::Use14 => Rule::Use14,
            PageUse::Use15 => Rule::Use15,
        }
    }

    /// The corrected rule for a private page of a known process, by what its address belongs to.
    #[inline(always)]
    pub const fn of_layer(layer: Layer) -> Rule {
        match layer {
            Layer::None => Rule::NoRange,
            Layer::Heap => Rule::Heap,
            Layer::Stack => Rule::Stack,
            Layer::ImageView => Rule::ImageView,
            Layer::FileView => Rule::FileView,
            Layer::PagefileView => Rule::PagefileView,
            Layer::Region => Rule::Region,
        }
    }

    /// WPA's rule, by what WPA knows of the address.
    #[inline(always)]
    pub const fn of_layer_wpa(layer: Layer) -> Rule {
        match layer {
            Layer::None => Rule::NoRangeInTrace,
            Layer::Heap => Rule::HeapInTrace,
            Layer::Stack => Rule::InitialStack,
            Layer::Region => Rule::RegionInTrace,
            view => Rule::of_layer(view),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Cells of the first table under a heading of docs/categories.md, without its two head lines.
    fn table(heading: &str) -> Vec<Vec<String>> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/categories.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
        let lines = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        lines.skip(2).map(cells).collect()
    }

    #[test]
    fn the_documentation_has_every_rule_and_no_other() {
        let rows: Vec<_> = Rule::ALL
            .iter()
            .map(|rule| {
                let id = format!("`{}`", rule.id());
                [&id, rule.set().name(), rule.condition(), rule.category().name(), rule.reason()].map(str::to_owned)
            })
            .collect();
        let wanted: String = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
        assert_eq!(table("All rules"), rows, "docs/categories.md should have\n{wanted}");
        assert_eq!(rows.iter().map(|row| &row[0]).collect::<BTreeSet<_>>().len(), rows.len(), "ids are unique");
    }

    #[test]
    fn the_documentation_has_every_category_in_its_class() {
        let names = |cell: &str| cell.replace("**new**", "").split(',').map(|name| name.trim().to_owned()).collect();
        let described: Vec<String> =
            table("All categories").iter().flat_map(|row| -> Vec<_> { names(&row[0]) }).collect();
        let all: BTreeSet<String> = Category::ALL.iter().map(|category| category.name().to_owned()).collect();
        assert_eq!(described.iter().cloned().collect::<BTreeSet<_>>(), all);
        assert_eq!(described.len(), all.len());
        for row in table("Classes") {
            let of_class = Category::ALL.iter().filter(|category| category.class().name() == row[0]);
            let wanted: Vec<_> = of_class.map(|category| category.name()).collect();
            let found: Vec<String> = names(&row[2]);
            assert_eq!(found, wanted, "{}", row[0]);
        }
        let given: BTreeSet<String> = Rule::ALL.iter().map(|rule| rule.category().name().to_owned()).collect();
        assert_eq!(given, all, "every category is given by a rule");
    }

    #[test]
    fn rules_have_their_numbers() {
        assert!(Rule::ALL.into_iter().enumerate().all(|(number, rule)| rule as usize == number));
    }
}
