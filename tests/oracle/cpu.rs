//! What processors and threads did, on made-up machines: the library's account against what the machine itself did in each
//! moment, and books that balance on traces that lost records.

use crate::random_cases::cases;
use crate::with_file;
use etl_writer::machine::scheduling::{BUILD, Doing, Owner};
use etl_writer::machine::{Machine, Setup};
use etl_writer::payloads::thread;
use etl_writer::{Ptr, Rec, Session, Trace};
use pfnset::analysis::cpu::query::CpuQuery;
use pfnset::analysis::cpu::{CpuRow, CpuUse};
use pfnset::etl::EtlFile;
use pfnset::model::window::Bound;
use pfnset::units::Nanos;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Small buffers, so that a trace has many; the clock ticks each 100 ns.
fn session(processors: usize) -> Session {
    Session { processors: processors as u32, buffer_size: 1024, build: BUILD, ..Session::windows10() }
}

fn ask(bytes: &[u8], names: &str, window: Option<(u64, u64)>, t0: u64) -> CpuUse {
    with_file(bytes, |trace| ask_file(trace, names, window, t0))
}

fn ask_file(trace: &pfnset::trace::Trace, names: &str, window: Option<(u64, u64)>, t0: u64) -> CpuUse {
    let mut query = CpuQuery { timeline: Some(Nanos(37_000)), ..CpuQuery::default() };
    query.group_by = pfnset::dimensions::Dimension::parse_list(names).expect("dimensions");
    let bound = |stamp: u64| Some(Bound::Time(Nanos(i128::from(stamp - t0) * 100)));
    if let Some((from, to)) = window {
        (query.from, query.to) = (bound(from), bound(to));
    }
    CpuUse::answer(trace, &query).expect("a trace with context switches")
}

/// Reads two files as one recording.
fn with_files<R>(first: &[u8], second: &[u8], read: impl FnOnce(&pfnset::trace::Trace) -> R) -> R {
    let [first, second] = [first, second].map(etl_writer::file_of);
    let mut etl = EtlFile::open(first.path()).expect("an .etl file");
    let second = EtlFile::open(second.path()).expect("an .etl file");
    etl.join("second", second).expect("a file of the same recording");
    read(&etl.into())
}

/// Sums that hold on every trace.
fn check_sums(set: &CpuUse) {
    assert!(set.is_balanced(), "{:?} of {} ticks", set.by_processor, set.window_ticks);
    for row in &set.rows {
        if let Some(states) = row.states {
            let parts = [states.running, states.ready, states.waiting, states.unknown, states.not_alive];
            assert_eq!(parts.iter().sum::<u64>(), set.window_ticks, "{row:?}");
            let waits: u64 = row.waits.values().map(|wait| wait.ticks).sum();
            assert_eq!(waits, states.waiting, "{row:?}");
        }
    }
    let cpu: u64 = set.rows.iter().map(|row| row.cpu).sum();
    assert_eq!(cpu, set.total.by_use[0] + set.total.by_use[1], "threads and idle");
    let steps = set.timeline.as_deref().unwrap_or_default();
    for (owner, total) in set.total.by_use.iter().enumerate() {
        assert_eq!(steps.iter().map(|step| step.by_use[owner]).sum::<u64>(), *total, "owner {owner} over time");
    }
    let grouped: u64 = steps.iter().flat_map(|step| step.groups.values()).sum();
    assert_eq!(grouped, cpu, "groups over time");
    let queue: u64 = set.queue.by_length.iter().map(|(_, ticks)| ticks).sum();
    assert_eq!(queue, set.window_ticks, "the queue has a length at each moment");
}

/// Compares the account of a whole trace with what the machine did in the moments `from..to`.
fn check_truth(machine: &Machine, set: &CpuUse, from: usize, to: usize) {
    assert_eq!((set.window_ticks, set.breaks), ((to - from) as u64, 0));
    let mut by_use = [0u64; 5];
    let mut cpu: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    let labels = |life: usize| {
        let (process, tid) = (&machine.lives[machine.threads[life].life], machine.threads[life].tid);
        vec![format!("{} ({})", process.name(), process.pid), tid.to_string()]
    };
    for owner in machine.schedule.owners.iter().flat_map(|list| &list[from..to]) {
        let (place, row) = match owner {
            Owner::Thread(life) => (0, Some(labels(*life))),
            Owner::Idle => (1, Some(vec!["Idle (0)".to_owned(), "0".to_owned()])),
            Owner::Dpc => (2, None),
            Owner::Isr => (3, None),
        };
        by_use[place] += 1;
        row.into_iter().for_each(|row| *cpu.entry(row).or_default() += 1);
    }
    assert_eq!(set.total.by_use, by_use);
    let found = set.rows.iter().filter(|row| row.cpu > 0).map(|row| (texts(row), row.cpu)).collect();
    assert_eq!(cpu, found);
    check_states(machine, set, from, to, &labels);
    let delays = |known: &[(usize, usize, u64)]| {
        let mut all: BTreeMap<Vec<String>, (u64, u64, u64)> = BTreeMap::new();
        for (_, life, length) in known.iter().filter(|delay| (from..to).contains(&delay.0)) {
            let (count, sum, max) = all.entry(labels(*life)).or_default();
            (*count, *sum, *max) = (*count + 1, *sum + length, (*max).max(*length));
        }
        all
    };
    let with_delays = set.rows.iter().filter(|row| row.delays.all.count > 0);
    let found = with_delays.map(|row| (texts(row), row.delays.all)).collect::<Vec<_>>();
    let found = found.into_iter().map(|(labels, all)| (labels, (all.count, all.total, all.max))).collect();
    assert_eq!(delays(&machine.schedule.delays), found);
    let unknown = machine.schedule.unknown_ready.iter().filter(|time| (from..to).contains(time)).count() as u64;
    assert_eq!(set.rows.iter().map(|row| row.unknown_ready).sum::<u64>(), unknown);
    let mut redundant: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for (_, life) in machine.schedule.redundant.iter().filter(|(record, _)| (from..to).contains(record)) {
        *redundant.entry(labels(*life)).or_default() += 1;
    }
    let found = set.rows.iter().filter(|row| row.redundant > 0).map(|row| (texts(row), row.redundant)).collect();
    assert_eq!(redundant, found);
    let switches = machine.schedule.switches.iter().filter(|time| (from..to).contains(time)).count() as u64;
    assert_eq!(set.total.switches, switches);
}

fn texts(row: &CpuRow) -> Vec<String> {
    row.labels.iter().map(ToString::to_string).collect()
}

fn check_states(machine: &Machine, set: &CpuUse, from: usize, to: usize, labels: &impl Fn(usize) -> Vec<String>) {
    let mut states: BTreeMap<Vec<String>, [u64; 4]> = BTreeMap::new();
    let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
    let doing = machine.doing();
    for moment in from..to {
        let mut ready = 0;
        for (life, list) in doing.iter().enumerate() {
            let doing = list.get(moment).copied().unwrap_or(Doing::Gone);
            ready += u64::from(doing == Doing::Ready);
            let place = [Doing::Runs, Doing::Ready, Doing::Waits, Doing::Unknown].iter().position(|d| *d == doing);
            place.into_iter().for_each(|place| states.entry(labels(life)).or_default()[place] += 1);
        }
        *lengths.entry(ready).or_default() += 1;
    }
    let alive = set.rows.iter().filter_map(|row| Some((texts(row), row.states?)));
    let alive = alive.map(|(labels, s)| (labels, [s.running, s.ready, s.waiting, s.unknown]));
    let found: BTreeMap<_, _> = alive.filter(|(_, parts)| parts.iter().any(|ticks| *ticks > 0)).collect();
    assert_eq!(states, found);
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), set.queue.by_length);
}

/// Records that made a thread ready, by process, waker, and whether a deferred procedure call did it.
fn wakeups(sets: &[&CpuUse]) -> BTreeMap<(String, String, bool), u64> {
    let mut sums = BTreeMap::new();
    for row in sets.iter().flat_map(|set| &set.wakeups) {
        *sums.entry((row.process.clone(), row.waker.clone(), row.from_dpc)).or_default() += row.count;
    }
    sums
}

/// The machine's trace, and the moments of its first and its last switch.
fn live(seed: u64, processors: usize, threads: usize, moments: usize) -> Option<(Machine, Session, usize, usize)> {
    let session = session(processors);
    let mut machine = Machine::new(Setup { processors: processors as u16, ..Setup::default() }, seed);
    machine.run(threads, moments);
    machine.settle();
    let (first, last) = (*machine.schedule.switches.first()?, *machine.schedule.switches.last()?);
    // Of more threads that were readied before the first switch the account says that it does not know them (readied_before_switches).
    const KNOWN: usize = 10;
    let begin = machine.stamp(first);
    let are_known = machine.records().filter(|rec| rec.hook == 0x0532 && rec.time < begin).count() <= KNOWN;
    // A processor without a switch is unknown to the recorder.
    (last > first && are_known).then_some((machine, session, first, last))
}

/// The old thread of a switch at the window's end is the new one of the compact switch before it.
#[test]
fn the_last_compact_switch_before_the_end() {
    let mut seen = 0;
    for (machine, session, first, last) in (0..1000).filter_map(|seed| live(seed, 3, 3, 60)) {
        let at_end = |hook: u16| machine.records().find(|rec| rec.hook == hook && rec.time == machine.stamp(last));
        let (Some(switch), Some(packet)) = (at_end(0x0524), at_end(0x0525)) else { continue };
        if switch.processor == packet.processor && all_switched(&machine) && machine.is_closed() {
            seen += 1;
            let t0 = session.t0;
            let bytes = Trace::new(session).push_all(machine.records()).finish();
            check_truth(&machine, &ask(&bytes, "process,thread", None, t0), first, last);
        }
    }
    assert!(seen > 5, "{seen} of the machines have compact switches before the last one");
}

/// True when all processors have switched: a packet of compact switches alone does not tell who ran at first.
fn all_switched(machine: &Machine) -> bool {
    let has_switched =
        |processor: usize| machine.records().any(|r| r.hook == 0x0524 && usize::from(r.processor) == processor);
    (0..machine.schedule.owners.len()).all(has_switched)
}

/// A machine's account in whole and in parts. `size`: processors, threads, moments; `cuts`: what is left out before and after.
fn each_moment(seed: u64, size: [usize; 3], cuts: [usize; 2]) -> Result<(), TestCaseError> {
    let ([processors, threads, moments], [cut, cut_at_end]) = (size, cuts);
    let Some((machine, session, first, last)) = live(seed, processors, threads, moments) else { return Ok(()) };
    prop_assume!(all_switched(&machine) && machine.is_closed());
    let t0 = session.t0;
    let bytes = Trace::new(session).push_all(machine.records()).finish();
    let set = ask(&bytes, "process,thread", None, t0);
    check_sums(&set);
    check_truth(&machine, &set, first, last);
    // A part of it.
    let from = first + (last - first) * cut / 200;
    let window = Some((machine.stamp(from), machine.stamp(last)));
    let set = ask(&bytes, "process,thread", window, t0);
    check_sums(&set);
    check_truth(&machine, &set, from, last);
    // A part that ends earlier, and the rest.
    let to = last - (last - first) * cut_at_end / 400;
    prop_assume!(from < to && to < last);
    let before = ask(&bytes, "process,thread", Some((machine.stamp(from), machine.stamp(to))), t0);
    check_sums(&before);
    check_truth(&machine, &before, from, to);
    let after = ask(&bytes, "process,thread", Some((machine.stamp(to), machine.stamp(last))), t0);
    prop_assert_eq!(wakeups(&[&before, &after]), wakeups(&[&set]));
    Ok(())
}

/// A thread of which the rundown alone tells in the window, and after it another one starts with its id: the first one is there all the time.
#[test]
fn a_thread_whose_id_is_used_again_after_the_window_stays_in_it() {
    each_moment(15592541775077235029, [3, 10, 1219], [0, 3]).expect("as it was");
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn each_moment_is_told_as_it_was(
        seed: u64,
        processors in 1usize..4,
        threads in 1usize..12,
        moments in 200usize..3000,
        cut in 0usize..100,
        cut_at_end in 0usize..100,
    ) {
        each_moment(seed, [processors, threads, moments], [cut, cut_at_end])?;
    }

    /// A recording in two files, by processor or by the kind of the records.
    #[test]
    fn two_files_tell_what_one_tells(
        seed: u64,
        processors in 1usize..4,
        threads in 1usize..12,
        moments in 200usize..2000,
        by_kind: bool,
    ) {
        let Some((machine, session, first, last)) = live(seed, processors, threads, moments) else { return Ok(()) };
        prop_assume!(all_switched(&machine) && machine.is_closed());
        let is_second = |rec: &Rec| if by_kind { rec.hook == 0x0532 || rec.hook >> 8 == 0x0f } else { rec.processor == 0 };
        let (second, first_file): (Vec<Rec>, Vec<Rec>) = machine.records().partition(is_second);
        let later = Session { t0: session.t0 + 70, start_time: session.start_time + 70, ..session.clone() };
        let (t0, later) = (session.t0, Trace::new(later).push_all(second).finish());
        let bytes = Trace::new(session).push_all(first_file).finish();
        let set = with_files(&bytes, &later, |trace| ask_file(trace, "process,thread", None, t0));
        check_sums(&set);
        check_truth(&machine, &set, first, last);
        let told = set.warnings.iter().find(|line| line.text.contains("earlier time"));
        prop_assert_eq!(told, None);
    }

    #[test]
    fn books_balance_whatever_is_lost(
        seed: u64,
        processors in 1usize..4,
        threads in 1usize..12,
        moments in 500usize..3000,
        lost in prop::collection::vec(2u64..60, 0..6),
        dropped in 0u64..20,
        shuffled: bool,
    ) {
        let Some((machine, session, ..)) = live(seed, processors, threads, moments) else { return Ok(()) };
        let mut rng = etl_writer::Rng::new(seed);
        let kept = machine.records().filter(|_| !rng.percent(dropped)).collect::<Vec<_>>();
        let mut trace = Trace::new(session).push_all(kept).lose_buffers(&lost);
        if shuffled {
            trace = trace.shuffled(seed);
        }
        let bytes = trace.finish();
        for names in ["process,thread", "process"] {
            let found = with_file(&bytes, |trace| {
                let mut query = CpuQuery { timeline: Some(Nanos(37_000)), ..CpuQuery::default() };
                query.group_by = pfnset::dimensions::Dimension::parse_list(names).expect("dimensions");
                CpuUse::answer(trace, &query).ok()
            });
            found.iter().for_each(check_sums);
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    /// What owned a moment does not depend on where a window ends, beside lost buffers too.
    #[test]
    fn windows_side_by_side_add_up_beside_holes(
        seed: u64,
        processors in 1usize..4,
        threads in 1usize..12,
        moments in 300usize..1500,
        lost in prop::collection::vec(2u64..30, 1..5),
        cuts in prop::collection::vec(1usize..1000, 12),
    ) {
        let Some((machine, session, ..)) = live(seed, processors, threads, moments) else { return Ok(()) };
        let t0 = session.t0;
        let bytes = Trace::new(session).push_all(machine.records()).lose_buffers(&lost).finish();
        let kept = with_file(&bytes, |trace| CpuUse::answer(trace, &CpuQuery::default()).map(|set| set.window_bounds));
        let Ok((from, to)) = kept else { return Ok(()) };
        let (from, to) = (t0 + from as u64, t0 + to as u64);
        let of = |from: u64, to: u64| -> Vec<[u64; 5]> {
            let set = ask(&bytes, "thread", Some((from, to)), t0);
            check_sums(&set);
            set.by_processor.iter().map(|times| times.by_use).collect()
        };
        let whole = of(from, to);
        for cut in cuts {
            let middle = from + (to - from) * cut as u64 / 1000;
            if middle <= from || middle >= to {
                continue;
            }
            let mut sum = of(from, middle);
            for (sum, more) in sum.iter_mut().flatten().zip(of(middle, to).iter().flatten()) {
                *sum += more;
            }
            prop_assert_eq!(&sum, &whole, "{} of {}..{}", middle - t0, from - t0, to - t0);
        }
    }
}

/// What the comparisons are about happens on these machines.
#[test]
fn machines_race_repeat_and_log_packets() {
    let machines: Vec<Machine> = (0..30).filter_map(|seed| Some(live(seed, 3, 8, 1500)?.0)).collect();
    let records: Vec<Vec<Rec>> = machines.iter().map(|machine| machine.records().collect()).collect();
    for hook in [0x0524, 0x0525, 0x0532, 0x0f42, 0x0f43, 0x0f44, 0x0f45] {
        assert!(records.iter().flatten().any(|rec| rec.hook == hook), "{hook:#06x}");
    }
    let equal = |pair: &[Rec]| pair[0].time == pair[1].time && pair[0].processor != pair[1].processor;
    assert!(records.iter().flat_map(|records| records[20..].windows(2)).filter(|pair| equal(pair)).count() > 100);
    assert!(machines.iter().map(|machine| machine.schedule.redundant.len()).sum::<usize>() > 100);
    assert!(machines.iter().any(|machine| machine.doing() != machine.schedule.doing));
    assert!(machines.iter().filter(|machine| machine.is_closed()).count() > 15);
}

/// A thread is readied on one processor and runs on another at the same tick: the file's order decides which came first.
#[test]
fn records_of_equal_time_count_in_the_order_of_the_buffers() {
    for is_ready_first in [true, false] {
        let session = session(2);
        let switch =
            |new: u32, old: u32| thread::Switch { new, old, state: 5, ..thread::Switch::default() }.rec(Ptr::P8, 4);
        let at = |rec: Rec, processor: u16, tick: u64| rec.on(processor).at(session.t0 + tick);
        let of_first = [at(switch(8, 0), 0, 100), at(switch(0, 8), 0, 110), at(switch(8, 0), 0, 120)];
        let of_second = [at(switch(12, 0), 1, 105), at(thread::ready(Ptr::P8, 8, 1, 0, 0), 1, 120)];
        // Whose buffer is begun first has the lower sequence number, wherever it lies in the file.
        let trace = Trace::new(session.clone());
        let trace = match is_ready_first {
            true => trace.push_all(of_second).push_all(of_first),
            false => trace.push_all(of_first).push_all(of_second),
        };
        let trace = trace.flush(0).flush(1).push_all([at(switch(0, 8), 0, 130), at(switch(0, 12), 1, 140)]);
        let set = ask(&trace.finish(), "thread", None, session.t0);
        check_sums(&set);
        let row = set.rows.iter().find(|row| row.labels == ["8"]).expect("the thread");
        // The first switch-in comes after nothing that is known.
        let expected = if is_ready_first { (1, 1, 0) } else { (0, 2, 0) };
        assert_eq!((row.delays.all.count, row.unknown_ready, row.delays.all.max), expected);
    }
}

/// Records, and the tick and processor of each.
type Placed<'r> = Vec<(u64, u16, &'r Rec)>;

/// A thread is readied while it runs. What that record was, records after the window tell.
#[test]
fn a_record_is_what_it_was_wherever_the_window_ends() {
    const TO: u64 = 120;
    let ready = thread::ready(Ptr::P8, 8, 1, 0, 0);
    let switch =
        |new: u32, old: u32, state: u8| thread::Switch { new, old, state, ..thread::Switch::default() }.rec(Ptr::P8, 4);
    let (waits, preempted) = (switch(0, 8, 5), switch(0, 8, 1));
    let (runs_again, other) = (switch(8, 0, 5), switch(0, 16, 5));
    // What follows on both processors, wakeups, redundant records, and the ticks for which the thread is ready.
    let cases: [(&str, Placed<'_>, [u64; 3]); 9] = [
        ("switched out as ready", vec![(130, 0, &preempted)], [0, 1, 0]),
        ("waits, and the trace ends", vec![(130, 0, &waits)], [1, 0, 0]),
        ("waits from the window's end on", vec![(TO, 0, &waits)], [1, 0, 0]),
        ("waits, and runs again", vec![(130, 0, &waits), (140, 0, &runs_again), (150, 1, &ready)], [1, 0, 0]),
        ("waits, and is readied again", vec![(130, 0, &waits), (140, 1, &ready)], [0, 1, 0]),
        ("the trace ends", vec![(130, 1, &ready)], [0, 0, 0]),
        ("waited in the window, and runs again", vec![(117, 0, &waits), (140, 0, &runs_again)], [1, 0, 3]),
        ("waited in the window, and is readied again", vec![(117, 0, &waits), (140, 1, &ready)], [0, 1, 0]),
        ("another thread leaves", vec![(130, 0, &other), (140, 0, &preempted)], [0, 0, 0]),
    ];
    for (what, later, [woken, redundant, ready_ticks]) in cases {
        let session = session(2);
        let at = |rec: &Rec, processor: u16, tick: u64| rec.clone().on(processor).at(session.t0 + tick);
        let first = [at(&switch(8, 0, 5), 0, 100), at(&switch(12, 0, 5), 1, 105), at(&ready, 1, 110)];
        let later = later.into_iter().map(|(tick, processor, rec)| at(rec, processor, tick));
        let last = at(&switch(0, 12, 5), 1, 160);
        let bytes = Trace::new(session.clone()).push_all(first.into_iter().chain(later).chain([last])).finish();
        let t0 = session.t0;
        let set = ask(&bytes, "thread", Some((t0 + 100, t0 + TO)), t0);
        check_sums(&set);
        let row = set.rows.iter().find(|row| row.labels == ["8"]).expect("the thread");
        let found = [set.wakeups.iter().map(|row| row.count).sum(), row.redundant, row.states.map_or(0, |s| s.ready)];
        assert_eq!(found, [woken, redundant, ready_ticks], "{what}");
    }
}
