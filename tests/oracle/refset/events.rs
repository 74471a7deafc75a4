//! What happens on a made-up machine, as plain data, and the record of each event. The machine makes them, the rules of
//! `rules` follow them, the writer of `tests/writer` logs them.

use etl_writer::payloads::file::{self, View};
use etl_writer::payloads::pages::{self, Extra, Identity};
use etl_writer::payloads::{header, memory, perf, pool, process, thread};
use etl_writer::{HeaderKind, Ptr, Rec, Rng, Session, Trace, guid};

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Text of the mark at which working sets are emptied.
pub const START: &str = "ReferenceSet start";
/// Text of the mark at which the scenario ends.
pub const STOP: &str = "ReferenceSet stop";

/// How a trace is recorded.
#[derive(Clone, Debug)]
pub struct Setup {
    pub p: Ptr,
    /// Owner keys are process ids (event version 4), not addresses (version 2).
    pub by_id: bool,
    /// RemoveFromWS events are recorded.
    pub removals: bool,
    /// Header kinds differ from record to record.
    pub headers: bool,
}

/// One life of a process id.
#[derive(Clone, Debug)]
pub struct Who {
    pub pid: u32,
    pub number: u64,
    pub tid: u32,
    /// Thread that makes the process.
    pub creator: u32,
    /// Alive when the trace begins.
    pub first: bool,
    /// Its start is logged.
    pub starts: bool,
}

impl Who {
    pub fn name(&self) -> String {
        format!("p{}.exe", self.number)
    }

    pub fn record(&self, p: Ptr) -> process::Process {
        process::Process { key: self.object(p), ..process::Process::new(self.pid, &self.name()) }
    }

    fn object(&self, p: Ptr) -> u64 {
        p.pick(0xffff_9c08_0000_0080, 0x8500_0020) + self.number * 0x400
    }

    /// The key that page records carry.
    pub fn key(&self, setup: &Setup) -> u64 {
        if setup.by_id { u64::from(self.pid) } else { self.object(setup.p) & 0xffff_ffff_ffff }
    }
}

#[derive(Clone, Debug)]
pub enum What {
    Mark(&'static str),
    /// InMemoryActive, with the category of a process's page.
    Active(Identity, &'static str),
    /// PageAccess, with the category of a process's page.
    Access(Identity, &'static str),
    Release(Identity),
    /// PageAccessEx, with the category that a copy gets.
    Shared(Identity, Extra, &'static str),
    Combine(Identity, u64),
    Remove(Extra),
    /// Process id, base, bytes.
    Alloc(u32, u64, u64),
    /// Process id, base, bytes as logged, bytes in truth, whether the region goes.
    Free(u32, u64, u64, u64, bool),
    Map(View),
    Unmap(View),
    ThreadStart(thread::Thread),
    ThreadEnd(thread::Thread),
    /// By number in the list of lives.
    Begin(usize),
    End(usize),
    /// Prototype PTEs of a pagefile-backed section.
    SectionDelete(u64, u64),
    /// Address, pages.
    PoolAlloc(u64, u64),
    PoolFree(u64, u64),
    /// Key, start, pages of a range of large pages.
    Range(bool, u64, u64, u64),
    /// Process ids and the pages of their working sets.
    Sets(Vec<(u32, u64)>),
    /// A page of the final sequence.
    Final(Identity),
    /// Belongs to a rundown: nothing happens.
    Rundown(Rec),
}

#[derive(Clone, Debug)]
pub struct Event {
    pub time: u64,
    pub thread: u32,
    pub process: u32,
    pub what: What,
}

impl Event {
    fn record(&self, setup: &Setup, lives: &[Who]) -> Rec {
        let (p, version) = (setup.p, if setup.by_id { 4 } else { 2 });
        let rec = match &self.what {
            What::Mark(text) => perf::mark(p, text),
            What::Active(page, _) => page.rec(p, version, pages::IN_MEMORY_ACTIVE),
            What::Access(page, _) => page.rec(p, version, pages::ACCESS),
            What::Release(page) => page.rec(p, version, pages::RELEASE),
            What::Shared(page, extra, _) => page.access_ex(p, version, *extra),
            What::Combine(page, prototype) => page.combine(p, version, *prototype),
            What::Remove(extra) => pages::remove_from_ws(p, version, *extra),
            What::Alloc(pid, base, size) => {
                memory::virtual_alloc(p, *base, *size, *pid, memory::RESERVE | memory::COMMIT)
            }
            What::Free(pid, base, size, _, release) => {
                let flags = if *release { memory::RELEASE } else { memory::DECOMMIT };
                memory::virtual_free(p, *base, *size, *pid, flags)
            }
            What::Map(view) => view.rec(p, 3, file::MAP),
            What::Unmap(view) => view.rec(p, 3, file::UNMAP),
            What::ThreadStart(thread) => thread.rec(p, 3, thread::START),
            What::ThreadEnd(thread) => thread.rec(p, 3, thread::END),
            What::Begin(life) => lives[*life].record(p).rec(p, 4, process::START),
            What::End(life) => lives[*life].record(p).rec(p, 4, process::END),
            What::SectionDelete(low, high) => memory::section(p, 0x024f, *low, *high, 4),
            What::PoolAlloc(address, pages) => pool::pool(p, pool::ALLOC, 1, *b"Test", pages * PAGE, *address),
            What::PoolFree(address, pages) => pool::pool(p, pool::FREE, 1, *b"Test", pages * PAGE, *address),
            What::Range(access, key, start, count) => {
                let hook = if *access { pages::RANGE_ACCESS } else { pages::RANGE_RELEASE };
                pages::range(p, version, hook, 13, *key, *start, *count)
            }
            What::Sets(sets) => working_sets(p, sets),
            What::Final(page) => page.rec(p, version, pages::IN_MEMORY),
            What::Rundown(rec) => return rec.clone(),
        };
        if matches!(self.what, What::Active(..) | What::Final(..)) { rec } else { rec.by(self.thread, self.process) }
    }
}

/// The trace of a history.
pub fn write(setup: &Setup, lives: &[Who], events: &[Event], seed: u64) -> Vec<u8> {
    let p = setup.p;
    let session = Session { buffer_size: 0x2000, processors: 3, ..Session::windows10() };
    let session = if p == Ptr::P4 { session.bits32() } else { session };
    let masks = [0x0000_8207, if setup.removals { 0x0848_8063 } else { 0x0048_8063 }, 0, 0, 0, 0, 0, 0];
    let first = header::group_masks(p, header::MASKS_AFTER, masks, 85).at(session.t0);
    let mut trace = Trace::new(session).header_rec(first);
    let mut rng = Rng::new(seed);
    let (mut processor, mut time) = (0, 0);
    for event in events {
        let mut rec = event.record(setup, lives).at(event.time);
        // Records with one stamp keep their order only in one processor's buffers.
        if event.time > time {
            processor = rng.below(3) as u16;
        }
        time = event.time;
        let takes_any = matches!(rec.hook, 0x0276 | 0x0277 | 0x0282 | 0x0283 | 0x027a);
        rec = match if setup.headers && takes_any { rng.below(5) } else { 9 } {
            0 => rec.with_header(HeaderKind::Compact(p)),
            1 => rec.into_class(guid("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c")),
            _ => rec,
        };
        trace.add(&rec.on(processor));
    }
    trace.add(&header::group_masks(p, header::MASKS_AFTER, [0; 8], 85).at(time + 1).on(processor));
    trace.finish()
}

/// MemInfoWS in its newer form.
fn working_sets(p: Ptr, sets: &[(u32, u64)]) -> Rec {
    let mut bytes = (sets.len() as u32).to_le_bytes().to_vec();
    for &(pid, pages) in sets {
        bytes.extend(pid.to_le_bytes());
        let numbers = [pages, pages + 7, 1000, pages / 2, 0, 0, 0, 3];
        numbers.iter().for_each(|number| bytes.extend(&number.to_le_bytes()[..p.pick(8, 4)]));
    }
    Rec::perf(p, 0x027d, 2, bytes)
}

/// A thread with this stack (its end, its initial limit).
pub fn thread_of(pid: u32, tid: u32, stack: (u64, u64)) -> thread::Thread {
    thread::Thread { pid, tid, user_stack: stack, ..thread::Thread::default() }
}
