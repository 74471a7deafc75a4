//! Stand-ins for names: of the same length, the same for equal names, and different for different ones.
//!
//! A text is cut into words at the separators of paths, and words into tokens at blanks. Each token is replaced as a whole:
//! its letters and digits are permuted with a key, so that a stand-in tells nothing about any other one, not even where the
//! names begin alike. Words of [`known`], extensions of files and signs stay.

use crate::anonymized::alphabet::Alphabet;
use crate::anonymized::permutation::{Digit, Permutation};
use crate::anonymized::{sid, well_known_words};
use crate::event::sid::Sid;
use crate::model::window::RECORDER_WORDS;

/// Makes stand-ins with one key.
#[derive(Debug, Clone)]
pub struct StandIns {
    permutation: Permutation,
}

/// What a text is, where that decides what of it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Names, paths, command lines.
    Names,
    /// The name of a process, perhaps cut: no path.
    Process,
    /// A mark: the words by which a recorder's marks are found stay.
    Mark,
    /// The name of a Windows edition: numbers stay.
    Product,
}

impl StandIns {
    /// Stand-ins that depend on a secret; the same secret gives the same stand-ins.
    pub fn new(secret: &[u8]) -> StandIns {
        StandIns { permutation: Permutation::new(secret) }
    }

    /// Replaces UTF-16 text in place.
    pub fn wide(&self, bytes: &mut [u8], kind: TextKind) {
        let (units, _) = bytes.as_chunks_mut::<2>();
        let values: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        let mut codes: Vec<u32> =
            char::decode_utf16(values).map(|c| c.map_or_else(|e| e.unpaired_surrogate().into(), u32::from)).collect();
        self.text(&mut codes, kind, Encoding::Unicode);
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
    pub fn narrow(&self, bytes: &mut [u8], kind: TextKind) {
        let Ok(text) = str::from_utf8(bytes) else {
            let mut codes: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
            self.text(&mut codes, kind, Encoding::Bytes);
            return bytes.iter_mut().zip(codes).for_each(|(byte, code)| *byte = code as u8);
        };
        let replaced = self.of(text, kind);
        bytes.iter_mut().zip(replaced.into_bytes()).for_each(|(byte, new)| *byte = new);
    }

    /// The stand-in of a text; it has as many characters, of the same lengths.
    pub fn of(&self, text: &str, kind: TextKind) -> String {
        let mut codes: Vec<u32> = text.chars().map(u32::from).collect();
        self.text(&mut codes, kind, Encoding::Unicode);
        codes.into_iter().filter_map(char::from_u32).collect()
    }

    /// Replaces the sub-authorities of a SID in place, except those that every machine has (`S-1-5-18`).
    pub fn sub_authorities(&self, sid: &Sid<'_>, bytes: &mut [u8]) {
        let mut numbers: Vec<u32> = sid.sub_authorities().collect();
        sid::replace(&self.permutation, sid.authority(), &mut numbers);
        bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers).for_each(|(bytes, new)| *bytes = new.to_le_bytes());
    }

    /// Replaces GUIDs in place; a GUID of zeros stays.
    pub fn guids(&self, bytes: &mut [u8]) {
        for guid in bytes.as_chunks_mut::<16>().0.iter_mut().filter(|guid| **guid != [0; 16]) {
            let digest = self.permutation.digest(&[b"GUID", &*guid]);
            guid.iter_mut().zip(digest).for_each(|(byte, new)| *byte = new);
        }
    }

    /// Word by word.
    fn text(&self, codes: &mut [u32], kind: TextKind, encoding: Encoding) {
        // Bytes of separators can be second bytes of characters, and names of processes have no paths.
        let has_words = (kind, encoding) != (TextKind::Process, Encoding::Bytes);
        let is_separator = |code: u32| {
            u8::try_from(code).is_ok_and(|byte| byte == 0 || has_words && br#"\/:"'<>|*,;=()"#.contains(&byte))
        };
        let is_cut = kind == TextKind::Process && matches!(codes.len(), 14 | 15);
        let mut rest = codes;
        while let Some(start) = rest.iter().position(|code| !is_separator(*code)) {
            let word = rest.get_mut(start..).unwrap_or_default();
            let end = word.iter().position(|code| is_separator(*code)).unwrap_or(word.len());
            let (word, after) = word.split_at_mut(end);
            let is_drive = word.len() == 1 && after.first() == Some(&u32::from(b':'));
            let rules = Rules { kind, encoding, is_cut: is_cut && after.is_empty() };
            if !is_drive {
                self.word(word, &rules);
            }
            rest = after;
        }
    }

    fn word(&self, word: &mut [u32], rules: &Rules) {
        let before = lower(word);
        if well_known_words::is_word(before.trim()) || rules.is_cut && well_known_words::is_cut_word(&before) {
            return;
        }
        let kept = rules.recorder_words(&before);
        // Stand-ins of two tokens can make a word by which a mark is found: on to the next ones. The walk ends, because it
        // comes back to the word itself.
        loop {
            self.tokens(word, &kept, rules);
            if rules.recorder_words(&lower(word)) == kept {
                return;
            }
        }
    }

    /// Token by token.
    fn tokens(&self, word: &mut [u32], kept: &[bool], rules: &Rules) {
        let lower = lower(word);
        let mut at = 0;
        for token in lower.split_inclusive(' ') {
            let range = at..at + token.trim_end_matches(' ').len();
            at += token.len();
            let rules = Rules { is_cut: rules.is_cut && range.end == lower.len(), ..*rules };
            if let (Some(token), Some(kept)) = (word.get_mut(range.clone()), kept.get(range)) {
                self.token(token, kept, &rules);
            }
        }
    }

    fn token(&self, token: &mut [u32], kept: &[bool], rules: &Rules) {
        let before = lower(token);
        if before.is_empty() || rules.stays(&before) || self.sid(token, &before) {
            return;
        }
        let kept: Vec<bool> = rules.extensions(&before).into_iter().zip(kept).map(|(a, b)| a || *b).collect();
        let alphabets = rules.alphabets(token, &kept);
        let mut digits: Vec<Digit> = token
            .iter()
            .zip(&alphabets)
            .filter_map(|(code, alphabet)| {
                alphabet.map(|alphabet| Digit { value: alphabet.value(*code), base: alphabet.base() })
            })
            .collect();
        let form = form(token, &kept, &alphabets);
        // Where a stand-in would be a known word, or have a known extension where the name has none, on to the next one: so
        // each stand-in belongs to one name. The walk ends, because it comes back to the name itself.
        while !digits.is_empty() {
            self.permutation.apply(&mut digits, form.as_bytes());
            let mut values = digits.iter();
            for (code, alphabet) in token.iter_mut().zip(&alphabets) {
                let new = alphabet.zip(alphabet.and_then(|_| values.next()));
                *code = new.and_then(|(alphabet, digit)| alphabet.character(digit.value)).unwrap_or(*code);
            }
            let after = lower(token);
            let has_same_extensions = rules.extensions(&after) == rules.extensions(&before);
            if has_same_extensions && !rules.stays(&after) && sid::parse(&after).is_none() {
                return;
            }
        }
    }

    /// Replaces a token that is a SID, alone or with `_Classes` or an extension; false when it is none.
    fn sid(&self, token: &mut [u32], lower: &str) -> bool {
        let Some((authority, mut numbers, length)) = sid::parse(lower) else { return false };
        let rest = lower.get(length..).unwrap_or_default();
        let is_whole = matches!(rest, "" | "_classes");
        if is_whole {
            sid::replace(&self.permutation, authority, &mut numbers);
            let new = sid::text(authority, &numbers);
            token.iter_mut().zip(new.chars()).skip(1).for_each(|(code, new)| *code = new.into());
        }
        is_whole
    }
}

/// What the numbers of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Unicode characters, and halves of pairs.
    Unicode,
    /// Bytes of an unknown code page.
    Bytes,
}

/// What of a token stays.
#[derive(Debug, Clone, Copy)]
struct Rules {
    kind: TextKind,
    encoding: Encoding,
    /// The end of the token may be missing.
    is_cut: bool,
}

impl Rules {
    fn stays(&self, lower: &str) -> bool {
        let is_number = || lower.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        well_known_words::is_word(lower) || self.kind == TextKind::Product && is_number()
    }

    /// Which characters are those of known extensions.
    fn extensions(&self, lower: &str) -> Vec<bool> {
        let mut kept = vec![false; lower.len()];
        for (dot, _) in lower.match_indices('.') {
            let rest = lower.get(dot + 1..).unwrap_or_default();
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
            let is_cut = self.is_cut && end == rest.len();
            if rest.get(..end).is_some_and(|extension| well_known_words::is_extension(extension, is_cut)) {
                kept.iter_mut().skip(dot).take(end + 1).for_each(|kept| *kept = true);
            }
        }
        kept
    }

    /// Which characters of a mark are those of words by which a recorder's marks are found, also with blanks and signs between
    /// them.
    fn recorder_words(&self, lower: &str) -> Vec<bool> {
        let mut kept = vec![false; lower.len()];
        if self.kind != TextKind::Mark {
            return kept;
        }
        let letters: Vec<(usize, char)> = lower.char_indices().filter(|(_, c)| !matches!(c, ' ' | '_' | '-')).collect();
        let text: String = letters.iter().map(|(_, c)| *c).collect();
        for word in RECORDER_WORDS {
            for (start, _) in text.match_indices(word) {
                for (at, _) in letters.iter().skip(start).take(word.len()) {
                    if let Some(kept) = kept.get_mut(*at) {
                        *kept = true;
                    }
                }
            }
        }
        kept
    }

    /// The alphabets of the characters that are replaced.
    fn alphabets(&self, token: &[u32], kept: &[bool]) -> Vec<Option<Alphabet>> {
        let mut after_high = false;
        let mut alphabet = |code: u32| match (self.encoding, u8::try_from(code)) {
            (Encoding::Bytes, Ok(byte)) => {
                let found = Alphabet::of_byte(byte, after_high);
                after_high = !byte.is_ascii();
                found
            }
            _ => Alphabet::of(code),
        };
        token.iter().zip(kept).map(|(code, kept)| alphabet(*code).filter(|_| !kept)).collect()
    }
}

/// What decides how a token is permuted: its signs and the kinds of its letters. What it ends with and keeps does not, so that
/// `name.exe` and `name` have the same stand-in for `name`.
fn form(token: &[u32], kept: &[bool], alphabets: &[Option<Alphabet>]) -> String {
    let end = kept.iter().rposition(|kept| !kept).map_or(0, |last| last + 1);
    token
        .iter()
        .zip(alphabets)
        .take(end)
        .map(|(code, alphabet)| alphabet.map_or_else(|| small(*code), Alphabet::sign))
        .collect()
}

/// In lower case, one character of one byte for each code.
fn small(code: u32) -> char {
    char::from_u32(code).filter(char::is_ascii).map_or('\u{1a}', |c| c.to_ascii_lowercase())
}

fn lower(codes: &[u32]) -> String {
    codes.iter().map(|code| small(*code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn of(text: &str) -> String {
        let mut bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        StandIns::new(b"a").wide(&mut bytes, TextKind::Names);
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        String::from_utf16(&units).unwrap()
    }

    fn of_narrow(bytes: &[u8], kind: TextKind) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        StandIns::new(b"a").narrow(&mut bytes, kind);
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
        assert_eq!(of(r"C:\Windows\System32\svchost.exe -k netsvcs"), r"C:\Windows\System32\svchost.exe -k netsvcs");
        assert_eq!(of(r"\SystemRoot\System32\drivers\tcpip.sys"), r"\SystemRoot\System32\drivers\tcpip.sys");
        let key = of(r"\REGISTRY\USER\S-1-12-1-2712847316-1158106136-691686236-1836941200_Classes");
        assert!(key.starts_with(r"\REGISTRY\USER\S-1-12-1-") && key.ends_with("_Classes"), "{key}");
        assert!(!key.contains("2712847316") && !key.contains("691686236"));
        assert!(!of("S-1-5-21-111-222-333-1001").contains("1001") && of("S-1-5-18") == "S-1-5-18");
    }

    #[test]
    fn equal_names_have_equal_stand_ins_in_every_place_and_case() {
        assert_eq!(of(r"\A\Alice\x").split('\\').nth(2), of(r"C:\Users\Alice").split('\\').nth(2));
        assert_eq!(of("alice"), of("ALICE").to_lowercase());
        assert_eq!(
            of("Größe Я"),
            of("gRÖßE я")
                .chars()
                .zip("Größe Я".chars())
                .map(|(new, old)| {
                    if old.is_uppercase() { new.to_uppercase().to_string() } else { new.to_lowercase().to_string() }
                })
                .collect::<String>()
        );
        // With and without an extension, and in a command line.
        let stem = of("payroll");
        assert_eq!((of("payroll.exe"), of("payroll.dll.mui")), (format!("{stem}.exe"), format!("{stem}.dll.mui")));
        assert!(of(r#""C:\x\payroll.exe" -a"#).contains(&stem) && of(r"payroll.exe \x").starts_with(&stem));
        let wide = of("Grüße an alle.exe");
        assert_eq!(of_narrow("Grüße an alle.exe".as_bytes(), TextKind::Process), wide.as_bytes());
        assert_eq!(of("\u{1f600}x").chars().count(), 2, "a pair stays a pair");
    }

    #[test]
    fn names_that_begin_alike_have_stand_ins_that_do_not() {
        let names = ["contoso", "contosopay", "contosopayroll", "contosopayrolls", "contosopayrollservice"];
        for (at, shorter) in names.iter().enumerate() {
            for longer in &names[at + 1..] {
                let (shorter, longer) = (of(shorter), of(longer));
                let same = shorter.chars().zip(longer.chars()).take_while(|(a, b)| a == b).count();
                assert!(same < 4, "{shorter} {longer}");
            }
        }
    }

    #[test]
    fn every_byte_of_other_code_pages_is_replaced() {
        for name in [
            &b"\x8eR\x93c\x91\xbe\x98Y\x8b\x8b\x97^.exe"[..],
            b"\xb1\xe8\xc3\xb6\xbc\xf6\xb1\xde\xbf\xa9.exe",
            b"\xd5\xc5\xce\xb0\xb9\xa4\xd7\xca.exe",
            b"\xd4\xcf\xc0\xde\xc0\xdb\xb3.exe",
        ] {
            let new = of_narrow(name, TextKind::Process);
            assert!(new.ends_with(b".exe") && new.len() == name.len());
            let same = new.iter().zip(name).take(name.len() - 4).filter(|(a, b)| a == b).count();
            assert!(same < 2, "{new:x?}");
        }
        assert!(of_narrow(b"contosopayr.ex", TextKind::Process).ends_with(b".ex"), "a cut extension");
    }

    #[test]
    fn marks_keep_what_they_are_found_by() {
        for mark in ["RefSet Trace_Start", "vendor menu", "Reference-Set: stop", "abend", "half way there"] {
            let new = String::from_utf8(of_narrow(mark.as_bytes(), TextKind::Mark)).unwrap();
            let words = |text: &str| {
                let text = text.to_lowercase().replace([' ', '_', '-'], "");
                RECORDER_WORDS.map(|word| text.contains(word))
            };
            assert_eq!(words(&new), words(mark), "{new}");
            assert!(!new.contains("menu") && !new.contains("half") && !new.contains("there"), "{new}");
        }
        assert_eq!(of_narrow(b"RefSetTraceStart", TextKind::Mark), b"RefSetTraceStart");
    }

    #[test]
    fn all_short_names_have_stand_ins_of_their_own() {
        let letters = || (b'a'..=b'z').chain(b'0'..=b'9').chain(*b"._");
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (first, second) in letters().flat_map(|first| letters().map(move |second| (first, second))) {
            let name = format!("{}.{}", char::from(first), char::from(second));
            let short = format!("{}{}", char::from(first), char::from(second));
            for name in [name, short] {
                let before = names.insert(of(&name), name.clone());
                assert!(before.as_ref().is_none_or(|before| *before == name), "{before:?} {name}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn different_names_have_different_stand_ins(a in "[a-z0-9 ._-]{1,12}", b in "[a-z0-9 ._-]{1,12}") {
            proptest::prop_assert_eq!(a == b, of(&a) == of(&b));
        }

        #[test]
        fn a_stand_in_has_as_many_bytes_in_every_encoding(name in ".{0,40}") {
            let new = StandIns::new(b"a").of(&name, TextKind::Names);
            let sizes = |text: &str| text.chars().map(|c| (c.len_utf8(), c.len_utf16())).collect::<Vec<_>>();
            proptest::prop_assert_eq!(sizes(&new), sizes(&name));
        }
    }
}
