//! The context of a snapshot: everything that its pages are joined with, as it was at the snapshot's time.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::commit_stacks::{CommitStacks, CommittedPages};
use crate::analysis::resident::ranges_by_address::RangesByAddress;
use crate::event::file_name_and_view::ViewKind;
use crate::event::pool::PoolTag;
use crate::load::owned_events::KernelBlock;
use crate::load::space_events::SpaceReader;
use crate::load::trace_parts::Parts;
use crate::model::address_index::{AddressIndex, Leaves};
use crate::model::address_space::AddressSpace;
use crate::model::address_space_at::{Contradiction, space_at};
use crate::model::drive_paths::DrivePaths;
use crate::model::file_names::FileNamesAt;
use crate::model::flat_ranges::FlatRanges;
use crate::model::kernel_space::KernelSpace;
use crate::model::pool_tags::PoolTags;
use crate::model::process::{Instance, Processes};
use crate::model::process_timeline::{OwnersAt, ProcessTimeline};
use crate::model::registry_hives::Hives;
use crate::model::services::Services;
use crate::model::snapshot::Snapshot;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::PointerSize;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The rules for the pages of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRules {
    /// For data pages, corrected.
    pub data: Rule,
    /// For data pages, WPA's.
    pub data_wpa: Rule,
    /// For metafile pages, WPA's.
    pub meta_wpa: Rule,
}

impl FileRules {
    /// The rules for most files, and for files without a name.
    pub const PLAIN: FileRules = FileRules { data: Rule::DataFile, data_wpa: Rule::DataFile, meta_wpa: Rule::Metafile };
}

/// Files whose rules are not [`FileRules::PLAIN`]. They are few, but every file page asks for its file. A bit array answers
/// most of these questions without the slower map.
#[derive(Debug)]
pub struct SpecialFiles {
    by_key: FastMap<u64, FileRules>,
    /// A bit for each hash of a key; set where a file has it.
    filter: Box<[u64; SpecialFiles::WORDS]>,
}

impl SpecialFiles {
    /// The filter takes a quarter of a first-level cache at most.
    const WORDS: usize = 1024;

    fn new(by_key: FastMap<u64, FileRules>) -> SpecialFiles {
        let mut filter = Box::new([0; SpecialFiles::WORDS]);
        for &key in by_key.keys() {
            let (word, bit) = SpecialFiles::bit(key);
            filter[word] |= 1 << bit;
        }
        SpecialFiles { by_key, filter }
    }

    /// Word and bit of a key in the filter. If a hostile trace fills the filter, look-ups are as slow as the map, not slower.
    #[inline(always)]
    const fn bit(key: u64) -> (usize, u32) {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        (hash as usize / 64 % SpecialFiles::WORDS, hash as u32 % 64)
    }

    /// The rules for the pages of a file, if it is special.
    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<FileRules> {
        let (word, bit) = SpecialFiles::bit(key);
        if self.filter[word] >> bit & 1 == 0 { None } else { self.by_key.get(&key).copied() }
    }
}

/// Which processes with regions have no heap range.
#[derive(Debug, Default)]
pub struct HeapsOfProcesses {
    /// Processes with regions and no heap range, and all with regions.
    pub all: (u64, u64),
    /// The same of those that run a program.
    pub programs: (u64, u64),
    /// Instances of programs with regions and no heap range.
    pub without: BTreeSet<u32>,
}

/// What is known of the space of a process.
#[derive(Debug, Clone, Copy, Default)]
struct SpaceParts {
    has_regions: bool,
    has_heap: bool,
    /// True where it runs a program of Windows' own kind, which has a heap: memory compression and the registry map no image, and System
    /// runs none of those that it maps.
    runs_program: bool,
}

impl SpaceParts {
    fn of(space: &AddressSpace, process: &Instance) -> SpaceParts {
        let is_image = |kind| matches!(kind, ViewKind::Image | ViewKind::ImageOtherProtection);
        let has_image = || space.views.iter().any(|(.., view)| is_image(view.kind));
        SpaceParts {
            has_regions: !space.regions.is_empty(),
            has_heap: !space.heaps.is_empty(),
            runs_program: process.process_id > SYSTEM_PROCESS && has_image(),
        }
    }
}

impl HeapsOfProcesses {
    fn of(all: impl Iterator<Item = SpaceParts>) -> HeapsOfProcesses {
        let mut heaps = HeapsOfProcesses::default();
        for (instance, process) in (0..).zip(all).filter(|(_, process)| process.has_regions) {
            let counts = [Some(&mut heaps.all), process.runs_program.then_some(&mut heaps.programs)];
            for (without, all) in counts.into_iter().flatten() {
                *without += u64::from(!process.has_heap);
                *all += 1;
            }
            if process.runs_program && !process.has_heap {
                heaps.without.insert(instance);
            }
        }
        heaps
    }
}

/// Id of the process System.
const SYSTEM_PROCESS: u32 = 4;

/// Everything that the pages of one snapshot are joined with.
#[derive(Debug)]
pub struct SnapshotContext<'h> {
    /// The time of the snapshot.
    pub moment: Moment,
    /// Pointer size of its page records.
    pub pointer: PointerSize,
    /// All process instances of the trace.
    pub processes: &'h Processes,
    /// Those alive, by owner key.
    pub owners: OwnersAt,
    /// True when AWE and large pages have owner keys (event version 4).
    pub owned_large_pages: bool,
    /// Address spaces by instance index; empty for instances that were not alive.
    pub spaces: AddressIndex,
    /// File names.
    pub files: FileNamesAt<'h>,
    /// By file key, for the few files that are not [`FileRules::PLAIN`].
    pub special_files: SpecialFiles,
    /// Paths as users know them.
    pub drive_paths: DrivePaths,
    /// Services of the processes.
    pub services: Services,
    /// Drivers, session images, PFN database.
    pub kernel: KernelSpace<'h>,
    /// Paths of the kernel's images, by index; `images` holds them by page.
    pub image_names: Vec<&'h str>,
    images: RangesByAddress<u32>,
    session_images: RangesByAddress<u64>,
    pool: RangesByAddress<PoolTag>,
    /// False where the trace has no record of the pool: then no page has a tag that is known.
    has_pool_records: bool,
    pfn_database: RangesByAddress<()>,
    /// What pool tags stand for.
    pub(crate) pool_tags: PoolTags,
    /// Processes that have regions and no heap range.
    pub heaps: HeapsOfProcesses,
    /// Ranges and threads on which events and end rundown disagree, with the process.
    pub contradictions: Vec<(u32, Contradiction)>,
    /// Who committed what, where stacks are asked for.
    pub(crate) committed: Option<CommittedPages<'h>>,
}

impl<'h> SnapshotContext<'h> {
    /// What it is made of.
    pub const PARTS: Parts = Parts::SYSTEM.and(Parts::SPACES).and(Parts::FILES).and(Parts::PAGES);

    /// Builds the state at the snapshot's time: process by process, in parallel.
    pub fn new(trace: &'h Trace, snapshot: &Snapshot) -> SnapshotContext<'h> {
        trace.gather(SnapshotContext::PARTS);
        let (etl, system, events) = (trace.etl(), trace.system(), trace.spaces());
        let (file_names, hives, moment) = (&trace.files().names, trace.hives(), snapshot.first);
        let (processes, rundowns) = rayon::join(|| trace.processes(), || trace.rundowns());
        let reading = trace.owner_keys().reading(snapshot.version, snapshot.pointer);
        let spaces = || -> Vec<(Leaves, Vec<Contradiction>, SpaceParts)> {
            let space = |reader: &mut SpaceReader, process: &Instance| {
                let events = events.by_process_id.get(&process.process_id).filter(|_| process.is_alive(moment))?;
                let state = space_at(events.read(etl, reader), process, moment, rundowns);
                let parts = SpaceParts::of(&state.space, process);
                Some((Leaves::new(FlatRanges::new(&state.space)), state.contradictions, parts))
            };
            let spaces = processes.instances.par_iter().map_init(SpaceReader::default, space);
            spaces.map(Option::unwrap_or_default).collect()
        };
        let names = || {
            let files = FileNamesAt::new(file_names, moment);
            let rules: Vec<FileRules> = files.names.par_iter().map(|name| file_rules(name, hives)).collect();
            let rule_of = |name: u32| rules.get(name as usize).copied().filter(|rules| *rules != FileRules::PLAIN);
            let special = files.keys().filter_map(|(key, name)| Some((key, rule_of(name)?))).collect();
            (files, special)
        };
        // One thread interns all names, so it begins first; the address spaces are built by the other threads.
        let ((files, special_files), built) = rayon::join(names, spaces);
        let contradictions =
            (0..).zip(&built).flat_map(|(i, (_, list, _))| list.iter().map(move |c| (i, *c))).collect();
        let kernel = KernelSpace::new(system, events, moment, snapshot.end(), snapshot.pointer);
        let image_names: Vec<&str> = kernel.images.iter().map(|(.., name)| *name).collect();
        let sessions = kernel
            .views
            .iter()
            .filter(|(.., (kind, _))| matches!(kind, ViewKind::Image | ViewKind::ImageOtherProtection));
        let database = kernel.pfn_database.iter().map(KernelBlock::range).map(|(base, end)| (base, end, ()));
        SnapshotContext {
            heaps: HeapsOfProcesses::of(built.iter().map(|(.., parts)| *parts)),
            moment,
            pointer: snapshot.pointer,
            processes,
            owners: ProcessTimeline::new(processes, reading, snapshot.pointer).owners_at(moment),
            owned_large_pages: snapshot.version >= 4,
            spaces: AddressIndex::new(built.into_iter().map(|(leaves, ..)| leaves).collect()),
            special_files: SpecialFiles::new(special_files),
            files,
            images: (0..).zip(kernel.images.iter()).map(|(index, (base, end, _))| (base, end, index)).collect(),
            session_images: sessions.map(|(base, end, (_, key))| (base, end, *key)).collect(),
            image_names,
            has_pool_records: !events.pool.is_empty(),
            pool: kernel.pool.iter().map(|(base, end, tag)| (base, end, *tag)).collect(),
            pfn_database: database.collect(),
            kernel,
            drive_paths: DrivePaths::new(&system.volumes),
            services: Services::new(system, processes),
            pool_tags: PoolTags::default(),
            contradictions,
            committed: None,
        }
    }

    /// The same with these stacks.
    pub(crate) fn with_stacks<'s>(
        trace: &'s Trace,
        snapshot: &Snapshot,
        stacks: Option<&'s CommitStacks>,
    ) -> SnapshotContext<'s> {
        let context = SnapshotContext::new(trace, snapshot);
        SnapshotContext { committed: stacks.map(|stacks| stacks.at(trace, context.moment)), ..context }
    }

    /// Index into `image_names` of the kernel image at an address.
    #[inline]
    pub fn kernel_image(&self, address: u64) -> Option<u32> {
        self.images.get(address)
    }

    /// File key of the session image at an address.
    #[inline]
    pub fn session_image(&self, address: u64) -> Option<u64> {
        self.session_images.get(address)
    }

    /// Tag of the big pool allocation at an address.
    #[inline]
    pub fn pool_tag(&self, address: u64) -> Option<PoolTag> {
        self.pool.get(address)
    }

    /// False where no record tells which tags there are.
    pub const fn knows_pool_tags(&self) -> bool {
        self.has_pool_records
    }

    /// Id of the session that the owner key of a session's page means.
    pub fn session(&self, key: u64) -> Option<u32> {
        self.kernel.sessions.get(&key).copied()
    }

    /// True when the address lies in the PFN database.
    #[inline]
    pub fn is_pfn_database(&self, address: u64) -> bool {
        self.pfn_database.get(address).is_some()
    }
}

fn file_rules(path: &str, hives: &Hives) -> FileRules {
    /// Names under which WPA "finds" the registry among metafiles.
    const WPA_HIVES: [&str; 8] =
        ["SYSTEM", "SOFTWARE", "SECURITY", "SAM", "DEFAULT", "COMPONENTS", "NTUSER.DAT", "UsrClass.dat"];
    let last = path.rsplit('\\').next().unwrap_or(path);
    let ends = |suffix: &str| {
        let at = path.len().checked_sub(suffix.len());
        at.and_then(|at| path.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    };
    let by_ending = match () {
        () if ends(".sys") => Some(Rule::DriverFile),
        () if ends(".pf") => Some(Rule::PrefetchFile),
        () => None,
    };
    let by_hives = || match hives.is_hive(path) {
        true if hives.are_known() => Rule::HiveFile,
        true => Rule::HiveByPlace,
        false => Rule::DataFile,
    };
    let wpa_hive = WPA_HIVES.iter().any(|name| name.eq_ignore_ascii_case(last));
    FileRules {
        data: by_ending.unwrap_or_else(by_hives),
        data_wpa: by_ending.unwrap_or(Rule::DataFile),
        meta_wpa: if wpa_hive { Rule::HiveName } else { Rule::Metafile },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_about_file_pages() {
        let rule = |path: &str| {
            let rules = file_rules(path, &Hives::default());
            [rules.data, rules.data_wpa, rules.meta_wpa].map(Rule::id)
        };
        assert_eq!(rule(r"\Device\HarddiskVolume3\x.SYS"), ["file.sys", "file.sys", "use.metafile"]);
        assert_eq!(rule(r"\Windows\Prefetch\A.EXE-1.pf"), ["file.pf", "file.pf", "use.metafile"]);
        assert_eq!(
            rule(r"\??\C:\Windows\System32\config\SOFTWARE"),
            ["file.hive_by_place", "file.data", "metafile.hive_name"]
        );
        assert_eq!(rule(r"\Data\software"), ["file.data", "file.data", "metafile.hive_name"]);
        assert_eq!(rule("ä"), ["file.data", "file.data", "use.metafile"]);
    }
}
