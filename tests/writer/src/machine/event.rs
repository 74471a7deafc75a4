//! What happens on the machine as plain data, and the record of each event.

use super::{Life, Machine, PAGE, Setup};
use crate::bytes::{Ptr, guid};
use crate::payloads::file::{self, View};
use crate::payloads::pages::{self, Extra, Identity};
use crate::payloads::{header, memory, perf, pool, process, thread};
use crate::record::{HeaderKind, Rec};
use crate::session::Session;
use crate::trace::Trace;

#[derive(Clone, Debug)]
pub enum What {
    /// A mark with its text.
    Mark(&'static str),
    /// InMemoryActive, with the category of a process's page.
    Active(Identity, &'static str),
    /// PageAccess, with the category of a process's page.
    Access(Identity, &'static str),
    Release(Identity),
    /// PageAccessEx, with the category that a copy gets.
    Shared(Identity, Extra, &'static str),
    /// PageCombine, with the prototype PTE.
    Combine(Identity, u64),
    Remove(Extra),
    /// Process id, base, bytes, flags.
    Alloc(u32, u64, u64, u32),
    /// Process id, base, bytes as logged, bytes in truth, whether the region goes.
    Free(u32, u64, u64, u64, bool),
    Map(View),
    Unmap(View),
    ThreadStart(thread::Thread),
    ThreadEnd(thread::Thread),
    /// A process starts, by number in the list of lives.
    Begin(usize),
    End(usize),
    /// Prototype PTEs of a pagefile-backed section.
    SectionDelete(u64, u64),
    /// Pool is allocated: address, pages.
    PoolAlloc(u64, Pool),
    PoolFree(u64, Pool),
    /// Comes or goes, key, start, pages of a range of large pages.
    Range(bool, u64, u64, u64),
    /// Process ids and the pages of their working sets.
    Sets(Vec<(u32, u64)>),
    /// A page of the page sequence.
    Final(Identity),
    /// Any other record: no working set changes.
    Record(Rec),
}

/// A pool allocation.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    pub bytes: u64,
    pub kind: u32,
    pub tag: [u8; 4],
}

impl Pool {
    /// Size, pages.
    pub fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE)
    }
}

#[derive(Clone, Debug)]
pub struct Event {
    pub time: u64,
    /// Processor that logs it.
    pub processor: u16,
    /// Thread that logs it.
    pub thread: u32,
    pub process: u32,
    pub what: What,
    /// Header instead of the usual one, by number.
    header: u8,
}

/// The usual header of an event.
const USUAL: u8 = 9;

/// Version of a record whose kind has several: it differs from record to record.
fn version(of: u64, versions: u64) -> u16 {
    2 + (of % versions) as u16
}

pub fn view_record(p: Ptr, view: &View, hook: u16) -> Rec {
    view.rec(p, version(view.base / PAGE + view.base / (8 * PAGE) + u64::from(view.pid / 4), 2), hook)
}

pub fn thread_record(p: Ptr, thread: &thread::Thread, hook: u16) -> Rec {
    thread.rec(p, version(u64::from(thread.tid / 4), 3), hook)
}

impl Event {
    pub fn record(&self, setup: &Setup, lives: &[Life]) -> Rec {
        let (p, v) = (setup.p, setup.version());
        let rec = match &self.what {
            What::Mark(text) => perf::mark(p, text),
            What::Active(page, _) => page.rec(p, v, pages::IN_MEMORY_ACTIVE),
            What::Access(page, _) => page.rec(p, v, pages::ACCESS),
            What::Release(page) => page.rec(p, v, pages::RELEASE),
            What::Shared(page, extra, _) => page.access_ex(p, v, *extra),
            What::Combine(page, prototype) => page.combine(p, v, *prototype),
            What::Remove(extra) => pages::remove_from_ws(p, v, *extra),
            What::Alloc(pid, base, size, flags) => memory::virtual_alloc(p, *base, *size, *pid, *flags),
            What::Free(pid, base, size, _, release) => {
                let flags = if *release { memory::RELEASE } else { memory::DECOMMIT };
                memory::virtual_free(p, *base, *size, *pid, flags)
            }
            What::Map(view) => view_record(p, view, file::MAP),
            What::Unmap(view) => view_record(p, view, file::UNMAP),
            What::ThreadStart(thread) => thread_record(p, thread, thread::START),
            What::ThreadEnd(thread) => thread_record(p, thread, thread::END),
            What::Begin(life) => lives[*life].record(setup).rec(p, 4, process::START),
            What::End(life) => lives[*life].record(setup).rec(p, 4, process::END),
            What::SectionDelete(low, high) => memory::section(p, 0x024f, *low, *high, 4),
            What::PoolAlloc(address, of) => pool::pool(p, pool::ALLOC, of.kind, of.tag, of.bytes, *address),
            What::PoolFree(address, of) => pool::pool(p, pool::FREE, of.kind, of.tag, of.bytes, *address),
            What::Range(access, key, start, count) => {
                let hook = if *access { pages::RANGE_ACCESS } else { pages::RANGE_RELEASE };
                pages::range(p, v, hook, 13, *key, *start, *count)
            }
            What::Sets(sets) => working_sets(p, sets),
            What::Final(page) => page.rec(p, v, setup.hook),
            What::Record(rec) => rec.clone(),
        };
        let rec = match self.what {
            What::Active(..) | What::Final(..) | What::Record(_) => rec,
            _ => rec.by(self.thread, self.process),
        };
        with_header(rec, self.header, p).at(self.time).on(self.processor)
    }

    /// Whether a reader needs the thread and the process of the header.
    fn needs_ids(&self) -> bool {
        use What::{Access, Begin, Combine, Map, Release, Remove, Shared, Unmap};
        match &self.what {
            Map(view) | Unmap(view) => view.pid == 0,
            what => matches!(what, Access(..) | Begin(_) | Combine(..) | Release(_) | Remove(_) | Shared(..)),
        }
    }

    /// Whether its record can come with any header.
    fn takes_any(&self) -> bool {
        use What::{Active, Final, Mark, Range, Record, SectionDelete, Sets};
        !matches!(self.what, Active(..) | Final(_) | Mark(_) | Range(..) | Record(_) | SectionDelete(..) | Sets(_))
    }
}

fn with_header(rec: Rec, header: u8, p: Ptr) -> Rec {
    match header {
        0 => rec.with_header(HeaderKind::System(p)),
        1 => rec.with_header(HeaderKind::Compact(p)),
        2 => {
            let class = match rec.hook {
                0x030a | 0x1400.. => "2cb15d1d-5fc1-11d2-abe1-00a0c911f518",
                0x0200..0x0300 => "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c",
                0x0300..0x0400 => "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
                0x0e00..0x0f00 => "0268a8b6-74fd-4302-9dd0-6e8f1795c0cf",
                0x0400..0x0500 => "90cbdc39-4a3e-11d1-84f4-0000f80464e3",
                _ => "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",
            };
            rec.into_class(guid(class))
        }
        // This header has no ids.
        3 => rec.with_header(HeaderKind::PerfInfo(p)),
        _ => rec,
    }
}

impl Machine {
    fn event(&self, (thread, process): (u32, u32), what: What, header: u8) -> Event {
        Event { time: self.time, processor: self.processor, thread, process, what, header }
    }

    /// Logs what a thread of a process does.
    pub fn log(&mut self, by: (u32, u32), what: What) {
        let mut event = self.event(by, what, USUAL);
        if self.setup.headers && event.takes_any() {
            let kinds = if event.needs_ids() { 4 } else { 5 };
            event.header = [0, 1, 2, USUAL, 3][self.rng.below(kinds) as usize];
        }
        self.put(event);
    }

    /// Logs a record by which no working set changes.
    pub fn log_record(&mut self, rec: Rec) {
        self.log((0, 0), What::Record(rec));
    }

    /// As [`Machine::log_record`], with any header that the event could come with.
    pub fn log_any_header(&mut self, rec: Rec) {
        let header = if self.setup.headers { self.rng.below(5) as u8 } else { USUAL };
        self.put(self.event((0, 0), What::Record(rec), header));
    }

    /// A little later, on any processor; records with one stamp keep their order only on one.
    fn put(&mut self, mut event: Event) {
        if self.tracing && !self.losing {
            let later = self.rng.below(4);
            if later > 0 {
                self.time += later;
                self.processor = self.any_processor();
            }
            (event.time, event.processor) = (self.time, self.processor);
            self.events.push(event);
        }
    }

    fn any_processor(&mut self) -> u16 {
        self.rng.below(self.setup.processors.into()) as u16
    }

    /// Logs a record on a processor at the current stamp.
    pub fn log_on(&mut self, processor: u16, rec: Rec) {
        self.events.push(Event { processor, ..self.event((0, 0), What::Record(rec), USUAL) });
    }

    /// Logs the pages of a sequence: one thread, which moves from processor to processor, while others log samples.
    pub fn log_sequence(&mut self, pages: impl IntoIterator<Item = Identity>) {
        let restless = self.rng.below(60);
        self.time += 1 + self.rng.below(5);
        for page in pages {
            let any = self.any_processor();
            if self.rng.percent(restless) {
                self.processor = any;
            }
            if self.rng.percent(2) {
                self.log_on(any, perf::sample(self.setup.p, 0x1000, 4, 0));
            }
            let header = if self.setup.headers { [0, 2, USUAL][self.rng.below(40).min(2) as usize] } else { USUAL };
            self.events.push(self.event((0, 0), What::Final(page), header));
            // Records of one stamp are in order of their PFNs.
            self.time += self.rng.below(3);
        }
        self.time += 1 + self.rng.below(50);
    }

    /// The records that were logged, in order.
    pub fn records(&self) -> impl Iterator<Item = Rec> + '_ {
        self.events.iter().map(|event| event.record(&self.setup, &self.lives))
    }

    /// The trace. Group masks that were logged first stand beside the log-file header where `in_header`.
    pub fn trace(&self, session: Session, in_header: bool) -> Vec<u8> {
        let (t0, mut records) = (session.t0, self.records().peekable());
        // What is listed at the stop comes last.
        let stop = self.records().map(|record| session.filetime(record.time)).max().unwrap_or(session.end_time);
        let session = Session { end_time: if session.end_time == 0 { 0 } else { stop }, ..session };
        let mut trace = Trace::new(session);
        if let Some(masks) = records.next_if(|rec| in_header && rec.hook == header::MASKS_AFTER) {
            trace = trace.header_rec(masks.at(t0).on(0));
        }
        trace.push_all(records).finish()
    }
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
