//! Updates that wait to be replayed, by shard, in the order in which threads read them; and putting them in order.
//!
//! They are stored in chunks of one size, which are reused by any shard. A vector for each shard would keep the memory of
//! its largest slice: several times what one slice needs.

use crate::analysis::refset::replay::update::Update;
use crate::moment::Moment;
use crate::units::Ticks;

/// Bits of a position in a chunk.
const CHUNK_BITS: u32 = 7;

/// Updates of a chunk: 6 KiB.
const CHUNK: usize = 1 << CHUNK_BITS;

/// The updates of one shard.
#[derive(Debug, Clone)]
struct Chunks<S> {
    full: Vec<Vec<Update<S>>>,
    open: Vec<Update<S>>,
}

/// Updates by shard: those of a slice, and those of the next one.
#[derive(Debug)]
pub struct UpdateQueue<S = ()> {
    shards: Vec<Chunks<S>>,
    next: Vec<Chunks<S>>,
    /// Empty chunks.
    spare: Vec<Vec<Update<S>>>,
}

impl<S: Copy> UpdateQueue<S> {
    /// So many empty shards.
    pub fn new(shards: usize) -> UpdateQueue<S> {
        let empty = Chunks { full: Vec::new(), open: Vec::new() };
        UpdateQueue { shards: vec![empty.clone(); shards], next: vec![empty; shards], spare: Vec::new() }
    }

    /// Adds an update to a shard, of the slice or of the next one.
    #[inline(always)]
    pub fn push(&mut self, shard: usize, update: Update<S>, is_next: bool) {
        let shards = if is_next { &mut self.next } else { &mut self.shards };
        let Some(chunks) = shards.get_mut(shard) else { return };
        if chunks.open.len() == chunks.open.capacity() {
            // Without the update: where its address is taken, it goes through memory.
            chunks.begin(&mut self.spare);
        }
        chunks.open.push(update);
    }

    /// The updates of a shard.
    pub fn chunks(&self, shard: usize) -> impl Iterator<Item = &[Update<S>]> {
        let chunks = self.shards.get(shard).into_iter();
        chunks.flat_map(|chunks| chunks.full.iter().chain([&chunks.open])).map(Vec::as_slice)
    }

    /// Goes on to the next slice.
    pub fn advance(&mut self) {
        for chunks in &mut self.shards {
            let open = std::mem::take(&mut chunks.open);
            self.spare.extend(chunks.full.drain(..).chain([open]).filter(|chunk| chunk.capacity() > 0));
        }
        self.spare.iter_mut().for_each(Vec::clear);
        std::mem::swap(&mut self.shards, &mut self.next);
    }
}

impl<S> Chunks<S> {
    #[cold]
    #[inline(never)]
    fn begin(&mut self, spare: &mut Vec<Vec<Update<S>>>) {
        let full = std::mem::replace(&mut self.open, spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        self.full.extend(Some(full).filter(|full| !full.is_empty()));
    }
}

/// The stamp, counted from the first and coarser where 32 bits are too few; below it the number of the chunk, and the
/// position in it.
type Entry = u64;

const STAMP_BITS: u32 = 32;

/// The updates of one shard in order of their moments. What is sorted are 8 bytes instead of 48. Each thread's updates are
/// a few sorted runs already, which the stable sort merges.
#[derive(Debug)]
pub struct OrderedUpdates<'u, S = ()> {
    chunks: &'u [&'u [Update<S>]],
    order: &'u [Entry],
}

/// Fills `room` with the entries of the updates of `chunks`; false when stamps are not from `first` to `last`.
fn fill<S>(room: &mut Vec<Entry>, chunks: &[&[Update<S>]], first: Ticks, last: Ticks) -> bool {
    let ticks = |time: Ticks| time.0.wrapping_sub(first.0) as u64;
    let shift = (u64::BITS - ticks(last).leading_zeros()).saturating_sub(STAMP_BITS);
    let mut latest = 0;
    room.clear();
    room.reserve(chunks.iter().map(|chunk| chunk.len()).sum());
    for (number, updates) in (0..).zip(chunks) {
        let places: u64 = number << CHUNK_BITS;
        room.extend((places..).zip(*updates).map(|(place, update)| {
            // Less than `first` becomes more than `last`.
            latest = latest.max(ticks(update.moment.time));
            ticks(update.moment.time) >> shift << (u64::BITS - STAMP_BITS) | place
        }));
    }
    first <= last && latest <= ticks(last)
}

impl<'u, S> OrderedUpdates<'u, S> {
    /// Puts the updates of `chunks` in order. Their stamps should be from `first` to `last`; `room` is memory that is used again.
    pub fn new(
        chunks: &'u [&'u [Update<S>]],
        (first, last): (Ticks, Ticks),
        room: &'u mut Vec<Entry>,
    ) -> OrderedUpdates<'u, S> {
        if !fill(room, chunks, first, last) {
            let stamps = || chunks.iter().copied().flatten().map(|update| update.moment.time);
            fill(room, chunks, stamps().min().unwrap_or_default(), stamps().max().unwrap_or_default());
        }
        room.sort();
        // Equal stamps, which are rare, by their place in the file.
        let unordered = OrderedUpdates { chunks, order: &[] };
        for equal in room.chunk_by_mut(|a, b| a >> STAMP_BITS == b >> STAMP_BITS).filter(|equal| equal.len() > 1) {
            equal.sort_by_key(|&entry| unordered.update(entry).map(|update| update.moment));
        }
        OrderedUpdates { chunks, order: room }
    }

    #[inline(always)]
    fn update(&self, entry: Entry) -> Option<&'u Update<S>> {
        let place = entry & (u64::MAX >> STAMP_BITS);
        self.chunks.get((place >> CHUNK_BITS) as usize)?.get(place as usize % CHUNK)
    }

    /// Number of updates.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The updates.
    pub fn iter(&self) -> impl Iterator<Item = &'u Update<S>> {
        self.order.iter().filter_map(|&entry| self.update(entry))
    }

    /// The updates up to and with a moment, and those after it.
    pub fn split(&self, moment: Moment) -> (OrderedUpdates<'u, S>, OrderedUpdates<'u, S>) {
        let is_now = |&entry: &Entry| self.update(entry).is_some_and(|update| update.moment <= moment);
        let (now, later) = self.order.split_at(self.order.partition_point(is_now));
        let of = |order| OrderedUpdates { chunks: self.chunks, order };
        (of(now), of(later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::refset::replay::update::UpdateKind;
    use crate::event::page_identity::PageIdentity;
    use crate::units::PointerSize;
    use proptest::prelude::*;

    fn update(moment: Moment) -> Update {
        let page = PageIdentity { flags: 0, pfn: 0, u2: 0 };
        Update::new(moment, UpdateKind::Private, &page, 0, PointerSize::P8)
    }

    proptest! {
        /// Whether stamps are dense or farther apart than 32 bits can say.
        #[test]
        fn updates_come_in_order_of_their_moments(
            stamps in prop::collection::vec((-9i64..10, any::<u64>()), 0..700),
            scale in prop::sample::select(vec![1i64, 1 << 31, i64::MAX / 9]),
            cut in -9i64..10,
            low in -9i64..10,
        ) {
            let moment = |(time, order): (i64, u64)| {
                Moment { time: Ticks((time * scale).saturating_add((order % 3) as i64)), order }
            };
            let mut want: Vec<Moment> = stamps.into_iter().map(moment).collect();
            let mut queue = UpdateQueue::new(2);
            want.iter().for_each(|&moment| queue.push(1, update(moment), false));
            let (chunks, mut room): (Vec<&[Update]>, _) = (queue.chunks(1).collect(), Vec::new());
            let limits = (Ticks(low * scale), Ticks(i64::from(low > -4) * i64::MAX));
            let ordered = OrderedUpdates::new(&chunks, limits, &mut room);
            let of = |updates: &OrderedUpdates<'_>| updates.iter().map(|update| update.moment).collect::<Vec<_>>();
            want.sort();
            prop_assert_eq!(of(&ordered), want.clone());
            let at = Moment::end_of(Ticks(cut * scale));
            let after = want.partition_point(|moment| *moment <= at);
            let (now, later) = ordered.split(at);
            prop_assert_eq!((of(&now), of(&later)), (want[..after].to_vec(), want[after..].to_vec()));
        }
    }

    #[test]
    fn chunks_are_used_again() {
        let mut queue = UpdateQueue::new(3);
        for round in 0..3 {
            (0..CHUNK * 2 + 1).for_each(|n| queue.push(round, update(Moment::default()), n == CHUNK));
            let lengths = |queue: &UpdateQueue| queue.chunks(round).map(<[Update]>::len).collect::<Vec<_>>();
            assert_eq!(lengths(&queue), [CHUNK, CHUNK]);
            queue.advance();
            assert_eq!(lengths(&queue), [1]);
            queue.advance();
            assert_eq!((queue.chunks(round).flatten().count(), queue.spare.len()), (0, 3));
        }
    }
}
