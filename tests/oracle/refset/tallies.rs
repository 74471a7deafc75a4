//! What each owner holds over time, counted anew after each event: the most, when that was first, and the sum over time.

use std::collections::BTreeMap;

/// Peak, its stamp, pages times ticks.
pub type Tally = (u64, u64, u64);

#[derive(Debug, Default, PartialEq)]
pub struct Tallies {
    now: BTreeMap<String, u64>,
    /// Stamp of the latest event, once the window has begun.
    last: Option<u64>,
    pub all: BTreeMap<String, Tally>,
}

impl Tallies {
    /// The window begins with these pages.
    pub fn begin(&mut self, held: BTreeMap<String, u64>, time: u64) {
        self.all = held.iter().map(|(owner, &pages)| (owner.clone(), (pages, time, 0))).collect();
        (self.now, self.last) = (held, Some(time));
    }

    /// An event inside the window has happened. `older` are owners of pages that were held since that stamp already.
    pub fn after(&mut self, held: BTreeMap<String, u64>, time: u64, older: &[(String, u64)]) {
        self.pass(time);
        for (owner, since) in older {
            self.all.entry(owner.clone()).or_default().2 += time - since;
        }
        for (owner, &pages) in &held {
            let tally = self.all.entry(owner.clone()).or_default();
            if pages > tally.0 {
                (tally.0, tally.1) = (pages, time);
            }
        }
        self.now = held;
    }

    /// Time passes.
    pub fn pass(&mut self, time: u64) {
        let Some(last) = self.last.replace(time) else { return };
        for (owner, pages) in &self.now {
            self.all.entry(owner.clone()).or_default().2 += pages * (time - last);
        }
    }

    /// Those that held anything.
    pub fn finish(mut self) -> BTreeMap<String, Tally> {
        self.all.retain(|_, tally| tally.0 > 0);
        self.all
    }
}
