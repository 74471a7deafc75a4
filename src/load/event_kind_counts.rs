//! Counts by kind of event: what `pfnset events` lists.
//!
//! The number of kinds is limited, so that a trace in which every record is of another kind cannot use more memory than its
//! own size. The first kinds in the order of ids are kept, the others are counted together. Which kinds are kept does not
//! depend on the order in which buffers are read.

use crate::etl::event_area::EventArea;
use crate::etl::extended_items;
use crate::etl::record::Record;
use crate::etl::record_id::{HookId, RecordId};
use crate::load::walk::Run;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};

/// Longest name that is kept of a TraceLogging event or provider, characters.
const LONGEST_NAME: usize = 256;

/// Kind of event: records with equal keys are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KindKey {
    id: RecordId,
    version: u8,
    /// Hash of the event's name for TraceLogging events, whose ids are all 0; else 0.
    name_hash: u64,
}

/// Counts of one kind and version of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindCount {
    /// Kind.
    pub id: RecordId,
    /// Event version.
    pub version: u8,
    /// Event name that the records carry themselves (TraceLogging).
    pub own_name: Option<String>,
    /// Provider name that the records carry themselves (TraceLogging).
    pub own_provider: Option<String>,
    /// Number of records.
    pub count: u64,
    /// Bytes of these records with headers, without padding.
    pub bytes: u64,
    /// Earliest time.
    pub first: Ticks,
    /// Latest time.
    pub last: Ticks,
    /// Processors whose buffers hold such records.
    pub processors: BTreeSet<u16>,
}

impl KindKey {
    /// Kind of a kernel event.
    #[inline(always)]
    pub fn kernel(hook: HookId, version: u8) -> KindKey {
        KindKey { id: RecordId::Kernel(hook), version, name_hash: 0 }
    }

    /// Kind of any record.
    #[inline(always)]
    pub fn of(record: &Record<'_>) -> KindKey {
        let name_hash = extended_items::event_name(record.extended).map_or(0, |name| hash(name.0));
        KindKey { id: record.id, version: record.version, name_hash }
    }
}

/// A hash without a seed: which kinds are kept must not differ from run to run. Names that collide, even on purpose, are
/// only counted together.
fn hash(bytes: &[u8]) -> u64 {
    let mut state = DefaultHasher::new();
    state.write(bytes);
    state.finish().max(1)
}

impl KindCount {
    fn merge(&mut self, other: &KindCount) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.processors.extend(&other.processors);
    }
}

/// Counts of one kind that have not been added to [`KindCounts`] yet.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub key: Option<KindKey>,
    /// Index in [`KindCounts`]; `None` of kinds that are only counted together.
    pub at: Option<usize>,
    pub count: u64,
    pub bytes: u64,
    pub first: Ticks,
    pub last: Ticks,
}

impl Tally {
    /// Adds records.
    #[inline(always)]
    pub fn add(&mut self, run: &Run) {
        self.count += u64::from(run.records);
        self.bytes += run.bytes();
        self.first = self.first.min(run.earliest);
        self.last = self.last.max(run.latest);
    }
}

/// Tallies of a few kinds at a time, because the records of a rundown alternate between a few kinds.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub slots: [Tally; Tallies::SLOTS],
    /// Slot that is replaced next.
    pub oldest: usize,
}

impl Tallies {
    pub const SLOTS: usize = 4;
}

/// Counts of all kinds.
#[derive(Debug, Default)]
pub(crate) struct KindCounts {
    index: FastMap<KindKey, usize>,
    kinds: Vec<KindCount>,
    /// For each kind, the buffer in which it was seen last.
    seen_in: Vec<Option<u32>>,
    /// Greatest key that can still be kept; `None` until there were too many kinds.
    greatest: Option<KindKey>,
    /// Records and bytes of kinds with greater keys.
    beyond: (u64, u64),
}

impl KindCounts {
    /// Largest number of kinds that are counted separately.
    pub const MOST: usize = 32_768;

    /// Index of a kind, which is added if it is new; `None` for kinds that are only counted together.
    pub fn index_of(
        &mut self,
        key: KindKey,
        record: Option<&Record<'_>>,
        time: Ticks,
        area: &EventArea<'_>,
    ) -> Option<usize> {
        if self.greatest.is_some_and(|greatest| key > greatest) {
            return None;
        }
        if self.is_full() {
            self.shorten();
            return self.index_of(key, record, time, area);
        }
        let at = *self.index.entry(key).or_insert_with(|| {
            let extended = record.map_or(&[][..], |record| record.extended);
            let name = |name: crate::byte_reader::Narrow<'_>| name.text().chars().take(LONGEST_NAME).collect();
            self.kinds.push(KindCount {
                id: key.id,
                version: key.version,
                own_name: extended_items::event_name(extended).map(name),
                own_provider: extended_items::provider_name(extended).map(name),
                count: 0,
                bytes: 0,
                first: time,
                last: time,
                processors: BTreeSet::new(),
            });
            self.kinds.len() - 1
        });
        if let Some(kind) = self.kinds.get_mut(at)
            && self.seen_in.get(at) != Some(&Some(area.index))
        {
            kind.processors.insert(area.buffer.processor);
            self.seen_in.resize(self.kinds.len(), None);
            if let Some(seen) = self.seen_in.get_mut(at) {
                *seen = Some(area.index);
            }
        }
        Some(at)
    }

    /// True when adding a new kind would change the indices of the others.
    pub fn is_full(&self) -> bool {
        self.kinds.len() >= 2 * KindCounts::MOST
    }

    /// Adds a tally to its kind and empties it.
    pub fn add_tally(&mut self, tally: &mut Tally) {
        match tally.at.and_then(|at| self.kinds.get_mut(at)) {
            _ if tally.count == 0 => {}
            Some(kind) => {
                kind.count += tally.count;
                kind.bytes += tally.bytes;
                kind.first = kind.first.min(tally.first);
                kind.last = kind.last.max(tally.last);
            }
            None => {
                self.beyond.0 += tally.count;
                self.beyond.1 += tally.bytes;
            }
        }
        tally.count = 0;
    }

    /// Adds the counts of another thread.
    pub fn append(&mut self, other: KindCounts) {
        (self.beyond.0, self.beyond.1) = (self.beyond.0 + other.beyond.0, self.beyond.1 + other.beyond.1);
        for (key, index) in other.index {
            let Some(count) = other.kinds.get(index) else { continue };
            match self.index.get(&key).and_then(|&at| self.kinds.get_mut(at)) {
                Some(all) => all.merge(count),
                None => {
                    self.index.insert(key, self.kinds.len());
                    self.kinds.push(count.clone());
                }
            }
        }
        self.greatest = self.greatest.into_iter().chain(other.greatest).min();
        self.shorten();
    }

    /// Keeps only the first kinds.
    fn shorten(&mut self) {
        let mut keys: Vec<KindKey> = self.index.keys().copied().collect();
        if keys.len() > KindCounts::MOST {
            let (_, &mut greatest, _) = keys.select_nth_unstable(KindCounts::MOST - 1);
            self.greatest = Some(self.greatest.map_or(greatest, |g| g.min(greatest)));
        }
        let Some(greatest) = self.greatest else { return };
        self.seen_in.clear();
        let mut kinds = std::mem::take(&mut self.kinds);
        for (key, at) in std::mem::take(&mut self.index) {
            let Some(kind) = kinds.get_mut(at) else { continue };
            if key > greatest {
                self.beyond.0 += kind.count;
                self.beyond.1 += kind.bytes;
                continue;
            }
            self.index.insert(key, self.kinds.len());
            let empty = KindCount { own_name: None, own_provider: None, processors: BTreeSet::new(), ..*kind };
            self.kinds.push(std::mem::replace(kind, empty));
        }
    }

    /// All kinds that are kept, in no order, and records and bytes of the others.
    pub fn finish(mut self) -> (Vec<KindCount>, (u64, u64)) {
        self.shorten();
        (self.kinds, self.beyond)
    }
}
