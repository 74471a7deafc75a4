//! Files of one recording that a command took for separate traces.
//!
//! Each of them lacks what the other session recorded, and a sum or a median over both counts their machine and time twice. The judgement is
//! that of datasets, [`Session::is_beside`]: files that a folder would put together.

use crate::cli::recordings::Recording;
use crate::dataset::session::{Session, role_and_name};
use crate::input::STANDARD_INPUT;
use crate::trace::Trace;
use crate::trace::trust::warning::{OF_TRACE, Warning};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How the command line names both as one trace: the kernel's file comes first.
pub type AsOne = fn(&Path, &Path) -> String;

/// For commands whose arguments are separate traces.
pub fn with_flag(kernel: &Path, user: &Path) -> String {
    format!("Name both as one trace: {} --with {}", kernel.display(), user.display())
}

/// For commands whose arguments are one trace.
pub fn without_each(kernel: &Path, user: &Path) -> String {
    format!("Without --each, both are one trace: {} {}", kernel.display(), user.display())
}

/// The traces of a command line that may be of one recording, by their names, and what is known of them so far.
pub struct RecordedTogether {
    as_one: AsOne,
    candidates: BTreeSet<PathBuf>,
    known: RefCell<Vec<(PathBuf, Session)>>,
}

impl RecordedTogether {
    /// Of these traces. Only those of which another one has the other name of two are looked at when they are open.
    pub fn new<'r>(recordings: impl IntoIterator<Item = &'r Recording>, as_one: AsOne) -> RecordedTogether {
        let is_alone =
            |one: &&Recording| one.with.is_empty() && one.refused.is_none() && one.trace.as_os_str() != STANDARD_INPUT;
        let alone: Vec<(&PathBuf, (bool, String))> =
            (recordings.into_iter().filter(is_alone)).map(|one| (&one.trace, role_and_name(&one.trace))).collect();
        let all: BTreeSet<&(bool, String)> = alone.iter().map(|(_, of)| of).collect();
        let has_other = |(is_kernel, name): &(bool, String)| all.contains(&(!is_kernel, name.clone()));
        let candidates = alone.iter().filter(|(_, of)| has_other(of)).map(|(path, _)| (*path).clone()).collect();
        RecordedTogether { as_one, candidates, known: RefCell::default() }
    }

    /// What is said of a trace that was recorded together with one before it.
    pub fn of(&self, recording: &Recording, trace: &Trace) -> Option<Warning> {
        let path = &recording.trace;
        if !recording.with.is_empty() || !self.candidates.contains(path) {
            return None;
        }
        let own = Session::of(trace, path);
        let mut known = self.known.borrow_mut();
        let text = known.iter().find(|(_, other)| own.is_beside(other)).map(|(other, _)| {
            let [kernel, user] = if own.is_kernel { [path, other] } else { [other, path] };
            format!(
                "it was recorded together with {}: what one of them lacks, as a keyword, the other one can hold, and both count the same \
                 machine and time. {}",
                other.display(),
                (self.as_one)(kernel, user)
            )
        });
        known.push((path.clone(), own));
        text.map(|text| Warning::grave(OF_TRACE, "recorded_together", text))
    }
}
