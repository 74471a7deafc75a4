//! The answer of `pfnset allocations`. Wire format: docs/json.md, schema `pfnset.allocations`.

use crate::analysis::allocations::{AllocationOrder, AllocationSet, AllocationView, Check, CommitSnapshot};
use crate::answer::answer_type::{Answer, Units};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, TimeUnit, Unit};
use crate::answer::rows::{Records, Rows};
use crate::answer::text_block::Block;
use crate::load::allocation_kinds::AllocationKind;
use crate::model::window::Origin;
use crate::units::{Nanos, PAGE_BYTES, counted};

/// Rows of the first screen where the user does not say.
const FIRST: usize = 5;

/// What is shown of a result, and how.
#[derive(Debug, Clone, Copy)]
pub struct AllocationDisplay {
    /// The columns of the rows.
    pub view: AllocationView,
    /// True for one screen with the balance above the rows.
    pub is_summary: bool,
    /// True for the timeline instead of the rows.
    pub is_timeline: bool,
    /// Order of nested rows, as that of the query.
    pub order: AllocationOrder,
    /// Rows of a level that people see; `None` = all.
    pub top: Option<usize>,
    /// Unit of sizes for people.
    pub unit: Unit,
}

/// The answer of `pfnset allocations`, in one of its views.
pub fn answer(set: &AllocationSet, display: AllocationDisplay) -> Answer<'_> {
    let AllocationDisplay { view, order, is_summary, .. } = display;
    let largest = match set.snapshot {
        Some(_) => set.total.at_snapshot.committed.saturating_mul(PAGE_BYTES),
        None => set.total.peak.map_or(0, |(bytes, _)| u64::try_from(bytes).unwrap_or(u64::MAX)),
    };
    let unit = display.unit.for_largest(largest);
    let title = title(set, (view != AllocationView::Lifetimes).then_some(unit));
    let top = if is_summary { Some(display.top.unwrap_or(FIRST)) } else { display.top };
    let shown = title.clone();
    let rows = match display.is_timeline {
        true => set.timeline_table().titled(shown).into(),
        false => Rows::new(row_records(set), move || set.row_table(view, order, top).titled(shown.clone())),
    };
    Answer {
        warnings: set.warnings.clone(),
        facts: facts(set, display),
        tables: vec![rows],
        notes: match set.snapshot {
            Some(at) => in_ram(set, at, display.unit).to_vec(),
            None if is_summary => sentences(set, display.unit),
            None => Vec::new(),
        },
        document: set.snapshot.map(|at| not_resident(set, at, title.clone(), display.unit)),
        screen: match set.snapshot {
            Some(at) => Some(not_resident(set, at, title, display.unit)),
            None => is_summary.then(|| first_screen(set, title, display.unit)),
        },
        units: Units { size: unit, time: TimeUnit::Auto },
        ..Answer::new("pfnset.allocations")
    }
    .chosen_by(&set.filter)
}

fn row_records(set: &AllocationSet) -> Records<'_> {
    Records::streamed(set.row_fields(), move || set.row_records())
}

fn facts<'a>(set: &'a AllocationSet, display: AllocationDisplay) -> Facts<'a> {
    let total = Facts::of_values(set.total_values());
    let check = match set.check_values() {
        Some(values) => Fact::Object(Facts::of_values(values)),
        None => Fact::Is(serde_json::Value::Null),
    };
    let facts = Facts::of_trace()
        .doubts(&set.warnings)
        .filter(&set.filter)
        .missing(&set.missing)
        .is("of", set.of.name())
        .window(set.window_times, set.window_ticks, &set.window)
        .has("at_start", Fact::Object(Facts::of_numbers(&set.at_start)))
        .is("balanced", set.is_balanced)
        .has("total", Fact::Object(total))
        .has("records", Fact::Object(Facts::of_numbers(&set.records)))
        .has("check", check)
        .is("hole_until_s", set.hole_until.map(Nanos::seconds))
        .is("leaks_before_s", set.leaks_before.map(Nanos::seconds));
    let facts = match set.snapshot {
        None => facts,
        Some(at) => facts.has("snapshot", Fact::Object(snapshot_facts(at))),
    };
    let facts = match stacks(set) {
        Some(stacks) => facts.has("stacks", Fact::Object(stacks)),
        None => facts,
    };
    let facts = facts.group_by(&set.dimensions).has("rows", Fact::lazy(move || Fact::Records(row_records(set))));
    if display.is_timeline {
        facts.has("timeline", Fact::lazy(move || Fact::Records(Records::of(set.timeline_table()))))
    } else {
        facts
    }
}

/// Of how many pieces the stacks are known that rows or conditions ask for.
fn stacks<'a>(set: &AllocationSet) -> Option<Facts<'a>> {
    let shares = [("allocated", set.stacks.allocated), ("freed", set.stacks.freed)];
    let known = shares.into_iter().filter_map(|(how, share)| Some((how, share?)));
    let facts = known.fold(Facts::default(), |facts, (how, share)| {
        facts
            .is(format!("{how}_pieces"), share.pieces)
            .is(format!("{how}_pieces_with_stack"), share.pieces_with_stack)
            .is(format!("{how}_bytes"), share.bytes)
            .is(format!("{how}_bytes_with_stack"), share.bytes_with_stack)
    });
    (!facts.0.is_empty()).then_some(facts)
}

fn snapshot_facts<'a>(at: CommitSnapshot) -> Facts<'a> {
    let bytes = |pages: u64| pages.saturating_mul(PAGE_BYTES);
    Facts::default()
        .is("index", at.index)
        .is("time_s", at.time.seconds())
        .is("private_bytes", bytes(at.private_pages))
        .is("at_same_address_bytes", bytes(at.at_same_address))
        .is("in_commit_bytes", bytes(at.in_commit))
}

/// All in some sentences: the balance, the peak, the check against the end rundown.
pub(crate) fn sentences(set: &AllocationSet, unit: Unit) -> Vec<String> {
    let longest = |forms: Vec<String>| forms.into_iter().next();
    longest(balance(set, unit)).into_iter().chain([peak(set, unit)]).chain(longest(check(set, unit))).collect()
}

/// What the pieces are.
pub(crate) fn what(of: AllocationKind) -> &'static str {
    match of {
        AllocationKind::Commit => "Commit",
        AllocationKind::Pool => "Kernel pool",
        AllocationKind::Heap => "Heap blocks",
    }
}

/// `Commit from 0.000000 s to 1.053057 s; sizes in MiB`.
fn title(set: &AllocationSet, unit: Option<Unit>) -> String {
    let end = |time: Nanos, mark: &Option<String>| match mark {
        Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
        None => format!("{:.6} s", time.seconds()),
    };
    let from = end(set.window_times.0, &set.window.from_mark);
    let to = end(set.window_times.1, &set.window.to_mark);
    let sizes = unit.map_or_else(String::new, |unit| format!("; sizes in {}", unit.name()));
    let leaks = set.leaks_before.map(|half| format!(", allocated before {:.6} s and there at the end", half.seconds()));
    let sizes = leaks.unwrap_or_default() + &sizes;
    if let Some(at) = set.snapshot {
        return format!("Commit that is not in RAM at snapshot {}, {:.6} s{sizes}", at.index, at.time.seconds());
    }
    format!("{} from {from} to {to}{sizes}", what(set.of))
}

fn not_resident(set: &AllocationSet, at: CommitSnapshot, title: String, unit: Unit) -> Vec<Block> {
    let sums = in_ram(set, at, unit).map(Block::Text);
    std::iter::once(Block::Title(title)).chain(sums).chain([Block::Blank, Block::Rows(0)]).collect()
}

/// What is committed at a page sequence, and how much of it is in RAM.
fn in_ram(set: &AllocationSet, at: CommitSnapshot, unit: Unit) -> [String; 2] {
    let pages = |pages: u64| amount(u128::from(pages) * u128::from(PAGE_BYTES), unit);
    let of = set.total.at_snapshot;
    let share = match of.committed {
        0 => String::new(),
        all => format!(" ({:.1} %)", of.absent() as f64 * 100.0 / all as f64),
    };
    let sum = format!(
        "Committed {}, in RAM {}, not in RAM {}{share}: never touched, or paged out",
        pages(of.committed),
        pages(of.resident),
        pages(of.absent()),
    );
    let left_out = match at.at_same_address {
        0 => String::new(),
        more => format!(
            ", each address once (without {} at addresses where the process has another page)",
            counted(more, "page", "pages")
        ),
    };
    let others = format!(
        "Of all known processes, private and large pages in RAM: {}{left_out}; {} of them in no commit",
        pages(at.private_pages),
        pages(at.private_pages.saturating_sub(at.in_commit)),
    );
    [sum, others]
}

/// A line for each thing that is told, so that it fits in 24 lines of 80 columns with a line of warnings and the prompt.
fn first_screen(set: &AllocationSet, title: String, unit: Unit) -> Vec<Block> {
    let over_time = set.total.peak.map_or(":", |_| ", over time:");
    vec![
        Block::Title(title),
        Block::Fitting(balance(set, unit)),
        Block::Course(peak(set, unit) + over_time, set.course()),
        Block::Fitting(check(set, unit)),
        Block::Blank,
        Block::Rows(0),
        Block::Fitting(other_kinds(set)),
    ]
}

/// The other kinds, and how they are seen or recorded: in words, and short.
fn other_kinds(set: &AllocationSet) -> Vec<String> {
    let in_words = |(kind, is_recorded): &(AllocationKind, bool)| match (is_recorded, kind) {
        (true, _) => format!("{} (--of {})", what(*kind), kind.name()),
        (false, AllocationKind::Heap) => {
            format!("{}: not recorded (a heap session, {})", what(*kind), recorded_by(*kind))
        }
        (false, _) => format!("{}: not recorded ({})", what(*kind), recorded_by(*kind)),
    };
    let short = |(kind, is_recorded): &(AllocationKind, bool)| match is_recorded {
        true => format!("--of {}", kind.name()),
        false => format!("{} is not recorded ({})", kind.name(), recorded_by(*kind)),
    };
    let line = |kinds: Vec<String>| format!("Other kinds: {}", kinds.join(", "));
    vec![line(set.others.iter().map(in_words).collect()), line(set.others.iter().map(short).collect())]
}

fn recorded_by(of: AllocationKind) -> &'static str {
    match of {
        AllocationKind::Commit => "VirtualAllocation",
        AllocationKind::Pool => "Pool",
        AllocationKind::Heap => "xperf -heap",
    }
}

/// In the unit that a user chose, or each in the one that suits it.
fn amount(bytes: u128, unit: Unit) -> String {
    unit.chosen_or_own(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// `At start 3.09 MiB + allocated 431.82 MiB - freed 372.48 MiB = at end 62.42 MiB (297 pieces)`, and without the pieces.
fn balance(set: &AllocationSet, unit: Unit) -> Vec<String> {
    let total = &set.total;
    let verdict = if set.is_balanced { "" } else { " BUT SUMS OVER TIME DO NOT AGREE: this is a bug of pfnset" };
    let sum = format!(
        "At start {} + allocated {} - freed {} = at end {}",
        amount(total.at_start().bytes, unit),
        amount(total.allocated().bytes, unit),
        amount(total.freed().bytes, unit),
        amount(total.at_end().bytes, unit),
    );
    let pieces = counted(total.at_end().count, "piece", "pieces");
    vec![format!("{sum} ({pieces}){verdict}"), format!("{sum}{verdict}")]
}

fn peak(set: &AllocationSet, unit: Unit) -> String {
    match set.total.peak {
        Some((bytes, time)) => format!("Peak {} at {:.6} s", amount(bytes, unit), set.time(time).seconds()),
        None => "Nothing was outstanding at any time".to_owned(),
    }
}

/// The check against the end rundown, from the longest to the shortest form. It is of all processes and the whole trace.
fn check(set: &AllocationSet, unit: Unit) -> Vec<String> {
    let of_all = match (set.filter.is_empty(), set.window.origin == Origin::User) {
        (_, _) if set.check.is_none() => "",
        (true, false) => "",
        (false, false) => "Without the conditions: ",
        (true, true) => "Of the whole trace: ",
        (false, true) => "Of the whole trace, without the conditions: ",
    };
    check_lines(set, unit).into_iter().map(|line| format!("{of_all}{line}")).collect()
}

fn check_lines(set: &AllocationSet, unit: Unit) -> Vec<String> {
    match set.check {
        None => vec!["Check: the trace has no end rundown to compare with".to_owned()],
        Some(Check::Commit(check)) => {
            let (processes, equal) = (numbers::count(check.processes), numbers::count(check.equal));
            let (difference, outside) = (amount(check.difference_bytes, unit), amount(check.outside_bytes, unit));
            // Whether the sums are too small or too large: absolute differences do not say it.
            let side = match check.difference_bytes {
                0 => String::new(),
                _ => format!("; it has {}", amount(check.rundown_bytes, unit)),
            };
            vec![
                format!(
                    "Check: end rundown of {processes} processes, {equal} equal; differences {difference}, outside of its regions {outside}{side}"
                ),
                format!(
                    "End rundown: {equal} of {processes} processes equal, off by {difference}, outside {outside}{side}"
                ),
            ]
        }
        Some(Check::Pool(check)) => {
            // The others were allocated before the trace, so no record is needed for them.
            let earlier = check.entries.saturating_sub(check.live.saturating_add(check.missing));
            let [entries, live, missing, earlier] =
                [check.entries, check.live, check.missing, earlier].map(numbers::count);
            vec![
                format!(
                    "Check: end snapshot of {entries} allocations, {live} live by the records, {earlier} from before the trace, \
                     {missing} missing"
                ),
                format!(
                    "End snapshot: {entries} allocations: {live} by the records, {earlier} earlier, {missing} missing"
                ),
            ]
        }
    }
}
