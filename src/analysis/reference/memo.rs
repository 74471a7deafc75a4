//! Answers of the directory, kept by each thread: who an id or an owner key names changes seldom, and is asked for every
//! record.

use crate::model::process_timeline::{ProcessLifetime, ProcessTimeline};
use crate::moment::Moment;

/// Several times the number of processes of a busy trace, so that few share a slot; those that are not used cost nothing.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 10;

/// One answer: a life that was found, with what was asked.
#[derive(Debug, Clone, Copy)]
struct Slot {
    asked: u64,
    life: ProcessLifetime,
}

const EMPTY: Slot = Slot {
    asked: u64::MAX,
    life: ProcessLifetime { begin: Moment::FIRST, end: Moment::FIRST, end_logged: false, instance: 0, process_id: 0 },
};

/// A table of the last answers.
#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
}

impl Table {
    /// The life for a number, from the table or by asking. Lives that begin later are not kept.
    #[inline(always)]
    fn get(
        &mut self,
        number: u64,
        moment: Moment,
        ask: impl FnOnce() -> Option<ProcessLifetime>,
    ) -> Option<ProcessLifetime> {
        let slot =
            self.slots.get_mut((number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOT_BITS)) as usize)?;
        if slot.asked == number && slot.life.begin <= moment && moment < slot.life.end {
            return Some(slot.life);
        }
        let life = ask()?;
        if life.begin <= moment {
            *slot = Slot { asked: number, life };
        }
        Some(life)
    }
}

/// A thread's answers.
#[derive(Debug)]
pub struct Memo {
    by_id: Table,
    by_key: Table,
}

impl Default for Memo {
    fn default() -> Self {
        let table = || Table { slots: vec![EMPTY; SLOTS] };
        Memo { by_id: table(), by_key: table() }
    }
}

impl Memo {
    /// As [`ProcessTimeline::by_id`].
    #[inline(always)]
    pub fn by_id(
        &mut self,
        directory: &ProcessTimeline<'_>,
        process_id: u32,
        moment: Moment,
    ) -> Option<ProcessLifetime> {
        self.by_id.get(u64::from(process_id), moment, || directory.by_id(process_id, moment).copied())
    }

    /// As [`ProcessTimeline::by_key`].
    #[inline(always)]
    pub fn by_key(&mut self, directory: &ProcessTimeline<'_>, key: u64, moment: Moment) -> Option<ProcessLifetime> {
        self.by_key.get(key, moment, || directory.by_key(key, moment).copied())
    }
}
