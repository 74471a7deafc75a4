//! The tables of the reference set.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::{Example, MatchCounts, Verification};
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::row_key::RowCount;
use crate::analysis::refset::summary::{HeldSummary, ProcessHeld};
use crate::analysis::refset::totals::balance::BalanceLine;
use crate::analysis::refset::totals::timeline::{PeakAndAverage, Timeline, TimelineGroup};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Measured, Node, Table, Value};
use crate::facets::Label;
use crate::model::category::Category;
use crate::units::Nanos;

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

    /// The rows.
    pub fn table(&self) -> Table {
        let columns = match self.with_impact() {
            true => vec![PAGES, SIZE, IMPACT_PAGES, IMPACT_SIZE],
            false => vec![PAGES, SIZE, SHARE],
        };
        let all = self.tree.measure;
        Table::of_groups(&self.dimensions, &self.rows, &self.tree, all, &columns).with_total(&self.tree, all, &columns)
    }

    /// Largest categories and processes of what is held at the window's end.
    pub fn summary_tables(&self) -> Vec<Table> {
        let Some(HeldSummary { categories, processes, .. }) = &self.summary else { return Vec::new() };
        let categories = Table::of_tree("Category at stop", categories, categories.measure, &[PAGES, SIZE, SHARE]);
        let process = [PROCESS_PAGES, PROCESS_SIZE, PROCESS_SHARE];
        let over_time = [PEAK.leaves(2), PEAK_TIME.leaves(1), AVERAGE.leaves(0)];
        let columns = if self.is_selection { process.to_vec() } else { [process, over_time].concat() };
        vec![categories, Table::of_tree("Process at stop", processes, processes.measure, &columns)]
    }

    /// Processes that held pages in the window, hold none at its end, and are in no line of the summary.
    pub fn gone_and_hidden(&self) -> u64 {
        self.summary.as_ref().map_or(0, |summary| {
            let is_gone = |part: &&Node<ProcessHeld>| part.measure.pages == 0;
            summary.gone.saturating_sub(summary.processes.parts.iter().filter(is_gone).count() as u64)
        })
    }

    /// What was held when, and what came and went: each line is added to those above it, up to what is held at
    /// stop. `count` writes a number for people.
    pub fn held_table(&self, count: fn(u64) -> String) -> Table {
        let line = |what: &str, pages: u64, note: &str| {
            Line::new([Value::text(what), Value::count(pages), Value::pages(pages as i64), Value::text(note)])
        };
        let step = |step: &BalanceLine| {
            let (change, size) = (Value::Difference(step.pages), Value::pages(step.pages));
            Line::new([Value::text(step.title), change, size, Value::text(&step.note)])
        };
        let emptied = self.window.resets.contains(&self.window.from);
        let at_start = if emptied { "active as working sets were emptied" } else { "" };
        // Parts are rounded, and what is shown of the whole is their sum.
        let rounded = self.average.by_class.iter().map(|(class, pages)| (class.name(), pages.round().max(0.0) as u64));
        let average = rounded.clone().map(|(_, pages)| pages).sum();
        let by_class = rounded.map(|(class, pages)| format!("{class} {}", count(pages))).collect::<Vec<_>>().join(", ");
        let steps = self.balance.steps(count);
        let steps = steps.iter().filter(|step| step.pages != 0).map(step);
        Table {
            columns: vec![
                Column::text("Held"),
                Column::number("Pages"),
                Column::number("").fit(Fit::Leaves(0)),
                Column::text("").fit(Fit::Wraps),
            ],
            lines: std::iter::once(line("at start", self.held_at_start, at_start))
                .chain(steps)
                .chain([
                    Line { ruled: true, ..line("at stop", self.held_at_stop, "") },
                    line("at the peak", self.peak.0, &format!("at {:.6} s", self.peak.1.seconds())),
                    line("on average", average, &by_class),
                ])
                .collect(),
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
    /// For programs all groups: categories as columns, others as rows of the points at which they hold pages. For people
    /// the groups with the highest peaks, at most [`MOST_COLUMNS`], in their order; those with low peaks leave first.
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
        let (fields, records) = if self.is_by_category() { self.wide() } else { self.long() };
        Table {
            fields,
            records,
            columns: ["Time s", "Pages"].map(Column::number).into_iter().chain(headings).collect(),
            lines: self.times.iter().zip(&self.pages).enumerate().map(point).chain(last).collect(),
            ..Table::default()
        }
    }

    /// The same for all groups with rows for programs, also by category: which categories there are depends on the trace.
    pub fn table_of_rows(&self) -> Table {
        let (fields, records) = self.long();
        Table { fields, records, ..self.table() }
    }

    /// One column for each category.
    fn wide(&self) -> (Vec<Field>, Vec<Vec<Value>>) {
        let category = |group: &TimelineGroup| {
            group.labels.first().and_then(Label::number_in_list).and_then(|number| Category::ALL.get(number)).copied()
        };
        let names = self.groups.iter().filter_map(category).map(Category::name);
        let columns: Vec<Vec<u64>> = self.groups.iter().map(|group| group.pages(self.times.len()).collect()).collect();
        let record = |(number, (time, pages)): (usize, (&Nanos, &u64))| {
            let cells = columns.iter().map(|column| Value::CountIfAny(column.get(number).copied().unwrap_or(0)));
            [Value::ExactSeconds(*time), Value::count(*pages)].into_iter().chain(cells).collect()
        };
        let records = self.times.iter().zip(&self.pages).enumerate().map(record).collect();
        (["time_s", "pages"].into_iter().chain(names).map(Field::new).collect(), records)
    }

    /// One record for each group at each point.
    fn long(&self) -> (Vec<Field>, Vec<Vec<Value>>) {
        let names = self.dimensions.iter().map(|dimension| dimension.name());
        let mut groups: Vec<_> = self.groups.iter().map(|group| (group, group.pages(self.times.len()))).collect();
        let mut records = Vec::new();
        for time in &self.times {
            for (group, pages) in &mut groups {
                let Some(pages) = pages.next().filter(|pages| *pages > 0) else { continue };
                let labels = group.labels.iter().map(Value::of_label);
                let record = std::iter::once(Value::ExactSeconds(*time)).chain(labels).chain([Value::count(pages)]);
                records.push(record.collect());
            }
        }
        (std::iter::once("time_s").chain(names).chain(["pages"]).map(Field::new).collect(), records)
    }

    /// How many groups are no columns of the table for people.
    pub fn columns_left_out(&self) -> usize {
        self.groups.len().saturating_sub(MOST_COLUMNS)
    }
}

impl TimelineGroup {
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

impl Verification {
    /// What agrees, by use and by process, for programs.
    pub fn table(&self) -> Table {
        let record = |by: &str, name: &str, agreement: &MatchCounts| {
            [Value::text(by), Value::text(name)].into_iter().chain(counts(agreement)).collect()
        };
        let by_use = self.by_use.iter().map(|(page_use, agreement)| record("use", page_use.name(), agreement));
        let by_process = self.by_process.iter().map(|(process, agreement)| record("process", process, agreement));
        Table {
            fields: ["by", "name", "matched", "only_tracked", "only_final"].map(Field::new).to_vec(),
            records: by_use.chain(by_process).collect(),
            ..Table::default()
        }
    }

    /// The same, for people with the sum alone.
    pub fn table_of_sum(&self) -> Table {
        let numbers = ["Match", "Only tracked", "Only in final state", "Residue"].map(Column::number);
        let mut sum = agreement_line("Total", &self.all);
        sum.cells.push(Value::Share(self.residue() * 100.0));
        Table {
            columns: std::iter::once(Column::text("")).chain(numbers).collect(),
            lines: vec![Line { ruled: true, ..sum }],
            ..self.table()
        }
    }

    /// All uses, and the processes that disagree, for people; only tables that say something.
    pub fn tables(&self) -> Vec<Table> {
        let uses: Vec<_> = self.by_use.iter().map(|(page_use, a)| agreement_line(page_use.name(), a)).collect();
        let disagree = |a: &MatchCounts| a.only_tracked + a.only_final > 0;
        let processes = self.by_process.iter().filter(|(_, a)| disagree(a));
        let processes: Vec<_> = processes.map(|(process, a)| agreement_line(process, a)).collect();
        let tables = [("Use", uses), ("Process", processes)].into_iter().filter(|(_, lines)| !lines.is_empty());
        let numbers = || ["Match", "Only tracked", "Only in final state"].map(Column::number);
        let columns = |title: &'static str| std::iter::once(Column::text(title)).chain(numbers()).collect();
        tables.map(|(title, lines)| Table { columns: columns(title), lines, ..Table::default() }).collect()
    }

    /// Pages that disagree.
    pub fn examples_table(&self) -> Table {
        let line = |example: &Example| {
            Line::new([
                Value::text(if example.only_tracked { "tracked" } else { "final" }),
                Value::text(example.page_use.name()),
                Value::Hex(example.pfn),
                Value::Hex(example.address),
                Value::text(&example.process),
            ])
        };
        let [pfn, address] = ["PFN", "Address"].map(Column::number);
        Table {
            title: Some("Examples of what disagrees".into()),
            columns: vec![Column::text("Only"), Column::text("Use"), pfn, address, Column::text("Process")],
            lines: self.examples.iter().map(line).collect(),
            ..Table::default()
        }
    }

    /// Pages that disagree and are not among the examples.
    pub fn more_examples(&self) -> u64 {
        (self.all.only_tracked + self.all.only_final).saturating_sub(self.examples.len() as u64)
    }
}

fn counts(a: &MatchCounts) -> [Value; 3] {
    [a.matched, a.only_tracked, a.only_final].map(Value::CountIfAny)
}

fn agreement_line(name: &str, agreement: &MatchCounts) -> Line {
    Line::new(std::iter::once(Value::text(name)).chain(counts(agreement)))
}
