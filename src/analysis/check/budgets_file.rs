//! The budgets file: TOML, read strictly. Errors have line and column.

use crate::analysis::allocations::Dimension as AllocationDimension;
use crate::analysis::check::budget::{Analysis, Budget, Conditions, Limit, Measure, MeasureUnit, WHOLE};
use crate::analysis::cpu::query::Dimension as CpuDimension;
use crate::analysis::diff::tolerance::Rounding;
use crate::analysis::faults::{Dimension as FaultDimension, Of};
use crate::analysis::refset::query::Dimension as ReferenceDimension;
use crate::analysis::resident::page_dimensions::Dimension as ResidentDimension;
use crate::analysis::table::{Condition, Dimension, spelling};
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::model::window::duration;
use crate::symbols::folders::SymbolFolders;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Keys of a budget.
const KEYS: [&str; 9] = ["name", "analysis", "where", "measure", "max", "min", "max_growth", "watch", "optional"];
/// Default of `watch`: the part of a limit from which the verdict is `watch`, millionths.
const WATCH: u64 = 900_000;
/// Greatest limit: sums with it do not overflow.
const MOST: u64 = 1 << 62;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    #[serde(default)]
    budget: Vec<Spanned<BudgetForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetForm {
    name: Spanned<String>,
    analysis: Option<Spanned<String>>,
    #[serde(default, rename = "where")]
    conditions: BTreeMap<Spanned<String>, Spanned<PatternsForm>>,
    measure: Option<Spanned<String>>,
    max: Option<Spanned<String>>,
    min: Option<Spanned<String>>,
    max_growth: Option<Spanned<String>>,
    watch: Option<Spanned<String>>,
    optional: Option<Spanned<bool>>,
}

/// Patterns as people write them.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected patterns: text, a whole number, true or false, or a list of these")]
enum PatternsForm {
    One(PatternForm),
    List(Vec<PatternForm>),
}

/// One of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PatternForm {
    Text(String),
    Number(i64),
    Flag(bool),
}

impl PatternsForm {
    fn text(&self) -> String {
        match self {
            PatternsForm::One(pattern) => pattern.text(),
            PatternsForm::List(list) => list.iter().map(PatternForm::text).collect::<Vec<_>>().join(";"),
        }
    }
}

impl PatternForm {
    fn text(&self) -> String {
        match self {
            PatternForm::Text(text) => text.clone(),
            PatternForm::Number(number) => number.to_string(),
            PatternForm::Flag(flag) => flag.to_string(),
        }
    }
}

/// What is wrong, and where in the text.
struct Wrong {
    at: Range<usize>,
    reason: String,
}

fn wrong<T>(of: &Spanned<T>, reason: impl Into<String>) -> Wrong {
    Wrong { at: of.span(), reason: reason.into() }
}

/// Reads a budgets file.
///
/// # Errors
/// [`Error::NotBudgets`] with line and column.
pub fn read(path: &Path, text: &str) -> Result<Vec<Budget>, Error> {
    budgets(text).map_err(|Wrong { at, reason }| {
        let before = text.get(..at.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::NotBudgets { path: path.into(), line, column, reason }
    })
}

fn budgets(text: &str) -> Result<Vec<Budget>, Wrong> {
    let form: FileForm = toml::from_str(text)
        .map_err(|error| Wrong { at: error.span().unwrap_or(0..0), reason: with_advice(error.message()) })?;
    if form.budget.is_empty() {
        return Err(Wrong { at: 0..0, reason: "it holds no budget; each begins with [[budget]]".into() });
    }
    let mut names = BTreeSet::new();
    let mut all = Vec::new();
    for form in &form.budget {
        let budget = budget(form)?;
        if !names.insert(budget.name.clone()) {
            return Err(wrong(&form.get_ref().name, format!("another budget is named \"{}\" too", budget.name)));
        }
        all.push(budget);
    }
    Ok(all)
}

/// The parser's message; for an unknown key, with a suggestion of the right one.
fn with_advice(message: &str) -> String {
    let message = message.trim_end();
    let quoted = |text: &str| Some(text.split_once('`')?.1.split_once('`')?.0.to_owned());
    if message.starts_with("unknown field")
        && let Some(key) = quoted(message)
    {
        let is_of_file = message.contains("expected `budget`");
        let known: &[&str] = if is_of_file { &["budget"] } else { &KEYS };
        return format!("unknown key \"{key}\"{}", spelling::advice(&key, known.iter().copied()));
    }
    if message.starts_with("missing field")
        && let Some(key) = quoted(message)
    {
        return format!("a budget needs the key \"{key}\"");
    }
    match message.contains("expected a string") {
        true => format!("{message}; write it as text, as in \"300 MiB\""),
        false => message.to_owned(),
    }
}

fn budget(whole: &Spanned<BudgetForm>) -> Result<Budget, Wrong> {
    let form = whole.get_ref();
    let name = form.name.get_ref().trim().to_owned();
    if name.is_empty() {
        return Err(wrong(&form.name, "a budget needs a name"));
    }
    let (analysis, measure) = measure(form)?;
    // What is more than an upper limit by a part of a byte is beyond it.
    let limits = [(&form.max, Rounding::Down), (&form.min, Rounding::Up), (&form.max_growth, Rounding::Down)];
    let read =
        |(limit, rounding): (&Option<_>, _)| limit.as_ref().map(|text| amount(text, measure, rounding)).transpose();
    let [max, min, max_growth] = limits.map(read);
    let (max, min, max_growth) = (max?, min?, max_growth?);
    check_limits(form, max, min)?;
    if max.is_none() && min.is_none() && max_growth.is_none() {
        return Err(wrong(&form.name, format!("budget \"{name}\" has no limit: give max, min or max_growth")));
    }
    let mut conditions = match analysis {
        Analysis::Resident => Conditions::Resident(conditions::<ResidentDimension>(form)?),
        Analysis::Reference => {
            let all = conditions::<ReferenceDimension>(form)?;
            check_dimensions(form, measure)?;
            Conditions::Reference(all)
        }
        Analysis::Faults => {
            let all = conditions::<FaultDimension>(form)?;
            check_fault_dimensions(form)?;
            Conditions::Faults(all)
        }
        Analysis::Cpu => Conditions::Cpu(conditions::<CpuDimension>(form)?),
        Analysis::Allocations(of) => {
            let all = conditions::<AllocationDimension>(form)?;
            check_allocation_dimensions(form, of)?;
            Conditions::Allocations(all)
        }
    };
    let texts = form.conditions.values().map(|patterns| patterns.get_ref().text());
    let filter = conditions.by_name().into_iter().map(|(name, _)| name).zip(texts).collect();
    conditions.put_open_first();
    let optional = form.optional.as_ref().is_some_and(|optional| *optional.get_ref());
    if let Some(at) = form.optional.as_ref().filter(|_| optional && form.conditions.is_empty()) {
        return Err(wrong(at, "optional is for budgets with where: without conditions everything matches"));
    }
    let (watch, symbols) = (watch(form)?, SymbolFolders::default());
    Ok(Budget { name, analysis, measure, conditions, symbols, filter, max, min, max_growth, watch, optional })
}

/// Limits that every value meets, or none.
fn check_limits(form: &BudgetForm, max: Option<Limit>, min: Option<Limit>) -> Result<(), Wrong> {
    for (limit, text) in [(max, &form.max), (min, &form.min)] {
        if let (Some(Limit::Share(share)), Some(at)) = (limit, text)
            && share > WHOLE
        {
            return Err(wrong(at, format!("\"{}\": a part of all is at most 100 %", at.get_ref())));
        }
    }
    let is_apart = match (max, min) {
        (Some(Limit::Bytes(max)), Some(Limit::Bytes(min))) | (Some(Limit::Share(max)), Some(Limit::Share(min))) => {
            min > max
        }
        _ => false,
    };
    match form.min.as_ref().filter(|_| is_apart) {
        Some(at) => Err(wrong(at, "min is above max: no value is within both")),
        None => Ok(()),
    }
}

fn measure(form: &BudgetForm) -> Result<(Analysis, Measure), Wrong> {
    let analysis = match &form.analysis {
        None => Analysis::default(),
        Some(text) => {
            let found = Analysis::ALL.into_iter().find(|analysis| analysis.name() == text.get_ref());
            found.ok_or_else(|| {
                let advice = spelling::advice(text.get_ref(), Analysis::ALL.map(Analysis::name));
                wrong(text, format!("unknown analysis \"{}\"{advice}", text.get_ref()))
            })?
        }
    };
    let of_it = Measure::ALL.into_iter().filter(|measure| measure.is_of(analysis));
    let Some(text) = &form.measure else {
        let usual = match analysis {
            Analysis::Resident => Measure::Pages,
            Analysis::Reference => Measure::HeldAtStop,
            Analysis::Faults => Measure::HardFaults,
            Analysis::Cpu => Measure::CpuTime,
            Analysis::Allocations(_) => Measure::Outstanding,
        };
        return Ok((analysis, usual));
    };
    let names: Vec<&str> = of_it.clone().map(Measure::name).collect();
    let found = of_it.clone().find(|measure| measure.name() == text.get_ref());
    found.map(|measure| (analysis, measure)).ok_or_else(|| {
        let of_other = Measure::ALL.into_iter().find(|measure| measure.name() == text.get_ref());
        let other = of_other.and_then(|other| Analysis::ALL.into_iter().find(|analysis| other.is_of(*analysis)));
        let advice = match other {
            Some(other) => format!("; it is one of analysis = \"{}\"", other.name()),
            None => spelling::advice(text.get_ref(), names),
        };
        wrong(text, format!("analysis {} has no measure \"{}\"{advice}", analysis.name(), text.get_ref()))
    })
}

fn amount(text: &Spanned<String>, measure: Measure, rounding: Rounding) -> Result<Limit, Wrong> {
    limit(text.get_ref(), measure, rounding).map_err(|form| wrong(text, format!("\"{}\": {form}", text.get_ref())))
}

/// A limit as people write it.
///
/// # Errors
/// What is expected in its place.
pub(super) fn limit(text: &str, measure: Measure, rounding: Rounding) -> Result<Limit, &'static str> {
    let whole = text.trim();
    let read = || Limit::rounded(whole, rounding).ok();
    let share = || whole.ends_with('%').then(read).flatten();
    let (limit, form) = match measure.unit() {
        // Of 0 the unit does not matter.
        MeasureUnit::Pages | MeasureUnit::Bytes if whole.parse::<f64>().is_ok_and(|number| number > 0.0) => {
            (None, "is it pages or bytes? Write \"1000 pages\", \"4096 bytes\" or \"300 MiB\"")
        }
        MeasureUnit::Pages | MeasureUnit::Bytes => {
            (read(), "expected a size (\"300 MiB\"), a number of pages (\"1000 pages\") or a share (\"5 %\")")
        }
        MeasureUnit::Faults => {
            let number = whole.strip_suffix("faults").unwrap_or(whole).trim_end();
            let limit = number.parse().ok().filter(|number| *number <= MOST).map(Limit::Bytes);
            (limit.or_else(share), "expected a number of faults (\"200\") or a share (\"5 %\")")
        }
        MeasureUnit::Time => {
            let is_plain = whole.ends_with(|last: char| last.is_ascii_digit());
            let told = if is_plain { format!("{whole} ms") } else { whole.to_owned() };
            let nanos = duration(&told).and_then(|time| u64::try_from(time.0).ok()).filter(|number| *number <= MOST);
            (
                nanos.map(Limit::Bytes).or_else(share),
                "expected milliseconds (\"500\"), a time (\"2 s\") or a share (\"5 %\")",
            )
        }
    };
    limit.ok_or(form)
}

fn watch(form: &BudgetForm) -> Result<u64, Wrong> {
    let Some(text) = &form.watch else { return Ok(WATCH) };
    match text.get_ref().parse() {
        Ok(Limit::Share(share)) if (1..=WHOLE).contains(&share) => Ok(share),
        _ => Err(wrong(text, format!("\"{}\": expected a share of a limit, as in \"90 %\"", text.get_ref()))),
    }
}

fn conditions<D: Dimension>(form: &BudgetForm) -> Result<Vec<Condition<D>>, Wrong> {
    let told = |error: Error| error.to_string();
    let condition = |(name, patterns): (&Spanned<String>, &Spanned<PatternsForm>)| {
        let dimension = D::parse(name.get_ref()).map_err(|error| wrong(name, told(error)))?;
        let text = format!("{}={}", dimension.name(), patterns.get_ref().text());
        Condition::parse(&text).map_err(|error| wrong(patterns, told(error)))
    };
    form.conditions.iter().map(condition).collect()
}

/// Some dimensions are those of disk requests alone.
fn check_fault_dimensions(form: &BudgetForm) -> Result<(), Wrong> {
    for name in form.conditions.keys() {
        if FaultDimension::parse(name.get_ref()).is_ok_and(|dimension| !Of::Hard.has(dimension)) {
            return Err(wrong(name, format!("hard faults have no {}: it is one of disk requests", name.get_ref())));
        }
    }
    Ok(())
}

/// Some dimensions are those of one kind, and what only the end of a piece tells is unknown of what is still allocated.
fn check_allocation_dimensions(form: &BudgetForm, of: AllocationKind) -> Result<(), Wrong> {
    for name in form.conditions.keys() {
        let Ok(dimension) = AllocationDimension::parse(name.get_ref()) else { continue };
        if let Some(other) = dimension.only_of().filter(|other| *other != of) {
            let text = format!("{} is one of analysis = \"{}\"", name.get_ref(), other.name());
            return Err(wrong(name, text));
        }
        if dimension.is_known_at_end(of) {
            let text =
                format!("{} is not known before something is freed, and budgets are of what is not", name.get_ref());
            return Err(wrong(name, text));
        }
    }
    Ok(())
}

/// Not every measure is known for every dimension of the reference set.
fn check_dimensions(form: &BudgetForm, measure: Measure) -> Result<(), Wrong> {
    for name in form.conditions.keys() {
        let dimension = ReferenceDimension::parse(name.get_ref());
        let is_reason = matches!(dimension, Ok(ReferenceDimension::AccessReason));
        let has_ended = matches!(dimension, Ok(ReferenceDimension::ReleaseReason | ReferenceDimension::Impact));
        if measure.is_of_accesses() && !is_reason {
            let text = format!("{} can be limited by access_reason only, not by {}", measure.name(), name.get_ref());
            return Err(wrong(name, text));
        }
        if has_ended {
            let text =
                format!("{} is of pages that are held; {} is of those that are not", measure.name(), name.get_ref());
            return Err(wrong(name, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read(Path::new("b.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn budgets_are_read() {
        let text = "# x\n[[budget]]\nname = \"Chrome\"\nwhere = { process = \"chrome.exe*\", priority = [\"1\", \"2\"], cold = true }\n\
                    max = \"300 MiB\"\nmax_growth = \"2 %\"\n[[budget]]\nname = \"b\"\nanalysis = \"refset\"\nmeasure = \"peak\"\n\
                    min = \"10 pages\"\nwatch = \"80%\"\n";
        let budgets = read(Path::new("b.toml"), text).unwrap();
        let [a, b] = &budgets[..] else { panic!("{budgets:?}") };
        assert_eq!(
            (a.max, a.max_growth, a.watch),
            (Some(Limit::Bytes(300 << 20)), Some(Limit::Share(20_000)), 900_000)
        );
        let filter = [("cold", "true"), ("priority", "1;2"), ("process", "chrome.exe*")];
        assert_eq!(a.filter, filter.map(|(name, text)| (name, text.to_owned())));
        assert_eq!((b.measure, b.min, b.watch), (Measure::Peak, Some(Limit::Bytes(40_960)), 800_000));
    }

    #[test]
    fn limits_of_faults_are_numbers_and_times() {
        for (measure, limit, wanted) in [
            ("hard_faults", "200", Some(Limit::Bytes(200))),
            ("hard_faults", "200 faults", Some(Limit::Bytes(200))),
            ("hard_faults", "5 %", Some(Limit::Share(50_000))),
            ("hard_faults", "1 MiB", None),
            ("hard_faults", "9999999999999999999", None),
            ("fault_wait_ms", "500", Some(Limit::Bytes(500_000_000))),
            ("fault_wait_ms", "0.5", Some(Limit::Bytes(500_000))),
            ("fault_wait_ms", "2 s", Some(Limit::Bytes(2_000_000_000))),
            ("fault_wait_ms", "3 pages", None),
        ] {
            let text =
                format!("[[budget]]\nname = \"x\"\nanalysis = \"faults\"\nmeasure = \"{measure}\"\nmax = \"{limit}\"");
            let read = read(Path::new("b.toml"), &text).map(|budgets| budgets[0].max).unwrap_or_default();
            assert_eq!(read, wanted, "{measure} {limit}");
        }
    }

    #[test]
    fn what_is_wrong_has_line_and_column() {
        let budget = "[[budget]]\nname = \"x\"\nmax = \"1 MiB\"\n";
        for (text, says) in [
            ("", "line 1, column 1: it holds no budget"),
            ("[[budgets]]\nname = \"x\"", "line 1, column 3: unknown key \"budgets\"; did you mean \"budget\"?"),
            ("[[budget]]\nname = \"x\"\nmaxx = \"1\"", "line 3, column 1: unknown key \"maxx\"; did you mean \"max\"?"),
            ("[[budget]]\nmax = \"1\"", "line 1, column 1: a budget needs the key \"name\""),
            ("[[budget]]\nname = \"x\"", "line 2, column 8: budget \"x\" has no limit"),
            (
                "[[budget]]\nname = \"x\"\nmax = 300",
                "line 3, column 7: invalid type: integer `300`, expected a string; write",
            ),
            ("[[budget]]\nname = \"x\"\nmax = \"3 parsecs\"", "line 3, column 7: \"3 parsecs\": expected a size"),
            ("[[budget]]\nname = \"x\"\nmax =", "line 3, column 6"),
            (&format!("{budget}watch = \"2 MiB\""), "line 4, column 9: \"2 MiB\": expected a share"),
            (&format!("{budget}watch = \"200 %\""), "expected a share of a limit"),
            (&format!("{budget}optional = true"), "line 4, column 12: optional is for budgets with where"),
            (
                &format!("{budget}analysis = \"ref\""),
                "line 4, column 12: unknown analysis \"ref\"; did you mean \"refset\"?",
            ),
            (&format!("{budget}measure = \"peak\""), "it is one of analysis = \"refset\""),
            (&format!("{budget}min = \"2 MiB\""), "line 4, column 7: min is above max"),
            ("[[budget]]\nname = \"a\"\nmax = \"150 %\"", "\"150 %\": a part of all is at most 100 %"),
            ("[[budget]]\nname = \"a\"\nmax = \"5 %\"\nmin = \"6 %\"", "min is above max"),
            (
                &format!("{budget}[budget.where]\nproces = \"a\""),
                "line 5, column 1: unknown dimension \"proces\"; did you",
            ),
            (
                &format!("{budget}where = {{ category = \"Imge\" }}"),
                "line 4, column 22: category is never \"Imge\"; did you mean",
            ),
            (&format!("{budget}analysis = \"faults\""), "line 3, column 7: \"1 MiB\": expected a number of faults"),
            (
                "[[budget]]\nname = \"x\"\nmax = \"3\"\nanalysis = \"faults\"\nwhere.disk = 1",
                "line 5, column 7: hard faults have no disk",
            ),
            (&format!("{budget}{budget}"), "line 5, column 8: another budget is named \"x\" too"),
            (
                &format!("{budget}analysis = \"refset\"\nmeasure = \"accessed\"\nwhere.process = \"a\""),
                "line 6, column 7: accessed can be limited by access_reason only",
            ),
            (
                &format!("{budget}analysis = \"refset\"\nwhere.impact = \"Transient\""),
                "held_at_stop is of pages that are held",
            ),
        ] {
            let error = error(text);
            assert!(error.starts_with("b.toml, line ") && error.contains(says), "{text}\n{error}\nexpected {says}");
        }
    }
}
