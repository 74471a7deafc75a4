//! Fields of a kernel event whose payload is shorter or longer than its layout, or has a value that the layout excludes: those that fit.
//!
//! Decoders of kernel events read a whole layout or nothing, because analyses must not use a part of a record. In a row people see the
//! record itself. A payload that is too short is completed with several fillings: what is the same with all of them depends on no byte
//! that is not there.

use super::reader::Decoded;
use super::value::{FieldValue, Fields};
use crate::etl::record::Record;
use crate::event::Fault;

/// Fields of an event that has its whole layout, and where the bytes begin that no field has.
pub type Whole = (Fields<'static>, usize);

/// Reads an event; an error where it has not its whole layout, `None` where it is shown as bytes.
pub type ReadWhole<'f> = &'f dyn Fn(&Record<'_>) -> Option<Result<Whole, Fault>>;

/// Bytes with which a payload is filled that ends before or inside a text: no fixed part is longer.
const FILLING: usize = 1024;

/// Zeros at their end: all texts end.
const ZEROS: usize = 64;

/// Longest fixed layout that is completed.
const LONGEST: usize = 4096;

/// Bytes that are repeated. All but the first one can be a SID at every second place: revision 1 and one or two numbers.
const PATTERNS: [[u8; 2]; 4] = [[0, 0], [1, 1], [1, 2], [2, 1]];

/// The fields of a record that `fault` says is malformed; `None` where its length is not what is wrong with it.
pub fn fields_that_fit(record: &Record<'_>, fault: Fault, whole: ReadWhole<'_>) -> Option<Decoded<'static>> {
    let length = record.payload.len();
    match fault {
        Fault::Length { expected: end } | Fault::Trailing { parsed: end } if end < length => {
            let (fields, rest) = read(record, record.payload.get(..end)?, whole)?.ok()?;
            Some(Decoded { fields, missing: Vec::new(), rest })
        }
        Fault::Length { expected } if (length..LONGEST).contains(&expected) => {
            let known = |from: usize| -> Option<(Fields<'static>, usize)> {
                let filling = expected.checked_sub(from)?;
                known_fields(record, record.payload.get(..from)?, &PATTERNS, (filling, 0), whole)
            };
            until_unknown(length, known)
        }
        // What stands before the value can be completed, and nothing that holds the value.
        Fault::Value { .. } => {
            let known =
                |from: usize| known_fields(record, record.payload.get(..from)?, &PATTERNS, (FILLING, ZEROS), whole);
            until_unknown(most_that(length.min(LONGEST), |from| known(from).is_some())?, known)
        }
        Fault::Count { count } => before_list(record, count, whole),
        Fault::Short { at, .. } | Fault::Unterminated { at, .. } => {
            let (fields, count) = known_fields(record, record.payload, &PATTERNS, (FILLING, ZEROS), whole)?;
            Some(shortened(fields, count, if count == 0 { 0 } else { at.min(length) }))
        }
        _ => None,
    }
}

/// The fields that these first bytes tell, by what is known of the fields with fewer bytes.
fn until_unknown(length: usize, known: impl Fn(usize) -> Option<(Fields<'static>, usize)>) -> Option<Decoded<'static>> {
    let (fields, count) = known(length)?;
    // The fewest bytes with the same fields: where the first missing field begins.
    let (mut least, mut most) = (0, length);
    while least < most {
        let middle = least.midpoint(most);
        if known(middle)?.1 < count { least = middle + 1 } else { most = middle }
    }
    Some(shortened(fields, count, least))
}

/// The greatest number up to `most` for which something holds, that holds for all smaller ones; `None` where it never does.
fn most_that(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut holding, mut end) = (holds(0).then_some(0)?, most + 1);
    while holding + 1 < end {
        let middle = holding.midpoint(end);
        if holds(middle) { holding = middle } else { end = middle }
    }
    Some(holding)
}

/// Longest head before a list.
const LONGEST_HEAD: usize = 64;

/// The fields before a list whose length contradicts its count, by the layout of an empty list.
fn before_list(record: &Record<'_>, count: u32, whole: ReadWhole<'_>) -> Option<Decoded<'static>> {
    let payload = record.payload;
    let fits = |bytes: &[u8]| read(record, bytes, whole)?.ok();
    let head = (0..=LONGEST_HEAD).find(|length| fits(&vec![0; *length]).is_some())?;
    if count == 0 {
        let (fields, rest) = fits(payload.get(..head)?)?;
        return Some(Decoded { fields, missing: Vec::new(), rest });
    }
    let with = |from: usize, make: fn(u8) -> u8| {
        let mut bytes: Vec<u8> = payload.iter().take(from).copied().map(make).collect();
        bytes.resize(head, 0);
        fits(&bytes).map(|(fields, _)| fields)
    };
    let same = |byte: u8| byte;
    let until = most_that(head.min(payload.len()), |from| with(from, same).is_some())?;
    // The lowest bytes of the count can be those of an empty list too.
    let at = until.checked_sub(count.trailing_zeros() as usize / 8)?;
    let (mut fields, other) = (with(at, same)?, with(at, |byte| !byte)?);
    // The list and its count do not depend on what stands before them.
    let mut known = fields.iter().zip(&other).take_while(|(one, other)| one != other).count();
    let mut rest = at;
    if let Some((_, value @ FieldValue::Unsigned(_))) = fields.get_mut(known) {
        *value = FieldValue::Unsigned(count.into());
        (known, rest) = (known + 1, at + 4);
    }
    Some(shortened(fields, known, rest.min(payload.len())))
}

fn read(record: &Record<'_>, payload: &[u8], whole: ReadWhole<'_>) -> Option<Result<Whole, Fault>> {
    whole(&Record { payload, ..*record })
}

fn shortened(mut fields: Fields<'static>, count: usize, rest: usize) -> Decoded<'static> {
    let missing = fields.split_off(count.min(fields.len()));
    Decoded { fields, missing: missing.into_iter().map(|(name, _)| name.to_owned()).collect(), rest }
}

/// The fields of a payload with a filling behind it, and how many of the first ones do not depend on the filling.
fn known_fields(
    record: &Record<'_>,
    payload: &[u8],
    patterns: &[[u8; 2]],
    (filling, zeros): (usize, usize),
    whole: ReadWhole<'_>,
) -> Option<(Fields<'static>, usize)> {
    let filled = patterns.iter().filter_map(|pattern| {
        let more = pattern.iter().copied().cycle().take(filling).chain(std::iter::repeat_n(0, zeros));
        let bytes: Vec<u8> = payload.iter().copied().chain(more).collect();
        match read(record, &bytes, whole)? {
            Ok((fields, _)) => Some(fields),
            // A layout that must end with its payload.
            Err(Fault::Length { expected: end } | Fault::Trailing { parsed: end }) if end >= payload.len() => {
                read(record, bytes.get(..end)?, whole)?.ok().map(|(fields, _)| fields)
            }
            Err(_) => None,
        }
    });
    let mut all = filled.collect::<Vec<_>>().into_iter();
    let first = all.next()?;
    let same = |other: Fields<'static>| first.iter().zip(&other).take_while(|(a, b)| a == b).count();
    // Where one filling fits alone, nothing is known not to depend on it.
    let count = all.map(same).min().unwrap_or(0);
    Some((first, count))
}

#[cfg(test)]
mod tests {
    use super::super::kernel::fields;
    use super::*;
    use crate::code_page::CodePage;
    use crate::event::testing::{Bytes, P8, record};

    /// Names of fields, of missing ones, and where the rest begins.
    fn of(hook: u16, version: u8, payload: &[u8]) -> Option<(String, String, usize)> {
        let record = record(hook, version, P8, payload);
        let Decoded { fields, missing, rest } = fields(&record, CodePage::default())?;
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        Some((names.join(" "), missing.join(" "), rest))
    }

    fn some(fields: &str, missing: &str, rest: usize) -> Option<(String, String, usize)> {
        Some((fields.to_owned(), missing.to_owned(), rest))
    }

    #[test]
    fn fixed_layouts_end_before_the_first_field_that_is_cut() {
        let fault = [7; 48];
        let all = "InitialTime ReadOffset VirtualAddress FileObject TThreadId ByteCount";
        assert_eq!(of(0x0220, 2, &fault[..40]), some(all, "", 40));
        assert_eq!(of(0x0220, 2, &fault), some(all, "", 40), "longer");
        let short = some("InitialTime ReadOffset VirtualAddress", "FileObject TThreadId ByteCount", 24);
        assert_eq!([of(0x0220, 2, &fault[..24]), of(0x0220, 2, &fault[..31])], [short.clone(), short]);
        assert_eq!(of(0x0220, 2, &[]), some("", all, 0));
        // Disk requests, and page records, whose length must be exact.
        let disk = of(0x010a, 3, &[0; 40]).unwrap();
        assert_eq!((disk.0.ends_with("FileObject Irp"), &*disk.1, disk.2), (true, "HighResResponseTime", 40));
        assert_eq!(of(0x0275, 2, &[0; 25]), some("Flags PageFrameIndex u2", "", 24));
        assert_eq!(of(0x0275, 2, &[0; 23]), some("Flags PageFrameIndex", "u2", 16));
        assert_eq!(of(0x02ff, 2, &[0; 8]), None, "no layout is known");
    }

    #[test]
    fn texts_and_the_user_are_there_whole_or_missing() {
        let head = Bytes::new(36).u64(0, 1).u32(8, 8).u32(12, 4).u32(16, 1).u32(20, 259).u64(24, 5);
        let sid = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
        let numbers = "UniqueProcessKey ProcessId ParentId SessionId ExitStatus DirectoryTableBase Flags";
        let texts = "ImageFileName CommandLine PackageFullName ApplicationId";
        let token = head.clone().more(&[9; 16]).more(&sid).narrow("a.exe").wide("run").wide("").wide("");
        let no_user = head.more(&[0; 4]).narrow("a.exe").wide("run").wide("").wide("");
        for (whole, sid_end) in [(&token, 64), (&no_user, 40)] {
            let bytes = &whole.0;
            let all = format!("{numbers} UserSID {texts}");
            assert_eq!(of(0x0301, 4, bytes), some(&all, "", bytes.len()));
            assert_eq!(of(0x0301, 4, &[bytes, &b"zz"[..]].concat()), some(&all, "", bytes.len()));
            let cut = |length: usize| of(0x0301, 4, &bytes[..length]);
            let user = format!("{numbers} UserSID");
            assert_eq!(cut(sid_end + 3), some(&user, texts, sid_end));
            let line = some(&format!("{user} ImageFileName"), "CommandLine PackageFullName ApplicationId", sid_end + 6);
            assert_eq!([cut(sid_end + 6), cut(sid_end + 11)], [line.clone(), line]);
            assert_eq!(cut(38).map(|(fields, ..)| fields).as_deref(), Some(numbers));
        }
        let user = of(0x0301, 4, &token.0[..60]).unwrap();
        assert_eq!((&*user.0, user.1), (numbers, format!("UserSID {texts}")));
    }

    #[test]
    fn what_stands_before_an_impossible_value_is_shown() {
        // A user of an unknown revision.
        let head = Bytes::new(36).u64(0, 1).u32(8, 8).u32(12, 4).u32(16, 1).u32(20, 259).u64(24, 5);
        let token = |sid: [u8; 4]| head.clone().more(&[9; 16]).more(&sid).more(&[0; 8]).narrow("a.exe").wide("run").0;
        let numbers = "UniqueProcessKey ProcessId ParentId SessionId ExitStatus DirectoryTableBase Flags";
        let texts = "UserSID ImageFileName CommandLine PackageFullName ApplicationId";
        for sid in [[3, 1, 0, 0], [1, 200, 0, 0]] {
            assert_eq!(of(0x0301, 4, &token(sid)), some(numbers, texts, 36), "{sid:?}");
        }
        // A form that nobody knows.
        let all = "EventVersion Reserved PartitionType QpcOffsetFromRoot PartitionId ParentId";
        assert_eq!(of(0x0050, 2, &[9; 48]), some("", all, 0));
        // Counts of lists that the length contradicts; 256 begins with the byte of an empty list.
        for count in [3, 256, u32::MAX] {
            let samples = Bytes::new(24).u32(0, count);
            assert_eq!(of(0x0f37, 2, &samples.0), some("", "Samples", 0), "{count}");
            let sets = Bytes::new(30).u32(0, count);
            assert_eq!(of(0x027d, 2, &sets.0), some("", "WsInfo", 0), "{count}");
        }
        let heap = Bytes::new(56).u64(0, 7).u32(8, 1).u32(12, 9).u32(16, 3);
        assert_eq!(of(0x0264, 2, &heap.0), some("HeapHandle HRFlags HRPid HRRangeCount", "Ranges", 20));
    }

    /// No length of any kernel event panics, and what is shown of a cut payload is what the whole has.
    #[test]
    fn every_event_can_be_cut() {
        let payload: Vec<u8> = (0..1000).map(|number| if number % 7 == 0 { 1 } else { number as u8 }).collect();
        for hook in (0..=0x1aff_u16).filter(|hook| hook & 0xff < 0x90) {
            for version in [2, 4] {
                let whole = fields(&record(hook, version, P8, &payload), CodePage::default());
                for length in (0..64).chain([100, 200, 500]) {
                    let record = record(hook, version, P8, &payload[..length]);
                    let Some(cut) = fields(&record, CodePage::default()) else { continue };
                    assert!(cut.rest <= length, "0x{hook:04x}: {length}");
                    if cut.missing.is_empty() {
                        continue;
                    }
                    let known = whole.iter().flat_map(|whole| whole.fields.iter().zip(&cut.fields));
                    let is_number =
                        |value: &FieldValue<'_>| matches!(value, FieldValue::Hex(_) | FieldValue::Unsigned(_));
                    for (own, shown) in known.filter(|(own, _)| is_number(&own.1)) {
                        assert_eq!(own, shown, "0x{hook:04x}: {length}");
                    }
                }
            }
        }
    }
}
