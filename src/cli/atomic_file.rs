//! A file that the user named for output. It is written beside its place and comes there when it is complete: an error, a full
//! disk or a trace that shrinks leaves the file as it was, and no part of a new one.
//!
//! Pipes and devices are written as they are.

use crate::error::Error;
use crate::input::output_cleanup::Unfinished;
use crate::input::{STANDARD_INPUT, lost_pages, refuse_remote, split_member};
use anyhow::Context;
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{NamedTempFile, TempPath};

/// What becomes of the file when it is complete.
pub struct NewFile {
    /// Where it lies and where it belongs; `None` for one that is in its place.
    beside: Option<Beside>,
    name: PathBuf,
}

struct Beside {
    path: TempPath,
    place: PathBuf,
    _unfinished: Unfinished,
}

/// Begins a file; what is written into the second goes there.
pub fn create(name: &Path) -> anyhow::Result<(NewFile, File)> {
    refuse_remote(name)?;
    begin(name).with_context(|| cannot_write(name))
}

fn cannot_write(name: &Path) -> String {
    format!("cannot write {}", name.display())
}

fn begin(name: &Path) -> io::Result<(NewFile, File)> {
    let place = match fs::metadata(name) {
        // Where the name is a link, the file that it names is replaced, not the link.
        Ok(data) if data.is_file() && name.is_symlink() => name.canonicalize()?,
        Ok(data) if data.is_file() => of_any_length(name)?,
        Err(_) if fs::symlink_metadata(name).is_err() => of_any_length(name)?,
        _ => return Ok((NewFile { beside: None, name: name.to_path_buf() }, File::create(name)?)),
    };
    let folder = place.parent().unwrap_or(&place);
    remove_left_over(folder);
    let (file, path) = new_beside(folder)?.into_parts();
    // Who sees the file from another process knows by this that it is in use. Not every file system can do it.
    let _ = file.try_lock();
    if let Ok(data) = fs::metadata(&place) {
        // A file that may not be written is not replaced either.
        File::options().write(true).open(&place)?;
        fs::set_permissions(&path, data.permissions())?;
    }
    let beside = Beside { _unfinished: Unfinished::new(&path), path, place };
    Ok((NewFile { beside: Some(beside), name: name.to_path_buf() }, file))
}

/// An absolute path, on Windows in the form that may have more than 260 characters: files are moved by that name.
fn of_any_length(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    #[cfg(windows)]
    if let Some(std::path::Component::Prefix(prefix)) = path.components().next()
        && matches!(prefix.kind(), std::path::Prefix::Disk(_))
    {
        let mut long = std::ffi::OsString::from(r"\\?\");
        long.push(path);
        return Ok(long.into());
    }
    Ok(path)
}

/// How a file begins and ends that is not in its place yet.
const PART: (&str, &str) = (".pfnset-", ".part");
/// A file of another run that was changed more recently may be in use where locks mean nothing.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// Removes what runs left here that were killed: such files are not locked, and have not changed for an hour. None of it is worth an
/// error.
fn remove_left_over(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_part = name.to_str().is_some_and(|name| name.starts_with(PART.0) && name.ends_with(PART.1));
        if is_part && is_left_over(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left_over(entry: &fs::DirEntry) -> bool {
    // The data of the entry itself, not of what a link names.
    let is_old = |data: fs::Metadata| {
        data.is_file() && data.modified().is_ok_and(|then| then.elapsed().is_ok_and(|age| age > LEFT_OVER))
    };
    let is_free = || File::options().write(true).open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
    entry.metadata().is_ok_and(is_old) && is_free()
}

fn new_beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PART.0).suffix(PART.1);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the user's mask
    builder.tempfile_in(folder)
}

impl NewFile {
    /// Brings the file into its place. All of it must have been written, and the file closed.
    ///
    /// # Errors
    /// That of the system; and where a trace became shorter meanwhile, because what was written of it may be wrong.
    pub fn keep(self) -> anyhow::Result<()> {
        if let Some(path) = lost_pages::first_shrunk() {
            let source = io::Error::other(lost_pages::REASON);
            return Err(Error::Unreadable { path, source }.into());
        }
        match self.beside {
            Some(Beside { path, place, .. }) => path.persist(place).with_context(|| cannot_write(&self.name)),
            None => Ok(()),
        }
    }
}

/// Writes a whole file.
pub fn write(name: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let (new, mut file) = create(name)?;
    file.write_all(bytes).with_context(|| cannot_write(name))?;
    drop(file);
    new.keep()
}

/// True where a trace lies, by its name: nobody wants an answer in its place.
pub fn is_trace(output: &Path) -> bool {
    output.is_file() && output.extension().is_some_and(|name| name.eq_ignore_ascii_case("etl"))
}

/// Whether this name of an output means the same file as an input: by a link, another name of the file, as an archive with the
/// trace in it, or as the file that is standard input.
pub fn is_same_file(output: &Path, input: &Path) -> bool {
    // A pipe must not be opened: that waits for who is at its other end.
    let of_file = |path: &Path| match fs::metadata(path)?.is_file() {
        true => Handle::from_path(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    };
    let input = match input.as_os_str() == STANDARD_INPUT {
        true => Handle::stdin(),
        false => of_file(&split_member(input).0),
    };
    matches!((of_file(output), input), (Ok(output), Ok(input)) if output == input)
}
