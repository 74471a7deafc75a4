//! Which of the files in an archive is the trace.

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
        let is = |name: &&&str| plain(name) == plain(member);
        return files.iter().find(is).copied().ok_or_else(|| format!("it has no {member}, but {}", list(&files)));
    }
    let traces: Vec<&str> = files.iter().copied().filter(|name| name.to_ascii_lowercase().ends_with(".etl")).collect();
    match (traces.as_slice(), files.as_slice()) {
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => Err("it is empty".into()),
        ([], files) => Err(format!("no .etl file is in it, but {}", list(files))),
        (several, _) => Err(format!("{} traces are in it; name one as ARCHIVE!NAME: {}", several.len(), list(several))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_trace_is_chosen() {
        assert_eq!(choose(&["a/", "a/readme.txt", "a/T.ETL"], None), Ok("a/T.ETL"));
        assert_eq!(choose(&["a.bin"], None), Ok("a.bin"));
        assert_eq!(choose(&["a\\x.etl", "y.etl"], Some("a/x.etl")), Ok("a\\x.etl"));
        assert!(choose(&["x.etl", "y.etl"], None).unwrap_err().contains("x.etl, y.etl"));
        assert!(choose(&["x.etl"], Some("z.etl")).unwrap_err().contains("x.etl"));
        assert!(choose(&["a.txt", "b.txt"], None).is_err() && choose(&[], None).is_err());
    }
}
