//! What lay at addresses when: lives of images and methods, from their records, which come in time order but tell of the past too.
//!
//! Sources: `docs/stacks.md` ("What lies at an address").

use crate::event::Phase;
use crate::event::clr::MethodPhase;
use crate::load::stacks::image_and_method_records::AddressRecord;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// An image, or a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Process; 0 = kernel.
    pub process_id: u32,
    /// First address.
    pub base: u64,
    /// Address after the last one.
    pub end: u64,
    /// Index of its record.
    pub record: u32,
    /// When it began.
    pub from: Ticks,
    /// When it ended.
    pub until: Ticks,
    /// True for a method.
    pub is_method: bool,
    /// Index of the record that names its database.
    pub pdb: Option<u32>,
}

/// What is known of one kind of thing in one process.
#[derive(Debug, Default)]
struct Space {
    /// Index of the life by its first address.
    alive: BTreeMap<u64, usize>,
    /// Address ranges in which something has ended, with the time of the last end.
    ended: BTreeMap<u64, (u64, Ticks)>,
    start: Option<Ticks>,
}

/// All lives.
#[derive(Debug, Default)]
pub struct Lives {
    /// In the order of their records.
    pub lives: Vec<Life>,
    spaces: FastMap<(u32, bool), Space>,
}

enum Change {
    Begins,
    Ends,
    IsListed,
}

impl Lives {
    /// Follows the records.
    pub fn new(records: &[At<AddressRecord>]) -> Lives {
        let mut all = Lives::default();
        let pdbs = databases(records);
        for (index, At { moment, value }) in (0u32..).zip(records) {
            let time = moment.time;
            match *value {
                AddressRecord::ProcessStart(id) => {
                    all.process_starts(id, false, time);
                    all.process_starts(id, true, time);
                }
                AddressRecord::Image { phase, process_id, base, size, .. } => {
                    let change = match phase {
                        Phase::Start => Change::Begins,
                        Phase::End => Change::Ends,
                        Phase::DcStart | Phase::DcEnd => Change::IsListed,
                    };
                    let life = all.change(change, new(process_id, base, size, index, time, false));
                    if let Some(life) = life.and_then(|life| all.lives.get_mut(life)) {
                        life.pdb = life.pdb.or_else(|| pdbs.get(&(process_id, base, time)).copied());
                    }
                }
                AddressRecord::Method { phase, process_id, start, size, .. } => {
                    let change = match phase {
                        MethodPhase::Load => Change::Begins,
                        MethodPhase::Unload => Change::Ends,
                        MethodPhase::Rundown => Change::IsListed,
                    };
                    all.change(change, new(process_id, start, size, index, time, true));
                }
                AddressRecord::Module { .. } | AddressRecord::Pdb { .. } => {}
            }
        }
        all
    }

    fn process_starts(&mut self, id: u32, is_method: bool, time: Ticks) {
        let space = self.spaces.entry((id, is_method)).or_default();
        for index in std::mem::take(&mut space.alive).into_values() {
            self.lives.get_mut(index).into_iter().for_each(|life| life.until = time);
        }
        *space = Space { start: Some(time), ..Space::default() };
    }

    /// The index of the life that the record is of.
    fn change(&mut self, change: Change, life: Life) -> Option<usize> {
        if life.end <= life.base {
            return None;
        }
        let time = life.until;
        let space = self.spaces.entry((life.process_id, life.is_method)).or_default();
        let known = space.alive.get(&life.base).copied();
        match change {
            Change::IsListed if known.is_some() => return known,
            Change::Ends => {
                if let Some(index) = known {
                    space.alive.remove(&life.base);
                    if let Some(known) = self.lives.get_mut(index) {
                        known.until = time;
                        space.note_end(known.base, known.end, time);
                    }
                    return Some(index);
                }
            }
            Change::Begins | Change::IsListed => {}
        }
        for index in space.take_overlapping(&self.lives, life.base, life.end) {
            if let Some(over) = self.lives.get_mut(index) {
                over.until = time;
                space.note_end(over.base, over.end, time);
            }
        }
        let from = match change {
            Change::Begins => time,
            Change::Ends | Change::IsListed => {
                space.last_end(life.base, life.end).max(space.start).unwrap_or(Ticks(i64::MIN))
            }
        };
        let is_over = matches!(change, Change::Ends);
        let until = if is_over { time } else { Ticks(i64::MAX) };
        if is_over {
            space.note_end(life.base, life.end, time);
        } else {
            space.alive.insert(life.base, self.lives.len());
        }
        self.lives.push(Life { from, until, ..life });
        Some(self.lives.len() - 1)
    }
}

/// The first record of a database by process, address of the image and time.
fn databases(records: &[At<AddressRecord>]) -> FastMap<(u32, u64, Ticks), u32> {
    let mut first = FastMap::default();
    for (index, record) in (0u32..).zip(records) {
        if let AddressRecord::Pdb { process_id, base, .. } = &record.value {
            first.entry((*process_id, *base, record.moment.time)).or_insert(index);
        }
    }
    first
}

/// A life of which only the time of the record is known, in `until`.
fn new(process_id: u32, base: u64, size: u64, record: u32, time: Ticks, is_method: bool) -> Life {
    Life { process_id, base, end: base.saturating_add(size), record, from: time, until: time, is_method, pdb: None }
}

impl Space {
    /// Takes out what overlaps a range. What is alive does not overlap itself, so only one can begin before the range.
    fn take_overlapping(&mut self, lives: &[Life], base: u64, end: u64) -> Vec<usize> {
        let reaches = |index: &usize| lives.get(*index).is_some_and(|life| life.end > base);
        let before = self.alive.range(..base).next_back().filter(|(_, index)| reaches(index)).map(|(base, _)| *base);
        let inside = self.alive.range(base..end).map(|(base, _)| *base);
        let bases: Vec<u64> = before.into_iter().chain(inside).collect();
        bases.iter().filter_map(|base| self.alive.remove(base)).collect()
    }

    /// Records come in time order, so a later end covers earlier ones.
    fn note_end(&mut self, base: u64, end: u64, time: Ticks) {
        let before = self.ended.range(..base).next_back().map(|(start, (stop, when))| (*start, *stop, *when));
        if let Some((start, stop, when)) = before.filter(|(_, stop, _)| *stop > base) {
            self.ended.insert(start, (base, when));
            if stop > end {
                self.ended.insert(end, (stop, when));
            }
        }
        let inside: Vec<u64> = self.ended.range(base..end).map(|(start, _)| *start).collect();
        for start in inside {
            if let Some((stop, when)) = self.ended.remove(&start).filter(|(stop, _)| *stop > end) {
                self.ended.insert(end, (stop, when));
            }
        }
        self.ended.insert(base, (end, time));
    }

    fn last_end(&self, base: u64, end: u64) -> Option<Ticks> {
        let before = self.ended.range(..base).next_back().filter(|(_, (stop, _))| *stop > base);
        before.into_iter().chain(self.ended.range(base..end)).map(|(_, (_, time))| *time).max()
    }
}
