//! Sums over all frames of all stacks: by kind and image, and by what frames are called.

use super::frame_names::Names;
use super::rows::{Frames, FunctionRow, ModuleRow, Row, SelfAndTotal, Shown, StackId, Totals, numbers_as_shown};
use crate::load::stacks::frame_trie::PathId;
use rayon::prelude::*;
use std::cmp::Reverse;

/// Rows that one task adds up, at least.
const ROWS_OF_A_TASK: usize = 1 << 12;

/// How often each frame occurs in lists, each of which occurs so many times; by number of the frame.
pub(super) fn occurrences(names: &Names, lists: impl Iterator<Item = (PathId, u64)>) -> Vec<u64> {
    let nodes = names.lists().nodes();
    let mut times = vec![0u64; nodes.len()];
    for (list, of_list) in lists {
        times.get_mut(names.list_now(list).place()).into_iter().for_each(|times| *times += of_list);
    }
    let mut of_frames = vec![0u64; names.lists().distinct().len()];
    // What is inside of a frame is in a node after it, so the sum of a frame is whole when its turn comes.
    for (place, node) in nodes.iter().enumerate().rev() {
        let of_node = times.get(place).copied().unwrap_or_default();
        of_frames.get_mut(node.frame as usize).into_iter().for_each(|all| *all += of_node);
        let outer = node.outer.and_then(|outer| times.get_mut(outer.place()));
        outer.into_iter().for_each(|outer| *outer += of_node);
    }
    of_frames
}

/// What frames are called, by the number of the frame: a number of the name.
struct Called<N> {
    names: Vec<N>,
    number: Vec<u32>,
}

impl<N: Ord + Clone> Called<N> {
    fn new(frames: usize, name: impl Fn(u32) -> N + Sync) -> Called<N>
    where
        N: Send,
    {
        let mut named: Vec<(N, u32)> = (0..frames as u32).into_par_iter().map(|frame| (name(frame), frame)).collect();
        named.par_sort_unstable();
        let mut called = Called { names: Vec::new(), number: vec![0; frames] };
        for (name, frame) in named {
            if called.names.last() != Some(&name) {
                called.names.push(name);
            }
            let last = called.names.len() as u32 - 1;
            called.number.get_mut(frame as usize).into_iter().for_each(|number| *number = last);
        }
        called
    }
}

/// Sums by name, while rows are added up.
struct Sums {
    sums: Vec<SelfAndTotal>,
    /// By name, the last row that was added to it: recursion counts once.
    last: Vec<u32>,
}

impl Sums {
    fn new(names: usize) -> Sums {
        Sums { sums: vec![SelfAndTotal::default(); names], last: vec![0; names] }
    }

    /// `number` is that of the row, from 1.
    fn add(&mut self, name: u32, row: &Row, number: u32, is_innermost: bool) {
        if let (Some(sum), Some(last)) = (self.sums.get_mut(name as usize), self.last.get_mut(name as usize))
            && *last != number
        {
            sum.add(row, is_innermost);
            *last = number;
        }
    }

    fn and(mut self, other: Sums) -> Sums {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, other)| *sum += other);
        self
    }
}

impl Shown<'_> {
    /// The lists of frames of all rows, each with how often it occurs.
    pub fn lists(&self) -> impl Iterator<Item = (PathId, u64)> {
        self.rows.iter().flat_map(|row| {
            let StackId { kernel, user } = row.key.stack;
            [kernel, user].into_iter().flatten().map(|list| (list, row.counted.events))
        })
    }

    /// Sums.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let (mut weight, mut with_stack) = (0u64, 0u64);
        for row in &self.rows {
            let Row { key, weight_unknown, counted } = row;
            totals.events += counted.events;
            totals.with_stack += row.with_stack();
            totals.kernel_only += u64::from(counted.kernel_only);
            totals.user_only += if key.stack.kernel.is_none() { row.with_stack() } else { 0 };
            totals.incomplete += u64::from(counted.incomplete);
            totals.weight_unknown += u64::from(*weight_unknown);
            weight = weight.saturating_add(counted.weight);
            if key.stack.has_frames() {
                with_stack = with_stack.saturating_add(counted.weight);
            }
        }
        let frames = &mut totals.frames;
        for (number, times) in (0u32..).zip(occurrences(self.names, self.lists())) {
            let kind = self.names.kind(self.names.frame(number));
            kind.into_iter().for_each(|kind| Frames::add(frames, kind, times));
        }
        (totals.weight, totals.weight_with_stack) = (self.weight(weight), self.weight(with_stack));
        totals
    }

    /// Rows by module and by function, those with most events first. Each stack counts once for each name that its frames have.
    /// None where the query wants whole stacks, or a comparison.
    pub fn modules_and_functions(&self) -> (Vec<ModuleRow>, Vec<FunctionRow>) {
        if self.query.whole_stacks || self.query.compared {
            return Default::default();
        }
        let frames = self.names.lists().distinct().len();
        let module = |frame: u32| self.names.module(self.names.frame(frame));
        let functions = Called::new(frames, |frame| (self.names.text(self.names.frame(frame)), module(frame)));
        let modules = Called::new(frames, module);
        let none = || (Vec::new(), Sums::new(modules.names.len()), Sums::new(functions.names.len()));
        let with_row = |(mut shown, mut by_module, mut by_function): (Vec<u32>, Sums, Sums),
                        (number, row): (u32, &Row)| {
            numbers_as_shown(self.names, self.query, row.key.stack, &mut shown);
            for (depth, frame) in shown.iter().enumerate() {
                let called = |names: &[u32]| names.get(*frame as usize).copied().unwrap_or_default();
                by_module.add(called(&modules.number), row, number, depth == 0);
                by_function.add(called(&functions.number), row, number, depth == 0);
            }
            (shown, by_module, by_function)
        };
        let tasks = self.rows.len().div_ceil(rayon::current_num_threads()).max(ROWS_OF_A_TASK);
        let of_tasks = self.rows.par_chunks(tasks).map(|rows| {
            let (_, by_module, by_function) = (1..).zip(rows).fold(none(), with_row);
            (by_module, by_function)
        });
        let (_, no_modules, no_functions) = none();
        let sums: Vec<(Sums, Sums)> = of_tasks.collect();
        let (by_module, by_function) =
            (sums.into_iter()).fold((no_modules, no_functions), |all, one| (all.0.and(one.0), all.1.and(one.1)));
        let counted = |sums: Sums| sums.sums.into_iter().map(|sum| self.self_and_total(&sum)).collect::<Vec<_>>();
        let is_there = |counts: &SelfAndTotal| counts.total_events > 0;
        let owned = |module: Option<&str>| module.map(str::to_owned);
        let mut of_modules: Vec<ModuleRow> = (modules.names.into_iter().zip(counted(by_module)))
            .filter(|(_, counts)| is_there(counts))
            .map(|(module, counts)| ModuleRow { module: owned(module), counts })
            .collect();
        let mut of_functions: Vec<FunctionRow> = (functions.names.into_iter().zip(counted(by_function)))
            .filter(|(_, counts)| is_there(counts))
            .map(|((function, module), counts)| FunctionRow { function, module: owned(module), counts })
            .collect();
        of_modules.sort_by_key(|row| Reverse(row.counts.total_events));
        of_functions.sort_by_key(|row| Reverse(row.counts.total_events));
        (of_modules, of_functions)
    }
}
