//! The timeline of `pfnset cpu` as tables and records.

use crate::analysis::cpu::tables::{Of, USES, decimal};
use crate::analysis::cpu::{CpuUse, TimelineStep};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use std::cmp::Reverse;
use std::collections::HashMap;

const STEP: [Of<TimelineStep>; 2] = [
    Of::<TimelineStep>::new("queue_mean", "Ready threads", |step, _| decimal(step.queue_mean)),
    Of::<TimelineStep>::fact("groups", |step, set| {
        let groups = step.groups.iter().map(|(label, ticks)| (label.clone().into(), set.time(*ticks)));
        Value::Object(groups.collect())
    }),
];

/// Names of the values of [`CpuUse::series_records`].
pub const SERIES: [&str; 4] = ["from_s", "series", "ns", "queue_mean"];

/// Columns of the printed timeline for its groups, at most.
const MOST_GROUPS: usize = 8;

/// Where the order in which chosen groups leave begins: behind that of [`USES`].
const CHOSEN: u8 = 30;

impl CpuUse {
    /// The timeline for people: the largest groups are columns. `are_chosen`: the user said what they are.
    pub fn timeline_table(&self, are_chosen: bool) -> Table {
        let steps = self.timeline.as_deref().unwrap_or_default();
        let groups = self.timeline_groups();
        let groups = || (0..).zip(groups.iter().take(MOST_GROUPS));
        // Groups that a user chose are what was asked for: uses of the processors leave before them.
        let first = if are_chosen || !self.filter.is_empty() { CHOSEN } else { 0 };
        let heading = |(place, (name, _)): (u8, &(String, u64))| {
            Column::number(name.clone()).fit(Fit::Leaves(first + MOST_GROUPS as u8 - place))
        };
        let line = |step: &TimelineStep| {
            let of_groups =
                groups().map(|(_, (name, _))| Value::maybe(step.groups.get(name), |ticks| self.time(*ticks)));
            let times = Of::cells(&USES, &step.by_use, self).chain(Of::cells(&STEP, step, self));
            Line::new(std::iter::once(Value::ExactSeconds(step.from)).chain(times).chain(of_groups))
        };
        let columns = [Column::text("From s")].into_iter().chain(Of::columns(&USES)).chain(Of::columns(&STEP));
        Table {
            columns: columns.chain(groups().map(heading)).collect(),
            lines: steps.iter().map(line).collect(),
            ..Table::default()
        }
        .with_times_apart()
    }

    /// Names of the values of [`CpuUse::step_records`].
    pub fn step_fields() -> Vec<Field> {
        [Field::new("from_s")].into_iter().chain(Of::fields(&USES)).chain(Of::fields(&STEP)).collect()
    }

    /// The steps of the timeline, with all groups.
    pub fn step_records(&self) -> impl Iterator<Item = Vec<Value>> {
        self.timeline.iter().flatten().map(|step| {
            let times = Of::record(&USES, &step.by_use, self).chain(Of::record(&STEP, step, self));
            std::iter::once(Value::ExactSeconds(step.from)).chain(times).collect()
        })
    }

    /// The same as rows: one for each step and series, with the names of [`SERIES`].
    pub fn series_records(&self) -> impl Iterator<Item = Vec<Value>> {
        let of_step = |step: &'_ TimelineStep| {
            let uses = ["threads", "idle", "dpc", "isr", "unknown"].into_iter().zip(step.by_use);
            let groups = step.groups.iter().map(|(label, ticks)| (label.as_str(), *ticks));
            let record = |series: &str, ns: Value, mean: Value| {
                vec![Value::ExactSeconds(step.from), Value::text(series), ns, mean]
            };
            let times = uses.chain(groups).map(|(series, ticks)| record(series, self.time(ticks), Value::Nothing));
            times.chain([record("queue", Value::Nothing, decimal(step.queue_mean))]).collect::<Vec<_>>()
        };
        self.timeline.iter().flatten().flat_map(of_step)
    }

    /// How many groups of the timeline are no columns of the printed table.
    pub fn smaller_groups(&self) -> usize {
        self.timeline_groups().len().saturating_sub(MOST_GROUPS)
    }

    /// Groups of the timeline, the largest first.
    fn timeline_groups(&self) -> Vec<(String, u64)> {
        let mut sums: HashMap<&str, u64> = HashMap::new();
        for (label, ticks) in self.timeline.iter().flatten().flat_map(|step| &step.groups) {
            let sum = sums.entry(label).or_default();
            *sum = sum.saturating_add(*ticks);
        }
        let mut groups: Vec<(String, u64)> = sums.into_iter().map(|(label, ticks)| (label.to_owned(), ticks)).collect();
        groups.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        groups
    }
}
