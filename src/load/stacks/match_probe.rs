//! A quick look whether stacks belong to events at all: is there a record at a time that a stack names, in the buffer of the stack?
//!
//! Stacks are logged right after their events. Where some belong to events, the first buffers tell.

use crate::etl::EtlFile;
use crate::etl::event_area::EventArea;
use crate::etl::record_id::HookId;
use crate::event::hooks::{STACK, STACK_KEY_KERNEL, STACK_KEY_USER};
use crate::event::stack::STACK_GROUP;
use crate::event::{Decoded, Event, decode};
use crate::load::timed_records::for_each_moment;
use crate::units::Ticks;
use std::collections::HashSet;

/// Buffers that are looked at together.
const TOGETHER: usize = 64;

/// True when a stack was found beside a record that it names.
pub fn any_beside_its_event(etl: &EtlFile) -> bool {
    let all: Vec<u32> = (0..etl.buffers.len() as u32).collect();
    all.chunks(TOGETHER).any(|buffers| {
        let found =
            etl.fold_some(buffers, || false, |found, _, area| *found = *found || holds_both(area, etl.before_first()));
        found.contains(&true)
    })
}

fn holds_both(area: &EventArea<'_>, before_first: Ticks) -> bool {
    let mut named = HashSet::new();
    each_record(area, before_first, |hook, time_of_event, _| {
        if [STACK, STACK_KEY_KERNEL, STACK_KEY_USER].map(Some).contains(&hook) {
            named.extend(time_of_event());
        }
    });
    let mut is_found = false;
    if !named.is_empty() {
        each_record(area, before_first, |hook, _, time| {
            is_found |= hook.is_none_or(|hook| hook.group() != STACK_GROUP) && named.contains(&time);
        });
    }
    is_found
}

/// Calls `visit` with the hook id of each record, what gives the time of the event that a stack names, and its own time.
fn each_record(
    area: &EventArea<'_>,
    before_first: Ticks,
    mut visit: impl FnMut(Option<HookId>, &dyn Fn() -> Option<Ticks>, Ticks),
) {
    for_each_moment(area, &[], before_first, |raw, hook, moment| {
        let time_of_event = || {
            let record = raw.read().ok()?;
            let Decoded::Event { event, .. } = decode(&record) else { return None };
            match event {
                Event::Stack(walk) => Some(walk.owner.event_time),
                Event::KernelStackReference(found) | Event::UserStackReference(found) => Some(found.owner.event_time),
                _ => None,
            }
        };
        visit(hook, &time_of_event, moment.time);
    });
}
