//! Schemas of a trace's events, collected in one walk: they can lie behind the events that need them, and in another file of the
//! recording.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::extended_items;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::RecordId;
use crate::event::event_names;
use crate::event::fields::event_info::{EventInfo, Subject};
use crate::event::fields::manifest::{self, Chunk, MANIFEST_ID, MANIFEST_OPCODE, MANIFEST_TASK, Manifest, OWN_SCHEMA};
use crate::event::fields::schema::{Maps, Schema};
use crate::load::timed_records::for_each_moment;
use crate::moment::{At, Moment};
use foldhash::HashMap as FastMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// Longest manifest that is put together, bytes; of an event source it has some ten thousand.
const LONGEST_MANIFEST: usize = 1 << 24;

/// A manifest that the user has.
#[derive(Debug)]
pub struct UserManifest {
    /// Its file.
    pub name: String,
    providers: Vec<Manifest>,
    /// True once an event was read by it.
    used: AtomicBool,
}

impl UserManifest {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// The reason why it is no manifest.
    pub fn read(name: String, bytes: &[u8]) -> Result<UserManifest, String> {
        let providers = Manifest::read(&manifest::text_of(bytes))?;
        match providers.iter().any(|provider| !provider.schemas.is_empty()) {
            true => Ok(UserManifest { name, providers, used: AtomicBool::new(false) }),
            false => Err("it describes no event".to_owned()),
        }
    }

    /// True once an event was read by it.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

/// Schemas of the events of a trace.
#[derive(Debug, Default)]
pub struct Schemas<'m> {
    merged: FastMap<Subject, Merged>,
    /// Manifests of each provider with the process that wrote them, in record order.
    manifests: FastMap<Uuid, Vec<(Option<u32>, Manifest)>>,
    /// Those of the user, which are asked last.
    of_user: FastMap<Uuid, Vec<(&'m UserManifest, &'m Manifest)>>,
    /// Names of providers.
    pub providers: FastMap<Uuid, Arc<str>>,
    /// Why manifests could not be read.
    pub unreadable: Vec<String>,
}

/// A schema that merging added, and the maps that were added for its provider.
#[derive(Debug, Clone)]
struct Merged {
    schema: Arc<Schema>,
    maps: Option<Arc<Maps>>,
}

/// A schema that fits an event.
#[derive(Debug, Clone, Copy)]
pub struct Fitting<'s> {
    /// Where it comes from.
    pub source: SchemaSource,
    /// The schema.
    pub schema: &'s Schema,
    /// Names of its numbers: those that came with it.
    pub maps: Option<&'s Maps>,
}

/// Where a schema comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaSource {
    /// The program's own decoder of kernel events.
    Kernel,
    /// The event.
    TraceLogging,
    /// Event information that merging added.
    Merged,
    /// A manifest, in the trace or of the user.
    Manifest,
}

impl SchemaSource {
    /// Its name in rows.
    pub const fn name(self) -> &'static str {
        match self {
            SchemaSource::Kernel => "kernel",
            SchemaSource::TraceLogging => "tracelogging",
            SchemaSource::Merged => "merged",
            SchemaSource::Manifest => "manifest",
        }
    }
}

/// True for the event that holds a part of a manifest.
pub fn holds_manifest(raw: &RawRecord<'_>, record: &Record<'_>) -> bool {
    let descriptor = raw.descriptor();
    matches!(record.id, RecordId::Manifest { id: MANIFEST_ID, .. })
        && descriptor.opcode == Some(MANIFEST_OPCODE)
        && descriptor.task == Some(MANIFEST_TASK)
}

/// A part of a manifest that was found.
struct Part {
    provider: Uuid,
    process_id: Option<u32>,
    thread_id: Option<u32>,
    total: u16,
    number: u16,
    xml: Box<[u8]>,
}

#[derive(Default)]
struct Found {
    infos: Vec<At<EventInfo>>,
    parts: Vec<At<Part>>,
    names: FastMap<Uuid, (Moment, Arc<str>)>,
}

impl Found {
    fn record(&mut self, raw: RawRecord<'_>, moment: Moment) {
        let Ok(record) = raw.read() else { return };
        match record.id {
            RecordId::Classic { class: event_names::EVENT_METADATA, .. } => {
                let info = EventInfo::read(record.id, record.payload);
                self.infos.extend(info.map(|value| At { moment, value }));
            }
            RecordId::Manifest { provider, .. } => {
                if holds_manifest(&raw, &record)
                    && let Some(Chunk { total, number, xml, .. }) = Chunk::read(record.payload)
                {
                    let (process_id, thread_id, xml) = (record.process_id, record.thread_id, xml.into());
                    self.parts.push(At { moment, value: Part { provider, process_id, thread_id, total, number, xml } });
                }
                if !record.extended.is_empty()
                    && !self.names.contains_key(&provider)
                    && let Some(name) = extended_items::provider_name(record.extended)
                {
                    self.names.insert(provider, (moment, name.text().into()));
                }
            }
            _ => {}
        }
    }
}

impl<'m> Schemas<'m> {
    /// Walks over all records. `of_user`: manifests for events of which the trace says nothing.
    pub fn new(etl: &EtlFile, of_user: &'m [UserManifest]) -> Schemas<'m> {
        let rank = ranks(&etl.buffers);
        let parts = etl.fold_buffers(Found::default, |found, area| {
            for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
                if hook.is_none() {
                    found.record(raw, moment);
                }
            });
        });
        let mut all = Found::default();
        for part in parts {
            all.infos.extend(part.infos);
            all.parts.extend(part.parts);
            for (provider, (moment, name)) in part.names {
                let known = all.names.entry(provider).or_insert_with(|| (moment, name.clone()));
                if moment < known.0 {
                    *known = (moment, name);
                }
            }
        }
        all.infos.sort_by_key(|info| info.moment);
        all.parts.sort_by_key(|part| part.moment);
        let mut schemas = Schemas::default();
        schemas.add_infos(all.infos);
        schemas.add_manifests(all.parts);
        for (provider, (_, name)) in all.names {
            schemas.providers.entry(provider).or_insert(name);
        }
        for file in of_user {
            for manifest in &file.providers {
                schemas.add_name(manifest);
                schemas.of_user.entry(manifest.provider).or_default().push((file, manifest));
            }
        }
        schemas
    }

    /// Takes the provider's name of a manifest, unless it has one.
    fn add_name(&mut self, manifest: &Manifest) {
        if let Some(name) = &manifest.name {
            self.providers.entry(manifest.provider).or_insert_with(|| name.clone());
        }
    }

    fn add_infos(&mut self, infos: Vec<At<EventInfo>>) {
        let (mut maps, mut found): (FastMap<Uuid, Maps>, Vec<_>) = Default::default();
        for At { value, .. } in infos {
            match value {
                EventInfo::Schema(subjects, schema, provider) => found.push((subjects, schema, provider)),
                EventInfo::Map(provider, name, map) => _ = maps.entry(provider).or_default().entry(name).or_insert(map),
            }
        }
        let maps: FastMap<Uuid, Arc<Maps>> = maps.into_iter().map(|(of, maps)| (of, Arc::new(maps))).collect();
        for (subjects, schema, provider) in found {
            let merged = Merged { schema: Arc::new(schema), maps: maps.get(&provider).cloned() };
            for subject in subjects {
                if let (Subject::Manifest(guid, ..), Some(name)) = (subject, &merged.schema.provider) {
                    self.providers.entry(guid).or_insert_with(|| name.clone());
                }
                self.merged.entry(subject).or_insert_with(|| merged.clone());
            }
        }
    }

    /// Parts of one provider, process and thread follow each other; the first begins anew, and a gap ends what was begun.
    fn add_manifests(&mut self, parts: Vec<At<Part>>) {
        // By provider, process and thread: the number of the next part, and the text so far.
        type Begun = (u16, Vec<u8>);
        let mut open: FastMap<(Uuid, Option<u32>, Option<u32>), Begun> = FastMap::default();
        for At { value: part, .. } in parts {
            let key = (part.provider, part.process_id, part.thread_id);
            let before = open.remove(&key).filter(|(next, _)| part.number == *next && part.number > 0);
            let mut xml = match (part.number, before) {
                (0, _) => Vec::new(),
                (_, Some((_, xml))) => xml,
                (_, None) => continue,
            };
            if xml.len() + part.xml.len() > LONGEST_MANIFEST {
                continue;
            }
            xml.extend_from_slice(&part.xml);
            match part.number.checked_add(1) {
                Some(next) if next < part.total => _ = open.insert(key, (next, xml)),
                _ => self.add_manifest(part.provider, part.process_id, &xml),
            }
        }
    }

    fn add_manifest(&mut self, provider: Uuid, process_id: Option<u32>, xml: &[u8]) {
        let xml = String::from_utf8_lossy(xml);
        let text = xml.trim_start_matches('\u{feff}').trim_end_matches('\0');
        match Manifest::read(text) {
            Ok(manifests) => {
                for manifest in manifests {
                    self.add_name(&manifest);
                    self.manifests.entry(manifest.provider).or_default().push((process_id, manifest));
                }
            }
            Err(reason) => {
                self.unreadable.push(format!("the manifest of provider {provider} cannot be read: {reason}"))
            }
        }
    }

    /// Schema of an event by what the trace says of it elsewhere; not that of the event itself.
    pub fn of(&self, raw: &RawRecord<'_>, record: &Record<'_>) -> Option<Fitting<'_>> {
        let subject = match record.id {
            RecordId::Manifest { provider, id } => Subject::Manifest(provider, id, record.version),
            RecordId::Classic { class, opcode } => Subject::Classic(class, opcode, record.version),
            _ => return None,
        };
        if let Some(Merged { schema, maps }) = self.merged.get(&subject) {
            return Some(Fitting { source: SchemaSource::Merged, schema, maps: maps.as_deref() });
        }
        let Subject::Manifest(provider, id, version) = subject else { return None };
        if holds_manifest(raw, record) && Chunk::read(record.payload).is_some() {
            return Some(Fitting { source: SchemaSource::Manifest, schema: &OWN_SCHEMA, maps: None });
        }
        let key = (id, version);
        let manifests = self.manifests.get(&provider).map_or(&[][..], Vec::as_slice);
        let has = |own: &&(Option<u32>, Manifest)| own.1.schemas.contains_key(&key);
        let own = manifests.iter().filter(has).find(|(process, _)| *process == record.process_id);
        let found = own.or_else(|| manifests.iter().find(has)).map(|(_, manifest)| manifest);
        let manifest = found.or_else(|| {
            let all = self.of_user.get(&provider)?;
            let (file, manifest) = all.iter().find(|(_, manifest)| manifest.schemas.contains_key(&key))?;
            // Most records only read it: a write would take the line of memory from the other threads.
            if !file.is_used() {
                file.used.store(true, Ordering::Relaxed);
            }
            Some(*manifest)
        })?;
        let schema = manifest.schemas.get(&key)?;
        Some(Fitting { source: SchemaSource::Manifest, schema, maps: Some(&manifest.maps) })
    }
}
