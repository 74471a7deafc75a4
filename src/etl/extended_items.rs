//! Extended data items of manifest events: the ones that name a TraceLogging event and its provider.
//!
//! An item is an 8-byte head (size rounded up to 8, type, link bit, data size) and data. `RawRecord::read` has already
//! followed the sizes to find the payload; here the items are read. Sources: `docs/formats.md` ("Extended items"),
//! TraceLoggingProvider.h for what lies inside items 11 and 12; verified on recorded traces.

use crate::byte_reader::{Cursor, Narrow};
use crate::units::PointerSize;

/// Bytes of a match id, with which the data of a stack begins.
const MATCH_ID: usize = 8;

/// Item types: stacks of 32-bit and 64-bit addresses.
pub(crate) const ITEMS_STACK: [u16; 2] = [5, 6];
/// Item type: schema of a TraceLogging event.
pub(crate) const ITEM_SCHEMA: u16 = 11;
/// Item type: traits of the provider, its name first.
pub(crate) const ITEM_PROVIDER_TRAITS: u16 = 12;

/// One extended data item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Item type.
    pub kind: u16,
    /// Data, without padding.
    pub data: &'a [u8],
}

/// The items of `Record::extended`, in order.
pub fn items(mut area: &[u8]) -> impl Iterator<Item = Item<'_>> {
    std::iter::from_fn(move || {
        let mut cursor = Cursor::new(area, PointerSize::P8);
        let size = usize::from(cursor.u16("item size").ok()?);
        let kind = cursor.u16("item type").ok()?;
        cursor.skip(2, "item link").ok()?;
        let data_bytes = usize::from(cursor.u16("data size").ok()?);
        let whole = area.get(..size).filter(|whole| whole.len() >= 8)?; // shorter would not advance
        let data = whole.get(8..)?;
        area = area.get(size..)?;
        Some(Item { kind, data: data.get(..data_bytes).unwrap_or(data) })
    })
}

/// Bytes of the stacks among the items, with their heads.
pub(crate) fn stack_bytes(extended: &[u8]) -> u64 {
    let stacks = items(extended).filter(|item| ITEMS_STACK.contains(&item.kind));
    stacks.map(|item| item.data.len() as u64 + 8).sum()
}

/// Name of a TraceLogging event. It follows the schema's length (2 bytes) and its tags (bytes up to one without bit 7).
pub fn event_name(extended: &[u8]) -> Option<Narrow<'_>> {
    let schema = items(extended).find(|item| item.kind == ITEM_SCHEMA)?;
    let mut cursor = Cursor::new(schema.data, PointerSize::P8);
    cursor.skip(2, "length").ok()?;
    while cursor.u8("tags").ok()? & 0x80 != 0 {}
    cursor.narrow("event name").ok()
}

/// Name of the provider of a TraceLogging event. It follows the traits' length (2 bytes).
pub fn provider_name(extended: &[u8]) -> Option<Narrow<'_>> {
    let traits = items(extended).find(|item| item.kind == ITEM_PROVIDER_TRAITS)?;
    let mut cursor = Cursor::new(traits.data, PointerSize::P8);
    cursor.skip(2, "length").ok()?;
    cursor.narrow("provider name").ok()
}

impl Item<'_> {
    /// Bytes of the data that hold a stack; `None` for other items.
    pub(crate) fn stack_bytes(&self) -> Option<usize> {
        let rest = self.data.len().checked_sub(MATCH_ID);
        let holds = |bytes: usize| rest.filter(|rest| *rest >= bytes).map_or(0, |_| MATCH_ID + bytes);
        Some(match self.kind {
            5 => rest.map_or(0, |rest| MATCH_ID + rest / 4 * 4),
            6 => rest.map_or(0, |rest| MATCH_ID + rest / 8 * 8),
            17 => holds(4),
            18 => holds(8),
            _ => return None,
        })
    }
}

/// A stack that an event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackItem<'a> {
    /// Return addresses, innermost first, as their bytes and their size.
    Frames(&'a [u8], PointerSize),
    /// The key of a stack that is defined elsewhere.
    Key(u64),
}

/// The stacks among the items (5, 6: addresses; 17, 18: keys). Each begins with a match id, which is not needed.
pub(crate) fn stacks(extended: &[u8]) -> impl Iterator<Item = StackItem<'_>> {
    items(extended).filter_map(|item| {
        let mut cursor = Cursor::new(item.data, PointerSize::P8);
        cursor.skip(MATCH_ID, "match id").ok()?;
        match item.kind {
            5 => Some(StackItem::Frames(cursor.rest(), PointerSize::P4)),
            6 => Some(StackItem::Frames(cursor.rest(), PointerSize::P8)),
            17 => cursor.u32("stack key").ok().map(|key| StackItem::Key(key.into())),
            18 => cursor.u64("stack key").ok().map(StackItem::Key),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: u8, data: &[u8]) -> Vec<u8> {
        let size = (8 + data.len()).next_multiple_of(8);
        let mut bytes = vec![size as u8, 0, kind, 0, 0, 0, data.len() as u8, 0];
        bytes.extend(data);
        bytes.resize(size, 0);
        bytes
    }

    #[test]
    fn finds_the_names_of_a_tracelogging_event() {
        let area = [item(11, b"\x0b\0\x81\x00Begin\0"), item(12, b"\x08\0My.Provider\0")].concat();
        assert_eq!(event_name(&area).unwrap().text(), "Begin");
        assert_eq!(provider_name(&area).unwrap().text(), "My.Provider");
        assert_eq!(event_name(&area[20..]), None);
    }

    #[test]
    fn stacks_are_addresses_or_a_key() {
        let area = [
            item(5, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
            item(12, b"\x08\0My.Provider\0"),
            item(18, &[0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1]),
            item(17, &[0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 7, 7, 7, 7]),
            item(18, &[0; 15]),
        ];
        let expected =
            [StackItem::Frames(&[1, 2, 3, 4], PointerSize::P4), StackItem::Key(9 | 1 << 56), StackItem::Key(9)];
        assert_eq!(stacks(&area.concat()).collect::<Vec<_>>(), expected);
        let area = [area.concat(), item(6, &[0; 21]), item(5, &[0; 7])].concat();
        let bytes: Vec<Option<usize>> = items(&area).map(|item| item.stack_bytes()).collect();
        assert_eq!(bytes, [Some(12), None, Some(16), Some(12), Some(0), Some(16), Some(0)]);
    }

    #[test]
    fn an_item_that_does_not_advance_ends_the_walk() {
        assert_eq!(items(&[0; 64]).count(), 0);
    }
}
