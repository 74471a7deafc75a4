//! Sessions of one recording whose files come in several runs: what is kept of each, to know the other one by.

use crate::dataset::identity::{digest_of, pseudonym};
use crate::etl::joined_files::is_same_boot;
use crate::trace::Trace;
use crate::trace::recording::{place_and_name, user_name};
use crate::units::FileTime;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What makes the file of one session one recording with that of another: what a folder's files are paired by, and their times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// True for the file with the word `kernel` in its name.
    pub is_kernel: bool,
    /// A digest of the name of the other file, or of its own where it is that: a dataset has no paths.
    user_name: String,
    /// What sessions of one machine have in common.
    platform: String,
    /// A pseudonym of the machine, where the file names it.
    machine: Option<String>,
    boot: u64,
    start: u64,
    end: u64,
    has_pages: bool,
}

/// What files of one recording are found by before they are read: whether it is the kernel's, and the name of the other one, or its own where
/// it is that.
pub fn role_and_name(path: &Path) -> (bool, String) {
    let (_, name) = place_and_name(path);
    let user = user_name(&name);
    (user.is_some(), user.unwrap_or(name))
}

impl Session {
    /// The session of a trace of one file.
    pub fn of(trace: &Trace, path: &Path) -> Session {
        let header = &trace.etl().header;
        let (is_kernel, name) = role_and_name(path);
        Session {
            is_kernel,
            user_name: digest_of(std::iter::once(name.as_bytes())),
            platform: trace.etl().platform(),
            machine: trace.survey().computer_name.as_deref().map(pseudonym),
            boot: header.boot_time.0,
            start: header.start_time.0,
            end: header.end_time.map_or(u64::MAX, |end| end.0),
            has_pages: !trace.snapshots().is_empty(),
        }
    }

    /// True where both files were recorded side by side, and a folder with them is one trace.
    pub fn is_beside(&self, other: &Session) -> bool {
        let is_other_machine =
            self.machine.as_ref().zip(other.machine.as_ref()).is_some_and(|(one, other)| one != other);
        self.is_kernel != other.is_kernel
            && self.user_name == other.user_name
            && self.platform == other.platform
            && is_same_boot(FileTime(self.boot), FileTime(other.boot))
            && self.start <= other.end
            && other.start <= self.end
            && !(self.has_pages && other.has_pages)
            && !is_other_machine
    }
}
