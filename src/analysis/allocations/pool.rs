//! Kernel pool: a piece for each address.
//!
//! Source: `docs/allocations.md` ("Pool").

use super::closing::Closing;
use super::counting::{Counting, Facts, Opening};
use super::figures::Reason;
use super::labels::ABSENT;
use super::lives::{LifeId, Owner};
use crate::event::Phase;
use crate::event::pool::{PoolPiece, PoolTag};
use crate::load::allocation_rule::{LeftOut, Verdict};
use crate::load::allocations::{AllocationEvent, AllocationWhat};
use crate::load::pool_rundown::ListedPool;
use crate::moment::At;
use foldhash::{HashMap as FastMap, HashSet as FastSet};

/// Counters of the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Frees of other bytes or of another tag than what was allocated.
    pub mismatched: u64,
    /// Records of address 0.
    pub left_out: LeftOut,
}

/// The check against the end snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCheck {
    /// Entries.
    pub entries: u64,
    /// Those that are live by the records.
    pub live: u64,
    /// Those that are not.
    pub missing: u64,
}

/// Session and address.
type Key = (u32, u64);

#[derive(Debug, Clone, Copy)]
struct Live {
    opening: Opening,
    bytes: u64,
    tag: u32,
    /// False for what a snapshot lists and does not say what pool it is of.
    has_pool: bool,
}

/// What is live.
#[derive(Debug, Default)]
pub struct Pool {
    live: FastMap<Key, Live>,
    /// Addresses that end snapshots list, and that a record or the start snapshot had.
    asked: FastSet<Key>,
    met: FastSet<Key>,
    /// Lives that stand for processes that are not alive.
    unknown: FastMap<u32, LifeId>,
    /// Counters.
    pub counts: PoolCounts,
    /// The check; `None` without an end snapshot.
    pub check: Option<PoolCheck>,
}

fn tag_number(tag: PoolTag) -> u32 {
    tag.without_mark().0
}

fn session_number(session: Option<u32>) -> u32 {
    session.unwrap_or(ABSENT)
}

impl Pool {
    /// With the snapshots of the trace.
    pub fn new(listed: &[At<ListedPool>]) -> Pool {
        let end = |at: &&At<ListedPool>| at.value.phase == Phase::DcEnd;
        let key = |at: &At<ListedPool>| (session_number(at.value.session_id), at.value.entry.address);
        let asked: FastSet<Key> = listed.iter().filter(end).map(key).collect();
        let check = (!asked.is_empty()).then(PoolCheck::default);
        Pool { asked, check, ..Pool::default() }
    }

    /// An entry of a snapshot.
    pub fn listed(&mut self, listed: &ListedPool, counting: &mut Counting<'_>) {
        let session = session_number(listed.session_id);
        let key = (session, listed.entry.address);
        let is_live = self.live.contains_key(&key);
        if listed.phase == Phase::DcEnd {
            let is_met = self.met.contains(&key);
            if let Some(check) = &mut self.check {
                check.entries += 1;
                check.live += u64::from(is_live);
                check.missing += u64::from(!is_live && is_met);
            }
            if is_live || is_met {
                return;
            }
        }
        if !is_live {
            let (bytes, tag) = (listed.entry.size_bytes, tag_number(listed.entry.tag));
            let paged = listed.entry.paged.map_or(ABSENT, u32::from);
            let opening = counting.before(bytes, &Facts { tag, paged, session, ..Facts::default() });
            self.live.insert(key, Live { opening, bytes, tag, has_pool: listed.entry.paged.is_some() });
        }
        if listed.phase == Phase::DcStart && self.asked.contains(&key) {
            self.met.insert(key);
        }
    }

    /// Looks for the pieces of these records. Most are in no cache: one after another, each look waits for memory; together they wait
    /// once, and `record` finds them near.
    pub fn look_ahead(&self, events: &[AllocationEvent]) {
        let keys = events.iter().filter_map(|event| match &event.what {
            AllocationWhat::Pool { piece, .. } => Some((session_number(piece.session_id), piece.address)),
            _ => None,
        });
        std::hint::black_box(keys.filter(|key| self.live.contains_key(key)).count());
    }

    /// A record.
    pub fn record(&mut self, event: &AllocationEvent, is_free: bool, piece: &PoolPiece, counting: &mut Counting<'_>) {
        let verdict = Verdict::of_pool(piece);
        if verdict != Verdict::Allocates {
            return self.counts.left_out.note(verdict);
        }
        let key = (session_number(piece.session_id), piece.address);
        if self.check.is_some() && self.asked.contains(&key) {
            self.met.insert(key);
        }
        if is_free { self.free(event, key, piece, counting) } else { self.allocate(event, key, piece, counting) }
    }

    fn allocate(&mut self, event: &AllocationEvent, key: Key, piece: &PoolPiece, counting: &mut Counting<'_>) {
        if let Some(live) = self.live.get(&key).copied() {
            counting.close(
                live.opening,
                Some(key.1),
                live.bytes,
                Some(Closing { moment: event.moment, reason: Reason::Lost }),
            );
        }
        let facts = Facts {
            life: self.life(event, counting),
            thread: event.thread_id.unwrap_or(ABSENT),
            stack: counting.labels.stack_at(event.moment),
            ..facts(key.0, piece)
        };
        let opening = counting.open(event.moment.time, piece.size_bytes, &facts);
        let live = Live { opening, bytes: piece.size_bytes, tag: tag_number(piece.tag), has_pool: true };
        self.live.insert(key, live);
    }

    fn free(&mut self, event: &AllocationEvent, key: Key, piece: &PoolPiece, counting: &mut Counting<'_>) {
        let closing = Some(Closing { moment: event.moment, reason: Reason::Free });
        let Some(live) = self.live.remove(&key) else {
            let opening = counting.before(piece.size_bytes, &facts(key.0, piece));
            return counting.close(opening, Some(key.1), piece.size_bytes, closing);
        };
        let differs = live.bytes != piece.size_bytes || live.tag != tag_number(piece.tag);
        self.counts.mismatched += u64::from(differs);
        let opening = match live.has_pool {
            true => live.opening,
            false => counting.before(live.bytes, &Facts { tag: live.tag, ..facts(key.0, piece) }),
        };
        counting.close(opening, Some(key.1), live.bytes, closing);
    }

    /// The process of the header.
    fn life(&mut self, event: &AllocationEvent, counting: &mut Counting<'_>) -> u32 {
        let Some(id) = event.process_id else { return ABSENT };
        match counting.lives.of(id, event.moment) {
            Owner::Life(life) => life,
            Owner::Ended | Owner::Nobody => *self.unknown.entry(id).or_insert_with(|| counting.lives.add_unknown(id)),
        }
    }

    /// What is live at the end of the trace.
    pub fn end(&mut self, counting: &mut Counting<'_>) {
        let all = std::mem::take(&mut self.live);
        let has_order = counting.has_order();
        let close = |((_, address), live): (Key, Live)| counting.close(live.opening, Some(address), live.bytes, None);
        if !has_order {
            return all.into_iter().for_each(close);
        }
        let mut sorted: Vec<(Key, Live)> = all.into_iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        sorted.into_iter().for_each(close);
    }
}

fn facts(session: u32, piece: &PoolPiece) -> Facts {
    Facts { tag: tag_number(piece.tag), paged: piece.pool_type & 1, session, ..Facts::default() }
}
