//! Events with the names of their stacks, slice by slice: most stacks came before, and where little else comes, their names are looked
//! up by all threads that are free.

use super::frame_names::Names;
use super::rows::StackId;
use super::stack_matching::Attached;
use crate::load::stacks::first_walk::Parts;
use crate::load::stacks::stack_events::StackEvent;
use crate::moment::At;
use rayon::prelude::*;

/// Events of a slice.
const SLICE: usize = 1 << 14;

/// Events that a thread looks at at least.
const LEAST: usize = 1 << 10;

/// Of so many stacks of a slice one may be new where the next slice is looked at by several threads.
const NEW: usize = 8;

/// Events of a slice with the names of their stacks.
pub(super) struct NamedSlice<'e> {
    pub events: &'e [At<StackEvent>],
    pub stacks: &'e [Attached],
    /// One for each event; of no frames where it does not count.
    pub ids: Vec<StackId>,
}

/// Calls `each` with all events in slices, in order. The stacks of a slice are named while `each` works on the slice before it. Events
/// that are not `wanted`, and those without a stack, have no names.
pub(super) fn for_each<'e>(
    names: &mut Names,
    (events, stacks): (&'e [At<StackEvent>], &'e [Attached]),
    parts: &Parts,
    is_wanted: impl Fn(&At<StackEvent>) -> bool + Sync,
    mut each: impl FnMut(NamedSlice<'e>) + Send,
) {
    let is_wanted = |event: &At<StackEvent>, stack: &Attached| stack.has_stack() && is_wanted(event);
    let (mut before, mut new) = (None, SLICE);
    for (events, stacks) in events.chunks(SLICE).zip(stacks.chunks(SLICE)) {
        let has_few_new = std::mem::take(&mut new) < SLICE / NEW;
        let each_before = || before.take().into_iter().for_each(&mut each);
        let known = |names: &Names, event: &At<StackEvent>, stack: &Attached| match is_wanted(event, stack) {
            true => names.is_at(event.moment.time).then(|| known_id(names, stack)).flatten(),
            false => Some(StackId::default()),
        };
        let mut new_id = |names: &mut Names, event: &At<StackEvent>, stack: &Attached| {
            new += 1;
            names.go_to(event.moment.time);
            stack_id(names, stack, parts)
        };
        let ids = if has_few_new {
            let all = events.par_iter().zip(stacks).with_min_len(LEAST);
            let look_up = || all.map(|(event, stack)| known(names, event, stack)).collect::<Vec<_>>();
            let (ids, ()) = rayon::join(look_up, each_before);
            let all = ids.into_iter().zip(events.iter().zip(stacks));
            all.map(|(id, (event, stack))| id.unwrap_or_else(|| new_id(names, event, stack))).collect()
        } else {
            let all = events.iter().zip(stacks);
            let mut id = |(event, stack)| known(names, event, stack).unwrap_or_else(|| new_id(names, event, stack));
            rayon::join(|| all.map(&mut id).collect(), each_before).0
        };
        before = Some(NamedSlice { events, stacks, ids });
    }
    before.into_iter().for_each(each);
}

/// The names of a stack, at the time that they have gone on to.
pub(super) fn stack_id(names: &mut Names, stack: &Attached, parts: &Parts) -> StackId {
    let space = stack.process_id().unwrap_or(0);
    let kernel = stack.kernel.list().and_then(|list| names.of(space, list, &parts.frames, true));
    let user = stack.user.list().and_then(|list| names.of(space, list, &parts.frames, kernel.is_none()));
    StackId { kernel, user }
}

/// The names of a stack where they are known now.
fn known_id(names: &Names, stack: &Attached) -> Option<StackId> {
    let space = stack.process_id().unwrap_or(0);
    let known = |list, begins| match list {
        Some(list) => names.known(space, list, begins).map(Some),
        None => Some(None),
    };
    let kernel = known(stack.kernel.list(), true)?;
    Some(StackId { kernel, user: known(stack.user.list(), kernel.is_none())? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::record_id::RecordId;
    use crate::event::Phase;
    use crate::event::hooks::PAGE_ACCESS;
    use crate::load::stacks::image_and_method_records::AddressRecord;
    use crate::load::stacks::stack_events::Events;
    use crate::moment::Moment;
    use crate::units::{PointerSize, Ticks};

    fn image(process_id: u32, name: &str, (phase, time): (Phase, i64)) -> At<AddressRecord> {
        let value = AddressRecord::Image { phase, process_id, base: 0x1000, size: 0x1000, name: name.into() };
        At { moment: Moment { time: Ticks(time), order: 0 }, value }
    }

    /// The names are those that one thread finds one after the other, also where images come and go within a slice.
    #[test]
    fn names_are_those_in_the_order_of_events() {
        let count = 4 * SLICE + 100;
        let change = 2 * SLICE as i64 + 777;
        let records = [
            image(4, "a.dll", (Phase::DcStart, 0)),
            image(8, "a.dll", (Phase::DcStart, 0)),
            image(8, "a.dll", (Phase::End, change)),
            image(8, "b.dll", (Phase::Start, change)),
        ];
        let (mut parts, mut all) = (Parts::default(), Events::default());
        let outer = parts.frames.inside(None, 0x1800);
        let lists: Vec<_> = (0x1010u64..0x1040).map(|address| parts.frames.inside(Some(outer), address)).collect();
        for time in 0..count as i64 {
            let kind = (RecordId::Kernel(PAGE_ACCESS), 0, true);
            all.push(Moment { time: Ticks(time), order: 0 }, kind, None, None);
        }
        all.sort();
        let list = |n: usize| lists.get(n * 7 % lists.len()).copied().filter(|_| !n.is_multiple_of(11));
        let stack =
            |n: usize| Attached::of_lists(4 + 4 * (n as u32 % 3), list(n + 1).filter(|_| n.is_multiple_of(5)), list(n));
        let stacks: Vec<Attached> = (0..count).map(stack).collect();
        let is_wanted = |event: &At<StackEvent>| event.moment.time.0 % 13 > 0;

        let names = || Names::new(&records, PointerSize::P8);
        let (mut of_slices, mut in_order, mut found, mut expected) = (names(), names(), Vec::new(), Vec::new());
        for_each(&mut of_slices, (&all.events, &stacks), &parts, is_wanted, |slice| found.extend(slice.ids));
        for (event, stack) in all.events.iter().zip(&stacks) {
            in_order.go_to(event.moment.time);
            let is_named = is_wanted(event) && stack.has_stack();
            expected.push(if is_named { stack_id(&mut in_order, stack, &parts) } else { StackId::default() });
        }
        assert!(found == expected);
        assert_eq!(of_slices.lists().distinct(), in_order.lists().distinct());
        let modules = in_order.lists().distinct().iter().filter_map(|frame| in_order.module(*frame));
        assert!(["a.dll", "b.dll"].iter().all(|name| modules.clone().any(|module| module == *name)));
    }
}
