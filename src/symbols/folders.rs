//! Folders with databases, as debuggers and symbol servers lay them out.
//!
//! In each folder, in order: `NAME/GUIDAGE/NAME`; where it has an `index2.txt`, `na/NAME/GUIDAGE/NAME` with the first two letters; `NAME`.
//! Names are compared without case. Names come from traces: they are only compared with what a folder lists, never joined to a path.

use super::database::{Database, Functions, Unfit};
use super::source_lines::SourceChoice;
use super::{PdbId, PdbSearch};
use crate::input::map::Mapping;
use foldhash::HashMap as FastMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Entries of a folder that are looked at. The largest symbol servers have some hundred thousand.
const MOST_ENTRIES: usize = 4_000_000;

/// Paths by their names in lower case.
type Listing = FastMap<String, Vec<PathBuf>>;

/// Largest database that is read instead of mapped, bytes.
const MOST_COPIED: u64 = 2 << 30;

/// A beginning of paths of source files, and what stands for it instead. Copies share the note of whether it was used.
#[derive(Debug, Clone)]
pub struct SourceRoot {
    from: String,
    to: String,
    is_used: Arc<AtomicBool>,
}

impl SourceRoot {
    /// Paths that begin with `from` begin with `to` instead.
    pub fn new(from: String, to: String) -> SourceRoot {
        SourceRoot { from, to, is_used: Arc::default() }
    }

    /// As the user wrote it.
    pub fn text(&self) -> String {
        format!("{}={}", self.from, self.to)
    }

    /// True when a path was changed by it.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// What follows in a path that begins with it. `/` and `\` are the same, and so are letters of both cases.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b) || matches!((a, b), (b'/', b'\\') | (b'\\', b'/'));
        let (begin, rest) = path.split_at_checked(self.from.len())?;
        let fits = begin.bytes().zip(self.from.bytes()).all(|(a, b)| same(a, b));
        // Whole names only.
        let ends = self.from.ends_with(['/', '\\']) || rest.is_empty() || rest.starts_with(['/', '\\']);
        (fits && ends).then_some(rest)
    }
}

impl PartialEq for SourceRoot {
    fn eq(&self, other: &SourceRoot) -> bool {
        (&self.from, &self.to) == (&other.from, &other.to)
    }
}

impl Eq for SourceRoot {}

/// Folders in which databases are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolFolders {
    /// In the order of the search.
    pub folders: Vec<PathBuf>,
    /// True where databases are read instead of mapped: a mapped file that shrinks ends a program without a handler for that.
    pub copied: bool,
    /// What is wanted of functions beside their names.
    pub sources: SourceChoice,
    /// Beginnings of paths of source files, and what stands for them instead; the first that fits counts.
    pub roots: Vec<SourceRoot>,
}

/// The same, with what they list.
#[derive(Debug)]
pub struct ListedFolders {
    folders: Vec<Folder>,
    copied: bool,
    sources: SourceChoice,
    /// Files that did not fit, folders that cannot be read.
    pub warnings: Vec<String>,
}

#[derive(Debug)]
struct Folder {
    names: Listing,
    has_letters: bool,
}

/// Functions of one image.
#[derive(Debug)]
pub struct Answer {
    /// Which file it is.
    pub search: PdbSearch,
    /// What it says.
    pub functions: Functions,
}

impl SymbolFolders {
    /// Lists the folders.
    pub fn list(&self) -> ListedFolders {
        let mut warnings = Vec::new();
        let folders = self.folders.iter().filter_map(|path| match listing(path) {
            Ok(names) => Some(Folder { has_letters: names.contains_key("index2.txt"), names }),
            Err(error) => {
                warnings.push(format!("symbols: cannot read {}: {error}", path.display()));
                None
            }
        });
        let folders = folders.collect();
        ListedFolders { folders, copied: self.copied, sources: self.sources, warnings }
    }

    /// The path of a source file, with its beginning as the user has it.
    pub fn path(&self, path: &str) -> String {
        let found = self.roots.iter().find_map(|root| Some((root, root.rest(path)?)));
        let Some((root, rest)) = found else { return path.to_owned() };
        root.is_used.store(true, Ordering::Relaxed);
        let rest = if root.to.contains('/') { rest.replace('\\', "/") } else { rest.to_owned() };
        format!("{}{rest}", root.to)
    }
}

impl ListedFolders {
    /// How many could be read.
    pub fn count(&self) -> usize {
        self.folders.len()
    }

    /// The functions that hold these addresses of the image of a database. Each file is opened once.
    pub fn functions(&mut self, id: &PdbId, addresses: &[u32]) -> Answer {
        let candidates: Vec<PathBuf> = self.folders.iter().flat_map(|folder| folder.candidates(id)).collect();
        for path in candidates {
            match read(&path, (self.copied, self.sources), id, addresses) {
                Ok(functions) => {
                    if let Some(damage) = &functions.damage {
                        self.warnings.push(format!("{}: {damage}; functions may lack names", path.display()));
                    }
                    return Answer { search: PdbSearch::Found(path), functions };
                }
                Err(unfit) => {
                    self.warnings.push(format!("{}: {unfit}; looked for {} {}", path.display(), id.name, id.key()))
                }
            }
        }
        Answer { search: PdbSearch::NotFound { folders: self.count() }, functions: Functions::default() }
    }
}

/// Why a file gives no names.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("{0}")]
    Unfit(Unfit),
    #[error("cannot read it: {0}")]
    Io(std::io::Error),
    #[error("it is compressed (.pd_), which is not read; `expand` of Windows unpacks it")]
    Compressed,
}

struct Mapped(Mapping);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// The bytes of a file, in memory.
fn copied(path: &Path) -> io::Result<Vec<u8>> {
    let is_too_large = || io::Error::other("it is too large to be read into memory");
    let size = Some(Mapping::check(path)?).filter(|size| *size <= MOST_COPIED).ok_or_else(is_too_large)?;
    // It may have grown since.
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize).map_err(io::Error::other)?;
    File::open(path)?.take(MOST_COPIED).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read(
    path: &Path,
    (is_copied, sources): (bool, SourceChoice),
    id: &PdbId,
    addresses: &[u32],
) -> Result<Functions, Unread> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pd_")) {
        return Err(Unread::Compressed);
    }
    let mut database = match is_copied {
        true => Database::open(Arc::new(copied(path).map_err(Unread::Io)?)),
        false => Database::open(Arc::new(Mapped(Mapping::open(path).map_err(Unread::Io)?))),
    }
    .map_err(Unread::Unfit)?;
    database.fits(id).map_err(Unread::Unfit)?;
    Ok(database.functions(addresses, sources))
}

impl Folder {
    /// Files that may be this database, in the order of the search.
    fn candidates(&self, id: &PdbId) -> Vec<PathBuf> {
        let name = id.name.to_lowercase();
        let key = id.key().to_lowercase();
        let mut files = Vec::new();
        let below = |names: &Listing, files: &mut Vec<PathBuf>| {
            for folder in named(names, &name).filter(|path| path.is_dir()) {
                for with_key in entries(folder, &key) {
                    files.extend(database_in(&listing(&with_key).unwrap_or_default(), &name));
                }
            }
        };
        below(&self.names, &mut files);
        if self.has_letters
            && let Some((letters, _)) = name.char_indices().nth(2).map(|(end, _)| name.split_at(end))
        {
            for folder in named(&self.names, letters).filter(|path| path.is_dir()) {
                below(&listing(folder).unwrap_or_default(), &mut files);
            }
        }
        files.extend(database_in(&self.names, &name));
        files
    }
}

/// The file of this name in a folder; where there is none, its compressed form.
fn database_in(names: &Listing, name: &str) -> Vec<PathBuf> {
    let file = |path: &&PathBuf| !path.is_dir();
    let plain: Vec<PathBuf> = named(names, name).filter(file).cloned().collect();
    if !plain.is_empty() {
        return plain;
    }
    let compressed = name.strip_suffix(".pdb").map(|stem| format!("{stem}.pd_")).unwrap_or_default();
    named(names, &compressed).filter(file).cloned().collect()
}

fn named<'l>(names: &'l Listing, name: &str) -> impl Iterator<Item = &'l PathBuf> {
    names.get(name).into_iter().flatten()
}

/// What a folder has of this name, whatever the case.
fn entries(folder: &Path, name: &str) -> Vec<PathBuf> {
    listing(folder).ok().and_then(|mut names| names.remove(name)).unwrap_or_default()
}

fn listing(folder: &Path) -> std::io::Result<Listing> {
    let mut names = Listing::default();
    for entry in std::fs::read_dir(folder)?.take(MOST_ENTRIES).flatten() {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        names.entry(name).or_default().push(entry.path());
    }
    // The system lists in any order; two names that differ in case only come in the same order each time.
    names.values_mut().for_each(|paths| paths.sort_unstable());
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_sources_begin_as_the_user_has_them() {
        let roots = [(r"d:\a\1\s", "/home/me/app"), (r"D:\a", r"E:\b"), ("c:/x/", "y/")];
        let roots = roots.map(|(from, to)| SourceRoot::new(from.to_owned(), to.to_owned())).to_vec();
        let folders = SymbolFolders { roots, ..SymbolFolders::default() };
        for (path, mapped) in [
            (r"D:\A\1\s\src\main.cpp", "/home/me/app/src/main.cpp"),
            (r"d:\a\1\sub\x.c", r"E:\b\1\sub\x.c"),
            (r"C:\x\z.c", "y/z.c"),
            (r"d:\ab\x.c", r"d:\ab\x.c"),
            ("", ""),
        ] {
            assert_eq!(folders.path(path), mapped);
        }
        assert!(folders.roots.iter().all(SourceRoot::is_used));
        let unused = SourceRoot::new("nosuch".to_owned(), "/x".to_owned());
        let folders = SymbolFolders { roots: vec![unused], ..SymbolFolders::default() };
        assert_eq!(folders.path(r"C:\x\z.c"), r"C:\x\z.c");
        assert!(!folders.roots[0].is_used());
    }
}
