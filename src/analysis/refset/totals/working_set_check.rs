//! The reference set proved a second time: what the replay holds for each process against the working set that Windows
//! logs of it from time to time (MemInfoWS, `0x027d`).

use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::Nanos;
use std::cmp::Reverse;

/// How many of the largest differences are kept.
pub const MOST_DIFFERENCES: usize = 100;

/// One comparison in which the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// When Windows logged it.
    pub moment: Moment,
    /// Whose working set.
    pub owner: OwnerId,
    /// Pages by Windows.
    pub recorded: u64,
    /// Pages by the replay.
    pub tracked: u64,
}

/// All comparisons of one shard.
#[derive(Debug, Default)]
pub struct Comparisons {
    compared: u64,
    recorded_pages: u64,
    differing_pages: u64,
    agree: u64,
    /// Differences, the largest among them.
    worst: Vec<Difference>,
}

impl Comparisons {
    /// Compares one working set.
    pub fn compare(&mut self, difference: Difference) {
        let Difference { recorded, tracked, .. } = difference;
        let agree = u64::from(recorded == tracked);
        let differing_pages = recorded.abs_diff(tracked);
        let worst = if agree == 0 { vec![difference] } else { Vec::new() };
        self.append(Comparisons { compared: 1, recorded_pages: recorded, differing_pages, agree, worst });
    }

    /// Adds those of another shard.
    pub fn append(&mut self, mut other: Comparisons) {
        self.compared += other.compared;
        self.recorded_pages = self.recorded_pages.saturating_add(other.recorded_pages);
        self.differing_pages = self.differing_pages.saturating_add(other.differing_pages);
        self.agree += other.agree;
        self.worst.append(&mut other.worst);
        if self.worst.len() >= 16 * MOST_DIFFERENCES {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.worst.sort_by_key(|d| (Reverse(d.recorded.abs_diff(d.tracked)), d.moment, d.owner));
        self.worst.truncate(MOST_DIFFERENCES);
    }

    /// The result, with the number of records and names for owners and moments.
    pub fn finish(
        mut self,
        records: u64,
        process: impl Fn(OwnerId) -> String,
        time: impl Fn(Moment) -> Nanos,
    ) -> MemInfoWsCheck {
        self.shorten();
        let worst = self.worst.iter().map(|d| MemInfoWsDifference {
            process: process(d.owner),
            time: time(d.moment),
            recorded_pages: d.recorded,
            tracked_pages: d.tracked,
        });
        MemInfoWsCheck {
            records,
            compared: self.compared,
            agree: self.agree,
            residue: self.differing_pages as f64 / self.recorded_pages.max(1) as f64,
            worst: worst.collect(),
        }
    }
}

/// The comparison with the working sets that Windows logged in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct MemInfoWsCheck {
    /// Records, each of many processes.
    pub records: u64,
    /// Processes of all records.
    pub compared: u64,
    /// Those of them for which both have the same number of pages.
    pub agree: u64,
    /// Pages by which both differ, relative to those that Windows logged.
    pub residue: f64,
    /// Largest differences, the largest first.
    pub worst: Vec<MemInfoWsDifference>,
}

/// One comparison in which the two differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemInfoWsDifference {
    /// Process.
    pub process: String,
    /// When Windows logged it, since trace start.
    pub time: Nanos,
    /// Pages by Windows.
    pub recorded_pages: u64,
    /// Pages by the replay.
    pub tracked_pages: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::working_set_owner::Owner;
    use crate::units::Ticks;

    #[test]
    fn the_largest_differences_are_kept() {
        let of = |n: u64| Difference {
            moment: Moment { time: Ticks(n as i64), order: 0 },
            owner: OwnerId::new(Owner::UnknownProcess(n as u32 % 7)),
            recorded: 5000,
            tracked: 5000 - n % 3000,
        };
        let mut all = Comparisons::default();
        for part in 0..4 {
            let mut shard = Comparisons::default();
            (0..3000).filter(|n| n % 4 == part).for_each(|n| shard.compare(of(n)));
            all.append(shard);
        }
        let found = all.finish(3, |owner| format!("{:?}", owner.owner()), |moment| Nanos(moment.time.0.into()));
        assert_eq!((found.records, found.compared, found.agree, found.worst.len()), (3, 3000, 1, 100));
        assert_eq!(found.residue, (0..3000).sum::<u64>() as f64 / (3000.0 * 5000.0));
        let differences: Vec<u64> = found.worst.iter().map(|d| d.recorded_pages - d.tracked_pages).collect();
        assert_eq!(differences, (2900..3000).rev().collect::<Vec<_>>());
    }
}
