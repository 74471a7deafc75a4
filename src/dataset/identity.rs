//! A trace's name in the dataset, from the digest of its file.

use crate::analysis::export::TraceFile;
use crate::input::{STANDARD_INPUT, split_member};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Hexadecimal digits of a digest in the name of a trace, after a letter: without it, engines could take the name for a
/// number.
const ID_DIGITS: usize = 20;

/// The name of a trace in a dataset: `t` and 20 lower-case hexadecimal digits. It is a part of paths, so nothing else is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceId(String);

impl From<TraceId> for String {
    fn from(id: TraceId) -> String {
        id.0
    }
}

impl TryFrom<String> for TraceId {
    type Error = String;

    fn try_from(name: String) -> Result<TraceId, String> {
        TraceId::parse(&name).ok_or_else(|| format!("\"{name}\" names no trace"))
    }
}

impl TraceId {
    /// A name that somebody wrote; `None` for any other text.
    pub fn parse(name: &str) -> Option<TraceId> {
        let digits = name.strip_prefix('t')?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == ID_DIGITS && digits.bytes().all(is_digit)).then(|| TraceId(name.to_owned()))
    }

    /// The name of a trace whose digest this is.
    fn of(digest: &str) -> TraceId {
        TraceId(format!("t{}", digest.get(..ID_DIGITS).unwrap_or(digest)))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file, and its size; of standard input, that of `streamed`.
fn digest(path: &Path, streamed: Option<&[u8]>) -> io::Result<(Sha256, u64)> {
    if path.as_os_str() == STANDARD_INPUT {
        let bytes = streamed.ok_or_else(|| io::Error::other("standard input was not read"))?;
        return Ok((Sha256::new_with_prefix(bytes), bytes.len() as u64));
    }
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let (mut hasher, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok((hasher, bytes));
        }
        hasher.update(piece.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
}

/// The name of one file, and what is known of it. Of a trace in an archive of several, its name there counts too; a file that
/// cannot be read is known by `shown`, its name in the dataset: where it is a copy, its path is another one each time.
fn of_one(path: &Path, shown: String, version: &str, streamed: Option<&[u8]>) -> (TraceId, TraceFile) {
    let file = TraceFile { file: shown.clone(), digest: None, bytes: None, program_version: version.to_owned() };
    let (archive, member) = split_member(path);
    match digest(&archive, streamed) {
        Ok((hasher, bytes)) => {
            let of_file = hex(hasher.clone().finalize());
            let id = match &member {
                None => TraceId::of(&of_file),
                Some(member) => TraceId::of(&hex(hasher.chain_update("!").chain_update(member).finalize())),
            };
            (id, TraceFile { digest: Some(of_file), bytes: Some(bytes), ..file })
        }
        Err(_) => (TraceId::of(&hex(Sha256::digest(shown.as_bytes()))), file),
    }
}

/// A recording as a dataset knows it.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its name.
    pub id: TraceId,
    /// What is known of its first file.
    pub file: TraceFile,
    /// The names that its files have as traces of their own.
    pub files: Vec<TraceId>,
}

/// The name of a recording, from all of its files in this order, and what is known of the first. `shown`: a file's name in the dataset. `streamed` is
/// the trace that came by standard input, unpacked.
pub fn identify(
    path: &Path,
    further: &[PathBuf],
    shown: impl Fn(&Path) -> String,
    version: &str,
    streamed: Option<&[u8]>,
) -> Identity {
    let (id, file) = of_one(path, shown(path), version, streamed);
    if further.is_empty() {
        return Identity { files: vec![id.clone()], id, file };
    }
    let ids: Vec<TraceId> = further.iter().map(|path| of_one(path, shown(path), version, streamed).0).collect();
    let all =
        ids.iter().fold(Sha256::new_with_prefix(&id.0), |hasher, id| hasher.chain_update("+").chain_update(&id.0));
    let name = TraceId::of(&hex(all.finalize()));
    Identity { id: name, file, files: [vec![id], ids].concat() }
}

/// True where two recordings, each of a file and those beside it, consist of the same bytes, whatever the order of the files.
pub fn is_copy(one: (&Path, &[PathBuf]), other: (&Path, &[PathBuf])) -> bool {
    let of = |(path, further): (&Path, &[PathBuf])| {
        let files = std::iter::once(path).chain(further.iter().map(PathBuf::as_path));
        let mut ids: Vec<TraceId> = files.map(|path| of_one(path, path.display().to_string(), "", None).0).collect();
        ids.sort_unstable();
        ids
    };
    of(one) == of(other)
}

/// A digest of these names.
pub fn digest_of<'n>(names: impl Iterator<Item = &'n [u8]>) -> String {
    let all = names
        .fold(Sha256::new(), |hasher, name| hasher.chain_update((name.len() as u64).to_le_bytes()).chain_update(name));
    hex(all.finalize())
}

/// The machine's name as a digest: the same machine has the same one, and who does not know the name learns nothing.
pub fn pseudonym(name: &str) -> String {
    let digest = hex(Sha256::digest(name.as_bytes()));
    format!("m{}", digest.get(..12).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_letter_and_digits_name_a_trace() {
        let id = TraceId::of(&hex(Sha256::digest("x")));
        assert_eq!(TraceId::parse(&id.to_string()), Some(id.clone()));
        let upper = id.to_string().to_uppercase();
        for name in
            ["", "t", "x/../../y", "t0123456789abcdef012", "t0123456789abcdef01234", "t0123456789abcdef/../", &upper]
        {
            assert_eq!(TraceId::parse(name), None, "{name}");
        }
    }
}
