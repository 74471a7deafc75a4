//! Numbers, times and headings as text: the one place that rounds.

pub use crate::units::count;
use crate::units::{FileTime, Nanos, PAGE_BYTES};
use anstyle::{AnsiColor, Style};
use chrono::{DateTime, Datelike};
use indicatif::HumanBytes;
use std::borrow::Cow;
use std::io::{self, Write};

const HEADING: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Bytes with a binary unit: `16.00 GiB`.
pub fn bytes(value: u64) -> String {
    HumanBytes(value).to_string()
}

/// The unit in which amounts of memory are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Pages of 4 KiB.
    Pages,
    /// KiB.
    Kib,
    /// MiB.
    Mib,
    /// MiB without a fraction, for tables with many columns; users cannot choose it.
    WholeMib,
    /// GiB.
    Gib,
    /// The unit that suits the largest number of a column: [`Unit::for_largest`].
    #[default]
    Auto,
}

impl Unit {
    /// Heading of a column.
    pub const fn title(self) -> &'static str {
        match self {
            Unit::Pages => "Size/pages",
            Unit::Kib => "Size/KiB",
            Unit::Mib | Unit::WholeMib => "Size/MiB",
            Unit::Gib => "Size/GiB",
            Unit::Auto => "Size",
        }
    }

    /// The unit of a column whose largest amount this is. Numbers of one column are compared, so they have one unit.
    pub const fn for_largest(self, bytes: u64) -> Unit {
        match self {
            Unit::Auto if bytes < 10 << 20 => Unit::Kib,
            Unit::Auto if bytes < 1 << 40 => Unit::Mib,
            Unit::Auto => Unit::Gib,
            chosen => chosen,
        }
    }

    /// A number of bytes with its unit: `8 KiB`.
    pub fn amount(self, size: u64) -> String {
        let unit = self.for_largest(size);
        let (_, name) = unit.title().split_once('/').unwrap_or_default();
        format!("{} {name}", unit.show(size))
    }

    /// A number of bytes in this unit.
    pub fn show(self, size: u64) -> String {
        let in_unit = |unit: u64| {
            let hundredths = (u128::from(size) * 100 + u128::from(unit) / 2) / u128::from(unit);
            // Something is never shown as nothing.
            if hundredths == 0 && size > 0 {
                return "<0.01".to_owned();
            }
            format!("{}.{:02}", count((hundredths / 100) as u64), hundredths % 100)
        };
        match self {
            Unit::Pages => count(size / PAGE_BYTES),
            Unit::Kib => count(size / 1024),
            Unit::Mib => in_unit(1 << 20),
            Unit::WholeMib if size > 0 && size < 1 << 19 => "<1".to_owned(),
            Unit::WholeMib => count((size + (1 << 19)) >> 20),
            Unit::Gib => in_unit(1 << 30),
            Unit::Auto => bytes(size),
        }
    }
}

/// The unit in which lengths of time are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// The unit that suits each number.
    #[default]
    Auto,
}

impl TimeUnit {
    /// A number of nanoseconds in this unit.
    pub fn show(self, nanos: u64) -> String {
        let in_unit = |unit: u64, digits: usize, name: &str| format!("{:.digits$} {name}", nanos as f64 / unit as f64);
        match self {
            TimeUnit::Nanoseconds => format!("{} ns", count(nanos)),
            TimeUnit::Microseconds => in_unit(1_000, 1, "µs"),
            TimeUnit::Milliseconds => in_unit(1_000_000, 3, "ms"),
            TimeUnit::Seconds => in_unit(1_000_000_000, 6, "s"),
            TimeUnit::Auto => match nanos {
                0..1_000 => TimeUnit::Nanoseconds.show(nanos),
                1_000..1_000_000 => TimeUnit::Microseconds.show(nanos),
                1_000_000..1_000_000_000 => in_unit(1_000_000, 2, "ms"),
                _ => in_unit(1_000_000_000, 3, "s"),
            },
        }
    }
}

/// Seconds with six digits.
pub fn seconds(value: Nanos) -> String {
    format!("{:.6}", value.seconds())
}

/// A time span for people: `1.234 s`, `8 h 12 min 0 s`.
pub fn duration(value: Nanos) -> String {
    let whole = value.0 / 1_000_000_000;
    match whole {
        ..=59 => format!("{:.3} s", value.seconds()),
        60..=3599 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min {} s", whole / 3600, whole % 3600 / 60, whole % 60),
    }
}

/// RFC 3339 with 7 digits of fraction, the resolution of a FILETIME; `None` for times that no calendar has.
pub fn utc(time: FileTime) -> Option<String> {
    const UNIX_EPOCH_SECONDS: i64 = 11_644_473_600;
    const TICKS_A_SECOND: u64 = 10_000_000;
    let seconds = i64::try_from(time.0 / TICKS_A_SECOND).ok()? - UNIX_EPOCH_SECONDS;
    let date = DateTime::from_timestamp(seconds, 0).filter(|date| date.year() <= 9999)?;
    Some(format!("{}.{:07}Z", date.format("%Y-%m-%dT%H:%M:%S"), time.0 % TICKS_A_SECOND))
}

/// `snapshot 12 of 15, numbered from 0`; `None` where there is one only.
pub fn which_snapshot(index: usize, count: usize) -> Option<String> {
    (count != 1).then(|| format!("snapshot {index} of {count}, numbered from 0"))
}

/// Text from a trace without control characters, which could steer a terminal or break a line: they are shown as `\x1b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c.is_control() {
            true => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The same for pages, which also obey marks of writing direction: such marks and other invisible characters are
/// shown as `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Most characters of a name on a page.
const LONGEST: usize = 300;

/// A name from a trace on a page: [`visible`], and cut in the middle where it is very long.
pub fn label(text: &str) -> String {
    let shown = visible(text);
    let length = shown.chars().count();
    if length <= LONGEST {
        return shown;
    }
    let half = LONGEST / 2;
    let (start, end) = (shown.chars().take(half), shown.chars().skip(length - half));
    start.chain(['…']).chain(end).collect()
}

/// A bold line.
///
/// # Errors
/// What the writer says.
pub fn heading(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{HEADING}{text}{HEADING:#}")
}

/// The warnings, each on its own lines, before anything else.
///
/// # Errors
/// What the writer says.
pub fn warnings(out: &mut dyn Write, lines: &[String], width: u16) -> io::Result<()> {
    for line in lines {
        let mut mark = "! ";
        for part in wrap(&printable(line), usize::from(width).saturating_sub(2)) {
            writeln!(out, "{WARNING}{mark}{part}{WARNING:#}")?;
            mark = "  ";
        }
    }
    if lines.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Names the columns of a table that were left out, if any.
///
/// # Errors
/// What the writer says.
pub fn not_shown(out: &mut dyn Write, columns: &[impl AsRef<str>], width: u16) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let line =
        format!("Not shown, for lack of width: {}", columns.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "));
    wrap(&line, width.into()).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// A text that continues on the next lines, indented.
///
/// # Errors
/// What the writer says.
pub fn wrapped(out: &mut dyn Write, text: &str, width: u16) -> io::Result<()> {
    let mut indent = "";
    for part in wrap(text, usize::from(width).saturating_sub(2)) {
        writeln!(out, "{indent}{part}")?;
        indent = "  ";
    }
    Ok(())
}

/// Breaks a text into lines at blanks; a word longer than a line is continued on the next.
pub fn wrap(text: &str, width: usize) -> Vec<Cow<'_, str>> {
    let options = textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filetimes_keep_their_seven_digits() {
        assert_eq!(utc(FileTime(134_105_812_840_355_567)).unwrap(), "2025-12-19T01:28:04.0355567Z");
        assert_eq!(utc(FileTime(0)).unwrap(), "1601-01-01T00:00:00.0000000Z");
        assert_eq!(utc(FileTime(u64::MAX)), None);
    }

    #[test]
    fn spans_read_well() {
        assert_eq!(duration(Nanos(1_234_000_000)), "1.234 s");
        assert_eq!(duration(Nanos(29_519_000_000_000)), "8 h 11 min 59 s");
    }

    #[test]
    fn a_column_has_one_unit() {
        let shown = |largest: u64, size: u64| Unit::Auto.for_largest(largest).show(size);
        assert_eq!(shown(9 << 20, 4096), "4");
        assert_eq!([1 << 34, 4096, 0].map(|bytes| Unit::WholeMib.show(bytes)), ["16,384", "<1", "0"]);
        assert_eq!((shown(10 << 20, 4096), shown(16 << 30, 16 << 30)), ("<0.01".into(), "16,384.00".into()));
        assert_eq!((shown(2 << 40, 3 << 29), Unit::Kib.for_largest(2 << 40)), ("1.50".into(), Unit::Kib));
    }

    #[test]
    fn texts_of_a_trace_cannot_steer_a_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}d é"), "a\\x1b[2Jb\\x0ac\\x9bd é");
    }

    #[test]
    fn texts_of_a_trace_cannot_turn_a_page_around() {
        let hostile = "a\u{202e}gpj.exe\u{200b}\u{feff}\u{7}";
        assert_eq!(visible(hostile), "a\\u{202e}gpj.exe\\u{200b}\\u{feff}\\x07");
        assert_eq!(visible("שלום café 記録"), "שלום café 記録");
        let long = label(&"é".repeat(100_000));
        assert!(long.chars().count() == LONGEST + 1 && long.contains('…'));
    }

    #[test]
    fn text_wraps_at_blanks() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("aaaaaaaa b", 5), ["aaaaa", "aaa b"]);
    }

    #[test]
    fn something_is_never_shown_as_nothing() {
        let gib = |size| Unit::Gib.show(size);
        assert_eq!([gib(0), gib(4096), gib(6 << 20), gib(1 << 30)], ["0.00", "<0.01", "0.01", "1.00"]);
        assert_eq!(Unit::Mib.show(4096), "<0.01");
    }
}
