//! Holdings of pages one by one, for callers that want each of them, not their counts.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::pages::held_page::HeldPage;
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::dimensions::Label;
use crate::event::page_identity::PageUse;
use crate::model::category::Category;
use crate::model::working_set_owner::OwnerId;
use crate::units::Ticks;

/// A holding as the replay keeps it until the end of its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptHolding<S = ()> {
    /// Whose.
    pub owner: OwnerId,
    /// The page.
    pub held: HeldPage<S>,
    /// Why and when it ended; `None` when it is held at the window's end.
    pub released: Option<(ReleaseReason, Ticks)>,
}

/// A holding that ended in the window, or is held at its end.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Holding {
    /// Whose, as rows name it.
    pub process: Label,
    /// Category.
    pub category: Category,
    /// Frame; `None` where it is not known.
    pub pfn: Option<u64>,
    /// Use.
    pub page_use: PageUse,
    /// File, as rows name it.
    pub file: Label,
    /// Detail, as rows name it.
    pub detail: Label,
    /// Why it began.
    pub access_reason: AccessReason,
    /// When it began.
    pub since: Ticks,
    /// Why and when it ended.
    pub released: Option<(ReleaseReason, Ticks)>,
}

impl ReplayContext<'_> {
    /// A kept holding with its names.
    pub fn holding<S: AccessStack>(&self, kept: &KeptHolding<S>) -> Holding {
        let (key, _) = self.row(kept.owner, &kept.held, kept.released.map(|(reason, _)| reason));
        let page = kept.held.page;
        Holding {
            process: self.label(&key, Dimension::PROCESS),
            category: page.category(),
            pfn: (page.pfn() != 0).then_some(page.pfn()),
            page_use: page.page_use(),
            file: self.label(&key, Dimension::FILE),
            detail: self.label(&key, Dimension::Detail),
            access_reason: page.reason(),
            since: kept.held.since,
            released: kept.released,
        }
    }
}
