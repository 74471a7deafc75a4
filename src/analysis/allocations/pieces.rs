//! Pieces one by one, as they end: for tables with a row for each.

use super::figures::{BEFORE, Reason};
use super::labels::{ABSENT, Labels};
use super::lives::Lives;
use super::query::Dimension;
use crate::analysis::stacks::EventStacks;
use crate::facets::{Label, LabelKind};
use crate::units::Ticks;
use std::fmt;

/// Whose pieces are: what they have in common.
#[derive(Debug)]
pub(crate) struct PieceOwner {
    /// The process instance.
    pub instance: Option<usize>,
    labels: Vec<(Dimension, Label)>,
}

impl PieceOwner {
    /// The label in a dimension; `None` where there is none.
    pub fn label(&self, dimension: Dimension) -> Option<&str> {
        let found = self.labels.iter().find(|(of, _)| *of == dimension).map(|(_, label)| label);
        found.filter(|label| label.kind() != LabelKind::Nothing).map(Label::as_str)
    }

    /// A number that is a label.
    pub fn number(&self, dimension: Dimension) -> Option<u64> {
        let text = self.label(dimension)?;
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
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

/// Takes pieces while they end.
pub(super) struct PieceList<'t> {
    owners: Vec<Option<PieceOwner>>,
    number: u64,
    hole_until: Option<Ticks>,
    each: &'t mut (dyn FnMut(&ListedPiece<'_>) + Send),
}

impl fmt::Debug for PieceList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PieceList").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<'t> PieceList<'t> {
    /// Gives each piece to `each`; `hole_until`: frees of pieces from before may be missing.
    pub fn new(hole_until: Option<Ticks>, each: &'t mut (dyn FnMut(&ListedPiece<'_>) + Send)) -> PieceList<'t> {
        PieceList { owners: Vec::new(), number: 0, hole_until, each }
    }

    /// A piece ends. `code`: the number of this combination of labels.
    pub fn piece(
        &mut self,
        (code, numbers): (usize, &[u32]),
        (dimensions, lives, labels): (&[Dimension], &Lives, &Labels<'_>),
        (opened, address, bytes): (Ticks, Option<u64>, u64),
        (closed, closing_stack): (Option<(Ticks, Reason)>, Option<u32>),
    ) {
        if code >= self.owners.len() {
            self.owners.resize_with(code + 1, || None);
        }
        let Some(slot) = self.owners.get_mut(code) else { return };
        let owner = slot.get_or_insert_with(|| {
            let label = |(dimension, number): (&Dimension, &u32)| {
                (
                    *dimension,
                    labels.to_filter(*dimension, *number, lives).into_iter().next().unwrap_or_else(Label::nothing),
                )
            };
            let life = dimensions.iter().position(|dimension| *dimension == Dimension::Process);
            let life = life.and_then(|at| numbers.get(at)).filter(|life| **life != ABSENT);
            PieceOwner {
                instance: life.and_then(|life| labels.instance_of(*life, lives)),
                labels: dimensions.iter().zip(numbers).filter(|(of, _)| **of != Dimension::Stack).map(label).collect(),
            }
        });
        let is_stack = |number: &u32| ![ABSENT, EventStacks::NONE].contains(number);
        let stack = dimensions.iter().position(|dimension| *dimension == Dimension::Stack);
        let piece = ListedPiece {
            number: self.number,
            owner,
            address,
            bytes,
            opened: (opened != BEFORE).then_some(opened),
            closed: closed.map(|(stamp, reason)| (stamp, reason.name())),
            is_doubtful: closed.is_none() && self.hole_until.is_some_and(|until| opened < until),
            stack: stack.and_then(|at| numbers.get(at)).copied().filter(is_stack),
            closing_stack: closing_stack.filter(is_stack),
        };
        self.number += 1;
        (self.each)(&piece);
    }
}
