//! One row for each record, in record order, with its fields. Rows are formatted where they are read and never collected: a slice of
//! the trace at a time.

mod field_choice;
mod query;

pub use crate::load::schemas::UserManifest;
pub use field_choice::{FieldChoice, FieldCondition};
pub use query::{Dimension, EventRowQuery};

use crate::analysis::stacks::{EventStacks, Owners};
use crate::error::Error;
use crate::etl::buffer::Buffer;
use crate::etl::buffer_order::Span;
use crate::etl::time_slice::{TimeSlice, slices};
use crate::event::event_names;
use crate::load::event_row::{EventRow, RowId, RowReader, has_owners_by_payload, shortened};
use crate::load::schemas::Schemas;
use crate::load::thread_records::thread_records;
use crate::load::trace_parts::Parts;
use crate::model::window::Window;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::{Warning, Warnings, symbols_missing};
use crate::units::Ticks;
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The events of a trace, ready to be streamed.
pub struct EventListing<'t> {
    trace: &'t Trace,
    query: &'t EventRowQuery,
    schemas: Schemas<'t>,
    owners: Owners<'t>,
    /// Labels of the process instances.
    labels: Vec<String>,
    window: Option<Window>,
    stacks: Option<EventStacks>,
    /// Whose numbers the rows have.
    numbers: Option<&'t EventStacks>,
    /// Warnings, most important first.
    pub warnings: Warnings,
}

/// Records of a slice, about: the texts of two slices are in memory together.
const RECORDS: u64 = 20_000;

/// Bytes of a buffer that count as a record, because long records have long texts: a slice has at most some 10 MB of them.
const BYTES_OF_A_RECORD: u32 = 512;

/// Room for the frames in the texts of a slice, bytes: those of 20,000 stacks of Windows. A stack of a hostile file can have 128 KiB;
/// without room, frames are added when their row is written.
const ROOM_FOR_FRAMES: usize = 48 << 20;

/// The text of a row.
struct RowText<'b> {
    moment: Moment,
    text: &'b [u8],
    stack: Option<u32>,
}

/// Texts of rows, and where they belong: from, to, and the stack that is still to be added.
#[derive(Default)]
struct Texts {
    rows: Vec<(Moment, usize, usize, Option<u32>)>,
    all: Vec<u8>,
}

impl Texts {
    fn emptied(mut self) -> Texts {
        self.rows.clear();
        self.all.clear();
        self
    }
}

/// Writes texts in record order.
struct InOrder {
    /// How many may still be written.
    left: Option<u64>,
    /// False once one was left out.
    is_whole: bool,
    /// Texts of later slices.
    later: Vec<(Moment, Box<[u8]>, Option<u32>)>,
}

impl InOrder {
    /// Writes these texts and those that were kept, up to a time, and keeps those that are later.
    fn write<K>(
        &mut self,
        texts: &[(Texts, K)],
        until: Ticks,
        write: &mut dyn FnMut(&RowText<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let kept = std::mem::take(&mut self.later);
        let row = |moment, text, stack| RowText { moment, text, stack };
        let mut rows: Vec<RowText<'_>> = kept.iter().map(|(moment, text, stack)| row(*moment, text, *stack)).collect();
        for (texts, _) in texts {
            let text = |from: usize, to: usize| texts.all.get(from..to).unwrap_or_default();
            rows.extend(texts.rows.iter().map(|(moment, from, to, stack)| row(*moment, text(*from, *to), *stack)));
        }
        // The rows of a buffer are in order, nearly always: a stable sort merges them.
        rows.sort_by_key(|row| row.moment);
        for row in rows {
            if row.moment.time > until {
                self.later.push((row.moment, row.text.into(), row.stack));
                continue;
            }
            match &mut self.left {
                Some(0) => self.is_whole = false,
                Some(left) => {
                    *left -= 1;
                    write(&row)?;
                }
                None => write(&row)?,
            }
        }
        Ok(())
    }
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
        warnings.extend(query.marks_repeated(trace, window.as_ref()));
        let unreadable = |text: &String| Warning::note("event_rows", "unreadable_manifest", text.clone());
        warnings.extend(schemas.unreadable.iter().take(20).map(unreadable));
        let (stacks, told) = query.stacks.as_ref().map(|symbols| EventStacks::of_all(trace, symbols)).unzip();
        warnings.extend(symbols_missing(STACK_EVENTS.name, told.into_iter().flatten()));
        if stacks.as_ref().is_some_and(EventStacks::is_empty) {
            let text = "the trace has no stacks".to_owned();
            warnings.push(Warning::note(STACK_EVENTS.name, "no_stacks", text));
        }
        let names_threads = has_owners_by_payload(|hook| trace.survey().kernel_count(hook));
        let threads = if names_threads { thread_records(trace.etl()) } else { Vec::new() };
        let owners = Owners::new(trace.processes(), &threads);
        warnings.extend(owners.doubt(STACK_EVENTS.name));
        let labels =
            trace.processes().instances.iter().map(|process| shortened(&process.label()).into_owned()).collect();
        Ok(EventListing { trace, query, schemas, owners, labels, window, stacks, numbers: None, warnings })
    }

    /// Rows with the numbers of their stacks.
    #[cfg(feature = "export")]
    pub(crate) fn numbered(self, numbers: Option<&'t EventStacks>) -> EventListing<'t> {
        EventListing { numbers, ..self }
    }

    /// Manifests of the trace that are no XML, with the reason.
    pub(crate) fn unreadable(&self) -> &[String] {
        &self.schemas.unreadable
    }

    /// Formats all rows, in parallel, and writes them in record order. False when the head was full before the end: what is left
    /// out is not known then. `new` makes what a thread keeps while it formats a slice; `format` adds a row without its stack,
    /// `add_stack` the frames of the stack, innermost first, and what comes after them.
    ///
    /// # Errors
    /// The first error of `write`; nothing is written after it.
    pub fn stream<K: Send>(
        &self,
        new: impl Fn() -> K + Sync,
        format: impl Fn(&mut K, &mut Vec<u8>, &EventRow<'_>) + Sync,
        add_stack: impl Fn(&mut K, &mut Vec<u8>, &[String]) + Sync,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let reader = RowReader::new(self.trace.etl(), &self.schemas);
        let spans = &self.trace.survey().spans;
        let (begin, end) = (self.window.as_ref())
            .map_or((Ticks(i64::MIN), Ticks(i64::MAX)), |window| (window.from.time, window.to.time));
        let mut all = slices(&self.weighed_spans(), begin, end, RECORDS);
        // Buffers without any time come first.
        let without_time = (0u32..).zip(spans).filter(|(_, span)| span.is_none()).map(|(index, _)| index);
        all.first_mut().into_iter().for_each(|slice| slice.buffers.extend(without_time.clone()));
        let is_inside = |moment: Moment| begin <= moment.time && (self.window.is_none() || moment.time < end);
        // Texts of slices that were written: their memory is used again.
        let spare: Mutex<Vec<(Texts, K)>> = Mutex::default();
        let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = || lock().pop().unwrap_or_else(|| (Texts::default(), new()));
        let read = |slice: &TimeSlice| {
            let room = AtomicUsize::new(ROOM_FOR_FRAMES);
            reader.read(&slice.buffers, is_inside, empty, |(texts, kept), moment, row| {
                self.format(texts, (moment, row), &room, &mut |text, row, frames| {
                    format(kept, text, row);
                    frames.iter().for_each(|frames| add_stack(kept, text, frames));
                });
            })
        };
        let mut last = new();
        let write = &mut |row: &RowText<'_>| match (row.stack, &self.stacks) {
            (Some(stack), Some(stacks)) => {
                let mut whole = row.text.to_vec();
                add_stack(&mut last, &mut whole, &stacks.names(stack));
                write(&whole)
            }
            _ => write(row.text),
        };
        // The next slice is read while one is written, unless this thread is one of those that read.
        let is_free = rayon::current_thread_index().is_none() && self.query.head.is_none();
        let mut ahead: Option<Vec<(Texts, K)>> = None;
        let mut order = InOrder { left: self.query.head, is_whole: true, later: Vec::new() };
        for (number, slice) in all.iter().enumerate() {
            if order.left == Some(0) {
                return Ok(false);
            }
            let texts = ahead.take().unwrap_or_else(|| read(slice));
            let next = all.get(number + 1).filter(|_| is_free);
            std::thread::scope(|scope| {
                let begun = next.map(|next| std::thread::Builder::new().spawn_scoped(scope, || read(next)));
                let written = order.write(&texts, slice.to, write);
                // What a thread that panicked should have read is read again, and panics here.
                ahead = begun.and_then(Result::ok).and_then(|reading| reading.join().ok());
                written
            })?;
            lock().extend(texts.into_iter().map(|(texts, kept)| (texts.emptied(), kept)));
        }
        order.write::<K>(&[], Ticks(i64::MAX), write)?;
        Ok(order.is_whole)
    }

    fn format<'r>(
        &'r self,
        texts: &mut Texts,
        (moment, mut row): (Moment, EventRow<'r>),
        room: &AtomicUsize,
        format: &mut impl FnMut(&mut Vec<u8>, &EventRow<'_>, Option<&[String]>),
    ) {
        let by_payload = || row.owner.and_then(|owner| self.owners.process_of(owner, moment));
        let process_id = row.process_id.or_else(by_payload);
        row.instance = process_id.and_then(|id| self.owners.instance(id, moment));
        row.process = process_id.map(|id| self.process(id, row.instance, moment));
        if !self.passes(&row) {
            return;
        }
        if let (Some(choice), Some(fields)) = (&self.query.shown, &mut row.fields) {
            choice.choose(fields);
        }
        let number = self.numbers.map(|stacks| stacks.find(moment));
        row.stack = number.filter(|number| *number != EventStacks::NONE);
        let stack = self.stacks.as_ref().map(|stacks| (stacks, stacks.find(moment)));
        let frames = match stack {
            Some((stacks, number)) if number != EventStacks::NONE => {
                let frames = stacks.names(number);
                let bytes = frames.iter().map(String::len).sum();
                let has_room = room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(bytes)).is_ok();
                has_room.then_some(frames)
            }
            _ => Some(Vec::new()),
        };
        let from = texts.all.len();
        format(&mut texts.all, &row, frames.as_deref());
        let later = stack.filter(|_| frames.is_none()).map(|(_, number)| number);
        texts.rows.push((moment, from, texts.all.len(), later));
    }

    /// The spans of the buffers, with more records where these are long.
    fn weighed_spans(&self) -> Vec<Option<Span>> {
        let weighed = |(span, buffer): (&Option<Span>, &Buffer)| {
            let least = buffer.area_bytes() / BYTES_OF_A_RECORD;
            span.map(|span| Span { records: span.records.max(least), ..span })
        };
        self.trace.survey().spans.iter().zip(&self.trace.etl().buffers).map(weighed).collect()
    }

    /// The label of a process: those of known ones are made once.
    fn process(&self, id: u32, instance: Option<usize>, moment: Moment) -> Cow<'_, str> {
        let known = instance.and_then(|index| self.labels.get(index));
        known.map_or_else(|| self.owners.label(Some(id), moment).into(), |label| Cow::Borrowed(label.as_str()))
    }

    fn passes(&self, row: &EventRow<'_>) -> bool {
        if self.query.takes_all() {
            return true;
        }
        let id = row.record_id;
        let guid = row.provider_guid.map(|guid| guid.to_string()).unwrap_or_default();
        // As without --rows: also the name of a well-known provider, which the row has only where the trace says it.
        let well_known = || row.provider_guid.and_then(event_names::provider_name);
        let group = event_names::name(id).map(|name| name.group()).or_else(well_known).unwrap_or_default();
        let number = match row.id {
            RowId::Number(number) => number.to_string(),
            RowId::Hook(hook) => format!("0x{hook:04x}"),
            RowId::None => row.opcode.map(|opcode| format!("type {opcode}")).unwrap_or_default(),
        };
        let aliases = event_names::all_names(id);
        let names: Vec<&str> = [&*row.event, &number].into_iter().chain(aliases.iter().copied()).collect();
        let fields = &self.query.fields;
        self.query.matches(row, &[&row.provider, &guid, group], &names)
            && (fields.is_empty()
                || row.fields.as_ref().is_some_and(|own| fields.iter().all(|field| field.matches(own))))
    }
}
