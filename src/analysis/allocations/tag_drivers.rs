//! Drivers of pool tags, by the stacks that allocated with them.

use foldhash::HashSet as FastSet;
use std::collections::BTreeMap;

/// Most drivers that are named for a tag.
const NAMED: usize = 2;

/// Which drivers allocated with which tags.
#[derive(Debug, Default)]
pub struct TagDrivers {
    met: FastSet<(u32, u32)>,
    /// Different stacks by tag and driver.
    stacks: BTreeMap<u32, BTreeMap<String, u64>>,
}

impl TagDrivers {
    /// A stack allocated with this tag; `driver` is asked for once for each stack.
    pub fn note<'d>(&mut self, tag: u32, stack: u32, driver: impl FnOnce() -> Option<&'d str>) {
        if self.met.insert((tag, stack))
            && let Some(driver) = driver()
        {
            *self.stacks.entry(tag).or_default().entry(driver.to_owned()).or_default() += 1;
        }
    }

    /// The drivers of a tag, that with most stacks first.
    pub fn of(&self, tag: u32) -> Option<String> {
        let mut drivers: Vec<(&String, &u64)> = self.stacks.get(&tag)?.iter().collect();
        drivers.sort_by_key(|(_, stacks)| std::cmp::Reverse(**stacks));
        let named: Vec<&str> = drivers.iter().take(NAMED).map(|(driver, _)| driver.as_str()).collect();
        let more = drivers.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        Some(format!("{}{more}", named.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_with_most_stacks_comes_first() {
        let mut drivers = TagDrivers::default();
        let stacks = [(1, 1, "b.sys"), (1, 1, "b.sys"), (1, 2, "c.sys"), (1, 3, "c.sys"), (2, 1, "a.sys")];
        stacks.into_iter().for_each(|(tag, stack, driver)| drivers.note(tag, stack, || Some(driver)));
        drivers.note(3, 9, || None);
        let of = |tag| drivers.of(tag);
        assert_eq!((of(1).as_deref(), of(2).as_deref(), of(3)), (Some("c.sys, b.sys"), Some("a.sys"), None));
        [(4, "d.sys"), (5, "e.sys")].into_iter().for_each(|(stack, driver)| drivers.note(1, stack, || Some(driver)));
        assert_eq!(drivers.of(1).as_deref(), Some("c.sys, b.sys, 2 more"));
    }
}
