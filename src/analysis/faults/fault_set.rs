//! The result.

use super::query::Dimension;
use super::read_ranges::RangeSet;
use super::rows::{HardFigures, RequestFigures, Row, SoftRow};
use super::timeline::FaultStep;
use super::warnings::OF_REQUESTS;
use crate::model::window::Window;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Faults that needed no disk.
#[derive(Debug)]
pub struct SoftFaults {
    /// By process and kind.
    pub rows: Vec<SoftRow>,
    /// Records among them that only announce a hard fault.
    pub hard_markers: u64,
    /// That the trace has none of their records, where that is so. Few traces have them, so it is told where they are asked for.
    pub missing: Warnings,
}

impl SoftFaults {
    /// A number of them; unknown where the trace has none of their records.
    pub(crate) fn known(&self, number: u64) -> Option<u64> {
        self.missing.is_empty().then_some(number)
    }
}

/// What `pfnset faults` shows.
#[derive(Debug)]
pub struct FaultSet {
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// Its length.
    pub window_ticks: u64,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// All hard faults of the window.
    pub hard: HardFigures,
    /// Hard faults by the dimensions that they have; empty where they have none of them.
    pub hard_rows: Vec<Row<HardFigures>>,
    /// All disk requests that were completed in the window.
    pub disk: RequestFigures,
    /// Requests that were started in the window and never completed.
    pub unfinished: u64,
    /// Disk requests by the dimensions that they have.
    pub disk_rows: Vec<Row<RequestFigures>>,
    /// What the conditions leave none of, because it lacks their dimension.
    pub(crate) not_counted: Option<String>,
    /// Conditions that chose what is counted: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Ranges of files, if asked for.
    pub ranges: Option<RangeSet>,
    /// Faults that needed no disk.
    pub soft: SoftFaults,
    /// The timeline, if asked for.
    pub timeline: Option<Vec<FaultStep>>,
    /// Hard faults before the window of the whole trace, which are in no number.
    pub(crate) hard_before_start: u64,
    /// Hard faults by file, where rows are by something else: what was read most.
    pub by_file: Vec<Row<HardFigures>>,
}

impl FaultSet {
    /// Warnings that concern hard faults: not those about disk requests.
    pub(crate) fn warnings_of_hard(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().filter(|warning| !warning.is_of(&OF_REQUESTS))
    }

    /// Soft faults of all kinds that are there.
    pub fn soft_events(&self) -> u64 {
        self.soft.rows.iter().map(|row| row.events).sum()
    }

    /// Soft faults by kind, most first.
    pub fn soft_kinds(&self) -> Vec<(&'static str, u64)> {
        let mut by_kind: BTreeMap<&'static str, u64> = BTreeMap::new();
        self.soft.rows.iter().for_each(|row| *by_kind.entry(row.kind_name()).or_default() += row.events);
        let mut kinds: Vec<(&'static str, u64)> = by_kind.into_iter().collect();
        kinds.sort_by_key(|(_, events)| std::cmp::Reverse(*events));
        kinds
    }
}
