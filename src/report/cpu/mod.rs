//! `pfnset cpu` in all forms. Wire format: docs/json.md, schema `pfnset.cpu`.

mod json;

use crate::analysis::cpu::{CpuUse, CpuView};
use crate::analysis::table::{Table, Value as Cell};
use crate::report::text::{TimeUnit, Unit};
use crate::report::{Report, Style, table, text};
use crate::units::Nanos;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// How many rows the summary lists where the user does not say.
const SUMMARY_ROWS: usize = 12;

/// The report.
#[derive(Debug)]
pub struct CpuReport<'a> {
    trace: &'a Path,
    set: &'a CpuUse,
    unit: TimeUnit,
    view: CpuView,
}

impl<'a> CpuReport<'a> {
    /// Of this result.
    pub fn new(trace: &'a Path, set: &'a CpuUse, unit: TimeUnit, view: CpuView) -> Self {
        CpuReport { trace, set, unit, view }
    }

    /// `Processors from 0.000432 s to 0.250273 s (249.840 ms), 4 processors`.
    fn title(&self) -> String {
        let set = self.set;
        let what = match self.view {
            CpuView::Summary | CpuView::Rows => "CPU use",
            CpuView::Timeline => "CPU use over time",
            CpuView::Delays => "Ready delays",
            CpuView::Preemption => "Who took the processor from whom",
            CpuView::Waits => "Waits",
            CpuView::Wakers => "Who readied whom",
            CpuView::Interrupts => "Interrupts and deferred procedure calls",
            CpuView::States => "What each thread did",
            CpuView::Sampling => "Exact times beside samples and clock ticks",
            CpuView::Queue => "Time at each length of the ready queue",
        };
        let (from, to) = set.window_times;
        let end = |time: Nanos, mark: &Option<String>| match mark {
            Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
            None => format!("{:.6} s", time.seconds()),
        };
        let (from, to) = (end(from, &set.window.from_mark), end(to, &set.window.to_mark));
        let length = self.unit.show(set.ns(set.window_ticks));
        let processors = match set.by_processor.len() {
            1 => "1 processor".to_owned(),
            more => format!("{more} processors"),
        };
        format!("{what} from {from} to {to} ({length}), {processors}")
    }

    /// A table with times in the user's unit.
    fn in_unit(&self, mut table: Table) -> Table {
        for cell in table.lines.iter_mut().flat_map(|line| &mut line.cells) {
            if let Cell::Duration(nanos) = cell {
                *cell = Cell::Text(self.unit.show(*nanos));
            }
        }
        table
    }

    fn print(&self, out: &mut dyn Write, found: Table, style: &Style) -> io::Result<()> {
        table::text(out, &self.in_unit(found), style, Unit::default())
    }

    fn summary(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let set = self.set;
        self.print(out, set.owner_table(), style)?;
        let verdict = if set.is_balanced() { "to the tick" } else { "BUT DO NOT: this is a bug of pfnset" };
        self.wrapped(
            out,
            style,
            &format!(
                "Threads, idle, DPC, ISR and unknown add up to {} × {} processors, {verdict}. {} context switches.",
                self.unit.show(set.ns(set.window_ticks)),
                set.by_processor.len(),
                text::count(set.total.switches)
            ),
        )?;
        writeln!(out)?;
        self.wrapped(out, style, &self.queue_line())?;
        writeln!(out)?;
        self.print(out, set.row_table(set.top.or(Some(SUMMARY_ROWS))), style)
    }

    /// `Ready queue: mean 0.751, at most 15 (at 0.221625 s), empty 77.5 % of the time; …`.
    fn queue_line(&self) -> String {
        let queue = &self.set.queue;
        let most = match queue.max_time {
            Some(time) => format!("at most {} (first at {:.6} s)", queue.max, time.seconds()),
            None => "never longer than 0".to_owned(),
        };
        let arrivals = match (queue.seen_by_arrivals, queue.clumping) {
            (Some(seen), Some(clumping)) => {
                format!(
                    "; a thread that becomes ready finds {seen:.3} waiting before it on average, {clumping:.2} times the mean"
                )
            }
            _ => String::new(),
        };
        let empty = queue.empty_share * 100.0;
        format!("Ready queue: mean {:.3}, {most}, empty {empty:.1} % of the time{arrivals}", queue.mean)
    }

    fn wrapped(&self, out: &mut dyn Write, style: &Style, line: &str) -> io::Result<()> {
        text::wrap(line, usize::from(style.width)).iter().try_for_each(|part| writeln!(out, "{part}"))
    }
}

impl Report for CpuReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.set.warnings
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.set.warnings, style.width)?;
        text::heading(out, &self.title())?;
        writeln!(out)?;
        match self.view {
            CpuView::Summary => self.summary(out, style),
            view => self.print(out, self.set.table(view), style),
        }?;
        match self.set.smaller_groups() {
            0 => Ok(()),
            more => writeln!(out, "{} smaller groups are not shown: --format csv has all", text::count(more as u64)),
        }
    }

    fn json(&self) -> Value {
        json::whole(self.trace, self.set)
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.set.table(self.view).titled(self.title())]
    }

    fn tables_for_people(&self) -> Vec<Table> {
        self.tables().into_iter().map(|table| self.in_unit(table)).collect()
    }
}
