//! The answer of `pfnset refset`. Wire format: docs/json.md, schema `pfnset.refset`.

mod held_over_time;
mod json;
mod sentences;

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::Verification;
use crate::analysis::refset::totals::timeline::Timeline;
use crate::analysis::table::Table;
use crate::answer::answer_type::{Answer, Place, Units};
use crate::answer::numbers::{self, Unit};
use crate::answer::rows::{Records, Rows};
use crate::answer::text_block::Block;
use crate::model::window::Origin;
use crate::units::counted;
use sentences::{agreement, graphics, reasons, row_notes, rows_title, selected, stack_share, title, verdict};

/// The view that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefsetView {
    /// One screen: the window, what was held, the largest categories and processes, and how well the result agrees with
    /// the final page sequence.
    Summary,
    /// Rows by the dimensions that the user named.
    Rows,
    /// Held pages over time.
    Timeline,
    /// The comparison with the final page sequence.
    Verification,
}

/// Column of the texts beside the labels of the summary.
const COLUMN: usize = 14;

/// The answer of `pfnset refset`, in one of its views.
pub fn answer(set: &ReferenceSet, unit: Unit, view: RefsetView) -> Answer<'_> {
    let (tables, screen) = match view {
        RefsetView::Summary => (vec![rows(set)], summary(set)),
        RefsetView::Rows => (vec![rows(set)], row_screen(set)),
        RefsetView::Timeline => {
            let timeline = set.timeline.iter().map(|line| timeline(set, line, Place::Alone));
            (timeline.collect(), timeline_screen(set))
        }
        RefsetView::Verification => (set.verification.iter().map(|v| v.table().into()).collect(), verification(set)),
    };
    // A document has what the screen has: rows by process and category are neither in the order of peaks nor cut where the screen is.
    let document = matches!(view, RefsetView::Summary | RefsetView::Verification).then(|| screen.clone());
    let beside_others = match view {
        RefsetView::Summary | RefsetView::Rows | RefsetView::Verification => None,
        // Which categories there are depends on the trace.
        RefsetView::Timeline => {
            Some(set.timeline.iter().map(|line| timeline(set, line, Place::BesideOthers)).collect())
        }
    };
    Answer {
        warnings: set.warnings.clone(),
        facts: json::facts(set),
        tables,
        notes: notes(set, view),
        beside_others,
        screen: Some(screen),
        document,
        units: Units { size: unit, ..Units::default() },
        ..Answer::new("pfnset.refset")
    }
    .chosen_by(&set.filter)
}

/// What is said of the rows and of the columns over time.
fn notes(set: &ReferenceSet, view: RefsetView) -> Vec<String> {
    let of_view = match view {
        RefsetView::Summary if set.is_selection => vec![selected(set)],
        RefsetView::Summary | RefsetView::Rows => row_notes(set),
        RefsetView::Timeline => smaller(set).into_iter().collect(),
        RefsetView::Verification => return Vec::new(),
    };
    of_view.into_iter().chain(stack_share(set)).collect()
}

fn rows(set: &ReferenceSet) -> Rows<'_> {
    set.table().titled(title(set, rows_title(set))).into()
}

/// Rows of all groups; of categories that stand alone they are columns.
fn timeline<'a>(set: &ReferenceSet, line: &'a Timeline, place: Place) -> Rows<'a> {
    let records = match place == Place::Alone && line.is_by_category() {
        true => Records::streamed(line.wide_fields(), || line.wide_records()),
        false => Records::streamed(line.long_fields(), || line.long_records()),
    };
    let title = title(set, "Held pages");
    Rows::new(records, move || line.table().titled(title.clone()))
}

/// One screen.
fn summary(set: &ReferenceSet) -> Vec<Block> {
    if set.is_selection {
        return selection(set);
    }
    let accesses = reasons(&set.frequent_accesses());
    let releases = reasons(&set.frequent_releases());
    let reaccesses = format!(
        "{} (WPA's rules: {})",
        numbers::count(set.balance.reaccessed()),
        numbers::count(set.balance.reaccessed_wpa())
    );
    let outside = format!(
        "{} kernel pages, {} of pool, {} of ranges at stop: in no working set, so not held",
        numbers::count(set.kernel.at_stop),
        numbers::count(set.pool_at_stop),
        numbers::count(set.ranges_at_stop)
    );
    // The page sequence is where it is, wherever the window of a user ends.
    let place = |v: &Verification| match set.window.origin {
        Origin::User => format!("at the page sequence, {:.6} s: ", v.time.seconds()),
        Origin::Marks | Origin::WholeTrace => String::new(),
    };
    let verification = set.verification.as_ref().map(|v| ("Verification", place(v) + &verdict(v)));
    let recorded = set.mem_info_ws.as_ref().map(|sets| ("Working sets", agreement(sets)));
    let pairs = [("Accessed by", accesses), ("Released by", releases), ("Re-accesses", reaccesses)]
        .into_iter()
        .chain(verification)
        .chain(recorded)
        .chain([("Kernel, pool", outside), ("Graphics", graphics(set.graphics))]);
    let mut screen = vec![Block::Title(title(set, "Reference set")), Block::Blank];
    screen.extend([Block::Table(held_over_time::table(set)), Block::Blank]);
    screen.extend(pairs.map(|(label, text)| Block::Pair(label.to_owned(), COLUMN, text)));
    screen.extend(largest(set));
    screen
}

/// One screen of what `--where` selects. Start, peak, accesses and releases are those of all pages: not shown.
fn selection(set: &ReferenceSet) -> Vec<Block> {
    let mut screen = vec![Block::Title(title(set, "Held at stop,")), Block::Line(selected(set))];
    screen.extend(stack_share(set).map(Block::Line));
    screen.extend(largest(set));
    screen
}

/// Largest categories and processes.
fn largest(set: &ReferenceSet) -> Vec<Block> {
    let tables = set.summary_tables().into_iter().flat_map(|table| [Block::Blank, Block::Table(table)]);
    let gone = set.gone_and_hidden();
    let gone = (gone > 0).then(|| {
        let (gone, all) = (numbers::count(gone), set.holders());
        Block::Text(format!("{gone} of the others held pages before and none at stop: --top {all} shows all"))
    });
    tables.chain(gone).collect()
}

/// Rows by the user's dimensions.
fn row_screen(set: &ReferenceSet) -> Vec<Block> {
    let mut screen = vec![Block::Title(title(set, rows_title(set))), Block::Blank, Block::Rows(0)];
    let notes = notes(set, RefsetView::Rows).into_iter();
    screen.extend(notes.flat_map(|note| [Block::Blank, Block::Text(note)]));
    screen
}

/// Held pages over time, the largest groups as far as the width allows.
fn timeline_screen(set: &ReferenceSet) -> Vec<Block> {
    let Some(timeline) = &set.timeline else { return Vec::new() };
    let ranked = Block::Ranked(0, groups(timeline), timeline.columns_left_out() as u64);
    let mut screen = vec![Block::Title(title(set, "Held pages")), Block::Blank, ranked];
    screen.extend(stack_share(set).into_iter().flat_map(|note| [Block::Blank, Block::Text(note)]));
    screen
}

fn groups(timeline: &Timeline) -> &'static str {
    if timeline.is_by_category() { "categories" } else { "groups" }
}

/// How many groups have no column.
fn smaller(set: &ReferenceSet) -> Option<String> {
    let timeline = set.timeline.as_ref()?;
    let hidden = timeline.columns_left_out() as u64;
    (hidden > 0)
        .then(|| format!("{} smaller {} are not shown: --format csv has all", numbers::count(hidden), groups(timeline)))
}

/// The comparison with the final sequence.
fn verification(set: &ReferenceSet) -> Vec<Block> {
    let Some(v) = &set.verification else { return Vec::new() };
    let others = numbers::count(v.kernel_pool_and_ranges);
    let mut screen = vec![
        Block::Title(format!("Verification against the page sequence at {:.6} s", v.time.seconds())),
        Block::Line(verdict(v)),
        Block::Line(format!("{others} more are kernel, pool and range pages: in no working set, so not compared")),
    ];
    let other_use =
        |pages: u64| format!("{} that match are of another use in the sequence", counted(pages, "page", "pages"));
    screen.extend((v.other_use > 0).then(|| Block::Line(other_use(v.other_use))));
    let says_something = |table: &Table| !table.lines.is_empty();
    let tables = [v.use_table(), v.disagreeing_table()].into_iter().filter(says_something);
    screen.extend(tables.flat_map(|table| [Block::Blank, Block::Table(table)]));
    if v.examples.is_empty() {
        return screen;
    }
    let examples = v.examples_table();
    screen.extend([Block::Blank, Block::Title(examples.title.clone().unwrap_or_default()), Block::Table(examples)]);
    let more = v.more_examples();
    screen.extend((more > 0).then(|| Block::Line(format!("+ {} more", numbers::count(more)))));
    screen
}
