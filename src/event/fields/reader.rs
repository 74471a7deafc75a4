//! Reads a payload by a schema. Layouts of the types: `docs/events.md` ("Values").

use super::name_room::{NameRoom, missing};
use super::schema::{Amount, Content, Maps, Meaning, Property, Schema};
use super::texts::{binary, token_bytes, wide, wide_units, without_end};
use super::value::{FieldValue, Fields};
use crate::byte_reader::{Cursor, Narrow, Wide};
use crate::code_page::CodePage;
use crate::event::sid::Sid;
use crate::units::PointerSize;
use std::net::Ipv4Addr;

/// A field does not fit into what is left of the payload.
struct DoesNotFit;

type Read<T> = Result<T, DoesNotFit>;

impl From<crate::byte_reader::FieldError> for DoesNotFit {
    fn from(_: crate::byte_reader::FieldError) -> DoesNotFit {
        DoesNotFit
    }
}

/// What was read of a payload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoded<'a> {
    /// Fields that fit.
    pub fields: Fields<'a>,
    /// Names of those that do not, and what else is left out: `12 more fields`, `names of 3 numbers`.
    pub missing: Vec<String>,
    /// Where the bytes begin that no field has.
    pub rest: usize,
}

/// What a payload is read by, beside its schema.
#[derive(Debug, Clone, Copy)]
pub struct Context<'m> {
    /// Names of numbers, of the provider whose schema it is.
    pub maps: Option<&'m Maps>,
    /// Encoding of 8-bit texts that are no UTF-8.
    pub code_page: CodePage,
}

/// Reads a payload.
pub fn read<'a>(schema: &'a Schema, payload: &'a [u8], pointer: PointerSize, context: Context<'a>) -> Decoded<'a> {
    let mut reader = Reader {
        schema,
        context,
        cursor: Cursor::new(payload, pointer),
        pointer,
        numbers: if schema.has_references() { vec![None; schema.properties.len()] } else { Vec::new() },
        left: 64 + 16 * (payload.len() + schema.top),
        names: NameRoom::new(payload.len()),
    };
    let mut decoded = Decoded { fields: Fields::with_capacity(schema.top), ..Decoded::default() };
    for number in 0..schema.top {
        let before = reader.cursor.position();
        let Some(property) = schema.properties.get(number) else { break };
        let value = reader.names.take(&property.name).ok_or(DoesNotFit).and_then(|()| reader.property(number, 0));
        match value {
            Ok(value) => decoded.fields.push((&*property.name, value)),
            Err(DoesNotFit) => {
                decoded.missing = missing(schema.properties.get(number..schema.top).unwrap_or_default(), &reader.names);
                decoded.rest = before;
                return decoded;
            }
        }
    }
    decoded.missing.extend(reader.names.left_out());
    decoded.rest = reader.cursor.position();
    decoded
}

struct Reader<'a> {
    schema: &'a Schema,
    context: Context<'a>,
    cursor: Cursor<'a>,
    pointer: PointerSize,
    /// By property, the number that was read last; empty where no property asks for it.
    numbers: Vec<Option<u64>>,
    /// How many elements may still be read: lists of elements without bytes could be nested to any number.
    left: usize,
    names: NameRoom,
}

impl<'a> Reader<'a> {
    fn property(&mut self, number: usize, depth: usize) -> Read<FieldValue<'a>> {
        let schema: &'a Schema = self.schema;
        let property = schema.properties.get(number).ok_or(DoesNotFit)?;
        let count = match property.count {
            Amount::None => return self.element(number, property, depth),
            Amount::Fixed(count) => count as usize,
            Amount::Of(other) => self.amount(other)?,
            Amount::Prefixed => usize::from(self.cursor.u16("count")?),
        };
        if count > self.cursor.remaining() {
            return Err(DoesNotFit);
        }
        if let Content::Value { in_type: in_type @ (3 | 4 | 6), meaning: Meaning::Character, .. } = property.content {
            return self.characters(count, in_type == 6);
        }
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(self.element(number, property, depth)?);
        }
        Ok(FieldValue::List(list))
    }

    /// Characters one by one are one text: a character can have several of them.
    fn characters(&mut self, count: usize, is_wide: bool) -> Read<FieldValue<'a>> {
        let bytes = self.cursor.take(count.saturating_mul(if is_wide { 2 } else { 1 }), "characters")?;
        Ok(if is_wide { FieldValue::Text(Wide(bytes).text().into()) } else { self.narrow(bytes) })
    }

    /// A length or count that an earlier property holds.
    fn amount(&self, other: usize) -> Read<usize> {
        let number = self.numbers.get(other).copied().flatten().ok_or(DoesNotFit)?;
        usize::try_from(number).map_err(|_| DoesNotFit)
    }

    fn element(&mut self, number: usize, property: &'a Property, depth: usize) -> Read<FieldValue<'a>> {
        self.left = self.left.checked_sub(1).ok_or(DoesNotFit)?;
        match &property.content {
            Content::Struct { first, members } => {
                if depth >= super::schema::DEEPEST {
                    return Err(DoesNotFit);
                }
                let mut fields = Fields::new();
                for member in *first..first.saturating_add(*members) {
                    let schema: &'a Schema = self.schema;
                    let name = &schema.properties.get(member).ok_or(DoesNotFit)?.name;
                    self.names.take(name).ok_or(DoesNotFit)?;
                    let value = self.property(member, depth + 1)?;
                    fields.push((&**name, value));
                }
                Ok(FieldValue::Object(fields))
            }
            Content::Own => {
                let length = usize::from(self.cursor.u16("length")?);
                Ok(FieldValue::Bytes(self.cursor.take(length, "value")?))
            }
            Content::Value { in_type, meaning, map } => {
                let length = match property.length {
                    Amount::None => None,
                    Amount::Fixed(length) => Some(length as usize),
                    Amount::Of(other) => Some(self.amount(other)?),
                    Amount::Prefixed => Some(usize::from(self.cursor.u16("length")?)),
                };
                let length = match property.is_counted {
                    true => Some(usize::from(self.cursor.u16("length")?)),
                    false => length,
                };
                let value = self.value(*in_type, *meaning, length)?;
                if let Some(slot) = self.numbers.get_mut(number) {
                    *slot = match value {
                        FieldValue::Unsigned(number) | FieldValue::Hex(number) => Some(number),
                        FieldValue::Signed(number) => u64::try_from(number).ok(),
                        _ => None,
                    };
                }
                Ok(self.named(value, *in_type, map.as_deref()))
            }
        }
    }

    /// The name of a number that has one.
    fn named(&mut self, value: FieldValue<'a>, in_type: u16, map: Option<&str>) -> FieldValue<'a> {
        let Some(map) = map.and_then(|map| self.context.maps?.get(map)) else { return value };
        let number = match value {
            FieldValue::Unsigned(number) | FieldValue::Hex(number) => number,
            FieldValue::Signed(number) => map.entry_of(number, in_type),
            other => return other,
        };
        self.names.name_of(number, map).map_or(value, FieldValue::Text)
    }

    fn value(&mut self, in_type: u16, meaning: Meaning, length: Option<usize>) -> Read<FieldValue<'a>> {
        let c = &mut self.cursor;
        Ok(match in_type {
            1 => FieldValue::Text(match length {
                Some(characters) => {
                    let bytes = characters.checked_mul(2).ok_or(DoesNotFit)?;
                    wide(c.take(bytes, "text")?).into()
                }
                None => {
                    let rest = c.rest();
                    match c.clone().wide("text") {
                        Ok(_) => c.wide("text")?.text().into(),
                        Err(_) => wide(c.take(rest.len(), "text")?).into(),
                    }
                }
            }),
            2 => {
                let bytes = match length {
                    Some(bytes) => without_end(c.take(bytes, "text")?),
                    None => {
                        let rest = c.rest();
                        match c.clone().narrow("text") {
                            Ok(_) => c.narrow("text")?.0,
                            Err(_) => c.take(rest.len(), "text")?,
                        }
                    }
                };
                self.narrow(bytes)
            }
            3 => self.integer(1, true, meaning)?,
            4 => self.integer(1, false, meaning)?,
            5 => self.integer(2, true, meaning)?,
            6 => self.integer(2, false, meaning)?,
            7 => self.integer(4, true, meaning)?,
            8 => self.integer(4, false, meaning)?,
            9 => self.integer(8, true, meaning)?,
            10 => self.integer(8, false, meaning)?,
            11 => FieldValue::Float(f32::from_bits(c.u32("number")?)),
            12 => FieldValue::Double(f64::from_bits(c.u64("number")?)),
            13 => FieldValue::Flag(c.u32("flag")? != 0),
            14 => {
                let length = length.or((meaning == Meaning::Ipv6).then_some(16)).ok_or(DoesNotFit)?;
                binary(c.take(length, "bytes")?, meaning)
            }
            15 => FieldValue::Guid(c.guid("GUID")?),
            16 | 308 => {
                let number = c.ptr("pointer")?;
                if meaning == Meaning::Number { FieldValue::Unsigned(number) } else { FieldValue::Hex(number) }
            }
            17 => FieldValue::FileTime(c.u64("time")?),
            18 => {
                let bytes = c.take(16, "time")?.first_chunk().copied().ok_or(DoesNotFit)?;
                FieldValue::SystemTime(bytes, meaning == Meaning::Utc)
            }
            19 => self.sid(0)?,
            20 => FieldValue::Hex(c.u32("number")?.into()),
            21 => FieldValue::Hex(c.u64("number")?),
            22 | 300 => {
                let bytes = usize::from(c.u16("length")?);
                FieldValue::Text(wide(c.take(bytes, "text")?).into())
            }
            23 | 301 => {
                let bytes = usize::from(c.u16("length")?);
                let bytes = without_end(c.take(bytes, "text")?);
                self.narrow(bytes)
            }
            25 => {
                let bytes = usize::from(c.u16("length")?);
                binary(c.take(bytes, "bytes")?, meaning)
            }
            302 => {
                let bytes = usize::from(c.u16("length")?.swap_bytes());
                FieldValue::Text(wide(c.take(bytes, "text")?).into())
            }
            303 => {
                let bytes = usize::from(c.u16("length")?.swap_bytes());
                let bytes = without_end(c.take(bytes, "text")?);
                self.narrow(bytes)
            }
            304 => {
                let rest = c.remaining();
                FieldValue::Text(wide(c.take(rest, "text")?).into())
            }
            305 => {
                let rest = c.remaining();
                let bytes = without_end(c.take(rest, "text")?);
                self.narrow(bytes)
            }
            306 => FieldValue::Text(wide(c.take(2, "character")?).into()),
            307 => {
                let bytes = without_end(c.take(1, "character")?);
                self.narrow(bytes)
            }
            309 => {
                let bytes = usize::try_from(c.u32("length")?).map_err(|_| DoesNotFit)?;
                binary(c.take(bytes, "bytes")?, meaning)
            }
            310 => match token_bytes(c.rest(), self.pointer) {
                Some(token) => self.sid(token)?,
                None => {
                    c.skip(4, "token")?;
                    FieldValue::Null
                }
            },
            _ => return Err(DoesNotFit),
        })
    }

    /// An integer of 1, 2, 4 or 8 bytes.
    fn integer(&mut self, bytes: u8, is_signed: bool, meaning: Meaning) -> Read<FieldValue<'a>> {
        let c = &mut self.cursor;
        let number = match bytes {
            1 => c.u8("number")?.into(),
            2 => c.u16("number")?.into(),
            4 => c.u32("number")?.into(),
            _ => c.u64("number")?,
        };
        Ok(match (meaning, bytes) {
            (Meaning::Hex, _) => FieldValue::Hex(number),
            (Meaning::Character, 1) => FieldValue::Text(self.narrow(&[number as u8]).text().into_owned().into()),
            (Meaning::Character, 2) if !is_signed => FieldValue::Text(wide_units(&[number as u16]).into()),
            (Meaning::Flag, 1) => FieldValue::Flag(number != 0),
            (Meaning::Port, 2) if !is_signed => FieldValue::Unsigned((number as u16).swap_bytes().into()),
            (Meaning::Ipv4, 4) if !is_signed => {
                FieldValue::Text(Ipv4Addr::from((number as u32).to_le_bytes()).to_string().into())
            }
            _ if is_signed => FieldValue::Signed(match bytes {
                1 => (number as i8).into(),
                2 => (number as i16).into(),
                4 => (number as i32).into(),
                _ => number as i64,
            }),
            _ => FieldValue::Unsigned(number),
        })
    }

    fn narrow<'b>(&self, bytes: &'b [u8]) -> FieldValue<'b> {
        FieldValue::Text(match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => self.context.code_page.text(Narrow(bytes)).into(),
        })
    }

    fn sid(&mut self, before: usize) -> Read<FieldValue<'a>> {
        self.cursor.skip(before, "token")?;
        let sid = Sid::next(&mut self.cursor).map_err(|_| DoesNotFit)?;
        Ok(FieldValue::Text(sid.to_string().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::fields::schema::{ValueMap, with_own_names};
    use crate::units::PointerSize::{P4, P8};
    use proptest::prelude::*;

    fn property(name: &str, in_type: u16, meaning: Meaning) -> Property {
        let content = Content::Value { in_type, meaning, map: None };
        Property { name: name.into(), content, length: Amount::None, count: Amount::None, is_counted: false }
    }

    fn schema(properties: Vec<Property>) -> Schema {
        let top = properties.len();
        Schema { properties: with_own_names(properties, top).expect("a sound schema"), top, ..Schema::default() }
    }

    fn decoded<'a>(schema: &'a Schema, payload: &'a [u8], pointer: PointerSize) -> Decoded<'a> {
        read(schema, payload, pointer, Context { maps: None, code_page: CodePage::default() })
    }

    fn one(in_type: u16, meaning: Meaning, payload: &[u8]) -> Option<FieldValue<'_>> {
        let schema = Box::leak(Box::new(schema(vec![property("x", in_type, meaning)])));
        let found = decoded(schema, payload, P8);
        found.fields.into_iter().next().map(|(_, value)| value)
    }

    #[test]
    fn values_of_each_type() {
        use FieldValue::*;
        let text = |text: &'static str| Some(Text(text.into()));
        let plain = Meaning::Plain;
        assert_eq!(one(1, plain, b"a\0b\0\0\0"), text("ab"));
        assert_eq!(one(1, plain, b"a\0b\0"), text("ab"), "to the end of the payload");
        assert_eq!(one(2, plain, b"ab\0c"), text("ab"));
        assert_eq!(one(3, plain, &[0xff]), Some(Signed(-1)));
        assert_eq!(one(4, Meaning::Flag, &[2]), Some(Flag(true)));
        assert_eq!(one(5, plain, &[0xfe, 0xff]), Some(Signed(-2)));
        assert_eq!(one(6, Meaning::Port, &[0x1f, 0x90]), Some(Unsigned(8080)));
        assert_eq!(one(6, Meaning::Character, &[b'M', 0]), text("M"));
        assert_eq!(one(7, Meaning::Hex, &[0xff; 4]), Some(Hex(u32::MAX.into())));
        assert_eq!(one(8, Meaning::Ipv4, &[127, 0, 0, 1]), text("127.0.0.1"));
        assert_eq!(one(13, plain, &[0, 0, 0, 1]), Some(Flag(true)));
        assert_eq!(one(14, plain, &[1; 16]), None, "bytes without a length");
        assert_eq!(one(14, Meaning::Ipv6, &[0; 16]), text("::"));
        assert_eq!(one(16, plain, &[1, 0, 0, 0, 0, 0, 0, 0x80]), Some(Hex(0x8000_0000_0000_0001)));
        assert_eq!(one(16, Meaning::Number, &[9, 0, 0, 0, 0, 0, 0, 0]), Some(Unsigned(9)));
        assert_eq!(one(17, plain, &[7, 0, 0, 0, 0, 0, 0, 0]), Some(FileTime(7)));
        let sid = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0];
        assert_eq!(one(19, plain, &sid), text("S-1-5-32-544"));
        assert_eq!(one(310, plain, &[&[9; 16][..], &sid].concat()), text("S-1-5-32-544"));
        assert_eq!(one(310, plain, &[&[0; 16][..], &sid].concat()), text("S-1-5-32-544"));
        assert_eq!(one(310, plain, &[0; 4]), Some(Null), "no SID");
        assert_eq!(one(310, plain, &[0; 24]), Some(Null), "no SID, and 20 other bytes");
        assert_eq!(one(22, plain, b"\x04\0a\0b\0"), text("ab"));
        assert_eq!(one(23, plain, b"\x02\0ab"), text("ab"));
        assert_eq!(one(302, plain, b"\0\x02a\0b\0"), text("a"));
        assert_eq!(one(304, plain, b"a\0b\0"), text("ab"));
        assert_eq!(one(307, plain, b"ab"), text("a"));
        assert_eq!(one(309, plain, &[2, 0, 0, 0, 8, 9]), Some(Bytes(&[8, 9])));
        let v4 = [2, 0, 0x1f, 0x90, 10, 0, 0, 1];
        assert_eq!(one(25, Meaning::Socket, &[&[8, 0][..], &v4].concat()), text("10.0.0.1:8080"));
        let mut v6 = [0; 28];
        (v6[0], v6[3], v6[23], v6[24]) = (23, 80, 1, 7);
        assert_eq!(one(25, Meaning::Socket, &[&[28, 0][..], &v6].concat()), text("[::1%7]:80"));
        assert_eq!(one(999, plain, &[0; 8]), None);
    }

    #[test]
    fn what_does_not_fit_is_missing_and_what_is_left_is_the_rest() {
        let all = schema(vec![
            property("a", 8, Meaning::Plain),
            property("a", 6, Meaning::Plain),
            property("b", 10, Meaning::Plain),
            property("c", 4, Meaning::Plain),
        ]);
        let found = decoded(&all, &[1, 0, 0, 0, 2, 0, 3], P4);
        let names: Vec<&str> = found.fields.iter().map(|(name, _)| *name).collect();
        assert_eq!((names, found.missing, found.rest), (vec!["a", "a (2)"], vec!["b".into(), "c".into()], 6));
        let one = schema(vec![property("a", 4, Meaning::Plain)]);
        let longer = decoded(&one, &[1, 2, 3], P4);
        assert_eq!((longer.missing.len(), longer.rest), (0, 1));
    }

    #[test]
    fn lists_and_structures_have_the_size_that_a_field_says() {
        let count = property("n", 6, Meaning::Plain);
        let list = Property { count: Amount::Of(0), ..property("list", 4, Meaning::Plain) };
        let content = Content::Struct { first: 3, members: 2 };
        let structure = Property { content, count: Amount::Fixed(2), ..property("s", 0, Meaning::Plain) };
        let inner = [property("x", 4, Meaning::Plain), property("y", 3, Meaning::Plain)];
        let all = Schema { top: 3, ..schema([vec![count, list, structure], inner.to_vec()].concat()) };
        let found = decoded(&all, &[2, 0, 7, 8, 1, 0xff, 2, 0xfe], P8);
        let number = |number| FieldValue::Unsigned(number);
        let pair = |x, y| FieldValue::Object(vec![("x", number(x)), ("y", FieldValue::Signed(y))]);
        let expected: Fields<'_> = vec![
            ("n", number(2)),
            ("list", FieldValue::List(vec![number(7), number(8)])),
            ("s", FieldValue::List(vec![pair(1, -1), pair(2, -2)])),
        ];
        assert_eq!((found.fields, found.missing.len(), found.rest), (expected, 0, 8));
        let too_many = decoded(&all, &[0xff, 0xff, 7], P8);
        assert_eq!((too_many.fields.len(), too_many.missing, too_many.rest), (1, vec!["list".into(), "s".into()], 2));
    }

    #[test]
    fn lists_of_nothing_inside_each_other_end() {
        let list = |first| {
            let content = Content::Struct { first, members: 1 };
            Property { content, count: Amount::Fixed(60_000), ..property("s", 0, Meaning::Plain) }
        };
        let length = property("n", 4, Meaning::Plain);
        let empty = Property { length: Amount::Of(0), ..property("x", 2, Meaning::Plain) };
        let all = Schema { top: 2, ..schema(vec![length, list(2), list(3), list(4), list(5), empty]) };
        let payload = vec![0; 64_000];
        let found = decoded(&all, &payload, P8);
        assert_eq!((found.fields.len(), found.missing), (1, vec!["s".to_owned()]));
    }

    #[test]
    fn numbers_have_names() {
        let entries = vec![(3, "three".into()), (0xffff_fffe, "minus".into())];
        let bits = vec![(2, "two".into()), (0x80, "sign".into())];
        let maps = [("m".into(), ValueMap::new(false, entries)), ("b".into(), ValueMap::new(true, bits))];
        let maps: Maps = maps.into_iter().collect();
        let of = |maps, map: &str, in_type, number: i64| {
            let content = Content::Value { in_type, meaning: Meaning::Plain, map: Some(map.into()) };
            let all = schema(vec![Property { content, ..property("x", 8, Meaning::Plain) }]);
            let context = Context { maps, code_page: CodePage::default() };
            read(&all, &number.to_le_bytes(), P8, context).fields.remove(0).1.text().into_owned()
        };
        let all = Some(&maps);
        assert_eq!([of(all, "m", 8, 3), of(all, "m", 8, 4), of(None, "m", 8, 3)], ["three", "4", "3"]);
        assert_eq!([of(all, "m", 3, -2), of(all, "m", 5, -2), of(all, "m", 7, -2)], ["minus", "minus", "minus"]);
        // Of 8 bytes all count, of bits those of the type.
        assert_eq!([of(all, "m", 9, -2), of(all, "m", 10, 3 | 1 << 32)], ["-2", "4294967299"]);
        assert_eq!([of(all, "b", 3, -126), of(all, "b", 5, -126)], ["two|sign", "two|sign|0xff00"]);
    }

    #[test]
    fn characters_one_by_one_are_one_text() {
        let list = |in_type, count| Property { count, ..property("x", in_type, Meaning::Character) };
        let text = |in_type, count, payload: &[u8]| {
            let all = schema(vec![list(in_type, count)]);
            decoded(&all, payload, P8).fields.first().map(|(_, value)| value.text().into_owned())
        };
        assert_eq!(text(4, Amount::Fixed(4), "a\u{e4}z".as_bytes()).as_deref(), Some("a\u{e4}z"));
        let wide: Vec<u8> = "x\u{1f600}y".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(text(6, Amount::Fixed(4), &wide).as_deref(), Some("x\u{1f600}y"));
        assert_eq!(text(6, Amount::Fixed(5), &wide), None);
        assert_eq!(text(3, Amount::Prefixed, b"\x02\0abc").as_deref(), Some("ab"));
    }

    proptest! {
        /// Whatever the payload holds: fields and rest do not pass its end, and nothing is both there and missing.
        #[test]
        fn any_payload_is_read_to_its_end_at_most(
            types in prop::collection::vec((0u16..26, 0u16..40, 0u8..4, 0u32..5), 0..6),
            payload in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let properties = types.iter().enumerate().map(|(number, (in_type, out_type, kind, size))| {
                let amount = [Amount::None, Amount::Fixed(*size), Amount::Of(number / 2), Amount::Prefixed][usize::from(*kind)];
                Property { count: amount, length: amount, ..property("x", *in_type, Meaning::of_tdh(*out_type)) }
            });
            let all = schema(properties.collect());
            let found = decoded(&all, &payload, P8);
            prop_assert!(found.rest <= payload.len());
            prop_assert_eq!(found.fields.len() + found.missing.len(), all.top);
        }
    }
}
