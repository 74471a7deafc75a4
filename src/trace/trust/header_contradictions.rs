//! What the log-file header says that the records contradict, and headers of buffers that contradict each other: then times, processors
//! or addresses are read wrongly, or events count twice, though no record is damaged by itself.

use crate::etl::EtlFile;
use crate::etl::buffer::{Buffer, TYPE_HEADER};
use crate::etl::clock::ClockKind;
use crate::etl::event_area::EventArea;
use crate::etl::file::Scratch;
use crate::etl::log_file_header::LogFileHeader;
use crate::etl::record_id::{HookId, RecordId};
use crate::event::event_names;
use crate::event::hooks::{
    HEAP_RANGE_RUNDOWN, LOG_FILE, POOL_ALLOC, POOL_FREE, PROCESS_DC_END, PROCESS_END, PROCESS_START, THREAD_DC_START,
    VIRTUAL_ALLOC_DC_START,
};
use crate::load::event_kind_counts::KindCount;
use crate::load::survey::Survey;
use crate::units::{Nanos, PointerSize, Ticks, count, counted};
use std::collections::BTreeMap;
use std::ops::Range;

/// A contradiction: its code and its words.
pub(super) type Contradiction = (&'static str, String);

/// Those that say that lengths of time are wrong.
pub(super) const WRONG_TIMES: [&str; 3] = ["clock_impossible", "times_beyond_end", "times_far_from_end"];

/// Code of events before the header record whose stamps are wrong.
pub(super) const BEFORE_START: &str = "times_before_start";

/// Those that say that events count twice, or beside those of another time.
pub(super) const WRONG_SUMS: [&str; 4] =
    ["buffers_repeated", "buffers_too_many", "events_in_two_files", "files_shifted"];

/// Looks for all of them.
pub(super) fn contradictions(etl: &EtlFile, survey: &Survey) -> Vec<Contradiction> {
    let found = [
        impossible_clock(etl),
        end_before_start(etl),
        beyond_end(etl, survey),
        far_from_end(etl, survey),
        before_start(etl, survey).or_else(|| processors_before_start(etl, survey)),
        impossible_processors(etl, survey),
        pointer_size(etl, survey),
        repeated_buffers(etl, survey),
        too_many_buffers(etl),
        repeated_records(etl, survey),
    ];
    found.into_iter().flatten().collect()
}

/// The end of a recording before its start: of any file.
fn end_before_start(etl: &EtlFile) -> Option<Contradiction> {
    let headers = std::iter::once(&etl.header).chain(etl.further().map(|(_, file, _)| &file.header));
    let before = |header: &LogFileHeader| header.start_time.0.checked_sub(header.end_time?.0).filter(|time| *time > 0);
    let longest = headers.filter_map(before).max()?;
    let text = format!(
        "THE END IS BEFORE THE START: by {:.3} s in the log-file header. One of both is damaged, or the clock was set back while it was \
         recorded: dates are wrong, and whether events lie after the end cannot be told",
        Nanos(i128::from(longest) * 100).seconds()
    );
    Some(("end_before_start", text))
}

/// Buffers with the sequence number of another one of the same processor: sessions and merges use each once.
fn repeated_buffers(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let data = etl.buffers.iter().zip(&survey.spans).filter(|(buffer, _)| buffer.kind != TYPE_HEADER);
    let mut data: Vec<_> = data.collect();
    let number = |buffer: &Buffer| (buffer.file, buffer.processor, buffer.sequence);
    data.sort_by_key(|(buffer, _)| number(buffer));
    let (mut twice, mut others) = (0, 0);
    for ((one, of_one), (next, of_next)) in data.iter().zip(data.iter().skip(1)) {
        if number(one) == number(next) {
            let is_same = one.used_bytes == next.used_bytes && of_one == of_next;
            *(if is_same { &mut twice } else { &mut others }) += 1;
        }
    }
    let renumbered = renumbered(etl, survey);
    let copies = || {
        let buffers = counted(twice, "buffer has", "buffers have");
        format!("{buffers} the processor, the sequence number and the times of another one: their events count twice")
    };
    let numbers = || {
        let buffers = counted(others, "buffer has", "buffers have");
        format!(
            "{buffers} the sequence number of another one of the processor, with other records: parts of several files were put \
             together, or a number is damaged"
        )
    };
    let again = || {
        let buffers = counted(renumbered, "buffer has", "buffers have");
        format!(
            "{buffers} the processor and the records of another one under another sequence number: their events count twice"
        )
    };
    let told = [(twice > 0).then(copies), (others > 0).then(numbers), (renumbered > 0).then(again)];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| ("buffers_repeated", format!("BUFFERS REPEAT: {}", told.join("; "))))
}

/// More buffers than the header of a session that was stopped names, of any file: it counts all that were written.
fn too_many_buffers(etl: &EtlFile) -> Option<Contradiction> {
    let files = std::iter::once((&etl.header, etl.own_buffers().len()));
    let files = files.chain(etl.further().map(|(_, file, buffers)| (&file.header, buffers.len())));
    let is_counted = |header: &LogFileHeader| header.end_time.is_some() && header.buffers_written > 0;
    let beyond = |(header, held): (&LogFileHeader, usize)| {
        let named = header.buffers_written;
        (is_counted(header) && held as u64 > u64::from(named)).then_some((held as u64, named))
    };
    let (held, named) = files.filter_map(beyond).max()?;
    let text = format!(
        "TOO MANY BUFFERS: the file holds {}, and its header counts {}: parts of several files were put together, or that number is damaged",
        count(held),
        count(u64::from(named)),
    );
    Some(("buffers_too_many", text))
}

/// Buffers whose records are compared with those of another one, at most.
const MOST_COMPARED: usize = 1000;

/// Buffers with all records of another one of the processor. Only those are read whose times, sizes and numbers of records are equal.
fn renumbered(etl: &EtlFile, survey: &Survey) -> u64 {
    let shape = |at: usize| -> Option<(u16, u16, Ticks, Ticks, u32, u32)> {
        let (buffer, span) = (etl.buffers.get(at)?, survey.spans.get(at).copied().flatten()?);
        // Records without a length of time can be the same by chance.
        let is_asked = buffer.kind != TYPE_HEADER && span.first < span.last;
        is_asked.then_some((buffer.file, buffer.processor, span.first, span.last, span.records, buffer.used_bytes))
    };
    let mut order: Vec<_> = (0..etl.buffers.len()).filter_map(|at| Some((shape(at)?, at))).collect();
    order.sort_unstable();
    let number = |at: usize| etl.buffers.get(at).map(|buffer| buffer.sequence);
    let pairs = order.iter().zip(order.iter().skip(1));
    let alike = pairs.filter(|((one, first), (other, next))| one == other && number(*first) != number(*next));
    let (mut left, mut right) = (Scratch::new(), Scratch::new());
    let mut is_same = |one: usize, next: usize| etl.area(one, &mut left).bytes == etl.area(next, &mut right).bytes;
    alike.take(MOST_COMPARED).filter(|((_, one), (_, next))| is_same(*one, *next)).count() as u64
}

/// Buffers in which records are compared, at most: what writes each record twice does so everywhere.
const MOST_SEARCHED: usize = 16;

/// Records that are there twice one after the other, with all bytes: a tool merged a recording with itself. Of clocks that many events
/// have the same time of, equal ones can be several.
fn repeated_records(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    if etl.clock.kind != ClockKind::Qpc {
        return None;
    }
    let holds_some = |at: &usize| survey.spans.get(*at).copied().flatten().is_some_and(|span| span.first < span.last);
    let all: Vec<usize> = (0..etl.buffers.len()).filter(holds_some).collect();
    let mut scratch = Scratch::new();
    let (mut twice, mut records) = (0, 0);
    for at in all.iter().step_by(all.len().div_ceil(MOST_SEARCHED).max(1)) {
        let (again, of_all) = repeated_in(&etl.area(*at, &mut scratch));
        (twice, records) = (twice + again, records + of_all);
    }
    // Of each pair one is the first.
    (records >= FEW_RECORDS && 4 * twice >= records).then(|| {
        let all = counted(records, "record", "records");
        let text = format!(
            "RECORDS REPEAT: {} of {all} that were compared are there again, with the same time and content: a recording was merged with \
             itself, and its events count twice",
            count(twice)
        );
        ("buffers_repeated", text)
    })
}

/// Fewer records can be equal by chance.
const FEW_RECORDS: u64 = 16;

/// Records that are equal to one of the same time shortly before, and all with a time.
fn repeated_in(area: &EventArea<'_>) -> (u64, u64) {
    const NEAR: usize = 8;
    const MOST: usize = 500;
    let mut near = [(Ticks(0), [].as_slice()); NEAR];
    let (mut twice, mut records) = (0, 0);
    let timed = area.records().filter_map(|record| Some((area.time_of(&record)?, record.bytes)));
    for (record, place) in timed.take(MOST).zip((0..NEAR).cycle()) {
        records += 1;
        twice += u64::from(near.contains(&record));
        near[place] = record;
    }
    (twice, records)
}

/// Frequencies of performance counters: the slowest that Windows had is the timer of 1.193182 MHz, the fastest the processor's own
/// counter.
const POSSIBLE_HZ: std::ops::RangeInclusive<u64> = 1_000_000..=100_000_000_000;

fn impossible_clock(etl: &EtlFile) -> Option<Contradiction> {
    let clock = &etl.clock;
    if clock.kind == ClockKind::Qpc && etl.header.perf_frequency_hz == 0 {
        let text = format!(
            "THE CLOCK IS UNKNOWN: the log-file header says 0 ticks a second, and {} are assumed. All times, rates and windows can be wrong",
            count(clock.frequency_hz)
        );
        return Some(("clock_impossible", text));
    }
    let is_impossible = clock.kind == ClockKind::Qpc && !POSSIBLE_HZ.contains(&clock.frequency_hz);
    is_impossible.then(|| {
        let text = format!(
            "THE CLOCK IS IMPOSSIBLE: the log-file header says {} ticks a second. All times, rates and windows are wrong",
            count(clock.frequency_hz)
        );
        ("clock_impossible", text)
    })
}

/// Groups of hook ids whose events tell what the machine did while it was recorded: disks, memory, threads, samples and interrupts,
/// heaps. Others are also written at the stop or by a merge.
pub(super) const OF_THE_RECORDING: [u8; 5] = [0x01, 0x02, 0x05, 0x0f, 0x10];
/// Events of other groups that tell the same.
const ALSO: [HookId; 4] = [POOL_ALLOC, POOL_FREE, PROCESS_START, PROCESS_END];

/// True for events that tell what the machine did.
fn of_the_recording(id: RecordId) -> bool {
    matches!(id, RecordId::Kernel(hook) if OF_THE_RECORDING.contains(&hook.group()) || ALSO.contains(&hook))
}

/// The end in the header is of a clock that ticks 64 times a second at the slowest, and is written a moment after the last record.
const LEAST_BEYOND: Nanos = Nanos(100_000_000);

/// Events of the kernel after the end of the recording: by more than a hundredth of its length, because clocks are set.
fn beyond_end(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let end = etl.header.end_time?;
    // The further files of a recording have ends of their own.
    let end = etl.further().filter_map(|(_, file, _)| file.header.end_time).fold(end, Ord::max);
    let length = Nanos(i128::from(end.0.checked_sub(etl.header.start_time.0).filter(|length| *length > 0)?) * 100);
    let least = LEAST_BEYOND.0.max(length.0 / 100);
    let beyond = |kind: &&KindCount| of_the_recording(kind.id) && etl.clock.nanos(kind.last).0 - length.0 > least;
    let latest = survey.kinds.iter().filter(beyond).max_by_key(|kind| kind.last)?;
    let text = format!(
        "TIMES CONTRADICT THE HEADER: events ({}) go on for {:.3} s after the end that it has ({:.3} s). A time stamp, or the \
         clock's frequency of {} Hz, is damaged: windows, lengths of time and rates are wrong",
        event_names::name(latest.id).map_or("of the kernel", |known| known.name),
        Nanos(etl.clock.nanos(latest.last).0 - length.0).seconds(),
        length.seconds(),
        count(etl.clock.frequency_hz),
    );
    Some(("times_beyond_end", text))
}

/// Times of the kernel's events since the header record, in nanoseconds: of the first and of the last one. `None` without any, and for a
/// recording of several files, whose sessions begin and end apart.
fn kernel_span(etl: &EtlFile, survey: &Survey) -> Option<(i128, i128)> {
    const HEADER: RecordId = RecordId::Kernel(LOG_FILE);
    let events = || survey.kinds.iter().filter(|kind| matches!(kind.id, RecordId::Kernel(_)) && kind.id != HEADER);
    let first = events().map(|kind| kind.first).min().filter(|_| etl.further().next().is_none())?;
    let last = events().map(|kind| kind.last).max()?;
    Some((etl.clock.nanos(first).0, etl.clock.nanos(last).0))
}

/// Length of the recording by the header's dates, in nanoseconds.
fn length_of(header: &LogFileHeader) -> Option<i128> {
    let length = header.end_time?.0.checked_sub(header.start_time.0).filter(|length| *length > 0)?;
    Some(i128::from(length) * 100)
}

/// A stop takes some time after its rundown: 1.8 s is the longest of known traces. The date may be set by some, too.
const LONGEST_STOP: i128 = 10_000_000_000;
const LEAST_FACTOR: i128 = 4;
/// In a short recording the stop is most of its length; but to start and stop a session takes tens of milliseconds, so that the length
/// is no hundred times the span.
const LEAST_FACTOR_OF_SHORT: i128 = 100;
const LEAST_MISSING: i128 = 250_000_000;

/// What the header's dates say against the frequency of its clock.
struct ByDates {
    /// Length of the recording by its dates, in nanoseconds.
    length: i128,
    /// How long events go on by the clock, in nanoseconds.
    span: i128,
    /// True where also the time since the boot is so many times as long by the dates.
    boot_agrees: bool,
}

/// How long the recording took by its dates, and how long events go on by the clock. Of several files, whose sessions end apart, those of
/// the file that agrees best: a wrong frequency is that of all, and one may have no events at its end.
fn length_and_span(etl: &EtlFile, survey: &Survey) -> Option<(i128, i128)> {
    if let Some((first, last)) = kernel_span(etl, survey) {
        return Some((length_of(&etl.header)?, last - first.min(0)));
    }
    let own = (etl, 0..etl.own_buffers().len());
    let files = std::iter::once(own).chain(etl.further().map(|(_, file, buffers)| (file, buffers)));
    let of_file = |(file, buffers): (&EtlFile, Range<usize>)| {
        let last = survey.spans.get(buffers)?.iter().flatten().map(|span| span.last).max()?;
        let span = etl.clock.nanos(last).0 - etl.clock.nanos(file.header_stamp()?).0;
        Some((length_of(&file.header)?, span.max(0)))
    };
    // Thousandths: of a hostile header both can be at the limit of their type.
    files.filter_map(of_file).max_by_key(|(length, span)| span.saturating_mul(1000) / length.max(&1))
}

/// The rundown of processes is written at the stop: then events must reach almost to the end that the header has.
fn by_dates(etl: &EtlFile, survey: &Survey) -> Option<ByDates> {
    let has_rundown = survey.kernel_count(PROCESS_DC_END) > 0 && etl.clock.kind == ClockKind::Qpc;
    let (length, span) = length_and_span(etl, survey).filter(|_| has_rundown)?;
    // The counter begins at the boot. A machine that slept may have stopped it, but not as many times as long as the recording's dates say.
    let uptime = i128::from(etl.header.start_time.0.saturating_sub(etl.header.boot_time.0)) * 100;
    let by_clock = etl.clock.nanos(Ticks(0)).0.saturating_neg();
    let is_slow = by_clock > 0 && span > 0 && 2 * uptime > 3 * by_clock;
    let (of_recording, of_boot) = (length.saturating_mul(by_clock), span.saturating_mul(uptime));
    // Of a hostile header both can be at the limit of their type.
    let is_as_slow = of_recording >= of_boot / 10 * 9 && of_recording <= of_boot.saturating_add(of_boot / 4);
    Some(ByDates { length, span, boot_agrees: is_slow && is_as_slow })
}

impl ByDates {
    const fn missing(&self) -> i128 {
        self.length - self.span
    }

    /// True where nothing but a wrong frequency, or another date, explains it.
    const fn is_far(&self) -> bool {
        self.missing() > LONGEST_STOP && self.span < self.length / LEAST_FACTOR
            || self.missing() > LEAST_MISSING && self.span < self.length / LEAST_FACTOR_OF_SHORT
            || self.boot_agrees && self.is_short()
    }

    /// True where the stop took a good part of the recording, or the frequency is wrong.
    const fn is_short(&self) -> bool {
        self.missing() > LEAST_BEYOND.0 && self.span < self.length / 5 * 3
    }

    fn text(&self, etl: &EtlFile, says: &str, why: &str) -> String {
        format!(
            "{says}: events up to the end rundown, which is written at the stop, take {:.3} s, but the recording took {:.3} s by its \
             dates. {why} (its header says {} Hz)",
            Nanos(self.span).seconds(),
            Nanos(self.length).seconds(),
            count(etl.clock.frequency_hz),
        )
    }
}

fn far_from_end(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let dates = by_dates(etl, survey).filter(ByDates::is_far)?;
    let why = "The clock's frequency is damaged, and windows, lengths of time and rates are wrong; or the date was set while it was recorded";
    Some(("times_far_from_end", dates.text(etl, "TIMES END FAR BEFORE THE HEADER'S END", why)))
}

/// Times that end before the header's end by less than what contradicts it: a stop can take so long.
pub(super) fn short_of_end(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let dates = by_dates(etl, survey).filter(|dates| dates.is_short() && !dates.is_far())?;
    let why = "Either the stop took the rest, or the clock's frequency is too high, and all times are too short";
    Some(dates.text(etl, "times end well before the header's end", why))
}

/// Events of the kernel before the header record. A merge of sessions may have the header of one that began later; but when nothing
/// follows that record, or when events end before the header's end by as much as they begin before its start, its stamp is wrong.
fn before_start(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let (first, last) = kernel_span(etl, survey)?;
    let is_shifted = |length: i128| (length - last + first).abs() <= LEAST_BEYOND.0;
    let is_wrong = -first > LEAST_BEYOND.0 && (last < 0 || length_of(&etl.header).is_some_and(is_shifted));
    let text = || {
        format!(
            "TIMES BEFORE THE START: events of the kernel begin {:.3} s before the stamp of the log-file header's record, and {}. The stamp \
             is damaged: times since the start and windows are wrong, lengths of time are not",
            Nanos(-first).seconds(),
            if last < 0 { "none follows it" } else { "end before its end by as much" },
        )
    };
    is_wrong.then(|| (BEFORE_START, text()))
}

/// Processors all of whose records lie before the header record, while all of the others follow it: a session that began earlier would have
/// recorded them side by side.
fn processors_before_start(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let (first, _) = kernel_span(etl, survey).filter(|(first, _)| -first > LEAST_BEYOND.0)?;
    let origin = etl.clock.origin;
    let mut by_processor: BTreeMap<u16, (Ticks, Ticks, u64)> = BTreeMap::new();
    let data = etl.buffers.iter().zip(&survey.spans).filter(|(buffer, _)| buffer.kind != TYPE_HEADER);
    for (buffer, span) in data.filter_map(|(buffer, span)| Some((buffer, (*span)?))) {
        let of = by_processor.entry(buffer.processor).or_insert((span.first, span.last, 0));
        *of = (of.0.min(span.first), of.1.max(span.last), of.2 + u64::from(span.records));
    }
    let early: Vec<(&u16, u64)> = by_processor
        .iter()
        .filter(|(_, (_, last, records))| *last < origin && *records >= FEW_RECORDS)
        .map(|(number, (.., records))| (number, *records))
        .collect();
    let follow = by_processor.values().filter(|(first, ..)| *first >= origin).count();
    let (number, _) = early.first()?;
    let others = if early.len() > 1 { " and others" } else { "" };
    (follow > 0 && follow + early.len() == by_processor.len()).then(|| {
        let text = format!(
            "TIMES BEFORE THE START: all events of processor {number}{others} ({}) lie before the stamp of the log-file header's record, up \
             to {:.3} s, and those of the other processors follow it: the clocks of processors differ, or stamps are damaged. Times, \
             windows and the order of events are wrong",
            counted(early.iter().map(|(_, records)| records).sum(), "of them", "of them"),
            Nanos(-first).seconds(),
        );
        (BEFORE_START, text)
    })
}

/// The stamp of the header record is taken a moment after a session begins to record on other processors.
const LEAST_EARLY: i128 = 1_000_000;
/// Rundowns tell what was there, not what happened.
const RUNDOWNS_AT_START: [HookId; 3] = [THREAD_DC_START, VIRTUAL_ALLOC_DC_START, HEAP_RANGE_RUNDOWN];

/// Events of the recording before the header record: a note where no contradiction says that stamps are wrong, because a merge can have the
/// header of a session that began later.
pub(super) fn early_events(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let (first, _) = kernel_span(etl, survey).filter(|(first, _)| -first > LEAST_EARLY)?;
    let is_rundown = |id: RecordId| matches!(id, RecordId::Kernel(hook) if RUNDOWNS_AT_START.contains(&hook));
    let is_own = |id: RecordId| of_the_recording(id) && !is_rundown(id);
    let is_early = |kind: &&KindCount| is_own(kind.id) && -etl.clock.nanos(kind.first).0 > LEAST_EARLY;
    let early = || survey.kinds.iter().filter(is_early);
    let earliest = early().min_by_key(|kind| kind.first)?;
    let more = early().count() as u64 - 1;
    let more = if more > 0 { format!(" and {}", counted(more, "other", "others")) } else { String::new() };
    Some(format!(
        "events ({}{more}) begin {:.3} s before the log-file header's record, where times begin: the header is of a session that began \
         later than another one of the file, or time stamps are wrong",
        event_names::name(earliest.id).map_or("of the kernel", |known| known.name),
        Nanos(-first).seconds(),
    ))
}

/// Records of processors that the machine does not have.
fn impossible_processors(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let processors = etl.further().map(|(_, file, _)| file.header.processors).fold(etl.header.processors, Ord::max);
    let processors = survey.machine_processors.map_or(processors, |known| known.max(processors));
    let beyond: BTreeMap<u16, u64> =
        survey.by_processor.iter().map(|(at, n)| (*at, *n)).filter(|(at, _)| u32::from(*at) >= processors).collect();
    let first = *beyond.keys().next()?;
    let others = if beyond.len() > 1 { " and others" } else { "" };
    let text = format!(
        "A PROCESSOR IS IMPOSSIBLE: {} of processor {first}{others}, but the machine has {}: the number of a buffer is damaged, and what \
         its records say is of another processor",
        counted(beyond.values().sum(), "record is", "records are"),
        counted(u64::from(processors), "of them", "of them"),
    );
    (processors > 0).then_some(("processor_impossible", text))
}

/// Kernel events whose headers have another pointer size than the log-file header. A merge adds some of 32 bits to a file of 64 bits.
fn pointer_size(etl: &EtlFile, survey: &Survey) -> Option<Contradiction> {
    let of = |size: PointerSize| -> u64 {
        let of_it = survey.by_header.iter().filter(|(header, _)| header.is_kernel() && header.pointer() == size);
        of_it.map(|(_, n)| n).sum()
    };
    let (own, other) = match etl.header.pointer_bytes {
        4 => (PointerSize::P4, PointerSize::P8),
        _ => (PointerSize::P8, PointerSize::P4),
    };
    let bits = |size: PointerSize| 8 * size.bytes();
    let text = || {
        format!(
            "THE POINTER SIZE CONTRADICTS THE HEADER: it says {} bits, but {} of {} bits. Addresses in stacks and in events of providers \
             are read wrongly",
            bits(own),
            counted(of(other), "event of the kernel is", "events of the kernel are"),
            bits(other)
        )
    };
    (of(other) > of(own)).then(|| ("pointer_size_differs", text()))
}
