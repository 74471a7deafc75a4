//! Which databases frames want, and which of them were found.

use super::frame_names::{FrameKind, Names};
use super::frame_sums::occurrences;
use crate::load::stacks::frame_trie::PathId;
use crate::symbols::folders::SymbolFolders;
use crate::symbols::{PdbId, PdbSearch};
use std::collections::BTreeMap;

/// An image of frames, with its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolUse {
    /// File name of the image.
    pub module: String,
    /// The database that it names; `None` where the trace does not say, because it was not merged.
    pub pdb: Option<PdbId>,
    /// Frames in the image, those in methods of .NET not among them.
    pub frames: u64,
    /// Those that have the name of a function.
    pub named: u64,
    /// What became of the search; `None` without a database.
    pub search: Option<PdbSearch>,
}

/// Looks for all databases that frames want, and takes their functions. By database, what became of the search; and the warnings.
pub(super) fn read(names: &mut Names, folders: &SymbolFolders) -> (Vec<PdbSearch>, Vec<String>) {
    let mut listed = folders.list();
    let mut addresses: Vec<Vec<u32>> = vec![Vec::new(); names.pdbs.len()];
    for (pdb, rva) in names.places() {
        addresses.get_mut(*pdb as usize).into_iter().for_each(|all| all.push(*rva));
    }
    let mut searches = Vec::new();
    for (number, addresses) in (0u32..).zip(addresses) {
        let wanted = names.pdbs.get(number as usize).filter(|_| !addresses.is_empty() && listed.count() > 0).cloned();
        let Some(id) = wanted else {
            searches.push(PdbSearch::NotFound { folders: listed.count() });
            continue;
        };
        let answer = listed.functions(&id, &addresses);
        names.take_functions(number, &answer.functions, |path| folders.path(path));
        searches.push(answer.search);
    }
    names.inline();
    (searches, listed.warnings)
}

/// The images of these lists of frames, each of which occurs so many times; those with most frames without a name first.
pub(super) fn uses(
    names: &Names,
    lists: impl Iterator<Item = (PathId, u64)>,
    searches: &[PdbSearch],
) -> Vec<SymbolUse> {
    let mut images: BTreeMap<(&str, Option<u32>), (u64, u64)> = BTreeMap::new();
    for (number, times) in (0u32..).zip(occurrences(names, lists)).filter(|(_, times)| *times > 0) {
        let label = names.frame(number);
        let kind = names.kind(label);
        if let (Some(module), Some(FrameKind::Module | FrameKind::Symbol)) = (names.module(label), kind) {
            let (frames, named) = images.entry((module, names.pdb(label))).or_default();
            *frames += times;
            *named += if kind == Some(FrameKind::Symbol) { times } else { 0 };
        }
    }
    let of_image = |((module, pdb), (frames, named)): ((&str, Option<u32>), (u64, u64))| SymbolUse {
        module: module.to_owned(),
        pdb: pdb.and_then(|pdb| names.pdbs.get(pdb as usize)).cloned(),
        frames,
        named,
        search: pdb.and_then(|pdb| searches.get(pdb as usize)).cloned(),
    };
    let mut uses: Vec<SymbolUse> = images.into_iter().map(of_image).collect();
    uses.sort_by_key(|one| std::cmp::Reverse((one.frames - one.named, one.frames)));
    uses
}
