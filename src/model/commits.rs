//! What is committed in a process at a time, and by which record: of an address the last VirtualAlloc that committed it, unless a
//! later decommit or release ended it.
//!
//! Commit from before the trace is not there: a rundown tells that something is committed, not who did it.

use crate::event::Phase;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_space::AddressSpace;
use crate::model::range_map::RangeMap;
use crate::moment::{At, Moment};
use crate::units::PAGE_BYTES;

/// Whole pages that hold some of these bytes; none for no bytes.
fn pages(from: u64, to: u64) -> (u64, u64) {
    let first = from / PAGE_BYTES * PAGE_BYTES;
    (first, if from < to { to.checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX) } else { first })
}

/// What one process has committed just before a moment, by its events in order. `kept`: what is kept of the record that was logged
/// at a moment; they are asked for in order.
pub fn commits_at<T: Clone>(own: &[At<SpaceEvent>], until: Moment, mut kept: impl FnMut(Moment) -> T) -> RangeMap<T> {
    // It knows how large a reservation is that a free of size 0 ends.
    let mut space = AddressSpace::default();
    let mut commits = RangeMap::default();
    for event in own.iter().take_while(|event| event.moment < until) {
        let SpaceEvent::Region { phase, base, size, flags } = event.value else { continue };
        let is = |flag: u32| flags & flag != 0;
        match phase {
            Phase::Start if is(VirtualRange::COMMIT) => {
                let (from, to) = pages(base, base.saturating_add(size));
                commits.insert(from, to - from, kept(event.moment));
            }
            Phase::End if is(VirtualRange::DECOMMIT | VirtualRange::RELEASE) => {
                let (from, to) = space.freed(base, size);
                let (from, to) = pages(from, to);
                commits.remove(from, to);
            }
            _ => {}
        }
        space.apply(event.moment, &event.value);
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;
    use proptest::prelude::*;

    const COMMIT: u32 = VirtualRange::COMMIT;
    const RESERVE: u32 = VirtualRange::RESERVE;
    const DECOMMIT: u32 = VirtualRange::DECOMMIT;
    const RELEASE: u32 = VirtualRange::RELEASE;

    fn at(time: i64) -> Moment {
        Moment { time: Ticks(time), order: 0 }
    }

    /// Times of the commits of pages 16 to 31, after these steps: phase, base, size, flags; one tick each from 1 on.
    fn commits(steps: &[(Phase, u64, u64, u32)]) -> Vec<i64> {
        let event = |(time, &(phase, base, size, flags)): (i64, &(Phase, u64, u64, u32))| At {
            moment: at(time),
            value: SpaceEvent::Region { phase, base, size, flags },
        };
        let own: Vec<At<SpaceEvent>> = (1..).zip(steps).map(event).collect();
        let map = commits_at(&own, at(steps.len() as i64 + 1), |moment| moment.time.0);
        (16..32).map(|page| map.get(page * PAGE_BYTES).map_or(0, |(_, _, time)| *time)).collect()
    }

    #[test]
    fn frees_of_a_whole_reservation_end_all_commits_in_it() {
        let steps = [
            (Phase::DcStart, 0x1_0000, 0x4000, 0),
            (Phase::Start, 0x1_1000, 0x2000, COMMIT),
            (Phase::Start, 0x1_4000, 0x4000, RESERVE | COMMIT),
            (Phase::End, 0x1_0000, 0, RELEASE),
        ];
        assert_eq!(commits(&steps[..3])[..9], [0, 2, 2, 0, 3, 3, 3, 3, 0]);
        assert_eq!(commits(&steps)[..9], [0, 0, 0, 0, 3, 3, 3, 3, 0]);
        let decommit = [steps[2], (Phase::End, 0x1_4000, 0, DECOMMIT), (Phase::End, 0x1_4000, 0, 0)];
        assert_eq!(commits(&decommit[..2]), [0; 16]);
        assert_eq!(commits(&[steps[2], decommit[2]])[4..9], [1, 1, 1, 1, 0], "it says neither");
    }

    #[test]
    fn pages_are_whole_and_no_bytes_are_no_page() {
        assert_eq!(commits(&[(Phase::Start, 0x1_0fff, 2, COMMIT)])[..3], [1, 1, 0]);
        assert_eq!(commits(&[(Phase::Start, 0x1_0fff, 0, COMMIT)]), [0; 16]);
        let all = (Phase::Start, 0, u64::MAX, COMMIT);
        assert_eq!(commits(&[all, (Phase::End, 0x1_0fff, 1, DECOMMIT)])[..2], [0, 1]);
        assert_eq!(commits(&[all, (Phase::End, 0x2_0000, u64::MAX, RELEASE)]), [1; 16]);
        assert_eq!(commits(&[(Phase::Start, u64::MAX, u64::MAX, COMMIT)]), [0; 16]);
    }

    #[test]
    fn later_records_do_not_count() {
        let event = |time| At {
            moment: at(time),
            value: SpaceEvent::Region { phase: Phase::Start, base: 0x1000, size: 1, flags: COMMIT },
        };
        let of = |until| commits_at(&[event(3), event(7)], at(until), |moment| moment.time.0);
        let last = |until| of(until).get(0x1000).map(|(_, _, time)| *time);
        assert_eq!([1, 3, 4, 7, 8].map(last), [None, None, Some(3), Some(3), Some(7)]);
    }

    proptest! {
        /// Against a list of pages.
        #[test]
        fn the_last_commit_of_a_page_counts(steps in prop::collection::vec((0u8..5, 16u64..32, 1u64..8), 0..40)) {
            let mut pages = [0i64; 64];
            let mut records = Vec::new();
            for (time, (what, page, count)) in (1..).zip(steps) {
                let (phase, flags) = [
                    (Phase::Start, COMMIT),
                    (Phase::Start, COMMIT | RESERVE),
                    (Phase::Start, RESERVE),
                    (Phase::End, DECOMMIT),
                    (Phase::End, RELEASE),
                ][usize::from(what)];
                records.push((phase, page * PAGE_BYTES, count * PAGE_BYTES, flags));
                if what != 2 {
                    pages[page as usize..(page + count) as usize].fill(if what < 2 { time } else { 0 });
                }
            }
            prop_assert_eq!(commits(&records), &pages[16..32]);
        }
    }
}
