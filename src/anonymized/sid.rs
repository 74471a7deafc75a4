//! Stand-ins for security identifiers, in their binary and their text form alike.
//!
//! Source of the well-known ones: "Well-known SIDs" of Microsoft's protocol documentation ([MS-DTYP] 2.4.2.4).

use crate::anonymized::permutation::{Digit, Permutation};

/// How many numbers at the start of a SID say of which kind it is; `None` for a SID that every machine has.
fn kept(authority: u64, numbers: &[u32]) -> Option<usize> {
    let is_known = match (authority, numbers) {
        (0..=4, [0..=4]) => true,                                      // everyone, creator, local …
        (5, [1..=33 | 113 | 114 | 1000]) => true,                      // system, network service, authenticated users …
        (5, [32, 544..=600]) => true,                                  // groups of the machine
        (5, [64, 10 | 14 | 21 | 32] | [65, 1]) => true,                // kinds of logon
        (5, [80 | 83, 0] | [90, 0] | [90, 0, _] | [96, 0, _]) => true, // all services, desktop and font hosts of a session
        (5, [80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464]) => true, // TrustedInstaller
        (15, [2, 1 | 2] | [3, 1..=12 | 4096]) => true,                 // all packages, common capabilities
        (16, [_]) | (18, [1..=6]) => true,                             // integrity levels, how an identity was proved
        _ => false,
    };
    let of_kind = usize::from(matches!(authority, 5 | 11 | 12 | 15) && numbers.len() > 1);
    (!is_known).then_some(of_kind)
}

/// Replaces the numbers of a SID by others with as many digits; SIDs that every machine has stay.
pub fn replace(permutation: &Permutation, authority: u64, numbers: &mut [u32]) {
    let Some(kept) = kept(authority, numbers) else { return };
    let kind: Vec<String> = numbers.iter().take(kept).map(u32::to_string).collect();
    let (_, own) = numbers.split_at_mut(kept);
    let lengths: Vec<u32> = own.iter().map(|number| length(*number)).collect();
    let kind = format!("SID {authority} {} {lengths:?}", kind.join("-"));
    let mut digits: Vec<Digit> = own.iter().flat_map(|number| digits_of(*number)).collect();
    // Few numbers of ten digits are more than 32 bits hold: then on to the next ones. The walk ends, because it comes back to
    // the numbers that it began with.
    loop {
        permutation.apply(&mut digits, kind.as_bytes());
        let mut rest = digits.iter();
        let found: Option<Vec<u32>> = lengths.iter().map(|length| number_of(*length, &mut rest)).collect();
        if let Some(found) = found {
            return own.iter_mut().zip(found).for_each(|(number, new)| *number = new);
        }
    }
}

/// Number of decimal digits.
fn length(number: u32) -> u32 {
    number.checked_ilog10().unwrap_or(0) + 1
}

/// Values of the first place of a number with this many digits. Numbers of ten digits have their first two digits there.
fn first_place(length: u32) -> (u32, u32) {
    match length {
        1 => (0, 10),
        10 => (10, 33),
        _ => (1, 9),
    }
}

fn digits_of(number: u32) -> impl Iterator<Item = Digit> {
    let (least, base) = first_place(length(number));
    let places = if length(number) == 10 { 8 } else { length(number) - 1 };
    let digit = move |place: u32| number / 10u32.pow(place);
    std::iter::once(Digit { value: digit(places) - least, base })
        .chain((0..places).rev().map(move |place| Digit { value: digit(place) % 10, base: 10 }))
}

/// The number of this length in the next digits; `None` when it is larger than 32 bits hold.
fn number_of<'d>(length: u32, digits: &mut impl Iterator<Item = &'d Digit>) -> Option<u32> {
    let (least, _) = first_place(length);
    let places = if length == 10 { 8 } else { length - 1 };
    let first = u64::from(digits.next()?.value + least);
    let mut number = first;
    for _ in 0..places {
        number = number * 10 + u64::from(digits.next()?.value);
    }
    u32::try_from(number).ok()
}

/// The SID at the start of a text: its authority and numbers, and its length. `None` where the text has another form.
pub fn parse(text: &str) -> Option<(u64, Vec<u32>, usize)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '-' || matches!(c, 's' | 'S'))).unwrap_or(text.len());
    let (sid, _) = text.split_at(end);
    let mut parts = sid.split('-');
    if !parts.next()?.eq_ignore_ascii_case("s") || parts.next()? != "1" {
        return None;
    }
    let is_plain = |part: &str| !part.is_empty() && (part == "0" || !part.starts_with('0'));
    let authority = parts.next().filter(|part| is_plain(part))?.parse().ok()?;
    let numbers: Option<Vec<u32>> = parts.map(|part| part.parse().ok().filter(|_| is_plain(part))).collect();
    numbers.filter(|numbers| !numbers.is_empty()).map(|numbers| (authority, numbers, end))
}

/// The text of a SID.
pub fn text(authority: u64, numbers: &[u32]) -> String {
    let numbers: String = numbers.iter().map(|number| format!("-{number}")).collect();
    format!("S-1-{authority}{numbers}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sid: &str) -> String {
        let (authority, mut numbers, length) = parse(sid).expect("a SID");
        assert_eq!(length, sid.len());
        replace(&Permutation::new(b"a"), authority, &mut numbers);
        text(authority, &numbers)
    }

    #[test]
    fn sids_of_every_machine_stay() {
        for sid in [
            "S-1-0-0",
            "S-1-1-0",
            "S-1-3-4",
            "S-1-5-18",
            "S-1-5-19",
            "S-1-5-20",
            "S-1-5-32-544",
            "S-1-5-64-10",
            "S-1-5-90-0-1",
            "S-1-5-96-0-2",
            "S-1-15-2-1",
            "S-1-15-3-1",
            "S-1-16-12288",
            "S-1-18-1",
            "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
        ] {
            assert_eq!(of(sid), sid);
        }
    }

    #[test]
    fn all_others_are_replaced_and_keep_their_kind_and_length() {
        for (sid, kind) in [
            ("S-1-5-21-2997623713-318043213-1203384902-1001", "S-1-5-21-"),
            ("S-1-12-1-2712847316-1158106136-691686236-1836941200", "S-1-12-1-"),
            ("S-1-11-96-3623454863-58364-18864-2661722203-1597581903", "S-1-11-96-"),
            ("S-1-5-80-3880718306-3832830129-1677859214-2598158968-1052248003", "S-1-5-80-"),
            ("S-1-5-82-3006700770-424185619-1745488364-794895919-4004696415", "S-1-5-82-"),
            ("S-1-15-2-1239072475-3687740317-1842961305-3395936705-4023953123-1525404051-2779347315", "S-1-15-2-"),
            ("S-1-15-3-1024-1065365936-1281604716", "S-1-15-3-"),
            ("S-1-5-5-0-143244", "S-1-5-5-"),
            ("S-1-77-4294967295", "S-1-77-"),
        ] {
            let new = of(sid);
            assert!(new.starts_with(kind) && new.len() == sid.len(), "{sid} {new}");
            for number in sid[kind.len()..].split('-').filter(|number| number.len() > 3) {
                assert!(!new.contains(number), "{sid} {new}");
            }
            assert_eq!(new, of(sid));
        }
    }

    #[test]
    fn other_texts_are_no_sids() {
        for text in ["S-1-5", "S-2-5-21", "S-1-5-021-7", "S-1--5-21", "X-1-5-18", "S-1-5-4294967296", "S-1-0x5-18"] {
            assert_eq!(parse(text).filter(|(.., length)| *length == text.len()), None, "{text}");
        }
        assert_eq!(
            parse("s-1-5-21-7_Classes").map(|(authority, numbers, length)| (authority, numbers.len(), length)),
            Some((5, 2, 10))
        );
    }
}
