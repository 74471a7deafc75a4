//! The lives of threads: thread ids are used again, so a thread is an id and a lifetime.

use crate::analysis::cpu::delays::ReadyKind;
use crate::analysis::cpu::pair_counts::Party;
use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::ready_queue::Unsettled;
use crate::analysis::table::Condition;
use crate::event::cswitch::wait_reason_name;
use crate::moment::Moment;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::borrow::Cow;

/// Index of a life.
pub type LifeId = u32;

/// The idle threads.
pub const IDLE: LifeId = 0;

/// A thread that nobody knows.
pub const NOBODY: LifeId = 1;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It could run.
    Ready,
    /// It waits.
    Waiting,
    /// No record tells.
    Unknown,
    /// It has ended.
    Ended,
}

/// Why a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitReason(u16);

impl WaitReason {
    /// It has been started and was not ready yet.
    pub const START: WaitReason = WaitReason(0x100);
    /// Its stack or its process is not in memory.
    pub const IN_SWAP: WaitReason = WaitReason(0x101);

    /// The kernel's wait reason.
    pub const fn of_kernel(reason: u8) -> WaitReason {
        WaitReason(reason as u16)
    }

    /// A reason of an unknown state, whose number may mean something else.
    pub const fn of_unknown_state(reason: u8) -> WaitReason {
        WaitReason(0x200 | reason as u16)
    }

    /// Name as in JSON: the kernel's, `start`, `in_swap`, or the number.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            WaitReason::START => "start".into(),
            WaitReason::IN_SWAP => "in_swap".into(),
            WaitReason(number) => {
                let known = u8::try_from(number).ok().and_then(wait_reason_name);
                known.map_or_else(|| (number & 0xff).to_string().into(), Cow::Borrowed)
            }
        }
    }
}

/// A ready record for a thread that still ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyRecord {
    /// When.
    pub time: Ticks,
    /// On which processor.
    pub processor: u16,
    /// The thread that logged it.
    pub waker: LifeId,
    /// True when a deferred procedure call logged it.
    pub from_dpc: bool,
}

/// Ready records for a thread that still ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RacedRecords {
    /// The first.
    pub first: ReadyRecord,
    /// When and on which processor the others were logged.
    pub more: Vec<(Ticks, u16)>,
}

impl RacedRecords {
    /// When and where all were logged.
    pub fn all(&self) -> impl Iterator<Item = (Ticks, u16)> {
        std::iter::once((self.first.time, self.first.processor)).chain(self.more.iter().copied())
    }
}

/// A thread from its start to its end.
#[derive(Debug, Clone)]
pub struct Life {
    /// Thread id.
    pub thread_id: u32,
    /// What it does.
    pub state: State,
    /// Since when.
    pub since: Ticks,
    /// Where it runs; where the record was logged at its ready time.
    pub processor: u16,
    /// Why it is ready.
    pub ready: ReadyKind,
    /// Who took the processor away.
    pub preemptor: LifeId,
    /// Why it waits, or waited last.
    pub wait: WaitReason,
    /// Where that wait began.
    pub wait_processor: u16,
    /// It is ready, unless a later record says that it still waited.
    pub unsettled: Option<Unsettled>,
    /// Its end was logged while it ran.
    pub ends_at_switch_out: bool,
    /// A record told of it besides rundowns.
    pub has_records: bool,
    /// Ready records of the current run.
    pub raced: Option<Box<RacedRecords>>,
    /// Ticks of the window by [`State`].
    pub profile: [u64; 4],
    /// Clock ticks at which it ran.
    pub charged: u64,
    /// Samples that met it.
    pub samples: u64,
    /// When its life begins; [`Ticks`] of `i64::MIN`: before the trace.
    pub begin: Ticks,
    /// When it has ended.
    pub end: Option<Ticks>,
    /// Its process.
    pub process: Option<Described>,
    /// What pairs of processes count it as, once they do.
    pub party: Option<Party>,
    /// True when pairs count it at all: the user's conditions on thread ids hold.
    pub is_wanted: bool,
}

/// What told of a thread's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described {
    /// Process id.
    pub process_id: u32,
    /// When.
    pub moment: Moment,
    /// True for the start of the thread, which can be logged before that of its process.
    pub is_start: bool,
}

impl Life {
    fn new(thread_id: u32, begin: Ticks) -> Life {
        Life {
            thread_id,
            state: State::Unknown,
            since: begin,
            processor: 0,
            ready: ReadyKind::Wakeup,
            preemptor: NOBODY,
            wait: WaitReason::START,
            wait_processor: 0,
            unsettled: None,
            ends_at_switch_out: false,
            has_records: false,
            raced: None,
            profile: [0; 4],
            charged: 0,
            samples: 0,
            begin,
            end: None,
            process: None,
            party: None,
            is_wanted: true,
        }
    }
}

/// All lives, and which of them each thread id names now.
#[derive(Debug)]
pub struct Lives {
    /// All lives; the first two are [`IDLE`] and [`NOBODY`].
    pub all: Vec<Life>,
    /// By thread id ÷ 4 where ids are as Windows gives them; 0 = none.
    dense: Vec<LifeId>,
    sparse: FastMap<u32, LifeId>,
    /// The user's conditions on thread ids.
    conditions: Vec<Condition<Dimension>>,
}

/// Thread ids below this are looked up in a table instead of a map.
const MOST_DENSE: u32 = 1 << 22;

impl Lives {
    /// Before the trace.
    pub fn new(query: &CpuQuery) -> Lives {
        let before = Ticks(i64::MIN);
        let mut idle = Life::new(0, before);
        idle.process = Some(Described { process_id: 0, moment: Moment::FIRST, is_start: false });
        let of_threads = query.conditions.iter().filter(|condition| condition.dimension == Dimension::Thread);
        let conditions = of_threads.cloned().collect();
        let mut lives = Lives {
            all: vec![idle, Life::new(u32::MAX, before)],
            dense: Vec::new(),
            sparse: FastMap::default(),
            conditions,
        };
        for life in [IDLE, NOBODY] {
            lives.all[life as usize].is_wanted = lives.is_wanted(lives.all[life as usize].thread_id);
        }
        lives
    }

    fn is_wanted(&self, thread_id: u32) -> bool {
        self.conditions.iter().all(|condition| condition.patterns.matches(&thread_id.to_string()))
    }

    /// The life that a thread id names now, ended or not.
    #[inline(always)]
    pub fn current(&self, thread_id: u32) -> Option<LifeId> {
        if thread_id == 0 {
            return Some(IDLE);
        }
        if thread_id & 3 == 0 && thread_id < MOST_DENSE {
            return self.dense.get((thread_id / 4) as usize).copied().filter(|&life| life != 0);
        }
        self.sparse.get(&thread_id).copied()
    }

    /// A new life with this id.
    pub fn add(&mut self, thread_id: u32, begin: Ticks) -> LifeId {
        let life = self.all.len() as LifeId;
        self.all.push(Life { is_wanted: self.is_wanted(thread_id), ..Life::new(thread_id, begin) });
        if thread_id & 3 == 0 && thread_id < MOST_DENSE {
            let at = (thread_id / 4) as usize;
            if self.dense.len() <= at {
                self.dense.resize(at + 1, 0);
            }
            self.dense.get_mut(at).into_iter().for_each(|slot| *slot = life);
        } else {
            self.sparse.insert(thread_id, life);
        }
        life
    }

    /// A life by its index.
    #[inline(always)]
    pub fn get_mut(&mut self, life: LifeId) -> &mut Life {
        let at = if (life as usize) < self.all.len() { life } else { NOBODY };
        &mut self.all[at as usize]
    }
}
