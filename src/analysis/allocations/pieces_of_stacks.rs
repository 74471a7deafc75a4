//! Pieces one by one, with the stacks that opened and closed them: for viewers that match both.

use super::counting::Counting;
use super::figures::BEFORE;
use super::labels::{ABSENT, Labels};
use super::lives::Lives;
use super::query::{AllocationQuery, Dimension};
use super::warnings::warnings;
use super::{holes, replay};
use crate::analysis::cpu::time_grid::TickRange;
use crate::analysis::stacks::EventStacks;
use crate::error::Error;
use crate::load::allocations::AllocationKind;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::doubt::texts;
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
    /// Doubts, and warnings of the search for symbols.
    pub told: Vec<String>,
}

impl Pieces {
    /// Goes through all records of a kind.
    ///
    /// # Errors
    /// [`Error::Usage`] for a trace without a span of time.
    pub(crate) fn new(trace: &Trace, of: AllocationKind, symbols: &SymbolFolders) -> Result<Pieces, Error> {
        let (_, range) = TickRange::of_trace(trace, None, None)?;
        let (stacks, mut told) = EventStacks::new(trace, of.hooks(), symbols);
        let query = AllocationQuery::default();
        let group_by = [Dimension::Process, Dimension::Thread, Dimension::Stack, Dimension::FreeStack];
        let lives = Lives::new(&trace.system().processes);
        let labels = Labels::new(trace.processes(), None, Some(stacks));
        let mut counting =
            Counting::new((lives, labels), of, (&query, &group_by), (range, None), holes::hole_until(trace), &[]);
        counting.keep_pieces();
        let replayed = replay::replay(trace, of, &mut counting, None);
        let doubts = warnings(trace.trust(), of.needs().name, &trace.missing(of.needs()), &replayed, false);
        let of_life = |life: u32| counting.lives.get(life).map(|life| life.process_id).unwrap_or(0);
        let unknown = counting.lives.count();
        let mut processes: Vec<(u32, String)> =
            (0..unknown).map(|life| (of_life(life), counting.lives.label(life, trace.processes()))).collect();
        processes.push((0, "Unknown".to_owned()));
        let stack = |number: u32| if number == ABSENT { EventStacks::NONE } else { number };
        let list = counting.take_pieces().map(|(piece, numbers)| {
            let number = |at: usize| numbers.get(at).copied().unwrap_or(ABSENT);
            PieceOfStack {
                opened: (piece.opened != BEFORE).then_some(piece.opened),
                closed: piece.closed.map(|(time, _)| time),
                bytes: piece.bytes,
                process: number(0).min(unknown),
                thread: Some(number(1)).filter(|thread| *thread != ABSENT),
                stack: stack(number(2)),
                closing_stack: stack(number(3)),
            }
        });
        let list = list.collect();
        let stacks = counting.into_labels().into_stacks();
        let Some(stacks) = stacks else { return Err(trace.cannot_run(of.needs())) };
        told.extend(texts(&doubts));
        Ok(Pieces { list, processes, stacks, told })
    }
}
