//! File names: which path a file key had at a given time. Keys are reused after a file is deleted.

use crate::event::file::FileNameKind;
use crate::load::history::{FileEvent, History, Moment};
use foldhash::{HashMap as FastMap, HashSet as FastSet};

/// Names of all file keys at one time. Names are interned: equal names have equal indices.
#[derive(Debug, Clone, Default)]
pub struct FileNames<'h> {
    /// Distinct names.
    pub names: Vec<&'h str>,
    by_key: FastMap<u64, u32>,
}

impl<'h> FileNames<'h> {
    /// The names at `moment`.
    pub fn new(history: &'h History, moment: Moment) -> FileNames<'h> {
        let mut all = FileNames::default();
        let mut index: FastMap<&'h str, u32> = FastMap::default();
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

/// One form of a path for comparing: lower case, without the volume (`\Device\HarddiskVolume3`, `\??\C:`, `C:`), and
/// with `\SystemRoot` as `\Windows`.
pub fn normal_form(path: &str) -> String {
    let lower = path.to_lowercase();
    let rest = lower.strip_prefix(r"\??\").unwrap_or(&lower);
    if let Some(rest) = rest.strip_prefix(r"\systemroot\") {
        return format!(r"\windows\{rest}");
    }
    if let Some(volume) = rest.strip_prefix(r"\device\") {
        return volume.find('\\').map_or_else(|| rest.to_owned(), |at| volume.split_at(at).1.to_owned());
    }
    match rest.as_bytes() {
        [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic() => rest.split_at(2).1.to_owned(),
        _ => rest.to_owned(),
    }
}

/// The registry's files: by the trace's own hive rundown where it has one, else by their well-known places and what
/// was opened as a hive during the trace.
#[derive(Debug, Clone, Default)]
pub struct Hives {
    known: FastSet<String>,
    are_listed: bool,
}

impl Hives {
    /// The hives that the trace names.
    pub fn new(history: &History) -> Hives {
        let names = history.hives.iter().map(|hive| normal_form(&hive.value.file_name));
        Hives {
            known: names.filter(|name| !name.is_empty()).collect(),
            are_listed: history.hives.iter().any(|hive| hive.value.listed && !hive.value.file_name.is_empty()),
        }
    }

    /// True when the trace lists its hives, so that no name has to be guessed.
    pub fn are_known(&self) -> bool {
        self.are_listed
    }

    /// True when the path is a registry hive.
    pub fn is_hive(&self, path: &str) -> bool {
        let path = normal_form(path);
        self.known.contains(&path) || (!self.are_listed && is_well_known(&path))
    }
}

fn is_well_known(path: &str) -> bool {
    const CONFIG: &str = r"\windows\system32\config\";
    const HIVES: [&str; 9] =
        ["sam", "security", "software", "system", "default", "components", "drivers", "bbi", "elam"];
    let in_config = path.strip_prefix(CONFIG).is_some_and(|name| HIVES.contains(&name));
    let in_package = path.contains(r"\packages\") && path.ends_with(r"\settings.dat");
    in_config
        || in_package
        || [r"\ntuser.dat", r"\usrclass.dat", r"\boot\bcd"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::history::{At, FileEvent};
    use crate::units::Ticks;

    fn event(time: i64, kind: FileNameKind, key: u64, name: &str) -> At<FileEvent> {
        At { moment: Moment { time: Ticks(time), order: 0 }, value: FileEvent { kind, key, name: name.into() } }
    }

    #[test]
    fn a_reused_key_has_the_name_of_its_time() {
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
        let name = |key, time| FileNames::new(&history, Moment { time: Ticks(time), order: 0 }).name(key);
        assert_eq!([5, 15, 25, 35, 95].map(|time| name(1, time)), [None, Some("a"), None, Some("b"), Some("b")]);
        assert_eq!([5, 95].map(|time| name(2, time)), [Some("c"), Some("c")]);
        assert_eq!([5, 45].map(|time| name(3, time)), [Some("d"), None]);
    }

    #[test]
    fn paths_compare_in_one_form() {
        for path in [
            r"\SystemRoot\System32\Config\SAM",
            r"\??\C:\Windows\System32\config\SAM",
            r"\Device\HarddiskVolume3\Windows\System32\config\SAM",
            r"C:\WINDOWS\system32\config\sam",
        ] {
            assert_eq!(normal_form(path), r"\windows\system32\config\sam", "{path}");
            assert!(Hives::default().is_hive(path), "{path}");
        }
        assert!(!Hives::default().is_hive(r"\Device\HarddiskVolume3\Windows\System32\config\SAM.LOG1"));
        assert!(Hives::default().is_hive(r"\Device\HarddiskVolume3\Users\x\NTUSER.DAT"));
    }
}
