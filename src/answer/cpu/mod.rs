//! The answer of `pfnset cpu`. Wire format: docs/json.md, schema `pfnset.cpu`.

mod by_samples;
mod json;

pub(crate) use by_samples::answer as answer_by_samples;

use crate::analysis::cpu::query::CpuOrder;
use crate::analysis::cpu::switch_stacks::{RecordShare, StackShare};
use crate::analysis::cpu::{CpuUse, ProcessorUse, SERIES, Sampling};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::numbers::{self, TimeUnit};
use crate::answer::rows::{Records, Rows};
use crate::answer::text_block::Block;
use crate::model::window::Window;
use crate::units::{Nanos, counted};

/// How many rows the summary lists where the user does not say.
const SUMMARY_ROWS: usize = 8;

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

impl CpuView {
    /// The order of its rows where the user does not say: most of what it shows first.
    pub const fn order(self) -> CpuOrder {
        match self {
            CpuView::Delays => CpuOrder::Ready,
            CpuView::Waits => CpuOrder::Waits,
            CpuView::States => CpuOrder::Running,
            _ => CpuOrder::Cpu,
        }
    }
}

/// What is shown of a result, and how.
#[derive(Debug, Clone, Copy)]
pub struct CpuDisplay {
    /// The view.
    pub view: CpuView,
    /// Order of nested rows, as that of the query.
    pub order: CpuOrder,
    /// Rows of a level that people see; `None` = all.
    pub top: Option<usize>,
    /// Unit of times for people.
    pub unit: TimeUnit,
    /// True where the user said what rows are grouped by.
    pub is_grouped: bool,
}

/// The answer of `pfnset cpu`, in one of its views.
pub fn answer(set: &CpuUse, display: CpuDisplay) -> Answer<'_> {
    let CpuDisplay { view, unit, .. } = display;
    let title = title(set, view, unit);
    let warnings = if view == CpuView::Sampling { set.warnings_beside_samples() } else { set.warnings.clone() };
    let mut screen = vec![Block::Title(title.clone())];
    if view != CpuView::Summary {
        screen.push(Block::Blank);
    }
    let rows = rows(set, display, title);
    let has_own_rows = !matches!(view, CpuView::Summary | CpuView::Rows | CpuView::Timeline);
    let has_none = has_own_rows && !set.rows.is_empty() && rows.table().lines.is_empty();
    match view {
        _ if has_none => screen.push(Block::Text(no_rows(set))),
        CpuView::Summary => screen.extend(summary(set, display)),
        CpuView::Sampling => {
            screen.extend([Block::Text(bases(set, unit)), Block::Blank, Block::Rows(0)]);
        }
        _ => screen.push(Block::Rows(0)),
    }
    screen.extend(of_columns(set, view).map(|text| Block::Text(text.to_owned())));
    screen.extend(stacks_known(set, view).into_iter().flat_map(|told| [Block::Blank, Block::Text(told)]));
    screen.extend(smaller_groups(set).map(Block::Line));
    // Above the tables of every form, also of those with chosen columns, which have no screen.
    let is_without_rows = !set.filter.is_empty() && set.rows.is_empty();
    Answer {
        facts: json::facts(set, &warnings),
        warnings,
        headline: is_without_rows.then(|| without_rows(set, unit)).into_iter().collect(),
        tables: vec![rows],
        notes: notes(set, display, has_none),
        screen: Some(screen),
        units: Units { time: unit, ..Units::default() },
        ..Answer::new("pfnset.cpu")
    }
    .chosen_by(&set.filter)
}

/// What a screen says above its rows and below them.
fn notes(set: &CpuUse, CpuDisplay { view, unit, .. }: CpuDisplay, has_none: bool) -> Vec<String> {
    let above = match view {
        _ if has_none => vec![no_rows(set)],
        CpuView::Summary => of_processors(set, unit).to_vec(),
        CpuView::Sampling => vec![bases(set, unit)],
        _ => Vec::new(),
    };
    let below = of_columns(set, view).map(str::to_owned);
    above.into_iter().chain(below).chain(stacks_known(set, view)).chain(smaller_groups(set)).collect()
}

/// What single columns or rows count.
fn of_columns(set: &CpuUse, view: CpuView) -> impl Iterator<Item = &'static str> {
    let told = [
        (view == CpuView::Sampling && set.sampling_unknown_is_of_both(), UNKNOWN_OF_BOTH),
        (view == CpuView::Timeline && !set.filter.is_empty(), OF_ALL_THREADS),
        (view == CpuView::Rows && set.counts_idle_switches(), ALL_SWITCHES),
    ];
    told.into_iter().filter_map(|(is_told, text)| is_told.then_some(text))
}

fn smaller_groups(set: &CpuUse) -> Option<String> {
    let more = set.smaller_groups() as u64;
    (more > 0).then(|| format!("{} smaller groups are not shown: --format csv has all", numbers::count(more)))
}

fn rows(set: &CpuUse, CpuDisplay { view, order, top, is_grouped, .. }: CpuDisplay, title: String) -> Rows<'_> {
    let table = match view {
        CpuView::Timeline => {
            let records = Records::streamed(SERIES, || set.series_records());
            return Rows::new(records, move || set.timeline_table(is_grouped).titled(title.clone()));
        }
        CpuView::Summary | CpuView::Rows => set.row_table(order, top),
        CpuView::Delays => set.delay_table(top),
        CpuView::Preemption => set.preemption_table(top),
        CpuView::Waits => set.wait_table(top),
        CpuView::Wakers => set.waker_table(top),
        CpuView::Interrupts => set.interrupt_table(top),
        CpuView::States => set.state_table(top),
        CpuView::Sampling => set.sampling_table(top),
        CpuView::Queue => set.queue_table(top),
    };
    table.titled(title).into()
}

/// That threads ran, but did nothing of what the view shows.
fn no_rows(set: &CpuUse) -> String {
    let whose = if set.filter.is_empty() { "" } else { ": the threads that meet the conditions of --where have none" };
    format!("None in the window{whose}")
}

/// Why conditions leave no row.
fn without_rows(set: &CpuUse, unit: TimeUnit) -> String {
    if set.silent_processors.is_empty() {
        let labels = "pfnset cpu TRACE --group-by DIMENSION lists the labels";
        return format!("No thread meets the conditions of --where; {labels}");
    }
    let unknown = |number: &u32| {
        let times = set.by_processor.get(*number as usize);
        let ticks = times.and_then(|times| times.by_use.get(ProcessorUse::Unknown as usize)).copied().unwrap_or(0);
        format!("{} of processor {number}", unit.show(set.ns(ticks)))
    };
    let unknown: Vec<String> = set.silent_processors.iter().map(unknown).collect();
    format!("No thread is known that ran there: without a context switch, {} are unknown", unknown.join(", "))
}

/// What the row `Unknown` beside samples is, where it is more than time of which nothing is known.
const UNKNOWN_OF_BOTH: &str =
    "Unknown is time of which nothing is known together with the threads that no event describes";

/// Which columns of a timeline conditions do not choose from.
const OF_ALL_THREADS: &str = "Without the conditions: Threads, Idle, DPC, ISR, Unknown and Ready threads";

/// What the column of switches counts in rows by processor alone: other rows leave out those to idle threads, as their time.
const ALL_SWITCHES: &str = "Switches count those to idle threads too; times are without them";

/// What the shares of exact times and those of samples are of.
fn bases(set: &CpuUse, unit: TimeUnit) -> String {
    let unknown = set.total.by_use.get(ProcessorUse::Unknown as usize).copied().unwrap_or(0);
    let not_known = match unknown {
        0 => String::new(),
        ticks => {
            let share = set.share(ticks) * 100.0;
            format!(", {share:.1} % of it not known; where no samples are of that time, shares of samples are larger")
        }
    };
    let Sampling { samples, records, .. } = set.sampling;
    // A record stands for as many samples as its field Count says; elsewhere samples are records.
    let of_records =
        if records == samples { String::new() } else { format!(" in {}", counted(records, "record", "records")) };
    format!(
        "Samples % is of {}{of_records}, Exact % of {} × {} processors{not_known}",
        counted(samples, "sample", "samples"),
        unit.show(set.ns(set.window_ticks)),
        set.by_processor.len(),
    )
}

/// `Processors from 0.000432 s to 0.250273 s (249.840 ms), 4 processors`.
fn title(set: &CpuUse, view: CpuView, unit: TimeUnit) -> String {
    let what = match view {
        CpuView::Summary | CpuView::Rows => "CPU use",
        CpuView::Timeline => "CPU use over time",
        CpuView::Delays => "Ready delays",
        CpuView::Preemption => "Who took the processor from whom",
        CpuView::Waits => "Waits",
        CpuView::Wakers => "Who readied whom",
        CpuView::Interrupts => "Interrupts and deferred procedure calls",
        CpuView::States => "What each thread did",
        CpuView::Sampling if set.sampling.ticks == 0 => "Exact times beside samples (no clock tick is in the window)",
        CpuView::Sampling => "Exact times beside samples and clock ticks",
        CpuView::Queue => "Time at each length of the ready queue",
    };
    let (from, to) = ends(set.window_times, &set.window);
    let length = unit.show(set.ns(set.window_ticks));
    let processors = match set.by_processor.len() {
        1 => "1 processor".to_owned(),
        more => format!("{more} processors"),
    };
    format!("{what} from {from} to {to} ({length}), {processors}")
}

/// `0.250273 s "click"`: the ends of a window.
fn ends((from, to): (Nanos, Nanos), window: &Window) -> (String, String) {
    let end = |time: Nanos, mark: &Option<String>| match mark {
        Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
        None => format!("{:.6} s", time.seconds()),
    };
    (end(from, &window.from_mark), end(to, &window.to_mark))
}

fn summary(set: &CpuUse, CpuDisplay { order, top, unit, .. }: CpuDisplay) -> Vec<Block> {
    let table = set.row_table(order, top.or(Some(SUMMARY_ROWS)));
    of_processors(set, unit).map(Block::Text).into_iter().chain([Block::Blank, Block::Table(table)]).collect()
}

/// What processors and their queue did, which conditions do not choose from.
fn of_processors(set: &CpuUse, unit: TimeUnit) -> [String; 2] {
    let of_all = if set.filter.is_empty() { "" } else { "Without the conditions: " };
    [processor_line(set, unit), queue_line(set)].map(|line| format!("{of_all}{line}"))
}

/// `Processor time: threads 733.57 ms (40.8 %), idle …, unknown 0 ns (0.0 %) add up to 299.95 ms × 6 processors, to the tick.`
fn processor_line(set: &CpuUse, unit: TimeUnit) -> String {
    let use_of =
        |(name, ticks): (&str, u64)| format!("{name} {} ({:.1} %)", unit.show(set.ns(ticks)), set.share(ticks) * 100.0);
    let uses: Vec<String> =
        ["threads", "idle", "DPC", "ISR", "unknown"].into_iter().zip(set.total.by_use).map(use_of).collect();
    let verdict = if set.is_balanced() { "to the tick" } else { "BUT DO NOT: this is a bug of pfnset" };
    format!(
        "Processor time: {} add up to {} × {} processors, {verdict}. {} context switches.",
        uses.join(", "),
        unit.show(set.ns(set.window_ticks)),
        set.by_processor.len(),
        numbers::count(set.total.switches)
    )
}

/// Of how many switch-ins the stacks are known, where rows or conditions ask for stacks.
fn stacks_known(set: &CpuUse, view: CpuView) -> Option<String> {
    let is_of_rows =
        matches!(view, CpuView::Summary | CpuView::Rows | CpuView::Timeline | CpuView::Delays | CpuView::Waits);
    let shares = set.stacks.filter(|_| is_of_rows)?;
    let before = if shares.is_selection { ", before the conditions on stacks," } else { "" };
    let sentence = |what: &str, of: &str, records: &str, share: StackShare| {
        let StackShare { switch_ins: all, with_stack: known, of_trace: RecordShare { records: logged, with_stack } } =
            share;
        let percent = if all == 0 { String::new() } else { format!(" ({})", numbers::percent(known, all)) };
        let [known, all, with_stack, logged] = [known, all, with_stack, logged].map(numbers::count);
        format!(
            "{what} known of {known} of {all} {of}{percent}{before} and of {with_stack} of the {logged} {records} of the trace."
        )
    };
    let waited = shares.waited.map(|share| sentence("Stacks are", "switch-ins", "context switches", share));
    let readied = shares.readied.map(|share| sentence("Stacks of who readied are", "wakeups", "ready records", share));
    Some([waited, readied].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// `Ready queue: mean 0.751, at most 15 (at 0.221625 s), empty 77.5 % of the time; …`.
fn queue_line(set: &CpuUse) -> String {
    let queue = &set.queue;
    let most = match queue.max_time {
        Some(time) => format!("at most {} (first at {:.6} s)", queue.max, time.seconds()),
        None => "never longer than 0".to_owned(),
    };
    let arrivals = match (queue.seen_by_arrivals, queue.clumping) {
        (Some(seen), Some(clumping)) => {
            format!(
                "; a thread that becomes ready finds {seen:.3} waiting before it on average, {clumping:.2} times the mean"
            )
        }
        _ => String::new(),
    };
    let empty = queue.empty_share * 100.0;
    format!("Ready queue: mean {:.3}, {most}, empty {empty:.1} % of the time{arrivals}", queue.mean)
}
