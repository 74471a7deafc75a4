//! What grew: the rows of a value compared with those of the baseline. Processes are matched by name.

use crate::analysis::check::budget::RowSum;
use crate::analysis::check::trace_values::Value;
use crate::analysis::diff::missing_names::MissingName;
use crate::analysis::diff::process_matching::{Match, Matched};
use crate::dimensions::single_dimensions::CATEGORY;
use crate::dimensions::{Dimension as _, FileFacet, Label, ProcessFacet};
use crate::units::{count, first_of};
use std::collections::{BTreeMap, BTreeSet};

/// Rows that are named.
const MOST: usize = 5;

/// A row of a value that is too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// Labels.
    pub labels: Vec<String>,
    /// Pages, hard faults or nanoseconds now.
    pub pages: i64,
    /// The same of the baseline; `None` without one.
    pub baseline: Option<i64>,
}

impl Grown {
    /// By how much; without a baseline all of it.
    pub fn growth(&self) -> i64 {
        self.pages.saturating_sub(self.baseline.unwrap_or(0))
    }
}

fn is_process(dimension: &str) -> bool {
    dimension == ProcessFacet::Process.name()
}

/// True where rows of several processes add up to what they have together: peaks do not, each has its own.
fn add_up(sum: RowSum) -> bool {
    matches!(sum, RowSum::Equal | RowSum::Rounded)
}

/// The dimensions that both have, and the rows that grew most; without a baseline, and where nothing grew or no dimension is that of both, the
/// largest. Where rows do not add up each stays apart: of a name that the baseline lacks all are new, and what several processes have of a
/// name of both is not compared.
pub fn grown(value: &Value, baseline: Option<&Value>, sum: RowSum) -> (Vec<String>, Vec<Grown>) {
    let add_up = add_up(sum);
    let baseline = baseline.filter(|baseline| not_comparable(value, baseline).is_none());
    let dimensions = shared_dimensions(value, baseline);
    let all = compared(value, baseline, &dimensions);
    let is_one = |sides: &[Vec<(Vec<String>, i64)>; 2]| sides.iter().all(|rows| rows.len() < 2);
    let together = all.iter().filter(|(_, sides)| add_up || is_one(sides)).map(|(labels, sides)| {
        let [before, pages] =
            sides.each_ref().map(|rows| rows.iter().fold(0, |sum: i64, row| sum.saturating_add(row.1)));
        Grown { labels: labels.clone(), pages, baseline: baseline.map(|_| before) }
    });
    let mut grown: Vec<Grown> = together.filter(|row| row.pages > 0).collect();
    let apart = |is_new: bool, before: Option<i64>| {
        let rows = all.values().filter(move |sides| !add_up && !is_one(sides) && sides[0].is_empty() == is_new);
        let rows = rows.flat_map(|[_, rows]| rows).filter(|(_, pages)| *pages > 0);
        rows.map(move |(labels, pages)| Grown { labels: labels.clone(), pages: *pages, baseline: before })
    };
    grown.extend(apart(true, Some(0)).filter(|_| baseline.is_some()));
    if grown.iter().any(|row| baseline.is_some() && row.growth() > 0) {
        grown.retain(|row| row.growth() > 0);
    } else {
        // Nothing grew, so what there is most of is told.
        grown.iter_mut().for_each(|row| row.baseline = None);
        grown.extend(apart(false, None));
        grown.extend(apart(true, None).filter(|_| baseline.is_none()));
    }
    grown.sort_by(|a, b| (b.growth(), b.pages).cmp(&(a.growth(), a.pages)).then_with(|| a.labels.cmp(&b.labels)));
    grown.truncate(MOST);
    (dimensions, grown)
}

/// That what grew most leaves out names of which one of both has several processes, and which can have grown.
pub(super) fn left_out(value: &Value, baseline: &Value, sum: RowSum) -> Option<String> {
    const SHOWN: usize = 3;
    if add_up(sum) {
        return None;
    }
    let dimensions = shared_dimensions(value, Some(baseline));
    let all = compared(value, Some(baseline), &dimensions);
    let mut found: Vec<(i64, String)> = Vec::new();
    for (labels, [before, now]) in
        all.iter().filter(|(_, [before, now])| !before.is_empty() && before.len().max(now.len()) > 1)
    {
        let most = now.iter().fold(0, |sum: i64, row| sum.saturating_add(row.1));
        // All of them had at least what one had; what they grew by has no such bound.
        let least = if sum == RowSum::AtLeast { before.iter().map(|row| row.1).max().unwrap_or(0) } else { 0 };
        if most > least {
            let [before, now] = [before, now].map(|rows| count(rows.len() as u64));
            found.push((most - least, format!("{} ({before} in the baseline, {now} now)", labels.join(" / "))));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let names: Vec<&String> = found.iter().map(|(_, name)| name).collect();
    // A process has several rows where its categories are not compared.
    let several = if dimensions == value.dimensions { "processes" } else { "rows" };
    (!names.is_empty()).then(|| {
        format!(
            "what grew most leaves out names with several {several}, whose values do not add up: {}",
            first_of(&names, SHOWN)
        )
    })
}

/// Why the rows of both cannot be compared: those of a saved result are by what it was grouped by.
pub(super) fn not_comparable(value: &Value, baseline: &Value) -> Option<String> {
    let [own, earlier] = [value, baseline].map(|of| of.dimensions.join(" and "));
    shared_dimensions(value, Some(baseline)).is_empty().then(|| {
        format!(
            "what grew most is not known: rows of the baseline are by {earlier}, and none of {own} can be compared; write it grouped by one of \
             these too, or save a baseline"
        )
    })
}

/// The dimensions that both have.
fn shared_dimensions(value: &Value, baseline: Option<&Value>) -> Vec<String> {
    // Categories that one of both cannot tell apart did not grow.
    let are_alike = |baseline: &Value| {
        let both = value.rows_without.as_ref().zip(baseline.rows_without.as_ref());
        both.is_none_or(|(now, before)| now == before)
    };
    let is_shared = |name: &&String| {
        let is_of_both =
            |baseline: &Value| baseline.dimensions.contains(name) && (*name != CATEGORY.name || are_alike(baseline));
        baseline.is_none_or(is_of_both)
    };
    value.dimensions.iter().filter(is_shared).cloned().collect()
}

/// The rows of both sides, each with its own labels, by those by which they are compared.
type Compared = BTreeMap<Vec<String>, [Vec<(Vec<String>, i64)>; 2]>;

fn compared(value: &Value, baseline: Option<&Value>, dimensions: &[String]) -> Compared {
    let processes = |value: &Value| -> BTreeSet<String> {
        let at = value.dimensions.iter().position(|name| is_process(name));
        at.iter()
            .flat_map(|&at| value.rows.iter().filter_map(move |row| row.labels.get(at).map(String::from)))
            .collect()
    };
    let none = BTreeSet::new();
    let (left, right) = (baseline.map(processes), processes(value));
    let matched = Matched::new([left.as_ref().unwrap_or(&none), &right], Match::Name, &[Vec::new(), Vec::new()]);
    let mut all = Compared::new();
    for (side, value) in [(0, baseline), (1, Some(value))] {
        let Some(value) = value else { continue };
        let places: Vec<(&str, Option<usize>)> = dimensions
            .iter()
            .map(|name| (name.as_str(), value.dimensions.iter().position(|other| other == name)))
            .collect();
        for row in &value.rows {
            let own = |(_, at): &(&str, Option<usize>)| {
                at.and_then(|at| row.labels.get(at)).map_or("", Label::as_str).to_owned()
            };
            let key = |place: &(&str, Option<usize>)| {
                let label = own(place);
                match place.0 {
                    name if is_process(name) => matched.name(side, &label).to_owned(),
                    // A file without a name has another key in each boot.
                    name if name == FileFacet::File.name() && baseline.is_some() => {
                        MissingName::Key.common(&label).map_or(label, str::to_owned)
                    }
                    _ => label,
                }
            };
            let rows = all.entry(places.iter().map(key).collect()).or_default().get_mut(side);
            rows.into_iter().for_each(|rows| rows.push((places.iter().map(own).collect(), row.pages)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::check::trace_values::Row;

    fn value(rows: &[(&str, i64)]) -> Value {
        let row = |(label, pages): &(&str, i64)| Row { labels: vec![Label::name(*label)], pages: *pages };
        Value { dimensions: vec!["process".into()], rows: rows.iter().map(row).collect(), ..Value::default() }
    }

    #[test]
    fn processes_of_one_name_are_compared_together() {
        let now = value(&[("a.exe (9)", 10), ("a.exe (12)", 20), ("b.exe (4)", 5), ("new.exe (7)", 3)]);
        let before = value(&[("a.exe (1)", 18), ("b.exe (2)", 9)]);
        let (dimensions, rows) = grown(&now, Some(&before), RowSum::Equal);
        let told: Vec<_> = rows.iter().map(|row| (row.labels[0].as_str(), row.growth(), row.baseline)).collect();
        assert_eq!(told, [("a.exe", 12, Some(18)), ("new.exe", 3, Some(0))]);
        assert_eq!(dimensions, ["process"]);
        assert_eq!(grown(&now, None, RowSum::Equal).1[0].growth(), 30);
        assert_eq!(grown(&now, Some(&now), RowSum::Equal), grown(&now, None, RowSum::Equal), "nothing grew");
    }

    #[test]
    fn what_has_no_name_is_compared_together() {
        let of = |rows: &[([&str; 2], i64)]| Value {
            dimensions: vec!["process".into(), "file".into()],
            rows: rows
                .iter()
                .map(|(labels, pages)| Row { labels: labels.map(Label::name).into(), pages: *pages })
                .collect(),
            ..Value::default()
        };
        let before = of(&[(["Unknown (0x1f)", "n/a"], 5), (["a.exe (1)", "Unknown (0xa0)"], 7)]);
        let now = of(&[(["Unknown (0x2f)", "n/a"], 6), (["a.exe (2)", "Unknown (0xb0)"], 9)]);
        let told: Vec<_> = grown(&now, Some(&before), RowSum::Equal)
            .1
            .iter()
            .map(|row| (row.labels.join(" "), row.growth()))
            .collect();
        assert_eq!(told, [("a.exe Unknown".to_owned(), 2), ("Unknown n/a".to_owned(), 1)]);
    }

    /// Peaks of two processes at different times are no peak of both: a part was more than the whole.
    #[test]
    fn what_does_not_add_up_stays_apart() {
        let now = value(&[("a.exe (9)", 10), ("a.exe (12)", 20), ("b.exe (4)", 5)]);
        let told = |baseline: Option<&Value>| -> Vec<(String, i64)> {
            let (_, rows) = grown(&now, baseline, RowSum::AtLeast);
            rows.iter().map(|row| (row.labels[0].clone(), row.growth())).collect()
        };
        let of =
            |rows: &[(&str, i64)]| rows.iter().map(|(label, pages)| ((*label).to_owned(), *pages)).collect::<Vec<_>>();
        assert_eq!(told(None), of(&[("a.exe (12)", 20), ("a.exe (9)", 10), ("b.exe", 5)]));
        assert_eq!(told(Some(&value(&[("a.exe (1)", 1), ("b.exe (2)", 3)]))), of(&[("b.exe", 2)]));
        let before = |rows: &[(&str, i64)]| (told(Some(&value(rows))), left_out(&now, &value(rows), RowSum::AtLeast));
        // Of a name that is new each process is.
        assert_eq!(before(&[("b.exe (2)", 9)]), (of(&[("a.exe (12)", 20), ("a.exe (9)", 10)]), None));
        let says = "what grew most leaves out names with several processes, whose values do not add up: a.exe (1 in the baseline, 2 now)";
        assert_eq!(before(&[("a.exe (1)", 1), ("b.exe (2)", 3)]), (of(&[("b.exe", 2)]), Some(says.to_owned())));
        // Nothing grew: together they have at most 30.
        assert_eq!(before(&[("a.exe (1)", 30), ("b.exe (2)", 9)]), (told(None), None));
    }

    #[test]
    fn categories_that_one_side_cannot_tell_apart_did_not_grow() {
        let value = |category: &str, without: &[&str]| Value {
            dimensions: vec!["process".into(), CATEGORY.name.into()],
            rows: vec![Row { labels: vec![Label::name("a.exe (9)"), Label::name(category)], pages: 4 }],
            rows_without: Some(without.iter().map(|keyword| (*keyword).to_owned()).collect()),
            ..Value::default()
        };
        let (now, before) = (value("Win32Heap", &[]), value("VirtualAlloc", &["Win32HeapRanges"]));
        let (dimensions, rows) = grown(&now, Some(&before), RowSum::Equal);
        assert_eq!((dimensions, rows[0].baseline), (vec!["process".to_owned()], None), "nothing grew");
        let (dimensions, rows) = grown(&now, Some(&value("VirtualAlloc", &[])), RowSum::Equal);
        assert_eq!((dimensions.len(), rows[0].growth()), (2, 4));
    }
}
