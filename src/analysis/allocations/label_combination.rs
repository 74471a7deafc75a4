//! What pieces have in common: one label in each dimension, as numbers.

use super::labels::ABSENT;
use super::query::Dimension;

/// A combination of labels: its dimensions and their numbers. The first ones make the rows.
#[derive(Debug, Clone, Copy)]
pub struct Combination<'c> {
    /// Dimensions.
    pub dimensions: &'c [Dimension],
    /// Numbers of the labels.
    pub numbers: &'c [u32],
    /// How many of them make the rows.
    pub grouped: usize,
}

impl Combination<'_> {
    /// The number of its label in a dimension; [`ABSENT`] where it has none.
    pub fn number_of(&self, wanted: Dimension) -> u32 {
        let at = self.dimensions.iter().position(|dimension| *dimension == wanted);
        at.and_then(|at| self.numbers.get(at)).copied().unwrap_or(ABSENT)
    }
}
