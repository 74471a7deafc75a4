//! What can go wrong: errors that end a run, and damage that is counted and passed over.

use crate::units::FileOffset;
use std::path::PathBuf;
use thiserror::Error;

/// An error that leaves nothing to analyze.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be opened, measured or mapped.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file as the user named it.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is readable but no ETW log.
    #[error("{} is no .etl file: {reason}", path.display())]
    NotEtl {
        /// The file as the user named it.
        path: PathBuf,
        /// The first thing that does not fit.
        reason: String,
    },
    /// The trace lacks the events that the command needs.
    #[error("{0}")]
    MissingEvents(String),
    /// The user named something that the trace does not hold, or wrote a pattern that cannot be read.
    #[error("{0}")]
    Usage(String),
}

/// A place in the file that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where: offset in the file. For records of compressed buffers the offset of the buffer.
    pub offset: FileOffset,
    /// What was being read: "buffer header", "record 0x1d8 of buffer 7", ….
    pub what: String,
    /// What a sound file has there.
    pub expected: String,
    /// What this file has there.
    pub found: String,
}

/// Damage found so far: the first [`DamageLog::KEPT`] places and the number of all.
///
/// Capped, so that a file made of damage cannot take more memory than its own size.
#[derive(Debug, Clone, Default)]
pub struct DamageLog {
    /// The first places in file order.
    pub places: Vec<Damage>,
    /// How many places there are.
    pub total: u64,
}

impl DamageLog {
    /// How many places are kept with their text.
    pub const KEPT: usize = 1000;

    /// Adds a place.
    pub fn push(&mut self, damage: Damage) {
        self.total += 1;
        if self.places.len() < Self::KEPT {
            self.places.push(damage);
        }
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
