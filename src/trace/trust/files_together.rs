//! Files of one recording that contradict each other: stamps of a file that are shifted, and events that two files hold.

use super::header_contradictions::Contradiction;
use crate::etl::EtlFile;
use crate::etl::buffer::TYPE_HEADER;
use crate::etl::buffer_order::Span;
use crate::etl::file::Scratch;
use crate::etl::log_file_header::{LogFileHeader, MODE_NO_PER_PROCESSOR, MODE_RELOG};
use crate::etl::record::Record;
use crate::etl::record_id::RecordId;
use crate::event::event_names;
use crate::event::payload::hook_of;
use crate::load::survey::Survey;
use crate::trace::trust::header_contradictions::OF_THE_RECORDING;
use crate::units::{Nanos, Ticks, counted};
use std::ops::Range;

/// A file of the recording: how it is called, the file, and its buffers.
type Part<'e> = (&'e str, &'e EtlFile, Range<usize>);

/// Looks for all of them.
pub(super) fn contradictions(etl: &EtlFile, survey: &Survey) -> Vec<Contradiction> {
    let first: Part<'_> = ("the first file", etl, 0..etl.own_buffers().len());
    let parts: Vec<Part<'_>> = std::iter::once(first).chain(etl.further()).collect();
    let several = parts.iter().filter(|_| parts.len() > 1);
    let shifted = several.filter_map(|part| shifted(etl, part).or_else(|| outside(etl, survey, part)));
    shifted.chain(repeated(etl, survey, &parts)).collect()
}

/// What stamps of two files may differ by against their dates: the clock of a board has whole seconds, and is set soon after the boot.
const MOST_SHIFT: Nanos = Nanos(3_000_000_000);

/// How far records may lie outside of the time of their session by its dates.
const MOST_OUTSIDE: Nanos = Nanos(1_000_000_000);

/// A file whose session began at another time by its clock than by its dates. Where the date was set between the starts, the time since
/// the boot agrees, because Windows corrects the date of the boot.
fn shifted(etl: &EtlFile, (name, file, _): &Part<'_>) -> Option<Contradiction> {
    let by_clock = etl.clock.nanos(file.header_stamp()?).0;
    let start = |header: &LogFileHeader| i128::from(header.start_time.0) * 100;
    let by_dates = start(&file.header) - start(&etl.header);
    let boots = i128::from(file.header.boot_time.0) - i128::from(etl.header.boot_time.0);
    let least = (by_clock - by_dates).abs().min((by_clock - by_dates + boots * 100).abs());
    (least > MOST_SHIFT.0).then(|| {
        let text = format!(
            "THE CLOCKS OF THE FILES DIFFER: by its stamps {name} begins {:.3} s after the first file, by its dates {:.3} s. What one file \
             tells is taken for another time of the other one",
            Nanos(by_clock).seconds(),
            Nanos(by_dates).seconds()
        );
        ("files_shifted", text)
    })
}

/// A file whose records lie outside of the time of its own session. A merge adds records that are older or newer.
fn outside(etl: &EtlFile, survey: &Survey, (name, file, buffers): &Part<'_>) -> Option<Contradiction> {
    let length = file.header.end_time?.0.checked_sub(file.header.start_time.0)?;
    let begin = etl.clock.nanos(file.header_stamp()?).0;
    let end = begin + i128::from(length) * 100;
    let data = file.buffers.iter().zip(survey.spans.get(buffers.clone())?);
    let spans = || data.clone().filter(|(buffer, _)| buffer.kind != TYPE_HEADER).filter_map(|(_, span)| *span);
    let first = etl.clock.nanos(spans().map(|span| span.first).min()?).0;
    let last = etl.clock.nanos(spans().map(|span| span.last).max()?).0;
    let beyond = (begin - first).max(last - end);
    let is_merged = file.header.mode & MODE_RELOG != 0 || file.log_file_name.starts_with('[');
    let is_outside = !is_merged && beyond > MOST_OUTSIDE.0.max(i128::from(length) * 10);
    is_outside.then(|| {
        let text = format!(
            "THE CLOCKS OF THE FILES DIFFER: records of {name} lie {:.3} s outside of the time of its session. What it tells is taken for \
             another time of the first file",
            Nanos(beyond).seconds()
        );
        ("files_shifted", text)
    })
}

/// Buffers of each file whose records are looked for in another one.
const ASKED: usize = 32;
/// Buffers of the other file that are read for each event, at most: of sessions with buffers for each processor it is one or two.
const BUFFERS_READ: usize = 8;
/// Kinds of events of a buffer that are looked for.
const KINDS: usize = 4;
/// Payloads that are shorter can be equal by chance: such events must have one stamp, as a copy has.
const LEAST_PAYLOAD: usize = 8;

/// Events that two files hold: a merged file and one of its parts, a copy that was compressed, or two sessions that recorded the same. An
/// event that goes to two sessions gets a stamp from each, one after the other.
fn repeated(etl: &EtlFile, survey: &Survey, parts: &[Part<'_>]) -> Option<Contradiction> {
    let pairs = parts.iter().enumerate().flat_map(|(at, one)| parts.iter().skip(at + 1).map(move |other| (one, other)));
    let mut found = pairs.filter_map(|(one, other)| {
        let all = || found_in(etl, survey, one, other).into_iter().chain(found_in(etl, survey, other, one));
        let kinds = all().count() as u64;
        all().next().map(|first| (one.0, other.0, kinds, first))
    });
    let (one, other, events, (id, time)) = found.next()?;
    let text = format!(
        "FILES HOLD THE SAME EVENTS: {} of a few that were looked for, first {} at {:.3} s, in {other} and in {one}: one is a copy, a part or \
         a merge of the other, or both sessions recorded the same. Such events count twice",
        counted(events, "was found", "were found"),
        event_names::name(id).map_or_else(|| id.to_string(), |known| known.name.to_owned()),
        etl.clock.nanos(time).seconds()
    );
    Some(("events_in_two_files", text))
}

/// An event that is looked for.
#[derive(Debug)]
struct Asked {
    id: RecordId,
    time: Ticks,
    payload: Vec<u8>,
}

/// True for events of what happened. What describes the machine and the session is written by each session.
fn is_of_the_recording(record: &Record<'_>) -> bool {
    // Heap ranges and heaps have the classic form, and are of what happened.
    match (hook_of(record.id), record.id) {
        (Some(hook), _) => OF_THE_RECORDING.contains(&hook.group()),
        (None, RecordId::Classic { .. } | RecordId::Manifest { .. }) => event_names::name(record.id).is_none(),
        (None, _) => false,
    }
}

/// Some events of the file `from` that another one has too.
fn found_in(etl: &EtlFile, survey: &Survey, from: &Part<'_>, among: &Part<'_>) -> Vec<(RecordId, Ticks)> {
    let near = (etl.clock.frequency_hz / 10_000).min(i64::MAX as u64) as i64;
    let by_processor = [from, among].iter().all(|(_, file, _)| file.header.mode & MODE_NO_PER_PROCESSOR == 0);
    let processor = |index: usize| etl.buffers.get(index).map(|buffer| buffer.processor);
    let buffers = from.2.clone().skip(1).step_by(from.2.len().div_ceil(ASKED).max(1));
    let mut scratch = Scratch::new();
    let mut found = Vec::new();
    for index in buffers {
        for Asked { id, time, payload } in asked(etl, index, &mut scratch) {
            let can_hold = |buffer: &usize| {
                let is_then = |span: Span| {
                    span.first.0.saturating_sub(near) <= time.0 && span.last.0.saturating_add(near) >= time.0
                };
                let is_its = !by_processor || processor(*buffer) == processor(index);
                is_its && survey.spans.get(*buffer).copied().flatten().is_some_and(is_then)
            };
            let mut holds = |buffer: usize| {
                let area = etl.area(buffer, &mut scratch);
                let apart = if payload.len() < LEAST_PAYLOAD { 0 } else { near as u64 };
                let is_near = |time_of: Ticks| time_of.0.abs_diff(time.0) <= apart;
                let all = area.records().filter(|raw| raw.time().is_some_and(is_near));
                all.filter_map(|raw| raw.read().ok()).any(|record| record.id == id && record.payload == payload)
            };
            if among.2.clone().filter(can_hold).take(BUFFERS_READ).any(&mut holds) {
                found.push((id, time));
            }
        }
    }
    found
}

/// The first event of each of some kinds of a buffer.
fn asked(etl: &EtlFile, index: usize, scratch: &mut Scratch) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    for record in etl.area(index, scratch).records().filter_map(|raw| raw.read().ok()) {
        let is_new = all.iter().all(|other| other.id != record.id);
        if let Some(time) = record.time.filter(|_| is_new && is_of_the_recording(&record)) {
            all.push(Asked { id: record.id, time, payload: record.payload.to_vec() });
        }
        if all.len() == KINDS {
            break;
        }
    }
    all
}
