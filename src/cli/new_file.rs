//! A file that the user named for output. It is written beside its place and comes there when it is complete: an error, a full
//! disk or a trace that shrinks leaves the file as it was, and no part of a new one.
//!
//! Pipes and devices are written as they are.

use crate::input::{STANDARD_INPUT, Unfinished, split_member};
use anyhow::Context;
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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
    let (file, path) = new_beside(place.parent().unwrap_or(&place))?.into_parts();
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

fn new_beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pfnset-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the user's mask
    builder.tempfile_in(folder)
}

impl NewFile {
    /// Brings the file into its place. All of it must have been written, and the file closed.
    pub fn keep(self) -> anyhow::Result<()> {
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
