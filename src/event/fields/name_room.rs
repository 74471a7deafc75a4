//! How much room the fields of a record have for names. Names of members and of numbers are repeated for each element of a list, and
//! a name can have 64 KB: without a limit one record of 64 KB has texts of gigabytes.

use super::schema::{Nameless, Property, ValueMap};
use crate::units::counted;
use std::borrow::Cow;

/// Bytes of names that the fields of a payload may have: so many, and some for each byte of it.
const MOST_NAMES: usize = 4096;
const MOST_NAMES_OF_A_BYTE: usize = 32;

/// Bytes of names of missing fields: of a long list only the beginning is repeated for each record.
const MOST_MISSING: usize = 4096;

/// The room that is left.
#[derive(Debug)]
pub struct NameRoom {
    bytes: usize,
    /// Numbers whose names had no room.
    nameless: usize,
    /// True once a field's name had none.
    is_full: bool,
}

impl NameRoom {
    /// For a payload of so many bytes.
    pub fn new(payload_bytes: usize) -> NameRoom {
        NameRoom { bytes: MOST_NAMES + MOST_NAMES_OF_A_BYTE * payload_bytes, nameless: 0, is_full: false }
    }

    /// Takes room for a name; `None` where there is too little.
    pub fn take(&mut self, name: &str) -> Option<()> {
        let left = self.bytes.checked_sub(name.len());
        self.is_full |= left.is_none();
        self.bytes = left?;
        Some(())
    }

    /// The name of a number, where it has one and there is room for it.
    pub fn name_of<'m>(&mut self, number: u64, map: &'m ValueMap) -> Option<Cow<'m, str>> {
        let name = map.name(number, self.bytes);
        self.nameless += usize::from(name == Err(Nameless::TooLong));
        // What bits without a name have beyond the room are some digits.
        self.bytes = self.bytes.saturating_sub(name.as_ref().map_or(0, |name| name.len()));
        name.ok()
    }

    /// Which names were left out.
    pub fn left_out(&self) -> Option<String> {
        (self.nameless > 0).then(|| format!("names of {} numbers", self.nameless))
    }
}

/// The names of fields that do not fit; of a long list the first ones and how many more. Where they have no room for their names, this
/// is said, and how many they are: the payload is not too short.
pub fn missing(properties: &[Property], room: &NameRoom) -> Vec<String> {
    if room.is_full {
        let fields = counted(properties.len() as u64, "field", "fields");
        return vec![format!("{fields} without room for their names")];
    }
    let (mut names, mut bytes) = (Vec::new(), 0);
    for property in properties {
        bytes += property.name.len();
        if bytes > MOST_MISSING {
            names.push(format!("{} more fields", properties.len() - names.len()));
            break;
        }
        names.push(property.name.to_string());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::fields::schema::{Amount, Content};

    /// Each element of a list repeats a name: what has no room is left out, and that is said.
    #[test]
    fn long_names_are_not_repeated_without_end() {
        let long = "n".repeat(1_000);
        for is_bits in [true, false] {
            let map = ValueMap::new(is_bits, vec![(1, long.clone()), (2, "two".into())]);
            let mut room = NameRoom::new(100);
            assert_eq!((room.take("x"), room.name_of(4, &map).is_some(), room.left_out()), (Some(()), is_bits, None));
            // 4,096 + 100 × 32 bytes are room for 7 names beside these.
            let named = (0..100).filter(|_| room.name_of(1, &map).is_some()).count();
            assert_eq!((named, room.left_out().as_deref()), (7, Some("names of 93 numbers")));
            assert_eq!((room.name_of(2, &map).as_deref(), room.take(&long)), (Some("two"), None));
        }
    }

    #[test]
    fn many_missing_fields_are_counted() {
        let fields = |count: usize, length: usize, room: &NameRoom| {
            let property = |_| Property {
                name: "n".repeat(length).into(),
                content: Content::Own,
                length: Amount::None,
                count: Amount::None,
                is_counted: false,
            };
            missing(&(0..count).map(property).collect::<Vec<_>>(), room)
        };
        let mut room = NameRoom::new(1);
        let many = fields(50, 1_000, &room);
        assert_eq!((many.len(), many.last().map(String::as_str)), (5, Some("46 more fields")));
        assert_eq!(fields(3, 1, &room), ["n", "n", "n"]);
        assert_eq!(room.take(&"n".repeat(5_000)), None);
        assert_eq!(fields(3, 1, &room), ["3 fields without room for their names"]);
    }
}
