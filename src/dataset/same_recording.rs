//! Traces of a dataset that are of one recording, whose files can come in several runs: alone, or together.
//!
//! A recording takes the place of traces of some of its files, and files of one that is there are not exported again. Two files that would
//! be one trace in a folder and came alone cannot be joined any more; that is told.

use crate::dataset::identity::{Identity, TraceId};
use crate::dataset::paths::Places;
use crate::dataset::publish;
use crate::dataset::session::Session;
use crate::dataset::trace_rows::name_of;
use crate::dataset::trace_state::State;
use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What is compared of a trace that is there.
#[derive(Debug)]
struct Mark {
    /// Names of its files as traces, in order.
    files: Vec<TraceId>,
    session: Option<Session>,
}

impl Mark {
    fn new(id: &TraceId, state: &State) -> Mark {
        // One that could not be read has nothing of its files.
        let has_files = state.error.is_none() && !state.files.is_empty();
        let files = if has_files { state.files.clone() } else { vec![id.clone()] };
        Mark { files, session: state.session.clone() }
    }
}

/// A trace that is there: its name in the dataset, and that of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name in the dataset.
    pub id: String,
    /// The name of its file.
    pub file: String,
    /// True for the kernel's file of two.
    pub is_kernel: bool,
}

/// The other traces of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Related {
    /// The recording that is there and has all files of this one, which is not there therefore.
    pub part_of: Option<Named>,
    /// Traces of its files that it took the place of.
    pub instead_of: Vec<Named>,
    /// Traces of other files, which would be one trace with it.
    pub beside: Vec<Named>,
}

/// What is known of the traces that are there. Each state is read once in a run: there can be thousands, and as many exports.
#[derive(Debug, Default)]
pub struct Marks(Mutex<BTreeMap<TraceId, Mark>>);

impl Marks {
    /// The traces that are there and for which this is true.
    fn found(&self, places: &Places, is_wanted: impl Fn(&Mark) -> bool) -> Result<Vec<TraceId>, Error> {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for id in publish::states(places)? {
            if !marks.contains_key(&id)
                && let Ok(state) = State::read(&places.state(&id)?)
            {
                marks.insert(id.clone(), Mark::new(&id, &state));
            }
        }
        Ok(marks.iter().filter(|(_, mark)| is_wanted(mark)).map(|(id, _)| id.clone()).collect())
    }

    /// A recording that is there and has all files of this one and more.
    ///
    /// # Errors
    /// [`Error::NotWritten`], as of all below.
    pub fn whole_of(&self, places: &Places, identity: &Identity) -> Result<Option<Named>, Error> {
        let has_all = |mark: &Mark| identity.files.iter().all(|file| mark.files.contains(file));
        let found = self.found(places, |mark| mark.files.len() > identity.files.len() && has_all(mark))?;
        Ok(found.iter().find_map(|id| named(places, id)))
    }

    /// Traces that are there and have some of the files of this recording.
    pub fn parts_of(&self, places: &Places, identity: &Identity) -> Result<Vec<TraceId>, Error> {
        if identity.files.len() < 2 {
            return Ok(Vec::new());
        }
        let is_of_it = |mark: &Mark| mark.files.iter().all(|file| identity.files.contains(file));
        self.found(places, |mark| mark.files.len() < identity.files.len() && is_of_it(mark))
    }

    /// Removes a trace that is of another one's files. Returns it, if it was there.
    fn remove(&self, places: &Places, id: &TraceId) -> Result<Option<Named>, Error> {
        let named = named(places, id);
        publish::remove(places, id, |_| true)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        Ok(named)
    }

    /// What becomes of a trace that is there now, and of the others of its recording. Exports at the same time end in any order: the last
    /// one sees them all.
    pub fn settle(&self, places: &Places, identity: &Identity, state: &State) -> Result<Related, Error> {
        let id = &identity.id;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), Mark::new(id, state));
        if state.error.is_some() {
            return Ok(Related::default());
        }
        if let Some(whole) = self.whole_of(places, identity)? {
            self.remove(places, id)?;
            return Ok(Related { part_of: Some(whole), ..Related::default() });
        }
        let parts = self.parts_of(places, identity)?;
        let removed = parts.iter().map(|part| self.remove(places, part)).collect::<Result<Vec<_>, Error>>()?;
        let beside =
            |own: &Session| self.found(places, |mark| mark.session.as_ref().is_some_and(|other| own.is_beside(other)));
        let beside = state.session.as_ref().map(beside).transpose()?.unwrap_or_default();
        let beside = beside.iter().filter_map(|id| named(places, id)).collect();
        Ok(Related { part_of: None, instead_of: removed.into_iter().flatten().collect(), beside })
    }
}

/// A trace that is there, if it is.
fn named(places: &Places, id: &TraceId) -> Option<Named> {
    let state = State::of(places, id)?;
    let file = name_of(places, id, &state).unwrap_or_else(|| id.to_string());
    Some(Named { id: id.to_string(), file, is_kernel: state.session.is_some_and(|session| session.is_kernel) })
}
