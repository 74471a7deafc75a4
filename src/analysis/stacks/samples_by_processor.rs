//! Of how much time each processor has samples: one without any was idle, or its samples were lost.

use super::sample_capacity::processors;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::first_of;

/// A processor has few samples where it has less than one part in so many of its time.
const FEW_PART: u128 = 2;

/// The code for processors without samples.
pub(crate) const NO_SAMPLES: &str = "processors_unsampled";

/// Processors that a line names.
const NAMED: usize = 8;

/// More processors than this no Windows has.
const MOST_PROCESSORS: u32 = 1 << 12;

/// Time of the samples of each processor; empty where it is not known which processor a sample is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SamplesByProcessor(Vec<u64>);

impl SamplesByProcessor {
    /// Of the processors of a trace, without samples.
    pub fn new(trace: &Trace) -> SamplesByProcessor {
        let has_processors = trace.etl().header.mode & MODE_NO_PER_PROCESSOR == 0;
        let known = processors(trace).filter(|_| has_processors).map_or(0, |number| number.min(MOST_PROCESSORS));
        SamplesByProcessor(vec![0; known as usize])
    }

    /// With these times of processors.
    pub fn of(trace: &Trace, times: impl Iterator<Item = (u16, u64)>) -> SamplesByProcessor {
        let mut all = SamplesByProcessor::new(trace);
        times.for_each(|(processor, time_ns)| all.add(processor, time_ns));
        all
    }

    /// Adds the time of samples of a processor.
    pub fn add(&mut self, processor: u16, time_ns: u64) {
        let at = usize::from(processor);
        if self.0.len() <= at && !self.0.is_empty() {
            self.0.resize(at + 1, 0);
        }
        self.0.get_mut(at).into_iter().for_each(|sum| *sum = sum.saturating_add(time_ns));
    }

    /// By number of the processor.
    pub fn times(&self) -> &[u64] {
        &self.0
    }

    /// That processors have no sample in a time in which others have.
    pub fn silent(&self, analysis: &'static str, span_ns: u64) -> Option<Warning> {
        let silent = (0u32..).zip(&self.0).filter(|(_, time)| **time == 0).map(|(number, _)| number.to_string());
        let silent: Vec<String> = silent.filter(|_| span_ns > 0).collect();
        let [plural, were] =
            if silent.len() == 1 { ["", "it was idle, or its"] } else { ["s", "they were idle, or their"] };
        (!silent.is_empty())
            .then(|| format!("no sample of processor{plural} {}: {were} samples were lost", first_of(&silent, NAMED)))
            .map(|text| Warning::note(analysis, NO_SAMPLES, text))
    }

    /// That they have few.
    pub fn with_few(&self, span_ns: u64) -> Option<String> {
        let is_few = |time: u64| time > 0 && u128::from(time) * FEW_PART < u128::from(span_ns);
        let few = (0u32..).zip(&self.0).filter(|(_, time)| is_few(**time));
        let few: Vec<String> =
            few.map(|(number, time)| format!("{number} ({})", percent((*time).into(), span_ns.into()))).collect();
        let plural = if few.len() == 1 { "" } else { "s" };
        let is_each = few.len() == self.0.len();
        (!few.is_empty() && !is_each).then(|| format!("few samples of processor{plural} {}", first_of(&few, NAMED)))
    }
}

/// A part as a share of all.
pub(crate) fn percent(part: u128, all: u128) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}
