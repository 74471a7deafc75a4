//! Compares two sides: traces, files that pfnset wrote, tables that WPA exported.
//!
//! [`side`] finds out what each side is. [`query`] decides by which dimensions both can be compared. [`file_side`] and
//! [`trace_side`] count each side by these dimensions, [`process_matching`] and [`file_matching`] match processes and files,
//! [`missing_names`] what has no name, [`rows`] joins the sides within a [`tolerance`]. With a table of pages, [`page_by_page`] compares page by page, by [`page_labels`].

pub(crate) mod allocations;
pub(crate) mod compared_dimensions;
pub(crate) mod comparison;
mod file_matching;
mod file_side;
pub(crate) mod memory;
pub(crate) mod missing_names;
mod needed_stacks;
mod other_machines;
pub mod page_by_page;
mod page_labels;
pub(crate) mod process_matching;
pub mod query;
pub(crate) mod row_choice;
mod selections;
#[cfg(feature = "cli")]
mod shared_columns;
pub(crate) mod side;
pub(crate) mod stacks;
pub mod tolerance;
pub(crate) mod trace_side;

pub use crate::imported::wpa::WpaOptions;
pub use crate::imported::wpa::culture::{Culture, Sign};
pub use compared_dimensions::Dimension;
pub use memory::rows::DiffRow;
pub use process_matching::Match;
pub use side::Source;
pub use trace_side::RuleChange;

use crate::analysis::resident::query::SnapshotChoice;
use crate::code_page::{CodePage, differ};
use crate::dimensions::single_dimensions::{CATEGORY, CATEGORY_WPA};
use crate::error::Error;
use crate::imported::CountedRow;
use crate::imported::amount::Amount;
use crate::imported::wpa::WpaRows;
use crate::imported::wpa::columns::ExportedTable;
use crate::trace::analysis_needs::{REFERENCE_SET, RESIDENT_SET};
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::{Nanos, are_of_other_lengths, counted as number_of};
use comparison::Comparison;
use file_side::{FileQuery, FileSide};
use needed_stacks::need_stacks;
use other_machines::of_other_machines;
use page_by_page::PageDifferences;
use process_matching::{Matched, Starts};
use query::{DiffPlan, DiffQuery, SIDES, at_side};
use side::SourceContent;
use std::collections::BTreeSet;
use std::path::PathBuf;
use trace_side::{Held, ReferenceSide, ResidentSide, starts};

/// What `pfnset diff` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct Diff {
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// The two sides.
    pub sides: [SideFacts; 2],
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// The keys.
    pub compared: Comparison<Amount>,
    /// True when a difference is allowed.
    pub is_tolerant: bool,
    /// True when both sides have a reference set too, which was not asked for.
    pub has_reference_sets: bool,
    /// Headings of tables that are not compared.
    pub ignored: Vec<String>,
    /// How pages move from WPA's categories to ours; only for a trace and an export.
    pub rule_changes: Option<Vec<RuleChange>>,
    /// Page by page; only for a trace and a table of pages.
    pub pages: Option<PageDifferences>,
    /// Which side the trace is, where the other is an export, or a table of pages.
    pub trace_is_right: bool,
}

/// What is known of a side.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SideFacts {
    /// Its files, as the user named them; the first is the side.
    pub files: Vec<PathBuf>,
    /// What it is.
    pub kind: &'static str,
    /// By whose rules it counts: `corrected` or `wpa`.
    pub classification: &'static str,
    /// Its pages, those that meet the conditions.
    pub total_pages: i64,
    /// Number of the snapshot of a trace.
    pub snapshot: Option<usize>,
    /// True where the trace has others.
    pub has_more_snapshots: bool,
    /// Conditions that chose the rows of a file of pfnset, where it names them: dimensions and patterns.
    pub filter: Vec<(String, String)>,
    /// The window that was chosen for a file of a reference set, seconds since trace start.
    pub window: Option<(f64, f64)>,
}

/// A side, counted.
#[derive(Debug, Default)]
struct Side<'s> {
    rows: Vec<CountedRow>,
    resident: Option<ResidentSide<'s>>,
    starts: Starts,
    file: FileSide<'s>,
    warnings: Warnings,
    /// The length of the scenario, of a reference set.
    span_ns: Option<u64>,
    /// The code page by which names of processes were read, where some needed one.
    code_page: Option<CodePage>,
}

/// That two scenarios are of other lengths, by more than a tenth.
fn other_scenarios(sides: &[Side<'_>; 2]) -> Option<Warning> {
    let [left, right] = sides.each_ref().map(|side| side.span_ns);
    let (left, right) = left.zip(right).filter(|(left, right)| are_of_other_lengths(*left, *right))?;
    let [left, right] = [left, right].map(|nanos| Nanos(nanos.into()).seconds());
    let text = format!(
        "the scenario of LEFT is {left:.3} s long and that of RIGHT {right:.3} s: what is touched and released grows with the time"
    );
    Some(Warning::note(REFERENCE_SET.name, "lengths_differ", text))
}

/// That names of processes, by which rows are compared or chosen, were read by different code pages.
fn other_code_pages(sides: &[Side<'_>; 2], dimensions: &[Dimension], query: &DiffQuery) -> Option<Warning> {
    let [left, right] = sides.each_ref().map(|side| side.code_page);
    let mut used = dimensions.iter().chain(query.conditions.iter().map(|condition| &condition.dimension));
    let (left, right) = left.zip(right).filter(|_| used.any(|dimension| dimension.is_of_process_names()))?;
    let names = differ([(SIDES[0], left), (SIDES[1], right)])?;
    Some(Warning::note(OF_TRACE, "code_pages_differ", format!("{names}: one name can be two, and its rows be apart")))
}

impl Diff {
    /// Compares.
    ///
    /// # Errors
    /// [`Error::Usage`] and [`Error::NotUnderstood`] for what does not fit together, those of reading a trace.
    pub fn new(left: &Source, right: &Source, query: &DiffQuery) -> Result<Diff, Error> {
        if query.snapshots.contains(&SnapshotChoice::All) {
            return Err(Error::Usage("one snapshot of each side is compared, as in 0,last".into()));
        }
        let sources = [left, right];
        let plan = DiffPlan::new(sources, query)?;
        let mut sides = read(sources, &plan, query).map_err(|error| with_hint(error, sources, &plan))?;
        let mut warnings = Warnings::default();
        for (name, side) in SIDES.iter().zip(&mut sides) {
            warnings.extend(std::mem::take(&mut side.warnings).named(name));
        }
        warnings.extend(plan.warnings.iter().cloned());
        if let [Some(left), Some(right)] = sources.map(Source::trace) {
            warnings.add(of_other_machines([left, right]));
        }
        warnings.extend(other_scenarios(&sides));
        warnings.extend(other_code_pages(&sides, &plan.dimensions, query));
        let matched = match_labels(&mut sides, &plan);
        let counted = sides.each_mut().map(|side| std::mem::take(&mut side.rows));
        let joined = memory::rows::join(counted, &plan.dimensions, &matched, (query.tolerance, query.order));
        need_stacks(&joined, (&plan.dimensions, &query.conditions), &warnings)?;
        let compared = Comparison::new(joined, query.keeps_same, &query.conditions);
        let trace = sides.iter().enumerate().find_map(|(at, side)| Some((at, side.resident.as_ref()?)));
        let has_export = sides.iter().any(|side| side.file.export.is_some());
        let (mut moved, mut pages) = (None, None);
        if let (Some((_, trace)), true) = (trace, has_export) {
            moved = Some(trace.rule_changes(&query.conditions));
        }
        if let (Some((at, trace)), Some(file)) = (trace, sides.iter().find_map(|side| side.file.pages.as_ref())) {
            let by_wpa = plan.by_wpa.get(at).copied().unwrap_or(false);
            pages = Some(PageDifferences::new((trace, at), file, &query.conditions, (by_wpa, plan.matching)));
        }
        warnings.extend(sides.iter().filter_map(|side| sums_left_out(side.file.export.as_ref()?)));
        warnings.extend(matched.iter().filter_map(Matched::renamed_warning));
        warnings.extend(pages.iter().flat_map(|pages| page_warnings(pages, has_export)));
        let trace_at = trace.map(|(at, _)| at);
        let totals = [(0, compared.all.left), (1, compared.all.right)];
        let facts = totals.map(|(side, all)| facts(sources, &sides, &plan, side, all));
        Ok(Diff {
            warnings,
            sides: facts,
            has_reference_sets: could_be_reference(sources, &plan),
            dimensions: plan.dimensions,
            compared,
            is_tolerant: query.tolerance.is_any(),
            ignored: each_once(
                (sources.iter().zip(plan.by_wpa)).flat_map(|(source, by_wpa)| ignored(source, by_wpa, pages.is_some())),
            ),
            trace_is_right: trace_at == Some(1) && (moved.is_some() || pages.is_some()),
            rule_changes: moved,
            pages,
        })
    }

    /// True when nothing differs by more than is allowed. Single pages count only where no difference is allowed.
    pub fn is_equal(&self) -> bool {
        let pages = self.pages.as_ref().is_none_or(|pages| pages.is_equal() || self.is_tolerant);
        self.compared.is_equal() && pages
    }
}

/// True when a reference set can be told of both sides, and another thing is compared.
fn could_be_reference(sources: [&Source; 2], plan: &DiffPlan) -> bool {
    plan.table == ExportedTable::Resident && sources.iter().all(|side| side.has_reference())
}

/// That groups of a table of WPA were opened.
fn sums_left_out(export: &WpaRows) -> Option<Warning> {
    let rows = number_of(export.left_out, "row of the table is the sum", "rows of the table are sums");
    let text = || format!("{rows} of other rows, as groups that were opened have them: they are not counted again");
    (export.left_out > 0).then(|| Warning::note(OF_TRACE, "sums_left_out", text()))
}

/// Traces without pages can be compared by what was touched.
fn with_hint(error: Error, sources: [&Source; 2], plan: &DiffPlan) -> Error {
    match error {
        Error::MissingEvents(mut missing) if could_be_reference(sources, plan) => {
            let hint = "Both traces have what was touched: compare that with pfnset diff --refset".to_owned();
            missing.advice = Some(missing.advice.map_or(hint.clone(), |advice| format!("{hint}. {advice}")));
            Error::MissingEvents(missing)
        }
        error => error,
    }
}

/// Both sides can lack the same one.
fn each_once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Headings of a table that are not compared: of WPA's, and of those of pfnset that have a row for each page.
fn ignored(source: &Source, by_wpa: bool, by_page: bool) -> Vec<String> {
    match &source.content {
        SourceContent::Trace(_) => Vec::new(),
        SourceContent::Pfnset(table) => {
            let columns = table.listing.as_ref().map(|listing| &listing.columns);
            let other_rules =
                |key: &&str| [CATEGORY.name, CATEGORY_WPA.name].contains(key) && *key != table.category(by_wpa);
            let keys = columns.into_iter().flat_map(|columns| columns.keys.iter().map(|(key, _)| *key));
            let further = keys.filter(other_rules).map(str::to_owned);
            columns.into_iter().flat_map(|columns| columns.ignored(by_page)).chain(further).collect()
        }
        SourceContent::Wpa(export) => export.columns.ignored(by_page),
    }
}

fn facts(sources: [&Source; 2], sides: &[Side<'_>; 2], plan: &DiffPlan, side: usize, total: i128) -> SideFacts {
    let source = sources.get(side);
    let by_wpa = plan.by_wpa.get(side) == Some(&true) || source.is_some_and(|source| source.is_export());
    let resident = sides.get(side).and_then(|side| side.resident.as_ref());
    let selection = source.and_then(|source| match &source.content {
        SourceContent::Pfnset(table) => Some(&table.selection),
        _ => None,
    });
    let conditions = selection.map(|selection| selection.conditions()).unwrap_or_default();
    SideFacts {
        filter: conditions.iter().map(|by| (by.dimension.clone(), by.patterns.clone())).collect(),
        window: selection.and_then(|selection| selection.window),
        files: source.map(|source| source.files()).unwrap_or_default(),
        kind: source.map_or("", |source| source.kind()),
        classification: if by_wpa { "wpa" } else { "corrected" },
        total_pages: i64::try_from(total).unwrap_or(i64::MAX),
        snapshot: resident.map(|resident| resident.snapshot),
        has_more_snapshots: resident.is_some_and(|resident| resident.trace.snapshots().len() > 1),
    }
}

/// Reads files first, because a file can say to which snapshot of the trace it belongs.
fn read<'s>(sources: [&'s Source; 2], plan: &DiffPlan, query: &DiffQuery) -> Result<[Side<'s>; 2], Error> {
    let mut sides = [Side::default(), Side::default()];
    let has_trace = sources.iter().any(|source| source.trace().is_some());
    let of_side = || sources.into_iter().zip(query.snapshots).zip(plan.by_wpa);
    for (side, ((source, snapshot), by_wpa)) in sides.iter_mut().zip(of_side()) {
        let asked = FileQuery {
            dimensions: &plan.dimensions,
            conditions: &query.conditions,
            snapshot,
            by_wpa,
            with_pages: has_trace && plan.table == ExportedTable::Resident,
        };
        side.file = FileSide::new(source, &asked)?;
        side.rows = std::mem::take(&mut side.file.rows);
        side.warnings =
            side.file.export.as_mut().map(|export| std::mem::take(&mut export.warnings)).unwrap_or_default();
    }
    let near = sides.iter().find_map(|side| side.file.time);
    for (at, (side, ((source, snapshot), by_wpa))) in sides.iter_mut().zip(of_side()).enumerate() {
        if let SourceContent::Pfnset(table) = &source.content {
            (side.span_ns, side.code_page) = (table.selection.span_ns, table.selection.code_page);
        }
        let Some(trace) = source.trace() else { continue };
        let of_side = |error| at_side(error, at, &source.path);
        match plan.table {
            ExportedTable::Resident => {
                let asked = (&plan.dimensions[..], &query.conditions[..], &query.symbols);
                let mut resident = ResidentSide::new(trace, asked, snapshot, near).map_err(of_side)?;
                side.rows = resident.rows(&plan.dimensions, &query.conditions, by_wpa);
                side.warnings = std::mem::take(&mut resident.warnings);
                side.resident = Some(resident);
            }
            ExportedTable::Reference => {
                let found = ReferenceSide::new(
                    trace,
                    &plan.dimensions,
                    &query.conditions,
                    (held(sources, plan), &query.symbols),
                )
                .map_err(of_side)?;
                (side.rows, side.warnings, side.span_ns) = (found.rows, found.warnings, Some(found.span_ns));
            }
        }
        side.starts = starts(plan.matching.processes, trace);
        // After the walk that gathers all of it.
        side.code_page = trace.code_page_of_names();
    }
    sides.iter_mut().for_each(|side| memory::rows::in_one_form(&mut side.rows, &plan.dimensions));
    Ok(sides)
}

/// WPA's rows are all pages that were held in its window; so are ours by reason of release and by impact.
fn held(sources: [&Source; 2], plan: &DiffPlan) -> Held {
    let is_once =
        |source: &&Source| matches!(&source.content, SourceContent::Wpa(export) if export.columns.is_system_view);
    let has = |source: &&Source, wanted: Dimension| {
        source.trace().is_none() && source.dimensions(plan.table).contains(&wanted)
    };
    let by_impact = |source: &&Source| has(source, Dimension::Impact) && !source.is_export();
    match () {
        () if sources.iter().any(is_once) => Held::InWindowOnce,
        () if sources.iter().any(by_impact) => Held::ByImpact,
        () if sources.iter().any(|source| source.is_export() || has(source, Dimension::ReleaseReason)) => {
            Held::InWindow
        }
        () => Held::AtStop,
    }
}

/// For each dimension which labels of the two sides are the same.
fn match_labels(sides: &mut [Side<'_>; 2], plan: &DiffPlan) -> Vec<Matched> {
    let starts = sides.each_mut().map(|side| std::mem::take(&mut side.starts));
    let of = |(place, dimension): (usize, &Dimension)| {
        let labels = |side: &Side<'_>| -> BTreeSet<String> {
            side.rows.iter().filter_map(|row| row.labels.get(place)).map(|label| label.to_string()).collect()
        };
        let sets = if dimension.is_matched() { sides.each_ref().map(labels) } else { Default::default() };
        file_matching::of_dimension(*dimension, sets.each_ref(), plan.matching, &starts)
    };
    plan.dimensions.iter().enumerate().map(of).collect()
}

fn page_warnings(pages: &PageDifferences, is_export: bool) -> Warnings {
    let (table, private) = if is_export { ("export", "private ") } else { ("table", "") };
    let repeated =
        number_of(pages.repeated, &format!("row of the {table} repeats"), &format!("rows of the {table} repeat"));
    let address = number_of(pages.other_address, &format!("{private}page has"), &format!("{private}pages have"));
    let lines = [
        (
            pages.repeated,
            "rows_repeated",
            format!("{repeated} a page frame number; the first row of each page is compared"),
        ),
        (
            pages.other_address,
            "addresses_differ",
            format!("{address} another virtual address in the {table}: it may be of another trace"),
        ),
    ];
    let lines = lines.into_iter().filter(|(count, ..)| *count > 0);
    lines.map(|(count, code, text)| Warning::note(RESIDENT_SET.name, code, text).of(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_of_other_lengths_are_told() {
        let told = |lengths: [Option<u64>; 2]| {
            other_scenarios(&lengths.map(|span_ns| Side { span_ns, ..Side::default() })).map(|warning| warning.text)
        };
        let text = told([Some(69_000_000), Some(268_000_000)]).expect("a warning");
        assert!(text.starts_with("the scenario of LEFT is 0.069 s long and that of RIGHT 0.268 s: "), "{text}");
        assert_eq!([told([Some(100), Some(95)]), told([Some(100), None])], [None, None]);
    }
}
