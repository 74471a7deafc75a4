//! Differences that are allowed: a number of pages, a size, or a share of the larger side.

use crate::imported::amount::{Amount, Limit};
use crate::units::PAGE_BYTES;
use std::str::FromStr;

/// A difference that is allowed in each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// A size in bytes.
    Bytes(u64),
    /// Millionths of the larger side.
    Share(u64),
}

/// Millionths of a whole.
const WHOLE: u64 = 1_000_000;

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance::Bytes(0)
    }
}

/// Units of a tolerance in bytes. MB means 2²⁰ bytes, as in WPA.
const UNITS: [(&[&str], u64); 6] = [
    (&["", "page", "pages"], PAGE_BYTES),
    (&["b", "byte", "bytes"], 1),
    (&["kib", "kb"], 1 << 10),
    (&["mib", "mb"], 1 << 20),
    (&["gib", "gb"], 1 << 30),
    (&["tib", "tb"], 1 << 40),
];

impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Tolerance::rounded(text, Rounding::Nearest)
    }
}

/// Where an amount goes that is no whole byte, or no whole millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest one.
    Nearest,
    /// To the one below: an upper limit lets nothing pass that is above it.
    Down,
    /// To the one above: the same of a lower limit.
    Up,
}

/// A decimal number times a factor, exactly; `None` for what is no number, and for 10^18 and more.
fn scaled(number: &str, by: u64, rounding: Rounding) -> Option<u64> {
    // Digits behind these are less than a byte of a TiB.
    const DIGITS: usize = 18;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if number.len() < 1 + usize::from(number.contains('.')) || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let (fraction, rest) = fraction.split_at(fraction.len().min(DIGITS));
    let parse = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };
    let one = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let product = parse(whole)?.checked_mul(one)?.checked_add(parse(fraction)?)?.checked_mul(by.into())?;
    let (below, left) = (product / one, product % one);
    let is_up = match rounding {
        Rounding::Nearest => left * 2 >= one,
        Rounding::Down => false,
        Rounding::Up => left > 0 || rest.bytes().any(|digit| digit != b'0'),
    };
    u64::try_from(below + u128::from(is_up)).ok().filter(|amount| *amount < 1_000_000_000_000_000_000)
}

impl Tolerance {
    /// Reads an amount.
    ///
    /// # Errors
    /// What was expected.
    pub(crate) fn rounded(text: &str, rounding: Rounding) -> Result<Tolerance, String> {
        const FORM: &str = "expected a number of pages (10), a size (\"1.5 MiB\") or a share of the larger side (2%)";
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
        let scaled = |by: u64| scaled(number, by, rounding).ok_or(FORM);
        let unit = unit.trim().to_ascii_lowercase();
        if unit == "%" {
            return Ok(Tolerance::Share(scaled(10_000)?));
        }
        let bytes = UNITS.iter().find(|(names, _)| names.contains(&unit.as_str())).ok_or(FORM)?.1;
        Ok(Tolerance::Bytes(scaled(bytes)?))
    }

    /// Reads how much two sides may differ: they never differ by more than the whole of the larger one.
    ///
    /// # Errors
    /// What was expected.
    pub fn between_sides(text: &str) -> Result<Tolerance, String> {
        match text.parse()? {
            Tolerance::Share(share) if share > WHOLE => {
                Err("sides never differ by more than 100% of the larger".to_owned())
            }
            tolerance => Ok(tolerance),
        }
    }

    /// How much two amounts may differ: the allowed difference, plus the rounding of both.
    pub fn limit(self, left: Amount, right: Amount) -> Limit {
        let allowed = match self {
            Tolerance::Bytes(bytes) => Limit::of_bytes(bytes),
            Tolerance::Share(millionths) => left.share_of_larger(right, millionths),
        };
        allowed.and(left.slack(right))
    }

    /// True when a difference is allowed.
    pub fn is_any(self) -> bool {
        self != Tolerance::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_sizes_and_shares() {
        for (text, wanted) in [
            ("10", Tolerance::Bytes(40_960)),
            ("3 pages", Tolerance::Bytes(12_288)),
            ("1.5MiB", Tolerance::Bytes(3 << 19)),
            ("2 TiB", Tolerance::Bytes(2 << 40)),
            ("2 %", Tolerance::Share(20_000)),
            ("0.5%", Tolerance::Share(5000)),
            ("150%", Tolerance::Share(1_500_000)),
        ] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
        let rounded =
            |text: &str| [Rounding::Down, Rounding::Nearest, Rounding::Up].map(|to| Tolerance::rounded(text, to));
        let bytes = |bytes: [u64; 3]| bytes.map(|bytes| Ok(Tolerance::Bytes(bytes)));
        assert_eq!(rounded("20019.9999 KiB"), bytes([20_500_479, 20_500_480, 20_500_480]));
        assert_eq!(rounded("0.1 KiB"), bytes([102, 102, 103]));
        assert_eq!(rounded("0.50 KiB"), bytes([512; 3]));
        assert_eq!(rounded("1.00000000000000000000001 MiB"), bytes([1 << 20, 1 << 20, (1 << 20) + 1]));
        assert_eq!(rounded("0.29 %"), [2900; 3].map(|share| Ok(Tolerance::Share(share))));
        for text in ["", ".", "x", "1 furlong", "-3", "1.2.3", "999999999999999999999999"] {
            assert!(text.parse::<Tolerance>().is_err(), "{text}");
        }
        assert!(Tolerance::between_sides("100.1%").is_err() && Tolerance::between_sides("100%").is_ok());
        let limit = Tolerance::Share(20_000).limit(Amount::of_pages(100), Amount::of_pages(50));
        assert_eq!(limit.pages(), 2.0);
    }
}
