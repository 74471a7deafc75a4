//! Ready delays: exact percentiles in a few bytes for each delay.
//!
//! A delay takes 4 bytes; equal delays are counted together once there are many. So memory grows with the number of
//! distinct delays: by 4 bytes for one that came once, by 8 for one that came again. Lists are in chunks: while delays are counted there
//! are 2 bytes more for each, and no list is there twice.

use crate::chunked_list::Chunked;
use crate::named_enum::named_enum;

named_enum! {
    /// Why a thread was ready.
    pub enum ReadyKind {
        /// Its wait ended.
        Wakeup = "wakeup",
        /// Its quantum ended.
        QuantumEnd = "quantum_end",
        /// A dispatch interrupt took the processor away.
        DispatchInterrupt = "dispatch_interrupt",
        /// A thread of higher priority took it away.
        Preempted = "preempted",
        /// It gave the processor away.
        Yield = "yield",
        /// It lost the processor for another reason.
        Other = "other",
    }
}

impl ReadyKind {
    /// The kind of a thread that was switched out although it could run on, by its wait reason.
    pub const fn of_reason(reason: u8) -> ReadyKind {
        match reason {
            30 => ReadyKind::QuantumEnd,
            31 => ReadyKind::DispatchInterrupt,
            32 => ReadyKind::Preempted,
            33 => ReadyKind::Yield,
            _ => ReadyKind::Other,
        }
    }
}

const KIND_BITS: u32 = 3;
/// Delays from here on are kept in 8 bytes.
const LONG: u64 = 1 << (u32::BITS - KIND_BITS);
/// Delays that are kept one by one before equal ones are counted together.
const FEW: usize = 256;

/// Delays of a chunk; a power of two.
const CHUNK: usize = 4096;

/// The delays of a group of switch-ins.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    /// Kind and ticks of the last ones, in the order in which they came; at most a chunk.
    recent: Vec<u32>,
    /// Those before.
    kept: Option<Box<Kept>>,
}

/// Many delays.
#[derive(Debug, Clone, Default)]
struct Kept {
    /// Kind and ticks, in the order in which they came.
    waiting: Chunked<u32, CHUNK>,
    /// Kind and ticks of delays that came once, in order.
    once: Chunked<u32, CHUNK>,
    /// Kind and ticks of delays that came more than once, and how often, in order.
    repeated: Chunked<(u32, u32), CHUNK>,
    /// Long delays: kind and ticks.
    long: Chunked<u64, CHUNK>,
}

impl Kept {
    /// Delays that are in order.
    fn counted(&self) -> usize {
        self.once.len() + self.repeated.len()
    }
}

impl Delays {
    /// Adds a delay.
    #[inline(always)]
    pub fn add(&mut self, kind: ReadyKind, ticks: u64) {
        if ticks < LONG {
            if self.recent.len() == self.recent.capacity() {
                self.make_room();
            }
            self.recent.push((ticks as u32) << KIND_BITS | kind as u32);
        } else {
            let long = &mut self.kept.get_or_insert_default().long;
            long.push(ticks.min(u64::MAX >> KIND_BITS) << KIND_BITS | kind as u64);
        }
    }

    #[cold]
    fn make_room(&mut self) {
        let (waiting, counted) = self.kept.as_ref().map_or((0, 0), |kept| (kept.waiting.len(), kept.counted()));
        let most = FEW.max(counted);
        if waiting + self.recent.len() >= most {
            // The room stays.
            return self.kept.get_or_insert_default().count(&mut self.recent);
        }
        if self.recent.len() == CHUNK {
            self.kept.get_or_insert_default().waiting.push_chunk(std::mem::take(&mut self.recent));
            return self.recent.reserve_exact(CHUNK);
        }
        let more = self.recent.len().clamp(4, most).min(CHUNK - self.recent.len());
        self.recent.reserve_exact(more);
    }

    /// True when there are no delays.
    pub fn is_empty(&self) -> bool {
        self.numbers() == 0
    }

    /// How many there are of a kind.
    pub fn count_of(&self, kind: ReadyKind) -> u64 {
        let mut sum = 0;
        self.each(&mut |of, _, count| sum += if of == kind as usize { count } else { 0 });
        sum
    }

    /// Numbers that are kept.
    fn numbers(&self) -> usize {
        let kept = self.kept.as_ref();
        self.recent.len() + kept.map_or(0, |kept| kept.waiting.len() + kept.counted() + kept.long.len())
    }

    /// Calls `visit` for each delay with its kind, ticks, and how often.
    #[inline(always)]
    fn each(&self, visit: &mut impl FnMut(usize, u64, u64)) {
        let kind = |value: u64| (value & ((1 << KIND_BITS) - 1)) as usize;
        let mut one = |v: u32, count: u32| visit(kind(v.into()), u64::from(v) >> KIND_BITS, count.into());
        self.recent.iter().for_each(|&v| one(v, 1));
        let Some(kept) = &self.kept else { return };
        kept.waiting.each(|&v| one(v, 1));
        kept.once.each(|&v| one(v, 1));
        kept.repeated.each(|&(v, count)| one(v, count));
        kept.long.each(|&v| visit(kind(v), v >> KIND_BITS, 1));
    }
}

impl Kept {
    /// Counts recent delays together with those before. What was read is freed while the result grows.
    #[cold]
    fn count(&mut self, last: &mut Vec<u32>) {
        let mut recent = Vec::with_capacity(self.waiting.len() + last.len());
        recent.extend(std::mem::take(&mut self.waiting).into_iter().chain(last.drain(..)));
        recent.sort_unstable();
        let one = |value: u32| (value, 1);
        let (once, repeated) = (std::mem::take(&mut self.once), std::mem::take(&mut self.repeated));
        let all = in_order(recent.into_iter().map(one), once.into_iter().map(one));
        let mut keep = |(value, count)| match count {
            1 => self.once.push(value),
            _ => self.repeated.push((value, count)),
        };
        let mut last: Option<(u32, u32)> = None;
        for (value, count) in in_order(all, repeated.into_iter()) {
            let sum = last.filter(|(same, _)| *same == value).and_then(|(_, sum)| sum.checked_add(count));
            match sum {
                Some(sum) => last = Some((value, sum)),
                None => last.replace((value, count)).into_iter().for_each(&mut keep),
            }
        }
        last.into_iter().for_each(keep);
    }
}

/// Two lists in order as one.
fn in_order(
    one: impl Iterator<Item = (u32, u32)>,
    other: impl Iterator<Item = (u32, u32)>,
) -> impl Iterator<Item = (u32, u32)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(first), Some(second)) if second < first => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

/// Statistics of a set of delays, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DelayStatistics {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// Half of them are not longer.
    pub p50: u64,
    /// 95 of 100.
    pub p95: u64,
    /// 99 of 100.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// Statistics by kind, and of all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DelaySummary {
    /// By [`ReadyKind`].
    pub by_kind: [DelayStatistics; ReadyKind::ALL.len()],
    /// Delays of all kinds.
    pub all: DelayStatistics,
}

impl DelaySummary {
    /// The summary of several sets together.
    pub fn new(sets: &[&Delays]) -> DelaySummary {
        let mut summary = DelaySummary::default();
        each(sets, |kind, ticks, count| {
            let of_kind = summary.by_kind.get_mut(kind);
            for statistics in of_kind.into_iter().chain([&mut summary.all]) {
                statistics.count += count;
                statistics.total = statistics.total.saturating_add(ticks.saturating_mul(count));
                statistics.max = statistics.max.max(ticks);
            }
        });
        let only_kind = summary.by_kind.iter().position(|of_kind| of_kind.count == summary.all.count);
        let mut groups = summary.by_kind.iter_mut().chain([&mut summary.all]).collect::<Vec<_>>();
        if sets.iter().map(|set| set.numbers()).sum::<usize>() <= FEW {
            percentiles_by_sorting(sets, &mut groups);
        } else {
            percentiles_by_digits(sets, &mut groups, only_kind.is_some());
        }
        // Where all are of one kind, only one of two equal groups was searched.
        if let Some(of_kind) = only_kind.and_then(|kind| summary.by_kind.get_mut(kind)) {
            *of_kind = summary.all;
        }
        summary
    }

    /// Those of threads that lost the processor: all kinds but wakeups.
    pub fn lost(&self) -> (u64, u64) {
        let [wakeup, ..] = &self.by_kind;
        (self.all.count - wakeup.count, self.all.total - wakeup.total)
    }
}

/// Calls `visit` for each delay of the sets with its kind, ticks, and how often.
#[inline(always)]
fn each(sets: &[&Delays], mut visit: impl FnMut(usize, u64, u64)) {
    sets.iter().for_each(|set| set.each(&mut visit));
}

/// Number of the group with all kinds; the others have the numbers of their kinds.
const ALL: usize = ReadyKind::ALL.len();

/// The number of a percentile in order, from 1 on.
fn rank(percent: u64, count: u64) -> u64 {
    (u128::from(percent) * u128::from(count)).div_ceil(100) as u64
}

impl DelayStatistics {
    fn percentiles(&mut self) -> [(&mut u64, u64); 3] {
        let count = self.count;
        [(&mut self.p50, rank(50, count)), (&mut self.p95, rank(95, count)), (&mut self.p99, rank(99, count))]
    }
}

/// Percentiles of few delays.
fn percentiles_by_sorting(sets: &[&Delays], groups: &mut [&mut DelayStatistics]) {
    let mut list: Vec<(u64, usize, u64)> = Vec::new();
    each(sets, |kind, ticks, count| list.push((ticks, kind, count)));
    list.sort_unstable();
    for (number, group) in groups.iter_mut().enumerate() {
        let mut own = list.iter().filter(|(_, kind, _)| number == ALL || *kind == number);
        let (mut seen, mut ticks) = (0, 0);
        for (value, rank) in group.percentiles() {
            while seen < rank
                && let Some((next, _, count)) = own.next()
            {
                (seen, ticks) = (seen + count, *next);
            }
            *value = ticks;
        }
    }
}

/// A percentile whose leading digits are known.
#[derive(Clone, Copy, Default)]
struct Search {
    /// The known digits.
    prefix: u64,
    /// Its number among the delays with these digits.
    rank: u64,
}

/// Percentiles of many delays, digit by digit from the first on: no memory is needed for the delays in order. `is_one_kind`: only those
/// of all kinds are searched.
fn percentiles_by_digits(sets: &[&Delays], groups: &mut [&mut DelayStatistics], is_one_kind: bool) {
    let mut searches = [[Search::default(); 3]; ALL + 1];
    for (searches, group) in searches.iter_mut().zip(groups.iter_mut()) {
        for (search, (_, rank)) in searches.iter_mut().zip(group.percentiles()) {
            search.rank = rank;
        }
    }
    let bits = groups.iter().map(|group| u64::BITS - group.max.leading_zeros()).max().unwrap_or(0);
    let shifts = (0..bits.next_multiple_of(8)).step_by(8).rev();
    let mut counts = vec![[[0u64; 256]; 3]; ALL + 1];
    for (number, shift) in shifts.enumerate() {
        counts.fill([[0; 256]; 3]);
        let of = |kind: usize| [ALL, kind].into_iter().take(2 - usize::from(is_one_kind));
        if number == 0 {
            // All percentiles look for the same digits.
            each(sets, |kind, ticks, count| {
                for group in of(kind) {
                    let Some([first, ..]) = counts.get_mut(group) else { continue };
                    first[usize::from((ticks >> shift) as u8)] += count;
                }
            });
            counts.iter_mut().for_each(|[first, second, third]| (*second, *third) = (*first, *first));
        } else {
            each(sets, |kind, ticks, count| {
                let prefix = ticks.checked_shr(shift + 8).unwrap_or(0);
                let digit = usize::from((ticks >> shift) as u8);
                for group in of(kind) {
                    let (Some(searches), Some(counts)) = (searches.get(group), counts.get_mut(group)) else { continue };
                    for (_, counts) in searches.iter().zip(counts).filter(|(search, _)| search.prefix == prefix) {
                        counts[digit] += count;
                    }
                }
            });
        }
        for (search, counts) in searches.iter_mut().flatten().zip(counts.iter().flatten()) {
            search.next_digit(counts);
        }
    }
    for (searches, group) in searches.iter().zip(groups) {
        for (search, (value, _)) in searches.iter().zip(group.percentiles()) {
            *value = search.prefix;
        }
    }
}

impl Search {
    /// Finds the next digit; `counts` are the delays with the known digits by their next one.
    fn next_digit(&mut self, counts: &[u64; 256]) {
        let mut digit = 0;
        for (number, count) in (0u64..).zip(counts) {
            digit = number;
            if self.rank <= *count {
                break;
            }
            self.rank -= count;
        }
        self.prefix = self.prefix << 8 | digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_cases::cases;
    use proptest::prelude::*;

    /// The definition: `sorted[ceil(p / 100 × n) − 1]`.
    fn naive(mut list: Vec<u64>) -> DelayStatistics {
        list.sort_unstable();
        let at = |percent: usize| list.get((percent * list.len()).div_ceil(100).wrapping_sub(1)).copied().unwrap_or(0);
        DelayStatistics {
            count: list.len() as u64,
            total: list.iter().sum(),
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: at(100),
        }
    }

    proptest! {
        #![proptest_config(cases(32))]

        #[test]
        fn percentiles_are_exact(
            list in prop::collection::vec((0usize..6, prop_oneof![0u64..50, 0u64..100_000, LONG - 2..LONG + 5]), 0..6000),
            repeated in 0usize..3000,
        ) {
            let mut list = list;
            list.extend(std::iter::repeat_n((3, 7), repeated));
            let mut sets = [Delays::default(), Delays::default()];
            for (number, &(kind, ticks)) in list.iter().enumerate() {
                sets[usize::from(number % 7 == 0)].add(ReadyKind::ALL[kind], ticks);
            }
            let found = DelaySummary::new(&sets.each_ref());
            prop_assert_eq!(found.all, naive(list.iter().map(|delay| delay.1).collect()));
            for kind in 0..6 {
                let of_kind = list.iter().filter(|delay| delay.0 == kind).map(|delay| delay.1).collect();
                prop_assert_eq!(found.by_kind[kind], naive(of_kind));
            }
        }
    }

    /// Bytes that delays take.
    fn bytes(of: &Delays) -> usize {
        let lists = |kept: &Kept| {
            kept.waiting.bytes() + kept.once.bytes() + kept.repeated.bytes() + kept.long.bytes() + size_of::<Kept>()
        };
        4 * of.recent.capacity() + of.kept.as_deref().map_or(0, lists)
    }

    #[test]
    fn memory_grows_with_distinct_delays() {
        let mut delays = Delays::default();
        (0..1_000_000u64).for_each(|n| delays.add(ReadyKind::Wakeup, n * 7919 % 1000));
        assert!(bytes(&delays) <= 16_000, "{}", bytes(&delays));
    }

    /// At any time, not only when a list was just made: 4 bytes, and a chunk of each list.
    #[test]
    fn no_list_has_room_for_the_double() {
        let mut delays = Delays::default();
        for n in 0..1_000_000u64 {
            delays.add(ReadyKind::Wakeup, n * 7919 % 1_000_003);
            let most = 4 * (n as usize + 1).next_multiple_of(CHUNK) + 4 * CHUNK + 10 * CHUNK;
            if n % 1000 == 0 {
                assert!(bytes(&delays) <= most, "{} for {n}", bytes(&delays));
            }
        }
        let mut long = Delays::default();
        (0..100_000).for_each(|n| long.add(ReadyKind::Other, LONG + n));
        assert!(bytes(&long) <= 8 * (100_000 + CHUNK) + 2048, "{}", bytes(&long));
    }
}
