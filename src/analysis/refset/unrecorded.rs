//! Access reasons of which the trace has no record: their keyword was off, or what records them was lost.

use crate::analysis::refset::reason::AccessReason;
use crate::event::hooks::{PAGE_ACCESS, PAGE_ACCESS_EX, PAGE_RANGE_ACCESS, POOL_ALLOC, SESSION_ALLOC};
use crate::load::survey::Survey;
use crate::trace::analysis_needs::POOL;
use crate::units::count;

/// Beside so many other accesses it is no chance that there is none.
const MANY_ACCESSES: u64 = 100;

/// A reason without any record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnrecordedReason {
    /// The reason.
    pub reason: AccessReason,
    /// That its accesses count in no sum.
    pub text: String,
}

impl UnrecordedReason {
    /// Those of a trace, of pool and of ranges of pages: a scenario can be without these.
    pub fn all(survey: &Survey) -> Vec<UnrecordedReason> {
        let count_of = |hook| survey.kernel_count(hook);
        let pages = count_of(PAGE_ACCESS).saturating_add(count_of(PAGE_ACCESS_EX));
        let has_ranges = count_of(PAGE_RANGE_ACCESS) > 0;
        let has_pool = [POOL_ALLOC, SESSION_ALLOC].iter().any(|hook| count_of(*hook) > 0);
        let of = |reason: AccessReason, text: String| UnrecordedReason { reason, text };
        // A machine without any for a while can be, and an old Windows without such records.
        let of_ranges = (!has_ranges && pages >= MANY_ACCESSES).then(|| {
            let reason = AccessReason::PageRangeAccess;
            let text = format!(
                "no access by {} is in the trace, beside {} accesses of other pages: if there were any, they were not recorded, or were \
                 lost, and count in no sum",
                reason.name(),
                count(pages)
            );
            of(reason, text)
        });
        let of_pool = (!has_pool).then(|| {
            let reason = AccessReason::PoolAllocate;
            let text = format!(
                "no record of an allocation of pool (keyword {}) is in the trace: accesses by {} count in no sum",
                POOL.keyword,
                reason.name()
            );
            of(reason, text)
        });
        of_ranges.into_iter().chain(of_pool).collect()
    }
}
