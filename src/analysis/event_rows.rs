//! One row for each record, in record order, with its fields. Rows are formatted where they are read and never collected: a slice of
//! the trace at a time.

use crate::analysis::event_statistics::EventFilter;
use crate::analysis::stacks::Owners;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::event_area::EventArea;
use crate::etl::logfile::MODE_NO_PER_PROCESSOR;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::RecordId;
use crate::etl::time_slice::{RECORDS, slices};
use crate::event::catalog;
use crate::event::fields::reader::{self, Decoded};
use crate::event::fields::schema::Schema;
use crate::event::fields::value::{FieldValue, Fields};
use crate::event::fields::{kernel, trace_logging};
use crate::event::payload::hook_of;
use crate::load::parts::Parts;
use crate::load::schemas::{SchemaSource, Schemas, holds_manifest};
use crate::load::timed_records::for_each_moment;
use crate::model::window::{Bound, Ends, Window};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::{Nanos, Ticks};
use foldhash::HashMap as FastMap;
use std::io;
use std::sync::Arc;
use uuid::Uuid;

/// What identifies an event of a provider in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowId {
    /// A number.
    Number(u16),
    /// A hook id.
    Hook(u16),
    /// None.
    None,
}

/// A record.
#[derive(Debug)]
pub struct EventRow<'r> {
    /// Since trace start.
    pub time: Nanos,
    /// Where it was logged; `None` without buffers of their own for the processors.
    pub processor: Option<u16>,
    /// Label of the header's process.
    pub process: Option<String>,
    /// The header's process.
    pub process_id: Option<u32>,
    /// The header's thread.
    pub thread_id: Option<u32>,
    /// Name of the provider, its GUID, or `kernel`.
    pub provider: String,
    /// The provider, or the class.
    pub provider_guid: Option<Uuid>,
    /// Name.
    pub event: String,
    /// Id.
    pub id: RowId,
    /// Version.
    pub version: u8,
    /// Of the header.
    pub opcode: Option<u8>,
    /// Of the header.
    pub task: Option<u16>,
    /// Of the header.
    pub level: Option<u8>,
    /// Of the header.
    pub keywords: Option<u64>,
    /// Where the schema comes from.
    pub schema: Option<SchemaSource>,
    /// The payload.
    pub payload: &'r [u8],
    /// Fields; `None` without a schema.
    pub fields: Option<Fields>,
    /// Fields that do not fit.
    pub missing: Vec<String>,
    /// Bytes that no field has.
    pub rest: &'r [u8],
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct EventRowQuery {
    /// Which events.
    pub filter: EventFilter,
    /// Begin of the window; `None` = that of the trace.
    pub from: Option<Bound>,
    /// Its end.
    pub to: Option<Bound>,
    /// At most so many rows.
    pub head: Option<u64>,
}

/// The events of a trace, ready to be streamed.
pub struct EventListing<'t> {
    trace: &'t Trace,
    query: &'t EventRowQuery,
    schemas: Schemas,
    owners: Owners<'t>,
    window: Option<Window>,
    /// Warnings, most important first.
    pub warnings: Vec<String>,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
}

/// Texts of rows, and where they belong.
#[derive(Default)]
struct Texts {
    rows: Vec<(Moment, u32, u32)>,
    bytes: Vec<u8>,
    /// Schemas of TraceLogging events by their bytes.
    known: FastMap<Box<[u8]>, Option<Arc<Schema>>>,
}

impl<'t> EventListing<'t> {
    /// Reads the schemas of the trace.
    ///
    /// # Errors
    /// [`Error::Usage`] for a window that cannot be.
    pub fn answer(trace: &'t Trace, query: &'t EventRowQuery) -> Result<EventListing<'t>, Error> {
        trace.gather(Parts::SYSTEM);
        let schemas = Schemas::new(trace.etl());
        let is_whole = query.from.is_none() && query.to.is_none();
        let ends = Ends::of_trace(trace.survey(), &trace.system().marks);
        let window = match is_whole {
            true => None,
            false => Some(Window::between(ends, query.from.as_ref(), query.to.as_ref(), &trace.etl().clock)?),
        };
        let mut warnings = trace.trust().warnings();
        warnings.extend(schemas.unreadable.iter().take(20).cloned());
        let (owners, doubtful) = (Owners::new(trace.processes(), &[]), trace.trust().any());
        Ok(EventListing { trace, query, schemas, owners, window, warnings, doubtful })
    }

    /// Formats all rows, in parallel, and writes them in record order.
    ///
    /// # Errors
    /// The first error of `write`; nothing is written after it.
    pub fn stream(
        &self,
        format: impl Fn(&mut Vec<u8>, &EventRow<'_>) + Sync,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let etl = self.trace.etl();
        let (rank, _) = ranks(&etl.buffers);
        let spans = &self.trace.survey().spans;
        let mut all = slices(spans, Ticks(i64::MIN), Ticks(i64::MAX), RECORDS / 4);
        // Buffers without any time come first.
        let without_time = (0u32..).zip(spans).filter(|(_, span)| span.is_none()).map(|(index, _)| index);
        all.first_mut().into_iter().for_each(|slice| slice.buffers.extend(without_time.clone()));
        let mut left = self.query.head.unwrap_or(u64::MAX);
        let mut later: Vec<(Moment, Box<[u8]>)> = Vec::new();
        for slice in all {
            if left == 0 {
                return Ok(());
            }
            let texts = etl.fold_some(&slice.buffers, Texts::default, |texts, _, area| {
                self.format_area(area, &rank, texts, &format);
            });
            let until = slice.to;
            let mut rows: Vec<(Moment, &[u8])> = Vec::new();
            let kept = std::mem::take(&mut later);
            rows.extend(kept.iter().map(|(moment, text)| (*moment, &**text)));
            for texts in &texts {
                let text = |from: u32, to: u32| texts.bytes.get(from as usize..to as usize).unwrap_or_default();
                rows.extend(texts.rows.iter().map(|(moment, from, to)| (*moment, text(*from, *to))));
            }
            rows.sort_unstable_by_key(|(moment, _)| *moment);
            for (moment, text) in rows {
                if moment.time > until {
                    later.push((moment, text.into()));
                } else if left > 0 {
                    left -= 1;
                    write(text)?;
                }
            }
        }
        for (_, text) in later.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            write(text)?;
        }
        Ok(())
    }

    fn format_area(
        &self,
        area: &EventArea<'_>,
        rank: &[u32],
        texts: &mut Texts,
        format: &(impl Fn(&mut Vec<u8>, &EventRow<'_>) + Sync),
    ) {
        let etl = self.trace.etl();
        for_each_moment(area, rank, etl.before_first(), |raw, _, moment| {
            if self
                .window
                .as_ref()
                .is_some_and(|window| moment.time < window.from.time || moment.time >= window.to.time)
            {
                return;
            }
            let Some(row) = self.row(etl, raw, moment, area.buffer.processor, &mut texts.known) else { return };
            let from = texts.bytes.len();
            format(&mut texts.bytes, &row);
            // A slice has some 100,000 records of at most 64 KiB.
            if let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(texts.bytes.len())) {
                texts.rows.push((moment, from, to));
            }
        });
    }

    fn row<'r>(
        &self,
        etl: &EtlFile,
        raw: RawRecord<'r>,
        moment: Moment,
        processor: u16,
        known: &mut FastMap<Box<[u8]>, Option<Arc<Schema>>>,
    ) -> Option<EventRow<'r>> {
        let descriptor = raw.descriptor();
        let record = raw.read().unwrap_or_else(|_| Record::unread(raw));
        let has_own_buffers = etl.header.mode & MODE_NO_PER_PROCESSOR == 0;
        let mut row = EventRow {
            time: etl.clock.nanos(moment.time),
            processor: has_own_buffers.then_some(processor),
            process: record.process_id.map(|id| self.owners.label(Some(id), moment)),
            process_id: record.process_id,
            thread_id: record.thread_id,
            provider: String::new(),
            provider_guid: guid(record.id),
            event: String::new(),
            id: row_id(record.id),
            version: record.version,
            opcode: descriptor.opcode,
            task: descriptor.task,
            level: descriptor.level,
            keywords: descriptor.keywords,
            schema: None,
            payload: record.payload,
            fields: None,
            missing: Vec::new(),
            rest: &[],
        };
        self.name(&mut row, &raw, &record, known);
        self.passes(&row, record.id).then_some(row)
    }

    /// Finds the schema, the names and the fields.
    fn name(
        &self,
        row: &mut EventRow<'_>,
        raw: &RawRecord<'_>,
        record: &Record<'_>,
        known: &mut FastMap<Box<[u8]>, Option<Arc<Schema>>>,
    ) {
        let code_page = self.trace.etl().code_page;
        let is_kernel = hook_of(record.id).is_some() || catalog::name(record.id).is_some();
        if let Some(hook) = hook_of(record.id).filter(|_| matches!(record.id, RecordId::Kernel(_))) {
            row.provider = "kernel".to_owned();
            row.event = catalog::name(record.id).map_or_else(|| hook.to_string(), |name| name.name.to_owned());
        } else {
            row.provider = self.provider_name(record.id);
            row.event = match (catalog::name(record.id), record.id) {
                (Some(name), _) => name.name.to_owned(),
                (None, RecordId::Manifest { id, .. }) => format!("EventID({id})"),
                (None, RecordId::Classic { opcode, .. }) => format!("Opcode({opcode})"),
                (None, RecordId::Message { number, .. }) => format!("Message({number})"),
                (None, _) => "Unknown".to_owned(),
            };
        }
        if is_kernel
            && !matches!(record.id, RecordId::Manifest { .. })
            && let Some((fields, end)) = kernel::fields(record, code_page)
        {
            row.schema = Some(SchemaSource::Kernel);
            row.fields = Some(fields);
            row.rest = row.payload.get(end..).unwrap_or_default();
            return;
        }
        let own = trace_logging::schema_bytes(record.extended).and_then(|bytes| match known.get(bytes) {
            Some(schema) => schema.clone(),
            None => {
                let schema = trace_logging::schema(record.extended).map(Arc::new);
                known.insert(bytes.into(), schema.clone());
                schema
            }
        });
        let found = match &own {
            Some(schema) => Some((SchemaSource::TraceLogging, &**schema)),
            None => self.schemas.of(raw, record),
        };
        let Some((source, schema)) = found else { return };
        let guid = row.provider_guid.unwrap_or_default();
        let Decoded { fields, missing, rest } =
            reader::read(schema, row.payload, record.pointer, self.schemas.context(guid, code_page));
        row.schema = Some(source);
        row.fields = Some(fields);
        row.missing = missing;
        row.rest = row.payload.get(rest..).unwrap_or_default();
        if source == SchemaSource::Manifest && holds_manifest(raw, record) {
            let length = FieldValue::Unsigned(row.payload.len() as u64);
            row.fields.iter_mut().for_each(|fields| fields.push(("PayloadLength".into(), length.clone())));
            row.rest = &[];
        }
        let provider = match source {
            SchemaSource::TraceLogging => {
                crate::etl::extended::provider_name(record.extended).map(|name| name.text().into())
            }
            _ => schema.provider.clone(),
        };
        if let Some(provider) = provider {
            row.provider = provider.to_string();
        }
        row.event = event_name(schema, source, record.id, row.opcode.unwrap_or(0));
    }

    fn provider_name(&self, id: RecordId) -> String {
        let Some(guid) = guid(id) else { return "unknown".to_owned() };
        let known = self.schemas.providers.get(&guid).map(|name| name.to_string());
        let group = || hook_of(id).and_then(|_| catalog::name(id)).map(|name| name.group().to_owned());
        known
            .or_else(group)
            .or_else(|| catalog::provider_name(guid).map(str::to_owned))
            .unwrap_or_else(|| guid.to_string())
    }

    fn passes(&self, row: &EventRow<'_>, id: RecordId) -> bool {
        let EventFilter { provider, name } = &self.query.filter;
        let guid = row.provider_guid.map(|guid| guid.to_string()).unwrap_or_default();
        let group = catalog::name(id).map_or("", |name| name.group());
        let number = match row.id {
            RowId::Number(number) => number.to_string(),
            RowId::Hook(hook) => format!("0x{hook:04x}"),
            RowId::None => row.opcode.map(|opcode| format!("type {opcode}")).unwrap_or_default(),
        };
        let aliases = catalog::all_names(id);
        let names: Vec<&str> = [row.event.as_str(), &number].into_iter().chain(aliases.iter().copied()).collect();
        provider.matches_any(&[&row.provider, &guid, group]) && name.matches_any(&names)
    }
}

fn guid(id: RecordId) -> Option<Uuid> {
    match id {
        RecordId::Manifest { provider, .. } => Some(provider),
        RecordId::Classic { class, .. } => Some(class),
        RecordId::Message { guid, .. } => Some(guid),
        RecordId::Kernel(_) | RecordId::Opaque(_) => None,
    }
}

fn row_id(id: RecordId) -> RowId {
    match id {
        RecordId::Kernel(hook) => RowId::Hook(hook.0),
        RecordId::Manifest { id, .. } => RowId::Number(id),
        RecordId::Classic { .. } | RecordId::Message { .. } | RecordId::Opaque(_) => RowId::None,
    }
}

/// Task, and the opcode where there is one.
fn event_name(schema: &Schema, source: SchemaSource, id: RecordId, opcode: u8) -> String {
    let number = match id {
        RecordId::Manifest { id, .. } => format!("EventID({id})"),
        _ => format!("Opcode({opcode})"),
    };
    let name = schema.name.as_deref().filter(|name| !name.is_empty()).map_or(number, str::to_owned);
    let is_manifest = source == SchemaSource::Manifest && opcode == 254 && name == "ManifestData";
    if opcode == 0 || is_manifest {
        return name;
    }
    let standard = match opcode {
        1 => "Start",
        2 => "Stop",
        3 => "DC_Start",
        4 => "DC_Stop",
        5 => "Extension",
        6 => "Reply",
        7 => "Resume",
        8 => "Suspend",
        9 => "Send",
        240 => "Receive",
        _ => "",
    };
    match schema.opcode.as_deref().filter(|name| !name.is_empty()) {
        Some(own) => format!("{name}/{own}"),
        None if standard.is_empty() => format!("{name}/Opcode({opcode})"),
        None => format!("{name}/{standard}"),
    }
}
