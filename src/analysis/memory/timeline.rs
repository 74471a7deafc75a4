//! Memory over time at chosen moments: the machine's counters, or the working sets of processes and sessions.

use crate::analysis::memory::counters::MemorySample;
use crate::analysis::memory::query::{MemoryQuery, TimelineStep};
use crate::analysis::memory::working_sets::MemoryTrack;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::load::owned_events::MemoryCounters;
use crate::model::window::Window;
use crate::moment::{At, Moment};
use crate::units::{Nanos, count, counted};

/// Rows of processes or sessions in steps, at most: their number is that of the steps times that of the processes.
const MOST_ROWS: u64 = 500_000;

/// What is shown at which times.
#[derive(Debug)]
pub enum MemoryTimeline {
    /// The machine's counters; `None` where there is no sample yet.
    Counters(Vec<(Nanos, Option<MemorySample>)>),
    /// Working sets of processes or sessions, where they were sampled at these moments.
    Samples(Vec<Moment>),
    /// The latest ones at these moments.
    WorkingSets(Vec<Moment>),
}

impl MemoryTimeline {
    /// True where rows are at other times than their samples.
    pub fn is_in_steps(&self) -> bool {
        match self {
            MemoryTimeline::Counters(rows) => {
                rows.iter().any(|(time, sample)| sample.as_ref().is_some_and(|sample| sample.time != *time))
            }
            MemoryTimeline::Samples(_) => false,
            MemoryTimeline::WorkingSets(_) => true,
        }
    }

    /// What a query asks for, of these counters and `samples` in the window, or of `tracks` in the window where
    /// it groups by processes or sessions; `None` where it asks for no timeline.
    ///
    /// # Errors
    /// A usage error for a step of 0 or one that gives too many points or rows.
    pub(super) fn new(
        etl: &EtlFile,
        query: &MemoryQuery,
        window: &Window,
        counters: &[&At<MemoryCounters>],
        samples: &[MemorySample],
        tracks: Option<&[MemoryTrack]>,
    ) -> Result<Option<MemoryTimeline>, Error> {
        let Some(step) = query.timeline else { return Ok(None) };
        let mut moments: Vec<Moment> = match tracks {
            Some(tracks) => tracks.iter().flat_map(|track| &track.samples).map(|sample| sample.moment).collect(),
            None => counters.iter().map(|at| at.moment).collect(),
        };
        moments.sort_unstable();
        moments.dedup();
        if let (TimelineStep::Every(step), Some((&from, &to))) = (step, moments.first().zip(moments.last())) {
            let between = Window { from, to, ..window.clone() };
            moments = between.points(&etl.clock, step)?.into_iter().map(Moment::end_of).collect();
        }
        Ok(Some(match tracks {
            Some(_) if step == TimelineStep::Samples => MemoryTimeline::Samples(moments),
            Some(tracks) => {
                check_rows(&moments, tracks)?;
                MemoryTimeline::WorkingSets(moments)
            }
            None => MemoryTimeline::Counters(counters_at(etl, &moments, samples)),
        }))
    }
}

/// Refuses what would have many more rows than the trace has samples.
fn check_rows(moments: &[Moment], tracks: &[MemoryTrack]) -> Result<(), Error> {
    let rows_of = |track: &MemoryTrack| {
        let from = moments.partition_point(|moment| *moment < track.first.moment);
        moments.partition_point(|moment| *moment < track.end).saturating_sub(from) as u64
    };
    let rows = tracks.iter().fold(0u64, |sum, track| sum.saturating_add(rows_of(track)));
    if rows <= MOST_ROWS {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "a timeline has at most {} rows; with this step it has {} of {} at {} points: take a longer step, or fewer of them",
        count(MOST_ROWS),
        count(rows),
        counted(tracks.len() as u64, "process or session", "processes or sessions"),
        count(moments.len() as u64)
    )))
}

/// The latest sample at each moment.
fn counters_at(etl: &EtlFile, moments: &[Moment], samples: &[MemorySample]) -> Vec<(Nanos, Option<MemorySample>)> {
    let latest = |time: Nanos| samples.partition_point(|sample| sample.time <= time).checked_sub(1);
    let times = moments.iter().map(|moment| etl.clock.nanos(moment.time));
    times.map(|time| (time, latest(time).and_then(|at| samples.get(at).copied()))).collect()
}
