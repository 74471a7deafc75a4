//! Which conditions could choose pages of drivers by the names of their images.

use super::budget::Conditions;
use crate::dimensions::NO_LABEL;
use crate::dimensions::single_dimensions::{DETAIL, MODULE};
use crate::pattern::{Pattern, Patterns};

/// Images of the kernel that are not named as drivers are (`*.sys`).
const OTHERS: [&str; 15] = [
    "ntoskrnl.exe",
    "ntkrnlmp.exe",
    "ntkrnlpa.exe",
    "ntkrpamp.exe",
    "hal.dll",
    "kd.dll",
    "kdcom.dll",
    "kdnet.dll",
    "kdstub.dll",
    "mcupdate_genuineintel.dll",
    "mcupdate_authenticamd.dll",
    "bootvid.dll",
    "pshed.dll",
    "ci.dll",
    "cdd.dll",
];

/// True where a page of a driver could meet the conditions on names differently than a page without a detail, as which it counts where no
/// image of the kernel is known.
pub(super) fn could_be_of_drivers(conditions: &Conditions) -> bool {
    let by_name = conditions.by_name();
    let mut names = by_name.iter().filter(|(name, _)| [DETAIL.name, MODULE.name].contains(name));
    names.any(|(_, patterns)| patterns.all().any(names_driver))
}

fn names_driver(pattern: &Pattern) -> bool {
    let text = &pattern.text;
    let file = text.rsplit('\\').next().unwrap_or_default();
    let has_extension = || file.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("sys"));
    let [of_path, of_file] = [text, file].map(Patterns::new);
    let paths = OTHERS.map(|name| format!("\\SystemRoot\\system32\\{name}"));
    let is_open = text.ends_with(['*', '?']) || has_extension();
    is_open || text.eq_ignore_ascii_case(NO_LABEL) || of_file.could_pass(&OTHERS) || of_path.could_pass(&paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::Condition;

    #[test]
    fn names_of_other_files_are_not_those_of_drivers() {
        let could_be = |patterns: &str| {
            could_be_of_drivers(&Conditions::Resident(vec![Condition::parse(&format!("detail={patterns}")).unwrap()]))
        };
        for patterns in ["*ntdll.dll", "*data*.dat", "!*ntdll.dll", "ETWB", "Unknown (0x1f)", "\\Windows\\a.exe"] {
            assert!(!could_be(patterns), "{patterns}");
        }
        for patterns in [
            "n/a",
            "*.dll",
            "*.sys",
            "!\\drivers\\tcpip.sys",
            "nt*",
            "*a.dll;*NTOSKRNL.exe",
            "\\x\\HAL.dll",
            "*m32*.dll",
        ] {
            assert!(could_be(patterns), "{patterns}");
        }
    }
}
