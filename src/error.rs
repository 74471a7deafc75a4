//! What can go wrong: errors that end a run, and damage that is counted and skipped.

use crate::units::FileOffset;
use std::collections::BTreeMap;
use std::fmt;
#[cfg(feature = "export")]
use std::io;
#[cfg(feature = "export")]
use std::path::Path;
use std::path::PathBuf;
use thiserror::Error;

/// An error that makes the analysis impossible.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, measured or mapped.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file as the user named it.
        path: PathBuf,
        /// The system's error. The message does not repeat it, because callers print the chain of causes.
        source: std::io::Error,
    },
    /// The file is readable but is not an ETW log.
    #[error("{} is no .etl file: {reason}", path.display())]
    NotEtl {
        /// The file as the user named it.
        path: PathBuf,
        /// The first check that failed.
        reason: String,
    },
    /// An archive or standard input gives no trace, or more than is allowed.
    #[error("cannot unpack {}: {reason}", path.display())]
    NotUnpacked {
        /// The archive as the user named it.
        path: PathBuf,
        /// What is in the way.
        reason: Reason,
    },
    /// The file is readable but is no table of raw samples of counters.
    #[error("{}, line {line}: {reason}", path.display())]
    NotSamples {
        /// The file as the user named it.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong there, with the column.
        reason: String,
    },
    /// A further file does not belong to the recording of the first one.
    #[error("{} does not belong to the recording of {}: {reason}", other.display(), first.display())]
    NotOneRecording {
        /// The file as the user named it.
        other: PathBuf,
        /// The first file.
        first: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// A file of budgets is wrong.
    #[error("{}, line {line}, column {column}: {reason}", path.display())]
    NotBudgets {
        /// The file as the user named it.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there, and what was meant.
        reason: String,
    },
    /// The trace lacks the events that the command needs.
    #[error("{0}")]
    MissingEvents(Missing),
    /// The events that the command needs are missing from the file: it is cut, or they were lost.
    #[error("{0}")]
    MissingPart(String),
    /// The user named something that the trace does not contain, or gave an argument that cannot be parsed.
    #[error("{0}")]
    Usage(String),
    /// A file of an export cannot be written: a full disk, no permission.
    #[error("cannot write {}", path.display())]
    NotWritten {
        /// The file or folder.
        path: PathBuf,
        /// The system's error. The message does not repeat it, because callers print the chain of causes.
        source: std::io::Error,
    },
    /// The file is readable, but no table that can be compared.
    #[error("{}: {reason}", path.display())]
    NotUnderstood {
        /// The file as the user named it.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        reason: Reason,
    },
}

impl Error {
    /// What is wrong, on one line and without advice.
    pub fn brief(&self) -> String {
        match self {
            Error::MissingEvents(missing) => missing.what.clone(),
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// The error of writing at a path.
    #[cfg(feature = "export")]
    pub(crate) fn not_written(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        |source| Error::NotWritten { path: path.to_path_buf(), source }
    }
}

/// How a table of WPA is read, and how much is unpacked; an error can advise to change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// What each column is.
    ColumnMap,
    /// How numbers are written.
    Locale,
    /// How much may be unpacked.
    UnpackLimit,
}

/// Why a table is not understood, or an archive not unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What is wrong, where, and what to do.
    pub text: String,
    /// The setting that the text names.
    pub setting: Option<Setting>,
}

impl Reason {
    /// A text that names a setting.
    pub(crate) const fn with(setting: Setting, text: String) -> Reason {
        Reason { text, setting: Some(setting) }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason { text, setting: None }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a trace lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is not there, on one line.
    pub what: String,
    /// What to do about it, such as how to record it; it can have several lines.
    pub advice: Option<String>,
}

impl From<String> for Missing {
    fn from(what: String) -> Missing {
        Missing { what, advice: None }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, ". {advice}"))
    }
}

/// A place in the file whose content is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the file; for records of compressed buffers, the offset of the buffer.
    pub offset: FileOffset,
    /// What was being read: "buffer header", "record 0x1d8 of buffer 7", ….
    pub what: String,
    /// What a valid file has there.
    pub expected: String,
    /// What this file has there instead.
    pub found: String,
}

/// Damage found so far: the first [`DamageLog::KEPT`] places and the number of all.
///
/// The limit keeps a file full of damage from using more memory than its own size.
#[derive(Debug, Clone, Default)]
pub struct DamageLog {
    /// The first places in file order.
    pub places: Vec<Damage>,
    /// Number of all places.
    pub total: u64,
}

impl DamageLog {
    /// Number of places that are kept with their text.
    pub const KEPT: usize = 1000;

    /// Adds a place.
    pub fn push(&mut self, damage: Damage) {
        self.total += 1;
        if self.places.len() < Self::KEPT {
            self.places.push(damage);
        }
    }

    /// Adds several places.
    pub fn extend(&mut self, places: impl IntoIterator<Item = Damage>) {
        places.into_iter().for_each(|place| self.push(place));
    }

    /// Adds all places of another file of the recording.
    pub fn append_of(&mut self, file: &str, mut other: DamageLog) {
        other.places.iter_mut().for_each(|place| place.what = format!("{file}: {}", place.what));
        self.append(other);
    }

    /// Adds all places of `other`.
    pub fn append(&mut self, other: DamageLog) {
        self.total += other.total;
        let room = Self::KEPT.saturating_sub(self.places.len());
        self.places.extend(other.places.into_iter().take(room));
    }

    /// True when nothing was damaged.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// Damage by buffer. Buffers are read in any order; their damage is listed in file order.
///
/// Only the first [`DamageLog::KEPT`] places of the file are kept, so that memory does not grow with the number of
/// damaged buffers. Which places are kept does not depend on the order of reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct DamageByBuffer {
    logs: BTreeMap<u32, DamageLog>,
    places: usize,
    /// Number of places in buffers after the last one in `logs`.
    beyond: u64,
}

impl DamageByBuffer {
    /// Adds the damage of buffer `index`.
    pub fn insert(&mut self, index: u32, log: DamageLog) {
        if log.is_empty() {
            return;
        }
        self.places += log.places.len();
        self.logs.entry(index).or_default().append(log);
        while let Some(last) = self.logs.last_entry() {
            let without = self.places.saturating_sub(last.get().places.len());
            if without < DamageLog::KEPT {
                break;
            }
            self.beyond += last.remove().total;
            self.places = without;
        }
    }

    /// Adds the damage that another thread found in other buffers.
    pub fn append(&mut self, other: DamageByBuffer) {
        self.beyond += other.beyond;
        other.logs.into_iter().for_each(|(index, log)| self.insert(index, log));
    }

    /// Everything in the order of buffers; `file_of` names the file of a buffer that is not in the first one.
    pub fn into_log<'f>(self, file_of: impl Fn(u32) -> Option<&'f str>) -> DamageLog {
        let mut all = DamageLog::default();
        for (buffer, log) in self.logs {
            match file_of(buffer) {
                Some(file) => all.append_of(file, log),
                None => all.append(log),
            }
        }
        all.total += self.beyond;
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_advice_and_in_brief_without() {
        let advice = Some("Record it:\n  wpr -start x".to_owned());
        let error = Error::MissingEvents(Missing { what: "no event. Record 7 is odd".to_owned(), advice });
        assert_eq!(error.to_string(), "no event. Record 7 is odd. Record it:\n  wpr -start x");
        assert_eq!(error.brief(), "no event. Record 7 is odd");
        assert_eq!(Error::MissingPart("a. Record b\nc".into()).brief(), "a. Record b");
    }

    fn log(offset: u64, places: usize) -> DamageLog {
        let mut log = DamageLog::default();
        for _ in 0..places {
            let damage =
                Damage { offset: FileOffset(offset), what: "x".into(), expected: "y".into(), found: "z".into() };
            log.push(damage);
        }
        log
    }

    #[test]
    fn the_first_places_are_kept_in_whatever_order_buffers_are_read() {
        let mut orders =
            [(0..50u32).collect::<Vec<_>>(), (0..50).rev().collect(), (0..50).map(|i| i * 17 % 50).collect()];
        for order in &mut orders {
            let mut halves = [DamageByBuffer::default(), DamageByBuffer::default()];
            for &index in order.iter() {
                halves[index as usize % 2].insert(index, log(u64::from(index), 90));
            }
            let [mut all, other] = halves;
            all.append(other);
            assert!(all.logs.len() <= 12);
            let all = all.into_log(|_| None);
            let offsets: Vec<u64> = all.places.iter().map(|d| d.offset.0).collect();
            assert_eq!((all.total, offsets.len()), (50 * 90, DamageLog::KEPT));
            assert!(offsets.iter().enumerate().all(|(i, &offset)| offset == i as u64 / 90));
        }
    }
}
