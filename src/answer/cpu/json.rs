//! The JSON object of `pfnset cpu`, schema `pfnset.cpu`. Lists of rows are those of the tables.

use crate::analysis::cpu::switch_stacks::{RecordShare, StackShare, StackShares};
use crate::analysis::cpu::{CpuUse, SampledUse, decimal};
use crate::analysis::table::Value;
use crate::answer::json_facts::{Fact, Facts};
use crate::trace::trust::warning::Warnings;
use serde_json::json;

/// The whole object.
pub(super) fn facts<'a>(set: &'a CpuUse, warnings: &Warnings) -> Facts<'a> {
    let facts = Facts::of_trace()
        .doubts(warnings)
        .filter(&set.filter)
        .missing(&set.missing)
        .window(set.window_times, set.window_ticks, &set.window)
        .is("from_ticks", set.window_bounds.0)
        .is("to_ticks", set.window_bounds.1)
        .is("processors", set.by_processor.len())
        .is("breaks", set.breaks)
        .is("balanced", set.is_balanced())
        .has("total", Fact::Object(Facts::of_values(set.total_values())))
        .has("by_processor", Fact::table(|| set.processor_table()))
        .group_by(&set.dimensions)
        .has("rows", Fact::records(set.row_fields(), || set.row_records()))
        .has("interrupts", Fact::table(|| set.interrupt_table(Some(0))))
        .has("queue", Fact::Object(queue(set)))
        .has("preemptions", Fact::table(|| set.preemption_table(Some(0))))
        .has("wakeups", Fact::table(|| set.waker_table(Some(0))))
        .has("sampling", Fact::Object(sampling(set)))
        .has("clock_tick", Fact::Object(clock_tick(set)))
        .is("samples", serde_json::Value::Null);
    let facts = match &set.timeline {
        Some(_) => facts.has("timeline", Fact::records(CpuUse::step_fields(), || set.step_records())),
        None => facts,
    };
    match &set.stacks {
        Some(shares) => facts.is("stacks", stacks(shares)),
        None => facts,
    }
}

/// How many switch-ins have a known stack.
fn stacks(shares: &StackShares) -> serde_json::Value {
    let share = |share: StackShare| {
        let StackShare { switch_ins, with_stack, of_trace: RecordShare { records, with_stack: of_records } } = share;
        json!({
            "switch_ins": switch_ins,
            "with_stack": with_stack,
            "records": records,
            "records_with_stack": of_records,
        })
    };
    json!({ "waited": shares.waited.map(share), "readied": shares.readied.map(share) })
}

/// The same object by samples: what only context switches tell is null.
pub(super) fn facts_by_samples(set: &SampledUse) -> Facts<'_> {
    fn null<'a>(facts: Facts<'a>, name: &'static str) -> Facts<'a> {
        facts.is(name, serde_json::Value::Null)
    }
    let facts = Facts::of_trace()
        .doubts(&set.warnings)
        .filter(&set.filter)
        .missing(&set.missing)
        .window(set.window_times, set.window_ticks, &set.window)
        .is("from_ticks", set.window_bounds.0)
        .is("to_ticks", set.window_bounds.1);
    let facts = ["processors", "breaks", "balanced", "total", "by_processor"].into_iter().fold(facts, null);
    let facts = facts.group_by(&set.dimensions);
    let unknown = ["rows", "interrupts", "queue", "preemptions", "wakeups", "sampling", "clock_tick"];
    let samples = Facts::default()
        .is("interval_ns", set.intervals_ns.0)
        .is("longest_interval_ns", set.intervals_ns.1)
        .is("events", set.all.events)
        .is("time_ns", set.all.time_ns)
        .has("rows", Fact::table(|| set.row_table(Default::default(), None)));
    unknown.into_iter().fold(facts, null).has("samples", Fact::Object(samples))
}

fn queue(set: &CpuUse) -> Facts<'_> {
    let queue = &set.queue;
    Facts::default()
        .value("mean", decimal(queue.mean))
        .is("max", queue.max)
        .is("max_time_s", queue.max_time.map(|time| time.seconds()))
        .value("empty_share", decimal(queue.empty_share))
        .value("seen_by_arrivals", Value::maybe(queue.seen_by_arrivals, decimal))
        .value("clumping", Value::maybe(queue.clumping, decimal))
        .has("by_length", Fact::table(|| set.queue_table(Some(0))))
}

fn sampling(set: &CpuUse) -> Facts<'_> {
    Facts::default().is("samples", set.sampling.samples).has("rows", Fact::table(|| set.sample_records()))
}

fn clock_tick(set: &CpuUse) -> Facts<'_> {
    Facts::default()
        .is("interval_ns", u64::try_from(set.tick.0).unwrap_or(u64::MAX))
        .has("rows", Fact::table(|| set.clock_tick_records()))
}
