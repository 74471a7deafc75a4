//! Of what that pages lie in nothing is known: files without names, processes without heaps, a kernel without images. A rundown of which a
//! part was lost says so nowhere else.

use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::etl::record_id::HookId;
use crate::event::hooks::{
    HEAP_RANGE_CREATE, HEAP_RANGE_DESTROY, HEAP_RANGE_RELEASE, HEAP_RANGE_RESERVE, HEAP_RANGE_RUNDOWN,
};
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::model::file_names::NameRecords;
use crate::model::snapshot::Snapshot;
use crate::trace::Trace;
use crate::trace::analysis_needs::{HEAPS, IMAGES, RESIDENT_SET, Recorded};
use crate::trace::trust::readiness::of_names;
use crate::trace::trust::warning::Warning;
use crate::units::{Nanos, PAGE_BYTES, count, counted};
use std::collections::BTreeSet;

/// Records of heap ranges.
const OF_HEAPS: [HookId; 5] =
    [HEAP_RANGE_RUNDOWN, HEAP_RANGE_CREATE, HEAP_RANGE_RESERVE, HEAP_RANGE_RELEASE, HEAP_RANGE_DESTROY];

/// Runs of pages that are looked at, each in a buffer that may have to be unpacked, and pages of each: enough for a share, and in no time
/// also where there are billions.
const RUNS: usize = 32;
const IN_RUN: u32 = 256;

/// Code of processes that have no heap range.
pub(crate) const HEAPS_MISSING: &str = "heaps_missing";

/// The same of fewer of them.
pub(crate) const SOME_HEAPS_MISSING: &str = "some_heaps_missing";

/// Code of heap ranges of a session that began after the pages were written.
pub(crate) const HEAPS_AFTER_PAGES: &str = "heaps_after_pages";

/// Code of a kernel without images.
pub(crate) const DRIVERS_UNKNOWN: &str = "drivers_unknown";

/// Code of files without names.
pub(crate) const FILES_UNNAMED: &str = "files_unnamed";

/// Code of private pages without addresses.
pub(crate) const ADDRESSES_MISSING: &str = "addresses_missing";

/// Fewer private pages can lie at one address by chance.
const FEWEST_PRIVATE: u64 = 64;

/// The same of fewer of them.
pub(crate) const SOME_UNNAMED: &str = "some_files_unnamed";

/// Fewer files tell nothing of a rundown.
const FEWEST: usize = 10;

/// What pages lie in, and what of it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KnownThings {
    files: usize,
    unnamed: usize,
    /// False where only some of the pages were looked at.
    is_all: bool,
    /// Records of names that are missing.
    records: NameRecords,
    /// Processes with regions and no heap range, and all with regions.
    heaps: (u64, u64),
    /// The same of those that run a program.
    programs: (u64, u64),
    /// From the last page to the session that alone tells of heap ranges, where that began later.
    heaps_after: Option<Nanos>,
    /// Private pages that were looked at.
    private: Private,
    /// True where no image of the kernel is known, though images were recorded.
    lacks_kernel: bool,
}

/// Private pages, and how many of them have the address of the first one, or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Private {
    pages: u64,
    first: u64,
    alike: u64,
    at_zero: u64,
}

impl Private {
    fn add(&mut self, page: &PageIdentity) {
        let address = page.u2 & !(PAGE_BYTES - 1);
        if self.pages == 0 {
            self.first = address;
        }
        self.pages += 1;
        self.alike += u64::from(address == self.first);
        self.at_zero += u64::from(address == 0);
    }

    /// That they have no address of their own, and so none of their categories is theirs. Two pages of a process never have one address.
    fn without_addresses(self) -> Option<Warning> {
        let (same, address) = if self.at_zero >= self.alike { (self.at_zero, 0) } else { (self.alike, self.first) };
        let text = format!(
            "{} of {} looked at have the address 0x{address:x}: in which region, stack, heap or view private pages lie is not known",
            count(same),
            counted(self.pages, "private page", "private pages")
        );
        let is_most = self.pages >= FEWEST_PRIVATE && same.saturating_mul(2) > self.pages;
        is_most.then(|| Warning::grave(RESIDENT_SET.name, ADDRESSES_MISSING, text).of(same))
    }
}

/// The time from the last page of a snapshot to the begin of another session, where all records of heap ranges are of that.
fn heaps_after(trace: &Trace, snapshot: &Snapshot) -> Option<Nanos> {
    let etl = trace.etl();
    let late = etl.further().filter_map(|(_, file, _)| file.header_stamp()).filter(|start| *start > snapshot.last_time);
    let start = late.min()?;
    let first = OF_HEAPS.iter().filter_map(|hook| trace.survey().kernel_span(*hook)).map(|(first, _)| first).min()?;
    let apart = etl.clock.nanos(start).0 - etl.clock.nanos(snapshot.last_time).0;
    (first >= start).then_some(Nanos(apart))
}

impl KnownThings {
    /// Of a snapshot: of all of its pages, or of some runs of them.
    pub fn look(trace: &Trace, context: &SnapshotContext<'_>, snapshot: &Snapshot) -> KnownThings {
        let missing = trace.missing(&RESIDENT_SET);
        let has = |recorded: &Recorded| !missing.iter().any(|need| need.keyword == recorded.keyword);
        let known = KnownThings {
            heaps: if has(&HEAPS) { context.heaps.all } else { (0, 0) },
            programs: if has(&HEAPS) { context.heaps.programs } else { (0, 0) },
            heaps_after: heaps_after(trace, snapshot),
            lacks_kernel: has(&IMAGES) && context.image_names.is_empty(),
            ..KnownThings::default()
        };
        let (mut keys, mut of_system, mut private) = (BTreeSet::new(), 0, Private::default());
        let is_all = snapshot.look_at_some(trace.etl(), (RUNS, IN_RUN), |pages| {
            keys.extend(pages.iter().filter(|page| page.is_file_backed()).map(|page| page.file_key()));
            let of_processes = pages.iter().filter(|page| page.page_use() == PageUse::ProcessPrivate);
            of_processes.for_each(|page| private.add(page));
            of_system += pages.iter().filter(|page| page.page_use() == PageUse::SystemPte).count();
        });
        // Pages of drivers are among them.
        let known = KnownThings { lacks_kernel: known.lacks_kernel && of_system > 0, private, ..known };
        if context.files.names.is_empty() {
            return known; // Nothing names files, which is said elsewhere.
        }
        let unnamed = keys.iter().filter(|key| context.files.index(**key).is_none()).count();
        KnownThings { files: keys.len(), unnamed, is_all, records: context.files.records, ..known }
    }

    /// What makes their names doubtful.
    pub fn warnings(self) -> impl Iterator<Item = Warning> {
        let of_names = of_names(&self.records, &RESIDENT_SET).into_iter();
        let of_addresses = self.private.without_addresses();
        of_names
            .chain(of_addresses)
            .chain(self.many_unnamed())
            .chain(self.too_few_heaps())
            .chain(self.late_heaps())
            .chain(self.no_kernel())
    }

    /// That processes without a heap are more than those that have none: each that runs a program of Windows' own kind has one, but for what
    /// begins or ends. Where nothing tells who runs a program, three run none.
    fn too_few_heaps(self) -> Option<Warning> {
        let is_more_than = |(lacking, all): (u64, u64), part: u64| lacking.saturating_mul(part) > all;
        let are_many = |some: (u64, u64), fewest: u64| some.0 >= fewest && is_more_than(some, 10);
        let is_of_all = are_many(self.heaps, 3);
        let (lacking, all) = if is_of_all { self.heaps } else { self.programs };
        let have = if lacking == 1 { "has" } else { "have" };
        let lack = format!("{} of {} processes with regions {have} no heap range", count(lacking), count(all));
        let effect = "the rundown of heap ranges is not whole, and their pages count as VirtualAlloc";
        let grave = || Warning::grave(RESIDENT_SET.name, HEAPS_MISSING, format!("{lack}: {effect}"));
        let note = || {
            Warning::note(RESIDENT_SET.name, SOME_HEAPS_MISSING, format!("{lack}: their pages count as VirtualAlloc"))
        };
        let warning = match () {
            () if is_of_all || are_many(self.programs, 2) => grave(),
            () if is_more_than(self.programs, 50) => note(),
            () => return None,
        };
        Some(warning.of(lacking))
    }

    /// That heap ranges are of another time than the pages.
    fn late_heaps(self) -> Option<Warning> {
        let after = self.heaps_after?.seconds();
        let text = format!(
            "the session of heap ranges began {after:.3} s after the page sequence: pages of heaps that were freed before count as VirtualAlloc"
        );
        Some(Warning::note(RESIDENT_SET.name, HEAPS_AFTER_PAGES, text))
    }

    /// That no image of the kernel is known: no machine runs without one.
    fn no_kernel(self) -> Option<Warning> {
        let text = "no image of the kernel is known: drivers count as SystemPage";
        self.lacks_kernel.then(|| Warning::note(RESIDENT_SET.name, DRIVERS_UNKNOWN, text.to_owned()))
    }

    /// That many have no name: more than a third of them, and numbers of files are wrong; more than an eighth, and the few pages of some categories can
    /// be. Some are always of files that no record tells.
    fn many_unnamed(self) -> Option<Warning> {
        let is_more_than = |part: usize| self.files >= FEWEST && self.unnamed.saturating_mul(part) > self.files;
        let [files, unnamed] = [self.files as u64, self.unnamed as u64];
        let of = if self.is_all { "" } else { " looked at" };
        let text = format!(
            "no record names {} of the {}{of}: their pages count as MapFile, those of registry files, of drivers and of the prefetcher too",
            count(unnamed),
            counted(files, "file", "files")
        );
        let warning = match () {
            () if is_more_than(3) => Warning::grave(RESIDENT_SET.name, FILES_UNNAMED, text),
            () if is_more_than(8) => Warning::note(RESIDENT_SET.name, SOME_UNNAMED, text),
            () => return None,
        };
        Some(warning.of(unnamed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes of 13 without heaps were not told, and budgets of VirtualAlloc failed by their heaps.
    #[test]
    fn few_processes_without_heaps_are_told() {
        let of = |programs, heaps| KnownThings { programs, heaps, ..KnownThings::default() }.too_few_heaps();
        let is_grave = |programs, heaps| of(programs, heaps).map(|warning| warning.is_grave);
        assert_eq!([(0, 0), (0, 13), (1, 50), (4, 200)].map(|programs| is_grave(programs, programs)), [None; 4]);
        assert_eq!([(1, 13), (2, 20), (5, 200)].map(|programs| is_grave(programs, programs)), [Some(false); 3]);
        assert_eq!([(2, 13), (3, 13)].map(|programs| is_grave(programs, programs)), [Some(true); 2]);
        // Two that run no program, and three of which nothing is known.
        assert_eq!([is_grave((0, 11), (2, 13)), is_grave((0, 0), (3, 13))], [None, Some(true)]);
    }

    #[test]
    fn some_files_without_names_are_usual() {
        let of = |unnamed, files| KnownThings { files, unnamed, ..KnownThings::default() }.many_unnamed();
        assert!([of(0, 0), of(9, 9), of(3, 30), of(0, 1000)].iter().all(Option::is_none));
        assert!([of(4, 30), of(10, 30)].iter().flatten().filter(|warning| !warning.is_grave).count() == 2);
        assert!(of(11, 30).is_some_and(|warning| warning.is_grave && warning.text.contains("11 of the 30 files")));
    }
}
