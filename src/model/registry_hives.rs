//! Registry hives: which file paths are hives.

use crate::load::owned_events::HiveFile;
use crate::moment::At;
use foldhash::HashSet as FastSet;

/// One form of a path for comparing: lower case, without the volume (`\Device\HarddiskVolume3`, `\??\C:`, `C:`), and
/// with `\SystemRoot` as `\Windows`.
pub fn normal_form(path: &str) -> String {
    let lower = path.to_lowercase();
    let rest = lower.strip_prefix(r"\??\").unwrap_or(&lower);
    if let Some(rest) = rest.strip_prefix(r"\systemroot\") {
        return format!(r"\windows\{rest}");
    }
    if let Some(volume) = rest.strip_prefix(r"\device\") {
        return volume.find('\\').map_or_else(|| rest.to_owned(), |at| volume.split_at(at).1.to_owned());
    }
    match rest.as_bytes() {
        [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic() => rest.split_at(2).1.to_owned(),
        _ => rest.to_owned(),
    }
}

/// Paths of registry hives: by the trace's hive rundown if it has one, else well-known paths and the hives that were
/// loaded during the trace.
#[derive(Debug, Clone, Default)]
pub struct Hives {
    known: FastSet<String>,
    /// Last path components of the known hives.
    known_ends: Vec<String>,
    are_listed: bool,
}

impl Hives {
    /// The hives that the trace names.
    pub fn new(files: &[At<HiveFile>]) -> Hives {
        let names = files.iter().map(|hive| normal_form(&hive.value.file_name));
        let known: FastSet<String> = names.filter(|name| !name.is_empty()).collect();
        let ends: FastSet<&str> = known.iter().map(|name| last_part(name)).collect();
        Hives {
            known_ends: ends.into_iter().map(str::to_owned).collect(),
            known,
            are_listed: files.iter().any(|hive| hive.value.listed && !hive.value.file_name.is_empty()),
        }
    }

    /// True when the trace lists its hives, so that no path must be guessed.
    pub fn are_known(&self) -> bool {
        self.are_listed
    }

    /// True when the path is a registry hive.
    pub fn is_hive(&self, path: &str) -> bool {
        // Called for every file of the machine, so most files are excluded by their last component.
        let end = last_part(path);
        let is_end = |known: &str| known.eq_ignore_ascii_case(end);
        let may_be = || {
            !end.is_ascii()
                || self.known_ends.iter().any(|known| is_end(known))
                || (!self.are_listed && WELL_KNOWN_ENDS.iter().any(|known| is_end(known)))
        };
        if !may_be() {
            return false;
        }
        let path = normal_form(path);
        self.known.contains(&path) || (!self.are_listed && is_well_known(&path))
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('\\').next().unwrap_or(path)
}

/// Last path components of hives with well-known paths: the first nine are in `config`, one is in each package.
const WELL_KNOWN_ENDS: [&str; 13] = [
    "sam",
    "security",
    "software",
    "system",
    "default",
    "components",
    "drivers",
    "bbi",
    "elam",
    "settings.dat",
    "ntuser.dat",
    "usrclass.dat",
    "bcd",
];

fn is_well_known(path: &str) -> bool {
    const CONFIG: &str = r"\windows\system32\config\";
    let in_config = path.strip_prefix(CONFIG).is_some_and(|name| WELL_KNOWN_ENDS.iter().take(9).any(|n| *n == name));
    let in_package = path.contains(r"\packages\") && path.ends_with(r"\settings.dat");
    in_config
        || in_package
        || [r"\ntuser.dat", r"\usrclass.dat", r"\boot\bcd"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_compare_in_one_form() {
        for path in [
            r"\SystemRoot\System32\Config\SAM",
            r"\??\C:\Windows\System32\config\SAM",
            r"\Device\HarddiskVolume3\Windows\System32\config\SAM",
            r"C:\WINDOWS\system32\config\sam",
        ] {
            assert_eq!(normal_form(path), r"\windows\system32\config\sam", "{path}");
            assert!(Hives::default().is_hive(path), "{path}");
        }
        assert!(!Hives::default().is_hive(r"\Device\HarddiskVolume3\Windows\System32\config\SAM.LOG1"));
        assert!(Hives::default().is_hive(r"\Device\HarddiskVolume3\Users\x\NTUSER.DAT"));
    }
}
