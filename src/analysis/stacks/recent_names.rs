//! The names of lists of frames, and of frames, that were asked for last: stacks come again, and share their outer frames.

use super::loaded_code::AddressSpaces;
use crate::load::stacks::frame_trie::PathId;
use foldhash::HashMap as FastMap;
use std::num::NonZeroU32;

/// Places that an answer can have.
const TOGETHER: usize = 4;

/// Most places for whole lists; of five that meet at four, one is pushed out.
const MOST_LISTS: usize = 1 << 18;

/// The same for their outer parts, of which only the first ones are kept: there most lists meet.
const MOST_OUTER: usize = 1 << 16;

/// The same for frames.
const MOST_FRAMES: usize = 1 << 17;

/// Most lists of which the last names are kept, 4 bytes each: the first ones, which have most of the shared frames.
const MOST_LAST: usize = 1 << 20;

/// Processes of [`Marks::recent`]; a power of two.
const RECENT: usize = 256;

/// A number for what lies in a process now. What has the same mark has the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u32);

impl Mark {
    /// `is_exact`: the innermost frame is the address that ran, not a return address.
    fn with(self, is_exact: bool) -> u32 {
        self.0 << 1 | u32::from(is_exact)
    }
}

/// The marks of processes.
#[derive(Debug, Default)]
struct Marks {
    /// By process: how often something has changed in the kernel and in it, and its mark since then. Those in which nothing is known
    /// have one mark together.
    of_processes: FastMap<Option<u32>, ((u32, u32), Mark)>,
    next: u32,
    /// Processes that were asked for last, and how many changes there were then.
    recent: Vec<Option<(u32, usize, Mark)>>,
}

impl Marks {
    /// The mark of a process now; `None` when there are no more.
    fn of(&mut self, process_id: u32, spaces: &AddressSpaces) -> Option<Mark> {
        let (key, epochs) = Marks::key(process_id, spaces);
        let known = self.of_processes.get(&key).filter(|(of, _)| *of == epochs);
        if let Some((_, mark)) = known {
            return Some(*mark);
        }
        let mark = Mark(self.next);
        self.next = self.next.checked_add(1).filter(|next| *next <= u32::MAX >> 1)?;
        self.of_processes.insert(key, (epochs, mark));
        Some(mark)
    }

    /// What a mark is found by, and how often something has changed there.
    fn key(process_id: u32, spaces: &AddressSpaces) -> (Option<u32>, (u32, u32)) {
        let key = (!spaces.is_empty(process_id)).then_some(process_id);
        (key, (spaces.epoch(0), key.map_or(0, |id| spaces.epoch(id))))
    }

    /// The mark of a process that was asked for since the last change.
    #[inline]
    fn recent(&self, process_id: u32, spaces: &AddressSpaces) -> Option<Mark> {
        let (of, when, mark) = (*self.recent.get((process_id >> 2) as usize % RECENT)?)?;
        ((of, when) == (process_id, spaces.changes())).then_some(mark)
    }
}

/// The last answer at each place.
#[derive(Debug, Default)]
pub struct RecentNames {
    marks: Marks,
    /// Whole lists of events, so that their outer frames do not push them out.
    whole: Places,
    outer: Places,
    frames: Places,
    /// By list, its names in the process that asked last. Those in another one are mostly the same.
    last: Vec<Option<PathId>>,
}

/// Answers to two numbers, each with a number that is not 0.
#[derive(Debug, Default)]
struct Places(Vec<Option<(u32, u32, NonZeroU32)>>);

impl RecentNames {
    /// Makes room for so many lists.
    pub fn make_room(&mut self, lists: usize) {
        let room = |most: usize| Places(vec![None; lists.next_power_of_two().clamp(1 << 8, most)]);
        if self.whole.0.is_empty() {
            (self.whole, self.outer, self.frames) = (room(MOST_LISTS), room(MOST_OUTER), room(MOST_FRAMES));
            self.last = vec![None; lists.min(MOST_LAST)];
            self.marks.recent = vec![None; RECENT];
        }
    }

    /// The mark of a process now.
    #[inline]
    pub fn mark(&mut self, process_id: u32, spaces: &AddressSpaces) -> Mark {
        let (slot, changes) = ((process_id >> 2) as usize % RECENT, spaces.changes());
        if let Some(mark) = self.marks.recent(process_id, spaces) {
            return mark;
        }
        let mark = self.marks.of(process_id, spaces).unwrap_or_else(|| {
            // Old marks come again: what had them is forgotten.
            self.marks = Marks { recent: vec![None; RECENT], ..Marks::default() };
            for places in [&mut self.whole, &mut self.outer, &mut self.frames] {
                places.0.fill(None);
            }
            self.marks.of(process_id, spaces).unwrap_or(Mark(0))
        });
        self.marks.recent.get_mut(slot).into_iter().for_each(|slot| *slot = Some((process_id, changes, mark)));
        mark
    }

    /// The same, where it has one.
    #[inline]
    pub fn known_mark(&self, process_id: u32, spaces: &AddressSpaces) -> Option<Mark> {
        self.marks.recent(process_id, spaces).or_else(|| {
            let (key, epochs) = Marks::key(process_id, spaces);
            self.marks.of_processes.get(&key).filter(|(of, _)| *of == epochs).map(|(_, mark)| *mark)
        })
    }

    /// The names of a list, where they are known; `is_whole` for one that is not asked for as part of another.
    #[inline]
    pub fn list(&self, mark: Mark, (list, is_exact): (PathId, bool), is_whole: bool) -> Option<PathId> {
        let places = match is_whole {
            true => &self.whole,
            false if list.place() < MOST_OUTER => &self.outer,
            false => return None,
        };
        places.get(mark.with(is_exact), list.get()).and_then(|names| PathId::of(names.get()))
    }

    /// Notes them.
    #[inline]
    pub fn put_list(&mut self, mark: Mark, (list, is_exact): (PathId, bool), is_whole: bool, names: PathId) {
        let places = match is_whole {
            true => &mut self.whole,
            false if list.place() < MOST_OUTER => &mut self.outer,
            false => return,
        };
        places.put(mark.with(is_exact), list.get(), names.get());
    }

    /// The names that a list had last, in any process.
    #[inline]
    pub fn last(&self, list: PathId) -> Option<PathId> {
        self.last.get(list.place()).copied().flatten()
    }

    /// Notes them.
    #[inline]
    pub fn put_last(&mut self, list: PathId, names: PathId) {
        self.last.get_mut(list.place()).into_iter().for_each(|last| *last = Some(names));
    }

    /// The number of the name of a frame, where it is known.
    #[inline]
    pub fn frame(&self, mark: Mark, (frame, is_exact): (u32, bool)) -> Option<u32> {
        self.frames.get(mark.with(is_exact), frame).map(|name| name.get() - 1)
    }

    /// Notes it.
    #[inline]
    pub fn put_frame(&mut self, mark: Mark, (frame, is_exact): (u32, bool), name: u32) {
        self.frames.put(mark.with(is_exact), frame, name.saturating_add(1));
    }
}

impl Places {
    fn place(&self, of: u32, number: u32) -> usize {
        let mixed = (u64::from(number) << 32 | u64::from(of)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 32) as usize & self.0.len().saturating_sub(1)
    }

    /// The places of an answer: those beside the first one are mostly in the same line of a cache.
    fn around(place: usize) -> impl Iterator<Item = usize> {
        (0..TOGETHER).map(move |beside| place ^ beside)
    }

    /// The answer, at one of its places.
    #[inline]
    fn get(&self, of: u32, number: u32) -> Option<NonZeroU32> {
        Places::around(self.place(of, number)).find_map(|place| {
            let (known_of, known_number, answer) = (*self.0.get(place)?)?;
            (known_of == of && known_number == number).then_some(answer)
        })
    }

    /// Notes an answer at the first place that is free or has an older answer to the same; else what is at its first place is lost.
    #[inline]
    fn put(&mut self, of: u32, number: u32, answer: u32) {
        let first = self.place(of, number);
        let is_free = |place: &usize| {
            self.0.get(*place).is_some_and(|known| known.is_none_or(|(known, its, _)| (known, its) == (of, number)))
        };
        let place = Places::around(first).find(is_free).unwrap_or(first);
        let slot = self.0.get_mut(place).into_iter();
        slot.for_each(|slot| *slot = NonZeroU32::new(answer).map(|answer| (of, number, answer)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Phase;
    use crate::load::stacks::image_and_method_records::AddressRecord;
    use crate::moment::{At, Moment};
    use crate::units::Ticks;

    #[test]
    fn four_answers_can_meet() {
        let mut places = Places(vec![None; TOGETHER]);
        let get =
            |places: &Places, numbers: [u32; 5]| numbers.map(|number| places.get(1, number).map_or(0, NonZeroU32::get));
        (7..11).for_each(|number| places.put(1, number, number + 10));
        assert_eq!(get(&places, [7, 8, 9, 10, 11]), [17, 18, 19, 20, 0]);
        places.put(1, 7, 5);
        assert_eq!(get(&places, [7, 8, 9, 10, 11]), [5, 18, 19, 20, 0]);
        places.put(1, 11, 6);
        let found = get(&places, [7, 8, 9, 10, 11]);
        assert_eq!((found[4], found.iter().filter(|answer| **answer == 0).count()), (6, 1));
        assert_eq!(places.get(2, 11), None);
    }

    #[test]
    fn what_has_no_more_marks_is_forgotten() {
        let image = |process_id| {
            let moment = Moment { time: Ticks(1), order: u64::from(process_id) };
            let (phase, name) = (Phase::DcStart, "a.dll".into());
            At { moment, value: AddressRecord::Image { phase, process_id, base: 0x1000, size: 0x1000, name } }
        };
        let (mut recent, mut spaces) = (RecentNames::default(), AddressSpaces::new(&[4, 8, 12].map(image)));
        spaces.go_to(Ticks(1));
        recent.make_room(300);
        let list = (PathId::of(7).unwrap(), true);
        assert_eq!(recent.known_mark(4, &spaces), None);
        let first = recent.mark(4, &spaces);
        assert_eq!([4, 8].map(|id| recent.known_mark(id, &spaces)), [Some(first), None]);
        recent.put_list(first, list, true, PathId::of(9).unwrap());
        recent.put_frame(first, (0, false), 0);
        assert_eq!((recent.mark(4, &spaces), recent.mark(8, &spaces)), (first, Mark(1)));
        assert_eq!((recent.list(first, list, true), recent.list(Mark(1), list, true)), (PathId::of(9), None));
        assert_eq!((recent.frame(first, (0, false)), recent.frame(first, (0, true))), (Some(0), None));
        recent.marks.next = u32::MAX >> 1;
        assert_eq!(recent.mark(12, &spaces), Mark(0));
        assert_eq!((recent.list(Mark(0), list, true), recent.frame(Mark(0), (0, false))), (None, None));
        assert_eq!(recent.mark(4, &spaces), Mark(1));
        // Where nothing is known to lie, all have the same names.
        assert_eq!([16, 20].map(|id| recent.mark(id, &spaces)), [Mark(2); 2]);
        // Another process at the place of the first one, and one that was not asked for.
        recent.mark(4 + 4 * RECENT as u32, &spaces);
        assert_eq!([4, 24].map(|id| recent.known_mark(id, &spaces)), [Some(Mark(1)), Some(Mark(2))]);
        let outer = PathId::of(200).unwrap();
        recent.put_last(outer, list.0);
        assert_eq!((recent.last(outer), recent.last(list.0)), (Some(list.0), None));
    }
}
