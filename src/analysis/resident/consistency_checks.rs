//! Checks that every run makes: does the page sequence agree with the kernel's own counters?

use crate::analysis::resident::batch_classify::KeyStats;
use crate::analysis::resident::category_counts::CategoryCounts;
use crate::analysis::resident::known_things::KnownThings;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::rundown_contradictions::RundownContradictions;
use crate::etl::EtlFile;
use crate::etl::record_id::RecordId;
use crate::event::event_names;
use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::load::event_kind_counts::KindCount;
use crate::load::owned_events::MemoryCounters;
use crate::model::category::Category;
use crate::model::page_owner_key::KeyReading;
use crate::model::snapshot::Snapshot;
use crate::trace::Trace;
use crate::trace::ram_size::{RamSource, known_ram};
use crate::trace::trust::loss::DescribedHole;
use crate::trace::trust::warning::Warning;
use crate::units::{Nanos, count, counted};

/// The counts for the checks; they do not depend on the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseCounts {
    /// All pages by list and priority.
    pub by_list: [[u64; 8]; 8],
    /// Pages of the PFN database.
    pub pfn_database: u64,
    /// Counts of owner keys and combined pages.
    pub stats: KeyStats,
}

impl BaseCounts {
    /// Of pages by category. The checks know only one category.
    pub(super) fn new(by_category: &CategoryCounts, stats: KeyStats) -> BaseCounts {
        let pfn_database = by_category.category(Category::PfnDatabase);
        BaseCounts { by_list: by_category.list_priority(), pfn_database, stats }
    }

    /// Counts the pages of a snapshot, for commands that need no other counts of them: most pages need not be classified.
    pub(crate) fn count(etl: &EtlFile, context: &SnapshotContext<'_>, snapshot: &Snapshot) -> BaseCounts {
        let threads = snapshot.fold(etl, BaseCounts::default, |counts, pages| counts.add_all(context, pages));
        threads.into_iter().fold(BaseCounts::default(), BaseCounts::and)
    }

    #[inline(never)]
    fn add_all(&mut self, context: &SnapshotContext<'_>, pages: &[PageIdentity]) {
        let is_named = |key| context.owners.get(key).is_some_and(|process| context.owners.is_named(process));
        for page in pages {
            let by_priority = self.by_list.get_mut(page.list() as usize);
            by_priority.and_then(|list| list.get_mut(usize::from(page.priority()))).into_iter().for_each(|n| *n += 1);
            match page.page_use() {
                PageUse::ProcessPrivate if page.list() == PageList::Active && page.key() != 0 => {
                    self.stats.keyed += 1;
                    self.stats.unnamed += u64::from(!is_named(page.key()));
                }
                PageUse::PageFileMapped => self.stats.combined += u64::from(page.combined()),
                PageUse::SystemPte => {
                    self.pfn_database += u64::from(context.classify(page).category() == Category::PfnDatabase);
                }
                _ => {}
            }
        }
    }

    /// The sum with the counts of another thread.
    fn and(mut self, other: BaseCounts) -> BaseCounts {
        let lists = self.by_list.iter_mut().flatten().zip(other.by_list.into_iter().flatten());
        lists.for_each(|(all, part)| *all += part);
        self.pfn_database += other.pfn_database;
        self.stats.merge(other.stats);
        self
    }
}

/// A count beside the kernel's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// What is counted: `Zero`, `Standby priority 5`, ….
    pub what: String,
    /// Pages in the page sequence.
    pub counted: u64,
    /// By the kernel's counter.
    pub expected: u64,
    /// By how many pages they may differ.
    pub slack: u64,
}

impl Compared {
    /// The counters are logged just before the sequence, which itself takes a while: a list may move by 2 %, or by a
    /// thousandth of all pages.
    pub(super) fn new(what: String, counted: u64, expected: u64, pages: u64) -> Compared {
        Compared { what, counted, expected, slack: (expected / 50).max(pages / 1024).max(16) }
    }

    /// True when the two agree.
    pub fn is_fine(&self) -> bool {
        self.counted.abs_diff(self.expected) <= self.slack
    }
}

/// Longest time between MemInfo and the sequence for which lists are compared. At stop both are logged together; a
/// periodic MemInfo record says nothing about a sequence seconds later.
pub(super) const FRESH: Nanos = Nanos(2_000_000_000);

/// All checks of one snapshot.
#[derive(Debug, Clone)]
pub struct Checks {
    /// Pages, lowest and highest PFN, PFNs missing between them and in how many gaps, PFNs that occur twice.
    pub pages: u64,
    /// Lowest and highest PFN.
    pub pfns: (u64, u64),
    /// PFNs between them that are not there.
    pub missing_pfns: u64,
    /// Number of gaps.
    pub gaps: u64,
    /// PFNs that occur twice.
    pub duplicates: u64,
    /// Records of unknown events that can be page records whose id is damaged.
    pub(super) like_pages: u64,
    /// RAM by the system configuration, pages.
    pub ram_pages: Option<u64>,
    /// Most pages that anything but a page sequence says that RAM has; not asked for before pages are counted.
    pub(super) known_ram: Option<(u64, RamSource)>,
    /// Buffers that were lost while the sequence was logged, so that they may have held pages of it.
    pub lost_buffers: u64,
    /// Pages on the bad list.
    pub bad_list: u64,
    /// BadPageCount of MemInfo; the rest of the bad list is what `!memusage` calls SLIST/Temp.
    pub bad_meminfo: Option<u64>,
    /// Combined pages.
    pub combined: u64,
    /// Combined blocks in use by MMStats.
    pub combined_mmstats: Option<u64>,
    /// Address and pages of the PFN database by KernelMemUsage.
    pub pfn_database: Option<(u64, u64)>,
    /// Pages that lie in it.
    pub pfn_database_counted: u64,
    /// Lists and standby priorities against MemInfo; empty without MemInfo.
    pub lists: Vec<Compared>,
    /// Ranges and threads on which events and end rundown disagree.
    pub contradictions: RundownContradictions,
    /// Time from the MemInfo record to the sequence.
    pub meminfo_age: Option<Nanos>,
    /// Event version of the page records.
    pub version: u8,
    /// How owner keys were read.
    pub reading: KeyReading,
    /// Active private pages with a key, and of them those whose key names no process.
    pub keyed: (u64, u64),
    /// That another snapshot of the trace has more pages.
    pub(super) fewer: Option<Warning>,
    /// Of what that pages lie in nothing is known.
    pub(super) known_things: KnownThings,
}

impl Checks {
    /// Those that need no page, only what is known of the sequence; of the others it says that there is no data.
    pub(crate) fn of_sequence(snapshot: &Snapshot, trace: &Trace) -> Checks {
        let span = (trace.time(snapshot.first.time), trace.time(snapshot.last_time));
        // Each file of a recording numbers its own buffers; a sequence lies in one of them.
        let buffer = snapshot.runs.first().and_then(|run| trace.etl().buffers.get(run.buffer as usize));
        let loss = trace.trust().loss_of_file(buffer.map_or(0, |buffer| buffer.file));
        let meets = |hole: &&DescribedHole| hole.silent.0 <= span.1 && span.0 <= hole.silent.1;
        Checks {
            pages: snapshot.pages,
            pfns: snapshot.pfns,
            missing_pfns: snapshot.missing_pfns,
            gaps: snapshot.gaps,
            duplicates: snapshot.duplicates,
            like_pages: like_pages(snapshot, trace),
            ram_pages: trace.system().ram_pages,
            known_ram: trace.system().ram_pages.map(|pages| (pages, RamSource::Configuration)),
            lost_buffers: loss.holes.iter().filter(meets).map(|hole| hole.missing).sum(),
            bad_list: 0,
            bad_meminfo: None,
            combined: 0,
            combined_mmstats: None,
            pfn_database: None,
            pfn_database_counted: 0,
            lists: Vec::new(),
            contradictions: RundownContradictions::default(),
            meminfo_age: None,
            version: snapshot.version,
            reading: KeyReading::of_version(snapshot.version),
            keyed: (0, 0),
            fewer: trace.page_sequences().fewer(snapshot),
            known_things: KnownThings::default(),
        }
    }

    /// These, and on which ranges events and rundown disagree, which the context of the snapshot tells.
    pub(crate) fn of_context(context: &SnapshotContext<'_>, snapshot: &Snapshot, trace: &Trace) -> Checks {
        Checks {
            contradictions: RundownContradictions::new(context.processes, &context.contradictions),
            ..Checks::of_sequence(snapshot, trace)
        }
    }

    /// Compares.
    pub fn new(base: &BaseCounts, context: &SnapshotContext<'_>, snapshot: &Snapshot, trace: &Trace) -> Checks {
        let (recorded, nanos) = (trace.counters(), |time| trace.time(time));
        let before = |at: &&crate::moment::At<MemoryCounters>| at.moment < snapshot.first;
        let meminfo = recorded.memory.iter().rev().find(before);
        let counters = meminfo.map(|at| at.value);
        // MMStats is logged when scanning ends or the session stops: the nearest one counts.
        let mmstats = (recorded.combined.iter())
            .min_by_key(|at| (i128::from(at.moment.time.0) - i128::from(snapshot.first.time.0)).abs())
            .map(|at| at.value);
        let database = &context.kernel.pfn_database;
        let lists = &base.by_list;
        Checks {
            known_ram: known_ram(trace),
            bad_list: lists.get(PageList::Bad as usize).map_or(0, |bad| bad.iter().sum()),
            bad_meminfo: counters.map(|counters| counters.bad),
            combined: base.stats.combined,
            combined_mmstats: mmstats,
            pfn_database: database.first().map(|block| (block.address, database.iter().map(|b| b.pages).sum())),
            pfn_database_counted: base.pfn_database,
            lists: counters.map(|counters| compare_lists(lists, &counters, snapshot.pages)).unwrap_or_default(),
            meminfo_age: meminfo.map(|at| Nanos(nanos(snapshot.first.time).0 - nanos(at.moment.time).0)),
            reading: context.owners.reading,
            keyed: (base.stats.keyed, base.stats.unnamed),
            known_things: KnownThings::look(trace, context, snapshot),
            ..Checks::of_context(context, snapshot, trace)
        }
    }

    /// SLIST/Temp pages: on the bad list, but not bad.
    pub fn slist_or_temp(&self) -> Option<u64> {
        Some(self.bad_list.saturating_sub(self.bad_meminfo?))
    }

    /// That the lists differ from MemInfo by more than a tenth of all pages: what a page moves from one list to another counts once.
    pub(super) fn far_from_meminfo(&self) -> Option<String> {
        let (single, _) = self.lists.split_at(self.lists.len().saturating_sub(1));
        let off = || single.iter().filter(|list| !list.is_fine());
        let sum = |of: fn(&Compared) -> u64| off().map(of).fold(0, u64::saturating_add);
        let fewer = sum(|list| list.expected.saturating_sub(list.counted));
        let more = sum(|list| list.counted.saturating_sub(list.expected));
        let is_fresh = self.meminfo_age.is_none_or(|age| age <= FRESH);
        let is_far = is_fresh && fewer.max(more).saturating_mul(10) > self.pages;
        is_far.then(|| {
            format!(
                "the page lists differ from MemInfo by {} of {}, more than a tenth: the page sequence is not that of the machine",
                count(fewer.max(more)),
                counted(self.pages, "page", "pages")
            )
        })
    }

    /// Lists and standby priorities that are as MemInfo has them.
    pub fn lists_that_agree(&self) -> usize {
        self.lists.iter().filter(|list| list.is_fine()).count()
    }
}

/// Records of kernel events that nothing names, with the version and the size of the sequence's page records, all of them inside of its
/// time; 0 where no PFN is missing for them. A page whose record has another id is not counted, and one gap is what a memory map has.
fn like_pages(snapshot: &Snapshot, trace: &Trace) -> u64 {
    let kinds = || trace.survey().kinds.iter().filter(|kind| kind.version == snapshot.version && kind.count > 0);
    let of_pages =
        |kind: &&KindCount| [PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2].iter().any(|hook| kind.id == RecordId::Kernel(*hook));
    let sizes: Vec<u64> = kinds().filter(of_pages).map(|kind| kind.bytes / kind.count).collect();
    let is_like = |kind: &&KindCount| {
        let is_unknown = matches!(kind.id, RecordId::Kernel(_)) && event_names::name(kind.id).is_none();
        let is_inside = snapshot.first.time <= kind.first && kind.last <= snapshot.last_time;
        is_unknown && is_inside && sizes.iter().any(|size| Some(kind.bytes) == size.checked_mul(kind.count))
    };
    Some(kinds().filter(is_like).map(|kind| kind.count).sum()).filter(|all| *all <= snapshot.missing_pfns).unwrap_or(0)
}

fn compare_lists(pages_by: &[[u64; 8]; 8], counters: &MemoryCounters, pages: u64) -> Vec<Compared> {
    let lists = [
        (PageList::Zero, counters.zero),
        (PageList::Free, counters.free),
        (PageList::Modified, counters.modified),
        (PageList::ModifiedNoWrite, counters.modified_no_write),
    ];
    let by_priority = |list: PageList| pages_by.get(list as usize).copied().unwrap_or_default();
    let total = |list| by_priority(list).iter().sum();
    let mut all: Vec<Compared> = lists
        .into_iter()
        .map(|(list, expected)| Compared::new(list.name().to_owned(), total(list), expected, pages))
        .collect();
    let standby = by_priority(PageList::Standby);
    all.extend((0..).zip(standby.iter().zip(&counters.standby)).map(|(priority, (&counted, &expected))| {
        Compared::new(format!("Standby priority {priority}"), counted, expected, pages)
    }));
    // What moves from one list to another cancels, what is missing of the page sequence does not.
    let sum = |of: fn(&Compared) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
    all.push(Compared::new("All lists".to_owned(), sum(|list| list.counted), sum(|list| list.expected), pages));
    all
}

#[cfg(etl_writer)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::resident::batch_classify::BatchClassifier;
    use crate::analysis::resident::testing::{pages, with_context};
    use crate::model::snapshot::BATCH;

    /// Every page of the machine, counted with and without its classification.
    #[test]
    fn both_ways_to_count_agree() {
        for version in [2, 4] {
            with_context(version, |context| {
                let (mut classifier, mut by_category) = (BatchClassifier::new(context), CategoryCounts::default());
                let mut counts = BaseCounts::default();
                for batch in pages(version).chunks(BATCH) {
                    classifier.classify(batch);
                    by_category.add_all(batch, classifier.classified_pages(batch.len()));
                    counts.add_all(context, batch);
                }
                let KeyStats { combined, keyed, unnamed } = counts.stats;
                assert!(counts.pfn_database > 0 && combined > 0 && keyed > unnamed && unnamed > 0, "{counts:?}");
                assert_eq!(counts, BaseCounts::new(&by_category, classifier.stats));
                let twice = counts.clone().and(counts.clone());
                assert_eq!((twice.pfn_database, twice.stats.keyed), (2 * counts.pfn_database, 2 * keyed));
                assert_eq!(twice.by_list.as_flattened().iter().sum::<u64>(), 2 * pages(version).len() as u64);
            });
        }
    }
}
