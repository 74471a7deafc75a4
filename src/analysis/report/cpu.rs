//! Processors over time.

use crate::analysis::cpu::query::{CpuOrder, CpuQuery};
use crate::analysis::cpu::replay::processor::ProcessorUse;
use crate::analysis::cpu::{CpuUse, TimelineStep};
use crate::analysis::report::downsampling::{step_of, thinned};
use crate::analysis::table::{Column, Line, Table, Value};
use crate::dimensions::IDLE_PROCESS;
use crate::error::Error;
use crate::trace::Trace;
use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps in the length of the trace.
const STEPS: i128 = 300;
/// Most steps that are drawn.
const MOST_STEPS: usize = 600;
/// Processes with a colour of their own.
const PROCESSES: usize = 8;
/// Most rows of the table.
const MOST_ROWS: usize = 200;
/// Most processes of the picture of delays.
const DELAYED: usize = 15;

/// Ready delays of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyDelay {
    /// The process.
    pub process: String,
    /// Delays.
    pub count: u64,
    /// Half of them were no longer, ns.
    pub p50_ns: u64,
    /// 95 of 100 were no longer, ns.
    pub p95_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

/// The processors in pictures.
#[derive(Debug)]
pub struct CpuOverview {
    /// All of it.
    pub set: CpuUse,
    /// Begin of each step, since trace start.
    pub times: Vec<Nanos>,
    /// Share of all processors in percent at each step: the processes with most time, the other ones, interrupts.
    pub shares: Vec<(String, Vec<f64>)>,
    /// The processes whose 95th percentile is longest.
    pub delays: Vec<ReadyDelay>,
}

impl CpuOverview {
    /// The overview of a trace of this length.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without context switches.
    pub fn new(trace: &Trace, length: Nanos) -> Result<CpuOverview, Error> {
        let query = CpuQuery { timeline: Some(step_of(length, STEPS)), ..CpuQuery::default() };
        let mut set = CpuUse::answer(trace, &query)?;
        let steps = set.timeline.take().unwrap_or_default();
        let kept = thinned(steps.len(), MOST_STEPS);
        let steps: Vec<&TimelineStep> = kept.iter().filter_map(|&at| steps.get(at)).collect();
        let processors = set.by_processor.len() as u64;
        Ok(CpuOverview {
            times: steps.iter().map(|step| step.from).collect(),
            shares: shares(&steps, processors),
            delays: delays(&set),
            set,
        })
    }

    /// The numbers of the picture of delays.
    pub fn delay_table(&self) -> Table {
        let line = |delay: &ReadyDelay| {
            let times = [delay.p50_ns, delay.p95_ns, delay.max_ns].map(Value::Duration);
            Line::new([Value::text(&delay.process), Value::count(delay.count)].into_iter().chain(times))
        };
        let columns = ["Delays", "Median", "p95", "Max"].map(Column::number);
        Table {
            columns: [Column::text("Process")].into_iter().chain(columns).collect(),
            lines: self.delays.iter().map(line).collect(),
            ..Table::default()
        }
    }

    /// Processes with their time and delays.
    pub fn process_table(&self) -> Table {
        self.set.row_table(CpuOrder::Cpu, Some(MOST_ROWS))
    }
}

fn delays(set: &CpuUse) -> Vec<ReadyDelay> {
    let delayed = set.rows.iter().filter(|row| row.delays.all.count > 0);
    let of = |row: &crate::analysis::cpu::CpuRow| ReadyDelay {
        process: row.labels.join(" / "),
        count: row.delays.all.count,
        p50_ns: set.ns(row.delays.all.p50),
        p95_ns: set.ns(row.delays.all.p95),
        max_ns: set.ns(row.delays.all.max),
    };
    let mut delays: Vec<ReadyDelay> = delayed.map(of).collect();
    delays.sort_by(|a, b| (b.p95_ns, b.max_ns).cmp(&(a.p95_ns, a.max_ns)).then_with(|| a.process.cmp(&b.process)));
    delays.truncate(DELAYED);
    delays
}

fn shares(steps: &[&TimelineStep], processors: u64) -> Vec<(String, Vec<f64>)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, ticks) in steps.iter().flat_map(|step| &step.groups).filter(|(name, _)| *name != IDLE_PROCESS) {
        *sums.entry(name).or_default() += ticks;
    }
    let mut order: Vec<(&str, u64)> = sums.into_iter().collect();
    order.sort_by_key(|&(name, ticks)| (Reverse(ticks), name));
    let others = order.len().saturating_sub(PROCESSES);
    order.truncate(PROCESSES);
    let percent = |step: &TimelineStep, ticks: u64| {
        let all = u128::from(step.ticks) * u128::from(processors);
        (ticks as f64 * 1e4 / all.max(1) as f64).round() / 100.0
    };
    let of = |name: &str, step: &TimelineStep| step.groups.get(name).copied().unwrap_or(0);
    let mut shares: Vec<(String, Vec<f64>)> = (order.iter())
        .map(|(name, _)| ((*name).to_owned(), steps.iter().map(|step| percent(step, of(name, step))).collect()))
        .collect();
    if others > 0 {
        let rest = |step: &TimelineStep| {
            let shown: u64 = order.iter().map(|(name, _)| of(name, step)).sum();
            step.groups.values().sum::<u64>().saturating_sub(shown).saturating_sub(of(IDLE_PROCESS, step))
        };
        let values = steps.iter().map(|step| percent(step, rest(step))).collect();
        shares.push((format!("+ {others} more"), values));
    }
    let of_use = |step: &TimelineStep, used_for: ProcessorUse| step.by_use.get(used_for as usize).copied().unwrap_or(0);
    let interrupts = |step: &TimelineStep| of_use(step, ProcessorUse::Dpc) + of_use(step, ProcessorUse::Isr);
    if steps.iter().any(|step| interrupts(step) > 0) {
        shares.push(("interrupts (DPC, ISR)".into(), steps.iter().map(|s| percent(s, interrupts(s))).collect()));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_step_add_up() {
        let names: Vec<String> = (0..12).map(|number| format!("p{number}.exe")).collect();
        let step = |from: i128, scale: u64| TimelineStep {
            from: Nanos(from),
            ticks: 1000,
            by_use: Default::default(),
            queue_mean: 0.0,
            groups: names
                .iter()
                .chain([&IDLE_PROCESS.to_owned()])
                .enumerate()
                .map(|(n, name)| (name.clone(), n as u64 * scale))
                .collect(),
        };
        let steps = [step(0, 10), step(1, 20)];
        let shares = shares(&[&steps[0], &steps[1]], 2);
        assert_eq!(shares.len(), PROCESSES + 1);
        assert_eq!((shares[0].0.as_str(), &shares[0].1), ("p11.exe", &vec![5.5, 11.0]));
        assert_eq!(shares[PROCESSES].0, "+ 4 more");
        let sum: f64 = shares.iter().map(|(_, values)| values[0]).sum();
        assert!((sum - 33.0).abs() < 1e-9, "{sum}");
    }
}
