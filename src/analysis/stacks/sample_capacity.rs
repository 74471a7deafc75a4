//! Samples that stand for more time than the processors have.

use super::query::StackQuery;
use crate::analysis::time_grid::TickRange;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;

/// A shorter recording is of no machine at work: nothing is measured by it, and traces that are made up to show stacks have hundreds of samples
/// in milliseconds.
const SHORT_NS: u128 = 100_000_000;

/// Codes of samples that stand for more time than there is.
pub(crate) const BEYOND_CAPACITY: [&str; 2] = ["samples_beyond_window", "samples_beyond_short_window"];

/// Samples, and the time that they stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimeOfSamples {
    /// How many records.
    pub records: u64,
    /// The time, nanoseconds.
    pub time_ns: u64,
}

impl std::ops::AddAssign for TimeOfSamples {
    fn add_assign(&mut self, other: TimeOfSamples) {
        self.records += other.records;
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// How many processors there are; `None` where records do not tell their processor.
pub(crate) fn processors(trace: &Trace) -> Option<u32> {
    let header = &trace.etl().header;
    let of_header = Some(header.processors).filter(|_| header.mode & MODE_NO_PER_PROCESSOR == 0);
    trace.survey().machine_processors.or(of_header).filter(|processors| *processors > 0)
}

impl TimeOfSamples {
    /// That they stand for more time than the processors have in the window: grave, but for a short recording.
    pub fn beyond_capacity(self, trace: &Trace, analysis: &'static str, range: TickRange) -> Option<Warning> {
        let (processors, time_ns) = (processors(trace)?, u128::from(self.time_ns));
        let length = |range: TickRange| u128::from(trace.etl().clock.length_ns(range.ticks()));
        let capacity = length(range) * u128::from(processors);
        // The timer is set to the nearest interval that the hardware has, and each processor can have a sample at both ends.
        let interval = u128::from(self.time_ns / self.records.max(1));
        let most = capacity + capacity / 20 + interval * u128::from(processors);
        let seconds = |nanos: u128| nanos as f64 / 1e9;
        let text = format!(
            "the samples stand for {:.3} s, and the window has {:.3} s of {processors} processors",
            seconds(time_ns),
            seconds(capacity)
        );
        let is_short = || TickRange::of_recording(trace, None, None).is_ok_and(|(_, whole)| length(whole) < SHORT_NS);
        let [grave, short] = BEYOND_CAPACITY;
        (time_ns > most).then(|| match is_short() {
            true => Warning::note(analysis, short, text),
            false => Warning::grave(
                analysis,
                grave,
                format!("{text}: the profile interval or the number of samples in a record is wrong, and so are times"),
            ),
        })
    }

    /// The same for the window of a query.
    pub fn doubt(self, trace: &Trace, analysis: &'static str, query: &StackQuery) -> Option<Warning> {
        let (_, range) = TickRange::of_recording(trace, query.from.as_ref(), query.to.as_ref()).ok()?;
        self.beyond_capacity(trace, analysis, range)
    }
}
