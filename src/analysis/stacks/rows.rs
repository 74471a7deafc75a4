//! What is counted: by process, module, function and stack.

use super::counts::StackCounts;
use super::frame_labels;
use super::frame_names::{FrameKind, Label as Frame, NO_STACK, Names};
use super::query::{Dimension, StackQuery, Weight};
use super::stack_texts::StackTexts;
use super::text_interner::Texts;
use super::tree::{Tree, TreeQuery, TreeRow};
use crate::analysis::table::Group;
use crate::dimensions::{Condition, Label};
use crate::etl::clock::Clock;
use crate::load::stacks::frame_trie::PathId;
use crate::load::stacks::interner::Numbered;
use foldhash::{HashMap as FastMap, HashSet as FastSet};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

/// Frames by what is known of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    /// In methods of .NET.
    pub method: u64,
    /// In functions of images, by their databases.
    pub symbol: u64,
    /// In images without symbols.
    pub module: u64,
    /// At other addresses.
    pub unknown: u64,
}

impl Frames {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.method + self.symbol + self.module + self.unknown
    }

    pub(super) fn add(&mut self, kind: FrameKind, times: u64) {
        *match kind {
            FrameKind::Method => &mut self.method,
            FrameKind::Symbol => &mut self.symbol,
            FrameKind::Module => &mut self.module,
            FrameKind::Unknown => &mut self.unknown,
        } += times;
    }
}

/// Sums over the chosen events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events.
    pub events: u64,
    /// With a stack.
    pub with_stack: u64,
    /// Without user frames.
    pub kernel_only: u64,
    /// User frames are missing.
    pub incomplete: u64,
    /// Without frames of the kernel.
    pub user_only: u64,
    /// Weight, in the kind's unit.
    pub weight: u64,
    /// Of those with a stack.
    pub weight_with_stack: u64,
    /// Events whose weight is unknown.
    pub weight_unknown: u64,
    /// Frames.
    pub frames: Frames,
}

/// A stack: the names of its parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StackId {
    pub(super) kernel: Option<PathId>,
    pub(super) user: Option<PathId>,
}

impl StackId {
    /// True when it has frames.
    pub(super) fn has_frames(self) -> bool {
        self.kernel.is_some() || self.user.is_some()
    }

    /// A number that most other stacks do not have.
    #[inline]
    pub(super) fn near(self) -> usize {
        self.user.or(self.kernel).map_or(0, PathId::place)
    }
}

/// Ids of threads; `None` where it is unknown.
pub(crate) type Threads = Numbered<Option<u32>>;

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub process: u32,
    /// Its number among the [`Threads`].
    pub thread: u32,
    pub processor: u16,
    pub stack: StackId,
}

/// Sums of a key; weights of context switches are ticks of the clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub events: u64,
    pub weight: u64,
    /// Four bytes are enough for these: all events are in memory, with more than 40 bytes each.
    pub kernel_only: u32,
    pub incomplete: u32,
}

/// A key with its sums, which do not make it another row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub key: Key,
    /// Events whose weight is unknown.
    pub weight_unknown: u32,
    pub counted: Counted,
}

const _: () = assert!(size_of::<Row>() == 48);

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.key == other.key
    }
}

impl Eq for Row {}

impl Hash for Row {
    /// Of each event: in three words instead of seven parts.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Key { process, thread, processor, stack } = self.key;
        let place = |path: Option<PathId>| path.map_or(0, |path| u64::from(path.get()));
        state.write_u64(u64::from(process) << 32 | u64::from(thread));
        state.write_u64(place(stack.kernel) << 32 ^ place(stack.user));
        state.write_u16(processor);
    }
}

impl Row {
    /// Nothing is counted yet.
    pub fn of(key: Key) -> Row {
        Row { key, weight_unknown: 0, counted: Counted::default() }
    }

    /// Its events with a stack.
    pub fn with_stack(&self) -> u64 {
        if self.key.stack.has_frames() { self.counted.events } else { 0 }
    }
}

/// Events in which a function, or module, is innermost (self) or anywhere (total).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SelfAndTotal {
    /// Events with it innermost.
    pub self_events: u64,
    /// Events with it anywhere; recursion counts once.
    pub total_events: u64,
    /// Their weight.
    pub self_weight: u64,
    /// Their weight.
    pub total_weight: u64,
}

impl std::ops::AddAssign for SelfAndTotal {
    fn add_assign(&mut self, other: SelfAndTotal) {
        self.total_events += other.total_events;
        self.total_weight = self.total_weight.saturating_add(other.total_weight);
        self.self_events += other.self_events;
        self.self_weight = self.self_weight.saturating_add(other.self_weight);
    }
}

impl SelfAndTotal {
    pub(super) fn add(&mut self, Row { counted, .. }: &Row, is_innermost: bool) {
        self.total_events += counted.events;
        self.total_weight = self.total_weight.saturating_add(counted.weight);
        if is_innermost {
            self.self_events += counted.events;
            self.self_weight = self.self_weight.saturating_add(counted.weight);
        }
    }
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// Label.
    pub process: String,
    /// Counts.
    pub counts: StackCounts,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleRow {
    /// File name; `None` for addresses in no module, and for events without a stack.
    pub module: Option<String>,
    /// Counts.
    pub counts: SelfAndTotal,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRow {
    /// Label.
    pub function: String,
    /// Its module.
    pub module: Option<String>,
    /// Counts.
    pub counts: SelfAndTotal,
}

/// The distinct stacks of processes, in the order of their texts.
#[derive(Debug, Default)]
pub(crate) struct WholeStacks {
    texts: StackTexts,
    processes: Texts,
    rows: Vec<(u32, u32, StackCounts)>,
}

impl WholeStacks {
    /// The label of the process, names of all frames, outermost first, and counts.
    pub fn ways(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>, StackCounts)> {
        self.rows
            .iter()
            .map(|(process, stack, counts)| (self.processes.get(*process), self.texts.names(*stack), *counts))
    }

    /// Names of the process and of all frames, outermost first, with `;` between them, and counts.
    pub fn rows(&self) -> impl Iterator<Item = (String, StackCounts)> {
        let text = |process: u32, stack: u32| {
            let names = std::iter::once(self.processes.get(process)).chain(self.texts.names(stack));
            names.collect::<Vec<_>>().join(";")
        };
        self.rows.iter().map(move |(process, stack, counts)| (text(*process, *stack), *counts))
    }
}

/// The rows that conditions let pass.
pub(super) struct Shown<'a> {
    pub(super) names: &'a Names,
    processes: &'a Texts,
    pub(super) rows: Vec<Row>,
    /// Converts a sum of weights into the unit of the kind.
    clock: Option<&'a Clock>,
    pub(super) query: &'a StackQuery,
}

impl<'a> Shown<'a> {
    pub fn new(
        names: &'a Names,
        (processes, threads): (&'a Texts, &Threads),
        mut rows: Vec<Row>,
        query: &'a StackQuery,
        clock: Option<&'a Clock>,
    ) -> Shown<'a> {
        let mut shown = Shown { names, processes, rows: Vec::new(), clock, query };
        let meets = |key: &Key, condition: &Condition<Dimension>| {
            condition.matches(&shown.labels_to_filter(condition.dimension, key, threads))
        };
        if query.leaf.is_some() || !query.conditions.is_empty() {
            rows.retain(|Row { key, .. }| {
                shown.has_leaf(key) && query.conditions.iter().all(|condition| meets(key, condition))
            });
        }
        rows.par_sort_unstable_by_key(|row| row.key);
        shown.rows = rows;
        shown
    }

    /// Frames of a stack as they are shown, innermost first; one frame stands for none.
    pub(super) fn frames(&self, stack: StackId) -> Vec<Frame> {
        frames_as_shown(self.names, self.query, stack)
    }

    fn innermost(&self, key: &Key) -> Frame {
        self.frames(key.stack).first().copied().unwrap_or(Frame::NoStack)
    }

    /// True for stacks whose innermost function is wanted.
    fn has_leaf(&self, key: &Key) -> bool {
        let innermost = || all_numbers(self.names, key.stack).next().unwrap_or(NO_STACK);
        self.query.leaf.as_ref().is_none_or(|wanted| self.names.matches(self.names.frame(innermost()), wanted))
    }

    fn stack_text(&self, frames: &[Frame]) -> String {
        frame_labels::stack_text(&self.names.stack(frames.iter().copied(), |frame| self.names.text(frame)))
    }

    /// The number of a stack as it is shown.
    fn text_number(&self, stack: StackId, texts: &mut StackTexts) -> u32 {
        let is_whole = self.query.fold.is_none() && self.query.max_depth.is_none();
        match is_whole && stack.has_frames() {
            true => texts.of_lists(self.names, stack.kernel, stack.user),
            false => texts.of_frames(self.names, &self.frames(stack)),
        }
    }

    pub(super) fn label(&self, dimension: Dimension, key: &Key, threads: &Threads) -> Label {
        match dimension {
            Dimension::Process => Label::name(self.processes.get(key.process)),
            Dimension::Thread => {
                let id = threads.get(key.thread).copied().flatten();
                id.map_or_else(|| Label::name("Unknown"), Label::number)
            }
            Dimension::Processor => Label::number(key.processor),
            Dimension::Module => frame_labels::module(self.names, self.innermost(key)),
            Dimension::Function => frame_labels::function(self.names, self.innermost(key)),
            Dimension::Stack => Label::name(self.stack_text(&self.frames(key.stack))),
        }
    }

    fn labels_to_filter(&self, dimension: Dimension, key: &Key, threads: &Threads) -> Vec<Label> {
        let frames = || {
            let numbers: FastSet<u32> = all_numbers(self.names, key.stack).collect();
            numbers.into_iter().map(|number| self.names.frame(number))
        };
        match dimension {
            Dimension::Module => frames().map(|frame| frame_labels::module(self.names, frame)).collect(),
            Dimension::Function => frames().flat_map(|frame| frame_labels::functions(self.names, frame)).collect(),
            Dimension::Stack => frame_labels::stacks(self.names, &self.frames(key.stack)),
            _ => vec![self.label(dimension, key, threads)],
        }
    }

    pub(super) fn weight(&self, sum: u64) -> u64 {
        self.clock.map_or(sum, |clock| clock.length_ns(sum))
    }

    pub(super) fn counts(&self, counted: &StackCounts) -> StackCounts {
        StackCounts { weight: self.weight(counted.weight), ..*counted }
    }

    pub(super) fn self_and_total(&self, counted: &SelfAndTotal) -> SelfAndTotal {
        let (self_weight, total_weight) = (self.weight(counted.self_weight), self.weight(counted.total_weight));
        SelfAndTotal { self_weight, total_weight, ..*counted }
    }

    pub fn processes(&self) -> Vec<ProcessRow> {
        let mut by_process: BTreeMap<u32, StackCounts> = BTreeMap::new();
        self.rows.iter().for_each(|row| *by_process.entry(row.key.process).or_default() += row.into());
        let row = |(process, counts): (u32, StackCounts)| ProcessRow {
            process: self.processes.get(process).to_owned(),
            counts: self.counts(&counts),
        };
        let mut rows: Vec<ProcessRow> = by_process.into_iter().map(row).collect();
        rows.sort_by(|a, b| {
            let order = |row: &ProcessRow| std::cmp::Reverse((row.counts.weight, row.counts.events));
            order(a).cmp(&order(b)).then_with(|| a.process.cmp(&b.process))
        });
        rows
    }

    pub fn stacks(&self) -> WholeStacks {
        let mut by_stack: BTreeMap<(u32, StackId), StackCounts> = BTreeMap::new();
        for row in &self.rows {
            *by_stack.entry((row.key.process, row.key.stack)).or_default() += row.into();
        }
        let mut whole = WholeStacks { texts: StackTexts::of_lines(), ..WholeStacks::default() };
        let mut sums: FastMap<(u32, u32), StackCounts> = FastMap::default();
        for ((process, stack), counts) in by_stack {
            let process = whole.processes.id(&whole.texts.name(self.processes.get(process)));
            let stack = self.text_number(stack, &mut whole.texts);
            *sums.entry((process, stack)).or_default() += self.counts(&counts);
        }
        whole.rows = sums.into_iter().map(|((process, stack), counts)| (process, stack, counts)).collect();
        let WholeStacks { texts, processes, rows } = &mut whole;
        let name = |process: u32| processes.get(process).bytes().chain([b';']);
        rows.sort_unstable_by(|a, b| if a.0 == b.0 { texts.order(a.1, b.1) } else { name(a.0).cmp(name(b.0)) });
        whole
    }

    /// The tree of all rows.
    pub fn tree(&self, query: &TreeQuery) -> Vec<TreeRow> {
        let mut tree = Tree::default();
        let mut known: FastMap<Frame, (String, bool)> = FastMap::default();
        for row in self.rows.iter().filter(|row| !query.by_process || row.with_stack() > 0) {
            let is_root = |frame: Frame| query.function().is_some_and(|wanted| self.names.matches(frame, wanted));
            let named =
                |frame: Frame| known.entry(frame).or_insert_with(|| (self.names.text(frame), is_root(frame))).clone();
            let process = query.by_process.then(|| (self.processes.get(row.key.process).to_owned(), false));
            let frames = process.into_iter().chain(self.frames(row.key.stack).into_iter().rev().map(named));
            tree.add(query, &frames.collect::<Vec<(String, bool)>>(), row.into());
        }
        let row = |row: TreeRow| TreeRow { counts: self.counts(&row.counts), ..row };
        tree.rows(query).into_iter().map(row).collect()
    }

    /// The numbers of the texts of all stacks, where they are a dimension.
    pub(super) fn stack_numbers(&self, dimensions: &[Dimension], texts: &mut StackTexts) -> FastMap<StackId, u32> {
        let mut stacks: FastMap<StackId, u32> = FastMap::default();
        if dimensions.contains(&Dimension::Stack) {
            let distinct: BTreeSet<StackId> = self.rows.iter().map(|row| row.key.stack).collect();
            stacks.extend(distinct.into_iter().map(|stack| (stack, self.text_number(stack, texts))));
            texts.rank();
        }
        stacks
    }

    /// The rows that the query wants; none where they are for a comparison.
    pub fn groups(&self, threads: &Threads, texts: &mut StackTexts) -> Vec<Group<StackCounts>> {
        let dimensions = &self.query.group_by;
        if self.query.compared || dimensions.is_empty() {
            return Vec::new();
        }
        let stacks = self.stack_numbers(dimensions, texts);
        let label = |dimension: Dimension, key: &Key| match stacks.get(&key.stack) {
            Some(number) if dimension == Dimension::Stack => texts.label(*number),
            _ => self.label(dimension, key, threads),
        };
        let mut groups: BTreeMap<Vec<Label>, StackCounts> = BTreeMap::new();
        for row in &self.rows {
            let labels = dimensions.iter().map(|dimension| label(*dimension, &row.key)).collect();
            *groups.entry(labels).or_default() += row.into();
        }
        groups.into_iter().map(|(labels, counts)| Group { labels, measure: self.counts(&counts) }).collect()
    }
}

/// Numbers of the frames of a stack, innermost first.
pub(super) fn all_numbers(names: &Names, stack: StackId) -> impl Iterator<Item = u32> {
    let none = (!stack.has_frames()).then_some(NO_STACK);
    names.numbers(stack.kernel).chain(names.numbers(stack.user)).chain(none)
}

/// Numbers of the frames of a stack as a query wants them, innermost first; one frame stands for none.
pub(super) fn numbers_as_shown(names: &Names, query: &StackQuery, stack: StackId, numbers: &mut Vec<u32>) {
    numbers.clear();
    numbers.extend(all_numbers(names, stack));
    if query.fold.is_some() {
        numbers.iter_mut().for_each(|number| *number = names.folded(*number));
        numbers.dedup_by(|a, b| a == b && matches!(names.frame(*a), Frame::Folded(_)));
    }
    if let Some(most) = query.max_depth {
        numbers.drain(..numbers.len().saturating_sub(most.max(1)));
    }
}

/// The same frames.
pub(super) fn frames_as_shown(names: &Names, query: &StackQuery, stack: StackId) -> Vec<Frame> {
    let mut numbers = Vec::new();
    numbers_as_shown(names, query, stack, &mut numbers);
    numbers.into_iter().map(|number| names.frame(number)).collect()
}

impl From<&Row> for StackCounts {
    fn from(row: &Row) -> StackCounts {
        StackCounts { events: row.counted.events, with_stack: row.with_stack(), weight: row.counted.weight }
    }
}

/// True when weights are ticks that become nanoseconds when they are summed up.
pub(super) fn is_in_ticks(weight: Weight, of_samples: bool) -> bool {
    weight == Weight::Time && !of_samples
}
