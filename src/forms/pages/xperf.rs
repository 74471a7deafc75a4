//! Pages as lines of `xperf -a dumper`.
//!
//! What is known of the dumper, from public scripts that read its text: a list of columns for each kind of event
//! between `BeginHeader` and `EndHeader`, a line with facts about the trace, then one line for each event: its name
//! right-aligned to 23 characters, the time in microseconds since the start of the trace, and values separated by
//! commas, aligned with blanks; processes as `name (PID)`, addresses as 16 digits, file names in quotes.
//!
//! What is not known: the columns of its `InMemory` lines; no public text has one. The columns here have the names that
//! the dumper uses for the same things in `HardFault` and `T-Start` lines (`VirtualAddr`, `ByteOffset`, `FileObject`,
//! `FileName`, `PagePri`). Scripts that look columns up in the heading will work, those that count commas may not.

use crate::escape::visible;
use crate::etl::EtlFile;
use crate::etl::clock::Clock;
use crate::units::Ticks;
use std::path::Path;

/// Columns of an `InMemory` line.
const COLUMNS: &str = "               InMemory,  TimeStamp,     Process Name ( PID),                PFN, PagePri,            \
                       List,            Use,        VirtualAddr,     ByteOffset,         FileObject, FileName, Flags, \
                       Category, WPA Category";

/// The head of the dump. Its form has a number for each loss: what a session that was never stopped lost is 0, as in its header.
pub(super) fn heading((etl, [events_lost, buffers_lost]): (&EtlFile, [u32; 2]), trace: &Path) -> Vec<u8> {
    let header = &etl.header;
    let (major, minor) = header.os_version;
    let length_100ns = header.end_time.map_or(0, |end| end.0.saturating_sub(header.start_time.0));
    let name = trace.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = visible(&name);
    format!(
        "BeginHeader\n{COLUMNS}\nEndHeader\nOS Version: {major}.{minor}.{}, Trace Size: {}KB, Events Lost: {}, Buffers \
         lost: {}, Trace Start: {}, Trace Length: {} sec, PointerSize: {}, Trace Name: {name}\n",
        header.os_build,
        etl.size_bytes() / 1024,
        events_lost,
        buffers_lost,
        header.start_time.0,
        length_100ns / 10_000_000,
        header.pointer_bytes,
    )
    .into_bytes()
}

/// `name (PID)` as the dumper aligns it.
pub(super) fn process(out: &mut Vec<u8>, name: &str, process_id: &str) {
    let start = out.len();
    // A comma in a process name would add a column.
    out.extend_from_slice(visible(&name.replace(',', "_")).as_bytes());
    align_right(out, start, 16);
    out.extend_from_slice(b" (");
    let start = out.len();
    out.extend_from_slice(process_id.as_bytes());
    align_right(out, start, 4);
    out.push(b')');
}

/// A file name in quotes; what would end them becomes another quote.
pub(super) fn quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(visible(&text.replace('"', "'")).as_bytes());
    out.push(b'"');
}

/// Microseconds since the start of the trace.
#[inline]
pub(super) fn micros(clock: &Clock, time: Ticks) -> i128 {
    // 128-bit division is slow, and only traces longer than ten days at 10 MHz need it.
    let since = time.0.checked_sub(clock.origin.0).and_then(|ticks| u64::try_from(ticks).ok());
    match since.and_then(|ticks| ticks.checked_mul(1_000_000)) {
        Some(scaled) => i128::from(scaled / clock.frequency_hz.max(1)),
        None => clock.nanos(time).0.div_euclid(1000),
    }
}

#[inline]
pub(super) fn right(out: &mut Vec<u8>, value: i128, width: usize) {
    let start = out.len();
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    align_right(out, start, width);
}

/// Puts blanks before the text that began at `start`, up to `width` bytes.
#[inline]
pub(super) fn align_right(out: &mut Vec<u8>, start: usize, width: usize) {
    let len = out.len().saturating_sub(start);
    if let Some(blanks) = width.checked_sub(len).filter(|&blanks| blanks > 0) {
        out.resize(out.len() + blanks, b' ');
        if let Some(text) = out.get_mut(start..) {
            text.rotate_right(blanks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::clock::ClockKind;
    use crate::units::FileTime;

    #[test]
    fn microseconds_are_those_of_the_clock_at_any_distance() {
        let clock = Clock { kind: ClockKind::Qpc, frequency_hz: 2_337_949, origin: Ticks(1_000), start: FileTime(0) };
        for raw in [1_000, 999, 0, 5_000_000, i64::MAX, i64::MIN, 1_000 + 2_337_949 * 3_600] {
            let exact = clock.nanos(Ticks(raw)).0.div_euclid(1000);
            assert_eq!(micros(&clock, Ticks(raw)), exact, "{raw}");
        }
    }

    #[test]
    fn names_look_as_the_dumper_prints_them() {
        let text = |put: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            put(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&|out| process(out, "xperf.exe", "288")), "       xperf.exe ( 288)");
        assert_eq!(text(&|out| process(out, "a,b", "11384")), "             a_b (11384)");
        assert_eq!(text(&|out| quoted(out, "C:\\a, \"b\"")), "\"C:\\a, 'b'\"");
        assert_eq!(text(&|out| right(out, 36765, 10)), "     36765");
    }
}
