//! The kernel's address space at a given time: drivers, session images, sessions, big pool allocations, the PFN
//! database.

use crate::event::Phase;
use crate::event::file_name_and_view::ViewKind;
use crate::event::pool::PoolTag;
use crate::load::history::{SpaceHistory, SystemHistory};
use crate::load::owned_events::KernelBlock;
use crate::model::page_owner_key::key_bits;
use crate::model::range_map::RangeMap;
use crate::moment::{At, Moment};
use crate::units::PointerSize;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Usage type of a kernel block that holds the PFN database.
const PFN_METADATA: u8 = 0;

/// Ranges at kernel addresses.
#[derive(Debug, Clone, Default)]
pub struct KernelSpace<'h> {
    /// Images, by path as logged.
    pub images: RangeMap<&'h str>,
    /// Views at kernel addresses: kind and file key. Image views are session images.
    pub views: RangeMap<(ViewKind, u64)>,
    /// Big pool allocations.
    pub pool: RangeMap<PoolTag>,
    /// Session ids by the low bits of the sessions' unique keys, as in page records.
    pub sessions: FastMap<u64, u32>,
    /// Blocks of the PFN database by address; usually one.
    pub pfn_database: Vec<KernelBlock>,
}

impl<'h> KernelSpace<'h> {
    /// The state at `moment`, for a page sequence with this pointer size that ends at `sequence_end`.
    pub fn new(
        system: &'h SystemHistory,
        spaces: &SpaceHistory,
        moment: Moment,
        sequence_end: Moment,
        pointer: PointerSize,
    ) -> KernelSpace<'h> {
        let images = system.kernel_images.iter().map(|event| {
            let image = &event.value;
            Described::new(event.moment, image.phase, 0, image.base, image.size, &*image.file_name)
        });
        let views = system.kernel_views.iter().map(|event| {
            let view = &event.value;
            let what = (view.kind, view.file_key);
            Described::new(event.moment, view.phase, view.process_id, view.base, view.size, what)
        });
        let pool = spaces.pool.iter().map(|event| {
            let piece = &event.value;
            Described::new(event.moment, piece.phase, 0, piece.base, piece.size, piece.tag)
        });
        // A session is treated as a range of one byte at its key.
        let sessions = spaces.sessions.iter().map(|event| {
            let session = &event.value;
            Described::new(event.moment, session.phase, 0, session.key, 1, session.session_id)
        });
        let sessions = alive_at(sessions.collect(), moment);
        KernelSpace {
            images: alive_at(images.collect(), moment),
            views: alive_at(views.collect(), moment),
            pool: alive_at(pool.collect(), moment),
            sessions: sessions.iter().map(|(key, _, &id)| (key_bits(key, pointer), id)).collect(),
            pfn_database: pfn_database(&spaces.kernel_blocks, sequence_end),
        }
    }
}

/// The blocks of the PFN database. They are logged directly after the sequence; blocks before it are used if these
/// were lost. Of a block that grew between two snapshots the first record is used.
fn pfn_database(blocks: &[At<KernelBlock>], sequence_end: Moment) -> Vec<KernelBlock> {
    let blocks = || blocks.iter().filter(|block| block.value.usage_type == PFN_METADATA);
    let mut found: BTreeMap<u64, KernelBlock> = BTreeMap::new();
    for block in blocks().filter(|block| block.moment.time >= sequence_end.time) {
        found.entry(block.value.address).or_insert(block.value);
    }
    if found.is_empty() {
        found.extend(blocks().map(|block| (block.value.address, block.value)));
    }
    // Pages that another block covers are not counted twice.
    let mut covered = 0;
    found.retain(|_, block| {
        let (begin, end) = block.range();
        let is_new = begin >= covered;
        covered = covered.max(end);
        is_new
    });
    found.into_values().collect()
}

/// An event about a range.
#[derive(Clone)]
struct Described<T> {
    moment: Moment,
    phase: Phase,
    /// Owner: in session space, ranges of different owners can have the same addresses and are freed one by one.
    owner: u32,
    base: u64,
    size: u64,
    value: T,
}

impl<T> Described<T> {
    fn new(moment: Moment, phase: Phase, owner: u32, base: u64, size: u64, value: T) -> Described<T> {
        Described { moment, phase, owner, base, size, value }
    }
}

/// Ranges by owner.
struct Owned<T>(BTreeMap<u32, RangeMap<T>>);

impl<T: Clone> Owned<T> {
    fn insert(&mut self, event: &Described<T>) {
        self.0.entry(event.owner).or_default().insert(event.base, event.size, event.value.clone());
    }

    /// Removes the whole range that begins at the base. The record's size does not matter.
    fn remove(&mut self, event: &Described<T>) {
        let ranges = self.0.entry(event.owner).or_default();
        if ranges.get(event.base).is_some_and(|(base, ..)| base == event.base) {
            ranges.take(event.base);
        } else {
            ranges.remove(event.base, event.base.saturating_add(event.size));
        }
    }
}

/// Ranges that existed at `moment`, by events in order. A range that ends or is listed by a rundown after `moment`, and did
/// not begin in between, existed. The last rundown before `moment` replaces the state by the events before it, unless it is
/// the trace's first rundown and a start rundown.
fn alive_at<T: Clone>(events: Vec<Described<T>>, moment: Moment) -> RangeMap<T> {
    let now = events.partition_point(|event| event.moment < moment);
    let (past, future) = events.split_at(now);
    let mut state = Owned(BTreeMap::new());
    for event in future.iter().rev() {
        match event.phase {
            Phase::Start => state.remove(event),
            Phase::End | Phase::DcStart | Phase::DcEnd => state.insert(event),
        }
    }
    let mut rundown = None;
    for event in past {
        if matches!(event.phase, Phase::DcStart | Phase::DcEnd) {
            let before = rundown.replace(event.phase);
            if before != Some(event.phase) && (before.is_some() || event.phase == Phase::DcEnd) {
                state.0.clear();
            }
        }
        match event.phase {
            Phase::End => state.remove(event),
            Phase::Start | Phase::DcStart | Phase::DcEnd => state.insert(event),
        }
    }
    let mut all = RangeMap::default();
    for ranges in state.0.values() {
        ranges.iter().for_each(|(base, end, value)| all.insert(base, end.saturating_sub(base), value.clone()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    fn at(time: i64, phase: Phase, owner: u32, base: u64, name: char) -> Described<char> {
        Described::new(Moment { time: Ticks(time), order: 0 }, phase, owner, base, 10, name)
    }

    fn names(events: &[Described<char>], time: i64) -> String {
        alive_at(events.to_vec(), Moment { time: Ticks(time), order: 0 }).iter().map(|(.., name)| name).collect()
    }

    #[test]
    fn reused_addresses_have_the_image_of_their_time() {
        use Phase::*;
        let events = [
            at(1, DcStart, 0, 100, 'a'),
            at(5, End, 0, 100, 'a'),
            at(7, Start, 0, 100, 'b'),
            at(20, DcEnd, 0, 100, 'b'),
            at(20, DcEnd, 0, 200, 'c'),
        ];
        assert_eq!([3, 6, 8, 30].map(|time| names(&events, time)), ["ac", "c", "bc", "bc"]);
    }

    #[test]
    fn the_end_rundown_wins() {
        use Phase::*;
        assert_eq!(names(&[at(1, DcStart, 0, 100, 'a'), at(9, DcEnd, 0, 200, 'c')], 10), "c");
    }

    #[test]
    fn a_session_that_ends_leaves_the_same_address_to_the_others() {
        use Phase::*;
        let events = [at(1, DcStart, 500, 100, 'a'), at(2, DcStart, 600, 100, 'a'), at(5, End, 600, 100, 'a')];
        assert_eq!([3, 6].map(|time| names(&events, time)), ["a", "a"]);
    }

    #[test]
    fn the_pfn_database_can_have_several_blocks_and_the_stamp_of_the_last_page() {
        let block = |time, address, pages| At {
            moment: Moment { time: Ticks(time), order: 0 },
            value: KernelBlock { usage_type: 0, address, pages },
        };
        let kernel_blocks = vec![
            block(5, 0x1000, 1),
            block(10, 0x9000, 2),
            block(10, 0x1000, 3),
            block(20, 0x1000, 4),
            block(20, 0x2000, 1),
        ];
        let end = |time| Moment::end_of(Ticks(time));
        let found = |time| -> Vec<(u64, u64)> {
            pfn_database(&kernel_blocks, end(time)).iter().map(|block| (block.address, block.pages)).collect()
        };
        assert_eq!(found(10), [(0x1000, 3), (0x9000, 2)]);
        assert_eq!(found(15), [(0x1000, 4)]);
        assert_eq!(found(25), [(0x1000, 4), (0x9000, 2)]);
    }
}
