//! A query about allocations: kind, dimensions, conditions, window, timeline.

use super::figures::SOURCES;
use super::piece::{OUTSTANDING, Reason};
use crate::analysis::resident::query::SnapshotChoice;
use crate::dimensions::dimension_trait::Values;
use crate::dimensions::single_dimensions::{
    FREE_FUNCTION, FREE_STACK, FUNCTION, HEAP, PAGE_SIZE, POOL, REASON, SIZE, SOURCE, STACK, TAG, THREAD,
};
use crate::dimensions::{Condition, ProcessFacet, dimensions};
use crate::load::allocation_kinds::AllocationKind;
use crate::model::pool_tags::PoolTags;
use crate::model::window::Bound;
use crate::symbols::folders::SymbolFolders;
use crate::units::Nanos;
use std::collections::BTreeMap;

dimensions! {
    /// What pieces are grouped and filtered by.
    pub enum Dimension {
        Process: ProcessFacet::Process.facet();
        Thread: THREAD;
        Reason: REASON.of(Values::OneOf(reasons));
        Size: SIZE;
        Pages: PAGE_SIZE;
        Tag: TAG;
        Pool: POOL;
        Session: ProcessFacet::Session.facet();
        Heap: HEAP;
        Source: SOURCE.of(Values::OneOfOrNumber(|| SOURCES.to_vec()));
        Stack: STACK;
        Function: FUNCTION;
        FreeStack: FREE_STACK;
        FreeFunction: FREE_FUNCTION;
    }
}

/// What closed a piece, or nothing.
fn reasons() -> Vec<&'static str> {
    Reason::ALL.map(Reason::name).into_iter().chain([OUTSTANDING]).collect()
}

impl Dimension {
    /// The one kind that has it; `None`: all have.
    pub fn only_of(self) -> Option<AllocationKind> {
        match self {
            Dimension::Pages => Some(AllocationKind::Commit),
            Dimension::Tag | Dimension::Pool | Dimension::Session => Some(AllocationKind::Pool),
            Dimension::Heap | Dimension::Source => Some(AllocationKind::Heap),
            _ => None,
        }
    }

    /// True when only the end of a piece tells: VirtualFree cuts what was committed at once.
    pub fn is_known_at_end(self, kind: AllocationKind) -> bool {
        match self {
            Dimension::Reason | Dimension::FreeStack | Dimension::FreeFunction => true,
            Dimension::Size => kind == AllocationKind::Commit,
            _ => false,
        }
    }

    /// True for those of stacks.
    pub fn is_of_stacks(self) -> bool {
        matches!(self, Dimension::Stack | Dimension::Function | Dimension::FreeStack | Dimension::FreeFunction)
    }
}

/// Order of rows; equal ones by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocationOrder {
    /// Most at the end first.
    #[default]
    AtEnd,
    /// By label.
    Name,
    /// Most growth first.
    Growth,
    /// Most of what was opened and is still there first.
    Impacting,
    /// Most allocated first.
    Allocated,
    /// Greatest peak first.
    Peak,
    /// Most pieces first.
    Pieces,
    /// Longest lives first.
    Lifetime,
    /// Most that is committed and not in RAM first.
    Absent,
    /// What was opened first and is still there.
    Oldest,
}

/// Names under which the processes of a trace are put together.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommonNames {
    /// By their labels.
    pub(crate) by_label: BTreeMap<String, String>,
    /// That of all processes that no record lists: they are found with what they allocated, and have labels of their own in no list.
    pub(crate) of_unlisted: Option<&'static str>,
}

/// A query.
#[derive(Debug, Clone, Default)]
pub struct AllocationQuery {
    /// What; `None`: the first kind that was recorded.
    pub of: Option<AllocationKind>,
    /// Dimensions of the rows, outermost first; none: who, by kind.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a piece must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Order of the rows.
    pub order: AllocationOrder,
    /// Beginning of the window; `None` = that of the trace.
    pub from: Option<Bound>,
    /// End of the window; `None` = that of the trace.
    pub to: Option<Bound>,
    /// What pool tags stand for.
    pub(crate) pool_tags: PoolTags,
    /// Names under which processes are put together: so peaks are those of all of a name. `None`: each by itself.
    pub(crate) put_together: Option<CommonNames>,
    /// Where symbol files are looked for.
    pub symbols: SymbolFolders,
    /// Step of the timeline.
    pub timeline: Option<Nanos>,
    /// A page sequence at which commit is compared with what is in RAM.
    pub at_snapshot: Option<SnapshotChoice>,
    /// Only what was opened in the first half of the window and is alive at its end.
    pub only_leaks: bool,
}

impl AllocationQuery {
    /// True when stacks are asked for.
    pub fn wants_stacks(&self) -> bool {
        self.dimensions().any(Dimension::is_of_stacks)
    }

    /// All dimensions that are asked for.
    pub(crate) fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        self.group_by.iter().copied().chain(self.conditions.iter().map(|condition| condition.dimension))
    }
}
