//! Events of one process id's address space, most of which stay in the file.
//!
//! Rundowns list hundreds of thousands of regions and views, process by process. Keeping each of them in memory would cost
//! more time and memory than reading it again when its process is examined, so consecutive records become one
//! [`RundownRun`] that says where they lie. Events of compressed buffers are all kept in memory.

use crate::etl::EtlFile;
use crate::etl::event_area::{EventArea, Records};
use crate::etl::record::RawRecord;
use crate::etl::record_id::HookId;
use crate::event::file_name_and_view::MapView;
use crate::event::hooks::{MAP_FILE_DC_END, MAP_FILE_DC_START, VIRTUAL_ALLOC_DC_END, VIRTUAL_ALLOC_DC_START};
use crate::event::virtual_memory::VirtualRange;
use crate::event::{Parsed, Payload, Phase};
use crate::load::owned_events::SpaceEvent;
use crate::load::walk::Run;
use crate::moment::{At, Moment};
use crate::units::{PointerSize, Ticks, is_kernel_address};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::borrow::Cow;

/// Consecutive plain rundown records of one process id in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RundownRun {
    /// When the first was logged.
    pub first: Moment,
    /// Earliest and latest stamp.
    pub times: (Ticks, Ticks),
    /// Which event they are.
    pub hook: HookId,
    buffer: u32,
    /// Offset of the first record in the event area.
    start: u32,
    records: u32,
}

/// True for the hooks of rundowns with hundreds of thousands of records.
pub(crate) const fn is_many(hook: HookId) -> bool {
    matches!(hook, VIRTUAL_ALLOC_DC_START | VIRTUAL_ALLOC_DC_END | MAP_FILE_DC_START | MAP_FILE_DC_END)
}

/// What the records of a run have in common, so that it is found once: all have the same first 8 bytes.
#[derive(Debug, Clone, Copy)]
struct Form {
    hook: HookId,
    version: u8,
    pointer: PointerSize,
    /// Offsets in a record.
    payload_at: usize,
    time_at: usize,
}

impl Form {
    /// The form of a record with this hook, and of all like it.
    #[inline(always)]
    fn of(first: &RawRecord<'_>, hook: HookId) -> Option<Form> {
        Some(Form {
            hook,
            version: first.kernel_version(),
            pointer: first.header.pointer(),
            payload_at: first.bytes.len() - first.kernel_payload()?.len(),
            time_at: first.kernel_time_at(),
        })
    }

    /// Raw time of a record.
    #[inline(always)]
    fn time(&self, record: &[u8]) -> Ticks {
        RawRecord::time_in(record, self.time_at)
    }

    /// Reads a plain rundown record: its process id and event. `None` if it does not fit its layout, its process has no id
    /// yet, or it is about kernel addresses; such records are decoded like all other events.
    #[inline(always)]
    fn read(&self, record: &[u8]) -> Option<(u32, SpaceEvent)> {
        let Form { hook, version, pointer, .. } = *self;
        let payload = Payload { hook, version, pointer, bytes: record.get(self.payload_at..)? };
        let phase = phase_of(hook);
        if matches!(hook, VIRTUAL_ALLOC_DC_START | VIRTUAL_ALLOC_DC_END) {
            let Parsed { value: range, oddity: None } = VirtualRange::read_rundown(&payload).ok()? else { return None };
            let VirtualRange { base, size_bytes: size, flags, process_id, .. } = range;
            return Some((process_id, SpaceEvent::Region { phase, base, size, flags }));
        }
        let Parsed { value: view, oddity: None } = MapView::read(&payload).ok()? else { return None };
        if view.process_id == 0 || is_kernel_address(view.base, pointer) {
            return None;
        }
        let MapView { base, file_key, size_bytes: size, process_id, .. } = view;
        Some((process_id, SpaceEvent::View { phase, base, size, file_key, kind: view.kind() }))
    }
}

const fn phase_of(hook: HookId) -> Phase {
    if matches!(hook, VIRTUAL_ALLOC_DC_START | MAP_FILE_DC_START) { Phase::DcStart } else { Phase::DcEnd }
}

impl RundownRun {
    /// True for regions, false for views.
    pub const fn is_of_regions(&self) -> bool {
        matches!(self.hook, VIRTUAL_ALLOC_DC_START | VIRTUAL_ALLOC_DC_END)
    }

    /// Start or end rundown.
    pub const fn phase(&self) -> Phase {
        phase_of(self.hook)
    }

    /// Takes `first` and the records of the same kind that follow it, of any process; `note` gets a run for each process.
    /// `None`, and nothing is taken, when `first` is not a plain record.
    pub fn take(
        area: &EventArea<'_>,
        first: &RawRecord<'_>,
        hook: HookId,
        rest: &mut Records<'_>,
        moment: impl Fn(u32, Ticks) -> Moment,
        mut note: impl FnMut(u32, RundownRun),
    ) -> Option<Run> {
        let begin = |raw: &RawRecord<'_>, time: Ticks| RundownRun {
            first: moment(raw.position.offset, time),
            times: (time, time),
            hook,
            buffer: area.index,
            start: raw.position.offset,
            records: 1,
        };
        let form = Form::of(first, hook)?;
        let (mut process_id, time) = (form.read(first.bytes)?.0, area.time_of(first)?);
        let mut run = begin(first, time);
        let mut taken = Run::new(time, first.bytes.len());
        while let Some(raw) = rest.next_alike(first) {
            let time = form.time(raw.bytes);
            let Some((id, _)) = form.read(raw.bytes).filter(|_| area.stamps.contains(time)) else {
                rest.go_back_to(raw.position.offset);
                break;
            };
            taken.add(time);
            if id == process_id {
                run.records += 1;
                run.times = (run.times.0.min(time), run.times.1.max(time));
            } else {
                note(std::mem::replace(&mut process_id, id), std::mem::replace(&mut run, begin(&raw, time)));
            }
        }
        note(process_id, run);
        Some(taken)
    }

    /// Reads the records again from the file.
    fn read_again(&self, etl: &EtlFile, events: &mut Vec<At<SpaceEvent>>) {
        self.read(&etl.area_over(self.buffer, &[]), events);
    }

    fn read(&self, area: &EventArea<'_>, events: &mut Vec<At<SpaceEvent>>) {
        let mut records = area.records().at_offset(self.start);
        let Some(first) = records.next().filter(|raw| raw.hook() == Some(self.hook)) else { return };
        let Some(form) = Form::of(&first, self.hook) else { return };
        let rest = records.alike(&first, (self.records as usize).saturating_sub(1));
        events.reserve(self.records as usize);
        let mut add = |offset: u32, record: &[u8]| {
            if let Some((_, value)) = form.read(record) {
                let order = self.first.order.saturating_add(u64::from(offset.saturating_sub(self.start)));
                events.push(At { moment: Moment { time: form.time(record), order }, value });
            }
        };
        add(self.start, first.bytes);
        rest.parts(0).enumerate().for_each(|(number, record)| add(rest.offset_of(number), record));
    }
}

/// The events of one process id.
#[derive(Debug, Clone, Default)]
pub struct SpaceEvents {
    /// Events in memory, in order.
    kept: Vec<At<SpaceEvent>>,
    /// Where the other events lie, in order of their first records.
    runs: Vec<RundownRun>,
}

impl SpaceEvents {
    /// From events in order.
    pub fn new(kept: Vec<At<SpaceEvent>>) -> SpaceEvents {
        SpaceEvents { kept, runs: Vec::new() }
    }

    /// Adds an event.
    pub(crate) fn push(&mut self, event: At<SpaceEvent>) {
        self.kept.push(event);
    }

    /// Adds a run of buffer `area`. If the buffer is compressed the run is read now, because several processes share it and
    /// it would have to be decompressed for each of them.
    pub(crate) fn push_run(&mut self, area: &EventArea<'_>, run: RundownRun) {
        match area.buffer.is_compressed() {
            true => run.read(area, &mut self.kept),
            false => self.runs.push(run),
        }
    }

    /// Adds another thread's events.
    pub(crate) fn append(&mut self, other: &mut SpaceEvents) {
        self.kept.append(&mut other.kept);
        self.runs.append(&mut other.runs);
    }

    /// Sorts the events and the runs.
    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|event| event.moment);
        self.runs.sort_unstable_by_key(|run| run.first);
    }

    /// The events in memory, in order.
    pub fn kept(&self) -> &[At<SpaceEvent>] {
        &self.kept
    }

    /// The runs, in order.
    pub(crate) fn runs(&self) -> &[RundownRun] {
        &self.runs
    }

    /// Reads the wanted runs into memory.
    pub(crate) fn unroll(&mut self, etl: &EtlFile, is_wanted: impl Fn(&RundownRun) -> bool) {
        if self.runs.iter().any(&is_wanted) {
            for run in self.runs.extract_if(.., |run| is_wanted(run)) {
                run.read_again(etl, &mut self.kept);
            }
            self.kept.sort_by_key(|event| event.moment);
        }
    }

    /// All events in order; those in the file are copied.
    fn unrolled(&self, etl: &EtlFile) -> Cow<'_, [At<SpaceEvent>]> {
        if self.runs.is_empty() {
            return Cow::Borrowed(&self.kept);
        }
        let mut reader = SpaceReader::default();
        self.read(etl, &mut reader);
        Cow::Owned(reader.events)
    }

    /// All events in order; they borrow `reader`, which is reused for the next process.
    pub fn read<'r>(&'r self, etl: &EtlFile, reader: &'r mut SpaceReader) -> &'r [At<SpaceEvent>] {
        if self.runs.is_empty() {
            return &self.kept;
        }
        let events = &mut reader.events;
        events.clear();
        // Few events happen during a run, so this is nearly always the order of time already.
        let mut kept = self.kept.as_slice();
        for run in &self.runs {
            let (before, after) = kept.split_at(kept.partition_point(|event| event.moment < run.first));
            events.extend_from_slice(before);
            run.read_again(etl, events);
            kept = after;
        }
        events.extend_from_slice(kept);
        if !events.is_sorted_by_key(|event| event.moment) {
            events.sort_by_key(|event| event.moment);
        }
        events
    }
}

/// The events of all address spaces in memory, for callers that process them event by event.
#[derive(Debug, Default)]
pub struct UnrolledSpaces<'e> {
    by_process_id: FastMap<u32, Cow<'e, [At<SpaceEvent>]>>,
}

impl<'e> UnrolledSpaces<'e> {
    /// Reads what lies in the file.
    pub fn new(spaces: &'e FastMap<u32, SpaceEvents>, etl: &EtlFile) -> UnrolledSpaces<'e> {
        let unrolled = spaces.par_iter().map(|(id, events)| (*id, events.unrolled(etl)));
        UnrolledSpaces { by_process_id: unrolled.collect() }
    }

    /// The events of a process id, in order.
    pub fn of(&self, process_id: u32) -> &[At<SpaceEvent>] {
        self.by_process_id.get(&process_id).map_or(&[], |events| events)
    }
}

/// Reusable memory for the events of one process.
#[derive(Debug, Default)]
pub struct SpaceReader {
    events: Vec<At<SpaceEvent>>,
}

#[cfg(test)]
mod tests {
    use crate::etl::EtlFile;
    use crate::load::history::History;
    use crate::load::owned_events::SpaceEvent;
    use crate::load::space_events::{SpaceReader, UnrolledSpaces};
    use crate::load::trace_parts::Parts;
    use std::path::Path;

    #[test]
    fn what_stays_in_the_file_is_what_would_be_kept() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/resident-small.etl");
        let etl = EtlFile::open(Path::new(fixture)).unwrap();
        let (_, history) = History::new(&etl, Parts::SPACES);
        let whole = UnrolledSpaces::new(&history.spaces.by_process_id, &etl);
        let (mut reader, mut rundowns, mut kept) = (SpaceReader::default(), 0, 0);
        for (process_id, events) in &history.spaces.by_process_id {
            kept += events.kept().len();
            let read = events.read(&etl, &mut reader);
            assert!(read.is_sorted_by_key(|event| event.moment), "process {process_id}");
            let mut unrolled = events.clone();
            unrolled.unroll(&etl, |_| true);
            assert_eq!((read, unrolled.runs().len()), (unrolled.kept(), 0), "process {process_id}");
            assert_eq!(read, whole.of(*process_id), "process {process_id}");
            let is_listed = |event: &SpaceEvent| matches!(event, SpaceEvent::Region { .. } | SpaceEvent::View { .. });
            rundowns += read.iter().filter(|event| is_listed(&event.value)).count();
        }
        assert!(rundowns > 100 && kept < rundowns, "{rundowns} listed, {kept} kept");
    }
}
