//! Words that every Windows machine has. They say nothing about people, and categories of pages depend on some of them.
//!
//! The lists have one word a line, in lower case and in order: names of Windows' own files, other parts of its paths and names,
//! and extensions of file names.

use foldhash::HashSet as FastSet;
use std::sync::LazyLock;

const FILES: &str = include_str!("windows_files.txt");
const WORDS: &str = include_str!("windows_words.txt");
const EXTENSIONS: &str = include_str!("extensions.txt");

/// Files and words: for looking up whole ones.
static WHOLE: LazyLock<FastSet<&str>> = LazyLock::new(|| FILES.lines().chain(WORDS.lines()).collect());

/// True for a whole word of the lists; numbers at the end of a volume's name do not count ("HarddiskVolume3").
pub fn is_word(lower: &str) -> bool {
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    WHOLE.contains(lower) || matches!(stem, "harddiskvolume" | "harddisk" | "volume") && stem.len() < lower.len()
}

/// True for the beginning of exactly such a word, at least as long as the kernel's 8-bit process names are when cut.
pub fn is_cut_word(lower: &str) -> bool {
    lower.len() >= 14 && WHOLE.iter().any(|known| known.starts_with(lower))
}

/// True for an extension; `cut`: also for the beginning of one.
pub fn is_extension(lower: &str, cut: bool) -> bool {
    EXTENSIONS.lines().any(|known| known == lower || cut && known.starts_with(lower))
}

/// True for the name of a Windows build, `26100.4652.amd64fre.ge_release.240331-1435`, with or without its first number.
pub fn is_build_lab(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = parts.iter().take_while(|part| is_number(part)).count();
    let [kind, branch, date] = parts.get(numbers..).unwrap_or_default() else { return false };
    let is_kind = ["x86", "amd64", "arm64", "arm"]
        .iter()
        .any(|machine| matches!(kind.strip_prefix(machine), Some("fre" | "chk")));
    let is_date = date.len() == 11 && date.split('-').all(|part| is_number(&part));
    // A branch that is not Microsoft's would be somebody's own build.
    (1..=2).contains(&numbers) && is_kind && is_date && branch.split('_').any(|part| RELEASES.contains(&part))
}

/// Parts of the names of branches from which Windows is released.
const RELEASES: [&str; 6] = ["release", "rtm", "ldr", "gdr", "prerelease", "sp1"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_lower_case_and_without_double_words() {
        for list in [FILES, WORDS, EXTENSIONS] {
            let lines: Vec<&str> = list.lines().collect();
            assert!(lines.is_sorted_by(|a, b| a < b), "sorted");
            assert!(lines.iter().all(|line| *line == line.to_ascii_lowercase() && !line.trim().is_empty()));
        }
    }

    #[test]
    fn builds_of_windows_are_recognized() {
        for lab in ["26100.4652.amd64fre.ge_release.240331-1435", "19041.vb_release.191206-1406"] {
            assert_eq!(is_build_lab(lab), lab.contains("amd64"), "{lab}");
        }
        assert!(is_build_lab("7601.18247.amd64fre.win7sp1_gdr.130828-1532"));
        for other in ["19041.ottolab", "", "amd64fre.ge_release.240331-1435", "1.amd64fre.otto_lab.240331-1435"] {
            assert!(!is_build_lab(other), "{other}");
        }
    }
}
