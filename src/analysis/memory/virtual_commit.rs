//! What processes have committed by VirtualAlloc at chosen moments, by the records of it: beside what the kernel says that they have.

use crate::analysis::allocations::{CommitOfProcesses, each_piece};
use crate::analysis::memory::working_sets::{MemoryTrack, TrackOwner};
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::{PAGE_BYTES, Ticks};
use std::collections::BTreeMap;

/// The commit of processes at some moments.
#[derive(Debug)]
pub(super) struct VirtualCommit {
    moments: Vec<Moment>,
    /// Bytes by process instance, from the moment with this number on.
    by_instance: BTreeMap<usize, Vec<(usize, u128)>>,
}

impl VirtualCommit {
    /// Of the processes of these tracks, with what casts doubt on it; `None` where the trace has no records of it.
    pub(super) fn new(
        trace: &Trace,
        tracks: &[MemoryTrack],
        moments: &[Moment],
    ) -> Result<Option<(VirtualCommit, Vec<Warning>)>, Error> {
        let known = CommitOfProcesses::new(trace);
        if !known.is_recorded {
            return Ok(None);
        }
        let of_track = |track: &MemoryTrack| match track.owner {
            TrackOwner::Instance(instance) => known.of(instance).map(|_| instance),
            TrackOwner::ProcessId(_) | TrackOwner::Session(_) => None,
        };
        // Where nobody tells what a process had before the trace, nothing is said of it.
        let mut changes: BTreeMap<usize, BTreeMap<usize, i128>> =
            tracks.iter().filter_map(of_track).map(|instance| (instance, BTreeMap::new())).collect();
        let first_from = |time: Ticks| moments.partition_point(|moment| moment.time < time);
        each_piece(trace, AllocationKind::Commit, None, &mut |piece| {
            let Some(own) = piece.owner.instance.and_then(|instance| changes.get_mut(&instance)) else { return };
            let from = piece.opened.map_or(0, first_from);
            let to = piece.closed.map_or(moments.len(), |(time, _)| first_from(time));
            if from < to {
                *own.entry(from).or_default() += i128::from(piece.bytes);
                *own.entry(to).or_default() -= i128::from(piece.bytes);
            }
        })?;
        let sums = |changes: BTreeMap<usize, i128>| {
            let mut sum = 0;
            let add = |(number, change): (usize, i128)| {
                sum += change;
                (number, u128::try_from(sum).unwrap_or(0))
            };
            changes.into_iter().map(add).collect()
        };
        let by_instance = changes.into_iter().map(|(instance, changes)| (instance, sums(changes))).collect();
        Ok(Some((VirtualCommit { moments: moments.to_vec(), by_instance }, known.warnings)))
    }

    /// Pages of a process at one of the moments.
    pub(super) fn pages(&self, owner: TrackOwner, moment: Moment) -> Option<u64> {
        let TrackOwner::Instance(instance) = owner else { return None };
        let own = self.by_instance.get(&instance)?;
        let number = self.moments.binary_search(&moment).ok()?;
        let last = own.partition_point(|(from, _)| *from <= number).checked_sub(1).and_then(|last| own.get(last));
        let bytes = last.map_or(0, |(_, bytes)| *bytes);
        Some(u64::try_from(bytes / u128::from(PAGE_BYTES)).unwrap_or(u64::MAX))
    }
}
