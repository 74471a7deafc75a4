//! What was changed in a trace, in numbers. Records are changed by several threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was changed.
#[derive(Debug, Default)]
pub struct Changes {
    /// Texts and SIDs that were replaced or had nothing to be replaced.
    pub(super) texts: AtomicU64,
    /// Records whose payload was zeroed, because its layout is not known.
    pub(super) zeroed: AtomicU64,
    /// Records.
    pub(super) records: AtomicU64,
}

impl Changes {
    /// Records, texts, zeroed records.
    pub fn figures(&self) -> [u64; 3] {
        [&self.records, &self.texts, &self.zeroed].map(|figure| figure.load(Ordering::Relaxed))
    }
}
