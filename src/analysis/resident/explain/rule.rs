//! Which rule decided. The order of questions is that of `docs/categories.md`; the answers are checked against
//! [`Scene::judge`] page by page in the tests.

use crate::analysis::category::Category;
use crate::analysis::resident::judge::Verdict;
use crate::analysis::resident::scene::Scene;
use crate::event::page::{PageIdentity, PageList, PageUse};
use crate::model::hives::Hives;
use crate::model::space::Layer;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Name as in JSON: `private.heap`.
    pub id: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// A category and the rule that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Category.
    pub category: Category,
    /// Rule.
    pub rule: Rule,
}

const fn decide(category: Category, id: &'static str, text: &'static str) -> Decision {
    Decision { category, rule: Rule { id, text } }
}

const NO_OWNER: Decision = decide(
    Category::VirtualAllocPreTrace,
    "private.no_owner",
    "private page without an owner key, so in no range of a process",
);
const UNKNOWN_OWNER: Decision = decide(
    Category::VirtualAllocPreTrace,
    "private.unknown_owner",
    "private page whose owner key names no process of that time, so in no range that the trace knows",
);
const TRANSITION: Decision =
    decide(Category::StraggleIOPage, "list.transition", "list Transition: the page waits for I/O");

/// By the corrected rules.
pub(super) fn corrected(scene: &Scene<'_>, hives: &Hives, page: &PageIdentity, verdict: &Verdict) -> Decision {
    match page.list() {
        PageList::Transition => return TRANSITION,
        PageList::Zero | PageList::Free => {
            return decide(Category::Unused, "list.unused", "list Zero or Free: the page holds nothing");
        }
        PageList::Bad => {
            return decide(
                Category::BadPage,
                "list.bad",
                "list Bad: the page is bad, or the kernel keeps it aside (SLIST/Temp)",
            );
        }
        _ => {}
    }
    match page.page_use() {
        PageUse::ProcessPrivate => private(whose(scene, page), verdict.cell.corrected),
        PageUse::File if !page.is_image() => {
            if scene.files.index(page.file_key()).is_none() {
                return decide(Category::MapFile, "file.unnamed", "data page of a file that no event names");
            }
            match verdict.category {
                Category::DriverFile => SYS,
                Category::Prefetcher => PF,
                Category::RegistryFile if hives.are_known() => decide(
                    Category::RegistryFile,
                    "file.hive",
                    "data page of a file that the registry's rundown names as a hive",
                ),
                Category::RegistryFile => decide(
                    Category::RegistryFile,
                    "file.hive_by_place",
                    "data page of a file that lies where a registry hive is known to lie (the trace has no hive rundown)",
                ),
                _ => DATA,
            }
        }
        PageUse::SystemPte if scene.is_pfn_database(page.u2) => decide(
            Category::PfnDatabase,
            "system.pfn_database",
            "system page whose address lies in the PFN database (KernelMemUsage)",
        ),
        PageUse::SystemPte if scene.kernel_image(page.u2).is_some() => DRIVER,
        PageUse::SessionPrivate if scene.session_image(page.u2).is_some() => SESSION_IMAGE,
        _ => by_use(page),
    }
}

/// By WPA's rules.
pub(super) fn wpa(scene: &Scene<'_>, page: &PageIdentity, verdict: &Verdict) -> Decision {
    if page.list() == PageList::Transition {
        return TRANSITION;
    }
    match page.page_use() {
        PageUse::ProcessPrivate => private_wpa(whose(scene, page), verdict.cell.wpa),
        PageUse::File if !page.is_image() => match verdict.wpa {
            Category::DriverFile => SYS,
            Category::Prefetcher => PF,
            _ => DATA,
        },
        PageUse::MetaFile if verdict.wpa == Category::RegistryFile => decide(
            Category::RegistryFile,
            "metafile.hive_name",
            "file-system metafile whose last name is that of a registry hive",
        ),
        PageUse::SystemPte if scene.is_pfn_database(page.u2) => {
            decide(Category::SystemPage, "use.system", "use 6 (SystemPte); WPA has no category for the PFN database")
        }
        PageUse::SystemPte if scene.kernel_image(page.u2).is_some() => DRIVER,
        PageUse::SessionPrivate if scene.session_image(page.u2).is_some() => SESSION_IMAGE,
        _ => by_use(page),
    }
}

/// Whose a private page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// It has no owner key.
    NoKey,
    /// Its key names no process.
    Unknown,
    /// A process's.
    Known,
}

/// Also for pages of the lists Zero and Free, which are nobody's in the tables.
fn whose(scene: &Scene<'_>, page: &PageIdentity) -> Whose {
    match page.key() {
        0 => Whose::NoKey,
        key if scene.owners.get(key).is_none() => Whose::Unknown,
        _ => Whose::Known,
    }
}

/// A private page by the corrected rules.
pub(super) fn private(whose: Whose, layer: Layer) -> Decision {
    match (whose, layer) {
        (Whose::NoKey, _) => NO_OWNER,
        (Whose::Unknown, _) => UNKNOWN_OWNER,
        (Whose::Known, Layer::Heap) => decide(
            Category::Win32Heap,
            "private.heap",
            "private page, rule 1: its address lies in a heap range of its process",
        ),
        (Whose::Known, Layer::Stack) => decide(
            Category::UserStack,
            "private.stack",
            "private page, rule 2: its address lies in the stack reservation of a thread of its process",
        ),
        (Whose::Known, Layer::ImageView | Layer::FileView | Layer::PagefileView) => view(layer),
        (Whose::Known, Layer::Region) => decide(
            Category::VirtualAlloc,
            "private.region",
            "private page, rule 4: its address lies in a VirtualAlloc region of its process",
        ),
        (Whose::Known, Layer::None) => decide(
            Category::VirtualAllocPreTrace,
            "private.none",
            "private page, rule 5: its address lies in no range of its process that the trace knows",
        ),
    }
}

/// A private page by WPA's rules.
pub(super) fn private_wpa(whose: Whose, layer: Layer) -> Decision {
    match (whose, layer) {
        (Whose::NoKey, _) => NO_OWNER,
        (Whose::Unknown, _) => UNKNOWN_OWNER,
        (Whose::Known, Layer::Heap) => decide(
            Category::Win32Heap,
            "wpa.heap",
            "private page in a heap range that was made during the trace (WPA passes over the heap rundown)",
        ),
        (Whose::Known, Layer::Stack) => decide(
            Category::UserStack,
            "wpa.stack",
            "private page in the initial commit of a thread's stack (WPA does not know the reservation)",
        ),
        (Whose::Known, Layer::ImageView | Layer::FileView | Layer::PagefileView) => view(layer),
        (Whose::Known, Layer::Region) => decide(
            Category::VirtualAlloc,
            "wpa.region",
            "private page in a region that was allocated during the trace (WPA passes over the rundown)",
        ),
        (Whose::Known, Layer::None) => decide(
            Category::VirtualAllocPreTrace,
            "wpa.none",
            "private page in nothing that was allocated during the trace, in no initial stack and in no view",
        ),
    }
}

fn view(layer: Layer) -> Decision {
    let text = "private page, rule 3: its address lies in a mapped view of its process, so it was copied on write";
    match layer {
        Layer::FileView => decide(Category::CopyOnWriteMapFile, "private.view.file", text),
        Layer::PagefileView => decide(Category::CopyOnWritePageFileMappedSection, "private.view.pagefile", text),
        _ => decide(Category::CopyOnWriteImage, "private.view.image", text),
    }
}

const SYS: Decision = decide(Category::DriverFile, "file.sys", "data page of a file whose name ends in .sys");
const PF: Decision = decide(Category::Prefetcher, "file.pf", "data page of a file whose name ends in .pf");
const DATA: Decision =
    decide(Category::MapFile, "file.data", "data page of a file: no driver, no prefetch file, no registry hive");
const DRIVER: Decision = decide(Category::Driver, "system.driver", "system page whose address lies in a kernel image");
const SESSION_IMAGE: Decision = decide(
    Category::SessionCopyOnWriteImage,
    "session.image",
    "session page whose address lies in a view of an image at a kernel address",
);

/// By the use alone.
fn by_use(page: &PageIdentity) -> Decision {
    let (id, text) = match page.page_use() {
        PageUse::File => ("use.image", "use 1 (File), mapped as an image"),
        PageUse::PageFileMapped if page.combined() => {
            ("use.section.combined", "use 2 (PageFileMapped); memory combining made the page of several equal ones")
        }
        PageUse::PageFileMapped => ("use.section", "use 2 (PageFileMapped)"),
        PageUse::PageTable => ("use.page_table", "use 3 (PageTable)"),
        PageUse::PagedPool => ("use.paged_pool", "use 4 (PagedPool)"),
        PageUse::NonPagedPool => ("use.non_paged_pool", "use 5 (NonPagedPool)"),
        PageUse::SystemPte => ("use.system", "use 6 (SystemPte), in no kernel image"),
        PageUse::SessionPrivate => ("use.session", "use 7 (SessionPrivate), in no view of an image"),
        PageUse::MetaFile => ("use.metafile", "use 8 (MetaFile), a file of the file system's own"),
        PageUse::Awe => ("use.awe", "use 9 (Awe)"),
        PageUse::DriverLocked => ("use.driver_locked", "use 10 (DriverLocked)"),
        PageUse::KernelStack => ("use.kernel_stack", "use 11 (KernelStack)"),
        PageUse::WsMetaData => ("use.ws_metadata", "use 12 (WsMetaData)"),
        PageUse::LargePage => ("use.large_page", "use 13 (LargePage)"),
        PageUse::Use14 => ("use.14", "use 14, which no public source defines"),
        PageUse::Use15 => ("use.15", "use 15, which no public source defines"),
        PageUse::ProcessPrivate => ("use.private", "use 0 (ProcessPrivate)"),
    };
    decide(Category::of_use(page), id, text)
}
