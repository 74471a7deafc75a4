//! Advice on the session (`pfnset info`): what fills its buffers, which events they cannot hold, how exact its times are.
//!
//! An event must fit into one buffer, and ETW logs none above 64 KiB: larger ones are refused where they are written, and the
//! session need not count them as lost.

use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::etl::EtlFile;
use crate::etl::clock::ClockKind;
use crate::etl::logfile::LARGEST_EVENT;
use crate::etl::record::RecordId;
use crate::event::catalog;
use crate::load::kinds::KindCount;
use crate::load::survey::Survey;
use crate::units::{count, counted};
use std::collections::BTreeMap;

/// From this size on a buffer holds each event.
const ROOMY_BUFFER: u32 = 128 << 10;

/// What a group of events or a provider takes of the buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// Group of kernel events, or name or GUID of a provider.
    pub name: String,
    /// Records.
    pub events: u64,
    /// Their bytes with headers.
    pub bytes: u64,
}

/// What fills the buffers, most bytes first; stacks that events of providers carry are a part of their bytes.
pub(crate) fn content(survey: &Survey) -> Vec<Content> {
    let mut groups: BTreeMap<String, Content> = BTreeMap::new();
    for kind in &survey.kinds {
        let name = group_of(kind);
        let group = groups.entry(name.clone()).or_insert(Content { name, events: 0, bytes: 0 });
        group.events += kind.count;
        group.bytes += kind.bytes;
    }
    let mut list: Vec<Content> = groups.into_values().collect();
    list.sort_by_key(|content| std::cmp::Reverse(content.bytes));
    list
}

fn group_of(kind: &KindCount) -> String {
    let known = || catalog::name(kind.id).map(|known| known.group().to_owned());
    let provider = |guid: uuid::Uuid| {
        let own = kind.own_provider.clone();
        own.or_else(|| catalog::provider_name(guid).map(str::to_owned))
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
pub(crate) fn content_table(content: &[Content], stack_bytes: u64) -> Table {
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
    let record = |c: &Content| vec![Value::text(&c.name), Value::count(c.events), Value::Bytes(c.bytes)];
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

/// Lines on what this session cannot hold or tell.
pub(crate) fn advice(etl: &EtlFile, survey: &Survey) -> Vec<String> {
    [size_advice(etl, survey), clock_advice(etl), backwards(etl, survey)].into_iter().flatten().collect()
}

fn size_advice(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let buffer = etl.header.buffer_size_bytes;
    let room = etl.header.largest_record();
    let (kib, largest) = (buffer / 1024, survey.largest_record);
    let of_room =
        format!("{} of the {} bytes that fit into a buffer of {kib} KiB", count(largest.into()), count(room.into()));
    match () {
        () if room == 0 => None,
        // Nine tenths: an event with another name, path or list would have been too large.
        () if u64::from(largest) * 10 >= u64::from(room) * 9 => Some(match room {
            LARGEST_EVENT => format!(
                "the largest event takes {} of the {} bytes that an event can have: larger ones were not recorded, \
                 perhaps without being counted as lost",
                count(largest.into()),
                count(room.into())
            ),
            _ => format!(
                "the largest event takes {of_room}: larger ones were not recorded, perhaps without being counted as lost; \
                 record with buffers of 128 KiB or more"
            ),
        }),
        () if buffer < ROOMY_BUFFER => Some(format!(
            "buffers of {kib} KiB hold no event above {} bytes: long lists (working sets of many processes, deep stacks) can be \
             missing, perhaps without being counted as lost; from 128 KiB on each event fits. The largest event here takes {} bytes",
            count(room.into()),
            count(largest.into())
        )),
        () => None,
    }
}

fn clock_advice(etl: &EtlFile) -> Option<String> {
    let step_ms = f64::from(etl.header.timer_resolution_100ns) / 10_000.0;
    match etl.clock.kind {
        ClockKind::Qpc => None,
        ClockKind::SystemTime => {
            let step = if step_ms > 0.0 { format!("{step_ms:.1} ms by the log-file header") } else { "assumed: 15.6 ms".into() };
            Some(format!(
                "the clock is the system time, which goes on in steps of the timer ({step}): events of one step have the same \
                 time, and their order on different processors is unknown"
            ))
        }
        ClockKind::CpuCycle => Some(
            "the clock counts processor cycles: their rate is known in whole MHz, so times can be off by up to a thousandth, and \
             the counters of processors can differ"
                .into(),
        ),
    }
}

/// Where time runs backwards: the first buffers whose records are not in the order of their times.
fn backwards(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let all = survey.spans.iter().zip(&etl.buffers).enumerate();
    let places: Vec<String> = all
        .filter_map(|(index, (span, buffer))| {
            let span = span.filter(|span| !span.sorted)?;
            let (first, last) = (etl.clock.nanos(span.first).seconds(), etl.clock.nanos(span.last).seconds());
            let processor = buffer.processor;
            Some(format!("buffer {index} at {} (processor {processor}, {first:.6} s to {last:.6} s)", buffer.offset))
        })
        .collect();
    let more = if places.len() > 3 { format!(" and {} more", count(places.len() as u64 - 3)) } else { String::new() };
    let shown = places.get(..3).unwrap_or(&places).join(", ");
    (!places.is_empty())
        .then(|| format!("time runs backwards in {}: {shown}{more}", counted(places.len() as u64, "buffer", "buffers")))
}
