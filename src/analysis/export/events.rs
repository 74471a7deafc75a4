//! The table `events`: a row for each record that is asked for, in the order of time, with its fields as texts by name.
//!
//! Records are read in parallel, a slice of the trace at a time. Each row is one text until its turn comes, so that only the rows of
//! a batch and of two slices are in memory.

use crate::analysis::event_rows::{EventListing, EventRowQuery};
use crate::analysis::events::EventFilter;
use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::analysis::stacks::EventStacks;
use crate::error::Error;
use crate::event::fields::value_json;
use crate::load::event_row::{EventRow, RowId};
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::trust::warning::{Warning, Warnings};
use std::io;

/// Most manifests that are told of.
const MOST_TOLD: usize = 20;

/// Writes the records with these names, with the numbers of their stacks where these are written too, and returns what casts doubt on
/// them.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn write(
    trace: &Trace,
    (names, stacks): (&Patterns, Option<&EventStacks>),
    sink: &dyn Sink,
) -> Result<Warnings, Error> {
    let filter = EventFilter { name: names.clone(), ..EventFilter::default() };
    let query = EventRowQuery { filter, ..EventRowQuery::default() };
    let listing = EventListing::answer(trace, &query)?.numbered(stacks);
    let mut rows = ColumnBatches::new(Table::Events, sink);
    let mut failed = None;
    // Its only errors are those of this closure.
    let _ = listing.stream(|| (), |(), out, row| pack(out, row), |(), _, _| {}, &mut |packed| {
        let added = std::str::from_utf8(packed).map_or(Ok(()), |packed| unpack(&mut rows, packed));
        added.map_err(|error| {
            failed = Some(error);
            io::Error::other("a table cannot be written")
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    rows.finish()?;
    let told = listing.unreadable().iter().take(MOST_TOLD);
    Ok(told.map(|text| Warning::note("event_rows", "unreadable_manifest", text.clone())).collect())
}

/// Adds a text with its length before it; of none, nothing but the mark.
fn text(out: &mut Vec<u8>, text: Option<&str>) {
    if let Some(text) = text {
        out.extend_from_slice(text.len().to_string().as_bytes());
        out.push(b':');
        out.extend_from_slice(text.as_bytes());
    } else {
        out.push(b':');
    }
}

fn number(out: &mut Vec<u8>, number: Option<impl ToString>) {
    text(out, number.map(|number| number.to_string()).as_deref());
}

/// A row as one text.
fn pack(out: &mut Vec<u8>, row: &EventRow<'_>) {
    number(out, Some(row.time.seconds()));
    number(out, row.processor);
    text(out, row.process.as_deref());
    number(out, row.instance);
    number(out, row.process_id);
    number(out, row.thread_id);
    text(out, Some(&row.provider));
    number(out, row.provider_guid);
    text(out, Some(&row.event));
    match row.id {
        RowId::Number(id) => number(out, Some(id)),
        RowId::Hook(hook) => text(out, Some(&format!("0x{hook:04x}"))),
        RowId::None => text(out, None),
    }
    number(out, Some(row.version));
    number(out, row.opcode);
    text(out, row.schema.map(|source| source.name()));
    text(out, (!row.missing.is_empty()).then(|| row.missing.join("+")).as_deref());
    number(out, row.stack);
    number(out, row.fields.as_ref().map(Vec::len));
    for (name, value) in row.fields.iter().flatten() {
        text(out, Some(name));
        text(out, value_json::text(value).as_deref());
    }
}

/// The parts of such a text.
struct Packed<'p>(&'p str);

impl<'p> Packed<'p> {
    fn text(&mut self) -> Option<&'p str> {
        let (length, rest) = self.0.split_once(':')?;
        self.0 = rest;
        let (text, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.0 = rest;
        Some(text)
    }

    fn text_cell(&mut self) -> Cell<'p> {
        Cell::maybe(self.text(), Cell::Text)
    }

    fn integer(&mut self) -> Cell<'p> {
        Cell::maybe(self.text().and_then(|number| number.parse().ok()), Cell::Integer)
    }

    fn real(&mut self) -> Cell<'p> {
        Cell::maybe(self.text().and_then(|number| number.parse().ok()), Cell::Real)
    }
}

/// Adds a row to the table.
fn unpack(rows: &mut ColumnBatches<'_>, packed: &str) -> Result<(), Error> {
    let mut packed = Packed(packed);
    let (time, processor, process) = (packed.real(), packed.integer(), packed.text_cell());
    let (instance, process_id, thread) = (packed.integer(), packed.integer(), packed.integer());
    let (provider, guid, event) = (packed.text_cell(), packed.text_cell(), packed.text_cell());
    let (id, version, opcode, schema) = (packed.text_cell(), packed.integer(), packed.integer(), packed.text_cell());
    let (missing, stack) = (packed.text_cell(), packed.integer());
    let count: Option<usize> = packed.text().and_then(|count| count.parse().ok());
    let fields = count.map(|count| {
        let field = |_| (packed.text().unwrap_or_default(), packed.text());
        (0..count).map(field).collect::<Vec<_>>()
    });
    let fields = Cell::maybe(fields.as_deref(), Cell::Map);
    rows.push([
        time, processor, process, instance, process_id, thread, provider, guid, event, id, version, opcode, schema,
        fields, missing, stack,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let mut out = Vec::new();
        text(&mut out, Some("a:1:\u{e9}"));
        text(&mut out, None);
        text(&mut out, Some(""));
        number(&mut out, Some(-7));
        number(&mut out, Some(0.1 + 0.2));
        let mut packed = Packed(std::str::from_utf8(&out).unwrap());
        assert_eq!((packed.text(), packed.text(), packed.text()), (Some("a:1:\u{e9}"), None, Some("")));
        assert_eq!((packed.integer(), packed.real()), (Cell::Integer(-7), Cell::Real(0.1 + 0.2)));
        assert_eq!((packed.text(), packed.0), (None, ""));
    }
}
