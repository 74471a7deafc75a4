//! What makes the numbers doubtful.

use crate::analysis::cpu::replay::processor::{Processor, ProcessorUse};
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::replay::thread_counts::ThreadCounts;
use crate::analysis::cpu::replay::thread_instances::{IDLE_INSTANCE, State, ThreadIndex, ThreadInstance};
use crate::analysis::cpu::switch_stacks::{KeptStack, StackShare, StackShares};
use crate::analysis::stacks::{STARTS_MISSING, process_differs};
use crate::analysis::time_grid::TickRange;
use crate::etl::EtlFile;
use crate::etl::clock::Clock;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::etl::record_id::HookId;
use crate::event::hooks::{DPC, ISR, ISR_MSI, PASSIVE_ISR, READY_THREAD, THREADED_DPC, TIMER_DPC};
use crate::trace::Trace;
use crate::trace::analysis_needs::CPU;
use crate::trace::trust::readiness::{Need, undescribed};
use crate::trace::trust::warning::{Warning, Warnings, no_switches_of, records_missing, symbols_missing};
use crate::units::{Nanos, Ticks, count, counted, first_of, milliseconds as in_milliseconds};
use std::collections::BTreeSet;

/// That the window, which begins with the first context switch, begins before the recording.
fn switches_before_start(trace: &Trace, range: TickRange) -> Option<Warning> {
    let from = trace.time(range.from);
    (from.0 < 0).then(|| {
        let text = format!(
            "the first context switch is {:.3} s before the stamp of the log-file header: times from there on are of no recording",
            Nanos(-from.0).seconds()
        );
        Warning::grave(CPU.name, "records_before_start", text)
    })
}

/// That all switches are at one time: the window from the first to the last one has no length, and all its times are 0.
fn empty(trace: &Trace, range: TickRange) -> Option<Warning> {
    (range.ticks() == 0).then(|| {
        let at = trace.time(range.from).seconds();
        let text = format!(
            "the window is empty: the first context switch is the last one ({at:.6} s), so no time lies between them, and nothing is known \
             of what ran"
        );
        Warning::grave(CPU.name, "window_empty", text)
    })
}

/// One line each, most important first. `of_symbols` are those of the search for symbols.
pub fn warnings(
    trace: &Trace,
    missing: &[Need],
    processors: &[Processor],
    range: TickRange,
    stacks: Option<&StackShares>,
    of_symbols: Vec<String>,
) -> Warnings {
    let (etl, trust) = (trace.etl(), trace.trust());
    let mut warnings = trust.warnings();
    let note = |code, text| Warning::note(CPU.name, code, text);
    warnings.extend(empty(trace, range));
    warnings.extend(beyond_switches(trace, range));
    warnings.extend(switches_before_start(trace, range));
    warnings.extend(unknown(processors, range, etl).into_iter().map(|text| note("threads_unknown", text)));
    warnings.extend(perhaps_missing(processors, range, etl));
    let sum = |of: fn(&Processor) -> u64| processors.iter().map(of).sum::<u64>();
    let breaks = sum(|processor| processor.breaks);
    if breaks > 0 {
        let switches = counted(breaks, "switch is", "switches are");
        let text = format!(
            "the chain of context switches is broken: {switches} from another thread than the one that ran; the time \
             before each is unknown. Ready delays and queue lengths can be too large from there on: a thread whose \
             switch is missing counts as ready until its next one"
        );
        warnings.push(Warning::grave(CPU.name, "switches_broken", text).of(breaks));
    }
    warnings.extend(switches_missing(trace, processors, range));
    if etl.header.mode & MODE_NO_PER_PROCESSOR != 0 {
        let text = "the session had no buffers of their own for the processors: which processor did what is not known";
        warnings.push(note("processors_unknown", text.into()));
    }
    warnings.extend(of_begins(processors));
    warnings.extend(interrupts_missing(trace, range));
    let not_nested = sum(Processor::not_nested);
    if not_nested > 0 {
        let interrupts = counted(not_nested, "interrupt overlaps", "interrupts overlap");
        let text =
            format!("{interrupts} another one without ending inside of it; the one that began last has the time");
        warnings.push(note("interrupts_overlap", text).of(not_nested));
    }
    let went_back = sum(Processor::went_back);
    if went_back > 0 {
        let records = counted(went_back, "record has", "records have");
        let text = format!("{records} an earlier time than the one before on the same processor; they were sorted");
        warnings.push(note("time_went_back", text).of(went_back));
    }
    warnings.extend(stacks.into_iter().flat_map(lack_of_stacks));
    warnings.extend(symbols_missing(CPU.name, of_symbols));
    warnings.extend(trust.not_there_for(CPU.name, missing));
    warnings.extend(undescribed(trace.survey(), trace.processes(), &CPU));
    warnings
}

/// Code of context switches that samples or ready records show to be missing.
const SWITCHES_MISSING: &str = "switches_missing";

/// One part of so many: samples of another thread than the one that runs, and ready records after the last switch.
const MISSING_PART: u64 = 20;

/// Context switches that are missing, though no record says so: samples meet other threads than those that run by the switches, or threads
/// are readied long after the last switch.
fn switches_missing(trace: &Trace, processors: &[Processor], range: TickRange) -> Option<Warning> {
    let sum = |of: fn(&Processor) -> u64| processors.iter().map(of).sum::<u64>();
    let (all, others) = (sum(|processor| processor.samples.0), sum(|processor| processor.samples.1));
    // Where the chain of switches is broken, that says so.
    let is_whole = sum(|processor| processor.breaks) == 0;
    let of_samples = (is_whole && others >= FEW && others.saturating_mul(MISSING_PART) > all).then(|| {
        let all = counted(all, "sample is", "samples are");
        format!("{} of {all} of another thread than the one that ran by the context switches", count(others))
    });
    let texts: Vec<String> = of_samples.into_iter().chain(readied_without_switches(trace, range)).collect();
    let text = format!("{}: context switches are missing, and times of threads are wrong", texts.join("; "));
    (!texts.is_empty()).then(|| Warning::grave(CPU.name, SWITCHES_MISSING, text))
}

/// Threads that are readied long before the first context switch or after the last one: somebody runs as soon as a processor is free. Of windows
/// that reach there; long is a part of the time in which there are switches, however short the window is.
fn readied_without_switches(trace: &Trace, range: TickRange) -> Vec<String> {
    let clock = &trace.etl().clock;
    let Some((first, last)) = switch_ends(trace) else { return Vec::new() };
    let Some((first_ready, last_ready)) = trace.survey().kernel_span(READY_THREAD) else { return Vec::new() };
    let span = last.0.abs_diff(first.0);
    let text = |(from, to): (Ticks, Ticks), place: &str, switch: Ticks| {
        let ticks = u64::try_from(to.0.saturating_sub(from.0)).ok()?;
        let milliseconds = ticks as f64 * 1e3 / clock.frequency_hz.max(1) as f64;
        let at = clock.nanos(switch).seconds();
        (ticks.saturating_mul(MISSING_PART) > span).then(|| {
            format!("threads are readied for {milliseconds:.3} ms {place} context switch ({at:.6} s), and none runs")
        })
    };
    let before = text((first_ready, first), "before the first", first).filter(|_| range.from <= first);
    let after = text((last, last_ready), "after the last", last).filter(|_| range.to >= last);
    before.into_iter().chain(after).collect()
}

/// The first and the last context switch.
fn switch_ends(trace: &Trace) -> Option<(Ticks, Ticks)> {
    let facts = &trace.scheduling().buffers;
    let first = facts.iter().filter_map(|facts| facts.first_switch).map(|(moment, _)| moment.time).min()?;
    Some((first, facts.iter().filter_map(|facts| facts.last_switch).max()?))
}

/// Interrupts, or deferred procedure calls, that are in one part of the time with context switches and not in the rest. Timers expire whatever the
/// processors do, so where a hundred are due there is one.
fn interrupts_missing(trace: &Trace, range: TickRange) -> Vec<Warning> {
    const DUE: u128 = 100;
    let (survey, clock) = (trace.survey(), &trace.etl().clock);
    let Some((first, last)) = switch_ends(trace) else { return Vec::new() };
    let switches = u128::from(last.0.abs_diff(first.0));
    let of_kind = |(hooks, what): (&[HookId], &str)| {
        let spans = || hooks.iter().filter_map(|hook| survey.kernel_span(*hook));
        let (begin, end) = (spans().map(|span| span.0).min()?, spans().map(|span| span.1).max()?);
        let records = hooks.iter().map(|hook| u128::from(survey.kernel_count(*hook))).sum::<u128>();
        let long = |from: Ticks, to: Ticks| {
            let ticks = u128::try_from(i128::from(to.0) - i128::from(from.0)).ok()?;
            let due = ticks.saturating_mul(records) / u128::from(end.0.abs_diff(begin.0)).max(1);
            let is_long = ticks.saturating_mul(MISSING_PART.into()) > switches && due >= DUE;
            let [from, to] = [from, to].map(|time| clock.nanos(time).seconds());
            is_long.then(|| format!("from {from:.3} s to {to:.3} s, where by their number about {due} were due"))
        };
        let before = long(first, begin).filter(|_| range.from <= begin);
        let after = long(end, last).filter(|_| range.to >= end);
        let silences: Vec<String> = before.into_iter().chain(after).collect();
        let text = || {
            format!(
                "no {what} are in the trace {}, though threads are switched: their time counts as that of threads there",
                silences.join(" and ")
            )
        };
        (!silences.is_empty()).then(|| Warning::note(CPU.name, "interrupts_missing", text()))
    };
    let kinds: [(&[HookId], &str); 2] =
        [(&[ISR, PASSIVE_ISR, ISR_MSI], "interrupts"), (&[DPC, THREADED_DPC, TIMER_DPC], "deferred procedure calls")];
    kinds.into_iter().filter_map(of_kind).collect()
}

/// Interrupts whose begin cannot be true, and that their time is not known where they are more than a tenth.
fn of_begins(processors: &[Processor]) -> Vec<Warning> {
    let sum = |of: fn(&Processor) -> u64| processors.iter().map(of).sum::<u64>();
    let kinds = [
        ("interrupts_after_end", sum(|processor| processor.malformed), "after the end, or below 0"),
        ("interrupts_before_trace", sum(|processor| processor.implausible), "before the first record of the trace"),
        (
            "interrupts_over_switches",
            sum(|processor| processor.over_switches),
            "before a context switch of their processor that was before their end",
        ),
    ];
    let unknown = kinds.iter().fold(0u64, |sum, (_, interrupts, _)| sum.saturating_add(*interrupts));
    let all = sum(|processor| processor.routines.iter().map(|(_, times)| times.count).sum());
    let mut warnings = Vec::new();
    if unknown >= FEW && unknown.saturating_mul(10) > all {
        let [of, all] = [count(unknown), counted(all, "interrupt", "interrupts")];
        let text = format!("{of} of {all} have a begin that cannot be true: their time counts as that of threads");
        warnings.push(Warning::grave(CPU.name, "interrupts_unknown", text).of(unknown));
    }
    for (code, interrupts, when) in kinds.into_iter().filter(|(_, interrupts, _)| *interrupts > 0) {
        let begin = counted(interrupts, "interrupt begins", "interrupts begin");
        let text = format!("{begin} {when}: counted with no time");
        warnings.push(Warning::note(CPU.name, code, text).of(interrupts));
    }
    warnings
}

/// Fewer switches without a ready record are at the ends of a short trace.
const FEW: u64 = 10;

/// What is missing of threads and their ready records. Where the chain of switches is broken, ready records prove nothing.
pub(super) fn of_scheduler<S: KeptStack>(
    trace: &Trace,
    scheduler: &Scheduler<'_, S>,
    is_whole: bool,
) -> impl Iterator<Item = Warning> {
    let of_readies = if is_whole { of_readies(trace, scheduler) } else { Vec::new() };
    let silent = silent_times(scheduler, &trace.etl().clock).filter(|_| is_whole);
    of_readies_before(scheduler).into_iter().chain(of_threads(scheduler)).chain(of_readies).chain(silent)
}

/// That processors which are sampled also when they are idle have no record for some time. Who ran before it counts as if it ran on.
fn silent_times<S: KeptStack>(scheduler: &Scheduler<'_, S>, clock: &Clock) -> Option<Warning> {
    let name = |(number, (from, to)): (usize, (Ticks, Ticks))| {
        let [from, to] = [from, to].map(|time| clock.nanos(time));
        let length = (to.0 - from.0) as f64 / 1e6;
        format!("{number} from {:.6} s to {:.6} s ({length:.3} ms)", from.seconds(), to.seconds())
    };
    let found: Vec<String> = scheduler.silent.found(&scheduler.samples).into_iter().map(name).collect();
    let [plural, have] = if found.len() == 1 { ["", "has"] } else { ["s", "have"] };
    let text = format!(
        "processor{plural} {} {have} no sample, context switch or ready record, though else sampled always, also when idle: records \
         are missing, or the timer stood; what ran before counts as if it ran on",
        first_of(&found, NAMED)
    );
    (!found.is_empty()).then(|| Warning::note(CPU.name, "processors_silent", text))
}

/// That threads which were readied before the first context switch are forgotten.
fn of_readies_before<S: KeptStack>(scheduler: &Scheduler<'_, S>) -> Option<Warning> {
    let readied = scheduler.before.forgotten()?;
    let text = format!(
        "{} before the first context switch: whether these threads ran since is in no record; they count as not ready until \
         they are readied again",
        counted(readied, "ready record is", "ready records are")
    );
    Some(Warning::note(CPU.name, "readied_before_switches", text).of(readied))
}

/// That threads have no record of their end, though their process has, or of their start; and that the rundowns list some in two processes.
fn of_threads<S: KeptStack>(scheduler: &Scheduler<'_, S>) -> impl Iterator<Item = Warning> {
    let ended = scheduler.ended_with_process;
    let text = format!(
        "{} no record of the end, though their processes have ended: they count as ended with these",
        counted(ended, "thread has", "threads have")
    );
    let ends = (ended > 0).then(|| Warning::note(CPU.name, "thread_ends_missing", text).of(ended));
    let (missing, there) = scheduler.starts.missing();
    let text = format!(
        "{} in no record, though their ends or listings are; {}: how long these threads were ready at first is in no number",
        counted(missing, "start of a thread is", "starts of threads are"),
        counted(there, "start is there", "starts are there"),
    );
    let starts = records_missing(CPU.name, STARTS_MISSING, (missing, there), text);
    ends.into_iter().chain(process_differs(CPU.name, scheduler.process_differs)).chain(starts)
}

/// Ready records that are missing, and those of threads that are not there.
fn of_readies<S: KeptStack>(trace: &Trace, scheduler: &Scheduler<'_, S>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let counts = scheduler.counts.each();
    let of_threads = || counts.iter().filter(|(of, _)| of.instance != IDLE_INSTANCE);
    let sum = |of: fn(&ThreadCounts) -> u64| of_threads().fold(0u64, |sum, (_, counts)| sum.saturating_add(of(counts)));
    let switches = sum(|counts| counts.switches);
    let without = of_threads().filter(|(_, counts)| counts.unknown_ready > 0);
    let threads: BTreeSet<ThreadIndex> = without.map(|(of, _)| of.instance).collect();
    // What a thread did before its first switch is not known in any trace.
    let unknown = sum(|counts| counts.unknown_ready).saturating_sub(threads.len() as u64);
    let is_large = unknown >= FEW && unknown.saturating_mul(10) > switches;
    if trace.survey().kernel_count(READY_THREAD) > 0 && is_large {
        let text = format!(
            "{} of {} to threads have no ReadyThread record before them: how long these were ready is in no number, and counts as \
             waiting",
            count(unknown),
            counted(switches, "switch", "switches")
        );
        warnings.push(Warning::grave(CPU.name, "wakeups_missing", text).of(unknown));
    }
    let threads = || scheduler.instances.all.iter();
    let never_ran = |thread: &&ThreadInstance| {
        thread.state == State::Ready && thread.process.is_none() && thread.profile.first() == Some(&0)
    };
    let unseen = threads().filter(never_ran).count() as u64;
    // Without a rundown of threads most are described by nothing.
    if unseen > 0 && threads().any(|thread| thread.process.is_some()) {
        let text = format!(
            "{} readied that no other record names and that never ran: queue lengths are too large from there on",
            counted(unseen, "thread was", "threads were")
        );
        warnings.push(Warning::grave(CPU.name, "readied_unknown", text).of(unseen));
    }
    warnings
}

/// Stacks that rows or conditions ask for, and that no record has, or not every one.
fn lack_of_stacks(shares: &StackShares) -> impl Iterator<Item = Warning> {
    let note = |code, text| Warning::note(CPU.name, code, text);
    let of_switches = ["context switch", "switch-ins", "stack, function and module", "CSwitch"];
    let of_readies = ["readied thread", "wakeups", "ready_stack, ready_function and ready_module", "ReadyThread"];
    let lacking = move |(share, [record, counted, dimensions, flag]): (Option<StackShare>, [&str; 4])| {
        let StackShare { switch_ins: all, with_stack, of_trace } = share?;
        let without = all.saturating_sub(with_stack);
        match of_trace.with_stack {
            0 => {
                let remedy = format!("rows by {dimensions} have one label (xperf: -stackwalk {flag})");
                Some(note("no_stacks", format!("no record of a {record} has a stack: {remedy}")))
            }
            _ if without > 0 => {
                let [without, all] = [without, all].map(count);
                let text = format!("{without} of {all} {counted} have no stack: their {dimensions} are not known");
                Some(note("stacks_incomplete", text))
            }
            _ => None,
        }
    };
    [(shares.waited, of_switches), (shares.readied, of_readies)].into_iter().filter_map(lacking)
}

/// Codes of windows that begin before the first context switch, or end after the last one.
pub(super) const BEYOND_SWITCHES: [&str; 2] = ["window_before_switches", "window_beyond_switches"];

/// The parts of the window before the first context switch and after the last one: what ran there, no record says. Switches begin a moment after
/// the trace.
fn beyond_switches(trace: &Trace, range: TickRange) -> Vec<Warning> {
    let clock = &trace.etl().clock;
    let Some((first, last)) = switch_ends(trace) else { return Vec::new() };
    let milliseconds = |ticks: u64| ticks as f64 * 1e3 / clock.frequency_hz.max(1) as f64;
    let seconds = |time: Ticks| clock.nanos(time).seconds();
    let before = TickRange { from: range.from, to: first.min(range.to) }.ticks();
    let begin = (before.saturating_mul(100) > range.ticks()).then(|| {
        let text = format!(
            "{:.3} ms of the window are before the first context switch ({:.6} s): no record says what ran then; the thread that the first \
             switch of each processor stops counts as if it ran from the begin on",
            milliseconds(before),
            seconds(first)
        );
        Warning::grave(CPU.name, BEYOND_SWITCHES[0], text)
    });
    let beyond = TickRange { from: last.max(range.from), to: range.to }.ticks();
    let end = (beyond > 0).then(|| {
        let text = format!(
            "{:.3} ms of the window are after the last context switch ({:.6} s): no record says what ran then; the \
             last thread of each processor counts as if it ran on",
            milliseconds(beyond),
            seconds(last)
        );
        Warning::grave(CPU.name, BEYOND_SWITCHES[1], text)
    });
    begin.into_iter().chain(end).collect()
}

/// Processors that a line names.
const NAMED: usize = 8;

/// Processors whose threads are not known for some time.
fn unknown(processors: &[Processor], range: TickRange, etl: &EtlFile) -> Vec<String> {
    let ticks = |processor: &Processor| -> u64 {
        processor.times.iter().map(|times| times.get(ProcessorUse::Unknown as usize).copied().unwrap_or(0)).sum()
    };
    let mut lines = Vec::new();
    let silent = (0..).zip(processors).filter(|(_, processor)| !processor.has_switches());
    let silent = no_switches_of(silent.map(|(number, _)| number));
    lines.extend(silent.map(|silent| format!("{silent}: what ran there is unknown")));
    let unknown = |(number, processor): (usize, &Processor)| {
        let ticks = ticks(processor);
        let nanos = etl.clock.length_ns(ticks);
        (processor.has_switches() && ticks > 0).then(|| {
            format!(
                "{} ({:.1} %) of processor {number}",
                in_milliseconds(nanos as i64, nanos < 1000),
                ticks as f64 * 100.0 / range.ticks().max(1) as f64
            )
        })
    };
    let parts: Vec<String> = processors.iter().enumerate().filter_map(unknown).collect();
    if !parts.is_empty() {
        lines.push(format!("which threads ran is unknown for {}", first_of(&parts, NAMED)));
    }
    lines
}

/// Code of processors whose first or last buffers can be missing.
const SWITCHES_AT_ENDS: &str = "switches_at_ends";

/// That buffers are missing which can be the first or the last of a processor that has no switch for long there.
fn perhaps_missing(processors: &[Processor], range: TickRange, etl: &EtlFile) -> Option<Warning> {
    let silent = |(number, processor): (usize, &Processor)| {
        let ticks = processor.perhaps_missing();
        let milliseconds = ticks as f64 * 1e3 / etl.clock.frequency_hz.max(1) as f64;
        let is_long = ticks.saturating_mul(MISSING_PART) > range.ticks();
        is_long.then(|| format!("{milliseconds:.3} ms of processor {number}"))
    };
    let parts: Vec<String> = processors.iter().enumerate().filter_map(silent).collect();
    let shown = first_of(&parts, NAMED);
    let text = format!(
        "buffers are missing that can be the first or the last of processors without a switch there: {shown}; the thread of the \
         first switch counts as if it ran before it, that of the last one as if it ran on"
    );
    (!parts.is_empty()).then(|| Warning::grave(CPU.name, SWITCHES_AT_ENDS, text).of(parts.len() as u64))
}
