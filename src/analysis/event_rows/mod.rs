//! One row for each record, in record order, with its fields. Rows are formatted where they are read and never collected: a slice of
//! the trace at a time.

mod field_choice;
mod query;

pub use crate::load::schemas::UserManifest;
pub use field_choice::{FieldChoice, FieldCondition};
pub use query::{Dimension, EventRowQuery};

use crate::analysis::stacks::{EventStacks, Owners};
use crate::error::Error;
use crate::etl::time_slice::slices;
use crate::event::catalog;
use crate::load::event_row::{EventRow, RowId, RowReader};
use crate::load::parts::Parts;
use crate::load::schemas::Schemas;
use crate::model::window::Window;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::Ticks;
use std::io;

/// The events of a trace, ready to be streamed.
pub struct EventListing<'t> {
    trace: &'t Trace,
    query: &'t EventRowQuery,
    schemas: Schemas<'t>,
    owners: Owners<'t>,
    window: Option<Window>,
    stacks: Option<EventStacks>,
    /// Warnings, most important first.
    pub warnings: Vec<String>,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
}

/// Records of a slice, about: their texts are in memory together.
const RECORDS: u64 = 30_000;

/// Texts of rows, and where they belong.
#[derive(Default)]
struct Texts {
    rows: Vec<(Moment, usize, usize)>,
    all: Vec<u8>,
}

impl<'t> EventListing<'t> {
    /// Reads the schemas of the trace.
    ///
    /// # Errors
    /// [`Error::Usage`] for a window that cannot be.
    pub fn answer(trace: &'t Trace, query: &'t EventRowQuery) -> Result<EventListing<'t>, Error> {
        trace.gather(Parts::SYSTEM);
        let schemas = Schemas::new(trace.etl(), &query.manifests);
        let window = query.window(trace)?;
        let mut warnings = trace.trust().warnings();
        warnings.extend(schemas.unreadable.iter().take(20).cloned());
        let (stacks, told) = query.stacks.as_ref().map(|symbols| EventStacks::of_all(trace, symbols)).unzip();
        warnings.extend(told.into_iter().flatten());
        if stacks.as_ref().is_some_and(EventStacks::is_empty) {
            warnings.push("the trace has no stacks".to_owned());
        }
        let (owners, doubtful) = (Owners::new(trace.processes(), &[]), trace.trust().any());
        Ok(EventListing { trace, query, schemas, owners, window, stacks, warnings, doubtful })
    }

    /// Formats all rows, in parallel, and writes them in record order. False when rows were left out because the head was full.
    ///
    /// # Errors
    /// The first error of `write`; nothing is written after it.
    pub fn stream(
        &self,
        format: impl Fn(&mut Vec<u8>, &EventRow<'_>) + Sync,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let reader = RowReader::new(self.trace.etl(), &self.schemas);
        let spans = &self.trace.survey().spans;
        let ends = self.window.as_ref().map(|window| (window.from.time, window.to.time));
        let (begin, end) = ends.unwrap_or((Ticks(i64::MIN), Ticks(i64::MAX)));
        let mut all = slices(spans, begin, end, RECORDS);
        // Buffers without any time come first.
        let without_time = (0u32..).zip(spans).filter(|(_, span)| span.is_none()).map(|(index, _)| index);
        all.first_mut().into_iter().for_each(|slice| slice.buffers.extend(without_time.clone()));
        let mut is_whole = true;
        let mut left = self.query.head.unwrap_or(u64::MAX);
        let mut later: Vec<(Moment, Box<[u8]>)> = Vec::new();
        for slice in all {
            if left == 0 {
                return Ok(false);
            }
            let texts = reader.read(&slice.buffers, Texts::default, |texts, moment, row| {
                self.format(texts, moment, row, &format);
            });
            let until = slice.to;
            let mut rows: Vec<(Moment, &[u8])> = Vec::new();
            let kept = std::mem::take(&mut later);
            rows.extend(kept.iter().map(|(moment, text)| (*moment, &**text)));
            for texts in &texts {
                let text = |from: usize, to: usize| texts.all.get(from..to).unwrap_or_default();
                rows.extend(texts.rows.iter().map(|(moment, from, to)| (*moment, text(*from, *to))));
            }
            rows.sort_unstable_by_key(|(moment, _)| *moment);
            for (moment, text) in rows {
                if moment.time > until {
                    later.push((moment, text.into()));
                } else if left > 0 {
                    left -= 1;
                    write(text)?;
                } else {
                    is_whole = false;
                }
            }
        }
        for (_, text) in &later {
            if left > 0 {
                write(text)?;
            }
            is_whole &= left > 0;
            left = left.saturating_sub(1);
        }
        Ok(is_whole)
    }

    fn format(
        &self,
        texts: &mut Texts,
        moment: Moment,
        mut row: EventRow<'_>,
        format: &(impl Fn(&mut Vec<u8>, &EventRow<'_>) + Sync),
    ) {
        let is_inside = |window: &Window| window.from.time <= moment.time && moment.time < window.to.time;
        if !self.window.as_ref().is_none_or(is_inside) {
            return;
        }
        row.process = row.process_id.map(|id| self.owners.label(Some(id), moment));
        if !self.passes(&row) {
            return;
        }
        if let (Some(choice), Some(fields)) = (&self.query.shown, &mut row.fields) {
            choice.choose(fields);
        }
        if let Some(stacks) = &self.stacks {
            row.frames = match stacks.find(moment) {
                EventStacks::NONE => Vec::new(),
                stack => stacks.functions(stack).collect(),
            };
        }
        let from = texts.all.len();
        format(&mut texts.all, &row);
        texts.rows.push((moment, from, texts.all.len()));
    }

    fn passes(&self, row: &EventRow<'_>) -> bool {
        let id = row.record_id;
        let guid = row.provider_guid.map(|guid| guid.to_string()).unwrap_or_default();
        let group = catalog::name(id).map_or("", |name| name.group());
        let number = match row.id {
            RowId::Number(number) => number.to_string(),
            RowId::Hook(hook) => format!("0x{hook:04x}"),
            RowId::None => row.opcode.map(|opcode| format!("type {opcode}")).unwrap_or_default(),
        };
        let aliases = catalog::all_names(id);
        let names: Vec<&str> = [row.event.as_str(), &number].into_iter().chain(aliases.iter().copied()).collect();
        let fields = &self.query.fields;
        self.query.lets_pass(row, &[&row.provider, &guid, group], &names)
            && (fields.is_empty()
                || row.fields.as_ref().is_some_and(|own| fields.iter().all(|field| field.lets_pass(own))))
    }
}
