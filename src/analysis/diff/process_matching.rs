//! Matches the processes of two sides: by id where both sides are of one trace, by name where they are not.
//!
//! Sides are compared by texts, because one of them can be a file: here these are read.

use crate::analysis::diff::missing_names::{MissingName, NO_NAME};
use crate::dimensions::NO_LABEL;
use crate::trace::analysis_needs::PROCESS_LIST;
use crate::trace::trust::warning::Warning;
use crate::units::counted;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// How processes are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// By id; names are compared for information.
    Pid,
    /// By name; all processes of one name together.
    Name,
    /// By name, and those of one name by the order in which they started.
    NameAndStart,
}

/// How labels of two sides are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Matching {
    /// Processes.
    pub(crate) processes: Match,
    /// True where both sides are of one boot, so that keys of files and processes without a name can be compared.
    pub(crate) of_one_boot: bool,
}

/// A process as a file names it, in its parts: `name.exe <Package> (id)`. No other code takes labels apart: those of a trace know
/// what they stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessText<'t> {
    name: &'t str,
    package: Option<&'t str>,
    /// A number, or the key that names no process.
    id: Option<&'t str>,
}

impl<'t> ProcessText<'t> {
    /// Reads a label.
    pub fn new(label: &'t str) -> ProcessText<'t> {
        let with_id = label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        let (name, id) = with_id.map_or((label, None), |(name, id)| (name, Some(id)));
        let packaged = name.strip_suffix('>').and_then(|rest| rest.rsplit_once(" <"));
        let (name, package) = packaged.map_or((name, None), |(name, package)| (name, Some(package)));
        ProcessText { name, package, id }
    }

    /// The label of its id; `None` where it has none.
    pub fn id_label(&self, label: &'t str) -> Option<&'t str> {
        match self.id? {
            // A key that names no process is no id.
            key if self.name == NO_NAME && key != "-1" => Some(label),
            id => Some(id),
        }
    }

    /// `Unknown (-1)`, the pages of no single process, and `Unknown (0x…)`.
    fn is_of_no_process(&self) -> bool {
        self.name == NO_NAME && self.id.is_none_or(|id| id.parse::<u64>().is_err())
    }
}

/// For each label of a side the label that it is compared under.
type Renamed = BTreeMap<String, String>;

/// What was matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched {
    /// Names of the labels of both sides.
    pub sides: [Renamed; 2],
    /// Which of the other labels are compared as one.
    pub(crate) missing: MissingName,
    /// Processes of one id with two names.
    pub renamed: Vec<(String, String)>,
}

/// Starts of processes: the label, and a number that grows with time.
pub type Starts = Vec<(String, u64)>;

/// Longest name that old records of processes hold, in bytes.
const LONGEST_NAME: std::ops::RangeInclusive<usize> = 14..=15;

impl Matched {
    /// Matches the labels of two sides.
    pub fn new(labels: [&BTreeSet<String>; 2], how: Match, starts: &[Starts; 2]) -> Matched {
        match how {
            Match::Pid => by_id(labels),
            Match::Name => by_name(labels),
            Match::NameAndStart => {
                let mut matched = by_name(labels);
                let all = labels.into_iter().zip(starts);
                for (renamed, (labels, starts)) in matched.sides.iter_mut().zip(all) {
                    number(renamed, labels, starts);
                }
                matched
            }
        }
    }

    /// That processes of one id have two names.
    pub fn renamed_warning(&self) -> Option<Warning> {
        let (left, right) = self.renamed.first()?;
        let renamed = self.renamed.len() as u64;
        let of = counted(renamed, "process has", "processes have");
        let text = format!("{of} the same id and another name: {left} on the left is {right} on the right");
        Some(Warning::note(PROCESS_LIST.name, "processes_renamed", text).of(renamed))
    }

    /// The name that a label is compared under.
    pub fn name<'m>(&'m self, side: usize, label: &'m str) -> &'m str {
        let renamed = self.sides.get(side).and_then(|renamed| renamed.get(label)).map(String::as_str);
        renamed.or_else(|| self.missing.common(label)).unwrap_or(label)
    }
}

/// The same id is the same process. A second process with the same id is recognized by its name.
fn by_id([left, right]: [&BTreeSet<String>; 2]) -> Matched {
    let exact = |label: &String| {
        let text = ProcessText::new(label);
        (text.id.map(str::to_owned), text.name.to_lowercase())
    };
    let mut matched = Matched::default();
    let known: BTreeMap<_, &String> = left.iter().map(|label| (exact(label), label)).collect();
    let mut taken: BTreeSet<&String> = BTreeSet::new();
    let mut open = Vec::new();
    for label in right {
        match known.get(&exact(label)) {
            Some(same) => {
                taken.insert(same);
                matched.sides[1].insert(label.clone(), (*same).clone());
            }
            None => open.push(label),
        }
    }
    for label in open {
        let right = ProcessText::new(label);
        if right.id.is_none() || right.is_of_no_process() {
            continue;
        }
        let same = left.iter().find(|other| {
            let left = ProcessText::new(other);
            left.id == right.id && !left.is_of_no_process() && !taken.contains(other)
        });
        if let Some(same) = same {
            taken.insert(same);
            matched.sides[1].insert(label.clone(), same.clone());
            let is_cut = same.to_lowercase().starts_with(&right.name.to_lowercase());
            if !is_cut && ProcessText::new(same).name != NO_NAME && right.name != NO_NAME {
                matched.renamed.push((same.clone(), label.clone()));
            }
        }
    }
    matched
}

fn by_name(labels: [&BTreeSet<String>; 2]) -> Matched {
    let all: [Vec<(&String, ProcessText<'_>)>; 2] =
        labels.map(|labels| labels.iter().map(|label| (label, ProcessText::new(label))).collect());
    let packaged = |side: &[(&String, ProcessText<'_>)]| -> BTreeSet<String> {
        let with = side.iter().filter(|(_, text)| text.package.is_some());
        with.map(|(_, text)| text.name.to_lowercase()).collect()
    };
    let [left, right] = [0, 1].map(|side| all.get(side).map(|side| packaged(side)).unwrap_or_default());
    // Where names stand without ids, those without a process are all of one name.
    let is_bare = labels.iter().any(|labels| labels.contains(NO_NAME));
    let mut matched = Matched { missing: MissingName::Key, ..Matched::default() };
    // Names as they are shown: as the left side writes them.
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (side, renamed) in all.iter().zip(&mut matched.sides) {
        for (label, of) in side {
            if of.is_of_no_process() && !is_bare {
                continue;
            }
            let both = left.contains(&of.name.to_lowercase()) && right.contains(&of.name.to_lowercase());
            let package =
                of.package.filter(|_| both).map_or_else(String::new, |of| format!(" <{}>", of.to_lowercase()));
            let key = format!("{}{package}", of.name.to_lowercase());
            let name = shown.entry(key).or_insert_with(|| format!("{}{package}", of.name)).clone();
            renamed.insert((*label).clone(), name);
        }
    }
    complete_cut_names(&mut matched);
    matched
}

/// A name that was cut, and that only one side has, matches the other side's process whose name begins with it, if there is
/// only one.
fn complete_cut_names(matched: &mut Matched) {
    let names = |renamed: &Renamed| -> BTreeSet<String> { renamed.values().cloned().collect() };
    let sides = [names(&matched.sides[0]), names(&matched.sides[1])];
    for (side, other) in [(0, 1), (1, 0)] {
        let (Some(own), Some(others)) = (sides.get(side), sides.get(other)) else { continue };
        for cut in own.difference(others).filter(|name| LONGEST_NAME.contains(&name.len())) {
            let begins = |name: &&String| name.to_lowercase().starts_with(&cut.to_lowercase()) && !own.contains(*name);
            let mut whole = others.iter().filter(begins);
            if let (Some(whole), None) = (whole.next(), whole.next()) {
                let values = matched.sides.get_mut(side).into_iter().flat_map(BTreeMap::values_mut);
                values.filter(|name| *name == cut).for_each(|name| name.clone_from(whole));
            }
        }
    }
}

/// Numbers the processes of one name in the order of their starts: `chrome.exe #2`. No start orders those without a name that no record
/// lists.
fn number(renamed: &mut Renamed, labels: &BTreeSet<String>, starts: &Starts) {
    let first: BTreeMap<&str, u64> = starts.iter().rev().map(|(label, start)| (label.as_str(), *start)).collect();
    let pid = |label: &String| ProcessText::new(label).id.and_then(|id| id.parse::<u64>().ok());
    let mut by_name: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    let is_listed = |label: &String| first.contains_key(label.as_str()) || ProcessText::new(label).name != NO_NAME;
    for label in labels.iter().filter(|label| is_listed(label)) {
        // Pages without a process are of no instance.
        if let Some(name) = renamed.get(label).filter(|_| label != NO_LABEL) {
            by_name.entry(name.clone()).or_default().push(label);
        }
    }
    for (name, mut labels) in by_name {
        // For processes from before the trace the order of starts is not known. Ids at least give a fixed order.
        let order = |a: &&String, b: &&String| -> Ordering {
            let start = |label: &String| first.get(label.as_str()).copied();
            start(a).cmp(&start(b)).then_with(|| pid(a).cmp(&pid(b)))
        };
        labels.sort_by(order);
        for (place, label) in labels.into_iter().enumerate() {
            renamed.insert(label.clone(), format!("{name} #{}", place + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(left: &[&str], right: &[&str], how: Match, starts: [&[(&str, u64)]; 2]) -> Matched {
        let set = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<BTreeSet<_>>();
        let starts = starts.map(|starts| starts.iter().map(|(label, start)| ((*label).to_owned(), *start)).collect());
        Matched::new([&set(left), &set(right)], how, &starts)
    }

    #[test]
    fn ids_decide_and_other_names_are_told() {
        let found = matched(
            &["Chrome.exe (40)", "new.exe (48)", "gone.exe (48)", "a.exe (7)", "Unknown (-1)", "Unknown (9)"],
            &["chrome.exe <App> (40)", "gone.exe (48)", "other.exe (7)", "Unknown (-1)", "late.exe (9)", "n/a"],
            Match::Pid,
            [&[], &[]],
        );
        for (label, wanted) in [
            ("chrome.exe <App> (40)", "Chrome.exe (40)"),
            ("gone.exe (48)", "gone.exe (48)"),
            ("other.exe (7)", "a.exe (7)"),
            ("late.exe (9)", "Unknown (9)"),
            ("Unknown (-1)", "Unknown (-1)"),
            ("n/a", "n/a"),
        ] {
            assert_eq!(found.name(1, label), wanted);
        }
        assert_eq!(found.renamed, [("a.exe (7)".to_owned(), "other.exe (7)".to_owned())]);
    }

    #[test]
    fn names_bring_processes_of_two_traces_together() {
        let found = matched(
            &[
                "chrome.exe (40)",
                "chrome.exe (44)",
                "SearchIndexer.exe (9)",
                "App.exe <One> (1)",
                "n/a",
                "Unknown (-1)",
            ],
            &["CHROME.EXE (8)", "SearchIndexer.e (12)", "app.exe (3)", "Unknown (-1)"],
            Match::Name,
            [&[], &[]],
        );
        assert_eq!(found.name(0, "chrome.exe (44)"), "chrome.exe");
        assert_eq!(found.name(1, "CHROME.EXE (8)"), "chrome.exe");
        assert_eq!(found.name(1, "SearchIndexer.e (12)"), "SearchIndexer.exe");
        assert_eq!((found.name(0, "App.exe <One> (1)"), found.name(1, "app.exe (3)")), ("App.exe", "App.exe"));
        assert_eq!(found.name(0, "Unknown (-1)"), "Unknown (-1)");
        assert_eq!((found.name(0, "Unknown (0x1f)"), found.name(1, "Unknown (0x2f)")), ("Unknown", "Unknown"));
        let both = matched(&["App.exe <One> (1)"], &["App.exe <Two> (1)"], Match::Name, [&[], &[]]);
        assert_ne!(both.name(0, "App.exe <One> (1)"), both.name(1, "App.exe <Two> (1)"));
    }

    #[test]
    fn those_of_one_name_are_told_apart_by_their_start() {
        let found = matched(
            &["a (9)", "a (10)", "a (2)"],
            &["a (5)"],
            Match::NameAndStart,
            [&[("a (2)", 30), ("a (9)", 0), ("a (10)", 0)], &[("a (5)", 1)]],
        );
        assert_eq!(["a (9)", "a (10)", "a (2)"].map(|label| found.name(0, label)), ["a #1", "a #2", "a #3"]);
        assert_eq!(found.name(1, "a (5)"), "a #1");
        let nameless = ["Unknown (7)", "Unknown (12)", "Unknown (0x1f)", "Unknown (-1)"];
        let found = matched(&nameless, &[], Match::NameAndStart, [&[("Unknown (12)", 1)], &[]]);
        assert_eq!(nameless.map(|label| found.name(0, label)), ["Unknown", "Unknown #1", "Unknown", "Unknown (-1)"]);
    }
}
