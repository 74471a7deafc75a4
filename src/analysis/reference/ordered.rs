//! The steps of one bucket in time order, where the threads left them.
//!
//! What is sorted are stamps with the place of their step, 16 bytes instead of 48. Each thread's steps are a few sorted
//! runs already, which the stable sort merges.

use crate::analysis::reference::packed::PackedStep;
use crate::load::history::Moment;

/// A stamp, and the part and the position of its step.
type Entry = (i64, u64);

const POSITION_BITS: u32 = 40;

/// Steps in order of their moments.
#[derive(Debug)]
pub struct OrderedSteps<'s> {
    parts: &'s [&'s [PackedStep]],
    order: &'s [Entry],
}

impl<'s> OrderedSteps<'s> {
    /// Puts the steps of `parts` in order. `room` is memory that is used again.
    pub fn new(parts: &'s [&'s [PackedStep]], room: &'s mut Vec<Entry>) -> OrderedSteps<'s> {
        room.clear();
        for (part, steps) in (0..).zip(parts) {
            let first: u64 = part << POSITION_BITS;
            room.extend((first..).zip(*steps).map(|(place, step)| (step.moment.time.0, place)));
        }
        room.sort_by_key(|entry| entry.0);
        let steps = OrderedSteps { parts, order: &[] };
        // Equal stamps, which are rare, by their place in the file.
        let mut at = 0;
        while let Some(entry) = room.get(at) {
            let alike = room.iter().skip(at).take_while(|other| other.0 == entry.0).count();
            if alike > 1
                && let Some(group) = room.get_mut(at..at + alike)
            {
                group.sort_by_key(|entry| steps.step(entry).map(|step| step.moment.order));
            }
            at += alike;
        }
        OrderedSteps { parts, order: room }
    }

    #[inline(always)]
    fn step(&self, entry: &Entry) -> Option<&'s PackedStep> {
        let part = self.parts.get((entry.1 >> POSITION_BITS) as usize)?;
        part.get((entry.1 & ((1 << POSITION_BITS) - 1)) as usize)
    }

    /// The steps.
    pub fn iter(&self) -> impl Iterator<Item = &'s PackedStep> {
        self.order.iter().filter_map(|entry| self.step(entry))
    }

    /// The steps up to and with a moment, and those behind it.
    pub fn split(&self, moment: Moment) -> (OrderedSteps<'s>, OrderedSteps<'s>) {
        let behind = self.order.partition_point(|entry| self.step(entry).is_some_and(|step| step.moment <= moment));
        let (now, later) = self.order.split_at(behind);
        (OrderedSteps { parts: self.parts, order: now }, OrderedSteps { parts: self.parts, order: later })
    }
}
