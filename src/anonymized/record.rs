//! A record without what it says about people.

use crate::anonymized::process_names::ProcessNames;
use crate::anonymized::{Changes, StandIns, TextKind, well_known_words};
use crate::byte_reader::Cursor;
use crate::etl::extended_items::{ITEM_PROVIDER_TRAITS, ITEM_SCHEMA, event_name, items, provider_name};
use crate::etl::log_file_header::LogFileHeader;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::{Position, RecordId};
use crate::event::hooks::LOG_FILE;
use crate::event::personal::{PersonalPart, add_parts_of_others, add_personal_parts};
use crate::event::pool_snapshot::PoolSnapshot;
use crate::event::{Decoded, Event, Oddity, decode};
use crate::units::FileTime;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What a record is changed with.
#[derive(Debug, Clone, Copy)]
pub struct Tools<'t> {
    pub names: &'t StandIns,
    pub processes: &'t ProcessNames,
    pub changes: &'t Changes,
}

/// The date that Windows itself writes for an installation at an unknown time: 1970-01-01.
const UNKNOWN_DATE: FileTime = FileTime(116_444_736_000_000_000);

/// What payloads without a decoder are filled with; the first fills for which they remain what they were.
const FILLS: [u8; 4] = [0, 0xff, 1, 0x7f];

/// Replaces what is personal in a record; `whole` is a copy of its bytes.
pub fn replace<'a>(raw: &RawRecord<'a>, whole: &mut [u8], tools: &Tools<'_>, parts: &mut Vec<PersonalPart<'a>>) {
    tools.changes.records.fetch_add(1, Ordering::Relaxed);
    let Ok(record) = raw.read() else {
        tools.changes.zeroed.fetch_add(1, Ordering::Relaxed);
        let payload = raw.header.header_bytes()..whole.len();
        // Whether its provider has a name among what cannot be read is not known.
        [raw.own_guid(), raw.provider_guid()]
            .into_iter()
            .flatten()
            .for_each(|guid| replace_guid(whole, guid, tools.names));
        return fill(raw, whole, payload, |again| again.is_none());
    };
    replace_guids(raw, &record, whole, tools.names);
    replace_items(raw, &record, whole, tools.names);
    let payload = payload_of(raw, &record);
    if record.header.is_kernel() {
        // Counters of the processor, which no reader needs. A damaged header can announce them where a text is.
        zero(whole, record.header.header_bytes()..payload.start);
    }
    parts.clear();
    match decode(&record) {
        Decoded::Event { event: Event::PoolSnapshot { snapshot, .. }, .. } => {
            if !fits(&snapshot) {
                tools.changes.zeroed.fetch_add(1, Ordering::Relaxed);
                fill(raw, whole, payload.clone(), |again| match again.map(decode) {
                    Some(Decoded::Event { event: Event::PoolSnapshot { snapshot, .. }, .. }) => !fits(&snapshot),
                    _ => false,
                });
            }
        }
        Decoded::Event { event, surplus } => {
            add_personal_parts(&event, parts);
            if let Some(Oddity::Longer { parsed } | Oddity::UnknownVersion { parsed }) =
                surplus.map(|surplus| surplus.what)
            {
                zero(whole, payload.start.saturating_add(parsed)..payload.end);
            }
        }
        Decoded::NotDecoded => match add_parts_of_others(&record, parts) {
            Some(Ok(read)) => zero(whole, payload.start.saturating_add(read)..payload.end),
            Some(fault) => {
                tools.changes.zeroed.fetch_add(1, Ordering::Relaxed);
                fill(raw, whole, payload.clone(), |again| {
                    again.and_then(|record| add_parts_of_others(record, &mut Vec::new())) == Some(fault)
                });
            }
            None => {
                tools.changes.zeroed.fetch_add(1, Ordering::Relaxed);
                zero(whole, payload.clone());
            }
        },
        found @ Decoded::Malformed(_) => {
            tools.changes.zeroed.fetch_add(1, Ordering::Relaxed);
            let kept = if is_header_of_file(&record) { numbers_of_file(&record) } else { 0 };
            fill(raw, whole, payload.start + kept..payload.end, |again| again.map(decode) == Some(found));
        }
    }
    if record.id == RecordId::Kernel(LOG_FILE) {
        let not_needed = match is_header_of_file(&record) {
            true => LogFileHeader::time_zone_names(record.pointer),
            // Any damaged record can be one that says it is a header.
            false => 0..numbers_of_file(&record),
        };
        zero(whole, payload.start + not_needed.start..(payload.start + not_needed.end).min(payload.end));
    }
    tools.changes.texts.fetch_add(parts.len() as u64, Ordering::Relaxed);
    for part in parts.iter() {
        replace_part(part, raw, whole, tools);
    }
}

fn replace_part(part: &PersonalPart<'_>, raw: &RawRecord<'_>, whole: &mut [u8], tools: &Tools<'_>) {
    let bytes = match part {
        PersonalPart::Wide(text) | PersonalPart::Product(text) | PersonalPart::WideBuildLab(text) => text.0,
        PersonalPart::Narrow(text) | PersonalPart::Mark(text) | PersonalPart::BuildLab(text) => text.0,
        PersonalPart::ProcessName { name, .. } => name.0,
        PersonalPart::Sid(sid) => sid.sub_authority_bytes(),
        PersonalPart::Guids(bytes) | PersonalPart::InstallDate(bytes) | PersonalPart::Stale(bytes) => bytes,
    };
    let names = tools.names;
    let Some(copy) = whole.get_mut(place_of(bytes, raw.bytes)) else { return };
    match part {
        PersonalPart::Wide(_) => names.wide(copy, TextKind::Names),
        PersonalPart::Product(_) => names.wide(copy, TextKind::Product),
        PersonalPart::WideBuildLab(text) if well_known_words::is_build_lab(&text.text()) => {}
        PersonalPart::WideBuildLab(_) => names.wide(copy, TextKind::Names),
        PersonalPart::Narrow(_) => names.narrow(copy, TextKind::Names),
        PersonalPart::Mark(_) => names.narrow(copy, TextKind::Mark),
        PersonalPart::BuildLab(text) if well_known_words::is_build_lab(&text.text()) => {}
        PersonalPart::BuildLab(_) => names.narrow(copy, TextKind::Names),
        PersonalPart::ProcessName { process_id, key, name } => {
            tools.processes.replace(names, (*process_id, *key), *name, copy);
        }
        PersonalPart::Sid(sid) => names.sub_authorities(sid, copy),
        PersonalPart::Guids(_) => names.guids(copy),
        PersonalPart::InstallDate(_) => {
            copy.iter_mut().zip(UNKNOWN_DATE.0.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        PersonalPart::Stale(_) => copy.fill(0),
    }
}

/// GUIDs of activities, and of files of source code with messages; of a provider that is named in its events, because its GUID
/// is made of its name.
fn replace_guids(raw: &RawRecord<'_>, record: &Record<'_>, whole: &mut [u8], names: &StandIns) {
    let is_named = !is_of_microsoft(record.extended)
        && items(record.extended).any(|item| [ITEM_SCHEMA, ITEM_PROVIDER_TRAITS].contains(&item.kind));
    let provider = raw.provider_guid().filter(|_| is_named);
    [raw.own_guid(), provider].into_iter().flatten().for_each(|guid| replace_guid(whole, guid, names));
}

fn replace_guid(whole: &mut [u8], place: Range<usize>, names: &StandIns) {
    whole.get_mut(place).into_iter().for_each(|guid| names.guids(guid));
}

/// Extended items: stacks stay; TraceLogging events and their providers have stand-ins for their names.
fn replace_items(raw: &RawRecord<'_>, record: &Record<'_>, whole: &mut [u8], names: &StandIns) {
    let is_of_microsoft = is_of_microsoft(record.extended);
    for item in items(record.extended) {
        let place = place_of(item.data, raw.bytes);
        if let Some(stack) = item.stack_bytes() {
            zero(whole, place.start + stack..place.end);
            continue;
        }
        let name = match item.kind {
            ITEM_SCHEMA | ITEM_PROVIDER_TRAITS if is_of_microsoft => continue,
            ITEM_SCHEMA => event_name(record.extended),
            ITEM_PROVIDER_TRAITS => provider_name(record.extended),
            _ => None,
        };
        let name = name.map(|name| place_of(name.0, raw.bytes)).filter(|name| place.start < name.start);
        zero(whole, name.as_ref().map_or(place.start, |name| name.end)..place.end);
        whole.get_mut(name.unwrap_or_default()).into_iter().for_each(|name| names.narrow(name, TextKind::Names));
    }
}

fn is_of_microsoft(extended: &[u8]) -> bool {
    let is_start = |name: &str| ["microsoft.", "microsoft-"].iter().any(|start| name.starts_with(start));
    provider_name(extended).is_some_and(|name| is_start(&name.text().to_ascii_lowercase()))
}

/// True when a snapshot of the pool has a layout that is known, hence only addresses, sizes and tags.
fn fits(snapshot: &PoolSnapshot<'_>) -> bool {
    snapshot.forms().iter().any(|form| snapshot.fits(*form))
}

/// Fills a part of the record so that it remains what it was: with zeros where they will do.
fn fill(raw: &RawRecord<'_>, whole: &mut [u8], part: Range<usize>, remains: impl Fn(Option<&Record<'_>>) -> bool) {
    let is_filled = |fill: u8, whole: &mut [u8]| {
        whole.get_mut(part.clone()).into_iter().for_each(|part| part.fill(fill));
        remains(RawRecord { bytes: whole, ..*raw }.read().ok().as_ref())
    };
    if !FILLS.into_iter().any(|fill| is_filled(fill, whole)) {
        // Another fault is better than none.
        let [_, least_like_text, ..] = FILLS;
        is_filled(least_like_text, whole);
    }
}

fn zero(whole: &mut [u8], part: Range<usize>) {
    whole.get_mut(part).into_iter().for_each(|part| part.fill(0));
}

/// True for the file's first record: without its numbers the file is no trace.
fn is_header_of_file(record: &Record<'_>) -> bool {
    record.id == RecordId::Kernel(LOG_FILE) && record.position == Position::default()
}

/// Bytes of the numbers of a log-file header; its names can be cut.
fn numbers_of_file(record: &Record<'_>) -> usize {
    let mut c = Cursor::new(record.payload, record.pointer);
    if LogFileHeader::read(&mut c).is_ok() { c.position() } else { 0 }
}

/// Where the payload lies in its record, also if it has no bytes.
fn payload_of(raw: &RawRecord<'_>, record: &Record<'_>) -> Range<usize> {
    let end = raw.bytes.len();
    match record.payload {
        [] => end..end,
        payload => place_of(payload, raw.bytes),
    }
}

/// Where a part lies in the whole it was taken from; a range without bytes for a part of something else.
fn place_of(part: &[u8], whole: &[u8]) -> Range<usize> {
    let from = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    if from > whole.len() || part.is_empty() { 0..0 } else { from..from.saturating_add(part.len()).min(whole.len()) }
}
