//! Stacks (`pfnset stacks`): which code did it. For each event of a kind the stack of the thread that caused it, with names, counted
//! and weighted.
//!
//! Sources: `docs/stacks.md`.

mod code_lifetimes;
mod comparable_rows;
mod counting;
mod counts;
#[cfg(feature = "export")]
mod each_event;
#[cfg(feature = "cli")]
mod event_log;
mod event_stacks;
mod frame_labels;
mod frame_names;
mod frame_sums;
mod hottest_path;
mod image_and_method_names;
mod loaded_code;
mod mixed_builds;
mod named_slices;
mod process_labels;
#[cfg(feature = "cli")]
mod profile_tracks;
mod query;
mod recent_names;
mod rows;
mod sample_capacity;
mod sample_coverage;
mod sample_gaps;
mod samples_by_processor;
mod sampling_intervals;
mod stack_keys;
mod stack_labels;
mod stack_matching;
mod stack_texts;
mod switch_chains;
mod symbol_needs;
mod symbol_use;
mod text_interner;
mod tree;

pub(crate) use comparable_rows::in_one_case;
#[cfg(feature = "cli")]
pub(crate) use counting::Logged;
pub use counts::StackCounts;
#[cfg(feature = "export")]
pub(crate) use each_event::{ListedEvent, each_event};
#[cfg(feature = "cli")]
pub(crate) use event_log::EventLog;
pub(crate) use event_stacks::EventStacks;
#[cfg(feature = "cli")]
pub(crate) use frame_names::Label as FrameLabel;
pub(crate) use frame_names::{NO_STACK_TEXT, Names, UNKNOWN_ADDRESS};
pub(crate) use loaded_code::AddressSpaces;
pub(crate) use process_labels::{
    ENDS_MISSING, NO_PROCESS_KNOWN, Owners, PROCESS_DIFFERS, STARTS_MISSING, process_differs,
};
#[cfg(feature = "cli")]
pub(crate) use profile_tracks::{Found, Owned, PartKind, ProfileEvent, ProfileFrame, ProfilePart, Track};
pub use query::Dimension;
pub use query::{Kind, StackQuery, Weight};
pub use rows::{FunctionRow, ModuleRow, ProcessRow, SelfAndTotal, Totals};
#[cfg(feature = "cli")]
pub(crate) use rows::{Key, StackId, Threads};
pub(crate) use sample_capacity::{BEYOND_CAPACITY, TimeOfSamples};
pub(crate) use sample_coverage::SampleCoverage;
pub(crate) use sample_gaps::SampleGaps;
pub(crate) use samples_by_processor::{NO_SAMPLES, SamplesByProcessor};
pub(crate) use sampling_intervals::ProfileIntervals;
pub(crate) use stack_labels::StackLabels;
pub use stack_matching::JoinCounts;
pub(crate) use stack_texts::StackTexts;
pub use symbol_needs::SymbolNeeds;
pub use symbol_use::SymbolUse;
pub(crate) use text_interner::Texts;
pub use tree::{Root, TreeQuery, TreeRow};

use crate::analysis::recording_end::begun_inside;
use crate::analysis::table::Group;
use crate::dimensions::Condition;
use crate::error::{Error, Missing};
use crate::etl::log_file_header::{MODE_NO_PER_PROCESSOR, MOST_PROCESSORS};
use crate::etl::record_id::{HookId, RecordId};
use crate::load::allocation_rules::LeftOut;
use crate::load::stacks::first_walk::{Counts, Parts, session_pointer};
use crate::load::stacks::frame_trie::FrameTrie;
use crate::load::stacks::second_walk::{EventChoice, kind_of};
use crate::load::stacks::stack_events::{Events, StackEvent};
use crate::load::stacks::stack_records::PartList;
use crate::model::window::{Ends, Window};
use crate::moment::{At, Moment};
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::readiness::undescribed;
use crate::trace::trust::warning::{Warning, Warnings, no_switches_of, symbols_missing};
use crate::units::{Nanos, counted};
use counting::Counting;
use query::{KINDS, event_name};
use rayon::prelude::*;
use rows::WholeStacks;
use stack_matching::{Attached, Joined};
use std::collections::BTreeMap;

/// Events of one kind that have stacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindRow {
    /// As in `--of`.
    pub event: String,
    /// Records.
    pub events: u64,
    /// Those with a stack.
    pub with_stack: u64,
    /// Those without user frames.
    pub kernel_only: u64,
    /// Those whose user frames are missing.
    pub incomplete: u64,
}

/// The time window that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackWindow {
    /// The first and the last moment, since trace start; `None`: that of the trace.
    pub times: (Option<Nanos>, Option<Nanos>),
    /// Texts of the marks at its ends.
    pub marks: (Option<String>, Option<String>),
}

/// What `pfnset stacks` shows.
#[derive(Debug)]
pub struct StackSet {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// Records of the whole trace.
    pub counts: Counts,
    /// How they were joined.
    pub joined: JoinCounts,
    /// Records of the kind in the whole trace that count as no allocation.
    pub left_out: u64,
    /// Kinds with stacks, of the whole trace.
    pub kinds: Vec<KindRow>,
    /// The kind.
    pub of: Kind,
    /// Conditions that chose what is counted: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// What the innermost function had to match, where the user named it.
    pub(crate) leaf: Option<String>,
    /// To how many outermost frames stacks were cut, where the user said it.
    pub(crate) max_depth: Option<usize>,
    /// What the functions had to match whose callers, or callees, the tree is of, where the user named them.
    pub(crate) root: Option<String>,
    /// In which modules neighbouring frames became one, where the user named some.
    pub(crate) fold: Option<String>,
    /// Sums.
    pub totals: Totals,
    /// By process, most weight first.
    pub processes: Vec<ProcessRow>,
    /// By module, most total first; empty where the distinct stacks, or a comparison, were wanted.
    pub modules: Vec<ModuleRow>,
    /// By function, most total first; empty where the distinct stacks, or a comparison, were wanted.
    pub functions: Vec<FunctionRow>,
    /// Distinct stacks with their processes, where they were wanted.
    pub(crate) stacks: WholeStacks,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// Rows by these dimensions; labels of very long stacks are cut.
    pub rows: Vec<Group<StackCounts>>,
    /// The same with what has a row's function or module innermost and anywhere, where they are wanted for a comparison.
    pub(crate) compared: Vec<Group<SelfAndTotal>>,
    /// The whole stacks of the rows.
    pub(crate) texts: StackTexts,
    /// True when a tree was wanted.
    pub has_tree: bool,
    /// True when it is of callers: then it leads to where stacks begin.
    pub(crate) is_of_callers: bool,
    /// The tree, where one was wanted.
    pub tree: Vec<TreeRow>,
    /// The hottest path, outermost function first, where it was wanted.
    pub hottest: Vec<TreeRow>,
    /// The window, where the user named one.
    pub window: Option<StackWindow>,
    /// From the first to the last event of the kind in the window.
    pub span_ns: u64,
    /// The shortest and the longest profile interval of samples.
    pub interval_ns: Option<(u64, u64)>,
    /// Images of frames, those with most frames without a name first.
    pub symbols: Vec<SymbolUse>,
}

/// What is wrong with the trace, what is not there of what names processes, modules and functions, and which records count as no
/// allocation. `told`: of the search for symbols.
fn warnings(
    trace: &Trace,
    kinds: &[KindRow],
    left_out: LeftOut,
    doubts: impl IntoIterator<Item = Warning>,
    told: Vec<String>,
) -> Warnings {
    let mut missing = trace.missing(&STACK_EVENTS);
    // Stacks can be parts of their events too: the table says of which events they are known.
    missing.retain(|need| need.keyword != STACK_EVENTS.required.keyword);
    let mut warnings = trace.trust().warnings();
    warnings.extend(doubts);
    warnings.extend(trace.trust().not_there_for(STACK_EVENTS.name, &missing));
    warnings.extend(undescribed(trace.survey(), trace.processes(), &STACK_EVENTS));
    if kinds.iter().all(|kind| kind.with_stack == 0) {
        let text = "no record of the trace has a stack: no functions (wpr CPU; xperf -stackwalk Profile+CSwitch)";
        warnings.push(Warning::note(STACK_EVENTS.name, "no_stacks", text.to_owned()));
    }
    if left_out.sum() > 0 {
        let text = format!("left out: {}", left_out.counts().join(", "));
        warnings.push(Warning::note(STACK_EVENTS.name, "records_left_out", text).of(left_out.sum()));
    }
    warnings.extend(symbols_missing(STACK_EVENTS.name, told));
    warnings
}

/// Names the processors that have no context switch, neither to a thread nor to the idle one.
fn silent_processors(trace: &Trace, events: &Events, of: &EventChoice) -> Option<Warning> {
    if *of != EventChoice::ContextSwitches {
        return None;
    }
    let header = &trace.etl().header;
    let has_buffers_of_processors = header.mode & MODE_NO_PER_PROCESSOR == 0;
    let processors = if has_buffers_of_processors { header.processors.min(MOST_PROCESSORS) } else { 0 };
    let silent = no_switches_of((0..processors).filter(|number| !events.has_switch_of(*number)))?;
    let text = format!("{silent}: waits that ended there are unknown");
    Some(Warning::note(STACK_EVENTS.name, "threads_unknown", text))
}

/// What makes sums doubtful.
fn doubts(
    (trace, query): (&Trace, &StackQuery),
    counting: &Counting<'_>,
    (events, joined): (&Events, &JoinCounts),
    of: &Kind,
) -> Vec<Warning> {
    let of_switches = counting.of_switches(trace, events).into_iter();
    let of_processors = silent_processors(trace, events, &of.0);
    let of_keys = stack_keys::doubt(counting.parts, joined);
    of_switches.chain(counting.doubts((trace, query), events, of)).chain(of_processors).chain(of_keys).collect()
}

impl StackSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when the trace holds no event of the kind, [`Error::MissingPart`] when such events were lost.
    pub fn answer(trace: &Trace, query: &StackQuery) -> Result<StackSet, Error> {
        trace.gather(crate::trace::Parts::SYSTEM);
        let mut parts = Parts::new(trace.etl());
        let of = query.of.clone().unwrap_or_else(|| default_kind(trace));
        let mut events = Events::new(trace.etl(), &parts.parts, &of.0, of.most_pool_bytes(trace));
        let Joined { stacks, counts } = stack_matching::join(&parts, &mut events);
        parts.parts = PartList::default(); // joined: their room is for what is counted now
        let kinds = kinds(trace, &events, &stacks);
        if !events.has_chosen() {
            return Err(nothing_of(trace, &of, &kinds));
        }
        let window = window(trace, query)?;
        let mut counting = Counting::new(trace, &parts, query);
        counting.window = (window.from, window.to);
        let mut names = Names::new(&parts.addresses, session_pointer(trace.etl()));
        names.hides_addresses = query.compared;
        counting.count(&mut names, &events, &stacks, &of);
        let (left_out, doubts) = (events.left_out, doubts((trace, query), &counting, (&events, &counts), &of));
        drop((events, stacks));
        names.close();
        let (searches, told) = symbol_use::read(&mut names, &query.symbols);
        let (span_ns, interval_ns) = (counting.span_ns(&trace.etl().clock), counting.interval_ns);
        let Counting { rows, processes, threads, .. } = counting;
        parts.frames = FrameTrie::default();
        query.fold.iter().for_each(|modules| names.fold(modules));
        let clock = rows::is_in_ticks(of.weight(), of.0 == EventChoice::Samples).then_some(&trace.etl().clock);
        let shown = rows::Shown::new(&names, (&processes, &threads), rows.into_things(), query, clock);
        let mut texts = StackTexts::default();
        let (modules, functions) = shown.modules_and_functions();
        Ok(StackSet {
            warnings: warnings(trace, &kinds, left_out, doubts.into_iter().chain(shown.mixed_builds()), told),
            counts: parts.counts,
            joined: counts,
            left_out: left_out.sum(),
            kinds,
            filter: Condition::written(&query.conditions),
            leaf: query.leaf.as_ref().map(Patterns::to_string),
            root: query.tree.as_ref().and_then(|tree| tree.function()).map(Patterns::to_string),
            max_depth: query.max_depth,
            fold: query.fold.as_ref().map(Patterns::to_string),
            totals: shown.totals(),
            processes: shown.processes(),
            modules,
            functions,
            stacks: if query.whole_stacks { shown.stacks() } else { WholeStacks::default() },
            rows: shown.groups(&threads, &mut texts),
            compared: shown.compared(&threads, &mut texts),
            texts,
            dimensions: query.group_by.clone(),
            symbols: symbol_use::uses(&names, shown.lists(), &searches),
            tree: query.tree.as_ref().map(|tree| shown.tree(tree)).unwrap_or_default(),
            has_tree: query.tree.is_some(),
            is_of_callers: query.tree.as_ref().is_some_and(|tree| matches!(tree.root, Root::CallersOf(_))),
            hottest: if query.hottest { shown.hottest_path() } else { Vec::new() },
            window: shown_window(trace, query, window),
            span_ns,
            interval_ns,
            of,
        })
    }
}

/// The whole trace, unless the user names an end. An event exactly at the begin is inside, one at the end is not, as in `cpu` and `faults`:
/// so windows side by side count each event once.
pub(crate) fn window(trace: &Trace, query: &StackQuery) -> Result<Window, Error> {
    let ends = Ends::of_trace(trace.etl(), trace.survey(), &trace.system().marks);
    let window = Window::between(ends, query.from.as_ref(), query.to.as_ref(), &trace.etl().clock)?;
    let mut window = begun_inside(trace, query.from.as_ref(), window)?;
    let at = |time| Moment { time, order: 0 };
    window.from = if query.from.is_some() { at(window.from.time) } else { Moment::FIRST };
    window.to = if query.to.is_some() { at(window.to.time) } else { Moment::LAST };
    Ok(window)
}

fn shown_window(trace: &Trace, query: &StackQuery, window: Window) -> Option<StackWindow> {
    let time = |moment: Moment| trace.etl().clock.nanos(moment.time);
    let times = (query.from.as_ref().map(|_| time(window.from)), query.to.as_ref().map(|_| time(window.to)));
    let is_named = query.from.is_some() || query.to.is_some();
    is_named.then_some(StackWindow { times, marks: (window.from_mark, window.to_mark) })
}

/// The error for a kind of which the trace has no event.
fn nothing_of(trace: &Trace, of: &Kind, kinds: &[KindRow]) -> Error {
    if kinds.is_empty() {
        let records = trace.survey().kernel_count(crate::event::hooks::STACK);
        return match trace.cannot_run(&STACK_EVENTS) {
            Error::MissingEvents(missing) if records > 0 => Error::MissingEvents(Missing {
                what: format!(
                    "the trace holds no events of this kind, and no event that its {} to",
                    counted(records, "stack belongs", "stacks belong")
                ),
                ..missing
            }),
            error => error,
        };
    }
    let mut known: Vec<&KindRow> = kinds.iter().collect();
    known.sort_by_key(|kind| std::cmp::Reverse(kind.with_stack));
    let name = |kind: &&KindRow| format!("{} ({})", kind.event, counted(kind.with_stack, "stack", "stacks"));
    let names: Vec<String> = known.iter().take(8).map(name).collect();
    Error::MissingEvents(Missing {
        what: format!("no event of the kind {} is in the trace", of.name()),
        advice: Some(format!("Kinds with stacks in it: {}", names.join(", "))),
    })
}

/// Samples where there are any, else the first named kind of which there are records.
fn default_kind(trace: &Trace) -> Kind {
    let survey = trace.survey();
    let has = |hooks: &[HookId]| hooks.iter().any(|hook| survey.kernel_count(*hook) > 0);
    let first = KINDS.iter().map(|(_, choice, _)| choice).find(|choice| has(choice.hooks())).cloned();
    Kind(first.unwrap_or(EventChoice::Samples))
}

fn kinds(trace: &Trace, events: &Events, stacks: &[Attached]) -> Vec<KindRow> {
    let of_class = with_stack_by_class(events, stacks);
    let mut by_kind: BTreeMap<RecordId, KindRow> = BTreeMap::new();
    for (id, [with_stack, kernel_only, incomplete]) in events.classes().iter().map(|class| class.kind).zip(of_class) {
        if with_stack == 0 {
            continue;
        }
        let row = by_kind.entry(id).or_insert_with(|| KindRow {
            event: event_name(id),
            events: 0,
            with_stack: 0,
            kernel_only: 0,
            incomplete: 0,
        });
        row.with_stack += with_stack;
        row.kernel_only += kernel_only;
        row.incomplete += incomplete;
    }
    for kind in &trace.survey().kinds {
        if let Some(row) = by_kind.get_mut(&kind_of(kind.id)) {
            row.events += kind.count;
        }
    }
    by_kind.into_values().collect()
}

/// By class, how many events have a stack, how many of these have no user frames, and of how many they are missing.
fn with_stack_by_class(events: &Events, stacks: &[Attached]) -> Vec<[u64; 3]> {
    let none = || vec![[0u64; 3]; events.classes().len()];
    // A part for each thread: a hostile trace has as many classes as events.
    let part = stacks.len().div_ceil(rayon::current_num_threads()).max(1);
    let all = events.events.par_chunks(part).zip(stacks.par_chunks(part));
    let count = |mut sums: Vec<[u64; 3]>, (events, stacks): (&[At<StackEvent>], &[Attached])| {
        for (event, stack) in events.iter().zip(stacks).filter(|(_, stack)| stack.has_stack()) {
            let Some(sum) = sums.get_mut(Events::class_number(&event.value)) else { continue };
            let is = [true, !stack.has_user_frames(), stack.is_incomplete()];
            sum.iter_mut().zip(is).for_each(|(sum, is)| *sum += u64::from(is));
        }
        sums
    };
    all.fold(none, count).reduce(none, |mut all, more| {
        all.iter_mut().flatten().zip(more.iter().flatten()).for_each(|(sum, more)| *sum += more);
        all
    })
}
