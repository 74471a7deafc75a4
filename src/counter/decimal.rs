//! Fractions of whole numbers, rounded once, to six decimals.

use std::fmt;

/// A number with six decimals: halves were rounded away from zero. There is no negative zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    whole: u128,
    millionths: u32,
}

const DIGITS: usize = 6;
const ONE: u32 = 1_000_000;

impl Decimal {
    /// `numerator / denominator`; `None` for a denominator of 0 or above 2¹²⁷.
    pub(super) fn of_fraction(negative: bool, numerator: u128, denominator: u128) -> Option<Decimal> {
        if denominator > 1 << 127 {
            return None;
        }
        let mut whole = numerator.checked_div(denominator)?;
        let mut rest = numerator.checked_rem(denominator)?;
        let mut millionths = 0;
        for _ in 0..DIGITS {
            let digit;
            (digit, rest) = next_digit(rest, denominator);
            millionths = millionths * 10 + digit;
        }
        if rest >= denominator - rest {
            millionths += 1;
        }
        if millionths == ONE {
            (whole, millionths) = (whole.checked_add(1)?, 0);
        }
        Some(Decimal { negative: negative && (whole, millionths) != (0, 0), whole, millionths })
    }

    /// A whole number.
    pub(super) fn of_whole(whole: u64) -> Decimal {
        Decimal { negative: false, whole: whole.into(), millionths: 0 }
    }

    /// Digits before the point, without sign.
    pub fn whole(self) -> u128 {
        self.whole
    }

    /// The nearest floating-point number.
    pub fn to_f64(self) -> f64 {
        let value = self.whole as f64 + f64::from(self.millionths) / f64::from(ONE);
        if self.negative { -value } else { value }
    }
}

/// The digit of `10 · rest / denominator` and what is left. `10 · rest` may not fit, so it is added up in steps, each of
/// which is below `2 · denominator`.
fn next_digit(rest: u128, denominator: u128) -> (u32, u128) {
    let (mut digit, mut sum) = (0, 0);
    for _ in 0..10 {
        sum += rest;
        if sum >= denominator {
            sum -= denominator;
            digit += 1;
        }
    }
    (digit, sum)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{}.{:0DIGITS$}", self.whole, self.millionths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        let of = |negative, numerator, denominator| {
            Decimal::of_fraction(negative, numerator, denominator).map(|value| value.to_string())
        };
        for (numerator, denominator, text) in [
            (0, 5, "0.000000"),
            (1, 3, "0.333333"),
            (2, 3, "0.666667"),
            (1, 2_000_000, "0.000001"),
            (1, 2_000_001, "0.000000"),
            (19_999_999, 20_000_000, "1.000000"),
            (19_999_989, 20_000_000, "0.999999"),
            (u128::MAX, 1, "340282366920938463463374607431768211455.000000"),
            ((1 << 127) - 1, 1 << 127, "1.000000"),
        ] {
            assert_eq!(of(false, numerator, denominator).as_deref(), Some(text));
        }
        assert_eq!(of(true, 1, 2_000_000).as_deref(), Some("-0.000001"));
        assert_eq!(of(true, 1, 2_000_001).as_deref(), Some("0.000000"), "no negative zero");
        assert_eq!(of(false, 1, 0), None);
        assert_eq!(of(false, 1, u128::MAX), None);
    }
}
