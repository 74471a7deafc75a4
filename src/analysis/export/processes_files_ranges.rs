//! Tables from the trace's model: processes, files, ranges of address spaces.

use crate::analysis::export::chosen_snapshots::Chosen;
use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::error::Error;
use crate::event::Phase;
use crate::event::file_name_and_view::ViewKind;
use crate::load::space_events::SpaceReader;
use crate::model::address_space::{AddressSpace, Source};
use crate::model::address_space_at::space_at;
use crate::model::drive_paths::{DrivePaths, extension, folder};
use crate::model::file_names::{FileNames, FileNamesAt};
use crate::model::process::Instance;
use crate::model::services::Services;
use crate::trace::Trace;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Address spaces that are in memory at a time.
const SPACES: usize = 64;

fn text(text: &str) -> Cell<'_> {
    if text.is_empty() { Cell::Null } else { Cell::Text(text) }
}

/// Process instances.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn processes(trace: &Trace, sink: &dyn Sink) -> Result<(), Error> {
    let all = trace.processes();
    let services = Services::new(trace.system(), all);
    let mut rows = ColumnBatches::new(Table::Processes, sink);
    for (index, process) in all.instances.iter().enumerate() {
        let label = process.label();
        let parent = all.parent(process).map(Instance::label);
        let services = services.of(index).join(", ");
        let seconds = |time| Cell::Real(trace.time(time).seconds());
        rows.push([
            Cell::count(index as u64),
            Cell::Text(&label),
            text(&process.name),
            Cell::Integer(process.process_id.into()),
            Cell::maybe(parent.as_deref(), Cell::Text),
            Cell::maybe(process.parent_id, |id| Cell::Integer(id.into())),
            Cell::maybe(process.session_id, |id| Cell::Integer(id.into())),
            text(&process.command_line),
            text(&services),
            Cell::maybe(process.start_time(), seconds),
            Cell::maybe(process.end_time(), seconds),
            Cell::maybe(process.exit_status, |status| Cell::Integer(status.into())),
        ])?;
    }
    rows.finish()
}

/// Names of files, each once.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn files(trace: &Trace, sink: &dyn Sink) -> Result<(), Error> {
    let names = FileNames::new(&trace.files().names);
    let mut keys: BTreeMap<u32, u64> = BTreeMap::new();
    names.numbers_by_key().for_each(|name| *keys.entry(name).or_default() += 1);
    let drive_paths = DrivePaths::new(&trace.system().volumes);
    let mut rows = ColumnBatches::new(Table::Files, sink);
    for (number, file) in (0..).zip(&names.names) {
        let end = extension(file);
        rows.push([
            Cell::Text(file),
            Cell::Text(&drive_paths.shown(file)),
            Cell::Text(folder(file)),
            text(&end),
            Cell::count(keys.get(&number).copied().unwrap_or(0)),
        ])?;
    }
    rows.finish()
}

/// A range of an address space.
struct Range {
    kind: &'static str,
    base: u64,
    end: u64,
    source: Source,
    file_key: Option<u64>,
    heap: Option<u64>,
    thread: Option<u32>,
}

/// All ranges of a space.
fn ranges_of(space: &AddressSpace) -> Vec<Range> {
    let of = |kind, base, end, source| Range { kind, base, end, source, file_key: None, heap: None, thread: None };
    let regions = space.regions.iter().map(|(base, end, source)| of("region", base, end, *source));
    let views = space.views.iter().map(|(base, end, view)| {
        let kind = match view.kind {
            ViewKind::DataFile => "file_view",
            ViewKind::Image | ViewKind::ImageOtherProtection => "image_view",
            ViewKind::PagefileBacked => "pagefile_view",
        };
        let file_key = (view.kind != ViewKind::PagefileBacked).then_some(view.file_key);
        Range { file_key, ..of(kind, base, end, view.source) }
    });
    let heaps = space.heaps.iter();
    let heaps = heaps.map(|(base, end, span)| Range { heap: Some(span.heap), ..of("heap", base, end, span.source) });
    let stacks = space.stacks.iter().map(|(&thread, stack)| {
        let (base, end) = space.stack_range(stack);
        Range { thread: Some(thread), ..of("stack", base, end, stack.source) }
    });
    regions.chain(views).chain(heaps).chain(stacks).collect()
}

/// Regions, views, heaps and stacks of all processes at a snapshot.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn ranges(trace: &Trace, chosen: Chosen<'_>, rows: &mut ColumnBatches<'_>) -> Result<(), Error> {
    let moment = chosen.snapshot.first;
    let files = FileNamesAt::new(&trace.files().names, moment);
    let time = Cell::Real(trace.time(moment.time).seconds());
    let alive = |(_, process): &(usize, &Instance)| process.is_alive(moment);
    let processes: Vec<(usize, &Instance)> = trace.processes().instances.iter().enumerate().filter(alive).collect();
    let (events_by_id, rundowns) = (&trace.spaces().by_process_id, trace.rundowns());
    let of_process = |reader: &mut SpaceReader, process: &Instance| {
        let events = events_by_id.get(&process.process_id)?;
        Some(ranges_of(&space_at(events.read(trace.etl(), reader), process, moment, rundowns).space))
    };
    for some in processes.chunks(SPACES) {
        let spaces = some.par_iter().map_init(SpaceReader::default, |reader, (_, process)| of_process(reader, process));
        let spaces: Vec<Option<Vec<Range>>> = spaces.collect();
        for ((instance, process), ranges) in some.iter().zip(spaces) {
            let label = process.label();
            for range in ranges.unwrap_or_default() {
                let name = range.file_key.and_then(|key| files.index(key)).and_then(|at| files.names.get(at as usize));
                rows.push([
                    Cell::count(chosen.index as u64),
                    Cell::Flag(chosen.is_last),
                    time,
                    Cell::Text(&label),
                    Cell::count(*instance as u64),
                    Cell::Text(range.kind),
                    Cell::Address(range.base),
                    Cell::count(range.end.saturating_sub(range.base)),
                    Cell::Text(if range.source.phase == Phase::Start { "event" } else { "rundown" }),
                    Cell::Real(trace.time(range.source.moment.time).seconds()),
                    Cell::maybe(name, |name| Cell::Text(name)),
                    Cell::maybe(range.heap, Cell::Address),
                    Cell::maybe(range.thread, |id| Cell::Integer(id.into())),
                ])?;
            }
        }
    }
    Ok(())
}
