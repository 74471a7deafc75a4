//! Traces by the files and folders that the user names.

use crate::cli::recordings::Recording;
use crate::error::Error;
use crate::input::{holds_no_trace, is_trace_name, passed_over as passed_over_in, traces_in_archive};
use crate::trace::recording::{place_and_name, user_name};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// A trace, or why there is none at a path.
pub type Named = Result<PathBuf, (PathBuf, String)>;

/// The traces that an argument stands for: those in a folder and below by name, or itself. Hidden folders are skipped,
/// and so is the folder `without`. Links in a folder are not followed: who makes one must not choose what is read.
pub fn named(argument: &Path, without: Option<&Path>) -> Vec<Named> {
    if !argument.is_dir() {
        return vec![Ok(argument.into())];
    }
    let whole = fs::canonicalize(argument).ok();
    let found: Vec<Named> = entries(argument, without)
        .filter_map(|entry| match entry {
            Ok(entry) if entry.path_is_symlink() && entry.depth() > 0 => of_link(&entry, whole.as_deref()).map(Err),
            Ok(entry) => {
                let is_trace =
                    entry.file_type().is_file() && is_trace_name(entry.path()) && !holds_no_trace(entry.path());
                is_trace.then(|| Ok(entry.into_path()))
            }
            Err(error) => Some(Err((error.path().unwrap_or(argument).into(), error.to_string()))),
        })
        .collect();
    match found.is_empty() {
        true => vec![Err((argument.into(), "the folder holds no trace".into()))],
        false => found,
    }
}

/// True for a folder that holds traces, all of them in the other one.
pub fn has_traces_only_in(folder: &Path, other: &Path) -> bool {
    let has_traces = |without: Option<&Path>| named(folder, without).iter().any(Result::is_ok);
    !has_traces(Some(other)) && has_traces(None)
}

/// What lies in a folder and below; not in hidden folders, nor in the folder `without`.
fn entries<'p>(folder: &'p Path, without: Option<&Path>) -> impl Iterator<Item = walkdir::Result<DirEntry>> + use<'p> {
    let without = without.and_then(|path| fs::canonicalize(path).ok());
    WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(move |entry| {
        let is_hidden = entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
        let is_left_out = || without.is_some() && fs::canonicalize(entry.path()).ok() == without;
        !entry.file_type().is_dir() || !is_hidden && !is_left_out()
    })
}

/// Files beside the traces of folders and archives that may hold a trace too, and are not read: a line for each place.
pub fn passed_over(arguments: &[Recording], without: &Path) -> Vec<String> {
    let mut by_place: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut without_trace = Vec::new();
    for argument in arguments.iter().map(|recording| &recording.trace) {
        let files: Vec<PathBuf> = match argument.is_dir() {
            true => entries(argument, Some(without))
                .flatten()
                .map(DirEntry::into_path)
                .filter(|path| path.is_file())
                .collect(),
            false => vec![argument.clone()],
        };
        for path in files {
            if argument.is_dir() && is_trace_name(&path) && holds_no_trace(&path) {
                without_trace.push(format!("{}: not read, because no .etl file is in it", path.display()));
                continue;
            }
            let place = if is_trace_name(&path) { path.clone() } else { argument.clone() };
            let names = passed_over_in(&path);
            by_place.entry(place).or_default().extend(names);
        }
    }
    let line = |(place, names): (PathBuf, Vec<String>)| {
        let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
        let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        (!names.is_empty())
            .then(|| format!("{}: not read, though a trace may be in it: {shown}{more}", place.display()))
    };
    by_place.into_iter().filter_map(line).chain(without_trace).collect()
}

/// What is said of a link in a folder. A trace that lies in the folder itself comes anyway, and of what is no trace nobody asks.
fn of_link(entry: &DirEntry, folder: Option<&Path>) -> Option<(PathBuf, String)> {
    let path = entry.path();
    let said = |reason: &str| Some((path.into(), reason.to_owned()));
    match fs::canonicalize(path) {
        // A trace that did not come: who runs this each night must not take it for one that is fine.
        Err(_) if is_trace_name(path) => said("a link to nothing"),
        Ok(to) if !folder.is_some_and(|folder| to.starts_with(folder)) && (is_trace_name(path) || to.is_dir()) => {
            said("a link out of the folder is not followed: name its target")
        }
        _ => None,
    }
}

/// The files of folders and archives as recordings: where a kernel session's file has the same name as a user session's beside
/// it, both are one recording if `fits`. Others are alone. Each file is in one recording; names choose in their order.
fn paired(files: Vec<PathBuf>, fits: impl Fn(&Path, &Path) -> bool) -> Vec<Recording> {
    let mut in_order: Vec<&PathBuf> = files.iter().collect();
    in_order.sort_unstable();
    // Several, where the file system tells capital letters apart.
    let mut by_name: BTreeMap<(&[u8], String), Vec<&PathBuf>> = BTreeMap::new();
    in_order.iter().for_each(|path| by_name.entry(place_and_name(path)).or_default().push(path));
    let (mut users, mut taken) = (BTreeMap::<&PathBuf, &PathBuf>::new(), BTreeSet::<&PathBuf>::new());
    for kernel in in_order {
        if taken.contains(kernel) {
            continue;
        }
        let (place, name) = place_and_name(kernel);
        let named = user_name(&name).and_then(|user| by_name.get(&(place, user)));
        let is_free = |user: &PathBuf| user != kernel && !taken.contains(user) && !users.contains_key(user);
        if let Some(user) = named.into_iter().flatten().find(|user| is_free(user) && fits(kernel, user)) {
            users.insert(kernel, user);
            taken.insert(user);
        }
    }
    let alone = files.iter().filter(|path| !taken.contains(path));
    alone
        .map(|path| Recording::new(path.clone(), users.get(path).into_iter().map(|user| (*user).clone()).collect()))
        .collect()
}

/// The recordings of a command line, as often as each is named. In folders, the file of a kernel session and that of a user session
/// are one if `fits` says so; each trace of an archive of several is one.
///
/// # Errors
/// [`Error::Unreadable`] for a folder without traces, a usage error for one with a further file.
pub fn recordings(
    arguments: &[Recording],
    without: &Path,
    fits: impl Fn(&Path, &Path) -> bool,
) -> Result<Vec<Recording>, Error> {
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
        let found = in_argument(&argument.trace, without, &fits);
        let of_all = found.iter().find(|one| one.trace == argument.trace).and_then(|one| one.refused.as_ref());
        if let Some(reason) = of_all {
            let source = io::Error::other(reason.clone());
            return Err(Error::Unreadable { path: argument.trace.clone(), source });
        }
        all.extend(found);
    }
    Ok(all)
}

/// The recordings that an argument stands for, those that cannot be read last.
pub fn in_argument(argument: &Path, without: &Path, fits: impl Fn(&Path, &Path) -> bool) -> Vec<Recording> {
    let (mut files, mut refused) = (Vec::new(), Vec::new());
    for found in named(argument, Some(without)) {
        match found {
            Err((path, reason)) => {
                refused.push(Recording { refused: Some(reason), ..Recording::new(path, Vec::new()) });
            }
            Ok(path) => {
                let several = traces_in_archive(&path);
                files.extend(if several.is_empty() { vec![path] } else { several });
            }
        }
    }
    paired(files, fits).into_iter().chain(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::duplicate_traces::once;

    fn zip_of(name: &str) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.finish().unwrap().into_inner()
    }

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
            "b/notes.txt.gz",
            "all.tar.zst",
            "notes.zip",
            "packed.gz",
            "b/etl",
            ".hidden/e.etl",
            "out/f.etl",
        ] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        fs::write(path("notes.zip"), zip_of("notes.txt")).unwrap();
        let found = |without: Option<&Path>| -> Vec<PathBuf> {
            named(folder.path(), without).into_iter().map(Result::unwrap).collect()
        };
        assert_eq!(found(Some(&path("out"))), ["b/c/y.ETL", "b/w.etl.gz", "b/x.zip", "packed.gz", "z.etl"].map(path));
        assert_eq!(found(None).len(), 6);
        let passed = passed_over(&[Recording::new(folder.path().into(), Vec::new())], &path("out"));
        let [line, no_trace] = &passed[..] else { panic!("{passed:?}") };
        assert!(no_trace.ends_with("notes.zip: not read, because no .etl file is in it"), "{no_trace}");
        assert!(line.ends_with("all.tar.zst, notes.txt.gz") || line.ends_with("notes.txt.gz, all.tar.zst"), "{line}");
        assert_eq!(named(&path("d"), None), [Err((path("d"), "the folder holds no trace".into()))]);
        assert_eq!(named(&path("a.txt"), None), [Ok(path("a.txt"))], "what is named is asked");

        let alone = |path: PathBuf| Recording::new(path, Vec::new());
        let two = Recording::new(path("z.etl"), vec![path("a.txt")]);
        let asked = [alone(folder.path().into()), alone(path("z.etl")), two.clone(), alone(path("none.etl"))];
        let all = recordings(&asked, &path("out"), |_, _| true).unwrap();
        assert_eq!(all.len(), 8, "{all:?}");
        assert_eq!(all[5..], [alone(path("z.etl")), two, alone(path("none.etl"))], "what is not there is told later");
        let (each, again) = once(&asked, all);
        assert_eq!((each.len(), again.len()), (7, 1), "{again:?}");
        let none = recordings(&[alone(path("d"))], &path("out"), |_, _| true).unwrap_err();
        assert!(format!("{none:?}").contains("holds no trace"), "{none:?}");
        let folder = Recording::new(path("b"), vec![path("z.etl")]);
        assert!(recordings(&[folder], &path("out"), |_, _| true).unwrap_err().to_string().contains("is a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["all/a/x.etl", "all/y.etl", "other/z.etl"] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        symlink(path("all"), path("all/a/loop")).unwrap();
        symlink(path("all/y.etl"), path("all/latest.etl")).unwrap();
        symlink("nowhere", path("all/gone")).unwrap();
        symlink(path("all"), path("named")).unwrap();
        let files = |named: &Path| [named.join("a/x.etl"), named.join("y.etl")].map(Ok).to_vec();
        assert_eq!(named(&path("all"), None), files(&path("all")), "what links lead to is there once");
        assert_eq!(named(&path("named"), None), files(&path("named")), "a link that is named itself");
        symlink(path("other"), path("all/a/out")).unwrap();
        symlink(path("other/z.etl"), path("all/z.etl")).unwrap();
        let refused: Vec<PathBuf> =
            named(&path("all"), None).into_iter().filter_map(|found| Some(found.err()?.0)).collect();
        assert_eq!(refused, [path("all/a/out"), path("all/z.etl")]);
        symlink("nowhere", path("all/gone.etl")).unwrap();
        assert!(named(&path("all"), None).contains(&Err((path("all/gone.etl"), "a link to nothing".into()))));
    }

    #[test]
    fn sessions_side_by_side_are_one_recording_by_their_names() {
        for (kernel, user) in [
            ("kernel.etl", Some("user.etl")),
            ("A_Kernel.etl.gz", Some("a_user.etl.gz")),
            ("kernel-kernel.1.etl", Some("kernel-user.1.etl")),
            ("NT Kernel Logger.etl", Some("nt user logger.etl")),
            ("kernels.etl", None),
            ("mykernel.etl", None),
            ("user.etl", None),
        ] {
            assert_eq!(user_name(kernel).as_deref(), user, "{kernel}");
        }
        let files = ["a/kernel.etl", "a/user.etl", "b/user.etl", "c.zip!kernel.etl", "c.zip!USER.etl", "kernel.etl"];
        let told = |fits: bool| -> Vec<String> {
            let all = paired(files.map(PathBuf::from).to_vec(), |_, _| fits);
            let names = |one: &Recording| one.files().map(|path| path.display().to_string()).collect::<Vec<_>>();
            all.iter().map(|one| names(one).join("+")).collect()
        };
        assert_eq!(
            told(true),
            ["a/kernel.etl+a/user.etl", "b/user.etl", "c.zip!kernel.etl+c.zip!USER.etl", "kernel.etl"]
        );
        assert_eq!(told(false), files);
    }

    #[test]
    fn each_file_is_in_one_recording() {
        let told = |files: &[&str]| -> Vec<String> {
            let all = paired(files.iter().map(PathBuf::from).collect(), |_, _| true);
            let names = |one: &Recording| one.files().map(|path| path.display().to_string()).collect::<Vec<_>>();
            all.iter().map(|one| names(one).join("+")).collect()
        };
        // The second could be the user file of the first, and the kernel file of the third.
        let chain = ["kernel-test_kernel.etl", "kernel-test_user.etl", "user-test_user.etl"];
        let pair = "kernel-test_kernel.etl+kernel-test_user.etl";
        assert_eq!(told(&chain), [pair, "user-test_user.etl"]);
        assert_eq!(told(&[chain[2], chain[1], chain[0]]), ["user-test_user.etl", pair]);
        // Names and folders that differ in capital letters only.
        assert_eq!(told(&["Kernel.etl", "kernel.etl", "user.etl"]), ["Kernel.etl+user.etl", "kernel.etl"]);
        assert_eq!(
            told(&["Kernel.etl", "User.etl", "kernel.etl", "user.etl"]),
            ["Kernel.etl+User.etl", "kernel.etl+user.etl"]
        );
        let folders = ["A/kernel.etl", "A/user.etl", "a/user.etl"];
        assert_eq!(told(&folders), ["A/kernel.etl+A/user.etl", "a/user.etl"]);
    }
}
