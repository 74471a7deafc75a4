//! A scheduler's trace of any length: context switches, ready threads and interrupts of many processors, for benches.

use std::io::{self, Seek, Write};

use super::payloads::{process, thread};
use super::{Ptr::P8, Rng, Session, Stream};

/// How much happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulingSpec {
    /// Context switches; each has a record of the thread that became ready before.
    pub switches: u64,
    /// Switches for one deferred procedure call.
    pub switches_per_dpc: u64,
    /// Processors.
    pub processors: u16,
    /// Threads.
    pub threads: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for SchedulingSpec {
    fn default() -> Self {
        SchedulingSpec { switches: 20_000_000, switches_per_dpc: 4, processors: 16, threads: 2000, seed: 1 }
    }
}

impl SchedulingSpec {
    /// A trace for tests.
    pub fn small() -> SchedulingSpec {
        SchedulingSpec { switches: 20_000, processors: 4, threads: 50, ..SchedulingSpec::default() }
    }

    /// Switches, ready threads and deferred procedure calls.
    pub fn records(&self) -> u64 {
        2 * self.switches + self.switches / self.switches_per_dpc
    }
}

/// A PERFINFO record with a payload of fixed fields.
fn record(hook: u16, version: u8, time: u64, payload: &[u8]) -> ([u8; 40], usize) {
    let mut bytes = [0; 40];
    let size = 16 + payload.len();
    bytes[..4].copy_from_slice(&[version, 0, 17, 0xc0]);
    bytes[4..6].copy_from_slice(&(size as u16).to_le_bytes());
    bytes[6..8].copy_from_slice(&hook.to_le_bytes());
    bytes[8..16].copy_from_slice(&time.to_le_bytes());
    bytes[16..size].copy_from_slice(payload);
    (bytes, size.next_multiple_of(8))
}

/// Writes the trace; gives the output and its length in bytes.
///
/// # Errors
/// What the output says.
pub fn generate_scheduling<W: Write + Seek>(spec: &SchedulingSpec, out: W) -> io::Result<(W, u64)> {
    let session = Session { processors: spec.processors.into(), buffer_size: 0x1_0000, ..Session::windows10() };
    let mut time = session.t0 + 1000;
    let mut stream = Stream::new(session, &[], out)?;
    let mut rng = Rng::new(spec.seed);
    for number in 0..100 {
        let pid = 100 + 4 * number;
        stream.push(&process::Process::new(pid, &format!("p{number}.exe")).rec(P8, 4, process::DC_START).at(time))?;
    }
    let tid = |number: u32| 1000 + 4 * number;
    for number in 0..spec.threads {
        let described = thread::Thread { pid: 100 + 4 * (number % 100), tid: tid(number), ..thread::Thread::default() };
        stream.push(&described.rec(P8, 3, thread::DC_START).at(time))?;
    }
    let mut running: Vec<u32> = (0..u32::from(spec.processors)).collect();
    for number in 0..spec.switches {
        time += rng.between(1, 40);
        let processor = rng.below(spec.processors.into()) as usize;
        let mut new = rng.below(spec.threads.into()) as u32;
        while running.contains(&new) {
            new = (new + 1) % spec.threads;
        }
        let by = rng.below(spec.processors.into()) as u16;
        let mut ready = [0; 8];
        ready[..4].copy_from_slice(&tid(new).to_le_bytes());
        ready[4] = 1;
        let (bytes, size) = record(0x0532, 2, time, &ready);
        stream.push_encoded(by, time, &bytes[..size])?;
        time += rng.between(1, 60);
        if number % spec.switches_per_dpc == 0 {
            let mut dpc = [0; 16];
            dpc[..8].copy_from_slice(&(time - rng.below(20)).to_le_bytes());
            dpc[8..].copy_from_slice(&(0xffff_f800_0010_0000u64 + 64 * rng.below(50)).to_le_bytes());
            let (bytes, size) = record(0x0f44, 2, time, &dpc);
            stream.push_encoded(processor as u16, time, &bytes[..size])?;
        }
        let mut switch = [0; 24];
        switch[..4].copy_from_slice(&tid(new).to_le_bytes());
        switch[4..8].copy_from_slice(&tid(running[processor]).to_le_bytes());
        (switch[12], switch[14]) = ([0, 6, 15][number as usize % 3], 5);
        let (bytes, size) = record(0x0524, 4, time, &switch);
        stream.push_encoded(processor as u16, time, &bytes[..size])?;
        running[processor] = new;
    }
    stream.finish()
}
