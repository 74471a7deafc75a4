//! The proof: what the account says is held must be what the final page sequence says is active.
//!
//! Both sides become sorted lists of keys that are merged: private pages by owner and address, shareable ones by frame,
//! combined ones by prototype PTE. Kernel pages of the active rundown, pool and ranges are accounted for apart: they
//! explain pages of the final state and are not counted.

use crate::analysis::category::Category;
use crate::analysis::reference::held_page::{Held, Place};
use crate::analysis::reference::outside::OutsideWorkingSets;
use crate::analysis::reference::shard::Shard;
use crate::etl::EtlFile;
use crate::event::page::{PageIdentity, PageList, PageUse};
use crate::model::process_timeline::ProcessTimeline;
use crate::model::snapshot::Snapshot;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::units::is_kernel_address;
use crate::units::{Nanos, PAGE_BYTES};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What a page is known by on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Private(OwnerId, Place),
    /// Sessions are not told apart: final records name them by another key than process events do.
    Session(Place),
    Frame(u64),
    Combined(u64),
}

/// A page of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    key: Key,
    owner: OwnerId,
    pfn: u64,
    u2: u64,
    page_use: PageUse,
}

/// Counts of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreement {
    /// On both sides.
    pub matched: u64,
    /// Only in the account.
    pub only_tracked: u64,
    /// Only in the final sequence.
    pub only_final: u64,
}

impl std::ops::AddAssign for Agreement {
    fn add_assign(&mut self, other: Agreement) {
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
pub struct Verification {
    /// When the final sequence was logged, since trace start.
    pub time: Nanos,
    /// Different pages of the account.
    pub tracked: u64,
    /// All pages together.
    pub all: Agreement,
    /// Active pages of the final sequence that the rundown's kernel pages, pool and ranges explain.
    pub apart: u64,
    /// By use.
    pub by_use: BTreeMap<PageUse, Agreement>,
    /// By process.
    pub by_process: BTreeMap<String, Agreement>,
    /// Some pages that disagree.
    pub examples: Vec<Example>,
}

impl Verification {
    /// Pages that disagree, relative to those that match.
    pub fn residue(&self) -> f64 {
        (self.all.only_tracked + self.all.only_final) as f64 / self.all.matched.max(1) as f64
    }

    /// Compares the working sets of all shards with a page sequence.
    pub fn new(
        etl: &EtlFile,
        lifetimes: &ProcessTimeline<'_>,
        shards: Vec<Shard<'_>>,
        outside: &OutsideWorkingSets,
        snapshot: &Snapshot,
        examples: usize,
    ) -> Verification {
        // Each shard goes when its pages have been taken down: both together would be the most memory of the whole run.
        let empty = || (Vec::new(), Vec::new());
        let of_shards = shards.into_par_iter().fold(empty, |(mut tracked, mut known_outside), shard| {
            for set in shard.working_sets() {
                for (place, held) in set.pages.distinct() {
                    match held.is_outside() {
                        true => known_outside.push(place),
                        false => tracked.push(tracked_page(set.owner, place, &held)),
                    }
                }
            }
            (tracked, known_outside)
        });
        let (mut tracked, known_outside) =
            of_shards.reduce(empty, |all, part| (joined(all.0, part.0), joined(all.1, part.1)));
        let parts = snapshot.fold(etl, Vec::new, |pages, run| {
            let active = run.iter().filter(|page| page.list() == PageList::Active);
            pages.extend(active.map(|page| final_page(lifetimes, snapshot, page)));
        });
        let mut last: Vec<Page> = parts.into_iter().fold(Vec::new(), joined);
        rayon::join(|| tracked.par_sort_unstable(), || last.par_sort_unstable());
        tracked.dedup_by_key(|page| page.key);
        last.dedup_by_key(|page| page.key);
        let explained = Explained::new(known_outside, outside);

        let mut result = Verification {
            time: etl.clock.nanos(snapshot.first.time),
            tracked: tracked.len() as u64,
            all: Agreement::default(),
            apart: 0,
            by_use: BTreeMap::new(),
            by_process: BTreeMap::new(),
            examples: Vec::new(),
        };
        let mut groups: FastMap<(bool, OwnerId, PageUse), Agreement> = FastMap::default();
        let label = |(shareable, owner): (bool, OwnerId)| match shareable {
            true => "Unknown (-1)".to_owned(),
            false => owner.label(lifetimes.processes, lifetimes.reading),
        };
        let (mut ours, mut theirs) = (tracked.iter().peekable(), last.iter().peekable());
        loop {
            let (page, which): (&Page, fn(&mut Agreement) -> &mut u64) = match (ours.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) if a.key == b.key => {
                    theirs.next();
                    let Some(page) = ours.next() else { break };
                    (page, |agreement| &mut agreement.matched)
                }
                (Some(a), b) if b.is_none_or(|b| a.key.cmp(&b.key) == Ordering::Less) => {
                    let Some(page) = ours.next() else { break };
                    (page, |agreement| &mut agreement.only_tracked)
                }
                _ => {
                    let Some(page) = theirs.next() else { break };
                    if explained.explains(page) {
                        result.apart += 1;
                        continue;
                    }
                    (page, |agreement| &mut agreement.only_final)
                }
            };
            let mut agreement = Agreement::default();
            *which(&mut agreement) = 1;
            let shareable = agreement.only_final == 1 && matches!(page.key, Key::Frame(_) | Key::Combined(_));
            *which(&mut result.all) += 1;
            *which(groups.entry((shareable, page.owner, page.page_use)).or_default()) += 1;
            if agreement.matched == 0 {
                let only_tracked = agreement.only_tracked == 1;
                // Each kind of disagreement may fill half of the room.
                let of_kind = if only_tracked { result.all.only_tracked } else { result.all.only_final };
                if of_kind <= examples.div_ceil(2) as u64 {
                    result.examples.push(Example {
                        only_tracked,
                        process: label((shareable, page.owner)),
                        page_use: page.page_use,
                        pfn: page.pfn,
                        address: page.u2,
                    });
                }
            }
        }
        for ((shareable, owner, page_use), agreement) in groups {
            *result.by_use.entry(page_use).or_default() += agreement;
            *result.by_process.entry(label((shareable, owner))).or_default() += agreement;
        }
        result
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

fn tracked_page(owner: OwnerId, place: Place, held: &Held) -> Page {
    let key = if held.is_combined() {
        Key::Combined(held.identity & !1)
    } else if held.is_shareable() || held.category() == Category::MetaFile {
        // Metafile pages are no process's, but the final sequence cannot tell by what event they came.
        Key::Frame(held.pfn())
    } else if matches!(owner.owner(), Owner::Session(_)) {
        Key::Session(place)
    } else {
        Key::Private(owner, place)
    };
    Page { key, owner, pfn: held.pfn(), u2: place.raw(), page_use: use_of(held) }
}

fn final_page(lifetimes: &ProcessTimeline<'_>, snapshot: &Snapshot, page: &PageIdentity) -> Page {
    let owner = || {
        let life = lifetimes.by_key(page.key(), snapshot.first);
        OwnerId::new(life.map_or(Owner::UnknownKey(page.key()), |life| Owner::Process(life.instance)))
    };
    let is_kernel = is_kernel_address(page.u2, snapshot.pointer);
    let kernel_place = Place::of_kernel_page(page.page_use(), page.pfn, page.u2, is_kernel);
    let (key, owner) = match page.page_use() {
        PageUse::ProcessPrivate if page.u2 == 0 => (Key::Private(owner(), Place::frame(page.pfn)), owner()),
        PageUse::ProcessPrivate => (Key::Private(owner(), Place::address(page.u2)), owner()),
        PageUse::PageTable | PageUse::WsMetaData if page.key() != 0 => (Key::Private(owner(), kernel_place), owner()),
        PageUse::SessionPrivate => (Key::Session(kernel_place), OwnerId::SYSTEM),
        PageUse::PageFileMapped if page.combined() => (Key::Combined(page.prototype_pte()), OwnerId::SYSTEM),
        PageUse::File | PageUse::MetaFile | PageUse::PageFileMapped => (Key::Frame(page.pfn), OwnerId::SYSTEM),
        _ => (Key::Private(OwnerId::SYSTEM, kernel_place), OwnerId::SYSTEM),
    };
    Page { key, owner, pfn: page.pfn, u2: page.u2, page_use: page.page_use() }
}

/// The use that a held page's category stands for.
fn use_of(held: &Held) -> PageUse {
    match held.category() {
        Category::Image | Category::MapFile => PageUse::File,
        Category::PageFileMappedSection => PageUse::PageFileMapped,
        Category::MetaFile => PageUse::MetaFile,
        Category::PageTable => PageUse::PageTable,
        Category::PagedPool => PageUse::PagedPool,
        Category::NonPagedPool => PageUse::NonPagedPool,
        Category::SystemPage => PageUse::SystemPte,
        Category::SessionPrivate => PageUse::SessionPrivate,
        Category::AddressingWindowExtensionsPage => PageUse::Awe,
        Category::DriverLockedSystemPage => PageUse::DriverLocked,
        Category::KernelStack => PageUse::KernelStack,
        Category::WsMetaData => PageUse::WsMetaData,
        Category::LargePage => PageUse::LargePage,
        Category::Use14 => PageUse::Use14,
        Category::Use15 => PageUse::Use15,
        _ => PageUse::ProcessPrivate,
    }
}

/// Pages of the final state that working sets do not have to explain.
struct Explained {
    places: Vec<Place>,
    pool: Vec<(u64, u64)>,
    /// Frames of driver-locked and AWE pages, addresses of others.
    frames: Vec<(u64, u64)>,
    addresses: Vec<(u64, u64)>,
}

impl Explained {
    fn new(mut places: Vec<Place>, outside: &OutsideWorkingSets) -> Explained {
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
        let known = |place| self.places.binary_search(&place).is_ok();
        let place = match page.key {
            Key::Private(_, place) | Key::Session(place) => known(place),
            _ => false,
        };
        place
            || known(Place::frame(page.pfn))
            || (matches!(page.page_use, PageUse::PagedPool | PageUse::NonPagedPool) && holds(&self.pool, page.u2))
            || match page.page_use {
                PageUse::DriverLocked | PageUse::Awe => holds(&self.frames, page.pfn),
                PageUse::LargePage => holds(&self.addresses, page.u2),
                _ => false,
            }
    }
}

/// True when one of the sorted ranges `[low, high)` holds `value`.
fn holds(ranges: &[(u64, u64)], value: u64) -> bool {
    let behind = ranges.partition_point(|range| range.0 <= value);
    behind.checked_sub(1).and_then(|i| ranges.get(i)).is_some_and(|range| value < range.1)
}
