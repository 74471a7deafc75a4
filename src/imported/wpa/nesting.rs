//! Rows of sums in a table whose groups were opened: `chrome.exe,,120` above `chrome.exe,Image,80` and `chrome.exe,MapFile,40`.
//!
//! An export of closed groups has none. Where both kinds of rows are added up, all memory counts twice. A row of sums has fewer
//! labels than the rows that it adds up, and their amount; what looks like one and has another amount is an error, unless the labels
//! that it lacks can be missing.

use super::columns::{Columns, SNAPSHOT, Says, is_measure};
use super::heading::Unit;
use super::labels::{Key, MOST_KEYS};
use super::rows::{Rows, Sums};
use crate::units::count;
use foldhash::{HashMap as FastMap, HashSet as FastSet};
use std::collections::BTreeMap;

/// Dimensions in which WPA gives each row a label.
const NEVER_EMPTY: [&str; 6] = ["category", "list", "process", super::columns::PROCESS_NAME, "class", SNAPSHOT];

/// The columns with those that groups can be made of beside them as further keys: what is left of the amounts and is no time.
pub(super) fn with_all_groups(columns: &Columns) -> Columns {
    let mut all = columns.clone();
    let is_amount = |says: &Says| matches!(says, Says::Pages | Says::PagesByWpa | Says::Size(..));
    let end = all.says.iter().position(is_amount).unwrap_or(0);
    for at in 0..end {
        let Some(heading) = all.headings.get(at).filter(|_| all.says.get(at) == Some(&Says::Ignored)) else { continue };
        let is_other = matches!(heading.unit, Some(Unit::Time(_) | Unit::Percent | Unit::Size(_)))
            || is_measure(&heading.name)
            || ["time", "address"].iter().any(|word| heading.name.contains(word));
        if !is_other && all.keys.len() < MOST_KEYS {
            let key = Says::Key(all.keys.len());
            all.says.get_mut(at).into_iter().for_each(|says| *says = key);
            all.keys.push(("", at));
        }
    }
    all
}

/// Most combinations of labels that rows lack; WPA's tables have a few dozen.
const MOST_COMBINATIONS: u64 = 4096;
/// How often each row may be added up, and how many additions are never too many.
const MOST_TIMES: u64 = 16;
const LEAST_WORK: u64 = 5_000_000;

/// Which labels a row has: a bit for each key column.
type Mask = u32;

/// A row with what tells it apart.
type Known<'r> = (&'r Key, &'r Sums);

/// Rows that can be sums, beside what lies below them.
#[derive(Debug, Default)]
struct Tally {
    /// Their groups have the amount of the row.
    equal: Vec<Key>,
    /// Groups of another amount: the row has more; the row has less, or there are several of it.
    more: Vec<Key>,
    less: u64,
    /// Groups without such a row.
    alone: u64,
}

struct Nesting<'r> {
    columns: &'r Columns,
    rows: &'r Rows,
    /// The code of the empty label in each key column.
    empty: Vec<Option<u32>>,
    by_mask: BTreeMap<Mask, Vec<Known<'r>>>,
}

/// The keys of rows that are sums of others. The rows are kept apart by all of their labels.
///
/// # Errors
/// A text about rows of which it cannot be told.
pub(super) fn sums_of_groups(columns: &Columns, rows: &Rows) -> Result<FastSet<Key>, String> {
    let empty = rows.labels.iter().map(|labels| labels.iter().position(|label| label.is_empty()).map(|at| at as u32));
    let mut nesting = Nesting { columns, rows, empty: empty.collect(), by_mask: BTreeMap::new() };
    for (key, sums) in &rows.sums {
        nesting.by_mask.entry(nesting.mask(key)).or_default().push((key, sums));
    }
    nesting.refuse_too_much_work()?;
    nesting.refuse_blank_repeats()?;
    let mut found = FastSet::default();
    // The fullest rows first: a row of sums of rows of sums has the amount of what lies below both.
    let mut masks: Vec<Mask> = nesting.by_mask.keys().copied().collect();
    masks.sort_by_key(|mask| (std::cmp::Reverse(mask.count_ones()), *mask));
    for mask in masks {
        let sums = nesting.sums_with(mask, &found)?;
        found.extend(sums);
    }
    Ok(found)
}

impl Nesting<'_> {
    fn mask(&self, key: &Key) -> Mask {
        let has = |(at, empty): (usize, &Option<u32>)| Mask::from(key.get(at).copied() != *empty) << at;
        self.empty.iter().enumerate().map(has).fold(0, |mask, bit| mask | bit)
    }

    /// Bits of the columns in which no row lacks a label by itself.
    fn certain(&self) -> Mask {
        let bit = |(at, (name, _)): (usize, &(&str, usize))| Mask::from(NEVER_EMPTY.contains(name)) << at;
        self.columns.keys.iter().enumerate().map(bit).fold(0, |mask, bit| mask | bit)
    }

    /// Every row is added up once for each combination of labels that it has all of. A table that somebody made can have so many that
    /// this takes minutes.
    fn refuse_too_much_work(&self) -> Result<(), String> {
        let (combinations, rows) = (self.by_mask.len() as u64, self.rows.sums.len() as u64);
        let below = |mask: Mask| self.by_mask.iter().filter(move |(other, _)| *other & mask == mask);
        let work =
            || -> u64 { self.by_mask.keys().flat_map(|mask| below(*mask)).map(|(_, rows)| rows.len() as u64).sum() };
        if combinations <= MOST_COMBINATIONS && work() <= LEAST_WORK.max(rows.saturating_mul(MOST_TIMES)) {
            return Ok(());
        }
        Err(format!(
            "its rows lack labels in {} combinations of columns: which of them are sums of others cannot be told; export the table with \
             all groups closed",
            count(combinations)
        ))
    }

    /// The label is written once and left out in the rows below: of whom those are, only their order would tell.
    fn refuse_blank_repeats(&self) -> Result<(), String> {
        let certain = self.certain();
        let pairs = self.by_mask.keys().flat_map(|one| self.by_mask.keys().map(move |other| (*one, *other)));
        let mut crossed = pairs.filter(|(one, other)| {
            let (lacks, has) = (other & !one, one & !other);
            lacks & certain != 0 && has != 0
        });
        let Some((mask, _)) = crossed.next() else { return Ok(()) };
        let key = self.first_of(self.by_mask.get(&mask).into_iter().flatten().map(|(key, _)| **key));
        Err(format!(
            "{} lacks a label that other rows have, and these lack one that it has: labels of groups seem to be written once and \
             left out below; fill them in, or export the table with all groups closed",
            self.named(key)
        ))
    }

    /// The rows with these labels that are sums of rows with more.
    fn sums_with(&self, mask: Mask, found: &FastSet<Key>) -> Result<Vec<Key>, String> {
        let below = self.by_mask.iter().filter(|(other, _)| *other & mask == mask && **other != mask);
        let mut groups: FastMap<Key, Sums> = FastMap::default();
        for (key, sums) in below.flat_map(|(_, rows)| rows).filter(|(key, _)| !found.contains(*key)) {
            *groups.entry(self.part(key, mask)).or_default() += **sums;
        }
        let mut tally = Tally::default();
        for (key, sums) in self.by_mask.get(&mask).into_iter().flatten() {
            let Some(group) = groups.remove(&self.part(key, mask)) else { continue };
            let (own, others) = (sums.amount, group.amount);
            match () {
                () if sums.count > 1 => tally.less += 1,
                () if own.distance(others) <= own.slack(others) => tally.equal.push(**key),
                () if own > others => tally.more.push(**key),
                () => tally.less += 1,
            }
        }
        tally.alone = groups.len() as u64;
        let all: Mask = self.by_mask.keys().fold(0, |all, mask| all | mask);
        self.judged(tally, self.certain() & all & !mask == 0)
    }

    /// `can_be_empty`: the labels that these rows lack can be missing where nothing is to be said.
    fn judged(&self, tally: Tally, can_be_empty: bool) -> Result<Vec<Key>, String> {
        let Tally { equal, more, less, alone } = tally;
        let others = more.len() as u64 + less;
        let is_nested = others == 0 && (alone == 0 || !can_be_empty);
        // Two rows of the same number of pages are no sum and its part, where most rows are neither.
        let is_flat = can_be_empty && (alone > 0 || less > 0) && (equal.len() as u64) < alone + less;
        match () {
            () if is_nested => Ok(equal),
            () if is_flat => Ok(Vec::new()),
            () => {
                let key = self.first_of(if more.is_empty() { equal.iter() } else { more.iter() }.copied());
                Err(format!(
                    "{} looks like the sum of the rows with more labels, and not all such rows have that sum: what would be counted \
                     twice cannot be told; export the table with all groups closed, or without the columns of the inner groups",
                    self.named(key)
                ))
            }
        }
    }

    fn part(&self, key: &Key, mask: Mask) -> Key {
        let mut part = *key;
        for (at, code) in part.iter_mut().enumerate().take(self.empty.len()) {
            *code = if mask >> at & 1 == 1 { *code } else { 0 };
        }
        part
    }

    fn labels(&self, key: Key) -> Vec<(&str, &str)> {
        let heading = |at: usize| self.columns.headings.get(at).map_or("", |heading| heading.text.as_str());
        let label = |at: usize| Some(&**self.rows.labels.get(at)?.get(*key.get(at)? as usize)?);
        let places = self.columns.keys.iter().enumerate();
        let mut labels: Vec<(usize, &str)> =
            places.map(|(at, (_, column))| (*column, label(at).unwrap_or(""))).collect();
        labels.sort_unstable();
        labels.into_iter().map(|(column, label)| (heading(column), label)).collect()
    }

    /// The first by its labels, whatever the order of reading was.
    fn first_of(&self, keys: impl Iterator<Item = Key>) -> Key {
        keys.min_by(|a, b| self.labels(*a).cmp(&self.labels(*b))).unwrap_or_default()
    }

    fn named(&self, key: Key) -> String {
        let labels = self.labels(key);
        let shown: Vec<String> = labels
            .iter()
            .filter(|(_, label)| !label.is_empty())
            .map(|(heading, label)| format!("{heading} \"{label}\""))
            .collect();
        if shown.is_empty() { "a row".to_owned() } else { format!("the row of {}", shown.join(", ")) }
    }
}
