//! Compares the replayed working sets with the pages that the final page sequence says are active.
//!
//! Both sides become sorted lists of keys that are merged: private pages by owner and address, shareable ones by frame,
//! combined ones by prototype PTE. Kernel pages of the active rundown, pool and ranges are in no working set:
//! they explain pages of the final state and are not counted.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::pages::held_page::{HeldPage, PageLocation};
use crate::analysis::refset::replay::outside_working_sets::OutsideWorkingSets;
use crate::analysis::refset::replay::owner_shard::Shard;
use crate::analysis::refset::rows::owner_label;
use crate::etl::EtlFile;
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::model::category::Category;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::snapshot::Snapshot;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::units::is_kernel_address;
use crate::units::{Nanos, PAGE_BYTES};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What a page is known by on both sides: the kind, with the owner of a private page; and its place, frame or prototype
/// PTE.
type PageKey = (u64, u64);

/// All sessions count as one: final records name a session by another key than process events do.
const SESSION: u64 = 1 << 60;
const FRAME: u64 = 2 << 60;
const COMBINED: u64 = 3 << 60;

/// A page of one side, in 40 bytes; the order decides which of several with one key is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    key: PageKey,
    owner: OwnerId,
    /// Frame, and below it use (4 bits).
    frame: u64,
    u2: u64,
}

impl Page {
    fn new(key: PageKey, owner: OwnerId, pfn: u64, page_use: PageUse, u2: u64) -> Page {
        Page { key, owner, frame: pfn << 4 | page_use as u64, u2 }
    }

    fn page_use(&self) -> PageUse {
        PageUse::from_bits(self.frame)
    }

    fn pfn(&self) -> u64 {
        self.frame >> 4
    }

    fn is_shareable(&self) -> bool {
        self.key.0 >= FRAME
    }
}

/// Counts of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchCounts {
    /// On both sides.
    pub matched: u64,
    /// Only in the account.
    pub only_tracked: u64,
    /// Only in the final sequence.
    pub only_final: u64,
}

impl std::ops::AddAssign for MatchCounts {
    fn add_assign(&mut self, other: MatchCounts) {
        self.matched += other.matched;
        self.only_tracked += other.only_tracked;
        self.only_final += other.only_final;
    }
}

/// A page on which the sides disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// True when only the account knows it.
    pub only_tracked: bool,
    /// Process, `System`, `Session`; `Unknown (-1)` for shareable pages of the final sequence.
    pub process: String,
    /// Use.
    pub page_use: PageUse,
    /// Frame.
    pub pfn: u64,
    /// Virtual address, file key or prototype PTE address, by use; of tracked pages the address where they are held.
    pub address: u64,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verification {
    /// When the final sequence was logged, since trace start.
    pub time: Nanos,
    /// Different pages of the account.
    pub tracked: u64,
    /// All pages together.
    pub all: MatchCounts,
    /// Pages on both sides whose use differs.
    pub other_use: u64,
    /// Active pages of the final sequence that the rundown's kernel pages, pool and ranges explain.
    pub kernel_pool_and_ranges: u64,
    /// By use.
    pub by_use: BTreeMap<PageUse, MatchCounts>,
    /// By process.
    pub by_process: BTreeMap<String, MatchCounts>,
    /// Some pages that disagree.
    pub examples: Vec<Example>,
    /// What of the sequence is missing: then pages that only the account has prove nothing.
    pub(crate) incomplete: Option<String>,
}

impl Verification {
    /// Pages that disagree, relative to those that match.
    pub fn residue(&self) -> f64 {
        (self.all.only_tracked + self.all.only_final) as f64 / self.all.matched.max(1) as f64
    }

    /// Pages on both sides with another use, relative to all that match.
    pub(crate) fn share_of_other_use(&self) -> f64 {
        self.other_use as f64 / self.all.matched.max(1) as f64
    }

    /// Pages that only the sequence has, relative to those of the account: what a sequence can prove that is not whole.
    pub(crate) fn share_of_unknown(&self) -> f64 {
        self.all.only_final as f64 / self.tracked.max(1) as f64
    }

    /// True when nothing matches although there are pages to compare: most of the sequence or of the accesses is missing.
    pub fn is_hopeless(&self) -> bool {
        self.all.matched == 0 && self.residue() > 0.0
    }

    /// Compares the working sets of all shards with a page sequence; gives up to `examples` pages that disagree.
    pub fn new<S: AccessStack>(
        etl: &EtlFile,
        lifetimes: &ProcessTimeline<'_>,
        shards: Vec<Shard<'_, S>>,
        outside: &OutsideWorkingSets,
        snapshot: &Snapshot,
        examples: usize,
    ) -> Verification {
        let (mut tracked, outside_places) = tracked_pages(shards);
        let parts = snapshot.fold(etl, Vec::new, |pages, run| {
            let active = run.iter().filter(|page| page.list() == PageList::Active);
            pages.extend(active.map(|page| final_page(lifetimes, snapshot, page)));
        });
        let mut last: Vec<Page> = parts.into_iter().fold(Vec::new(), joined);
        rayon::join(|| tracked.par_sort_unstable(), || last.par_sort_unstable());
        tracked.dedup_by_key(|page| page.key);
        last.dedup_by_key(|page| page.key);
        let time = etl.clock.nanos(snapshot.first.time);
        let mut comparison = Comparison { lifetimes, examples, groups: FastMap::default(), result: Self::empty(time) };
        comparison.result.tracked = tracked.len() as u64;
        comparison.compare(&tracked, &last, &Explained::new(outside_places, outside));
        comparison.finish()
    }

    fn empty(time: Nanos) -> Verification {
        Verification {
            time,
            tracked: 0,
            all: MatchCounts::default(),
            other_use: 0,
            kernel_pool_and_ranges: 0,
            by_use: BTreeMap::new(),
            by_process: BTreeMap::new(),
            examples: Vec::new(),
            incomplete: None,
        }
    }
}

/// The comparison of two sorted lists.
struct Comparison<'a> {
    lifetimes: &'a ProcessTimeline<'a>,
    /// Most examples.
    examples: usize,
    /// By use and owner; `None` for shareable pages of the final sequence, which name no process.
    groups: FastMap<(Option<OwnerId>, PageUse), MatchCounts>,
    result: Verification,
}

impl Comparison<'_> {
    fn compare(&mut self, ours: &[Page], theirs: &[Page], explained: &Explained) {
        let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (None, None) => return,
                (Some(a), Some(b)) => a.key.cmp(&b.key),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let page = if order == Ordering::Greater { theirs.next() } else { ours.next() };
            let Some(page) = page else { return };
            match order {
                Ordering::Less => self.add(page, MatchCounts { only_tracked: 1, ..MatchCounts::default() }),
                Ordering::Equal => {
                    let is_other = theirs.next().is_some_and(|theirs| theirs.page_use() != page.page_use());
                    self.result.other_use += u64::from(is_other);
                    self.add(page, MatchCounts { matched: 1, ..MatchCounts::default() });
                }
                Ordering::Greater if explained.explains(page) => self.result.kernel_pool_and_ranges += 1,
                Ordering::Greater => self.add(page, MatchCounts { only_final: 1, ..MatchCounts::default() }),
            }
        }
    }

    fn add(&mut self, page: &Page, agreement: MatchCounts) {
        let owner = (agreement.only_final == 0 || !page.is_shareable()).then_some(page.owner);
        self.result.all += agreement;
        *self.groups.entry((owner, page.page_use())).or_default() += agreement;
        let only_tracked = agreement.only_tracked > 0;
        // Each kind of disagreement may fill half of the room.
        let of_kind = if only_tracked { self.result.all.only_tracked } else { self.result.all.only_final };
        if agreement.matched == 0 && of_kind <= self.examples.div_ceil(2) as u64 {
            let (process, page_use) = (self.label(owner), page.page_use());
            let example = Example { only_tracked, process, page_use, pfn: page.pfn(), address: page.u2 };
            self.result.examples.push(example);
        }
    }

    fn label(&self, owner: Option<OwnerId>) -> String {
        owner.map_or_else(|| "Unknown (-1)".to_owned(), |owner| owner_label(owner, self.lifetimes).to_string())
    }

    fn finish(mut self) -> Verification {
        for ((owner, page_use), agreement) in std::mem::take(&mut self.groups) {
            let process = self.label(owner);
            *self.result.by_use.entry(page_use).or_default() += agreement;
            *self.result.by_process.entry(process).or_default() += agreement;
        }
        self.result
    }
}

/// Both lists in one.
fn joined<T>(mut all: Vec<T>, mut part: Vec<T>) -> Vec<T> {
    if all.is_empty() {
        return part;
    }
    all.append(&mut part);
    all
}

/// The pages of all working sets, and the places of kernel pages outside of them. Each shard is dropped as soon as its pages
/// are copied: keeping both would need more memory than any other part of the run.
fn tracked_pages<S: AccessStack>(shards: Vec<Shard<'_, S>>) -> (Vec<Page>, Vec<PageLocation>) {
    let empty = || (Vec::new(), Vec::new());
    let of_shards = shards.into_par_iter().fold(empty, |(mut tracked, mut outside), shard| {
        for set in shard.working_sets() {
            for (place, held) in set.pages.distinct() {
                match held.is_outside() {
                    true => outside.push(place),
                    false => tracked.push(tracked_page(set.owner, place, &held)),
                }
            }
        }
        (tracked, outside)
    });
    of_shards.reduce(empty, |all, part| (joined(all.0, part.0), joined(all.1, part.1)))
}

fn tracked_page<S: AccessStack>(owner: OwnerId, place: PageLocation, held: &HeldPage<S>) -> Page {
    let key = if held.is_combined() {
        (COMBINED, held.identity & !1)
    } else if held.is_shareable() || held.page.category() == Category::MetaFile {
        // Metafile pages are no process's, but the final sequence cannot tell by what event they came.
        (FRAME, held.page.pfn())
    } else if matches!(owner.owner(), Owner::Session(_)) {
        (SESSION, place.to_address())
    } else {
        (owner.raw(), place.to_address())
    };
    Page::new(key, owner, held.page.pfn(), held.page.page_use(), place.to_address())
}

fn final_page(lifetimes: &ProcessTimeline<'_>, snapshot: &Snapshot, page: &PageIdentity) -> Page {
    let owner = || {
        let life = lifetimes.by_key(page.key(), snapshot.first);
        OwnerId::new(life.map_or(Owner::UnknownKey(page.key()), |life| Owner::Process(life.instance)))
    };
    let is_kernel = is_kernel_address(page.u2, snapshot.pointer);
    let kernel_place = PageLocation::of_kernel_page(page.page_use(), page.pfn, page.u2, is_kernel);
    let user_place = if page.u2 == 0 { PageLocation::frame(page.pfn) } else { PageLocation::address(page.u2) };
    let private = |owner: OwnerId, place: PageLocation| ((owner.raw(), place.to_address()), owner);
    let (key, owner) = match page.page_use() {
        PageUse::ProcessPrivate => private(owner(), user_place),
        PageUse::PageTable | PageUse::WsMetaData if page.key() != 0 => private(owner(), kernel_place),
        PageUse::SessionPrivate => ((SESSION, kernel_place.to_address()), OwnerId::SYSTEM),
        PageUse::PageFileMapped if page.combined() => ((COMBINED, page.prototype_pte()), OwnerId::SYSTEM),
        PageUse::File | PageUse::MetaFile | PageUse::PageFileMapped => ((FRAME, page.pfn), OwnerId::SYSTEM),
        _ => private(OwnerId::SYSTEM, kernel_place),
    };
    Page::new(key, owner, page.pfn, page.page_use(), page.u2)
}

/// Pages of the final state that working sets do not have to explain.
struct Explained {
    /// Places of kernel pages, as addresses.
    places: Vec<u64>,
    pool: Vec<(u64, u64)>,
    /// Frames of driver-locked and AWE pages, addresses of others.
    frames: Vec<(u64, u64)>,
    addresses: Vec<(u64, u64)>,
}

impl Explained {
    fn new(places: Vec<PageLocation>, outside: &OutsideWorkingSets) -> Explained {
        let mut places: Vec<u64> = places.into_iter().map(PageLocation::to_address).collect();
        places.par_sort_unstable();
        let bytes = |(address, pages): (u64, u64)| (address, address.saturating_add(pages.saturating_mul(PAGE_BYTES)));
        let by_frame = |page_use: PageUse| matches!(page_use, PageUse::DriverLocked | PageUse::Awe);
        let mut pool: Vec<_> = outside.pool().map(bytes).collect();
        let ranges = || outside.ranges();
        let mut frames: Vec<_> =
            ranges().filter(|r| by_frame(r.0)).map(|(_, start, pages)| (start, start.saturating_add(pages))).collect();
        let mut addresses: Vec<_> =
            ranges().filter(|r| !by_frame(r.0)).map(|(_, start, pages)| bytes((start, pages))).collect();
        pool.sort_unstable();
        frames.sort_unstable();
        addresses.sort_unstable();
        Explained { places, pool, frames, addresses }
    }

    fn explains(&self, page: &Page) -> bool {
        let known = |place: u64| self.places.binary_search(&place).is_ok();
        let is_range = match page.page_use() {
            PageUse::PagedPool | PageUse::NonPagedPool => holds(&self.pool, page.u2),
            PageUse::DriverLocked | PageUse::Awe => holds(&self.frames, page.pfn()),
            PageUse::LargePage => holds(&self.addresses, page.u2),
            _ => false,
        };
        is_range || known(PageLocation::frame(page.pfn()).to_address()) || (!page.is_shareable() && known(page.key.1))
    }
}

/// True when one of the sorted ranges `[low, high)` holds `value`.
fn holds(ranges: &[(u64, u64)], value: u64) -> bool {
    let after = ranges.partition_point(|range| range.0 <= value);
    after.checked_sub(1).and_then(|i| ranges.get(i)).is_some_and(|range| value < range.1)
}
