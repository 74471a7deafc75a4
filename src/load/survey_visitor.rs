//! The visitor that makes the survey: it counts every record by kind, header and processor, and collects damage.

use crate::error::{Damage, DamageByBuffer, DamageLog};
use crate::etl::EtlFile;
use crate::etl::buffer_order::Span;
use crate::etl::event_area::{EventArea, Records};
use crate::etl::extended_items;
use crate::etl::record::{HeaderError, HeaderType, RawRecord, Record};
use crate::etl::record_id::HookId;
use crate::etl::wrong_stamps::WrongStamps;
use crate::event::Event;
use crate::event::header_group::MasksPhase;
use crate::event::merged::AddedByMerge;
use crate::event::system_config::DeviceFamily;
use crate::load::count_only::CountOnly;
use crate::load::event_kind_counts::{KindCount, KindCounts, KindKey, Tallies, Tally};
use crate::load::misfitting_payloads::{Misfit, Misfits};
use crate::load::survey::{MasksChange, RecordingKey, Survey};
use crate::load::walk::{KindRun, Run, Visitor, walk};
use crate::units::Ticks;
use std::collections::{BTreeMap, BTreeSet};

impl Survey {
    /// Reads the whole trace and counts its records.
    pub fn new(etl: &EtlFile) -> Survey {
        Survey::with_visitors(etl, CountOnly::default).0
    }

    /// Reads the whole trace, counts its records, and passes them to visitors, one for each thread.
    pub fn with_visitors<V: Visitor>(etl: &EtlFile, visitor: impl Fn() -> V + Sync) -> (Survey, Vec<V>) {
        let parts = walk(etl, || (SurveyVisitor::default(), visitor()));
        let (parts, visitors): (Vec<SurveyVisitor>, Vec<V>) = parts.into_iter().unzip();
        (Survey::of_parts(etl, parts), visitors)
    }

    fn of_parts(etl: &EtlFile, parts: Vec<SurveyVisitor>) -> Survey {
        let mut survey = Survey { spans: vec![None; etl.buffers.len()], ..Survey::default() };
        let mut kinds = KindCounts::default();
        let mut damage = DamageByBuffer::default();
        for part in parts {
            survey.total += part.total;
            survey.untimed += part.untimed;
            add_counts(&mut survey.by_header, part.by_header);
            add_counts(&mut survey.by_processor, part.by_processor);
            survey.misfits.append(part.misfits);
            part.group_masks.into_iter().for_each(|masks| keep_first(&mut survey.group_masks, masks));
            survey.recordings.extend(part.recordings);
            part.dropped.into_iter().for_each(|(processor, time)| keep_last(&mut survey.dropped, processor, time));
            survey.os_text = survey.os_text.take().max(part.os_text);
            survey.has_two_computers |= part.has_two_computers || are_two(&survey.computer_name, &part.computer_name);
            survey.computer_name = survey.computer_name.take().max(part.computer_name);
            survey.machine_processors = survey.machine_processors.max(part.machine_processors);
            survey.largest_record = survey.largest_record.max(part.largest_record);
            survey.carried_stack_bytes += part.carried_stack_bytes;
            damage.append(part.damage);
            part.wrong_stamps.iter().for_each(|wrong| damage.insert(wrong.buffer(), wrong.damage(etl)));
            for (index, span) in part.spans {
                if let Some(slot) = survey.spans.get_mut(index as usize) {
                    *slot = Some(span);
                }
            }
            kinds.append(part.kinds);
        }
        records_behind(etl, &survey.spans).for_each(|(index, log)| damage.insert(index, log));
        survey.damage = etl.damage.clone();
        survey.damage.append(damage.into_log(|buffer| etl.file_of(buffer)));
        (survey.kinds, survey.unlisted) = kinds.finish();
        let order = |k: &KindCount| (std::cmp::Reverse(k.count), k.id, k.version, k.own_name.clone());
        survey.kinds.sort_by_cached_key(order);
        survey
    }
}

/// Records behind the Offset of their buffer and no older than those before it: the Offset is damaged, and they were not read. What is left
/// of an earlier use of the memory is older.
fn records_behind<'e>(etl: &'e EtlFile, spans: &'e [Option<Span>]) -> impl Iterator<Item = (u32, DamageLog)> + 'e {
    (0u32..).zip(spans).filter_map(|(index, span)| {
        let (offset, time) = etl.record_behind(index as usize)?;
        let used = etl.buffers.get(index as usize)?.used_bytes;
        span.is_none_or(|span| span.last <= time).then(|| {
            let mut log = DamageLog::default();
            log.push(Damage {
                offset,
                what: format!("Offset 0x{used:x} of buffer {index}"),
                expected: "filler behind it".into(),
                found: "a record, which was not read, as those behind it".into(),
            });
            (index, log)
        })
    })
}

fn keep_first(all: &mut BTreeSet<MasksChange>, masks: MasksChange) {
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

/// True for names of two computers.
fn are_two(one: &Option<String>, other: &Option<String>) -> bool {
    one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| !one.eq_ignore_ascii_case(other))
}

/// Time span and header kinds of the current buffer.
#[derive(Debug, Default)]
struct BufferShape {
    span: Option<Span>,
    headers: Vec<(HeaderType, u64)>,
    previous: Ticks,
}

impl BufferShape {
    #[inline(always)]
    fn add(&mut self, header: HeaderType, run: &Run) {
        self.add_span(run);
        self.add_header(header, run.records);
    }

    #[inline(always)]
    fn add_span(&mut self, run: &Run) {
        match &mut self.span {
            Some(span) => {
                span.first = span.first.min(run.earliest);
                span.last = span.last.max(run.latest);
                span.records += run.records;
                span.sorted &= run.sorted && self.previous <= run.first;
            }
            None => {
                let Run { earliest, latest, records, sorted, .. } = *run;
                self.span = Some(Span { first: earliest, last: latest, records, sorted });
            }
        }
        self.previous = run.last;
    }

    #[inline(always)]
    fn add_header(&mut self, header: HeaderType, records: u32) {
        match self.headers.iter_mut().find(|(kind, _)| *kind == header) {
            Some((_, count)) => *count += u64::from(records),
            None => self.headers.push((header, u64::from(records))),
        }
    }
}

/// What one thread has counted.
#[derive(Debug, Default)]
struct SurveyVisitor {
    total: u64,
    untimed: u64,
    by_header: BTreeMap<HeaderType, u64>,
    by_processor: BTreeMap<u16, u64>,
    kinds: KindCounts,
    misfits: Misfits,
    damage: DamageByBuffer,
    spans: Vec<(u32, Span)>,
    group_masks: BTreeSet<MasksChange>,
    recordings: BTreeSet<RecordingKey>,
    dropped: BTreeMap<u32, Ticks>,
    os_text: Option<(u8, String)>,
    computer_name: Option<String>,
    has_two_computers: bool,
    machine_processors: Option<u32>,
    largest_record: u32,
    carried_stack_bytes: u64,
    // Of the current buffer.
    tallies: Tallies,
    shape: BufferShape,
    buffer_damage: DamageLog,
    // Of all buffers.
    wrong_stamps: Vec<WrongStamps>,
}

impl Visitor for SurveyVisitor {
    #[inline(always)]
    fn run(&mut self, first: &RawRecord<'_>, hook: HookId, run: &Run, area: &EventArea<'_>) {
        self.shape.add(first.header, run);
        self.largest_record = self.largest_record.max(run.record_bytes as u32);
        self.tally(KindKey::kernel(hook, first.kernel_version()), None, run.first, area).add(run);
    }

    #[inline(always)]
    fn classic(&mut self, first: &RawRecord<'_>, run: &Run, area: &EventArea<'_>) {
        self.shape.add(first.header, run);
        self.largest_record = self.largest_record.max(run.record_bytes as u32);
        if let Ok(record) = first.read() {
            self.tally(KindKey::of(&record), Some(&record), run.first, area).add(run);
        }
    }

    #[inline(always)]
    fn mixed(&mut self, run: &Run) {
        self.shape.add_span(run);
    }

    fn kinds(&mut self, kinds: &[KindRun], area: &EventArea<'_>) {
        for KindRun { header, hook, version, run } in kinds {
            self.shape.add_header(*header, run.records);
            self.largest_record = self.largest_record.max(run.record_bytes as u32);
            self.tally(KindKey::kernel(*hook, *version), None, run.earliest, area).add(run);
        }
    }

    #[inline(always)]
    fn record(&mut self, raw: &RawRecord<'_>, record: &Record<'_>, time: Ticks, area: &EventArea<'_>) {
        match raw.time() {
            Some(own) if area.stamps.contains(own) => {}
            Some(own) => WrongStamps::note(&mut self.wrong_stamps, raw, own, area),
            None => self.untimed += 1,
        }
        let run = Run::new(time, raw.bytes.len());
        self.shape.add(raw.header, &run);
        self.largest_record = self.largest_record.max(raw.bytes.len() as u32);
        if !record.extended.is_empty() {
            self.carried_stack_bytes += extended_items::stack_bytes(record.extended);
        }
        self.tally(KindKey::of(record), Some(record), time, area).add(&run);
    }

    fn unreadable(&mut self, raw: &RawRecord<'_>, error: HeaderError, area: &EventArea<'_>) {
        let offset = raw.position.offset;
        self.buffer_damage.push(Damage {
            offset: area.file_offset(offset as usize),
            what: format!("header of the record at 0x{offset:x} of the event area of buffer {}", area.index),
            expected: "fields inside the record".into(),
            found: error.to_string(),
        });
    }

    fn misfit(&mut self, misfit: Misfit) {
        self.misfits.add(misfit, 1);
    }

    /// Keeps the events that describe the session and the system.
    #[inline]
    fn event(&mut self, _: &Record<'_>, event: &Event<'_>, time: Ticks, _: &EventArea<'_>) {
        // The most exact text is kept: 3 = build with revision, 2 = product and build lab, 1 = build lab alone.
        let mut system = |exactness, text| self.os_text = self.os_text.take().max(Some((exactness, text)));
        match *event {
            Event::LogFile(file) if self.recordings.len() < Survey::MOST_RECORDINGS => {
                self.recordings.insert(RecordingKey::of(&file.header));
            }
            Event::GroupMasks { phase, masks } => {
                let is_start = phase == MasksPhase::AfterChange;
                keep_first(&mut self.group_masks, MasksChange { time, is_start, masks: masks.masks });
            }
            Event::LastDroppedTimes(times) => {
                let dropped = (0..).zip(times.times()).filter_map(|(cpu, time)| Some((cpu, Ticks(time? as i64))));
                dropped.for_each(|(cpu, time)| keep_last(&mut self.dropped, cpu, time));
            }
            Event::Cpu(cpu) => {
                self.machine_processors = self.machine_processors.max(Some(cpu.processors));
                let name = Some(cpu.computer_name.to_string()).filter(|name| !name.is_empty());
                self.has_two_computers |= are_two(&self.computer_name, &name);
                self.computer_name = self.computer_name.take().max(name);
            }
            Event::ProcessorNumbers(numbers) => {
                self.machine_processors = self.machine_processors.max(Some(numbers.numbers().count() as u32));
            }
            Event::BuildLab(lab) => system(1, lab.to_string()),
            Event::Merged(AddedByMerge::Build { lab, product, .. }) => system(2, format!("{product}, {lab}")),
            Event::DeviceFamily(family) | Event::Merged(AddedByMerge::DeviceFamily(family)) => {
                let DeviceFamily { version: [major, minor, build, revision], .. } = family;
                if major != 0 {
                    system(3, format!("Windows {major}.{minor}.{build}.{revision}"));
                }
            }
            _ => {}
        }
    }

    fn end_of_buffer(&mut self, area: &EventArea<'_>, records: &Records<'_>) {
        self.tallies.slots.iter_mut().for_each(|tally| self.kinds.add_tally(tally));
        self.tallies = Tallies::default();
        let shape = std::mem::take(&mut self.shape);
        let count = shape.span.map_or(0, |span| u64::from(span.records));
        self.total += count;
        shape.headers.into_iter().for_each(|(kind, count)| *self.by_header.entry(kind).or_default() += count);
        if count > 0 {
            *self.by_processor.entry(area.buffer.processor).or_default() += count;
        }
        self.buffer_damage.append(area.damage(records));
        self.damage.insert(area.index, std::mem::take(&mut self.buffer_damage));
        self.spans.extend(shape.span.map(|span| (area.index, span)));
    }
}

impl SurveyVisitor {
    /// The tally of a kind. Only a few kinds alternate at a time: their records are summed up here, and the sums are added
    /// to `kinds` when other kinds follow.
    #[inline(always)]
    fn tally(&mut self, key: KindKey, record: Option<&Record<'_>>, time: Ticks, area: &EventArea<'_>) -> &mut Tally {
        let tallies = &mut self.tallies;
        let at = match tallies.slots.iter().position(|tally| tally.key == Some(key)) {
            Some(at) => at,
            None => {
                if self.kinds.is_full() {
                    tallies.slots.iter_mut().for_each(|tally| self.kinds.add_tally(&mut std::mem::take(tally)));
                }
                let at = tallies.oldest % Tallies::SLOTS;
                tallies.oldest = at + 1;
                let kind = self.kinds.index_of(key, record, time, area);
                let fresh = Tally { key: Some(key), at: kind, first: time, last: time, ..Tally::default() };
                self.kinds.add_tally(&mut std::mem::replace(&mut tallies.slots[at], fresh));
                at
            }
        };
        &mut tallies.slots[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Takes nothing.
    struct Bystander;

    impl Visitor for Bystander {}

    #[test]
    fn what_is_only_counted_counts_like_what_is_decoded() {
        for name in ["resident-small.etl", "refset-small.etl", "alloc-x86.etl"] {
            let etl = EtlFile::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)).unwrap();
            let counted = Survey::new(&etl);
            let (decoded, _) = Survey::with_visitors(&etl, || Bystander);
            assert!(counted.total > 1000);
            assert_eq!(format!("{counted:?}"), format!("{decoded:?}"), "{name}");
        }
    }
}
