//! PerfInfo group: marks, profile samples and their intervals, interrupts, deferred procedure calls.
//!
//! Sources: `docs/formats.md` ("PerfInfo"). Samples, intervals and marks were checked on recorded traces; interrupts
//! and deferred procedure calls are after the Windows MOF only.

use super::outcome::{Fault, Oddity, Parsed, Read};
use super::payload::{ANY, Payload};
use crate::bytes::{Cursor, Narrow, Wide};
use crate::units::{PointerSize, Ticks};

/// `0x0f22` (mark) and `0x0f24` (asynchronous mark): a text that a tool or a user put into the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// True for `0x0f24`, whose layout is not public.
    pub asynchronous: bool,
    /// The text. Of an asynchronous mark that is no text with a NUL: all its bytes.
    pub text: Narrow<'a>,
}

impl<'a> Mark<'a> {
    /// Decodes a string with up to 2 zero bytes of padding behind its NUL.
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

impl ProfileSample {
    const fn size(pointer: PointerSize) -> usize {
        pointer.pick(16, 12)
    }

    fn at(c: &mut Cursor<'_>) -> Result<ProfileSample, Fault> {
        Ok(ProfileSample {
            instruction: c.ptr("instruction pointer")?,
            thread_id: c.u32("thread id")?,
            count: c.u16("count")?,
            flags: c.u8("flags")?,
            rank: c.u8("rank")?,
        })
    }

    /// Decodes the 16 or 12 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<ProfileSample> {
        let oddity = payload.fixed(ProfileSample::size(payload.pointer), 2..=2)?;
        Ok(Parsed::new(ProfileSample::at(&mut payload.cursor())?, oddity))
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
        let pointer = self.pointer;
        let entries = self.entries.chunks_exact(ProfileSample::size(pointer));
        entries.filter_map(move |entry| ProfileSample::at(&mut Cursor::new(entry, pointer)).ok())
    }

    /// Decodes a count of 4 bytes, with 8-byte pointers perhaps 4 bytes of padding, and that many samples.
    ///
    /// # Errors
    /// [`Fault::Count`] when count and length disagree.
    pub fn read(payload: &Payload<'a>) -> Read<ProfileBatch<'a>> {
        let mut c = payload.cursor();
        let count = c.u32("count")?;
        let size = ProfileSample::size(payload.pointer);
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
        let mut c = payload.cursor();
        let value = ProfileInterval {
            source: c.u32("source")?,
            interval: c.u32("new interval")?,
            old_interval: c.u32("old interval")?,
            source_name: if has_name { Some(c.wide("source name")?) } else { None },
        };
        let oddity = if has_name { payload.ends(&c, 2..=3) } else { payload.fixed(12, 2..=3)? };
        Ok(Parsed::new(value, oddity))
    }
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
    pub fn read(payload: &Payload<'_>, kind: InterruptKind) -> Read<Interrupt> {
        let message = kind == InterruptKind::Message;
        let expected = if message { payload.pointer.pick(24, 20) } else { payload.pointer.pick(20, 16) };
        let oddity = payload.fixed(expected, ANY)?;
        let mut c = payload.cursor();
        let initial_time = Ticks(c.i64("initial time")?);
        let routine = c.ptr("routine")?;
        let (return_value, vector) = if payload.version == 1 {
            (c.u32("return value")?, None)
        } else {
            let head = (u32::from(c.u8("return value")?), Some(c.u16("vector")?));
            c.skip(1, "reserved")?;
            head
        };
        let message_number = if message { Some(c.u32("message number")?) } else { None };
        Ok(Parsed::new(Interrupt { initial_time, routine, return_value, vector, message_number }, oddity))
    }
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

impl Dpc {
    /// Decodes the 16 or 12 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<Dpc> {
        let oddity = payload.fixed(payload.pointer.pick(16, 12), ANY)?;
        let mut c = payload.cursor();
        Ok(Parsed::new(Dpc { initial_time: Ticks(c.i64("initial time")?), routine: c.ptr("routine")? }, oddity))
    }
}
