//! The survey: one parallel walk over all records that counts what is there.
//!
//! `pfnset events` prints its counts; `pfnset info` judges by them what a trace can be used for. Every record is
//! counted, also those that cannot be decoded, so totals always add up to the records of the file. Analyses take part
//! in the same walk as a [`Listener`]: what they need is collected while the bytes are at hand.

use crate::error::{Damage, DamageLog};
use crate::etl::EtlFile;
use crate::etl::area::{Area, Records};
use crate::etl::extended;
use crate::etl::order::Span;
use crate::etl::record::{HeaderType, HookId, RawRecord, Record, RecordId};
use crate::event::header::MasksPhase;
use crate::event::merged::Merged;
use crate::event::system_config::DeviceFamily;
use crate::event::{Decoded, Event, Malformed, Surplus, decode};
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// What records are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
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

/// A payload that does not fit its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// Nothing of it was used.
    Malformed(Malformed),
    /// It was used as far as its layout is known.
    Surplus(Surplus),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Malformed(malformed) => malformed.fmt(f),
            Misfit::Surplus(surplus) => surplus.fmt(f),
        }
    }
}

/// Payloads that do not fit, by kind: the first [`Misfits::KEPT`] kinds in their order, the rest only counted.
///
/// Capped, so that a trace made of misfits cannot take more memory than its own size; which kinds are kept does not
/// depend on the order in which they are met.
#[derive(Debug, Clone, Default)]
pub struct Misfits {
    kinds: BTreeMap<Misfit, u64>,
    total: u64,
}

impl Misfits {
    /// How many kinds are kept.
    pub const KEPT: usize = 1000;

    fn add(&mut self, misfit: Misfit, count: u64) {
        *self.kinds.entry(misfit).or_default() += count;
        self.total += count;
        if self.kinds.len() > Self::KEPT {
            self.kinds.pop_last();
        }
    }

    fn append(&mut self, other: Misfits) {
        let kept: u64 = other.kinds.values().sum();
        self.total += other.total - kept;
        other.kinds.into_iter().for_each(|(misfit, count)| self.add(misfit, count));
    }

    /// Kinds with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Misfit, &u64)> {
        self.kinds.iter()
    }

    /// Records that do not fit.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// A change of what the kernel session records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupMasks {
    /// When.
    pub time: Ticks,
    /// True for hook 0x0005 (what is on from now), false for 0x0020 (what was on until now).
    pub is_start: bool,
    /// The eight masks.
    pub masks: [u32; 8],
}

/// Someone who collects while the survey walks; one for each thread.
pub trait Listener: Send {
    /// A kernel record before its header is read in full, and the records behind it. The listener may take it and any
    /// number of records of the same kind and version that follow it directly: what it takes is counted, but not
    /// decoded any more. For the millions of page records.
    fn take_run(
        &mut self,
        area: &Area<'_>,
        first: &RawRecord<'_>,
        hook: HookId,
        behind: &mut Records<'_>,
    ) -> Option<TakenRun>;

    /// A decoded record.
    fn hear(&mut self, area: &Area<'_>, record: &Record<'_>, event: &Event<'_>, time: Ticks);

    /// A buffer has been walked to its end.
    fn end_of_buffer(&mut self) {}
}

/// Records that a listener has taken.
#[derive(Debug, Clone, Copy)]
pub struct TakenRun {
    /// How many, at least one.
    pub records: u32,
    /// Bytes with headers.
    pub bytes: u64,
    /// Stamps of the first and the last, the earliest and the latest.
    pub times: (Ticks, Ticks, Ticks, Ticks),
    /// True when no stamp is smaller than the one before it.
    pub sorted: bool,
}

/// Nobody listens.
impl Listener for () {
    #[inline(always)]
    fn take_run(&mut self, _: &Area<'_>, _: &RawRecord<'_>, _: HookId, _: &mut Records<'_>) -> Option<TakenRun> {
        None
    }

    fn hear(&mut self, _: &Area<'_>, _: &Record<'_>, _: &Event<'_>, _: Ticks) {}
}

/// All that one walk learns.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Number of records in the file.
    pub total: u64,
    /// Records by header type.
    pub by_header: BTreeMap<HeaderType, u64>,
    /// Records by processor of their buffer.
    pub by_processor: BTreeMap<u16, u64>,
    /// Kinds, most frequent first.
    pub kinds: Vec<KindCount>,
    /// Payloads that do not fit their layout, with their number.
    pub misfits: Misfits,
    /// Damage met in the buffers and their headers.
    pub damage: DamageLog,
    /// Time span of each buffer in file order; `None` for buffers without records.
    pub spans: Vec<Option<Span>>,
    /// Group masks in time order.
    pub group_masks: Vec<GroupMasks>,
    /// Processors and times at which events were dropped last (hook 0x0052).
    pub dropped: BTreeSet<(u32, Ticks)>,
    /// Exact operating system text from the configuration records, the most exact of what was found.
    pub os_text: Option<(u8, String)>,
}

impl Survey {
    /// Walks the whole trace.
    pub fn new(etl: &EtlFile) -> Survey {
        Survey::with_listeners(etl, || ()).0
    }

    /// Walks the whole trace with a listener for each thread. Which listener hears which buffer is left open.
    pub fn with_listeners<L: Listener>(etl: &EtlFile, listener: impl Fn() -> L + Sync) -> (Survey, Vec<L>) {
        let hasher = RandomState::new();
        let heard = etl.fold_buffers(
            || (Part::default(), listener()),
            |(part, listener), area| {
                part.add(area, etl, &hasher, listener);
                listener.end_of_buffer();
            },
        );
        let (parts, listeners): (Vec<Part>, Vec<L>) = heard.into_iter().unzip();
        (Survey::of_parts(etl, parts), listeners)
    }

    fn of_parts(etl: &EtlFile, parts: Vec<Part>) -> Survey {
        let mut survey = Survey { spans: vec![None; etl.buffers.len()], ..Survey::default() };
        let mut kinds: FastMap<Key, KindCount> = FastMap::default();
        let mut damage = BTreeMap::new();
        for part in parts {
            survey.total += part.total;
            add_counts(&mut survey.by_header, part.by_header);
            add_counts(&mut survey.by_processor, part.by_processor);
            survey.misfits.append(part.misfits);
            survey.group_masks.extend(part.group_masks);
            survey.dropped.extend(part.dropped);
            survey.os_text = survey.os_text.take().max(part.os_text);
            damage.extend(part.damage);
            for (index, span) in part.spans {
                if let Some(slot) = survey.spans.get_mut(index as usize) {
                    *slot = Some(span);
                }
            }
            for (key, index) in part.index {
                let Some(count) = part.kinds.get(index) else { continue };
                kinds.entry(key).and_modify(|all| all.merge(count)).or_insert_with(|| count.clone());
            }
        }
        survey.damage = etl.damage.clone();
        damage.into_values().for_each(|log| survey.damage.append(log));
        survey.group_masks.sort();
        survey.kinds = kinds.into_values().collect();
        let order = |k: &KindCount| (std::cmp::Reverse(k.count), k.id, k.version, k.own_name.clone());
        survey.kinds.sort_by_cached_key(order);
        survey
    }

    /// Number of records of a kernel event, all versions.
    pub fn kernel_count(&self, hook: u16) -> u64 {
        let is = |k: &&KindCount| matches!(k.id, RecordId::Kernel(h) if h.0 == hook);
        self.kinds.iter().filter(is).map(|k| k.count).sum()
    }

    /// Earliest and latest time of a kernel event.
    pub fn kernel_span(&self, hook: u16) -> Option<(Ticks, Ticks)> {
        let is = |k: &&KindCount| matches!(k.id, RecordId::Kernel(h) if h.0 == hook);
        let mut found = self.kinds.iter().filter(is).map(|k| (k.first, k.last));
        let first = found.next()?;
        Some(found.fold(first, |all, k| (all.0.min(k.0), all.1.max(k.1))))
    }

    /// Latest stamp of the trace.
    pub fn last(&self) -> Option<Ticks> {
        self.spans.iter().flatten().map(|span| span.last).max()
    }
}

fn add_counts<K: Ord>(all: &mut BTreeMap<K, u64>, part: BTreeMap<K, u64>) {
    part.into_iter().for_each(|(key, count)| *all.entry(key).or_default() += count);
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

/// What is known of the buffer that is being walked.
#[derive(Debug, Default)]
struct Seen {
    span: Option<Span>,
    headers: Vec<(HeaderType, u64)>,
    previous: Ticks,
}

impl Seen {
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // the facts of a run, spelled out where they are known
    fn add(
        &mut self,
        header: HeaderType,
        records: u32,
        first: Ticks,
        earliest: Ticks,
        latest: Ticks,
        sorted: bool,
        last: Ticks,
    ) {
        match &mut self.span {
            Some(span) => {
                span.first = span.first.min(earliest);
                span.last = span.last.max(latest);
                span.records += records;
                span.sorted &= sorted && self.previous <= first;
            }
            None => self.span = Some(Span { first: earliest, last: latest, records, sorted }),
        }
        self.previous = last;
        match self.headers.iter_mut().find(|(kind, _)| *kind == header) {
            Some((_, count)) => *count += u64::from(records),
            None => self.headers.push((header, u64::from(records))),
        }
    }
}

/// A run of records of one kind that is not booked yet.
#[derive(Debug, Default)]
struct Tally {
    key: Option<Key>,
    at: usize,
    count: u64,
    bytes: u64,
    first: Ticks,
    last: Ticks,
}

/// What one thread has counted.
#[derive(Debug, Default)]
struct Part {
    total: u64,
    by_header: BTreeMap<HeaderType, u64>,
    by_processor: BTreeMap<u16, u64>,
    index: FastMap<Key, usize>,
    /// By kind: the buffer in which it was seen last.
    seen_in: Vec<u32>,
    kinds: Vec<KindCount>,
    misfits: Misfits,
    /// By buffer, so that the order of threads does not show.
    damage: BTreeMap<u32, DamageLog>,
    spans: Vec<(u32, Span)>,
    group_masks: Vec<GroupMasks>,
    dropped: BTreeSet<(u32, Ticks)>,
    os_text: Option<(u8, String)>,
}

impl Part {
    fn add<L: Listener>(&mut self, area: &Area<'_>, etl: &EtlFile, hasher: &RandomState, listener: &mut L) {
        let mut tally = Tally::default();
        let mut seen = Seen::default();
        let mut damage = DamageLog::default();
        let mut records = area.records();
        let mut time = etl.before_first();
        while let Some(raw) = records.next() {
            let hook = raw.hook();
            if let Some(taken) = hook.and_then(|hook| listener.take_run(area, &raw, hook, &mut records))
                && let Some(hook) = hook
            {
                let (first, last, earliest, latest) = taken.times;
                time = last;
                seen.add(raw.header, taken.records, first, earliest, latest, taken.sorted, last);
                let key = Key { id: RecordId::Kernel(hook), version: raw.kernel_version(), name_hash: 0 };
                self.count(&mut tally, key, None, first, area);
                tally.count += u64::from(taken.records);
                tally.bytes += taken.bytes;
                tally.first = tally.first.min(earliest);
                tally.last = tally.last.max(latest);
                continue;
            }
            time = raw.time().unwrap_or(time);
            seen.add(raw.header, 1, time, time, time, true, time);
            let record = raw.read().unwrap_or_else(|error| {
                damage.push(Damage {
                    offset: area.buffer.offset,
                    what: format!("header of record 0x{:x} of buffer {}", raw.position.offset, area.index),
                    expected: "fields inside the record".into(),
                    found: error.to_string(),
                });
                unread(&raw)
            });
            let name_hash = extended::event_name(record.extended).map_or(0, |name| hash(hasher, name.0));
            let key = Key { id: record.id, version: record.version, name_hash };
            self.count(&mut tally, key, Some(&record), time, area);
            tally.count += 1;
            tally.bytes += raw.bytes.len() as u64;
            tally.first = tally.first.min(time);
            tally.last = tally.last.max(time);
            if let Some(event) = self.decode(&record) {
                self.note(&event, time);
                listener.hear(area, &record, &event, time);
            }
        }
        self.flush(&mut tally);
        let count = seen.span.map_or(0, |s| u64::from(s.records));
        self.total += count;
        seen.headers.into_iter().for_each(|(kind, count)| *self.by_header.entry(kind).or_default() += count);
        if count > 0 {
            *self.by_processor.entry(area.buffer.processor).or_default() += count;
        }
        area.damage(&records).into_iter().for_each(|d| damage.push(d));
        if !damage.is_empty() {
            self.damage.insert(area.index, damage);
        }
        self.spans.extend(seen.span.map(|span| (area.index, span)));
    }

    /// Makes `tally` one of this kind. Records of a kind come in runs: a run is tallied and booked when it ends.
    #[inline(always)]
    fn count(&mut self, tally: &mut Tally, key: Key, record: Option<&Record<'_>>, time: Ticks, area: &Area<'_>) {
        if tally.key != Some(key) {
            self.flush(tally);
            let at = self.kind(key, record, time, area);
            *tally = Tally { key: Some(key), at, first: time, last: time, ..Tally::default() };
        }
    }

    /// Index of a kind, new or known.
    fn kind(&mut self, key: Key, record: Option<&Record<'_>>, time: Ticks, area: &Area<'_>) -> usize {
        let at = *self.index.entry(key).or_insert_with(|| {
            let extended = record.map_or(&[][..], |record| record.extended);
            self.kinds.push(KindCount {
                id: key.id,
                version: key.version,
                own_name: extended::event_name(extended).map(|n| n.to_string()),
                own_provider: extended::provider_name(extended).map(|n| n.to_string()),
                count: 0,
                bytes: 0,
                first: time,
                last: time,
                processors: BTreeSet::new(),
            });
            self.kinds.len() - 1
        });
        if let Some(kind) = self.kinds.get_mut(at)
            && self.seen_in.get(at) != Some(&area.index)
        {
            kind.processors.insert(area.buffer.processor);
            self.seen_in.resize(self.kinds.len(), u32::MAX);
            self.seen_in.iter_mut().skip(at).take(1).for_each(|seen| *seen = area.index);
        }
        at
    }

    fn flush(&mut self, tally: &mut Tally) {
        if let Some(kind) = self.kinds.get_mut(tally.at).filter(|_| tally.count > 0) {
            kind.count += tally.count;
            kind.bytes += tally.bytes;
            kind.first = kind.first.min(tally.first);
            kind.last = kind.last.max(tally.last);
        }
        tally.count = 0;
    }

    /// Decodes the payload and counts it when it does not fit.
    fn decode<'a>(&mut self, record: &Record<'a>) -> Option<Event<'a>> {
        match decode(record) {
            Decoded::NotDecoded => None,
            Decoded::Malformed(malformed) => {
                self.misfits.add(Misfit::Malformed(malformed), 1);
                None
            }
            Decoded::Event { event, surplus } => {
                surplus.into_iter().for_each(|surplus| self.misfits.add(Misfit::Surplus(surplus), 1));
                Some(event)
            }
        }
    }

    /// Keeps what the session and the system say about themselves.
    fn note(&mut self, event: &Event<'_>, time: Ticks) {
        // The most exact text wins: 3 = build with revision, 2 = product and build lab, 1 = build lab alone.
        let mut system = |exactness, text| self.os_text = self.os_text.take().max(Some((exactness, text)));
        match *event {
            Event::GroupMasks { phase, masks } => {
                let is_start = phase == MasksPhase::AfterChange;
                self.group_masks.push(GroupMasks { time, is_start, masks: masks.masks });
            }
            Event::LastDroppedTimes(times) => {
                let dropped = (0..).zip(times.times()).filter_map(|(cpu, time)| Some((cpu, Ticks(time? as i64))));
                self.dropped.extend(dropped);
            }
            Event::BuildLab(lab) => system(1, lab.to_string()),
            Event::Merged(Merged::Build { lab, product, .. }) => system(2, format!("{product}, {lab}")),
            Event::DeviceFamily(family) | Event::Merged(Merged::DeviceFamily(family)) => {
                let DeviceFamily { version: [major, minor, build, revision], .. } = family;
                if major != 0 {
                    system(3, format!("Windows {major}.{minor}.{build}.{revision}"));
                }
            }
            _ => {}
        }
    }
}

fn hash(hasher: &RandomState, bytes: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(bytes);
    state.finish().max(1)
}

/// A record whose header could not be read: only its kind is known.
fn unread<'a>(raw: &RawRecord<'a>) -> Record<'a> {
    Record {
        header: raw.header,
        id: RecordId::Opaque(raw.header),
        version: 0,
        pointer: raw.header.pointer(),
        thread_id: None,
        process_id: None,
        time: None,
        payload: &[],
        extended: &[],
        position: raw.position,
    }
}
