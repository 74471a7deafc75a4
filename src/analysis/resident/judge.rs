//! The verdict on one page: category by both rule sets, owner, file, detail. The first rule that fits decides.
//!
//! This is the rule book. Millions of pages go the quicker way of [`batch`](super::batch), which must agree with it.

use crate::analysis::category::Category;
use crate::analysis::resident::scene::{FileRule, Scene};
use crate::event::page::{PageIdentity, PageList, PageUse};
use crate::event::pool::PoolTag;
use crate::model::address_index::Cell;

/// Whose a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Nobody's: kernel pages, free pages, pages without a key.
    None,
    /// Shareable: WPA's `Unknown (-1)`.
    Shared,
    /// A process instance by index.
    Process(u32),
    /// That of the page's key, which names no process.
    Unknown,
}

/// An [`Owner`] in four bytes: a verdict is written for each of millions of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerCode(u32);

impl OwnerCode {
    pub(super) const NONE: OwnerCode = OwnerCode(u32::MAX);
    const SHARED: OwnerCode = OwnerCode(u32::MAX - 1);
    pub(super) const UNKNOWN: OwnerCode = OwnerCode(u32::MAX - 2);

    /// A process instance by index.
    pub const fn process(index: u32) -> OwnerCode {
        OwnerCode(index)
    }
}

/// What a page's detail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Nothing.
    None,
    /// A file by key: the page's own, or that of the view in which it was copied on write.
    File(u64),
    /// A kernel image by index.
    Driver(u32),
    /// A page that memory combining made.
    Combined,
    /// The tag of a big pool allocation.
    PoolTag(PoolTag),
}

/// The verdict. What else is told of a page follows from it: [`Scene::detail`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Corrected category.
    pub category: Category,
    /// WPA's category.
    pub wpa: Category,
    /// Owner; [`Verdict::owner`] spells it out.
    pub owner: OwnerCode,
    /// What the address of a private page belongs to.
    pub cell: Cell,
}

impl Verdict {
    /// Whose the page is.
    #[inline(always)]
    pub const fn owner(&self) -> Owner {
        match self.owner {
            OwnerCode::NONE => Owner::None,
            OwnerCode::SHARED => Owner::Shared,
            OwnerCode::UNKNOWN => Owner::Unknown,
            OwnerCode(index) => Owner::Process(index),
        }
    }
}

/// In place of an instance or a name that is not known: an index behind all.
pub(super) const NOTHING: u32 = u32::MAX;

impl Scene<'_> {
    /// Judges a page.
    pub fn judge(&self, page: &PageIdentity) -> Verdict {
        let (list, page_use) = (page.list(), page.page_use());
        let process = self.process_of(page);
        let category = Category::of_use(page);
        let mut verdict =
            Verdict { category, wpa: category, owner: self.owner(page, list, process), cell: Cell::EMPTY };
        match page_use {
            PageUse::ProcessPrivate => {
                verdict.cell = self.cell(process, page.u2);
                verdict.category = Category::of_layer(verdict.cell.corrected);
                verdict.wpa = Category::of_layer(verdict.cell.wpa);
            }
            PageUse::File if !page.is_image() => {
                let rule = self.file_rule(page);
                (verdict.category, verdict.wpa) = (rule.data, rule.data_wpa);
            }
            PageUse::MetaFile => verdict.wpa = self.file_rule(page).meta_wpa,
            PageUse::SystemPte => {
                if self.is_pfn_database(page.u2) {
                    verdict.category = Category::PfnDatabase;
                } else if self.kernel_image(page.u2).is_some() {
                    (verdict.category, verdict.wpa) = (Category::Driver, Category::Driver);
                }
            }
            PageUse::SessionPrivate if self.session_image(page.u2).is_some() => {
                let category = Category::SessionCopyOnWriteImage;
                (verdict.category, verdict.wpa) = (category, category);
            }
            _ => {}
        }
        if let Some(category) = Category::of_list(list) {
            verdict.category = category;
            if list == PageList::Transition {
                verdict.wpa = category; // WPA knows straggling I/O, but neither free nor bad pages
            }
        }
        verdict
    }

    /// What a page's detail is.
    pub fn detail(&self, page: &PageIdentity, verdict: &Verdict) -> Detail {
        let of = |found: Option<Detail>| found.unwrap_or(Detail::None);
        match page.page_use() {
            _ if Category::of_list(page.list()).is_some() => Detail::None,
            PageUse::ProcessPrivate if verdict.cell.corrected.is_file_view() => {
                of(self.spaces.file_key(verdict.cell).map(Detail::File))
            }
            PageUse::File | PageUse::MetaFile => Detail::File(page.file_key()),
            PageUse::SystemPte if verdict.category == Category::Driver => {
                of(self.kernel_image(page.u2).map(Detail::Driver))
            }
            PageUse::SessionPrivate => of(self.session_image(page.u2).map(Detail::File)),
            PageUse::PagedPool | PageUse::NonPagedPool => of(self.pool_tag(page.u2).map(Detail::PoolTag)),
            PageUse::PageFileMapped if page.combined() => Detail::Combined,
            _ => Detail::None,
        }
    }

    /// Process instance of the owner key; [`NOTHING`] without one.
    #[inline(always)]
    pub(super) fn process_of(&self, page: &PageIdentity) -> u32 {
        let key = page.key();
        if self.has_owner(page.page_use()) && key != 0 { self.owners.get(key).unwrap_or(NOTHING) } else { NOTHING }
    }

    /// What the name of a file makes of its pages.
    #[inline(always)]
    pub(super) fn file_rule(&self, page: &PageIdentity) -> FileRule {
        self.special_files.get(&page.file_key()).copied().unwrap_or(FileRule::PLAIN)
    }

    /// True for uses whose key is an owner key.
    #[inline(always)]
    pub(super) fn has_owner(&self, page_use: PageUse) -> bool {
        match page_use {
            PageUse::ProcessPrivate | PageUse::PageTable | PageUse::WsMetaData => true,
            PageUse::Awe | PageUse::LargePage => self.owned_large_pages,
            _ => false,
        }
    }

    #[inline(always)]
    fn owner(&self, page: &PageIdentity, list: PageList, process: u32) -> OwnerCode {
        match page.page_use() {
            _ if matches!(list, PageList::Zero | PageList::Free) => OwnerCode::NONE,
            PageUse::File | PageUse::PageFileMapped | PageUse::MetaFile => OwnerCode::SHARED,
            page_use if !self.has_owner(page_use) => OwnerCode::NONE,
            _ => self.owner_by_key(page.key(), process),
        }
    }

    /// The owner of a page of a use that has one.
    #[inline(always)]
    pub(super) fn owner_by_key(&self, key: u64, process: u32) -> OwnerCode {
        match key {
            0 => OwnerCode::NONE,
            _ if self.owners.is_named(process) => OwnerCode::process(process),
            _ => OwnerCode::UNKNOWN,
        }
    }
}
