//! `pooltag.txt`, which comes with Windows' debuggers: what driver a pool tag is of, and what for.
//!
//! Layout, by the file's own head and `docs/allocations.md`: a line `TAG - DRIVER - TEXT` for each tag. `<unknown>` stands for a driver that
//! is not known; `?` in a tag is any character and `*` its rest; lines that begin with `rem` or `//` are comments.

use crate::event::pool::PoolTag;
use crate::model::documented_tags::DOCUMENTED;
use foldhash::HashMap as FastMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Between the parts of a line.
const BETWEEN: &str = " - ";
/// Longest name of a driver and longest text that are kept, characters; those of Windows' own file end at some hundred. A text may stand
/// for many tags, and each row has a copy.
const LONGEST: usize = 512;

/// What a tag stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TagUse {
    /// File name of the driver; `None` where the file does not know it.
    pub driver: Option<String>,
    /// What the memory is for; can be empty.
    pub text: String,
}

impl TagUse {
    /// `Ntfx (NTFS)`: the tag with its driver, or with what the memory is for.
    pub(crate) fn beside(&self, tag: &str) -> String {
        format!("{tag} ({})", self.driver.as_deref().unwrap_or(&self.text))
    }
}

/// Pool tags with their drivers.
#[derive(Debug, Clone)]
pub struct PoolTags {
    exact: FastMap<[u8; 4], TagUse>,
    /// Tags in which any character may stand at some places, by their known places, with the number of their line. So a tag is looked up a
    /// few times, however many there are.
    patterns: FastMap<([bool; 4], [u8; 4]), (usize, TagUse)>,
    /// Those that Windows documents, by our own words; what a file says of a tag counts more.
    documented: FastMap<[u8; 4], TagUse>,
    /// True once the file has named a tag that was asked for; its clones have one answer.
    has_named: Arc<AtomicBool>,
}

impl Default for PoolTags {
    fn default() -> PoolTags {
        let of = |(tag, text): &(&[u8; 4], &str)| (**tag, TagUse { driver: None, text: (*text).to_owned() });
        let documented = DOCUMENTED.iter().map(of).collect();
        PoolTags { exact: FastMap::default(), patterns: FastMap::default(), documented, has_named: Arc::default() }
    }
}

impl PoolTags {
    /// Reads the text of a file; of two lines for one tag the first counts.
    ///
    /// # Errors
    /// What is wrong, where no line is one of a tag.
    pub(crate) fn read(bytes: &[u8]) -> Result<PoolTags, String> {
        let mut tags = PoolTags::default();
        for (line, text) in String::from_utf8_lossy(bytes).lines().enumerate() {
            let Some((tag, of_it)) = tag_line(text) else { continue };
            match <[u8; 4]>::try_from(&*tag) {
                Ok(tag) if !tag.contains(&b'?') => _ = tags.exact.entry(tag).or_insert(of_it),
                _ => {
                    let mut whole = [b'?'; 4];
                    whole.iter_mut().zip(&tag).for_each(|(to, from)| *to = *from);
                    let known = whole.map(|byte| byte != b'?');
                    tags.patterns.entry((known, whole)).or_insert((line, of_it));
                }
            }
        }
        if tags.exact.is_empty() && tags.patterns.is_empty() {
            return Err("no line of it is `TAG - DRIVER - TEXT`, as in the pooltag.txt of Windows' debuggers".into());
        }
        Ok(tags)
    }

    /// What this tag stands for: as the file says (of the patterns that fit, the one with most characters, and of those the first),
    /// else as Windows documents.
    pub(crate) fn of(&self, tag: PoolTag) -> Option<&TagUse> {
        let characters = tag.characters();
        let with = |places: u8| {
            let known = [0, 1, 2, 3].map(|at| places >> at & 1 == 1);
            let mut pattern = characters;
            pattern.iter_mut().zip(known).filter(|(_, known)| !known).for_each(|(byte, _)| *byte = b'?');
            let (line, of_it) = self.patterns.get(&(known, pattern))?;
            Some(((std::cmp::Reverse(places.count_ones()), *line), of_it))
        };
        let by_pattern = || (0..16).filter_map(with).min_by_key(|(rank, _)| *rank).map(|(_, of_it)| of_it);
        let of_file = self.exact.get(&characters).or_else(by_pattern);
        if of_file.is_some() {
            self.has_named.store(true, Ordering::Relaxed);
        }
        of_file.or_else(|| self.documented.get(&characters))
    }

    /// True when the file named a tag that was asked for.
    pub(crate) fn has_named(&self) -> bool {
        self.has_named.load(Ordering::Relaxed)
    }
}

/// The tag of a line, of four bytes or the fewer ones before a `*`, and what stands behind it.
fn tag_line(line: &str) -> Option<(Vec<u8>, TagUse)> {
    let is_comment = line.starts_with("//") || line.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("rem"));
    let (tag, rest) = line.split_once(BETWEEN).filter(|_| !is_comment)?;
    // Blanks at its end belong to a tag; before it there are sometimes some that do not.
    let tag = if tag.len() > 4 { tag.trim() } else { tag };
    let mut tag = match tag.split_once('*') {
        Some((start, "")) => start.as_bytes().to_vec(),
        _ => format!("{tag:<4}").into_bytes(),
    };
    if tag.len() > 4 || tag.is_empty() || tag.iter().all(|byte| *byte == b' ') {
        return None;
    }
    if let Some(last) = tag.get_mut(3) {
        // Windows marks tags there that freeing has to name.
        *last &= 0x7f;
    }
    let (driver, text) = rest.split_once(BETWEEN).unwrap_or(("", rest));
    let driver = Some(driver.trim()).filter(|driver| !driver.is_empty() && !driver.starts_with('<'));
    let kept = |text: &str| text.chars().take(LONGEST).collect();
    Some((tag, TagUse { driver: driver.map(kept), text: kept(text.trim()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "rem  Pooltag.txt - of the tests - is no tag\r\n// Abcd - x.sys - comment\r\n\
        8042 - i8042prt.sys - keyboard and mouse\r\nIrp  - <unknown>    - packets\r\n AdSv - vm.sys    - with a blank before\r\n\
        Nt?x - any.sys - a pattern\r\nNtfx - ntfs.sys - general - and more\r\nNtfx - other.sys - a second line\r\n\
        Mm* - nt!mm - all of them\r\nM* - m.sys - fewer characters\r\nno tag at all\r\nToolong - x.sys - y\r\n";

    /// One text for all tags would be copied into each row.
    #[test]
    fn long_texts_are_cut() {
        let tags = PoolTags::read(format!("?* - {0} - {0}\n", "ä".repeat(1 << 20)).as_bytes()).unwrap();
        let of_it = tags.of(PoolTag(u32::from_le_bytes(*b"Abcd"))).unwrap();
        assert_eq!((of_it.text.chars().count(), of_it.driver.as_ref().unwrap().chars().count()), (LONGEST, LONGEST));
    }

    /// A list of patterns alone, and many tags in the trace: each is looked up in no more time than one of a short list.
    #[test]
    fn many_patterns_take_no_more_time() {
        let line = |number: u32| format!("{:03x}? - a.sys - a\n", number & 0xfff);
        let tags = PoolTags::read((0..1u32 << 17).map(line).collect::<String>().as_bytes()).unwrap();
        let begun = std::time::Instant::now();
        let known = (0..1u32 << 16).filter(|tag| tags.of(PoolTag(tag << 8 | 0x41)).is_some()).count();
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        assert_eq!(known, 0);
    }

    #[test]
    fn lines_are_tags_with_drivers() {
        let tags = PoolTags::read(FILE.as_bytes()).unwrap();
        let of = |tag: &[u8; 4]| {
            let of_it = tags.of(PoolTag(u32::from_le_bytes(*tag)));
            of_it.map(|of_it| (of_it.driver.as_deref(), of_it.text.as_str()))
        };
        assert_eq!(of(b"8042"), Some((Some("i8042prt.sys"), "keyboard and mouse")));
        assert_eq!(of(b"Irp "), Some((None, "packets")));
        assert_eq!(of(b"Irp\xa0"), Some((None, "packets")), "a protected tag");
        assert_eq!(of(b"AdSv"), Some((Some("vm.sys"), "with a blank before")));
        assert_eq!(of(b"Ntfx"), Some((Some("ntfs.sys"), "general - and more")));
        assert_eq!(of(b"Ntzx"), Some((Some("any.sys"), "a pattern")));
        assert_eq!(of(b"MmSt"), Some((Some("nt!mm"), "all of them")));
        assert_eq!(of(b"Mxxx"), Some((Some("m.sys"), "fewer characters")));
        assert_eq!(of(b"Toke"), Some((None, "access tokens")), "in no file");
        assert_eq!([of(b"Abcd"), of(b"rem "), of(b"Tool"), of(b"\0\0\0\0")], [None; 4]);
        let patterns =
            PoolTags::read(b"?bcd - a.sys - a\nab?? - b.sys - b\nabc? - c.sys - c\nab* - d.sys - d\n").unwrap();
        let driver = |tag: &[u8; 4]| patterns.of(PoolTag(u32::from_le_bytes(*tag))).and_then(|of| of.driver.as_deref());
        assert_eq!(driver(b"abcd"), Some("a.sys"), "of two with as many characters the first");
        assert_eq!([driver(b"abxx"), driver(b"abcx"), driver(b"xbcd")], [Some("b.sys"), Some("c.sys"), Some("a.sys")]);
        assert!(PoolTags::read(b"not one\nof these\n").is_err() && PoolTags::read(b"").is_err());
    }
}
