//! The JSON object of `pfnset cpu`, schema `pfnset.cpu`.

use crate::analysis::cpu::ready_delays::{DelayStatistics, ReadyKind};
use crate::analysis::cpu::replay::processor::{ProcessorUse, TicksByUse};
use crate::analysis::cpu::{CpuRow, CpuUse, ProcessorTimes, SampledTime, TimelineStep, interval};
use crate::analysis::table::{Dimension as _, Value as Cell};
use crate::answer::facts::Facts;
use serde_json::{Map, Value, json};

/// Numbers that are no whole ones are rounded to this many parts.
const PARTS: f64 = 1e9;

fn rounded(number: f64) -> f64 {
    (number * PARTS).round() / PARTS
}

/// The whole object.
pub(super) fn facts(set: &CpuUse) -> Facts<'_> {
    let all = json!({
        "missing_keywords": set.missing.iter().map(|need| need.keyword).collect::<Vec<_>>(),
        "window": {
            "start_s": set.window_times.0.seconds(),
            "stop_s": set.window_times.1.seconds(),
            "ticks": set.window_ticks,
            "start_mark": set.window.from_mark,
            "stop_mark": set.window.to_mark,
        },
        "from_ticks": set.window_bounds.0,
        "to_ticks": set.window_bounds.1,
        "processors": set.by_processor.len(),
        "breaks": set.breaks,
        "balanced": set.is_balanced(),
        "total": total(set),
        "by_processor": by_processor(set),
        "group_by": set.dimensions.iter().map(|dimension| dimension.name()).collect::<Vec<_>>(),
        "rows": set.rows.iter().map(|found| row(set, found)).collect::<Vec<_>>(),
        "interrupts": interrupts(set),
        "queue": queue(set),
        "preemptions": preemptions(set),
        "wakeups": wakeups(set),
        "sampling": sampling(set),
        "clock_tick": clock_tick(set),
    });
    let facts = Facts::of_trace().all(all);
    match &set.timeline {
        Some(steps) => facts.is("timeline", steps.iter().map(|found| step(set, found)).collect::<Value>()),
        None => facts,
    }
}

fn uses(set: &CpuUse, ticks: &TicksByUse) -> Map<String, Value> {
    let names = [
        ("threads_ns", ProcessorUse::Threads),
        ("idle_ns", ProcessorUse::Idle),
        ("dpc_ns", ProcessorUse::Dpc),
        ("isr_ns", ProcessorUse::Isr),
        ("unknown_ns", ProcessorUse::Unknown),
    ];
    let of = |used_for: ProcessorUse| ticks.get(used_for as usize).copied().unwrap_or(0);
    names.into_iter().map(|(name, used_for)| (name.to_owned(), json!(set.ns(of(used_for))))).collect()
}

fn times(set: &CpuUse, times: &ProcessorTimes) -> Map<String, Value> {
    let mut object = uses(set, &times.by_use);
    object.insert("switches".into(), json!(times.switches));
    object
}

fn total(set: &CpuUse) -> Value {
    let mut object = times(set, &set.total);
    object.insert("capacity_ns".into(), json!(set.capacity_ns()));
    object.into()
}

fn by_processor(set: &CpuUse) -> Value {
    let one = |(number, found): (usize, &ProcessorTimes)| {
        let mut object = Map::new();
        object.insert("processor".into(), json!(number));
        object.append(&mut times(set, found));
        Value::from(object)
    };
    set.by_processor.iter().enumerate().map(one).collect()
}

fn row(set: &CpuUse, row: &CpuRow) -> Value {
    let mut object = Map::new();
    for (dimension, label) in set.dimensions.iter().zip(&row.labels) {
        let label = match Cell::of_label(label) {
            Cell::Number(number) => json!(number),
            _ => json!(label.as_str()),
        };
        object.insert(dimension.name().into(), label);
    }
    let waits = row
        .waits
        .iter()
        .map(|(reason, time)| (reason.clone(), json!({ "count": time.count, "total_ns": set.ns(time.ticks) })));
    let counted = json!({
        "cpu_ns": set.ns(row.cpu),
        "cpu_with_interrupts_ns": set.ns(row.with_interrupts),
        "switches": row.switches,
        "ready": ready(set, row),
        "unknown_ready": row.unknown_ready,
        "unfinished": row.unfinished,
        "redundant": row.redundant,
        "waits": waits.collect::<Map<_, _>>(),
    });
    object.extend(counted.as_object().cloned().unwrap_or_default());
    if let Some(states) = &row.states {
        let states = json!({
            "running_ns": set.ns(states.running),
            "ready_ns": set.ns(states.ready),
            "waiting_ns": set.ns(states.waiting),
            "unknown_ns": set.ns(states.unknown),
            "not_alive_ns": set.ns(states.not_alive),
        });
        object.insert("states".into(), states);
    }
    object.into()
}

fn ready(set: &CpuUse, row: &CpuRow) -> Map<String, Value> {
    let kinds = ReadyKind::ALL.map(ReadyKind::name).into_iter().zip(&row.delays.by_kind);
    let all = kinds.chain([("all", &row.delays.all)]).filter(|(_, delays)| delays.count > 0);
    all.map(|(name, delays)| (name.to_owned(), statistics(set, delays))).collect()
}

fn statistics(set: &CpuUse, delays: &DelayStatistics) -> Value {
    json!({
        "count": delays.count,
        "total_ns": set.ns(delays.total),
        "mean_ns": set.mean_ns(delays.total, delays.count),
        "p50_ns": set.ns(delays.p50),
        "p95_ns": set.ns(delays.p95),
        "p99_ns": set.ns(delays.p99),
        "max_ns": set.ns(delays.max),
    })
}

fn interrupts(set: &CpuUse) -> Value {
    let row = |row: &crate::analysis::cpu::InterruptRow| {
        json!({
            "kind": row.kind,
            "module": row.module,
            "routine": format!("0x{:x}", row.routine),
            "count": row.times.count,
            "inclusive_ns": set.ns(row.times.inclusive),
            "exclusive_ns": set.ns(row.times.exclusive),
            "max_ns": set.ns(row.times.max),
        })
    };
    set.interrupts.iter().map(row).collect()
}

fn queue(set: &CpuUse) -> Value {
    let queue = &set.queue;
    let lengths = queue.by_length.iter().map(|(length, ticks)| json!({ "length": length, "ns": set.ns(*ticks) }));
    json!({
        "mean": rounded(queue.mean),
        "max": queue.max,
        "max_time_s": queue.max_time.map(|time| time.seconds()),
        "empty_share": rounded(queue.empty_share),
        "seen_by_arrivals": queue.seen_by_arrivals.map(rounded),
        "clumping": queue.clumping.map(rounded),
        "by_length": lengths.collect::<Vec<_>>(),
    })
}

fn preemptions(set: &CpuUse) -> Value {
    let row = |row: &crate::analysis::cpu::PreemptionRow| {
        json!({
            "process": row.process,
            "preemptor": row.preemptor,
            "kind": row.kind.name(),
            "count": row.times.count,
            "total_ns": set.ns(row.times.ticks),
        })
    };
    set.preemptions.iter().map(row).collect()
}

fn wakeups(set: &CpuUse) -> Value {
    let row = |row: &crate::analysis::cpu::WakeupRow| json!({ "process": row.process, "waker": row.waker, "from_dpc": row.from_dpc, "count": row.count });
    set.wakeups.iter().map(row).collect()
}

fn sampling(set: &CpuUse) -> Value {
    let samples = set.sampling.samples;
    let row = |(process, charged): (&String, &SampledTime)| {
        let (low, high) = interval(charged.samples, samples);
        json!({
            "process": process,
            "samples": charged.samples,
            "share": rounded(charged.samples as f64 / samples as f64),
            "low": rounded(low),
            "high": rounded(high),
            "exact_share": rounded(set.share(charged.exact)),
        })
    };
    let rows = set.sampling.rows.iter().filter(|_| samples > 0);
    json!({ "samples": samples, "rows": rows.map(row).collect::<Vec<_>>() })
}

fn clock_tick(set: &CpuUse) -> Value {
    let row = |(process, charged): (&String, &SampledTime)| {
        json!({
            "process": process,
            "ticks": charged.ticks,
            "charged_ns": set.charged_ns(charged.ticks),
            "exact_ns": set.ns(charged.exact),
        })
    };
    let rows: Vec<Value> = set.sampling.rows.iter().map(row).collect();
    json!({ "interval_ns": u64::try_from(set.tick.0).unwrap_or(u64::MAX), "rows": rows })
}

fn step(set: &CpuUse, step: &TimelineStep) -> Value {
    let mut object = Map::new();
    object.insert("from_s".into(), json!(step.from.seconds()));
    object.append(&mut uses(set, &step.by_use));
    object.insert("queue_mean".into(), json!(rounded(step.queue_mean)));
    let groups = step.groups.iter().map(|(label, ticks)| (label.clone(), json!(set.ns(*ticks))));
    object.insert("groups".into(), groups.collect::<Map<_, _>>().into());
    object.into()
}
