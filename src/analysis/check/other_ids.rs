//! Values of the same ids and of others: two starts of a machine share none, so that the same id of a process, of a thread, or of a heap is
//! another one in another trace, and its growth says nothing.

use super::id_owners::{IdOwners, named_ids};
use super::measured_value::Value;
use crate::dimensions::process_dimensions::named_process_id;
use crate::dimensions::single_dimensions::{HEAP, THREAD};
use crate::dimensions::{Dimension as _, ProcessFacet};
use std::collections::BTreeSet;

impl Value {
    /// Why its growth against a baseline says nothing: that counts other pages, or another process.
    pub(super) fn is_of_others(&self, earlier: &Value, filter: &[(&'static str, String)]) -> Option<String> {
        let sides = Sides { before: (earlier, "the baseline"), now: (self, "the trace") };
        let of_names = || self.chosen_by_other_code_page(earlier, filter);
        let of_ids = || {
            // The same process can have two names.
            let and = self.other_code_page(earlier).map_or_else(String::new, |names| format!("; {names}"));
            sides.differ(filter).map(|reason| reason + &and)
        };
        self.differs_from(earlier).or_else(|| self.other_reasons(earlier)).or_else(of_names).or_else(of_ids)
    }
}

/// Two values that are compared, and what they are of: "the baseline".
#[derive(Clone, Copy)]
pub(super) struct Sides<'v> {
    /// The earlier one.
    pub before: (&'v Value, &'v str),
    /// The later one.
    pub now: (&'v Value, &'v str),
}

impl Sides<'_> {
    /// Why they are of other processes, threads or heaps, by the conditions of both.
    pub fn differ(self, filter: &[(&'static str, String)]) -> Option<String> {
        let of_ids = || {
            let ids = filter.iter().filter(|(name, _)| [THREAD.name, HEAP.name].contains(name));
            ids.into_iter().find_map(|(dimension, patterns)| self.other_ids(dimension, patterns))
        };
        self.other_process(filter).or_else(of_ids)
    }

    /// True where an id that one side alone has may be one without any amount.
    fn may_be_none(self, ids: usize) -> bool {
        // Of sums over time only those who have some are rows: who is none of them may have run all the same.
        self.now.0.span_ns.is_some() || ids == 1
    }

    /// That conditions by a process id chose other processes.
    fn other_process(self, filter: &[(&'static str, String)]) -> Option<String> {
        let [process, pid] = [ProcessFacet::Process, ProcessFacet::Pid].map(|facet| facet.name());
        let of_process = filter.iter().filter(|(dimension, _)| [process, pid].contains(dimension));
        let ids = of_process.flat_map(|(_, patterns)| patterns.split(';'));
        let ids: BTreeSet<&str> = ids.filter_map(|pattern| named_process_id(pattern.trim())).collect();
        let [now, before] = [self.now.0, self.before.0].map(processes);
        ids.iter().find_map(|id| {
            let own = |labels: &BTreeSet<String>| -> BTreeSet<String> {
                labels.iter().filter(|label| named_process_id(label) == Some(id)).cloned().collect()
            };
            let [now, before] = [&now, &before].map(own);
            are_others(&now, &before, self.may_be_none(ids.len())).then(|| {
                format!(
                    "process id {id} is {} in {} and {} in {}: name the process",
                    names(&before),
                    self.before.1,
                    names(&now),
                    self.now.1
                )
            })
        })
    }

    /// That conditions by ids of threads or handles of heaps chose those of other processes.
    fn other_ids(self, dimension: &str, patterns: &str) -> Option<String> {
        let ids = named_ids(patterns);
        let told = |id: &str, now: &BTreeSet<String>, before: &BTreeSet<String>| {
            format!(
                "{dimension} {id} is of {} in {} and of {} in {}: ids of threads and heaps are those of one run",
                names(before),
                self.before.1,
                names(now),
                self.now.1
            )
        };
        let (Some(now), Some(before)) = (&self.now.0.owners, &self.before.0.owners) else {
            // A baseline that was saved before owners were: the processes of all of them.
            let [now, before] = [self.now.0, self.before.0].map(processes);
            let are_others = !ids.is_empty() && are_others(&now, &before, true);
            return are_others.then(|| told(patterns, &now, &before));
        };
        let own = |all: &[IdOwners], id: &str| -> BTreeSet<String> {
            let of_id = |of: &&IdOwners| of.dimension == dimension && of.id.eq_ignore_ascii_case(id);
            all.iter().find(of_id).map(|of| of.processes.clone()).unwrap_or_default()
        };
        let found = now.iter().chain(before).filter(|of| of.dimension == dimension).map(|of| &*of.id);
        let found: BTreeSet<&str> = found.collect();
        found.into_iter().find_map(|id| {
            let [now, before] = [now, before].map(|all| own(all, id));
            // What a wildcard finds on one side alone need not be on the other one.
            let is_wildcard = !ids.iter().any(|named| named.eq_ignore_ascii_case(id));
            are_others(&now, &before, is_wildcard || self.may_be_none(ids.len())).then(|| told(id, &now, &before))
        })
    }
}

/// True where no process is the same; where one side has none, unless it `may_be_none`.
fn are_others(now: &BTreeSet<String>, before: &BTreeSet<String>, may_be_none: bool) -> bool {
    match (now.is_empty(), before.is_empty()) {
        (false, false) => now.is_disjoint(before),
        (true, true) => false,
        _ => !may_be_none,
    }
}

/// The labels of the processes of a value's rows.
fn processes(value: &Value) -> BTreeSet<String> {
    let at = value.dimensions.iter().position(|dimension| dimension == ProcessFacet::Process.name());
    let labels = at.into_iter().flat_map(|at| value.rows.iter().filter_map(move |row| row.labels.get(at)));
    labels.map(String::from).collect()
}

fn names(labels: &BTreeSet<String>) -> String {
    if labels.is_empty() { "no process".to_owned() } else { labels.iter().cloned().collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::check::measured_value::Row;
    use crate::dimensions::Label;

    fn process() -> &'static str {
        ProcessFacet::Process.name()
    }

    /// A row of a page for each of these processes.
    fn of_processes<const N: usize>(labels: [&str; N]) -> Value {
        Value {
            dimensions: vec![process().to_owned()],
            rows: labels.map(|label| Row { labels: vec![Label::name(label)], pages: 1 }).to_vec(),
            ..Value::default()
        }
    }

    fn told(now: &Value, before: &Value, filter: (&'static str, &str)) -> Option<String> {
        let filter = [(filter.0, filter.1.to_owned())];
        Sides { before: (before, "the baseline"), now: (now, "the trace") }.differ(&filter)
    }

    #[test]
    fn an_id_of_another_process_is_no_baseline() {
        let [a, b] = ["a.exe (12)", "b.exe (12)"].map(|label| of_processes([label]));
        let of = |now: &Value, before: &Value, patterns: &str| told(now, before, (process(), patterns));
        let says = of(&a, &b, "12").expect("another process");
        assert_eq!(says, "process id 12 is b.exe (12) in the baseline and a.exe (12) in the trace: name the process");
        assert_eq!([of(&a, &a, "12"), of(&a, &b, "a.exe"), of(&a, &Value::default(), "12")], [None, None, None]);
        // Id by id: others of the list can be the same.
        let [now, before] = [of_processes(["System (4)", "a.exe (12)"]), of_processes(["System (4)", "b.exe (12)"])];
        assert_eq!(of(&now, &before, "4;12").as_ref(), Some(&says));
        assert_eq!(of(&now, &now, "4;12"), None);
        let system = of_processes(["System (4)"]);
        let says = of(&now, &system, "System (4);a.exe (12)").expect("another start");
        assert_eq!(says, "process id 12 is no process in the baseline and a.exe (12) in the trace: name the process");
        let sums = Value { span_ns: Some(1), ..now };
        assert_eq!(of(&sums, &system, "System (4);a.exe (12)"), None);
    }

    /// Baselines of older files have no owners: all processes of the value stand for them.
    #[test]
    fn a_thread_or_a_heap_of_another_process_is_no_baseline() {
        let [a, b, none] = [of_processes(["a.exe (12)"]), of_processes(["a.exe (16)"]), Value::default()];
        for name in [THREAD.name, HEAP.name] {
            let says = told(&a, &b, (name, "196")).expect("another run");
            let is = format!("{name} 196 is of a.exe (16) in the baseline and of a.exe (12) in the trace: ");
            assert!(says.starts_with(&is), "{says}");
            assert_eq!([told(&a, &a, (name, "196")), told(&a, &none, (name, "196"))], [None, None]);
            assert_eq!([told(&a, &b, (name, "*")), told(&a, &b, (name, "n/a;!196"))], [None, None]);
        }
        assert_eq!(told(&a, &b, (process(), "a.exe")), None);
    }

    /// One id of a list was another process's, and another one was the same: nothing was said.
    #[test]
    fn of_a_list_of_ids_each_counts() {
        let with = |all: &[(&str, &str)]| {
            let of = |(id, process): &(&str, &str)| IdOwners {
                dimension: HEAP.name.to_owned(),
                id: (*id).to_owned(),
                processes: [(*process).to_owned()].into(),
            };
            Value { owners: Some(all.iter().map(of).collect()), ..Value::default() }
        };
        let before = with(&[("0x10", "a.exe (12)"), ("0x20", "a.exe (12)")]);
        let now = with(&[("0x10", "a.exe (12)"), ("0x20", "b.exe (16)")]);
        let less = with(&[("0x10", "a.exe (12)")]);
        let says = told(&now, &before, (HEAP.name, "0x10;0X20")).expect("another heap");
        assert!(
            says.starts_with("heap 0x20 is of a.exe (12) in the baseline and of b.exe (16) in the trace"),
            "{says}"
        );
        assert!(
            told(&less, &before, (HEAP.name, "0x10;0x20"))
                .is_some_and(|says| says.contains("of no process in the trace"))
        );
        assert_eq!(
            [told(&less, &before, (HEAP.name, "0x1*")), told(&less, &before, (HEAP.name, "0x20"))],
            [None, None]
        );
        assert!(told(&now, &before, (HEAP.name, "0x2*")).is_some());
    }
}
