//! Traces by the files and folders that the user names.

use pfnset::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// How names of traces and of archives with traces end.
const ENDINGS: [&str; 5] = [".etl", ".etl.gz", ".etl.zst", ".zip", ".cab"];

/// The named files, and the traces in the named folders and below, in order; each once. What lies in `without` is passed
/// over, and so are hidden folders.
///
/// # Errors
/// [`Error::Unreadable`] for a folder that cannot be listed, [`Error::Usage`] when there is no trace at all.
pub fn traces(paths: &[PathBuf], without: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut all = Vec::new();
    let without = fs::canonicalize(without).ok();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let before = all.len();
        collect(path, without.as_deref(), &mut all)?;
        if all.len() == before {
            let endings = ENDINGS.join(", ");
            return Err(Error::Usage(format!("{} holds no trace ({endings})", path.display())));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|path| seen.insert(path.clone()));
    Ok(all)
}

fn collect(folder: &Path, without: Option<&Path>, all: &mut Vec<PathBuf>) -> Result<(), Error> {
    if without.is_some() && fs::canonicalize(folder).ok().as_deref() == without {
        return Ok(());
    }
    let unreadable = |source| Error::Unreadable { path: folder.to_path_buf(), source };
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder).map_err(unreadable)?.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        // A link to a folder is not followed: it could lead back.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !name.starts_with('.') {
            collect(&entry.path(), without, all)?;
        } else if !is_folder && ENDINGS.iter().any(|ending| name.ends_with(ending)) && entry.path().is_file() {
            all.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_their_traces() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["b.etl", "a/c.ETL", "a/d.zip", "a/notes.txt", ".hidden/e.etl", "out/f.etl"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "x").unwrap();
        }
        let found = traces(&[folder.path().into(), at("b.etl"), at("a/notes.txt")], &at("out")).unwrap();
        assert_eq!(found, ["a/c.ETL", "a/d.zip", "b.etl", "a/notes.txt"].map(at));
        assert!(traces(&[at(".hidden/none.etl")], &at("out")).is_ok(), "a file that is not there is told later");
        fs::create_dir(at("empty")).unwrap();
        assert!(traces(&[at("empty")], &at("out")).unwrap_err().to_string().contains("holds no trace"));
    }
}
