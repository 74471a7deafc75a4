//! The tables of `pfnset cpu`. Each list of columns here is told once: CSV, JSON and tables take them from it.

use crate::analysis::cpu::WakeupRow;
use crate::analysis::cpu::delay_percentiles::{DelayStatistics, ReadyKind};
use crate::analysis::cpu::query::{CpuOrder, Dimension};
use crate::analysis::cpu::replay::processor::{ProcessorUse, RoutineTimes, TicksByUse};
use crate::analysis::cpu::replay::scheduler::PreemptionTimes;
use crate::analysis::cpu::replay::thread_counts::WaitTime;
use crate::analysis::cpu::row_measure::{RowMeasure, ordered_by};
use crate::analysis::cpu::sampled_and_exact::UNKNOWN;
use crate::analysis::cpu::{CpuRow, CpuUse, ProcessorTimes, SampledTime, StateTimes};
use crate::analysis::table::{Column, Dimension as _, Field, Group, Line, Measured, Node, Table, Value};
use std::cmp::Reverse;
use std::collections::HashMap;

/// A value of a row; times are those of the whole.
pub(super) type Of<R> = Measured<R, CpuUse>;

/// What is known of all rows, also of sums of rows.
const ROW: [Of<RowMeasure>; 9] = [
    Of::<RowMeasure>::new("cpu_ns", "CPU", |m, set| set.time(m.times().0)),
    Of::<RowMeasure>::new("cpu_percent", "CPU %", |m, set| match set.capacity() {
        0 => Value::Nothing,
        capacity => percent_of(m.times().0, capacity as f64),
    })
    .alone(),
    Of::<RowMeasure>::new("cpu_with_interrupts_ns", "With interrupts", |m, set| set.time(m.times().1)).leaves(0),
    Of::<RowMeasure>::new("switches", "Switches", |m, _| Value::count(m.switches())).leaves(1),
    Of::<RowMeasure>::new("ready_count", "Delays", |m, _| Value::CountIfAny(m.delays)).alone().leaves(5),
    Of::<RowMeasure>::new("ready_mean_ns", "Mean", |m, set| set.mean(m.delayed, m.delays)).alone().leaves(3),
    Of::<RowMeasure>::new("ready_p95_ns", "p95 delay", |m, set| m.delay(m.p95, set)).alone(),
    Of::<RowMeasure>::new("ready_max_ns", "Max", |m, set| m.delay(Some(m.max), set)).alone().leaves(2),
    Of::<RowMeasure>::new("preempted_ns", "Lost to others", |m, set| match m.lost {
        0 if m.delays == 0 => Value::Nothing,
        lost => set.time(lost),
    })
    .alone()
    .leaves(4),
];

/// What else a JSON document has of a row: the numbers of other views, nested.
const ROW_DETAILS: [Of<CpuRow>; 6] = [
    Of::<CpuRow>::fact("ready", |row, set| {
        let all = ReadyKind::ALL.map(ReadyKind::name).into_iter().zip(&row.delays.by_kind);
        let all = all.chain([("all", &row.delays.all)]).filter(|(_, delays)| delays.count > 0);
        Value::Object(all.map(|(kind, delays)| (kind.into(), Of::object(&DELAYS, delays, set))).collect())
    }),
    Of::<CpuRow>::fact("unknown_ready", |row, _| Value::count(row.unknown_ready)),
    Of::<CpuRow>::fact("unfinished", |row, _| Value::count(row.unfinished)),
    Of::<CpuRow>::fact("redundant", |row, _| Value::count(row.redundant)),
    Of::<CpuRow>::fact("waits", |row, set| {
        let waits = row.waits.iter().map(|(reason, time)| (reason.clone().into(), Of::object(&WAITS, time, set)));
        Value::Object(waits.collect())
    }),
    Of::<CpuRow>::fact("states", |row, set| {
        row.states.map_or(Value::Absent, |states| Of::object(&STATES, &states, set))
    }),
];

const DELAYS: [Of<DelayStatistics>; 7] = [
    Of::<DelayStatistics>::new("count", "Delays", |d, _| Value::count(d.count)),
    Of::<DelayStatistics>::new("total_ns", "Sum", |d, set| set.time(d.total)).leaves(0),
    Of::<DelayStatistics>::new("mean_ns", "Mean", |d, set| set.mean(d.total, d.count)),
    Of::<DelayStatistics>::new("p50_ns", "p50", |d, set| set.time(d.p50)).leaves(1),
    Of::<DelayStatistics>::new("p95_ns", "p95", |d, set| set.time(d.p95)),
    Of::<DelayStatistics>::new("p99_ns", "p99", |d, set| set.time(d.p99)).leaves(2),
    Of::<DelayStatistics>::new("max_ns", "Max", |d, set| set.time(d.max)),
];

const WAITS: [Of<WaitTime>; 3] = [
    Of::<WaitTime>::new("count", "Waits", |wait, _| Value::count(wait.count)),
    Of::<WaitTime>::new("total_ns", "Time", |wait, set| set.time(wait.ticks)),
    Of::<WaitTime>::new("mean_ns", "Mean", |wait, set| set.mean(wait.of_begun(), wait.count)).alone().leaves(0),
];

const STATES: [Of<StateTimes>; 5] = [
    Of::<StateTimes>::new("running_ns", "Running", |states, set| set.time(states.running)),
    Of::<StateTimes>::new("ready_ns", "Ready", |states, set| set.time(states.ready)),
    Of::<StateTimes>::new("waiting_ns", "Waiting", |states, set| set.time(states.waiting)),
    Of::<StateTimes>::new("unknown_ns", "Unknown", |states, set| set.time(states.unknown)).leaves(1),
    Of::<StateTimes>::new("not_alive_ns", "Not alive", |states, set| set.time(states.not_alive)).leaves(0),
];

const PREEMPTIONS: [Of<PreemptionTimes>; 3] = [
    Of::<PreemptionTimes>::new("count", "Times", |times, _| Value::count(times.count)),
    Of::<PreemptionTimes>::new("total_ns", "Until it ran again", |times, set| set.time(times.ticks)),
    Of::<PreemptionTimes>::new("mean_ns", "Mean", |times, set| set.mean(times.ticks, times.count)).alone().leaves(0),
];

const WAKEUPS: [Of<WakeupRow>; 2] = [
    Of::<WakeupRow>::new("from_dpc", "From a DPC", |row, _| Value::Flag(row.from_dpc)),
    Of::<WakeupRow>::new("count", "Times", |row, _| Value::count(row.count)),
];

const INTERRUPTS: [Of<RoutineTimes>; 5] = [
    Of::<RoutineTimes>::new("count", "Count", |times, _| Value::count(times.count)),
    Of::<RoutineTimes>::new("inclusive_ns", "Inclusive", |times, set| set.time(times.inclusive)).leaves(1),
    Of::<RoutineTimes>::new("exclusive_ns", "Exclusive", |times, set| set.time(times.exclusive)),
    Of::<RoutineTimes>::new("exclusive_percent", "Exclusive %", |times, set| percent(set.share(times.exclusive)))
        .alone()
        .leaves(0),
    Of::<RoutineTimes>::new("max_ns", "Longest", |times, set| set.time(times.max)),
];

/// Exact time beside samples and clock ticks.
const SAMPLED: [Of<SampledTime>; 10] = [
    Of::<SampledTime>::new("exact_ns", "Exact", |time, set| set.time(time.exact)),
    Of::<SampledTime>::new("exact_percent", "Exact %", |time, set| percent(set.share(time.exact))),
    Of::<SampledTime>::new("samples", "Samples", |time, _| Value::count(time.samples)).leaves(1),
    Of::<SampledTime>::new("samples_percent", "Samples %", |time, set| {
        set.of_samples(time).map_or(Value::Nothing, |all| percent(all.0))
    }),
    Of::<SampledTime>::new("low_percent", "from", |time, set| {
        set.of_samples(time).map_or(Value::Nothing, |all| percent(all.1))
    }),
    Of::<SampledTime>::new("high_percent", "to", |time, set| {
        set.of_samples(time).map_or(Value::Nothing, |all| percent(all.2))
    }),
    Of::<SampledTime>::new("clock_ticks", "Ticks", |time, _| Value::count(time.ticks)).leaves(0),
    Of::<SampledTime>::new("charged_ns", "Charged", |time, set| Value::Duration(set.charged_ns(time.ticks))),
    Of::<SampledTime>::new("difference_points", "Off, points", |time, set| {
        if set.sampling.ticks == 0 {
            return Value::Nothing;
        }
        let charged = set.charged_ns(time.ticks) as f64 / set.capacity_ns().max(1) as f64;
        Value::Points(of_hundred(charged - set.share(time.exact)))
    })
    .leaves(2),
    Of::<SampledTime>::new("difference_relative_percent", "Off, relative", |time, set| match set.ns(time.exact) {
        _ if set.sampling.ticks == 0 => Value::Nothing,
        0 => Value::Nothing,
        exact => percent(set.charged_ns(time.ticks) as f64 / exact as f64 - 1.0),
    })
    .leaves(2),
];

/// Samples in a JSON document.
const SAMPLES: [Of<SampledTime>; 5] = [
    Of::<SampledTime>::fact("samples", |time, _| Value::count(time.samples)),
    Of::<SampledTime>::fact("share", |time, set| set.of_samples(time).map_or(Value::Nothing, |all| decimal(all.0))),
    Of::<SampledTime>::fact("low", |time, set| set.of_samples(time).map_or(Value::Nothing, |all| decimal(all.1))),
    Of::<SampledTime>::fact("high", |time, set| set.of_samples(time).map_or(Value::Nothing, |all| decimal(all.2))),
    Of::<SampledTime>::fact("exact_share", |time, set| decimal(set.share(time.exact))),
];

/// Clock ticks in a JSON document.
const CLOCK_TICKS: [Of<SampledTime>; 3] = [
    Of::<SampledTime>::fact("ticks", |time, _| Value::count(time.ticks)),
    Of::<SampledTime>::fact("charged_ns", |time, set| Value::Duration(set.charged_ns(time.ticks))),
    Of::<SampledTime>::fact("exact_ns", |time, set| set.time(time.exact)),
];

const QUEUE: [Of<(u64, u64)>; 2] = [
    Of::<(u64, u64)>::new("ns", "Time", |(_, ticks), set| set.time(*ticks)),
    Of::<(u64, u64)>::new("percent", "Share", |(_, ticks), set| percent_of(*ticks, set.window_ticks.max(1) as f64))
        .alone(),
];

/// What processors were used for.
pub(super) const USES: [Of<TicksByUse>; 5] = [
    Of::<TicksByUse>::new("threads_ns", "Threads", |ticks, set| set.time(ticks[ProcessorUse::Threads as usize])),
    Of::<TicksByUse>::new("idle_ns", "Idle", |ticks, set| set.time(ticks[ProcessorUse::Idle as usize])).leaves(21),
    Of::<TicksByUse>::new("dpc_ns", "DPC", |ticks, set| set.time(ticks[ProcessorUse::Dpc as usize])).leaves(23),
    Of::<TicksByUse>::new("isr_ns", "ISR", |ticks, set| set.time(ticks[ProcessorUse::Isr as usize])).leaves(22),
    Of::<TicksByUse>::new("unknown_ns", "Unknown", |ticks, set| set.time(ticks[ProcessorUse::Unknown as usize]))
        .leaves(20),
];

/// A share with nine digits.
fn percent(share: f64) -> Value {
    Value::Share(of_hundred(share))
}

fn of_hundred(share: f64) -> f64 {
    (share * 1e11).round() / 1e9
}

/// The same of a part of a whole.
fn percent_of(part: u64, whole: f64) -> Value {
    Value::Share((part as f64 * 1e11 / whole).round() / 1e9)
}

/// A number with nine digits.
pub fn decimal(number: f64) -> Value {
    Value::Decimal((number * 1e9).round() / 1e9)
}

/// True for values whose sum says something: neither means, nor percentiles, nor extremes.
fn adds_up(name: &str) -> bool {
    !["mean", "p50", "p95", "p99", "max", "low", "high", "difference", "from_dpc"].iter().any(|no| name.starts_with(no))
}

/// Adds a value to a sum.
fn add(sum: &mut Value, value: Value) {
    *sum = match (&*sum, value) {
        (Value::Count(a), Value::Count(b)) => Value::Count(a.saturating_add(b)),
        (Value::CountIfAny(a), Value::CountIfAny(b)) => Value::CountIfAny(a.saturating_add(b)),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.saturating_add(b)),
        (Value::Share(a), Value::Share(b)) => Value::Share(a + b),
        (Value::Nothing, value) => value,
        (sum, _) => sum.clone(),
    };
}

/// The labels of a row as people read them.
fn shown(row: &CpuRow) -> Vec<String> {
    row.labels.iter().map(|label| label.shown().to_owned()).collect()
}

/// Looks up the percentiles of groups of rows, and leaves idle threads out of the first `sums` levels, which are not theirs.
fn fill(node: &mut Node<RowMeasure>, path: &mut Vec<String>, known: &HashMap<Vec<String>, u64>, sums: usize) {
    node.measure.leaves_idle_out |= path.len() < sums;
    for part in &mut node.parts {
        path.push(part.label.clone());
        if part.measure.delays > 0 && part.measure.p95.is_none() {
            part.measure.p95 = known.get(path.as_slice()).copied();
        }
        fill(part, path, known, sums);
        path.pop();
    }
}

impl CpuUse {
    /// Rows by the dimensions; `top` of each level are printed.
    pub fn row_table(&self, order: CpuOrder, top: Option<usize>) -> Table {
        let group = |row: &CpuRow| Group { labels: row.labels.clone(), measure: RowMeasure::new(row) };
        let groups: Vec<Group<RowMeasure>> = self.rows.iter().map(group).collect();
        let (key, column) = ordered_by(order);
        let mut tree = Node::tree(&groups, |a, b| key(b).cmp(&key(a)), top);
        let known = self.subtotals.iter().map(|row| (shown(row), row.delays.all.p95)).collect();
        let of_processors = self.dimensions.iter().take_while(|dimension| **dimension == Dimension::Processor).count();
        let sums = if self.is_of_idle { 0 } else { 1 + of_processors };
        fill(&mut tree, &mut Vec::new(), &known, sums);
        let columns = Of::ordered(ROW.into_iter().collect(), column);
        let table = Table::of_groups(&self.dimensions, &groups, &tree, self, &columns);
        let mut table = table.with_total(&tree, self, &columns);
        let leaves_out = !self.is_of_idle && (sums > self.dimensions.len() || self.rows.iter().any(|row| row.is_idle));
        let label = table.lines.last_mut().and_then(|line| line.cells.first_mut()).filter(|_| leaves_out);
        // Where rows count switches to idle threads, it is not without idle in that column: what each column is of stands below.
        let label = label.filter(|_| !self.counts_idle_switches());
        label.into_iter().for_each(|label| *label = Value::text("Total without idle"));
        self.with_whole_stacks(table, self.rows.iter())
    }

    /// True where rows count switches to idle threads without their time.
    pub(crate) fn counts_idle_switches(&self) -> bool {
        self.rows.iter().any(|row| row.counts_idle_switches)
    }

    /// Names of the values of [`CpuUse::row_records`].
    pub fn row_fields(&self) -> Vec<Field> {
        Field::of_labels(&self.dimensions).chain(Of::fields(&ROW)).chain(Of::fields(&ROW_DETAILS)).collect()
    }

    /// The rows with all that is known of each.
    pub fn row_records(&self) -> impl Iterator<Item = Vec<Value>> {
        self.rows.iter().map(|row| {
            let labels = row.labels.iter().map(|label| self.stack_texts.value(label));
            let counts: Vec<Value> = Of::record(&ROW, &RowMeasure::new(row), self).collect();
            labels.chain(counts).chain(Of::record(&ROW_DETAILS, row, self)).collect()
        })
    }

    /// What all processors did, with their names for programs.
    pub fn total_values(&self) -> impl Iterator<Item = (Field, Value)> {
        let capacity = Value::Duration(self.capacity_ns());
        let times = Of::fields(&USES).chain([SWITCHES]).zip(self.use_values(&self.total));
        times.chain([(Field::new("capacity_ns"), capacity)])
    }

    /// What each processor did, for programs.
    pub fn processor_table(&self) -> Table {
        let record = |(number, times): (u64, &ProcessorTimes)| {
            std::iter::once(Value::Number(number)).chain(self.use_values(times)).collect()
        };
        Table {
            fields: [Field::new("processor")].into_iter().chain(Of::fields(&USES)).chain([SWITCHES]).collect(),
            records: (0..).zip(&self.by_processor).map(record).collect(),
            ..Table::default()
        }
    }

    fn use_values(&self, times: &ProcessorTimes) -> impl Iterator<Item = Value> {
        Of::record(&USES, &times.by_use, self).chain([Value::count(times.switches)]).collect::<Vec<_>>().into_iter()
    }

    pub(super) fn time(&self, ticks: u64) -> Value {
        Value::Duration(self.ns(ticks))
    }

    fn mean(&self, ticks: u64, count: u64) -> Value {
        if count == 0 { Value::Nothing } else { Value::Duration(self.mean_ns(ticks, count)) }
    }

    /// The share of the samples that a process has, and its 95 % interval; `None` without samples.
    fn of_samples(&self, time: &SampledTime) -> Option<(f64, f64, f64)> {
        let all = self.sampling.samples;
        let (low, high) = self.sampling.interval(time.samples);
        (all > 0).then(|| (time.samples as f64 / all as f64, low, high))
    }

    /// A table whose lines are its records, or the first `top` of them.
    fn flat<'r, R: 'r>(
        &self,
        labels: &[(&'static str, &'static str)],
        columns: &[Of<R>],
        rows: impl Iterator<Item = (Vec<Value>, &'r R)>,
        top: Option<usize>,
    ) -> Table {
        let mut table = Table {
            fields: labels.iter().map(|(name, _)| Field::new(name)).chain(Of::fields(columns)).collect(),
            columns: labels.iter().map(|(_, title)| Column::label(*title)).chain(Of::columns(columns)).collect(),
            ..Table::default()
        };
        let names: Vec<&str> = Of::fields(columns).map(|field| field.name).collect();
        let mut rest: Vec<Value> = Vec::new();
        for (labels, row) in rows {
            if table.lines.len() < top.unwrap_or(usize::MAX) {
                table.lines.push(Line::new(labels.iter().cloned().chain(Of::cells(columns, row, self))));
            } else {
                let cells: Vec<Value> = Of::cells(columns, row, self).collect();
                rest.resize(cells.len(), Value::Nothing);
                let sums = rest.iter_mut().zip(cells).zip(&names).filter(|(_, name)| adds_up(name));
                sums.for_each(|((sum, cell), _)| add(sum, cell));
            }
            table.records.push(labels.into_iter().chain(Of::record(columns, row, self)).collect());
        }
        if let more @ 1.. = table.records.len() - table.lines.len() {
            let blank = std::iter::repeat_n(Value::Nothing, labels.len().saturating_sub(1));
            table.lines.push(Line::new(std::iter::once(Value::More(more as u64, "more")).chain(blank).chain(rest)));
        }
        table
    }

    /// Headings of the labels of rows.
    fn labels(&self, more: Option<(&'static str, &'static str)>) -> Vec<(&'static str, &'static str)> {
        self.dimensions.iter().map(|dimension| (dimension.name(), dimension.title())).chain(more).collect()
    }

    /// A table of parts of rows: the row, what the part is of, and its measure.
    fn of_parts<'r, R: 'r>(
        &self,
        of: Option<(&'static str, &'static str)>,
        columns: &[Of<R>],
        parts: impl Iterator<Item = (&'r CpuRow, Option<&'r str>, &'r R)>,
        top: Option<usize>,
    ) -> Table {
        let mut rows: Vec<&CpuRow> = Vec::new();
        let parts = parts.map(|(row, part, measure)| {
            rows.push(row);
            (row.labels.iter().map(Value::of_label).chain(part.map(Value::text)).collect(), measure)
        });
        let table = self.flat(&self.labels(of), columns, parts, top);
        self.with_whole_stacks(table, rows.into_iter())
    }

    /// Programs get whole stacks.
    fn with_whole_stacks<'r>(&self, mut table: Table, rows: impl Iterator<Item = &'r CpuRow>) -> Table {
        for (row, record) in rows.zip(&mut table.records) {
            self.stack_texts.complete(&row.labels, record);
        }
        table
    }

    /// Ready delays by kind: `top` rows with their kinds; of the others all kinds together, so that each delay counts once in their sum.
    pub fn delay_table(&self, top: Option<usize>) -> Table {
        let with_delays = self.rows.iter().filter(|row| row.delays.all.count > 0);
        let kinds = |row: &CpuRow| row.delays.by_kind.iter().filter(|delays| delays.count > 0).count();
        let lines = top.map(|top| with_delays.clone().take(top).map(|row| 1 + kinds(row)).sum());
        let rows = with_delays.enumerate().flat_map(|(place, row)| {
            let is_shown = top.is_none_or(|top| place < top);
            let kinds = ReadyKind::ALL.map(ReadyKind::name).into_iter().zip(&row.delays.by_kind);
            let kinds = kinds.filter(move |(_, delays)| is_shown && delays.count > 0);
            [("all", &row.delays.all)].into_iter().chain(kinds).map(move |(kind, delays)| (row, Some(kind), delays))
        });
        self.of_parts(Some(("kind", "Kind")), &DELAYS, rows, lines)
    }

    /// Who took the processor from whom.
    pub fn preemption_table(&self, top: Option<usize>) -> Table {
        let labels = [("process", "Lost the processor"), ("preemptor", "To"), ("kind", "Why")];
        let rows = self.preemptions.iter().map(|row| {
            let labels = [row.process.as_str(), &row.preemptor, row.kind.name()];
            (labels.map(Value::text).to_vec(), &row.times)
        });
        self.flat(&labels, &PREEMPTIONS, rows, top)
    }

    /// Waits by reason: of the first `top` rows all their reasons, so that they are the first ones of the whole table.
    pub fn wait_table(&self, top: Option<usize>) -> Table {
        let with_waits = self.rows.iter().filter(|row| !row.waits.is_empty());
        let lines = top.map(|top| with_waits.clone().take(top).map(|row| row.waits.len()).sum());
        let rows = with_waits.flat_map(|row| {
            let mut waits: Vec<_> = row.waits.iter().collect();
            waits.sort_by_key(|(_, time)| Reverse(time.ticks));
            waits.into_iter().map(move |(reason, time)| (row, Some(reason.as_str()), time))
        });
        self.of_parts(Some(("reason", "Wait reason")), &WAITS, rows, lines)
    }

    /// Who readied whom.
    pub fn waker_table(&self, top: Option<usize>) -> Table {
        let labels = [("process", "Became ready"), ("waker", "By, or while it ran")];
        let rows = self.wakeups.iter().map(|row| ([&row.process, &row.waker].map(Value::text).to_vec(), row));
        self.flat(&labels, &WAKEUPS, rows, top)
    }

    /// Interrupts and deferred procedure calls by routine.
    pub fn interrupt_table(&self, top: Option<usize>) -> Table {
        let labels = [("kind", "Kind"), ("module", "Module"), ("routine", "Routine")];
        let rows = self.interrupts.iter().map(|row| {
            let module = Value::maybe(row.module.as_deref(), Value::text);
            (vec![Value::text(row.kind), module, Value::Hex(row.routine)], &row.times)
        });
        self.flat(&labels, &INTERRUPTS, rows, top)
    }

    /// What each thread did.
    pub fn state_table(&self, top: Option<usize>) -> Table {
        let rows = self.rows.iter().filter_map(|row| Some((row, None, row.states.as_ref()?)));
        self.of_parts(None, &STATES, rows, top)
    }

    /// Exact times beside samples and clock ticks.
    pub fn sampling_table(&self, top: Option<usize>) -> Table {
        let mut rows: Vec<&(String, SampledTime)> = self.sampling.rows.iter().collect();
        rows.sort_by_key(|(_, time)| Reverse(time.exact));
        self.of_processes(&SAMPLED, rows.into_iter(), top)
    }

    /// True where the row `Unknown` beside samples is of threads that no event describes too, not only time of which nothing is known.
    pub(crate) fn sampling_unknown_is_of_both(&self) -> bool {
        let unknown = self.total.by_use.get(ProcessorUse::Unknown as usize).copied().unwrap_or(0);
        let row = self.sampling.rows.iter().find(|(label, _)| label == UNKNOWN);
        unknown > 0 && row.is_some_and(|(_, time)| time.exact > unknown || time.samples > 0)
    }

    /// Samples, for programs.
    pub fn sample_records(&self) -> Table {
        let rows = self.sampling.rows.iter().filter(|_| self.sampling.samples > 0);
        self.of_processes(&SAMPLES, rows, None)
    }

    /// Clock ticks, for programs.
    pub fn clock_tick_records(&self) -> Table {
        self.of_processes(&CLOCK_TICKS, self.sampling.rows.iter(), None)
    }

    fn of_processes<'r>(
        &self,
        columns: &[Of<SampledTime>],
        rows: impl Iterator<Item = &'r (String, SampledTime)>,
        top: Option<usize>,
    ) -> Table {
        let rows = rows.map(|(process, time)| (vec![Value::text(process)], time));
        self.flat(&[("process", "Process")], columns, rows, top)
    }

    /// Time at each length of the ready queue.
    pub fn queue_table(&self, top: Option<usize>) -> Table {
        let rows = self.queue.by_length.iter().map(|row| (vec![Value::Number(row.0)], row));
        self.flat(&[("length", "Ready threads")], &QUEUE, rows, top)
    }
}

const SWITCHES: Field = Field::new("switches");
