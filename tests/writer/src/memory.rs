//! Memory over time: a machine whose counters and working sets are sampled, of any length, with the truth about each sample.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use super::bytes::Ptr;
use super::payloads::counters::{MemInfo, working_sets};
use super::payloads::process::{DC_START, END, Process, START};
use super::payloads::system::Cpu;
use super::rng::Rng;
use super::session::Session;
use super::stream::Stream;

/// How many samples of what.
#[derive(Clone, Debug)]
pub struct MemorySpec {
    /// Samples, 500 ms apart.
    pub samples: u64,
    /// Processes; each fifth one ends in the middle, and another gets its id.
    pub processes: u32,
    /// Sessions.
    pub sessions: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// The forms of older Windows: no pools and commit, no stores.
    pub old: bool,
    /// Physical memory by the system configuration, MB; `None`: no record of it.
    pub memory_mb: Option<u32>,
    /// Pointer size and buffers.
    pub session: Session,
    /// True to keep the truth, which takes memory.
    pub keep: bool,
}

impl Default for MemorySpec {
    fn default() -> MemorySpec {
        MemorySpec {
            samples: 12,
            processes: 20,
            sessions: 2,
            seed: 1,
            old: false,
            memory_mb: Some(16 << 10),
            session: Session::windows10(),
            keep: true,
        }
    }
}

/// One entry of a record: raw time and the eight counts as in the record.
pub type Entry = (u64, [u64; 8]);

/// What was written.
#[derive(Clone, Debug, Default)]
pub struct MemoryTruth {
    /// Length of the file.
    pub bytes: u64,
    /// Entries of processes.
    pub entries: u64,
    /// Counters with their raw times.
    pub counters: Vec<(u64, MemInfo)>,
    /// Entries of processes by label.
    pub processes: BTreeMap<String, Vec<Entry>>,
    /// Entries of sessions by id.
    pub sessions: BTreeMap<u32, Vec<Entry>>,
}

/// Entries of one record: a record has at most 64 KiB.
const ENTRIES: usize = 900;
const STEP: u64 = 5_000_000;

/// A number that has wandered from `value` by at most a hundredth, not below 1.
fn wander(rng: &mut Rng, value: u64) -> u64 {
    let step = value / 100 + 1;
    (value + rng.below(2 * step + 1)).saturating_sub(step).max(1)
}

/// Writes the trace.
pub fn generate_memory<W: Write + Seek>(spec: &MemorySpec, out: W) -> io::Result<(W, MemoryTruth)> {
    let (p, t0) = (spec.session.pointer, spec.session.t0);
    let mut rng = Rng::new(spec.seed);
    let mut truth = MemoryTruth::default();
    let cpu = spec.memory_mb.map(|memory_mb| Cpu { memory_mb, ..Cpu::default() }.rec(p, 3).at(t0 + 1));
    let mut stream = Stream::new(spec.session.clone(), &cpu.into_iter().collect::<Vec<_>>(), out)?;
    let pid = |n: u32| 100 + n * 4;
    let process = |n: u32, life: u32| Process {
        key: 0xffff_9c08_0000_0080 * u64::from(p == Ptr::P8) + u64::from(n * 2 + life + 1) * 0x1000,
        session: n % spec.sessions.max(1),
        ..Process::new(pid(n), &format!("p{n}-{life}.exe"))
    };
    for n in 0..spec.processes {
        stream.push(&process(n, 0).rec(p, 3, DC_START).at(t0 + 2 + u64::from(n)))?;
    }
    let mut sizes: Vec<[u64; 8]> =
        (0..spec.processes + spec.sessions).map(|_| std::array::from_fn(|_| rng.between(1, 60_000))).collect();
    let mut info = MemInfo {
        zero: 200_000,
        free: 5_000,
        modified: 9_000,
        modified_no_write: 300,
        bad: 3,
        standby: std::array::from_fn(|_| rng.between(1_000, 50_000)),
        repurposed: std::array::from_fn(|_| rng.between(1_000, 900_000)),
        modified_pagefile: 7_000,
        system: [90_000, 60_000, 100, 900_000],
    };
    for sample in 0..spec.samples {
        let time = t0 + 1_000 + spec.processes as u64 + sample * STEP;
        let reborn = sample >= spec.samples / 2;
        if sample == spec.samples / 2 {
            for n in (0..spec.processes).step_by(5) {
                stream.push(&process(n, 0).rec(p, 3, END).at(time - 2_000_000))?;
            }
            for n in (0..spec.processes).step_by(5) {
                stream.push(&process(n, 1).rec(p, 3, START).at(time - 1_000_000).by(8, 4))?;
            }
        }
        for count in [&mut info.zero, &mut info.free, &mut info.modified].into_iter().chain(&mut info.standby) {
            *count = wander(&mut rng, *count);
        }
        for count in &mut info.repurposed {
            *count += if rng.percent(60) { rng.below(900) } else { 0 };
        }
        info.system = info.system.map(|count| wander(&mut rng, count));
        stream.push(&info.rec(p, if spec.old { 2 } else { 3 }).at(time).on((sample % 2) as u16))?;
        for counts in &mut sizes {
            for count in counts {
                *count = wander(&mut rng, *count);
            }
        }
        let (processes, sessions) = sizes.split_at(spec.processes as usize);
        let entries: Vec<(u32, [u64; 8])> = (0..).map(pid).zip(processes.iter().copied()).collect();
        for (number, part) in entries.chunks(ENTRIES).enumerate() {
            let time = time + 10 + number as u64;
            stream.push(&working_sets(p, 0x027d, part, spec.old).at(time).on((sample % 3) as u16))?;
        }
        let of_sessions: Vec<(u32, [u64; 8])> = (0..).zip(sessions.iter().copied()).collect();
        stream.push(&working_sets(p, 0x027e, &of_sessions, spec.old).at(time + 500))?;
        truth.entries += entries.len() as u64;
        if spec.keep {
            truth.counters.push((time, info));
            for (n, (id, counts)) in (0u32..).zip(&entries) {
                let label = format!("p{n}-{}.exe ({id})", u32::from(reborn && n % 5 == 0));
                let time = time + 10 + u64::from(n) / ENTRIES as u64;
                truth.processes.entry(label).or_default().push((time, *counts));
            }
            for (id, counts) in of_sessions {
                truth.sessions.entry(id).or_default().push((time + 500, counts));
            }
        }
    }
    let (out, bytes) = stream.finish()?;
    Ok((out, MemoryTruth { bytes, ..truth }))
}
