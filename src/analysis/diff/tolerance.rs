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
        const FORM: &str = "expected a number of pages (10), a size (\"1.5 MiB\") or a share of the larger side (2%)";
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
        let value: f64 = number.parse().map_err(|_| FORM)?;
        let scaled = |by: u64| {
            let product = value * by as f64;
            (product.is_finite() && product < 1e18).then_some(product.round() as u64).ok_or(FORM)
        };
        let unit = unit.trim().to_ascii_lowercase();
        if unit == "%" {
            return Ok(Tolerance::Share(scaled(10_000)?));
        }
        let bytes = UNITS.iter().find(|(names, _)| names.contains(&unit.as_str())).ok_or(FORM)?.1;
        Ok(Tolerance::Bytes(scaled(bytes)?))
    }
}

impl Tolerance {
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
        for text in ["", "x", "1 furlong", "-3", "1.2.3", "999999999999999999999999"] {
            assert!(text.parse::<Tolerance>().is_err(), "{text}");
        }
        assert!(Tolerance::between_sides("100.1%").is_err() && Tolerance::between_sides("100%").is_ok());
        let limit = Tolerance::Share(20_000).limit(Amount::of_pages(100), Amount::of_pages(50));
        assert_eq!(limit.pages(), 2.0);
    }
}
