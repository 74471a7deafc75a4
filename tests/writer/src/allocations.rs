//! Allocations and frees of any number, of pool or of heaps, for benches.

use std::io::{self, Seek, Write};

use super::payloads::process;
use super::{Ptr::P8, Rng, Session, Stream, guid};

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
    /// Blocks of four heaps instead of pool.
    pub is_of_heaps: bool,
}

impl Default for AllocationSpec {
    fn default() -> Self {
        AllocationSpec { records: 20_000_000, live: 1_000_000, processors: 8, seed: 1, is_of_heaps: false }
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
    let mut record = [0; 80];
    for _ in 0..spec.records {
        time += rng.between(0, 20);
        let place = rng.below(is_live.len() as u64);
        let live = &mut is_live[place as usize];
        let bytes = 16 + place % 100 * 16;
        let (address, is_free) = (0xffff_a000_0000_1000 + place * 2048, *live);
        let length = match spec.is_of_heaps {
            true => heap_record(&mut record, time, (0x1_0000 + place % 4 * 0x1_0000, address, bytes), is_free),
            false => pool_record(&mut record, time, (place % 40, bytes, address), is_free),
        };
        *live = !*live;
        stream.push_encoded((place % u64::from(spec.processors)) as u16, time, &record[..length])?;
    }
    stream.finish()
}

/// A record of pool with a short header: tag number, bytes, address. Returns its length.
fn pool_record(record: &mut [u8; 80], time: u64, (tag, bytes, address): (u64, u64, u64), is_free: bool) -> usize {
    record[..4].copy_from_slice(&[2, 0, 17, 0xc0]);
    record[4..6].copy_from_slice(&40u16.to_le_bytes());
    record[6..8].copy_from_slice(&(if is_free { 0x0e22u16 } else { 0x0e20 }).to_le_bytes());
    record[8..16].copy_from_slice(&time.to_le_bytes());
    record[16..20].copy_from_slice(&1u32.to_le_bytes());
    record[20..24].copy_from_slice(&[b'T', b'a', b'0' + tag as u8, b' ']);
    record[24..32].copy_from_slice(&bytes.to_le_bytes());
    record[32..40].copy_from_slice(&address.to_le_bytes());
    40
}

/// A record of the heap provider with its class: heap, address, bytes. Returns its length.
fn heap_record(record: &mut [u8; 80], time: u64, (heap, address, bytes): (u64, u64, u64), is_free: bool) -> usize {
    record.fill(0);
    let size = if is_free { 68u16 } else { 76 };
    record[..2].copy_from_slice(&size.to_le_bytes());
    record[2..4].copy_from_slice(&[20, 0xc0]);
    record[4] = if is_free { 36 } else { 33 };
    record[6] = 2;
    record[8..12].copy_from_slice(&9u32.to_le_bytes());
    record[12..16].copy_from_slice(&4u32.to_le_bytes());
    record[16..24].copy_from_slice(&time.to_le_bytes());
    record[24..40].copy_from_slice(&guid("222962ab-6180-4b88-a825-346b75f2a24a"));
    record[48..56].copy_from_slice(&heap.to_le_bytes());
    match is_free {
        true => record[56..64].copy_from_slice(&address.to_le_bytes()),
        false => {
            record[56..64].copy_from_slice(&bytes.to_le_bytes());
            record[64..72].copy_from_slice(&address.to_le_bytes());
        }
    }
    usize::from(size).next_multiple_of(8)
}
