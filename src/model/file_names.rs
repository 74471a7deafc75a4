//! Which path a file key had at the time of an access. Keys are reused after a file is deleted.

use crate::event::file::FileNameKind;
use crate::load::facts::FileEvent;
use crate::load::history::History;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;

/// Names of all file keys at all times.
#[derive(Debug, Default)]
pub struct FileNames<'h> {
    /// Distinct names.
    pub names: Vec<&'h str>,
    by_key: FastMap<u64, Vec<(Moment, FileNameKind, u32)>>,
}

impl<'h> FileNames<'h> {
    /// From the file-name events.
    pub fn new(history: &'h History) -> FileNames<'h> {
        let mut all = FileNames::default();
        let mut index: FastMap<&'h str, u32> = FastMap::default();
        for event in &history.files {
            let names = &mut all.names;
            let name = *index.entry(&event.value.name).or_insert_with(|| {
                names.push(&event.value.name);
                names.len() as u32 - 1
            });
            all.by_key.entry(event.value.key).or_default().push((event.moment, event.value.kind, name));
        }
        all
    }

    /// Index of the name that a key had at a moment: the last one given before, unless the file was deleted; else the
    /// next one that says what the key has been all along.
    pub fn at(&self, key: u64, moment: Moment) -> Option<u32> {
        let events = self.by_key.get(&key)?;
        let now = events.partition_point(|event| event.0 <= moment);
        let past = now.checked_sub(1).and_then(|i| events.get(i)).filter(|event| event.1 != FileNameKind::Delete);
        let told_later = |event: &&(Moment, FileNameKind, u32)| match event.1 {
            FileNameKind::Create => false,
            // After a delete a second delete tells nothing of the time between.
            FileNameKind::Delete => now == 0,
            FileNameKind::Name | FileNameKind::Rundown => true,
        };
        past.or_else(|| events.get(now).filter(told_later)).map(|event| event.2)
    }

    /// A name.
    pub fn name(&self, index: u32) -> &'h str {
        self.names.get(index as usize).copied().unwrap_or("n/a")
    }
}

/// Names of all file keys at one time. Names are interned: equal names have equal indices.
#[derive(Debug, Clone, Default)]
pub struct FileNamesAt<'h> {
    /// Distinct names.
    pub names: Vec<&'h str>,
    by_key: FastMap<u64, u32>,
}

impl<'h> FileNamesAt<'h> {
    /// The names at `moment`.
    pub fn new(history: &'h History, moment: Moment) -> FileNamesAt<'h> {
        let count = history.files.len();
        let mut all =
            FileNamesAt { names: Vec::new(), by_key: FastMap::with_capacity_and_hasher(count, Default::default()) };
        let mut index: FastMap<&'h str, u32> = FastMap::with_capacity_and_hasher(count, Default::default());
        let mut intern = |name: &'h str, names: &mut Vec<&'h str>| {
            *index.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            })
        };
        let now = history.files.partition_point(|event| event.moment < moment);
        let (past, future) = history.files.split_at(now);
        // What the past says of a key: its name, or that it has none.
        let mut before: FastMap<u64, Option<u32>> = FastMap::default();
        for FileEvent { kind, key, name } in past.iter().map(|event| &event.value) {
            let name = (*kind != FileNameKind::Delete).then(|| intern(name, &mut all.names));
            before.insert(*key, name);
        }
        // Backwards, so that the event nearest to `moment` comes last and wins.
        let mut next: FastMap<u64, &FileEvent> = FastMap::default();
        for event in future.iter().rev().map(|event| &event.value) {
            if before.contains_key(&event.key) {
                next.insert(event.key, event);
            } else if event.kind == FileNameKind::Create {
                all.by_key.remove(&event.key); // the key was free
            } else {
                let name = intern(&event.name, &mut all.names);
                all.by_key.insert(event.key, name);
            }
        }
        for (key, name) in before {
            // Events of this key were lost when a list of all names comes next and says otherwise.
            let name = match next.get(&key) {
                Some(event) if event.kind == FileNameKind::Rundown => Some(intern(&event.name, &mut all.names)),
                Some(event) if event.kind == FileNameKind::Name => {
                    Some(name.unwrap_or_else(|| intern(&event.name, &mut all.names)))
                }
                _ => name,
            };
            all.by_key.extend(name.map(|name| (key, name)));
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
    use crate::moment::At;
    use crate::units::Ticks;
    use FileNameKind::*;

    #[test]
    fn a_reused_key_has_the_name_of_its_time() {
        let event = |time: i64, kind, key: u64, name: &str| At {
            moment: Moment { time: Ticks(time), order: 0 },
            value: FileEvent { kind, key, name: name.into() },
        };
        let mut files = vec![
            event(10, Create, 1, "a"),
            event(20, Delete, 1, "a"),
            event(30, Create, 1, "b"),
            event(40, Delete, 2, "c"),
            event(60, Rundown, 2, "d"),
            event(60, Rundown, 3, "e"),
        ];
        files.sort_by_key(|event| event.moment);
        let history = History { files, ..History::default() };
        let times = FileNames::new(&history);
        let name = |key, time| times.at(key, Moment { time: Ticks(time), order: 1 }).map(|index| times.name(index));
        assert_eq!([5, 15, 25, 35].map(|time| name(1, time)), [None, Some("a"), None, Some("b")]);
        assert_eq!([5, 45, 70].map(|time| name(2, time)), [Some("c"), Some("d"), Some("d")]);
        assert_eq!([5, 70].map(|time| name(3, time)), [Some("e"), Some("e")]);
        assert_eq!(name(4, 5), None);
    }

    fn event(time: i64, kind: FileNameKind, key: u64, name: &str) -> At<FileEvent> {
        At { moment: Moment { time: Ticks(time), order: 0 }, value: FileEvent { kind, key, name: name.into() } }
    }

    #[test]
    fn at_one_moment_a_reused_key_has_the_name_of_its_time() {
        use FileNameKind::*;
        let files = vec![
            event(10, Create, 1, "a"),
            event(20, Delete, 1, "a"),
            event(30, Create, 1, "b"),
            event(90, Rundown, 1, "b"),
            event(90, Rundown, 2, "c"),
            event(40, Delete, 3, "d"),
        ];
        let mut history = History { files, ..History::default() };
        history.files.sort_by_key(|e| e.moment);
        let name = |key, time| FileNamesAt::new(&history, Moment { time: Ticks(time), order: 0 }).name(key);
        assert_eq!([5, 15, 25, 35, 95].map(|time| name(1, time)), [None, Some("a"), None, Some("b"), Some("b")]);
        assert_eq!([5, 95].map(|time| name(2, time)), [Some("c"), Some("c")]);
        assert_eq!([5, 45].map(|time| name(3, time)), [Some("d"), None]);
    }
}
