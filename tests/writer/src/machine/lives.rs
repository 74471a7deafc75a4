//! Processes and threads: lives of process ids, which are used again.

use super::addresses::{self, PAGE};
use super::event::What;
use super::scheduling::Work;
use super::spaces::{Cell, Heap, Page};
use super::{Keys, Machine, PAGES, SYSTEM, Setup};
use crate::payloads::process::Process;
use crate::payloads::thread;

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being made and has no id yet: its creator's thread works for it.
    Unborn,
    Alive,
    Dead,
}

/// One life of a process id.
#[derive(Clone, Debug)]
pub struct Life {
    pub pid: u32,
    pub number: u64,
    /// First thread.
    pub tid: u32,
    /// Thread that makes the process, and the process that its records name.
    pub creator: (u32, u32),
    /// Alive when the trace begins.
    pub first: bool,
    /// It starts at some time.
    pub starts: bool,
    pub state: State,
    pub thing: usize,
    /// Address space: what each page of it is.
    pub cells: Vec<Cell>,
    /// Working set: what each page of the address space holds.
    pub pages: Vec<Page>,
    pub heaps: Vec<Heap>,
}

impl Life {
    pub fn name(&self) -> String {
        format!("p{}.exe", self.number)
    }

    /// Whether it has started and not ended.
    pub fn is_alive(&self) -> bool {
        self.state == State::Alive
    }

    /// Session that it is in.
    pub fn session(&self, setup: &Setup) -> u64 {
        self.number % setup.sessions
    }

    fn directory(&self) -> u64 {
        (0x7000 + self.number) * PAGE
    }

    /// The process of its records.
    pub fn record(&self, setup: &Setup) -> Process {
        Process {
            key: addresses::process_key(setup.p, self.number),
            directory_table: self.directory(),
            session: self.session(setup) as u32,
            ..Process::new(self.pid, &self.name())
        }
    }

    /// The key that page records carry.
    pub fn key(&self, setup: &Setup) -> u64 {
        match setup.keys {
            Keys::Pid => u64::from(self.pid),
            Keys::Address => addresses::process_key(setup.p, self.number) & 0xffff_ffff_ffff,
            Keys::Directory => self.directory() / PAGE,
        }
    }

    /// Process id as its records name it now.
    pub fn current_pid(&self) -> u32 {
        if self.state == State::Unborn { 0 } else { self.pid }
    }
}

/// Pages of a stack: the one after its end, the first that is committed at the start.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Page after the stack.
    pub base: usize,
    /// First page of the initial commit.
    pub limit: usize,
}

/// One life of a thread id.
#[derive(Clone, Debug)]
pub struct Thread {
    pub tid: u32,
    pub life: usize,
    pub stack: Option<Stack>,
    pub thing: usize,
    pub alive: bool,
    /// What the scheduler knows.
    pub work: Work,
}

impl Machine {
    pub fn alive(&self) -> Vec<usize> {
        (0..self.lives.len()).filter(|&life| self.lives[life].is_alive()).collect()
    }

    /// The life with this number among those in a state that fits.
    pub fn pick(&self, number: u8, which: impl Fn(State) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.lives.len()).filter(|&life| which(self.lives[life].state)).collect();
        all.get(usize::from(number) % all.len().max(1)).copied()
    }

    /// As [`Machine::pick`], among the living.
    pub fn pick_alive(&self, number: u8) -> Option<usize> {
        self.pick(number, |state| state == State::Alive)
    }

    /// Logs by a life's own thread; of one that has not started, by its creator.
    pub fn log_by(&mut self, life: usize, what: What) {
        let by = self.actor(life);
        self.log(by, what);
    }

    /// Who acts for a life.
    pub fn actor(&self, life: usize) -> (u32, u32) {
        let who = &self.lives[life];
        if who.state == State::Unborn { who.creator } else { (who.tid, who.pid) }
    }

    /// A thread begins to make a process with an id that no other has now.
    pub fn birth(&mut self, pid: u32, creator: Option<(u32, u32)>, starts: bool) -> Option<usize> {
        if self.lives.iter().any(|life| life.state != State::Dead && life.pid == pid) {
            return None;
        }
        let (thing, number) = (self.thing(), self.lives.len() as u64);
        let (tid, creator) = (self.new_tid(), creator.unwrap_or((3000 + number as u32 * 4, 0)));
        let (cells, pages) = (vec![Cell::default(); PAGES], vec![Page::default(); PAGES]);
        let (state, heaps, first) = (State::Unborn, Vec::new(), !self.tracing);
        self.lives.push(Life { pid, number, tid, creator, first, starts, state, thing, cells, pages, heaps });
        Some(self.lives.len() - 1)
    }

    /// The process starts, and its first thread.
    pub fn begin_life(&mut self, life: usize) -> Option<()> {
        self.lives[life].starts.then_some(())?;
        let (tid, creator) = (self.lives[life].tid, self.lives[life].creator.0);
        self.log((creator, SYSTEM.1), What::Begin(life));
        self.lives[life].state = State::Alive;
        self.new_thread(life, tid, None, (creator, SYSTEM.1));
        Some(())
    }

    /// A process ends; its threads' ends can be logged.
    pub fn end_life(&mut self, life: usize, with_threads: bool) {
        for thread in self.threads_of(life) {
            if with_threads {
                self.end_thing(self.threads[thread].thing);
                self.log_by(life, What::ThreadEnd(self.thread(thread)));
            }
            self.threads[thread].alive = false;
        }
        self.clear_pages(life, 0..PAGES);
        let own = self.kernel.iter().filter(|(at, _)| at.2 == life + 1).map(|(_, page)| page.pfn);
        self.free_frames.extend(own);
        self.kernel.retain(|at, _| at.2 != life + 1);
        for owner in &mut self.large {
            *owner = owner.filter(|&owner| owner != life);
        }
        self.end_thing(self.lives[life].thing);
        self.log_by(life, What::End(life));
        self.lives[life].state = State::Dead;
    }

    /// A thread id that was not used yet.
    pub fn new_tid(&mut self) -> u32 {
        self.next_tid += 4;
        self.next_tid
    }

    /// Living threads of a process.
    pub fn threads_of(&self, life: usize) -> Vec<usize> {
        (0..self.threads.len())
            .filter(|&thread| self.threads[thread].life == life && self.threads[thread].alive)
            .collect()
    }

    /// Those of them that have a user stack.
    pub fn stacks_of(&self, life: usize) -> Vec<(usize, Stack)> {
        let of = |thread: usize| Some((thread, self.threads[thread].stack?));
        self.threads_of(life).into_iter().filter_map(of).collect()
    }

    /// The thread of its records.
    pub fn thread(&self, thread: usize) -> thread::Thread {
        let Thread { tid, life, stack, .. } = self.threads[thread];
        let address = |page: usize| self.address(page);
        let user_stack = stack.map_or((0, 0), |stack| (address(stack.base), address(stack.limit)));
        thread::Thread { pid: self.lives[life].pid, tid, user_stack, ..thread::Thread::default() }
    }

    /// A thread starts.
    pub fn new_thread(&mut self, life: usize, tid: u32, stack: Option<Stack>, by: (u32, u32)) -> usize {
        let thing = self.thing();
        self.threads.push(Thread { tid, life, stack, thing, alive: true, work: Work::default() });
        let thread = self.threads.len() - 1;
        self.log(by, What::ThreadStart(self.thread(thread)));
        thread
    }

    /// A thread ends. Its stack may be gone when that is logged.
    pub fn end_thread(&mut self, thread: usize, with_stack: bool) {
        let mut record = self.thread(thread);
        if with_stack {
            self.end_thing(self.threads[thread].thing);
        } else {
            record.user_stack = (0, 0);
        }
        self.threads[thread].alive = false;
        self.log((record.tid, record.pid), What::ThreadEnd(record));
    }
}
