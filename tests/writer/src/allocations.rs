//! Pool allocations and frees of any number, for benches.

use std::io::{self, Seek, Write};

use super::payloads::process;
use super::{Ptr::P8, Rng, Session, Stream};

/// How much happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationSpec {
    /// Records: allocations and frees.
    pub records: u64,
    /// Allocations that are live at most.
    pub live: u64,
    /// Processors.
    pub processors: u16,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for AllocationSpec {
    fn default() -> Self {
        AllocationSpec { records: 20_000_000, live: 1_000_000, processors: 8, seed: 1 }
    }
}

impl AllocationSpec {
    /// A trace for tests.
    pub fn small() -> AllocationSpec {
        AllocationSpec { records: 20_000, live: 1000, ..AllocationSpec::default() }
    }
}

/// Writes the trace; gives the output and its length in bytes. Each place of the live set has an address; a record allocates at a
/// random place, or frees what is there.
///
/// # Errors
/// What the output says.
pub fn generate_allocations<W: Write + Seek>(spec: &AllocationSpec, out: W) -> io::Result<(W, u64)> {
    let session = Session { processors: spec.processors.into(), buffer_size: 0x1_0000, ..Session::windows10() };
    let mut time = session.t0 + 1000;
    let mut stream = Stream::new(session, &[], out)?;
    let mut rng = Rng::new(spec.seed);
    stream.push(&process::Process::new(4, "System").rec(P8, 4, process::DC_START).at(time))?;
    let mut is_live = vec![false; usize::try_from(spec.live).unwrap_or(0).max(1)];
    for _ in 0..spec.records {
        time += rng.between(0, 20);
        let place = rng.below(is_live.len() as u64);
        let live = &mut is_live[place as usize];
        let bytes = 16 + place % 100 * 16;
        let mut record = [0; 40];
        record[..4].copy_from_slice(&[2, 0, 17, 0xc0]);
        record[4..6].copy_from_slice(&40u16.to_le_bytes());
        record[6..8].copy_from_slice(&(if *live { 0x0e22u16 } else { 0x0e20 }).to_le_bytes());
        record[8..16].copy_from_slice(&time.to_le_bytes());
        record[16..20].copy_from_slice(&1u32.to_le_bytes());
        record[20..24].copy_from_slice(&[b'T', b'a', b'0' + (place % 40) as u8, b' ']);
        record[24..32].copy_from_slice(&bytes.to_le_bytes());
        record[32..40].copy_from_slice(&(0xffff_a000_0000_1000 + place * 2048).to_le_bytes());
        *live = !*live;
        stream.push_encoded((place % u64::from(spec.processors)) as u16, time, &record)?;
    }
    stream.finish()
}
