//! Text from outside (names of a trace, of files, of archive members, what a user typed) made harmless: what a reader cannot see,
//! or what would steer a terminal or turn a line around, is written out.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True for characters that are not shown as they are: controls (C0, DEL, C1), marks of writing direction, invisible characters,
/// tags, and code points that are no characters.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(c,
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) as u16 >= u16::MAX - 1
}

/// The text with hidden characters written out: controls as `\x1b`, others as `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // Writing into memory cannot fail.
        let _ = match c {
            c if !is_hidden(c) => shown.write_char(c),
            c if c.is_control() => write!(shown, "\\x{:02x}", u32::from(c)),
            c => write!(shown, "{}", c.escape_unicode()),
        };
    }
    Cow::Owned(shown)
}

/// A message of our own, which may have several lines: each of them [`visible`].
pub fn lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_trace_cannot_steer_a_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\u{9b}d\u{7f} é"), "a\\x1b[2Jb\\x0ac\\x9bd\\x7f é");
        assert_eq!(lines("a\u{1b}\nb\r"), "a\\x1b\nb\\x0d");
    }

    #[test]
    fn texts_of_a_trace_cannot_turn_a_line_around_or_hide_in_it() {
        let hostile = "a\u{202e}gpj.exe\u{200b}\u{feff}\u{7}\u{e0041}\u{ffff}\u{2066}";
        assert_eq!(visible(hostile), "a\\u{202e}gpj.exe\\u{200b}\\u{feff}\\x07\\u{e0041}\\u{ffff}\\u{2066}");
        assert!(matches!(visible("שלום café 記録 ─ \u{fffd}"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_visible_stays_so() {
        for c in ('\0'..=char::MAX).filter(|&c| is_hidden(c)) {
            let shown = visible(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(shown.is_ascii() && !shown.contains(is_hidden), "{shown}");
            assert_eq!(visible(&shown), shown);
        }
    }
}
