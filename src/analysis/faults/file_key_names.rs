//! The name of a file key at a moment, by the rules of docs/faults.md: a key can be used again after its file was deleted.

use crate::analysis::stacks::Texts;
use crate::event::file_name_and_view::FileNameKind;
use crate::load::fault_records::KeyName;
use crate::model::file_names::NameRecords;
use crate::moment::{At, Moment};
use foldhash::HashMap as FastMap;

/// A record of a key, and the names around it in its life.
#[derive(Debug, Clone, Copy)]
struct Record {
    moment: Moment,
    kind: FileNameKind,
    name: Option<u32>,
    /// The latest name of this life up to this record; `None` behind an end.
    known: Option<u32>,
    /// The first name of this life from this record on.
    coming: Option<u32>,
}

/// Names of all keys.
#[derive(Debug, Default)]
pub struct KeyNames {
    by_key: FastMap<u64, Vec<Record>>,
    /// Records of names that are missing, and those that are there.
    pub records: NameRecords,
}

impl KeyNames {
    /// From the records, in their order.
    pub fn new(records: &[At<KeyName>], texts: &mut Texts) -> KeyNames {
        let mut by_key: FastMap<u64, Vec<Record>> = FastMap::default();
        let mut counted = NameRecords::default();
        for At { moment, value } in records {
            let name = value.name.as_deref().map(|name| texts.id(name));
            let list = by_key.entry(value.key).or_default();
            counted.follow(list.last().map(|last| (last.kind, last.known)), (value.kind, name));
            let before = list.last().and_then(|last| last.known);
            let known = if value.kind == FileNameKind::Delete { None } else { name.or(before) };
            list.push(Record { moment: *moment, kind: value.kind, name, known, coming: None });
        }
        for list in by_key.values_mut() {
            let mut coming = None;
            for record in list.iter_mut().rev() {
                let is_end = record.kind == FileNameKind::Delete;
                coming = record.name.or(if is_end { None } else { coming });
                record.coming = coming;
            }
        }
        KeyNames { by_key, records: counted }
    }

    /// The name of a key at a moment.
    pub fn at(&self, key: u64, moment: Moment) -> Option<u32> {
        let list = self.by_key.get(&key)?;
        let next = list.partition_point(|record| record.moment < moment);
        let past = next.checked_sub(1).and_then(|last| list.get(last)).and_then(|record| record.known);
        past.or_else(|| list.get(next).and_then(|record| record.coming))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    #[test]
    fn a_name_counts_for_one_life_of_its_key() {
        let at = |time: i64| Moment { time: Ticks(time), order: 0 };
        let record = |time, is_end, name: Option<&str>| At {
            moment: at(time),
            value: KeyName {
                key: 7,
                kind: if is_end { FileNameKind::Delete } else { FileNameKind::Create },
                name: name.map(Into::into),
            },
        };
        let records = [
            record(10, false, Some("a")),
            record(20, false, None),
            record(30, true, Some("a")),
            record(40, true, None),
            record(50, false, None),
            record(60, false, Some("b")),
            record(70, false, Some("c")),
        ];
        let mut texts = Texts::default();
        let names = KeyNames::new(&records, &mut texts);
        let name = |time| names.at(7, at(time)).map(|number| texts.get(number));
        assert_eq!([name(5), name(15), name(25)], [Some("a"); 3]);
        assert_eq!(name(35), None, "between two ends, of which the second has no name");
        assert_eq!([name(45), name(55), name(65), name(75)], [Some("b"), Some("b"), Some("b"), Some("c")]);
        assert_eq!(names.at(8, at(15)), None);
    }
}
