//! A trace of samples with stacks, of any length: call trees whose stacks share their outer frames, for benches.

use std::io::{self, Seek, Write};

use super::payloads::{image, process, thread};
use super::{Ptr::P8, Rng, Session, Stream};

/// How much happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingSpec {
    /// Samples, each with a stack.
    pub samples: u64,
    /// Different stacks: a power of two.
    pub stacks: u64,
    /// Frames of each.
    pub frames: u32,
    /// Processors.
    pub processors: u16,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for SamplingSpec {
    /// Four million samples of a program's 65,536 stacks: 1.1 GB.
    fn default() -> Self {
        SamplingSpec { samples: 4_000_000, stacks: 1 << 16, frames: 24, processors: 8, seed: 1 }
    }
}

impl SamplingSpec {
    /// A trace for tests.
    pub fn small() -> SamplingSpec {
        SamplingSpec { samples: 20_000, stacks: 1 << 8, processors: 4, ..SamplingSpec::default() }
    }

    /// A million stacks of 60 frames, each once: 0.6 GB.
    pub fn distinct() -> SamplingSpec {
        SamplingSpec { samples: 1 << 20, stacks: 1 << 20, frames: 60, ..SamplingSpec::default() }
    }

    /// Return addresses of a stack, innermost first. The callers of two stacks are the same from the outermost inwards as far as
    /// the numbers of the stacks have the same upper bits.
    pub fn stack(&self, number: u64) -> Vec<u64> {
        let bits = u64::from(self.stacks.trailing_zeros());
        let frame = |level: u64| {
            let shared = number >> (bits - bits * (level + 1) / u64::from(self.frames));
            let mixed = (shared ^ (level << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // A program has some ten thousand places that call something.
            BASE + 16 * (1 + (mixed >> 40) % 20_000)
        };
        (0..u64::from(self.frames)).rev().map(frame).collect()
    }
}

/// Where the one image of all processes lies.
const BASE: u64 = 0x7ff6_1000_0000;
const PROCESSES: u32 = 8;
const THREADS: u32 = 64;

/// Writes the trace; gives the output and its length in bytes.
///
/// # Errors
/// What the output says.
pub fn generate_sampling<W: Write + Seek>(spec: &SamplingSpec, out: W) -> io::Result<(W, u64)> {
    let session = Session { processors: spec.processors.into(), buffer_size: 0x1_0000, ..Session::windows10() };
    let mut time = session.t0 + 1000;
    let mut stream = Stream::new(session, &[], out)?;
    let mut rng = Rng::new(spec.seed);
    let (pid, tid) = (|number: u32| 100 + 4 * (number % PROCESSES), |number: u32| 1000 + 4 * number);
    for number in 0..PROCESSES {
        let described = process::Process::new(pid(number), &format!("p{number}.exe"));
        stream.push(&described.rec(P8, 4, process::DC_START).at(time))?;
        let name = r"\Device\HarddiskVolume2\program.exe".to_owned();
        let program = image::Image { base: BASE, size: 0x20_0000, pid: pid(number), name, ..image::Image::default() };
        stream.push(&program.rec(P8, 3, image::DC_START).at(time))?;
    }
    for number in 0..THREADS {
        let described = thread::Thread { pid: pid(number), tid: tid(number), ..thread::Thread::default() };
        stream.push(&described.rec(P8, 3, thread::DC_START).at(time))?;
    }
    let mut bytes = Vec::new();
    for number in 0..spec.samples {
        time += rng.between(1, 40);
        let processor = rng.below(spec.processors.into()) as u16;
        // Each stack once, in no order, before any comes again. One process has it, in any of its threads.
        let drawn = (number.wrapping_mul(0x9e37_79b9) ^ spec.seed) % spec.stacks;
        let stack = spec.stack(drawn);
        let of_process = (drawn % u64::from(PROCESSES)) as u32;
        let thread = of_process + PROCESSES * rng.below(u64::from(THREADS / PROCESSES)) as u32;
        bytes.clear();
        head(&mut bytes, 0x0f2e, time, 16);
        bytes.extend(stack.first().copied().unwrap_or(0).to_le_bytes());
        bytes.extend([tid(thread), 1].map(u32::to_le_bytes).concat());
        stream.push_encoded(processor, time, &bytes)?;
        bytes.clear();
        head(&mut bytes, 0x1820, time + 1, 16 + 8 * stack.len());
        bytes.extend(time.to_le_bytes());
        bytes.extend([pid(thread), tid(thread)].map(u32::to_le_bytes).concat());
        stack.iter().for_each(|frame| bytes.extend(frame.to_le_bytes()));
        stream.push_encoded(processor, time + 1, &bytes)?;
    }
    stream.finish()
}

/// The header of a PERFINFO record of version 2.
fn head(bytes: &mut Vec<u8>, hook: u16, time: u64, payload: usize) {
    bytes.extend([2, 0, 17, 0xc0]);
    bytes.extend(((16 + payload) as u16).to_le_bytes());
    bytes.extend(hook.to_le_bytes());
    bytes.extend(time.to_le_bytes());
}
