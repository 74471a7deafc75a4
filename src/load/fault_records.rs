//! The records about page faults and disk requests, and about what names them, collected in one walk.
//!
//! Sources: `docs/formats.md` ("Memory", "Disk requests", "File names and mapped files"). `analysis::faults` joins them.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::record::RawRecord;
use crate::etl::record_id::HookId;
use crate::event::disk_io::DiskEvent;
use crate::event::file_name_and_view::{FileNameKind, ViewKind};
use crate::event::hooks::*;
use crate::event::page_fault::{FaultKind, HardFault};
use crate::event::process::ProcessPhase;
use crate::event::{Decoded, Event, Payload, decode};
use crate::load::allocation_rules::Verdict;
use crate::load::stacks::first_walk::ThreadRecord;
use crate::load::stacks::image_and_method_records::AddressRecord;
use crate::load::timed_records::for_each_moment;
use crate::moment::{At, Moment};
use foldhash::HashMap as FastMap;

/// A record that names a file key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName {
    /// File key: the file object of faults and requests.
    pub key: u64,
    /// What the record tells: with a delete the key belongs to this file no longer.
    pub kind: FileNameKind,
    /// Path as logged; `None` where the kernel could not name it.
    pub name: Option<Box<str>>,
}

/// Whose a soft fault is: the process id of the record's header, and the number of the instance that had it then.
pub type SoftOwner = (Option<u32>, Option<usize>);

/// Tells whose a soft fault at a moment is; `None` where it does not count.
pub type OwnerOf<'o> = dyn Fn(Option<u32>, Moment) -> Option<SoftOwner> + Sync + 'o;

/// What the walk collects, each list in record order.
#[derive(Debug, Default)]
pub struct FaultRecords {
    /// Hard faults.
    pub hard: Vec<At<HardFault>>,
    /// Starts and completions of disk requests.
    pub disk: Vec<At<DiskEvent>>,
    /// Names of files.
    pub names: Vec<At<KeyName>>,
    /// Images, and starts of processes.
    pub images: Vec<At<AddressRecord>>,
    /// Views as images without a name, and starts of processes.
    pub views: Vec<At<AddressRecord>>,
    /// What each of them is of; `None` for starts of processes.
    pub view_kinds: Vec<Option<ViewKind>>,
    /// Thread events.
    pub threads: Vec<At<ThreadRecord>>,
    /// Soft faults in the window, by process and kind.
    pub soft: FastMap<(SoftOwner, FaultKind), u64>,
    /// Disk records that are shorter than their layout.
    pub short: u64,
    /// Records of more bytes than any request has.
    pub impossible: u64,
    mapped: Vec<At<(AddressRecord, Option<ViewKind>)>>,
}

impl FaultRecords {
    /// Walks over all records.
    pub fn new(etl: &EtlFile, owner: &OwnerOf<'_>) -> FaultRecords {
        let rank = ranks(&etl.buffers);
        let parts = etl.fold_buffers(FaultRecords::default, |records, area| {
            for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
                if hook.is_none_or(is_wanted) {
                    records.record(raw, moment, owner);
                }
            });
        });
        let mut all = FaultRecords::default();
        for part in parts {
            all.hard.extend(part.hard);
            all.disk.extend(part.disk);
            all.names.extend(part.names);
            all.images.extend(part.images);
            all.mapped.extend(part.mapped);
            all.threads.extend(part.threads);
            part.soft.into_iter().for_each(|(key, count)| *all.soft.entry(key).or_default() += count);
            all.short += part.short;
            all.impossible += part.impossible;
        }
        all.hard.sort_unstable_by_key(|record| record.moment);
        all.disk.sort_unstable_by_key(|record| record.moment);
        all.names.sort_unstable_by_key(|record| record.moment);
        all.images.sort_unstable_by_key(|record| record.moment);
        all.threads.sort_unstable_by_key(|record| record.moment);
        all.mapped.sort_unstable_by_key(|record| record.moment);
        for At { moment, value: (record, kind) } in std::mem::take(&mut all.mapped) {
            all.views.push(At { moment, value: record });
            all.view_kinds.push(kind);
        }
        all
    }

    fn record(&mut self, raw: RawRecord<'_>, moment: Moment, owner: &OwnerOf<'_>) {
        let Ok(record) = raw.read() else { return };
        let Some(payload) = Payload::of(&record) else { return };
        if let Some(read) = DiskEvent::read(&payload) {
            match read {
                Ok(read) => match read.value {
                    DiskEvent::End(_, end) if !is_possible(end.byte_count) => self.impossible += 1,
                    value => self.disk.push(At { moment, value }),
                },
                Err(_) => self.short += 1,
            }
            return;
        }
        let Decoded::Event { event, .. } = decode(&record) else { return };
        match event {
            Event::HardFault(fault) if !is_possible(fault.byte_count) => self.impossible += 1,
            Event::HardFault(value) => self.hard.push(At { moment, value }),
            Event::PageFault { kind, .. } => {
                if let Some(owner) = owner(record.process_id, moment) {
                    *self.soft.entry((owner, kind)).or_default() += 1;
                }
            }
            Event::FileName { kind, file } => {
                let text = file.name.text();
                let name = (!file.is_unknown() && !text.is_empty()).then(|| text.into());
                let value = KeyName { key: file.key, kind, name };
                self.names.push(At { moment, value });
            }
            Event::Process { phase: ProcessPhase::Start, process } => {
                let value = AddressRecord::ProcessStart(process.process_id);
                self.mapped.push(At { moment, value: (value.clone(), None) });
                self.images.push(At { moment, value });
            }
            Event::Image { phase, image } => {
                self.images.push(At { moment, value: AddressRecord::of_image(phase, &image, record.process_id) });
            }
            // A process that is being created has no id yet: which one it is is not known here.
            Event::MapView { phase, view } if view.process_id != 0 => {
                let (process_id, base, size) = (view.process_id, view.base, view.size_bytes);
                let value = AddressRecord::Image { phase, process_id, base, size, name: "".into() };
                self.mapped.push(At { moment, value: (value, Some(view.kind())) });
            }
            Event::Thread { phase, thread } => {
                let (thread_id, process_id) = (thread.thread_id, thread.process_id);
                self.threads.push(At { moment, value: ThreadRecord { phase, thread_id, process_id } });
            }
            _ => {}
        }
    }
}

fn is_possible(bytes: u32) -> bool {
    Verdict::of_transfer(bytes) != Verdict::Impossible
}

fn is_wanted(hook: HookId) -> bool {
    matches!(
        hook,
        HARD_FAULT
            | TRANSITION_FAULT
            | DEMAND_ZERO_FAULT
            | COPY_ON_WRITE
            | GUARD_PAGE_FAULT
            | HARD_PAGE_FAULT
            | ACCESS_VIOLATION
            | FILE_NAME
            | FILE_CREATE
            | FILE_DELETE
            | FILE_RUNDOWN
            | MAP_FILE
            | UNMAP_FILE
            | MAP_FILE_DC_START
            | MAP_FILE_DC_END
            | PROCESS_START
            | THREAD_START
            | THREAD_END
            | THREAD_DC_START
            | THREAD_DC_END
            | IMAGE_LOAD
            | IMAGE_UNLOAD
            | IMAGE_DC_START
            | IMAGE_DC_END
    ) || DiskEvent::is(hook)
}
