//! The steps of one bucket in time order, where the threads left them.
//!
//! What is sorted are 8 bytes instead of 48: stamps, as far as they fit, with the place of their step. Each thread's steps
//! are a few sorted runs already, which the stable sort merges.

use crate::analysis::reference::packed::PackedStep;
use crate::analysis::reference::piles::CHUNK_BITS;
use crate::moment::Moment;

/// The stamp, counted from the first and coarser where 32 bits are too few; below it the number of the part, and the
/// position in it.
type Entry = u64;

const STAMP_BITS: u32 = 32;

/// Steps in order of their moments.
#[derive(Debug)]
pub struct OrderedSteps<'s> {
    parts: &'s [&'s [PackedStep]],
    order: &'s [Entry],
}

impl<'s> OrderedSteps<'s> {
    /// Puts the steps of `parts`, chunks of at most 2^[`CHUNK_BITS`], in order. `room` is memory that is used again.
    pub fn new(parts: &'s [&'s [PackedStep]], room: &'s mut Vec<Entry>) -> OrderedSteps<'s> {
        room.clear();
        room.reserve(parts.iter().map(|part| part.len()).sum());
        let stamps = || parts.iter().copied().flatten().map(|step| step.moment.time.0);
        let (first, last) = stamps().fold((i64::MAX, i64::MIN), |(first, last), at| (first.min(at), last.max(at)));
        let shift = (u64::BITS - (last.wrapping_sub(first) as u64).leading_zeros()).saturating_sub(STAMP_BITS);
        for (part, steps) in (0..).zip(parts) {
            let places: u64 = part << CHUNK_BITS;
            room.extend((places..).zip(*steps).map(|(place, step)| {
                let stamp = step.moment.time.0.wrapping_sub(first) as u64 >> shift;
                stamp << (u64::BITS - STAMP_BITS) | place
            }));
        }
        room.sort();
        let steps = OrderedSteps { parts, order: &[] };
        // Equal stamps, which are rare, by their place in the file.
        let stamp = |entry: Option<&Entry>| entry.map(|entry| entry >> (u64::BITS - STAMP_BITS));
        let mut at = 0;
        while at < room.len() {
            let mut behind = at + 1;
            while stamp(room.get(behind)) == stamp(room.get(at)) {
                behind += 1;
            }
            if behind - at > 1
                && let Some(group) = room.get_mut(at..behind)
            {
                group.sort_by_key(|entry| steps.step(entry).map(|step| step.moment));
            }
            at = behind;
        }
        OrderedSteps { parts, order: room }
    }

    #[inline(always)]
    fn step(&self, entry: &Entry) -> Option<&'s PackedStep> {
        let place = entry & (u64::MAX >> STAMP_BITS);
        let part = self.parts.get((place >> CHUNK_BITS) as usize)?;
        part.get((place & ((1 << CHUNK_BITS) - 1)) as usize)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::category::Category;
    use crate::analysis::reference::reason::AccessReason;
    use crate::analysis::reference::step::{CORRECTED, Kind, Step};
    use crate::event::page::PageUse;
    use crate::model::working_set_owner::OwnerId;
    use crate::units::{PointerSize, Ticks};
    use proptest::prelude::*;

    fn step(moment: Moment) -> PackedStep {
        PackedStep::new(&Step {
            moment,
            address: 0,
            pfn: 0,
            identity: 0,
            owner: OwnerId::SYSTEM,
            process_id: 4,
            kind: Kind::Private,
            category: Category::Image,
            page_use: PageUse::File,
            rules: CORRECTED,
            reason: AccessReason::PrivatePageAccess,
            pointer: PointerSize::P8,
        })
    }

    proptest! {
        /// Whether stamps are dense or farther apart than 32 bits can say.
        #[test]
        fn steps_come_in_order_of_their_moments(
            stamps in prop::collection::vec((-9i64..10, any::<u64>()), 0..700),
            scale in prop::sample::select(vec![1i64, 1 << 31, i64::MAX / 9]),
            chunk in 1usize..=1 << CHUNK_BITS,
            cut in -9i64..10,
        ) {
            let moments = stamps.iter().map(|&(time, order)| Moment { time: Ticks((time * scale).saturating_add((order % 3) as i64)), order });
            let steps: Vec<PackedStep> = moments.map(step).collect();
            let (parts, mut room): (Vec<&[PackedStep]>, _) = (steps.chunks(chunk).collect(), Vec::new());
            let ordered = OrderedSteps::new(&parts, &mut room);
            let of = |steps: &OrderedSteps<'_>| steps.iter().map(|step| step.moment).collect::<Vec<_>>();
            let mut want: Vec<Moment> = steps.iter().map(|step| step.moment).collect();
            want.sort();
            prop_assert_eq!(of(&ordered), want.clone());
            let at = Moment { time: Ticks(cut * scale), order: u64::MAX };
            let behind = want.partition_point(|moment| *moment <= at);
            let (now, later) = ordered.split(at);
            prop_assert_eq!((of(&now), of(&later)), (want[..behind].to_vec(), want[behind..].to_vec()));
        }
    }
}
