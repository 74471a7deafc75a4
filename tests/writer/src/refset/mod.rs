//! A reference-set scenario of any length: accesses and releases of many processes, in a bounded set of held pages.
//!
//! [`generate_refset`] writes: start rundown, start mark, the pages still active (`0x0275`), the scenario, stop mark, end
//! rundown, MemInfo, a page sequence that agrees with what is held, KernelMemUsage, file names. With the WorkingSet
//! keyword's events nothing is lost, so that a correct reader finds no reaccess and a residue of zero. 64-bit only.

pub mod state;
pub mod steps;
pub mod tail;

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use super::bytes::Ptr;
use super::logger::Logger;
use super::machine::recording::{Phase, START_MARK, STOP_MARK};
use super::payloads::{header, perf};
use super::rng::Rng;
use super::session::{Compression, Session};
use super::stream::Stream;
use state::State;
use steps::Scenario;

/// How long and how large.
#[derive(Clone, Debug)]
pub struct RefsetSpec {
    /// Page records (accesses, releases, removals) between the marks, about.
    pub events: u64,
    /// Processes alive at a time.
    pub processes: u64,
    /// VirtualAlloc regions of each process, 64 pages each.
    pub regions: u64,
    /// Mapped views of each process, 64 pages each.
    pub views: u64,
    /// Files of 64 pages; at least `views`.
    pub files: u64,
    /// Private frames: with the file frames the bound of what is held.
    pub held_limit: u64,
    /// Kernel pages that stay active all the time.
    pub kernel_pages: u64,
    /// Processes that end and start in the scenario.
    pub process_ends: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// Version of the page events: 2 or 4.
    pub event_version: u16,
    /// Processors.
    pub processors: u32,
    /// Buffer size, bytes.
    pub buffer_size: u32,
    /// Compression of the buffers.
    pub compression: Compression,
    /// Different stacks that accesses have, a power of two; 0: they have none.
    pub stacks: u64,
}

impl Default for RefsetSpec {
    fn default() -> RefsetSpec {
        RefsetSpec {
            events: 20_000_000,
            processes: 100,
            regions: 120,
            views: 64,
            files: 4096,
            held_limit: 700_000,
            kernel_pages: 20_000,
            process_ends: 500,
            seed: 1,
            event_version: 4,
            processors: 8,
            buffer_size: 0x10_0000,
            compression: Compression::None,
            stacks: 0,
        }
    }
}

impl RefsetSpec {
    /// A small scenario for tests: 20 000 page records, 6 processes.
    pub fn small() -> RefsetSpec {
        RefsetSpec {
            events: 20_000,
            processes: 6,
            regions: 8,
            views: 6,
            files: 60,
            held_limit: 4096,
            kernel_pages: 200,
            process_ends: 5,
            processors: 4,
            buffer_size: 0x1_0000,
            ..RefsetSpec::default()
        }
    }
}

/// What the simulation knows.
#[derive(Clone, Debug, Default)]
pub struct RefsetTruth {
    /// Pages accessed, by reason, from the start mark to the stop mark.
    pub accesses: BTreeMap<&'static str, u64>,
    /// Pages released, by reason, with the corrected rules.
    pub releases: BTreeMap<&'static str, u64>,
    /// Pages held at the stop mark by each process that lives then and holds any; page tables and large pages count.
    pub held_by_process: BTreeMap<u32, u64>,
    /// Pages held at the stop mark by the system: kernel pages of the rundown, cache pages, pool.
    pub held_by_system: u64,
    /// The most pages held at a time, each owner's counted.
    pub peak_pages: u64,
    /// Page records between the marks, the rundown after the start mark not counted.
    pub page_records: u64,
    /// Records of the final sequence.
    pub sequence_pages: u64,
    /// Raw times of the start and the stop mark.
    pub marks: (u64, u64),
    /// Records of the trace besides the log-file header and the first group masks.
    pub records: u64,
    /// Length of the file, bytes.
    pub bytes: u64,
}

/// Writes the trace of a scenario; returns the output and the truth.
///
/// # Errors
/// Those of `out`.
pub fn generate_refset<W: Write + Seek>(spec: &RefsetSpec, out: W) -> io::Result<(W, RefsetTruth)> {
    let p = Ptr::P8;
    let masks = [0x0000_8207, 0x0848_8063, 0, 0, 0, 0, 0, 0];
    let base = if spec.event_version >= 4 { Session::windows11() } else { Session::windows10() };
    let session = Session { buffer_size: spec.buffer_size, processors: spec.processors, ..base };
    let session =
        if spec.compression == Compression::None { session } else { session.merged().compressed(spec.compression) };
    let first = header::group_masks(p, header::MASKS_AFTER, masks, 85).at(session.t0);
    let stream = Stream::new(session, &[first], out)?;
    let log = Logger::new(stream, spec.seed ^ 0x0bad_cafe, 500);
    let state = State::new(spec, &mut Rng::new(spec.seed));
    let mut run = Scenario::new(state, log);

    run.rundown(Phase::Start)?;
    run.log.put(header::rundown_complete(p))?;
    run.log.wait(1_000_000);
    run.truth.marks.0 = run.log.time;
    run.log.put(perf::mark(p, START_MARK))?;
    run.log.wait(10);
    run.active_rundown()?;
    scenario(&mut run)?;
    run.log.wait(10);
    run.truth.marks.1 = run.log.time;
    run.log.put(perf::mark(p, STOP_MARK))?;
    run.log.wait(10);
    run.log.put(header::group_masks(p, header::MASKS_BEFORE, masks, 85))?;
    run.rundown(Phase::End)?;
    run.final_sequence()?;
    run.log.put(header::group_masks(p, header::MASKS_AFTER, [0; 8], 85))?;

    let Scenario { state, log, mut truth, .. } = run;
    truth.held_by_system = state.held_by_system();
    truth.held_by_process =
        state.procs.iter().map(|proc| (proc.pid, State::held_by(proc))).filter(|held| held.1 > 0).collect();
    truth.records = log.records;
    let (out, bytes) = log.finish()?;
    truth.bytes = bytes;
    Ok((out, truth))
}

/// The steps between the marks, mixed by chance and by how much is held.
fn scenario<W: Write + Seek>(run: &mut Scenario<W>) -> io::Result<()> {
    let (events, limit) = (run.state.spec.events, run.state.spec.held_limit as usize);
    let each_end = (events / run.state.spec.process_ends.max(1)).max(1);
    let mut next_end = each_end / 2;
    while run.truth.page_records < events {
        if run.truth.page_records >= next_end && run.state.spec.process_ends > 0 {
            next_end += each_end;
            run.replace_process()?;
        }
        // With few frames left, removals prevail.
        let crowded = run.state.free.len() < limit / 10;
        match run.log.rng.below(10_000) {
            0..=7 => run.replace_region()?,
            8..=9 => run.large()?,
            10..=24 => run.pool()?,
            25..=124 => run.cached_write()?,
            125..=324 => run.copy_on_write()?,
            325..=824 => run.cache()?,
            825..=5_199 if !crowded => run.access()?,
            825..=1_500 => run.access()?,
            _ if crowded => run.remove()?,
            5_200..=5_900 => run.access()?,
            _ => run.remove()?,
        }
    }
    Ok(())
}
