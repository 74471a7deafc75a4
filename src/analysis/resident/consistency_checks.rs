//! Checks that every run makes: does the page sequence agree with the kernel's own counters?

use crate::analysis::resident::batch_classify::KeyStats;
use crate::analysis::resident::category_counts::CategoryCounts;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::event::page::PageList;
use crate::load::event_values::MemoryCounters;
use crate::model::address_space_at::Contradiction;
use crate::model::category::Category;
use crate::model::page_owner_key::KeyReading;
use crate::model::rundown::RundownKind;
use crate::model::snapshot::Snapshot;
use crate::trace::Trace;
use crate::trace::trust::loss::DescribedHole;
use crate::units::Nanos;

/// The counts for the checks; they do not depend on the query.
#[derive(Debug, Clone, Default)]
pub struct BaseCounts {
    /// All pages by category, list and priority.
    pub by_category: CategoryCounts,
    /// Counts of owner keys and combined pages.
    pub stats: KeyStats,
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
    /// RAM by the system configuration, pages.
    pub ram_pages: Option<u64>,
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
    pub contradictions: u64,
    /// The first few of them for people.
    pub contradiction_examples: Vec<String>,
    /// Time from the MemInfo record to the sequence.
    pub meminfo_age: Option<Nanos>,
    /// Event version of the page records.
    pub version: u8,
    /// How owner keys were read.
    pub reading: KeyReading,
    /// Active private pages with a key, and of them those whose key names no process.
    pub keyed: (u64, u64),
}

impl Checks {
    /// Those that need no page, only what is known of the sequence; of the others it says that there is no data.
    pub(crate) fn of_sequence(snapshot: &Snapshot, trace: &Trace) -> Checks {
        let span = (trace.time(snapshot.first.time), trace.time(snapshot.last_time));
        let meets = |hole: &&DescribedHole| hole.silent.0 <= span.1 && span.0 <= hole.silent.1;
        Checks {
            pages: snapshot.pages,
            pfns: snapshot.pfns,
            missing_pfns: snapshot.missing_pfns,
            gaps: snapshot.gaps,
            duplicates: snapshot.duplicates,
            ram_pages: trace.system().ram_pages,
            lost_buffers: trace.trust().loss.holes.iter().filter(meets).map(|hole| hole.missing).sum(),
            bad_list: 0,
            bad_meminfo: None,
            combined: 0,
            combined_mmstats: None,
            pfn_database: None,
            pfn_database_counted: 0,
            lists: Vec::new(),
            contradictions: 0,
            contradiction_examples: Vec::new(),
            meminfo_age: None,
            version: snapshot.version,
            reading: KeyReading::of_version(snapshot.version),
            keyed: (0, 0),
        }
    }

    /// These, and on which ranges events and rundown disagree, which the context of the snapshot tells.
    pub(crate) fn of_context(context: &SnapshotContext<'_>, snapshot: &Snapshot, trace: &Trace) -> Checks {
        Checks {
            contradictions: context.contradictions.len() as u64,
            contradiction_examples: context.contradictions.iter().take(3).map(|c| example(context, c)).collect(),
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
        let lists = base.by_category.list_priority();
        Checks {
            bad_list: lists.get(PageList::Bad as usize).map_or(0, |bad| bad.iter().sum()),
            bad_meminfo: counters.map(|counters| counters.bad),
            combined: base.stats.combined,
            combined_mmstats: mmstats,
            pfn_database: database.first().map(|block| (block.address, database.iter().map(|b| b.pages).sum())),
            pfn_database_counted: base.by_category.category(Category::PfnDatabase),
            lists: counters.map(|counters| compare_lists(&lists, &counters, snapshot.pages)).unwrap_or_default(),
            meminfo_age: meminfo.map(|at| Nanos(nanos(snapshot.first.time).0 - nanos(at.moment.time).0)),
            reading: context.owners.reading,
            keyed: (base.stats.keyed, base.stats.unnamed),
            ..Checks::of_context(context, snapshot, trace)
        }
    }

    /// SLIST/Temp pages: on the bad list, but not bad.
    pub fn slist_or_temp(&self) -> Option<u64> {
        Some(self.bad_list.saturating_sub(self.bad_meminfo?))
    }

    /// Lists and standby priorities that are as MemInfo has them.
    pub fn lists_that_agree(&self) -> usize {
        self.lists.iter().filter(|list| list.is_fine()).count()
    }
}

fn example(context: &SnapshotContext<'_>, (process, contradiction): &(u32, Contradiction)) -> String {
    let kind = match contradiction.kind {
        RundownKind::Region => "region",
        RundownKind::View => "view",
        RundownKind::Heap => "heap range",
        RundownKind::Thread => "thread",
    };
    let at = match contradiction.kind {
        RundownKind::Thread => contradiction.base.to_string(),
        _ => format!("0x{:x}", contradiction.base),
    };
    let process = context.processes.instances.get(*process as usize).map(|p| p.label()).unwrap_or_default();
    let side = if contradiction.only_events { "only in the events" } else { "only in the rundown" };
    format!("{kind} {at} of {process} {side}")
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
    all
}
