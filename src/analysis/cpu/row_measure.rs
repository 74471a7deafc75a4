//! What is summed of rows of `pfnset cpu`, and what orders them.

use crate::analysis::cpu::query::CpuOrder;
use crate::analysis::cpu::{CpuRow, CpuUse};
use crate::analysis::table::{Measured, Value};

/// Sums of rows; times in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowMeasure {
    /// Of threads: without interrupts, and with them.
    threads: (u64, u64),
    /// Of idle threads in rows of their own.
    idle: (u64, u64),
    /// True when the time is that of threads, without the idle ones.
    pub leaves_idle_out: bool,
    /// Switch-ins of threads, and of idle ones in rows of their own.
    switches: (u64, u64),
    pub delays: u64,
    pub delayed: u64,
    pub p95: Option<u64>,
    pub max: u64,
    pub lost: u64,
    pub waited: u64,
}

impl std::ops::AddAssign for RowMeasure {
    fn add_assign(&mut self, other: RowMeasure) {
        // A percentile is that of the only delays that there are; of several groups it is looked up.
        self.p95 = match (self.delays, other.delays) {
            (_, 0) => self.p95,
            (0, _) => other.p95,
            _ => None,
        };
        for (sum, part) in [(&mut self.threads, other.threads), (&mut self.idle, other.idle)] {
            *sum = (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1));
        }
        self.leaves_idle_out |= other.leaves_idle_out;
        self.switches = (self.switches.0 + other.switches.0, self.switches.1 + other.switches.1);
        self.delays += other.delays;
        self.delayed = self.delayed.saturating_add(other.delayed);
        self.max = self.max.max(other.max);
        self.lost = self.lost.saturating_add(other.lost);
        self.waited = self.waited.saturating_add(other.waited);
    }
}

impl RowMeasure {
    pub fn new(row: &CpuRow) -> RowMeasure {
        let times = (row.cpu, row.with_interrupts);
        RowMeasure {
            threads: if row.is_idle { (0, 0) } else { times },
            idle: if row.is_idle { times } else { (0, 0) },
            leaves_idle_out: !row.is_idle,
            switches: if row.is_idle { (0, row.switches) } else { (row.switches, 0) },
            delays: row.delays.all.count,
            delayed: row.delays.all.total,
            p95: (row.delays.all.count > 0).then_some(row.delays.all.p95),
            max: row.delays.all.max,
            lost: row.delays.lost().1,
            waited: row.waited(),
        }
    }

    /// Time without interrupts, and with them. Idle threads have it in rows of their own; it is no part of sums with other threads.
    pub fn times(&self) -> (u64, u64) {
        if self.leaves_idle_out { self.threads } else { self.idle }
    }

    /// Switch-ins; those to idle threads as their time.
    pub fn switches(&self) -> u64 {
        if self.leaves_idle_out { self.switches.0 } else { self.switches.1 }
    }

    /// A length of time that is only known where there are delays.
    pub fn delay(&self, ticks: Option<u64>, set: &CpuUse) -> Value {
        Value::maybe(ticks.filter(|_| self.delays > 0), |ticks| set.time(ticks))
    }
}

type Of = Measured<RowMeasure, CpuUse>;

/// What is greatest in the first row, and the column that shows it where the first columns do not.
pub(super) fn ordered_by(order: CpuOrder) -> (fn(&RowMeasure) -> u64, Option<Of>) {
    match order {
        CpuOrder::Cpu => (|m| m.times().0, None),
        CpuOrder::Name => (|_| 0, None),
        CpuOrder::Switches => (|m| m.switches(), Some(Of::shown("Switches", |m, _| Value::count(m.switches())))),
        CpuOrder::Ready => (|m| m.delayed, Some(Of::shown("Ready", |m, set| set.time(m.delayed)))),
        CpuOrder::Preempted => (|m| m.lost, Some(Of::shown("Lost to others", |m, set| set.time(m.lost)))),
        CpuOrder::Running => (|m| m.times().1, Some(Of::shown("With interrupts", |m, set| set.time(m.times().1)))),
        CpuOrder::Waits => (|m| m.waited, Some(Of::shown("Waiting", |m, set| set.time(m.waited)))),
    }
}
