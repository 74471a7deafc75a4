//! Windows beyond the end of the recording by the file's header: what the machine did then was not recorded. Records there are of
//! providers' rundowns or of a merge. All analyses judge their windows here; rows of events show these records.

use crate::analysis::repeated_marks::marks_repeated;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::hooks::LOG_FILE;
use crate::event::payload::hook_of;
use crate::load::event_kind_counts::KindCount;
use crate::model::window::{Bound, Window};
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::{Nanos, Ticks};

/// When the recording ended by the file's header, where the trace has records more than a hundredth of its length after that; the
/// header's times are those of a clock that can be set. Of several files, by that which ended last.
pub fn recording_end(trace: &Trace) -> Option<Ticks> {
    let end = session_ends(trace)?.into_iter().max()?;
    is_early(trace, end).then_some(end)
}

/// When each session ended by its header, that of the kernel first; `None` where one does not say it.
fn session_ends(trace: &Trace) -> Option<Vec<Ticks>> {
    let etl = trace.etl();
    let begun = |file: &EtlFile| file.header_stamp().map_or(Nanos(0), |stamp| etl.clock.nanos(stamp));
    let further = etl.further().map(|(_, file, _)| session_end(file, begun(file)));
    std::iter::once(session_end(etl, Nanos(0))).chain(further).collect()
}

/// True where the trace goes on for more than a hundredth of its length after that.
fn is_early(trace: &Trace, end: Ticks) -> bool {
    let last = trace.survey().last().unwrap_or(end);
    let beyond = i128::from(last.0) - i128::from(end.0);
    let whole = i128::from(last.0) - i128::from(trace.etl().clock.origin.0);
    beyond > 0 && beyond * 100 > whole
}

/// When the kernel's session ended, where another one of the recording went on, and had no kernel events itself.
fn kernel_session_end(trace: &Trace) -> Option<Ticks> {
    trace.etl().further().next()?;
    let end = *session_ends(trace)?.first()?;
    let is_kernels = |kind: &&KindCount| hook_of(kind.id).is_some_and(|hook| hook.group() != LOG_FILE.group());
    let last = trace.survey().kinds.iter().filter(is_kernels).map(|kind| kind.last).max()?;
    (last <= end && is_early(trace, end)).then_some(end)
}

/// When a session ended that began then, by its length in the header.
fn session_end(file: &EtlFile, begun: Nanos) -> Option<Ticks> {
    let length = file.header.end_time?.0.checked_sub(file.header.start_time.0).filter(|length| *length > 0)?;
    Some(file.clock.ticks_at(Nanos(begun.0 + i128::from(length) * 100)))
}

/// The window, unless the user named a begin that is after the end of the recording.
///
/// # Errors
/// A usage error for such a window.
pub fn begun_inside(trace: &Trace, from: Option<&Bound>, window: Window) -> Result<Window, Error> {
    match recording_end(trace).filter(|end| from.is_some() && *end < window.from.time) {
        Some(end) => {
            let [from, end] = [window.from.time, end].map(|time| trace.time(time).seconds());
            Err(Error::Usage(format!(
                "the window begins at {from:.6} s, but the recording ends at {end:.6} s: records after it are of its stop or of a merge"
            )))
        }
        None => Ok(window),
    }
}

/// The part of a window after the end of the recording: that nothing is there is no news.
pub fn beyond_recording(analysis: &'static str, trace: &Trace, from: Ticks, to: Ticks) -> Option<Warning> {
    let (end, whose, what) = match recording_end(trace) {
        Some(end) => (
            end,
            "recording",
            "what the machine did then was not recorded; records there are of its stop or of a merge",
        ),
        None => (
            kernel_session_end(trace)?,
            "kernel's session",
            "of what the kernel logs, nothing was recorded then; another session of the recording went on",
        ),
    };
    // A window without an end goes on to the last record.
    let last = Ticks(trace.survey().last()?.0.saturating_add(1));
    let [from, to, end] = [from, to.min(last), end].map(|time| trace.time(time));
    let beyond = Nanos(to.0 - end.max(from).0);
    let text = format!(
        "the window goes on for {:.3} s after the end of the {whose} by the file's header ({:.6} s): {what}",
        beyond.seconds(),
        end.seconds()
    );
    (beyond.0 > 0).then(|| Warning::note(analysis, "window_beyond_recording", text))
}

/// What is said of a window of which the user named an end: the same, and which of several marks its ends are.
pub fn of_named_window(
    analysis: &'static str,
    trace: &Trace,
    (from, to): (Option<&Bound>, Option<&Bound>),
    ends: (Ticks, Ticks),
) -> Vec<Warning> {
    let is_named = from.is_some() || to.is_some();
    let beyond = is_named.then(|| beyond_recording(analysis, trace, ends.0, ends.1)).flatten();
    beyond.into_iter().chain(marks_repeated(analysis, trace, (from, to), ends.0)).collect()
}
