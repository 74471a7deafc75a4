//! Reads a payload by a schema. Layouts of the types: `docs/events.md` ("Values").

use super::schema::{Amount, Content, Maps, Meaning, Property, Schema};
use super::value::{FieldValue, Fields, add};
use crate::bytes::{Cursor, Narrow, Wide};
use crate::code_page::CodePage;
use crate::event::sid::Sid;
use crate::units::PointerSize;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};
use uuid::Uuid;

/// A field does not fit into what is left of the payload.
struct DoesNotFit;

type Read<T> = Result<T, DoesNotFit>;

impl From<crate::bytes::FieldError> for DoesNotFit {
    fn from(_: crate::bytes::FieldError) -> DoesNotFit {
        DoesNotFit
    }
}

/// What was read of a payload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoded {
    /// Fields that fit.
    pub fields: Fields,
    /// Names of those that do not.
    pub missing: Vec<String>,
    /// Where the bytes begin that no field has.
    pub rest: usize,
}

/// What a payload is read by, beside its schema.
#[derive(Debug, Clone, Copy)]
pub struct Context<'m> {
    /// Names of numbers.
    pub maps: &'m Maps,
    /// Whose maps they are.
    pub provider: Uuid,
    /// Encoding of 8-bit texts that are no UTF-8.
    pub code_page: CodePage,
}

/// Reads a payload.
pub fn read(schema: &Schema, payload: &[u8], pointer: PointerSize, context: Context<'_>) -> Decoded {
    let mut reader = Reader {
        schema,
        context,
        cursor: Cursor::new(payload, pointer),
        pointer,
        numbers: vec![None; schema.properties.len()],
    };
    let mut decoded = Decoded::default();
    for number in 0..schema.top {
        let before = reader.cursor.position();
        let Some(property) = schema.properties.get(number) else { break };
        match reader.property(number, 0) {
            Ok(value) => add(&mut decoded.fields, &property.name, value),
            Err(DoesNotFit) => {
                let names = schema.properties.get(number..schema.top).unwrap_or_default();
                decoded.missing = names.iter().map(|property| property.name.to_string()).collect();
                decoded.rest = before;
                return decoded;
            }
        }
    }
    decoded.rest = reader.cursor.position();
    decoded
}

struct Reader<'s, 'p> {
    schema: &'s Schema,
    context: Context<'s>,
    cursor: Cursor<'p>,
    pointer: PointerSize,
    /// By property, the number that was read last.
    numbers: Vec<Option<u64>>,
}

impl<'s> Reader<'s, '_> {
    fn property(&mut self, number: usize, depth: usize) -> Read<FieldValue> {
        let schema: &'s Schema = self.schema;
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
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(self.element(number, property, depth)?);
        }
        Ok(match property.content {
            // Characters one by one are one text.
            Content::Value { in_type: 3 | 4 | 6, meaning: Meaning::Character, .. } => {
                let text = |value: &FieldValue| match value {
                    FieldValue::Text(text) => text.clone(),
                    _ => String::new(),
                };
                FieldValue::Text(list.iter().map(text).collect())
            }
            _ => FieldValue::List(list),
        })
    }

    /// A length or count that an earlier property holds.
    fn amount(&self, other: usize) -> Read<usize> {
        let number = self.numbers.get(other).copied().flatten().ok_or(DoesNotFit)?;
        usize::try_from(number).map_err(|_| DoesNotFit)
    }

    fn element(&mut self, number: usize, property: &'s Property, depth: usize) -> Read<FieldValue> {
        match &property.content {
            Content::Struct { first, members } => {
                if depth >= super::schema::DEEPEST {
                    return Err(DoesNotFit);
                }
                let mut fields = Fields::new();
                for member in *first..first.saturating_add(*members) {
                    let name = &self.schema.properties.get(member).ok_or(DoesNotFit)?.name;
                    let value = self.property(member, depth + 1)?;
                    add(&mut fields, name, value);
                }
                Ok(FieldValue::Object(fields))
            }
            Content::Own => {
                let length = usize::from(self.cursor.u16("length")?);
                Ok(FieldValue::Bytes(self.cursor.take(length, "value")?.to_vec()))
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
                Ok(self.named(value, map.as_ref()))
            }
        }
    }

    /// The name of a number that has one.
    fn named(&self, value: FieldValue, map: Option<&std::sync::Arc<str>>) -> FieldValue {
        let Some(map) = map.and_then(|map| self.context.maps.get(&(self.context.provider, map.clone()))) else {
            return value;
        };
        let number = match value {
            FieldValue::Unsigned(number) | FieldValue::Hex(number) => number,
            FieldValue::Signed(number) => u64::from(number as u32),
            other => return other,
        };
        map.name(number).map_or(value, FieldValue::Text)
    }

    fn value(&mut self, in_type: u16, meaning: Meaning, length: Option<usize>) -> Read<FieldValue> {
        let c = &mut self.cursor;
        Ok(match in_type {
            1 => FieldValue::Text(match length {
                Some(characters) => {
                    let bytes = characters.checked_mul(2).ok_or(DoesNotFit)?;
                    wide(c.take(bytes, "text")?)
                }
                None => {
                    let rest = c.rest();
                    match c.clone().wide("text") {
                        Ok(_) => c.wide("text")?.text(),
                        Err(_) => wide(c.take(rest.len(), "text")?),
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
                FieldValue::Text(wide(c.take(bytes, "text")?))
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
                FieldValue::Text(wide(c.take(bytes, "text")?))
            }
            303 => {
                let bytes = usize::from(c.u16("length")?.swap_bytes());
                let bytes = without_end(c.take(bytes, "text")?);
                self.narrow(bytes)
            }
            304 => {
                let rest = c.remaining();
                FieldValue::Text(wide(c.take(rest, "text")?))
            }
            305 => {
                let rest = c.remaining();
                let bytes = without_end(c.take(rest, "text")?);
                self.narrow(bytes)
            }
            306 => FieldValue::Text(wide(c.take(2, "character")?)),
            307 => {
                let bytes = without_end(c.take(1, "character")?);
                self.narrow(bytes)
            }
            309 => {
                let bytes = usize::try_from(c.u32("length")?).map_err(|_| DoesNotFit)?;
                binary(c.take(bytes, "bytes")?, meaning)
            }
            310 => self.sid(2 * self.pointer.bytes())?,
            _ => return Err(DoesNotFit),
        })
    }

    /// An integer of 1, 2, 4 or 8 bytes.
    fn integer(&mut self, bytes: u8, is_signed: bool, meaning: Meaning) -> Read<FieldValue> {
        let c = &mut self.cursor;
        let number = match bytes {
            1 => c.u8("number")?.into(),
            2 => c.u16("number")?.into(),
            4 => c.u32("number")?.into(),
            _ => c.u64("number")?,
        };
        Ok(match (meaning, bytes) {
            (Meaning::Hex, _) => FieldValue::Hex(number),
            (Meaning::Character, 1) => self.narrow(&[number as u8]),
            (Meaning::Character, 2) if !is_signed => FieldValue::Text(wide_units(&[number as u16])),
            (Meaning::Flag, 1) => FieldValue::Flag(number != 0),
            (Meaning::Port, 2) if !is_signed => FieldValue::Unsigned((number as u16).swap_bytes().into()),
            (Meaning::Ipv4, 4) if !is_signed => {
                FieldValue::Text(Ipv4Addr::from((number as u32).to_le_bytes()).to_string())
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

    fn narrow(&self, bytes: &[u8]) -> FieldValue {
        FieldValue::Text(self.context.code_page.text(Narrow(bytes)))
    }

    fn sid(&mut self, before: usize) -> Read<FieldValue> {
        self.cursor.skip(before, "token")?;
        let sid = Sid::next(&mut self.cursor).map_err(|_| DoesNotFit)?;
        Ok(FieldValue::Text(sid.to_string()))
    }
}

fn wide_units(units: &[u16]) -> String {
    String::from_utf16_lossy(units)
}

/// UTF-16 without the NULs at its end.
fn wide(bytes: &[u8]) -> String {
    let even = bytes.get(..bytes.len() & !1).unwrap_or_default();
    let zeros = even.rchunks_exact(2).take_while(|unit| *unit == [0, 0]).count();
    Wide(even.get(..even.len() - 2 * zeros).unwrap_or_default()).text()
}

/// 8-bit text without the NULs at its end.
fn without_end(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    bytes.get(..bytes.len() - zeros).unwrap_or_default()
}

fn binary(bytes: &[u8], meaning: Meaning) -> FieldValue {
    let address = match meaning {
        Meaning::Ipv6 => bytes.try_into().ok().map(|bytes: [u8; 16]| Ipv6Addr::from(bytes).to_string()),
        Meaning::Socket => socket(bytes),
        _ => None,
    };
    address.map_or_else(|| FieldValue::Bytes(bytes.to_vec()), FieldValue::Text)
}

/// `sockaddr_in` (family 2) or `sockaddr_in6` (23): family u16, port big-endian @2, address @4 or @8, scope u32 @24.
fn socket(bytes: &[u8]) -> Option<String> {
    let family = u16::from_le_bytes(*bytes.first_chunk()?);
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match family {
        2 => Some(format!("{}:{port}", Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?))),
        23 => {
            let address = Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?);
            let scope = u32::from_le_bytes(*bytes.get(24..)?.first_chunk()?);
            Some(SocketAddrV6::new(address, port, 0, scope).to_string())
        }
        _ => None,
    }
}
