//! Rundowns of pool allocations. Their layout is not public. So records are collected raw, and then read by a layout that fits all
//! of them.

use crate::event::Phase;
use crate::event::pool_snapshot::{PoolEntry, PoolForm, PoolSnapshot, PoolSnapshotKind};
use crate::load::owned_events::PoolEvent;
use crate::moment::{At, Moment};
use crate::units::PointerSize;
use std::collections::BTreeMap;

/// Records of one hook id: system or session pool, start or end rundown.
#[derive(Debug, Default)]
struct PoolRecords {
    /// Forms that fit all records so far; `None` before the first record.
    forms: Option<Vec<PoolForm>>,
    records: Vec<(Moment, PointerSize, Box<[u8]>)>,
}

/// An allocation in a rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedPool {
    /// Start or end of the session.
    pub phase: Phase,
    /// The session that the snapshot is of, where it says so.
    pub session_id: Option<u32>,
    /// The allocation.
    pub entry: PoolEntry,
}

/// Rundowns of pool allocations.
#[derive(Debug, Default)]
pub(crate) struct PoolRundown {
    by_id: BTreeMap<(PoolSnapshotKind, Phase), PoolRecords>,
}

impl PoolRundown {
    /// Adds a record.
    pub(crate) fn add(&mut self, moment: Moment, phase: Phase, snapshot: &PoolSnapshot<'_>) {
        let of = self.by_id.entry((snapshot.kind, phase)).or_default();
        let forms = of.forms.get_or_insert_with(|| snapshot.forms().to_vec());
        forms.retain(|&form| snapshot.fits(form));
        if forms.is_empty() {
            of.records = Vec::new(); // a record that fits no form makes all records of the id unusable
        } else {
            of.records.push((moment, snapshot.pointer, snapshot.bytes.into()));
        }
    }

    /// Adds a record of big allocations. Pool *pages* (the other rundown) list many small allocations with different tags in one
    /// page; they are left out, because a page as a whole has no tag.
    pub(crate) fn add_big(&mut self, moment: Moment, phase: Phase, snapshot: &PoolSnapshot<'_>) {
        if matches!(snapshot.kind, PoolSnapshotKind::Big | PoolSnapshotKind::SessionBig) {
            self.add(moment, phase, snapshot);
        }
    }

    /// Adds another thread's records.
    pub(crate) fn append(&mut self, other: PoolRundown) {
        for (id, mut part) in other.by_id {
            let of = self.by_id.entry(id).or_default();
            of.forms = match (of.forms.take(), part.forms) {
                (Some(all), Some(part)) => Some(all.into_iter().filter(|form| part.contains(form)).collect()),
                (all, part) => all.or(part),
            };
            of.records.append(&mut part.records);
        }
    }

    /// The allocations of each id for which one form fits all records.
    pub(crate) fn take_listed(&mut self) -> Vec<At<ListedPool>> {
        let mut all = Vec::new();
        for ((kind, phase), of) in std::mem::take(&mut self.by_id) {
            let Some(&form) = of.forms.iter().flatten().next() else { continue };
            for (moment, pointer, bytes) in &of.records {
                let snapshot = PoolSnapshot { kind, bytes, pointer: *pointer };
                let session_id = snapshot.session_id(form);
                all.extend(
                    snapshot
                        .entries(form)
                        .into_iter()
                        .flatten()
                        .filter(|entry| entry.allocated)
                        .map(|entry| At { moment: *moment, value: ListedPool { phase, session_id, entry } }),
                );
            }
        }
        all
    }

    /// The same as events of big allocations.
    pub(crate) fn take_allocations(&mut self) -> Vec<At<PoolEvent>> {
        let event = |At { moment, value: ListedPool { phase, entry, .. } }| {
            let value = PoolEvent { phase, base: entry.address, size: entry.size_bytes, tag: entry.tag };
            At { moment, value }
        };
        self.take_listed().into_iter().map(event).collect()
    }
}
