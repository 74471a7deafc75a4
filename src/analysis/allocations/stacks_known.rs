//! Of how many pieces the stacks are known that rows or conditions ask for. A condition on a function takes none of the others, and they
//! can be of that function nevertheless.

use super::labels::ABSENT;
use super::query::Dimension;
use crate::analysis::stacks::EventStacks;

/// Pieces that records of one kind opened or closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StackShare {
    /// Pieces.
    pub pieces: u64,
    /// Those whose record has a stack.
    pub pieces_with_stack: u64,
    /// Bytes of the pieces.
    pub bytes: u64,
    /// Bytes of those whose record has a stack.
    pub bytes_with_stack: u64,
}

impl StackShare {
    /// Counts a piece with the number of its stack; [`ABSENT`]: no record tells of it, as of what was there before the trace.
    pub(super) fn add(&mut self, stack: u32, bytes: u64) {
        if stack == ABSENT {
            return;
        }
        let has_stack = stack != EventStacks::NONE;
        self.pieces += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.pieces_with_stack += u64::from(has_stack);
        self.bytes_with_stack = self.bytes_with_stack.saturating_add(if has_stack { bytes } else { 0 });
    }
}

/// Pieces in the window, whatever conditions choose; `None` where nobody asks for these stacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StackShares {
    /// By the records that allocated them.
    pub allocated: Option<StackShare>,
    /// By the records that freed them.
    pub freed: Option<StackShare>,
}

impl StackShares {
    /// Empty shares of the stacks that these dimensions ask for.
    pub(super) fn asked_by(dimensions: impl Iterator<Item = Dimension>) -> StackShares {
        dimensions.fold(StackShares::default(), |all, dimension| match dimension {
            Dimension::Stack | Dimension::Function => StackShares { allocated: Some(StackShare::default()), ..all },
            Dimension::FreeStack | Dimension::FreeFunction => StackShares { freed: Some(StackShare::default()), ..all },
            _ => all,
        })
    }

    /// Of these the shares that `asked` has too.
    pub(super) fn of(self, asked: StackShares) -> StackShares {
        StackShares {
            allocated: self.allocated.filter(|_| asked.allocated.is_some()),
            freed: self.freed.filter(|_| asked.freed.is_some()),
        }
    }

    /// True where stacks are asked for.
    pub(super) const fn is_any(self) -> bool {
        self.allocated.is_some() || self.freed.is_some()
    }
}
