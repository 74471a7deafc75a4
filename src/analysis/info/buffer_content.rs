//! What fills a session's buffers: groups of kernel events and providers by their bytes (`pfnset info`).

use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::etl::record_id::RecordId;
use crate::event::event_names;
use crate::load::event_kind_counts::KindCount;
use crate::load::survey::Survey;
use std::collections::BTreeMap;

/// How much of the buffers a group of events or a provider takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BufferContent {
    /// Group of kernel events, or name or GUID of a provider.
    pub name: String,
    /// Records.
    pub events: u64,
    /// Their bytes with headers.
    pub bytes: u64,
}

/// What fills the buffers, most bytes first; stacks that events of providers carry are a part of their bytes.
pub(crate) fn content(survey: &Survey) -> Vec<BufferContent> {
    let mut groups: BTreeMap<String, BufferContent> = BTreeMap::new();
    for kind in &survey.kinds {
        let name = group_of(kind);
        let group = groups.entry(name.clone()).or_insert(BufferContent { name, events: 0, bytes: 0 });
        group.events += kind.count;
        group.bytes += kind.bytes;
    }
    let mut list: Vec<BufferContent> = groups.into_values().collect();
    list.sort_by_key(|content| std::cmp::Reverse(content.bytes));
    list
}

fn group_of(kind: &KindCount) -> String {
    let known = || event_names::name(kind.id).map(|known| known.group().to_owned());
    let provider = |guid: uuid::Uuid| {
        let own = kind.own_provider.clone();
        own.or_else(|| event_names::provider_name(guid).map(str::to_owned))
            .or_else(known)
            .unwrap_or_else(|| guid.to_string())
    };
    match kind.id {
        RecordId::Kernel(_) => known().unwrap_or_else(|| "kernel events without a public name".into()),
        RecordId::Classic { class, .. } => provider(class),
        RecordId::Manifest { provider: guid, .. } | RecordId::Message { guid, .. } => provider(guid),
        RecordId::Opaque(_) => "records without a public layout".into(),
    }
}

/// The largest of `content` as a table, with the rest, and stacks in all.
pub(crate) fn content_table(content: &[BufferContent], stack_bytes: u64) -> Table {
    const SHOWN: usize = 10;
    let all: u64 = content.iter().map(|content| content.bytes).sum();
    let line = |events: Value, bytes: u64, name: Value| {
        Line::new([name, events, Value::Bytes(bytes), Value::share(bytes, all)])
    };
    let (first, rest) = content.split_at(content.len().min(SHOWN));
    let mut lines: Vec<Line> =
        first.iter().map(|c| line(Value::count(c.events), c.bytes, Value::text(&c.name))).collect();
    if !rest.is_empty() {
        let events = rest.iter().map(|content| content.events).sum();
        let bytes = rest.iter().map(|content| content.bytes).sum();
        lines.push(line(Value::count(events), bytes, Value::More(rest.len() as u64, "more")));
    }
    if stack_bytes > 0 {
        lines.push(Line { ruled: true, ..line(Value::Nothing, stack_bytes, Value::text("Of it stacks")) });
    }
    let record = |c: &BufferContent| vec![Value::text(&c.name), Value::count(c.events), Value::Bytes(c.bytes)];
    Table {
        title: Some("What fills the buffers".into()),
        fields: ["name", "events", "bytes"].map(Field::new).to_vec(),
        records: content.iter().map(record).collect(),
        columns: vec![
            Column::text("Events of").fit(Fit::Wraps),
            Column::number("Events"),
            Column::number("Bytes"),
            Column::number("Share"),
        ],
        lines,
    }
}
