//! Images of one name and of several builds: an offset is other code in each of them, but rows by function have one label for all.

use super::frame_names::{FrameKind, Label as Frame, Names};
use super::query::{Dimension, StackQuery};
use super::rows::{Row, Shown, numbers_as_shown};
use crate::pattern::Patterns;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::Warning;
use crate::units::{count, counted};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that one task looks at.
const ROWS_OF_A_TASK: usize = 1 << 12;

/// True where rows of several processes are one: a comparison finds processes again by their names.
fn adds_up_processes(query: &StackQuery) -> bool {
    query.compared || !query.group_by.contains(&Dimension::Process)
}

/// How much of each stack makes labels of rows that keep no processes apart; `None`: nothing.
fn depth_of_labels(query: &StackQuery) -> Option<usize> {
    let has = |wanted: Dimension| query.group_by.contains(&wanted);
    let is_tree = query.tree.as_ref().is_some_and(|tree| !tree.by_process);
    if query.whole_stacks {
        return None;
    }
    let adds_up = adds_up_processes(query);
    match query.group_by.is_empty() || is_tree || (has(Dimension::Stack) && adds_up) {
        true => Some(usize::MAX),
        // Rows by function are of the innermost one; a comparison has what is anywhere beside it.
        false => (has(Dimension::Function) && adds_up).then_some(if query.compared { usize::MAX } else { 1 }),
    }
}

/// Whole names of functions that the user chose rows by: an offset is other code in each build, also where rows keep processes apart.
fn chosen_names(query: &StackQuery) -> Vec<&str> {
    let conditions = query.conditions.iter().filter(|condition| condition.dimension == Dimension::Function);
    let of_conditions = conditions.map(|condition| &condition.patterns);
    let of_tree = query.tree.as_ref().and_then(|tree| tree.function());
    let patterns = of_conditions.chain(&query.leaf).chain(of_tree);
    patterns.flat_map(Patterns::wanted).filter(|one| one.is_literal()).map(|one| one.text.trim()).collect()
}

/// Module, offset and database of a frame in an image, where the offset is all of its name.
fn offset_only(names: &Names, number: u32) -> Option<(&str, u64, u32)> {
    let frame = names.frame(number);
    let Frame::Image(_, offset, _) = frame else { return None };
    let module = names.module(frame).filter(|_| names.kind(frame) == Some(FrameKind::Module))?;
    Some((module, offset, names.pdb(frame)?))
}

/// Databases by module and offset.
type Builds<'n> = BTreeMap<(&'n str, u64), BTreeSet<u32>>;

impl Shown<'_> {
    /// That rows add up offsets in several builds of an image, or that one is chosen in all of them. Builds are told apart by their databases:
    /// of others no record that is kept says which one it is.
    pub fn mixed_builds(&self) -> Option<Warning> {
        let (depth, chosen) = (depth_of_labels(self.query), chosen_names(self.query));
        if depth.is_none() && chosen.is_empty() {
            return None;
        }
        let frames = self.names.lists().distinct().len();
        let all = (0..frames as u32).filter_map(|number| Some((number, offset_only(self.names, number)?)));
        let mut of_modules: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        all.clone().for_each(|(_, (module, _, pdb))| {
            of_modules.entry(module).or_default().insert(pdb);
        });
        of_modules.retain(|_, pdbs| pdbs.len() > 1);
        if of_modules.is_empty() {
            return None;
        }
        let mixed = |depth: usize, is_wanted: &dyn Fn(u32) -> bool| -> Builds<'_> {
            let (mut builds, seen) = (Builds::new(), self.seen(frames, depth));
            let is_seen = |number: u32| seen.get(number as usize).copied().unwrap_or(false);
            for (_, (module, offset, pdb)) in all.clone().filter(|(number, _)| is_seen(*number) && is_wanted(*number)) {
                builds.entry((module, offset)).or_default().insert(pdb);
            }
            builds.retain(|_, pdbs| pdbs.len() > 1);
            builds
        };
        let is_chosen = |number: u32| {
            let text = self.names.text(self.names.frame(number));
            chosen.iter().any(|name| name.eq_ignore_ascii_case(&text))
        };
        let by_choice = if chosen.is_empty() { Builds::new() } else { mixed(usize::MAX, &is_chosen) };
        let by_rows = depth.map(|depth| mixed(depth, &|_| true)).unwrap_or_default();
        // What is chosen by its offset stays mixed when rows are by process too.
        let is_by_process = by_choice.is_empty() && !self.query.compared;
        match by_rows.is_empty() {
            true => told(&by_choice, "chosen in several builds", false),
            false => told(&by_rows, "of several builds in one row", is_by_process),
        }
    }

    /// By number of a frame, whether it is among so many innermost ones of a row's stack.
    fn seen(&self, frames: usize, depth: usize) -> Vec<bool> {
        let look = |rows: &[Row]| {
            let (mut seen, mut shown) = (vec![false; frames], Vec::new());
            for row in rows {
                numbers_as_shown(self.names, self.query, row.key.stack, &mut shown);
                let numbers = shown.iter().take(depth);
                numbers.for_each(|number| seen.get_mut(*number as usize).into_iter().for_each(|seen| *seen = true));
            }
            seen
        };
        let both = |mut one: Vec<bool>, other: Vec<bool>| {
            one.iter_mut().zip(other).for_each(|(one, other)| *one |= other);
            one
        };
        let tasks = self.rows.len().div_ceil(rayon::current_num_threads()).max(ROWS_OF_A_TASK);
        self.rows.par_chunks(tasks).map(look).reduce(|| vec![false; frames], both)
    }
}

/// The module with most such offsets, and how many others there are; `are` says what is wrong with them.
fn told(builds: &Builds<'_>, are: &str, is_by_process: bool) -> Option<Warning> {
    let mut modules: BTreeMap<&str, (u64, BTreeSet<u32>)> = BTreeMap::new();
    for ((module, _), pdbs) in builds {
        let (offsets, all) = modules.entry(module).or_default();
        *offsets += 1;
        all.extend(pdbs);
    }
    let (module, (offsets, pdbs)) =
        modules.iter().max_by_key(|(module, (offsets, _))| (*offsets, Reverse(**module)))?;
    let others = match modules.len() as u64 - 1 {
        0 => String::new(),
        others => format!(" (so of {})", counted(others, "other module", "other modules")),
    };
    let or_rows = if is_by_process { ", or rows by process too," } else { "" };
    let text = format!(
        "{} builds of {module}: equal offsets are different code, and {} {are}{others}; names out of their PDBs{or_rows} tell them apart",
        count(pdbs.len() as u64),
        counted(*offsets, "offset is", "offsets are")
    );
    Some(Warning::note(STACK_EVENTS.name, "builds_mixed", text).of(builds.len() as u64))
}
