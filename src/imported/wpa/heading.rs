//! Headings of an exported table: the column's name, the unit of its cells, without the words of an aggregation.

use super::culture::Decimals;

/// A heading in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// As it stands in the file.
    pub text: String,
    /// Without unit and aggregation, in lower case, one blank between words: what columns are found by.
    pub name: String,
    /// The unit of its cells.
    pub unit: Option<Unit>,
}

/// The unit of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Amounts of memory: bytes of one.
    Size(u64),
    /// Times: nanoseconds of one.
    Time(u64),
    /// Shares.
    Percent,
}

/// Units by their name in a heading. `MB` means 2²⁰ bytes.
const UNITS: [(&[&str], Unit); 11] = [
    (&["b", "bytes", "byte"], Unit::Size(1)),
    (&["kb", "kib"], Unit::Size(1 << 10)),
    (&["mb", "mib"], Unit::Size(1 << 20)),
    (&["gb", "gib"], Unit::Size(1 << 30)),
    (&["tb", "tib"], Unit::Size(1 << 40)),
    (&["s", "sec"], Unit::Time(1_000_000_000)),
    (&["ms"], Unit::Time(1_000_000)),
    // The micro sign, the Greek letter, and what stands for them in ASCII.
    (&["\u{b5}s", "\u{3bc}s", "us"], Unit::Time(1000)),
    (&["ns"], Unit::Time(1)),
    (&["%"], Unit::Percent),
    (&["percent"], Unit::Percent),
];

impl Unit {
    /// The unit of a name.
    pub fn parse(name: &str) -> Option<Unit> {
        let name = name.trim().to_lowercase();
        UNITS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, unit)| *unit)
    }

    /// Digits after the decimal sign in the cell format of the unit.
    pub const fn decimals(self) -> Decimals {
        match self {
            Unit::Size(1) | Unit::Time(1) => Decimals::None,
            Unit::Size(1024) => Decimals::Zeros,
            Unit::Size(_) | Unit::Time(1000) => Decimals::Known(3),
            Unit::Time(1_000_000) => Decimals::Known(6),
            Unit::Time(_) => Decimals::Known(9),
            Unit::Percent => Decimals::Known(2),
        }
    }
}

impl Heading {
    /// Takes a heading apart. Names can hold parentheses themselves, so only a known unit in the last pair is one.
    pub fn new(text: &str) -> Heading {
        let mut name = text.trim();
        let mut unit = None;
        loop {
            let before = name.len();
            if let Some((rest, _)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
                name = rest.trim_end();
            }
            if unit.is_none()
                && let Some((rest, inner)) = name.strip_suffix(')').and_then(|rest| rest.rsplit_once('('))
                && let Some(found) = Unit::parse(inner)
            {
                (name, unit) = (rest.trim_end(), Some(found));
            }
            if name.len() == before {
                break;
            }
        }
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        Heading { text: text.trim().to_owned(), name, unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_units_are_told_apart() {
        for (text, name, unit) in [
            ("Size (MB)", "size", Some(Unit::Size(1 << 20))),
            ("Size (Process View) (MB) [Sum]", "size (process view)", Some(Unit::Size(1 << 20))),
            ("Size [Sum] (B)", "size", Some(Unit::Size(1))),
            ("Release Time (Adjusted) (s)", "release time (adjusted)", Some(Unit::Time(1_000_000_000))),
            ("Page Count w/o Offer (Raw)", "page count w/o offer (raw)", None),
            ("Page  Category", "page category", None),
            ("% Weight (%)", "% weight", Some(Unit::Percent)),
            (" Snapshot Time (\u{3bc}s)", "snapshot time", Some(Unit::Time(1000))),
            ("", "", None),
        ] {
            let heading = Heading::new(text);
            assert_eq!((heading.name.as_str(), heading.unit), (name, unit), "{text}");
        }
        assert_eq!(Unit::Size(1 << 10).decimals(), Decimals::Zeros);
        assert_eq!(Unit::Size(1 << 20).decimals(), Decimals::Known(3));
        assert_eq!(Unit::Size(1).decimals(), Decimals::None);
    }
}
