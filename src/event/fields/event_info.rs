//! Event information that merging a trace adds: `TRACE_EVENT_INFO` and `EVENT_MAP_INFO` of `tdh.h`.
//!
//! Sources: `docs/events.md`. All offsets and counts are checked: information that does not fit is no schema.

use super::schema::{Amount, Content, Meaning, Property, Schema, ValueMap, with_own_names};
use crate::byte_reader::Cursor;
use crate::etl::record_id::RecordId;
use crate::event::event_names;
use crate::units::PointerSize;
use foldhash::HashMap as FastMap;
use std::sync::Arc;
use uuid::Uuid;

/// Types of the class [`event_names::EVENT_METADATA`].
const EVENT: u8 = 32;
const MAP: u8 = 33;

/// Size of the head of event information, and of one property.
const HEAD: usize = 112;
const PROPERTY: usize = 24;

/// Bytes of all names of a record, as UTF-8, that there may be for each of its bytes. A name lies in it once, as UTF-16; of one that
/// thousands of properties point at, the copies would fill the memory.
const MOST_NAMES: usize = 2;

/// Which events information is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Events of a provider: GUID, id, version.
    Manifest(Uuid, u16, u8),
    /// Classic events: class, type, version.
    Classic(Uuid, u8, u8),
}

/// What a record of event information says.
#[derive(Debug, Clone)]
pub enum EventInfo {
    /// A schema, the events that it is for, and the provider whose maps name its numbers.
    Schema(Vec<Subject>, Schema, Uuid),
    /// Names of numbers, of a provider.
    Map(Uuid, Arc<str>, ValueMap),
}

impl EventInfo {
    /// Reads a record; `None` for other records and for information that does not fit.
    pub fn read(id: RecordId, payload: &[u8]) -> Option<EventInfo> {
        match id {
            RecordId::Classic { class: event_names::EVENT_METADATA, opcode: EVENT } => schema(payload),
            RecordId::Classic { class: event_names::EVENT_METADATA, opcode: MAP } => map(payload),
            _ => None,
        }
    }
}

fn at(bytes: &[u8], offset: usize) -> Option<Cursor<'_>> {
    Some(Cursor::new(bytes.get(offset..)?, PointerSize::P8))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    at(bytes, offset)?.u32("number").ok()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    at(bytes, offset)?.u16("number").ok()
}

/// The text at the offset that is written at a place; `Some(None)` where the offset is 0.
fn text_at(bytes: &[u8], place: usize) -> Option<Option<String>> {
    match u32_at(bytes, place)? as usize {
        0 => Some(None),
        offset => Some(Some(at(bytes, offset)?.wide("name").ok()?.text())),
    }
}

fn schema(bytes: &[u8]) -> Option<EventInfo> {
    let provider_guid = at(bytes, 0)?.guid("provider").ok()?;
    let event_guid = at(bytes, 16)?.guid("event").ok()?;
    let (id, version, opcode) = (u16_at(bytes, 32)?, *bytes.get(34)?, *bytes.get(37)?);
    let source = u32_at(bytes, 48)?;
    let (all, top, flags) = (u32_at(bytes, 100)? as usize, u32_at(bytes, 104)? as usize, u32_at(bytes, 108)?);
    if top > all || all > bytes.len().saturating_sub(HEAD) / PROPERTY {
        return None;
    }
    let task = text_at(bytes, 68)?;
    // Only these sources have a name of the event; others have something else there.
    let event = if matches!(source, 0 | 3) { text_at(bytes, 92)? } else { None };
    let opcode_name = text_at(bytes, 72)?.map(|name| name.strip_prefix("win:").unwrap_or(&name).into());
    let mut properties = Vec::with_capacity(all);
    let mut names = Names { bytes, room: MOST_NAMES * bytes.len(), maps: FastMap::default() };
    for number in 0..all {
        properties.push(property(&mut names, HEAD + number * PROPERTY)?);
    }
    let schema = Schema {
        provider: text_at(bytes, 52)?.map(Into::into),
        name: task.filter(|task| !task.is_empty()).or(event).map(Into::into),
        opcode: opcode_name,
        properties: with_own_names(properties, top)?,
        top,
    };
    let subjects = match source {
        0 => {
            let of = |guid| Subject::Manifest(guid, id, version);
            let second = (flags & 4 != 0 && event_guid != provider_guid).then(|| of(event_guid));
            std::iter::once(of(provider_guid)).chain(second).collect()
        }
        1 => {
            let class = if event_guid.is_nil() { provider_guid } else { event_guid };
            vec![Subject::Classic(class, opcode, version)]
        }
        _ => return None,
    };
    Some(EventInfo::Schema(subjects, schema, provider_guid))
}

/// The names in a record.
struct Names<'a> {
    bytes: &'a [u8],
    /// Bytes that they may still have.
    room: usize,
    /// Names of maps by offset: many properties can have one map.
    maps: FastMap<u32, Arc<str>>,
}

impl Names<'_> {
    /// The text whose offset is written at a place; `Some(None)` where there is none.
    fn at(&mut self, place: usize) -> Option<Option<Arc<str>>> {
        let Some(name) = text_at(self.bytes, place)? else { return Some(None) };
        self.room = self.room.checked_sub(name.len())?;
        Some(Some(name.into()))
    }

    /// The same of a map.
    fn map_at(&mut self, place: usize) -> Option<Option<Arc<str>>> {
        let offset = u32_at(self.bytes, place)?;
        if let Some(known) = self.maps.get(&offset) {
            return Some(Some(known.clone()));
        }
        let name = self.at(place)?;
        self.maps.extend(name.clone().map(|name| (offset, name)));
        Some(name)
    }
}

fn property(names: &mut Names<'_>, offset: usize) -> Option<Property> {
    let bytes = names.bytes;
    let flags = u32_at(bytes, offset)?;
    let name = names.at(offset + 4)?.unwrap_or_default();
    let (first, second) = (u16_at(bytes, offset + 8)?, u16_at(bytes, offset + 10)?);
    let (count, length) = (u16_at(bytes, offset + 16)?, u16_at(bytes, offset + 18)?);
    let has = |flag: u32| flags & flag != 0;
    let content = match flags {
        _ if has(1) => Content::Struct { first: first.into(), members: second.into() },
        _ if has(0x80) => Content::Own,
        _ => {
            let map = names.map_at(offset + 12)?;
            Content::Value { in_type: first, meaning: Meaning::of_tdh(second), map }
        }
    };
    let length = match length {
        other if has(2) => Amount::Of(other.into()),
        0 => Amount::None,
        // Of types with a size of their own this is that size.
        length => Amount::Fixed(length.into()),
    };
    let count = match count {
        other if has(4) => Amount::Of(other.into()),
        count if has(0x20) || count > 1 => Amount::Fixed(count.into()),
        _ => Amount::None,
    };
    Some(Property { name, content, length, count, is_counted: false })
}

fn map(bytes: &[u8]) -> Option<EventInfo> {
    let provider = at(bytes, 0)?.guid("provider").ok()?;
    let info = bytes.get(16..)?;
    let name = text_at(info, 0)??.into();
    let flag = u32_at(info, 4)?;
    let count = u32_at(info, 8)? as usize;
    if !matches!(flag, 1 | 2) || count > info.len().saturating_sub(16) / 8 {
        return None;
    }
    let (mut entries, mut room) = (Vec::with_capacity(count), MOST_NAMES * bytes.len());
    for number in 0..count {
        let place = 16 + number * 8;
        let text = text_at(info, place)?.unwrap_or_default();
        room = room.checked_sub(text.len())?;
        entries.push((u32_at(info, place + 4)?, text.trim_end_matches(' ').to_owned()));
    }
    Some(EventInfo::Map(provider, name, ValueMap::new(flag == 2, entries)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &mut Vec<u8>, place: usize, text: &str) {
        let offset = bytes.len() as u32;
        bytes[place..place + 4].copy_from_slice(&offset.to_le_bytes());
        bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    }

    fn info() -> Vec<u8> {
        let mut bytes = vec![0; HEAD + 2 * PROPERTY];
        bytes[..16].copy_from_slice(&[7; 16]);
        (bytes[32], bytes[34], bytes[100], bytes[104]) = (5, 2, 2, 2);
        (bytes[HEAD + 8], bytes[HEAD + PROPERTY + 8], bytes[HEAD + PROPERTY]) = (8, 1, 2);
        text(&mut bytes, 52, "Provider");
        text(&mut bytes, 68, "Task");
        text(&mut bytes, 72, "win:Start");
        text(&mut bytes, HEAD + 4, "length");
        text(&mut bytes, HEAD + PROPERTY + 4, "name");
        bytes
    }

    #[test]
    fn a_schema_is_read_and_one_that_does_not_fit_is_none() {
        let id = RecordId::Classic { class: event_names::EVENT_METADATA, opcode: 32 };
        let Some(EventInfo::Schema(subjects, schema, provider)) = EventInfo::read(id, &info()) else { panic!() };
        assert_eq!(subjects, [Subject::Manifest(Uuid::from_bytes([7; 16]), 5, 2)]);
        assert_eq!((schema.provider.as_deref(), schema.name.as_deref()), (Some("Provider"), Some("Task")));
        assert_eq!((schema.opcode.as_deref(), schema.top, provider), (Some("Start"), 2, Uuid::from_bytes([7; 16])));
        assert_eq!(schema.properties[1].length, Amount::Of(0));
        for cut in 0..info().len() {
            assert!(EventInfo::read(id, &info()[..cut]).is_none(), "{cut}");
        }
        for (place, value) in [(100, 0xff), (104, 3), (48, 2), (HEAD + PROPERTY + 18, 9), (HEAD + 4, 0xff)] {
            let mut wrong = info();
            wrong[place] = value;
            wrong[place + 1] = if value == 0xff { 0xff } else { 0 };
            assert!(EventInfo::read(id, &wrong).is_none(), "{place}");
        }
    }

    /// 64 KB in which all properties are structures of all members, or have one long name: no schema, and at once.
    #[test]
    fn work_does_not_grow_with_the_square_of_a_record() {
        let id = |opcode| RecordId::Classic { class: event_names::EVENT_METADATA, opcode };
        let all = 2_000_u16;
        let mut shared = vec![0; HEAD + usize::from(all) * PROPERTY];
        shared[100..102].copy_from_slice(&all.to_le_bytes());
        shared[104] = 1;
        let name = shared.len() as u32;
        shared.extend([b'x', 0].repeat(7_000).into_iter().chain([0, 0]));
        let mut overlapping = shared.clone();
        for number in 0..usize::from(all) {
            let place = HEAD + number * PROPERTY;
            shared[place + 4..place + 8].copy_from_slice(&name.to_le_bytes());
            overlapping[place] = 1;
            // Each has the members behind it.
            overlapping[place + 8..place + 10].copy_from_slice(&(number as u16 + 1).to_le_bytes());
            overlapping[place + 10..place + 12].copy_from_slice(&(all - number as u16 - 1).to_le_bytes());
        }
        let mut map = vec![0; 16 + 16 + 8 * 2_000];
        map[20] = 1;
        map[24..26].copy_from_slice(&all.to_le_bytes());
        let text = (map.len() - 16) as u32;
        for place in (0..2_000).map(|number| 32 + 8 * number).chain([16]) {
            map[place..place + 4].copy_from_slice(&text.to_le_bytes());
        }
        map.extend([b'x', 0].repeat(7_000).into_iter().chain([0, 0]));
        let begin = std::time::Instant::now();
        for _ in 0..100 {
            assert!(
                EventInfo::read(id(EVENT), &shared).is_none() && EventInfo::read(id(EVENT), &overlapping).is_none()
            );
            assert!(EventInfo::read(id(MAP), &map).is_none());
        }
        // Some milliseconds; it was minutes.
        assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    }

    #[test]
    fn names_of_numbers_lose_blanks_at_their_end() {
        let mut bytes = vec![0; 16 + 16 + 8];
        (bytes[20], bytes[24], bytes[36]) = (1, 1, 4);
        let mut info = bytes.split_off(16);
        text(&mut info, 0, "Map");
        text(&mut info, 16, "four ");
        bytes.extend(info);
        let id = RecordId::Classic { class: event_names::EVENT_METADATA, opcode: 33 };
        let Some(EventInfo::Map(_, name, map)) = EventInfo::read(id, &bytes) else { panic!() };
        assert_eq!((&*name, map.name(4, 4).as_deref()), ("Map", Ok("four")));
        assert!(EventInfo::read(id, &bytes[..30]).is_none());
    }
}
