//! The baseline: values of an earlier run, from a trace, from JSON of `pfnset resident` or `refset`, or from a saved baseline.

use crate::analysis::check::budget::{Analysis, Budget, Measure};
use crate::analysis::check::measured::{Row, TraceValues, Value};
use crate::analysis::diff::source::SourceContent;
use crate::facets::vocabulary::{IMPACT, RELEASE_REASON};
use crate::imported::pfnset_table::PfnsetTable;
use crate::imported::wpa::columns::ExportedTable;
use serde::{Deserialize, Serialize};

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
    total_pages: Option<u64>,
    dimensions: Vec<String>,
    rows: Vec<SavedRow>,
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

/// What was measured of a trace.
#[derive(Debug)]
pub struct Run {
    /// The trace.
    pub trace: String,
    /// The values of the budgets, in their order; `None` for one that is not known.
    pub values: Vec<Option<Value>>,
}

/// The run in the middle; of an even number the lower one of the two, so that its rows add up to its value.
fn median(mut values: Vec<&Value>) -> Option<&Value> {
    values.sort_by_key(|value| value.pages);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

impl Saved {
    /// Makes it from the values of one run or of several.
    pub fn new(budgets: &[Budget], runs: &[Run]) -> Saved {
        let budget = |(at, budget): (usize, &Budget)| {
            let values: Option<Vec<&Value>> = runs.iter().map(|run| run.values.get(at)?.as_ref()).collect();
            let pages = |values: &Vec<&Value>| values.iter().map(|value| value.pages).collect();
            let runs = values.as_ref().filter(|values| values.len() > 1).map(pages).unwrap_or_default();
            let value = values.and_then(median);
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
                dimensions: value.map(|value| value.dimensions.clone()).unwrap_or_default(),
                rows: (value.iter().flat_map(|value| &value.rows))
                    .map(|row| SavedRow { labels: row.labels.clone(), pages: row.pages })
                    .collect(),
            }
        };
        let trace = runs.first().map(|run| run.trace.clone()).unwrap_or_default();
        let budgets = budgets.iter().enumerate().map(budget).collect();
        Saved { schema: SCHEMA.to_owned(), version: VERSION, trace, budgets }
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
        let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        let Some(head) = (start == Some(&b'{')).then(|| serde_json::from_slice::<Head>(bytes).ok()).flatten() else {
            return Ok(None);
        };
        match (head.schema.as_deref(), head.version) {
            (Some(SCHEMA), Some(version)) if version == u64::from(VERSION) => {
                serde_json::from_slice(bytes).map(Some).map_err(|error| format!("it is no whole {SCHEMA}: {error}"))
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

    fn value(&self, budget: &Budget) -> Result<Value, String> {
        let same = |saved: &&SavedBudget| {
            let filter: Vec<_> = saved.conditions.iter().map(|c| (c.dimension.clone(), c.patterns.clone())).collect();
            budget.is_same((&saved.analysis, &saved.measure), &filter)
        };
        let saved = self.budgets.iter().find(same);
        let saved = saved.ok_or(
            "the baseline has no such measure and conditions; save it again with pfnset check --save-baseline",
        )?;
        let pages = saved.pages.ok_or("the value was invalid when the baseline was saved")?;
        let rows = saved.rows.iter().map(|row| Row { labels: row.labels.clone(), pages: row.pages });
        let total = saved.total_pages.unwrap_or(pages);
        let runs = saved.runs.clone();
        Ok(Value { pages, total, dimensions: saved.dimensions.clone(), rows: rows.collect(), runs, ..Value::default() })
    }
}

/// The baseline that values are compared with.
#[derive(Debug)]
pub enum Baseline {
    /// A saved baseline.
    Saved(Saved),
    /// A trace, or a table that pfnset wrote.
    Source(SourceContent),
}

impl Baseline {
    /// The values of the budgets, or why they are not known.
    pub fn values(&self, budgets: &[Budget]) -> Vec<Result<Value, String>> {
        let of_each = |value: &dyn Fn(&Budget) -> Result<Value, String>| budgets.iter().map(value).collect();
        match self {
            Baseline::Saved(saved) => of_each(&|budget| saved.value(budget)),
            Baseline::Source(SourceContent::Trace(trace)) => {
                let told = |reason| format!("of the baseline: {reason}");
                TraceValues::answer(trace, budgets).values.into_iter().map(|value| value.map_err(told)).collect()
            }
            Baseline::Source(SourceContent::Pfnset(table)) => of_each(&|budget| table_value(table, budget)),
            Baseline::Source(SourceContent::Wpa(_)) => of_each(&|_| {
                Err("the baseline is a table of WPA, which counts by other rules; pfnset diff compares with it"
                    .to_owned())
            }),
        }
    }
}

/// The value of a budget in a table.
fn table_value(table: &PfnsetTable, budget: &Budget) -> Result<Value, String> {
    let has = |name: &str| table.dimensions.iter().any(|dimension| dimension == name);
    let fits = match (budget.analysis, table.table) {
        (Analysis::Resident, ExportedTable::Resident) => true,
        (Analysis::Reference, ExportedTable::Reference) => {
            budget.measure == Measure::HeldAtStop && !has(RELEASE_REASON.name) && !has(IMPACT.name)
        }
        _ => false,
    };
    if !fits {
        return Err(format!(
            "the baseline holds no {}; save one with pfnset check --save-baseline",
            budget.measure.name()
        ));
    }
    if !table.counts(false) {
        return Err("the baseline counts by WPA's rules; write it by the corrected rules".to_owned());
    }
    let mut conditions = Vec::new();
    for (name, patterns) in budget.conditions.by_name() {
        let at = table.dimensions.iter().position(|dimension| dimension == name);
        let missing =
            || format!("the baseline has no {name}: write it grouped by {name}, or use pfnset check --save-baseline");
        conditions.push((at.ok_or_else(missing)?, patterns));
    }
    let snapshot = table.snapshots.last().ok_or("the baseline has no snapshot")?;
    let passes = |labels: &[Box<str>]| {
        conditions.iter().all(|(at, patterns)| labels.get(*at).is_some_and(|label| patterns.matches(label)))
    };
    let counted = table.rows(snapshot, false);
    let sum = |all: &mut dyn Iterator<Item = i64>| u64::try_from(all.sum::<i64>()).unwrap_or(0);
    let selected = || counted.iter().filter(|row| passes(&row.labels));
    let row = |row: &crate::imported::CountedRow| Row {
        labels: row.labels.iter().map(|label| label.to_string()).collect(),
        pages: row.amount.pages(),
    };
    Ok(Value {
        pages: sum(&mut selected().map(|row| row.amount.pages())),
        total: sum(&mut counted.iter().map(|row| row.amount.pages())),
        dimensions: table.dimensions.clone(),
        rows: selected().map(row).collect(),
        ..Value::default()
    })
}
