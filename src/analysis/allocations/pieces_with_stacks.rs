//! Pieces one by one, with the stacks that opened and closed them: for viewers that match both.

use super::counting::Counting;
use super::label_combination::Combination;
use super::labels::{ABSENT, Labels};
use super::piece::{BEFORE, Piece};
use super::piece_end::Closing;
use super::piece_taker::PieceTaker;
use super::process_lifetimes::Lives;
use super::query::{AllocationQuery, Dimension};
use super::warnings::warnings;
use super::{lost_buffers, replay};
use crate::analysis::stacks::EventStacks;
use crate::analysis::time_grid::TickRange;
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::load::stacks::frame_lists::ListId;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::{Warnings, symbols_missing};
use crate::units::Ticks;

/// A piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PieceOfStack {
    /// When it was opened; `None`: before the trace.
    pub opened: Option<Ticks>,
    /// When it was closed.
    pub closed: Option<Ticks>,
    /// Size.
    pub bytes: u64,
    /// Its process, an index into [`Pieces::processes`].
    pub process: u32,
    /// The thread that opened it.
    pub thread: Option<u32>,
    /// Number of the stack that opened it.
    pub stack: u32,
    /// Number of the stack that closed it.
    pub closing_stack: u32,
}

/// All pieces of a kind.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// In the order in which they were closed.
    pub list: Vec<PieceOfStack>,
    /// Process ids with their labels; the last one stands for an unknown one.
    pub processes: Vec<(u32, String)>,
    /// Their stacks.
    pub stacks: EventStacks,
    /// What a reader of them has to know.
    pub warnings: Warnings,
}

/// Keeps the pieces, with the lives of their processes.
#[derive(Debug, Default)]
struct Collected(Vec<PieceOfStack>);

impl PieceTaker for Collected {
    fn take(
        &mut self,
        (piece, _): (&Piece, Option<u64>),
        (_, combination, closing): (ListId, &Combination<'_>, Option<Closing>),
        (_, labels): (&Lives, &Labels<'_>),
    ) {
        let known = |number: u32| Some(number).filter(|number| *number != ABSENT);
        let closing = closing.map_or(ABSENT, |closing| closing.stack(labels));
        self.0.push(PieceOfStack {
            opened: (piece.opened != BEFORE).then_some(piece.opened),
            closed: piece.closed.map(|(time, _)| time),
            bytes: piece.bytes,
            process: combination.number_of(Dimension::Process),
            thread: known(combination.number_of(Dimension::Thread)),
            stack: known(combination.number_of(Dimension::Stack)).unwrap_or(EventStacks::NONE),
            closing_stack: known(closing).unwrap_or(EventStacks::NONE),
        });
    }
}

impl Pieces {
    /// Goes through all records of a kind.
    ///
    /// # Errors
    /// [`Error::Usage`] for a trace without a span of time.
    pub(crate) fn new(trace: &Trace, of: AllocationKind, symbols: &SymbolFolders) -> Result<Pieces, Error> {
        let (_, range) = TickRange::of_trace(trace, None, None)?;
        let (stacks, told) = EventStacks::new(trace, of.hooks(), symbols);
        let query = AllocationQuery::default();
        let group_by = [Dimension::Process, Dimension::Thread, Dimension::Stack];
        let lives = Lives::new(&trace.system().processes);
        let labels = Labels::new(trace, None, Some(stacks));
        let mut collected = Collected::default();
        let mut counting = Counting::new(
            (lives, labels),
            of,
            (&query, &group_by),
            (range, None),
            lost_buffers::hole_until(trace, range.to),
            &[],
        );
        counting.give_pieces(&mut collected);
        let replayed = replay::replay(trace, of, &mut counting, None);
        let mut warnings = warnings(trace, of, &trace.missing(of.needs()), &replayed, Vec::new());
        let lives = &counting.lives;
        let label = |life: u32| lives.label(life, trace.processes()).to_string();
        let process = |life: u32| (lives.get(life).map_or(0, |life| life.process_id), label(life));
        let unknown = (0, "Unknown".to_owned());
        let processes: Vec<(u32, String)> = (0..lives.count()).map(process).chain([unknown]).collect();
        let Some(stacks) = counting.into_labels().into_stacks() else { return Err(trace.cannot_run(of.needs())) };
        warnings.extend(symbols_missing(of.needs().name, told));
        // Lives are found while records are read: only now the number of the unknown one is known.
        let unknown = processes.len() as u32 - 1;
        let mut list = collected.0;
        list.iter_mut().for_each(|piece| piece.process = piece.process.min(unknown));
        Ok(Pieces { list, processes, stacks, warnings })
    }
}
