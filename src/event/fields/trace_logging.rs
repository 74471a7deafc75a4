//! Schemas of TraceLogging events, which every event carries: extended items 11 (fields) and 12 (provider).
//!
//! Sources: `docs/events.md`, after `TraceLoggingProvider.h`.

use super::schema::{Amount, Content, DEEPEST, Meaning, Property, Schema, with_own_names};
use crate::byte_reader::Cursor;
use crate::etl::extended_items::{ITEM_SCHEMA, items, provider_name};
use crate::units::PointerSize;
use std::collections::VecDeque;

/// In-type of a structure.
const STRUCT: u8 = 24;

/// A field and the members that it has.
struct Node {
    property: Property,
    members: Vec<Node>,
}

/// The bytes of a schema; `None` for an event without one.
pub fn schema_bytes(extended: &[u8]) -> Option<&[u8]> {
    items(extended).find(|item| item.kind == ITEM_SCHEMA).map(|item| item.data)
}

/// The schema of an event; `None` where its bytes cannot be one.
pub fn schema(extended: &[u8]) -> Option<Schema> {
    let data = schema_bytes(extended)?;
    let size = usize::from(u16::from_le_bytes(*data.first_chunk()?));
    let mut cursor = Cursor::new(data.get(..size.min(data.len()))?, PointerSize::P8);
    cursor.skip(2, "size").ok()?;
    tags(&mut cursor)?;
    let name = cursor.narrow("event name").ok()?.text();
    let mut nodes = Vec::new();
    while cursor.remaining() > 0 {
        nodes.push(node(&mut cursor, 0)?);
    }
    let top = nodes.len();
    let properties = with_own_names(in_layers(nodes), top)?;
    let provider = provider_name(extended).map(|name| name.text().into());
    Some(Schema { provider, name: Some(name.into()), opcode: None, properties, top })
}

fn tags(cursor: &mut Cursor<'_>) -> Option<()> {
    while cursor.u8("tags").ok()? & 0x80 != 0 {}
    Some(())
}

fn node(cursor: &mut Cursor<'_>, depth: usize) -> Option<Node> {
    let name = cursor.narrow("field name").ok()?.text().into();
    let in_byte = cursor.u8("type").ok()?;
    let mut out_type = 0;
    if in_byte & 0x80 != 0 {
        let out_byte = cursor.u8("output type").ok()?;
        out_type = out_byte & 0x7f;
        if out_byte & 0x80 != 0 {
            tags(cursor)?;
        }
    }
    let in_type = in_byte & 0x1f;
    let (mut count, mut is_own) = (Amount::None, false);
    match in_byte & 0x60 {
        0x20 => count = Amount::Fixed(cursor.u16("count").ok()?.into()),
        0x40 => count = Amount::Prefixed,
        0x60 => {
            let length = usize::from(cursor.u16("length").ok()?);
            cursor.skip(length, "schema of its own").ok()?;
            is_own = true;
        }
        _ => {}
    }
    let mut members = Vec::new();
    let content = match in_type {
        _ if is_own => Content::Own,
        STRUCT => {
            for _ in 0..out_type {
                members.push(node(cursor, depth + 1).filter(|_| depth < DEEPEST)?);
            }
            Content::Struct { first: 0, members: members.len() }
        }
        _ => Content::Value { in_type: in_type.into(), meaning: Meaning::of_trace_logging(out_type), map: None },
    };
    let property = Property { name, content, length: Amount::None, count, is_counted: in_type == 14 && !is_own };
    Some(Node { property, members })
}

/// Members of a structure beside each other, behind it: the order that the reader needs.
fn in_layers(nodes: Vec<Node>) -> Vec<Property> {
    let mut waiting: VecDeque<Node> = nodes.into();
    let mut properties = Vec::new();
    while let Some(mut node) = waiting.pop_front() {
        if let Content::Struct { first, .. } = &mut node.property.content {
            *first = properties.len() + 1 + waiting.len();
        }
        waiting.extend(node.members);
        properties.push(node.property);
    }
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(schema: &[u8]) -> Vec<u8> {
        let size = (schema.len() + 2) as u16;
        let data = [&size.to_le_bytes()[..], schema].concat();
        let whole = (8 + data.len()).next_multiple_of(8);
        let mut item = vec![whole as u8, 0, 11, 0, 0, 0, data.len() as u8, 0];
        item.extend(data);
        item.resize(whole, 0);
        item
    }

    #[test]
    fn members_of_structures_lie_behind_them() {
        let fields = b"\x80\0Begin\0a\0\x98\x02b\0\x04c\0\x98\x01d\0\x88\x04e\0\x44f\0\x24\x03\0".to_vec();
        let schema = schema(&extended(&fields)).expect("a schema");
        let names: Vec<&str> = schema.properties.iter().map(|property| &*property.name).collect();
        assert_eq!((names.join(" ").as_str(), schema.top, schema.name.as_deref()), ("a e f b c d", 3, Some("Begin")));
        let content = |number: usize| schema.properties[number].content.clone();
        assert_eq!(content(0), Content::Struct { first: 3, members: 2 });
        assert_eq!(content(4), Content::Struct { first: 5, members: 1 });
        assert_eq!(content(5), Content::Value { in_type: 8, meaning: Meaning::Hex, map: None });
        assert_eq!(schema.properties[1].count, Amount::Prefixed);
        assert_eq!(schema.properties[2].count, Amount::Fixed(3));
        for cut in 0..fields.len() {
            let _ = super::schema(&extended(&fields[..cut]));
        }
    }
}
