//! `pooltag.txt`, which comes with Windows' debuggers: what driver a pool tag is of, and what for.
//!
//! Layout, by the file's own head and `docs/allocations.md`: a line `TAG - DRIVER - TEXT` for each tag. `<unknown>` stands for a driver that
//! is not known; `?` in a tag is any character and `*` its rest; lines that begin with `rem` or `//` are comments.

use crate::event::pool::PoolTag;
use crate::model::documented_tags::DOCUMENTED;
use foldhash::HashMap as FastMap;

/// Between the parts of a line.
const BETWEEN: &str = " - ";
/// Largest file that is read, bytes: some fifty times the one of 2024.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

/// What a tag stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TagUse {
    /// File name of the driver; `None` where the file does not know it.
    pub driver: Option<String>,
    /// What the memory is for; can be empty.
    pub text: String,
}

/// Pool tags with their drivers.
#[derive(Debug, Clone)]
pub(crate) struct PoolTags {
    exact: FastMap<[u8; 4], TagUse>,
    /// Tags with `?`, or shorter ones for which a `*` stands; those with most characters first.
    patterns: Vec<(Vec<u8>, TagUse)>,
    /// Those that Windows documents, by our own words; what a file says of a tag counts more.
    documented: FastMap<[u8; 4], TagUse>,
}

impl Default for PoolTags {
    fn default() -> PoolTags {
        let of = |(tag, text): &(&[u8; 4], &str)| (**tag, TagUse { driver: None, text: (*text).to_owned() });
        let documented = DOCUMENTED.iter().map(of).collect();
        PoolTags { exact: FastMap::default(), patterns: Vec::new(), documented }
    }
}

impl PoolTags {
    /// Reads the text of a file; of two lines for one tag the first counts.
    ///
    /// # Errors
    /// What is wrong, where no line is one of a tag.
    pub(crate) fn read(bytes: &[u8]) -> Result<PoolTags, String> {
        let mut tags = PoolTags::default();
        for line in String::from_utf8_lossy(bytes).lines() {
            let Some((tag, of_it)) = tag_line(line) else { continue };
            match <[u8; 4]>::try_from(&*tag) {
                Ok(tag) if !tag.contains(&b'?') => _ = tags.exact.entry(tag).or_insert(of_it),
                _ => tags.patterns.push((tag, of_it)),
            }
        }
        if tags.exact.is_empty() && tags.patterns.is_empty() {
            return Err("no line of it is `TAG - DRIVER - TEXT`, as in the pooltag.txt of Windows' debuggers".into());
        }
        let characters = |tag: &[u8]| tag.iter().filter(|byte| **byte != b'?').count();
        tags.patterns.sort_by_key(|(tag, _)| std::cmp::Reverse(characters(tag)));
        Ok(tags)
    }

    /// What this tag stands for: as the file says, else as Windows documents.
    pub(crate) fn of(&self, tag: PoolTag) -> Option<&TagUse> {
        let characters = tag.characters();
        let fits = |pattern: &[u8]| {
            let mut pairs = pattern.iter().zip(characters);
            pairs.all(|(wanted, is)| *wanted == b'?' || *wanted == is)
        };
        let by_pattern = || self.patterns.iter().find(|(pattern, _)| fits(pattern)).map(|(_, of_it)| of_it);
        self.exact.get(&characters).or_else(by_pattern).or_else(|| self.documented.get(&characters))
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
    Some((tag, TagUse { driver: driver.map(str::to_owned), text: text.trim().to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "rem  Pooltag.txt - of the tests - is no tag\r\n// Abcd - x.sys - comment\r\n\
        8042 - i8042prt.sys - keyboard and mouse\r\nIrp  - <unknown>    - packets\r\n AdSv - vm.sys    - with a blank before\r\n\
        Nt?x - any.sys - a pattern\r\nNtfx - ntfs.sys - general - and more\r\nNtfx - other.sys - a second line\r\n\
        Mm* - nt!mm - all of them\r\nM* - m.sys - fewer characters\r\nno tag at all\r\nToolong - x.sys - y\r\n";

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
        assert!(PoolTags::read(b"not one\nof these\n").is_err() && PoolTags::read(b"").is_err());
    }
}
