//! The baseline: values of an earlier run, from a trace, from JSON of `pfnset resident` or `refset`, or from a saved baseline.

use crate::analysis::check::baseline_rows::{are_merged, excluded_row, unlikely_rows};
use crate::analysis::check::baseline_table::table_value;
use crate::analysis::check::budget::{Analysis, Budget, Measure, RowSum};
use crate::analysis::check::id_owners::IdOwners;
use crate::analysis::check::other_ids::Sides;
use crate::analysis::check::trace_values::{Row, TraceValues, Value};
use crate::analysis::diff::side::SourceContent;
use crate::code_page::CodePage;
use crate::dimensions::Label;
use crate::imported::wpa::text::Text;
use crate::trace::Trace;
use crate::trace::machine::Machine;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::are_of_other_lengths;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of a saved baseline.
pub const SCHEMA: &str = "pfnset.baseline";
const VERSION: u32 = 1;

/// A saved baseline.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    schema: String,
    version: u32,
    /// The trace that was measured; of several the first.
    pub trace: String,
    /// What was measured.
    budgets: Vec<SavedBudget>,
    /// What made numbers of the runs doubtful, each with the name of its trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
    /// What else was said of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The machines of the runs, each once; not known of older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    machines: Vec<Machine>,
    /// The code page by which names of processes were read, where some needed one; not known of older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code_page: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedBudget {
    name: String,
    analysis: String,
    measure: String,
    #[serde(rename = "where")]
    conditions: Vec<SavedCondition>,
    /// Median of the runs; `None` if the value was not known in one of them.
    pages: Option<u64>,
    /// The value of each run, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs: Vec<u64>,
    /// The value without conditions, of the run of the median.
    total_pages: Option<u64>,
    /// The same of each run; not known of older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    run_totals: Vec<u64>,
    dimensions: Vec<String>,
    rows: Vec<SavedRow>,
    /// True where nothing met the conditions, of a budget that allows it: the value is 0 for that reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    no_match: bool,
    /// Keywords that were not recorded, so that it counts pages of other categories too; not known of older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unrecorded: Option<Vec<String>>,
    /// The same of the categories of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows_without: Option<Vec<String>>,
    /// Access reasons that it lacks because the trace has no record of them; not known of older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lacks_reasons: Option<Vec<String>>,
    /// Nanoseconds that a sum over time is of; not known of older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span_ns: Option<u64>,
    /// Nanoseconds of the scenario, of what is held of a reference set; not known of older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scenario_ns: Option<u64>,
    /// The one or the other of each run; not known of older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    run_spans_ns: Vec<u64>,
    /// Whose the ids of threads and heaps are that the conditions name; not known of older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    owners: Vec<IdOwners>,
    /// Why it has no value although each run has one: they are of different processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runs_differ: Option<String>,
    /// What of it is not known; nothing of older files.
    #[serde(default, skip_serializing_if = "SavedUnknown::is_nothing")]
    unknown: SavedUnknown,
}

/// What of a value is not known, as in [`Value`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct SavedUnknown {
    unknown_ns: u64,
    unowned: u64,
    perhaps: u64,
    excluded: u64,
    perhaps_excluded: u64,
}

impl SavedUnknown {
    fn of(value: &Value) -> SavedUnknown {
        let Value { unknown_ns, unowned, perhaps, excluded, perhaps_excluded, .. } = *value;
        SavedUnknown { unknown_ns, unowned, perhaps, excluded, perhaps_excluded }
    }

    fn is_nothing(&self) -> bool {
        *self == SavedUnknown::default()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedCondition {
    dimension: String,
    patterns: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedRow {
    labels: Vec<String>,
    pages: i64,
}

/// Why a baseline that was changed by hand has no value.
const CONTRADICTS: &str = "the baseline contradicts itself";

impl SavedBudget {
    /// That its numbers cannot all be true: somebody changed some of them.
    fn contradiction(&self) -> Option<String> {
        let pages = self.pages?;
        let changed = "it was changed after pfnset wrote it; save it again";
        let mut runs = self.runs.clone();
        runs.sort_unstable();
        let median = runs.get(runs.len().saturating_sub(1) / 2);
        if let Some(median) = median.filter(|median| **median != pages) {
            return Some(format!("the median of its runs is {median} and its value is {pages}: {changed}"));
        }
        let measure = self.known_measure()?;
        let labels: Vec<&[String]> = self.rows.iter().map(|row| &row.labels[..]).collect();
        if let Some(reason) = unlikely_rows((&self.analysis, measure), &self.dimensions, &labels) {
            return Some(format!("{reason}: {changed}"));
        }
        let conditions = self.conditions.iter().map(|condition| (&*condition.dimension, &*condition.patterns));
        if let Some(reason) = excluded_row(conditions, &self.dimensions, &labels) {
            return Some(format!("{reason}: {changed}"));
        }
        let sum = self.rows.iter().map(|row| i128::from(row.pages)).sum::<i128>().max(0);
        // Rows in nanoseconds and of growth are rounded down one by one; parts of a peak have their own peaks.
        let (value, rounding) = (i128::from(pages), self.rows.len() as i128 + 1);
        let of_rows = measure.sum_of_rows();
        let fits = match of_rows {
            RowSum::Equal => sum == value,
            RowSum::Rounded => (value - rounding..=value + rounding).contains(&sum),
            RowSum::AtLeast => sum >= value,
            RowSum::OfGrowing => sum + rounding >= value,
        };
        if !fits {
            return Some(format!("its rows have {sum} and its value is {pages}: {changed}"));
        }
        // What grew can be more in a part than in all.
        if of_rows == RowSum::OfGrowing {
            return None;
        }
        let beyond = |total: &u64| *total < pages;
        let beyond = self
            .total_pages
            .filter(beyond)
            .map(|total| format!("its value is {pages}, and the value without conditions is {total}"));
        beyond.or_else(|| self.other_runs(pages)).map(|reason| format!("{reason}: {changed}"))
    }

    /// The measure of this name that the analysis has.
    fn known_measure(&self) -> Option<Measure> {
        let analysis = Analysis::ALL.into_iter().find(|analysis| analysis.name() == self.analysis)?;
        Measure::ALL.into_iter().find(|measure| measure.name() == self.measure && measure.is_of(analysis))
    }

    /// That runs do not fit their values without conditions. The one of the median is no bound of the others.
    fn other_runs(&self, pages: u64) -> Option<String> {
        let (runs, totals) = (&self.runs, &self.run_totals);
        if totals.is_empty() {
            return None;
        }
        if runs.len() != totals.len() {
            let [runs, totals] = [runs, totals].map(Vec::len);
            return Some(format!("it has values of {runs} runs, and of {totals} without conditions"));
        }
        let both = || runs.iter().zip(totals);
        if let Some((run, total)) = both().find(|(run, total)| run > total) {
            return Some(format!("the value of a run is {run}, and {total} without conditions"));
        }
        let is_of_median =
            |(run, total): (&u64, &u64)| *run == pages && self.total_pages.is_none_or(|all| all == *total);
        (!both().any(is_of_median)).then(|| "the value without conditions is of no run with this value".to_owned())
    }
}

/// What was measured of a trace.
#[derive(Debug)]
pub struct Run {
    /// The trace.
    pub trace: String,
    /// The values of the budgets, in their order; `None` for one that is not known.
    pub values: Vec<Option<Value>>,
    /// What it was recorded on.
    pub(crate) machine: Option<Machine>,
    /// The code page by which names of its processes were read, where some needed one.
    pub(crate) code_page: Option<CodePage>,
    /// What makes its numbers doubtful.
    pub doubts: Vec<String>,
    /// What else is said of them.
    pub warnings: Vec<String>,
}

/// The run in the middle; of an even number the lower one of the two, so that its rows add up to its value.
fn median(mut values: Vec<&Value>) -> Option<&Value> {
    values.sort_by_key(|value| value.pages);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The first run that was recorded with other keywords than the first one, where that moves pages between the categories of the budget
/// `at`, or leaves out accesses: their values are of different pages, so there is no median and no spread.
pub fn differing_run(all_runs: &[Run], at: usize) -> Option<&Run> {
    let lacks = |value: &Value| [value.unrecorded.clone(), value.lacks_reasons.clone()].map(Option::unwrap_or_default);
    let lacks_of = |run: &Run| run.values.get(at)?.as_ref().map(lacks);
    let first = lacks_of(all_runs.first()?)?;
    all_runs.iter().find(|run| lacks_of(run).is_some_and(|own| own != first))
}

/// Runs whose values grow with the time, and are of times of other lengths: their spread is that of the lengths.
#[derive(Debug)]
pub struct OtherLengths<'r> {
    /// The shortest.
    pub shortest: &'r Run,
    /// The longest.
    pub longest: &'r Run,
    /// What of them grows with the time.
    pub grows: &'static str,
}

/// Runs of other lengths, where the budget `at` is of what grows with the time.
pub fn runs_of_other_lengths<'r>(all_runs: &'r [Run], at: usize) -> Option<OtherLengths<'r>> {
    let with_span = |run: &'r Run| {
        let value = run.values.get(at)?.as_ref()?;
        Some((value.grows_with_ns()?, value.grows_with_time(), run))
    };
    let spans: Vec<(u64, &str, &Run)> = all_runs.iter().filter_map(with_span).collect();
    let (least, grows, shortest) = *spans.iter().min_by_key(|(span, ..)| *span)?;
    let (most, _, longest) = *spans.iter().max_by_key(|(span, ..)| *span)?;
    are_of_other_lengths(least, most).then_some(OtherLengths { shortest, longest, grows })
}

/// Why runs are of different processes, threads or heaps, though the conditions of the budget `at` name them by the same id: there is no
/// median and no spread of those.
pub fn runs_of_other_processes(budget: &Budget, all_runs: &[Run], at: usize) -> Option<String> {
    let values = all_runs.iter().filter_map(|run| Some((run.values.get(at)?.as_ref()?, &*run.trace)));
    // An optional one without a match counts as 0.
    let values: Vec<(&Value, &str)> = values.filter(|(value, _)| !value.has_no_match).collect();
    let mut pairs =
        (1..).zip(&values).flat_map(|(next, before)| values.iter().skip(next).map(move |now| (before, now)));
    pairs.find_map(|(before, now)| Sides { before: *before, now: *now }.differ(&budget.filter))
}

/// Rows as they are saved. Two processes can have the same name and id, one after the other: then their rows are one.
fn saved_rows(rows: &[Row], measure: Measure) -> Vec<SavedRow> {
    let mut saved: Vec<SavedRow> = Vec::new();
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for row in rows {
        let labels: Vec<String> = row.labels.iter().map(String::from).collect();
        let at = *places.entry(labels.clone()).or_insert(saved.len());
        match saved.get_mut(at).filter(|_| are_merged(measure)) {
            Some(same) => same.pages = same.pages.saturating_add(row.pages),
            None => saved.push(SavedRow { labels, pages: row.pages }),
        }
    }
    saved
}

impl SavedBudget {
    /// Of the budget `at`: the median of the runs, and its rows.
    fn new(budget: &Budget, all_runs: &[Run], at: usize) -> SavedBudget {
        let runs_differ = runs_of_other_processes(budget, all_runs, at);
        let values: Option<Vec<&Value>> = all_runs.iter().map(|run| run.values.get(at)?.as_ref()).collect();
        let values = values.filter(|_| differing_run(all_runs, at).is_none() && runs_differ.is_none());
        let several = values.as_ref().filter(|values| values.len() > 1);
        let each = |of: fn(&Value) -> u64| several.iter().flat_map(|all| all.iter().map(|value| of(value))).collect();
        let (runs, run_totals) = (each(|value| value.pages), each(|value| value.total));
        let spans: Option<Vec<u64>> = several.and_then(|all| all.iter().map(|value| value.grows_with_ns()).collect());
        let value = values.and_then(median);
        let unrecorded = value.and_then(|value| value.unrecorded.clone());
        let conditions = budget.filter.iter();
        SavedBudget {
            name: budget.name.clone(),
            analysis: budget.analysis.name().to_owned(),
            measure: budget.measure.name().to_owned(),
            conditions: conditions
                .map(|(dimension, patterns)| SavedCondition {
                    dimension: (*dimension).to_owned(),
                    patterns: patterns.clone(),
                })
                .collect(),
            pages: value.map(|value| value.pages),
            runs,
            total_pages: value.map(|value| value.total),
            run_totals,
            dimensions: value.map(|value| value.dimensions.clone()).unwrap_or_default(),
            rows: value.map(|value| saved_rows(&value.rows, budget.measure)).unwrap_or_default(),
            no_match: value.is_some_and(|value| value.has_no_match),
            unrecorded,
            rows_without: value.and_then(|value| value.rows_without.clone()),
            lacks_reasons: value.and_then(|value| value.lacks_reasons.clone()),
            span_ns: value.and_then(|value| value.span_ns),
            run_spans_ns: spans.unwrap_or_default(),
            scenario_ns: value.and_then(|value| value.scenario_ns),
            owners: value.and_then(|value| value.owners.clone()).unwrap_or_default(),
            runs_differ,
            unknown: value.map(SavedUnknown::of).unwrap_or_default(),
        }
    }
}

impl Saved {
    /// Makes it from the values of one run or of several.
    pub fn new(budgets: &[Budget], all_runs: &[Run]) -> Saved {
        let trace = all_runs.first().map(|run| run.trace.clone()).unwrap_or_default();
        let budgets = budgets.iter().enumerate();
        let budgets = budgets.map(|(at, budget)| SavedBudget::new(budget, all_runs, at)).collect();
        let told = |of: fn(&Run) -> &Vec<String>| {
            let of_run = |run| of(run).iter().map(move |text| format!("{}: {text}", run.trace));
            all_runs.iter().flat_map(of_run).collect()
        };
        let (doubts, warnings) = (told(|run| &run.doubts), told(|run| &run.warnings));
        let mut machines: Vec<Machine> = Vec::new();
        for machine in all_runs.iter().filter_map(|run| run.machine.as_ref()) {
            if !machines.contains(machine) {
                machines.push(machine.clone());
            }
        }
        // All runs are read by the same one.
        let code_page = all_runs.iter().find_map(|run| run.code_page).map(|page| page.name().to_owned());
        Saved { schema: SCHEMA.to_owned(), version: VERSION, trace, budgets, doubts, warnings, machines, code_page }
    }

    /// Reads a saved baseline; `None` if the file is something else.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Option<Saved>, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
            version: Option<u64>,
        }
        // Editors and shells of Windows write a byte-order mark, and UTF-16.
        let text = Text::new(bytes);
        if !text.head(1).trim_start().starts_with('{') {
            return Ok(None);
        }
        let text = text.whole();
        let Ok(head) = serde_json::from_str::<Head>(&text) else { return Ok(None) };
        match (head.schema.as_deref(), head.version) {
            (Some(SCHEMA), Some(version)) if version == u64::from(VERSION) => {
                serde_json::from_str(&text).map(Some).map_err(|error| format!("it is no whole {SCHEMA}: {error}"))
            }
            (Some(SCHEMA), _) => {
                Err(format!("it is another version of {SCHEMA}; this program reads version {VERSION}"))
            }
            (Some("pfnset.check"), _) => {
                Err("it holds verdicts; a baseline is written with pfnset check --save-baseline FILE".to_owned())
            }
            _ => Ok(None),
        }
    }

    /// What made its runs doubtful, and what else was said of them.
    fn warnings(&self) -> Warnings {
        let told = |text: &String| format!("when it was saved: {text}");
        let contradictions = self.budgets.iter().filter_map(|budget| {
            Some(format!("the saved value of \"{}\" contradicts itself: {}", budget.name, budget.contradiction()?))
        });
        let contradictions = contradictions.map(|text| Warning::grave(OF_TRACE, "total_differs", text));
        let grave = self.doubts.iter().map(|text| Warning::grave(OF_TRACE, "written_of_doubtful_trace", told(text)));
        let others = self.warnings.iter().map(|text| Warning::note(OF_TRACE, "written_with_warning", told(text)));
        contradictions.chain(grave).chain(others).collect()
    }

    fn value(&self, budget: &Budget) -> Result<Value, String> {
        let same = |saved: &&SavedBudget| {
            let filter: Vec<_> = saved.conditions.iter().map(|c| (c.dimension.clone(), c.patterns.clone())).collect();
            budget.is_same((&saved.analysis, &saved.measure), &filter)
        };
        let mut alike = self.budgets.iter().filter(same);
        let saved = alike.next().ok_or(
            "the baseline has no such measure and conditions; save it again with pfnset check --save-baseline",
        )?;
        if alike.any(|other| (other.pages, &other.runs) != (saved.pages, &saved.runs)) {
            return Err("the baseline has two values of this measure and these conditions; save it again".to_owned());
        }
        let unknown = || match &saved.runs_differ {
            Some(reason) => format!("the runs of the baseline differ: {reason}"),
            None => "the value was invalid, or nothing met the conditions, when the baseline was saved".to_owned(),
        };
        let pages = saved.pages.ok_or_else(unknown)?;
        if let Some(reason) = saved.contradiction() {
            return Err(format!("{CONTRADICTS}: {reason}"));
        }
        let labels = |row: &SavedRow| row.labels.iter().map(|label| Label::name(label.as_str())).collect();
        let rows = saved.rows.iter().map(|row| Row { labels: labels(row), pages: row.pages });
        let total = saved.total_pages.unwrap_or(pages);
        let (dimensions, runs, unrecorded) = (saved.dimensions.clone(), saved.runs.clone(), saved.unrecorded.clone());
        let (rows, has_no_match, span_ns) = (rows.collect(), saved.no_match, saved.span_ns);
        let (rows_without, lacks_reasons) = (saved.rows_without.clone(), saved.lacks_reasons.clone());
        let value = Value { pages, total, dimensions, rows, runs, unrecorded, rows_without, ..Value::default() };
        let SavedUnknown { unknown_ns, unowned, perhaps, excluded, perhaps_excluded } = saved.unknown;
        Ok(Value {
            has_no_match,
            span_ns,
            run_spans_ns: saved.run_spans_ns.clone(),
            scenario_ns: saved.scenario_ns,
            unknown_ns,
            unowned,
            perhaps,
            excluded,
            perhaps_excluded,
            lacks_reasons,
            owners: Some(saved.owners.clone()).filter(|owners| !owners.is_empty()),
            code_page: self.code_page.as_ref().and_then(|page| page.parse().ok()),
            ..value
        })
    }
}

/// The baseline that values are compared with.
#[derive(Debug)]
pub enum Baseline {
    /// A saved baseline.
    Saved(Saved),
    /// A trace, or a table that pfnset wrote.
    Source(Box<SourceContent>),
}

impl Baseline {
    /// The trace, where it is one.
    pub fn trace(&self) -> Option<&Trace> {
        if let Baseline::Source(source) = self { source.trace() } else { None }
    }

    /// The values of the budgets, or why they are not known, and what makes them doubtful.
    pub fn values(&self, budgets: &[Budget]) -> TraceValues {
        let of_each = |value: &dyn Fn(&Budget) -> Result<Value, String>| budgets.iter().map(value).collect();
        let source = match self {
            Baseline::Saved(saved) => {
                let values = of_each(&|budget| saved.value(budget));
                let (warnings, machines) = (saved.warnings(), saved.machines.clone());
                return TraceValues { values, warnings, machines, code_page: None };
            }
            Baseline::Source(source) => source,
        };
        match &**source {
            SourceContent::Trace(trace) => TraceValues::answer(trace, budgets).of_baseline(),
            SourceContent::Pfnset(table) => {
                let contradiction = table.contradictions.first();
                let value = |budget: &Budget| match contradiction {
                    Some(warning) => Err(format!("{CONTRADICTS}: {}", warning.text)),
                    None => table_value(table, budget),
                };
                TraceValues { values: of_each(&value), warnings: table.warnings_of_file(), ..TraceValues::default() }
            }
            SourceContent::Wpa(_) => {
                let other = "the baseline is a table of WPA, which counts by other rules; pfnset diff compares with it";
                TraceValues { values: of_each(&|_| Err(other.to_owned())), ..TraceValues::default() }
            }
        }
    }
}
