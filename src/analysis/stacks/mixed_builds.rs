//! Images of one name and of several builds: an offset is other code in each of them, but rows by function have one label for all.

use super::frame_names::{FrameKind, Label as Frame, Names};
use super::query::{Dimension, StackQuery};
use super::rows::{Row, Shown, numbers_as_shown};
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::Warning;
use crate::units::{count, counted};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that one task looks at.
const ROWS_OF_A_TASK: usize = 1 << 12;

/// How much of each stack makes labels of rows that keep no processes apart; `None`: nothing.
fn depth_of_labels(query: &StackQuery) -> Option<usize> {
    let has = |wanted: Dimension| query.group_by.contains(&wanted);
    let is_tree = query.tree.as_ref().is_some_and(|tree| !tree.by_process);
    if query.whole_stacks {
        return None;
    }
    match query.group_by.is_empty() || is_tree || (has(Dimension::Stack) && !has(Dimension::Process)) {
        true => Some(usize::MAX),
        // Rows by function are of the innermost one.
        false => (has(Dimension::Function) && !has(Dimension::Process)).then_some(1),
    }
}

/// Module, offset and database of a frame in an image, where the offset is all of its name.
fn offset_only(names: &Names, number: u32) -> Option<(&str, u64, u32)> {
    let frame = names.frame(number);
    let Frame::Image(_, offset, _) = frame else { return None };
    let module = names.module(frame).filter(|_| names.kind(frame) == Some(FrameKind::Module))?;
    Some((module, offset, names.pdb(frame)?))
}

impl Shown<'_> {
    /// That rows add up offsets in several builds of an image. Builds are told apart by their databases: of others no record that is kept
    /// says which one it is.
    pub fn mixed_builds(&self) -> Option<Warning> {
        let depth = depth_of_labels(self.query)?;
        let frames = self.names.lists().distinct().len();
        let mut builds: BTreeMap<(&str, u64), BTreeSet<u32>> = BTreeMap::new();
        let all = (0..frames as u32).filter_map(|number| Some((number, offset_only(self.names, number)?)));
        let mut of_modules: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        all.clone().for_each(|(_, (module, _, pdb))| {
            of_modules.entry(module).or_default().insert(pdb);
        });
        of_modules.retain(|_, pdbs| pdbs.len() > 1);
        if of_modules.is_empty() {
            return None;
        }
        let seen = self.seen(frames, depth);
        let is_seen = |number: u32| seen.get(number as usize).copied().unwrap_or(false);
        for (_, (module, offset, pdb)) in all.filter(|(number, _)| is_seen(*number)) {
            if of_modules.contains_key(module) {
                builds.entry((module, offset)).or_default().insert(pdb);
            }
        }
        builds.retain(|_, pdbs| pdbs.len() > 1);
        told(&builds)
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

/// The module with most such offsets, and how many others there are.
fn told(builds: &BTreeMap<(&str, u64), BTreeSet<u32>>) -> Option<Warning> {
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
    let text = format!(
        "{} builds of {module}: equal offsets are different code, and {} of several builds in one row{others}; names out of their PDBs, \
         or rows by process too, tell them apart",
        count(pdbs.len() as u64),
        counted(*offsets, "offset is", "offsets are")
    );
    Some(Warning::note(STACK_EVENTS.name, "builds_mixed", text).of(builds.len() as u64))
}
