//! The first walk: records that carry stacks or parts of them, definitions of their keys, images and methods.

use super::frame_trie::{FrameTrie, PathId};
use super::image_and_method_records::AddressRecord;
use super::kernel_or_user::Half;
use super::list_hash::{ListHash, MOST_FRAMES};
use super::recent_lists::{RecentLists, TOGETHER};
use super::stack_records::{Carrier, PartList, StackOwner};
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::event_area::EventArea;
use crate::etl::extended_items::{self, StackItem};
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::{HookId, RecordId};
use crate::event::clr::{self, Clr};
use crate::event::hooks::*;
use crate::event::payload::{Payload, PointerArray};
use crate::event::process::ProcessPhase;
use crate::event::stack::{DISK_ENDS, EVENT_TRACE_GROUP, STACK_GROUP, StackWalk};
use crate::event::{Decoded, Event, Phase, decode};
use crate::load::timed_records::{for_each_moment, sort_by_moment};
use crate::moment::{At, Moment};
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;
use uuid::{Uuid, uuid};

/// Provider of the event that holds the user part of stacks whose thread was in the kernel.
pub const EVENT_TRACING: Uuid = uuid!("b675ec37-bdb6-4648-bc92-f3fdc74d3ca2");
/// Its id.
pub const DEFERRED_PART: u16 = 18;

/// A thread event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadRecord {
    /// Kind.
    pub phase: Phase,
    /// The thread.
    pub thread_id: u32,
    /// Its process.
    pub process_id: u32,
}

/// Numbers of records of the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// `0x1820`.
    pub stacks: u64,
    /// `0x1825`.
    pub kernel_keys: u64,
    /// `0x1826`.
    pub user_keys: u64,
    /// `0x1822`–`0x1824`.
    pub definitions: u64,
    /// Stacks in extended items.
    pub items: u64,
    /// Keys in extended items.
    pub item_keys: u64,
    /// User parts that were logged later.
    pub deferred_parts: u64,
    /// Stacks of the .NET runtime.
    pub clr_stacks: u64,
    /// Outer frames beyond [`MOST_FRAMES`].
    pub cut_frames: u64,
}

/// What the first walk collects, each list in record order.
#[derive(Debug, Default)]
pub struct Parts {
    /// Frames.
    pub frames: FrameTrie<u64>,
    /// Records that carry stacks.
    pub parts: PartList,
    /// Definitions of keys.
    pub definitions: FastMap<(u64, Half), Vec<(Moment, PathId)>>,
    /// What comes and goes at addresses.
    pub addresses: Vec<At<AddressRecord>>,
    /// Thread events.
    pub threads: Vec<At<ThreadRecord>>,
    /// Intervals of the profile timer: before and from then on, in 100 ns; true where it was set.
    pub intervals: Vec<At<(bool, u32, u32)>>,
    /// Numbers of records.
    pub counts: Counts,
}

impl Parts {
    /// Walks over all records.
    pub fn new(etl: &EtlFile) -> Parts {
        let rank = ranks(&etl.buffers);
        let session = session_pointer(etl);
        let empty = || Reader {
            parts: Parts::default(),
            session,
            recent: RecentLists::default(),
            waiting: Vec::with_capacity(TOGETHER),
        };
        let visit = |reader: &mut Reader, area: &EventArea<'_>| {
            for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| match hook {
                Some(STACK) => reader.walk(raw, moment, area),
                _ => reader.record(raw, hook, moment, area),
            });
            reader.look_up(area);
        };
        let readers = etl.fold_groups(empty, visit, |reader, first_buffer| reader.parts.parts.end_group(first_buffer));
        // What was kept to find lists is freed before more memory is needed.
        let mut parts = readers.into_iter().map(|reader| reader.parts).collect::<Vec<_>>().into_iter();
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|part| all.add(part));
        all.frames.close_lists();
        all.parts.sort();
        sort_by_moment(&mut all.addresses);
        sort_by_moment(&mut all.threads);
        sort_by_moment(&mut all.intervals);
        all.definitions.values_mut().for_each(|list| list.sort_by_key(|(moment, _)| *moment));
        all
    }

    fn add(&mut self, other: Parts) {
        let now = self.frames.take(other.frames);
        let renumber = |id: &mut PathId| *id = now.get(id.place()).copied().unwrap_or(*id);
        self.parts.take(other.parts, &now);
        for (key, mut list) in other.definitions {
            list.iter_mut().for_each(|(_, id)| renumber(id));
            self.definitions.entry(key).or_default().append(&mut list);
        }
        self.addresses.extend(other.addresses);
        self.threads.extend(other.threads);
        self.intervals.extend(other.intervals);
        let (all, of) = (&mut self.counts, other.counts);
        all.stacks += of.stacks;
        all.kernel_keys += of.kernel_keys;
        all.user_keys += of.user_keys;
        all.definitions += of.definitions;
        all.items += of.items;
        all.item_keys += of.item_keys;
        all.deferred_parts += of.deferred_parts;
        all.clr_stacks += of.clr_stacks;
        all.cut_frames += of.cut_frames;
    }
}

/// Pointer size of the session, which decides what a kernel address is.
pub fn session_pointer(etl: &EtlFile) -> PointerSize {
    if etl.header.pointer_bytes == 4 { PointerSize::P4 } else { PointerSize::P8 }
}

/// A stack of the current buffer whose list of frames is to be looked up.
struct Waiting {
    moment: Moment,
    event_time: Ticks,
    owner: StackOwner,
    half: Half,
    hash: ListHash,
    /// Where the frames that are read lie in the buffer.
    at: usize,
    bytes: usize,
    pointer: PointerSize,
}

struct Reader {
    parts: Parts,
    session: PointerSize,
    recent: RecentLists,
    waiting: Vec<Waiting>,
}

impl Reader {
    /// `0x1820` with a kernel header: most of the records of a trace with stacks.
    #[inline]
    fn walk(&mut self, raw: RawRecord<'_>, moment: Moment, area: &EventArea<'_>) {
        let Some(bytes) = raw.kernel_payload() else { return };
        let (version, pointer) = (raw.kernel_version(), raw.header.pointer());
        let Ok(read) = StackWalk::read(&Payload { hook: STACK, version, pointer, bytes }) else { return };
        let StackWalk { owner, frames } = read.value;
        self.parts.counts.stacks += 1;
        let Some(half) = Half::of(frames, self.session) else { return };
        // They are what the record ends with.
        let at = raw.position.offset as usize + raw.bytes.len() - frames.bytes().len();
        let frames = self.cut(frames);
        self.waiting.push(Waiting {
            moment,
            event_time: owner.event_time,
            owner: StackOwner { process_id: Some(owner.process_id), thread_id: Some(owner.thread_id) },
            half,
            hash: self.recent.hash(frames),
            at,
            bytes: frames.bytes().len(),
            pointer,
        });
        if self.waiting.len() >= TOGETHER {
            self.look_up(area);
        }
    }

    /// Looks up the lists of stacks that wait: what they are compared with is loaded for all of them before one needs it.
    fn look_up(&mut self, area: &EventArea<'_>) {
        self.recent.load(self.waiting.iter().map(|waiting| waiting.hash));
        for waiting in self.waiting.drain(..) {
            let range = waiting.at..waiting.at + waiting.bytes;
            let Some(bytes) = area.bytes.get(range) else { continue };
            let list = PointerArray::new(bytes, waiting.pointer);
            let Some(id) = self.recent.id((waiting.hash, list), &mut self.parts.frames) else { continue };
            let carrier = Carrier::Walk(waiting.event_time, waiting.half, id);
            self.parts.parts.push(waiting.moment, carrier, waiting.owner, area.buffer.processor);
        }
    }

    /// The frames that are read of a part of a stack.
    fn cut<'b>(&mut self, frames: PointerArray<'b>) -> PointerArray<'b> {
        self.parts.counts.cut_frames += frames.len().saturating_sub(MOST_FRAMES) as u64;
        frames.first(MOST_FRAMES)
    }

    fn record(&mut self, raw: RawRecord<'_>, hook: Option<HookId>, moment: Moment, area: &EventArea<'_>) {
        if hook.is_some_and(|hook| !is_wanted(hook)) {
            return;
        }
        let Ok(record) = raw.read() else { return };
        let processor = area.buffer.processor;
        let owner = |process_id, thread_id| StackOwner { process_id, thread_id };
        let own = owner(record.process_id, record.thread_id);
        if let RecordId::Manifest { provider, id } = record.id {
            let is_deferred = provider == EVENT_TRACING && id == DEFERRED_PART;
            for item in extended_items::stacks(record.extended) {
                let carrier = match item {
                    StackItem::Key(key) => {
                        self.parts.counts.item_keys += 1;
                        Carrier::ItemKey(key)
                    }
                    StackItem::Frames(bytes, pointer) => {
                        let counts = &mut self.parts.counts;
                        *(if is_deferred { &mut counts.deferred_parts } else { &mut counts.items }) += 1;
                        let Some((half, id)) = self.frames(PointerArray::new(bytes, pointer)) else { continue };
                        if is_deferred { Carrier::Deferred(id) } else { Carrier::Item(half, id) }
                    }
                };
                self.parts.parts.push(moment, carrier, own, processor);
            }
            match Clr::read(&record) {
                Some(Ok(Clr::Stack(frames))) => {
                    self.parts.counts.clr_stacks += 1;
                    if let Some((_, id)) = self.frames(frames) {
                        self.parts.parts.push(moment, Carrier::Clr(id), own, processor);
                    }
                }
                Some(Ok(event)) => self
                    .parts
                    .addresses
                    .extend(AddressRecord::of_runtime(&event, &record).map(|value| At { moment, value })),
                _ => {}
            }
            return;
        }
        let Decoded::Event { event, .. } = decode(&record) else { return };
        match event {
            Event::Stack(walk) => {
                self.parts.counts.stacks += 1;
                let Some((half, id)) = self.frames(walk.frames) else { return };
                let carrier = Carrier::Walk(walk.owner.event_time, half, id);
                let of = owner(Some(walk.owner.process_id), Some(walk.owner.thread_id));
                self.parts.parts.push(moment, carrier, of, processor);
            }
            Event::KernelStackReference(found) | Event::UserStackReference(found) => {
                let is_kernel = matches!(event, Event::KernelStackReference(_));
                let half = if is_kernel { Half::Kernel } else { Half::User };
                let counts = &mut self.parts.counts;
                *(if is_kernel { &mut counts.kernel_keys } else { &mut counts.user_keys }) += 1;
                let carrier = Carrier::Reference(found.owner.event_time, half, found.key);
                let of = owner(Some(found.owner.process_id), Some(found.owner.thread_id));
                self.parts.parts.push(moment, carrier, of, processor);
            }
            Event::StackDefinition(definition) => {
                self.parts.counts.definitions += 1;
                if let Some((half, id)) = self.frames(definition.frames) {
                    // A stack that ends in user mode is a user part, whatever it begins with.
                    let half = if half == Half::Kernel { Half::Kernel } else { Half::User };
                    self.parts.definitions.entry((definition.key, half)).or_default().push((moment, id));
                }
            }
            Event::Thread { phase, thread } => {
                let (thread_id, process_id) = (thread.thread_id, thread.process_id);
                self.parts.threads.push(At { moment, value: ThreadRecord { phase, thread_id, process_id } });
                if matches!(phase, Phase::Start | Phase::End) {
                    let of = owner(Some(process_id), Some(thread_id));
                    self.parts.parts.push(moment, Carrier::ThreadChanged, of, processor);
                }
            }
            Event::Process { phase: ProcessPhase::Start, process } => {
                let value = AddressRecord::ProcessStart(process.process_id);
                self.parts.addresses.push(At { moment, value });
            }
            Event::Image { phase, image } => {
                let value = AddressRecord::of_image(phase, &image, record.process_id);
                self.parts.addresses.push(At { moment, value });
            }
            Event::Merged(added) => {
                let record = AddressRecord::of_merged(&added);
                self.parts.addresses.extend(record.map(|value| At { moment, value }));
            }
            Event::ProfileInterval { interval, phase } if interval.source == 0 => {
                let is_set = phase == crate::event::perfinfo::IntervalPhase::Set;
                self.parts.intervals.push(At { moment, value: (is_set, interval.old_interval, interval.interval) });
            }
            _ => {}
        }
    }

    fn frames(&mut self, frames: PointerArray<'_>) -> Option<(Half, PathId)> {
        let half = Half::of(frames, self.session)?;
        let list = self.cut(frames);
        Some((half, self.recent.id((self.recent.hash(list), list), &mut self.parts.frames)?))
    }
}

fn is_wanted(hook: HookId) -> bool {
    matches!(
        hook,
        STACK
            | KEY_CREATE
            | KEY_DELETE
            | KEY_RUNDOWN
            | STACK_KEY_KERNEL
            | STACK_KEY_USER
            | THREAD_START
            | THREAD_END
            | THREAD_DC_START
            | THREAD_DC_END
            | PROCESS_START
            | IMAGE_LOAD
            | IMAGE_UNLOAD
            | IMAGE_DC_START
            | IMAGE_DC_END
            | PROFILE_INTERVAL_SET
            | PROFILE_INTERVAL_DC_START
            | PROFILE_INTERVAL_DC_END
    )
}

/// The same of a kernel event.
#[inline]
pub fn hook_has_no_stack(hook: HookId) -> bool {
    [EVENT_TRACE_GROUP, STACK_GROUP].contains(&hook.group()) || DISK_ENDS.contains(&hook)
}

/// True for events that have no stack although their stamps are those of others that have.
pub fn has_no_stack(record: &Record<'_>) -> bool {
    use crate::event::{event_names, merged};
    if let Some(hook) = crate::event::payload::hook_of(record.id) {
        return hook_has_no_stack(hook);
    }
    match record.id {
        RecordId::Classic { class, .. } => {
            [merged::SYS_CONFIG, merged::IMAGE_ID, event_names::EVENT_METADATA, event_names::WIN_SAT].contains(&class)
        }
        RecordId::Manifest { provider, id } => {
            (provider, id) == (clr::CLR, clr::CLR_STACK) || (provider, id) == (EVENT_TRACING, DEFERRED_PART)
        }
        _ => false,
    }
}
