//! What was read, and what more than once: ranges of files, beside what RAM holds of them at a page sequence.

use super::hard_faults::{Hard, is_page_file};
use super::query::RangeQuery;
use super::rows::{HardFigures, Rows};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::dimensions::Label;
use crate::error::Error;
use crate::event::page_identity::{PageIdentity, PageList};
use crate::model::file_names::FileNamesAt;
use crate::model::snapshot::Snapshot;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::{Nanos, PAGE_BYTES};
use foldhash::HashMap as FastMap;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// Ranges of files that hard faults read.
#[derive(Debug)]
pub struct RangeSet {
    /// True where only those are listed of which a part was read again.
    pub only_again: bool,
    /// Number and time of the page sequence; `None` where the trace has none.
    pub snapshot: Option<(usize, Nanos)>,
    /// Ranges: most that was read again first, then the longest waits.
    pub rows: Vec<RangeRow>,
}

/// A range of a file.
#[derive(Debug)]
pub struct RangeRow {
    /// The file.
    pub file: Label,
    /// Its pages.
    pub pages: Range<u64>,
    /// When the first fault of the whole trace in this range ended.
    pub first: Nanos,
    /// When the last counted one ended.
    pub last: Nanos,
    /// Figures of all counted faults in this range.
    pub figures: HardFigures,
    /// What RAM holds of the range; `None` without a page sequence, and of page files, whose content RAM knows by its address only.
    pub in_ram: Option<PagesInRam>,
}

/// Pages in RAM by their list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PagesInRam {
    /// In working sets.
    pub active: u64,
    /// On the standby lists.
    pub standby: u64,
    /// On the modified lists.
    pub modified: u64,
    /// In transition.
    pub transition: u64,
}

impl PagesInRam {
    /// All of them.
    pub const fn all(&self) -> u64 {
        self.active + self.standby + self.modified + self.transition
    }

    fn add(&mut self, list: PageList) {
        match list {
            PageList::Active => self.active += 1,
            PageList::Standby => self.standby += 1,
            PageList::Modified | PageList::ModifiedNoWrite => self.modified += 1,
            PageList::Transition => self.transition += 1,
            PageList::Zero | PageList::Free | PageList::Bad => {}
        }
    }
}

/// Pages of a file that faults read, and when the first of them was read.
type PagesRead = (Range<u64>, Moment);

/// A range and its faults.
type Group<'a> = (&'a PagesRead, Vec<&'a Hard>);

/// Pages of a row, by its number.
type PagesOfRow = (Range<u64>, usize);

/// Pages of files that faults read. Ranges that share a page are one.
#[derive(Debug)]
pub struct ReadRanges {
    /// By file, in order, each with the end of its first fault.
    by_file: FastMap<u32, Vec<PagesRead>>,
}

/// Pages of a fault; none where it read nothing.
fn pages(hard: &Hard) -> Option<Range<u64>> {
    let last = hard.offset.saturating_add(hard.bytes.checked_sub(1)?);
    Some(hard.offset / PAGE_BYTES..last / PAGE_BYTES + 1)
}

impl ReadRanges {
    /// The ranges of all faults of the trace.
    pub fn new(all: &[Hard]) -> ReadRanges {
        let mut by_file: FastMap<u32, Vec<PagesRead>> = FastMap::default();
        for hard in all {
            let read = pages(hard).map(|pages| (pages, hard.end));
            by_file.entry(hard.file).or_default().extend(read);
        }
        for list in by_file.values_mut() {
            list.sort_unstable_by_key(|(pages, _)| pages.start);
            list.dedup_by(|(next, read), (joined, first)| {
                let shares_a_page = next.start < joined.end;
                if shares_a_page {
                    joined.end = joined.end.max(next.end);
                    *first = (*first).min(*read);
                }
                shares_a_page
            });
        }
        ReadRanges { by_file }
    }

    /// The range of a fault.
    fn of(&self, hard: &Hard) -> Option<&PagesRead> {
        let (list, pages) = (self.by_file.get(&hard.file)?, pages(hard)?);
        list.get(list.partition_point(|(range, _)| range.start <= pages.start).checked_sub(1)?)
    }
}

impl RangeSet {
    /// Of the faults that count, which conditions and window chose; `snapshot`: a page sequence by its number.
    pub fn new(
        trace: &Trace,
        counted: &Rows<'_>,
        ranges: &ReadRanges,
        hard: &[Hard],
        (asked, snapshot): (RangeQuery, Option<usize>),
    ) -> RangeSet {
        let mut groups: HashMap<(u32, u64), Group<'_>> = HashMap::new();
        for hard in hard {
            let Some(range) = ranges.of(hard) else { continue };
            groups.entry((hard.file, range.0.start)).or_insert_with(|| (range, Vec::new())).1.push(hard);
        }
        let clock = &trace.etl().clock;
        let row = |((file, _), ((pages, first), group)): (_, Group<'_>)| {
            let last = group.iter().map(|hard| hard.end).max().unwrap_or(*first);
            let row = RangeRow {
                file: counted.path(file),
                pages: pages.clone(),
                first: clock.nanos(first.time),
                last: clock.nanos(last.time),
                figures: counted.of_faults(&group),
                in_ram: None,
            };
            (!asked.only_again || row.figures.bytes_again > 0).then_some((counted.name(file), row))
        };
        let mut rows: Vec<(&str, RangeRow)> = groups.into_iter().filter_map(row).collect();
        let order = |row: &RangeRow| Reverse((row.figures.bytes_again, row.figures.waited_ns));
        rows.sort_unstable_by(|(a, one), (b, other)| {
            (order(one), a, one.pages.start).cmp(&(order(other), b, other.pages.start))
        });
        let at = snapshot.and_then(|index| Some((index, trace.snapshots().get(index)?)));
        if let Some((_, snapshot)) = at {
            count_in_ram(trace, snapshot, &mut rows);
        }
        let rows = rows.into_iter().map(|(_, row)| row).collect();
        RangeSet {
            only_again: asked.only_again,
            snapshot: at.map(|(index, snapshot)| (index, trace.time(snapshot.first.time))),
            rows,
        }
    }
}

/// Counts the pages that RAM holds of each range.
fn count_in_ram(trace: &Trace, snapshot: &Snapshot, rows: &mut [(&str, RangeRow)]) {
    let names = FileNamesAt::new(&trace.files().names, snapshot.first);
    let mut by_name: FastMap<&str, Vec<PagesOfRow>> = FastMap::default();
    for (number, (name, row)) in rows.iter().enumerate().filter(|(_, (name, _))| !is_page_file(name)) {
        by_name.entry(name).or_default().push((row.pages.clone(), number));
    }
    by_name.values_mut().for_each(|list| list.sort_unstable_by_key(|(pages, _)| pages.start));
    let by_number: Vec<Option<&[PagesOfRow]>> =
        names.names.iter().map(|name| by_name.get(name).map(Vec::as_slice)).collect();
    let range_of = |page: &PageIdentity| -> Option<usize> {
        let file = names.index(page.file_key()).filter(|_| page.is_file_backed())?;
        let (list, number) = ((*by_number.get(file as usize)?)?, page.file_offset() / PAGE_BYTES);
        let at = list.partition_point(|(pages, _)| pages.start <= number).checked_sub(1)?;
        list.get(at).filter(|(pages, _)| pages.contains(&number)).map(|(_, row)| *row)
    };
    let parts = snapshot.fold(trace.etl(), FastMap::<usize, PagesInRam>::default, |found, pages| {
        for page in pages {
            if let Some(row) = range_of(page) {
                found.entry(row).or_default().add(page.list());
            }
        }
    });
    let listed: Vec<usize> = by_name.values().flatten().map(|(_, row)| *row).collect();
    for number in listed {
        let sum = |all: PagesInRam, part: &FastMap<usize, PagesInRam>| {
            let own = part.get(&number).copied().unwrap_or_default();
            PagesInRam {
                active: all.active + own.active,
                standby: all.standby + own.standby,
                modified: all.modified + own.modified,
                transition: all.transition + own.transition,
            }
        };
        let in_ram = parts.iter().fold(PagesInRam::default(), sum);
        rows.get_mut(number).into_iter().for_each(|(_, row)| row.in_ram = Some(in_ram));
    }
}

/// The number of the page sequence that is meant; `None` where the last one is meant and the trace has none.
///
/// # Errors
/// A usage error for all of them, and for one that is not there.
pub fn snapshot(trace: &Trace, choice: SnapshotChoice) -> Result<Option<usize>, Error> {
    trace.gather(SnapshotContext::PARTS);
    match choice {
        SnapshotChoice::All => {
            Err(Error::Usage("ranges of files are shown beside RAM at one page sequence".to_owned()))
        }
        SnapshotChoice::Last if trace.snapshots().is_empty() => Ok(None),
        _ => Ok(choice.indices(trace.need_snapshots()?)?.first().copied()),
    }
}
