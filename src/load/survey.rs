//! The survey: counts of everything that a trace contains.
//!
//! `pfnset events` prints the counts; `pfnset info` derives from them what a trace can be used for. Every record is counted, also
//! records that cannot be decoded, so totals always add up to the records of the file.

use crate::error::DamageLog;
use crate::etl::EtlFile;
use crate::etl::buffer::TYPE_HEADER;
use crate::etl::buffer_order::Span;
use crate::etl::log_file_header::{LogFileHeader, MODE_BUFFERING, MODE_CIRCULAR};
use crate::etl::record::HeaderType;
use crate::etl::record_id::{HookId, RecordId};
use crate::event::hooks::LOG_FILE;
use crate::event::payload::hook_of;
use crate::load::event_kind_counts::{KindCount, KindCounts};
use crate::load::misfitting_payloads::Misfits;
use crate::units::{FileTime, Ticks};
use std::collections::{BTreeMap, BTreeSet};

/// A change of what the kernel session records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MasksChange {
    /// When the change was logged.
    pub time: Ticks,
    /// True for hook 0x0005 (what is on from now), false for 0x0020 (what was on until now).
    pub is_start: bool,
    /// The eight masks.
    pub masks: [u32; 8],
}

/// What a log-file header says of which recording the records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordingKey {
    /// When the session began.
    pub start: FileTime,
    /// When Windows booted.
    pub boot: FileTime,
    frequency_hz: u64,
    os_build: u32,
    pointer_bytes: u32,
}

impl RecordingKey {
    /// Of a header.
    pub fn of(header: &LogFileHeader) -> RecordingKey {
        RecordingKey {
            start: header.start_time,
            boot: header.boot_time,
            frequency_hz: header.perf_frequency_hz,
            os_build: header.os_build,
            pointer_bytes: header.pointer_bytes,
        }
    }
}

/// Result of one pass over all records.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Survey {
    /// Number of records in the file.
    pub total: u64,
    /// Records by header type.
    pub by_header: BTreeMap<HeaderType, u64>,
    /// Records by processor of their buffer.
    pub by_processor: BTreeMap<u16, u64>,
    /// Kinds, most frequent first.
    pub kinds: Vec<KindCount>,
    /// Payloads that do not fit their layout, with their number.
    pub misfits: Misfits,
    /// Damage of the buffers and their headers.
    pub damage: DamageLog,
    /// Time span of each buffer in file order; `None` for buffers without records.
    pub spans: Vec<Option<Span>>,
    /// Records without a time of their own (some messages, ERROR, unknown types). They are counted with the time of the
    /// record before them in their buffer.
    pub untimed: u64,
    /// Records and bytes of the kinds beyond [`Survey::MOST_KINDS`], which are not in `kinds`.
    pub unlisted: (u64, u64),
    /// Group masks in time order, at most [`Survey::MOST_MASKS`].
    pub group_masks: BTreeSet<MasksChange>,
    /// The recordings that log-file headers name, at most [`Survey::MOST_RECORDINGS`].
    pub(crate) recordings: BTreeSet<RecordingKey>,
    /// Processors on which events were dropped, with the time of the last one (hook 0x0052).
    pub dropped: BTreeMap<u32, Ticks>,
    /// Processors of the machine, from the configuration records.
    pub machine_processors: Option<u32>,
    /// Bytes of the largest record, with its header.
    pub largest_record: u32,
    /// Bytes of stacks that records of providers carry. Stacks of kernel events are records of their own.
    pub carried_stack_bytes: u64,
    /// Text that names the operating system, from the configuration records, with its exactness (greater is more exact).
    pub os_text: Option<(u8, String)>,
    /// Name of the machine. Not to be printed unless asked for.
    pub computer_name: Option<String>,
    /// True when configuration records name two computers.
    pub(crate) has_two_computers: bool,
}

impl Survey {
    /// Largest number of kinds that are counted separately; a busy machine has a few thousand. The first in the order of ids
    /// are kept, kernel events before all others.
    pub const MOST_KINDS: usize = KindCounts::MOST;

    /// Largest number of group mask changes that are kept; a session has a handful.
    pub const MOST_MASKS: usize = 10_000;

    /// Largest number of recordings that are kept; a file that was not put together has one.
    pub(crate) const MOST_RECORDINGS: usize = 1000;

    /// Every bit of the group masks that was on at some time.
    pub fn masks_ever_on(&self) -> [u32; 8] {
        self.group_masks.iter().fold([0; 8], |mut all, change| {
            all.iter_mut().zip(change.masks).for_each(|(all, mask)| *all |= mask);
            all
        })
    }

    /// Number of records of a kernel event, all versions, by hook id or under its class's GUID.
    pub fn kernel_count(&self, hook: HookId) -> u64 {
        let is = |k: &&KindCount| hook_of(k.id) == Some(hook);
        self.kinds.iter().filter(is).map(|k| k.count).sum()
    }

    /// Earliest and latest time of a kernel event.
    pub fn kernel_span(&self, hook: HookId) -> Option<(Ticks, Ticks)> {
        let is = |k: &&KindCount| hook_of(k.id) == Some(hook);
        let mut found = self.kinds.iter().filter(is).map(|k| (k.first, k.last));
        let first = found.next()?;
        Some(found.fold(first, |all, k| (all.0.min(k.0), all.1.max(k.1))))
    }

    /// When the records begin, of sessions that keep only the last ones: a circular log, or buffers in memory. The log-file header and
    /// the buffers at the start of a circular file stay, however long ago the session began. `None` for other sessions.
    pub(crate) fn kept_from(&self, etl: &EtlFile) -> Option<Ticks> {
        let headers = || std::iter::once(&etl.header).chain(etl.further().map(|(_, file, _)| &file.header));
        headers().all(|header| header.mode & (MODE_CIRCULAR | MODE_BUFFERING) != 0).then_some(())?;
        if (etl.header.buffers_written as usize) <= etl.own_buffers().len() {
            let is_session =
                |kind: &KindCount| matches!(kind.id, RecordId::Kernel(hook) if hook.group() == LOG_FILE.group());
            return self.kinds.iter().filter(|kind| !is_session(kind)).map(|kind| kind.first).min();
        }
        let overwritten = etl.buffers.iter().zip(&self.spans).skip(etl.header.start_buffers as usize);
        let overwritten = overwritten.filter(|(buffer, _)| buffer.kind != TYPE_HEADER);
        overwritten.filter_map(|(_, span)| Some(span.as_ref()?.first)).min()
    }

    /// Latest stamp of the trace.
    pub fn last(&self) -> Option<Ticks> {
        self.spans.iter().flatten().map(|span| span.last).max()
    }
}
