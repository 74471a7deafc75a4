//! Conditions on what is in no working set.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::reason::AccessReason;
use crate::dimensions::Condition;
use crate::model::category::{Category, Class};
use crate::trace::analysis_needs::REFERENCE_SET;
use crate::trace::trust::warning::Warning;
use crate::units::count;

/// Code of a warning that conditions choose pages which no reference set holds.
pub(crate) const OUTSIDE_CHOSEN: &str = "outside_chosen";

impl ReferenceSet {
    /// That conditions name pages of the kernel, pool or page ranges, and the trace has some: they are in no working set, so what is chosen does not
    /// have them.
    pub(super) fn outside_chosen(&self, conditions: &[Condition<Dimension>]) -> Option<Warning> {
        let amounts = [self.kernel.at_stop, self.pool_at_stop, self.ranges_at_stop];
        let is_any = amounts.iter().any(|pages| *pages > 0);
        (is_any && conditions.iter().any(names_outside)).then(|| {
            let [kernel, pool, ranges] = amounts.map(count);
            let text = format!(
                "pages of the kernel, of pool and of page ranges are in no working set, so no number of held pages has them: {kernel} of the kernel, \
                 {pool} of pool and {ranges} of ranges at the end of the window"
            );
            Warning::note(REFERENCE_SET.name, OUTSIDE_CHOSEN, text).of(amounts.iter().sum())
        })
    }
}

/// True for a condition that chooses such pages by name; those of processes and sessions are held.
fn names_outside(condition: &Condition<Dimension>) -> bool {
    let patterns = &condition.patterns;
    let is_chosen =
        |labels: &[&str]| !patterns.wanted().is_empty() && !patterns.take_all() && patterns.could_pass(labels);
    match condition.dimension {
        Dimension::AccessReason => {
            is_chosen(&[AccessReason::PoolAllocate, AccessReason::PageRangeAccess].map(AccessReason::name))
        }
        Dimension::Class => is_chosen(&[Class::Kernel.name()]),
        Dimension::Category => is_chosen(&OUTSIDE.map(Category::name)),
        _ => false,
    }
}

/// Categories of pages that are in no working set, or in one of the system only in part.
const OUTSIDE: [Category; 9] = [
    Category::AddressingWindowExtensionsPage,
    Category::Driver,
    Category::DriverLockedSystemPage,
    Category::KernelStack,
    Category::LargePage,
    Category::NonPagedPool,
    Category::PagedPool,
    Category::PfnDatabase,
    Category::SystemPage,
];
