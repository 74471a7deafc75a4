//! The table of memory over time.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::counters::{COUNTERS, CounterColumn, MemorySample};
use crate::analysis::memory::query::MemoryDimension;
use crate::analysis::memory::tables::size;
use crate::analysis::memory::timeline::MemoryTimeline;
use crate::analysis::memory::working_sets::{MemoryTrack, TrackOwner};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::dimensions::Dimension as _;
use crate::event::memory_counters::WorkingSetSizes;
use crate::moment::{At, Moment};
use crate::units::{Nanos, PAGE_BYTES};
use std::cmp::Reverse;

/// Columns of the printed table for processes or sessions, at most.
const MOST_TRACKS: usize = 8;

impl MemorySet {
    /// Counters or working sets over time.
    pub(super) fn timeline_table<'s>(&'s self, timeline: &'s MemoryTimeline) -> Table {
        let table = match timeline {
            MemoryTimeline::Counters(points) => self.counters_over_time(points),
            MemoryTimeline::Samples(moments) => {
                let of =
                    |(place, track): (usize, &'s MemoryTrack)| track.sampled().map(move |at| (at.moment, place, at));
                let mut samples: Vec<(Moment, usize, &At<WorkingSetSizes>)> =
                    self.tracks().iter().enumerate().flat_map(of).collect();
                samples.sort_by_key(|(moment, place, _)| (*moment, *place));
                let rows = samples
                    .into_iter()
                    .filter_map(|(moment, place, at)| Some((moment, self.tracks().get(place)?, &at.value)));
                self.working_sets_over_time(moments, rows)
            }
            MemoryTimeline::WorkingSets(moments) => {
                let of =
                    |&moment: &'s Moment| self.tracks().iter().filter_map(move |t| Some((moment, t, t.at(moment)?)));
                self.working_sets_over_time(moments, moments.iter().flat_map(of))
            }
        };
        table.with_times_apart()
    }

    /// How many processes or sessions are no columns of the printed timeline.
    pub fn smaller_tracks(&self) -> usize {
        match &self.timeline {
            Some(MemoryTimeline::Samples(_) | MemoryTimeline::WorkingSets(_)) => {
                self.tracks().len().saturating_sub(MOST_TRACKS)
            }
            _ => 0,
        }
    }

    /// What the rows are: processes or sessions.
    pub(super) fn tracks(&self) -> &[MemoryTrack] {
        if self.group_by == Some(MemoryDimension::Session) { &self.sessions } else { &self.processes }
    }

    fn counters_over_time(&self, points: &[(Nanos, Option<MemorySample>)]) -> Table {
        let is_grouped = |column: &CounterColumn| match self.group_by {
            Some(MemoryDimension::List) => column.list.is_some(),
            Some(MemoryDimension::Priority) => column.priority.is_some(),
            _ => true,
        };
        let is_told = |column: &CounterColumn| self.summaries.iter().any(|told| told.column.name == column.name);
        let of_whole = |column: &CounterColumn| match self.group_by {
            None => COUNTERS.iter().any(|of| of.name == column.name && of.name != "modified_pagefile"),
            Some(_) => true,
        };
        let fields: Vec<CounterColumn> = self.chosen.iter().copied().filter(is_grouped).collect();
        let mut shown: Vec<&CounterColumn> =
            fields.iter().filter(|column| is_told(column) && of_whole(column)).collect();
        if shown.is_empty() {
            shown = fields.iter().collect(); // what the conditions choose is a part of the whole, or not known
        }
        let heading = |(place, column): (usize, &&CounterColumn)| {
            let heading = Column::number(column.title.trim_start());
            if place < 4 { heading } else { heading.fit(Fit::Leaves(u8::try_from(20 - place).unwrap_or(0))) }
        };
        let value = |sample: &Option<MemorySample>, column: &CounterColumn| sample.as_ref().and_then(column.of);
        let line = |(time, sample): &(Nanos, Option<MemorySample>)| {
            let cells = shown.iter().map(|column| Value::maybe(value(sample, column), size));
            Line::new(std::iter::once(Value::Seconds(*time)).chain(cells))
        };
        let record = |(time, sample): &(Nanos, Option<MemorySample>)| {
            let pages = fields.iter().map(|column| Value::maybe(value(sample, column), Value::count));
            std::iter::once(Value::ExactSeconds(*time)).chain(pages).collect()
        };
        Table {
            title: None,
            fields: std::iter::once("time_s").chain(fields.iter().map(|column| column.name)).map(Field::new).collect(),
            records: points.iter().map(record).collect(),
            columns: std::iter::once(Column::number("Time s")).chain(shown.iter().enumerate().map(heading)).collect(),
            lines: points.iter().map(line).collect(),
        }
    }

    /// For people a column for each of the largest; for programs a record for each of `rows`.
    fn working_sets_over_time<'s>(
        &'s self,
        moments: &[Moment],
        rows: impl Iterator<Item = (Moment, &'s MemoryTrack, &'s WorkingSetSizes)>,
    ) -> Table {
        let dimension = self.group_by.unwrap_or(MemoryDimension::Process);
        let mut largest: Vec<&MemoryTrack> = self.tracks().iter().collect();
        largest.sort_by_key(|track| Reverse(track.most[0]));
        largest.truncate(MOST_TRACKS);
        let heading = |(place, track): (usize, &&MemoryTrack)| {
            let title = match track.owner {
                TrackOwner::Session(id) => format!("Session {id}"),
                TrackOwner::Instance(_) | TrackOwner::ProcessId(_) => track.label.to_string(),
            };
            let column = Column::number(title);
            if place == 0 { column } else { column.fit(Fit::Leaves(u8::try_from(MOST_TRACKS - place).unwrap_or(0))) }
        };
        // There is room for more of one process.
        let only = self.tracks().first().filter(|_| self.virtual_commit.is_some() && self.tracks().len() == 1);
        let line = |moment: &Moment| {
            let pages = largest.iter().map(|track| Value::maybe(track.at(*moment), |now| size(now.working_set_pages)));
            let more = only.into_iter().flat_map(|track| self.commit_values(track, *moment));
            Line::new(std::iter::once(Value::Seconds(self.time(*moment))).chain(pages).chain(more))
        };
        let is_of_processes = dimension == MemoryDimension::Process;
        let record = |(moment, track, now): (Moment, &MemoryTrack, &WorkingSetSizes)| {
            let mut values = vec![
                Value::ExactSeconds(self.time(moment)),
                Value::of_label(&track.label),
                Value::count(now.working_set_pages),
                Value::count(now.private_working_set_pages),
                Value::count(now.commit_pages),
            ];
            if is_of_processes {
                let commit = self.commit_by_virtual_alloc(track, moment, now);
                values.push(Value::maybe(commit, |(pages, _)| Value::count(pages)));
                values.push(Value::maybe(commit, |(_, difference)| Value::Count(difference)));
            }
            values
        };
        let fields = ["time_s", dimension.name(), "working_set_pages", "private_working_set_pages", "commit_pages"];
        let of_processes = ["virtual_alloc_pages", "commit_difference_pages"];
        let fields = fields.into_iter().chain(of_processes.into_iter().filter(|_| is_of_processes));
        let more = ["Commit", "VirtualAlloc", "Difference"].map(Column::number);
        let columns = std::iter::once(Column::number("Time s")).chain(largest.iter().enumerate().map(heading));
        Table {
            title: None,
            fields: fields.map(Field::new).collect(),
            records: rows.map(record).collect(),
            columns: columns.chain(more.into_iter().filter(|_| only.is_some())).collect(),
            lines: moments.iter().map(line).collect(),
        }
    }

    /// Pages that a process has committed by VirtualAlloc, and how many more it has by the kernel.
    fn commit_by_virtual_alloc(
        &self,
        track: &MemoryTrack,
        moment: Moment,
        now: &WorkingSetSizes,
    ) -> Option<(u64, i64)> {
        let pages = self.virtual_commit.as_ref()?.pages(track.owner, moment)?;
        let difference = i128::from(now.commit_pages) - i128::from(pages);
        Some((pages, i64::try_from(difference).unwrap_or(i64::MAX)))
    }

    /// The kernel's commit of a process, that by VirtualAlloc, and the difference.
    fn commit_values(&self, track: &MemoryTrack, moment: Moment) -> [Value; 3] {
        let now = track.at(moment);
        let commit = now.and_then(|now| self.commit_by_virtual_alloc(track, moment, now));
        [
            Value::maybe(now, |now| size(now.commit_pages)),
            Value::maybe(commit, |(pages, _)| size(pages)),
            Value::maybe(commit, |(_, pages)| Value::SizeDifference(pages.saturating_mul(PAGE_BYTES as i64))),
        ]
    }
}
