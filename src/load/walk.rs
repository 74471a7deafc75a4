//! The walk over all records of a trace: buffers are read in parallel, and each record is passed to visitors once.
//!
//! Header and payload of a record are decoded once for all visitors. A visitor that does not need the decoded content of
//! millions of records takes them in runs instead.

use crate::etl::EtlFile;
use crate::etl::event_area::{EventArea, Records};
use crate::etl::record::{HeaderError, HeaderType, RawRecord, Record};
use crate::etl::record_id::HookId;
use crate::event::{Decoded, Event, decode};
use crate::load::misfitting_payloads::Misfit;
use crate::units::Ticks;

/// Receives the records of a walk. There is one visitor for each thread; which one gets which buffer is not determined.
#[allow(unused_variables)] // the names document the arguments
pub trait Visitor: Send {
    /// Called for each kernel record before it is decoded. The visitor may take `first` and any number of records of the
    /// same kind and version that directly follow it in `rest`; records that it takes are not decoded.
    #[inline(always)]
    fn take_run(
        &mut self,
        first: &RawRecord<'_>,
        hook: HookId,
        area: &EventArea<'_>,
        rest: &mut Records<'_>,
    ) -> Option<Run> {
        None
    }

    /// Called for each run that a visitor took.
    #[inline(always)]
    fn run(&mut self, first: &RawRecord<'_>, hook: HookId, run: &Run, area: &EventArea<'_>) {}

    /// The same for a record without a hook id: records of heaps come with the GUID of their class.
    #[inline(always)]
    fn take_classic(&mut self, first: &RawRecord<'_>, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        None
    }

    /// Called for each such run.
    #[inline(always)]
    fn classic(&mut self, first: &RawRecord<'_>, run: &Run, area: &EventArea<'_>) {}

    /// Called before each record. The visitor may take any number of the next records, of several kinds, that it only counts.
    #[inline(always)]
    fn take_mixed(&mut self, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        None
    }

    /// Called for each such run; its records have no common size.
    #[inline(always)]
    fn mixed(&mut self, run: &Run) {}

    /// Called after the last record of each buffer: the kinds of these runs, without those that there are none of.
    fn take_kinds(&mut self) -> Vec<KindRun> {
        Vec::new()
    }

    /// Called with them.
    fn kinds(&mut self, kinds: &[KindRun], area: &EventArea<'_>) {}

    /// Called for each record that was not taken. Its time is its own, or else that of the record before it.
    #[inline(always)]
    fn record(&mut self, raw: &RawRecord<'_>, record: &Record<'_>, time: Ticks, area: &EventArea<'_>) {}

    /// Called before `record` when the header of that record cannot be read.
    fn unreadable(&mut self, raw: &RawRecord<'_>, error: HeaderError, area: &EventArea<'_>) {}

    /// Called after `record` when the payload of that record does not fit its layout.
    fn misfit(&mut self, misfit: Misfit) {}

    /// Called after `record` with the decoded payload of that record.
    #[inline(always)]
    fn event(&mut self, record: &Record<'_>, event: &Event<'_>, time: Ticks, area: &EventArea<'_>) {}

    /// Called after the last record of each buffer.
    fn end_of_buffer(&mut self, area: &EventArea<'_>, records: &Records<'_>) {}
}

/// Records of one kind and version that were taken together.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Number of records, at least one.
    pub records: u32,
    /// Bytes of each record, with its header.
    pub record_bytes: usize,
    /// Stamp of the first.
    pub first: Ticks,
    /// Stamp of the last.
    pub last: Ticks,
    /// Earliest stamp.
    pub earliest: Ticks,
    /// Latest stamp.
    pub latest: Ticks,
    /// True when no stamp is smaller than the one before it.
    pub sorted: bool,
}

impl Run {
    /// No records.
    pub const NONE: Run = Run {
        records: 0,
        record_bytes: 0,
        first: Ticks(i64::MAX),
        last: Ticks(i64::MIN),
        earliest: Ticks(i64::MAX),
        latest: Ticks(i64::MIN),
        sorted: true,
    };

    /// A run of one record of this many bytes.
    #[inline(always)]
    pub fn new(time: Ticks, record_bytes: usize) -> Run {
        Run { records: 1, record_bytes, first: time, last: time, earliest: time, latest: time, sorted: true }
    }

    /// Bytes of all records.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        u64::from(self.records) * self.record_bytes as u64
    }

    /// Adds records whose stamps do not fall, neither among themselves nor from the run's last record; `last` is the last
    /// stamp.
    #[inline(always)]
    pub fn add_sorted(&mut self, records: u32, last: Ticks) {
        self.records += records;
        (self.last, self.latest) = (last, self.latest.max(last));
    }

    /// Adds one record of the same size.
    #[inline(always)]
    pub fn add(&mut self, time: Ticks) {
        self.records += 1;
        self.sorted &= self.last <= time;
        (self.last, self.earliest, self.latest) = (time, self.earliest.min(time), self.latest.max(time));
    }
}

/// The records of one kind in runs of several kinds.
#[derive(Debug, Clone, Copy)]
pub struct KindRun {
    /// Their header.
    pub header: HeaderType,
    /// Their hook id.
    pub hook: HookId,
    /// Their version.
    pub version: u8,
    /// Themselves, as far as it is known: number, size, earliest and latest stamp.
    pub run: Run,
}

/// Reads the whole trace with one visitor for each thread.
pub fn walk<V: Visitor>(etl: &EtlFile, visitor: impl Fn() -> V + Sync) -> Vec<V> {
    etl.fold_buffers(visitor, |visitor, area| walk_area(etl.before_first(), area, visitor))
}

fn walk_area<V: Visitor>(before_first: Ticks, area: &EventArea<'_>, visitor: &mut V) {
    let mut records = area.records();
    let mut time = before_first;
    loop {
        if let Some(run) = visitor.take_mixed(area, &mut records) {
            time = run.last;
            visitor.mixed(&run);
        }
        let Some(raw) = records.next() else { break };
        if let Some(hook) = raw.hook() {
            if let Some(run) = visitor.take_run(&raw, hook, area, &mut records) {
                time = run.last;
                visitor.run(&raw, hook, &run, area);
                continue;
            }
        } else if let Some(run) = visitor.take_classic(&raw, area, &mut records) {
            time = run.last;
            visitor.classic(&raw, &run, area);
            continue;
        }
        time = area.time_of(&raw).unwrap_or(time);
        let record = raw.read().unwrap_or_else(|error| {
            visitor.unreadable(&raw, error, area);
            unread(&raw)
        });
        visitor.record(&raw, &record, time, area);
        match decode(&record) {
            Decoded::NotDecoded => {}
            Decoded::Malformed(malformed) => visitor.misfit(Misfit::Malformed(malformed)),
            Decoded::Event { event, surplus } => {
                surplus.into_iter().for_each(|surplus| visitor.misfit(Misfit::Surplus(surplus)));
                visitor.event(&record, &event, time, area);
            }
        }
    }
    let kinds = visitor.take_kinds();
    if !kinds.is_empty() {
        visitor.kinds(&kinds, area);
    }
    visitor.end_of_buffer(area, &records);
}

/// Stands for a record whose header cannot be read: only its kind is known.
fn unread<'a>(raw: &RawRecord<'a>) -> Record<'a> {
    Record { payload: &[], ..Record::unread(*raw) }
}

/// A visitor that wants nothing.
impl Visitor for () {}

/// Two visitors in one walk; the first one is asked first whether it takes a run.
impl<A: Visitor, B: Visitor> Visitor for (A, B) {
    #[inline(always)]
    fn take_run(
        &mut self,
        first: &RawRecord<'_>,
        hook: HookId,
        area: &EventArea<'_>,
        rest: &mut Records<'_>,
    ) -> Option<Run> {
        self.0.take_run(first, hook, area, rest).or_else(|| self.1.take_run(first, hook, area, rest))
    }

    #[inline(always)]
    fn run(&mut self, first: &RawRecord<'_>, hook: HookId, run: &Run, area: &EventArea<'_>) {
        self.0.run(first, hook, run, area);
        self.1.run(first, hook, run, area);
    }

    #[inline(always)]
    fn take_classic(&mut self, first: &RawRecord<'_>, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        self.0.take_classic(first, area, rest).or_else(|| self.1.take_classic(first, area, rest))
    }

    #[inline(always)]
    fn classic(&mut self, first: &RawRecord<'_>, run: &Run, area: &EventArea<'_>) {
        self.0.classic(first, run, area);
        self.1.classic(first, run, area);
    }

    #[inline(always)]
    fn take_mixed(&mut self, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        self.0.take_mixed(area, rest).or_else(|| self.1.take_mixed(area, rest))
    }

    #[inline(always)]
    fn mixed(&mut self, run: &Run) {
        self.0.mixed(run);
        self.1.mixed(run);
    }

    fn take_kinds(&mut self) -> Vec<KindRun> {
        let mut kinds = self.0.take_kinds();
        kinds.append(&mut self.1.take_kinds());
        kinds
    }

    fn kinds(&mut self, kinds: &[KindRun], area: &EventArea<'_>) {
        self.0.kinds(kinds, area);
        self.1.kinds(kinds, area);
    }

    #[inline(always)]
    fn record(&mut self, raw: &RawRecord<'_>, record: &Record<'_>, time: Ticks, area: &EventArea<'_>) {
        self.0.record(raw, record, time, area);
        self.1.record(raw, record, time, area);
    }

    fn unreadable(&mut self, raw: &RawRecord<'_>, error: HeaderError, area: &EventArea<'_>) {
        self.0.unreadable(raw, error, area);
        self.1.unreadable(raw, error, area);
    }

    fn misfit(&mut self, misfit: Misfit) {
        self.0.misfit(misfit);
        self.1.misfit(misfit);
    }

    #[inline(always)]
    fn event(&mut self, record: &Record<'_>, event: &Event<'_>, time: Ticks, area: &EventArea<'_>) {
        self.0.event(record, event, time, area);
        self.1.event(record, event, time, area);
    }

    fn end_of_buffer(&mut self, area: &EventArea<'_>, records: &Records<'_>) {
        self.0.end_of_buffer(area, records);
        self.1.end_of_buffer(area, records);
    }
}
