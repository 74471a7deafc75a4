//! Every form of what the commands say of any file: no character comes through that would steer a terminal, turn a line around or
//! hide in it, and what programs read is well-formed.
//!
//! Input: the bytes of the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::analysis::cpu::CpuUse;
use pfnset::analysis::cpu::query::{CpuOrder, CpuQuery};
use pfnset::analysis::events::{EventFilter, EventStatistics};
use pfnset::analysis::info::TraceInfo;
use pfnset::analysis::memory::MemorySet;
use pfnset::analysis::memory::query::MemoryQuery;
use pfnset::analysis::pages::{PageListing, PageQuery};
use pfnset::analysis::processes::{ProcessQuery, ProcessSet};
use pfnset::analysis::refset;
use pfnset::analysis::refset::ReferenceSet;
use pfnset::analysis::resident::ResidentSet;
use pfnset::analysis::resident::query::ResidentQuery;
use pfnset::answer;
use pfnset::answer::cpu::{CpuDisplay, CpuView};
use pfnset::answer::numbers::{TimeUnit, Unit};
use pfnset::answer::refset::RefsetView;
use pfnset::forms::csv::Cells;
use pfnset::forms::pages::{PageForm, PageText};
use pfnset::trace::Trace;
use pfnset::unstable_api::{EventForm, EventListing, EventRowQuery, RowWriter, answers_of_code, event_heading};
use pfnset::unstable_api::{read_budgets, suggest, write_budgets};
use std::path::Path;

#[path = "../every_form.rs"]
mod every_form;
#[path = "../scratch_file.rs"]
mod scratch_file;

use every_form::{NAME, harmless, written};

fuzz_target!(|data: &[u8]| scratch_file::open(data).iter().for_each(say));

fn say(trace: &Trace) {
    let found = TraceInfo::answer(trace);
    written(answer::info::answer(&found, Path::new(NAME), &[]));
    written(answer::events::answer(&EventStatistics::answer(trace, &EventFilter::default()), None));
    if let Ok(set) = ProcessSet::answer(trace, &ProcessQuery::default()) {
        written(answer::processes::answer(&set, Default::default(), Unit::Auto));
    }
    for group_by in [None, Some("process,file,detail"), Some("service,folder,rule")] {
        let mut query = ResidentQuery::default();
        group_by.into_iter().for_each(|names| {
            query.group_by = pfnset::dimensions::Dimension::parse_list(names).expect("dimensions");
        });
        let Ok(set) = ResidentSet::answer(trace, &query) else { break };
        written(answer::resident::answer(&set, &Default::default(), Unit::Auto, group_by.is_none()));
    }
    if let Ok(set) = ReferenceSet::answer(trace, &refset::query::Query::default()) {
        written(answer::refset::answer(&set, Unit::Auto, RefsetView::Summary));
    }
    if let Ok(set) = MemorySet::answer(trace, &MemoryQuery::default()) {
        written(answer::memory::answer(&set, Default::default(), Unit::Auto));
    }
    let group_by = pfnset::dimensions::Dimension::parse_list("process,thread").expect("dimensions");
    let query = CpuQuery { group_by, ..CpuQuery::default() };
    if let Ok(set) = CpuUse::answer(trace, &query) {
        for view in [CpuView::Rows, CpuView::Wakers] {
            let display = CpuDisplay {
                view,
                order: CpuOrder::default(),
                top: None,
                unit: TimeUnit::default(),
                is_grouped: false,
            };
            written(answer::cpu::answer(&set, display));
        }
    }
    answers_of_code(trace, &mut written);
    let query = PageQuery::default();
    if let Ok(listing) = PageListing::answer(trace, &query) {
        pages(trace, &listing);
    }
    if let Ok(listing) = EventListing::answer(trace, &EventRowQuery::default()) {
        events(&listing);
    }
    if let Ok(suggestions) = suggest(trace) {
        let mut out = Vec::new();
        write_budgets(&mut out, Path::new(NAME), &suggestions).expect("room in memory");
        let text = harmless(out);
        read_budgets(Path::new("budgets.toml"), &text).expect("what was suggested can be read");
    }
}

fn pages(trace: &Trace, listing: &PageListing<'_>) {
    for form in [PageForm::Table, PageForm::Csv(Cells::Plain), PageForm::Jsonl, PageForm::Xperf] {
        let mut out = PageText::heading(form, (trace.etl(), [0, 0]), Path::new(NAME), 100);
        for &index in &listing.snapshots {
            let Some(pages) = listing.snapshot(index) else { continue };
            let text = PageText::new(form, trace.etl(), &pages.names(), index, 100);
            let add = &mut |bytes: &[u8]| {
                out.extend_from_slice(bytes);
                Ok(())
            };
            pages.stream(|out, row| text.row(out, row), add).expect("room in memory");
        }
        harmless(out);
    }
}

/// The rows of all events, with fields by every kind of schema that the file holds.
fn events(listing: &EventListing<'_>) {
    for form in [EventForm::Table, EventForm::Csv, EventForm::Jsonl] {
        let mut out = event_heading(form, 80);
        let add = &mut |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        };
        listing.stream(|| RowWriter::new(form, 100), RowWriter::row, RowWriter::stack, add).expect("room in memory");
        harmless(out);
    }
}
