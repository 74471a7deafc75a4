//! Of how many files of the pages the names are known. A rundown of file names of which a part was lost says so nowhere else.

use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::etl::EtlFile;
use crate::model::file_names::NameRecords;
use crate::model::snapshot::Snapshot;
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::trust::readiness::of_names;
use crate::trace::trust::warning::Warning;
use crate::units::{count, counted};
use std::collections::BTreeSet;

/// Runs of pages that are looked at, each in a buffer that may have to be unpacked, and pages of each: enough for a share, and in no time
/// also where there are billions.
const RUNS: usize = 32;
const IN_RUN: u32 = 256;

/// Fewer files tell nothing of a rundown.
const FEWEST: usize = 10;

/// Files of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NamedFiles {
    files: usize,
    unnamed: usize,
    /// False where only some of the pages were looked at.
    is_all: bool,
    /// Records of names that are missing.
    records: NameRecords,
}

impl NamedFiles {
    /// Of a snapshot: of all of its pages, or of some runs of them.
    pub fn look(etl: &EtlFile, context: &SnapshotContext<'_>, snapshot: &Snapshot) -> NamedFiles {
        let mut keys = BTreeSet::new();
        snapshot.look_at_some(etl, RUNS, IN_RUN, |pages| {
            keys.extend(pages.iter().filter(|page| page.is_file_backed()).map(|page| page.file_key()));
        });
        let is_all = snapshot.pages <= RUNS as u64 * u64::from(IN_RUN);
        let unnamed = keys.iter().filter(|key| context.files.index(**key).is_none()).count();
        NamedFiles { files: keys.len(), unnamed, is_all, records: context.files.records }
    }

    /// What makes their names doubtful.
    pub fn warnings(self) -> impl Iterator<Item = Warning> {
        of_names(&self.records, &RESIDENT_SET).into_iter().chain(self.too_many_unnamed())
    }

    /// That too many have no name: more than a third of them. Some are always of files that no record tells.
    fn too_many_unnamed(self) -> Option<Warning> {
        let is_too_many = self.files >= FEWEST && self.unnamed.saturating_mul(3) > self.files;
        let [files, unnamed] = [self.files as u64, self.unnamed as u64];
        let of = if self.is_all { "" } else { " looked at" };
        let text = format!(
            "no record names {} of the {}{of}: their pages count as MapFile, those of registry files, of drivers and of the prefetcher too",
            count(unnamed),
            counted(files, "file", "files")
        );
        is_too_many.then(|| Warning::grave(RESIDENT_SET.name, "files_unnamed", text).of(unnamed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_files_without_names_are_usual() {
        let of = |unnamed, files| NamedFiles { files, unnamed, ..NamedFiles::default() }.too_many_unnamed();
        assert!([of(0, 0), of(9, 9), of(10, 30), of(0, 1000)].iter().all(Option::is_none));
        assert!(of(11, 30).is_some_and(|warning| warning.is_grave && warning.text.contains("11 of the 30 files")));
    }
}
