//! Physical pages that several owners share. Each counts once, for the owner that accessed it first, from the access of its
//! first holder to the release of its last holder. So impact sizes add up to the memory of the system.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::pages::held_page::HeldPage;
use crate::analysis::refset::reason::ReleaseReason;
use crate::analysis::refset::row_key::{RowCount, RowKey};
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;

/// A shareable page got or lost a holder.
#[derive(Debug, Clone, Copy)]
pub struct SharedPageChange<S = ()> {
    /// When it changed.
    pub moment: Moment,
    /// Who holds the page, or did until then.
    pub owner: OwnerId,
    /// The holding.
    pub held: HeldPage<S>,
    /// Why it ended; `None` when it began.
    pub release: Option<ReleaseReason>,
}

#[derive(Debug, Clone, Copy)]
struct Shared<S> {
    holders: u32,
    owner: OwnerId,
    held: HeldPage<S>,
}

/// All shared pages.
#[derive(Debug, Default)]
pub struct SharedPages<S = ()> {
    pages: FastMap<(bool, u64), Shared<S>>,
}

/// A combined page is known by its prototype PTE, any other by its frame.
fn key<S: Copy>(held: &HeldPage<S>) -> (bool, u64) {
    if held.is_combined() { (true, held.identity) } else { (false, held.page.pfn()) }
}

impl<S: AccessStack> SharedPages<S> {
    /// Applies changes in time order.
    pub fn apply(
        &mut self,
        context: &ReplayContext<'_>,
        shares: &[SharedPageChange<S>],
        rows: &mut FastMap<RowKey, RowCount>,
    ) {
        for share in shares {
            let Some(reason) = share.release else {
                let first = Shared { holders: 0, owner: share.owner, held: share.held };
                let shared = self.pages.entry(key(&share.held)).or_insert(first);
                shared.holders = shared.holders.saturating_add(1);
                continue;
            };
            let Some(shared) = self.pages.get_mut(&key(&share.held)) else { continue };
            shared.holders -= 1;
            if shared.holders == 0 {
                let Shared { owner, held, .. } = *shared;
                self.pages.remove(&key(&share.held));
                if context.window.holds(share.moment) {
                    let (key, impact_pages) = context.row(owner, &held, Some(reason));
                    *rows.entry(key).or_default() += RowCount { pages: 0, impact_pages };
                }
            }
        }
    }

    /// The window ends: what is held now goes into the rows.
    pub fn stop(&self, context: &ReplayContext<'_>, rows: &mut FastMap<RowKey, RowCount>) {
        for shared in self.pages.values() {
            let (key, impact_pages) = context.row(shared.owner, &shared.held, None);
            *rows.entry(key).or_default() += RowCount { pages: 0, impact_pages };
        }
    }
}
