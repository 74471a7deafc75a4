//! Pool: a piece for each address, of session pool for each session and address.
//!
//! Source: `docs/allocations.md` ("Pool").

use super::super::counting::{Counting, Facts, Opening};
use super::super::labels::ABSENT;
use super::super::piece::Reason;
use super::super::piece_end::Closing;
use super::super::process_lifetimes::{LifeId, Owner};
use super::super::replay_result::{IdleFrees, PoolCheck};
use super::live_blocks::Live;
use super::step::{Step, Steps, What};
use crate::event::Phase;
use crate::load::allocation_records::{BlockAction, BlockRecord};
use crate::load::allocation_rules::{LeftOut, Verdict};
use crate::load::pool_rundown::ListedPool;
use crate::moment::{At, Moment};
use foldhash::{HashMap as FastMap, HashSet as FastSet};

/// Counters of the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Frees of other bytes or of another tag than what was allocated.
    pub mismatched: u64,
    /// Allocations at the address of a live block.
    pub allocated_again: u64,
    /// Records of address 0, or of more than the machine has.
    pub left_out: LeftOut,
    /// The same of entries of snapshots.
    pub listed_left_out: LeftOut,
    /// Frees that freed nothing that a record or a snapshot allocated.
    pub idle_frees: IdleFrees,
}

/// Set in the label of pool of which nothing tells whether it is paged.
const NO_POOL: u32 = 1 << 31;

/// Session and address.
type Key = (u32, u64);

/// Pool, but what is live.
#[derive(Debug, Default)]
pub struct Pool {
    /// Addresses that end snapshots list, and that a record or the start snapshot had.
    asked: FastSet<Key>,
    met: FastSet<Key>,
    /// No allocation of the machine is larger.
    most_bytes: u64,
    /// Lives that stand for processes that are not alive.
    unknown: FastMap<u32, LifeId>,
    /// Counters.
    pub counts: PoolCounts,
    /// The check; `None` without an end snapshot.
    pub check: Option<PoolCheck>,
}

impl Pool {
    /// With the snapshots of the trace; `most_bytes`: no allocation is larger.
    pub fn new(listed: &[At<ListedPool>], most_bytes: u64) -> Pool {
        let end = |at: &&At<ListedPool>| at.value.phase == Phase::DcEnd;
        let key = |at: &At<ListedPool>| (at.value.session_id.unwrap_or(ABSENT), at.value.entry.address);
        let asked: FastSet<Key> = listed.iter().filter(end).map(key).collect();
        let check = (!asked.is_empty()).then(PoolCheck::default);
        Pool { asked, check, most_bytes, ..Pool::default() }
    }

    /// An entry of a snapshot.
    pub fn prepare_listed(
        &mut self,
        moment: Moment,
        listed: &ListedPool,
        counting: &mut Counting<'_>,
        steps: &mut Steps,
    ) {
        let (session, entry) = (listed.session_id.unwrap_or(ABSENT), listed.entry);
        let verdict = Verdict::of_pool(entry.address, entry.size_bytes, self.most_bytes);
        if verdict != Verdict::Allocates {
            return self.counts.listed_left_out.note(verdict);
        }
        let key = (session, entry.address);
        let (is_end, tag) = (listed.phase == Phase::DcEnd, entry.tag.without_mark().0);
        let is_compared = is_end && self.met.contains(&key);
        let mut step =
            Step::new(moment, (session, entry.address, entry.size_bytes), What::Listed { is_end, is_compared });
        if !is_compared {
            let paged = entry.paged.map_or(ABSENT, u32::from);
            step.code = counting.code(&Facts { tag, paged, session, ..Facts::default() }, entry.size_bytes);
            step.label = tag | if entry.paged.is_some() { 0 } else { NO_POOL };
        }
        steps.push(step);
        if !is_end && self.asked.contains(&key) {
            self.met.insert(key);
        }
    }

    /// A record.
    pub fn prepare(&mut self, record: &BlockRecord, counting: &mut Counting<'_>, steps: &mut Steps) {
        let verdict = Verdict::of_pool(record.address, record.bytes, self.most_bytes);
        if verdict != Verdict::Allocates {
            self.counts.idle_frees.impossible += u64::from(record.action == BlockAction::Free);
            return self.counts.left_out.note(verdict);
        }
        let session = u32::try_from(record.heap).unwrap_or(ABSENT);
        if self.check.is_some() && self.asked.contains(&(session, record.address)) {
            self.met.insert((session, record.address));
        }
        let what = if record.action == BlockAction::Free { What::Free } else { What::Alloc };
        let mut step = Step::new(record.moment, (session, record.address, record.bytes), what);
        (step.label, step.is_paged) = (record.label, record.is_paged);
        if what == What::Alloc {
            let facts = Facts {
                life: self.life(record, counting),
                thread: record.thread_id,
                stack: counting.labels.stack_at(record.moment),
                ..facts(&step)
            };
            step.code = counting.code(&facts, record.bytes);
        }
        steps.push(step);
    }

    /// A step that was looked up, with the block that was live.
    #[inline]
    pub fn count(&mut self, step: &Step, live: Option<Live>, counting: &mut Counting<'_>) {
        match step.what {
            What::Free => self.free(step, live, counting),
            What::Listed { is_end: true, is_compared } => {
                let check = self.check.get_or_insert_default();
                check.entries += 1;
                check.live += u64::from(live.is_some());
                check.missing += u64::from(live.is_none() && is_compared);
            }
            What::Listed { .. } => {}
            _ => {
                if let Some(live) = live {
                    self.counts.allocated_again += 1;
                    let closing = Some(Closing { moment: step.moment, reason: Reason::Lost });
                    counting.close(live.opening(), Some(step.address), live.bytes, closing);
                }
                counting.opened(step.opening(), step.bytes);
            }
        }
    }

    fn free(&mut self, step: &Step, live: Option<Live>, counting: &mut Counting<'_>) {
        let closing = Some(Closing { moment: step.moment, reason: Reason::Free });
        let Some(live) = live else {
            self.counts.idle_frees.unmatched += 1;
            let opening = counting.before(step.bytes, &facts(step));
            return counting.close(opening, Some(step.address), step.bytes, closing);
        };
        let tag = live.label & !NO_POOL;
        self.counts.mismatched += u64::from(live.bytes != step.bytes || tag != step.label);
        let opening: Opening = match live.label == tag {
            true => live.opening(),
            false => counting.before(live.bytes, &Facts { tag, ..facts(step) }),
        };
        counting.close(opening, Some(step.address), live.bytes, closing);
    }

    /// The process of the header.
    fn life(&mut self, record: &BlockRecord, counting: &mut Counting<'_>) -> u32 {
        if record.process_id == ABSENT {
            return ABSENT;
        }
        let id = record.process_id;
        match counting.lives.of(id, record.moment) {
            Owner::Life(life) => life,
            Owner::Ended | Owner::Nobody => *self.unknown.entry(id).or_insert_with(|| counting.lives.add_unknown(id)),
        }
    }
}

/// What the records of pool tell.
fn facts(step: &Step) -> Facts {
    Facts { tag: step.label, paged: step.is_paged.into(), session: step.heap, ..Facts::default() }
}
