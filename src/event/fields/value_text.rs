//! Values as text, the same in all forms of output and in conditions. Everything is written into a buffer of bytes: millions of values
//! are, and none needs memory of its own.

use super::value::FieldValue;
use std::borrow::Cow;
use std::io::Write as _;
use uuid::Uuid;

/// Seconds from 1601 to 1970.
const TO_1970: i64 = 11_644_473_600;
/// 100-nanosecond units in a second, and seconds in a day.
const UNITS: u64 = 10_000_000;
const DAY: i64 = 86_400;

impl FieldValue<'_> {
    /// Its text: of numbers their digits, of lists and structures nothing.
    pub fn text(&self) -> Cow<'_, str> {
        if let FieldValue::Text(text) = self {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::new();
        self.write(&mut out);
        Cow::Owned(String::from_utf8(out).unwrap_or_default())
    }

    /// Writes its text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            FieldValue::Null | FieldValue::List(_) | FieldValue::Object(_) => {}
            FieldValue::Flag(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
            FieldValue::Unsigned(number) => decimal(out, *number),
            FieldValue::Signed(number) => {
                if *number < 0 {
                    out.push(b'-');
                }
                decimal(out, number.unsigned_abs());
            }
            FieldValue::Float(number) if number.is_finite() => _ = write!(out, "{number:?}"),
            FieldValue::Double(number) if number.is_finite() => _ = write!(out, "{number:?}"),
            FieldValue::Float(number) => special(out, (*number).into()),
            FieldValue::Double(number) => special(out, *number),
            FieldValue::Hex(number) => hexadecimal(out, *number),
            FieldValue::Text(text) => out.extend_from_slice(text.as_bytes()),
            FieldValue::Bytes(bytes) => digits(out, bytes),
            FieldValue::Guid(guid) => write_guid(out, *guid),
            FieldValue::FileTime(time) => file_time(out, *time),
            FieldValue::SystemTime(bytes, is_utc) => system_time(out, bytes, *is_utc),
        }
    }
}

/// Writes a number.
pub fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut text = [0u8; 20];
    let mut at = text.len();
    for (place, slot) in text.iter_mut().enumerate().rev() {
        *slot = b'0' + (number % 10) as u8;
        number /= 10;
        at = place;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
}

/// Writes a number with at least so many digits.
fn padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let from = out.len();
    decimal(out, number);
    while out.len() - from < width {
        out.insert(from, b'0');
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn digit(nibble: u64) -> u8 {
    DIGITS.get((nibble & 15) as usize).copied().unwrap_or(b'0')
}

/// Writes `0x1f`.
pub fn hexadecimal(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"0x");
    let places = (64 - number.leading_zeros()).div_ceil(4).max(1);
    out.extend((0..places).rev().map(|place| digit(number >> (4 * place))));
}

/// Writes bytes as hexadecimal digits.
pub fn digits(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(2 * bytes.len());
    out.extend(bytes.iter().flat_map(|byte| [digit(u64::from(byte >> 4)), digit(u64::from(*byte))]));
}

/// Writes a GUID.
pub fn write_guid(out: &mut Vec<u8>, guid: Uuid) {
    out.extend_from_slice(guid.hyphenated().encode_lower(&mut Uuid::encode_buffer()).as_bytes());
}

/// A number that JSON cannot have.
fn special(out: &mut Vec<u8>, number: f64) {
    let name: &[u8] = if number.is_nan() { b"NaN" } else { b"Infinity" };
    if number < 0.0 {
        out.push(b'-');
    }
    out.extend_from_slice(name);
}

/// Year, month and day of a day since 1970, by the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date algorithms").
fn civil(day: i64) -> (i64, u64, u64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month as u64, day as u64)
}

/// Writes `2021-09-09T14:59:35`.
fn date(out: &mut Vec<u8>, [year, month, day, hour, minute, second]: [u64; 6]) {
    padded(out, year, 4);
    for (before, number) in [(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)] {
        out.push(before);
        padded(out, number, 2);
    }
}

/// `2021-09-09T14:59:35.7991280Z`; in hexadecimal digits beyond the year 9999.
fn file_time(out: &mut Vec<u8>, time: u64) {
    // At most 2⁶⁴ ÷ 10⁷.
    let seconds = (time / UNITS) as i64 - TO_1970;
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    if year > 9999 {
        return hexadecimal(out, time);
    }
    let of_day = seconds.rem_euclid(DAY) as u64;
    date(out, [year as u64, month, day, of_day / 3600, of_day / 60 % 60, of_day % 60]);
    out.push(b'.');
    padded(out, time % UNITS, 7);
    out.push(b'Z');
}

/// `2021-09-09T14:59:35.799`; hexadecimal digits for a date that cannot be: also of the year 0, and beyond 9999.
fn system_time(out: &mut Vec<u8>, bytes: &[u8; 16], is_utc: bool) {
    let (parts, _) = bytes.as_chunks::<2>();
    let &[year, month, _, day, hour, minute, second, milli] = parts else { return };
    let number = |part: [u8; 2]| u64::from(u16::from_le_bytes(part));
    let [year, month, day, hour, minute, second, milli] = [year, month, day, hour, minute, second, milli].map(number);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    let is_year = (1..=9999).contains(&year);
    if !is_year || day == 0 || day > days || hour > 23 || minute > 59 || second > 59 || milli > 999 {
        return digits(out, bytes);
    }
    date(out, [year, month, day, hour, minute, second]);
    out.push(b'.');
    padded(out, milli, 3);
    if is_utc {
        out.push(b'Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, NaiveDate};
    use proptest::prelude::*;

    fn text(value: FieldValue<'_>) -> String {
        value.text().into_owned()
    }

    fn parts(parts: [u16; 8]) -> [u8; 16] {
        parts.map(u16::to_le_bytes).concat().try_into().expect("16 bytes")
    }

    #[test]
    fn each_kind_has_its_text() {
        for (value, expected) in [
            (FieldValue::Hex(0), "0x0"),
            (FieldValue::Hex(u64::MAX), "0xffffffffffffffff"),
            (FieldValue::Unsigned(u64::MAX), "18446744073709551615"),
            (FieldValue::Signed(i64::MIN), "-9223372036854775808"),
            (FieldValue::Bytes(&[0, 0x1f, 0xff]), "001fff"),
            (FieldValue::Double(f64::NEG_INFINITY), "-Infinity"),
            (FieldValue::Float(0.1), "0.1"),
            (FieldValue::FileTime(0), "1601-01-01T00:00:00.0000000Z"),
            (FieldValue::FileTime(u64::MAX), "0xffffffffffffffff"),
            (FieldValue::SystemTime(parts([2021, 9, 4, 9, 14, 59, 35, 799]), true), "2021-09-09T14:59:35.799Z"),
            (FieldValue::SystemTime(parts([2023, 2, 4, 29, 0, 0, 0, 0]), true), "e7070200040 01d000000000000000000"),
            (FieldValue::SystemTime(parts([0, 1, 0, 1, 0, 0, 0, 0]), false), "00000100000001000000000000000000"),
            (FieldValue::SystemTime(parts([10_000, 1, 0, 1, 0, 0, 0, 0]), false), "10270100000001000000000000000000"),
            (FieldValue::Null, ""),
        ] {
            assert_eq!(text(value), expected.replace(' ', ""));
        }
    }

    proptest! {
        /// As another library writes them.
        #[test]
        fn dates_are_those_of_the_calendar(time in 0u64..2_650_467_744_000_000_000, fields in prop::array::uniform8(0u16..11_000)) {
            let date = DateTime::from_timestamp((time / UNITS) as i64 - TO_1970, 0).expect("a date");
            let expected = format!("{}.{:07}Z", date.format("%Y-%m-%dT%H:%M:%S"), time % UNITS);
            prop_assert_eq!(text(FieldValue::FileTime(time)), expected);
            let [year, month, weekday, day, hour, minute, second, milli] = fields;
            let fields = [year, month % 14, weekday, day % 33, hour % 25, minute % 61, second % 61, milli % 1001];
            let [_, month, _, day, hour, minute, second, milli] = fields.map(u32::from);
            let date = NaiveDate::from_ymd_opt(year.into(), month, day)
                .filter(|_| (1..=9999).contains(&year))
                .and_then(|date| date.and_hms_milli_opt(hour, minute, second, milli));
            let bytes = parts(fields);
            let expected = date.map(|date| date.format("%Y-%m-%dT%H:%M:%S%.3f").to_string());
            let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(text(FieldValue::SystemTime(bytes, false)), expected.unwrap_or(hex));
        }
    }
}
