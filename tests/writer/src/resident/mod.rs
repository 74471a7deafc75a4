//! A plausible machine for the resident set: 16 GiB by default, hundreds of processes with thousands of ranges.
//!
//! [`generate_resident`] writes what a trace with the keywords Memory, VAMap, VirtualAllocation and Win32HeapRanges
//! has: start rundown, some events, end rundown, MemInfo, the page sequence, KernelMemUsage, file names. It returns
//! what the simulation knows of its pages, counted without reading the trace: the expectation of tests.

pub mod layout;
pub mod pages;
pub mod rundown;

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use super::bytes::{Ptr, Put};
use super::logger::Logger;
use super::machine::addresses;
use super::machine::recording::Phase;
use super::payloads::counters::{self, MemInfo};
use super::payloads::system::Cpu;
use super::payloads::{header, memory, pages as page_records};
use super::record::Rec;
use super::session::{Compression, Session};
use super::stream::Stream;
use layout::Layout;
use pages::Pages;

/// What machine, and how its trace is written.
#[derive(Clone, Debug)]
pub struct ResidentSpec {
    /// Physical pages, 4 KiB each.
    pub pages: u64,
    /// Processes, System included; at least 4.
    pub processes: u64,
    /// Address ranges of each process; at least 64.
    pub ranges_per_process: u64,
    /// Files; at least 64.
    pub files: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// Version of the page events: 2 (owner keys are addresses) or 4 (process ids).
    pub event_version: u16,
    /// Hook of the sequence: 0x0223 or 0x028a.
    pub page_hook: u16,
    /// Pointer size.
    pub pointer: Ptr,
    /// Windows build; 26100 and later set non-tradeable bits.
    pub build: u32,
    /// Buffer size, bytes.
    pub buffer_size: u32,
    /// Processors that the logging thread moves over.
    pub processors: u32,
    /// Compression of the buffers.
    pub compression: Compression,
    /// Heap rundowns as records of their provider instead of hook ids.
    pub heap_provider: bool,
    /// Name of the machine; without one there is no record of its configuration.
    pub computer: Option<String>,
}

impl Default for ResidentSpec {
    fn default() -> ResidentSpec {
        ResidentSpec {
            pages: 4_194_304,
            processes: 200,
            ranges_per_process: 1000,
            files: 30_000,
            seed: 1,
            event_version: 4,
            page_hook: page_records::IN_MEMORY,
            pointer: Ptr::P8,
            build: 22631,
            buffer_size: 0x10_0000,
            processors: 8,
            compression: Compression::None,
            heap_provider: true,
            computer: None,
        }
    }
}

impl ResidentSpec {
    /// A small machine for tests: 20 000 pages, 12 processes, about 2.5 MB of trace.
    pub fn small() -> ResidentSpec {
        ResidentSpec {
            pages: 20_000,
            processes: 20,
            ranges_per_process: 128,
            files: 500,
            buffer_size: 0x1_0000,
            ..ResidentSpec::default()
        }
    }
}

/// What the simulation knows.
#[derive(Clone, Debug, Default)]
pub struct ResidentTruth {
    /// Pages by list number.
    pub by_list: [u64; 8],
    /// Standby pages by priority.
    pub standby: [u64; 8],
    /// Pages by use number.
    pub by_use: [u64; 16],
    /// Pages by corrected category.
    pub by_category: BTreeMap<&'static str, u64>,
    /// Pages with an owner key, by process id and corrected category.
    pub by_process: BTreeMap<(u32, &'static str), u64>,
    /// Pages of the PFN database, as KernelMemUsage states.
    pub pfn_database_pages: u64,
    /// Records of the trace besides the log-file header.
    pub records: u64,
    /// Length of the file, bytes.
    pub bytes: u64,
}

/// Writes the trace of a machine; returns the output and the truth.
///
/// # Errors
/// Those of `out`.
pub fn generate_resident<W: Write + Seek>(spec: &ResidentSpec, out: W) -> io::Result<(W, ResidentTruth)> {
    let layout = Layout::new(spec);
    let mut truth = count(&layout);
    let p = spec.pointer;
    let event_version = if spec.build >= 26100 { 85 } else { 80 };
    let masks = [0x0000_8207, 0x0048_8003, 0, 0, 0, 0, 0, 0];
    let session = session(spec);
    let t0 = session.t0;
    let start_masks = header::group_masks(p, header::MASKS_AFTER, masks, event_version).at(t0);
    let stream = Stream::new(session, &[start_masks], out)?;
    let mut log = Logger::new(stream, spec.seed ^ 0x5eed, (spec.pages / 40).max(200));

    if let Some(computer) = &spec.computer {
        let memory_mb = (spec.pages / 256) as u32;
        log.put(Cpu { computer: computer.clone(), memory_mb, ..Cpu::default() }.rec(p, 3))?;
    }
    rundown::rundown(&mut log, &layout, Phase::Start)?;
    log.put(header::rundown_complete(p))?;
    log.wait(10_000_000);
    rundown::events(&mut log, &layout)?;
    log.wait(50_000_000);
    log.put(header::group_masks(p, header::MASKS_BEFORE, masks, event_version))?;
    rundown::rundown(&mut log, &layout, Phase::End)?;
    for session in 0..2 {
        log.put(memory::session(p, 0x024c, addresses::session_key(p, u64::from(session)), session))?;
    }
    let blocks = truth.by_use[2].div_ceil(500) as i32;
    log.put(counters::mm_aggregate(p, 3, spec.pages, truth.by_use[2], blocks, 3 * blocks))?;
    log.put(mem_info(&truth).rec(p, 3))?;
    sequence(&mut log, &layout)?;
    log.put(counters::kernel_usage(p, spec.event_version, 0, layout.pfn_database(), truth.pfn_database_pages))?;
    rundown::file_names(&mut log, &layout)?;
    log.put(header::group_masks(p, header::MASKS_AFTER, [0; 8], event_version))?;
    truth.records = log.records;
    let (out, bytes) = log.finish()?;
    truth.bytes = bytes;
    Ok((out, truth))
}

fn session(spec: &ResidentSpec) -> Session {
    let base = Session {
        build: spec.build,
        buffer_size: spec.buffer_size,
        processors: spec.processors,
        ..Session::windows10()
    };
    let base = if spec.pointer == Ptr::P4 { base.bits32() } else { base };
    if spec.compression == Compression::None { base } else { base.merged().compressed(spec.compression) }
}

/// The first pass: what MemInfo and the truth say.
fn count(layout: &Layout) -> ResidentTruth {
    let mut truth = ResidentTruth::default();
    let mut pages = Pages::new(layout);
    for page in pages.by_ref() {
        let id = &page.identity;
        truth.by_list[usize::from(id.list)] += 1;
        truth.by_use[usize::from(id.page_use)] += 1;
        if id.list == page_records::list::STANDBY {
            truth.standby[usize::from(id.priority)] += 1;
        }
        *truth.by_category.entry(page.category).or_default() += 1;
        if let Some(owner) = page.owner {
            *truth.by_process.entry((layout.pid(owner), page.category)).or_default() += 1;
        }
    }
    truth.pfn_database_pages = pages.pfn_database_pages();
    truth
}

fn mem_info(truth: &ResidentTruth) -> MemInfo {
    MemInfo {
        zero: truth.by_list[0],
        free: truth.by_list[1],
        modified: truth.by_list[3],
        modified_no_write: truth.by_list[4],
        bad: truth.by_list[5],
        standby: truth.standby,
        repurposed: [10, 20, 30, 40, 50, 60, 70, 80],
        modified_pagefile: truth.by_list[3] / 2,
        system: [truth.by_use[4], truth.by_use[5], truth.by_use[10], truth.by_use[6]],
    }
}

/// The page sequence, with a sample of another processor now and then.
fn sequence<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout) -> io::Result<()> {
    let spec = &layout.spec;
    let mut rec = Rec::perf(spec.pointer, spec.page_hook, spec.event_version, Vec::new());
    let mut sample = rundown::sample(layout);
    for (n, page) in Pages::new(layout).enumerate() {
        let mut put = Put::reuse(&mut rec.payload, spec.pointer);
        page.identity.put(&mut put);
        rec.payload = put.done();
        log.put_same(&mut rec)?;
        if n % 2000 == 1999 {
            let other = log.rng.below(u64::from(spec.processors)) as u16;
            log.put_on(other, &mut sample)?;
        }
    }
    Ok(())
}
