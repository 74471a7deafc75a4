//! Figures of groups of hard faults and disk requests. Times are ticks until they are summed up.

use super::disk_requests::{Request, Unfinished};
use super::hard_faults::Hard;
use super::query::{Dimension, HardKind, Of, PRIORITIES};
use crate::analysis::stacks::Texts;
use crate::analysis::time_grid::TickRange;
use crate::dimensions::{Condition, Label, LabelKind};
use crate::event::disk_io::DiskOperation;
use crate::event::page_fault::FaultKind;
use crate::model::drive_paths::DrivePaths;
use crate::trace::Trace;
use crate::units::Ticks;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap};

/// A row: labels in order of the dimensions, and its figures.
pub type Row<F> = (Vec<Label>, F);

/// Figures of hard faults; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HardFigures {
    /// Faults.
    pub events: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Those of them that had been read before.
    pub bytes_again: u64,
    /// Sum of all waits.
    pub waited_ns: u64,
    /// Time in which at least one thread waited.
    pub blocked_ns: u64,
    /// 50th, 95th and 99th percentile, and the longest wait; `None` where no wait is known.
    pub waits: Option<[u64; 4]>,
    /// Faults whose begin cannot be true.
    pub malformed: u64,
}

impl HardFigures {
    /// True where there are faults, and of none is known how long a thread waited.
    pub(crate) const fn is_wait_unknown(&self) -> bool {
        self.events > 0 && self.malformed == self.events
    }
}

/// Figures of disk requests; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestFigures {
    /// Requests.
    pub operations: u64,
    /// Bytes that were read and written.
    pub bytes: u64,
    /// Bytes of reads that the disk had read before.
    pub bytes_again: u64,
    /// Sum of response times.
    pub response_ns: u64,
    /// Time for which the disks worked on them.
    pub service_ns: u64,
    /// Most requests of one disk that were open at once.
    pub queue_max: u64,
    /// Requests whose start is not in the trace.
    pub no_start: u64,
}

impl RequestFigures {
    /// Most requests that were open at once; `None` where no request has a start, so that none is in a queue.
    pub(crate) fn queue(&self) -> Option<u64> {
        (self.operations == 0 || self.no_start < self.operations).then_some(self.queue_max)
    }
}

/// Soft faults of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoftRow {
    /// The process.
    pub process: String,
    /// Their kind.
    pub kind: FaultKind,
    /// Faults.
    pub events: u64,
}

impl SoftRow {
    /// Name of its kind.
    pub const fn kind_name(&self) -> &'static str {
        match self.kind {
            FaultKind::Transition => "transition",
            FaultKind::DemandZero => "demand_zero",
            FaultKind::CopyOnWrite => "copy_on_write",
            FaultKind::GuardPage => "guard_page",
            FaultKind::Hard => "hard",
            FaultKind::AccessViolation => "access_violation",
        }
    }
}

/// The hard faults that meet some conditions.
#[derive(Debug)]
pub struct HardSet {
    /// Of all.
    pub hard: HardFigures,
    /// By the dimensions of the query.
    pub rows: Vec<Row<HardFigures>>,
}

/// Makes rows and figures.
pub struct Rows<'a> {
    texts: &'a Texts,
    paths: DrivePaths,
    range: TickRange,
    frequency_hz: u64,
    conditions: &'a [Condition<Dimension>],
}

impl<'a> Rows<'a> {
    /// For events of this window that meet the conditions.
    pub fn new(trace: &Trace, texts: &'a Texts, range: TickRange, conditions: &'a [Condition<Dimension>]) -> Rows<'a> {
        let paths = DrivePaths::new(&trace.system().volumes);
        Rows { texts, paths, range, frequency_hz: trace.etl().clock.frequency_hz, conditions }
    }

    /// True where a condition is on what these have not: `n/a` is none of their labels.
    fn lack_a_condition(&self, of: Of) -> bool {
        of.lacks(self.conditions.iter().map(|condition| condition.dimension)).is_some()
    }

    /// Hard faults of the window that meet the conditions.
    pub fn hard_faults(&self, mut all: Vec<Hard>) -> Vec<Hard> {
        let mut is_wanted = self.wanted_hard();
        all.retain(&mut is_wanted);
        all
    }

    /// Rows and figures of the hard faults of the window that meet the conditions.
    pub fn hard_set(&self, all: &[Hard], dimensions: &[Dimension]) -> HardSet {
        let mut is_wanted = self.wanted_hard();
        let own: Vec<Hard> = all.iter().filter(|hard| is_wanted(hard)).copied().collect();
        HardSet { hard: self.hard_figures(&own), rows: self.hard_rows(&own, dimensions) }
    }

    /// Whether a hard fault is of the window and meets the conditions. Each label is looked at once.
    fn wanted_hard(&self) -> impl FnMut(&Hard) -> bool {
        let lack_one = self.lack_a_condition(Of::Hard);
        let mut known: Vec<HashMap<u64, bool>> = vec![HashMap::new(); self.conditions.len()];
        move |hard| {
            let meets = |(condition, known): (&Condition<Dimension>, &mut HashMap<u64, bool>)| {
                let dimension = condition.dimension;
                let number = hard_number(dimension, hard);
                *known.entry(number).or_insert_with(|| condition.matches([&self.hard_label(dimension, hard)]))
            };
            !lack_one && self.range.holds(hard.end.time) && self.conditions.iter().zip(&mut known).all(meets)
        }
    }

    /// Requests that meet the conditions, also those that were completed outside of the window: they stood in the queue.
    pub fn requests(&self, mut all: Vec<Request>) -> Vec<Request> {
        let lack_one = self.lack_a_condition(Of::Disk);
        all.retain(|request| !lack_one && self.is_wanted(|dimension| self.request_label(dimension, request)));
        all
    }

    /// How many requests of the window were never completed and meet the conditions. They have no disk, priority and file.
    pub fn unfinished(&self, all: &[Unfinished]) -> u64 {
        let label = |dimension, one: &Unfinished| match dimension {
            Dimension::Process => self.text(one.process),
            Dimension::Thread => one.thread_id.map_or_else(Label::nothing, Label::number),
            Dimension::Operation => Label::listed(one.operation as usize, DiskOperation::name(one.operation)),
            _ => Label::nothing(),
        };
        let is_counted =
            |one: &&Unfinished| self.range.holds(one.start.time) && self.is_wanted(|dimension| label(dimension, one));
        if self.lack_a_condition(Of::Disk) { 0 } else { all.iter().filter(is_counted).count() as u64 }
    }

    fn is_wanted(&self, label: impl Fn(Dimension) -> Label) -> bool {
        self.conditions.iter().all(|condition| condition.matches([&label(condition.dimension)]))
    }

    /// True for the soft faults of a process where they meet the conditions. They have no other label.
    pub fn wants_soft(&self, process: &str) -> bool {
        !self.lack_a_condition(Of::Soft) && self.is_wanted(|_| Label::name(process))
    }

    /// Figures of all.
    pub fn hard_figures(&self, all: &[Hard]) -> HardFigures {
        self.of_faults(&all.iter().collect::<Vec<_>>())
    }

    /// Figures of all.
    pub fn request_figures(&self, all: &[Request]) -> RequestFigures {
        self.of_requests(&all.iter().collect::<Vec<_>>())
    }

    /// Rows by the dimensions that hard faults have, longest waits first.
    pub fn hard_rows(&self, all: &[Hard], dimensions: &[Dimension]) -> Vec<Row<HardFigures>> {
        let dimensions: Vec<Dimension> = dimensions.iter().copied().filter(|own| Of::Hard.has(*own)).collect();
        let groups = grouped(all, &dimensions, |dimension, hard| self.hard_label(dimension, hard));
        let mut rows: Vec<Row<HardFigures>> =
            groups.into_iter().map(|(labels, group)| (labels, self.of_faults(&group))).collect();
        rows.sort_by(|a, b| by_most(a, b, |figures| (figures.waited_ns, figures.bytes)));
        rows
    }

    /// Hard faults by file, where rows are by something else.
    pub fn hard_rows_by_file(&self, all: &[Hard], dimensions: &[Dimension]) -> Vec<Row<HardFigures>> {
        let has_file = dimensions.contains(&Dimension::File);
        if has_file { Vec::new() } else { self.hard_rows(all, &[Dimension::File]) }
    }

    /// Rows by the dimensions that requests have, longest responses first.
    pub fn request_rows(&self, all: &[Request], dimensions: &[Dimension]) -> Vec<Row<RequestFigures>> {
        let dimensions: Vec<Dimension> = dimensions.iter().copied().filter(|own| Of::Disk.has(*own)).collect();
        let groups = grouped(all, &dimensions, |dimension, request| self.request_label(dimension, request));
        let mut rows: Vec<Row<RequestFigures>> =
            groups.into_iter().map(|(labels, group)| (labels, self.of_requests(&group))).collect();
        rows.retain(|(_, figures)| figures.operations > 0);
        rows.sort_by(|a, b| by_most(a, b, |figures| (figures.response_ns, figures.bytes)));
        rows
    }

    /// The name of a file.
    pub(super) fn name(&self, number: u32) -> &str {
        self.texts.get(number)
    }

    fn text(&self, number: u32) -> Label {
        Label::name(self.texts.get(number))
    }

    /// The label of a file.
    pub(super) fn path(&self, number: u32) -> Label {
        let path = self.texts.get(number);
        Label::name(path).shown_as(&self.paths.shown(path))
    }

    fn hard_label(&self, dimension: Dimension, hard: &Hard) -> Label {
        match dimension {
            Dimension::Process => self.text(hard.process),
            Dimension::Thread => Label::number(hard.thread_id),
            Dimension::File => self.path(hard.file),
            Dimension::Kind => Label::listed(hard.kind as usize, HardKind::name(hard.kind)),
            Dimension::Module => hard.module.map_or_else(Label::nothing, |module| self.text(module)),
            Dimension::Disk | Dimension::Priority | Dimension::Operation => Label::nothing(),
        }
    }

    fn request_label(&self, dimension: Dimension, request: &Request) -> Label {
        let priority = usize::from(request.priority);
        match dimension {
            Dimension::Process => self.text(request.process),
            Dimension::Thread => request.thread_id.map_or_else(Label::nothing, Label::number),
            Dimension::File => request.file.map_or_else(Label::nothing, |file| self.path(file)),
            Dimension::Disk => Label::number(request.disk),
            Dimension::Priority => Label::listed(priority, PRIORITIES.get(priority).copied().unwrap_or_default()),
            Dimension::Operation => Label::listed(request.operation as usize, DiskOperation::name(request.operation)),
            Dimension::Kind | Dimension::Module => Label::nothing(),
        }
    }

    fn ns(&self, ticks: u128) -> u64 {
        let ns = ticks.saturating_mul(1_000_000_000) / u128::from(self.frequency_hz.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Figures of a group.
    pub(super) fn of_faults(&self, group: &[&Hard]) -> HardFigures {
        let mut waits: Vec<u64> = group.iter().filter_map(|hard| hard.waited()).collect();
        waits.sort_unstable();
        let spans = group.iter().filter_map(|hard| Some((hard.begin?, hard.end.time)));
        let sum = |of: fn(&Hard) -> u64| group.iter().map(|hard| of(hard)).fold(0u64, u64::saturating_add);
        // By nearest rank: the smallest wait that so many of a hundred do not exceed.
        let rank = |percent: usize| waits.get((waits.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        let ranks = [rank(50), rank(95), rank(99), waits.last().copied()];
        HardFigures {
            events: group.len() as u64,
            bytes: sum(|hard| hard.bytes),
            bytes_again: sum(|hard| hard.bytes_again),
            waited_ns: self.ns(waits.iter().map(|ticks| u128::from(*ticks)).sum()),
            blocked_ns: self.ns(union(spans.collect())),
            waits: (!waits.is_empty()).then(|| ranks.map(|ticks| self.ns(ticks.unwrap_or(0).into()))),
            malformed: group.iter().filter(|hard| hard.begin.is_none()).count() as u64,
        }
    }

    fn of_requests(&self, group: &[&Request]) -> RequestFigures {
        let inside = || group.iter().filter(|request| self.range.holds(request.end.time));
        let sum = |of: fn(&Request) -> u64| inside().map(|request| of(request)).fold(0u64, u64::saturating_add);
        let served = |request: &Request| self.range.between(request.served_from, request.end.time);
        RequestFigures {
            operations: inside().count() as u64,
            bytes: sum(|request| request.bytes),
            bytes_again: sum(|request| request.bytes_again),
            response_ns: self.ns(inside().map(|request| u128::from(request.response)).sum()),
            service_ns: self.ns(inside().map(|request| u128::from(served(request))).sum()),
            queue_max: deepest(group.iter().copied(), self.range),
            no_start: inside().filter(|request| request.start.is_none()).count() as u64,
        }
    }
}

/// What a hard fault's label depends on.
fn hard_number(dimension: Dimension, hard: &Hard) -> u64 {
    match dimension {
        Dimension::Process => hard.process.into(),
        Dimension::Thread => hard.thread_id.into(),
        Dimension::File => hard.file.into(),
        Dimension::Kind => hard.kind as u64,
        Dimension::Module => hard.module.map_or(u64::MAX, u64::from),
        Dimension::Disk | Dimension::Priority | Dimension::Operation => 0,
    }
}

/// Items by their labels; nothing without dimensions.
fn grouped<'i, T>(
    all: &'i [T],
    dimensions: &[Dimension],
    label: impl Fn(Dimension, &T) -> Label,
) -> HashMap<Vec<Label>, Vec<&'i T>> {
    let mut groups: HashMap<Vec<Label>, Vec<&T>> = HashMap::new();
    for item in all.iter().take(if dimensions.is_empty() { 0 } else { usize::MAX }) {
        groups.entry(dimensions.iter().map(|own| label(*own, item)).collect()).or_default().push(item);
    }
    groups
}

/// Largest figures first, then by labels: none first, numbers as numbers, texts by their bytes.
fn by_most<F>(a: &Row<F>, b: &Row<F>, figures: impl Fn(&F) -> (u64, u64)) -> Ordering {
    let key = |label: &'_ Label| match label.kind() {
        LabelKind::Nothing => (0, 0),
        LabelKind::Number(number) => (1, number),
        _ => (2, 0),
    };
    let labels = |a: &Row<F>, b: &Row<F>| {
        let pairs = a.0.iter().zip(&b.0);
        pairs.map(|(a, b)| key(a).cmp(&key(b)).then_with(|| a.as_str().cmp(b.as_str()))).find(|order| order.is_ne())
    };
    Reverse(figures(&a.1)).cmp(&Reverse(figures(&b.1))).then_with(|| labels(a, b).unwrap_or(Ordering::Equal))
}

/// Length of the union of spans.
fn union(mut spans: Vec<(Ticks, Ticks)>) -> u128 {
    spans.sort_unstable();
    let (mut sum, mut until) = (0u128, Ticks(i64::MIN));
    for (from, to) in spans {
        let from = from.max(until);
        sum += u128::from(if to > from { to.0.abs_diff(from.0) } else { 0 });
        until = until.max(to);
    }
    sum
}

/// Times at which requests of each disk were opened (true) and closed (false), in order; what is closed goes first. Without those whose
/// start is not known, and cut to a range.
pub fn changes<'r>(requests: impl Iterator<Item = &'r Request>, range: TickRange) -> BTreeMap<u32, Vec<(Ticks, bool)>> {
    let mut by_disk: BTreeMap<u32, Vec<(Ticks, bool)>> = BTreeMap::new();
    for request in requests {
        let Some(start) = request.start else { continue };
        let (from, to) = (range.clip(start.time), range.clip(request.end.time));
        if from < to {
            by_disk.entry(request.disk).or_default().extend([(from, true), (to, false)]);
        }
    }
    by_disk.values_mut().for_each(|list| list.sort_unstable());
    by_disk
}

/// Most requests of one disk that were open at one time.
fn deepest<'r>(requests: impl Iterator<Item = &'r Request>, range: TickRange) -> u64 {
    let most = |list: Vec<(Ticks, bool)>| {
        let depths = list.into_iter().scan(0u64, |depth, (_, opens)| {
            *depth = if opens { *depth + 1 } else { depth.saturating_sub(1) };
            Some(*depth)
        });
        depths.max().unwrap_or(0)
    };
    changes(requests, range).into_values().map(most).max().unwrap_or(0)
}
