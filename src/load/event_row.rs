//! A record as a row: header, names, and the fields of its payload by the schema that fits.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::event_area::EventArea;
use crate::etl::extended_items;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::{HookId, RecordId};
use crate::event::event_names;
use crate::event::fields::reader::{self, Context, Decoded};
use crate::event::fields::schema::Schema;
use crate::event::fields::value::{FieldValue, Fields};
use crate::event::fields::{kernel, trace_logging};
use crate::event::hooks::{CSWITCH, HARD_FAULT, SAMPLED_PROFILE};
use crate::event::payload::hook_of;
use crate::event::{self, decode};
use crate::load::schemas::{Fitting, SchemaSource, Schemas, holds_manifest};
use crate::load::stacks::second_walk::owner_by_payload;
use crate::load::stacks::stack_events::Owner;
use crate::load::timed_records::for_each_moment;
use crate::moment::Moment;
use crate::units::Nanos;
use foldhash::HashMap as FastMap;
use std::borrow::Cow;
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
    /// What it is.
    pub record_id: RecordId,
    /// Label of its process, where the caller has put it.
    pub process: Option<Cow<'r, str>>,
    /// Its process instance, where the caller has put it.
    pub instance: Option<usize>,
    /// The number of its stack, where the caller has put it.
    pub stack: Option<u32>,
    /// The header's process.
    pub process_id: Option<u32>,
    /// Whose the payload says that it is, of kernel events whose header names no process.
    pub owner: Option<Owner>,
    /// The header's thread.
    pub thread_id: Option<u32>,
    /// Name of the provider, its GUID, or `kernel`.
    pub provider: Cow<'r, str>,
    /// The provider, or the class.
    pub provider_guid: Option<Uuid>,
    /// Name.
    pub event: Cow<'r, str>,
    /// Id.
    pub id: RowId,
    /// Version.
    pub version: u8,
    /// Opcode of the record header.
    pub opcode: Option<u8>,
    /// Task of the record header.
    pub task: Option<u16>,
    /// Level of the record header.
    pub level: Option<u8>,
    /// Keywords of the record header.
    pub keywords: Option<u64>,
    /// Where the schema comes from.
    pub schema: Option<SchemaSource>,
    /// The payload.
    pub payload: &'r [u8],
    /// Fields; `None` without a schema.
    pub fields: Option<Fields<'r>>,
    /// Fields that do not fit.
    pub missing: Vec<String>,
    /// Bytes that no field has.
    pub rest: &'r [u8],
}

/// Most bytes of the name of a provider, an event or a process in a row: each row repeats it, and it can have 64 KB.
const MOST_NAME: usize = 1024;

/// A name as rows have it: cut after [`MOST_NAME`] bytes, with a sign that it was.
pub fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= MOST_NAME {
        return Cow::Borrowed(name);
    }
    let end = (0..=MOST_NAME).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", name.get(..end).unwrap_or_default()).into()
}

/// Most schemas of TraceLogging events that a thread remembers.
const MOST_KNOWN: usize = 4096;

/// Schemas of TraceLogging events: their numbers by their bytes.
#[derive(Default)]
struct Known {
    numbers: FastMap<Box<[u8]>, usize>,
    schemas: Vec<Option<Schema>>,
}

/// Reads rows.
pub struct RowReader<'t> {
    etl: &'t EtlFile,
    rank: Vec<u32>,
    schemas: &'t Schemas<'t>,
}

impl<'t> RowReader<'t> {
    /// For a trace with these schemas.
    pub fn new(etl: &'t EtlFile, schemas: &'t Schemas<'t>) -> RowReader<'t> {
        RowReader { etl, rank: ranks(&etl.buffers), schemas }
    }

    /// Reads buffers in parallel: `each` gets the rows of one buffer after the other, of the records that `is_wanted`.
    pub fn read<A: Send>(
        &self,
        buffers: &[u32],
        is_wanted: impl Fn(Moment) -> bool + Sync,
        new: impl Fn() -> A + Sync,
        each: impl Fn(&mut A, Moment, EventRow<'_>) + Sync,
    ) -> Vec<A> {
        let read = self.etl.fold_some(
            buffers,
            || (new(), Known::default()),
            |(all, known), _, area| self.area(area, known, &is_wanted, |moment, row| each(all, moment, row)),
        );
        read.into_iter().map(|(all, _)| all).collect()
    }

    fn area(
        &self,
        area: &EventArea<'_>,
        known: &mut Known,
        is_wanted: impl Fn(Moment) -> bool,
        mut each: impl FnMut(Moment, EventRow<'_>),
    ) {
        for_each_moment(area, &self.rank, self.etl.before_first(), |raw, _, moment| {
            if is_wanted(moment) {
                let record = raw.read().unwrap_or_else(|_| Record::unread(raw));
                let own = known.learn(record.extended);
                each(moment, self.row(raw, record, own, moment, area.buffer.processor));
            }
        });
    }

    fn row<'r>(
        &'r self,
        raw: RawRecord<'r>,
        record: Record<'r>,
        own: Option<&'r Schema>,
        moment: Moment,
        processor: u16,
    ) -> EventRow<'r> {
        let descriptor = raw.descriptor();
        let has_own_buffers = self.etl.header.mode & MODE_NO_PER_PROCESSOR == 0;
        let mut row = EventRow {
            time: self.etl.clock.nanos(moment.time),
            processor: has_own_buffers.then_some(processor),
            record_id: record.id,
            process: None,
            instance: None,
            process_id: record.process_id,
            owner: owner(&record),
            thread_id: record.thread_id,
            provider: Cow::Borrowed(""),
            provider_guid: guid(record.id),
            event: Cow::Borrowed(""),
            id: row_id(record.id),
            version: record.version,
            opcode: descriptor.opcode,
            task: descriptor.task,
            level: descriptor.level,
            keywords: descriptor.keywords,
            schema: None,
            payload: record.payload,
            fields: None,
            stack: None,
            missing: Vec::new(),
            rest: &[],
        };
        self.name(&mut row, &raw, &record, own);
        row
    }

    /// Finds the schema, the names and the fields.
    fn name<'r>(&'r self, row: &mut EventRow<'r>, raw: &RawRecord<'r>, record: &Record<'r>, own: Option<&'r Schema>) {
        let code_page = self.etl.code_page;
        let named = event_names::name(record.id);
        let is_kernel = hook_of(record.id).is_some() || named.is_some();
        if let Some(hook) = hook_of(record.id).filter(|_| matches!(record.id, RecordId::Kernel(_))) {
            row.provider = Cow::Borrowed("kernel");
            row.event = named.map_or_else(|| hook.to_string().into(), |name| Cow::Borrowed(name.name));
        } else {
            // With a schema both are named below.
            if own.is_none() {
                row.provider = self.provider_name(record.id);
            }
            row.event = match (named, record.id) {
                (Some(name), _) => Cow::Borrowed(name.name),
                (None, _) if own.is_some() => Cow::Borrowed(""),
                (None, RecordId::Manifest { id, .. }) => format!("EventID({id})").into(),
                (None, RecordId::Classic { opcode, .. }) => format!("Opcode({opcode})").into(),
                (None, RecordId::Message { number, .. }) => format!("Message({number})").into(),
                (None, _) => Cow::Borrowed("Unknown"),
            };
        }
        if is_kernel
            && !matches!(record.id, RecordId::Manifest { .. })
            && let Some(decoded) = kernel::fields(record, code_page)
        {
            row.take(SchemaSource::Kernel, decoded);
            return;
        }
        let found = match own {
            Some(schema) => Some(Fitting { source: SchemaSource::TraceLogging, schema, maps: None }),
            None => self.schemas.of(raw, record),
        };
        let Some(Fitting { source, schema, maps }) = found else { return };
        row.take(source, reader::read(schema, row.payload, record.pointer, Context { maps, code_page }));
        if source == SchemaSource::Manifest && holds_manifest(raw, record) {
            let length = FieldValue::Unsigned(row.payload.len() as u64);
            row.fields.iter_mut().for_each(|fields| fields.push(("PayloadLength", length.clone())));
            row.rest = &[];
        }
        let provider = match source {
            SchemaSource::TraceLogging => extended_items::provider_name(record.extended).map(|name| name.text()),
            _ => schema.provider.as_deref().map(shortened),
        };
        match provider {
            Some(provider) => row.provider = provider,
            // What another event of the provider says is not said by this one.
            None if own.is_some() => row.provider = guid_text(record.id),
            None => {}
        }
        row.event = event_name(schema, source, record.id, row.opcode.unwrap_or(0));
    }

    /// The name that the trace has elsewhere, else the GUID.
    fn provider_name(&self, id: RecordId) -> Cow<'_, str> {
        let known = guid(id).and_then(|guid| self.schemas.providers.get(&guid)).map(|name| &**name);
        let group = || event_names::name(id).map(|name| name.group());
        known.or_else(group).map_or_else(|| guid_text(id), shortened)
    }
}

impl<'r> EventRow<'r> {
    fn take(&mut self, source: SchemaSource, decoded: Decoded<'r>) {
        self.schema = Some(source);
        self.fields = Some(decoded.fields);
        self.missing = decoded.missing;
        self.rest = self.payload.get(decoded.rest..).unwrap_or_default();
    }
}

impl Known {
    /// The schema that an event carries, read once for all events that carry the same.
    fn learn(&mut self, extended: &[u8]) -> Option<&Schema> {
        if extended.is_empty() {
            return None;
        }
        let bytes = trace_logging::schema_bytes(extended)?;
        let number = match self.numbers.get(bytes) {
            Some(number) => *number,
            None => {
                if self.schemas.len() >= MOST_KNOWN {
                    *self = Known::default();
                }
                self.schemas.push(trace_logging::schema(extended));
                self.numbers.insert(bytes.into(), self.schemas.len() - 1);
                self.schemas.len() - 1
            }
        };
        self.schemas.get(number)?.as_ref()
    }
}

/// The kernel logs these without process and thread in their headers.
const WITHOUT_PROCESS: [HookId; 3] = [SAMPLED_PROFILE, CSWITCH, HARD_FAULT];

/// True for traces with such events.
pub fn has_owners_by_payload(count: impl Fn(HookId) -> u64) -> bool {
    WITHOUT_PROCESS.iter().any(|hook| count(*hook) > 0)
}

/// Whose an event is by its payload, where the header names no process.
fn owner(record: &Record<'_>) -> Option<Owner> {
    let is_asked =
        record.process_id.is_none() && hook_of(record.id).is_some_and(|hook| WITHOUT_PROCESS.contains(&hook));
    if !is_asked {
        return None;
    }
    match decode(record) {
        event::Decoded::Event { event, .. } => owner_by_payload(&event),
        _ => None,
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

fn guid_text(id: RecordId) -> Cow<'static, str> {
    guid(id).map_or(Cow::Borrowed("unknown"), |guid| guid.to_string().into())
}

fn row_id(id: RecordId) -> RowId {
    match id {
        RecordId::Kernel(hook) => RowId::Hook(hook.0),
        RecordId::Manifest { id, .. } => RowId::Number(id),
        RecordId::Classic { .. } | RecordId::Message { .. } | RecordId::Opaque(_) => RowId::None,
    }
}

/// Task, and the opcode where there is one.
fn event_name(schema: &Schema, source: SchemaSource, id: RecordId, opcode: u8) -> Cow<'_, str> {
    let number = || match id {
        RecordId::Manifest { id, .. } => format!("EventID({id})"),
        _ => format!("Opcode({opcode})"),
    };
    let name = schema.name.as_deref().filter(|name| !name.is_empty());
    let name = name.map_or_else(|| number().into(), shortened);
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
        Some(own) => format!("{name}/{}", shortened(own)).into(),
        None if standard.is_empty() && source == SchemaSource::TraceLogging => {
            format!("{name}/Opcode({opcode})").into()
        }
        None if standard.is_empty() => name,
        None => format!("{name}/{standard}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_characters() {
        let long = "ä".repeat(600);
        assert_eq!(shortened(&long), format!("{}…", "ä".repeat(512)));
        assert_eq!([shortened(&long[..1024]), shortened("")], [&long[..1024], ""]);
        let schema =
            Schema { name: Some(long.as_str().into()), opcode: Some(long.as_str().into()), ..Schema::default() };
        let name = event_name(&schema, SchemaSource::Merged, RecordId::Manifest { provider: Uuid::nil(), id: 3 }, 1);
        assert_eq!(name.matches('…').count(), 2);
    }

    #[test]
    fn only_trace_logging_names_opcodes_by_their_number() {
        let schema = Schema { name: Some("T".into()), ..Schema::default() };
        let name =
            |source, opcode| event_name(&schema, source, RecordId::Manifest { provider: Uuid::nil(), id: 3 }, opcode);
        assert_eq!(
            [0, 1, 240, 77].map(|opcode| name(SchemaSource::Merged, opcode)),
            ["T", "T/Start", "T/Receive", "T"]
        );
        assert_eq!(name(SchemaSource::TraceLogging, 77), "T/Opcode(77)");
    }
}
