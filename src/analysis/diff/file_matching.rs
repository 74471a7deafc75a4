//! Matches the labels of two sides, above all files: the kernel, WPA and other machines name the same file in different ways.

use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::process_matching::{Matched, Matching, Starts};
use crate::model::registry_hives::normal_form;
use std::collections::{BTreeMap, BTreeSet};

/// For a dimension which labels of the two sides are the same.
pub fn of_dimension(
    dimension: Dimension,
    labels: [&BTreeSet<String>; 2],
    how: Matching,
    starts: &[Starts; 2],
) -> Matched {
    let missing = dimension.missing_name(how.of_one_boot);
    match dimension {
        Dimension::PROCESS => Matched::new(labels, how.processes, starts),
        Dimension::FILE | Dimension::Detail => Matched { missing, ..matched(labels) },
        _ => Matched { missing, ..Matched::default() },
    }
}

/// Matches labels of files: letter for letter, else without case, else without the device or drive before them, if only one
/// label of each side then matches. All other labels, such as pool tags, do not change.
fn matched([left, right]: [&BTreeSet<String>; 2]) -> Matched {
    let mut matched = Matched::default();
    let is_path = |label: &&String| label.contains('\\');
    let mut open: BTreeSet<&String> = right.difference(left).filter(is_path).collect();
    let mut free: BTreeSet<&String> = left.difference(right).filter(is_path).collect();
    for form in [|label: &str| label.to_lowercase(), |label: &str| normal_form(label)] {
        let unique = |labels: &BTreeSet<&String>| {
            let mut by_form: BTreeMap<String, Option<String>> = BTreeMap::new();
            for label in labels {
                by_form.entry(form(label)).and_modify(|one| *one = None).or_insert_with(|| Some((*label).clone()));
            }
            by_form
        };
        let (lefts, rights) = (unique(&free), unique(&open));
        for (form, label) in rights {
            let (Some(label), Some(Some(same))) = (label, lefts.get(&form)) else { continue };
            open.remove(&label);
            free.remove(same);
            matched.sides[1].insert(label, same.clone());
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_other_names() {
        let set = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<BTreeSet<_>>();
        let left = [
            r"\Device\HarddiskVolume3\a.dll",
            r"\Device\HarddiskVolume1\$Mft",
            r"\Device\HarddiskVolume2\$Mft",
            "Tag ",
        ];
        let right = [r"C:\A.DLL", r"\device\harddiskvolume1\$mft", r"D:\$Mft", "tag "];
        let found = matched([&set(&left), &set(&right)]);
        assert_eq!(found.name(1, r"C:\A.DLL"), left[0]);
        assert_eq!(found.name(1, right[1]), left[1]);
        assert_eq!(found.name(1, r"D:\$Mft"), left[2], "the only one that is left");
        assert_eq!(found.name(1, "tag "), "tag ");
        let two = set(&[r"\Device\HarddiskVolume1\x", r"\Device\HarddiskVolume2\x"]);
        assert_eq!(matched([&two, &set(&[r"C:\x"])]), Matched::default(), "it may be either");
    }
}
