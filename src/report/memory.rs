//! `pfnset memory` in all forms. Wire format: docs/json.md, schema `pfnset.memory`.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::counters::{CounterSummary, MemorySample};
use crate::analysis::memory::query::MemoryDimension;
use crate::analysis::memory::tables::{NARROW, WIDE};
use crate::analysis::memory::timeline::MemoryTimeline;
use crate::analysis::memory::working_sets::MemoryTrack;
use crate::analysis::table::{Dimension as _, Table};
use crate::event::memory_counters::WorkingSetSizes;
use crate::moment::{At, Moment};
use crate::report::text::{self, Unit};
use crate::report::{Report, Style, table, to_json};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct MemoryReport<'a> {
    trace: &'a Path,
    set: &'a MemorySet,
    unit: Unit,
}

impl<'a> MemoryReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a MemorySet, unit: Unit) -> Self {
        MemoryReport { trace, set, unit: unit.for_largest(set.largest_bytes()) }
    }

    /// `13 samples from 0.000 s to 6.000 s; 22 processes; physical memory 16.00 GiB; sizes in MiB`.
    fn title(&self) -> String {
        let samples = match (self.set.samples.first(), self.set.samples.last()) {
            (Some(first), Some(last)) if first.time == last.time => {
                format!("1 sample at {:.3} s", first.time.seconds())
            }
            (Some(first), Some(last)) => format!(
                "{} from {:.3} s to {:.3} s",
                counted(self.set.samples.len() as u64, "sample", "samples"),
                first.time.seconds(),
                last.time.seconds()
            ),
            _ => "No samples of page lists".to_owned(),
        };
        let physical = match self.set.physical {
            Some((pages, _)) => format!("physical memory {}", text::bytes(pages.saturating_mul(4096))),
            None => "physical memory is unknown, and so is what is in use".to_owned(),
        };
        let processes = match self.set.processes.len() as u64 {
            0 => String::new(),
            processes => format!("; {}", counted(processes, "process", "processes")),
        };
        let what = match (&self.set.timeline, self.set.group_by) {
            (Some(MemoryTimeline::WorkingSets(_)), _) => "working sets",
            (None, None) if self.set.samples.len() > 1 => "repurposed in pages, sizes",
            _ => "sizes",
        };
        let unit = self.unit.title().trim_start_matches("Size/");
        format!("{samples}{processes}; {physical}; {what} in {unit}")
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", text::count(count), if count == 1 { one } else { many })
}

impl Report for MemoryReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.set.warnings
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        for line in text::wrap(&self.title(), style.width.into()) {
            text::heading(out, &line)?;
        }
        if self.set.group_by.is_some() || self.set.timeline.is_some() {
            writeln!(out)?;
            table::text(out, &self.set.table(), style, self.unit)?;
            return match self.set.smaller_tracks() {
                0 => Ok(()),
                more => writeln!(out, "{} smaller are not shown: --format csv has all", text::count(more as u64)),
            };
        }
        let curve = if style.width < 100 { NARROW } else { WIDE };
        let is_machine = |summary: &CounterSummary| summary.column.priority.is_none();
        let counters = Some(self.set.counter_table(curve, is_machine)).filter(|table| !table.lines.is_empty());
        let is_short = |sample: &MemorySample| sample.counters.commit.is_none();
        let short = !self.set.samples.is_empty() && self.set.samples.iter().all(is_short);
        for table in [counters, self.set.standby_table(curve)].into_iter().flatten() {
            writeln!(out)?;
            table::text(out, &table, style, self.unit)?;
        }
        if short {
            writeln!(out, "\nNot in records of this form: pools, MDL, system commit")?;
        }
        if self.set.nothing_repurposed() {
            writeln!(out, "\nNo page was repurposed from standby.")?;
        }
        for table in [self.set.largest_table(), self.set.growth_table()].into_iter().flatten() {
            writeln!(out)?;
            table::text(out, &table, style, self.unit)?;
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        to_json(&self.wire())
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        Ok(serde_json::to_writer_pretty(out, &self.wire())?)
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.set.table().titled(self.title())]
    }

    fn unit(&self) -> Unit {
        self.unit
    }
}

/// The document. Lists are written from the analysis, one sample after the other.
#[derive(Serialize)]
struct MemoryWire<'a> {
    schema: &'static str,
    version: u32,
    trace: String,
    warnings: &'a [String],
    physical_pages: Option<u64>,
    physical_source: Option<&'static str>,
    summary: SummaryWire,
    samples: Each<'a, MemorySample, SampleWire>,
    working_sets: Each<'a, MemoryTrack, TrackWire<'a>>,
    sessions: Vec<SessionsWire>,
    group_by: Option<&'static str>,
    rows: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct SummaryWire {
    counters: serde_json::Value,
    repurposed: serde_json::Value,
}

/// A list, made while it is written.
struct Each<'a, T, W> {
    list: &'a [T],
    set: &'a MemorySet,
    wire: fn(&'a MemorySet, &'a T) -> W,
}

impl<T, W: Serialize> Serialize for Each<'_, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.list.len()))?;
        for one in self.list {
            list.serialize_element(&(self.wire)(self.set, one))?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct SampleWire {
    time_s: f64,
    in_use_pages: Option<u64>,
    zero_pages: u64,
    free_pages: u64,
    modified_pages: u64,
    modified_no_write_pages: u64,
    bad_pages: u64,
    standby_pages: [u64; 8],
    repurposed_pages: [u64; 8],
    modified_pagefile_pages: u64,
    paged_pool_commit_pages: Option<u64>,
    non_paged_pool_pages: Option<u64>,
    mdl_pages: Option<u64>,
    commit_pages: Option<u64>,
}

impl SampleWire {
    fn new(_: &MemorySet, sample: &MemorySample) -> SampleWire {
        let (counters, commit) = (&sample.counters, sample.counters.commit);
        SampleWire {
            time_s: sample.time.seconds(),
            in_use_pages: sample.in_use,
            zero_pages: counters.zero,
            free_pages: counters.free,
            modified_pages: counters.modified,
            modified_no_write_pages: counters.modified_no_write,
            bad_pages: counters.bad,
            standby_pages: counters.standby,
            repurposed_pages: counters.repurposed,
            modified_pagefile_pages: counters.modified_pagefile,
            paged_pool_commit_pages: commit.map(|commit| commit.paged_pool_pages),
            non_paged_pool_pages: commit.map(|commit| commit.non_paged_pool_pages),
            mdl_pages: commit.map(|commit| commit.mdl_pages),
            commit_pages: commit.map(|commit| commit.commit_pages),
        }
    }
}

#[derive(Serialize)]
struct TrackWire<'a> {
    process: &'a str,
    samples: Each<'a, At<WorkingSetSizes>, WorkingSetWire>,
}

impl<'a> TrackWire<'a> {
    fn new(set: &'a MemorySet, track: &'a MemoryTrack) -> TrackWire<'a> {
        TrackWire { process: &track.label, samples: Each { list: &track.samples, set, wire: WorkingSetWire::new } }
    }
}

#[derive(Serialize)]
struct WorkingSetWire {
    time_s: f64,
    working_set_pages: u64,
    commit_pages: u64,
    virtual_size_pages: u64,
    private_working_set_pages: u64,
    store_pages: Option<u64>,
    stored_pages: Option<u64>,
    commit_debt_pages: Option<u64>,
    shared_commit_pages: Option<u64>,
}

impl WorkingSetWire {
    fn new(set: &MemorySet, sample: &At<WorkingSetSizes>) -> WorkingSetWire {
        let (sizes, store) = (&sample.value, sample.value.store);
        WorkingSetWire {
            time_s: set.time(sample.moment).seconds(),
            working_set_pages: sizes.working_set_pages,
            commit_pages: sizes.commit_pages,
            virtual_size_pages: sizes.virtual_or_paged_pool_pages,
            private_working_set_pages: sizes.private_working_set_pages,
            store_pages: store.map(|store| store.store_size_pages),
            stored_pages: store.map(|store| store.stored_pages),
            commit_debt_pages: store.map(|store| store.commit_debt_pages),
            shared_commit_pages: store.map(|store| store.shared_commit_pages),
        }
    }
}

#[derive(Serialize)]
struct SessionsWire {
    time_s: f64,
    sessions: Vec<SessionWire>,
}

#[derive(Serialize)]
struct SessionWire {
    session: u32,
    working_set_pages: u64,
    commit_pages: u64,
    paged_pool_pages: u64,
    private_working_set_pages: u64,
}

impl SessionWire {
    fn new(sizes: &WorkingSetSizes) -> SessionWire {
        SessionWire {
            session: sizes.id,
            working_set_pages: sizes.working_set_pages,
            commit_pages: sizes.commit_pages,
            paged_pool_pages: sizes.virtual_or_paged_pool_pages,
            private_working_set_pages: sizes.private_working_set_pages,
        }
    }
}

impl MemoryReport<'_> {
    fn wire(&self) -> MemoryWire<'_> {
        let set = self.set;
        let is_timeline = set.timeline.is_some();
        let rows =
            if set.group_by.is_some() && !is_timeline { table::objects(&set.table()) } else { to_json(&[(); 0]) };
        let sessions = set.session_records();
        let session = |(moment, list): &(Moment, Vec<WorkingSetSizes>)| SessionsWire {
            time_s: set.time(*moment).seconds(),
            sessions: list.iter().map(SessionWire::new).collect(),
        };
        MemoryWire {
            schema: "pfnset.memory",
            version: 1,
            trace: self.trace.display().to_string(),
            warnings: &set.warnings,
            physical_pages: set.physical.map(|(pages, _)| pages),
            physical_source: set.physical.map(|(_, source)| source.name()),
            summary: SummaryWire {
                counters: table::objects(&set.counter_table(WIDE, |_| true)),
                repurposed: table::objects(&set.repurposed_records()),
            },
            samples: Each { list: &set.samples, set, wire: SampleWire::new },
            working_sets: Each { list: &set.processes, set, wire: TrackWire::new },
            sessions: sessions.iter().map(session).collect(),
            group_by: set.group_by.map(MemoryDimension::name),
            rows,
            timeline: is_timeline.then(|| table::objects(&set.table())),
        }
    }
}
