//! The verdict on one page: category by both rule sets, owner, file, detail. The first rule that fits decides.

use crate::analysis::category::Category;
use crate::analysis::resident::scene::Scene;
use crate::event::page::{PageIdentity, PageList, PageUse};
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

impl Scene<'_> {
    /// Judges a page.
    #[inline]
    pub fn judge(&self, page: &PageIdentity) -> Verdict {
        let (list, page_use) = (page.list(), page.page_use());
        let owner = self.owner(page, list, page_use);
        let mut verdict = Verdict {
            category: Category::of_use(page),
            wpa: Category::of_use(page),
            owner,
            cell: Cell::EMPTY,
            detail: Detail::None,
        };
        match page_use {
            PageUse::ProcessPrivate => {
                let process = match owner {
                    Owner::None if page.key() != 0 => self.owners.get(page.key()),
                    Owner::Process(process) => Some(process),
                    _ => None,
                };
                if let Some(process) = process {
                    verdict.cell = self.cell(process, page.u2);
                    verdict.category = Category::of_layer(verdict.cell.corrected);
                    verdict.wpa = Category::of_layer(verdict.cell.wpa);
                    if verdict.category.name().starts_with("CopyOnWrite") && verdict.cell.view != Cell::NO_VIEW {
                        let views = self.spaces.get(process as usize).map_or(&[][..], |space| &space.views);
                        verdict.detail =
                            views.get(verdict.cell.view as usize).map_or(Detail::None, |&key| Detail::File(key));
                    }
                }
            }
            PageUse::File => {
                verdict.detail = Detail::File(page.file_key());
                if !page.is_image()
                    && let Some(rule) = self.files.index(page.file_key()).and_then(|i| self.file_rules.get(i as usize))
                {
                    (verdict.category, verdict.wpa) = (rule.data, rule.data_wpa);
                }
            }
            PageUse::MetaFile => {
                verdict.detail = Detail::File(page.file_key());
                if let Some(rule) = self.files.index(page.file_key()).and_then(|i| self.file_rules.get(i as usize)) {
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

    #[inline]
    fn owner(&self, page: &PageIdentity, list: PageList, page_use: PageUse) -> Owner {
        if matches!(list, PageList::Zero | PageList::Free) {
            return Owner::None;
        }
        let owned = match page_use {
            PageUse::File | PageUse::PageFileMapped | PageUse::MetaFile => return Owner::Shared,
            PageUse::ProcessPrivate | PageUse::PageTable | PageUse::WsMetaData => true,
            PageUse::Awe | PageUse::LargePage => self.owned_large_pages,
            _ => false,
        };
        match page.key() {
            key if owned && key != 0 => self.owners.get(key).map_or(Owner::Unknown(key), Owner::Process),
            _ => Owner::None,
        }
    }
}
