//! What is counted: by process, module, function and stack.

use super::counts::StackCounts;
use super::dimension::Dimension;
use super::frame_labels;
use super::frame_names::{FrameKind, Label as Frame, Names, Texts};
use super::query::{StackQuery, Weight};
use super::stack_texts::StackTexts;
use super::symbol_use::{self, SymbolUse};
use super::tree::{Tree, TreeQuery, TreeRow};
use crate::analysis::table::Group;
use crate::etl::clock::Clock;
use crate::facets::Label;
use crate::load::stacks::frame_lists::ListId;
use crate::symbols::PdbSearch;
use foldhash::{HashMap as FastMap, HashSet as FastSet};
use std::collections::{BTreeMap, BTreeSet};

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

    pub(super) fn add(&mut self, kind: FrameKind) {
        *match kind {
            FrameKind::Method => &mut self.method,
            FrameKind::Symbol => &mut self.symbol,
            FrameKind::Module => &mut self.module,
            FrameKind::Unknown => &mut self.unknown,
        } += 1;
    }

    fn add_times(&mut self, other: &Frames, times: u64) {
        self.method += other.method * times;
        self.symbol += other.symbol * times;
        self.module += other.module * times;
        self.unknown += other.unknown * times;
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
    pub(super) kernel: Option<ListId>,
    pub(super) user: Option<ListId>,
}

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub process: u32,
    pub thread: u32,
    pub processor: u16,
    pub stack: StackId,
}

/// Sums of a key; weights of context switches are ticks of the clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub events: u64,
    pub with_stack: u64,
    pub kernel_only: u64,
    pub user_only: u64,
    pub incomplete: u64,
    pub weight: u64,
    pub weight_unknown: u64,
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

impl SelfAndTotal {
    pub(super) fn add(&mut self, counted: &Counted, is_innermost: bool) {
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
    pub(super) rows: Vec<(Key, Counted)>,
    /// Converts a sum of weights into the unit of the kind.
    clock: Option<&'a Clock>,
    pub(super) query: &'a StackQuery,
}

impl<'a> Shown<'a> {
    pub fn new(
        names: &'a Names,
        (processes, threads): (&'a Texts, &Texts),
        rows: &FastMap<Key, Counted>,
        query: &'a StackQuery,
        clock: Option<&'a Clock>,
    ) -> Shown<'a> {
        let mut shown = Shown { names, processes, rows: Vec::new(), clock, query };
        let mut kept: Vec<(Key, Counted)> =
            rows.iter()
                .filter(|(key, _)| shown.has_leaf(key))
                .filter(|(key, _)| {
                    query.conditions.iter().all(|condition| {
                        condition.lets_pass(&shown.labels_to_filter(condition.dimension, key, threads))
                    })
                })
                .map(|(key, counted)| (*key, *counted))
                .collect();
        kept.sort_unstable_by_key(|(key, _)| *key);
        shown.rows = kept;
        shown
    }

    /// Frames of a stack as they are shown, innermost first; one frame stands for none.
    pub(super) fn frames(&self, stack: StackId) -> Vec<Frame> {
        frames_as_shown(self.names, self.query, stack)
    }

    fn all_frames(&self, stack: StackId) -> Vec<Frame> {
        all_frames(self.names, stack)
    }

    /// True for stacks whose innermost function is wanted.
    fn has_leaf(&self, key: &Key) -> bool {
        let innermost = || self.all_frames(key.stack).first().copied().unwrap_or(Frame::NoStack);
        self.query.leaf.as_ref().is_none_or(|wanted| self.names.matches(innermost(), wanted))
    }

    /// Outermost first; a `;` inside a name becomes `:`.
    fn stack_text(&self, frames: &[Frame]) -> String {
        let names = self.names.stack(frames.iter().copied());
        names.iter().rev().map(|name| name.replace(';', ":")).collect::<Vec<_>>().join(";")
    }

    /// The number of a stack as it is shown.
    fn text_number(&self, stack: StackId, texts: &mut StackTexts) -> u32 {
        let is_whole = self.query.fold.is_none() && self.query.max_depth.is_none();
        match is_whole && (stack.kernel, stack.user) != (None, None) {
            true => texts.of_lists(self.names, stack.kernel, stack.user),
            false => texts.of_frames(self.names, &self.frames(stack)),
        }
    }

    pub(super) fn label(&self, dimension: Dimension, key: &Key, threads: &Texts) -> Label {
        let innermost = || self.frames(key.stack).first().copied().unwrap_or(Frame::NoStack);
        match dimension {
            Dimension::Process => Label::name(self.processes.get(key.process)),
            Dimension::Thread => Label::of_text(threads.get(key.thread), crate::facets::Values::Number),
            Dimension::Processor => Label::number(key.processor),
            Dimension::Module => frame_labels::module(self.names, innermost()),
            Dimension::Function => frame_labels::function(self.names, innermost()),
            Dimension::Stack => Label::name(self.stack_text(&self.frames(key.stack))),
        }
    }

    fn labels_to_filter(&self, dimension: Dimension, key: &Key, threads: &Texts) -> Vec<Label> {
        let frames = || self.all_frames(key.stack).into_iter().collect::<FastSet<_>>().into_iter();
        match dimension {
            Dimension::Module => frames().map(|frame| frame_labels::module(self.names, frame)).collect(),
            Dimension::Function => frames().flat_map(|frame| frame_labels::functions(self.names, frame)).collect(),
            _ => vec![self.label(dimension, key, threads)],
        }
    }

    fn weight(&self, sum: u64) -> u64 {
        self.clock.map_or(sum, |clock| clock.length_ns(sum))
    }

    pub(super) fn counts(&self, counted: &StackCounts) -> StackCounts {
        StackCounts { weight: self.weight(counted.weight), ..*counted }
    }

    pub(super) fn self_and_total(&self, counted: &SelfAndTotal) -> SelfAndTotal {
        let (self_weight, total_weight) = (self.weight(counted.self_weight), self.weight(counted.total_weight));
        SelfAndTotal { self_weight, total_weight, ..*counted }
    }

    /// The images of all frames.
    pub fn symbols(&self, searches: &[PdbSearch]) -> Vec<SymbolUse> {
        let mut lists: FastMap<ListId, u64> = FastMap::default();
        for (key, counted) in &self.rows {
            for list in [key.stack.kernel, key.stack.user].into_iter().flatten() {
                *lists.entry(list).or_default() += counted.with_stack;
            }
        }
        symbol_use::uses(self.names, &lists, searches)
    }

    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let (mut weight, mut with_stack) = (0u64, 0u64);
        let mut known: FastMap<ListId, Frames> = FastMap::default();
        for (key, counted) in &self.rows {
            totals.events += counted.events;
            totals.with_stack += counted.with_stack;
            totals.kernel_only += counted.kernel_only;
            totals.user_only += counted.user_only;
            totals.incomplete += counted.incomplete;
            totals.weight_unknown += counted.weight_unknown;
            weight = weight.saturating_add(counted.weight);
            if counted.with_stack > 0 {
                with_stack = with_stack.saturating_add(counted.weight);
            }
            for list in [key.stack.kernel, key.stack.user].into_iter().flatten() {
                let frames = known.entry(list).or_insert_with(|| frame_counts(self.names, list));
                totals.frames.add_times(frames, counted.with_stack);
            }
        }
        (totals.weight, totals.weight_with_stack) = (self.weight(weight), self.weight(with_stack));
        totals
    }

    pub fn processes(&self) -> Vec<ProcessRow> {
        let mut by_process: BTreeMap<u32, StackCounts> = BTreeMap::new();
        self.rows.iter().for_each(|(key, counted)| *by_process.entry(key.process).or_default() += counted.into());
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

    /// Adds each row to what its frames are called, once for each name.
    fn by_name<N: Ord + Clone>(&self, name: impl Fn(Frame) -> N) -> BTreeMap<N, SelfAndTotal> {
        let mut numbers: FastMap<Frame, usize> = FastMap::default();
        let mut by_name: BTreeMap<N, usize> = BTreeMap::new();
        let mut sums: Vec<SelfAndTotal> = Vec::new();
        // By name, the last row that was added to it: recursion counts once.
        let mut added: Vec<usize> = Vec::new();
        for (row, (key, counted)) in self.rows.iter().enumerate() {
            for (depth, frame) in self.frames(key.stack).into_iter().enumerate() {
                let number = *numbers.entry(frame).or_insert_with(|| {
                    let next = by_name.len();
                    *by_name.entry(name(frame)).or_insert_with(|| {
                        sums.push(SelfAndTotal::default());
                        added.push(usize::MAX);
                        next
                    })
                });
                if let (Some(sum), Some(last)) = (sums.get_mut(number), added.get_mut(number))
                    && *last != row
                {
                    sum.add(counted, depth == 0);
                    *last = row;
                }
            }
        }
        let sum = |number: usize| sums.get(number).map(|sum| self.self_and_total(sum)).unwrap_or_default();
        by_name.into_iter().map(|(name, number)| (name, sum(number))).collect()
    }

    pub fn modules(&self) -> Vec<ModuleRow> {
        let by_name = self.by_name(|frame| self.names.module(frame).map(str::to_owned));
        let mut rows: Vec<ModuleRow> =
            by_name.into_iter().map(|(module, counts)| ModuleRow { module, counts }).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.total_events));
        rows
    }

    pub fn functions(&self) -> Vec<FunctionRow> {
        let by_name = self.by_name(|frame| (self.names.text(frame), self.names.module(frame).map(str::to_owned)));
        let row = |((function, module), counts)| FunctionRow { function, module, counts };
        let mut rows: Vec<FunctionRow> = by_name.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.total_events));
        rows
    }

    pub fn stacks(&self) -> WholeStacks {
        let mut by_stack: BTreeMap<(u32, StackId), StackCounts> = BTreeMap::new();
        for (key, counted) in &self.rows {
            *by_stack.entry((key.process, key.stack)).or_default() += counted.into();
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
        for (key, counted) in self.rows.iter().filter(|(_, counted)| !query.by_process || counted.with_stack > 0) {
            let is_root = |frame: Frame| query.function().is_some_and(|wanted| self.names.matches(frame, wanted));
            let named =
                |frame: Frame| known.entry(frame).or_insert_with(|| (self.names.text(frame), is_root(frame))).clone();
            let process = query.by_process.then(|| (self.processes.get(key.process).to_owned(), false));
            let frames = process.into_iter().chain(self.frames(key.stack).into_iter().rev().map(named));
            tree.add(query, &frames.collect::<Vec<(String, bool)>>(), counted.into());
        }
        let row = |row: TreeRow| TreeRow { counts: self.counts(&row.counts), ..row };
        tree.rows(query).into_iter().map(row).collect()
    }

    /// The numbers of the texts of all stacks, where they are a dimension.
    pub(super) fn stack_numbers(&self, dimensions: &[Dimension], texts: &mut StackTexts) -> FastMap<StackId, u32> {
        let mut stacks: FastMap<StackId, u32> = FastMap::default();
        if dimensions.contains(&Dimension::Stack) {
            let distinct: BTreeSet<StackId> = self.rows.iter().map(|(key, _)| key.stack).collect();
            stacks.extend(distinct.into_iter().map(|stack| (stack, self.text_number(stack, texts))));
            texts.rank();
        }
        stacks
    }

    pub fn groups(&self, dimensions: &[Dimension], threads: &Texts, texts: &mut StackTexts) -> Vec<Group<StackCounts>> {
        let stacks = self.stack_numbers(dimensions, texts);
        let label = |dimension: Dimension, key: &Key| match stacks.get(&key.stack) {
            Some(number) if dimension == Dimension::Stack => texts.label(*number),
            _ => self.label(dimension, key, threads),
        };
        let mut groups: BTreeMap<Vec<Label>, StackCounts> = BTreeMap::new();
        for (key, counted) in &self.rows {
            let labels = dimensions.iter().map(|dimension| label(*dimension, key)).collect();
            *groups.entry(labels).or_default() += counted.into();
        }
        groups.into_iter().map(|(labels, counts)| Group { labels, measure: self.counts(&counts) }).collect()
    }
}

fn all_frames(names: &Names, stack: StackId) -> Vec<Frame> {
    let part = |list: Option<ListId>| list.map_or(&[][..], |list| names.labels.get(list));
    let frames: Vec<Frame> = part(stack.kernel).iter().chain(part(stack.user)).copied().collect();
    if frames.is_empty() { vec![Frame::NoStack] } else { frames }
}

/// Frames of a stack as a query wants them, innermost first; one frame stands for none.
pub(super) fn frames_as_shown(names: &Names, query: &StackQuery, stack: StackId) -> Vec<Frame> {
    let mut frames = all_frames(names, stack);
    if let Some(wanted) = &query.fold {
        frames = frames.into_iter().map(|frame| names.folded(frame, wanted)).collect();
        frames.dedup_by(|a, b| a == b && matches!(a, Frame::Folded(_)));
    }
    if let Some(most) = query.max_depth {
        frames.drain(..frames.len().saturating_sub(most.max(1)));
    }
    frames
}

impl From<&Counted> for StackCounts {
    fn from(counted: &Counted) -> StackCounts {
        StackCounts { events: counted.events, with_stack: counted.with_stack, weight: counted.weight }
    }
}

/// True when weights are ticks that become nanoseconds when they are summed up.
pub(super) fn is_in_ticks(weight: Weight, of_samples: bool) -> bool {
    weight == Weight::Time && !of_samples
}

/// Frames of a label list by kind.
fn frame_counts(names: &Names, list: ListId) -> Frames {
    let mut frames = Frames::default();
    names.labels.get(list).iter().filter_map(|label| names.kind(*label)).for_each(|kind| frames.add(kind));
    frames
}
