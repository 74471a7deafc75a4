//! Schemas: which fields a payload has, in which order, of which types.

use foldhash::HashMap as FastMap;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Deepest nesting of structures.
pub const DEEPEST: usize = 8;

/// How often something is there, or how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Not said.
    None,
    /// This much.
    Fixed(u32),
    /// As the property with this number says, which was read before.
    Of(usize),
    /// As the two bytes before it say.
    Prefixed,
}

impl Amount {
    /// A fixed number of elements that makes a list: more than one.
    pub fn unless_single(self) -> Amount {
        if matches!(self, Amount::Fixed(..=1)) { Amount::None } else { self }
    }
}

/// How a number is to be understood, beyond its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// As it is.
    Plain,
    /// A character.
    Character,
    /// Yes or no.
    Flag,
    /// Hexadecimal.
    Hex,
    /// A port: big-endian.
    Port,
    /// An address of IPv4.
    Ipv4,
    /// An address of IPv6.
    Ipv6,
    /// An address of a socket.
    Socket,
    /// UTF-8.
    Utf8,
    /// A time in UTC.
    Utc,
    /// A number that others write in hexadecimal digits.
    Number,
}

impl Meaning {
    /// By the output type of `tdh.h`.
    pub const fn of_tdh(out_type: u16) -> Meaning {
        match out_type {
            1 => Meaning::Character,
            9 | 10 => Meaning::Number,
            13 => Meaning::Flag,
            16..=19 | 31 | 32 | 37 => Meaning::Hex,
            22 => Meaning::Port,
            23 => Meaning::Ipv4,
            24 => Meaning::Ipv6,
            25 => Meaning::Socket,
            28 | 34 | 35 => Meaning::Utf8,
            38 => Meaning::Utc,
            _ => Meaning::Plain,
        }
    }

    /// By that of `TraceLoggingProvider.h`, which has numbers of its own.
    pub const fn of_trace_logging(out_type: u8) -> Meaning {
        Meaning::of_tdh(match out_type {
            2 => 1,
            3 => 13,
            4 => 16,
            7 => 22,
            8 => 23,
            9 => 24,
            10 => 25,
            11 => 28,
            12 => 34,
            14 => 31,
            15 => 32,
            17 => 9,
            18 => 10,
            33..=38 => out_type as u16,
            _ => 0,
        })
    }
}

/// What a property is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A structure of the properties from a number on, so many.
    Struct {
        /// First member.
        first: usize,
        /// Members.
        members: usize,
    },
    /// A value of an input type of `tdh.h`.
    Value {
        /// Input type.
        in_type: u16,
        /// Output type.
        meaning: Meaning,
        /// Name of the map that names its numbers.
        map: Option<Arc<str>>,
    },
    /// Two bytes with a length, and so many bytes that only their own schema explains.
    Own,
}

/// A property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Name.
    pub name: Arc<str>,
    /// What it is.
    pub content: Content,
    /// Length: characters or bytes.
    pub length: Amount,
    /// Number of elements; [`Amount::None`] for a single value.
    pub count: Amount,
    /// True where the length stands before the bytes (binary values of TraceLogging).
    pub is_counted: bool,
}

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// Name of the provider.
    pub provider: Option<Arc<str>>,
    /// Name of the task, or of the event where it has none.
    pub name: Option<Arc<str>>,
    /// Name of the opcode.
    pub opcode: Option<Arc<str>>,
    /// Properties: those of the top level first. Events of a manifest share those of their template.
    pub properties: Arc<[Property]>,
    /// How many there are at the top level.
    pub top: usize,
}

/// The properties as the reader needs them: the second of one name in an object is `name (2)`. Done once for each schema, not for each
/// record. `None` where they are no sound schema: structures that share members would make this work quadratic.
pub fn with_own_names(mut properties: Vec<Property>, top: usize) -> Option<Arc<[Property]>> {
    if !is_sound(&properties, top) {
        return None;
    }
    let structures = properties.iter().filter_map(|property| match property.content {
        Content::Struct { first, members } => Some(first..first.saturating_add(members)),
        _ => None,
    });
    let objects: Vec<std::ops::Range<usize>> = std::iter::once(0..top).chain(structures).collect();
    for object in objects {
        let mut known: HashSet<Arc<str>> = HashSet::new();
        let mut next: HashMap<Arc<str>, usize> = HashMap::new();
        for property in properties.get_mut(object).unwrap_or_default() {
            let mut name = property.name.clone();
            while !known.insert(name.clone()) {
                let number = next.entry(property.name.clone()).or_insert(1);
                *number += 1;
                name = format!("{} ({number})", property.name).into();
            }
            property.name = name;
        }
    }
    Some(properties.into())
}

/// True where every structure has members behind itself that no other structure has, and none is nested too deep. Only such a schema
/// is read.
fn is_sound(properties: &[Property], top: usize) -> bool {
    // Structures around each property.
    let mut depth = vec![0; properties.len()];
    for (number, property) in properties.iter().enumerate() {
        let refers = |amount: Amount| !matches!(amount, Amount::Of(other) if other >= properties.len());
        if !refers(property.length) || !refers(property.count) {
            return false;
        }
        let Content::Struct { first, members } = property.content else { continue };
        let own = depth.get(number).copied().unwrap_or(0) + 1;
        let end = first.checked_add(members).filter(|end| *end <= properties.len());
        let Some(inside) = end.and_then(|end| depth.get_mut(first..end)) else { return false };
        if first <= number || own > DEEPEST || inside.iter().any(|depth| *depth != 0) {
            return false;
        }
        inside.fill(own);
    }
    top <= properties.len()
}

impl Schema {
    /// True where every structure has members of its own behind itself, and none is nested too deep: only such a schema is read.
    pub fn is_sound(&self) -> bool {
        is_sound(&self.properties, self.top)
    }

    /// True where a length or a count is the value of another property.
    pub fn has_references(&self) -> bool {
        let refers = |amount: Amount| matches!(amount, Amount::Of(_));
        self.properties.iter().any(|property| refers(property.length) || refers(property.count))
    }
}

/// Most names of bits that are kept: a number has 32.
const MOST_BITS: usize = 256;

/// Names of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueMap {
    /// Names of single numbers: the first one of each.
    names: FastMap<u32, String>,
    /// Of bits, ascending; `None` where names stand for numbers.
    bits: Option<Vec<(u32, String)>>,
}

/// Why a number has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nameless {
    /// The map has none for it.
    Unknown,
    /// It has more bytes than are left for names.
    TooLong,
}

/// The maps of one provider by their names.
pub type Maps = FastMap<Arc<str>, ValueMap>;

impl ValueMap {
    /// Of numbers and their names; with `is_bits` each name stands for bits.
    pub fn new(is_bits: bool, entries: Vec<(u32, String)>) -> ValueMap {
        let bits = is_bits.then(|| {
            let mut bits: Vec<(u32, String)> = entries.iter().filter(|(bits, _)| *bits != 0).cloned().collect();
            bits.sort_by_key(|(bits, _)| *bits);
            bits.truncate(MOST_BITS);
            bits
        });
        let mut names = FastMap::default();
        for (number, name) in entries.into_iter().filter(|(number, _)| !is_bits || *number == 0) {
            names.entry(number).or_insert(name);
        }
        ValueMap { names, bits }
    }

    /// A number of a signed input type as entries have it: for names of bits those of the type, else extended to 32 bits.
    pub fn entry_of(&self, number: i64, in_type: u16) -> u64 {
        let bits = match in_type {
            3 => 8,
            5 => 16,
            7 => 32,
            _ => 64u32,
        };
        let shown = if self.bits.is_some() { bits } else { bits.max(32) };
        number as u64 & u64::MAX >> 64u32.saturating_sub(shown)
    }

    /// The name of a number.
    ///
    /// # Errors
    /// Why it has none.
    pub fn name(&self, value: u64, most_bytes: usize) -> Result<Cow<'_, str>, Nameless> {
        let known = u32::try_from(value).ok().and_then(|value| self.names.get(&value));
        if let Some(known) = known {
            return if known.len() <= most_bytes { Ok(Cow::Borrowed(known)) } else { Err(Nameless::TooLong) };
        }
        let all = self.bits.as_ref().ok_or(Nameless::Unknown)?;
        if value == 0 {
            return Ok(Cow::Borrowed("0"));
        }
        let (mut left, mut room) = (value, most_bytes);
        let mut names: Vec<&str> = Vec::new();
        for (bits, name) in all {
            let bits = u64::from(*bits);
            if left & bits == bits {
                left &= !bits;
                room = room.checked_sub(name.len()).ok_or(Nameless::TooLong)?;
                names.push(name);
            }
        }
        let rest = format!("0x{left:x}");
        if left != 0 {
            names.push(&rest);
        }
        Ok(names.join("|").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_named_in_their_order_and_the_rest_is_a_number() {
        let entries = [(4, "c"), (1, "a"), (3, "ab"), (0, "none")].map(|(bits, name)| (bits, name.to_owned()));
        let map = ValueMap::new(true, entries.to_vec());
        let names = [0, 1, 2, 3, 5, 0x17].map(|value| map.name(value, 9).unwrap_or_default());
        assert_eq!(names, ["none", "a", "0x2", "a|0x2", "a|c", "a|c|0x12"]);
        let values = ValueMap::new(false, entries.to_vec());
        assert_eq!((values.name(3, 2), values.name(7, 2)), (Ok("ab".into()), Err(Nameless::Unknown)));
        assert_eq!([&map, &values].map(|map| map.name(3, 1).err()), [None, Some(Nameless::TooLong)]);
        assert_eq!(map.name(5, 1), Err(Nameless::TooLong));
    }

    #[test]
    fn structures_lie_behind_themselves() {
        let property = |content| Property {
            name: "x".into(),
            content,
            length: Amount::None,
            count: Amount::None,
            is_counted: false,
        };
        let value = || property(Content::Value { in_type: 4, meaning: Meaning::Plain, map: None });
        let of = |first, members| property(Content::Struct { first, members });
        let sound = |properties: Vec<Property>| with_own_names(properties, 1).is_some();
        assert!(sound(vec![of(1, 2), value(), value()]));
        assert!(!sound(vec![of(0, 1), value()]) && !sound(vec![of(1, 2), value()]));
        let nested = |depth: usize| (1..=depth).map(|next| of(next, 1)).chain([value()]).collect::<Vec<_>>();
        assert!(sound(nested(DEEPEST)) && !sound(nested(DEEPEST + 1)));
        assert!(!sound(vec![Property { count: Amount::Of(9), ..value() }]));
        // A member of two structures.
        assert!(
            !sound(vec![of(2, 2), of(3, 1), value(), value()]) && sound(vec![of(2, 1), of(3, 1), value(), value()])
        );
    }
}
