//! What was lost: the session's counters, buffer flags, holes in the sequence numbers, dropped-event records; and advice
//! on the buffers for the next recording.
//!
//! Buffer flags alone prove nothing (they are clear in traces that lost events); the counters of a session that was
//! never stopped are 0 and mean nothing.

use crate::etl::EtlFile;
use crate::etl::buffer::{FLAG_BUFFER_LOST, FLAG_EVENTS_LOST, TYPE_HEADER};
use crate::etl::buffer_order::Span;
use crate::etl::log_file_header::{MODE_BUFFERING, MODE_CIRCULAR, MODE_NEWFILE, MODE_NO_PER_PROCESSOR};
use crate::etl::record_id::HookId;
use crate::etl::record_id::RecordId;
use crate::event::hooks::*;
use crate::load::event_kind_counts::KindCount;
use crate::load::survey::Survey;
use crate::units::{Nanos, Ticks, count, counted};
use std::collections::{BTreeMap, BTreeSet};

/// A run of missing sequence numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedHole {
    /// First missing number.
    pub first_missing: u64,
    /// How many are missing.
    pub missing: u64,
    /// The time without records around the hole: from the last record before it to the first after it on `processors`, of
    /// all together, since trace start. Without such a record, the start or end of the trace.
    pub silent: (Nanos, Nanos),
    /// The processor that was without records longest around the hole. `None` in sessions without per-processor buffers.
    pub processor: Option<u16>,
    /// The processors that were without records longest, as many as buffers are missing: these can be of one or of several.
    /// Empty in sessions without per-processor buffers.
    pub processors: Vec<u16>,
    /// Parts of the recording that fall into the silence: "end rundown", "page sequence", ….
    pub hits: Vec<&'static str>,
}

impl DescribedHole {
    /// Of which processors its buffers most likely are; of many the first ones are named.
    pub(super) fn likely_processors(&self) -> String {
        const NAMED: usize = 8;
        let shown: Vec<String> = self.processors.iter().take(NAMED).map(u16::to_string).collect();
        let more = self.processors.len().saturating_sub(NAMED);
        let numbers = match shown.as_slice() {
            [] => return String::new(),
            [one] => return format!(", most likely on processor {one}"),
            _ if more > 0 => format!("{} and {more} more", shown.join(", ")),
            [others @ .., last] => format!("{} and {last}", others.join(", ")),
        };
        format!(", most likely on processors {numbers}, or not all of these")
    }
}

/// How fast the session wrote at its fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeakRate {
    /// Bytes of records in a second, all processors together.
    pub bytes_per_second: u64,
    /// Records in a second.
    pub events_per_second: u64,
    /// When, since trace start.
    pub at: Nanos,
}

/// Everything that was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// EventsLost of the log-file header.
    pub events_lost: u32,
    /// BuffersLost of the log-file header.
    pub buffers_lost: u32,
    /// False when the session was never stopped, so that both counters were never written.
    pub counters_known: bool,
    /// Buffers with the flag "events lost".
    pub flagged_events_lost: u64,
    /// Buffers with the flag "buffer lost".
    pub flagged_buffer_lost: u64,
    /// Holes in the sequence numbers, at most [`MOST_HOLES`].
    pub holes: Vec<DescribedHole>,
    /// Sequence numbers missing in all holes.
    pub missing_buffers: u64,
    /// Of them those that can be among the buffers that the file lacks and its header counts as written.
    cut_off: u64,
    /// Processor and time of the last dropped event, where the trace has such records.
    pub dropped: Vec<(u32, Nanos)>,
    /// The fastest moment; `None` for a trace without records.
    pub peak: Option<PeakRate>,
    /// True when a processor of the session has no records: then all of its buffers may be missing, of any time.
    pub(crate) lacks_a_processor: bool,
    /// Processors of the session.
    processors: u32,
    /// True when the session recorded events of the kernel.
    is_kernel: bool,
}

/// Of missing buffers where [`Loss::lacks_a_processor`]: the silence around their hole is of processors with records.
pub(crate) const OF_ANY_TIME: &str = "perhaps of a processor that has no records, and then of any time";

/// Holes that are described one by one; more are only counted.
pub(crate) const MOST_HOLES: usize = 100;

impl Loss {
    /// Looks for losses of a file. In a recording of several files, `first_buffer` is the index of the file's first buffer; the
    /// survey's counts for all files together are reported with the first file.
    pub(super) fn new(etl: &EtlFile, survey: &Survey, first_buffer: usize) -> Loss {
        let spans = survey.spans.get(first_buffer..).unwrap_or_default();
        let is_first = first_buffer == 0;
        let flagged = |flag| etl.own_buffers().iter().filter(|b| b.flags & flag != 0).count() as u64;
        let of_kernel = |kind: &KindCount| matches!(kind.id, RecordId::Kernel(hook) if hook.group() != 0);
        let mut loss = Loss {
            events_lost: etl.header.events_lost,
            buffers_lost: etl.header.buffers_lost,
            counters_known: etl.header.end_time.is_some(),
            flagged_events_lost: flagged(FLAG_EVENTS_LOST),
            flagged_buffer_lost: flagged(FLAG_BUFFER_LOST),
            dropped: survey
                .dropped
                .iter()
                .filter(|_| is_first)
                .map(|(&cpu, &time)| (cpu, etl.clock.nanos(time)))
                .collect(),
            peak: peak_rate(etl, spans),
            lacks_a_processor: lacks_a_processor(etl, spans),
            processors: etl.header.processors,
            is_kernel: is_first && survey.kinds.iter().any(of_kernel),
            ..Loss::default()
        };
        find_holes(etl, survey, spans, &mut loss);
        loss
    }

    /// Adds what another file of the recording lost.
    pub(super) fn add(&mut self, other: &Loss) {
        self.events_lost = self.events_lost.saturating_add(other.events_lost);
        self.buffers_lost = self.buffers_lost.saturating_add(other.buffers_lost);
        self.counters_known &= other.counters_known;
        self.flagged_events_lost += other.flagged_events_lost;
        self.flagged_buffer_lost += other.flagged_buffer_lost;
        self.missing_buffers += other.missing_buffers;
        self.cut_off += other.cut_off;
        self.lacks_a_processor |= other.lacks_a_processor;
        self.holes.extend_from_slice(&other.holes);
        self.holes.truncate(MOST_HOLES);
        self.dropped.extend_from_slice(&other.dropped);
        let rate = |peak: &Option<PeakRate>| peak.map_or(0, |peak| peak.bytes_per_second);
        self.peak = if rate(&other.peak) > rate(&self.peak) { other.peak } else { self.peak };
    }

    /// A counter of the log-file header; `None` where a session was never stopped, so that it was never written.
    pub(crate) fn known(&self, counter: u32) -> Option<u32> {
        Some(counter).filter(|_| self.counters_known)
    }

    /// Of a file that lacks `cut_off` buffers of those that were written: holes are no loss as long as these can be the missing ones.
    pub(super) fn excuse(&mut self, cut_off: u64) {
        let not_counted = self.missing_buffers.saturating_sub(u64::from(self.buffers_lost));
        self.cut_off = if not_counted <= cut_off { not_counted } else { 0 };
    }

    /// True when all buffers of the holes can be among those that the file lacks.
    pub(super) const fn is_cut_off(&self) -> bool {
        self.cut_off > 0 && self.cut_off == self.missing_buffers
    }

    /// Missing buffers that nothing but a loss explains.
    const fn lost_buffers(&self) -> u64 {
        self.missing_buffers.saturating_sub(self.cut_off)
    }

    /// True when something was lost for certain.
    pub fn any(&self) -> bool {
        self.events_lost != 0
            || self.buffers_lost != 0
            || self.lost_buffers() != 0
            || self.flagged_events_lost != 0
            || self.flagged_buffer_lost != 0
            || !self.dropped.is_empty()
    }

    /// True when something was lost that the missing buffers need not be: nothing tells when.
    pub(crate) fn is_partly_undated(&self) -> bool {
        self.events_lost != 0
            || self.flagged_events_lost != 0
            || !self.dropped.is_empty()
            || u64::from(self.buffers_lost).max(self.flagged_buffer_lost) > self.missing_buffers
    }

    /// One line for a person, `None` when nothing was lost.
    pub fn summary(&self) -> Option<String> {
        if !self.any() {
            return None;
        }
        let parts = [
            (u64::from(self.events_lost), "event", "events"),
            (u64::from(self.buffers_lost), "buffer", "buffers"),
            (self.lost_buffers(), "missing sequence number", "missing sequence numbers"),
            (self.flagged_events_lost, "buffer flagged \"events lost\"", "buffers flagged \"events lost\""),
            (self.flagged_buffer_lost, "buffer flagged \"buffer lost\"", "buffers flagged \"buffer lost\""),
            (self.dropped.len() as u64, "processor with dropped events", "processors with dropped events"),
        ];
        let counted_parts = parts.iter().filter(|(count, ..)| *count != 0);
        let parts: Vec<_> = counted_parts.map(|&(n, one, many)| counted(n, one, many)).collect();
        Some(format!("DATA WAS LOST while recording: {}", parts.join(", ")))
    }

    /// Advice: how fast the session wrote and, where that explains the loss, with what buffers to record next time.
    /// `None` when nothing was lost.
    pub fn advice(&self, buffer_size_bytes: u32) -> Option<String> {
        let peak = self.peak.filter(|_| self.any())?;
        let rate = match peak.bytes_per_second {
            less @ 0..=999_999 => format!("{:.1} kB/s", less as f64 / 1e3),
            more => format!("{:.1} MB/s", more as f64 / 1e6),
        };
        let rate = format!("{rate} ({} events/s, at {:.3} s)", count(peak.events_per_second), peak.at.seconds());
        // Windows gives a session two buffers for each processor, and more as it needs them.
        let least = 2 * u64::from(self.processors.clamp(1, 2048));
        let (own_bytes, own_kib) = (u64::from(buffer_size_bytes.max(1)), buffer_size_bytes / 1024);
        if peak.bytes_per_second < least * own_bytes {
            return Some(format!(
                "the session wrote up to {rate}, less than {least} buffers of {own_kib} KiB hold (assumed: two for each \
                 processor, as Windows gives at least; the file does not tell): the rate does not explain the loss"
            ));
        }
        let size = 1u64 << 20; // the largest buffer that every recorder accepts
        let needed = (2 * peak.bytes_per_second).div_ceil(size).max(least);
        let most = 2 * needed;
        let how = match self.is_kernel {
            true => format!("xperf -BufferSize 1024 -MinBuffers {needed} -MaxBuffers {most}"),
            false => format!("logman -bs 1024 -nb {needed} {most}"),
        };
        Some(format!(
            "the session wrote up to {rate}, {} of its {own_kib} KiB buffers each second; record with larger and more \
             buffers, enough for two seconds at that rate: {how}, or in a WPR profile <BufferSize Value=\"1024\"/> \
             <Buffers Value=\"{needed}\"/>",
            count(peak.bytes_per_second.div_ceil(own_bytes)),
        ))
    }
}

/// The greatest sum of the buffers' rates: each buffer spreads its bytes evenly over the time of its records, at least a
/// tenth of a second. Without that minimum, one large record in its own buffer would look like a peak. Work and memory
/// grow with the number of buffers, not with the duration.
fn peak_rate(etl: &EtlFile, spans: &[Option<Span>]) -> Option<PeakRate> {
    let least = i128::from(etl.clock.frequency_hz / 10).max(1);
    let mut edges: Vec<(Ticks, i128, i128)> = Vec::new();
    // The header buffer was not written at any rate: its records come from the start of the session.
    for (buffer, span) in etl.own_buffers().iter().zip(spans).filter(|(buffer, _)| buffer.kind != TYPE_HEADER) {
        let Some(span) = span else { continue };
        let ticks = (i128::from(span.last.0) - i128::from(span.first.0)).max(least);
        let per_second = |amount: u32| i128::from(amount) * i128::from(etl.clock.frequency_hz) / ticks;
        let (bytes, events) = (per_second(buffer.area_bytes()), per_second(span.records));
        let end = (i128::from(span.first.0) + ticks).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        edges.push((span.first, bytes, events));
        edges.push((Ticks(end), -bytes, -events));
    }
    edges.sort_unstable();
    let (mut bytes, mut events) = (0i128, 0i128);
    let mut peak: Option<(i128, i128, Ticks)> = None;
    for (time, more_bytes, more_events) in edges {
        bytes += more_bytes;
        events += more_events;
        if peak.is_none_or(|(most, ..)| bytes > most) {
            peak = Some((bytes, events, time));
        }
    }
    peak.map(|(bytes, events, time)| PeakRate {
        bytes_per_second: u64::try_from(bytes).unwrap_or(0),
        events_per_second: u64::try_from(events).unwrap_or(0),
        at: etl.clock.nanos(time),
    })
}

/// A run of missing sequence numbers between those of two buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceHole {
    /// The number before the first that is missing.
    pub low: u64,
    /// The number after the last.
    pub high: u64,
}

/// Numbers that are missing because buffers were lost, in order.
pub(crate) fn sequence_holes(etl: &EtlFile) -> Vec<SequenceHole> {
    let mut order: Vec<u64> = etl.own_buffers().iter().map(|buffer| buffer.sequence).collect();
    order.sort_unstable();
    // A file of a series continues the numbers of the file before, and a snapshot of a ring in memory begins with
    // the oldest buffer of the ring: the gap after the first buffers is no loss.
    let mode = etl.header.mode;
    let first_gap_is_normal = mode & (MODE_NEWFILE | MODE_BUFFERING | MODE_CIRCULAR) != 0;
    let kept = (etl.header.start_buffers.max(1)) as usize;
    // Nor is what a circular file has overwritten. That need not be one run of numbers: buffers are numbered when they
    // are taken into use and written when they are full.
    let written = u64::from(etl.header.buffers_written);
    let mut overwritten = if mode & MODE_CIRCULAR != 0 { written.saturating_sub(order.len() as u64) } else { 0 };
    let mut sequence_holes = Vec::new();
    for (place, pair) in order.windows(2).enumerate() {
        let (low, high) = (pair[0], pair[1]);
        let hole = high.saturating_sub(low).saturating_sub(1);
        let no_loss = if first_gap_is_normal && place < kept { hole } else { overwritten.min(hole) };
        overwritten = overwritten.saturating_sub(hole);
        if hole > no_loss {
            sequence_holes.push(SequenceHole { low: low + no_loss, high });
        }
    }
    sequence_holes
}

fn lacks_a_processor(etl: &EtlFile, spans: &[Option<Span>]) -> bool {
    let buffers = etl.own_buffers().iter().zip(spans);
    let data = buffers.filter(|(buffer, span)| buffer.kind != TYPE_HEADER && span.is_some());
    let seen: BTreeSet<u16> = data.map(|(buffer, _)| buffer.processor).collect();
    etl.header.mode & MODE_NO_PER_PROCESSOR == 0 && (seen.len() as u64) < u64::from(etl.header.processors)
}

fn find_holes(etl: &EtlFile, survey: &Survey, spans: &[Option<Span>], loss: &mut Loss) {
    let holes = sequence_holes(etl);
    let missing_in = |hole: &SequenceHole| hole.high - hole.low - 1;
    loss.missing_buffers = holes.iter().map(missing_in).fold(0, u64::saturating_add);
    let trace = (etl.clock.origin, survey.last().unwrap_or(etl.clock.origin));
    let silences: Vec<(SequenceHole, Vec<Silence>)> =
        holes.into_iter().take(MOST_HOLES).map(|hole| (hole, silences_around(etl, spans, hole, trace))).collect();
    for (hole, longest) in &silences {
        // Several holes in one silence need not be of one processor: a buffer may be missing of each of several.
        let shares = |other: &&(SequenceHole, Vec<Silence>)| other.1.first() == longest.first();
        let most = silences.iter().filter(shares).map(|(other, _)| missing_in(other)).fold(0, u64::saturating_add);
        let longest = longest.get(..usize::try_from(most).unwrap_or(usize::MAX)).unwrap_or(longest);
        let from = longest.iter().map(|silence| silence.from).min().unwrap_or(trace.0);
        let to = longest.iter().map(|silence| silence.to).max().unwrap_or(trace.1);
        let is_of_one = etl.header.mode & MODE_NO_PER_PROCESSOR == 0;
        let mut processors: Vec<u16> = longest.iter().map(|own| own.processor).filter(|_| is_of_one).collect();
        let processor = is_of_one.then_some(processors.first().copied().unwrap_or(0));
        processors.sort_unstable();
        loss.holes.push(DescribedHole {
            first_missing: hole.low.saturating_add(1),
            missing: missing_in(hole),
            silent: (etl.clock.nanos(from), etl.clock.nanos(to)),
            processor,
            processors,
            hits: parts_hit(survey, from, to),
        });
    }
}

/// The time around a hole in which a processor has no records.
#[derive(Debug, PartialEq, Eq)]
struct Silence {
    processor: u16,
    from: Ticks,
    to: Ticks,
}

/// So many are kept of a hole: a damaged file can name thousands of processors.
const MOST_SILENCES: usize = 256;

/// The longest of all processors, the longest first: from the last record up to the hole to the first one after it.
fn silences_around(
    etl: &EtlFile,
    spans: &[Option<Span>],
    hole: SequenceHole,
    (trace_start, trace_end): (Ticks, Ticks),
) -> Vec<Silence> {
    let mut around: BTreeMap<u16, (Option<Ticks>, Option<Ticks>)> = BTreeMap::new();
    for (buffer, span) in etl.own_buffers().iter().zip(spans) {
        let Some(span) = span else { continue };
        let (end, start) = around.entry(buffer.processor).or_default();
        if buffer.sequence <= hole.low {
            *end = (*end).max(Some(span.last));
        } else if buffer.sequence >= hole.high {
            *start = Some(start.map_or(span.first, |s| s.min(span.first)));
        }
    }
    let silence = |(processor, (end, start)): (u16, (Option<Ticks>, Option<Ticks>))| Silence {
        processor,
        from: end.unwrap_or(trace_start),
        to: start.unwrap_or(trace_end),
    };
    let mut silences: Vec<Silence> = around.into_iter().map(silence).collect();
    let length = |silence: &Silence| i128::from(silence.to.0) - i128::from(silence.from.0);
    silences.sort_by_key(|silence| std::cmp::Reverse(length(silence)));
    silences.truncate(MOST_SILENCES);
    silences
}

/// Parts of a recording, each with the kernel events that make it up.
const PARTS: [(&str, &[HookId]); 6] = [
    ("start rundown", &[PROCESS_DC_START, THREAD_DC_START, IMAGE_DC_START, MAP_FILE_DC_START, VIRTUAL_ALLOC_DC_START]),
    ("end rundown", &[PROCESS_DC_END, THREAD_DC_END, IMAGE_DC_END, MAP_FILE_DC_END, VIRTUAL_ALLOC_DC_END]),
    ("page sequence", &[PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2]),
    ("active-page rundown", &[IN_MEMORY_ACTIVE, IN_MEMORY_ACTIVE_RUNDOWN]),
    ("reference set", &[PAGE_ACCESS, PAGE_RELEASE, PAGE_ACCESS_EX, REMOVE_FROM_WS]),
    ("file names", &[FILE_RUNDOWN]),
];

fn parts_hit(survey: &Survey, from: Ticks, to: Ticks) -> Vec<&'static str> {
    let overlaps = |hooks: &[HookId]| {
        hooks.iter().filter_map(|&hook| survey.kernel_span(hook)).any(|(first, last)| first <= to && last >= from)
    };
    PARTS.iter().filter(|(_, hooks)| overlaps(hooks)).map(|(name, _)| *name).collect()
}
