//! Amounts of memory as exact numbers: pages, sizes in any unit with their digits, and what rounding left open.

use crate::units::PAGE_BYTES;
use std::ops::AddAssign;

/// Parts of a byte that amounts are counted in: enough for nine digits after the decimal sign.
const PARTS: i128 = 1_000_000_000;
const PARTS_OF_A_PAGE: i128 = PAGE_BYTES as i128 * PARTS;
/// Most digits after the decimal sign that are read.
pub const MOST_DIGITS: u32 = 9;

/// An amount of memory. A page count is exact; a size was rounded when it was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Amount {
    /// In billionths of a byte.
    parts: i128,
    /// By how much it can be wrong, in the same unit.
    slack: i128,
}

impl Amount {
    /// A number of pages.
    pub const fn of_pages(pages: i64) -> Amount {
        Amount { parts: pages as i128 * PARTS_OF_A_PAGE, slack: 0 }
    }

    /// A printed size: `digits` without its decimal sign, `decimals` of them after it, in a unit of `unit` bytes. It can be
    /// wrong by half a unit of its last digit.
    pub fn of_size(digits: i64, decimals: u32, unit: u64) -> Amount {
        let last_digit = i128::from(unit) * (PARTS / 10i128.pow(decimals.min(MOST_DIGITS)));
        // A whole number of bytes has not been rounded.
        let slack = if unit == 1 && decimals == 0 { 0 } else { last_digit / 2 };
        Amount { parts: i128::from(digits) * last_digit, slack }
    }

    /// The nearest whole number of pages.
    pub fn pages(self) -> i64 {
        let half = PARTS_OF_A_PAGE / 2 * self.parts.signum();
        i64::try_from((self.parts + half) / PARTS_OF_A_PAGE).unwrap_or(i64::MAX)
    }

    /// How far apart two amounts are, in parts that only [`Amount::slack`] and [`Limit`] are compared with.
    pub fn distance(self, other: Amount) -> Limit {
        Limit((self.parts - other.parts).abs())
    }

    /// What rounding left open in both.
    pub fn slack(self, other: Amount) -> Limit {
        Limit(self.slack + other.slack)
    }

    /// True where nothing but rounding, up or down, is between two amounts of the same memory.
    pub(super) fn is_rounded(self, other: Amount) -> bool {
        let slack = self.slack(other);
        self.distance(other) <= slack.and(slack)
    }

    /// A share of the larger of two amounts; `per_million` of 1,000,000 is all of it.
    pub fn share_of_larger(self, other: Amount, per_million: u64) -> Limit {
        let larger = self.parts.abs().max(other.parts.abs());
        Limit(larger / 1_000_000 * i128::from(per_million) + larger % 1_000_000 * i128::from(per_million) / 1_000_000)
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.parts += other.parts;
        self.slack += other.slack;
    }
}

/// The memory of one combination of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedRow {
    /// One for each dimension asked for.
    pub labels: Vec<Box<str>>,
    /// How much.
    pub amount: Amount,
}

/// A difference that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Limit(i128);

impl Limit {
    /// A number of bytes.
    pub const fn of_bytes(bytes: u64) -> Limit {
        Limit(bytes as i128 * PARTS)
    }

    /// In pages, to a thousandth.
    pub fn pages(self) -> f64 {
        ((self.0 * 1000 + PARTS_OF_A_PAGE / 2) / PARTS_OF_A_PAGE) as f64 / 1000.0
    }

    /// Both together.
    pub const fn and(self, other: Limit) -> Limit {
        Limit(self.0 + other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_and_know_their_rounding() {
        let size = Amount::of_size(3344, 3, 1 << 20);
        assert_eq!(size.pages(), 856, "3.344 MB");
        let exact = Amount::of_pages(856);
        assert!(exact.distance(size) <= exact.slack(size));
        assert!(Amount::of_pages(857).distance(size) > exact.slack(size));
        assert_eq!(exact.slack(size).pages(), 0.128);
        assert_eq!(Amount::of_size(8192, 0, 1), Amount::of_pages(2));
        assert_eq!((Amount::of_pages(-3).pages(), Amount::of_size(-12, 3, 1 << 20).pages()), (-3, -3));
    }

    #[test]
    fn shares_are_of_the_larger_side() {
        let (small, large) = (Amount::of_pages(90), Amount::of_pages(100));
        assert!(small.distance(large) <= small.share_of_larger(large, 100_000));
        assert!(small.distance(large) > small.share_of_larger(large, 99_999));
        assert_eq!(Limit::of_bytes(8192).and(Limit::of_bytes(4096)).pages(), 3.0);
    }
}
