//! Names of processes. Process events have the file name in 8-bit text, which is sometimes cut; paths are UTF-16, so names in
//! them are better.
//!
//! Windows writes `?` for characters that its ANSI code page lacks, so even the right code page does not restore every name.

use crate::byte_reader::Narrow;
use crate::code_page::{CodePage, as_utf_8};

/// Lengths of a name that may be cut: the kernel's process object has room for 15 bytes, in older versions with a NUL.
const CUT: std::ops::RangeInclusive<usize> = 14..=15;
/// Longest file name of Windows, and room enough for the part of a command line that names the executable.
const LONGEST: usize = 260;
/// Endings of a name that was not cut.
const WHOLE: [&str; 3] = [".exe", ".com", ".scr"];

/// True when a path may have a better name than `logged`.
pub fn is_doubtful(logged: &[u8]) -> bool {
    may_be_cut(logged) || logged.iter().any(|byte| !byte.is_ascii() || *byte == b'?')
}

fn may_be_cut(logged: &[u8]) -> bool {
    let text = logged.to_ascii_lowercase();
    CUT.contains(&logged.len()) && !WHOLE.iter().any(|end| text.ends_with(end.as_bytes()))
}

/// A name, and whether the code page decided what it is.
pub struct Name {
    /// The name.
    pub text: Box<str>,
    /// True where another code page could give another name.
    pub is_by_code_page: bool,
}

/// The name by the first path with the same ASCII letters, else by the command line, else as logged, by UTF-8 or the
/// code page.
pub fn name_of<'a>(
    logged: &[u8],
    image_paths: impl Iterator<Item = &'a str>,
    command_line: &str,
    page: CodePage,
) -> Name {
    let of_paths = || image_paths.map(last_part).find(|name| is_same(logged, name)).map(Into::into);
    let of_command = || executables(command_line).into_iter().find(|name| is_same(logged, name)).map(Into::into);
    let better = if is_doubtful(logged) { of_paths().or_else(of_command) } else { None };
    let is_by_code_page = better.is_none() && as_utf_8(Narrow(logged)).is_none();
    Name { text: better.unwrap_or_else(|| page.text(Narrow(logged)).into()), is_by_code_page }
}

/// The file name of a path.
pub fn last_part(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or_default()
}

/// Possible file names of the executable, because without quotes its end is not known. Names that end like executables come
/// first, then short ones.
fn executables(command_line: &str) -> Vec<String> {
    let line: String = command_line.trim_start().chars().take(4 * LONGEST).collect();
    let paths: Vec<&str> = match line.strip_prefix('"') {
        Some(rest) => vec![rest.split('"').next().unwrap_or_default()],
        None => line.match_indices([' ', '\t']).map(|(at, _)| at).chain([line.len()]).map(|at| &line[..at]).collect(),
    };
    let names = || paths.iter().map(|path| last_part(path)).filter(|name| !name.is_empty());
    let is_whole = |name: &&str| WHOLE.iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    let whole = names().filter(is_whole).map(str::to_owned);
    let short = names().filter(|name| !is_whole(name)).map(|name| format!("{name}.exe"));
    whole.chain(short).chain(names().filter(|name| !is_whole(name)).map(str::to_owned)).collect()
}

/// True when `logged` is `name` in some 8-bit encoding, perhaps cut. ASCII letters are the same in all of them; another
/// letter is one byte or two, up to four in UTF-8, or `?`.
fn is_same(logged: &[u8], name: &str) -> bool {
    starts(logged, name).is_some()
}

/// How many bytes of `logged` each letter of `name` is, up to where `logged` was cut; `None` when it is another name.
pub fn aligned(logged: &[u8], name: &str) -> Option<Vec<usize>> {
    let starts = starts(logged, name)?;
    let mut end = logged.len();
    let letters: Vec<char> = name.chars().take(starts.len().saturating_sub(1)).collect();
    let mut found: Vec<usize> = letters
        .iter()
        .zip(&starts)
        .rev()
        .map(|(letter, open)| {
            let is_width = |width: &usize| {
                let at = end.checked_sub(*width).filter(|at| open.get(*at) == Some(&true));
                at.is_some_and(|at| widths(*letter, logged.get(at..).unwrap_or_default()).any(|w| w == *width))
            };
            let width = (1..=4).rev().find(is_width).unwrap_or(0);
            end -= width;
            width
        })
        .collect();
    found.reverse();
    Some(found)
}

/// For each letter of `name` at which bytes of `logged` it may begin, and last where the name may end: with two widths for a
/// letter there can be several. `None` when `logged` is another name.
fn starts(logged: &[u8], name: &str) -> Option<Vec<Vec<bool>>> {
    if logged.is_empty() || logged.len() > LONGEST || name.len() > 4 * LONGEST || name.contains('\u{fffd}') {
        return None;
    }
    let mut open = vec![false; logged.len() + 1];
    open[0] = true;
    let mut all = vec![open];
    for letter in name.chars() {
        let open = all.last()?;
        if may_be_cut(logged) && open.last() == Some(&true) {
            return Some(all);
        }
        let mut next = vec![false; logged.len() + 1];
        for (at, _) in open.iter().enumerate().filter(|(_, is_open)| **is_open) {
            for width in widths(letter, logged.get(at..).unwrap_or_default()) {
                if let Some(is_open) = next.get_mut(at + width) {
                    *is_open = true;
                }
            }
        }
        if !next.contains(&true) {
            return None;
        }
        all.push(next);
    }
    (all.last()?.last() == Some(&true)).then_some(all)
}

/// How many bytes of `logged` the letter may be.
fn widths(letter: char, logged: &[u8]) -> impl Iterator<Item = usize> {
    let mut utf_8 = [0; 4];
    let utf_8 = letter.encode_utf8(&mut utf_8).as_bytes();
    let utf_8_bytes = utf_8.iter().zip(logged).take_while(|(a, b)| a == b).count();
    let is_utf_8 = utf_8_bytes == utf_8.len() || (utf_8_bytes == logged.len() && utf_8_bytes > 0);
    let [is_one, is_two] = match *logged {
        [] => [false; 2],
        [first, ..] if letter.is_ascii() => [letter.eq_ignore_ascii_case(&char::from(first)), false],
        // Two 16-bit units make two question marks.
        [b'?', second, ..] => [letter.len_utf16() == 1, letter.len_utf16() == 2 && second == b'?'],
        [first, second, ..] => [!first.is_ascii(), !first.is_ascii() && second >= 0x40],
        [first] => [first == b'?' || !first.is_ascii(), false],
    };
    let found = [is_one.then_some(1), is_two.then_some(2), (is_utf_8 && !letter.is_ascii()).then_some(utf_8_bytes)];
    found.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(logged: &[u8], paths: &[&str], command_line: &str) -> String {
        name_of(logged, paths.iter().copied(), command_line, CodePage::default()).text.into()
    }

    const PATH: &str = "\\Device\\HarddiskVolume3\\Apps\\Teams ж.exe";

    #[test]
    fn a_path_with_the_same_ascii_letters_comes_first() {
        // By Windows-1251, by UTF-8, and by a code page that has no such letter.
        for logged in [&b"Teams \xe6.exe"[..], "Teams ж.exe".as_bytes(), b"Teams ?.exe"] {
            assert_eq!(name(logged, &["\\x\\ntdll.dll", PATH], ""), "Teams ж.exe");
            assert_eq!(name(logged, &[], "\"C:\\Apps\\Teams ж.exe\" --run"), "Teams ж.exe");
            assert_eq!(name(logged, &[], "C:\\Apps\\Teams ж.exe --run"), "Teams ж.exe");
            assert_eq!(name(logged, &[], "\"C:\\Apps\\Teams ж\" --run"), "Teams ж.exe");
            assert_eq!(name(logged, &[PATH], "\"C:\\Apps\\TEAMS й.EXE\""), "Teams ж.exe");
        }
        // Letters of two bytes, the second of them an ASCII letter's.
        assert_eq!(name(b"\x83\x5c\x83t\x83g.exe", &["C:\\ソフト.exe"], ""), "ソフト.exe");
        assert_eq!(name(b"a??.exe", &["C:\\a😀.exe"], ""), "a😀.exe");
    }

    #[test]
    fn a_path_with_other_ascii_letters_says_nothing() {
        for path in ["C:\\Team ж.exe", "C:\\Teams.exe", "C:\\Teams жж.exe2", "C:\\Teams ж.ex", "C:\\Teams \u{fffd}.exe"]
        {
            assert_eq!(name(b"Teams \xe9.exe", &[path], path), "Teams é.exe", "{path}");
        }
        // Nor where nothing is in doubt.
        assert_eq!(name(b"teams.exe", &["C:\\TEAMS.EXE"], "TEAMS"), "teams.exe");
        assert_eq!(name(b"", &["C:\\a.exe"], "a"), "");
    }

    #[test]
    fn without_a_path_utf_8_then_the_code_page() {
        assert_eq!(name("Teams ж.exe".as_bytes(), &[], ""), "Teams ж.exe");
        assert_eq!(name(b"Teams \xe9.exe", &[], "C:\\Apps\\other.exe"), "Teams é.exe");
        let page: CodePage = "1251".parse().unwrap();
        let found = name_of(b"Teams \xe6.exe", [].into_iter(), "", page);
        assert_eq!((&*found.text, found.is_by_code_page), ("Teams ж.exe", true));
        assert_eq!(name(b"a\x81\xff", &[], ""), "a\u{81}ÿ");
    }

    #[test]
    fn a_name_that_was_cut_is_completed() {
        let path = "C:\\Windows\\SearchProtocolHost.exe";
        for logged in [&b"SearchProtocolH"[..], b"SearchProtocol"] {
            assert_eq!(name(logged, &[path], ""), "SearchProtocolHost.exe");
            assert_eq!(name(logged, &[], &format!("{path} /x Global\\y")), "SearchProtocolHost.exe");
        }
        assert_eq!(name(b"SearchProtoco", &[path], ""), "SearchProtoco");
        assert_eq!(name(b"SearchProtocolI", &[path], ""), "SearchProtocolI");
        assert_eq!(name(b"Microsoft Teams", &[], "C:\\Microsoft Teams Updater.exe -x"), "Microsoft Teams Updater.exe");
        // It has its ending, so it is whole.
        assert_eq!(name(b"winlogonxx.com", &[], "winlogonxx.com run.exe"), "winlogonxx.com");
        assert_eq!(name(b"notepadplus.exe", &["C:\\notepadplus.exe.exe"], ""), "notepadplus.exe");
    }

    #[test]
    fn a_cut_inside_of_a_letter_is_completed() {
        let whole = "Größenänder€ung.exe";
        let logged = &whole.as_bytes()[..15];
        assert!(std::str::from_utf8(&whole.as_bytes()[..14]).is_ok() && std::str::from_utf8(&logged[13..]).is_err());
        assert_eq!(name(logged, &[&format!("C:\\{whole}")], ""), whole);
        assert_eq!(name(b"aaaaaaaaaaaaaa\x83", &["C:\\aaaaaaaaaaaaaaソフト.exe"], ""), "aaaaaaaaaaaaaaソフト.exe");
    }

    #[test]
    fn letters_and_bytes_are_aligned() {
        for (logged, name, widths) in [
            (&b"a\xe6.exe"[..], "aж.exe", Some(vec![1, 1, 1, 1, 1, 1])),
            (b"\x83\x5c\x83t.exe", "ソフ.exe", Some(vec![2, 2, 1, 1, 1, 1])),
            ("ж.exe".as_bytes(), "ж.exe", Some(vec![2, 1, 1, 1, 1])),
            (b"SearchProtocol", "SearchProtocolHost.exe", Some(vec![1; 14])),
            (&"aaaaaaaaaaaaa€".as_bytes()[..15], "aaaaaaaaaaaaa€uro.exe", Some([vec![1; 13], vec![2]].concat())),
            (b"a??.exe", "a😀.exe", Some(vec![1, 2, 1, 1, 1, 1])),
            (b"b.exe", "a.exe", None),
        ] {
            assert_eq!(aligned(logged, name), widths, "{name}");
        }
    }

    #[test]
    fn a_hostile_name_takes_no_long_search() {
        let (logged, long) = (vec![0xe9; 1 << 16], "é".repeat(1 << 16));
        assert!(!is_same(&logged, &long));
        assert!(!is_same(&[0xe9; 200], &format!("{}x", "é".repeat(200))));
        assert!(executables(&"a ".repeat(1 << 16)).len() < 3 * 4 * LONGEST);
    }
}
