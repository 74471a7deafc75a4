//! Threads that were readied before the first context switch of the trace.

/// So many threads can be readied before the first of all processors switches. More were readied when switches were not recorded yet.
const FEW: u64 = 10;

/// What came before the first context switch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BeforeSwitches {
    /// A context switch came.
    pub is_over: bool,
    /// Ready records until then.
    pub readied: u64,
}

impl BeforeSwitches {
    /// Ready records, where they are so many that their threads can have run since.
    pub fn forgotten(&self) -> Option<u64> {
        (self.is_over && self.readied > FEW).then_some(self.readied)
    }
}
