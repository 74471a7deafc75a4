//! Paths as people know them: `C:\Windows` in place of `\Device\HarddiskVolume3\Windows`.
//!
//! Only the records that merging adds (SysConfig: VolumeMapping) have drive letters. Without them a volume is shown by its
//! number, `Volume3:\Windows`.

use std::borrow::Cow;

/// What stands for the beginnings of kernel paths.
#[derive(Debug, Clone, Default)]
pub struct DrivePaths {
    /// Kernel prefix and the user's, both with `\` at the end; the longest first.
    prefixes: Vec<(Box<str>, Box<str>)>,
}

/// Beginning of the device names of volumes.
const VOLUME: &str = r"\Device\HarddiskVolume";

impl DrivePaths {
    /// The paths of the mappings that the trace holds: kernel prefix, user's prefix.
    pub fn new(volumes: &[(Box<str>, Box<str>)]) -> DrivePaths {
        let mut prefixes: Vec<_> = volumes.iter().filter(|(kernel, _)| kernel.ends_with('\\')).cloned().collect();
        prefixes.sort_by_key(|(kernel, _)| std::cmp::Reverse(kernel.len()));
        DrivePaths { prefixes }
    }

    /// A text with the first path in it as people know it: one that begins the text, or follows a blank, a quotation mark
    /// or an opening bracket.
    pub fn shown_in(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(next) = rest.chars().next() {
            if next == '\\'
                && matches!(before, ' ' | '"' | '(' | '[')
                && let Cow::Owned(all) = self.shown(rest)
            {
                return shown + &all;
            }
            shown.push(next);
            before = next;
            rest = rest.strip_prefix(next).unwrap_or_default();
        }
        shown
    }

    /// The path as people know it.
    pub fn shown<'p>(&self, path: &'p str) -> Cow<'p, str> {
        for (kernel, user) in &self.prefixes {
            if let Some(rest) = without(path, kernel) {
                return Cow::Owned(format!("{user}{rest}"));
            }
            // The folder of a volume's own files.
            if kernel.strip_suffix('\\').is_some_and(|device| device.eq_ignore_ascii_case(path)) {
                return Cow::Owned(user.to_string());
            }
        }
        match without(path, VOLUME) {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                let (number, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
                Cow::Owned(format!("Volume{number}:{rest}"))
            }
            _ => Cow::Borrowed(path),
        }
    }
}

/// The path after a prefix, which is compared without case.
fn without<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let (begin, rest) = path.split_at_checked(prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The folder of a file.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('\\').map_or("", |(folder, _)| folder)
}

/// The extension of a file's name with its dot, in lower case; empty for a name without one.
pub fn extension(path: &str) -> String {
    let name = path.rsplit('\\').next().unwrap_or(path);
    name.rfind('.').and_then(|at| name.get(at..)).filter(|end| end.len() > 1).unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_is_replaced() {
        let pairs = [
            (r"\Device\HarddiskVolume3\", r"C:\"),
            (r"\Device\HarddiskVolume3\Mounted\", r"D:\"),
            (r"\SystemRoot\", r"C:\Windows\"),
            (r"\??\", ""),
            (r"\Device\Mup\", r"\\"),
        ];
        let paths = DrivePaths::new(&pairs.map(|(kernel, user)| (kernel.into(), user.into())));
        for (path, shown) in [
            (r"\Device\HarddiskVolume3\Windows\a.dll", r"C:\Windows\a.dll"),
            (r"\device\harddiskvolume3\ä", r"C:\ä"),
            (r"\Device\HarddiskVolume3\Mounted\x", r"D:\x"),
            (r"\Device\HarddiskVolume3", r"C:\"),
            (r"\Device\HarddiskVolume33\x", r"Volume33:\x"),
            (r"\SystemRoot\x", r"C:\Windows\x"),
            (r"\??\E:\x", r"E:\x"),
            (r"\Device\Mup\server\share", r"\\server\share"),
            (r"\Device\HarddiskVolumeShadowCopy1\x", r"\Device\HarddiskVolumeShadowCopy1\x"),
            ("é", "é"),
        ] {
            assert_eq!(paths.shown(path), shown, "{path}");
        }
        for (text, shown) in [
            (r"key 0x1f: \Device\HarddiskVolume3\a b.dll", r"key 0x1f: C:\a b.dll"),
            (r"(\SystemRoot\x)", r"(C:\Windows\x)"),
            (r"no\Device\HarddiskVolume3\x", r"no\Device\HarddiskVolume3\x"),
            ("é \\", "é \\"),
        ] {
            assert_eq!(paths.shown_in(text), shown, "{text}");
        }
        assert_eq!(DrivePaths::default().shown(r"\Device\HarddiskVolume12"), "Volume12:");
    }

    #[test]
    fn folders_and_extensions() {
        assert_eq!(folder(r"\Device\HarddiskVolume3\$Mft"), r"\Device\HarddiskVolume3");
        assert_eq!((folder("x"), folder(r"\x")), ("", ""));
        for (path, end) in [(r"\a\b.TXT", ".txt"), (r"\a.d\b", ""), (r"\a.tar.gz", ".gz"), (r"\a.", ""), (r"\.x", ".x")]
        {
            assert_eq!(extension(path), end, "{path}");
        }
    }
}
