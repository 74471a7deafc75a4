//! The survey: one parallel walk over all records that counts what is there.
//!
//! `pfnset events` prints its counts; `pfnset info` judges by them what a trace can be used for. Every record is
//! counted, also those that cannot be decoded, so totals always add up to the records of the file. Analyses take part
//! in the same walk as a [`Listener`]: what they need is collected while the bytes are at hand.

use crate::error::{Damage, DamageByBuffer, DamageLog};
use crate::etl::EtlFile;
use crate::etl::area::{Area, Records};
use crate::etl::order::Span;
use crate::etl::record::{HeaderType, HookId, RawRecord, Record, RecordId};
use crate::event::header::MasksPhase;
use crate::event::merged::Merged;
use crate::event::payload::hook_of;
use crate::event::system_config::DeviceFamily;
use crate::event::{Decoded, Event, Malformed, Surplus, decode};
use crate::load::kinds::{Key, KindCount, Kinds, Tallies, Tally};
use crate::units::Ticks;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

impl TakenRun {
    /// A run of one record; its bytes are added at the end.
    #[inline(always)]
    pub fn new(time: Ticks) -> TakenRun {
        TakenRun { records: 1, bytes: 0, times: (time, time, time, time), sorted: true }
    }

    /// Counts records that follow in the order of their stamps, up to `last`; the first is not before the one before it.
    #[inline(always)]
    pub fn add_sorted(&mut self, records: u32, last: Ticks) {
        self.records += records;
        self.times = (self.times.0, last, self.times.2, self.times.3.max(last));
    }

    /// Counts the next record.
    #[inline(always)]
    pub fn add(&mut self, time: Ticks) {
        self.records += 1;
        self.sorted &= self.times.1 <= time;
        self.times = (self.times.0, time, self.times.2.min(time), self.times.3.max(time));
    }
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
    /// Records without a time of their own (some messages, ERROR, unknown types): they count with the time of the
    /// record before them in their buffer.
    pub untimed: u64,
    /// Kinds beyond [`Survey::MOST_KINDS`], which are in no list: their records and bytes.
    pub unlisted: (u64, u64),
    /// Group masks in time order, at most [`Survey::MOST_MASKS`].
    pub group_masks: BTreeSet<GroupMasks>,
    /// Processors on which events were dropped, with the time of the last one (hook 0x0052).
    pub dropped: BTreeMap<u32, Ticks>,
    /// Exact operating system text from the configuration records, the most exact of what was found.
    pub os_text: Option<(u8, String)>,
}

impl Survey {
    /// Kinds of events that are told apart; a busy machine has a few thousand. The first in the order of ids are kept,
    /// kernel events before all others.
    pub const MOST_KINDS: usize = 32_768;

    /// Changes of the group masks that are kept; a session has a handful.
    pub const MOST_MASKS: usize = 10_000;

    /// Walks the whole trace.
    pub fn new(etl: &EtlFile) -> Survey {
        Survey::with_listeners(etl, || ()).0
    }

    /// Walks the whole trace with a listener for each thread. Which listener hears which buffer is left open.
    pub fn with_listeners<L: Listener>(etl: &EtlFile, listener: impl Fn() -> L + Sync) -> (Survey, Vec<L>) {
        let heard = etl.fold_buffers(
            || (Part::default(), listener()),
            |(part, listener), area| {
                part.add(area, etl, listener);
                listener.end_of_buffer();
            },
        );
        let (parts, listeners): (Vec<Part>, Vec<L>) = heard.into_iter().unzip();
        (Survey::of_parts(etl, parts), listeners)
    }

    fn of_parts(etl: &EtlFile, parts: Vec<Part>) -> Survey {
        let mut survey = Survey { spans: vec![None; etl.buffers.len()], ..Survey::default() };
        let mut kinds = Kinds::default();
        let mut damage = DamageByBuffer::default();
        for part in parts {
            survey.total += part.total;
            survey.untimed += part.untimed;
            add_counts(&mut survey.by_header, part.by_header);
            add_counts(&mut survey.by_processor, part.by_processor);
            survey.misfits.append(part.misfits);
            part.group_masks.into_iter().for_each(|masks| keep_first(&mut survey.group_masks, masks));
            part.dropped.into_iter().for_each(|(processor, time)| keep_last(&mut survey.dropped, processor, time));
            survey.os_text = survey.os_text.take().max(part.os_text);
            damage.append(part.damage);
            for (index, span) in part.spans {
                if let Some(slot) = survey.spans.get_mut(index as usize) {
                    *slot = Some(span);
                }
            }
            kinds.append(part.kinds);
        }
        survey.damage = etl.damage.clone();
        survey.damage.append(damage.into_log());
        (survey.kinds, survey.unlisted) = kinds.finish();
        let order = |k: &KindCount| (std::cmp::Reverse(k.count), k.id, k.version, k.own_name.clone());
        survey.kinds.sort_by_cached_key(order);
        survey
    }

    /// Every bit of the group masks that was on at some time.
    pub fn masks_ever_on(&self) -> [u32; 8] {
        self.group_masks.iter().fold([0; 8], |mut all, change| {
            all.iter_mut().zip(change.masks).for_each(|(all, mask)| *all |= mask);
            all
        })
    }

    /// Number of records of a kernel event, all versions, by hook id or under its class's GUID.
    pub fn kernel_count(&self, hook: HookId) -> u64 {
        let is = |k: &&KindCount| hook_of(k.id) == Some(hook);
        self.kinds.iter().filter(is).map(|k| k.count).sum()
    }

    /// Earliest and latest time of a kernel event.
    pub fn kernel_span(&self, hook: HookId) -> Option<(Ticks, Ticks)> {
        let is = |k: &&KindCount| hook_of(k.id) == Some(hook);
        let mut found = self.kinds.iter().filter(is).map(|k| (k.first, k.last));
        let first = found.next()?;
        Some(found.fold(first, |all, k| (all.0.min(k.0), all.1.max(k.1))))
    }

    /// Latest stamp of the trace.
    pub fn last(&self) -> Option<Ticks> {
        self.spans.iter().flatten().map(|span| span.last).max()
    }
}

fn keep_first(all: &mut BTreeSet<GroupMasks>, masks: GroupMasks) {
    all.insert(masks);
    if all.len() > Survey::MOST_MASKS {
        all.pop_last();
    }
}

fn keep_last(all: &mut BTreeMap<u32, Ticks>, processor: u32, time: Ticks) {
    all.entry(processor).and_modify(|last| *last = time.max(*last)).or_insert(time);
}

fn add_counts<K: Ord>(all: &mut BTreeMap<K, u64>, part: BTreeMap<K, u64>) {
    part.into_iter().for_each(|(key, count)| *all.entry(key).or_default() += count);
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

/// What one thread has counted.
#[derive(Debug, Default)]
struct Part {
    total: u64,
    untimed: u64,
    by_header: BTreeMap<HeaderType, u64>,
    by_processor: BTreeMap<u16, u64>,
    kinds: Kinds,
    misfits: Misfits,
    damage: DamageByBuffer,
    spans: Vec<(u32, Span)>,
    group_masks: BTreeSet<GroupMasks>,
    dropped: BTreeMap<u32, Ticks>,
    os_text: Option<(u8, String)>,
}

impl Part {
    fn add<L: Listener>(&mut self, area: &Area<'_>, etl: &EtlFile, listener: &mut L) {
        let mut tallies = Tallies::default();
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
                let key = Key::kernel(hook, raw.kernel_version());
                self.count(&mut tallies, key, None, first, area).add(taken.records, taken.bytes, earliest, latest);
                continue;
            }
            match raw.time() {
                Some(own) => time = own,
                None => self.untimed += 1,
            }
            seen.add(raw.header, 1, time, time, time, true, time);
            let record = raw.read().unwrap_or_else(|error| {
                damage.push(Damage {
                    offset: area.file_offset(raw.position.offset as usize),
                    what: format!(
                        "header of the record at 0x{:x} of the event area of buffer {}",
                        raw.position.offset, area.index
                    ),
                    expected: "fields inside the record".into(),
                    found: error.to_string(),
                });
                unread(&raw)
            });
            let key = Key::of(&record);
            self.count(&mut tallies, key, Some(&record), time, area).add(1, raw.bytes.len() as u64, time, time);
            if let Some(event) = self.decode(&record) {
                self.note(&event, time);
                listener.hear(area, &record, &event, time);
            }
        }
        tallies.slots.iter_mut().for_each(|tally| self.kinds.book(tally));
        let count = seen.span.map_or(0, |s| u64::from(s.records));
        self.total += count;
        seen.headers.into_iter().for_each(|(kind, count)| *self.by_header.entry(kind).or_default() += count);
        if count > 0 {
            *self.by_processor.entry(area.buffer.processor).or_default() += count;
        }
        area.damage(&records).into_iter().for_each(|d| damage.push(d));
        self.damage.insert(area.index, damage);
        self.spans.extend(seen.span.map(|span| (area.index, span)));
    }

    /// The tally of a kind. Few kinds are mixed at a time: their records are tallied, and booked when others come.
    #[inline(always)]
    fn count<'t>(
        &mut self,
        tallies: &'t mut Tallies,
        key: Key,
        record: Option<&Record<'_>>,
        time: Ticks,
        area: &Area<'_>,
    ) -> &'t mut Tally {
        let at = match tallies.slots.iter().position(|tally| tally.key == Some(key)) {
            Some(at) => at,
            None => {
                if self.kinds.is_full() {
                    tallies.slots.iter_mut().for_each(|tally| self.kinds.book(&mut std::mem::take(tally)));
                }
                let at = tallies.oldest % Tallies::SLOTS;
                tallies.oldest = at + 1;
                let kind = self.kinds.index_of(key, record, time, area);
                let fresh = Tally { key: Some(key), at: kind, first: time, last: time, ..Tally::default() };
                self.kinds.book(&mut std::mem::replace(&mut tallies.slots[at], fresh));
                at
            }
        };
        &mut tallies.slots[at]
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
                keep_first(&mut self.group_masks, GroupMasks { time, is_start, masks: masks.masks });
            }
            Event::LastDroppedTimes(times) => {
                let dropped = (0..).zip(times.times()).filter_map(|(cpu, time)| Some((cpu, Ticks(time? as i64))));
                dropped.for_each(|(cpu, time)| keep_last(&mut self.dropped, cpu, time));
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
