//! `--symbols` and the variable `_NT_SYMBOL_PATH`: folders with symbol files. Servers in the variable are named, never asked.

use crate::cli::host_call::Call;
use crate::cli::messages;
use crate::error::Error;
use crate::symbols::folders::{SourceRoot, SymbolFolders};
use crate::symbols::source_lines::SourceChoice;
use clap::Args;
use std::path::{Path, PathBuf};

/// The variable that debuggers read.
const VARIABLE: &str = "_NT_SYMBOL_PATH";

/// Why the flag is refused where no rows and no conditions name functions.
pub const NAMES_FUNCTIONS: &str =
    "names functions: it is for rows or conditions by stack, function or module, as in --group-by function";

/// Flags of commands that name functions.
#[derive(Debug, Args)]
pub struct SymbolArgs {
    /// A folder with symbol files (PDB), flat or as symbol servers lay them out; repeatable. After them come the folders of
    /// _NT_SYMBOL_PATH
    #[arg(long, value_name = "DIR")]
    pub symbols: Vec<PathBuf>,
}

/// What symbol files say of functions beside their names.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Functions with the lines of their source files, as the symbol files tell them: a row for each line
    #[arg(long)]
    pub lines: bool,
    /// Inlined functions as frames of their own, as the symbol files tell them
    #[arg(long)]
    pub inlines: bool,
    /// With --lines, paths of source files that begin with FROM begin with TO instead; repeatable
    #[arg(long, value_name = "FROM=TO", requires = "lines", value_parser = source_root)]
    pub source_root: Vec<SourceRoot>,
}

/// Reads `FROM=TO`.
fn source_root(text: &str) -> Result<SourceRoot, String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() => Ok(SourceRoot::new(from.to_owned(), to.to_owned())),
        _ => Err("write FROM=TO, as in D:\\a\\1\\s=/home/me/app".to_owned()),
    }
}

impl SymbolArgs {
    /// All folders, in the order of the search.
    ///
    /// # Errors
    /// A usage error for a folder that is none, and for an output over a symbol file in them.
    pub fn folders(&self, quiet: bool, output: Option<&Path>) -> Result<SymbolFolders, Error> {
        if let Some(none) = self.symbols.iter().find(|path| !path.is_dir()) {
            return Err(Error::Usage(format!("--symbols {}: there is no such folder", none.display())));
        }
        let mut folders = self.symbols.clone();
        let places = std::env::var(VARIABLE).map(|value| Places::read(&value)).unwrap_or_default();
        let (found, absent): (Vec<_>, Vec<_>) = places.folders.into_iter().partition(|folder| folder.is_dir());
        folders.extend(found);
        if !quiet && !absent.is_empty() {
            let absent: Vec<String> = absent.iter().map(|folder| folder.display().to_string()).collect();
            messages::write(&format!("no folders, though {VARIABLE} names them: {}", absent.join(", ")));
        }
        if !quiet && !places.servers.is_empty() {
            messages::write(&format!("symbol servers of {VARIABLE} are not asked: {}", places.servers.join(", ")));
        }
        output.map_or(Ok(()), |output| spare("-o", output, &folders))?;
        let mut seen = Vec::new();
        folders.retain(|folder| {
            !seen.contains(folder) && {
                seen.push(folder.clone());
                true
            }
        });
        Ok(SymbolFolders { folders, copied: Call::current().is_some(), ..SymbolFolders::default() })
    }

    /// For a file that a flag other than `-o` names, before anything is written or removed.
    ///
    /// # Errors
    /// A usage error for one that is a symbol file in the folders.
    pub fn spare(&self, flag: &str, path: &Path) -> Result<(), Error> {
        let named = std::env::var(VARIABLE).map(|value| Places::read(&value)).unwrap_or_default().folders;
        spare(flag, path, &[self.symbols.as_slice(), &named].concat())
    }
}

impl SourceArgs {
    /// Asks the folders for lines and inlined functions.
    ///
    /// # Errors
    /// A usage error where there are no folders.
    pub fn ask(&self, folders: SymbolFolders) -> Result<SymbolFolders, Error> {
        let flag = if self.lines { "--lines" } else { "--inlines" };
        let sources = SourceChoice { lines: self.lines, inlined: self.inlines };
        if sources.any() && folders.folders.is_empty() {
            return Err(Error::Usage(format!("{flag}: symbol files tell it; name their folder with --symbols")));
        }
        Ok(SymbolFolders { sources, roots: self.source_root.clone(), ..folders })
    }
}

fn spare(flag: &str, path: &Path, folders: &[PathBuf]) -> Result<(), Error> {
    match is_symbol_file(path, folders) {
        true => Err(Error::Usage(format!("{flag} {} is a symbol file; name another file", path.display()))),
        false => Ok(()),
    }
}

/// True for a file in one of the folders that a search would open.
fn is_symbol_file(output: &Path, folders: &[PathBuf]) -> bool {
    let is_pdb = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdb"));
    let lies_in = |file: &Path| {
        folders.iter().filter_map(|folder| folder.canonicalize().ok()).any(|folder| file.starts_with(folder))
    };
    is_pdb && output.is_file() && output.canonicalize().is_ok_and(|file| lies_in(&file))
}

/// What the variable names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Places {
    folders: Vec<PathBuf>,
    servers: Vec<String>,
}

impl Places {
    /// Elements stand between `;`: a folder, `srv*CACHE*SERVER`, `symsrv*DLL*CACHE*SERVER`, `cache*CACHE`.
    fn read(text: &str) -> Places {
        let mut places = Places::default();
        for element in text.split(';') {
            let parts: Vec<&str> = element.split('*').map(str::trim).collect();
            let kind = parts.first().map(|first| first.to_ascii_lowercase());
            let skipped = match kind.as_deref().filter(|_| parts.len() > 1) {
                Some("srv" | "cache") => 1,
                Some("symsrv") => 2,
                _ => 0,
            };
            for part in parts.into_iter().skip(skipped).filter(|part| !part.is_empty()) {
                match is_on_network(part) {
                    true => places.servers.push(part.to_owned()),
                    false => places.folders.push(PathBuf::from(part)),
                }
            }
        }
        places
    }
}

/// URLs, and shares of other machines.
fn is_on_network(part: &str) -> bool {
    let is_share = part.starts_with(r"\\") && !part.starts_with(r"\\?\") && !part.starts_with(r"\\.\");
    is_share || part.contains("://") || part.to_ascii_lowercase().starts_with(r"\\?\unc\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_folders_and_servers() {
        let places = Places::read(
            r"srv*C:\sym*https://msdl.microsoft.com/download/symbols; D:\build ;cache*E:\cache;symsrv*symsrv.dll*F:\s*\\build\symbols;;srv*",
        );
        assert_eq!(places.folders, [r"C:\sym", r"D:\build", r"E:\cache", r"F:\s"].map(PathBuf::from));
        assert_eq!(places.servers, ["https://msdl.microsoft.com/download/symbols", r"\\build\symbols"]);
        assert!(is_on_network(r"\\?\UNC\build\s") && !is_on_network(r"\\?\C:\s"));
        assert_eq!(Places::read(""), Places::default());
    }
}
