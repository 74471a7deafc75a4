//! How pieces end.

use super::labels::{ABSENT, Labels};
use super::piece::Reason;
use crate::moment::Moment;

/// What closed a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// The record.
    pub moment: Moment,
    /// Why the piece ends.
    pub reason: Reason,
}

impl Closing {
    /// The stack of the record that freed the piece; [`ABSENT`] where nothing was logged.
    pub fn stack(&self, labels: &Labels<'_>) -> u32 {
        match self.reason {
            Reason::Lost | Reason::ProcessEnd => ABSENT,
            _ => labels.stack_at(self.moment),
        }
    }
}
