//! File names by file key and time. A key is reused after its file is deleted.

use crate::event::file_name_and_view::FileNameKind;
use crate::load::owned_events::FileEvent;
use crate::moment::{At, Moment};
use foldhash::HashMap as FastMap;

/// Records of names that are missing, with those that are there: a key gets another name only after a delete, and is deleted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NameRecords {
    /// Deletes that are missing, and those that are there.
    pub deletes: (u64, u64),
    /// The same of creates.
    pub creates: (u64, u64),
}

impl NameRecords {
    /// Takes the next record of a key, with the one before it.
    pub fn follow<N: PartialEq>(
        &mut self,
        before: Option<(FileNameKind, Option<N>)>,
        (kind, name): (FileNameKind, Option<N>),
    ) {
        self.deletes.1 += u64::from(kind == FileNameKind::Delete);
        self.creates.1 += u64::from(kind == FileNameKind::Create);
        match before {
            Some((FileNameKind::Delete, _)) => self.creates.0 += u64::from(kind != FileNameKind::Create),
            Some((_, Some(known))) => self.deletes.0 += u64::from(name.is_some_and(|name| name != known)),
            _ => {}
        }
    }
}

/// Names of all file keys at all times.
#[derive(Debug, Default)]
pub struct FileNames<'h> {
    /// Distinct names.
    pub names: Vec<&'h str>,
    /// Records of names that are missing.
    pub(crate) records: NameRecords,
    by_key: FastMap<u64, Vec<(Moment, FileNameKind, u32)>>,
}

impl<'h> FileNames<'h> {
    /// Collects the names from the file-name events.
    pub fn new(events: &'h [At<FileEvent>]) -> FileNames<'h> {
        let mut all = FileNames::default();
        let mut index: FastMap<&'h str, u32> = FastMap::default();
        for event in events {
            let names = &mut all.names;
            let name = *index.entry(&event.value.name).or_insert_with(|| {
                names.push(&event.value.name);
                names.len() as u32 - 1
            });
            let list = all.by_key.entry(event.value.key).or_default();
            all.records.follow(list.last().map(|(_, kind, name)| (*kind, Some(*name))), (event.value.kind, Some(name)));
            list.push((event.moment, event.value.kind, name));
        }
        all
    }

    /// Index of the name that a key had at a moment.
    pub fn at(&self, key: u64, moment: Moment) -> Option<u32> {
        let events = self.by_key.get(&key)?;
        let now = events.partition_point(|event| event.0 <= moment);
        let named = |event: &(Moment, FileNameKind, u32)| (event.1, event.2);
        name_between(now.checked_sub(1).and_then(|at| events.get(at)).map(named), events.get(now).map(named))
    }

    /// The indices of names of each key, each once; keys in no order.
    #[cfg(feature = "export")]
    pub fn numbers_by_key(&self) -> impl Iterator<Item = u32> {
        self.by_key.values().flat_map(|events| {
            let mut numbers: Vec<u32> = events.iter().map(|(.., name)| *name).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        })
    }

    /// A name.
    pub fn name(&self, index: u32) -> Option<&'h str> {
        self.names.get(index as usize).copied()
    }
}

/// The name of a key between two consecutive events: the name by the event before, unless that is a delete; else the name
/// by the event after, if that event has an older name.
fn name_between<N>(past: Option<(FileNameKind, N)>, next: Option<(FileNameKind, N)>) -> Option<N> {
    use FileNameKind::{Create, Delete, Name, Rundown};
    match (past, next) {
        // If a rundown follows that has another name, events of this key were lost.
        (Some(_), Some((Rundown, name))) => Some(name),
        (Some((Create | Name | Rundown, name)), _) => Some(name),
        (Some((Delete, _)), Some((Name, name))) => Some(name),
        // Between two deletes the name is unknown.
        (Some((Delete, _)), _) => None,
        (None, Some((Create, _)) | None) => None,
        (None, Some((Delete | Name | Rundown, name))) => Some(name),
    }
}

/// Names of all file keys at one moment, for look-ups of millions of pages. Names are interned: equal names have equal indices.
#[derive(Debug, Clone, Default)]
pub struct FileNamesAt<'h> {
    /// Distinct names.
    pub names: Vec<&'h str>,
    /// Records of names that are missing, up to then.
    pub(crate) records: NameRecords,
    by_key: FastMap<u64, u32>,
}

impl<'h> FileNamesAt<'h> {
    /// The names at `moment`.
    pub fn new(events: &'h [At<FileEvent>], moment: Moment) -> FileNamesAt<'h> {
        let count = events.len();
        let mut all = FileNamesAt {
            names: Vec::new(),
            records: NameRecords::default(),
            by_key: FastMap::with_capacity_and_hasher(count, Default::default()),
        };
        let mut index: FastMap<&'h str, u32> = FastMap::with_capacity_and_hasher(count, Default::default());
        let mut intern = |name: &'h str, names: &mut Vec<&'h str>| {
            *index.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            })
        };
        let now = events.partition_point(|event| event.moment < moment);
        let (past, future) = events.split_at(now);
        let mut before: FastMap<u64, &FileEvent> = FastMap::default();
        for event in past.iter().map(|event| &event.value) {
            let last = before.insert(event.key, event).map(|last| (last.kind, Some(&last.name)));
            all.records.follow(last, (event.kind, Some(&event.name)));
        }
        // In reverse order, so that the event nearest to `moment` is applied last.
        let mut next: FastMap<u64, &FileEvent> = FastMap::default();
        for event in future.iter().rev().map(|event| &event.value) {
            if before.contains_key(&event.key) {
                next.insert(event.key, event);
            } else if let Some(name) = name_between(None, Some((event.kind, &*event.name))) {
                let name = intern(name, &mut all.names);
                all.by_key.insert(event.key, name);
            } else {
                all.by_key.remove(&event.key); // the key was free
            }
        }
        for (key, past) in before {
            let named = |event: &&'h FileEvent| (event.kind, &*event.name);
            if let Some(name) = name_between(Some(named(&past)), next.get(&key).map(named)) {
                let name = intern(name, &mut all.names);
                all.by_key.insert(key, name);
            }
        }
        all
    }

    /// Index of the name of a key.
    #[inline]
    pub fn index(&self, key: u64) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// The name of a key.
    pub fn name(&self, key: u64) -> Option<&'h str> {
        self.names.get(self.index(key)? as usize).copied()
    }

    /// Keys with a name.
    pub fn keys(&self) -> impl Iterator<Item = (u64, u32)> {
        self.by_key.iter().map(|(&key, &name)| (key, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;
    use FileNameKind::*;

    #[test]
    fn a_reused_key_has_the_name_of_its_time() {
        let at = |time: i64, order: u64| Moment { time: Ticks(time), order };
        let event = |time: i64, kind, key: u64, name: &str| At {
            moment: at(time, 0),
            value: FileEvent { kind, key, name: name.into() },
        };
        let mut files = vec![
            event(10, Create, 1, "a"),
            event(20, Delete, 1, "a"),
            event(30, Create, 1, "b"),
            event(90, Rundown, 1, "b"),
            event(40, Delete, 2, "c"),
            event(60, Rundown, 2, "d"),
            event(60, Rundown, 3, "e"),
            event(40, Delete, 4, "f"),
            event(50, Delete, 4, "g"),
            event(10, Create, 5, "h"),
            event(80, Rundown, 5, "i"),
        ];
        files.sort_by_key(|event| event.moment);
        let all = FileNames::new(&files);
        let expected = [
            (1, vec![(5, None), (15, Some("a")), (25, None), (35, Some("b")), (95, Some("b"))]),
            (2, vec![(5, Some("c")), (45, Some("d")), (70, Some("d"))]),
            (3, vec![(5, Some("e")), (70, Some("e"))]),
            (4, vec![(5, Some("f")), (45, None), (55, None)]),
            // The event that the file was deleted was lost.
            (5, vec![(5, None), (15, Some("i")), (95, Some("i"))]),
            (6, vec![(5, None)]),
        ];
        for (key, times) in expected {
            for (time, name) in times {
                assert_eq!(all.at(key, at(time, 1)).and_then(|index| all.name(index)), name, "key {key} at {time}");
                assert_eq!(FileNamesAt::new(&files, at(time, 1)).name(key), name, "key {key} at {time}");
            }
        }
    }
}
