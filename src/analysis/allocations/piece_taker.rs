//! Pieces one by one, as they end.

use super::label_combination::Combination;
use super::labels::{ABSENT, Labels};
use super::piece::{BEFORE, Piece};
use super::piece_end::Closing;
use super::process_lifetimes::Lives;
use super::query::Dimension;
use crate::analysis::stacks::EventStacks;
use crate::dimensions::{Label, LabelKind};
use crate::load::stacks::frame_lists::ListId;
use crate::units::Ticks;
use std::fmt;

/// Takes pieces while they end.
pub trait PieceTaker: fmt::Debug + Send {
    /// A piece ends, or is there at the end of the trace; its first byte where it is known. The number stands for the combination of
    /// its labels; then follows what closed it.
    fn take(
        &mut self,
        piece: (&Piece, Option<u64>),
        combination: (ListId, &Combination<'_>, Option<Closing>),
        names: (&Lives, &Labels<'_>),
    );
}

/// Whose pieces are: what they have in common.
#[derive(Debug)]
pub(crate) struct PieceOwner {
    /// The process instance.
    pub instance: Option<usize>,
    labels: Vec<(Dimension, Label)>,
    numbers: Vec<(Dimension, u64)>,
}

impl PieceOwner {
    fn new(combination: &Combination<'_>, lives: &Lives, labels: &Labels<'_>) -> PieceOwner {
        let (mut texts, mut numbers) = (Vec::new(), Vec::new());
        for (dimension, number) in combination.dimensions.iter().zip(combination.numbers) {
            let known = Some(*number).filter(|number| *number != ABSENT);
            let own = match dimension {
                Dimension::Thread | Dimension::Session => known.map(u64::from),
                Dimension::Heap => labels.heap_handle(*number),
                Dimension::Stack => None,
                _ => {
                    let label = labels.to_filter(*dimension, *number, lives).into_iter().next();
                    texts.extend(label.map(|label| (*dimension, label)));
                    None
                }
            };
            numbers.extend(own.map(|own| (*dimension, own)));
        }
        let life = Some(combination.number_of(Dimension::Process)).filter(|life| *life != ABSENT);
        PieceOwner { instance: life.and_then(|life| labels.instance_of(life, lives)), labels: texts, numbers }
    }

    /// The label in a dimension; `None` where there is none.
    pub fn label(&self, dimension: Dimension) -> Option<&str> {
        let found = self.labels.iter().find(|(of, _)| *of == dimension).map(|(_, label)| label);
        found.filter(|label| label.kind() != LabelKind::Nothing).map(Label::as_str)
    }

    /// The number in a dimension that has numbers: a thread, a session, a heap by its handle.
    pub fn number(&self, dimension: Dimension) -> Option<u64> {
        self.numbers.iter().find(|(of, _)| *of == dimension).map(|(_, number)| *number)
    }
}

/// A piece.
#[derive(Debug)]
pub(crate) struct ListedPiece<'p> {
    /// Its number in the order in which pieces end.
    pub number: u64,
    /// Whose it is.
    pub owner: &'p PieceOwner,
    /// Its first byte; `None` where only the sum of several pages is known.
    pub address: Option<u64>,
    /// Bytes.
    pub bytes: u64,
    /// When it was opened; `None`: before the trace.
    pub opened: Option<Ticks>,
    /// When and by what it was closed; `None`: it is there at the end.
    pub closed: Option<(Ticks, &'static str)>,
    /// True when the record that freed it can be lost.
    pub is_doubtful: bool,
    /// Number of the stack that opened it, where stacks are asked for.
    pub stack: Option<u32>,
    /// Number of the stack that closed it.
    pub closing_stack: Option<u32>,
}

/// Gives each piece to a function, with whose it is.
pub(super) struct PieceList<'t> {
    owners: Vec<Option<PieceOwner>>,
    number: u64,
    hole_until: Option<Ticks>,
    /// Bytes of the doubtful ones.
    pub doubtful_bytes: u128,
    each: &'t mut (dyn FnMut(&ListedPiece<'_>) + Send),
}

impl fmt::Debug for PieceList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PieceList").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<'t> PieceList<'t> {
    /// `hole_until`: frees of pieces from before may be missing.
    pub fn new(hole_until: Option<Ticks>, each: &'t mut (dyn FnMut(&ListedPiece<'_>) + Send)) -> PieceList<'t> {
        PieceList { owners: Vec::new(), number: 0, hole_until, doubtful_bytes: 0, each }
    }
}

impl PieceTaker for PieceList<'_> {
    fn take(
        &mut self,
        (piece, address): (&Piece, Option<u64>),
        (code, combination, closing): (ListId, &Combination<'_>, Option<Closing>),
        (lives, labels): (&Lives, &Labels<'_>),
    ) {
        let at = code.0 as usize;
        if at >= self.owners.len() {
            self.owners.resize_with(at + 1, || None);
        }
        let Some(slot) = self.owners.get_mut(at) else { return };
        let owner = slot.get_or_insert_with(|| PieceOwner::new(combination, lives, labels));
        let Piece { opened, closed, bytes } = *piece;
        let is_doubtful = closed.is_none() && self.hole_until.is_some_and(|until| opened < until);
        if is_doubtful {
            self.doubtful_bytes += u128::from(bytes);
        }
        let number = self.number;
        self.number += 1;
        (self.each)(&ListedPiece {
            number,
            owner,
            address,
            bytes,
            opened: (opened != BEFORE).then_some(opened),
            closed: closed.map(|(stamp, reason)| (stamp, reason.name())),
            is_doubtful,
            stack: known_stack(combination.number_of(Dimension::Stack)),
            closing_stack: closing.and_then(|closing| known_stack(closing.stack(labels))),
        });
    }
}

fn known_stack(number: u32) -> Option<u32> {
    Some(number).filter(|number| ![ABSENT, EventStacks::NONE].contains(number))
}
