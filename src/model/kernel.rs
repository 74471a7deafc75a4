//! The kernel's address space at a given time: drivers, session images, the PFN database.

use crate::event::Phase;
use crate::event::file::ViewKind;
use crate::load::history::{History, KernelBlock, Moment, SpaceEvent};
use crate::model::ranges::RangeMap;

/// Usage type of a kernel block that holds the PFN database.
const PFN_METADATA: u8 = 0;

/// What is at kernel addresses.
#[derive(Debug, Clone, Default)]
pub struct KernelSpace<'h> {
    /// Images, by path as logged.
    pub images: RangeMap<&'h str>,
    /// Views at kernel addresses: kind and file key. Image views are session images.
    pub views: RangeMap<(ViewKind, u64)>,
    /// The PFN database.
    pub pfn_database: Option<KernelBlock>,
}

impl<'h> KernelSpace<'h> {
    /// The state at `moment`, whose page sequence ends at `sequence_end`.
    pub fn new(history: &'h History, moment: Moment, sequence_end: Moment) -> KernelSpace<'h> {
        let images = history.kernel_images.iter().map(|event| {
            let image = &event.value;
            (event.moment, image.phase, image.base, image.size, &*image.file_name)
        });
        let views = history.kernel_views.iter().filter_map(|event| match event.value {
            SpaceEvent::View { phase, base, size, file_key, kind } => {
                Some((event.moment, phase, base, size, (kind, file_key)))
            }
            _ => None,
        });
        // KernelMemUsage is logged directly after the sequence; one before it will do where that one was lost.
        let blocks = || history.kernel_blocks.iter().filter(|block| block.value.usage_type == PFN_METADATA);
        let after = blocks().find(|block| block.moment >= sequence_end);
        KernelSpace {
            images: alive_at(images.collect(), moment),
            views: alive_at(views.collect(), moment),
            pfn_database: after.or_else(|| blocks().next_back()).map(|block| block.value),
        }
    }
}

type Described<T> = (Moment, Phase, u64, u64, T);

/// Ranges that were there at `moment`, by events in order. What ends or is rundown later and did not begin in between
/// was there already; of what events before add up to, an end rundown before `moment` is the truth.
fn alive_at<T: Clone>(events: Vec<Described<T>>, moment: Moment) -> RangeMap<T> {
    let now = events.partition_point(|event| event.0 < moment);
    let (past, future) = events.split_at(now);
    let mut state = RangeMap::default();
    for (_, phase, base, size, value) in future.iter().rev() {
        match phase {
            Phase::Start => state.remove(*base, base.saturating_add(*size)),
            Phase::End | Phase::DcStart | Phase::DcEnd => state.insert(*base, *size, value.clone()),
        }
    }
    let mut in_end_rundown = false;
    for (_, phase, base, size, value) in past {
        if *phase == Phase::DcEnd && !in_end_rundown {
            state = RangeMap::default();
        }
        in_end_rundown = *phase == Phase::DcEnd || (in_end_rundown && *phase != Phase::DcStart);
        match phase {
            Phase::End => state.remove(*base, base.saturating_add(*size)),
            Phase::Start | Phase::DcStart | Phase::DcEnd => state.insert(*base, *size, value.clone()),
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    fn at(time: i64, phase: Phase, base: u64, name: char) -> Described<char> {
        (Moment { time: Ticks(time), order: 0 }, phase, base, 10, name)
    }

    fn names(events: &[Described<char>], time: i64) -> String {
        alive_at(events.to_vec(), Moment { time: Ticks(time), order: 0 }).iter().map(|(.., name)| name).collect()
    }

    #[test]
    fn reused_addresses_have_the_image_of_their_time() {
        use Phase::*;
        let events = [
            at(1, DcStart, 100, 'a'),
            at(5, End, 100, 'a'),
            at(7, Start, 100, 'b'),
            at(20, DcEnd, 100, 'b'),
            at(20, DcEnd, 200, 'c'),
        ];
        assert_eq!([3, 6, 8, 30].map(|time| names(&events, time)), ["ac", "c", "bc", "bc"]);
    }

    #[test]
    fn the_end_rundown_wins() {
        use Phase::*;
        assert_eq!(names(&[at(1, DcStart, 100, 'a'), at(9, DcEnd, 200, 'c')], 10), "c");
    }
}
