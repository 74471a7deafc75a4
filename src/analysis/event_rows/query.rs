//! Which rows and which of their fields are wanted.

use super::field_choice::{FieldChoice, FieldCondition};
use crate::analysis::events::EventFilter;
use crate::analysis::repeated_marks::marks_repeated;
use crate::analysis::stacks::NO_PROCESS_KNOWN;
use crate::dimensions::single_dimensions::{EVENT, PROCESSOR, PROVIDER, THREAD};
use crate::dimensions::{Condition, NO_LABEL, ProcessFacet, dimensions};
use crate::error::Error;
use crate::load::event_row::EventRow;
use crate::load::schemas::UserManifest;
use crate::model::window::{Bound, Ends, Window};
use crate::moment::Moment;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::{Nanos, Ticks};

dimensions! {
    /// What rows of events are filtered by.
    pub enum Dimension {
        Process: ProcessFacet::Process.facet();
        Pid: ProcessFacet::Pid.facet();
        Thread: THREAD;
        Processor: PROCESSOR;
        Provider: PROVIDER;
        Event: EVENT;
    }
}

/// What is asked for.
#[derive(Debug, Default)]
pub struct EventRowQuery {
    /// Which events, by provider and name.
    pub filter: EventFilter,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Condition<Dimension>>,
    /// Conditions on values of fields, all of which must hold.
    pub fields: Vec<FieldCondition>,
    /// The fields that are shown; `None` = all.
    pub shown: Option<FieldChoice>,
    /// Begin of the window; `None` = that of the trace.
    pub from: Option<Bound>,
    /// Its end.
    pub to: Option<Bound>,
    /// A moment, and how far around it the window reaches; without `from` and `to`.
    pub around: Option<(Bound, Nanos)>,
    /// At most so many rows.
    pub head: Option<u64>,
    /// Manifests for events that no schema of the trace describes.
    pub manifests: Vec<UserManifest>,
    /// Where symbol files are, where the frames of each row are wanted.
    pub stacks: Option<SymbolFolders>,
}

impl EventRowQuery {
    /// The window; `None` = the whole trace.
    pub(super) fn window(&self, trace: &Trace) -> Result<Option<Window>, Error> {
        let clock = &trace.etl().clock;
        let ends = Ends::of_trace(trace.etl(), trace.survey(), &trace.system().marks);
        if let Some((bound, margin)) = &self.around {
            let mut window = match bound {
                Bound::Mark(_) => Window::between(ends, Some(bound), None, clock)?,
                Bound::Time(_) => Window::between(ends, None, None, clock)?,
            };
            let middle = if let Bound::Time(time) = bound { *time } else { clock.nanos(window.from.time) };
            let begin = Nanos(middle.0.saturating_sub(margin.0));
            let last = clock.nanos(window.to.time);
            if last < begin {
                let (asked, last) = (middle.seconds(), last.seconds());
                return Err(Error::Usage(format!(
                    "the moment {asked:.6} s is behind the end of the trace, {last:.6} s"
                )));
            }
            window.from.time = clock.ticks_from(begin);
            let end = clock.ticks_at(Nanos(middle.0.saturating_add(margin.0)));
            window.to.time = Ticks(end.0.saturating_add(1));
            return Ok(Some(window));
        }
        if self.from.is_none() && self.to.is_none() {
            return Ok(None);
        }
        let mut window = Window::between(ends, self.from.as_ref(), self.to.as_ref(), clock)?;
        if self.from.is_none() {
            // A circular file keeps its header and the records of its session, which stand before the first one of the others.
            window.from = Moment::FIRST;
        }
        if self.to.is_none() {
            // The end of the window is not inside, but the last record is.
            window.to.time = Ticks(window.to.time.0.saturating_add(1));
        }
        Ok(Some(window))
    }

    /// Which of several marks an end of the window is.
    pub(super) fn marks_repeated(&self, trace: &Trace, window: Option<&Window>) -> Option<Warning> {
        let around = self.around.as_ref().map(|(bound, _)| bound);
        let begin = window.map_or(Ticks(i64::MIN), |window| window.from.time);
        marks_repeated("event_rows", trace, (self.from.as_ref().or(around), self.to.as_ref()), begin)
    }

    /// True where no condition leaves out any row of the window.
    pub(super) fn takes_all(&self) -> bool {
        let EventFilter { provider, name } = &self.filter;
        provider.all().chain(name.all()).next().is_none() && self.conditions.is_empty() && self.fields.is_empty()
    }

    /// True for a row that meets all conditions but those on fields. `names`: of the event, `providers`: of its provider, by which
    /// the filter knows it too; conditions are of what the row shows.
    pub(super) fn matches(&self, row: &EventRow<'_>, providers: &[&str], names: &[&str]) -> bool {
        let EventFilter { provider, name } = &self.filter;
        let number = |number: Option<u64>| number.map_or_else(|| NO_LABEL.to_owned(), |number| number.to_string());
        provider.matches_any(providers)
            && name.matches_any(names)
            && self.conditions.iter().all(|condition| match condition.dimension {
                Dimension::Process => match &row.process {
                    Some(process) => condition.patterns.matches(process),
                    // A record that tells no process has none, or one that is not known.
                    None => condition.patterns.matches_any(&[NO_LABEL, NO_PROCESS_KNOWN]),
                },
                Dimension::Pid => condition.patterns.matches(&number(row.process_id.map(Into::into))),
                Dimension::Thread => condition.patterns.matches(&number(row.thread_id.map(Into::into))),
                Dimension::Processor => condition.patterns.matches(&number(row.processor.map(Into::into))),
                Dimension::Provider => condition.patterns.matches(&row.provider),
                Dimension::Event => condition.patterns.matches(&row.event),
            })
    }

    /// After a run that read all rows: what matched nothing, beside the patterns of `filter`.
    pub fn unmatched(&self) -> Vec<String> {
        let mut lines: Vec<String> = Condition::unmatched(&self.conditions);
        lines.extend(self.fields.iter().flat_map(FieldCondition::unmatched));
        lines.extend(self.shown.iter().flat_map(FieldChoice::unmatched));
        let unused = self.manifests.iter().filter(|manifest| !manifest.is_used());
        lines.extend(unused.map(|file| format!("manifest {}: no event was read by it", file.name)));
        lines
    }
}
