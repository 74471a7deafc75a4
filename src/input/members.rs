//! Which of the files in an archive is the trace.

use super::unpacked_bytes::expands_too_much;

/// Chooses the trace among the names in an archive: the one that was asked for, else the only `.etl` file, else the only file.
///
/// # Errors
/// Which names there are.
pub fn choose<'n>(names: &[&'n str], member: Option<&str>) -> Result<&'n str, String> {
    let plain = |name: &str| name.replace('\\', "/");
    let list = |names: &[&str]| {
        let shown = names.iter().take(10).copied().collect::<Vec<_>>().join(", ");
        if names.len() > 10 { format!("{shown}, and {} more", names.len() - 10) } else { shown }
    };
    let files: Vec<&str> = names.iter().copied().filter(|name| !plain(name).ends_with('/')).collect();
    if let Some(member) = member {
        let named: Vec<&str> = files.iter().copied().filter(|name| plain(name) == plain(member)).collect();
        return match named.as_slice() {
            [] => Err(format!("it has no {member}, but {}", list(&files))),
            [one] => Ok(*one),
            several => Err(same_name(several.len(), member)),
        };
    }
    let traces: Vec<&str> = files.iter().copied().filter(|name| is_trace(name)).collect();
    match (traces.as_slice(), files.as_slice()) {
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => Err("it is empty".into()),
        ([], files) => Err(format!("no .etl file is in it, but {}", list(files))),
        ([first, rest @ ..], _) if rest.iter().all(|name| plain(name) == plain(first)) => {
            Err(same_name(rest.len() + 1, first))
        }
        (several, _) => Err(format!("{} traces are in it; name one as ARCHIVE!NAME: {}", several.len(), list(several))),
    }
}

/// Endings of packed files.
const PACKED: [&str; 7] = [".gz", ".zip", ".zst", ".cab", ".7z", ".xz", ".bz2"];

/// True also for a trace that is packed once more: it cannot be read there, and nobody may think that it was.
pub fn is_trace(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PACKED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name).ends_with(".etl")
}

/// True for a file beside traces that may hold one, and is not read: another archive, a trace of PerfView.
pub fn is_passed_over(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !is_trace(name) && (lower.ends_with(".etlx") || PACKED.iter().any(|ending| lower.ends_with(ending)))
}

/// Most traces of an archive that are taken one by one. Nobody records more, and a list of files is easily made long.
const MOST_TRACES: usize = 1000;

/// Most files times traces of an archive: its list of files is read again for each trace.
const MOST_LISTED: usize = 4_000_000;

/// A file in an archive.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    /// Bytes that are unpacked to read it.
    pub unpacked: u64,
}

/// The traces in an archive of `packed` bytes that has several, by name; none where it has one, where names do not tell them apart,
/// where there are more than [`MOST_TRACES`] or [`MOST_LISTED`], or where all of them together unpack to far more than the archive.
pub fn several(members: Vec<Member>, packed: u64) -> Vec<String> {
    let files = members.len();
    let traces: Vec<Member> = members.into_iter().filter(|member| is_trace(&member.name)).collect();
    let unpacked = traces.iter().fold(0u64, |sum, member| sum.saturating_add(member.unpacked));
    let mut names: Vec<String> = traces.iter().map(|member| member.name.replace('\\', "/")).collect();
    names.sort_unstable();
    let is_clear = names.windows(2).all(|two| two.first() != two.last()) && !expands_too_much(packed, unpacked);
    if is_clear && files.saturating_mul(names.len()) <= MOST_LISTED && (2..=MOST_TRACES).contains(&names.len()) {
        names
    } else {
        Vec::new()
    }
}

/// What is said of files that no name tells apart.
fn same_name(files: usize, name: &str) -> String {
    format!("{files} files in it have the name {name}; unpack it and name the .etl file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_traces_are_listed_where_names_tell_them_apart() {
        let members = |names: &[&str], unpacked: u64| -> Vec<Member> {
            names.iter().map(|name| Member { name: (*name).to_owned(), unpacked }).collect()
        };
        let listed = |names: &[&str]| several(members(names, 1), 1_000);
        assert_eq!(listed(&["b.etl", "a.txt", "a\\X.ETL"]), ["a/X.ETL", "b.etl"]);
        assert_eq!(listed(&["monday.etl", "tuesday.ETL.gz", "in.zip"]), ["monday.etl", "tuesday.ETL.gz"]);
        for none in [&["a.etl"][..], &["a.txt", "b.txt"], &["a/x.etl", "a\\x.etl"], &[]] {
            assert!(listed(none).is_empty(), "{none:?}");
        }
        let many: Vec<String> = (0..=MOST_TRACES).map(|n| format!("{n}.etl")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(listed(&many).is_empty());
        assert_eq!(listed(&many[1..]).len(), MOST_TRACES);
        // Each alone is small enough; other files do not count.
        let packed = 1 << 20;
        let traces = |unpacked| several(members(&["a.etl", "b.etl", "c.etl"], unpacked), packed).len();
        assert_eq!((traces(packed * 200 / 3), traces(packed * 200 / 3 + 1)), (3, 0));
        let with_others = |others: usize| {
            let names: Vec<String> = (0..others).map(|n| format!("{n}.txt")).collect();
            let others = names.iter().map(String::as_str);
            listed(&["a.etl", "b.etl"].into_iter().chain(others).collect::<Vec<_>>()).len()
        };
        assert_eq!((with_others(60_000), with_others(2_000_000)), (2, 0));
        let mut mixed = members(&["a.etl", "b.etl"], packed * 100);
        mixed.extend(members(&["memory.dmp"], u64::MAX));
        assert_eq!(several(mixed, packed).len(), 2);
    }

    #[test]
    fn the_only_trace_is_chosen() {
        assert_eq!(choose(&["a/", "a/readme.txt", "a/T.ETL"], None), Ok("a/T.ETL"));
        assert_eq!(choose(&["a.bin"], None), Ok("a.bin"));
        assert_eq!(choose(&["a\\x.etl", "y.etl"], Some("a/x.etl")), Ok("a\\x.etl"));
        assert!(choose(&["x.etl", "y.etl"], None).unwrap_err().contains("x.etl, y.etl"));
        assert!(choose(&["x.etl"], Some("z.etl")).unwrap_err().contains("x.etl"));
        let packed = choose(&["x.etl", "y.etl.gz", "a.gz"], None).unwrap_err();
        assert!(packed.starts_with("2 traces are in it") && packed.ends_with("x.etl, y.etl.gz"), "{packed}");
        assert_eq!(choose(&["x.etl.gz", "a.txt"], None), Ok("x.etl.gz"), "which says itself that it is packed twice");
        assert!(choose(&["a.txt", "b.txt"], None).is_err() && choose(&[], None).is_err());
        for (names, member) in [
            (&["x.etl", "x.etl"][..], None),
            (&["x.etl", "x.etl", "y.etl"], Some("x.etl")),
            (&["a/x.etl", "a\\x.etl"], Some("a/x.etl")),
        ] {
            assert!(choose(names, member).unwrap_err().starts_with("2 files in it have the name"), "{names:?}");
        }
    }
}
