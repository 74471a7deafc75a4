//! The verdict on one page: category by both rule sets, owner, file, detail. The first rule that fits decides.

use crate::analysis::category::Category;
use crate::analysis::resident::scene::Scene;
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
    /// A key that names no process.
    Unknown(u64),
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

/// The verdict.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Corrected category.
    pub category: Category,
    /// WPA's category.
    pub wpa: Category,
    /// Owner.
    pub owner: Owner,
    /// What the address of a private page belongs to.
    pub cell: Cell,
    /// Detail.
    pub detail: Detail,
}

/// What a page's keys and addresses lead to. Found for a batch of pages at a time, see [`Snapshot::fold`].
///
/// [`Snapshot::fold`]: crate::model::snapshot::Snapshot::fold
#[derive(Debug, Clone, Copy)]
pub struct Joined {
    /// Process instance of the owner key of uses that have one; [`Joined::NOTHING`] for none.
    process: u32,
    /// What the address of a private page belongs to.
    cell: Cell,
    /// Name of a file page whose name decides; [`Joined::NOTHING`] for none.
    name: u32,
}

impl Joined {
    const NOTHING: u32 = u32::MAX;
    /// A page that is joined with nothing.
    pub const EMPTY: Joined = Joined { process: Joined::NOTHING, cell: Cell::EMPTY, name: Joined::NOTHING };
}

impl Scene<'_> {
    /// Judges a page.
    pub fn judge(&self, page: &PageIdentity) -> Verdict {
        let mut joined = [Joined::EMPTY];
        self.join(std::slice::from_ref(page), &mut joined);
        self.verdict(page, &joined[0])
    }

    /// Looks up what the pages are joined with.
    #[inline]
    pub fn join(&self, pages: &[PageIdentity], joined: &mut [Joined]) {
        // Three short loops: each does one kind of look-up for many pages, so that their cache misses overlap.
        for (page, joined) in pages.iter().zip(joined.iter_mut()) {
            *joined = Joined::EMPTY;
            let key = page.key();
            if self.has_owner(page.page_use()) && key != 0 {
                joined.process = self.owners.get(key).unwrap_or(Joined::NOTHING);
            }
        }
        for (page, joined) in pages.iter().zip(joined.iter_mut()) {
            if page.page_use() == PageUse::ProcessPrivate && joined.process != Joined::NOTHING {
                joined.cell = self.cell(joined.process, page.u2);
            }
        }
        for (page, joined) in pages.iter().zip(joined.iter_mut()) {
            let by_name = match page.page_use() {
                PageUse::File => !page.is_image(),
                page_use => page_use == PageUse::MetaFile,
            };
            if by_name {
                joined.name = self.files.index(page.file_key()).unwrap_or(Joined::NOTHING);
            }
        }
    }

    /// Judges a page by what it is joined with.
    #[inline(always)]
    pub fn verdict(&self, page: &PageIdentity, joined: &Joined) -> Verdict {
        let (list, page_use) = (page.list(), page.page_use());
        let category = Category::of_use(page);
        let mut verdict = Verdict {
            category,
            wpa: category,
            owner: self.owner(page, list, page_use, joined),
            cell: joined.cell,
            detail: Detail::None,
        };
        match page_use {
            PageUse::ProcessPrivate => {
                verdict.category = Category::of_layer(joined.cell.corrected);
                verdict.wpa = Category::of_layer(joined.cell.wpa);
                if joined.cell.corrected.is_file_view() {
                    let space = self.spaces.get(joined.process as usize);
                    let file_key = space.and_then(|space| space.file_key(joined.cell));
                    verdict.detail = file_key.map_or(Detail::None, Detail::File);
                }
            }
            PageUse::File => {
                verdict.detail = Detail::File(page.file_key());
                if let Some(rule) = self.file_rules.get(joined.name as usize) {
                    (verdict.category, verdict.wpa) = (rule.data, rule.data_wpa);
                }
            }
            PageUse::MetaFile => {
                verdict.detail = Detail::File(page.file_key());
                if let Some(rule) = self.file_rules.get(joined.name as usize) {
                    verdict.wpa = rule.meta_wpa;
                }
            }
            PageUse::SystemPte => {
                if self.is_pfn_database(page.u2) {
                    verdict.category = Category::PfnDatabase;
                } else if let Some(image) = self.kernel_image(page.u2) {
                    (verdict.category, verdict.wpa) = (Category::Driver, Category::Driver);
                    verdict.detail = Detail::Driver(image);
                }
            }
            PageUse::SessionPrivate => {
                if let Some(key) = self.session_image(page.u2) {
                    let category = Category::SessionCopyOnWriteImage;
                    (verdict.category, verdict.wpa) = (category, category);
                    verdict.detail = Detail::File(key);
                }
            }
            PageUse::PagedPool | PageUse::NonPagedPool => {
                verdict.detail = self.pool_tag(page.u2).map_or(Detail::None, Detail::PoolTag);
            }
            PageUse::PageFileMapped if page.combined() => verdict.detail = Detail::Combined,
            _ => {}
        }
        if let Some(category) = Category::of_list(list) {
            verdict.category = category;
            if list == PageList::Transition {
                verdict.wpa = category; // WPA knows straggling I/O, but neither free nor bad pages
            }
            verdict.detail = Detail::None;
        }
        verdict
    }

    /// True for uses whose key is an owner key.
    #[inline(always)]
    fn has_owner(&self, page_use: PageUse) -> bool {
        match page_use {
            PageUse::ProcessPrivate | PageUse::PageTable | PageUse::WsMetaData => true,
            PageUse::Awe | PageUse::LargePage => self.owned_large_pages,
            _ => false,
        }
    }

    #[inline(always)]
    fn owner(&self, page: &PageIdentity, list: PageList, page_use: PageUse, joined: &Joined) -> Owner {
        match page_use {
            _ if matches!(list, PageList::Zero | PageList::Free) => Owner::None,
            PageUse::File | PageUse::PageFileMapped | PageUse::MetaFile => Owner::Shared,
            _ if !self.has_owner(page_use) || page.key() == 0 => Owner::None,
            _ if self.owners.is_named(joined.process) => Owner::Process(joined.process),
            _ => Owner::Unknown(page.key()),
        }
    }
}
