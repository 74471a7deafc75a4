//! One process's address space as it changes over time: what an address belongs to at the moment of an access.
//!
//! At a snapshot one state answers millions of look-ups; here the state changes between look-ups. So a stack is found by
//! the next stack base above the address, without checking all stacks. A test compares with the simple look-up.

use crate::event::Phase;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_index::{AddressIndex, Leaves};
use crate::model::address_space::{AddressSpace, Layer};
use crate::model::address_space_at::space_at;
use crate::model::flat_ranges::FlatRanges;
use crate::model::process::Instance;
use crate::model::rundown::Rundowns;
use crate::moment::{At, Moment};
use std::collections::BTreeSet;

/// A changing address space.
#[derive(Debug, Default)]
pub struct LiveSpace {
    space: AddressSpace,
    /// Base and thread of every stack.
    stacks: BTreeSet<(u64, u32)>,
    /// The space as flat ranges, built when there have been many look-ups since the last change.
    index: Option<AddressIndex>,
    /// Look-ups since the last change.
    asked: usize,
}

impl LiveSpace {
    /// The state of `instance` just before `moment`, from all events of its process id.
    pub fn at(events: &[At<SpaceEvent>], instance: &Instance, moment: Moment, rundowns: &Rundowns) -> LiveSpace {
        let space = space_at(events, instance, moment, rundowns).space;
        let stacks = space.stacks.iter().map(|(&thread, stack)| (stack.base, thread)).collect();
        LiveSpace { space, stacks, ..LiveSpace::default() }
    }

    /// Applies an event.
    pub fn apply(&mut self, moment: Moment, event: &SpaceEvent) {
        if let SpaceEvent::Thread { phase, thread_id, stack_base, .. } = *event {
            if let Some(old) = self.space.stacks.get(&thread_id) {
                self.stacks.remove(&(old.base, thread_id));
            }
            if phase != Phase::End {
                self.stacks.insert((stack_base, thread_id));
            }
        }
        let changes = self.changes_layers(event);
        self.space.apply(moment, event);
        if changes {
            (self.index, self.asked) = (None, 0);
        }
    }

    /// False for commits inside of a reservation and for decommits: they are the most frequent events, and change no answer.
    fn changes_layers(&self, event: &SpaceEvent) -> bool {
        let SpaceEvent::Region { phase, base, size, flags } = *event else { return true };
        let has = |flag| flags & flag != 0;
        match phase {
            Phase::Start if has(VirtualRange::RESERVE) => true,
            Phase::Start if has(VirtualRange::COMMIT) => !self.space.regions.covers(base, base.saturating_add(size)),
            Phase::Start => false,
            Phase::End => has(VirtualRange::RELEASE) || !has(VirtualRange::DECOMMIT),
            Phase::DcStart | Phase::DcEnd => true,
        }
    }

    /// The whole reservation at an address that is freed with size 0; its bounds.
    pub fn region(&self, base: u64) -> Option<(u64, u64)> {
        self.space.regions.get(base).map(|(low, high, _)| (low, high))
    }

    /// Bounds of the view that begins at an address.
    pub fn view(&self, base: u64) -> Option<(u64, u64)> {
        self.space.views.get(base).map(|(low, high, _)| (low, high)).filter(|view| view.0 == base)
    }

    /// What the address belongs to, and the file key of the view that contains it (0 = none). Builds the flat ranges if there
    /// are many look-ups without a change.
    #[inline]
    pub fn layer(&mut self, address: u64) -> (Layer, u64) {
        if let Some(index) = &self.index {
            let owner = index.get(0, address);
            let is_view = matches!(owner.corrected(), Layer::ImageView | Layer::FileView | Layer::PagefileView);
            return (owner.corrected(), if is_view { index.file_key(owner).unwrap_or(0) } else { 0 });
        }
        // Building the flat ranges costs about one look-up for every four ranges.
        let ranges = self.space.regions.len() + self.space.views.len() + self.space.heaps.len() + self.stacks.len();
        self.asked += 1;
        if self.asked > 16 + ranges / 4 {
            self.index = Some(AddressIndex::new(vec![Leaves::new(FlatRanges::new(&self.space))]));
        }
        self.look_up(address)
    }

    fn look_up(&self, address: u64) -> (Layer, u64) {
        let mut file_key = 0;
        let view = || {
            let (_, _, view) = self.space.views.get(address)?;
            file_key = view.file_key;
            Some(Layer::of_view(view.kind))
        };
        let layer = Layer::uppermost(
            || self.space.heaps.get(address).is_some(),
            || self.is_stack(address),
            view,
            || self.space.regions.get(address).is_some(),
        );
        (layer, file_key)
    }

    /// A stack extends from its base down to the start of the region that contains its highest byte, or to its initial limit
    /// if there is no such region. Stacks do not overlap, so the nearest base above the address decides.
    fn is_stack(&self, address: u64) -> bool {
        let mut above = self.stacks.range((address.saturating_add(1), 0)..);
        above.next().is_some_and(|&(base, thread)| match self.space.regions.get(base.saturating_sub(1)) {
            Some((low, ..)) => low <= address,
            None => self.space.stacks.get(&thread).is_some_and(|stack| stack.limit <= address),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::file_name_and_view::ViewKind;
    use crate::random_cases::cases;
    use proptest::prelude::*;

    const PAGE: u64 = 4096;

    fn event(what: u8, page: u64, pages: u64, thread_id: u32) -> SpaceEvent {
        let (base, size) = (page * PAGE, pages * PAGE);
        let flags = VirtualRange::RESERVE | VirtualRange::COMMIT;
        let kinds = [ViewKind::DataFile, ViewKind::Image, ViewKind::PagefileBacked];
        let kind = kinds[usize::try_from(page % 3).unwrap()];
        match what {
            0 => SpaceEvent::Region { phase: Phase::Start, base, size, flags },
            1 => SpaceEvent::Region { phase: Phase::End, base, size, flags: VirtualRange::RELEASE },
            2 => SpaceEvent::View { phase: Phase::Start, base, size, file_key: page, kind },
            3 => SpaceEvent::View { phase: Phase::End, base, size, file_key: page, kind },
            4 => SpaceEvent::HeapCreate { heap: base, size },
            5 => SpaceEvent::HeapRelease { heap: base, base, size },
            6 => SpaceEvent::Thread { phase: Phase::End, thread_id, stack_base: 0, stack_limit: 0 },
            9 => SpaceEvent::Region { phase: Phase::Start, base, size, flags: VirtualRange::COMMIT },
            10 => SpaceEvent::Region { phase: Phase::End, base, size, flags: VirtualRange::DECOMMIT },
            _ => SpaceEvent::Thread { phase: Phase::Start, thread_id, stack_base: base + size, stack_limit: base },
        }
    }

    proptest! {
        #![proptest_config(cases(96))]

        /// Agrees with the model's own look-up. Stacks keep clear of each other, as they do in processes.
        #[test]
        fn agrees_with_the_address_space(
            steps in prop::collection::vec((0u8..11, 0u64..60, 1u64..12, 0u32..4), 0..80),
        ) {
            let mut live = LiveSpace::default();
            for (n, (what, page, pages, thread)) in steps.into_iter().enumerate() {
                let page = if matches!(what, 7 | 8) { u64::from(thread) * 15 + page % 4 } else { page };
                let moment = Moment { time: crate::units::Ticks(n as i64), order: 0 };
                live.apply(moment, &event(what, page, pages.min(8), thread));
                for page in 0..80 {
                    let layer = live.look_up(page * PAGE);
                    prop_assert_eq!(layer.0, live.space.layer(page * PAGE), "page {}", page);
                    // Both without flat ranges (the first look-up) and with them.
                    prop_assert_eq!(live.layer(page * PAGE), layer, "page {}", page);
                }
            }
        }
    }
}
