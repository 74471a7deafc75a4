//! What makes the numbers doubtful.

use super::disk_requests::Request;
use super::rows::HardFigures;
use crate::analysis::cpu::time_grid::{TickRange, recording_end};
use crate::analysis::resident::warnings::of_snapshots;
use crate::load::fault_records::FaultRecords;
use crate::trace::Trace;
use crate::trace::analysis_needs::FAULTS;
use crate::trace::trust::readiness::undescribed;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{Nanos, count, counted};

/// Ticks from the start of the trace to its last record.
fn length_of(trace: &Trace) -> u64 {
    let last = trace.survey().last().unwrap_or_default();
    u64::try_from(i128::from(last.0) - i128::from(trace.etl().clock.origin.0)).unwrap_or(0)
}

/// What the records of faults and requests are wrong in, and what is not there.
pub(super) fn warnings(trace: &Trace, records: &FaultRecords, requests: &[Request]) -> Warnings {
    let mut all = trace.trust().warnings();
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
    all.extend(undescribed(trace.survey(), &FAULTS));
    all
}

/// Faults that count and whose waits do not. A few of them, as those that begin before the trace, leave the sums what they are.
pub(super) fn unknown_waits(hard: &HardFigures) -> Option<Warning> {
    let (unknown, all) = (hard.malformed, hard.events);
    let text = format!(
        "the begin of {} of {} cannot be true: how long threads waited then is unknown, and in no sum",
        count(unknown),
        counted(all, "hard fault", "hard faults"),
    );
    let warning = match unknown.saturating_mul(10) > all {
        true => Warning::grave(FAULTS.name, "waits_unknown", text),
        false => Warning::note(FAULTS.name, "some_waits_unknown", text),
    };
    (unknown > 0).then(|| warning.of(unknown))
}

/// The part of the window after the end of the recording: no faults there are no news.
pub(super) fn beyond_recording(trace: &Trace, range: TickRange) -> Option<Warning> {
    let end = recording_end(trace)?;
    let [from, to, end] = [range.from, range.to, end].map(|time| trace.time(time));
    let beyond = Nanos(to.0 - end.max(from).0);
    let text = format!(
        "the window goes on for {:.3} s after the end of the recording by the file's header ({:.6} s): no fault and no request is there, \
         because none were recorded",
        beyond.seconds(),
        end.seconds()
    );
    (beyond.0 > 0).then(|| Warning::note(FAULTS.name, "window_beyond_recording", text))
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
