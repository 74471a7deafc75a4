//! The tables of memory over time.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::counters::{CounterSummary, Repurposed};
use crate::analysis::memory::query::MemoryDimension;
use crate::analysis::memory::shown_rows::{MemoryOrder, MemoryView};
use crate::analysis::memory::working_sets::MemoryTrack;
use crate::analysis::table::group::natural;
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::event::memory_counters::WorkingSetSizes;
use crate::units::{PAGE_BYTES, counted};

/// Rows of the short tables: of the largest processes, and of those that grew most quickly.
const LARGEST: usize = 5;
const FASTEST: usize = 3;

/// What an owner had at the start and at the end; `None`: its process began later, or ended before.
fn ends(track: &MemoryTrack) -> [Option<WorkingSetSizes>; 2] {
    [(track.is_at_start, &track.first), (track.is_at_end, &track.last)]
        .map(|(is_there, end)| is_there.then_some(end.value))
}

/// What an order by one of its samples compares, the largest first.
fn amount(order: MemoryOrder, track: &MemoryTrack) -> i64 {
    let pages = |pages: u64| i64::try_from(pages).unwrap_or(i64::MAX);
    let [_, last] = ends(track);
    let at_end = |of: fn(WorkingSetSizes) -> u64| last.map_or(-1, |last| pages(of(last)));
    match order {
        MemoryOrder::Most => pages(track.most[0]),
        MemoryOrder::End => at_end(|sizes| sizes.working_set_pages),
        MemoryOrder::Private => at_end(|sizes| sizes.private_working_set_pages),
        MemoryOrder::Commit => at_end(|sizes| sizes.commit_pages),
        MemoryOrder::Growth | MemoryOrder::Name => 0,
    }
}

pub(super) fn size(pages: u64) -> Value {
    Value::pages(i64::try_from(pages).unwrap_or(i64::MAX))
}

impl MemorySet {
    /// What was asked for, for the forms with rows.
    pub fn table(&self, view: MemoryView) -> Table {
        let is_of_counters = !matches!(self.group_by, Some(MemoryDimension::Process | MemoryDimension::Session));
        let mut table = self.table_of(view);
        if self.samples.is_empty() && is_of_counters {
            table.lines = vec![Line::across(&self.instead_of_counters())];
        }
        table
    }

    /// What stands where there is no sample of page lists.
    fn instead_of_counters(&self) -> String {
        let processes = counted(self.processes.len() as u64, "process", "processes");
        match self.processes.is_empty() {
            true => "no samples of page lists".to_owned(),
            false => format!("no samples of page lists; rows by process are the working sets of {processes}"),
        }
    }

    fn table_of(&self, view: MemoryView) -> Table {
        match (&self.timeline, self.group_by) {
            (Some(timeline), _) => self.timeline_table(timeline),
            (None, None) => self.counter_table(|_| true),
            (None, Some(MemoryDimension::List)) => self.counter_table(|summary| summary.column.list.is_some()),
            (None, Some(MemoryDimension::Priority)) => {
                let counted = self.counter_table(|summary| summary.column.priority.is_some());
                // People see beside it what was taken from standby.
                match self.standby_table() {
                    Some(Table { columns, lines, .. }) => Table { columns, lines, ..counted },
                    None => counted,
                }
            }
            (None, Some(MemoryDimension::Process)) => self.track_table("process", "Process", &self.processes, view),
            (None, Some(MemoryDimension::Session)) => self.track_table("session", "Session", &self.sessions, view),
        }
    }

    /// The most memory that any of the tables shows, bytes: one unit suits all of them.
    pub fn largest_bytes(&self) -> u64 {
        let counters = self.summaries.iter().map(|summary| summary.most.0);
        let tracks = self.processes.iter().chain(&self.sessions).flat_map(|track| track.most);
        counters.chain(tracks).max().unwrap_or(0).saturating_mul(PAGE_BYTES)
    }

    /// Counters with start, end, least, most, mean, and their course.
    pub fn counter_table(&self, wanted: impl Fn(&CounterSummary) -> bool) -> Table {
        let summaries = || self.summaries.iter().filter(|summary| wanted(summary));
        let line = |summary: &CounterSummary| {
            Line::new([
                Value::text(summary.column.title),
                size(summary.start),
                size(summary.end),
                size(summary.least.0),
                size(summary.most.0),
                size(summary.mean.round() as u64),
                Value::Course(summary.course.clone()),
            ])
        };
        let record = |summary: &CounterSummary| {
            vec![
                Value::text(summary.column.name),
                Value::maybe(summary.column.list, Value::text),
                Value::maybe(summary.column.priority, |priority| Value::Number(priority.into())),
                Value::count(summary.start),
                Value::count(summary.end),
                Value::count(summary.least.0),
                Value::ExactSeconds(summary.least.1),
                Value::count(summary.most.0),
                Value::ExactSeconds(summary.most.1),
                Value::count(summary.mean.round() as u64),
            ]
        };
        const FIELDS: [&str; 10] = [
            "counter",
            "list",
            "priority",
            "start_pages",
            "end_pages",
            "least_pages",
            "least_s",
            "most_pages",
            "most_s",
            "mean_pages",
        ];
        Table {
            title: None,
            fields: FIELDS.map(Field::new).to_vec(),
            records: summaries().map(record).collect(),
            columns: vec![
                Column::text("Counter").with_unit().fit(Fit::Stays),
                Column::number("Start"),
                Column::number("End"),
                Column::number("Least").fit(Fit::Leaves(2)),
                Column::number("Most"),
                Column::number("Mean").fit(Fit::Leaves(0)),
                Column::text("Over time").fit(Fit::Leaves(1)),
            ],
            lines: summaries().map(line).collect(),
        }
    }

    /// Standby by priority, for people: as [`MemorySet::counter_table`], beside it what was taken from it for another use.
    pub fn standby_table(&self) -> Option<Table> {
        let summaries = self.summaries.iter().filter(|summary| summary.column.priority.is_some());
        let repurposed = |priority: Option<u8>| self.repurposed.iter().find(|of| of.priority == priority);
        let taken = |of: Option<&Repurposed>| {
            let most = of.and_then(|of| of.most);
            [
                Value::maybe(of, |of| Value::count(of.pages)),
                Value::maybe(most, |(rate, _)| Value::count(rate.round() as u64)),
                Value::maybe(most, |(_, time)| Value::Seconds(time)),
            ]
        };
        let line = |summary: &CounterSummary| {
            let counted = [summary.start, summary.end, summary.least.0, summary.most.0, summary.mean.round() as u64];
            let title = Value::maybe(summary.column.priority, |priority| Value::text(format!("prio {priority}")));
            let course = Value::Course(summary.course.clone());
            let cells = std::iter::once(title).chain(counted.map(size)).chain([course]);
            Line::new(cells.chain(taken(repurposed(summary.column.priority))))
        };
        let all = repurposed(None).filter(|all| all.pages > 0).map(|all| {
            let blank = std::iter::repeat_n(Value::Nothing, 6);
            let cells = std::iter::once(Value::text("Total")).chain(blank).chain(taken(Some(all)));
            Line { ruled: true, ..Line::new(cells) }
        });
        let mut lines: Vec<Line> = summaries.map(line).collect();
        let all = all.filter(|_| !lines.is_empty());
        lines.extend(all);
        (!lines.is_empty()).then(|| Table {
            columns: vec![
                Column::text("Standby").with_unit().fit(Fit::Stays),
                Column::number("Start"),
                Column::number("End"),
                Column::number("Least").fit(Fit::Leaves(2)),
                Column::number("Most").fit(Fit::Leaves(3)),
                Column::number("Mean").fit(Fit::Leaves(1)),
                Column::text("Over time").fit(Fit::Leaves(4)),
                Column::number("Repurposed/pages"),
                Column::number("Most/s"),
                Column::number("at s").fit(Fit::Spare(0)),
            ],
            lines,
            ..Table::default()
        })
    }

    /// The same for programs: each priority, and the sum.
    pub fn repurposed_records(&self) -> Table {
        let record = |found: &Repurposed| {
            vec![
                Value::maybe(found.priority, |priority| Value::Number(priority.into())),
                Value::count(found.pages),
                Value::maybe(found.most, |(rate, _)| Value::count(rate.round() as u64)),
                Value::maybe(found.most, |(_, time)| Value::ExactSeconds(time)),
            ]
        };
        Table {
            fields: ["priority", "pages", "most_pages_per_s", "most_s"].map(Field::new).to_vec(),
            records: self.repurposed.iter().map(record).collect(),
            ..Table::default()
        }
    }

    /// The processes with the largest working sets.
    pub fn largest_table(&self, view: MemoryView) -> Option<Table> {
        if self.processes.is_empty() {
            return None;
        }
        let view = MemoryView { top: view.top.or(Some(LARGEST)), ..view };
        let mut table = self.track_table("process", "Largest working sets", &self.processes, view);
        // The table by process has all of them.
        for column in &mut table.columns {
            if let Fit::Leaves(order) = column.fit {
                column.fit = Fit::Spare(order);
            }
        }
        Some(table)
    }

    /// The processes whose working sets grew most quickly.
    pub fn growth_table(&self, view: MemoryView) -> Option<Table> {
        let rate = |track: &MemoryTrack| self.growth_per_second(track).filter(|rate| *rate > 0.0);
        let mut growing: Vec<(f64, &MemoryTrack)> =
            self.processes.iter().filter_map(|track| Some((rate(track)?, track))).collect();
        growing.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.label.cmp(&b.1.label)));
        let shown = view.top.unwrap_or(FASTEST).min(growing.len());
        let (listed, rest) = growing.split_at(shown);
        let line = |(rate, track): &(f64, &MemoryTrack)| {
            let [first, last] = [&track.first.value, &track.last.value];
            Line::new([
                Value::text(&track.label),
                size(rate.round() as u64),
                size(first.working_set_pages),
                size(last.working_set_pages),
                size(track.most[0]),
                size(last.private_working_set_pages),
                size(last.commit_pages),
            ])
        };
        let more = (!rest.is_empty()).then(|| {
            let [working_set, private, commit] = sums(rest.iter().map(|(_, track)| *track));
            let rate: f64 = rest.iter().map(|(rate, _)| rate).sum();
            let sums = [rate.round() as u64, working_set[0], working_set[1]].map(size);
            let last = [Value::Nothing, size(private[1]), size(commit[1])];
            Line::new(std::iter::once(Value::More(rest.len() as u64, "more")).chain(sums).chain(last))
        });
        (!growing.is_empty()).then(|| Table {
            columns: vec![
                Column::text("Fastest growing").with_unit(),
                Column::number("Growth/s"),
                Column::number("First"),
                Column::number("Last"),
                Column::number("Most").fit(Fit::Leaves(0)),
                Column::number("Last private").fit(Fit::Leaves(2)),
                Column::number("Last commit").fit(Fit::Leaves(1)),
            ],
            lines: listed.iter().map(line).chain(more).collect(),
            ..Table::default()
        })
    }

    /// Processes or sessions: all for programs, those of the view for people.
    fn track_table(&self, field: &'static str, title: &'static str, tracks: &[MemoryTrack], view: MemoryView) -> Table {
        let mut largest: Vec<&MemoryTrack> = tracks.iter().collect();
        let by_label = |a: &MemoryTrack, b: &MemoryTrack| natural(a.label.shown(), b.label.shown());
        let amount = |track| amount(view.order, track);
        let by_growth = view.order == MemoryOrder::Growth;
        // One with a single sample is below those that shrank: nothing tells whether it grew.
        let rate = |track| self.growth_per_second(track).filter(|_| by_growth).unwrap_or(f64::NEG_INFINITY);
        largest.sort_by(|a, b| {
            amount(b).cmp(&amount(a)).then_with(|| rate(b).total_cmp(&rate(a))).then_with(|| by_label(a, b))
        });
        let (listed, rest) = largest.split_at(view.top.unwrap_or(usize::MAX).min(largest.len()));
        let fields = [
            field,
            "samples",
            "first_s",
            "last_s",
            "working_set_start_pages",
            "working_set_end_pages",
            "working_set_most_pages",
            "private_start_pages",
            "private_end_pages",
            "private_most_pages",
            "commit_start_pages",
            "commit_end_pages",
            "commit_most_pages",
        ];
        let label = |track: &MemoryTrack| Value::of_label(&track.label);
        let record = |track: &MemoryTrack| {
            let start = [
                label(track),
                Value::count(track.count),
                Value::ExactSeconds(self.time(track.first.moment)),
                Value::ExactSeconds(self.time(track.last.moment)),
            ];
            start.into_iter().chain(amounts(track).map(Value::count)).collect()
        };
        let line = |track: &&MemoryTrack| Line::new(std::iter::once(label(track)).chain(amounts_in(track)));
        let more = (!rest.is_empty()).then(|| more_tracks(rest));
        let mut table = Table {
            title: None,
            fields: fields.map(Field::new).to_vec(),
            records: tracks.iter().map(record).collect(),
            columns: track_columns(title),
            lines: listed.iter().map(line).chain(more).collect(),
        };
        if by_growth {
            self.add_growth(&mut table, listed, rest);
        }
        table
    }

    /// What an order by growth compares, behind the labels.
    fn add_growth(&self, table: &mut Table, listed: &[&MemoryTrack], rest: &[&MemoryTrack]) {
        let rate = |track: &&MemoryTrack| self.growth_per_second(track);
        let all: f64 = rest.iter().filter_map(rate).sum();
        let rates = listed.iter().map(rate).chain([Some(all)]);
        table.columns.insert(1, Column::number("Growth/s"));
        for (line, rate) in table.lines.iter_mut().zip(rates) {
            let pages = rate.map(|rate| rate.round() as i64);
            line.cells
                .insert(1, Value::maybe(pages, |pages| Value::SizeDifference(pages.saturating_mul(PAGE_BYTES as i64))));
        }
    }
}

/// The columns of processes or sessions.
fn track_columns(title: &'static str) -> Vec<Column> {
    vec![
        Column::text(title).with_unit(),
        Column::number("Start"),
        Column::number("End"),
        Column::number("Most"),
        Column::number("Private start").fit(Fit::Leaves(0)),
        Column::number("Private end").fit(Fit::Leaves(5)),
        Column::number("Private most").fit(Fit::Leaves(2)),
        Column::number("Commit start").fit(Fit::Leaves(1)),
        Column::number("Commit end").fit(Fit::Leaves(4)),
        Column::number("Commit most").fit(Fit::Leaves(3)),
    ]
}

/// What is counted of an owner: working set, private working set and commit.
const COUNTED: [fn(&WorkingSetSizes) -> u64; 3] =
    [|sizes| sizes.working_set_pages, |sizes| sizes.private_working_set_pages, |sizes| sizes.commit_pages];

/// For people: at the start, at the end and the most; nothing where the owner began later, or ended before.
fn amounts_in(track: &MemoryTrack) -> impl Iterator<Item = Value> {
    let ends = ends(track);
    COUNTED.into_iter().zip(track.most).flat_map(move |(of, most)| {
        let [start, end] = ends.map(|sizes| Value::maybe(sizes.as_ref().map(of), size));
        [start, end, size(most)]
    })
}

/// First, last and most of working set, private working set and commit.
fn amounts(track: &MemoryTrack) -> impl Iterator<Item = u64> {
    let [first, last] = [track.first.value, track.last.value];
    let [working_set, private, commit] = track.most;
    [
        [first.working_set_pages, last.working_set_pages, working_set],
        [first.private_working_set_pages, last.private_working_set_pages, private],
        [first.commit_pages, last.commit_pages, commit],
    ]
    .into_iter()
    .flatten()
}

/// The line of those that are not listed. The most of each was at another time: such a sum never was.
fn more_tracks(rest: &[&MemoryTrack]) -> Line {
    let sums = COUNTED.map(|of| {
        let mut sums = [0_u64; 2];
        for ends in rest.iter().map(|track| ends(track)) {
            let pages = ends.map(|sizes| sizes.as_ref().map_or(0, of));
            sums.iter_mut().zip(pages).for_each(|(sum, pages)| *sum = sum.saturating_add(pages));
        }
        sums
    });
    let cells = sums.into_iter().flat_map(|[start, end]| [size(start), size(end), Value::Nothing]);
    Line::new(std::iter::once(Value::More(rest.len() as u64, "more")).chain(cells))
}

/// Sums of working sets, private working sets and commit: at the start and at the end of each.
fn sums<'t>(tracks: impl Iterator<Item = &'t MemoryTrack>) -> [[u64; 2]; 3] {
    let mut sums = [[0_u64; 2]; 3];
    for track in tracks {
        for (place, sizes) in [track.first.value, track.last.value].into_iter().enumerate() {
            let sizes = [sizes.working_set_pages, sizes.private_working_set_pages, sizes.commit_pages];
            for (sum, pages) in sums.iter_mut().zip(sizes) {
                sum.get_mut(place).into_iter().for_each(|sum| *sum = sum.saturating_add(pages));
            }
        }
    }
    sums
}
