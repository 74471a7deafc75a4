//! A trace without what it says about people: names are replaced by stand-ins of the same length, payloads of unknown events
//! are zeroed. Sizes, times and counts stay.

mod known;
mod stand_in;

pub use stand_in::StandIns;

use crate::bytes::Cursor;
use crate::etl::EtlFile;
use crate::etl::event_area::EventArea;
use crate::etl::extended::{ITEM_PROVIDER_TRAITS, ITEM_SCHEMA, ITEMS_STACK, items};
use crate::etl::logfile::LogFileHeader;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::RecordId;
use crate::event::hooks::LOG_FILE;
use crate::event::personal::{PersonalPart, add_personal_parts};
use crate::event::{Decoded, Oddity, decode};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was changed.
#[derive(Debug, Default)]
pub struct Changes {
    /// Texts and SIDs that were replaced or had nothing to be replaced.
    texts: AtomicU64,
    /// Records whose payload was zeroed, because its layout is not known.
    zeroed: AtomicU64,
    /// Records.
    records: AtomicU64,
}

impl Changes {
    /// Records, texts, zeroed records.
    pub fn figures(&self) -> [u64; 3] {
        [&self.records, &self.texts, &self.zeroed].map(|figure| figure.load(Ordering::Relaxed))
    }
}

/// Writes the first file of a recording without what it says about people. Compressed buffers are written uncompressed. Bytes
/// that belong to no sound record are not passed on.
///
/// # Errors
/// What the writer says.
pub fn write(etl: &EtlFile, names: &StandIns, out: &mut dyn Write) -> io::Result<Changes> {
    let changes = Changes::default();
    etl.rewrite(out, |area| anonymized(area, names, &changes))?;
    Ok(changes)
}

/// The bytes of an event area, with stand-ins.
fn anonymized(area: &EventArea<'_>, names: &StandIns, changes: &Changes) -> Vec<u8> {
    // What is left of it is damage for a reader, as what stood there.
    let mut new = vec![0xff; area.bytes.len()];
    let mut parts = Vec::new();
    for record in area.records() {
        let begin = record.position.offset as usize;
        let padded = (begin + record.bytes.len()).next_multiple_of(8).min(new.len());
        let Some(place) = new.get_mut(begin..padded) else { continue };
        place.fill(0);
        let (whole, _) = place.split_at_mut(record.bytes.len().min(place.len()));
        whole.copy_from_slice(record.bytes.get(..whole.len()).unwrap_or_default());
        replace(&record, whole, names, &mut parts, changes);
    }
    new
}

/// Replaces what is personal in a record; `whole` is a copy of its bytes.
fn replace<'a>(
    raw: &RawRecord<'a>,
    whole: &mut [u8],
    names: &StandIns,
    parts: &mut Vec<PersonalPart<'a>>,
    changes: &Changes,
) {
    changes.records.fetch_add(1, Ordering::Relaxed);
    let zero = |range: Range<usize>, whole: &mut [u8]| whole.get_mut(range).into_iter().for_each(|part| part.fill(0));
    let Ok(record) = raw.read() else {
        changes.zeroed.fetch_add(1, Ordering::Relaxed);
        return zero(raw.header.header_bytes()..whole.len(), whole);
    };
    for item in items(record.extended).filter(|item| !is_impersonal(item.kind)) {
        zero(place_of(item.data, raw.bytes), whole);
    }
    let payload = place_of(record.payload, raw.bytes);
    parts.clear();
    match decode(&record) {
        Decoded::Event { event, surplus } => {
            add_personal_parts(&event, parts);
            if let Some(Oddity::Longer { parsed } | Oddity::UnknownVersion { parsed }) =
                surplus.map(|surplus| surplus.what)
            {
                zero(payload.start.saturating_add(parsed)..payload.end, whole);
            }
        }
        Decoded::NotDecoded | Decoded::Malformed(_) => {
            changes.zeroed.fetch_add(1, Ordering::Relaxed);
            zero(payload.start + numbers_of_file(&record)..payload.end, whole);
        }
    }
    changes.texts.fetch_add(parts.len() as u64, Ordering::Relaxed);
    for part in parts.iter() {
        let bytes = match part {
            PersonalPart::Wide(text) => text.0,
            PersonalPart::Narrow(text) => text.0,
            PersonalPart::SubAuthorities(bytes) => bytes,
        };
        let Some(copy) = whole.get_mut(place_of(bytes, raw.bytes)) else { continue };
        match part {
            PersonalPart::Wide(_) => names.wide(copy),
            PersonalPart::Narrow(_) => names.narrow(copy),
            PersonalPart::SubAuthorities(_) => names.sub_authorities(copy),
        }
    }
}

/// Bytes of the log-file header whose names are cut: without its numbers the file is no trace.
fn numbers_of_file(record: &Record<'_>) -> usize {
    let mut c = Cursor::new(record.payload, record.pointer);
    let is_header = record.id == RecordId::Kernel(LOG_FILE) && LogFileHeader::read(&mut c).is_ok();
    if is_header { c.position() } else { 0 }
}

/// True for extended items that hold stacks or what a provider says of its own event.
fn is_impersonal(kind: u16) -> bool {
    ITEMS_STACK.contains(&kind) || kind == ITEM_SCHEMA || kind == ITEM_PROVIDER_TRAITS
}

/// Where a part lies in the whole it was taken from; a range without bytes for a part of something else.
fn place_of(part: &[u8], whole: &[u8]) -> Range<usize> {
    let from = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    if from > whole.len() || part.is_empty() { 0..0 } else { from..from.saturating_add(part.len()).min(whole.len()) }
}
