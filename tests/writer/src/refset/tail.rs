//! What stands around the scenario: rundowns, the active pages after the start mark, the sequence at the stop.

use std::io::{self, Seek, Write};

use super::super::bytes::{Ptr, Put};
use super::super::machine::addresses::{self, PAGE};
use super::super::machine::recording::Phase;
use super::super::payloads::counters::{self, MemInfo};
use super::super::payloads::pages::{self, Identity, list};
use super::super::payloads::{file, memory};
use super::super::record::Rec;
use super::state::{LARGE, LARGES, PAGES};
use super::steps::{Scenario, thread_of};

const P: Ptr = Ptr::P8;

impl<W: Write + Seek> Scenario<W> {
    /// Start or end rundown: processes, threads, views, VirtualAlloc regions.
    pub fn rundown(&mut self, phase: Phase) -> io::Result<()> {
        for proc in &self.state.procs {
            self.log.put(self.state.process(proc).rec(P, 4, phase.process()))?;
            self.log.put(thread_of(proc).rec(P, 3, phase.thread()))?;
        }
        for proc in &self.state.procs {
            for region in &proc.regions {
                self.log.put(match self.state.view(proc.pid, region) {
                    Some(view) => view.rec(P, 3, phase.view()),
                    None => memory::virtual_rundown(
                        P,
                        phase.region(),
                        region.base,
                        region.size(),
                        proc.pid,
                        0,
                        region.size(),
                    ),
                })?;
            }
        }
        Ok(())
    }

    /// Page records of a sequence: PERFINFO headers, all by the logging thread.
    fn put_sequence(&mut self, hook: u16, ids: impl Iterator<Item = Identity>) -> io::Result<u64> {
        let mut rec = Rec::perf(P, hook, self.state.spec.event_version, Vec::new());
        let mut count = 0;
        for id in ids {
            let mut put = Put::reuse(&mut rec.payload, P);
            id.put(&mut put);
            rec.payload = put.done();
            self.log.put_same(&mut rec)?;
            count += 1;
        }
        Ok(count)
    }

    /// After the start mark the working sets are empty but for what is in use: kernel pages, some private pages and
    /// page tables of each process.
    pub fn active_rundown(&mut self) -> io::Result<()> {
        for i in 0..self.state.procs.len() {
            for r in 0..(self.state.spec.regions as usize).div_ceil(8) {
                for bit in 0..6 {
                    self.take_private(i, r, bit);
                }
            }
            let tables = self.state.free.len() - 4;
            self.state.procs[i].tables = self.state.free.split_off(tables);
        }
        let active: Vec<Identity> = self.identities().into_iter().filter(|id| id.list == list::ACTIVE).collect();
        self.accessed("ActiveRundown", active.len() as u64);
        self.put_sequence(pages::IN_MEMORY_ACTIVE, active.into_iter())?;
        Ok(())
    }

    /// Every frame of the machine as it is now, by frame number.
    fn identities(&self) -> Vec<Identity> {
        let state = &self.state;
        let mut ids: Vec<Identity> = (0..state.spec.kernel_pages).map(|n| state.kernel_page(n)).collect();
        let mut seen = vec![0_u64; state.spec.files as usize];
        let regions = state.procs.iter().flat_map(|proc| &proc.regions).chain(&state.cache);
        for region in regions {
            if let Some(file) = region.file {
                seen[file as usize] |= region.held & !region.copied;
            }
        }
        for (file, mask) in seen.iter().enumerate() {
            for bit in 0..PAGES as u32 {
                let page = state.file_page(file as u32, bit);
                ids.push(if mask >> bit & 1 != 0 { page } else { page.on_list(list::STANDBY) });
            }
        }
        let mut large = vec![None; LARGES as usize];
        let first = state.private_frames();
        let mut private = vec![None; state.spec.held_limit as usize];
        for proc in &state.procs {
            let key = state.owner_key(proc);
            proc.large.iter().for_each(|number| large[*number as usize] = Some(key));
            for (n, frame) in proc.tables.iter().enumerate() {
                let address = 0xffff_f680_0000_0000 + n as u64 * PAGE;
                private[(u64::from(*frame) - first) as usize] = Some(Identity::new(3, u64::from(*frame), key, address));
            }
            for region in &proc.regions {
                for bit in (0..PAGES as u32).filter(|bit| region.held >> bit & 1 != 0 && region.is_private(*bit)) {
                    let frame = u64::from(region.frames[bit as usize]);
                    private[(frame - first) as usize] = Some(Identity::private(frame, key, region.address(bit)));
                }
            }
        }
        for (number, key) in large.iter().enumerate() {
            for n in 0..LARGE {
                let frame = state.large_frames() + number as u64 * LARGE + n;
                let address = state.large_address(number as u32) + n * PAGE;
                let key = key.map(|key| if state.spec.event_version >= 4 { key } else { 0 });
                ids.push(key.map_or(unused(frame), |key| Identity::new(13, frame, key, address)));
            }
        }
        ids.extend(private.iter().zip(first..).map(|(id, frame)| id.unwrap_or(unused(frame))));
        let pool = state.pool.iter().flat_map(|part| (0..part.1).map(|n| part.0 + n * PAGE));
        ids.extend(
            pool.zip(first + state.spec.held_limit..).map(|(address, frame)| Identity::new(4, frame, 0, address)),
        );
        ids
    }

    /// MemInfo, the sequence, KernelMemUsage, file names.
    pub fn final_sequence(&mut self) -> io::Result<()> {
        let ids = self.identities();
        let on = |number: u8| ids.iter().filter(|id| id.list == number).count() as u64;
        let mut info = MemInfo { zero: on(list::ZERO), ..MemInfo::default() };
        info.standby[5] = on(list::STANDBY);
        self.log.put(info.rec(P, 3))?;
        self.truth.sequence_pages = self.put_sequence(pages::IN_MEMORY, ids.into_iter())?;
        let version = self.state.spec.event_version;
        self.log.put(counters::kernel_usage(P, version, 0, addresses::PFN_DATABASE.of(P), 0))?;
        for f in 0..self.state.spec.files as u32 {
            let name = format!(
                "\\Device\\HarddiskVolume3\\Work\\part{f:05}.{}",
                if f.is_multiple_of(2) { "dll" } else { "dat" }
            );
            self.log.put(file::name(P, file::RUNDOWN, self.state.file_key(f), &name))?;
        }
        Ok(())
    }
}

fn unused(frame: u64) -> Identity {
    Identity { list: list::ZERO, pfn: frame, ..Identity::default() }
}
