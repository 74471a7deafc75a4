//! Scheduling records: context switches, readied threads, samples, interrupts and deferred procedure calls as small values.
//!
//! They come in tens of millions. A [`SchedulingScan`] takes them in the walk over all records and keeps a few facts of each
//! buffer; a [`SchedulingReader`] reads a buffer's records later, when their turn comes. `analysis::cpu` interprets them.

use crate::etl::buffer_order::ranks;
use crate::etl::event_area::{EventArea, KnownHeads, Records};
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::etl::record::{HeaderType, RawRecord, Record};
use crate::etl::record_id::{HookId, Position};
use crate::etl::{EtlFile, Scratch};
use crate::event::cswitch::{CompactSwitches, ContextSwitch, ReadyThread, wait_reasons_of_build};
use crate::event::hooks::{
    COMPACT_CSWITCH, CSWITCH, ISR_MSI, PASSIVE_ISR, READY_THREAD, SAMPLED_PROFILE, SAMPLED_PROFILE_CACHE, THREADED_DPC,
};
use crate::event::outcome::Parsed;
use crate::event::perfinfo::{Dpc, Interrupt, InterruptKind, ProfileSample, initial_time};
use crate::event::{Decoded, Event, Payload, decode};
use crate::load::count_only::{CountOnly, CountedRecord};
use crate::load::interruptions::{Interruption, InterruptionEvent, interruption_of, of_dpc};
use crate::load::timed_records::{hook_and_time, order_of};
use crate::load::walk::{KindRun, Run, Visitor};
use crate::moment::Moment;
use crate::units::Ticks;

/// No thread, or an unknown one: the id by which headers and payloads of records say it.
pub const UNKNOWN_THREAD: u32 = u32::MAX;

/// The contents of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// A context switch.
    Switch {
        /// State of the old thread.
        state: u8,
        /// Wait reason of the old thread.
        reason: u8,
        /// Thread that runs from now on; 0 = idle. `None` of a compact switch: the one that the processor's next switch takes from it.
        new: Option<u32>,
        /// Thread that ran until now; 0 = idle.
        old: u32,
    },
    /// A thread became ready.
    Ready {
        /// True when a deferred procedure call readied it.
        from_dpc: bool,
        /// The thread.
        thread: u32,
        /// The thread that readied it, if the header names it, else [`UNKNOWN_THREAD`].
        waker: u32,
    },
    /// A sample of the profile timer.
    Sample {
        /// Bit 0: in a deferred procedure call, bit 1: in an interrupt.
        flags: u8,
        /// The thread.
        thread: u32,
        /// How many samples it stands for.
        count: u32,
    },
}

/// A record and when it was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulingEvent {
    /// When it was logged.
    pub moment: Moment,
    /// Its contents.
    pub what: Scheduling,
}

const _: () = assert!(size_of::<SchedulingEvent>() == 32);

/// Records of one processor.
#[derive(Debug, Clone, Default)]
pub struct SchedulingRecords {
    /// Switches, readied threads and samples. Those of a buffer are in order.
    pub events: Vec<SchedulingEvent>,
    /// Interrupts and deferred procedure calls as they were logged.
    pub interruptions: Vec<InterruptionEvent>,
    /// Records with an earlier stamp than the one before in the same file.
    pub went_back: u64,
    /// Latest stamp by file of the recording.
    latest: Vec<Ticks>,
    /// The switch that was read last.
    last_switch: Option<Ticks>,
}

impl SchedulingRecords {
    fn latest_of(&mut self, file: u16) -> Ticks {
        let file = usize::from(file);
        if self.latest.len() <= file {
            self.latest.resize(file + 1, Ticks(i64::MIN));
        }
        self.latest.get(file).copied().unwrap_or_default()
    }
}

/// What must be known of a buffer before its turn comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferFacts {
    /// Index of the buffer.
    pub buffer: u32,
    /// Earliest time in a record: interrupts begin before they are logged, and compact switches happen before.
    pub reaches_back_to: Option<Ticks>,
    /// First switch and its old thread.
    pub first_switch: Option<(Moment, u32)>,
    /// Time of the last switch.
    pub last_switch: Option<Ticks>,
}

impl BufferFacts {
    fn new(buffer: u32) -> BufferFacts {
        BufferFacts { buffer, reaches_back_to: None, first_switch: None, last_switch: None }
    }

    /// A switch at this time, which `read` reads where it may be the first one.
    #[inline(always)]
    fn switches(&mut self, time: Ticks, read: impl FnOnce() -> Option<(Moment, u32)>) {
        if self.first_switch.is_none_or(|(first, _)| time < first.time)
            && let Some((moment, old)) = read()
        {
            self.first_switch = Some((moment, old));
        }
        self.last_switch = self.last_switch.max(Some(time));
    }

    #[inline(always)]
    fn reaches(&mut self, time: Ticks) {
        self.reaches_back_to = Some(self.reaches_back_to.map_or(time, |earliest| earliest.min(time)));
    }

    fn switch(&mut self, moment: Moment, old: u32, last: Ticks) {
        if self.first_switch.is_none_or(|(first, _)| moment < first) {
            self.first_switch = Some((moment, old));
        }
        self.last_switch = self.last_switch.max(Some(last));
    }
}

/// A visitor of the walk over all records: counts scheduling records and keeps facts of their buffers.
#[derive(Debug)]
pub struct SchedulingScan<'r> {
    rank: &'r [u32],
    count_only: CountOnly,
    current: BufferFacts,
    is_used: bool,
    /// Facts of buffers with such records.
    pub facts: Vec<BufferFacts>,
}

impl<'r> SchedulingScan<'r> {
    /// A scan with the ranks of the buffers.
    pub fn new(rank: &'r [u32]) -> SchedulingScan<'r> {
        SchedulingScan {
            rank,
            count_only: CountOnly::default(),
            current: BufferFacts::new(0),
            is_used: false,
            facts: Vec::new(),
        }
    }
}

/// When a context switch was logged, and its old thread.
#[cold]
fn first_switch(record: &RawRecord<'_>, hook: HookId, area: &EventArea<'_>, rank: &[u32]) -> Option<(Moment, u32)> {
    let old = ContextSwitch::read(&payload(record, hook)?).ok()?.value.old_thread_id;
    Some((Moment { time: record.kernel_time()?, order: order_of(rank, area, record.position.offset) }, old))
}

impl Visitor for SchedulingScan<'_> {
    #[inline(always)]
    fn take_run(
        &mut self,
        first: &RawRecord<'_>,
        hook: HookId,
        area: &EventArea<'_>,
        _: &mut Records<'_>,
    ) -> Option<Run> {
        let is_interruption = interruption_of(hook).is_some();
        if !is_interruption && !matches!(hook, READY_THREAD | SAMPLED_PROFILE | CSWITCH) {
            return None;
        }
        self.is_used = true;
        let time = first.kernel_time().filter(|time| area.stamps.contains(*time))?;
        if !self.count_only.is_valid(first, hook) {
            return None;
        }
        self.count_only.note(first, hook);
        if hook == CSWITCH {
            self.current.switches(time, || first_switch(first, hook, area, self.rank));
        } else if is_interruption {
            self.current.reaches(initial_time(first.kernel_payload()?)?);
        }
        Some(Run::new(time, first.bytes.len()))
    }

    #[inline(always)]
    fn take_mixed(&mut self, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        let SchedulingScan { rank, count_only, current, is_used, .. } = self;
        let run = count_only.take_noted(area, rest, |CountedRecord { hook, time, payload, offset }| match hook {
            CSWITCH => current.switches(time, || {
                let record = area.records().at_offset(offset).next()?;
                first_switch(&record, hook, area, rank)
            }),
            READY_THREAD | SAMPLED_PROFILE => {}
            _ => initial_time(payload).into_iter().for_each(|time| current.reaches(time)),
        })?;
        *is_used = true;
        Some(run)
    }

    fn take_kinds(&mut self) -> Vec<KindRun> {
        self.count_only.take_kinds()
    }

    fn event(&mut self, record: &Record<'_>, event: &Event<'_>, time: Ticks, area: &EventArea<'_>) {
        let moment = Moment { time, order: order_of(self.rank, area, record.position.offset) };
        match event {
            Event::ContextSwitch(switch) => self.current.switch(moment, switch.old_thread_id, time),
            Event::CompactSwitches(batch) => {
                for switch in batch.switches() {
                    let time = plausible(area, switch.time, time);
                    self.current.reaches(time);
                    self.current.switch(Moment { time, ..moment }, switch.old_thread_id, time);
                }
            }
            Event::Interrupt { interrupt, .. } => self.current.reaches(interrupt.initial_time),
            Event::Dpc { dpc, .. } => self.current.reaches(dpc.initial_time),
            Event::ReadyThread(_) | Event::ProfileSample(_) | Event::ProfileBatch(_) => {}
            _ => return,
        }
        self.is_used = true;
    }

    fn end_of_buffer(&mut self, area: &EventArea<'_>, _: &Records<'_>) {
        let facts = std::mem::replace(&mut self.current, BufferFacts::new(0));
        if std::mem::take(&mut self.is_used) {
            self.facts.push(BufferFacts { buffer: area.index, ..facts });
        }
    }
}

/// The time of a switch in a batch; that of the batch when it cannot be true.
fn plausible(area: &EventArea<'_>, time: Ticks, logged: Ticks) -> Ticks {
    if area.stamps.contains(time) { time.min(logged) } else { logged }
}

#[inline(always)]
fn payload<'a>(raw: &RawRecord<'a>, hook: HookId) -> Option<Payload<'a>> {
    let (version, pointer) = (raw.kernel_version(), raw.header.pointer());
    Some(Payload { hook, version, pointer, bytes: raw.kernel_payload()? })
}

/// Reads scheduling records of a file.
#[derive(Debug)]
pub struct SchedulingReader<'e> {
    etl: &'e EtlFile,
    rank: Vec<u32>,
    /// Number of wait reasons of the Windows build, where it is known.
    wait_reasons: Option<u8>,
}

impl<'e> SchedulingReader<'e> {
    /// A reader of this file.
    pub fn new(etl: &'e EtlFile) -> SchedulingReader<'e> {
        let rank = ranks(&etl.buffers);
        SchedulingReader { etl, rank, wait_reasons: wait_reasons_of_build(etl.header.os_build) }
    }

    /// Adds a buffer's records to `found`, after those of the buffers before it on its processor. `scratch` is for
    /// decompression.
    pub fn read(&self, buffer: u32, scratch: &mut Scratch, found: &mut SchedulingRecords) {
        let area = &self.etl.area(buffer as usize, scratch);
        let begin = found.events.len();
        let file = usize::from(area.buffer.file);
        let mut latest = found.latest_of(area.buffer.file);
        let mut previous = latest;
        let is_of_one = self.etl.header.mode & MODE_NO_PER_PROCESSOR == 0;
        let mut reader = BufferReader { found, wait_reasons: self.wait_reasons, is_of_one, is_sorted: true };
        let rank = order_of(&self.rank, area, 0);
        let (mut records, mut time, mut heads) = (area.records(), self.etl.before_first(), KnownHeads::default());
        loop {
            // Nearly all records begin like one before.
            let (moment, taken) = if let Some((layout, bytes, offset)) = records.next_known::<KernelLayout>(&heads) {
                let own = RawRecord::time_in(bytes, usize::from(layout.time_at));
                time = if area.stamps.contains(own) { own } else { time };
                let moment = Moment { time, order: rank | u64::from(offset) };
                (moment, reader.kernel_record(&layout.payload(bytes), layout.logged_by(bytes), moment))
            } else if let Some(raw) = records.next() {
                let hook;
                (hook, time) = hook_and_time(area, &raw, time);
                let moment = Moment { time, order: rank | u64::from(raw.position.offset) };
                (moment, reader.record(&raw, hook, moment, area, &mut heads))
            } else {
                break;
            };
            if taken.is_some() {
                // All that follow one with a time far ahead are earlier than it; out of its place is the one after it.
                reader.found.went_back += u64::from(moment.time < previous);
                reader.is_sorted &= moment.time >= latest;
                (previous, latest) = (moment.time, latest.max(moment.time));
            }
        }
        let is_sorted = reader.is_sorted;
        found.latest.get_mut(file).into_iter().for_each(|slot| *slot = latest);
        if !is_sorted && let Some(own) = found.events.get_mut(begin..) {
            own.sort_by_key(|event| event.moment);
        }
    }
}

struct BufferReader<'f> {
    found: &'f mut SchedulingRecords,
    wait_reasons: Option<u8>,
    /// True when all records are of one processor.
    is_of_one: bool,
    /// False when a record may be of an earlier time than the one before.
    is_sorted: bool,
}

/// What the first eight bytes of a scheduling record with a kernel header say.
#[derive(Debug, Clone, Copy)]
struct KernelLayout {
    hook: HookId,
    header: HeaderType,
    version: u8,
    time_at: u8,
    payload_at: u8,
}

impl KernelLayout {
    #[inline(always)]
    fn payload<'a>(&self, bytes: &'a [u8]) -> Payload<'a> {
        let KernelLayout { hook, version, header, payload_at, .. } = *self;
        Payload { hook, version, pointer: header.pointer(), bytes: bytes.get(payload_at.into()..).unwrap_or_default() }
    }

    /// The thread that logged a record, where headers of its kind name it.
    #[inline(always)]
    fn logged_by(&self, bytes: &[u8]) -> Option<u32> {
        RawRecord { header: self.header, position: Position { buffer: 0, offset: 0 }, bytes }.kernel_ids().0
    }
}

impl BufferReader<'_> {
    /// Takes a record whose first eight bytes are new; `None` as for [`BufferReader::kernel_record`]. They are noted in `heads`.
    #[inline(never)]
    fn record(
        &mut self,
        raw: &RawRecord<'_>,
        hook: Option<HookId>,
        moment: Moment,
        area: &EventArea<'_>,
        heads: &mut KnownHeads<KernelLayout>,
    ) -> Option<()> {
        let Some(hook) = hook else { return self.decode(*raw, moment, area) };
        if matches!(hook, COMPACT_CSWITCH | SAMPLED_PROFILE_CACHE) {
            return self.decode(*raw, moment, area);
        }
        if interruption_of(hook).is_none() && !matches!(hook, CSWITCH | READY_THREAD | SAMPLED_PROFILE) {
            return None;
        }
        let payload = payload(raw, hook)?;
        let payload_at = raw.bytes.len() - payload.bytes.len();
        let (time_at, payload_at) = (raw.kernel_time_at() as u8, payload_at as u8);
        heads.note(raw, hook, KernelLayout { hook, header: raw.header, version: payload.version, time_at, payload_at });
        self.kernel_record(&payload, raw.kernel_ids().0, moment)
    }

    /// Takes a record with a kernel header; `None` if it does not fit its layout.
    #[inline(always)]
    fn kernel_record(&mut self, payload: &Payload<'_>, logged_by: Option<u32>, moment: Moment) -> Option<()> {
        let what = match payload.hook {
            CSWITCH => switch(&ContextSwitch::read(payload).ok()?.value),
            READY_THREAD => ready(&ReadyThread::read(payload).ok()?.value, logged_by),
            SAMPLED_PROFILE => sample(&ProfileSample::read(payload).ok()?.value),
            hook => {
                let kind = interruption_of(hook)?;
                // Both begin with the time and the routine; which lengths are valid differs.
                let (begin, routine) = if kind == Interruption::Isr {
                    let line = if hook == ISR_MSI { InterruptKind::Message } else { InterruptKind::Line };
                    let Parsed { value, .. } = Interrupt::read(payload, line).ok()?;
                    (value.initial_time, value.routine)
                } else {
                    let Parsed { value, .. } = Dpc::read(payload).ok()?;
                    (value.initial_time, value.routine)
                };
                self.interruption(moment, begin, routine, kind, !matches!(hook, PASSIVE_ISR | THREADED_DPC));
                return Some(());
            }
        };
        self.found.last_switch = if payload.hook == CSWITCH { Some(moment.time) } else { self.found.last_switch };
        self.found.events.push(SchedulingEvent { moment, what });
        Some(())
    }

    /// Decodes like any event: records that are logged under the GUID of their class, and batches.
    #[cold]
    #[inline(never)]
    fn decode(&mut self, raw: RawRecord<'_>, moment: Moment, area: &EventArea<'_>) -> Option<()> {
        let record = raw.read().ok()?;
        let Decoded::Event { event, .. } = decode(&record) else { return None };
        let what = match event {
            Event::ContextSwitch(found) => {
                self.found.last_switch = Some(moment.time);
                switch(&found)
            }
            Event::ReadyThread(found) => ready(&found, record.thread_id),
            Event::ProfileSample(found) => sample(&found),
            Event::ProfileBatch(batch) => {
                let events = batch.samples().map(|found| SchedulingEvent { moment, what: sample(&found) });
                self.found.events.extend(events);
                return Some(());
            }
            Event::CompactSwitches(batch) => {
                self.compact(&batch, moment, area);
                return Some(());
            }
            Event::Interrupt { kind, interrupt } => {
                let (begin, routine) = (interrupt.initial_time, interrupt.routine);
                self.interruption(moment, begin, routine, Interruption::Isr, kind != InterruptKind::Passive);
                return Some(());
            }
            Event::Dpc { kind, dpc } => {
                let (begin, routine, kind) = (dpc.initial_time, dpc.routine, of_dpc(kind));
                self.interruption(moment, begin, routine, kind, kind != Interruption::ThreadedDpc);
                return Some(());
            }
            _ => return None,
        };
        self.found.events.push(SchedulingEvent { moment, what });
        Some(())
    }

    fn compact(&mut self, batch: &CompactSwitches<'_>, moment: Moment, area: &EventArea<'_>) {
        self.is_sorted = false; // its switches happened before it was logged
        for switch in batch.switches() {
            let (state, reason) = switch.old_state(self.wait_reasons);
            let what = Scheduling::Switch { state, reason, new: None, old: switch.old_thread_id };
            let moment = Moment { time: plausible(area, switch.time, moment.time), ..moment };
            self.found.last_switch = Some(moment.time);
            self.found.events.push(SchedulingEvent { moment, what });
        }
    }

    /// Takes an interrupt; where `keeps_thread`, no other thread can come onto the processor until its end. Threaded calls and passive
    /// interrupts run in threads.
    #[inline(always)]
    fn interruption(&mut self, end: Moment, begin: Ticks, routine: u64, kind: Interruption, keeps_thread: bool) {
        let is_inside = |switch: Ticks| begin < switch && switch < end.time;
        let holds_switch = keeps_thread && self.is_of_one && self.found.last_switch.is_some_and(is_inside);
        self.found.interruptions.push(InterruptionEvent { end, begin, routine, kind, holds_switch });
    }
}

fn switch(found: &ContextSwitch) -> Scheduling {
    let ContextSwitch { old_state: state, old_wait_reason: reason, .. } = *found;
    Scheduling::Switch { state, reason, new: Some(found.new_thread_id), old: found.old_thread_id }
}

fn ready(found: &ReadyThread, logged_by: Option<u32>) -> Scheduling {
    let waker = logged_by.unwrap_or(UNKNOWN_THREAD);
    Scheduling::Ready { from_dpc: found.flags & ReadyThread::FROM_DPC != 0, thread: found.thread_id, waker }
}

fn sample(found: &ProfileSample) -> Scheduling {
    Scheduling::Sample { flags: found.flags, thread: found.thread_id, count: u32::from(found.count.max(1)) }
}
