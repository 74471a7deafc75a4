//! A small address space whose pages are looked at one by one after each record.

use super::{PID, Piece};
use etl_writer::payloads::memory::{virtual_alloc, virtual_free, virtual_rundown};
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr, Rec, Session, Trace};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PAGE: u64 = 4096;
/// Pages of the arena, the number of its first one.
const PAGES: usize = 40;
const FIRST: u64 = 0x100;

/// The state of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Not,
    /// By a record, or before the trace in a region.
    Committed(Opening),
    Summed(usize),
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Opening {
    Record(usize, u64),
    Region(usize),
    Unknown,
}

/// A step: what, where, how many pages, flags, ticks since the one before.
pub type Step = (u8, u8, u8, u8, u8);

/// Counters by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// What is committed at the page sequence and how much of it is in RAM, pages: by size of pages.
pub type AtSequence = BTreeMap<&'static str, (u64, u64)>;

/// Number and time of the record that closes, and why.
type Closing = (usize, u64, &'static str);

#[derive(Debug)]
struct Space {
    pages: Vec<State>,
    /// Pages and commit of regions that are known in sum.
    regions: Vec<u64>,
    reservations: Vec<(usize, usize)>,
    /// Pages that were closed: opening, closing record, page.
    ended: Vec<(Opening, Option<Closing>, usize)>,
    pieces: Vec<Piece>,
    counts: BTreeMap<&'static str, u64>,
    is_listed: bool,
    /// Pages that are in RAM at the page sequence; `None` before it, and where the process is dead then.
    in_ram: Option<Vec<bool>>,
    at_sequence: AtSequence,
}

impl Space {
    fn count(&mut self, name: &'static str, number: u64) {
        *self.counts.entry(name).or_default() += number;
    }

    fn found(&mut self, of: &'static str, committed: u64, resident: u64) {
        let sum = self.at_sequence.entry(of).or_default();
        *sum = (sum.0 + committed, sum.1 + resident);
    }

    /// Each page of the arena at the page sequence.
    fn at_sequence(&mut self, in_ram: Vec<bool>, steps: &[Step]) {
        let mut summed = vec![0; self.regions.len()];
        for (page, is_in_ram) in in_ram.iter().enumerate() {
            match self.pages[page] {
                State::Committed(Opening::Record(number, _)) => {
                    let of = if steps[number].3 & 1 != 0 { "large" } else { "normal" };
                    self.found(of, 1, u64::from(*is_in_ram));
                }
                State::Committed(_) => self.found("normal", 1, u64::from(*is_in_ram)),
                State::Summed(region) => summed[region] += u64::from(*is_in_ram),
                State::Not | State::Unknown => {}
            }
        }
        for (committed, inside) in self.regions.clone().into_iter().zip(summed) {
            self.found("normal", committed, inside.min(committed));
        }
        self.in_ram = Some(in_ram);
    }

    /// What only the end rundown tells, when both it and the page sequence were there: pages of which nobody knows more.
    fn rest_at_sequence(&mut self, from: usize, pages: usize, rest: u64) {
        let Some(in_ram) = &self.in_ram else { return };
        let is_open = |page: &usize| in_ram[*page] && matches!(self.pages[*page], State::Unknown);
        let inside = (from..from + pages).filter(is_open).count() as u64;
        self.found("normal", rest, inside.min(rest));
    }

    fn cut(&mut self, from: usize, to: usize) {
        let parts = self.reservations.iter().flat_map(|&(a, b)| [(a, b.min(from)), (a.max(to), b)]);
        self.reservations = parts.filter(|(a, b)| a < b).collect();
    }

    fn reserve(&mut self, from: usize, to: usize) {
        self.cut(from, to);
        self.reservations.push((from, to));
    }

    /// Closes what is committed, page by page; `why` is the record.
    fn close(&mut self, from: usize, to: usize, why: Closing) {
        let mut by_region: BTreeMap<usize, u64> = BTreeMap::new();
        for page in from..to {
            match self.pages[page] {
                State::Committed(opening) => self.ended.push((opening, Some(why), page)),
                State::Summed(region) => *by_region.entry(region).or_default() += 1,
                State::Unknown if why.2 == "decommit" && !self.is_listed => {
                    self.ended.push((Opening::Unknown, Some(why), page));
                    self.count("estimated_bytes", PAGE);
                }
                State::Unknown if why.2 == "release" => self.count("unknown_release_bytes", PAGE),
                State::Unknown | State::Not => {}
            }
        }
        for (region, inside) in by_region {
            let all = self.pages.iter().filter(|state| **state == State::Summed(region)).count() as u64;
            let committed = self.regions[region];
            let freed = inside.min(committed);
            if freed > 0 {
                self.pieces.push(Piece { opened: None, closed: Some((why.1, why.2)), bytes: freed * PAGE });
            }
            if committed != all && inside != all {
                self.count("estimated_bytes", freed * PAGE);
            }
            self.regions[region] -= freed;
        }
        self.pages[from..to].fill(State::Not);
    }

    fn commit(&mut self, from: usize, to: usize, opening: Opening) {
        for region in 0..self.regions.len() {
            let all = (0..PAGES).filter(|page| self.pages[*page] == State::Summed(region));
            let (inside, outside): (Vec<usize>, Vec<usize>) = all.partition(|page| (from..to).contains(page));
            let before = self.regions[region].saturating_sub(outside.len() as u64);
            if inside.is_empty() {
                continue;
            }
            self.regions[region] -= before;
            for (place, page) in (0u64..).zip(inside) {
                self.pages[page] = if place < before { State::Committed(Opening::Region(region)) } else { State::Not };
            }
        }
        for page in from..to {
            match self.pages[page] {
                State::Committed(_) => self.count("recommitted_bytes", PAGE),
                _ => self.pages[page] = State::Committed(opening),
            }
        }
    }

    /// The process, or the trace, ends: pages in a row with one opening and one closing record are a piece.
    fn end(mut self, why: Option<Closing>, rests: &[u64]) -> (Vec<Piece>, Counts) {
        for page in 0..PAGES {
            if let State::Committed(opening) = self.pages[page] {
                self.ended.push((opening, why, page));
            }
        }
        let closed = |why: Option<Closing>| why.map(|(_, time, reason)| (time, reason));
        let sums = self.regions.iter().map(|pages| pages * PAGE).chain(rests.iter().copied());
        let sums = sums.filter(|bytes| *bytes > 0).map(|bytes| Piece { opened: None, closed: closed(why), bytes });
        self.pieces.extend(sums);
        self.ended.sort_by_key(|(opening, why, page)| (why.map(|(record, ..)| record), *opening, *page));
        let mut last: Option<(Opening, Option<usize>, usize)> = None;
        for (opening, why, page) in &self.ended {
            let key = (*opening, why.map(|(record, ..)| record), *page);
            let follows = last.is_some_and(|(o, w, p)| (o, w, p + 1) == key);
            last = Some(key);
            let opened = match opening {
                Opening::Record(_, time) => Some(*time),
                Opening::Region(_) | Opening::Unknown => None,
            };
            match self.pieces.last_mut().filter(|_| follows) {
                Some(piece) => piece.bytes += PAGE,
                None => self.pieces.push(Piece { opened, closed: closed(*why), bytes: PAGE }),
            }
        }
        (self.pieces, self.counts)
    }
}

/// Regions of a rundown: first page, pages, committed pages.
pub type Regions = Vec<(usize, usize, u64)>;

fn regions() -> impl Strategy<Value = Regions> {
    // Side by side, with gaps.
    prop::collection::vec((0usize..4, 1usize..9, 0u64..9), 0..5).prop_map(|list| {
        let mut next = 0;
        list.into_iter()
            .filter_map(|(gap, pages, committed)| {
                let first = next + gap;
                next = first + pages;
                (next <= PAGES).then_some((first, pages, committed.min(pages as u64)))
            })
            .collect()
    })
}

#[derive(Debug, Clone)]
pub struct Story {
    pub is_p4: bool,
    pub is_born: bool,
    pub start: Option<Regions>,
    /// After so many steps.
    pub end: Option<(usize, Regions)>,
    pub steps: Vec<Step>,
    /// The process ends after so many steps.
    pub dies: Option<usize>,
    pub window: (u8, u8),
    /// After so many steps there is a page sequence, with these pages of the arena.
    pub sequence: (usize, u64),
}

pub fn story() -> impl Strategy<Value = Story> {
    let step = (0u8..20, 0u8..PAGES as u8, 0u8..12, any::<u8>(), 0u8..3);
    let steps = prop::collection::vec(step, 1..40);
    let start = prop::option::of(regions());
    let end = prop::option::of((0usize..40, regions()));
    let sequence = (0usize..40, any::<u64>());
    let ends = (prop::option::of(0usize..50), (any::<u8>(), any::<u8>()));
    (any::<bool>(), any::<bool>(), start, end, steps, ends, sequence).prop_map(
        |(is_p4, is_born, start, end, steps, (dies, window), sequence)| Story {
            is_p4,
            is_born,
            start,
            end,
            steps,
            dies,
            window,
            sequence,
        },
    )
}

/// Writes a story, and follows it page by page.
pub fn tell(story: &Story) -> (Vec<u8>, u64, u64, Vec<Piece>, Counts, AtSequence) {
    let p = if story.is_p4 { Ptr::P4 } else { Ptr::P8 };
    let session = Session { processors: 1, pointer: p, buffer_size: 1024, ..Session::windows10() };
    let (t0, mut time) = (session.t0, session.t0 + 5);
    let owner = Process::new(PID, "app.exe");
    let phase = if story.is_born { process::START } else { process::DC_START };
    let mut recs = vec![owner.rec(p, 3, phase).at(time)];
    let start = story.start.as_ref().filter(|regions| !regions.is_empty());
    let is_listed_first = start.is_some() && !story.is_born;
    let has_end = story.end.as_ref().is_some_and(|(at, regions)| {
        !regions.is_empty() && story.dies.is_none_or(|dies| (*at).min(story.steps.len()) <= dies)
    });
    let first = if story.is_born || is_listed_first { State::Not } else { State::Unknown };
    let mut space = Space {
        pages: vec![first; PAGES],
        regions: Vec::new(),
        reservations: Vec::new(),
        ended: Vec::new(),
        pieces: Vec::new(),
        counts: BTreeMap::new(),
        is_listed: false,
        in_ram: None,
        at_sequence: AtSequence::new(),
    };
    let address = |page: usize| (FIRST + page as u64) * PAGE;
    for (number, &(from, pages, committed)) in start.into_iter().flatten().enumerate() {
        let size = pages as u64 * PAGE;
        recs.push(virtual_rundown(p, 0x0280, address(from), size, PID, 0, committed * PAGE).at(time));
        if is_listed_first {
            let state = match committed {
                0 => State::Not,
                all if all == pages as u64 => State::Committed(Opening::Region(number)),
                _ => State::Summed(number),
            };
            space.regions.push(if matches!(state, State::Summed(_)) { committed } else { 0 });
            space.pages[from..from + pages].fill(state);
            space.reserve(from, from + pages);
        }
    }
    let (mut rests, mut death) = (Vec::new(), None);
    for number in 0..=story.steps.len() {
        if story.sequence.0.min(story.steps.len()) == number {
            let in_ram: Vec<bool> = (0..PAGES).map(|page| story.sequence.1 >> page & 1 != 0).collect();
            // One more, which nobody committed.
            let pages = (0..PAGES).filter(|page| in_ram[*page]).chain([PAGES + 7]);
            let page = |(pfn, page)| Identity::private(pfn, PID.into(), address(page)).rec(p, 4, IN_MEMORY).at(time);
            recs.extend((0x100..).zip(pages).map(page));
            if death.is_none() {
                space.at_sequence(in_ram, &story.steps);
                let told = rests.clone();
                told.into_iter().for_each(|(from, pages, rest)| space.rest_at_sequence(from, pages, rest));
            }
        }
        if let Some((_, regions)) =
            story.end.as_ref().filter(|(at, _)| (*at).min(story.steps.len()) == number && has_end)
        {
            for &(from, pages, committed) in regions {
                let size = pages as u64 * PAGE;
                recs.push(virtual_rundown(p, 0x0281, address(from), size, PID, 0, committed * PAGE).at(time));
                let inside = &space.pages[from..from + pages];
                let known = inside.iter().filter(|state| matches!(state, State::Committed(_))).count() as u64;
                rests.push((from, pages, committed.saturating_sub(known)));
            }
            space.is_listed = true;
            if story.is_born || is_listed_first {
                rests.clear();
            }
            for (from, pages, rest) in rests.clone() {
                space.rest_at_sequence(from, pages, rest);
            }
        }
        if story.dies == Some(number) {
            recs.push(owner.rec(p, 3, process::END).at(time));
            death = Some((1000, time, "process_end"));
        }
        let Some(&step) = story.steps.get(number) else { break };
        time += u64::from(step.4);
        let from = usize::from(step.1);
        let to = (from + usize::from(step.2)).min(PAGES);
        let recorded = step_of(&mut space, p, step, (number, time), (from, to), death.is_some());
        recs.push(recorded.by(7, 400).at(time));
    }
    let at_sequence = space.at_sequence.clone();
    let rests: Vec<u64> = rests.into_iter().map(|(.., rest)| rest * PAGE).collect();
    let (pieces, counts) = space.end(death, &rests);
    let bytes = Trace::new(session).push_all(recs).finish();
    (bytes, t0, time, pieces, counts, at_sequence)
}

/// A record, and what it does to the pages.
fn step_of(
    space: &mut Space,
    p: Ptr,
    step: Step,
    (number, time): (usize, u64),
    (from, to): (usize, usize),
    is_dead: bool,
) -> Rec {
    let (what, .., flags, _) = step;
    let base = (FIRST + from as u64) * PAGE;
    let size = (to - from) as u64 * PAGE;
    // Ranges need not begin and end with pages.
    let (base, size) = if flags & 0x80 != 0 && to - from > 1 { (base + 5, size - 10) } else { (base, size) };
    let large = if flags & 1 != 0 { 0x2000_0000 } else { 0 };
    let opening = Opening::Record(number, time);
    let alloc = |kind: u32| virtual_alloc(p, base, size, PID, kind);
    let free = |kind: u32| virtual_free(p, base, size, PID, kind);
    let rec = match what {
        0..=3 => alloc(0x3000 | large),
        4..=8 => alloc(0x1000 | large),
        9 => alloc(0x2000),
        10 => alloc(0x40_3000),
        11 => alloc(0x8_0000),
        12..=15 => free(0x4000),
        16..=17 => free(0x8000),
        18 => free(if flags & 2 != 0 { 0x8002 } else { 0x8001 }),
        _ => free(if flags & 2 != 0 { 0x10 } else { 0x8000 }),
    };
    if is_dead {
        space.count("after_end", 1);
        return rec;
    }
    match what {
        0..=10 if from == to => space.count("malformed", 1),
        0..=3 | 9 | 10 => {
            space.close(from, to, (number, time, "lost"));
            space.reserve(from, to);
            if what <= 3 {
                space.commit(from, to, opening);
            }
        }
        4..=8 => {
            space.commit(from, to, opening);
            if !space.reservations.iter().any(|(a, b)| (*a..*b).contains(&from)) {
                space.reserve(from, to);
            }
        }
        11 if from == to => space.count("malformed", 1),
        11 => space.count("reset", 1),
        19 if flags & 2 != 0 => space.count("malformed", 1),
        18 if flags & 2 == 0 => {}
        _ => {
            let reason = if what <= 15 { "decommit" } else { "release" };
            let known = space.reservations.iter().find(|(a, _)| *a == from).copied();
            let (from, to) = match (from == to, known) {
                (false, _) => (from, to),
                (true, Some(reservation)) => reservation,
                (true, None) => {
                    space.count("unknown_size", 1);
                    return rec;
                }
            };
            space.close(from, to, (number, time, reason));
            if reason == "release" {
                space.cut(from, to);
                if what == 18 {
                    space.reservations.push((from, to));
                }
            }
        }
    }
    rec
}
