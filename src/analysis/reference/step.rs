//! From records to steps: what one page event means to the owner of a working set and to WPA's rules.
//!
//! A record becomes one step when both rule sets follow it under the same process id, two when they do not.

use crate::analysis::category::Category;
use crate::analysis::reference::memo::Memo;
use crate::analysis::reference::reason::{AccessReason, ReleaseReason};
use crate::event::page::{ExtraInfo, PageAccessEx, PageCombine, PageIdentity, PageKind, PageUse, WorkingSetKind};
use crate::model::process_timeline::{ProcessLifetime, ProcessTimeline};
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use crate::units::{PAGE_BYTES, PointerSize};

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A page that is no one else's enters a working set: private data, page tables, kernel pages.
    Private,
    /// A kernel page of the active rundown.
    Apart,
    /// A shareable page enters a working set.
    Shareable,
    /// A private copy takes a shareable page's place.
    CopyOnWrite,
    /// A private page becomes a combined one; the identity is the prototype PTE's address.
    Combine,
    /// A page's content is deleted.
    Release,
    /// The page at an address is trimmed.
    Remove,
    /// A view at kernel addresses is unmapped: `address` up to `identity`.
    Unmap,
    /// Pool that was not seen being allocated is freed: `address` up to `identity`.
    FreePool,
}

impl Kind {
    /// All kinds in the order of their numbers.
    pub const ALL: [Kind; 9] = [
        Kind::Private,
        Kind::Apart,
        Kind::Shareable,
        Kind::CopyOnWrite,
        Kind::Combine,
        Kind::Release,
        Kind::Remove,
        Kind::Unmap,
        Kind::FreePool,
    ];
}

/// Follows the corrected rules.
pub const CORRECTED: u8 = 1;
/// Follows WPA's rules.
pub const WPA: u8 = 2;

/// One step of an owner's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When it happens.
    pub moment: Moment,
    /// Address; 0 where the event has none.
    pub address: u64,
    /// Frame.
    pub pfn: u64,
    /// `u2` of the identity, or what `kind` says.
    pub identity: u64,
    /// Whose working set.
    pub owner: OwnerId,
    /// Under which process id WPA counts it.
    pub process_id: u32,
    /// What happens.
    pub kind: Kind,
    /// Category by the identity alone.
    pub category: Category,
    /// Use of the page.
    pub page_use: PageUse,
    /// [`CORRECTED`], [`WPA`] or both.
    pub rules: u8,
    /// Reason of an access.
    pub reason: AccessReason,
    /// Pointer size of the record: what is a kernel address.
    pub pointer: PointerSize,
}

/// The number that decides which bucket follows an owner: owners that are processes go by their id, so that most steps
/// have one bucket for both rule sets.
#[inline(always)]
pub fn group_of(owner: OwnerId, directory: &ProcessTimeline<'_>) -> u64 {
    match owner.owner() {
        Owner::Process(instance) => u64::from(directory.process_id(instance)),
        Owner::UnknownProcess(id) => u64::from(id),
        _ => owner.raw(),
    }
}

/// What stands around a page record.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// When it was logged.
    pub moment: Moment,
    /// Thread of its header.
    pub thread_id: Option<u32>,
    /// Process of its header.
    pub process_id: Option<u32>,
    /// Pointer size.
    pub pointer: PointerSize,
}

/// A step, or why there is none.
#[derive(Debug, Clone, Copy)]
pub enum Made {
    /// A step.
    Step(Step),
    /// A page of an address space whose process never started; only WPA's rules follow it.
    Unattributed(Step),
    /// Nothing that changes an account.
    Nothing,
}

/// The process id that stands for "none" under WPA's rules.
pub const NO_PROCESS: u32 = u32::MAX;

/// Makes steps of page events.
#[derive(Debug)]
pub struct StepMaker<'d, 'm> {
    /// Who is who.
    pub directory: &'d ProcessTimeline<'d>,
    /// What the thread knows of it.
    pub memo: &'m mut Memo,
}

impl StepMaker<'_, '_> {
    /// A step with what all have in common.
    #[inline(always)]
    fn step(&self, at: Circumstances, kind: Kind, page: &PageIdentity, address: u64) -> Step {
        Step {
            moment: at.moment,
            address: address & !(PAGE_BYTES - 1),
            pfn: page.pfn,
            identity: page.u2,
            owner: OwnerId::SYSTEM,
            process_id: at.process_id.unwrap_or(NO_PROCESS),
            kind,
            category: Category::of_use(page),
            page_use: page.page_use(),
            rules: CORRECTED | WPA,
            reason: AccessReason::PrivatePageAccess,
            pointer: at.pointer,
        }
    }

    /// The owner by the header's process id.
    #[inline(always)]
    fn by_id(&mut self, process_id: u32, moment: Moment) -> OwnerId {
        OwnerId::new(match self.memo.by_id(self.directory, process_id, moment) {
            Some(life) => Owner::Process(life.instance),
            None => Owner::UnknownProcess(process_id),
        })
    }

    /// The owner of a page that belongs to one process: by its key, or by the header where the kernel had no key. A
    /// page of a process that has not started yet is accessed when it starts.
    #[inline(always)]
    fn owned(&mut self, step: &mut Step, page: &PageIdentity, at: Circumstances) {
        match (self.memo.by_key(self.directory, page.key(), at.moment), page.key(), at.process_id) {
            (Some(life), ..) => give_to(step, &life),
            (None, 0, Some(id)) => step.owner = self.by_id(id, at.moment),
            (None, key, _) => step.owner = OwnerId::new(Owner::UnknownKey(key)),
        }
    }

    /// The process id by which WPA knows the owner of an identity.
    #[inline(always)]
    fn wpa_process(&self, step: &mut Step) {
        step.process_id = match step.owner.owner() {
            Owner::Process(instance) => self.directory.process_id(instance),
            Owner::UnknownProcess(id) => id,
            _ => step.process_id,
        };
    }

    /// The session of the process that logged an event.
    #[inline(always)]
    fn session(&mut self, at: Circumstances) -> OwnerId {
        let life = at.process_id.and_then(|id| self.memo.by_id(self.directory, id, at.moment));
        OwnerId::new(Owner::Session(life.and_then(|life| self.directory.session(life.instance)).unwrap_or(u32::MAX)))
    }

    /// InMemoryActive, PageAccess, PageRelease.
    #[inline(always)]
    pub fn page(&mut self, kind: PageKind, page: &PageIdentity, at: Circumstances) -> Made {
        let mut step = self.step(at, Kind::Private, page, page.u2);
        match kind {
            PageKind::InMemoryActive => step.reason = AccessReason::ActiveRundown,
            PageKind::Access => {}
            PageKind::Release => step.kind = Kind::Release,
            _ => return Made::Nothing,
        }
        match page.page_use() {
            PageUse::ProcessPrivate => self.owned(&mut step, page, at),
            PageUse::PageTable | PageUse::WsMetaData if page.key() != 0 => self.owned(&mut step, page, at),
            PageUse::SessionPrivate if at.process_id.is_some() => step.owner = self.session(at),
            _ => {}
        }
        let system = matches!(step.owner.owner(), Owner::System | Owner::Session(_));
        if kind == PageKind::InMemoryActive {
            if system {
                step.kind = Kind::Apart;
            }
            // Its header names no process, so that WPA can only go by the identity.
            self.wpa_process(&mut step);
            if page.page_use() != PageUse::ProcessPrivate {
                step.rules = CORRECTED;
            }
        } else if kind == PageKind::Release && page.page_use() == PageUse::ProcessPrivate {
            self.wpa_process(&mut step);
        }
        Made::Step(step)
    }

    /// PageAccessEx.
    #[inline(always)]
    pub fn access_ex(&mut self, access: &PageAccessEx, at: Circumstances) -> Made {
        let PageAccessEx { page, extra } = access;
        if extra.copy_on_write() {
            let mut step = self.step(at, Kind::CopyOnWrite, page, page.u2);
            step.reason = AccessReason::SharablePageAccess;
            self.owned(&mut step, page, at);
            return Made::Step(step);
        }
        let mut step = self.step(at, Kind::Shareable, page, extra.virtual_address());
        step.reason = AccessReason::SharablePageAccess;
        if extra.cached_write() {
            step.rules = WPA;
            return Made::Step(step);
        }
        match extra.working_set() {
            WorkingSetKind::System | WorkingSetKind::Unknown3 => {}
            WorkingSetKind::Session => step.owner = self.session(at),
            WorkingSetKind::Process => return self.of_process(step, at),
        }
        Made::Step(step)
    }

    /// A step in the working set of the process that logged it. Process id 0 is that of an address space whose process
    /// has not started yet: the thread's next start tells which.
    #[inline(always)]
    fn of_process(&mut self, mut step: Step, at: Circumstances) -> Made {
        match (at.process_id, at.thread_id) {
            (Some(0), Some(thread)) => match self.directory.newborn(thread, at.moment) {
                Some((start, instance)) => {
                    step.owner = OwnerId::new(Owner::Process(instance));
                    step.moment = start;
                    Made::Step(step)
                }
                None => Made::Unattributed(Step { rules: WPA, ..step }),
            },
            (Some(id), _) if id != 0 => {
                step.owner = self.by_id(id, at.moment);
                Made::Step(step)
            }
            _ => Made::Unattributed(Step { rules: WPA, ..step }),
        }
    }

    /// RemoveFromWS.
    #[inline(always)]
    pub fn remove(&mut self, extra: ExtraInfo, at: Circumstances) -> Made {
        let nothing = PageIdentity { flags: 0, pfn: 0, u2: 0 };
        let mut step = self.step(at, Kind::Remove, &nothing, extra.virtual_address());
        match extra.working_set() {
            WorkingSetKind::System | WorkingSetKind::Unknown3 => {}
            WorkingSetKind::Session => step.owner = self.session(at),
            WorkingSetKind::Process => return self.of_process(step, at),
        }
        Made::Step(step)
    }

    /// PageCombine: the process is the identity's, for a system thread logs it.
    pub fn combine(&mut self, combine: &PageCombine, at: Circumstances) -> Made {
        let mut step = self.step(at, Kind::Combine, &combine.page, combine.page.u2);
        step.identity = combine.prototype_pte() | 1;
        step.pfn = 0;
        (step.reason, step.category) = (AccessReason::PageCombine, Category::PageFileMappedSection);
        self.owned(&mut step, &combine.page, at);
        self.wpa_process(&mut step);
        Made::Step(step)
    }

    /// A view at kernel addresses is unmapped: a step for the system or for a session.
    pub fn unmap(&mut self, base: u64, size: u64, in_session: bool, at: Circumstances) -> Step {
        let nothing = PageIdentity { flags: 0, pfn: 0, u2: 0 };
        let mut step = self.step(at, Kind::Unmap, &nothing, base);
        step.identity = base.saturating_add(size);
        step.rules = CORRECTED;
        if in_session {
            step.owner = self.session(at);
        }
        step
    }

    /// Pool is freed: kernel pages of the active rundown at these addresses go.
    pub fn free_pool(&mut self, base: u64, size: u64, at: Circumstances) -> Step {
        Step { kind: Kind::FreePool, ..self.unmap(base, size, false, at) }
    }
}

#[inline(always)]
fn give_to(step: &mut Step, life: &ProcessLifetime) {
    step.owner = OwnerId::new(Owner::Process(life.instance));
    step.moment = step.moment.max(life.begin);
}

/// The reason of a free.
pub fn free_reason(flags: u32) -> Option<ReleaseReason> {
    use crate::event::virtual_memory::VirtualRange;
    if flags & VirtualRange::RELEASE != 0 {
        Some(ReleaseReason::VirtualAddressRangeEnd)
    } else if flags & VirtualRange::DECOMMIT != 0 {
        Some(ReleaseReason::VirtualAddressRangeDecommit)
    } else {
        None
    }
}
