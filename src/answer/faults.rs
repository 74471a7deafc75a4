//! The answer of `pfnset faults`. Wire format: docs/json.md, schema `pfnset.faults`.

use crate::analysis::faults::{FaultSet, RangeSet};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, TimeUnit};
use crate::answer::text_block::Block;
use crate::trace::analysis_needs::FAULTS;
use crate::trace::trust::warning::Warning;
use crate::units::{Nanos, counted};
use std::collections::BTreeSet;

/// Rows of each table on the first screen, where the user does not say.
const FIRST: usize = 3;
/// The same of files. With it and three kinds of soft faults the screen has 23 lines of 80 columns, so that the prompt fits below.
const FIRST_FILES: usize = 2;

/// Which rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FaultView {
    /// One screen of all.
    #[default]
    Summary,
    /// Hard faults.
    Hard,
    /// Disk requests.
    Disk,
    /// Soft faults.
    Soft,
    /// Ranges of files that were read, beside RAM.
    Ranges,
    /// Those of which a part was read again.
    Again,
    /// What happened in steps of time.
    Timeline,
}

/// The answer of `pfnset faults`; `top` rows of each table for people.
pub fn answer(set: &FaultSet, view: FaultView, top: Option<usize>, time: TimeUnit) -> Answer<'_> {
    let table = match view {
        FaultView::Summary => set.first_table(top.unwrap_or(FIRST)),
        FaultView::Hard => set.hard_table(top),
        FaultView::Disk => set.disk_table(top),
        FaultView::Soft => set.soft_table(top),
        FaultView::Ranges | FaultView::Again => set.range_table(top),
        FaultView::Timeline => set.timeline_table(),
    };
    let title = title(set, view);
    let summary = (view == FaultView::Summary).then(|| summary(set, title.clone(), top, time));
    // Rows of one kind alone were chosen because the others lack a dimension: nothing is missing there.
    let shows_all = matches!(view, FaultView::Summary | FaultView::Timeline);
    let not_counted = set.not_counted.clone().filter(|_| shows_all);
    let not_counted = not_counted.map(|text| Warning::note(FAULTS.name, "records_left_out", text));
    let missing = set.soft.missing.iter().filter(|_| view == FaultView::Soft);
    Answer {
        warnings: set.warnings.iter().chain(missing).cloned().chain(not_counted).collect(),
        facts: facts(set),
        tables: vec![table.titled(title.clone()).into()],
        // The table of files is no part of the rows.
        document: summary.clone(),
        notes: match view {
            FaultView::Summary => vec![hard_line(set, time)],
            FaultView::Ranges | FaultView::Again => vec![range_line(set)],
            _ => Vec::new(),
        },
        screen: match view {
            FaultView::Summary => summary,
            FaultView::Ranges | FaultView::Again => {
                Some(vec![Block::Title(title), Block::Text(range_line(set)), Block::Blank, Block::Rows(0)])
            }
            _ => None,
        },
        units: Units { time, ..Units::default() },
        ..Answer::new("pfnset.faults")
    }
    .chosen_by(&set.filter)
}

fn facts(set: &FaultSet) -> Facts<'_> {
    let hard = Facts::of_values(set.hard_total()).has("rows", Fact::table(|| set.hard_table(None)));
    let disk = Facts::of_values(set.disk_total())
        .is("unfinished", set.unfinished)
        .has("rows", Fact::table(|| set.disk_table(None)));
    let soft = Facts::default()
        .is("events", set.soft_events())
        .is("hard_markers", set.soft.hard_markers)
        .has("rows", Fact::table(|| set.soft_table(None)));
    let facts = Facts::of_trace()
        .doubts(&set.warnings)
        .filter(&set.filter)
        .window(set.window_times, set.window_ticks, &set.window)
        .group_by(&set.dimensions)
        .has("hard", Fact::Object(hard))
        .has("disk", Fact::Object(disk))
        .has("soft", Fact::Object(soft));
    let facts = match &set.ranges {
        Some(ranges) => {
            let key = if ranges.only_again { "again" } else { "ranges" };
            facts.has(key, Fact::Object(range_facts(set, ranges)))
        }
        None => facts,
    };
    match &set.timeline {
        Some(_) => facts.has("timeline", Fact::table(|| set.timeline_table())),
        None => facts,
    }
}

fn range_facts<'s>(set: &'s FaultSet, ranges: &RangeSet) -> Facts<'s> {
    Facts::default()
        .is("snapshot", ranges.snapshot.map(|(index, _)| index))
        .is("snapshot_s", ranges.snapshot.map(|(_, time)| time.seconds()))
        .has("rows", Fact::table(|| set.range_table(None)))
}

/// `12 ranges of 3 files were read again; of their 40 pages RAM holds 16 at snapshot 0, 3.200000 s`.
fn range_line(set: &FaultSet) -> String {
    let Some(ranges) = set.ranges.as_ref().filter(|ranges| !ranges.rows.is_empty()) else {
        let read = if set.ranges.as_ref().is_some_and(|ranges| ranges.only_again) {
            "what another one had read before"
        } else {
            "anything"
        };
        return format!("No hard fault read {read}.");
    };
    let again = if ranges.only_again { " again" } else { "" };
    let files: BTreeSet<&str> = ranges.rows.iter().map(|row| row.file.as_str()).collect();
    let text = format!(
        "{} of {} were read{again}",
        counted(ranges.rows.len() as u64, "range", "ranges"),
        counted(files.len() as u64, "file", "files")
    );
    let Some((index, time)) = ranges.snapshot else { return format!("{text}.") };
    let known = || ranges.rows.iter().filter_map(|row| Some((row.pages.end - row.pages.start, row.in_ram?)));
    let (all, in_ram) = known().fold((0u64, 0u64), |sum, (pages, in_ram)| (sum.0 + pages, sum.1 + in_ram.all()));
    format!(
        "{text}; of their {} RAM holds {} at snapshot {index}, {:.6} s.",
        counted(all, "page", "pages"),
        numbers::count(in_ram),
        time.seconds()
    )
}

/// `Faults and disk from 0.000000 s to 79.553171 s (79.55 s)`.
fn title(set: &FaultSet, view: FaultView) -> String {
    let what = match view {
        FaultView::Summary => "Faults and disk",
        FaultView::Hard => "Hard faults",
        FaultView::Disk => "Disk requests",
        FaultView::Soft => "Soft faults",
        FaultView::Ranges => "What hard faults read",
        FaultView::Again => "What hard faults read again",
        FaultView::Timeline => "Hard faults and disk over time",
    };
    let (from, to) = set.window_times;
    let end = |time: Nanos, mark: &Option<String>| match mark {
        Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
        None => format!("{:.6} s", time.seconds()),
    };
    format!("{what} from {} to {}", end(from, &set.window.from_mark), end(to, &set.window.to_mark))
}

fn summary(set: &FaultSet, title: String, top: Option<usize>, unit: TimeUnit) -> Vec<Block> {
    let first = top.unwrap_or(FIRST);
    let mut blocks = vec![Block::Title(title), Block::Line(hard_line(set, unit))];
    if set.disk.operations > 0 {
        blocks.push(Block::Line(disk_line(set, unit)));
    }
    if set.soft_events() > 0 {
        blocks.push(Block::Line(soft_line(set)));
    }
    if set.hard.events > 0 {
        blocks.extend([Block::Blank, Block::Rows(0)]);
    }
    if !set.by_file.is_empty() {
        blocks.extend([Block::Blank, Block::Table(set.file_table(top.unwrap_or(FIRST_FILES)))]);
    }
    if set.hard.events == 0 && set.disk.operations > 0 {
        blocks.extend([Block::Blank, Block::Table(set.disk_table(Some(first)))]);
    }
    blocks
}

/// All in two sentences: hard faults, disk requests.
pub(crate) fn sentences(set: &FaultSet) -> Vec<String> {
    let unit = TimeUnit::default();
    let of_disk = (set.disk.operations > 0).then(|| disk_line(set, unit));
    std::iter::once(hard_line(set, unit)).chain(of_disk).collect()
}

/// `153 hard faults read 2.1 MiB, 4.0 KiB of it again; threads waited 1.32 s (p95 33 ms, longest 110 ms), ...`.
fn hard_line(set: &FaultSet, unit: TimeUnit) -> String {
    let hard = &set.hard;
    if hard.events == 0 {
        let chosen = if !set.filter.is_empty() { " that meets the conditions of --where" } else { "" };
        return format!("No hard fault{chosen} in the window.");
    }
    let read = format!(
        "{} read {}, {} of it again",
        counted(hard.events, "hard fault", "hard faults"),
        numbers::bytes(hard.bytes),
        numbers::bytes(hard.bytes_again),
    );
    if hard.is_wait_unknown() {
        return format!("{read}; how long threads waited is unknown: no fault has a time that can be true");
    }
    let waits = match hard.waits {
        Some([_, p95, _, longest]) => format!(" (p95 {}, longest {})", unit.show(p95), unit.show(longest)),
        None => String::new(),
    };
    format!(
        "{read}; threads waited {}{waits}, at least one of them during {}",
        unit.show(hard.waited_ns),
        unit.show(hard.blocked_ns),
    )
}

/// `1,231 disk requests, 56 MiB, 1.2 MiB of it read again; the disks worked 1.80 s on them, responses took 20 s; at most 12 open at once on a disk`.
fn disk_line(set: &FaultSet, unit: TimeUnit) -> String {
    let disk = &set.disk;
    let queue = match disk.queue() {
        Some(most) => format!("at most {} open at once on a disk", numbers::count(most)),
        None => "how many were open at once is unknown".to_owned(),
    };
    format!(
        "{}, {}, {} of it read again; the disks worked {} on them, responses took {}; {queue}",
        counted(disk.operations, "disk request", "disk requests"),
        numbers::bytes(disk.bytes),
        numbers::bytes(disk.bytes_again),
        unit.show(disk.service_ns),
        unit.show(disk.response_ns),
    )
}

/// `12,345 soft faults: demand_zero 10,000, transition 2,345`.
fn soft_line(set: &FaultSet) -> String {
    const MOST: usize = 3;
    let all = set.soft_kinds();
    let mut kinds: Vec<String> =
        all.iter().take(MOST).map(|(kind, events)| format!("{kind} {}", numbers::count(*events))).collect();
    kinds.extend((all.len() > MOST).then(|| format!("{} more", all.len() - MOST)));
    format!("{}: {}", counted(set.soft_events(), "soft fault", "soft faults"), kinds.join(", "))
}
