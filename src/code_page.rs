//! 8-bit text of the kernel. It is in the recording machine's ANSI code page, which no event names.

use crate::byte_reader::Narrow;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use std::str::FromStr;
use thiserror::Error;

/// An ANSI code page of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePage(&'static Encoding);

/// No code page has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no code page; expected a number, as in 1252, or a name, as in windows-1251, shift_jis or gbk")]
pub struct UnknownCodePage;

impl Default for CodePage {
    fn default() -> Self {
        CodePage(WINDOWS_1252)
    }
}

impl FromStr for CodePage {
    type Err = UnknownCodePage;

    fn from_str(text: &str) -> Result<Self, UnknownCodePage> {
        let number = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-').parse::<u16>().ok();
        let label = match number {
            Some(932) => "shift_jis".to_owned(),
            Some(936) => "gbk".to_owned(),
            Some(949) => "euc-kr".to_owned(),
            Some(950) => "big5".to_owned(),
            Some(65001) => "utf-8".to_owned(),
            Some(number) if text.starts_with(|c: char| c.is_ascii_digit()) => format!("windows-{number}"),
            _ => text.to_owned(),
        };
        let known = Encoding::for_label_no_replacement(label.as_bytes());
        let is_ansi = |encoding: &&'static Encoding| {
            encoding.is_ascii_compatible()
                && ["windows-", "Shift_JIS", "GBK", "EUC-KR", "Big5", "UTF-8"]
                    .iter()
                    .any(|start| encoding.name().starts_with(start))
        };
        known.filter(is_ansi).map(CodePage).ok_or(UnknownCodePage)
    }
}

impl CodePage {
    /// Its name, as in windows-1252.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// True where each character is one byte.
    pub(crate) fn is_single_byte(self) -> bool {
        self.0.is_single_byte()
    }

    /// The text: UTF-8 where it is valid, else by this code page, else by Windows-1252, which has a character for every
    /// byte. A letter that was cut at the end is left out.
    pub fn text(self, name: Narrow<'_>) -> String {
        if let Some(text) = as_utf_8(name) {
            return text.to_owned();
        }
        let Narrow(bytes) = name;
        let decode = |bytes| self.0.decode_without_bom_handling_and_without_replacement(bytes);
        let cut = || bytes.split_last().filter(|(last, _)| !last.is_ascii()).and_then(|(_, rest)| decode(rest));
        let text = decode(bytes).or_else(cut).filter(|_| self.0 != UTF_8);
        text.unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(bytes).0).into_owned()
    }
}

/// The text where it is UTF-8, so that no code page is needed for it.
pub(crate) fn as_utf_8(name: Narrow<'_>) -> Option<&str> {
    let Narrow(bytes) = name;
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        // Only with another letter of several bytes is an unfinished one at the end a sign of UTF-8.
        Err(error) if error.error_len().is_none() => {
            let (whole, _) = bytes.split_at(error.valid_up_to());
            std::str::from_utf8(whole).ok().filter(|text| !text.is_ascii())
        }
        Err(_) => None,
    }
}

/// That names of processes on two sides were read by different code pages, so that one name can be two.
pub(crate) fn differ([before, now]: [(&str, CodePage); 2]) -> Option<String> {
    (before.1 != now.1).then(|| {
        format!(
            "names of processes in {} were read by the code page {}, and those in {} by {}",
            before.0,
            before.1.name(),
            now.0,
            now.1.name()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(page: &str, bytes: &[u8]) -> String {
        page.parse::<CodePage>().unwrap().text(Narrow(bytes))
    }

    #[test]
    fn utf_8_where_it_is_valid_else_the_code_page() {
        assert_eq!(text("1252", "Teams é.exe".as_bytes()), "Teams é.exe");
        assert_eq!(text("1252", b"Teams \xe9.exe"), "Teams é.exe");
        assert_eq!(text("windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2.exe"), "Привет.exe");
        assert_eq!(text("932", b"\x83\x5c\x83t\x83g.exe"), "ソフト.exe");
    }

    #[test]
    fn a_letter_that_was_cut_at_the_end_is_left_out() {
        let utf_8 = "Schöne größe €".as_bytes();
        assert_eq!(text("1252", &utf_8[..utf_8.len() - 1]), "Schöne größe ");
        assert_eq!(text("shift_jis", b"\x83\x5c\x83t\x83"), "ソフ");
        // A single letter at the end may as well be of the code page.
        assert_eq!(text("1252", b"caf\xe9"), "café");
    }

    #[test]
    fn every_byte_has_a_character() {
        for page in ["1250", "1252", "1253", "1255", "874", "shift_jis", "936", "949", "950", "utf-8"] {
            for byte in 1..=255 {
                let found = text(page, &[b'a', byte, b'b']);
                assert!(!found.contains('\u{fffd}') && found.starts_with('a'), "{page} {byte:#x} {found}");
            }
        }
        assert_eq!(text("1252", b"\x81\x9d"), "\u{81}\u{9d}");
        assert_eq!(text("1253", b"a\xaab"), "aªb"); // not in Windows-1253
    }

    #[test]
    fn code_pages_by_number_and_name() {
        for (label, name) in [
            ("1252", "windows-1252"),
            ("windows-1251", "windows-1251"),
            ("CP1250", "windows-1250"),
            ("cp932", "Shift_JIS"),
            ("Shift_JIS", "Shift_JIS"),
            ("949", "EUC-KR"),
            ("874", "windows-874"),
            ("65001", "UTF-8"),
        ] {
            assert_eq!(label.parse::<CodePage>().unwrap().0.name(), name, "{label}");
        }
        for label in ["", "0", "12520", "klingon", "utf-16le", "iso-2022-jp", "replacement", "-1252"] {
            assert_eq!(label.parse::<CodePage>(), Err(UnknownCodePage), "{label}");
        }
    }
}
