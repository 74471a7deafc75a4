//! Which path a file key had at the time of an access. Keys are reused after a file is deleted.

use crate::event::file::FileNameKind;
use crate::load::history::{History, Moment};
use foldhash::HashMap as FastMap;

/// Names of all file keys at all times.
#[derive(Debug, Default)]
pub struct NameTimes<'h> {
    /// Distinct names.
    pub names: Vec<&'h str>,
    by_key: FastMap<u64, Vec<(Moment, FileNameKind, u32)>>,
}

impl<'h> NameTimes<'h> {
    /// From the file-name events.
    pub fn new(history: &'h History) -> NameTimes<'h> {
        let mut all = NameTimes::default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::history::{At, FileEvent};
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
        let times = NameTimes::new(&history);
        let name = |key, time| times.at(key, Moment { time: Ticks(time), order: 1 }).map(|index| times.name(index));
        assert_eq!([5, 15, 25, 35].map(|time| name(1, time)), [None, Some("a"), None, Some("b")]);
        assert_eq!([5, 45, 70].map(|time| name(2, time)), [Some("c"), Some("d"), Some("d")]);
        assert_eq!([5, 70].map(|time| name(3, time)), [Some("e"), Some("e")]);
        assert_eq!(name(4, 5), None);
    }
}
