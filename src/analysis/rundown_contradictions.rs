//! Ranges and threads on which events and the end rundown disagree: events were lost, or others were logged than happened.

use crate::load::space_events::UnrolledSpaces;
use crate::model::address_space_at::{Contradiction, space_at};
use crate::model::process::{Instance, Processes};
use crate::model::rundown::{RundownKind, Rundowns};
use crate::moment::Moment;
use crate::trace::trust::warning::Warning;
use crate::units::counted;
use rayon::prelude::*;

/// How many examples people are shown.
const SHOWN: usize = 3;

/// How many they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RundownContradictions {
    /// All of them.
    pub count: u64,
    /// The first few of them for people.
    pub examples: Vec<String>,
}

impl RundownContradictions {
    /// Of those that were found, each with the index of its process.
    pub(crate) fn new(processes: &Processes, found: &[(u32, Contradiction)]) -> RundownContradictions {
        let examples = found.iter().take(SHOWN).map(|found| example(processes, found)).collect();
        RundownContradictions { count: found.len() as u64, examples }
    }

    /// Of all processes that are alive at `moment`.
    pub(crate) fn at(
        moment: Moment,
        spaces: &UnrolledSpaces<'_>,
        processes: &Processes,
        rundowns: &Rundowns,
    ) -> RundownContradictions {
        // The first start rundown has nothing before it to disagree with.
        let replaces = |kind| rundowns.last_before(kind, moment.time).is_some_and(|due| due.at_end || !due.is_first);
        if !RundownKind::ALL.into_iter().any(replaces) {
            return RundownContradictions::default();
        }
        let of_process = |process: &Instance| match process.is_alive(moment) {
            true => space_at(spaces.of(process.process_id), process, moment, rundowns).contradictions,
            false => Vec::new(),
        };
        let found: Vec<Vec<Contradiction>> = processes.instances.par_iter().map(of_process).collect();
        let found = (0..).zip(&found).flat_map(|(index, list)| list.iter().map(move |one| (index, *one)));
        RundownContradictions::new(processes, &found.collect::<Vec<_>>())
    }

    /// The warning; `outcome` says what it means for an analysis.
    pub(crate) fn warning(&self, analysis: &'static str, outcome: &str) -> Option<Warning> {
        (self.count > 0).then(|| {
            let text = format!(
                "events and end rundown disagree on {}; {outcome}: {}",
                counted(self.count, "range or thread", "ranges or threads"),
                self.examples.join(", ")
            );
            Warning::grave(analysis, "rundown_disagrees", text).of(self.count)
        })
    }
}

fn example(processes: &Processes, (process, contradiction): &(u32, Contradiction)) -> String {
    let kind = match contradiction.kind {
        RundownKind::Region => "region",
        RundownKind::View => "view",
        RundownKind::Heap => "heap range",
        RundownKind::Thread => "thread",
    };
    let at = match contradiction.kind {
        RundownKind::Thread => contradiction.base.to_string(),
        _ => format!("0x{:x}", contradiction.base),
    };
    let process = processes.instances.get(*process as usize).map(|p| p.label()).unwrap_or_default();
    let side = if contradiction.only_events { "only in the events" } else { "only in the rundown" };
    format!("{kind} {at} of {process} {side}")
}
