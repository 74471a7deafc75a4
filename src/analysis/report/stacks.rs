//! Which code did it: stacks of samples, waits and page accesses as trees, with small branches folded.

use crate::analysis::stacks::{Kind, Root, StackQuery, StackSet, TreeQuery};
use crate::error::Error;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;

/// Kinds of events that have a picture, as they are asked for.
const KINDS: [&str; 3] = ["samples", "cswitch", "page-access"];
/// Levels of a tree; what lies deeper counts for the last of them.
const DEPTH: usize = 96;
/// Branches of a function.
const BRANCHES: usize = 200;
/// Most functions of a tree: a picture has about 2,000 columns.
const MOST: usize = 4000;

/// Stacks in pictures.
#[derive(Debug)]
pub(crate) struct StackOverview {
    /// Kinds of events that have stacks.
    pub(crate) kinds: Vec<StackSet>,
}

impl StackOverview {
    /// The overview of a trace.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when no event of these kinds has a stack.
    pub(crate) fn new(trace: &Trace, symbols: &SymbolFolders) -> Result<StackOverview, Error> {
        // Most traces have none: they are not read once more to find out.
        if trace.missing(&STACK_EVENTS).iter().any(|need| need.required) {
            return Err(trace.cannot_run(&STACK_EVENTS));
        }
        let tree = TreeQuery { most: Some(MOST), by_process: true, ..TreeQuery::new(Root::All, DEPTH, BRANCHES) };
        let answer = |name: &str| {
            let of = Kind::parse(name).ok().filter(|of| of.is_recorded(trace))?;
            let (of, tree) = (Some(of), Some(tree.clone()));
            let query = StackQuery { of, tree, symbols: symbols.clone(), ..StackQuery::default() };
            StackSet::answer(trace, &query).ok().filter(|set| set.totals.with_stack > 0)
        };
        let kinds: Vec<StackSet> = KINDS.into_iter().filter_map(answer).collect();
        match kinds.is_empty() {
            true => Err(trace.cannot_run(&STACK_EVENTS)),
            false => Ok(StackOverview { kinds }),
        }
    }
}
