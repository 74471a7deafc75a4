//! The tables of the reference set.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::{Example, MatchCounts, Verification};
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::row_key::RowCount;
use crate::analysis::refset::summary::{HeldSummary, ProcessHeld};
use crate::analysis::refset::totals::process_peaks::ProcessPeak;
use crate::analysis::refset::totals::timeline::{PeakAndAverage, Timeline, TimelineGroup};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Measured, Node, Table, Value};
use crate::dimensions::Label;
use crate::model::category::Category;
use crate::units::Nanos;
use std::borrow::Cow;

/// Most groups that are columns of a timeline for people.
pub const MOST_COLUMNS: usize = 64;

type Counted = Measured<RowCount>;

const PAGES: Counted = Counted::new("pages", "Pages", |m, _| Value::Count(m.pages));
const SIZE: Counted = Counted::new("bytes", "", |m, _| Value::pages(m.pages));
const SHARE: Counted = Counted::shown("Share", |m, all| Value::share(m.pages.unsigned_abs(), all.pages.unsigned_abs()));
const IMPACT_PAGES: Counted = Measured::new("impact_pages", "Charged pages", |m, _| Value::Count(m.impact_pages));
const IMPACT_SIZE: Counted = Measured::new("impact_bytes", "Charged size", |m, _| Value::pages(m.impact_pages));

type OfProcess = Measured<ProcessHeld>;

const PROCESS_PAGES: OfProcess = Measured::shown("Pages", |m, _| Value::Count(m.pages));
const PROCESS_SIZE: OfProcess = Measured::shown("", |m, _| Value::pages(m.pages));
const PROCESS_SHARE: OfProcess =
    Measured::shown("Share", |m, all| Value::share(m.pages.unsigned_abs(), all.pages.unsigned_abs()));
const PEAK: OfProcess = Measured::shown("Peak", |m, _| Value::maybe(m.peak, |peak| Value::count(peak.0)));
const PEAK_TIME: OfProcess = Measured::shown("at s", |m, _| Value::maybe(m.peak, |peak| Value::Seconds(peak.1)));
const AVERAGE: OfProcess = Measured::shown("Average", |m, _| Value::count(m.average.round().max(0.0) as u64));

impl ReferenceSet {
    /// True when rows have a count of physical pages.
    pub fn with_impact(&self) -> bool {
        self.dimensions.contains(&Dimension::Impact)
    }

    /// True when conditions on stacks chose the rows.
    pub fn chooses_stacks(&self) -> bool {
        self.filter.iter().any(|(name, _)| Dimension::parse(name).is_ok_and(Dimension::is_of_stacks))
    }

    /// The rows.
    pub fn table(&self) -> Table {
        let columns = match () {
            () if self.with_impact() => vec![PAGES, SIZE, IMPACT_PAGES, IMPACT_SIZE],
            () if self.is_net => vec![PAGES, SIZE],
            () => vec![PAGES, SIZE, SHARE],
        };
        let all = self.tree.measure;
        let mut table = Table::of_groups(&self.dimensions, &self.rows, &self.tree, &all, &columns)
            .with_total(&self.tree, &all, &columns);
        let rows = self.rows.iter().zip(&mut table.records);
        rows.for_each(|(row, record)| self.stack_texts.complete(&row.labels, record));
        table
    }

    /// Largest categories and processes of what is held at the window's end.
    pub fn summary_tables(&self) -> Vec<Table> {
        let Some(HeldSummary { categories, processes, .. }) = &self.summary else { return Vec::new() };
        let categories = Table::of_tree("Category at stop", categories, &categories.measure, &[PAGES, SIZE, SHARE]);
        let process = [PROCESS_PAGES, PROCESS_SIZE, PROCESS_SHARE];
        let over_time = [PEAK.leaves(2), PEAK_TIME.leaves(1), AVERAGE.leaves(0)];
        let columns = if self.is_selection { process.to_vec() } else { [process, over_time].concat() };
        vec![categories, Table::of_tree("Process at stop", processes, &processes.measure, &columns)]
    }

    /// Processes that held pages in the window, hold none at its end, and are in no line of the summary.
    pub fn gone_and_hidden(&self) -> u64 {
        self.summary.as_ref().map_or(0, |summary| {
            let is_gone = |part: &&Node<ProcessHeld>| part.measure.pages == 0;
            summary.gone.saturating_sub(summary.processes.parts.iter().filter(is_gone).count() as u64)
        })
    }

    /// Processes that held pages in the window.
    pub fn holders(&self) -> u64 {
        self.summary.as_ref().map_or(0, |HeldSummary { processes, .. }| {
            processes.parts.len() as u64 + processes.more.as_ref().map_or(0, |(more, _)| *more)
        })
    }

    /// What each process held, for programs.
    pub fn process_peak_table(&self) -> Table {
        let record = |found: &ProcessPeak| {
            let (pages, time) = found.peak;
            let peak = [Value::count(pages), Value::ExactSeconds(time), Value::Decimal(found.average)];
            std::iter::once(Value::text(&found.process)).chain(peak).collect()
        };
        Table {
            fields: ["process"].into_iter().chain(PeakAndAverage::FIELDS).map(Field::new).collect(),
            records: self.process_peaks.iter().map(record).collect(),
            ..Table::default()
        }
    }

    /// Why pages were accessed, the most frequent reason first.
    pub fn frequent_accesses(&self) -> Vec<(&'static str, u64)> {
        frequent(AccessReason::ALL.map(AccessReason::name).into_iter().zip(self.balance.accesses))
    }

    /// Why pages were released, the most frequent reason first.
    pub fn frequent_releases(&self) -> Vec<(&'static str, u64)> {
        frequent(ReleaseReason::ALL.map(ReleaseReason::name).into_iter().zip(self.balance.releases))
    }
}

fn frequent(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<(&'static str, u64)> {
    let mut list: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    list
}

impl Timeline {
    /// For people the groups with the highest peaks, at most [`MOST_COLUMNS`], in their order; those with low peaks leave
    /// first.
    pub fn table(&self) -> Table {
        let mut shown: Vec<(usize, usize)> = self.by_peak().into_iter().take(MOST_COLUMNS).enumerate().collect();
        shown.sort_unstable_by_key(|(_, number)| *number);
        let shown = || shown.iter().filter_map(|&(rank, number)| Some((rank, self.groups.get(number)?)));
        let groups: Vec<&TimelineGroup> = shown().map(|(_, group)| group).collect();
        let leaves = |rank: usize| Fit::Leaves(u8::try_from(MOST_COLUMNS - rank).unwrap_or(u8::MAX));
        let headings = shown().map(|(rank, group)| Column::number(group.heading()).fit(leaves(rank)));
        let columns: Vec<Vec<u64>> = groups.iter().map(|group| group.pages(self.times.len()).collect()).collect();
        let point = |(number, (time, pages)): (usize, (&Nanos, &u64))| {
            let cells = columns.iter().map(|column| Value::CountIfAny(column.get(number).copied().unwrap_or(0)));
            Line::new([Value::Seconds(*time), Value::count(*pages)].into_iter().chain(cells))
        };
        let extents = || std::iter::once(&self.extent).chain(groups.iter().map(|group| &group.extent));
        let line = |what: &str, value: fn(&PeakAndAverage) -> Value| {
            Line::new(std::iter::once(Value::text(what)).chain(extents().map(value)))
        };
        let last = [
            Line { ruled: true, ..line("Peak", |extent| Value::count(extent.peak)) },
            line("at s", |extent| Value::Seconds(extent.peak_time)),
            line("Average", |extent| Value::count(extent.average.round().max(0.0) as u64)),
        ];
        Table {
            columns: ["Time s", "Pages"].map(Column::number).into_iter().chain(headings).collect(),
            lines: self.times.iter().zip(&self.pages).enumerate().map(point).chain(last).collect(),
            ..Table::default()
        }
        .with_times_apart()
    }

    /// Names of the values of [`Timeline::wide_records`].
    pub fn wide_fields(&self) -> impl Iterator<Item = &'static str> {
        let category = |group: &TimelineGroup| {
            group.labels.first().and_then(Label::number_in_list).and_then(|number| Category::ALL.get(number)).copied()
        };
        let name = move |group| category(group).map(Category::name);
        ["time_s", "pages"].into_iter().chain(self.groups.iter().filter_map(name))
    }

    /// For programs, by category: a record for each point, with a value for each group.
    pub fn wide_records(&self) -> impl Iterator<Item = Vec<Value>> {
        let mut groups: Vec<_> = self.groups.iter().map(|group| group.pages(self.times.len())).collect();
        self.times.iter().zip(&self.pages).map(move |(time, pages)| {
            let cells = groups.iter_mut().map(|group| Value::CountIfAny(group.next().unwrap_or(0)));
            [Value::ExactSeconds(*time), Value::count(*pages)].into_iter().chain(cells).collect()
        })
    }

    /// Names of the values of [`Timeline::long_records`].
    pub fn long_fields(&self) -> impl Iterator<Item = &'static str> {
        ["time_s"].into_iter().chain(self.dimensions.iter().map(|dimension| dimension.name())).chain(["pages"])
    }

    /// For programs, by any dimensions: a record for each group that holds pages at a point.
    pub fn long_records(&self) -> impl Iterator<Item = Vec<Value>> {
        let mut groups: Vec<_> = self.groups.iter().map(|group| (group, group.pages(self.times.len()))).collect();
        self.times.iter().flat_map(move |time| {
            let held = groups.iter_mut().filter_map(|(group, pages)| Some((group, pages.next().filter(|&p| p > 0)?)));
            let record = |(group, pages): (&mut &TimelineGroup, u64)| {
                let labels = group.labels.iter().map(Value::of_label);
                std::iter::once(Value::ExactSeconds(*time)).chain(labels).chain([Value::count(pages)]).collect()
            };
            held.map(record).collect::<Vec<_>>()
        })
    }

    /// The points with their pages, by category also those of each.
    pub fn point_records(&self) -> impl Iterator<Item = Vec<Value>> {
        let by_category = self.is_by_category();
        let name = |group: &TimelineGroup| Cow::<'static, str>::Owned(group.category().to_owned());
        let mut groups: Vec<_> = self.groups.iter().map(|group| (name(group), group.pages(self.times.len()))).collect();
        self.times.iter().zip(&self.pages).map(move |(time, pages)| {
            let now = groups.iter_mut().map(|(name, pages)| (name.clone(), Value::count(pages.next().unwrap_or(0))));
            let now = if by_category { Value::Object(now.collect()) } else { Value::Absent };
            vec![Value::ExactSeconds(*time), Value::count(*pages), now]
        })
    }

    /// The groups, each with its pages at all points.
    pub fn group_records(&self) -> impl Iterator<Item = Vec<Value>> {
        self.groups.iter().map(|group| {
            let labels = group.labels.iter().map(Value::of_label);
            let pages = Value::Numbers(group.pages(self.times.len()).collect());
            labels.chain(group.extent.values()).chain([pages]).collect()
        })
    }

    /// How many groups are no columns of the table for people.
    pub fn columns_left_out(&self) -> usize {
        self.groups.len().saturating_sub(MOST_COLUMNS)
    }
}

impl PeakAndAverage {
    /// Names of [`PeakAndAverage::values`].
    pub const FIELDS: [&str; 3] = ["peak_pages", "peak_time_s", "average_pages"];

    /// For programs.
    pub fn values(&self) -> [Value; 3] {
        [Value::count(self.peak), Value::ExactSeconds(self.peak_time), Value::Decimal(self.average)]
    }
}

impl TimelineGroup {
    /// The category, where groups are categories.
    pub fn category(&self) -> &str {
        self.labels.first().map_or("", Label::as_str)
    }

    /// Its labels above a column of numbers, cut at the left: paths and ids differ at their end.
    fn heading(&self) -> String {
        const MOST: usize = 26;
        let whole = self.labels.iter().map(Label::shown).collect::<Vec<_>>().join(" / ");
        match whole.chars().count().checked_sub(MOST) {
            None | Some(0) => whole,
            Some(excess) => format!("…{}", whole.chars().skip(excess + 1).collect::<String>()),
        }
    }
}

const AGREEMENT: [Measured<MatchCounts>; 3] = [
    Measured::new("matched", "Match", |counts, _| Value::CountIfAny(counts.matched)),
    Measured::new("only_tracked", "Only tracked", |counts, _| Value::CountIfAny(counts.only_tracked)),
    Measured::new("only_final", "Only in final state", |counts, _| Value::CountIfAny(counts.only_final)),
];

impl Verification {
    /// All uses with the pages that agree.
    pub fn use_table(&self) -> Table {
        self.agreement_table(("use", "Use"), self.by_use.iter().map(|(page_use, counts)| (page_use.name(), counts)))
    }

    /// All processes with the pages that agree.
    pub fn process_table(&self) -> Table {
        self.agreement_table(
            ("process", "Process"),
            self.by_process.iter().map(|(name, counts)| (name.as_str(), counts)),
        )
    }

    /// For people only those that disagree.
    pub fn disagreeing_table(&self) -> Table {
        let disagree = |(_, a): &(&String, &MatchCounts)| a.only_tracked + a.only_final > 0;
        let processes = self.by_process.iter().filter(disagree);
        self.agreement_table(("process", "Process"), processes.map(|(name, counts)| (name.as_str(), counts)))
    }

    fn agreement_table<'a>(
        &self,
        (name, title): (&'static str, &'static str),
        rows: impl Iterator<Item = (&'a str, &'a MatchCounts)> + Clone,
    ) -> Table {
        let values = |name: &str, counts: &MatchCounts| -> Vec<Value> {
            std::iter::once(Value::text(name)).chain(Measured::record(&AGREEMENT, counts, &self.all)).collect()
        };
        let records: Vec<Vec<Value>> = rows.map(|(name, counts)| values(name, counts)).collect();
        Table {
            title: None,
            fields: [Field::new(name)].into_iter().chain(Measured::fields(&AGREEMENT)).collect(),
            columns: [Column::text(title)].into_iter().chain(Measured::columns(&AGREEMENT)).collect(),
            lines: records.iter().cloned().map(Line::new).collect(),
            records,
        }
    }

    /// What agrees, by use and by process, for programs; for people the sum alone.
    pub fn table(&self) -> Table {
        let by = |name: &'static str, table: Table| {
            table.records.into_iter().map(move |record| std::iter::once(Value::text(name)).chain(record).collect())
        };
        let sum = Measured::cells(&AGREEMENT, &self.all, &self.all).chain([Value::Share(self.residue() * 100.0)]);
        let residue = Column::number("Residue");
        Table {
            title: None,
            fields: ["by", "name"].into_iter().map(Field::new).chain(Measured::fields(&AGREEMENT)).collect(),
            records: by("use", self.use_table()).chain(by("process", self.process_table())).collect(),
            columns: [Column::text("")].into_iter().chain(Measured::columns(&AGREEMENT)).chain([residue]).collect(),
            lines: vec![Line { ruled: true, ..Line::new(std::iter::once(Value::text("Total")).chain(sum)) }],
        }
    }

    /// Pages that disagree.
    pub fn examples_table(&self) -> Table {
        let values = |example: &Example| {
            let only = Value::text(if example.only_tracked { "tracked" } else { "final" });
            let (process, page_use) = (Value::text(&example.process), Value::text(example.page_use.name()));
            [only, process, page_use, Value::Hex(example.pfn), Value::Hex(example.address)]
        };
        // For people the process comes last.
        let shown = |[only, process, page_use, pfn, address]: [Value; 5]| [only, page_use, pfn, address, process];
        let [pfn, address] = ["PFN", "Address"].map(Column::number);
        Table {
            title: Some("Examples of what disagrees".into()),
            fields: ["only", "process", "use", "pfn", "address"].map(Field::new).to_vec(),
            records: self.examples.iter().map(|example| values(example).to_vec()).collect(),
            columns: vec![Column::text("Only"), Column::text("Use"), pfn, address, Column::text("Process")],
            lines: self.examples.iter().map(|example| Line::new(shown(values(example)))).collect(),
        }
    }

    /// Pages that disagree and are not among the examples.
    pub fn more_examples(&self) -> u64 {
        (self.all.only_tracked + self.all.only_final).saturating_sub(self.examples.len() as u64)
    }
}
