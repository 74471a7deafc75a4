//! The answer of `pfnset memory`. Wire format: docs/json.md, schema `pfnset.memory`.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::counters::{CounterSummary, MemorySample};
use crate::analysis::memory::query::MemoryDimension;
use crate::analysis::memory::shown_rows::MemoryView;
use crate::analysis::memory::timeline::MemoryTimeline;
use crate::analysis::memory::timeline_samples::UnlikeSamples;
use crate::analysis::memory::working_sets::MemoryTrack;
use crate::analysis::table::{Dimension as _, Line, Table, Value};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, Unit};
use crate::answer::text_block::Block;
use crate::event::memory_counters::WorkingSetSizes;
use crate::moment::{At, Moment};
use crate::units::{PAGE_BYTES, counted};

/// The schema of its JSON, and the version.
pub(crate) const SCHEMA: (&str, u32) = ("pfnset.memory", 2);

/// The answer of `pfnset memory`.
pub fn answer(set: &MemorySet, view: MemoryView, unit: Unit) -> Answer<'_> {
    // One unit suits all tables.
    let unit = unit.for_largest(set.largest_bytes());
    let title = |unit: Option<Unit>| title(set, unit);
    let is_first_screen = set.group_by.is_none() && set.timeline.is_none();
    Answer {
        warnings: set.warnings.clone(),
        facts: facts(set),
        notes: notes(set),
        screen: Some(screen(set, view, &title(Some(unit)), unit, SCREEN)),
        // A document has room for all tables, and shows what was chosen as the screen does.
        document: is_first_screen.then(|| screen(set, view, &title(Some(unit)), unit, usize::MAX)),
        // Headings of rows tell the unit, which beside other traces is one for all; those of a timeline do not.
        tables: vec![set.table(view).titled(title(set.timeline.as_ref().map(|_| unit))).into()],
        units: Units { size: unit, ..Units::default() },
        schema: SCHEMA,
        ..Answer::default()
    }
    .chosen_by(&set.filter)
}

/// Lines of the first screen, without one for the prompt.
const SCREEN: usize = 24;
/// Lines of its title in 80 columns.
const TITLE: usize = 2;

/// A part of the first screen: a table, or the same in a line.
struct Part {
    table: Table,
    line: Block,
}

/// A table below an empty line.
fn below(table: Table) -> [Block; 2] {
    [Block::Blank, Block::Table(table)]
}

/// Lines of a table below an empty one, with its heading and what is said of columns that are left out.
fn height_of(table: &Table) -> usize {
    4 + table.lines.len() + table.lines.iter().filter(|line| line.ruled).count()
}

/// `Standby at the end by priority 0: 11.63, 1: 28.38, …; repurposed 16,231 pages, at most 7,664/s between two samples`.
fn standby_line(set: &MemorySet, unit: Unit) -> Block {
    let sizes = set.summaries.iter().filter_map(|summary| {
        let bytes = summary.end.saturating_mul(PAGE_BYTES);
        Some(format!("{}: {}", summary.column.priority?, unit.show(bytes)))
    });
    let all = set.repurposed.iter().find(|of| of.priority.is_none() && of.pages > 0);
    let repurposed = all.map_or_else(String::new, |all| {
        let most = all.most.map_or(0.0, |(rate, _)| rate).round() as u64;
        format!(
            "; repurposed {} pages, at most {}/s between two samples",
            numbers::count(all.pages),
            numbers::count(most)
        )
    });
    let sizes = sizes.collect::<Vec<_>>().join(", ");
    Block::Text(format!("Standby at the end by priority {sizes}{repurposed}"))
}

/// `Largest working sets: lsass.exe (780) 12.50, …, 19 more`: the first of a table by process, with one of its sizes.
fn in_line(what: &str, size: usize, table: &Table, unit: Unit) -> Block {
    let row = |line: &Line| match (line.cells.first(), line.cells.get(size)) {
        (Some(Value::Text(label)), Some(Value::Size(bytes))) => {
            Some(format!("{label} {}", unit.show(bytes.unsigned_abs())))
        }
        _ => None,
    };
    let rows: Vec<String> = table.lines.iter().filter_map(row).collect();
    let hidden = |line: &Line| if let Some(Value::More(number, _)) = line.cells.first() { *number } else { 0 };
    let hidden: u64 = table.lines.iter().map(hidden).sum();
    let text = |shown: usize| {
        let rest = hidden + rows.len().saturating_sub(shown) as u64;
        let rest = (rest > 0).then(|| format!("{} more", numbers::count(rest)));
        let parts: Vec<String> = rows.iter().take(shown).cloned().chain(rest).collect();
        format!("{what}: {}", parts.join(", "))
    };
    Block::Fitting((1..=rows.len().max(1)).rev().map(text).collect())
}

/// `13 samples from 0.000 s to 6.000 s; 22 processes; physical memory 16.00 GiB; sizes in MiB`.
fn title(set: &MemorySet, unit: Option<Unit>) -> String {
    let samples = match set.sample_times() {
        ([time], _) => format!("1 sample at {:.3} s", time.seconds()),
        ([first, .., last], _) if first == last => format!("1 sample at {:.3} s", first.seconds()),
        (times @ [first, .., last], _) => format!(
            "{} from {:.3} s to {:.3} s",
            counted(times.len() as u64, "sample", "samples"),
            first.seconds(),
            last.seconds()
        ),
        ([], what) => format!("No samples of {what} in the window"),
    };
    let (of_counters, of_processes) = chosen(set);
    if !of_counters && set.timeline.is_none() && set.group_by.is_none() {
        return title_of_processes(set, unit);
    }
    let physical = match set.physical {
        Some((pages, _)) => format!("physical memory {}", numbers::bytes(pages.saturating_mul(4096))),
        None => "physical memory is unknown, and so is what is in use".to_owned(),
    };
    let sessions = set.sessions.len() as u64;
    let processes = match set.processes.len() as u64 {
        _ if set.group_by == Some(MemoryDimension::Session) => {
            let whose = if sessions == 1 { "its processes" } else { "their processes" };
            format!("; own space of {}, not the sum of {whose}", counted(sessions, "session", "sessions"))
        }
        0 => String::new(),
        _ if !of_processes => String::new(),
        processes => format!("; {}", counted(processes, "process", "processes")),
    };
    let what = match (&set.timeline, set.group_by) {
        (Some(MemoryTimeline::WorkingSets(_)), _) => ("", "working sets"),
        // Without a unit it stands above counters alone, where nothing is said of repurposed pages.
        (None, None) if set.samples.len() > 1 && unit.is_some() => ("repurposed in pages", "sizes"),
        _ => ("", "sizes"),
    };
    let what = [Some(what.0.to_owned()), unit.map(|unit| format!("{} in {}", what.1, unit.name()))];
    let what: Vec<String> = what.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let what = if what.is_empty() { String::new() } else { format!("; {}", what.join(", ")) };
    format!("{samples}{processes}; {physical}{what}")
}

/// `1 process, 13 samples of working sets from 0.000 s to 6.000 s; sizes in MiB`: where conditions choose no counters.
fn title_of_processes(set: &MemorySet, unit: Option<Unit>) -> String {
    let first = set.processes.iter().map(|track| track.first.moment).min();
    let last = set.processes.iter().map(|track| track.last.moment).max();
    let span = first.zip(last).map_or_else(String::new, |(first, last)| {
        let [first, last] = [first, last].map(|moment| set.time(moment).seconds());
        format!(" from {first:.3} s to {last:.3} s")
    });
    let processes = counted(set.processes.len() as u64, "process", "processes");
    let samples = counted(set.processes.iter().map(|track| track.count).sum(), "sample", "samples");
    let unit = unit.map_or_else(String::new, |unit| format!("; sizes in {}", unit.name()));
    format!("{processes}, {samples} of working sets{span}{unit}")
}

/// What is to be said of the rows: without others asked for, those of counters.
fn notes(set: &MemorySet) -> Vec<String> {
    if set.group_by.is_none() && set.timeline.is_none() {
        return of_commit(set).into_iter().collect();
    }
    let more = set.smaller_tracks() as u64;
    let smaller = (more > 0).then(|| format!("{} smaller are not shown: --format csv has all", numbers::count(more)));
    smaller.into_iter().chain(of_steps(set)).collect()
}

/// What rows at other times than their samples are; `None` where each row is a sample, and each sample a row.
fn of_steps(set: &MemorySet) -> Option<String> {
    let UnlikeSamples { repeating, in_no_row } = set.unlike_samples();
    let is_in_steps = set.timeline.as_ref().is_some_and(MemoryTimeline::is_in_steps);
    let repeats = |rows| format!("{} the sample above", counted(rows, "row repeats", "rows repeat"));
    let missing = |samples| match set.timeline {
        Some(MemoryTimeline::WorkingSets(_)) => {
            format!("{} in no row", counted(samples, "sample of a working set is", "samples of working sets are"))
        }
        _ => format!("{} in no row", counted(samples, "sample is", "samples are")),
    };
    let parts = [(repeating > 0).then(|| repeats(repeating)), (in_no_row > 0).then(|| missing(in_no_row))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let rule = "Each row is the latest sample at or before its time";
    match parts.is_empty() {
        false => Some(format!("{rule}: {}; --timeline all has each sample", parts.join(", "))),
        true => is_in_steps.then(|| format!("{rule}; --timeline all has the samples")),
    }
}

/// What the conditions choose: counters, and working sets. What they do not choose is left out beside it.
fn chosen(set: &MemorySet) -> (bool, bool) {
    let names = |dimensions: [MemoryDimension; 2]| {
        set.filter.is_empty()
            || set.filter.iter().any(|(name, _)| dimensions.iter().any(|dimension| dimension.name() == *name))
    };
    (
        names([MemoryDimension::List, MemoryDimension::Priority]),
        names([MemoryDimension::Process, MemoryDimension::Session]),
    )
}

/// In which samples counters are that records of older Windows lack; `None`: in all.
fn of_commit(set: &MemorySet) -> Option<String> {
    let is_short = |sample: &MemorySample| sample.counters.commit.is_none();
    if !set.samples.is_empty() && set.samples.iter().all(is_short) {
        return Some("Not in records of this form: pools, MDL, system commit".to_owned());
    }
    let all = set.samples.len() as u64;
    let of_commit = set.summaries.iter().find(|summary| summary.column.name == "commit");
    let some = of_commit.map(|summary| summary.samples).filter(|samples| *samples < all)?;
    let (some, all) = (numbers::count(some), numbers::count(all));
    Some(format!("Pools, MDL and system commit are in {some} of {all} samples: their numbers are of these."))
}

/// What is to be said of the counters and of standby.
fn of_counters(set: &MemorySet) -> Vec<String> {
    let nothing = set.nothing_repurposed().then(|| "No page was repurposed from standby.".to_owned());
    of_commit(set).into_iter().chain(nothing).collect()
}

/// What is seen, with so many lines at most: what has no room as a table is told in a line.
fn screen(set: &MemorySet, view: MemoryView, title: &str, unit: Unit, most: usize) -> Vec<Block> {
    let (has_counters, of_processes) = chosen(set);
    let mut screen = vec![Block::Heading(title.to_owned())];
    if set.group_by.is_some() || set.timeline.is_some() {
        screen.extend([Block::Blank, Block::Rows(0)]);
        screen.extend(notes(set).into_iter().map(Block::Text));
        return screen;
    }
    let is_machine = |summary: &CounterSummary| summary.column.priority.is_none();
    let counters = Some(set.counter_table(is_machine)).filter(|table| has_counters && !table.lines.is_empty());
    let mut height = TITLE + usize::from(!set.filter.is_empty()) + counters.as_ref().map_or(0, height_of);
    screen.extend(counters.into_iter().flat_map(below));
    let notes = if has_counters { of_counters(set) } else { Vec::new() };
    let notes_count = notes.len();
    height += notes_count + 1;
    let parts = [
        set.standby_table().filter(|_| has_counters).map(|table| Part { line: standby_line(set, unit), table }),
        set.largest_table(view)
            .filter(|_| of_processes)
            .map(|table| Part { line: in_line("Largest working sets", 3, &table, unit), table }),
        set.growth_table(view)
            .filter(|_| of_processes)
            .map(|table| Part { line: in_line("Fastest growing, a second", 1, &table, unit), table }),
    ];
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    let most = if view.top.is_some() { usize::MAX } else { most };
    // What has no room is told in lines, the last part first.
    let fits = |tables: &usize| {
        let (tables, lines) = parts.split_at(*tables);
        height + tables.iter().map(|part| height_of(&part.table)).sum::<usize>() + 2 * lines.len() < most
    };
    let tables = (0..=parts.len()).rev().find(fits).unwrap_or(0);
    let mut lines: Vec<Block> = notes.into_iter().map(Block::Line).collect();
    for (number, part) in parts.into_iter().enumerate() {
        match number < tables {
            true => screen.extend(below(part.table)),
            false => lines.push(part.line),
        }
    }
    if !lines.is_empty() {
        screen.push(Block::Blank);
    }
    let has_lines = lines.len() > notes_count;
    screen.extend(lines);
    if has_lines {
        screen.push(Block::Line(match set.processes.is_empty() {
            true => "All of it: --group-by priority".to_owned(),
            false => "All of it: --group-by priority, --group-by process [--sort growth]".to_owned(),
        }));
    }
    screen
}

/// The object. Lists are written from the analysis, one sample after the other.
fn facts(set: &MemorySet) -> Facts<'_> {
    let is_timeline = set.timeline.is_some();
    let summary = Facts::default()
        .has("counters", Fact::table(|| set.counter_table(|_| true)))
        .has("repurposed", Fact::table(|| set.repurposed_records()));
    let rows = match set.group_by.is_some() && !is_timeline {
        true => Fact::Rows(0),
        false => Fact::table(Table::default),
    };
    let facts = Facts::of_trace()
        .filter(&set.filter)
        .is("physical_pages", set.physical.map(|(pages, _)| pages))
        .is("physical_source", set.physical.map(|(_, source)| source.name()))
        .has("summary", Fact::Object(summary))
        .has("samples", Fact::records(SAMPLE, || set.samples.iter().map(sample)))
        .has("working_sets", Fact::list(|| set.processes.iter().map(|track| working_sets(set, track))))
        .has("sessions", sessions(set))
        .is("group_by", set.group_by.map(MemoryDimension::name))
        .has("rows", rows);
    if is_timeline { facts.has("timeline", Fact::Rows(0)) } else { facts }
}

/// Fields of a sample of counters.
const SAMPLE: [&str; 14] = [
    "time_s",
    "in_use_pages",
    "zero_pages",
    "free_pages",
    "modified_pages",
    "modified_no_write_pages",
    "bad_pages",
    "standby_pages",
    "repurposed_pages",
    "modified_pagefile_pages",
    "paged_pool_commit_pages",
    "non_paged_pool_pages",
    "mdl_pages",
    "commit_pages",
];

fn sample(sample: &MemorySample) -> Vec<Value> {
    let (counters, commit) = (&sample.counters, sample.counters.commit);
    let of_commit = |pages: Option<u64>| Value::maybe(pages, Value::Number);
    vec![
        Value::ExactSeconds(sample.time),
        Value::maybe(sample.in_use, Value::Number),
        Value::Number(counters.zero),
        Value::Number(counters.free),
        Value::Number(counters.modified),
        Value::Number(counters.modified_no_write),
        Value::Number(counters.bad),
        Value::Numbers(counters.standby.to_vec()),
        Value::Numbers(counters.repurposed.to_vec()),
        Value::Number(counters.modified_pagefile),
        of_commit(commit.map(|commit| commit.paged_pool_pages)),
        of_commit(commit.map(|commit| commit.non_paged_pool_pages)),
        of_commit(commit.map(|commit| commit.mdl_pages)),
        of_commit(commit.map(|commit| commit.commit_pages)),
    ]
}

/// The working sets of a process.
fn working_sets<'a>(set: &'a MemorySet, track: &'a MemoryTrack) -> Fact<'a> {
    let samples = Fact::records(WORKING_SET, move || track.samples.iter().map(|sample| working_set(set, sample)));
    Fact::Object(Facts::default().is("process", track.label.as_str()).has("samples", samples))
}

/// Fields of a sample of a working set.
const WORKING_SET: [&str; 9] = [
    "time_s",
    "working_set_pages",
    "commit_pages",
    "virtual_size_pages",
    "private_working_set_pages",
    "store_pages",
    "stored_pages",
    "commit_debt_pages",
    "shared_commit_pages",
];

fn working_set(set: &MemorySet, sample: &At<WorkingSetSizes>) -> Vec<Value> {
    let (sizes, store) = (&sample.value, sample.value.store);
    let of_store = |pages: Option<u64>| Value::maybe(pages, Value::Number);
    vec![
        Value::ExactSeconds(set.time(sample.moment)),
        Value::Number(sizes.working_set_pages),
        Value::Number(sizes.commit_pages),
        Value::Number(sizes.virtual_or_paged_pool_pages),
        Value::Number(sizes.private_working_set_pages),
        of_store(store.map(|store| store.store_size_pages)),
        of_store(store.map(|store| store.stored_pages)),
        of_store(store.map(|store| store.commit_debt_pages)),
        of_store(store.map(|store| store.shared_commit_pages)),
    ]
}

/// The sessions at each moment at which they were recorded.
fn sessions(set: &MemorySet) -> Fact<'_> {
    const SESSION: [&str; 5] =
        ["session", "working_set_pages", "commit_pages", "paged_pool_pages", "private_working_set_pages"];
    let session = |sizes: &WorkingSetSizes| {
        vec![
            Value::Number(sizes.id.into()),
            Value::Number(sizes.working_set_pages),
            Value::Number(sizes.commit_pages),
            Value::Number(sizes.virtual_or_paged_pool_pages),
            Value::Number(sizes.private_working_set_pages),
        ]
    };
    let at = move |(moment, list): (Moment, Vec<WorkingSetSizes>)| {
        let sessions = Fact::records(SESSION, move || list.iter().map(session).collect::<Vec<_>>());
        Fact::Object(Facts::default().is("time_s", set.time(moment).seconds()).has("sessions", sessions))
    };
    Fact::list(move || set.session_records().into_iter().map(at))
}
