//! Traces by the files and folders that the user names.

use crate::cli::recordings::Recording;
use crate::error::Error;
use crate::input::is_trace_name;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A trace, or why there is none at a path.
pub type Named = Result<PathBuf, (PathBuf, String)>;

/// The traces that an argument stands for: those in a folder and below by name, or itself. Hidden folders are skipped,
/// and so is the folder `without`.
pub fn named(argument: &Path, without: Option<&Path>) -> Vec<Named> {
    if !argument.is_dir() {
        return vec![Ok(argument.into())];
    }
    let without = without.and_then(|path| fs::canonicalize(path).ok());
    let entries = WalkDir::new(argument).follow_links(true).sort_by_file_name().into_iter().filter_entry(|entry| {
        let is_hidden = entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
        let is_left_out = || without.is_some() && fs::canonicalize(entry.path()).ok() == without;
        !entry.file_type().is_dir() || !is_hidden && !is_left_out()
    });
    let found: Vec<Named> = entries
        .filter_map(|entry| match entry {
            Ok(entry) => (entry.file_type().is_file() && is_trace_name(entry.path())).then(|| Ok(entry.into_path())),
            Err(error) => Some(Err((error.path().unwrap_or(argument).into(), error.to_string()))),
        })
        .collect();
    match found.is_empty() {
        true => vec![Err((argument.into(), "the folder holds no trace".into()))],
        false => found,
    }
}

/// The recordings of a command line, each once; those in a folder are of one file each.
///
/// # Errors
/// A usage error for a folder without traces, and for one with a further file.
pub fn recordings(arguments: &[Recording], without: &Path) -> Result<Vec<Recording>, Error> {
    let mut all = Vec::new();
    for argument in arguments {
        if !argument.with.is_empty() {
            if argument.trace.is_dir() {
                let folder = argument.trace.display();
                return Err(Error::Usage(format!("--with adds a file to a trace, and {folder} is a folder")));
            }
            all.push(argument.clone());
            continue;
        }
        for found in named(&argument.trace, Some(without)) {
            match found {
                Err((path, reason)) if path == argument.trace => {
                    return Err(Error::Usage(format!("{}: {reason}", path.display())));
                }
                // A folder that cannot be listed is reported as a trace that cannot be read.
                Ok(trace) | Err((trace, _)) => all.push(Recording { trace, with: Vec::new() }),
            }
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|recording| seen.insert(recording.clone()));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stand_for_the_traces_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("d")).unwrap();
        for name in [
            "z.etl",
            "b/c/y.ETL",
            "b/x.zip",
            "a.txt",
            "a.etl.expected.json",
            "b/w.etl.gz",
            "b/etl",
            ".hidden/e.etl",
            "out/f.etl",
        ] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        let found = |without: Option<&Path>| -> Vec<PathBuf> {
            named(folder.path(), without).into_iter().map(Result::unwrap).collect()
        };
        assert_eq!(found(Some(&path("out"))), ["b/c/y.ETL", "b/w.etl.gz", "b/x.zip", "z.etl"].map(path));
        assert_eq!(found(None).len(), 5);
        assert_eq!(named(&path("d"), None), [Err((path("d"), "the folder holds no trace".into()))]);
        assert_eq!(named(&path("a.txt"), None), [Ok(path("a.txt"))], "what is named is asked");

        let alone = |path: PathBuf| Recording { trace: path, with: Vec::new() };
        let two = Recording { trace: path("z.etl"), with: vec![path("a.txt")] };
        let asked = [alone(folder.path().into()), alone(path("z.etl")), two.clone(), alone(path("none.etl"))];
        let all = recordings(&asked, &path("out")).unwrap();
        assert_eq!(all.len(), 6, "{all:?}");
        assert_eq!(all[4..], [two, alone(path("none.etl"))], "what is not there is told later");
        assert!(recordings(&[alone(path("d"))], &path("out")).unwrap_err().to_string().contains("holds no trace"));
        let folder = Recording { trace: path("b"), with: vec![path("z.etl")] };
        assert!(recordings(&[folder], &path("out")).unwrap_err().to_string().contains("is a folder"));
    }
}
