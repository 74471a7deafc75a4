//! The rules of the reference set, followed one event after the other through one list of all pages held: slow and
//! obvious. Nothing is shared with the library.

use crate::category_by_use;
use crate::refset::tallies::{Tallies, Tally};
use crate::refset::wpa::Wpa;
use etl_writer::machine::recording::START_MARK;
use etl_writer::machine::{Event, Life, PAGE, Setup, What};
use etl_writer::payloads::pages::Identity;
use std::collections::{BTreeMap, BTreeSet};

pub type Counts = BTreeMap<&'static str, u64>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    System,
    Session(u64),
    Life(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    At(u64),
    Frame(u64),
}

/// What a page is, apart from where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    Private,
    /// Frame and identity.
    Shared(u64, u64),
    /// Prototype PTE.
    Combined(u64),
}

/// A page that an owner holds, once, with all places of it.
#[derive(Clone, Debug)]
pub struct Holding {
    pub owner: Owner,
    pub places: Vec<Place>,
    pub content: Content,
    pub category: &'static str,
    pub page_use: u8,
    pub before: bool,
    pub apart: bool,
}

/// The window as indexes of events: `from` is the first inside, `to` the last.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: usize,
    pub to: usize,
    /// Stamp of the window's begin.
    pub begin: u64,
    /// Stamp of its end.
    pub end: u64,
}

/// What the rules say of a history.
#[derive(Debug, Default, PartialEq)]
pub struct Said {
    pub accesses: Counts,
    pub releases: Counts,
    pub reaccesses: Counts,
    pub wpa: Counts,
    pub second_mappings: u64,
    pub held_at_start: u64,
    pub held_at_stop: u64,
    pub peak: (u64, u64),
    /// Accesses of pages that enter no working set.
    pub never_held: u64,
    pub unattributed: u64,
    /// Kernel pages: logged, released, at stop.
    pub kernel: (u64, u64, u64),
    pub pool_at_stop: u64,
    pub ranges_at_stop: u64,
    /// At stop, by process and category.
    pub rows: BTreeMap<(String, String), i64>,
    /// What each process held over the window.
    pub holders: BTreeMap<String, Tally>,
    /// Records of working sets, processes in them, those that agree.
    pub sets: (u64, u64, u64),
    /// By impact: each owner's pages.
    pub impact: BTreeMap<String, i64>,
    /// Tracked, matched, only tracked, only in the final state.
    pub verification: (u64, u64, u64, u64),
}

pub struct Rules<'t> {
    setup: &'t Setup,
    pub lives: &'t [Life],
    alive: Vec<usize>,
    begun: BTreeSet<usize>,
    pub held: Vec<Holding>,
    /// Accesses of processes that have not started: thread, life, event.
    unborn: Vec<(u32, Event)>,
    pub pool: BTreeMap<u64, u64>,
    pub ranges: BTreeMap<u64, u64>,
    pub wpa: Wpa,
    pub inside: bool,
    pub said: Said,
    tallies: Tallies,
    /// When working sets were emptied, and owners of pages that the event just followed names as held since then.
    reset: u64,
    older: Vec<String>,
}

pub fn count(counts: &mut Counts, reason: &'static str, pages: u64) {
    if pages > 0 {
        *counts.entry(reason).or_default() += pages;
    }
}

impl<'t> Rules<'t> {
    pub fn new(setup: &'t Setup, lives: &'t [Life]) -> Rules<'t> {
        let alive: Vec<usize> = (0..lives.len()).filter(|&life| lives[life].first).collect();
        let begun = alive.iter().copied().collect();
        let (held, unborn, wpa, said, tallies, reset, older) = Default::default();
        Rules {
            setup,
            lives,
            alive,
            begun,
            held,
            unborn,
            wpa,
            said,
            tallies,
            reset,
            older,
            inside: false,
            pool: BTreeMap::new(),
            ranges: BTreeMap::new(),
        }
    }

    /// Follows a whole history.
    pub fn follow(mut self, events: &[Event], span: Span) -> Said {
        for (index, event) in events.iter().enumerate() {
            if index == span.from {
                self.said.held_at_start += self.now();
                self.said.peak = (self.now(), span.begin);
                self.tallies.begin(self.by_owner(), span.begin);
            }
            self.inside = span.from <= index && index <= span.to;
            if matches!(event.what, What::Final(_)) {
                break;
            }
            self.event(event);
            self.wpa_event(event);
            if self.inside && self.now() > self.said.peak.0 {
                self.said.peak = (self.now(), event.time);
            }
            let older = std::mem::take(&mut self.older);
            if self.inside {
                let since = self.reset.max(span.begin);
                let older: Vec<_> = older.into_iter().map(|owner| (owner, since)).collect();
                self.tallies.after(self.by_owner(), event.time, &older);
            }
            if index == span.to {
                self.stop();
            }
        }
        self.verify(events);
        self.said.impact.retain(|_, pages| *pages != 0);
        self.tallies.pass(span.end);
        self.said.holders = std::mem::take(&mut self.tallies).finish();
        self.said
    }

    fn now(&self) -> u64 {
        self.held.iter().filter(|page| !page.apart).count() as u64
    }

    fn is_kernel(&self, address: u64) -> bool {
        address >= self.setup.p.pick(1 << 63, 0x8000_0000)
    }

    /// The life that a key names: the one that is alive, else the next.
    pub fn by_key(&self, key: u64) -> Option<usize> {
        let named = |life: &usize| self.lives[*life].key(self.setup) == key;
        let next = || (0..self.lives.len()).find(|life| !self.begun.contains(life) && named(life));
        self.alive.iter().copied().find(named).or_else(next)
    }

    fn owner_by_id(&self, pid: u32) -> Owner {
        Owner::Life(*self.alive.iter().find(|&&life| self.lives[life].pid == pid).expect("a living process"))
    }

    fn owners(&self) -> BTreeSet<Owner> {
        self.held.iter().map(|page| page.owner).collect()
    }

    fn session_of(&self, pid: u32) -> Owner {
        let Owner::Life(life) = self.owner_by_id(pid) else { unreachable!() };
        Owner::Session(self.lives[life].session(self.setup))
    }

    pub fn owner_of(&self, page: &Identity) -> Owner {
        match page.page_use {
            0 | 3 | 12 if page.key != 0 => Owner::Life(self.by_key(page.key).expect("a known key")),
            _ => Owner::System,
        }
    }

    /// Pages without a user's address are known by their kernel address where their use has one, else by their frame.
    pub fn place_of(&self, page: &Identity) -> Place {
        match page.page_use {
            0 => Place::At(page.u2),
            3..=7 | 11 | 12 if self.is_kernel(page.u2) => Place::At(page.u2 & !(PAGE - 1)),
            _ => Place::Frame(page.pfn),
        }
    }

    fn event(&mut self, event: &Event) {
        let pages = match event.what {
            What::Active(..) => (1, "ActiveRundown"),
            What::Access(..) => (1, "PrivatePageAccess"),
            What::Shared(..) => (1, "SharablePageAccess"),
            What::Combine(..) => (1, "PageCombine"),
            What::PoolAlloc(_, pool) => (pool.pages(), "PoolAllocate"),
            What::Range(true, _, _, pages) => (pages, "PageRangeAccess"),
            _ => (0, ""),
        };
        if self.inside {
            count(&mut self.said.accesses, pages.1, pages.0);
        }
        match &event.what {
            What::Mark(START_MARK) => {
                self.reset = event.time;
                self.held.clear();
                self.unborn.clear();
                self.pool.clear();
                self.ranges.clear();
            }
            What::Begin(life) => {
                self.alive.push(*life);
                self.begun.insert(*life);
                let creator = self.lives[*life].creator.0;
                let (its, others) = std::mem::take(&mut self.unborn).into_iter().partition(|(by, _)| *by == creator);
                self.unborn = others;
                for (_, event) in its {
                    self.page(&event, Owner::Life(*life));
                }
            }
            What::End(life) => {
                self.alive.retain(|alive| alive != life);
                self.release(Owner::Life(*life), "ProcessEnd", |_, _| true);
            }
            What::Active(page, _) | What::Access(page, _) if page.page_use == 7 => {
                let active = matches!(event.what, What::Active(..));
                self.page(event, if active { Owner::System } else { self.session_of(event.process) });
            }
            What::Active(page, _) | What::Access(page, _) => self.private_page(event, page),
            What::Shared(page, extra, _) if extra.copy_on_write => self.private_page(event, page),
            What::Shared(_, extra, _) if extra.cached_write => self.said.never_held += u64::from(self.inside),
            What::Shared(_, extra, _) => match (extra.working_set, event.process) {
                (0, 0) if self.starts_later(event.thread) => self.unborn.push((event.thread, event.clone())),
                (0, 0) => {
                    self.said.never_held += u64::from(self.inside);
                    self.said.unattributed += u64::from(self.inside);
                }
                (0, pid) => self.page(event, self.owner_by_id(pid)),
                (1, pid) => self.page(event, self.session_of(pid)),
                _ => self.page(event, Owner::System),
            },
            What::Combine(page, _) => self.page(event, self.owner_of(page)),
            What::Release(page) => {
                let (owner, place) = (self.owner_of(page), self.place_of(page));
                let owner = if page.page_use == 7 { self.session_of(event.process) } else { owner };
                self.release(owner, "PageRelease", |at, content| at == place && content == Content::Private);
            }
            What::Remove(extra) => {
                let owner = match extra.working_set {
                    0 => self.owner_by_id(event.process),
                    1 => self.session_of(event.process),
                    _ => Owner::System,
                };
                self.release(owner, "RemovedFromWorkingSet", |at, _| at == Place::At(extra.address));
            }
            What::Free(pid, base, _, size, release) => {
                let reason = if *release { "VirtualAddressRangeEnd" } else { "VirtualAddressRangeDecommit" };
                self.release(self.owner_by_id(*pid), reason, |at, _| within(at, *base, *size));
            }
            What::Unmap(view) if self.is_kernel(view.base) => {
                for owner in self.owners().into_iter().filter(|owner| !matches!(owner, Owner::Life(_))) {
                    self.release(owner, "UnmapFile", |at, _| within(at, view.base, view.size));
                }
            }
            What::Unmap(view) => {
                self.release(self.owner_by_id(view.pid), "UnmapFile", |at, _| within(at, view.base, view.size));
            }
            What::SectionDelete(low, high) => {
                for owner in self.owners() {
                    self.release(owner, "PageFileMappedSectionDelete", |_, content| {
                        matches!(content, Content::Shared(_, identity) if (*low..*high).contains(&identity))
                    });
                }
            }
            What::Sets(sets) => self.sets(sets),
            What::PoolAlloc(address, pool) => drop(self.pool.insert(*address, pool.pages())),
            What::PoolFree(address, _) => {
                let pages = self.pool.remove(address).unwrap_or(0);
                if self.inside {
                    count(&mut self.said.releases, "PoolFree", pages);
                }
            }
            What::Range(true, _, start, pages) => drop(self.ranges.insert(*start, *pages)),
            What::Range(false, _, start, _) => {
                let pages = self.ranges.remove(start).unwrap_or(0);
                if self.inside {
                    count(&mut self.said.releases, "PageRangeRelease", pages);
                }
            }
            _ => {}
        }
    }

    /// A page of the process that its key names, which may be one that starts later.
    fn private_page(&mut self, event: &Event, page: &Identity) {
        match self.owner_of(page) {
            Owner::Life(life) if !self.alive.contains(&life) => {
                self.unborn.push((self.lives[life].creator.0, event.clone()));
            }
            owner => self.page(event, owner),
        }
    }

    fn starts_later(&self, thread: u32) -> bool {
        let waits = |life: usize| !self.begun.contains(&life) && self.lives[life].starts;
        (0..self.lives.len()).any(|life| waits(life) && self.lives[life].creator.0 == thread)
    }

    /// A page enters an owner's working set.
    fn page(&mut self, event: &Event, owner: Owner) {
        match &event.what {
            What::Active(page, category) => {
                let apart = owner == Owner::System;
                self.said.kernel.0 += u64::from(apart && self.inside);
                let category = if apart || page.page_use > 0 { category_by_use(page) } else { *category };
                let new = self.enter(owner, self.place_of(page), Content::Private, category, "ActiveRundown");
                if let Some(new) = new {
                    (new.before, new.apart, new.page_use) = (true, apart, page.page_use);
                    self.said.held_at_start += u64::from(!apart && self.inside);
                    let older = (!apart).then(|| self.label(owner, category));
                    self.older.extend(older);
                }
            }
            What::Access(page, category) => {
                let category = if page.page_use > 0 { category_by_use(page) } else { *category };
                let new = self.enter(owner, self.place_of(page), Content::Private, category, "PrivatePageAccess");
                new.into_iter().for_each(|new| new.page_use = page.page_use);
            }
            What::Shared(page, extra, category) if extra.copy_on_write => {
                let place = Place::At(page.u2);
                self.release(owner, "CopyOnWrite", |at, content| at == place && content != Content::Private);
                self.enter(owner, place, Content::Private, category, "SharablePageAccess");
            }
            What::Shared(page, extra, _) => {
                let content = match page.page_use {
                    2 if page.u2 & 1 != 0 => Content::Combined(page.u2 & !1),
                    _ => Content::Shared(page.pfn, page.u2),
                };
                let category = match (page.page_use, page.u2 & 1) {
                    (2, _) => "PageFileMappedSection",
                    (_, 1) => "Image",
                    _ => "MapFile",
                };
                let new = self.enter(owner, Place::At(extra.address), content, category, "SharablePageAccess");
                new.into_iter().for_each(|new| new.page_use = page.page_use);
            }
            What::Combine(page, prototype) => {
                let place = Place::At(page.u2);
                self.release(owner, "PageCombine", |at, content| at == place && content == Content::Private);
                let content = Content::Combined(*prototype);
                let new = self.enter(owner, place, content, "PageFileMappedSection", "PageCombine");
                new.into_iter().for_each(|new| new.page_use = 2);
            }
            _ => unreachable!("no page"),
        }
    }

    /// Gives the new holding, if it is one.
    fn enter(
        &mut self,
        owner: Owner,
        place: Place,
        content: Content,
        category: &'static str,
        reason: &'static str,
    ) -> Option<&mut Holding> {
        let its = |page: &&mut Holding| page.owner == owner;
        if self.held.iter_mut().filter(its).any(|page| page.content == content && page.places.contains(&place)) {
            if self.inside {
                count(&mut self.said.reaccesses, reason, 1);
            }
            return None;
        }
        // Another page was there, or in the frame: it left unnoticed.
        self.release(owner, "NotLogged", |at, _| at == place);
        if let Content::Shared(pfn, identity) = content {
            self.release(
                owner,
                "NotLogged",
                |_, other| matches!(other, Content::Shared(frame, other) if frame == pfn && other != identity),
            );
            if let Some(page) = self.held.iter_mut().filter(its).find(|page| page.content == content) {
                page.places.push(place);
                self.said.second_mappings += u64::from(self.inside);
                return None;
            }
        }
        let before = !self.inside;
        let places = vec![place];
        self.held.push(Holding { owner, places, content, category, page_use: 0, before, apart: false });
        self.held.last_mut()
    }

    /// Takes places from the owner's pages; a page without any is released.
    fn release(&mut self, owner: Owner, reason: &'static str, which: impl Fn(Place, Content) -> bool) {
        let (mut stay, mut gone) = (Vec::new(), Vec::new());
        for mut page in std::mem::take(&mut self.held) {
            if page.owner == owner {
                page.places.retain(|&place| !which(place, page.content));
            }
            if page.places.is_empty() { gone.push(page) } else { stay.push(page) }
        }
        self.held = stay;
        if self.inside {
            count(&mut self.said.releases, reason, gone.len() as u64);
            for page in gone {
                self.said.kernel.1 += u64::from(page.apart);
                match (page.apart, page.before) {
                    (true, _) => {}
                    (_, true) => *self.said.impact.entry("Impacting".into()).or_default() -= 1,
                    (_, false) => *self.said.impact.entry("Transient".into()).or_default() += 1,
                }
            }
        }
    }

    /// The window ends.
    fn stop(&mut self) {
        self.said.held_at_stop = self.now();
        self.said.pool_at_stop = self.pool.values().sum();
        self.said.ranges_at_stop = self.ranges.values().sum();
        for page in &self.held {
            if page.apart {
                self.said.kernel.2 += 1;
                continue;
            }
            let process = self.label(page.owner, page.category);
            *self.said.rows.entry((process, page.category.to_owned())).or_default() += 1;
            let impact = if page.before { "Persistent" } else { "Impacting" };
            *self.said.impact.entry(impact.to_owned()).or_default() += 1;
        }
    }

    fn label(&self, owner: Owner, category: &str) -> String {
        match owner {
            Owner::Session(_) if category != "SessionPrivate" => "Session".to_owned(),
            Owner::Life(life) => format!("{} ({})", self.lives[life].name(), self.lives[life].pid),
            _ => "System".to_owned(),
        }
    }

    fn by_owner(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for page in self.held.iter().filter(|page| !page.apart) {
            *all.entry(self.label(page.owner, page.category)).or_default() += 1;
        }
        all
    }

    /// Windows says what each working set has.
    fn sets(&mut self, sets: &[(u32, u64)]) {
        let of = |owner| self.held.iter().filter(|page| page.owner == owner && !page.apart).count() as u64;
        let agree = sets.iter().filter(|&&(pid, pages)| of(self.owner_by_id(pid)) == pages).count() as u64;
        if self.inside {
            let (records, compared, before) = self.said.sets;
            self.said.sets = (records + 1, compared + sets.len() as u64, before + agree);
        }
    }
}

pub fn within(place: Place, base: u64, size: u64) -> bool {
    matches!(place, Place::At(address) if address >= base && address - base < size)
}
