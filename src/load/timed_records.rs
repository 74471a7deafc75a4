//! The records of a buffer with the moments at which they were logged, for readers of millions of them: records with kernel
//! headers are recognized by their hook ids, without decoding.

use crate::etl::event_area::EventArea;
use crate::etl::record::RawRecord;
use crate::etl::record_id::HookId;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use rayon::prelude::*;

/// What orders records of equal time: the rank of the buffer, and below it the offset in the buffer.
#[inline(always)]
pub fn order_of(rank: &[u32], area: &EventArea<'_>, offset: u32) -> u64 {
    let rank = rank.get(area.index as usize).copied().unwrap_or(area.index);
    u64::from(rank) << 32 | u64::from(offset)
}

/// Puts things in record order; those of one record stay in theirs.
pub fn sort_by_moment<T: Send>(things: &mut [At<T>]) {
    things.par_sort_by_key(|thing| thing.moment);
}

/// Calls `visit` with each record, its hook id if it has a kernel header, and its moment. A record without a time of its own
/// has that of the record before it; the first of a buffer has `before_first`. Records are handed on by value: where the
/// address of one is taken, every field goes through memory, and the loop takes twice as long.
#[inline(always)]
pub fn for_each_moment<'a>(
    area: &'a EventArea<'_>,
    rank: &[u32],
    before_first: Ticks,
    mut visit: impl FnMut(RawRecord<'a>, Option<HookId>, Moment),
) {
    area.load();
    let rank = order_of(rank, area, 0);
    let mut time = before_first;
    for raw in area.records() {
        let hook;
        (hook, time) = hook_and_time(area, &raw, time);
        visit(raw, hook, Moment { time, order: rank | u64::from(raw.position.offset) });
    }
}

/// The hook id of a record with a kernel header, and the time of any record; `before` is that of the record before it.
#[inline(always)]
pub fn hook_and_time(area: &EventArea<'_>, raw: &RawRecord<'_>, before: Ticks) -> (Option<HookId>, Ticks) {
    match raw.kernel_time() {
        Some(own) => (raw.hook(), if area.stamps.contains(own) { own } else { before }),
        None => (None, untimed(area, *raw, before)),
    }
}

/// Time of a record without a kernel header; that of the record before it when it has none that can be true.
#[cold]
#[inline(never)]
fn untimed(area: &EventArea<'_>, raw: RawRecord<'_>, before: Ticks) -> Ticks {
    area.time_of(&raw).unwrap_or(before)
}
