//! What lies at an address of a process now: images and methods, followed in time order.

use super::code_lifetimes::{Life, Lives};
use crate::load::stacks::image_and_method_records::AddressRecord;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// What lies in a process now: indices into the lives, by first address.
#[derive(Debug, Default)]
struct Space {
    images: BTreeMap<u64, u32>,
    methods: BTreeMap<u64, u32>,
    /// Counts changes.
    epoch: u32,
}

/// A change: at its time first what ends, then what begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    time: Ticks,
    begins: bool,
    life: u32,
}

/// What lies in all processes at the current time.
#[derive(Debug)]
pub struct AddressSpaces {
    lives: Vec<Life>,
    changes: Vec<Change>,
    next: usize,
    spaces: FastMap<u32, Space>,
}

impl AddressSpaces {
    /// Before the first record.
    pub fn new(records: &[At<AddressRecord>]) -> AddressSpaces {
        let lives = Lives::new(records).lives;
        let mut changes: Vec<Change> = Vec::new();
        for (number, life) in (0u32..).zip(&lives).filter(|(_, life)| life.from < life.until) {
            changes.push(Change { time: life.from, begins: true, life: number });
            if life.until != Ticks(i64::MAX) {
                changes.push(Change { time: life.until, begins: false, life: number });
            }
        }
        changes.sort_unstable();
        AddressSpaces { lives, changes, next: 0, spaces: FastMap::default() }
    }

    /// All that ever lay anywhere, in the order of its records.
    pub fn lives(&self) -> &[Life] {
        &self.lives
    }

    /// Goes on to this time.
    pub fn go_to(&mut self, time: Ticks) {
        while let Some(change) = self.changes.get(self.next).copied().filter(|change| change.time <= time) {
            self.next += 1;
            let Some(life) = self.lives.get(change.life as usize) else { continue };
            let space = self.spaces.entry(life.process_id).or_default();
            space.epoch = space.epoch.wrapping_add(1);
            let things = if life.is_method { &mut space.methods } else { &mut space.images };
            if change.begins {
                things.insert(life.base, change.life);
            } else if things.get(&life.base) == Some(&change.life) {
                things.remove(&life.base);
            }
        }
    }

    /// True when nothing changes from the current time up to this one.
    #[inline]
    pub fn is_at(&self, time: Ticks) -> bool {
        self.changes.get(self.next).is_none_or(|change| time < change.time)
    }

    /// How often something has changed anywhere.
    pub fn changes(&self) -> usize {
        self.next
    }

    /// A number that changes with what lies in a process.
    pub fn epoch(&self, process_id: u32) -> u32 {
        self.spaces.get(&process_id).map_or(0, |space| space.epoch)
    }

    /// True when nothing is known to lie in a process now.
    pub fn is_empty(&self, process_id: u32) -> bool {
        self.spaces.get(&process_id).is_none_or(|space| space.images.is_empty() && space.methods.is_empty())
    }

    /// The image that holds an address now, with its index into the lives.
    pub fn image(&self, process_id: u32, address: u64) -> Option<(u32, &Life)> {
        self.holder(&self.spaces.get(&process_id)?.images, address)
    }

    /// The method of .NET that holds it.
    pub fn method(&self, process_id: u32, address: u64) -> Option<(u32, &Life)> {
        self.holder(&self.spaces.get(&process_id)?.methods, address)
    }

    fn holder(&self, things: &BTreeMap<u64, u32>, address: u64) -> Option<(u32, &Life)> {
        let (_, &index) = things.range(..=address).next_back()?;
        let life = self.lives.get(index as usize)?;
        (address < life.end).then_some((index, life))
    }
}
