//! Events and their weight, added up.

/// Events and weight of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StackCounts {
    /// Events.
    pub events: u64,
    /// Those with a stack.
    pub with_stack: u64,
    /// Weight, in the kind's unit.
    pub weight: u64,
}

impl std::ops::AddAssign for StackCounts {
    fn add_assign(&mut self, other: StackCounts) {
        self.events += other.events;
        self.with_stack += other.with_stack;
        self.weight = self.weight.saturating_add(other.weight);
    }
}
