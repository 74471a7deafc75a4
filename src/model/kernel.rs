//! The kernel's address space at a given time: drivers, session images, sessions, big pool allocations, the PFN
//! database.

use crate::event::Phase;
use crate::event::file::ViewKind;
use crate::event::pool::PoolTag;
use crate::load::facts::KernelBlock;
use crate::load::history::History;
use crate::model::owner_key::key_bits;
use crate::model::ranges::RangeMap;
use crate::moment::Moment;
use crate::units::{PAGE_BYTES, PointerSize};
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Usage type of a kernel block that holds the PFN database.
const PFN_METADATA: u8 = 0;

/// What is at kernel addresses.
#[derive(Debug, Clone, Default)]
pub struct KernelSpace<'h> {
    /// Images, by path as logged.
    pub images: RangeMap<&'h str>,
    /// Views at kernel addresses: kind and file key. Image views are session images.
    pub views: RangeMap<(ViewKind, u64)>,
    /// Big pool allocations.
    pub pool: RangeMap<PoolTag>,
    /// Ids of the sessions by what page records hold of their unique keys.
    pub sessions: FastMap<u64, u32>,
    /// The PFN database, by address; usually one block.
    pub pfn_database: Vec<KernelBlock>,
}

impl<'h> KernelSpace<'h> {
    /// The state at `moment`, whose page sequence has this pointer size and ends at `sequence_end`.
    pub fn new(history: &'h History, moment: Moment, sequence_end: Moment, pointer: PointerSize) -> KernelSpace<'h> {
        let images = history.kernel_images.iter().map(|event| {
            let image = &event.value;
            Described::new(event.moment, image.phase, 0, image.base, image.size, &*image.file_name)
        });
        let views = history.kernel_views.iter().map(|event| {
            let view = &event.value;
            let what = (view.kind, view.file_key);
            Described::new(event.moment, view.phase, view.process_id, view.base, view.size, what)
        });
        let pool = history.pool.iter().map(|event| {
            let piece = &event.value;
            Described::new(event.moment, piece.phase, 0, piece.base, piece.size, piece.tag)
        });
        // A session is a range of one byte at its key.
        let sessions = history.sessions.iter().map(|event| {
            let session = &event.value;
            Described::new(event.moment, session.phase, 0, session.key, 1, session.session_id)
        });
        let sessions = alive_at(sessions.collect(), moment);
        KernelSpace {
            images: alive_at(images.collect(), moment),
            views: alive_at(views.collect(), moment),
            pool: alive_at(pool.collect(), moment),
            sessions: sessions.iter().map(|(key, _, &id)| (key_bits(key, pointer), id)).collect(),
            pfn_database: pfn_database(history, sequence_end),
        }
    }
}

/// The blocks of the PFN database. They are logged directly after the sequence; those before it will do where these
/// were lost. A block that grew between two snapshots is taken as it was first.
fn pfn_database(history: &History, sequence_end: Moment) -> Vec<KernelBlock> {
    let blocks = || history.kernel_blocks.iter().filter(|block| block.value.usage_type == PFN_METADATA);
    let mut found: BTreeMap<u64, KernelBlock> = BTreeMap::new();
    for block in blocks().filter(|block| block.moment.time >= sequence_end.time) {
        found.entry(block.value.address).or_insert(block.value);
    }
    if found.is_empty() {
        found.extend(blocks().map(|block| (block.value.address, block.value)));
    }
    // What a block already covers is not counted twice.
    let mut covered = 0;
    found.retain(|&address, block| {
        let end = address.saturating_add(block.pages.saturating_mul(PAGE_BYTES));
        let is_new = address >= covered;
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
    /// Whose it is: ranges of different owners can lie at the same addresses (session space) and go one by one.
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

    /// What begins at the base goes as a whole, whatever the record says of its size.
    fn remove(&mut self, event: &Described<T>) {
        let ranges = self.0.entry(event.owner).or_default();
        if ranges.get(event.base).is_some_and(|(base, ..)| base == event.base) {
            ranges.take(event.base);
        } else {
            ranges.remove(event.base, event.base.saturating_add(event.size));
        }
    }
}

/// Ranges that were there at `moment`, by events in order. What ends or is rundown later and did not begin in between
/// was there already; of what events before add up to, the last rundown before `moment` is the truth, unless it is the
/// first of all and a start rundown.
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
    use crate::moment::At;
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
        let history = History { kernel_blocks, ..History::default() };
        let end = |time| Moment { time: Ticks(time), order: u64::MAX };
        let found = |time| -> Vec<(u64, u64)> {
            pfn_database(&history, end(time)).iter().map(|block| (block.address, block.pages)).collect()
        };
        assert_eq!(found(10), [(0x1000, 3), (0x9000, 2)]);
        assert_eq!(found(15), [(0x1000, 4)]);
        assert_eq!(found(25), [(0x1000, 4), (0x9000, 2)]);
    }
}
