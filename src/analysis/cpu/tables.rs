//! The tables of `pfnset cpu`.

use crate::analysis::cpu::query::CpuOrder;
use crate::analysis::cpu::ready_delays::{DelayStatistics, ReadyKind};
use crate::analysis::cpu::replay::processor::ProcessorUse;
use crate::analysis::cpu::{CpuRow, CpuUse, StateTimes, interval};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Group, Line, Measured, Node, Table, Value};
use crate::units::Nanos;
use std::collections::HashMap;

/// The view that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuView {
    /// One screen.
    Summary,
    /// Rows by the dimensions that the user named.
    Rows,
    /// What happened in steps of time.
    Timeline,
    /// Ready delays by kind.
    Delays,
    /// Who took the processor from whom.
    Preemption,
    /// Waits by reason.
    Waits,
    /// Who readied whom.
    Wakers,
    /// Interrupts and deferred procedure calls by routine.
    Interrupts,
    /// What each thread did.
    States,
    /// Exact times beside samples and clock ticks.
    Sampling,
    /// Time at each length of the ready queue.
    Queue,
}

/// Sums of rows; times in ticks.
#[derive(Debug, Clone, Copy, Default)]
struct RowMeasure {
    frequency_hz: u64,
    capacity: u128,
    cpu: u64,
    with_interrupts: u64,
    switches: u64,
    delays: u64,
    delayed: u64,
    p95: Option<u64>,
    max: u64,
    lost: u64,
}

impl std::ops::AddAssign for RowMeasure {
    fn add_assign(&mut self, other: RowMeasure) {
        // A percentile is that of the only delays that there are; of several groups it is looked up.
        self.p95 = match (self.delays, other.delays) {
            (_, 0) => self.p95,
            (0, _) => other.p95,
            _ => None,
        };
        self.frequency_hz = self.frequency_hz.max(other.frequency_hz);
        self.capacity = self.capacity.max(other.capacity);
        self.cpu += other.cpu;
        self.with_interrupts += other.with_interrupts;
        self.switches += other.switches;
        self.delays += other.delays;
        self.delayed += other.delayed;
        self.max = self.max.max(other.max);
        self.lost += other.lost;
    }
}

impl RowMeasure {
    fn time(&self, ticks: u64) -> Value {
        Value::Duration(super::nanos(ticks.into(), self.frequency_hz))
    }

    fn mean(&self) -> Value {
        match self.delays {
            0 => Value::Nothing,
            delays => Value::Duration(super::mean_nanos(self.delayed, delays, self.frequency_hz)),
        }
    }

    fn delay(&self, ticks: Option<u64>) -> Value {
        Value::maybe(ticks.filter(|_| self.delays > 0), |ticks| self.time(ticks))
    }
}

type Shown = Measured<RowMeasure>;

const CPU: Shown = Shown::new("cpu_ns", "CPU", |m, _| m.time(m.cpu));
const SHARE: Shown = Shown::new("cpu_percent", "CPU %", |m, all| match all.capacity {
    0 => Value::Nothing,
    capacity => Value::Share((m.cpu as f64 * 1e11 / capacity as f64).round() / 1e9),
});
const WITH_INTERRUPTS: Shown =
    Shown::new("cpu_with_interrupts_ns", "With interrupts", |m, _| m.time(m.with_interrupts)).leaves(0);
const SWITCHES: Shown = Shown::new("switches", "Switches", |m, _| Value::count(m.switches)).leaves(1);
const DELAYS: Shown = Shown::new("ready_count", "Delays", |m, _| Value::CountIfAny(m.delays)).leaves(3);
const MEAN: Shown = Shown::new("ready_mean_ns", "Mean", |m, _| m.mean()).leaves(4);
const P95: Shown = Shown::new("ready_p95_ns", "p95", |m, _| m.delay(m.p95));
const MAX: Shown = Shown::new("ready_max_ns", "Max", |m, _| m.delay(Some(m.max))).leaves(2);
const LOST: Shown = Shown::new("preempted_ns", "Lost to others", |m, _| match m.lost {
    0 if m.delays == 0 => Value::Nothing,
    lost => m.time(lost),
})
.leaves(5);

const ROW_COLUMNS: [Shown; 9] = [CPU, SHARE, WITH_INTERRUPTS, SWITCHES, DELAYS, MEAN, P95, MAX, LOST];

fn measure(row: &CpuRow, set: &CpuUse) -> RowMeasure {
    RowMeasure {
        frequency_hz: set.frequency_hz,
        capacity: set.capacity(),
        cpu: row.cpu,
        with_interrupts: row.with_interrupts,
        switches: row.switches,
        delays: row.delays.all.count,
        delayed: row.delays.all.total,
        p95: (row.delays.all.count > 0).then_some(row.delays.all.p95),
        max: row.delays.all.max,
        lost: row.delays.lost().1,
    }
}

/// The labels of a row as people read them.
fn shown(row: &CpuRow) -> Vec<String> {
    row.labels.iter().map(|label| label.shown().to_owned()).collect()
}

/// Looks up the percentiles of groups of rows.
fn fill(node: &mut Node<RowMeasure>, path: &mut Vec<String>, known: &HashMap<Vec<String>, u64>) {
    for part in &mut node.parts {
        path.push(part.label.clone());
        if part.measure.delays > 0 && part.measure.p95.is_none() {
            part.measure.p95 = known.get(path.as_slice()).copied();
        }
        fill(part, path, known);
        path.pop();
    }
}

impl CpuUse {
    /// The table of a view, all lines of it or the first `top`.
    pub fn table(&self, view: CpuView) -> Table {
        match view {
            CpuView::Summary | CpuView::Rows => self.row_table(self.top),
            CpuView::Timeline => self.timeline_table(),
            CpuView::Delays => self.delay_table(),
            CpuView::Preemption => self.preemption_table(),
            CpuView::Waits => self.wait_table(),
            CpuView::Wakers => self.waker_table(),
            CpuView::Interrupts => self.interrupt_table(),
            CpuView::States => self.state_table(),
            CpuView::Sampling => self.sampling_table(),
            CpuView::Queue => self.queue_table(),
        }
    }

    /// Rows by the dimensions; `top` of each level are printed.
    pub fn row_table(&self, top: Option<usize>) -> Table {
        let groups: Vec<Group<RowMeasure>> =
            (self.rows.iter()).map(|row| Group { labels: row.labels.clone(), measure: measure(row, self) }).collect();
        let key = |m: &RowMeasure| match self.order {
            CpuOrder::Cpu => m.cpu,
            CpuOrder::Name => 0,
            CpuOrder::Switches => m.switches,
            CpuOrder::Ready => m.delayed,
            CpuOrder::Preempted => m.lost,
        };
        let mut tree = Node::tree(&groups, |a, b| key(b).cmp(&key(a)), top);
        let known = self.subtotals.iter().map(|row| (shown(row), row.delays.all.p95)).collect();
        fill(&mut tree, &mut Vec::new(), &known);
        let all = RowMeasure { capacity: self.capacity(), frequency_hz: self.frequency_hz, ..RowMeasure::default() };
        tree.measure.frequency_hz = self.frequency_hz;
        Table::of_groups(&self.dimensions, &groups, &tree, all, &ROW_COLUMNS).with_total(&tree, all, &ROW_COLUMNS)
    }

    /// What the processors did, all together.
    pub fn owner_table(&self) -> Table {
        let names = [
            ("threads", ProcessorUse::Threads),
            ("idle", ProcessorUse::Idle),
            ("DPC", ProcessorUse::Dpc),
            ("ISR", ProcessorUse::Isr),
            ("unknown", ProcessorUse::Unknown),
        ];
        let line = |what: &str, ticks: u128| {
            let share = ticks as f64 * 100.0 / self.capacity().max(1) as f64;
            let time = Value::Duration(super::nanos(ticks, self.frequency_hz));
            Line::new([Value::text(what), time, Value::Share(share)])
        };
        let of = |used_for: ProcessorUse| self.total.by_use.get(used_for as usize).copied().unwrap_or(0);
        let mut lines: Vec<Line> = names.iter().map(|(name, used_for)| line(name, of(*used_for).into())).collect();
        let sum: u128 = names.iter().map(|(_, used_for)| u128::from(of(*used_for))).sum();
        lines.push(Line { ruled: true, ..line("window × processors", sum) });
        let columns = vec![Column::text("Processor time"), Column::number("Time"), Column::number("Share")];
        Table { columns, lines, ..Table::default() }
    }

    fn time(&self, ticks: u64) -> Value {
        Value::Duration(self.ns(ticks))
    }

    fn mean(&self, ticks: u64, count: u64) -> Value {
        if count == 0 { Value::Nothing } else { Value::Duration(self.mean_ns(ticks, count)) }
    }

    /// A table whose lines are its records; with a limit the first of them.
    fn flat(&self, labels: &[(&'static str, &'static str)], numbers: &[Number], records: Vec<Vec<Value>>) -> Table {
        let names = labels.iter().map(|(name, _)| *name).chain(numbers.iter().map(|number| number.0));
        let texts = labels.iter().map(|(_, title)| Column::text(*title));
        let columns = texts.chain(numbers.iter().map(|number| {
            let column = Column::number(number.1);
            if number.2 == u8::MAX { column } else { column.fit(Fit::Leaves(number.2)) }
        }));
        let shown = self.top.unwrap_or(usize::MAX).min(records.len());
        let mut lines: Vec<Line> = records.iter().take(shown).cloned().map(Line::new).collect();
        if shown < records.len() {
            let rest = Value::More((records.len() - shown) as u64, "more");
            let blank = std::iter::repeat_n(Value::Nothing, labels.len() + numbers.len() - 1);
            lines.push(Line::new(std::iter::once(rest).chain(blank)));
        }
        Table { title: None, fields: names.map(Field::new).collect(), columns: columns.collect(), lines, records }
    }

    fn labels(&self) -> Vec<(&'static str, &'static str)> {
        self.dimensions.iter().map(|dimension| (dimension.name(), dimension.title())).collect()
    }

    fn label_values(&self, row: &CpuRow) -> Vec<Value> {
        row.labels.iter().map(Value::of_label).collect()
    }

    fn delay_table(&self) -> Table {
        let labels = [self.labels(), vec![("kind", "Kind")]].concat();
        let numbers = [
            ("count", "Delays", KEEP),
            ("total_ns", "Sum", 0),
            ("mean_ns", "Mean", KEEP),
            ("p50_ns", "p50", 1),
            ("p95_ns", "p95", KEEP),
            ("p99_ns", "p99", 2),
            ("max_ns", "Max", KEEP),
        ];
        let record = |row: &CpuRow, kind: &str, d: &DelayStatistics| {
            let counted = [Value::text(kind), Value::count(d.count), self.time(d.total), self.mean(d.total, d.count)];
            let ranks = [d.p50, d.p95, d.p99, d.max].map(|ticks| self.time(ticks));
            self.label_values(row).into_iter().chain(counted).chain(ranks).collect::<Vec<_>>()
        };
        let of_row = |row: &CpuRow| {
            let kinds = ReadyKind::ALL.map(ReadyKind::name).into_iter().zip(row.delays.by_kind);
            let all = [("all", row.delays.all)].into_iter().chain(kinds).filter(|(_, delays)| delays.count > 0);
            all.map(|(kind, delays)| record(row, kind, &delays)).collect::<Vec<_>>()
        };
        self.flat(&labels, &numbers, self.rows.iter().flat_map(of_row).collect())
    }

    fn preemption_table(&self) -> Table {
        let labels = [("process", "Lost the processor"), ("preemptor", "To"), ("kind", "Why")];
        let numbers = [("count", "Times", KEEP), ("total_ns", "Until it ran again", KEEP), ("mean_ns", "Mean", 0)];
        let record = |row: &super::PreemptionRow| {
            let texts = [row.process.as_str(), &row.preemptor, row.kind.name()].map(Value::text);
            let (count, ticks) = (row.times.count, row.times.ticks);
            texts.into_iter().chain([Value::count(count), self.time(ticks), self.mean(ticks, count)]).collect()
        };
        self.flat(&labels, &numbers, self.preemptions.iter().map(record).collect())
    }

    fn wait_table(&self) -> Table {
        let labels = [self.labels(), vec![("reason", "Wait reason")]].concat();
        let numbers = [("count", "Waits", KEEP), ("total_ns", "Time", KEEP), ("mean_ns", "Mean", 0)];
        let of_row = |row: &CpuRow| {
            let mut waits: Vec<_> = row.waits.iter().collect();
            waits.sort_by_key(|(_, time)| std::cmp::Reverse(time.ticks));
            let record = |(reason, time): (&String, &super::replay::thread_counts::WaitTime)| {
                let numbers = [Value::count(time.count), self.time(time.ticks), self.mean(time.ticks, time.count)];
                let labels = self.label_values(row).into_iter();
                labels.chain([Value::text(reason)]).chain(numbers).collect::<Vec<_>>()
            };
            waits.into_iter().map(record).collect::<Vec<_>>()
        };
        self.flat(&labels, &numbers, self.rows.iter().flat_map(of_row).collect())
    }

    fn waker_table(&self) -> Table {
        let labels = [("process", "Became ready"), ("waker", "By, or while it ran")];
        let numbers = [("from_dpc", "From a DPC", KEEP), ("count", "Times", KEEP)];
        let record = |row: &super::WakeupRow| {
            let numbers = [Value::Flag(row.from_dpc), Value::count(row.count)];
            [&row.process, &row.waker].map(Value::text).into_iter().chain(numbers).collect()
        };
        self.flat(&labels, &numbers, self.wakeups.iter().map(record).collect())
    }

    fn interrupt_table(&self) -> Table {
        let labels = [("kind", "Kind"), ("module", "Module"), ("routine", "Routine")];
        let numbers = [
            ("count", "Count", KEEP),
            ("inclusive_ns", "Inclusive", 1),
            ("exclusive_ns", "Exclusive", KEEP),
            ("exclusive_percent", "Exclusive %", 0),
            ("max_ns", "Longest", KEEP),
        ];
        let record = |row: &super::InterruptRow| {
            let module = Value::maybe(row.module.as_deref(), Value::text);
            let times = row.times;
            let share = Value::Share((self.share(times.exclusive) * 1e11).round() / 1e9);
            let numbers = [Value::count(times.count), self.time(times.inclusive), self.time(times.exclusive), share];
            let labels = [Value::text(row.kind), module, Value::Hex(row.routine)].into_iter();
            labels.chain(numbers).chain([self.time(times.max)]).collect()
        };
        self.flat(&labels, &numbers, self.interrupts.iter().map(record).collect())
    }

    fn state_table(&self) -> Table {
        let numbers = [
            ("running_ns", "Running", KEEP),
            ("ready_ns", "Ready", KEEP),
            ("waiting_ns", "Waiting", KEEP),
            ("unknown_ns", "Unknown", 1),
            ("not_alive_ns", "Not alive", 0),
        ];
        let record = |row: &CpuRow| {
            let StateTimes { running, ready, waiting, unknown, not_alive } = row.states?;
            let times = [running, ready, waiting, unknown, not_alive].map(|ticks| self.time(ticks));
            Some(self.label_values(row).into_iter().chain(times).collect())
        };
        self.flat(&self.labels(), &numbers, self.rows.iter().filter_map(record).collect())
    }

    fn sampling_table(&self) -> Table {
        let samples = self.sampling.samples;
        let numbers = [
            ("exact_ns", "Exact", KEEP),
            ("exact_percent", "Exact %", KEEP),
            ("samples", "Samples", 1),
            ("samples_percent", "Samples %", KEEP),
            ("low_percent", "from", KEEP),
            ("high_percent", "to", KEEP),
            ("clock_ticks", "Ticks", 0),
            ("charged_ns", "Charged", KEEP),
            ("difference_percent", "Off by", 2),
        ];
        let percent = |share: f64| Value::Share((share * 1e11).round() / 1e9);
        let of_samples = |share: f64| if samples > 0 { percent(share) } else { Value::Nothing };
        let mut rows: Vec<_> = self.sampling.rows.iter().collect();
        rows.sort_by_key(|(_, charged)| std::cmp::Reverse(charged.exact));
        let record = |(process, charged): (&String, &super::SampledTime)| {
            let (low, high) = interval(charged.samples, samples);
            let by_ticks = self.charged_ns(charged.ticks);
            let share = charged.samples as f64 / samples.max(1) as f64;
            let off = self.share_of_ns(by_ticks) - self.share(charged.exact);
            let exact = [Value::text(process), self.time(charged.exact), percent(self.share(charged.exact))];
            let sampled = [Value::count(charged.samples), of_samples(share), of_samples(low), of_samples(high)];
            let ticked = [Value::count(charged.ticks), Value::Duration(by_ticks), percent(off)];
            exact.into_iter().chain(sampled).chain(ticked).collect()
        };
        self.flat(&[("process", "Process")], &numbers, rows.into_iter().map(record).collect())
    }

    fn share_of_ns(&self, nanos: u64) -> f64 {
        nanos as f64 / self.capacity_ns().max(1) as f64
    }

    fn queue_table(&self) -> Table {
        let window = self.window_ticks.max(1) as f64;
        let record = |(length, ticks): &(u64, u64)| {
            vec![Value::Number(*length), self.time(*ticks), Value::Share((*ticks as f64 * 1e11 / window).round() / 1e9)]
        };
        let numbers = [("ns", "Time", KEEP), ("percent", "Share", KEEP)];
        self.flat(&[("length", "Ready threads")], &numbers, self.queue.by_length.iter().map(record).collect())
    }

    /// The largest groups are columns of the printed table; records have all, a record for each step and series.
    fn timeline_table(&self) -> Table {
        let steps = self.timeline.as_deref().unwrap_or_default();
        let numbers = [
            ("threads_ns", "Threads", KEEP),
            ("idle_ns", "Idle", 21),
            ("dpc_ns", "DPC", 23),
            ("isr_ns", "ISR", 22),
            ("unknown_ns", "Unknown", 20),
            ("queue_mean", "Ready threads", KEEP),
        ];
        let record = |step: &super::TimelineStep| {
            let from = Value::ExactSeconds(Nanos(step.from.0));
            let times = step.by_use.map(|ticks| self.time(ticks));
            let mean = Value::Decimal((step.queue_mean * 1e9).round() / 1e9);
            std::iter::once(from).chain(times).chain([mean]).collect::<Vec<_>>()
        };
        let mut table = self.flat(&[("from_s", "From s")], &numbers, steps.iter().map(record).collect());
        table.fields = ["from_s", "series", "ns", "queue_mean"].map(Field::new).to_vec();
        table.records = steps.iter().flat_map(|step| self.series(step)).collect();
        let groups = self.timeline_groups();
        for (place, (name, _)) in (0..).zip(groups.iter().take(MOST_GROUPS)) {
            table.columns.push(Column::number(name.clone()).fit(Fit::Leaves(MOST_GROUPS as u8 - place)));
            for (line, step) in table.lines.iter_mut().zip(steps) {
                line.cells.push(step.groups.get(name).map_or(Value::Nothing, |ticks| self.time(*ticks)));
            }
        }
        table
    }

    /// The records of a step.
    fn series(&self, step: &super::TimelineStep) -> Vec<Vec<Value>> {
        let uses = ["threads", "idle", "dpc", "isr", "unknown"].into_iter().zip(step.by_use);
        let groups = step.groups.iter().map(|(label, ticks)| (label.as_str(), *ticks));
        let record =
            |series: &str, ns: Value, mean: Value| vec![Value::ExactSeconds(step.from), Value::text(series), ns, mean];
        let times = uses.chain(groups).map(|(series, ticks)| record(series, self.time(ticks), Value::Nothing));
        let mean = Value::Decimal((step.queue_mean * 1e9).round() / 1e9);
        times.chain([record("queue", Value::Nothing, mean)]).collect()
    }

    /// How many groups of the timeline are no columns of the printed table.
    pub fn smaller_groups(&self) -> usize {
        self.timeline_groups().len().saturating_sub(MOST_GROUPS)
    }

    /// Groups of the timeline, the largest first.
    fn timeline_groups(&self) -> Vec<(String, u64)> {
        let mut sums: HashMap<&str, u64> = HashMap::new();
        for (label, ticks) in self.timeline.iter().flatten().flat_map(|step| &step.groups) {
            *sums.entry(label).or_default() += ticks;
        }
        let mut groups: Vec<(String, u64)> = sums.into_iter().map(|(label, ticks)| (label.to_owned(), ticks)).collect();
        groups.sort_by(|a, b| (std::cmp::Reverse(a.1), &a.0).cmp(&(std::cmp::Reverse(b.1), &b.0)));
        groups
    }
}

/// A column of numbers: name, heading, and when it is left out.
type Number = (&'static str, &'static str, u8);

/// Columns of the printed timeline for its groups, at most.
const MOST_GROUPS: usize = 8;

/// It is never left out.
const KEEP: u8 = u8::MAX;
