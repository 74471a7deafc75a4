//! Classifying one page: the rule that decides in each classification, its owner, its detail.
//!
//! This is the reference. Millions of pages are classified by the faster [`batch_classify`](super::batch_classify),
//! which must agree with it.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::snapshot_context::{FileRules, SnapshotContext};
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::event::pool::PoolTag;
use crate::model::address_index::AddressOwner;
use crate::model::category::Category;

/// The owner of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageOwner {
    /// Nobody: kernel pages, free pages, pages without a key.
    None,
    /// Shareable: WPA's `Unknown (-1)`.
    Shared,
    /// A process instance by index.
    Process(u32),
    /// The page has a key, but it names no process.
    Unknown,
}

/// A [`PageOwner`] in four bytes: one is written for each page, so it has to be small.
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

/// The result of classifying a page. Its detail follows from it: [`SnapshotContext::detail`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassifiedPage {
    /// The corrected rule that decides.
    pub rule: Rule,
    /// WPA's rule that decides.
    pub rule_wpa: Rule,
    /// Owner; [`ClassifiedPage::owner`] spells it out.
    pub owner: OwnerCode,
    /// What the address of a private page belongs to.
    pub address_owner: AddressOwner,
}

impl ClassifiedPage {
    /// Corrected category.
    #[inline(always)]
    pub const fn category(&self) -> Category {
        self.rule.category()
    }

    /// WPA's category.
    #[inline(always)]
    pub const fn category_wpa(&self) -> Category {
        self.rule_wpa.category()
    }

    /// Whose the page is.
    #[inline(always)]
    pub const fn owner(&self) -> PageOwner {
        match self.owner {
            OwnerCode::NONE => PageOwner::None,
            OwnerCode::SHARED => PageOwner::Shared,
            OwnerCode::UNKNOWN => PageOwner::Unknown,
            OwnerCode(index) => PageOwner::Process(index),
        }
    }
}

/// Stands for an unknown instance or name: an index that no list has.
pub(super) const NOTHING: u32 = u32::MAX;

impl SnapshotContext<'_> {
    /// Classifies a page.
    pub fn classify(&self, page: &PageIdentity) -> ClassifiedPage {
        let list = page.list();
        let process = self.process_of(page);
        let mut address_owner = AddressOwner::NOTHING;
        let by_use = Rule::of_use(page);
        let (mut rule, mut rule_wpa) = match page.page_use() {
            PageUse::ProcessPrivate => {
                if process != NOTHING {
                    address_owner = self.spaces.get(process, page.u2);
                }
                self.private_rules(page.key(), process, address_owner)
            }
            PageUse::File if !page.is_image() => {
                let rules = self.file_rules(page);
                (rules.data, rules.data_wpa)
            }
            PageUse::MetaFile => (by_use, self.file_rules(page).meta_wpa),
            PageUse::SystemPte if self.is_pfn_database(page.u2) => (Rule::PfnDatabase, Rule::PfnDatabaseWpa),
            PageUse::SystemPte if self.kernel_image(page.u2).is_some() => (Rule::Driver, Rule::Driver),
            PageUse::SessionPrivate if self.session_image(page.u2).is_some() => {
                (Rule::SessionImage, Rule::SessionImage)
            }
            _ => (by_use, by_use),
        };
        if let Some(by_list) = Rule::of_list(list) {
            rule = by_list;
            if by_list == Rule::Transition {
                rule_wpa = by_list; // WPA knows straggling I/O, but neither free nor bad pages
            }
        }
        ClassifiedPage { rule, rule_wpa, owner: self.owner(page, list, process), address_owner }
    }

    /// What a page's detail is.
    pub fn detail(&self, page: &PageIdentity, classified: &ClassifiedPage) -> Detail {
        let of = |found: Option<Detail>| found.unwrap_or(Detail::None);
        match page.page_use() {
            _ if Rule::of_list(page.list()).is_some() => Detail::None,
            PageUse::ProcessPrivate if classified.address_owner.corrected().is_file_view() => {
                of(self.spaces.file_key(classified.address_owner).map(Detail::File))
            }
            PageUse::File | PageUse::MetaFile => Detail::File(page.file_key()),
            PageUse::SystemPte if classified.rule == Rule::Driver => of(self.kernel_image(page.u2).map(Detail::Driver)),
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

    /// The rules for the pages of a file, by its name.
    #[inline(always)]
    pub(super) fn file_rules(&self, page: &PageIdentity) -> FileRules {
        self.special_files.get(page.file_key()).unwrap_or(FileRules::PLAIN)
    }

    /// The rules for a private page.
    #[inline(always)]
    pub(super) fn private_rules(&self, key: u64, process: u32, address_owner: AddressOwner) -> (Rule, Rule) {
        match (key, process) {
            (0, _) => (Rule::NoOwner, Rule::NoOwner),
            (_, NOTHING) => (Rule::UnknownOwner, Rule::UnknownOwner),
            _ => (Rule::of_layer(address_owner.corrected()), Rule::of_layer_wpa(address_owner.wpa())),
        }
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
            _ => self.owner_of(process),
        }
    }

    /// The owner of a page whose key means this process.
    #[inline(always)]
    pub(super) const fn owner_of(&self, process: u32) -> OwnerCode {
        if self.owners.is_named(process) { OwnerCode::process(process) } else { OwnerCode::UNKNOWN }
    }
}

#[cfg(etl_writer)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::category_rules::RuleSet;
    use crate::analysis::resident::testing::{pages, with_context};
    use std::collections::BTreeSet;

    /// The machine has a case for every rule; a rule without a case would be untested.
    #[test]
    fn every_rule_decides_in_its_own_classification() {
        let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
        with_context(4, |context| {
            for page in pages(4) {
                let classified = context.classify(&page);
                ours.insert(classified.rule);
                theirs.insert(classified.rule_wpa);
            }
        });
        for rule in Rule::ALL {
            let id = rule.id();
            assert_eq!(ours.contains(&rule), rule.set() != RuleSet::Wpa && rule != Rule::HiveFile, "{id}, corrected");
            assert_eq!(theirs.contains(&rule), rule.set() != RuleSet::Corrected, "{id}, WPA");
        }
    }
}
