//! Payloads that do not fit their layouts, by kind.

use crate::etl::record_id::HookId;
use crate::event::payload::hook_of;
use crate::event::{Malformed, Surplus};
use std::collections::BTreeMap;
use std::fmt;

/// A payload that does not fit its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// It was not used at all.
    Malformed(Malformed),
    /// Its known part was used.
    Surplus(Surplus),
}

impl Misfit {
    /// The kernel event that it is of.
    pub(crate) fn hook(&self) -> Option<HookId> {
        match self {
            Misfit::Malformed(malformed) => hook_of(malformed.id),
            Misfit::Surplus(surplus) => hook_of(surplus.id),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Malformed(malformed) => malformed.fmt(f),
            Misfit::Surplus(surplus) => surplus.fmt(f),
        }
    }
}

/// Payloads that do not fit, by kind: the first [`Misfits::KEPT`] kinds in their order; the others are only counted.
///
/// The limit keeps a trace full of such payloads from using more memory than its own size. Which kinds are kept does not
/// depend on the order of reading.
#[derive(Debug, Clone, Default)]
pub struct Misfits {
    kinds: BTreeMap<Misfit, u64>,
    total: u64,
}

impl Misfits {
    /// How many kinds are kept.
    pub const KEPT: usize = 1000;

    pub(crate) fn add(&mut self, misfit: Misfit, count: u64) {
        *self.kinds.entry(misfit).or_default() += count;
        self.total += count;
        if self.kinds.len() > Self::KEPT {
            self.kinds.pop_last();
        }
    }

    pub(crate) fn append(&mut self, other: Misfits) {
        let kept: u64 = other.kinds.values().sum();
        self.total += other.total - kept;
        other.kinds.into_iter().for_each(|(misfit, count)| self.add(misfit, count));
    }

    /// Kinds with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Misfit, &u64)> {
        self.kinds.iter()
    }

    /// Records that do not fit.
    pub fn total(&self) -> u64 {
        self.total
    }
}
