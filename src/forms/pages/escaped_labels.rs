//! Labels escaped once for an output form, so that a row only copies bytes; and numbers as text.

use crate::analysis::pages::{Flag, PageNames};
use crate::event::page_identity::{PageList, PageUse};
use crate::model::category::Category;
use crate::model::drive_paths::DrivePaths;

/// Bytes that are copied at once. As many are copied each time, because a copy of a known size is no call.
const CHUNK: usize = 32;

/// Texts by number, stored one after the other in one string, and [`CHUNK`] bytes after the last one.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn new<T>(values: impl IntoIterator<Item = T>, mut put: impl FnMut(&mut Vec<u8>, T)) -> Texts {
        let mut texts = Texts::default();
        for value in values {
            put(&mut texts.bytes, value);
            texts.ends.push(texts.bytes.len());
        }
        texts.bytes.extend_from_slice(&[0; CHUNK]);
        texts.bytes.shrink_to_fit();
        texts
    }

    /// Appends the text of a number; nothing for a number that has none.
    #[inline]
    pub(super) fn put(&self, out: &mut Vec<u8>, number: usize) {
        let Some(&end) = self.ends.get(number) else { return };
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let length = out.len() + (end - start);
        let mut rest = self.bytes.get(start..).unwrap_or_default();
        while out.len() < length
            && let Some((chunk, after)) = rest.split_first_chunk::<CHUNK>()
        {
            out.extend_from_slice(chunk);
            rest = after;
        }
        out.truncate(length);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Everything about a page that has few values.
#[derive(Debug, Clone)]
pub(super) struct EscapedLabels {
    /// List, priority and use, by [`place`].
    pub(super) places: Texts,
    /// Both categories, by [`categories`].
    pub(super) categories: Texts,
    /// By the bits of the flags.
    pub(super) flags: Texts,
    /// Process instances; after the last one "n/a", then shareable pages.
    pub(super) processes: Texts,
    /// Names of files by index.
    pub(super) files: Texts,
    /// Paths of kernel images by index.
    pub(super) drivers: Texts,
}

/// Number of a list, a priority and a use together.
#[inline]
pub(super) fn place(list: PageList, priority: u8, page_use: PageUse) -> usize {
    (list as usize * 8 + usize::from(priority & 7)) * 16 + page_use as usize
}

/// Number of two categories together.
#[inline]
pub(super) fn categories(ours: Category, wpa: Category) -> usize {
    ours as usize * Category::ALL.len() + wpa as usize
}

/// How a form writes its labels.
pub(super) trait Escapes {
    /// A text that came from the trace.
    fn text(&self, out: &mut Vec<u8>, text: &str);
    /// A path; only people see it as users know it.
    fn path(&self, out: &mut Vec<u8>, path: &str, _: &DrivePaths) {
        self.text(out, path);
    }
    /// The columns list, priority, use.
    fn place(&self, out: &mut Vec<u8>, list: &str, priority: u8, page_use: &str);
    /// The columns of the categories.
    fn categories(&self, out: &mut Vec<u8>, ours: &str, wpa: &str);
    /// The flags.
    fn flags(&self, out: &mut Vec<u8>, flags: &mut dyn Iterator<Item = Flag>);
    /// A process; as a text, unless the form has a look of its own for it.
    fn process(&self, out: &mut Vec<u8>, name: &str, process_id: u32) {
        self.text(out, &format!("{name} ({process_id})"));
    }
    /// No process: "n/a", or "Unknown (-1)" for shareable pages.
    fn no_process(&self, out: &mut Vec<u8>, label: &'static str) {
        self.text(out, label);
    }
}

impl EscapedLabels {
    pub(super) fn new(names: &PageNames<'_>, form: &dyn Escapes) -> EscapedLabels {
        let places = PageList::ALL
            .into_iter()
            .flat_map(|list| (0..8).flat_map(move |priority| PageUse::ALL.map(|page_use| (list, priority, page_use))));
        let pairs = Category::ALL.into_iter().flat_map(|ours| Category::ALL.map(|wpa| (ours, wpa)));
        let count = names.processes.len();
        let processes = names.processes.iter().copied().map(Some).chain([None, None]).enumerate();
        EscapedLabels {
            places: Texts::new(places, |out, (list, priority, page_use)| {
                form.place(out, list.name(), priority, page_use.name());
            }),
            categories: Texts::new(pairs, |out, (ours, wpa)| form.categories(out, ours.name(), wpa.name())),
            flags: Texts::new(0..1 << Flag::ALL.len(), |out, bits| form.flags(out, &mut Flag::of_bits(bits))),
            processes: Texts::new(processes, |out, (index, process)| match process {
                Some((name, process_id)) => form.process(out, name, process_id),
                None => form.no_process(out, if index == count { "n/a" } else { "Unknown (-1)" }),
            }),
            files: Texts::new(names.files, |out, name| form.path(out, name, names.drive_paths)),
            drivers: Texts::new(names.drivers, |out, name| form.path(out, name, names.drive_paths)),
        }
    }
}

/// Appends a number.
#[inline]
pub(super) fn decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `0x1f`, with at least `digits` digits.
#[inline]
pub(super) fn hex(out: &mut Vec<u8>, value: u64, digits: usize) {
    let count = (16 - value.leading_zeros() as usize / 4).max(digits).clamp(1, 16);
    let [high, low] =
        [(value << (4 * (16 - count))) >> 32, (value << (4 * (16 - count))) & 0xffff_ffff].map(eight_digits);
    let mut text = *b"0x0000000000000000";
    text[2..10].copy_from_slice(&high);
    text[10..].copy_from_slice(&low);
    let length = out.len() + 2 + count;
    out.extend_from_slice(&text);
    out.truncate(length);
}

/// Eight hexadecimal digits, all at once: each in a byte of one number.
#[inline]
fn eight_digits(value: u64) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut digits = (value | value << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (digits + 6 * ONES) >> 4 & ONES; // of digits above 9
    (digits + u64::from(b'0') * ONES + letters * u64::from(b'a' - b'0' - 10)).to_be_bytes()
}

/// Appends blanks until the text that began at `start` is `width` bytes long.
#[inline]
pub(super) fn pad(out: &mut Vec<u8>, start: usize, width: usize) {
    let end = start + width;
    if out.len() < end {
        out.resize(end, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros_but_those_asked_for() {
        let text = |value, digits| {
            let mut out = Vec::new();
            hex(&mut out, value, digits);
            String::from_utf8(out).unwrap()
        };
        for value in [0, 1, 0xf, 0x10, 0xdead_beef, u64::MAX, u64::MAX >> 4, 1 << 63] {
            assert_eq!(text(value, 0), format!("0x{value:x}"));
            assert_eq!(text(value, 8), format!("0x{value:08x}"));
            assert_eq!(text(value, 16), format!("0x{value:016x}"));
        }
        let mut out = Vec::new();
        decimal(&mut out, u64::MAX);
        assert_eq!(out, u64::MAX.to_string().into_bytes());
    }

    #[test]
    fn texts_are_found_by_number() {
        let long = "x".repeat(2 * CHUNK + 1);
        let texts = Texts::new(["a", "", "bcd", &long], |out, text| out.extend_from_slice(text.as_bytes()));
        let put = |number| {
            let mut out = b"> ".to_vec();
            texts.put(&mut out, number);
            String::from_utf8(out).unwrap()
        };
        assert_eq!([0, 1, 2, 3, 4].map(put), ["> a", "> ", "> bcd", &format!("> {long}"), "> "]);
    }

    #[test]
    fn every_list_priority_and_use_has_a_number_of_its_own() {
        let mut next = 0;
        for list in PageList::ALL {
            for priority in 0..8 {
                for page_use in PageUse::ALL {
                    assert_eq!(place(list, priority, page_use), next);
                    next += 1;
                }
            }
        }
    }
}
