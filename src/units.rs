//! Units as types: pages, file offsets, clock ticks.
//!
//! A number that comes from a trace keeps its unit from the moment it is read until a form writes it. Arithmetic
//! here is exact: integers of 128 bits where 64 could overflow, never floating point.

use std::fmt;

/// Bytes of one page, on every Windows version that writes page records.
pub const PAGE_BYTES: u64 = 4096;

/// No machine has more RAM or commit, pages: 256 TiB. Windows uses up to 48 TiB of RAM.
pub(crate) const MOST_PAGES: u64 = 1 << 36;

/// The same in bytes.
pub(crate) const MOST_BYTES: u64 = MOST_PAGES * PAGE_BYTES;

/// True for pages that a machine with so much RAM can have in it; counters are read one after the other.
pub(crate) fn fits_in_ram(pages: u64, ram_pages: Option<u64>) -> bool {
    pages <= most_pages(ram_pages)
}

/// The most pages that fit.
pub(crate) fn most_pages(ram_pages: Option<u64>) -> u64 {
    ram_pages.map_or(MOST_PAGES, |ram| ram.saturating_add(ram / 16).saturating_add(4096).min(MOST_PAGES))
}

/// A count with separators: `4,194,304`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + 8);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 buffer`, `2,000 buffers`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Pointer size of one record (not of the file: 32-bit processes write into 64-bit traces).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointerSize {
    /// 4 bytes.
    P4,
    /// 8 bytes.
    P8,
}

impl PointerSize {
    /// Size in bytes: 4 or 8.
    pub const fn bytes(self) -> usize {
        match self {
            PointerSize::P4 => 4,
            PointerSize::P8 => 8,
        }
    }

    /// One of two values, by pointer size: `p8` for 64-bit, `p4` for 32-bit.
    pub const fn pick<T: Copy>(self, p8: T, p4: T) -> T {
        match self {
            PointerSize::P4 => p4,
            PointerSize::P8 => p8,
        }
    }
}

/// True for kernel addresses: the upper canonical half in 64-bit traces, 2 GiB and above in 32-bit traces.
pub(crate) const fn is_kernel_address(address: u64, pointer: PointerSize) -> bool {
    match pointer {
        PointerSize::P8 => address >> 63 != 0, // true also with 57-bit addresses
        PointerSize::P4 => address >= 0x8000_0000,
    }
}

/// Offset in bytes from the start of the trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileOffset(pub u64);

impl fmt::Display for FileOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

/// A raw time stamp in ticks of the session clock. Signed: a difference may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Ticks(pub i64);

/// Nanoseconds since the start of the trace (the log-file header's own time stamp). May be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Nanos(pub i128);

/// A time of microseconds, rounded.
const fn in_microseconds(nanos: i64) -> i64 {
    nanos.signum() * (nanos.unsigned_abs().saturating_add(500) / 1000) as i64
}

/// Milliseconds for people; `is_fine`: to the nanosecond.
pub(crate) fn milliseconds(nanos: i64, is_fine: bool) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    if is_fine {
        return format!("{sign}{}.{:06} ms", nanos / 1_000_000, nanos % 1_000_000);
    }
    let micros = nanos.saturating_add(500) / 1000;
    format!("{sign}{}.{:03} ms", micros / 1000, micros % 1000)
}

/// True where three digits of milliseconds hide that two times differ, or show another difference than the two have.
pub(crate) fn needs_nanoseconds(one: i64, other: i64) -> bool {
    let rest = one.saturating_sub(other);
    let [one, other, shown] = [one, other, rest].map(in_microseconds);
    rest != 0 && (shown == 0 || one.saturating_sub(other) != shown)
}

/// The first ones for a line, and how many more there are: `1, 2, 3 and 5 more`.
pub(crate) fn first_of(all: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = all.iter().take(most).map(AsRef::as_ref).collect();
    let more = all.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// True where two spans differ by more than a tenth: sums over them are not to be compared.
pub(crate) fn are_of_other_lengths(one: u64, other: u64) -> bool {
    one.abs_diff(other) > one.max(other) / 10
}

impl Nanos {
    /// Seconds, for display and JSON; exact to the nanosecond for any trace shorter than 104 days.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// 100-nanosecond units since 1601-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileTime(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_differ_look_different() {
        assert_eq!(milliseconds(20_000_499, false), "20.000 ms");
        assert_eq!(milliseconds(-20_000_500, false), "-20.001 ms");
        assert_eq!(milliseconds(-400, true), "-0.000400 ms");
        for (one, other, is_fine) in [
            (20_000_000, 20_000_000, false),
            (20_000_400, 20_000_000, true),
            (20_000_600, 20_000_000, false),
            // 20.001 and 20.000, and 0.000 between them.
            (20_000_600, 20_000_400, true),
            // 20.001 and 19.999, and 0.001 between them.
            (20_000_500, 19_999_100, true),
        ] {
            assert_eq!(needs_nanoseconds(one, other), is_fine, "{one} {other}");
        }
    }

    #[test]
    fn counts_have_separators() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([counted(1, "page", "pages"), counted(1_000, "page", "pages")], ["1 page", "1,000 pages"]);
    }
}
