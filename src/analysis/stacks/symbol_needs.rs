//! Which databases a trace needs (`pfnset symbols`): those of all frames of all stacks, whatever their events.

use super::frame_names::Names;
use super::named_slices::stack_id;
use super::rows::StackId;
use super::stack_matching::{self, Joined};
use super::symbol_use::{self, SymbolUse};
use crate::error::Error;
use crate::load::stacks::first_walk::{Parts, session_pointer};
use crate::load::stacks::frame_trie::PathId;
use crate::load::stacks::second_walk::EventChoice;
use crate::load::stacks::stack_events::Events;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::{Warnings, symbols_missing};
use crate::units::MOST_BYTES;
use foldhash::HashMap as FastMap;

/// What the frames of a trace need.
#[derive(Debug)]
pub struct SymbolNeeds {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// Events with a stack.
    pub stacks: u64,
    /// Frames in images.
    pub frames: u64,
    /// Folders that were searched.
    pub folders: usize,
    /// Images with their databases, those with most frames without a name first.
    pub images: Vec<SymbolUse>,
}

impl SymbolNeeds {
    /// What a trace needs.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when the trace holds no stacks, [`Error::MissingPart`] when they were lost.
    pub fn answer(trace: &Trace, folders: &SymbolFolders) -> Result<SymbolNeeds, Error> {
        trace.gather(crate::trace::Parts::SYSTEM);
        let parts = Parts::new(trace.etl());
        let mut events = Events::new(trace.etl(), &parts.parts, &EventChoice::Samples, MOST_BYTES);
        let Joined { stacks, .. } = stack_matching::join(&parts, &mut events);
        let mut names = Names::new(&parts.addresses, session_pointer(trace.etl()));
        let mut lists: FastMap<PathId, u64> = FastMap::default();
        let mut count = 0;
        for (event, stack) in events.events.iter().zip(&stacks).filter(|(_, stack)| stack.has_stack()) {
            count += 1;
            names.go_to(event.moment.time);
            let StackId { kernel, user } = stack_id(&mut names, stack, &parts);
            for list in [kernel, user].into_iter().flatten() {
                *lists.entry(list).or_default() += 1;
            }
        }
        if count == 0 {
            return Err(trace.cannot_run(&STACK_EVENTS));
        }
        let (searches, told) = symbol_use::read(&mut names, folders);
        let trust = trace.trust();
        let images = symbol_use::uses(&names, lists.into_iter(), &searches);
        Ok(SymbolNeeds {
            warnings: trust.warnings().into_iter().chain(symbols_missing(STACK_EVENTS.name, told)).collect(),
            stacks: count,
            frames: images.iter().map(|image| image.frames).sum(),
            folders: folders.folders.len(),
            images,
        })
    }
}
