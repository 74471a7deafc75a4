//! Disk requests: a completion with its start, whose it was, and how long the disk worked on it.

use super::file_key_names::KeyNames;
use super::labels::Named;
use super::read_before::Coverage;
use crate::event::disk_io::{DiskEnd, DiskEvent, DiskOperation, DiskStart, IssuingThread};
use crate::load::stacks::stack_events::Owner;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// A request that was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it was started; `None` where that is not in the trace.
    pub start: Option<Moment>,
    /// When it was completed: its record.
    pub end: Moment,
    /// What it asked.
    pub operation: DiskOperation,
    /// Number of the disk.
    pub disk: u32,
    /// 0–7, bits of the request's flags.
    pub priority: u8,
    /// Bytes read or written.
    pub bytes: u64,
    /// Bytes of a read that earlier reads of the disk had read.
    pub bytes_again: u64,
    /// How long it took by its record, in ticks.
    pub response: u64,
    /// From when on the disk worked on it alone.
    pub served_from: Ticks,
    /// Thread that issued it.
    pub thread_id: Option<u32>,
    /// Its process, a text.
    pub process: u32,
    /// The file, a text; `None` of a flush.
    pub file: Option<u32>,
}

/// A request that was started and not completed in the trace. Its disk, priority and file are those of a completion: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    /// When it was started.
    pub start: Moment,
    /// What it asked.
    pub operation: DiskOperation,
    /// Thread that issued it.
    pub thread_id: Option<u32>,
    /// Its process, a text.
    pub process: u32,
}

/// The number of a read, its offset and its length.
type NumberedRange = (usize, (u64, u64));

/// All requests in the order of their completions, and the starts that no completion took.
#[derive(Debug, Default)]
pub struct Requests {
    /// Completed ones.
    pub requests: Vec<Request>,
    /// The others, in the order of their starts.
    pub unfinished: Vec<Unfinished>,
}

impl Requests {
    /// Joins the records, which are in their order.
    pub fn new(records: &[At<DiskEvent>], named: &mut Named<'_>, files: &KeyNames) -> Requests {
        let mut all = Requests::default();
        let mut open: FastMap<(DiskOperation, u64), (Moment, DiskStart)> = FastMap::default();
        let mut last_end: FastMap<u32, Ticks> = FastMap::default();
        let mut left: Vec<(Moment, DiskOperation, DiskStart)> = Vec::new();
        for At { moment, value } in records {
            match *value {
                DiskEvent::Start(operation, start) => {
                    let replaced = open.insert((operation, start.irp), (*moment, start));
                    left.extend(replaced.map(|(when, start)| (when, operation, start)));
                }
                DiskEvent::End(operation, end) => {
                    let started = open.remove(&(operation, end.irp));
                    let before = last_end.insert(end.disk, moment.time);
                    all.requests.push(request(operation, &end, *moment, (started, before), named, files));
                }
            }
        }
        left.extend(open.into_iter().map(|((operation, _), (when, start))| (when, operation, start)));
        left.sort_unstable_by_key(|(when, ..)| *when);
        all.unfinished =
            left.into_iter().map(|(when, operation, start)| unfinished(when, operation, start, named)).collect();
        all.read_again(records);
        all
    }

    fn read_again(&mut self, records: &[At<DiskEvent>]) {
        let mut ranges: FastMap<u32, Vec<NumberedRange>> = FastMap::default();
        let ends = records.iter().filter_map(|record| match &record.value {
            DiskEvent::End(operation, end) => Some((*operation, end)),
            DiskEvent::Start(..) => None,
        });
        for (index, (operation, end)) in ends.enumerate() {
            if operation == DiskOperation::Read {
                let range = (end.byte_offset, u64::from(end.byte_count));
                ranges.entry(end.disk).or_default().push((index, range));
            }
        }
        for reads in ranges.into_values() {
            let mut read = Coverage::new(reads.iter().map(|(_, range)| *range));
            for (index, range) in reads {
                let again = read.covered(range);
                self.requests.get_mut(index).into_iter().for_each(|request| request.bytes_again = again);
                read.add(range);
            }
        }
    }
}

fn unfinished(start: Moment, operation: DiskOperation, record: DiskStart, named: &mut Named<'_>) -> Unfinished {
    let thread_id = record.thread.and_then(IssuingThread::id);
    let process_id = thread_id.and_then(|thread| named.owners.process_of(Owner::Thread(thread), start));
    Unfinished { start, operation, thread_id, process: named.process(process_id, start) }
}

fn request(
    operation: DiskOperation,
    end: &DiskEnd,
    moment: Moment,
    (started, before): (Option<(Moment, DiskStart)>, Option<Ticks>),
    named: &mut Named<'_>,
    files: &KeyNames,
) -> Request {
    let start = started.map(|(when, _)| when);
    // A completion that says "no thread" is believed.
    let thread = end.thread.or_else(|| started.and_then(|(_, start)| start.thread));
    let thread_id = thread.and_then(IssuingThread::id);
    let issued = start.unwrap_or(moment);
    let process_id = thread_id.and_then(|thread| named.owners.process_of(Owner::Thread(thread), issued));
    let by_response = || Ticks(moment.time.0.saturating_sub_unsigned(end.response));
    let begin = start.map_or_else(by_response, |start| start.time);
    Request {
        start,
        end: moment,
        operation,
        disk: end.disk,
        priority: end.priority(),
        bytes: end.byte_count.into(),
        bytes_again: 0,
        response: end.response,
        served_from: begin.max(before.unwrap_or(begin)),
        thread_id,
        process: named.process(process_id, issued),
        file: end.file_key.map(|key| named.file(files, key, moment)),
    }
}
