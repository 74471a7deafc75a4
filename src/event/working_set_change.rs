//! Page events that change working sets. There are millions of them, so they are read by their hook id, without the decoder
//! of all events.

use crate::etl::record_id::HookId;
use crate::event::Event;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX, PAGE_COMBINE, PAGE_RELEASE, REMOVE_FROM_WS};
use crate::event::page_access_ex::{ExtraInfo, PageAccessEx, PageCombine};
use crate::event::page_identity::{PageIdentity, PageKind};
use crate::units::PointerSize;

/// Such an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingSetEvent {
    /// InMemoryActive, PageAccess, PageRelease.
    Page(PageKind, PageIdentity),
    /// PageAccessEx.
    AccessEx(PageAccessEx),
    /// RemoveFromWS.
    Remove(ExtraInfo),
    /// PageCombine.
    Combine(PageCombine),
}

impl WorkingSetEvent {
    /// True for the hook ids of these events.
    #[inline(always)]
    pub const fn is(hook: HookId) -> bool {
        matches!(hook, IN_MEMORY_ACTIVE | PAGE_ACCESS | PAGE_RELEASE | PAGE_ACCESS_EX | REMOVE_FROM_WS | PAGE_COMBINE)
    }

    /// The event of a record with a kernel header; `None` for other hook ids, and for a payload that is not exactly as
    /// long as the structure (the survey counts these).
    #[inline(always)]
    pub fn read(hook: HookId, payload: &[u8], pointer: PointerSize) -> Option<WorkingSetEvent> {
        let page = |kind| PageIdentity::read(payload, pointer).map(|page| WorkingSetEvent::Page(kind, page));
        match hook {
            IN_MEMORY_ACTIVE => page(PageKind::InMemoryActive),
            PAGE_ACCESS => page(PageKind::Access),
            PAGE_RELEASE => page(PageKind::Release),
            PAGE_ACCESS_EX => PageAccessEx::read(payload, pointer).map(WorkingSetEvent::AccessEx),
            REMOVE_FROM_WS => ExtraInfo::read(payload, pointer).map(WorkingSetEvent::Remove),
            PAGE_COMBINE => PageCombine::read(payload, pointer).map(WorkingSetEvent::Combine),
            _ => None,
        }
    }

    /// The same of a decoded event.
    pub fn of(event: &Event<'_>) -> Option<WorkingSetEvent> {
        match *event {
            Event::Page { kind, page } => Some(WorkingSetEvent::Page(kind, page)),
            Event::PageAccessEx(access) => Some(WorkingSetEvent::AccessEx(access)),
            Event::RemoveFromWorkingSet(extra) => Some(WorkingSetEvent::Remove(extra)),
            Event::PageCombine(combine) => Some(WorkingSetEvent::Combine(combine)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::hooks::PAGE_IN_MEMORY;

    #[test]
    fn exactly_the_length_of_the_structure() {
        let sizes = [24, 24, 24, 32, 8, 32];
        let hooks = [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_RELEASE, PAGE_ACCESS_EX, REMOVE_FROM_WS, PAGE_COMBINE];
        for (hook, size) in hooks.into_iter().zip(sizes) {
            let read = |bytes| WorkingSetEvent::read(hook, &[0; 64][..bytes], PointerSize::P8);
            assert!(read(size).is_some() && read(size - 1).is_none() && read(size + 1).is_none(), "{hook:?}");
            assert!(WorkingSetEvent::is(hook));
        }
        assert!(!WorkingSetEvent::is(PAGE_IN_MEMORY));
        assert_eq!(WorkingSetEvent::read(PAGE_IN_MEMORY, &[0; 24], PointerSize::P8), None);
    }
}
