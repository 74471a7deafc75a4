//! Numbers, sizes and times as text in sentences. Cells of tables are rounded by [`forms`](crate::forms), with these functions.

pub(crate) use crate::units::count;
use crate::units::{FileTime, Nanos, PAGE_BYTES};
use chrono::{DateTime, Datelike};
use indicatif::HumanBytes;

/// Bytes with a binary unit: `16.00 GiB`.
pub(crate) fn bytes(value: u64) -> String {
    HumanBytes(value).to_string()
}

/// A change in percent with its sign: `+12.5 %`, `+1,250 %`.
pub(crate) fn change(percent: f64) -> String {
    let sign = if percent > 0.0 {
        "+"
    } else if percent < 0.0 {
        "-"
    } else {
        ""
    };
    match percent.abs() {
        0.0 => String::new(),
        amount if amount < 0.1 => format!("{sign}<0.1 %"),
        amount if amount < 1000.0 => format!("{sign}{amount:.1} %"),
        amount => format!("{sign}{} %", count(amount.round() as u64)),
    }
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
    /// Its name; empty where each column has its own.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Pages => "pages",
            Unit::Kib => "KiB",
            Unit::Mib | Unit::WholeMib => "MiB",
            Unit::Gib => "GiB",
            Unit::Auto => "",
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
        format!("{} {}", unit.show(size), unit.name())
    }

    /// The same in the unit that a user chose; where nobody chose, in the one that suits this number alone.
    pub(crate) fn chosen_or_own(self, size: u64) -> String {
        if self == Unit::Auto { bytes(size) } else { self.amount(size) }
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
        let whole = |unit: u64| match size {
            0 => "0".to_owned(),
            size if size < unit / 2 => "<1".to_owned(),
            size => count(size / unit + u64::from(size % unit >= unit / 2)),
        };
        match self {
            Unit::Pages => whole(PAGE_BYTES),
            Unit::Kib => whole(1 << 10),
            Unit::Mib => in_unit(1 << 20),
            Unit::WholeMib => whole(1 << 20),
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
pub(crate) fn seconds(value: Nanos) -> String {
    format!("{:.6}", value.seconds())
}

/// A time span for people: `1.234 s`, `8 h 12 min 0 s`.
pub(crate) fn duration(value: Nanos) -> String {
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
pub(crate) fn which_snapshot(index: usize, count: usize) -> Option<String> {
    (count != 1).then(|| format!("snapshot {index} of {count}, numbered from 0"))
}

/// `12.3 %`. What is there is not `0.0 %`, and what is not all is not `100.0 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    match format!("{share:.1} %") {
        none if part > 0 && none == "0.0 %" => "<0.1 %".to_owned(),
        all if part < whole && all == "100.0 %" => ">99.9 %".to_owned(),
        some => some,
    }
}

/// The same, with the number where the share says no more than that there are some.
pub(crate) fn percent_or_few(part: u64, whole: u64) -> String {
    let share = percent(part, whole);
    if share.starts_with('<') { format!("{share} ({})", count(part)) } else { share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_not_none_and_most_are_not_all() {
        let all =
            [(0, 9), (9, 9), (1, 3), (4, 10_000), (9_996, 10_000), (5, 10_000)].map(|(part, all)| percent(part, all));
        assert_eq!(all, ["0.0 %", "100.0 %", "33.3 %", "<0.1 %", ">99.9 %", "0.1 %"]);
        assert_eq!([(4, 10_000), (1, 3)].map(|(part, all)| percent_or_few(part, all)), ["<0.1 % (4)", "33.3 %"]);
    }

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
    fn every_unit_rounds_to_the_nearest() {
        assert_eq!(
            [1535, 1536, 512, 511, u64::MAX].map(|bytes| Unit::Kib.show(bytes)),
            ["1", "2", "1", "<1", "18,014,398,509,481,984"]
        );
        assert_eq!([4096, 6143, 6144, 1].map(|bytes| Unit::Pages.show(bytes)), ["1", "1", "2", "<1"]);
        assert_eq!(Unit::WholeMib.show(u64::MAX), "17,592,186,044,416");
    }

    #[test]
    fn something_is_never_shown_as_nothing() {
        let gib = |size| Unit::Gib.show(size);
        assert_eq!([gib(0), gib(4096), gib(6 << 20), gib(1 << 30)], ["0.00", "<0.01", "0.01", "1.00"]);
        assert_eq!(Unit::Mib.show(4096), "<0.01");
    }
}
