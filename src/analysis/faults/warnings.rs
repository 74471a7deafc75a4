//! What makes the numbers doubtful.

use super::disk_requests::Request;
use super::file_key_names::KeyNames;
use super::hard_faults::{Hard, Overlaps};
use super::rows::{HardFigures, RequestFigures};
use crate::analysis::resident::warnings::of_snapshots;
use crate::analysis::stacks::Owners;
use crate::analysis::time_grid::{TickRange, before_start};
use crate::etl::clock::Clock;
use crate::event::disk_io::DiskEvent;
use crate::load::fault_records::FaultRecords;
use crate::model::window::Bound;
use crate::trace::Trace;
use crate::trace::analysis_needs::{FAULTS, SOFT_FAULTS};
use crate::trace::trust::readiness::{lacking, of_names, undescribed};
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{count, counted};

/// Codes about disk requests.
pub(super) const OF_REQUESTS: [&str; 4] =
    ["requests_unmatched", "some_requests_unmatched", "responses_too_long", RESPONSES_DIFFER];

/// The code for responses that the stamps of their records contradict.
const RESPONSES_DIFFER: &str = "responses_differ";

/// The code for threads that waited for several faults at once.
pub(crate) const WAITS_OVERLAP: &str = "waits_overlap";

/// Fewer faults are of chance.
const FEW: u64 = 8;

/// Ticks from the start of the trace to its last record.
fn length_of(trace: &Trace) -> u64 {
    let last = trace.survey().last().unwrap_or_default();
    u64::try_from(i128::from(last.0) - i128::from(trace.etl().clock.origin.0)).unwrap_or(0)
}

/// What the records of faults and requests are wrong in, and what is not there.
pub(super) fn warnings(
    trace: &Trace,
    records: &FaultRecords,
    requests: &[Request],
    (owners, files): (&Owners<'_>, &KeyNames),
) -> Warnings {
    let mut all = trace.trust().warnings();
    all.extend(owners.doubt(FAULTS.name));
    all.extend(of_names(&files.records, &FAULTS));
    if records.short > 0 {
        let short = counted(records.short, "disk record is", "disk records are");
        let text = format!("{short} shorter than the layout: not counted");
        all.push(Warning::note(FAULTS.name, "records_left_out", text).of(records.short));
    }
    if records.impossible > 0 {
        let text = counted(records.impossible, "record of a read or write is", "records of reads and writes are");
        let text = format!("{text} left out: of 2 GiB and more, which no request has");
        all.push(Warning::note(FAULTS.name, "records_left_out", text).of(records.impossible));
    }
    let longest = length_of(trace);
    let too_long = requests.iter().filter(|request| request.response > longest).count() as u64;
    if too_long > 0 {
        let text = counted(too_long, "response of a disk is", "responses of disks are");
        let text = format!(
            "{text} longer than the trace up to its end: damaged, or begun before the trace; sums have it as it is recorded"
        );
        all.push(Warning::note(FAULTS.name, "responses_too_long", text).of(too_long));
    }
    all.extend(trace.trust().not_there_for(FAULTS.name, &trace.missing(&FAULTS)));
    all.extend(undescribed(trace.survey(), trace.processes(), &FAULTS));
    all
}

/// That the trace has no soft faults, and how to record them.
pub(super) fn missing_soft(trace: &Trace) -> Warnings {
    let without = "soft faults; a WPR profile with this keyword or xperf -on PROC_THREAD+ALL_FAULTS records them";
    let missing = lacking(trace.survey(), &SOFT_FAULTS, without);
    trace.trust().not_there_for(FAULTS.name, missing.as_slice())
}

/// What the figures leave out.
pub(super) fn of_figures(
    hard: &HardFigures,
    disk: &RequestFigures,
    (unfinished, none_completed): (u64, bool),
) -> impl Iterator<Item = Warning> + use<> {
    [unknown_waits(hard), unmatched_requests(disk, unfinished, none_completed)].into_iter().flatten()
}

/// Faults that count and whose waits do not. A few of them, as those that begin before the trace, leave the sums what they are.
fn unknown_waits(hard: &HardFigures) -> Option<Warning> {
    let (unknown, all) = (hard.malformed, hard.events);
    let text = format!(
        "the begin of {} of {} cannot be true: their waits are in no sum",
        count(unknown),
        counted(all, "hard fault", "hard faults"),
    );
    let warning = match unknown.saturating_mul(10) > all {
        true => Warning::grave(FAULTS.name, "waits_unknown", text),
        false => Warning::note(FAULTS.name, "some_waits_unknown", text),
    };
    (unknown > 0).then(|| warning.of(unknown))
}

/// A wait can lie in another one of its thread: a page that is needed to read a page. So from one in so many faults on, and from one part in
/// so many of the time.
const OVERLAPPING_FAULTS: u64 = 10;
const OVERLAPPING_PART: u128 = 4;

/// Times of records that contradict each other, of all faults and requests.
pub(super) fn of_times(hard: &[Hard], requests: &[Request], clock: &Clock) -> Vec<Warning> {
    let waits = overlapping_waits(Overlaps::new(hard), clock);
    waits.into_iter().chain(responses_that_differ(requests, clock)).collect()
}

/// Threads that waited for several faults at once.
fn overlapping_waits(overlaps: Overlaps, clock: &Clock) -> Option<Warning> {
    let Overlaps { faults, of, twice, waited } = overlaps;
    let seconds = twice as f64 / clock.frequency_hz.max(1) as f64;
    let text = format!(
        "{} of {} begin before another one of the same thread has ended, and a thread waits for one at a time: {seconds:.3} s of waiting \
         count again",
        count(faults),
        counted(of, "hard fault", "hard faults"),
    );
    let are_many = faults >= FEW && faults.saturating_mul(OVERLAPPING_FAULTS) > of;
    let is_large = twice.saturating_mul(OVERLAPPING_PART) > waited;
    (are_many && is_large).then(|| Warning::grave(FAULTS.name, WAITS_OVERLAP, text).of(faults))
}

/// More requests than those that a short trace can begin and end with.
const FEW_REQUESTS: usize = 8;

/// True where requests were started and the trace has no completion at all: those are no queue at its end.
pub(super) fn has_no_completion(records: &FaultRecords) -> bool {
    let is_start = |event: &DiskEvent| matches!(event, DiskEvent::Start(..));
    records.disk.len() >= FEW_REQUESTS && records.disk.iter().all(|event| is_start(&event.value))
}

/// Requests of which one of the two records is not there. A few, at the begin and at the end of a trace, leave the sums what they are.
fn unmatched_requests(disk: &RequestFigures, unfinished: u64, none_completed: bool) -> Option<Warning> {
    let all = disk.operations.saturating_add(unfinished);
    let no_start = (disk.no_start > 0).then(|| format!("{} without start (in no queue)", count(disk.no_start)));
    let no_end = (unfinished > 0).then(|| format!("{} without end (in no sum)", count(unfinished)));
    let lacking: Vec<String> = no_start.into_iter().chain(no_end).collect();
    let unknown = if none_completed {
        "; no completion is known: nor what requests read and wrote, and how long they took"
    } else {
        ""
    };
    let text = format!("{}: {}{unknown}", counted(all, "disk request", "disk requests"), lacking.join(", "));
    // Those that were on their way when the recording began and ended are as many as a queue holds.
    let is_large = |part: u64| disk.operations > 0 && part.saturating_mul(10) > disk.operations.saturating_add(part);
    let warning = match none_completed || is_large(disk.no_start) || is_large(unfinished) {
        true => Warning::grave(FAULTS.name, "requests_unmatched", text),
        false => Warning::note(FAULTS.name, "some_requests_unmatched", text),
    };
    (!lacking.is_empty()).then(|| warning.of(disk.no_start.saturating_add(unfinished)))
}

/// Requests of so many microseconds and more have a response that can be compared: it takes some to log them.
const COMPARED_US: u64 = 20;

/// Responses by their field against the time from the record of the start to that of the completion. A few can be measured otherwise; where
/// most differ by half and more, one of both is wrong.
fn responses_that_differ(requests: &[Request], clock: &Clock) -> Option<Warning> {
    let least = clock.frequency_hz.saturating_mul(COMPARED_US) / 1_000_000;
    let both = |request: &Request| Some((request.response, request.end.time.0.abs_diff(request.start?.time.0)));
    let compared = || requests.iter().filter_map(both).filter(|(response, stamps)| *response.max(stamps) > least);
    let differ = |(response, stamps): &(u64, u64)| {
        let apart = response.abs_diff(*stamps);
        apart > least && apart > *response.max(stamps) / 2
    };
    let (of, wrong) = (compared().count(), compared().filter(differ).count());
    let text = format!(
        "the responses of {} of {} differ from the time between the records of their start and completion by more than half: the sums \
         of responses are wrong, or those of service and the queue",
        count(wrong as u64),
        counted(of as u64, "disk request", "disk requests"),
    );
    let are_most = wrong >= FEW_REQUESTS && wrong.saturating_mul(2) > of;
    are_most.then(|| Warning::grave(FAULTS.name, RESPONSES_DIFFER, text).of(wrong as u64))
}

/// Hard faults and requests before the window of the whole trace.
pub(super) fn early(hard: u64, records: &FaultRecords, range: TickRange, from: Option<&Bound>) -> Option<Warning> {
    let ends = records.disk.iter().filter(|event| matches!(event.value, DiskEvent::End(..)));
    let requests = range.count_before(from, ends.map(|event| event.moment.time));
    let things = [(hard, ["hard fault", "hard faults"]), (requests, ["disk request", "disk requests"])];
    before_start(FAULTS.name, &things)
}

/// What casts doubt on the pages of the sequence.
pub(super) fn of_ranges(trace: &Trace, snapshot: Option<usize>) -> Warnings {
    match snapshot {
        Some(index) => of_snapshots(trace, &[index]),
        None => {
            let text = "the trace has no page sequence: what RAM holds of these files is not known";
            vec![Warning::note(FAULTS.name, "not_recorded", text.to_owned())].into()
        }
    }
}
