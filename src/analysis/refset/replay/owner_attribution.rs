//! Whose working set a page event is about: from records to updates.

use crate::analysis::refset::reason::AccessReason;
use crate::analysis::refset::replay::update::{Update, UpdateKind};
use crate::event::page_access_ex::{ExtraInfo, PageAccessEx, PageCombine, WorkingSetKind};
use crate::event::page_identity::{PageIdentity, PageKind, PageUse};
use crate::load::working_set_changes::EventHeader;
use crate::model::process_timeline::{ProcessLifetime, ProcessTimeline};
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use crate::units::Ticks;

/// An update and where WPA's rules count it.
#[derive(Debug, Clone, Copy)]
pub struct Attribution {
    /// The update; for WPA's rules alone when the owner is not known.
    pub update: Update,
    /// The group of owners, as by [`group_of`].
    pub group: u64,
    /// Process id by which WPA knows the owner.
    pub process_id: u32,
    /// False for a page of an address space whose process never started.
    pub is_known: bool,
}

impl Attribution {
    /// An update whose owner has one process id, if any, and that WPA counts under another.
    #[inline(always)]
    fn new(update: Update, owner_id: Option<u32>, wpa_id: Option<u32>) -> Attribution {
        let group = owner_id.map_or_else(|| group_without_id(update.owner), u64::from);
        Attribution { update, group, process_id: wpa_id.unwrap_or(NO_PROCESS), is_known: true }
    }
}

/// The process id that stands for "none" under WPA's rules: updates are packed, and there are as many as page events.
const NO_PROCESS: u32 = u32::MAX;

/// Page records that name no page.
const NO_PAGE: PageIdentity = PageIdentity { flags: 0, pfn: 0, u2: 0 };

/// Finds the owners of page events. Each thread has its own, with its last answers.
#[derive(Debug)]
pub struct Attributor<'d> {
    lifetimes: &'d ProcessTimeline<'d>,
    by_id: Answers,
    by_key: Answers,
}

impl<'d> Attributor<'d> {
    /// For the processes of a trace.
    pub fn new(lifetimes: &'d ProcessTimeline<'d>) -> Attributor<'d> {
        Attributor { lifetimes, by_id: Answers::default(), by_key: Answers::default() }
    }

    #[inline(always)]
    fn life_of_id(&mut self, process_id: u32, moment: Moment) -> Option<Named> {
        let lifetimes = self.lifetimes;
        self.by_id.get(u64::from(process_id), moment, || lifetimes.by_id(process_id, moment).copied())
    }

    #[inline(always)]
    fn life_of_key(&mut self, key: u64, moment: Moment) -> Option<Named> {
        let lifetimes = self.lifetimes;
        self.by_key.get(key, moment, || lifetimes.by_key(key, moment).copied())
    }

    /// The process with the id of a header.
    #[inline(always)]
    fn process(&mut self, process_id: u32, moment: Moment) -> OwnerId {
        OwnerId::new(match self.life_of_id(process_id, moment) {
            Some(life) => Owner::Process(life.instance),
            None => Owner::UnknownProcess(process_id),
        })
    }

    /// The session of the process that logged an event.
    #[inline(always)]
    fn session(&mut self, header: EventHeader) -> OwnerId {
        let life = header.process_id.and_then(|id| self.life_of_id(id, header.moment));
        OwnerId::new(Owner::Session(life.and_then(|life| self.lifetimes.session(life.instance))))
    }

    /// Gives an update to the process that owns the page: by its key, or by the header where the kernel had no key. A
    /// page of a process that has not started yet is accessed when it starts. Gives the process's id.
    #[inline(always)]
    fn owned(&mut self, update: &mut Update, page: &PageIdentity, header: EventHeader) -> Option<u32> {
        match (self.life_of_key(page.key(), header.moment), page.key(), header.process_id) {
            (Some(life), ..) => {
                update.owner = OwnerId::new(Owner::Process(life.instance));
                update.moment = update.moment.max(life.begin);
                Some(life.process_id)
            }
            (None, 0, Some(id)) => {
                update.owner = self.process(id, header.moment);
                Some(id)
            }
            (None, key, _) => {
                update.owner = OwnerId::new(Owner::UnknownKey(key));
                None
            }
        }
    }

    /// InMemoryActive, PageAccess, PageRelease; `None` for other kinds.
    #[inline(always)]
    pub fn page(&mut self, kind: PageKind, page: &PageIdentity, header: EventHeader) -> Option<Attribution> {
        let mut update = Update::new(header.moment, UpdateKind::Private, page, page.u2, header.pointer);
        match kind {
            PageKind::InMemoryActive => update = update.with_reason(AccessReason::ActiveRundown),
            PageKind::Access => {}
            PageKind::Release => update = update.with_kind(UpdateKind::Release),
            _ => return None,
        }
        let is_private = page.page_use() == PageUse::ProcessPrivate;
        let owner_id = match page.page_use() {
            PageUse::ProcessPrivate => self.owned(&mut update, page, header),
            PageUse::PageTable | PageUse::WsMetaData if page.key() != 0 => self.owned(&mut update, page, header),
            PageUse::SessionPrivate if header.process_id.is_some() => {
                update.owner = self.session(header);
                None
            }
            _ => None,
        };
        let mut wpa_id = header.process_id;
        if kind == PageKind::InMemoryActive {
            if matches!(update.owner.owner(), Owner::System | Owner::Session(_)) {
                update = update.with_kind(UpdateKind::Kernel);
            }
            // Its header names no process, so that WPA can only go by the identity.
            wpa_id = owner_id.or(wpa_id);
            update = if is_private { update } else { update.without_wpa() };
        } else if kind == PageKind::Release && is_private {
            wpa_id = owner_id.or(wpa_id);
        }
        Some(Attribution::new(update, owner_id, wpa_id))
    }

    /// PageAccessEx.
    #[inline(always)]
    pub fn access_ex(&mut self, access: &PageAccessEx, header: EventHeader) -> Attribution {
        let PageAccessEx { page, extra } = access;
        let is_copy = extra.copy_on_write();
        let (kind, address) = match is_copy {
            true => (UpdateKind::CopyOnWrite, page.u2),
            false => (UpdateKind::Shareable, extra.virtual_address()),
        };
        let update = Update::new(header.moment, kind, page, address, header.pointer);
        let mut update = update.with_reason(AccessReason::SharablePageAccess);
        if is_copy {
            let owner_id = self.owned(&mut update, page, header);
            return Attribution::new(update, owner_id, header.process_id);
        }
        if extra.cached_write() {
            let process_id = header.process_id.unwrap_or(NO_PROCESS);
            return Attribution::new(update.for_wpa(process_id, header.moment), None, header.process_id);
        }
        self.in_working_set(update, extra.working_set(), header)
    }

    /// RemoveFromWS.
    #[inline(always)]
    pub fn remove(&mut self, extra: ExtraInfo, header: EventHeader) -> Attribution {
        let address = extra.virtual_address();
        let update = Update::new(header.moment, UpdateKind::Remove, &NO_PAGE, address, header.pointer);
        self.in_working_set(update, extra.working_set(), header)
    }

    /// An update of the working set that the extra info names: a process's is that of the process that logged it.
    /// Process id 0 is that of an address space whose process has not started yet: the thread's next start tells which.
    #[inline(always)]
    fn in_working_set(&mut self, mut update: Update, set: WorkingSetKind, header: EventHeader) -> Attribution {
        let (moment, wpa_id) = (header.moment, header.process_id);
        let owner_id = match (set, wpa_id, header.thread_id) {
            (WorkingSetKind::System | WorkingSetKind::Unknown3, ..) => None,
            (WorkingSetKind::Session, ..) => {
                update.owner = self.session(header);
                None
            }
            (WorkingSetKind::Process, Some(id), _) if id != 0 => {
                update.owner = self.process(id, moment);
                Some(id)
            }
            (WorkingSetKind::Process, id, thread) => {
                let newborn = id.and(thread).and_then(|thread| self.lifetimes.next_started(thread, moment));
                let Some((start, instance)) = newborn else {
                    let unknown = update.for_wpa(id.unwrap_or(NO_PROCESS), moment);
                    return Attribution { is_known: false, ..Attribution::new(unknown, None, id) };
                };
                (update.owner, update.moment) = (OwnerId::new(Owner::Process(instance)), start);
                self.lifetimes.process_id(instance)
            }
        };
        Attribution::new(update, owner_id, wpa_id)
    }

    /// Windows says how many pages a process's working set has.
    pub fn recorded(&mut self, process_id: u32, pages: u64, header: EventHeader) -> Attribution {
        let update = Update::new(header.moment, UpdateKind::Recorded, &NO_PAGE, 0, header.pointer);
        let mut update = update.without_wpa();
        (update.owner, update.identity) = (self.process(process_id, header.moment), pages);
        Attribution::new(update, Some(process_id), Some(process_id))
    }

    /// PageCombine: the process is the identity's, for a system thread logs it.
    pub fn combine(&mut self, combine: &PageCombine, header: EventHeader) -> Attribution {
        let page = &combine.page;
        let mut update = Update::new(header.moment, UpdateKind::Combine, page, page.u2, header.pointer);
        (update.identity, update.page) = (combine.prototype_pte() | 1, update.page.combined());
        let owner_id = self.owned(&mut update, page, header);
        Attribution::new(update, owner_id, owner_id.or(header.process_id))
    }

    /// A view at kernel addresses is unmapped: updates of the system's and of the session's working set.
    pub fn unmap(&mut self, base: u64, size: u64, header: EventHeader) -> [Attribution; 2] {
        let update = Update::new(header.moment, UpdateKind::Unmap, &NO_PAGE, base, header.pointer);
        let mut of_system = update.without_wpa();
        of_system.identity = base.saturating_add(size);
        let mut of_session = of_system;
        of_session.owner = self.session(header);
        [of_system, of_session].map(|update| Attribution::new(update, None, header.process_id))
    }

    /// Pool is freed: kernel pages of the active rundown at these addresses go.
    pub fn free_pool(&mut self, base: u64, size: u64, header: EventHeader) -> Attribution {
        let update = Update::new(header.moment, UpdateKind::FreePool, &NO_PAGE, base, header.pointer);
        let mut update = update.without_wpa();
        update.identity = base.saturating_add(size);
        Attribution::new(update, None, header.process_id)
    }
}

/// The process id of an owner that is a process.
#[inline(always)]
pub fn process_id(owner: OwnerId, lifetimes: &ProcessTimeline<'_>) -> Option<u32> {
    match owner.owner() {
        Owner::Process(instance) => lifetimes.process_id(instance),
        Owner::UnknownProcess(id) => Some(id),
        _ => None,
    }
}

/// The number that decides which shard replays an owner: processes go by their id, so that most updates have one shard
/// for both rule sets.
#[inline(always)]
pub fn group_of(owner: OwnerId, lifetimes: &ProcessTimeline<'_>) -> u64 {
    process_id(owner, lifetimes).map_or_else(|| group_without_id(owner), u64::from)
}

/// The group of an owner that is no process. The system and the sessions are one: private pages of sessions count for the
/// system. No process id is so large.
#[inline(always)]
fn group_without_id(owner: OwnerId) -> u64 {
    match owner.owner() {
        Owner::System | Owner::Session(_) => 1 << 32,
        _ => owner.raw(),
    }
}

/// Several times the number of processes of a busy trace, so that few share a slot.
const SLOT_BITS: u32 = 9;

/// The process that an id or a key names.
#[derive(Debug, Clone, Copy)]
struct Named {
    /// Its start, where that comes later than the record.
    begin: Moment,
    instance: u32,
    process_id: u32,
}

/// An answer, and between which stamps it holds: half a cache line, so that both tables stay in the first-level cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Slot {
    number: u64,
    after: Ticks,
    before: Ticks,
    instance: u32,
    process_id: u32,
}

/// The last answers to "which process has this id (or key)". They change seldom, and every record asks.
#[derive(Debug)]
struct Answers(Box<[Slot; 1 << SLOT_BITS]>);

impl Default for Answers {
    fn default() -> Self {
        let nobody = Slot { number: 0, after: Ticks(i64::MAX), before: Ticks(i64::MIN), instance: 0, process_id: 0 };
        Answers(Box::new([nobody; 1 << SLOT_BITS]))
    }
}

impl Answers {
    /// The process for a number: the last answer, or a new one from `ask`. Answers that begin later are not kept.
    #[inline(always)]
    fn get(&mut self, number: u64, moment: Moment, ask: impl FnOnce() -> Option<ProcessLifetime>) -> Option<Named> {
        let slot = &mut self.0[(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOT_BITS)) as usize];
        if slot.number == number && slot.after < moment.time && moment.time < slot.before {
            return Some(Named { begin: Moment::FIRST, instance: slot.instance, process_id: slot.process_id });
        }
        let ProcessLifetime { begin, end, instance, process_id, .. } = ask()?;
        if begin <= moment {
            // At the stamps themselves the order in the file decides, so that they are asked for each time.
            *slot = Slot { number, after: begin.time, before: end.time, instance, process_id };
        }
        Some(Named { begin, instance, process_id })
    }
}
