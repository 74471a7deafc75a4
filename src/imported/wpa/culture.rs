//! Numbers as a recorder's culture prints them: which sign is the decimal one, which one groups digits.
//!
//! The whole file has one culture. A cell of a column whose digits are known shows the role of its signs. Each role is noted with
//! its first place; a sign with two roles, or a role with two signs, is an error at the later place.

use std::fmt;
use std::str::FromStr;

/// A sign inside of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named as Unicode has them
pub enum Sign {
    Comma,
    Dot,
    Space,
    NoBreakSpace,
    NarrowNoBreakSpace,
    Apostrophe,
    RightQuote,
}

const SIGNS: [(Sign, char); 7] = [
    (Sign::Comma, ','),
    (Sign::Dot, '.'),
    (Sign::Space, ' '),
    (Sign::NoBreakSpace, '\u{a0}'),
    (Sign::NarrowNoBreakSpace, '\u{202f}'),
    (Sign::Apostrophe, '\''),
    (Sign::RightQuote, '\u{2019}'),
];

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sign::Space => f.write_str("a blank"),
            Sign::NoBreakSpace => f.write_str("a no-break space"),
            Sign::NarrowNoBreakSpace => f.write_str("a narrow no-break space"),
            other => SIGNS.iter().filter(|(sign, _)| sign == other).try_for_each(|(_, c)| write!(f, "\"{c}\"")),
        }
    }
}

impl FromStr for Sign {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = SIGNS.iter().find(|(_, c)| text.chars().eq([*c]));
        let by_name = || match text.to_ascii_lowercase().as_str() {
            "space" | "blank" => Some(Sign::Space),
            "nbsp" => Some(Sign::NoBreakSpace),
            "comma" => Some(Sign::Comma),
            "dot" | "point" => Some(Sign::Dot),
            "apostrophe" => Some(Sign::Apostrophe),
            _ => None,
        };
        found.map(|(sign, _)| *sign).or_else(by_name).ok_or_else(|| {
            "expected a sign, as in , or . or ' or a blank, or its name: comma, dot, space, nbsp, apostrophe".into()
        })
    }
}

/// Signs that the user gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Culture {
    /// Sign before the digits after the point.
    pub decimal: Option<Sign>,
    /// Sign between groups of three digits.
    pub group: Option<Sign>,
}

/// Languages, by the first two letters of a culture's name, with their decimal sign and the kind of their group sign.
const LOCALES: [(&[&str], Sign, Option<Sign>); 4] = [
    (&["en", "ja", "zh", "ko", "he", "th"], Sign::Dot, Some(Sign::Comma)),
    (&["de", "es", "it", "nl", "da", "tr", "el", "id", "ro", "pt"], Sign::Comma, Some(Sign::Dot)),
    // The group sign of these is a blank of one kind or another, by the version of Windows.
    (&["fr", "ru", "pl", "cs", "sv", "nb", "no", "fi", "uk", "hu", "sk", "bg"], Sign::Comma, None),
    (&["invariant"], Sign::Dot, Some(Sign::Comma)),
];

impl Culture {
    /// The culture of a name such as `en`, `de-DE`, `fr` or `de-CH`.
    ///
    /// # Errors
    /// A text that lists the known ones.
    pub fn of_locale(name: &str) -> Result<Culture, String> {
        let name = name.trim().to_ascii_lowercase().replace('_', "-");
        match name.as_str() {
            "de-ch" | "it-ch" | "de-li" => return Ok(Culture { decimal: Some(Sign::Dot), group: None }),
            "de-at" => return Ok(Culture { decimal: Some(Sign::Comma), group: None }),
            "es-mx" => return Ok(Culture { decimal: Some(Sign::Dot), group: Some(Sign::Comma) }),
            _ => {}
        }
        let language = name.split('-').next().unwrap_or_default();
        let found = LOCALES.iter().find(|(names, ..)| names.contains(&language));
        found.map(|&(_, decimal, group)| Culture { decimal: Some(decimal), group }).ok_or_else(|| {
            let known: Vec<&str> = LOCALES.iter().flat_map(|(names, ..)| names.iter().copied()).collect();
            format!("known are {}, de-CH; for any other locale of the numbers choose their signs", known.join(", "))
        })
    }
}

/// How many digits stand after the decimal sign of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimals {
    /// None: counts and bytes.
    None,
    /// This many, not zero, by the cell format of the unit.
    Known(u32),
    /// Three zeros by the cell format of the unit, or none where the recorder chose another: kilobytes of whole pages.
    Zeros,
    /// Not known: the heading has no unit.
    Unknown,
}

/// A number: its digits, and how many of them stand after the decimal sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// All digits, with the minus sign.
    pub digits: i64,
    /// Digits after the decimal sign.
    pub decimals: u32,
    /// The decimal sign and the sign of groups, where the number has them.
    pub signs: (Option<Sign>, Option<Sign>),
}

/// Why a cell is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotANumber {
    /// It has other characters, or its digits are not grouped by three.
    Malformed,
    /// `1,024` can be two numbers, and the culture is not known.
    Ambiguous,
}

/// What stands in a cell before roles are given to its signs.
struct Scan {
    digits: i64,
    /// Digits after the last sign.
    after: u32,
    last: Option<Sign>,
    /// Sign of all groups before the last sign.
    before: Option<Sign>,
    /// Signs in all.
    signs: u32,
    /// A single 0, or more than three digits stand before the first sign: no group begins so, and the sign is the decimal one.
    is_ungrouped: bool,
}

/// Reads the sign at the start of a text, with its length.
fn sign_at(text: &[u8]) -> Option<(Sign, usize)> {
    Some(match text {
        [b',', ..] => (Sign::Comma, 1),
        [b'.', ..] => (Sign::Dot, 1),
        [b' ', ..] => (Sign::Space, 1),
        [b'\'', ..] => (Sign::Apostrophe, 1),
        [0xc2, 0xa0, ..] => (Sign::NoBreakSpace, 2),
        [0xe2, 0x80, 0xaf, ..] => (Sign::NarrowNoBreakSpace, 3),
        [0xe2, 0x80, 0x99, ..] => (Sign::RightQuote, 3),
        _ => return None,
    })
}

fn scan(cell: &[u8]) -> Option<Scan> {
    let cell = cell.trim_ascii();
    let (negative, mut rest) = match cell {
        [b'-', rest @ ..] | [0xe2, 0x88, 0x92, rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    let mut scan = Scan { digits: 0, after: 0, last: None, before: None, signs: 0, is_ungrouped: false };
    while let Some((&byte, tail)) = rest.split_first() {
        if byte.is_ascii_digit() {
            scan.digits = scan.digits.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
            scan.after += 1;
            rest = tail;
            continue;
        }
        let (sign, length) = sign_at(rest)?;
        // The first group has one to three digits where more follow; those between two signs have three.
        let is_group = if scan.signs == 0 { scan.after > 0 } else { scan.after == 3 };
        if !is_group || scan.signs > 1 && scan.before != scan.last {
            return None;
        }
        (scan.before, scan.last) = (scan.last, Some(sign));
        scan.signs += 1;
        scan.is_ungrouped |= scan.digits == 0 || scan.signs == 1 && scan.after > 3;
        scan.after = 0;
        rest = rest.get(length..)?;
    }
    scan.digits *= if negative { -1 } else { 1 };
    (scan.after > 0).then_some(scan)
}

/// Reads a number of a column with these digits; `known` is the culture where it is known already.
///
/// # Errors
/// [`NotANumber`].
#[inline]
pub fn number(cell: &[u8], decimals: Decimals, known: Culture) -> Result<Number, NotANumber> {
    // Nearly all cells are short and plain.
    if let [digit @ b'0'..=b'9'] = cell {
        return Ok(Number { digits: i64::from(digit - b'0'), decimals: 0, signs: (None, None) });
    }
    let scan = scan(cell).ok_or(NotANumber::Malformed)?;
    let Some(last) = scan.last else {
        return Ok(Number { digits: scan.digits, decimals: 0, signs: (None, None) });
    };
    let grouped = |decimal| Number { digits: scan.digits, decimals: scan.after, signs: (decimal, scan.before) };
    let whole = || Number { digits: scan.digits, decimals: 0, signs: (None, Some(last)) };
    let is_repeated = scan.signs > 1 && scan.before == Some(last);
    match decimals {
        Decimals::None if scan.after == 3 && !scan.is_ungrouped && (scan.signs == 1 || is_repeated) => Ok(whole()),
        Decimals::None => Err(NotANumber::Malformed),
        _ if is_repeated && scan.after == 3 && !scan.is_ungrouped => Ok(whole()),
        _ if is_repeated => Err(NotANumber::Malformed),
        Decimals::Known(_) => Ok(grouped(Some(last))),
        _ if scan.signs > 1 || scan.after != 3 || scan.is_ungrouped => Ok(grouped(Some(last))),
        // Pages have no parts of a kilobyte, so what follows the sign is a group.
        Decimals::Zeros if scan.digits % 1000 != 0 => Ok(whole()),
        _ if known.decimal == Some(last) => Ok(grouped(Some(last))),
        _ if known.group == Some(last) || known.decimal.is_some() => Ok(whole()),
        _ if known.group.is_some() => Ok(grouped(Some(last))),
        _ => Err(NotANumber::Ambiguous),
    }
}

/// The last sign of a number.
pub fn last_sign(cell: &[u8]) -> Option<Sign> {
    scan(cell)?.last
}

/// Where a sign was met: offset of the row, number of the column.
pub type Place = (u64, u32);

/// The first place of each sign in each role.
#[derive(Debug, Clone, Default)]
pub struct Roles {
    decimal: [Option<Place>; SIGNS.len()],
    group: [Option<Place>; SIGNS.len()],
}

/// Two numbers of one file that no culture prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// The later place.
    pub at: Place,
    /// What its sign is there, in words.
    pub role: &'static str,
    /// The sign.
    pub sign: Sign,
    /// The earlier place; `None`: the user's options say otherwise.
    pub first: Option<Place>,
    /// The sign that the file has in that role, or the same sign in its other role.
    pub expected: Sign,
}

impl Roles {
    /// Notes the signs of a number.
    #[inline]
    pub fn note(&mut self, number: &Number, place: Place) {
        let note = |slots: &mut [Option<Place>; SIGNS.len()], sign: Option<Sign>| {
            if let Some(slot) = sign.and_then(|sign| slots.get_mut(sign as usize)) {
                *slot = Some(slot.map_or(place, |first| first.min(place)));
            }
        };
        note(&mut self.decimal, number.signs.0);
        note(&mut self.group, number.signs.1);
    }

    /// Adds what another thread met.
    pub fn merge(&mut self, other: &Roles) {
        let pairs = [(&mut self.decimal, &other.decimal), (&mut self.group, &other.group)];
        for (all, part) in pairs.into_iter().flat_map(|(all, part)| all.iter_mut().zip(part)) {
            *all = all.iter().chain(part).min().copied();
        }
    }

    fn of(slots: &[Option<Place>; SIGNS.len()]) -> Vec<(Place, Sign)> {
        let mut met: Vec<_> =
            SIGNS.iter().zip(slots).filter_map(|((sign, _), place)| Some((place.as_ref().copied()?, *sign))).collect();
        met.sort_unstable_by_key(|(place, _)| *place);
        met
    }

    /// True when a number had a decimal sign.
    pub fn has_decimals(&self) -> bool {
        self.decimal.iter().any(Option::is_some)
    }

    /// The culture that all numbers agree on, with the user's options.
    ///
    /// # Errors
    /// The first place that contradicts.
    pub fn culture(&self, given: Culture) -> Result<Culture, Contradiction> {
        let (decimals, groups) = (Roles::of(&self.decimal), Roles::of(&self.group));
        let mut found = Culture::default();
        for (met, given, slot, role) in [
            (&decimals, given.decimal, &mut found.decimal, "decimal sign"),
            (&groups, given.group, &mut found.group, "sign between groups of digits"),
        ] {
            let first = met.first().map(|(place, sign)| (Some(*place), *sign));
            let expected = given.map(|sign| (None, sign)).or(first);
            *slot = expected.map(|(_, sign)| sign);
            if let Some((first, expected)) = expected
                && let Some(&(at, sign)) = met.iter().find(|(_, sign)| *sign != expected)
            {
                return Err(Contradiction { at, role, sign, first, expected });
            }
        }
        if let (Some(decimal), Some(group)) = (found.decimal, found.group)
            && decimal == group
        {
            let [one, other] = [&decimals, &groups].map(|met| met.first().map(|(place, _)| *place));
            let role = if one > other { "decimal sign" } else { "sign between groups of digits" };
            let at = one.max(other).unwrap_or_default();
            return Err(Contradiction { at, role, sign: decimal, first: one.min(other), expected: decimal });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Culture = Culture { decimal: None, group: None };

    fn read(cell: &str, decimals: Decimals) -> Result<(i64, u32), NotANumber> {
        number(cell.as_bytes(), decimals, ANY).map(|n| (n.digits, n.decimals))
    }

    #[test]
    fn columns_whose_digits_are_known_need_no_culture() {
        for (cell, wanted) in [
            ("6.410", (6410, 3)),
            ("1,234.500", (1_234_500, 3)),
            ("1.234.567,500", (1_234_567_500, 3)),
            ("1\u{202f}234,500", (1_234_500, 3)),
            ("1'234.500", (1_234_500, 3)),
            ("-0,004", (-4, 3)),
            ("0", (0, 0)),
            ("0.78", (78, 2)),
        ] {
            assert_eq!(read(cell, Decimals::Known(3)), Ok(wanted), "{cell}");
        }
        for (cell, wanted) in [("1,641", 1641), ("1.234.567", 1_234_567), ("12\u{a0}345", 12_345), ("7", 7)] {
            assert_eq!(read(cell, Decimals::None), Ok((wanted, 0)), "{cell}");
        }
        for cell in
            ["", "-", "1,64", "1,2345", ",641", "1,,641", "12a", "1,641,", "99999999999999999999", "1.5", "1641.000"]
        {
            assert_eq!(read(cell, Decimals::None), Err(NotANumber::Malformed), "{cell}");
        }
        for cell in ["1.2.3", "1,234.5,6", "1.234.56"] {
            assert_eq!(read(cell, Decimals::Known(3)), Err(NotANumber::Malformed), "{cell}");
        }
    }

    #[test]
    fn kilobytes_of_pages_have_three_zeros_or_none() {
        for (cell, wanted) in [
            ("6,564", (6564, 0)),
            ("6.564", (6564, 0)),
            ("6,564.000", (6_564_000, 3)),
            ("1,234,568", (1_234_568, 0)),
            // No group has four digits.
            ("1641.000", (1_641_000, 3)),
            ("0.000", (0, 3)),
            ("0.004", (4, 3)),
            ("16", (16, 0)),
            ("4.0", (40, 1)),
        ] {
            assert_eq!(read(cell, Decimals::Zeros), Ok(wanted), "{cell}");
        }
        assert_eq!(read("8.000", Decimals::Zeros), Err(NotANumber::Ambiguous));
        for (decimal, group, wanted) in [
            (Some(Sign::Dot), None, (8000, 3)),
            (None, Some(Sign::Comma), (8000, 3)),
            (None, Some(Sign::Dot), (8000, 0)),
            (Some(Sign::Comma), None, (8000, 0)),
        ] {
            let read = number(b"8.000", Decimals::Zeros, Culture { decimal, group });
            assert_eq!(read.map(|n| (n.digits, n.decimals)), Ok(wanted), "{decimal:?} {group:?}");
        }
    }

    #[test]
    fn what_can_be_two_numbers_is_not_guessed() {
        assert_eq!(read("1,024", Decimals::Unknown), Err(NotANumber::Ambiguous));
        assert_eq!(read("1,02", Decimals::Unknown), Ok((102, 2)));
        let english = Culture::of_locale("en-US").unwrap();
        assert_eq!(number(b"1,024", Decimals::Unknown, english).map(|n| (n.digits, n.decimals)), Ok((1024, 0)));
        let german = Culture::of_locale("de").unwrap();
        assert_eq!(number(b"1,024", Decimals::Unknown, german).map(|n| (n.digits, n.decimals)), Ok((1024, 3)));
        assert!(Culture::of_locale("tlh").unwrap_err().contains("choose their signs"));
    }

    #[test]
    fn a_file_has_one_culture() {
        let roles = |cells: &[(&str, Decimals)]| {
            let mut roles = Roles::default();
            for (row, (cell, decimals)) in cells.iter().enumerate() {
                roles.note(&number(cell.as_bytes(), *decimals, ANY).unwrap(), (row as u64, 1));
            }
            roles
        };
        let size = Decimals::Known(3);
        let culture = roles(&[("1,641", Decimals::None), ("6.410", size)]).culture(ANY).unwrap();
        assert_eq!((culture.decimal, culture.group), (Some(Sign::Dot), Some(Sign::Comma)));
        let mixed = roles(&[("6.410", size), ("3.000", size), ("6,121", size)]).culture(ANY).unwrap_err();
        assert_eq!((mixed.at, mixed.first, mixed.sign, mixed.expected), ((2, 1), Some((0, 1)), Sign::Comma, Sign::Dot));
        let both = roles(&[("1,641", Decimals::None), ("6,410", size)]).culture(ANY).unwrap_err();
        assert_eq!((both.at, both.role), ((1, 1), "decimal sign"));
        let against = roles(&[("6.410", size)]).culture(Culture::of_locale("de").unwrap()).unwrap_err();
        assert_eq!((against.at, against.first, against.expected), ((0, 1), None, Sign::Comma));
    }

    #[test]
    fn signs_are_named() {
        assert_eq!(" ".parse(), Ok(Sign::Space));
        assert_eq!("nbsp".parse(), Ok(Sign::NoBreakSpace));
        assert!("..".parse::<Sign>().is_err());
        assert_eq!(format!("{} {}", Sign::Comma, Sign::Space), "\",\" a blank");
    }
}
