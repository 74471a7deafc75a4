//! What lies at an address of a process now: images or views, followed in time order.

use crate::analysis::stacks::Lives;
use crate::load::stacks::addresses::AddressRecord;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// What lies where at the current time.
#[derive(Debug)]
pub struct Places {
    lives: Lives,
    /// Time, whether it begins (what ends goes first), and which life.
    changes: Vec<(Ticks, bool, usize)>,
    next: usize,
    spaces: FastMap<u32, BTreeMap<u64, usize>>,
}

impl Places {
    /// Before the first record.
    pub fn new(records: &[At<AddressRecord>]) -> Places {
        let lives = Lives::new(records);
        let mut changes: Vec<(Ticks, bool, usize)> = (lives.lives.iter().enumerate())
            .filter(|(_, life)| life.from < life.until)
            .flat_map(|(index, life)| [(life.from, true, index), (life.until, false, index)])
            .collect();
        changes.sort_unstable();
        Places { lives, changes, next: 0, spaces: FastMap::default() }
    }

    /// Goes on to this time.
    pub fn go_to(&mut self, time: Ticks) {
        while let Some(&(_, begins, index)) = self.changes.get(self.next).filter(|(when, ..)| *when <= time) {
            self.next += 1;
            let Some(life) = self.lives.lives.get(index) else { continue };
            let space = self.spaces.entry(life.process_id).or_default();
            if begins {
                space.insert(life.base, index);
            } else if space.get(&life.base) == Some(&index) {
                space.remove(&life.base);
            }
        }
    }

    /// The number of the record of what lies at an address now.
    pub fn at(&self, process_id: u32, address: u64) -> Option<usize> {
        let (_, index) = self.spaces.get(&process_id)?.range(..=address).next_back()?;
        let life = self.lives.lives.get(*index)?;
        (address < life.end).then_some(life.record as usize)
    }
}
