//! The events of one kind by thread, or by process, with their stacks: what a viewer shows as one track each.

use super::frame_names::{Label, Names};
use super::query::StackQuery;
use super::rows::{Key, Row, Shown, StackId, Threads};
use super::text_interner::Texts;
use crate::symbols::PdbId;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// Most tracks of a kind. Each has tables of its own, and viewers list them.
const MOST_TRACKS: usize = 1000;

/// What the events of a part are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Samples; weights are intervals.
    Samples,
    /// Context switches; weights are whole milliseconds of waiting.
    Waits,
    /// Events that are counted, or pages.
    Counts(&'static str),
    /// Events that have bytes.
    Bytes(&'static str),
    /// Allocations and what freed them.
    Allocations(&'static str),
}

impl PartKind {
    /// True where each thread has a track of its own; else each process has.
    const fn is_by_thread(self) -> bool {
        matches!(self, PartKind::Samples | PartKind::Waits)
    }
}

/// A thread, or a process, with its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Track {
    /// Label of the process.
    pub process: String,
    /// Its id.
    pub process_id: u32,
    /// The thread.
    pub thread: Option<u32>,
    events: Range<usize>,
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileEvent {
    track: u32,
    /// Since trace start.
    pub time_ns: u64,
    /// Its stack.
    pub stack: StackId,
    /// Weight; less than 0 for what is freed.
    pub weight: i64,
    /// The number of a piece of memory, from 1: the same where it is allocated and where it is freed.
    pub piece: u64,
}

/// What an event is before it has a track.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// Index into the keys.
    pub key: u32,
    pub time_ns: u64,
    pub stack: StackId,
    pub weight: i64,
    pub piece: u64,
}

/// Events of one kind.
#[derive(Debug)]
pub(crate) struct ProfilePart<'q> {
    /// What they are.
    pub of: PartKind,
    names: Names,
    query: &'q StackQuery,
    /// By module and database of an image, its number in the profile.
    images: FastMap<(u32, Option<u32>), u32>,
    tracks: Vec<Track>,
    events: Vec<ProfileEvent>,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProfileFrame {
    /// In an image of the profile, at an address relative to it.
    Image(u32, u32),
    /// Native code by its name: with a line, or inlined.
    Native(String),
    /// A method of .NET.
    Method(String),
    /// Something else.
    Other(String),
}

/// Keys with the names of their processes and the ids of their threads.
pub(crate) struct Owned<'o> {
    pub keys: &'o [Key],
    pub processes: &'o Texts,
    pub threads: &'o Threads,
    /// Ids of processes, by the number of their label.
    pub process_ids: &'o FastMap<u32, u32>,
}

impl<'q> ProfilePart<'q> {
    /// The events that the query lets pass.
    pub(crate) fn new(
        (of, mut names): (PartKind, Names),
        owned: &Owned<'_>,
        found: Vec<Found>,
        query: &'q StackQuery,
    ) -> ProfilePart<'q> {
        query.fold.iter().for_each(|modules| names.fold(modules));
        let rows = owned.keys.iter().map(|key| Row::of(*key)).collect();
        let shown = Shown::new(&names, (owned.processes, owned.threads), rows, query, None);
        let mut tracks = Tracks::default();
        let mut track_of: FastMap<Key, u32> = FastMap::default();
        for Row { key, .. } in &shown.rows {
            track_of.insert(*key, tracks.number(of, key, owned));
        }
        let track = |found: &Found| owned.keys.get(found.key as usize).and_then(|key| track_of.get(key)).copied();
        let event = |found: Found| {
            let Found { time_ns, stack, weight, piece, .. } = found;
            Some(ProfileEvent { track: track(&found)?, time_ns, stack, weight, piece })
        };
        let mut events: Vec<ProfileEvent> = found.into_iter().filter_map(event).collect();
        let tracks = tracks.ranges(&mut events);
        ProfilePart { of, names, query, images: FastMap::default(), tracks, events }
    }

    /// Threads or processes, those with most events first.
    pub(crate) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The events of a track, in order.
    pub(crate) fn events(&self, track: &Track) -> &[ProfileEvent] {
        self.events.get(track.events.clone()).unwrap_or_default()
    }

    /// Asks for the number of each image of a frame: by its module, its database, an address in it and the function there.
    pub(crate) fn number_images(&mut self, mut number: impl FnMut(&str, Option<&PdbId>, u32, Option<&str>) -> u32) {
        let stacks: foldhash::HashSet<StackId> = self.events.iter().map(|event| event.stack).collect();
        let in_images = stacks.into_iter().flat_map(|stack| self.labels(stack));
        let places: BTreeSet<_> = in_images.filter_map(|label| self.names.in_image(label)).collect();
        let mut images = FastMap::default();
        for (module, pdb, rva, function) in places {
            let id = pdb.and_then(|pdb| self.names.pdbs.get(pdb as usize));
            images.insert((module, pdb), number(self.names.texts.get(module), id, rva, function));
        }
        self.images = images;
    }

    /// Frames as the query wants them, innermost first.
    fn labels(&self, stack: StackId) -> Vec<Label> {
        super::rows::frames_as_shown(&self.names, self.query, stack)
    }

    /// The frames of a stack, outermost first, and how many outer ones are left out of a very long one; none of an event without a
    /// stack.
    pub(crate) fn frames(&self, stack: StackId) -> (Vec<Label>, usize) {
        let mut frames = self.labels(stack);
        frames.retain(|frame| *frame != Label::NoStack);
        let (kept, _) = super::frame_names::kept(frames.iter().map(|frame| self.names.text(*frame).len()));
        let left_out = frames.len() - kept;
        frames.truncate(kept);
        frames.reverse();
        (frames, left_out)
    }

    /// What a frame is.
    pub(crate) fn frame(&self, label: Label) -> ProfileFrame {
        if self.names.has_source(label) {
            return ProfileFrame::Native(self.names.text(label));
        }
        if let Some((module, pdb, rva, _)) = self.names.in_image(label)
            && let Some(image) = self.images.get(&(module, pdb))
        {
            return ProfileFrame::Image(*image, rva);
        }
        match label {
            Label::Method(..) => ProfileFrame::Method(self.names.text(label)),
            _ => ProfileFrame::Other(self.names.text(label)),
        }
    }

    /// The length of its name.
    pub(crate) fn name_length(&self, label: Label) -> usize {
        self.names.text(label).len()
    }
}

/// Tracks as they are met.
#[derive(Default)]
struct Tracks {
    numbers: FastMap<(u32, Option<u32>), u32>,
    all: Vec<Track>,
}

impl Tracks {
    fn number(&mut self, of: PartKind, key: &Key, owned: &Owned<'_>) -> u32 {
        let thread = of.is_by_thread().then_some(key.thread);
        let next = self.all.len() as u32;
        let number = *self.numbers.entry((key.process, thread)).or_insert(next);
        if number == next {
            self.all.push(Track {
                process: owned.processes.get(key.process).to_owned(),
                process_id: owned.process_ids.get(&key.process).copied().unwrap_or(0),
                thread: thread.and_then(|thread| owned.threads.get(thread).copied().flatten()),
                events: 0..0,
            });
        }
        number
    }

    /// Puts events in the order of their tracks: those with most events first, those beyond the limit as one.
    fn ranges(self, events: &mut [ProfileEvent]) -> Vec<Track> {
        let mut counts: Vec<(usize, u32)> = (0..self.all.len() as u32).map(|number| (0, number)).collect();
        for event in &*events {
            counts.get_mut(event.track as usize).into_iter().for_each(|(count, _)| *count += 1);
        }
        counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        counts.retain(|(count, _)| *count > 0);
        let mut rank = vec![MOST_TRACKS as u32; self.all.len()];
        for (place, (_, number)) in (0u32..).zip(counts.iter().take(MOST_TRACKS)) {
            rank.get_mut(*number as usize).into_iter().for_each(|rank| *rank = place);
        }
        for event in &mut *events {
            event.track = rank.get(event.track as usize).copied().unwrap_or(MOST_TRACKS as u32);
        }
        events.sort_by_key(|event| (event.track, event.time_ns));
        let mut from = 0;
        let mut tracks: Vec<Track> = Vec::new();
        let whole = counts.iter().take(MOST_TRACKS).filter_map(|(count, number)| {
            let track = self.all.get(*number as usize)?.clone();
            from += count;
            Some(Track { events: from - count..from, ..track })
        });
        tracks.extend(whole);
        if from < events.len() {
            let process = format!("{} more", counts.len() - tracks.len());
            tracks.push(Track { process, process_id: 0, thread: None, events: from..events.len() });
        }
        tracks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_beyond_the_limit_become_one() {
        let name = |number: u32| Track { process: number.to_string(), process_id: number, thread: None, events: 0..0 };
        let all: Vec<Track> = (0..1003).map(name).collect();
        let event = |time_ns: u64| ProfileEvent {
            track: (time_ns % 1003) as u32,
            time_ns,
            stack: StackId::default(),
            weight: 1,
            piece: 0,
        };
        let mut events: Vec<ProfileEvent> = (0..2007).map(event).collect();
        let tracks = Tracks { numbers: FastMap::default(), all }.ranges(&mut events);
        assert_eq!((tracks.len(), tracks[0].events.clone(), tracks[0].process.as_str()), (1001, 0..3, "0"));
        let last = &tracks[1000];
        assert_eq!((last.process.as_str(), last.events.clone()), ("3 more", 2001..2007));
        let times: Vec<u64> = events[2001..].iter().map(|event| event.time_ns).collect();
        assert_eq!(times, [1000, 1001, 1002, 2003, 2004, 2005]);
    }
}
