//! Rows by stack against a model of one processor, by the words of docs/cpu.md, and against the rows without stacks.

use super::{
    DOES, PREEMPTED, READ, READY, Sums, T0, USER_REQUEST, WAITING, add_pairs, beginning, by, ready, stack, switch,
    trace_of,
};
use crate::random_cases::cases;
use etl_writer::{Rec, file_of};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a thread of the model does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Doing {
    Unknown,
    Waits {
        since: u64,
        reason: &'static str,
    },
    /// Since when, why, the stack of who readied it, and whether a later record can still say that it waited.
    Ready {
        since: u64,
        kind: &'static str,
        by: &'static str,
        wait: Option<(u64, &'static str)>,
    },
    /// With the labels of its stacks, and the ready records of this run.
    Runs {
        since: u64,
        of: String,
        readied: Vec<&'static str>,
    },
}

/// A thread: what it does, and its waits since it ran.
struct Modelled {
    doing: Doing,
    waited: BTreeMap<String, (u64, u64)>,
}

const NONE: &str = "[no stack]";

/// Labels by the number of a stack, and its frames.
const STACKS: [(&str, &[u64]); 3] = [(NONE, &[]), ("lib.dll+0x30", &READ), ("app.exe+0x2020", &DOES)];

/// One processor and three threads.
#[derive(Default)]
struct Model {
    threads: BTreeMap<u32, Modelled>,
    running: Option<u32>,
    rows: BTreeMap<String, Sums>,
    records: Vec<Rec>,
}

fn labels(waited: &str, readied: &str) -> String {
    format!("{waited} | {readied}")
}

impl Model {
    fn new() -> Model {
        let thread = || Modelled { doing: Doing::Unknown, waited: BTreeMap::new() };
        let threads = [16, 20, 24].map(|id| (id, thread())).into();
        Model { threads, records: beginning(), ..Model::default() }
    }

    fn row(&mut self, of: &str) -> &mut Sums {
        self.rows.entry(of.to_owned()).or_default()
    }

    fn ready(&mut self, time: u64, id: u32, stack_of: usize) {
        let (label, frames) = STACKS[stack_of];
        self.records.push(ready(time, id));
        self.records.extend((!frames.is_empty()).then(|| stack(time, 28, frames)));
        let thread = self.threads.get_mut(&id).expect("a thread");
        let wait = match &mut thread.doing {
            Doing::Runs { readied, .. } => return readied.push(label),
            Doing::Unknown => None,
            Doing::Waits { since, reason } => Some((*since, *reason)),
            // Not the early record ended the wait, but this one: the early one changed nothing.
            Doing::Ready { wait: Some(early), .. } => {
                let early = *early;
                self.row(&labels(NONE, NONE)).redundant += 1;
                Some(early)
            }
            Doing::Ready { wait: None, .. } => return self.row(&labels(NONE, NONE)).redundant += 1,
        };
        let thread = self.threads.get_mut(&id).expect("a thread");
        if let Some((since, reason)) = wait {
            thread.waited.entry(reason.to_owned()).or_default().1 += time - since;
        }
        thread.doing = Doing::Ready { since: time, kind: "wakeup", by: label, wait: None };
    }

    /// Another thread runs, or none; the one before waits or is preempted.
    fn switch(&mut self, time: u64, new: Option<u32>, waits: bool, stack_of: usize) {
        let old = self.running;
        if new == old {
            return;
        }
        let (label, frames) = if new.is_some() { STACKS[stack_of] } else { STACKS[0] };
        let (state, reason) = if waits { (WAITING, USER_REQUEST) } else { (READY, PREEMPTED) };
        self.records.push(switch(time, new.unwrap_or(0), old.unwrap_or(0), state, reason));
        self.records.extend((!frames.is_empty()).then(|| stack(time, new.unwrap_or(0), frames)));
        self.switch_out(time, old, waits);
        self.running = new;
        let Some(id) = new else { return self.row("[idle] | [idle]").switches += 1 };
        let thread = self.threads.get_mut(&id).expect("a thread");
        let mut sums = Sums { switches: 1, ..Sums::default() };
        let mut by = NONE;
        match thread.doing.clone() {
            Doing::Unknown => sums.unknown_ready = 1,
            Doing::Waits { since, reason } => {
                sums.unknown_ready = 1;
                thread.waited.entry(reason.to_owned()).or_default().1 += time - since;
            }
            Doing::Ready { since, kind, by: readier, .. } => {
                by = readier;
                sums.delays.insert(kind.to_owned(), (1, time - since));
            }
            Doing::Runs { .. } => unreachable!("it is not the one that ran"),
        }
        sums.waits = std::mem::take(&mut thread.waited);
        thread.doing = Doing::Runs { since: time, of: labels(label, by), readied: Vec::new() };
        *self.row(&labels(label, by)) += &sums;
    }

    fn switch_out(&mut self, time: u64, old: Option<u32>, waits: bool) {
        let Some(id) = old else { return };
        let thread = self.threads.get_mut(&id).expect("a thread");
        let Doing::Runs { since, of, readied } = thread.doing.clone() else { unreachable!("it ran") };
        let mut redundant = readied.len() as u64;
        thread.doing = match (waits, readied.first()) {
            (false, _) => Doing::Ready { since: time, kind: "preempted", by: NONE, wait: None },
            (true, None) => Doing::Waits { since: time, reason: "UserRequest" },
            (true, Some(by)) => {
                redundant -= 1;
                Doing::Ready { since: time, kind: "wakeup", by, wait: Some((time, "UserRequest")) }
            }
        };
        if waits {
            thread.waited.entry("UserRequest".to_owned()).or_default().0 += 1;
        }
        self.row(&of).cpu += time - since;
        self.row(&labels(NONE, NONE)).redundant += redundant;
    }

    /// The last switch ends the window: it does not count.
    fn finish(&mut self, first: u64, end: u64, stack_of: usize) {
        let (next, (label, frames)) = (if self.running == Some(16) { 20 } else { 16 }, STACKS[stack_of]);
        self.records.push(switch(end, next, self.running.unwrap_or(0), READY, 30));
        self.records.extend((!frames.is_empty()).then(|| stack(end, next, frames)));
        let busy: u64 = self.rows.values().map(|sums| sums.cpu).sum();
        let running = self.threads.values().map(|thread| match thread.doing {
            Doing::Runs { since, .. } => end - since,
            _ => 0,
        });
        let idle = end - first - busy - running.sum::<u64>();
        self.row("[idle] | [idle]").cpu += idle;
        for (id, mut thread) in std::mem::take(&mut self.threads) {
            // The stack of a switch-in after the window tells where the thread waits.
            let waited = if id == next { label } else { NONE };
            let mut of = labels(waited, NONE);
            match thread.doing {
                Doing::Unknown => {}
                Doing::Waits { since, reason } => thread.waited.entry(reason.to_owned()).or_default().1 += end - since,
                Doing::Ready { by, .. } => {
                    of = labels(waited, by);
                    self.row(&of).unfinished += 1;
                }
                Doing::Runs { since, of, readied } => {
                    self.row(&of).cpu += end - since;
                    // It is preempted by the last switch.
                    self.row(&labels(NONE, NONE)).redundant += readied.len() as u64;
                }
            }
            add_pairs(&mut self.row(&of).waits, &thread.waited);
        }
        self.rows.retain(|_, sums| *sums != Sums::default());
    }
}

proptest! {
    #![proptest_config(cases(8))]
    /// Against a model of one processor, and against the rows without stacks.
    #[test]
    fn rows_by_stack_add_up(steps in prop::collection::vec((0u8..5, 0usize..3, any::<bool>(), 0usize..3, 4u64..60), 1..60), last in 0usize..3) {
        let mut model = Model::new();
        let first = T0 + 1000;
        model.switch(first, Some(16), true, 1);
        let mut time = first;
        for (what, thread, waits, stack, gap) in steps {
            time += gap;
            let id = 16 + 4 * thread as u32;
            match what {
                0 | 1 => model.ready(time, id, stack),
                2 => model.switch(time, None, true, 0),
                _ => model.switch(time, Some(id), waits, stack),
            }
        }
        model.finish(first, time + 10, last);
        let file = file_of(&trace_of(std::mem::take(&mut model.records)).finish());
        let trace = file.path().to_str().expect("UTF-8");
        prop_assert_eq!(&by(trace, "function,ready_function", &[]), &model.rows);
        for (dimension, place) in [("module", 0), ("ready_module", 1), ("stack", 0), ("ready_stack", 1)] {
            let mut sums: BTreeMap<usize, Sums> = BTreeMap::new();
            let number = |label: &str| ["[idle]", NONE, "lib.dll", "app.exe"].iter().position(|own| label.ends_with(own));
            for (label, row) in &model.rows {
                let label = label.split(" | ").nth(place).and_then(|label| label.split('+').next()).expect("a label");
                *sums.entry(number(label).expect("a module")).or_default() += row;
            }
            let mut found: BTreeMap<usize, Sums> = BTreeMap::new();
            for (label, row) in by(trace, dimension, &[]) {
                let innermost = label.rsplit(';').next().and_then(|label| label.split('+').next()).expect("a label");
                *found.entry(number(innermost).expect("a module")).or_default() += &row;
            }
            prop_assert_eq!(found, sums, "{}", dimension);
        }
        for others in ["process", "thread", "process,thread"] {
            let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
            for (label, row) in by(trace, &format!("{others},stack,ready_stack"), &[]) {
                let label: Vec<&str> = label.split(" | ").take(others.split(',').count()).collect();
                *sums.entry(label.join(" | ")).or_default() += &row;
            }
            sums.retain(|_, sums| *sums != Sums::default());
            let mut whole = by(trace, others, &[]);
            whole.retain(|_, sums| *sums != Sums::default());
            prop_assert_eq!(sums, whole, "{}", others);
        }
    }
}
