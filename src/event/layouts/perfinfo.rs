//! PerfInfo group: marks, profile samples and their intervals, interrupts, deferred procedure calls.
//!
//! Sources: `docs/formats.md` ("PerfInfo"). Samples, intervals and marks were checked on recorded traces; interrupts
//! and deferred procedure calls are after the Windows MOF only.

use crate::byte_reader::{Narrow, Wide, each, layout, size};
use crate::event::outcome::{Fault, Oddity, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use crate::units::{PointerSize, Ticks};
use zerocopy::little_endian::{I64, U16, U32};

crate::event::hooks_macro::hooks! {
    MARK = 0x0f22, "PerfInfo: Mark", "Mark";
    ASYNC_MARK = 0x0f24, "PerfInfo: AsyncMark";
    SAMPLED_PROFILE = 0x0f2e, "PerfInfo: SampledProfile", "SampledProfile";
    ISR_MSI = 0x0f32, "PerfInfo: ISR-MSI", "Interrupt";
    SAMPLED_PROFILE_CACHE = 0x0f37, "PerfInfo: SampledProfileCache";
    THREADED_DPC = 0x0f42, "PerfInfo: ThreadedDPC", "Dpc";
    ISR = 0x0f43, "PerfInfo: ISR", "Interrupt";
    DPC = 0x0f44, "PerfInfo: DPC", "Dpc";
    TIMER_DPC = 0x0f45, "PerfInfo: TimerDPC", "Dpc";
    PROFILE_INTERVAL_SET = 0x0f48, "PerfInfo: ProfileIntervalSet";
    PROFILE_INTERVAL_DC_START = 0x0f49, "PerfInfo: ProfileIntervalDCStart";
    PROFILE_INTERVAL_DC_END = 0x0f4a, "PerfInfo: ProfileIntervalDCEnd";
    PASSIVE_ISR = 0x0f5f, "PerfInfo: PassiveISR", "Interrupt";
}

/// `0x0f22` (mark) and `0x0f24` (asynchronous mark): a text that a tool or a user put into the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// True for `0x0f24`, whose layout is not public.
    pub asynchronous: bool,
    /// The text; if an asynchronous mark is not a text with a NUL, all its bytes.
    pub text: Narrow<'a>,
}

impl<'a> Mark<'a> {
    /// Decodes a string with up to 2 zero bytes of padding after its NUL.
    ///
    /// # Errors
    /// A fault when a mark's text has no NUL; never for an asynchronous mark.
    pub fn read(payload: &Payload<'a>, asynchronous: bool) -> Read<Mark<'a>> {
        let mut c = payload.cursor();
        let whole = Mark { asynchronous, text: Narrow(payload.bytes) };
        let text = match c.narrow("mark") {
            Ok(text) => text,
            Err(_) if asynchronous => return Ok(Parsed::new(whole, None)),
            Err(error) => return Err(error.into()),
        };
        let padding = matches!(c.rest(), [] | [0] | [0, 0]);
        if asynchronous && !padding {
            return Ok(Parsed::new(whole, None));
        }
        let oddity = (!padding).then_some(Oddity::Longer { parsed: c.position() });
        Ok(Parsed::new(Mark { asynchronous, text }, oddity))
    }
}

/// `0x0f2e` SampledProfile: what a processor did when the profile timer or a counter fired. 16/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileSample {
    /// Instruction pointer.
    pub instruction: u64,
    /// Thread that ran.
    pub thread_id: u32,
    /// How many intervals the sample stands for.
    pub count: u16,
    /// Flags: bit 0 in a deferred procedure call, bit 1 in an interrupt, bits 3–7 priority.
    pub flags: u8,
    /// Rank.
    pub rank: u8,
}

layout! {
    SampleLayout<P> = 16 / 12 bytes => ProfileSample, fn read(2..=2) {
        instruction: P, thread_id: U32, count: U16, flags: u8, rank: u8
    }
}

/// `0x0f37`: several samples without times of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileBatch<'a> {
    entries: &'a [u8],
    pointer: PointerSize,
}

impl<'a> ProfileBatch<'a> {
    /// The samples in order.
    pub fn samples(&self) -> impl Iterator<Item = ProfileSample> + 'a {
        each::<SampleLayout>(self.entries, self.pointer)
    }

    /// Decodes a count of 4 bytes, with 8-byte pointers perhaps 4 bytes of padding, and that many samples.
    ///
    /// # Errors
    /// [`Fault::Count`] when count and length disagree.
    pub fn read(payload: &Payload<'a>) -> Read<ProfileBatch<'a>> {
        let mut c = payload.cursor();
        let count = c.u32("count")?;
        let size = size::<SampleLayout>(payload.pointer);
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(size)).ok_or(Fault::Count { count })?;
        if payload.pointer == PointerSize::P8 && bytes.checked_add(4) == Some(c.remaining()) {
            c.skip(4, "padding")?;
        }
        if c.remaining() != bytes {
            return Err(Fault::Count { count });
        }
        Ok(Parsed::new(ProfileBatch { entries: c.rest(), pointer: payload.pointer }, None))
    }
}

/// Which record an interval came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntervalPhase {
    /// `0x0f48`: it was set.
    Set,
    /// `0x0f49`: it is in force when the session starts.
    DcStart,
    /// `0x0f4a`: it is in force when the session ends.
    DcEnd,
}

/// `0x0f48`–`0x0f4a`: how often a profile source fires. 12 bytes; version 3 of the rundowns adds a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileInterval<'a> {
    /// Source; 0 = timer.
    pub source: u32,
    /// Interval in 100 ns (timer) or events (counters).
    pub interval: u32,
    /// Interval before.
    pub old_interval: u32,
    /// Name of the source.
    pub source_name: Option<Wide<'a>>,
}

impl<'a> ProfileInterval<'a> {
    /// Decodes the record; `phase` says whether version 3 has a name.
    ///
    /// # Errors
    /// A fault when the numbers are cut or the name has no NUL.
    pub fn read(payload: &Payload<'a>, phase: IntervalPhase) -> Read<ProfileInterval<'a>> {
        let has_name = payload.version >= 3 && phase != IntervalPhase::Set;
        if !has_name {
            return payload.read::<IntervalLayout>(2..=3);
        }
        let mut c = payload.cursor();
        let interval = c.read::<IntervalLayout>()?;
        let value = ProfileInterval { source_name: Some(c.wide("source name")?), ..interval };
        Ok(Parsed::new(value, payload.ends(&c, 2..=3)))
    }
}

layout! {
    IntervalLayout = 12 bytes => ProfileInterval<'a> {
        source: U32, interval: U32, old_interval: U32
    } with |_| { source_name: None }
}

/// Which record an interrupt came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InterruptKind {
    /// `0x0f43`: by line.
    Line,
    /// `0x0f5f`: handled at passive level.
    Passive,
    /// `0x0f32`: by message.
    Message,
}

/// An interrupt that was served: 20/16 bytes, 24/20 with a message number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// When it began; the record's time is its end.
    pub initial_time: Ticks,
    /// Service routine.
    pub routine: u64,
    /// What the routine returned.
    pub return_value: u32,
    /// Vector; `None` in version 1, which has a longer return value in its place.
    pub vector: Option<u16>,
    /// Message number; only in [`InterruptKind::Message`].
    pub message_number: Option<u32>,
}

impl Interrupt {
    /// Decodes a record.
    ///
    /// # Errors
    /// A fault when there are fewer bytes than the layout has.
    #[inline]
    pub fn read(payload: &Payload<'_>, kind: InterruptKind) -> Read<Interrupt> {
        let message = kind == InterruptKind::Message;
        let expected = size::<InterruptLayout>(payload.pointer) + if message { size_of::<U32>() } else { 0 };
        let oddity = payload.fixed(expected, ANY)?;
        let mut c = payload.cursor();
        let mut interrupt = match payload.version {
            1 => c.read::<InterruptV1>()?,
            _ => c.read::<InterruptLayout>()?,
        };
        interrupt.message_number = if message { Some(c.u32("message number")?) } else { None };
        Ok(Parsed::new(interrupt, oddity))
    }
}

layout! {
    InterruptV1<P> = 20 / 16 bytes => Interrupt {
        initial_time: I64, routine: P, return_value: U32
    } with |_| { vector: None, message_number: None }
}

layout! {
    InterruptLayout<P> = 20 / 16 bytes => Interrupt {
        initial_time: I64, routine: P, -returned(u8), vector: U16, -reserved(u8)
    } with |raw| { return_value: raw.returned.into(), message_number: None }
}

/// Which record a deferred procedure call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DpcKind {
    /// `0x0f42`: in a thread.
    Threaded,
    /// `0x0f44`: ordinary.
    Plain,
    /// `0x0f45`: of a timer.
    Timer,
}

/// A deferred procedure call that has run: 16/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dpc {
    /// When it began; the record's time is its end.
    pub initial_time: Ticks,
    /// Routine.
    pub routine: u64,
}

layout! {
    DpcLayout<P> = 16 / 12 bytes => Dpc, fn read(ANY) { initial_time: I64, routine: P }
}

/// When an interrupt or a deferred procedure call began: the first field of both.
#[inline(always)]
pub(crate) fn initial_time(payload: &[u8]) -> Option<Ticks> {
    payload.first_chunk().map(|time| Ticks(i64::from_le_bytes(*time)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    fn mark<'a>(event: Event<'a>) -> (bool, String) {
        match event {
            Event::Mark(mark) => (mark.asynchronous, mark.text.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn marks_may_have_two_zero_bytes_behind_their_nul() {
        let bytes = Bytes::new(0).narrow("start");
        for padding in [&[][..], &[0], &[0, 0]] {
            assert_eq!(mark(event(0x0f22, 0, P8, &bytes.clone().more(padding))), (false, "start".into()));
        }
        for more in [&[1][..], &[0, 1], &[0, 0, 0]] {
            let longer = bytes.clone().more(more);
            let (event, oddity) = odd(0x0f22, 0, P8, &longer);
            assert_eq!((mark(event), oddity), ((false, "start".into()), Oddity::Longer { parsed: 6 }));
        }
        for cut in 1..=6 {
            assert_eq!(fault(0x0f22, 0, P8, &bytes.clone().cut(cut)), Fault::Unterminated { field: "mark", at: 0 });
        }
    }

    #[test]
    fn asynchronous_marks_that_are_no_text_are_kept_whole() {
        assert_eq!(mark(event(0x0f24, 0, P8, &Bytes::new(0).narrow("x"))), (true, "x".into()));
        assert_eq!(mark(event(0x0f24, 0, P8, &Bytes::new(0).more(b"xy"))), (true, "xy".into()));
        assert_eq!(mark(event(0x0f24, 0, P8, &Bytes::new(0).more(b"x\0y"))), (true, "x\0y".into()));
    }

    fn sample(p: PointerSize, at: usize, bytes: Bytes, ip: u64) -> Bytes {
        let bytes = bytes.ptr(p, at, ip).u32(at + p.bytes(), 5000).u16(at + p.bytes() + 4, 2);
        bytes.u8(at + p.bytes() + 6, 0x41).u8(at + p.bytes() + 7, 3)
    }

    #[test]
    fn samples() {
        for (p, size) in [(P8, 16), (P4, 12)] {
            let bytes = sample(p, 0, Bytes::new(size), 0x7000_0001);
            let expected = ProfileSample { instruction: 0x7000_0001, thread_id: 5000, count: 2, flags: 0x41, rank: 3 };
            assert_eq!(event(0x0f2e, 2, p, &bytes), Event::ProfileSample(expected));
            check_fixed(0x0f2e, 2, p, &bytes);
            check_unknown_version(0x0f2e, p, &bytes);
        }
    }

    #[test]
    fn sample_batches_with_and_without_padding() {
        for (p, header, size) in [(P8, 4, 16), (P8, 8, 16), (P4, 4, 12)] {
            let bytes = sample(p, header, Bytes::new(header + 2 * size).u32(0, 2), 1);
            let bytes = sample(p, header + size, bytes, 2);
            let Event::ProfileBatch(found) = event(0x0f37, 2, p, &bytes) else { panic!() };
            assert_eq!(found.samples().map(|s| s.instruction).collect::<Vec<_>>(), [1, 2]);
            for cut in (1..=bytes.0.len()).filter(|cut| !(header == 8 && *cut == 4)) {
                fault(0x0f37, 2, p, &bytes.clone().cut(cut));
            }
            assert_eq!(fault(0x0f37, 2, p, &bytes.clone().more(&[0; 8])), Fault::Count { count: 2 });
            assert_eq!(fault(0x0f37, 2, p, &bytes.u32(0, u32::MAX)), Fault::Count { count: u32::MAX });
        }
    }

    #[test]
    fn intervals_have_a_name_in_version_3_rundowns() {
        let bytes = Bytes::new(12).u32(0, 0).u32(4, 10_000).u32(8, 156_250);
        for (hook, expected) in
            [(0x0f48, IntervalPhase::Set), (0x0f49, IntervalPhase::DcStart), (0x0f4a, IntervalPhase::DcEnd)]
        {
            let Event::ProfileInterval { phase, interval } = event(hook, 2, P8, &bytes) else { panic!() };
            assert_eq!((phase, interval.interval, interval.old_interval), (expected, 10_000, 156_250));
            assert_eq!(interval.source_name, None);
            for cut in 1..=12 {
                fault(hook, 2, P8, &bytes.clone().cut(cut));
            }
            assert_eq!(odd(hook, 2, P8, &bytes.clone().more(&[0; 8])).1, Oddity::Longer { parsed: 12 });
        }
        let named = bytes.clone().wide("Timer");
        let Event::ProfileInterval { interval, .. } = event(0x0f4a, 3, P8, &named) else { panic!() };
        assert_eq!(interval.source_name.unwrap().to_string(), "Timer");
        check_strings(0x0f49, 3, P8, &named);
        event(0x0f48, 3, P8, &bytes);
    }

    #[test]
    fn interrupts_have_their_vector_at_an_odd_offset() {
        for (p, size, at) in [(P8, 20, 16), (P4, 16, 12)] {
            let bytes =
                Bytes::new(size).u64(0, 99).ptr(p, 8, 0x8000_1000).u8(at, 1).u16(at + 1, 0x1f0).u8(at + 3, 0xff);
            for (hook, expected) in [(0x0f43, InterruptKind::Line), (0x0f5f, InterruptKind::Passive)] {
                let Event::Interrupt { kind, interrupt } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!((kind, interrupt.initial_time, interrupt.routine), (expected, Ticks(99), 0x8000_1000));
                assert_eq!(
                    (interrupt.return_value, interrupt.vector, interrupt.message_number),
                    (1, Some(0x1f0), None)
                );
                check_fixed(hook, 2, p, &bytes);
            }
            let Event::Interrupt { interrupt, .. } = event(0x0f43, 1, p, &bytes) else { panic!() };
            assert_eq!((interrupt.return_value, interrupt.vector), (0xff01_f001, None));
            let message = bytes.more(&7u32.to_le_bytes());
            let Event::Interrupt { kind, interrupt } = event(0x0f32, 2, p, &message) else { panic!() };
            assert_eq!((kind, interrupt.message_number), (InterruptKind::Message, Some(7)));
            check_fixed(0x0f32, 2, p, &message);
        }
    }

    #[test]
    fn deferred_procedure_calls() {
        for (p, size) in [(P8, 16), (P4, 12)] {
            let bytes = Bytes::new(size).u64(0, 99).ptr(p, 8, 0x8000_1000);
            for (hook, expected) in [(0x0f42, DpcKind::Threaded), (0x0f44, DpcKind::Plain), (0x0f45, DpcKind::Timer)] {
                let dpc = Dpc { initial_time: Ticks(99), routine: 0x8000_1000 };
                assert_eq!(event(hook, 2, p, &bytes), Event::Dpc { kind: expected, dpc });
                check_fixed(hook, 2, p, &bytes);
            }
        }
    }
}
