//! Stand-ins for names: of the same length, the same for equal names, and different for different ones.
//!
//! Each character is replaced by another one of its kind (letter, digit, other). Which one depends on a secret key and on the
//! characters before it in the same word. So names with equal beginnings have stand-ins with equal beginnings, which matters
//! where the kernel cut a name, and no two names get the same stand-in. Other characters stay, and so do the words of
//! [`known`] and file extensions.

use crate::anonymized::known;
use sha2::{Digest, Sha256};

/// Makes stand-ins with one key.
#[derive(Debug, Clone)]
pub struct StandIns {
    key: [u8; 32],
}

/// What the words before a character say of its shift.
struct Shift {
    hash: Sha256,
    is_after_other: bool,
}

impl Shift {
    fn new(key: &[u8; 32]) -> Shift {
        Shift { hash: Sha256::new_with_prefix(key), is_after_other: false }
    }

    /// A number from 1 to `most`.
    fn next(&self, most: u32) -> u32 {
        let digest = self.hash.clone().finalize();
        1 + digest
            .iter()
            .take(8)
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
            .checked_rem(most.into())
            .unwrap_or(0) as u32
    }

    /// Characters that are no ASCII count as one, however many there are: 8-bit text has more of them than UTF-16.
    fn pass(&mut self, code: u32) {
        let ascii = u8::try_from(code).ok().filter(u8::is_ascii);
        match ascii {
            Some(ascii) => self.hash.update([ascii.to_ascii_lowercase()]),
            None if !self.is_after_other => self.hash.update([0xff]),
            None => {}
        }
        self.is_after_other = ascii.is_none();
    }
}

impl StandIns {
    /// Stand-ins that depend on a secret; the same secret gives the same stand-ins.
    pub fn new(secret: &[u8]) -> StandIns {
        StandIns { key: Sha256::digest(secret).into() }
    }

    /// Replaces UTF-16 text in place.
    pub fn wide(&self, bytes: &mut [u8]) {
        let (units, _) = bytes.as_chunks_mut::<2>();
        let values: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        let mut codes: Vec<u32> =
            char::decode_utf16(values).map(|c| c.map_or_else(|e| e.unpaired_surrogate().into(), u32::from)).collect();
        self.text(&mut codes);
        let mut units = units.iter_mut();
        for code in codes {
            match char::from_u32(code) {
                Some(c) => {
                    c.encode_utf16(&mut [0; 2]).iter().zip(&mut units).for_each(|(n, unit)| *unit = n.to_le_bytes())
                }
                None => drop(units.next()), // half of a pair stays
            }
        }
    }

    /// Replaces 8-bit text in place: UTF-8, or any code page.
    pub fn narrow(&self, bytes: &mut [u8]) {
        let Ok(text) = str::from_utf8(bytes) else {
            let mut codes: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
            self.text(&mut codes);
            return bytes.iter_mut().zip(codes).for_each(|(byte, code)| *byte = code as u8);
        };
        let mut codes: Vec<u32> = text.chars().map(u32::from).collect();
        self.text(&mut codes);
        let replaced: String = codes.into_iter().filter_map(char::from_u32).collect();
        bytes.iter_mut().zip(replaced.into_bytes()).for_each(|(byte, new)| *byte = new);
    }

    /// Replaces a user's SID, except those that every machine has (`S-1-5-18`).
    pub fn sub_authorities(&self, bytes: &mut [u8]) {
        // S-1-5-21-: three numbers of the machine or domain, and the user's.
        let Some((&mut [21, 0, 0, 0], own)) = bytes.split_first_chunk_mut::<4>() else { return };
        let mut hash = Sha256::new_with_prefix(self.key);
        for number in own.as_chunks_mut::<4>().0 {
            hash.update(*number);
            let digest = hash.clone().finalize();
            number.iter_mut().zip(digest).for_each(|(byte, new)| *byte = new);
        }
    }

    /// Word by word. Blanks are inside of words, because names have them.
    fn text(&self, codes: &mut [u32]) {
        let is_separator =
            |code: u32| u8::try_from(code).is_ok_and(|byte| br#"\/:"'<>|*,;=()"#.contains(&byte) || byte == 0);
        let mut rest = codes;
        while let Some(start) = rest.iter().position(|code| !is_separator(*code)) {
            let word = rest.get_mut(start..).unwrap_or_default();
            let end = word.iter().position(|code| is_separator(*code)).unwrap_or(word.len());
            let (word, after) = word.split_at_mut(end);
            let is_drive = word.len() == 1 && after.first() == Some(&u32::from(b':'));
            if !is_drive {
                self.word(word, after.is_empty());
            }
            rest = after;
        }
    }

    fn word(&self, word: &mut [u32], is_last: bool) {
        let lower: String = word.iter().map(|code| small(*code)).collect();
        if known::is_word(lower.trim()) || is_last && known::is_cut_word(&lower) {
            return;
        }
        let kept = kept(&lower, is_last);
        let mut shift = Shift::new(&self.key);
        for (code, is_kept) in word.iter_mut().zip(kept) {
            let before = *code;
            if !is_kept {
                *code = other(before, |most| shift.next(most));
            }
            shift.pass(before);
        }
    }
}

/// In lower case, one character of one byte for each code.
fn small(code: u32) -> char {
    char::from_u32(code).filter(char::is_ascii).map_or('\u{1a}', |c| c.to_ascii_lowercase())
}

/// Which characters of a word stay: words of the list between blanks, extensions, and what a SID begins with.
fn kept(lower: &str, is_last: bool) -> Vec<bool> {
    let mut kept = vec![false; lower.len()];
    let mut keep = |from: usize, to: usize| kept.iter_mut().take(to).skip(from).for_each(|kept| *kept = true);
    let mut at = 0;
    for part in lower.split_inclusive(' ') {
        let name = part.trim_end_matches(' ');
        if known::is_word(name) {
            keep(at, at + name.len());
        }
        at += part.len();
    }
    for (dot, _) in lower.match_indices('.') {
        let rest = lower.get(dot + 1..).unwrap_or_default();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
        let is_cut = is_last && end == rest.len() && lower.len() >= 14;
        if rest.get(..end).is_some_and(|extension| known::is_extension(extension, is_cut)) {
            keep(dot, dot + 1 + end);
        }
    }
    if lower.starts_with("s-1-") {
        let domain = if lower.starts_with("s-1-5-21-") { "s-1-5-21-".len() } else { lower.len() };
        keep(0, domain);
        let classes = lower.find("_classes").unwrap_or(lower.len());
        keep(classes, lower.len());
    }
    kept
}

/// Another character of the same kind and of the same length in UTF-8 and UTF-16; `shift` gives a number from 1 to its
/// argument.
fn other(code: u32, shift: impl Fn(u32) -> u32) -> u32 {
    let rotated = |first: u32, count: u32| first + (code - first + shift(count - 1)) % count;
    match char::from_u32(code) {
        Some('0'..='9') => rotated('0'.into(), 10),
        Some('A'..='Z') => rotated('A'.into(), 26),
        Some('a'..='z') => rotated('a'.into(), 26),
        // Signs, halves of a pair alone, private use.
        Some('\0'..='\u{bf}' | '\u{e000}'..='\u{f8ff}') | None => code,
        Some('\u{c0}'..='\u{ff}') => rotated('\u{c0}'.into(), 64),
        Some(_) => rotated(code & !0x7f, 128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        StandIns::new(b"a").wide(&mut bytes);
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        String::from_utf16(&units).unwrap()
    }

    fn of_narrow(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        StandIns::new(b"a").narrow(&mut bytes);
        bytes
    }

    #[test]
    fn names_are_replaced_and_what_all_machines_have_stays() {
        let path = of(r"\Device\HarddiskVolume3\Users\Alice\AppData\Local\Contoso Payroll\payroll.sys");
        let parts: Vec<&str> = path.split('\\').collect();
        assert_eq!(parts[..4], ["", "Device", "HarddiskVolume3", "Users"]);
        assert_eq!((parts[5], parts[6]), ("AppData", "Local"));
        assert!(parts[8].ends_with(".sys") && parts[8].len() == "payroll.sys".len(), "{path}");
        for name in ["alice", "contoso", "payroll"] {
            assert!(!path.to_lowercase().contains(name), "{path}");
        }
        let case: Vec<bool> = parts[7].chars().map(char::is_uppercase).collect();
        assert_eq!(case.iter().filter(|upper| **upper).count(), 2, "case stays: {path}");
        assert_eq!(of(r"C:\Windows\System32\svchost.exe -k"), of(r"C:\Windows\System32\svchost.exe -k"));
        assert!(of(r"C:\Windows\System32\svchost.exe -k netsvcs").starts_with(r"C:\Windows\System32\svchost.exe -"));
        assert!(of(r"\REGISTRY\USER\S-1-5-21-111-222-333-1001_Classes").starts_with(r"\REGISTRY\USER\S-1-5-21-"));
        assert!(!of(r"S-1-5-21-111-222-333-1001").contains("1001") && of("S-1-5-18") == "S-1-5-18");
    }

    #[test]
    fn equal_names_have_equal_stand_ins_in_every_place_and_case() {
        assert_eq!(of(r"\A\Alice\x").split('\\').nth(2), of(r"C:\Users\Alice").split('\\').nth(2));
        assert_eq!(of("alice"), of("ALICE").to_lowercase());
        let whole = of("contosopayrollservice.exe");
        let cut = String::from_utf8(of_narrow(b"contosopayroll")).unwrap();
        assert!(whole.starts_with(&cut), "{whole} {cut}");
        assert!(of_narrow(b"contosopayr.ex").ends_with(b".ex"), "a cut extension");
        let wide = of("Gr\u{fc}\u{df}e an alle.exe");
        let cp1252 = of_narrow(b"Gr\xfc\xdfe an alle.exe");
        let utf8 = of_narrow("Gr\u{fc}\u{df}e an alle.exe".as_bytes());
        let ascii = |bytes: &[u8]| bytes.iter().copied().filter(u8::is_ascii).collect::<Vec<u8>>();
        assert_eq!(ascii(&cp1252), ascii(wide.as_bytes()));
        assert_eq!(utf8, wide.as_bytes());
        assert_eq!(of("\u{1f600}x").chars().count(), 2, "a pair stays a pair");
    }

    proptest::proptest! {
        /// No two names get one stand-in, and no character of a name is where it was, unless all machines have it.
        #[test]
        fn different_names_have_different_stand_ins(a in "[a-z0-9 ._-]{1,12}", b in "[a-z0-9 ._-]{1,12}") {
            proptest::prop_assert_eq!(a == b, of(&a) == of(&b));
            let lower = a.clone();
            let kept = kept(&lower, true);
            if !known::is_word(lower.trim()) {
                for ((before, after), kept) in a.chars().zip(of(&a).chars()).zip(kept) {
                    let is_name = before.is_ascii_alphanumeric() && !kept;
                    proptest::prop_assert_eq!(is_name, before != after);
                }
            }
        }
    }
}
