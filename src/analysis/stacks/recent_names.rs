//! The names of lists of frames that were asked for last: stacks come again, and share their outer frames.

use crate::load::stacks::frame_trie::PathId;

/// Most places; those who meet at one push each other out.
const MOST: usize = 1 << 18;

/// What is asked for: the names of a list of addresses in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The process.
    pub process_id: u32,
    /// The list.
    pub list: PathId,
    /// True when its innermost frame is the address that ran, not a return address.
    pub is_exact: bool,
}

/// The last answer at each place, with what it depends on: how often something has changed in the kernel and in the process.
#[derive(Debug, Default)]
pub struct RecentNames {
    /// Whole lists of events, so that their outer frames do not push them out.
    whole: Places,
    outer: Places,
}

#[derive(Debug, Default)]
struct Places(Vec<Option<Known>>);

#[derive(Debug, Clone, Copy)]
struct Known {
    asked: Asked,
    epochs: (u32, u32),
    names: PathId,
}

impl RecentNames {
    /// Makes room for so many lists.
    pub fn make_room(&mut self, lists: usize) {
        if self.whole.0.is_empty() {
            let room = || Places(vec![None; lists.next_power_of_two().clamp(1 << 8, MOST)]);
            (self.whole, self.outer) = (room(), room());
        }
    }

    /// The names of a list, where they are known and nothing has changed; `is_whole` for one that is not asked for as part of another.
    #[inline]
    pub fn get(&self, asked: Asked, is_whole: bool, epochs: (u32, u32)) -> Option<PathId> {
        if is_whole { self.whole.get(asked, epochs) } else { self.outer.get(asked, epochs) }
    }

    /// Notes them.
    #[inline]
    pub fn put(&mut self, asked: Asked, is_whole: bool, epochs: (u32, u32), names: PathId) {
        let places = if is_whole { &mut self.whole } else { &mut self.outer };
        places.put(asked, epochs, names);
    }
}

impl Places {
    fn place(&self, Asked { process_id, list, is_exact }: Asked) -> usize {
        let mixed = (u64::from(list.get()) << 32 | u64::from(process_id ^ u32::from(is_exact) << 31))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 32) as usize & self.0.len().saturating_sub(1)
    }

    #[inline]
    fn get(&self, asked: Asked, epochs: (u32, u32)) -> Option<PathId> {
        let known = self.0.get(self.place(asked))?.as_ref()?;
        (known.asked == asked && known.epochs == epochs).then_some(known.names)
    }

    #[inline]
    fn put(&mut self, asked: Asked, epochs: (u32, u32), names: PathId) {
        let place = self.place(asked);
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Some(Known { asked, epochs, names });
        }
    }
}
